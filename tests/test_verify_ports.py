"""Ports as one meets them, right ones and wrong ones: what is said of each."""

import functools
import itertools
import json

import pytest
import torch

from posenc import alibi_slopes, angles, inverse_frequencies, rotate, yarn_scaling
from posenc.verify import Rope, compare, identify, models
from posenc.verify.besides import TORN
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
    (without_stride(12), "heads from 8 on have every slope of 16 heads"),
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
    with pytest.raises(ValueError, match="a bias that a rule gives, got gpt2 with learned"):
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
    with pytest.raises(ValueError, match=r"as a tensor: call what makes it .* got function"):
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
    assert str(alone).splitlines()[0] == "agree for a text"
    assert any("three rows of positions" in text for text in alone.not_compared)
    assert "  not compared: three rows of positions that differ" in str(alone)
    told = identify(mrope(order))
    assert [told.data["axis"][i] for i in (0, 8, 20)] == list(order)
    assert ("sections [8, 12, 12], chunked" in told.facts["axes"]) == (order == (0, 1, 2))


def ntk(exponent, *, rows=False):
    """Dynamic NTK, factor 2 on 2048; `rows`: by how many rows are in the call."""

    def port(x, position_ids):
        length = x.shape[-2] if rows else int(position_ids.max()) + 1
        base = 10_000 * max(1.0, 2 * length / 2048 - 1) ** exponent
        return turned(x, *tables(position_ids, inverse_frequencies(64, base=base).float()))

    return port


@pytest.mark.parametrize("reference", [ntk(64 / 62), DYNAMIC])
@pytest.mark.parametrize(
    ("port", "mistake"),
    [
        (ntk(64 / 62), ""),
        (ntk(1.0), "exponent d/(d - 2) forgotten"),
        (ntk(64 / 62, rows=True), "the rows of the call taken for the length of the text"),
    ],
)
def test_a_length_is_followed_call_by_call(port, mistake, reference):
    found = compare(port, reference)
    assert found.agrees == (not mistake)
    one_alone = reference is not DYNAMIC and mistake.startswith("the rows")
    assert found.mistake == ("the length heeded by one alone" if one_alone else mistake)


@pytest.mark.parametrize("length", [4096, 8192])
def test_frequencies_for_one_length_may_be_asked_for(length):
    static = models(DYNAMIC, length=length).layers[0].rope
    assert compare(static, DYNAMIC, length=length).agrees
    assert not compare(static, DYNAMIC).agrees
    assert not compare(static, DYNAMIC, length=2 * length).agrees
    with pytest.raises(ValueError, match=f"length is of a configuration.* got {length}"):
        compare(static, static, length=length)


def test_agreement_with_fixed_frequencies_stops_where_a_text_gets_long():
    found = compare(ntk(64 / 62), PLAIN)
    assert str(found).splitlines()[0] == "agree up to position 127"
    assert found.not_compared[0].startswith(
        "positions beyond 127: yours turns long texts otherwise"
    )


@pytest.mark.parametrize("shift", [-1, 0])
def test_positions_out_of_a_mask(shift):
    def padded(q, k, attention_mask):
        positions = attention_mask.long().cumsum(-1) + shift
        return by_rows(q, k, positions.masked_fill(attention_mask == 0, 1))

    found = identify(padded, dim=64)
    assert found.data["base"] == 10_000
    assert bool(found.warnings) == (shift != -1)
    assert found.data["padding"] == 0 or shift == 0
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
    assert "cos and sin are exchanged" in compare(bent, PLAIN).mistake


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
    with pytest.raises(ValueError, match="a bias that a rule gives, got one with learned"):
        compare(by_rows, learned)


@pytest.mark.parametrize("divided", [8.0, 1.0])
def test_falcons_bias_is_named(divided):
    found = identify(bias_of(alibi_slopes(8)) / divided)
    assert ("as in Falcon" in found.facts["slopes"]) == (divided == 8)
    assert not found.warnings
    assert any("as Falcon alone does" in text for text in found.unknown) == (divided == 8)


def packed(q, k, cu_seqlens, max_seqlen, *, restart=True):
    ends = cu_seqlens.tolist()
    runs = [torch.arange(stop - first) for first, stop in itertools.pairwise(ends)]
    positions = torch.cat(runs) if restart else torch.arange(ends[-1])
    assert max_seqlen >= max(len(run) for run in runs)
    return by_rows(q, k, positions[None])


