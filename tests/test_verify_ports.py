"""Ports as one meets them, right ones and wrong ones: what is said of each."""

import json

import pytest
import torch

from posenc import alibi_slopes, angles, inverse_frequencies, rotate, yarn_scaling
from posenc.verify import Rope, compare, identify, models
from posenc.verify.cli import main

INV = inverse_frequencies(64).float()
PLAIN = Rope(inverse_frequencies(64), 64)


def tables(positions, inv_freq=INV):
    turn = positions[..., None].float() * inv_freq
    turn = torch.cat((turn, turn), dim=-1)
    return turn.cos(), turn.sin()


def turned(x, cos, sin):
    one, two = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-two, one), dim=-1) * sin


def by_rows(q, k, position_ids):  # [b, n]
    cos, sin = (t[:, None] for t in tables(position_ids))
    return turned(q, cos, sin), turned(k, cos, sin)


def by_first_row(q, k, position_ids):
    cos, sin = tables(position_ids[0])
    return turned(q, cos, sin), turned(k, cos, sin)


def test_one_row_of_positions_for_a_batch_is_a_mistake():
    wrong, right = identify(by_first_row), identify(by_rows)
    assert "one row of positions is used" in wrong.warnings[0]
    assert wrong.data["first_row_for_all"]
    assert not right.warnings
    found = compare(by_first_row, PLAIN)
    assert not found.agrees
    assert found.mistake == "one row of positions for the whole batch"
    assert compare(by_rows, PLAIN).agrees


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_right_rotation_in_low_precision_is_not_suspected(dtype):
    def mine(x, positions):
        return rotate(x, angles(positions, inverse_frequencies(64, base=500_000)), pairing="half")

    found = identify(mine, dtype=dtype)
    assert not found.warnings
    assert (found.data["scaling"], found.data["base"]) == ("none", 500_000)
    assert found.facts["gain"] == "1"


@pytest.mark.parametrize("first", [True, False])
def test_code_that_flattens_its_tokens_is_called_as_it_wants(first):
    def flat(positions, query, key):  # as in vLLM: any shape is taken
        cos, sin = (t[:, None] for t in tables(positions.flatten()))
        shaped = (t.view(positions.numel(), -1, 64) for t in (query, key))
        return tuple(
            turned(t, cos, sin).reshape(o.shape) for t, o in zip(shaped, (query, key), strict=True)
        )

    mine = flat if first else (lambda x, positions: flat(positions, x, x)[0])
    found = identify(mine, dim=64)
    assert not found.warnings
    assert found.data["base"] == 10_000
    assert compare(mine, PLAIN).agrees


def test_the_sequence_may_come_first():
    def glm(x):  # [n, b, h, d], as in Megatron
        cos, sin = (t[:, None, None] for t in tables(torch.arange(len(x))))
        return turned(x, cos, sin)

    found = identify(glm, dim=64)
    assert found.facts["called as"].endswith("x as [n, b, h, d]")
    assert not found.warnings
    assert found.data["base"] == 10_000


def test_three_axes_of_positions_are_tried():
    def mrope(q, k, position_ids):  # [3, b, n]
        assert position_ids.ndim == 3
        cos, sin = (t[0][:, None] for t in tables(position_ids))
        return turned(q, cos, sin), turned(k, cos, sin)

    found = identify(mrope)
    assert "[3, 1, n]" in found.facts["called as"]
    assert not found.warnings


def keys_at(shift):
    def step(q, k, position_ids):
        return by_rows(q, q, position_ids)[0], by_rows(k, k, position_ids + shift)[1]

    return step


@pytest.mark.parametrize(("shift", "word"), [(-1, "before"), (1, "after")])
def test_keys_that_are_one_position_off_change_the_scores(shift, word):
    assert word in identify(keys_at(shift)).warnings[0]
    found = compare(keys_at(shift), PLAIN)
    assert not found.agrees
    assert not found.scores_agree
    assert "off by one" in found.hint or "one position" in found.mistake


def test_keys_that_shrink_as_queries_grow_are_no_mistake():
    def xpos(q, k, position_ids):
        grow = 1.01 ** position_ids[:, None, :, None].float()
        one, two = by_rows(q, k, position_ids)
        return one * grow, two / grow

    found = identify(xpos)
    assert not any("offset alone" in text for text in found.warnings)
    assert any("as with xPos" in text for text in found.unknown)


class Dynamic(torch.nn.Module):
    """Dynamic NTK, factor 2 on 2048."""

    def __init__(self, *, keeps):
        super().__init__()
        self.keeps, self.now = keeps, INV

    def forward(self, x, position_ids):
        length = int(position_ids.max()) + 1
        if length > 2048:
            base = 10_000 * (2 * length / 2048 - 1) ** (64 / 62)
            self.now = inverse_frequencies(64, base=base).float()
        elif not self.keeps:
            self.now = INV
        return tables(position_ids, self.now)


def applied(q, k, cos, sin):
    return turned(q, cos[:, None], sin[:, None]), turned(k, cos[:, None], sin[:, None])


DYNAMIC = {
    "model_type": "llama",
    "hidden_size": 256,
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "max_position_embeddings": 2048,
    "rope_theta": 10_000.0,
    "rope_scaling": {"type": "dynamic", "factor": 2.0},
}


@pytest.mark.parametrize("length", [2048, 100_004])
def test_frequencies_by_length_are_right_until_they_are_kept(length):
    reference = models(DYNAMIC, length=length)
    right = compare(Dynamic(keeps=False), reference, apply=applied)
    assert right.agrees
    assert any("change with the length" in note for note in right.notes)
    wrong = compare(Dynamic(keeps=True), reference, apply=applied)
    assert not wrong.agrees
    assert wrong.mistake == "frequencies of a longer text kept"


def test_a_state_that_is_kept_is_told_from_a_length_that_is_heeded():
    right, wrong = (identify(Dynamic(keeps=k), apply=applied) for k in (False, True))
    assert right.data["depends_on_length"]
    assert not right.warnings
    assert any("keeps state" in text for text in wrong.warnings)


@pytest.mark.parametrize("truncate", [True, False])
def test_another_setting_of_the_same_scaling_is_named(truncate):
    options = {"factor": 4.0, "trained_length": 32_768, "ramp": "dimensions"}
    plain = inverse_frequencies(128, base=1e6)

    def rope(truncate):
        return Rope(*_pair(yarn_scaling(plain, truncate=truncate, **options)))

    found = compare(rope(truncate), rope(not truncate))
    assert found.mistake == "yarn with other settings"
    assert found.hint.endswith(f"truncate {truncate}, not {not truncate}")


def _pair(scaled):
    return scaled[0], 128, "half", scaled[1]


def test_a_table_that_ends_is_not_called_rounding():
    found = identify(lambda x, positions: PLAIN(x, positions.clamp(max=2047)))
    assert any("a table that ends" in text for text in found.warnings)
    assert not found.data["positions_rounded"]


def test_positions_that_were_rounded_are_named_by_both():
    def low(x, positions):
        return PLAIN(x, positions.bfloat16().float())

    assert any("rounded to bfloat16" in text for text in identify(low).warnings)
    assert "bfloat16" in compare(low, PLAIN).mistake


def bias_of(slopes, keys=40):
    distance = torch.arange(keys)[None, :] - torch.arange(keys)[:, None]
    return slopes.view(-1, 1, 1) * distance


def without_stride(heads):  # the slopes after the power of two taken one by one
    return torch.cat((alibi_slopes(8), alibi_slopes(16)[: heads - 8]))


SLOPES = [
    (without_stride(12), "3 of 12 slopes are not as published: head 9"),
    (alibi_slopes(16)[:12], "the first 12 of those of 16 heads"),
    (
        torch.cat((alibi_slopes(16)[::2], alibi_slopes(16)[1::2]))[:12],
        "the other way round",
    ),
]