@pytest.mark.parametrize("restart", [True, False])
def test_texts_that_are_packed_are_given_by_their_ends(restart):
    found = identify(lambda q, k, cu_seqlens, max_seqlen: packed(
        q, k, cu_seqlens, max_seqlen, restart=restart))  # fmt: skip
    assert found.facts["called as"].startswith("f(q, k, cu_seqlens=[0, n], max_seqlen=n)")
    assert found.data["texts"] == (0 if restart else 3)
    assert not found.warnings
    assert compare(packed, PLAIN).agrees


def test_padding_that_stretches_positions_is_a_mistake():
    def padded(q, k, attention_mask):
        step = 1 + (attention_mask == 0).any(dim=-1, keepdim=True).long()
        return by_rows(q, k, (attention_mask.cumsum(-1) - 1) * step)

    assert any("rows after padding" in text for text in identify(padded).warnings)
    assert compare(padded, PLAIN).mistake == "rows after padding"


def fused(form, *, values):
    """Queries, keys and values in one tensor; `values`: turned, too."""

    def port(qkv, positions):
        if form == "flat":
            qkv = qkv.unflatten(-1, (3, -1, 64))
        assert qkv.shape[2] == 3
        q, k, v = qkv.unbind(2)
        cos, sin = (t[:, None] for t in tables(positions))
        turning = (q, k, v) if values else (q, k)
        out = [turned(x, cos, sin) for x in turning] + [v] * (not values)
        return torch.stack(out, dim=2) if form == "stacked" else tuple(out)

    return port


@pytest.mark.parametrize("form", ["stacked", "flat", "several"])
@pytest.mark.parametrize("values", [True, False])
def test_values_are_not_turned(form, values):
    found = identify(fused(form, values=values))
    assert bool(found.warnings) == values
    wrong = compare(fused(form, values=values), PLAIN)
    assert wrong.agrees != values
    assert wrong.mistake == ("values are turned, too" if values else "")