@pytest.mark.parametrize(("slopes", "warning"), SLOPES)
def test_slopes_of_heads_that_are_no_power_of_two(slopes, warning):
    assert any(warning in text for text in identify(bias_of(slopes)).warnings)
    assert warning in compare(bias_of(slopes), bias_of(alibi_slopes(12))).mistake


@pytest.mark.parametrize("most", [8, 16])
def test_another_greatest_bias_for_heads_that_are_no_power_of_two(most):
    every = 2.0 ** (-torch.arange(1, 17) * most / 16)
    found = identify(bias_of(torch.cat((every[1::2], every[::2]))[:12]))
    assert not found.warnings
    assert ("another alibi_bias_max" in found.facts["slopes"]) == (most != 8)


def test_a_batch_that_is_folded_into_the_heads_is_not_accused():
    row = alibi_slopes(12)[:, None, None] * torch.arange(40)
    folded = identify(row.repeat(2, 1, 1))
    assert not folded.warnings
    assert any("folded into heads" in text for text in folded.unknown)
    assert identify(row.expand(2, 12, 1, 40)).data["order"] == "as published"
    with pytest.raises(ValueError, match="one for all rows of the batch, got several"):
        identify(torch.stack((row, row + 1)))
    restarted = identify(bias_of(alibi_slopes(6).repeat(2)))
    assert any("start again" in text for text in restarted.warnings)


def test_slopes_in_low_precision_keep_their_name():
    found = identify(bias_of(alibi_slopes(12)).bfloat16())
    assert found.facts["slopes"] == "as published"


NEOX = {
    "model_type": "gpt_neox",
    "hidden_size": 512,
    "num_attention_heads": 4,
    "num_hidden_layers": 1,
    "max_position_embeddings": 2048,
}


@pytest.mark.parametrize(
    "changes",
    [
        {"rotary_emb_base": 25_000, "rotary_pct": 0.5},
        {"rope_theta": 500_000, "partial_rotary_factor": 0.5},
        {
            "rotary_emb_base": 10_000,
            "rope_theta": 500_000,
            "rotary_pct": 0.25,
            "partial_rotary_factor": 0.5,
        },
    ],
)
def test_gpt_neox_reads_its_own_keys(changes):
    from transformers import GPTNeoXConfig

    raw = {**NEOX, **changes}
    theirs = GPTNeoXConfig.from_dict(json.loads(json.dumps(raw))).rope_parameters
    read = models(raw)
    assert read.layers[0].base == theirs["rope_theta"]
    assert read.layers[0].rope.rotary_dim == int(128 * theirs["partial_rotary_factor"])
    for key in ("rope_theta", "partial_rotary_factor"):
        assert any(f"{key} is ignored" in note for note in read.notes) == (key in changes)


def test_a_key_that_is_nearly_known_is_named():
    assert (
        "rope_base is ignored: is rotary_emb_base meant?" in models({**NEOX, "rope_base": 5}).notes
    )


def test_a_configuration_is_a_reference(tmp_path):
    plain = {k: v for k, v in DYNAMIC.items() if k != "rope_scaling"}
    (tmp_path / "config.json").write_text(json.dumps(plain))
    for reference in (plain, models(plain), str(tmp_path), tmp_path / "config.json"):
        assert compare(by_rows, reference).agrees
    with pytest.raises(ValueError, match="must have a layer that rotates, got gpt2"):
        compare(by_rows, {"model_type": "gpt2", "n_layer": 1})


def test_a_complex_table_may_be_applied_by_metas_function():
    def apply_rotary_emb(xq, xk, freqs_cis):  # [b, n, h, d]
        def one(x):
            z = torch.view_as_complex(x.float().unflatten(-1, (-1, 2)))
            return torch.view_as_real(z * freqs_cis[None, :, None]).flatten(-2)

        return one(xq), one(xk)

    turn = angles(torch.arange(300), inverse_frequencies(64)).float()
    found = identify(torch.polar(torch.ones_like(turn), turn), apply=apply_rotary_emb)
    assert found.data["pairing"] == "interleaved"


@pytest.mark.parametrize(
    ("port", "advice"),
    [
        (lambda x, positions: x.numpy(), "put torch.from_numpy around them"),
        (lambda x, positions: None, "let the wrapper return x"),
    ],
)
def test_what_cures_a_port_that_cannot_be_called_is_said(port, advice):
    with pytest.raises(ValueError, match=advice):
        identify(port, dim=16)


@pytest.mark.usefixtures("annotations_off")
def test_a_function_is_no_bias():
    with pytest.raises(ValueError, match=r"must be a tensor .* got function: call it first"):
        identify(lambda heads: heads, kind="bias")


def test_a_file_name_is_turned_into_a_module(capsys):
    assert main(["identify", "ports.py:row0"]) == 2
    assert "write ports:row0" in capsys.readouterr().err


@pytest.mark.parametrize("axes", [4, 2])
def test_modules_of_2023_give_whole_tables(axes):
    class Rotary(torch.nn.Module):  # as in transformers 4.30 (four axes) and 4.36 (two)
        def forward(self, x, seq_len=None):
            found = tables(torch.arange(seq_len))
            return tuple(t[None, None] if axes == 4 else t for t in found)

    def apply(q, k, cos, sin, position_ids):
        cos, sin = (t.squeeze(1).squeeze(0) if axes == 4 else t for t in (cos, sin))
        assert cos.ndim == 2
        cos, sin = cos[position_ids][:, None], sin[position_ids][:, None]
        return turned(q, cos, sin), turned(k, cos, sin)

    found = identify(Rotary(), apply=apply)
    assert "seq_len=int" in found.facts["called as"]
    assert (found.data["pairing"], found.data["base"]) == ("half", 10_000)
    assert not found.warnings
    assert compare(Rotary(), PLAIN, apply=apply).agrees


def key_from_query(q, k, position_ids):
    cos, sin = (t[:, None] for t in tables(position_ids))
    return turned(q, cos, sin), k * cos + turned(q, 0 * cos, sin)


def query_from_key(q, k, position_ids):
    return by_rows(k, k, position_ids)[0], by_rows(k, k, position_ids)[1]


@pytest.mark.parametrize("port", [key_from_query, query_from_key])
def test_queries_and_keys_are_not_the_same_vectors(port):
    assert not compare(port, PLAIN).agrees
    assert not compare(port, by_rows).agrees


@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1)])
def test_three_rows_of_positions_that_differ_are_tried(order):
    def mrope(order):
        def port(q, k, position_ids):  # [3, b, n]
            cos, sin = tables(position_ids)
            widths = [8, 12, 12, 8, 12, 12]
            cos, sin = (
                torch.cat([part[order[i % 3]] for i, part in enumerate(t.split(widths, -1))], -1)
                for t in (cos, sin)
            )
            return turned(q, cos[:, None], sin[:, None]), turned(k, cos[:, None], sin[:, None])

        return port

    found = compare(mrope(order), mrope((0, 1, 2)))
    assert found.agrees == (order == (0, 1, 2))
    assert found.mistake == ("" if found.agrees else "rows of positions read otherwise")
    alone = compare(mrope(order), PLAIN)
    assert alone.agrees
    assert "three equal rows of positions; others: not compared" in str(alone).splitlines()[0]
    assert any("equal, as in a text" in text for text in identify(mrope(order)).unknown)


@pytest.mark.parametrize("exponent", [64 / 62, 1.0])
def test_agreement_that_stops_short_says_so_first(exponent):
    def ntk(exponent):
        def port(x, position_ids):
            length = int(position_ids.max()) + 1
            base = 10_000 * max(1.0, 2 * length / 2048 - 1) ** exponent
            return turned(x, *tables(position_ids, inverse_frequencies(64, base=base).float()))

        return port

    same = exponent == 64 / 62
    first = str(compare(ntk(exponent), ntk(64 / 62))).splitlines()[0]
    assert first == ("agree" if same else "agree up to position 127; beyond: not compared")
    config = str(compare(ntk(exponent), DYNAMIC)).splitlines()[0]
    assert config == "agree up to position 127; beyond: not compared"