def detr(rows, columns, *, normalised, pairs=True, dim=32):
    """DETR's sines of two coordinates, [1, rows, columns, 2 dim]."""
    mask = torch.ones(1, rows, columns)
    y, x = mask.cumsum(1), mask.cumsum(2)
    if normalised:
        y, x = (t / (n + 1e-6) * 2 * torch.pi for t, n in ((y, rows), (x, columns)))
    index = torch.arange(dim)
    speed = 10_000.0 ** (-2 * (index // 2 if pairs else index) / dim)

    def half(p):
        turn = p[..., None] * speed
        return torch.stack((turn[..., 0::2].sin(), turn[..., 1::2].cos()), -1).flatten(-2)

    return torch.cat((half(y), half(x)), dim=-1)


@pytest.mark.parametrize("normalised", [True, False])
@pytest.mark.parametrize(("rows", "columns"), [(8, 8), (6, 10)])
@pytest.mark.parametrize("flat", [True, False])
def test_a_grid_of_sines_is_told_axis_by_axis(rows, columns, normalised, flat):
    table = detr(rows, columns, normalised=normalised)
    found = identify(table.flatten(0, 2) if flat else table)
    assert found.facts["form"] == (
        f"axial: rows in channels 0 to 31, columns in 32 to 63, a grid of {rows} by {columns}"
    )
    assert not found.warnings
    assert found.data["rows"]["base"] == pytest.approx(10_000, rel=1e-6)
    steps = [text for key, text in found.facts.items() if "one step" in key]
    assert any("normalised" in text for text in steps) == (normalised and rows == columns) or steps


@pytest.mark.parametrize("grid", [True, False])
def test_an_exponent_that_counts_columns_makes_no_pairs(grid):
    wrong = detr(8, 8, normalised=False, pairs=False)
    found = identify(wrong if grid else wrong[0, :, 0, :32])
    assert any("the exponent counts columns, not pairs" in text for text in found.warnings)
    assert not identify(torch.randn(64, 32)).warnings


def test_a_table_of_other_frequencies_is_named():
    from posenc import sinusoidal_encoding, tensor2tensor_encoding

    positions = torch.arange(64)
    mine = sinusoidal_encoding(positions, 64, layout="half")
    found = compare(mine, tensor2tensor_encoding(positions, 64))
    assert found.mistake == "other frequencies"
    assert "tensor2tensor" in found.hint


def chunked(start):
    """A cache of rotated keys: `start` says where the new rows begin."""

    def port(x, offset=0):
        return turned(x, *tables(start(offset, x.shape[-2]) + torch.arange(x.shape[-2])))

    return port


CHUNKS = [
    (lambda offset, n: offset, ""),
    (lambda offset, n: offset + n if offset else 0, "position p turns as p + 1 from 1 on"),
    (lambda offset, n: offset - 1 if offset > 1 else offset, "position p turns as p - 1 from 2 on"),
    (lambda offset, n: offset if n == 1 else 0, "several new tokens at once"),
]


@pytest.mark.parametrize(("start", "mistake"), CHUNKS)
def test_an_offset_that_is_wrong_only_with_a_cache(start, mistake):
    found = compare(chunked(start), PLAIN)
    assert found.agrees == (not mistake)
    assert found.mistake == mistake
    alone = identify(chunked(start))
    assert bool(alone.warnings) == bool(mistake)
    assert not any("single row" in note for note in found.notes)
    if "from 1 on" in mistake:
        assert alone.warnings[0].startswith("position 0 is right, every later position p is turned")
        assert alone.data["base"] == 10_000


def test_an_offset_that_is_wrong_for_single_rows_alone_is_said_of_them():
    found = compare(chunked(lambda offset, n: max(offset - (n == 1), 0)), PLAIN)
    assert found.mistake == "position p turns as p - 1 from 1 on"
    assert any(
        "calls of a single row: four rows in one call are turned as they should" in note
        for note in found.notes
    )
    late = compare(chunked(lambda offset, n: offset + (n == 1)), PLAIN)
    assert late.mistake == "one position late"  # but beside keys of a prompt scores are wrong
    assert not late.scores_agree


def test_several_rows_after_a_cache_may_be_refused():
    def one_or_all(offset, n):
        if offset and n > 1:
            raise NotImplementedError("one row, or a text from 0 on")
        return offset

    found = compare(chunked(one_or_all), PLAIN)
    assert found.agrees
    assert found.not_compared[0].startswith("several rows after a cache: yours refuses that, Not")
    assert not identify(chunked(one_or_all)).warnings
    wrong = compare(chunked(lambda offset, n: max(one_or_all(offset, n) - 1, 0)), PLAIN)
    assert wrong.mistake == "position p turns as p - 1 from 1 on"
    assert not any("single row" in note for note in wrong.notes)


@pytest.mark.parametrize("by", [2, 3])
def test_positions_that_are_changed_are_listed(by):
    found = compare(lambda x, p: PLAIN(x, p // by), PLAIN)
    assert found.mistake == "positions are changed on the way"
    assert f"7 as {7 // by}" in found.hint


LLAMA3 = {
    "model_type": "llama",
    "hidden_size": 256,
    "num_attention_heads": 2,
    "num_hidden_layers": 2,
    "max_position_embeddings": 131_072,
    "rope_theta": 500_000.0,
    "rope_scaling": {
        "rope_type": "llama3",
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    },
}


def llama3(*, turns=2 * torch.pi, exchange=False, waves=False, low=1.0, high=4.0):
    """Meta's apply_scaling, wavelength by wavelength, with a place for each slip."""
    inv_freq = []
    for f in inverse_frequencies(128, base=5e5).tolist():
        wave = turns / f
        smooth = (8192 / wave - low) / (high - low)
        smooth = 1 - smooth if exchange else smooth
        blend = (1 - smooth) * f / 8 + smooth * f
        if waves:
            blend = 1 / ((1 - smooth) * 8 / f + smooth / f)
        inv_freq.append(f if wave < 8192 / high else f / 8 if wave > 8192 / low else blend)
    return Rope(torch.tensor(inv_freq, dtype=torch.float64), 128)


SLIPS = [
    ({}, ""),
    ({"turns": 1.0}, "2 pi forgotten"),
    ({"exchange": True}, "weights of the ramp exchanged"),
    ({"waves": True}, "blended as wavelengths"),
    ({"low": 4.0, "high": 1.0}, "no ramp, cut at its slow end"),
]


@pytest.mark.parametrize(("slip", "mistake"), SLIPS)
def test_slips_in_a_scaling_rule_are_named(slip, mistake):
    found = compare(llama3(**slip), LLAMA3)
    assert found.agrees == (not mistake)
    assert found.mistake == mistake
    alone = identify(llama3(**slip))
    assert "factor 8, trained_length 8192" in alone.facts["frequencies"]
    assert [text.partition(":")[0] for text in alone.warnings] == ([mistake] if mistake else [])


GEMMA = {
    "model_type": "gemma3_text",
    "hidden_size": 256,
    "num_attention_heads": 4,
    "num_hidden_layers": 12,
    "head_dim": 64,
    "max_position_embeddings": 131_072,
    "rope_theta": 1e6,
    "rope_local_base_freq": 10_000.0,
    "rope_scaling": {"rope_type": "linear", "factor": 8.0},
    "sliding_window": 512,
    "sliding_window_pattern": 6,
}


def test_layers_that_differ_are_tried_one_by_one():
    whole = Rope(inverse_frequencies(64, base=1e6) / 8, 64)
    for port, layers, others, index in (
        (PLAIN, "0-4, 6-10 (sliding_attention)", "5, 11 (full_attention)", 4),
        (whole, "5, 11 (full_attention)", "0-4, 6-10 (sliding_attention)", 11),
    ):
        found = compare(port, GEMMA)
        assert str(found).splitlines()[0] == f"agree with layers {layers}"
        assert found.not_compared[0] == f"layers {others}, which differ from these"
        assert ("the window of 512 positions" in found.not_compared) == (index == 4)
        assert compare(port, GEMMA, layer=index).agrees
        wrong = compare(port, GEMMA, layer=5 if index == 4 else 0)
        assert wrong.mistake == "another layer's"
        assert f"agrees with layers {layers}" in wrong.hint
    with pytest.raises(ValueError, match=r"layer must be within 0 ... 11, got 12"):
        compare(PLAIN, GEMMA, layer=12)
    neither = compare(Rope(inverse_frequencies(64, base=7e4), 64), GEMMA)
    assert any("agrees with no other" in note for note in neither.notes)


DEEPSEEK = {
    "model_type": "deepseek_v3",
    "hidden_size": 256,
    "num_attention_heads": 2,
    "num_hidden_layers": 2,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "max_position_embeddings": 163_840,
    "rope_theta": 10_000,
    "rope_scaling": {
        "type": "yarn",
        "factor": 40,
        "mscale": 1.0,
        "mscale_all_dim": 1.0,
        "original_max_position_embeddings": 4096,
    },
}


@functools.cache
def deepseek():
    return models(DEEPSEEK).layers[0].rope


def latent(q, k_pe, position_ids, *, mixed=False):
    """DeepSeek's attention: 192 channels of queries, 64 of them turned; one head of keys of 64."""
    turn = angles(position_ids, deepseek().inv_freq)[:, None]

    def turned_by(x):
        return rotate(x, turn, pairing="interleaved", pairing_out="half")

    still, turning = q.split([128, 64], dim=-1)
    keys = turning[:, :1] if mixed else k_pe
    return torch.cat((still, turned_by(turning)), dim=-1), turned_by(keys)


def test_keys_may_be_of_another_width_than_queries():
    found = identify(latent)
    assert not found.warnings
    assert found.data["rotary_dim"] == 64
    assert found.data["first_channel"] == 128
    assert "one head of 64 channels for keys" in found.facts["called as"]
    agreed = compare(latent, DEEPSEEK)
    assert agreed.agrees
    assert any("scores are multiplied by 1.873854" in text for text in agreed.not_compared)

    def mixed(q, k_pe, position_ids):
        return latent(q, k_pe, position_ids, mixed=True)

    wrong = compare(mixed, DEEPSEEK)
    assert wrong.mistake == "keys are made of queries"
    plain = deepseek()

    def backwards(q, k_pe, position_ids):
        return latent(q, k_pe, position_ids)[0], plain(k_pe, -position_ids[0])

    assert compare(backwards, DEEPSEEK).mistake == "keys: turned backwards"
    assert "keys are rotated otherwise than queries" in identify(backwards).warnings


@pytest.mark.parametrize("port", [key_from_query, query_from_key])
def test_queries_and_keys_that_get_into_each_other_are_named(port):
    assert "are made of" in identify(port).warnings[0]
    assert "are made of" in compare(port, PLAIN).mistake


MROPE = {
    "model_type": "qwen2_vl",
    "hidden_size": 128,
    "num_attention_heads": 2,
    "num_hidden_layers": 2,
    "rope_theta": 10_000.0,
    "max_position_embeddings": 32_768,
}


def by_sections(widths):
    def port(q, k, position_ids):  # [3, b, n]
        cos, sin = (
            torch.cat([part[i % 3] for i, part in enumerate(t.split(widths, -1))], -1)[:, None]
            for t in tables(position_ids)
        )
        return turned(q, cos, sin), turned(k, cos, sin)

    return port


@pytest.mark.parametrize(("widths", "same"), [([8, 12, 12] * 2, True), ([16, 24, 24], False)])
def test_sections_are_held_against_the_configuration(widths, same):
    config = {**MROPE, "rope_scaling": {"type": "mrope", "mrope_section": [8, 12, 12]}}
    found = compare(by_sections(widths), config)
    assert found.agrees == same
    assert found.mistake == ("" if same else TORN)
    plain = Rope(inverse_frequencies(64), 64)
    told = "agree for a text" if same else "differ"  # pairs are torn, whatever the sections
    assert str(compare(by_sections(widths), plain)).startswith(told)


def test_sections_of_another_number_of_pairs_are_refused():
    other = {**MROPE, "rope_scaling": {"type": "mrope", "mrope_section": [8, 12, 8]}}
    with pytest.raises(ValueError, match=r"sum up to the 32 pairs that turn, got \[8, 12, 8\]"):
        models(other)


FALCON = {
    "model_type": "falcon",
    "hidden_size": 512,
    "num_attention_heads": 8,
    "num_hidden_layers": 2,
    "alibi": True,
}
BLOOM = {"model_type": "bloom", "hidden_size": 512, "n_head": 12, "n_layer": 2}
MPT = {"model_type": "mpt", "d_model": 384, "n_heads": 12, "n_layers": 2, "attn_config": {}}


@pytest.mark.parametrize(
    ("bias", "config", "mistake"),
    [
        (bias_of(alibi_slopes(8)) / 8, FALCON, ""),
        (
            (alibi_slopes(8)[:, None, None] * torch.arange(600)).bfloat16() / 8,
            FALCON,
            "near keys get one number",
        ),
        ((alibi_slopes(8)[:, None, None] * torch.arange(60)).bfloat16() / 8, FALCON, ""),
        (bias_of(alibi_slopes(8)), FALCON, "slopes not divided by the root of the head's width"),
        (bias_of(alibi_slopes(12)), BLOOM, ""),
        (alibi_slopes(12)[:, None, None] * torch.arange(40), BLOOM, ""),
        (alibi_slopes(12)[:, None, None] * torch.arange(-39, 1), MPT, ""),
        (bias_of(alibi_slopes(16)[:12]), MPT, "the first 12 of those of 16 heads"),
        (-bias_of(alibi_slopes(12)), BLOOM, "the sign is wrong"),
    ],
)
def test_a_bias_is_held_against_a_configuration(bias, config, mistake):
    found = compare(bias, config)
    assert found.agrees == (not mistake)
    assert mistake in found.mistake
    assert ("keys after the query" in found.not_compared) == (not mistake)
    with pytest.raises(ValueError, match=r"must be \[h, q, k\] with .* heads, .* got \(5, "):
        compare(bias[:5], config)


def test_falcons_positions_in_bfloat16_keep_the_slopes_name():
    rounded = (alibi_slopes(8)[:, None, None] * torch.arange(600)).bfloat16().float()
    found = identify(rounded)
    assert found.facts["slopes"] == "as published"
    assert "bfloat16" in found.facts["precision"]


def buckets(relative, *, both, exact=8, count=16, top=15):
    """T5's rule with numbers to be got wrong."""
    distance = relative.abs() if both else (-relative).clamp(min=0)
    far = exact + ((distance.clamp(min=1) / exact).log() / torch.tensor(128 / exact).log()
                   * (count - exact)).long()  # fmt: skip
    found = torch.where(distance < exact, distance, far.clamp(max=top))
    return found + (relative > 0) * 16 if both else found


T5 = {"model_type": "t5", "num_layers": 2, "d_model": 64, "num_heads": 4}


def test_buckets_are_held_against_a_configuration():
    encoder = compare(lambda r: buckets(r, both=True), T5)
    assert str(encoder).splitlines()[0] == "agree with the encoder's"
    assert encoder.not_compared == ("the decoder's, which differ from these",)
    wrong = compare(lambda r: buckets(r, both=True, exact=16), T5)
    assert wrong.mistake == "max_exact of all buckets"
    within = identify(lambda r: buckets(r, both=True, exact=16, count=32, top=31), kind="buckets")
    assert within.data["mistake"] == "max_exact of all buckets, within all"


@pytest.mark.parametrize("decoder", [True, False])
def test_the_wrong_side_of_buckets_is_named(decoder):
    from posenc import t5_buckets

    found = compare(
        lambda r: t5_buckets(r, bidirectional=decoder),
        lambda r: t5_buckets(r, bidirectional=not decoder),
        kind="buckets",
    )
    assert found.mistake == ("both sides for a decoder" if decoder else "one side for an encoder")


BENT = {
    "in the second channel of each pair cos and sin are exchanged": lambda a, b, c, s: (
        a * c - b * s,
        a * c + b * s,
    ),
    "in the first channel of each pair cos and sin are exchanged": lambda a, b, c, s: (
        a * s - b * c,
        a * s + b * c,
    ),
    "both sines have the same sign": lambda a, b, c, s: (a * c + b * s, a * s + b * c),
    "turn by different angles": lambda a, b, c, s: (
        a * c - b * s,
        a * s.flip(-1) + b * c.flip(-1),
    ),
}


@pytest.mark.parametrize("words", BENT)
def test_why_it_is_no_rotation_is_said_alone(words):
    def port(x, positions):
        cos, sin = (t[:, :32] for t in tables(positions))
        return torch.cat(BENT[words](*x.chunk(2, dim=-1), cos, sin), dim=-1)

    found = identify(port)
    assert len(found.warnings) == 1
    assert words in found.warnings[0]
    assert set(found.facts) == {"called as", "rotation"}
    assert not compare(port, PLAIN).agrees


def test_a_class_and_keys_of_the_file_are_named():
    with pytest.raises(ValueError, match=r"got the class Dynamic: make one, Dynamic\(...\)"):
        identify(Dynamic)
    scaling = {**LLAMA3["rope_scaling"], "low_freq_factor": 4.0, "high_freq_factor": 1.0}
    with pytest.raises(ValueError, match="low_freq_factor must be below high_freq_factor"):
        models({**LLAMA3, "rope_scaling": scaling})
    long = {"rope_type": "longrope", "short_factor": [1.0] * 9, "long_factor": [1.0] * 9}
    with pytest.raises(ValueError, match=r"short_factor must list 64 factors.* got 9"):
        models({**LLAMA3, "rope_scaling": {**long, "original_max_position_embeddings": 4096}})


def test_a_width_that_is_not_usual_is_asked_for():
    def odd(x, positions):
        assert x.shape[-1] == 112
        return Rope(inverse_frequencies(112), 112)(x, positions)

    with pytest.raises(ValueError, match="dim= tells another width"):
        identify(odd)
    assert identify(odd, dim=112).data["base"] == 10_000


def test_a_reader_that_has_seen_enough_changes_no_status(tmp_path):
    import subprocess
    import sys

    (tmp_path / "config.json").write_text(json.dumps(LLAMA3))
    command = f"{sys.executable} -m posenc models {tmp_path} --json; echo status $? >&2"
    done = subprocess.run(
        ["bash", "-c", f"({command}) | head -1"], capture_output=True, text=True, check=True
    )
    assert done.stderr == "status 0\n"


def test_cosines_and_sines_side_by_side_are_a_table():
    table = torch.stack(tuple(t[:, :32] for t in tables(torch.arange(300))), dim=-1)
    assert identify(table).data["base"] == 10_000


def test_what_applies_tables_is_given_with_them():
    with pytest.raises(ValueError, match=r"applies tables \(cos\): give those, and it as apply="):
        identify(lambda q, k, cos, sin: 1 / 0)


def test_heads_that_are_mixed_with_rows_are_suspected():
    def viewed(q, k, position_ids):
        return by_rows(*(t.transpose(1, 2).reshape(t.shape) for t in (q, k)), position_ids)

    with pytest.raises(ValueError, match="by reshape where transpose is meant"):
        identify(viewed)


@pytest.mark.parametrize("which", ["heads", "texts"])
def test_what_is_turned_only_in_part_is_said(which):
    def partly(x, positions):  # [b, h, n, d]
        assert x.ndim == 4
        out = x.clone()
        some = (slice(None), 0) if which == "heads" else (0,)
        out[some] = PLAIN(x, positions)[some]
        return out

    told = {"heads": "40 heads: vectors in heads 1 and on are not turned", "texts": "equal texts"}
    told = told[which]
    found = identify(partly)
    assert len(found.warnings) == 1
    assert found.warnings[0].startswith(told)
    assert compare(partly, PLAIN).mistake.startswith(told)


def test_low_precision_of_the_result_is_all_that_is_said_of_it():
    found = identify(lambda x, p: PLAIN(x, p).bfloat16().float())
    assert len(found.warnings) == 1
    assert "cos and sin rounded to bfloat16" in found.warnings[0]


def test_fixed_frequencies_of_a_long_text_agree_with_a_long_text():
    static = models(DYNAMIC, length=100_004).layers[0].rope
    found = compare(ntk(64 / 62), static)
    assert str(found).splitlines()[0] == "agree in a text of 100004 positions"
    assert found.not_compared[0].startswith("shorter texts: yours turns them otherwise")


@pytest.mark.parametrize(("kind", "base"), [("local", 10_000), ("whole", 1_000_000)])
def test_an_argument_may_be_given_before(kind, base):
    class Rotary(torch.nn.Module):
        def forward(self, x, position_ids, layer_type):
            inv_freq = inverse_frequencies(64, base={"local": 1e4, "whole": 1e6}[layer_type])
            return tables(position_ids, inv_freq.float())

    with pytest.raises(ValueError, match=r"asks for layer_type: give it, functools.partial"):
        identify(Rotary())
    found = identify(functools.partial(Rotary(), layer_type=kind), apply=applied)
    assert found.data["base"] == base


@pytest.mark.parametrize("given", ["three rows", "one row"])
def test_a_module_with_three_rows_of_positions(given):
    class Rotary(torch.nn.Module):
        def forward(self, x, position_ids):  # [3, b, n] or [b, n], as Qwen-VL's
            if given == "one row":
                assert position_ids.ndim == 2
            cos, sin = tables(position_ids.expand(3, -1, -1))
            return tuple(
                torch.cat([part[i % 3] for i, part in enumerate(t.split([8, 12, 12] * 2, -1))], -1)
                for t in (cos, sin)
            )

    config = {**MROPE, "rope_scaling": {"type": "mrope", "mrope_section": [8, 12, 12]}}
    found = compare(Rotary(), config, apply=applied)
    assert found.agrees == (given == "three rows")
    assert str(found).startswith("agree" if found.agrees else "undecided: no difference was seen")
    assert any("which the reference takes" in text for text in found.undecided) != found.agrees


@pytest.mark.parametrize("row", [0, 1])
def test_a_row_of_zeros_is_for_padding(row):
    from posenc import sinusoidal_encoding

    table = sinusoidal_encoding(torch.arange(60), 32)
    table[row] = 0
    found = identify(table)
    assert f"row {row} is all zeros" in found.facts["offset"]
    assert found.data["base"] == 10_000
    assert not found.warnings


def test_layers_of_another_width_are_no_reference_for_these():
    gemma4 = {"model_type": "gemma4_text", "hidden_size": 256, "num_hidden_layers": 6}
    gemma4 |= {"num_attention_heads": 4, "max_position_embeddings": 4096}
    narrow, wide = (models(gemma4).layers[i].rope for i in (0, 5))
    assert narrow.head_dim != wide.head_dim
    assert str(compare(narrow, gemma4)).startswith("agree with layers 0-4 ")
    assert str(compare(wide, gemma4)).startswith("agree with layer 5 ")
    with pytest.raises(ValueError, match="yours must take heads of 256 channels"):
        compare(PLAIN, gemma4, layer=0)
    assert not compare(PLAIN, gemma4).agrees