@pytest.mark.parametrize("shift", [-1, 0])
def test_positions_out_of_a_mask(shift):
    def padded(q, k, attention_mask):
        positions = attention_mask.long().cumsum(-1) + shift
        return by_rows(q, k, positions.masked_fill(attention_mask == 0, 1))

    found = identify(padded, dim=64)
    assert found.data["base"] == 10_000
    assert bool(found.warnings) == (shift != -1)
    assert any("a mask that hides some" in text for text in found.unknown)
    assert compare(padded, PLAIN).agrees == (shift == -1)


@pytest.mark.parametrize("wrong", [True, False])
@pytest.mark.parametrize("given", ["module", "tables"])
def test_keys_of_a_function_that_applies_tables(given, wrong):
    class Rotary(torch.nn.Module):
        def forward(self, x, position_ids):
            return tables(position_ids)

    def apply(q, k, cos, sin):
        cos, sin = cos[:, None], sin[:, None]
        return turned(q, cos, sin), k * cos + turned(q if wrong else k, 0 * cos, sin)

    thing = Rotary() if given == "module" else tables(torch.arange(200))
    found = compare(thing, PLAIN, apply=apply)
    assert found.agrees != wrong
    assert ("queries agree, keys do not" in str(found)) == wrong


@pytest.mark.parametrize(("changed", "ratio"), [((20,), 3.0), (range(10, 14), 0.4)])
def test_pairs_that_differ_are_told_with_their_ratios(changed, ratio):
    inv_freq = inverse_frequencies(64)
    inv_freq[list(changed)] *= ratio
    found = compare(lambda x, p: Rope(inv_freq, 64)(x, p), PLAIN)
    assert not found.agrees
    assert found.mistake == ""
    which = "20" if len(changed) == 1 else "10 to 13"
    expected = (
        f"frequencies of {len(changed)} of 32 pairs differ, in {which}: {ratio:g} to {ratio:g}"
    )
    assert any(expected in note for note in found.notes)


def test_what_is_no_rotation_is_said_first_and_not_called_rounding():
    def bent(x, positions):  # cos and sin exchanged in the second half
        cos, sin = (t[:, :32] for t in tables(positions))
        one, two = x.chunk(2, dim=-1)
        return torch.cat((one * cos - two * sin, one * cos + two * sin), dim=-1)

    found = identify(bent)
    assert found.warnings[0].startswith("no rotation")
    assert not any("low precision" in text for text in found.warnings)
    assert compare(bent, PLAIN).mistake.startswith("no rotation")


def test_a_position_that_jumps_is_not_called_rounding():
    found = identify(lambda x, p: PLAIN(x, p + 3 * (p > 4)))
    assert any(
        text.endswith("frequency: positions are changed on the way") for text in found.warnings
    )


@pytest.mark.parametrize("index", [0, 1])
def test_a_layer_of_a_model_is_a_reference(index):
    plain = {k: v for k, v in DYNAMIC.items() if k != "rope_scaling"}
    assert compare(by_rows, models(plain).layers[index]).agrees
    learned = models({"model_type": "gpt2", "n_layer": 2, "n_positions": 64}).layers[index]
    with pytest.raises(ValueError, match="a layer that rotates, got one with learned"):
        compare(by_rows, learned)


@pytest.mark.parametrize("divided", [8.0, 1.0])
def test_falcons_bias_is_named(divided):
    found = identify(bias_of(alibi_slopes(8)) / divided)
    assert ("as in Falcon" in found.facts["slopes"]) == (divided == 8)
    assert any("right for Falcon alone" in text for text in found.warnings) == (divided == 8)
