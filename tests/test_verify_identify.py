"""Does `identify` say what was built? Two values for every parameter, and planted bugs."""

import importlib
import json
import logging
import subprocess
import sys

import pytest
import torch

from posenc import (
    alibi_bias,
    alibi_slopes,
    angles,
    dynamic_ntk_scaling,
    identify,
    inverse_frequencies,
    linear_scaling,
    llama3_scaling,
    ntk_scaling,
    parts_scaling,
    phasors,
    proportional_scaling,
    relative_positions,
    rotate,
    sinusoidal_encoding,
    t5_buckets,
    tensor2tensor_encoding,
    yarn_scaling,
)
from posenc.verify.cli import main
from posenc.verify.rope import PAIRINGS, Rope

pytestmark = pytest.mark.usefixtures("annotations_off")
W = inverse_frequencies(64)


def modeling(model: str):
    return importlib.import_module(f"transformers.models.{model}.modeling_{model}")


def llama(**parameters):
    import transformers

    logging.getLogger("transformers").setLevel(logging.ERROR)
    config = transformers.LlamaConfig(
        hidden_size=256,
        num_attention_heads=4,
        max_position_embeddings=4096,
        rope_parameters={"rope_type": "default", "rope_theta": 1e4, **parameters},
    )
    return modeling("llama").LlamaRotaryEmbedding(config)


# Rotations as they should be


@pytest.mark.parametrize("pairing", PAIRINGS)
@pytest.mark.parametrize("dim", [16, 128])
@pytest.mark.parametrize("base", [10_000.0, 500_000.0])
def test_pairing_width_and_base(pairing, dim, base):
    found = identify(Rope(inverse_frequencies(dim, base=base), dim, pairing))
    assert found.warnings == ()
    assert found.unknown == ()
    wanted = {
        "pairing": pairing,
        "head_dim": dim,
        "rotary_dim": dim,
        "base": base,
        "denominator": dim,
        "scaling": "none",
        "direction": 1,
        "offset": 0,
        "gain": pytest.approx(1, abs=1e-6),
        "ignores_positions": False,
        "depends_on_length": False,
        "keeps_state": False,
        "refused": None,
    }
    assert {key: found.data[key] for key in wanted} == wanted


@pytest.mark.parametrize("rotary_dim", [16, 32])
@pytest.mark.parametrize("base", [10_000.0, 500_000.0])
@pytest.mark.parametrize("pairing", ["half", "interleaved"])
@pytest.mark.parametrize("first", [0, 32])
def test_partial_rotation(rotary_dim, base, pairing, first):
    w = inverse_frequencies(rotary_dim, base=base)
    found = identify(Rope(w, 64, pairing, first=first)).data
    assert (found["rotary_dim"], found["denominator"], found["base"]) == (
        rotary_dim,
        rotary_dim,
        base,
    )
    assert found["first_channel"] == first
    assert found["pairing"] == pairing


def test_what_two_readings_share_is_said():
    over_head = inverse_frequencies(64)[:16]  # 32 of 64 channels, exponents over 64
    found = identify(Rope(over_head, 64))
    assert "over" in found.facts["frequencies"]
    assert "the same numbers as base" in found.facts["frequencies"]


SCALINGS = [
    ("linear", lambda w: linear_scaling(w, factor=2.5), {"factor": 2.5}),
    ("linear", lambda w: linear_scaling(w, factor=8), {"factor": 8}),
    ("ntk", lambda w: ntk_scaling(w, factor=8), {"factor": 8}),
    ("ntk", lambda w: ntk_scaling(w, factor=2), {"factor": 2}),
    ("llama3", llama3_scaling, {"factor": 8, "trained_length": 8192, "slow": 1, "fast": 4}),
    (
        "llama3",
        lambda w: llama3_scaling(w, factor=32, trained_length=4096),
        {"factor": 32, "trained_length": 4096},
    ),
    (
        "parts",
        lambda w: parts_scaling(w, factor=4, trained_length=2048, fast=16),
        {"factor": 4, "trained_length": 2048, "fast": 16},
    ),
    (
        "parts",
        lambda w: (yarn_scaling(w, factor=16, trained_length=4096, ramp="rotations")[0], 1.0),
        {"factor": 16, "trained_length": 4096, "fast": 32},
    ),
    (
        "yarn",
        lambda w: yarn_scaling(w, factor=4, trained_length=4096, ramp="dimensions"),
        {"factor": 4, "trained_length": 4096, "ramp": "dimensions", "truncate": True},
    ),
    (
        "yarn",
        lambda w: yarn_scaling(
            w, factor=32, trained_length=8192, ramp="dimensions", truncate=False, gain=1.0
        ),
        {"factor": 32, "trained_length": 8192, "truncate": False},
    ),
    ("proportional", lambda w: proportional_scaling(w, share=0.25), {"share": 0.25}),
    ("proportional", lambda w: proportional_scaling(w, share=0.75), {"share": 0.75}),
]


@pytest.mark.parametrize(("scaling", "scale", "settings"), SCALINGS)
@pytest.mark.parametrize("base", [10_000.0, 500_000.0])
def test_scalings_by_name(scaling, scale, settings, base):
    inv_freq, gain = scale(inverse_frequencies(64, base=base))
    found = identify(Rope(inv_freq, 64, gain=gain))
    assert found.data["scaling"] == scaling
    assert found.data["base"] == base
    assert {key: found.data["settings"][key] for key in settings} == settings
    assert found.data["gain"] == pytest.approx(gain, rel=1e-6)
    torch.testing.assert_close(found.rope.inv_freq, inv_freq, rtol=2e-6, atol=0)


@pytest.mark.parametrize("seed", [0, 1])
def test_factors_that_were_searched_are_not_given_a_name(seed):
    noise = 1 + torch.rand(32, generator=torch.Generator().manual_seed(seed)).double().cumsum(0) / 4
    found = identify(Rope(W / noise, 64))
    assert found.data["scaling"] == "unknown"
    assert "which rule the frequencies follow" in found.unknown


@pytest.mark.parametrize(("factor", "told"), [(4.0, "YaRN's"), (32.0, "YaRN's")])
def test_a_gain_is_explained(factor, told):
    inv_freq, gain = yarn_scaling(W, factor=factor, trained_length=4096, ramp="dimensions")
    assert told in identify(Rope(inv_freq, 64, gain=gain)).facts["gain"]
    assert "square" in identify(Rope(inv_freq, 64, gain=gain**2)).facts["gain"]


# Ways of calling

q_and_k = Rope(W, 64)


def spread(positions):
    return angles(positions, W)


CALLS = {
    "x, positions": lambda x, positions: rotate(x, spread(positions), pairing="half"),
    "x, position_ids [1, n]": lambda x, position_ids: rotate(
        x, spread(position_ids)[:, None].expand(len(x), -1, -1, -1), pairing="half"
    ),
    "x [b, n, h, d], input_pos": lambda x, input_pos=None: rotate(
        x,
        spread(input_pos if input_pos is not None else torch.arange(x.shape[1])),
        pairing="half",
        axis=1,
    ),
    "x alone": lambda x: rotate(x, spread(torch.arange(x.shape[-2])), pairing="half"),
    "x [b, n, h, d] alone": lambda x: rotate(
        x, spread(torch.arange(x.shape[1])), pairing="half", axis=1
    ),
    "x, offset": lambda x, offset=0: rotate(
        x, spread(torch.arange(x.shape[-2]) + offset), pairing="half"
    ),
    "q, k, positions": lambda q, k, positions: (
        rotate(q, spread(positions), pairing="half"),
        rotate(k, spread(positions), pairing="half"),
    ),
    "x [n, d], positions": lambda x, positions: (
        torch.stack(
            [
                rotate(row[None], spread(p[None]), pairing="half")[0]
                for row, p in zip(x, positions, strict=True)
            ]
        )
        if x.ndim == 2
        else 1 / 0
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_it_finds_out_how_to_call(name):
    found = identify(CALLS[name], dim=64)
    assert found.warnings == ()
    assert (found.data["base"], found.data["pairing"]) == (10_000, "half")
    if "alone" in name:
        assert "it takes none" in found.unknown[0]


@pytest.mark.parametrize("layout", ["half", "interleaved"])
@pytest.mark.parametrize("rows", [50, 5000])
def test_tables_of_cosines_and_sines(layout, rows):
    turn = spread(torch.arange(rows)).float()
    wide = torch.cat((turn, turn), -1) if layout == "half" else turn.repeat_interleave(2, -1)
    found = identify((wide.cos(), wide.sin()))
    assert found.data["base"] == 10_000
    assert "give `apply`" in found.unknown[0]
    assert layout.replace("half", "halves").replace("interleaved", "neighbours") in found.unknown[0]
    assert found.data["refused"][0] > rows - 1


def test_a_complex_table_has_one_column_a_pair():
    found = identify(phasors(spread(torch.arange(300))))
    assert found.data["base"] == 10_000
    assert "fit any" in found.unknown[0]


@pytest.mark.parametrize(
    ("parameters", "scaling"),
    [
        ({}, "none"),
        ({"rope_theta": 5e5}, "none"),
        ({"rope_type": "linear", "factor": 4.0}, "linear"),
    ],
)
def test_a_module_of_transformers(parameters, scaling):
    found = identify(llama(**parameters), apply=modeling("llama").apply_rotary_pos_emb)
    assert found.data["scaling"] == scaling
    assert found.data["base"] == parameters.get("rope_theta", 1e4)
    assert found.warnings == ()
    assert "float32" in found.facts["precision"]


def test_float64_angles_are_told_from_float32():
    assert "float64" in identify(Rope(W, 64)).facts["precision"]


# Planted bugs

BUGS = {
    "backwards": (lambda x, p: rotate(x, -spread(p), pairing="half"), "turns backwards"),
    "counted from 1": (lambda x, p: rotate(x, spread(p + 1), pairing="half"), "counted from 1"),
    "counted from -2": (lambda x, p: rotate(x, spread(p - 2), pairing="half"), "counted from -2"),
    "sin and cos": (
        lambda x, p: rotate(x, torch.pi / 2 - spread(p), pairing="half"),
        "sin and cos are exchanged",
    ),
    "bf16 frequencies": (
        lambda x, p: rotate(x, angles(p, W.bfloat16().double()), pairing="half"),
        "rounded to bfloat16, as",
    ),
    "fp16 frequencies": (
        lambda x, p: rotate(x, angles(p, W.half().double()), pairing="half"),
        "rounded to float16, as",
    ),
    "bf16 positions": (
        lambda x, p: rotate(x, spread(p.bfloat16().double()), pairing="half"),
        "positions are rounded to bfloat16",
    ),
    "fp16 positions": (
        lambda x, p: rotate(x, spread(p.clamp(max=65504).half().double()), pairing="half"),
        "positions are rounded to float16",
    ),
    "bf16 tables": (
        lambda x, p: rotate(x, spread(p), pairing="half").bfloat16().float(),
        "rounded to bfloat16: errors",
    ),
    "ignored": (
        lambda x, p: rotate(x, spread(torch.arange(x.shape[-2])), pairing="half"),
        "ignores the positions",
    ),
    "nothing": (lambda x, p: x, "does not turn anything"),
    "zero": (lambda x, p: x * 0, "is lost"),
    "mixed": (
        lambda x, p: x @ torch.linalg.qr(torch.ones(64, 64) + torch.eye(64))[0],
        "no rotation of pairs",
    ),
    "keys": (lambda q, k, p: (rotate(q, spread(p), pairing="half"), k), "keys are not rotated"),
    "keys otherwise": (
        lambda q, k, p: (
            rotate(q, spread(p), pairing="half"),
            rotate(k, spread(p), pairing="interleaved"),
        ),
        "keys are rotated otherwise",
    ),
    "reversed pairs": (
        lambda x, p: torch.cat(
            (
                x[..., :32] * spread(p).cos().float()
                - x[..., 32:].flip(-1) * spread(p).sin().float(),
                (
                    x[..., :32] * spread(p).sin().float()
                    + x[..., 32:].flip(-1) * spread(p).cos().float()
                ).flip(-1),
            ),
            -1,
        ),
        "paired in a way that no known model uses",
    ),
}


@pytest.mark.parametrize("name", BUGS)
def test_planted_bugs_are_seen(name):
    function, message = BUGS[name]
    found = identify(function, dim=64)
    assert any(message in warning for warning in found.warnings), found


def decoding(first):
    """As Meta's Llama: queries and keys, and where the first of them stands."""

    def turned(xq, xk, start_pos):  # [b, n, h, d]
        positions = torch.arange(xq.shape[1]) + first(start_pos)
        return tuple(rotate(x, spread(positions), pairing="interleaved", axis=1) for x in (xq, xk))

    return turned


def test_a_first_position_that_is_ignored():
    right = identify(decoding(lambda start: start))
    assert right.warnings == ()
    assert not right.data["ignores_positions"]
    wrong = identify(decoding(lambda start: 0))
    assert wrong.data["ignores_positions"]
    assert wrong.data["base"] == 10_000


def test_keys_are_known_by_their_names():
    def turned(x_q, x_k, positions):
        return tuple(rotate(x, spread(positions), pairing="half") for x in (x_q, x_k))

    assert identify(turned).facts["called as"].startswith("f(q, k, positions=[n])")

    def not_packed(qkv_q, qkv_k, positions):
        return turned(qkv_q, qkv_k, positions)

    assert identify(not_packed).facts["called as"].startswith("f(q, k, positions=[n])")

    def refused(x_q, x_k, positions):
        raise RuntimeError

    with pytest.raises(ValueError, match="Wrap it as `lambda q, k, positions"):
        identify(refused)


def test_a_rotation_backwards_is_measured_like_one_forwards():
    package, module = modeling("llama"), llama()

    def mine(x, positions):
        return package.apply_rotary_pos_emb(x, x, *module(x, -positions[None]))[0]

    found = identify(mine)
    assert found.data["direction"] == -1
    assert "float32" in found.facts["precision"]


def test_factors_for_long_texts_alone_leave_the_short_frequencies():
    import transformers

    config = transformers.Phi3Config(
        hidden_size=256,
        num_attention_heads=4,
        max_position_embeddings=131072,
        original_max_position_embeddings=4096,
        rope_parameters={
            "rope_type": "longrope",
            "rope_theta": 1e4,
            "short_factor": [1.0] * 32,
            "long_factor": [1 + i / 4 for i in range(32)],
        },
    )
    phi3 = modeling("phi3")
    found = identify(phi3.Phi3RotaryEmbedding(config), apply=phi3.apply_rotary_pos_emb)
    assert (found.data["scaling"], found.data["base"]) == ("none", 10_000)
    assert found.data["at_length"]["scaling"] == "unknown"
    assert not found.warnings
    assert "keys cached before" in found.facts["length"]


def test_one_sine_without_its_minus_is_no_rotation():
    def mine(x, positions):
        cos, sin = spread(positions).cos().float(), spread(positions).sin().float()
        a, b = x.chunk(2, -1)
        return torch.cat((a * cos + b * sin, a * sin + b * cos), -1)

    assert any("no rotation" in text for text in identify(mine).warnings)


@pytest.mark.parametrize("layout", ["half", "interleaved"])
def test_tables_for_the_other_pairing_are_no_rotation(layout):
    def mine(x, positions):
        turn = spread(positions).float()
        wide = torch.cat((turn, turn), -1) if layout == "half" else turn.repeat_interleave(2, -1)
        a, b = x.chunk(2, -1) if layout != "half" else (x[..., 0::2], x[..., 1::2])
        other = (-b, a)
        turned = torch.cat(other, -1) if layout != "half" else torch.stack(other, -1).flatten(-2)
        return x * wide.cos() + turned * wide.sin()

    assert any("laid out for the other pairing" in text for text in identify(mine).warnings)


@pytest.mark.parametrize(
    ("parameters", "scaling"), [({"rope_type": "dynamic", "factor": 2.0}, "ntk")]
)
def test_angles_that_depend_on_the_length(parameters, scaling):
    found = identify(llama(**parameters), apply=modeling("llama").apply_rotary_pos_emb)
    assert found.data["depends_on_length"]
    assert found.data["scaling"] == "none"
    assert found.data["at_length"]["scaling"] in (scaling, "geometric")
    assert "keys cached before" in found.facts["length"]
    expected, _ = dynamic_ntk_scaling(W, factor=2.0, length=100_004, trained_length=4096)
    assert expected[-1] != W[-1]


def test_state_is_noticed():
    class Forgetful:
        calls = 0

        def __call__(self, x, positions):
            self.calls += 1
            return rotate(x, spread(positions + self.calls % 2), pairing="half")

    found = identify(Forgetful(), dim=64)
    assert found.data["keeps_state"]
    assert any("state" in text for text in found.warnings)


# Biases

HEADS = [8, 12]
P = torch.arange(20)
R = relative_positions(P, P)


@pytest.mark.parametrize("heads", HEADS)
def test_alibi_as_published(heads):
    found = identify(alibi_bias(alibi_slopes(heads), R))
    assert found.warnings == ()
    assert found.data["order"] == "as published"
    assert not found.data["one_row"]
    assert "penalised alike" in found.facts["keys after the query"]


@pytest.mark.parametrize("heads", HEADS)
@pytest.mark.parametrize(
    ("change", "fact", "warning"),
    [
        (lambda b, h: -b, "minus as published", "the sign is wrong"),
        (lambda b, h: b.flip(0), "as published", "slopes are reversed"),
        (lambda b, h: b * 8, "multiplied by sqrt(64)", "multiplied by the root"),
        (lambda b, h: 2 * b, "added twice", "multiplied by 2"),
    ],
)
def test_alibi_with_a_planted_bug(heads, change, fact, warning):
    found = identify(change(alibi_bias(alibi_slopes(heads), R), heads))
    assert fact in found.facts["slopes"]
    assert any(warning in text for text in found.warnings)


@pytest.mark.parametrize("heads", HEADS)
def test_alibi_in_one_row_is_right(heads):
    row = alibi_slopes(heads)[:, None, None] * P
    found = identify(row)
    assert found.data["one_row"]
    assert found.warnings == ()
    assert "softmax forgets" in found.facts["form"]
    last = alibi_bias(alibi_slopes(heads), R[-1:])
    assert not identify(last).data["one_row"]


def test_slopes_of_other_rules():
    restart = alibi_bias(alibi_slopes(4).repeat(2), R)
    assert any("start again" in text for text in identify(restart).warnings)
    naive = alibi_bias(2.0 ** (-8 * torch.arange(1, 13).double() / 12), R)
    assert any("no power of two" in text for text in identify(naive).warnings)
    for most in (4, 16):
        other = alibi_bias(2.0 ** (-most * torch.arange(1, 9).double() / 8), R)
        assert identify(other).data["bias_max"] == pytest.approx(most, abs=1e-3)


def test_alibi_with_its_mask():
    bias = alibi_bias(alibi_slopes(8), R).masked_fill(R > 0, -torch.inf)
    found = identify(bias)
    assert found.data["order"] == "as published"
    assert "masked" in found.facts["keys after the query"]


def test_a_learned_bias_is_not_called_alibi():
    bias = torch.randn(4, 20, 20, generator=torch.Generator().manual_seed(0))
    assert identify(bias).data["method"] == "unknown"


# Buckets and tables


@pytest.mark.parametrize("settings", [(32, 128), (64, 256), (16, 50)])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("sign", [1, -1])
def test_t5_buckets_by_their_settings(settings, bidirectional, sign):
    count, distance = settings

    def mine(relative):
        return t5_buckets(
            sign * relative,
            num_buckets=count,
            max_distance=distance,
            bidirectional=bidirectional,
        )

    found = identify(mine, kind="buckets")
    assert found.data["num_buckets"] == count
    assert found.data["bidirectional"] == bidirectional
    assert found.data["sign"] == sign
    relative = torch.arange(-2000, 2001)
    again = t5_buckets(
        sign * relative,
        num_buckets=count,
        max_distance=found.data["max_distance"],
        bidirectional=bidirectional,
    )
    assert torch.equal(again, mine(relative))
    assert bool(found.warnings) == (sign == -1)


def test_buckets_from_their_matrix_and_others():
    p = torch.arange(300)
    found = identify(t5_buckets(relative_positions(p, p)))
    assert found.data["num_buckets"] == 32
    assert identify(relative_positions(p, p).clamp(-8, 8) + 8).data["method"] == "unknown"


@pytest.mark.parametrize("layout", ["interleaved", "half"])
@pytest.mark.parametrize("base", [10_000.0, 1000.0])
@pytest.mark.parametrize("cosine_first", [False, True])
def test_sinusoidal_tables(layout, base, cosine_first):
    table = sinusoidal_encoding(torch.arange(200), 32, layout=layout, base=base)
    if cosine_first:
        wide = table.unflatten(-1, (2, 16) if layout == "half" else (16, 2))
        table = wide.flip(1 if layout == "half" else 2).flatten(1)
    found = identify(table)
    wanted = {"layout": layout, "base": base, "cosine_first": cosine_first, "offset": 0}
    assert {key: found.data[key] for key in wanted} == wanted
    assert found.warnings == ()


@pytest.mark.parametrize("start", [1, 3])
def test_other_sinusoidal_tables(start):
    later = identify(sinusoidal_encoding(torch.arange(start, 99), 32))
    assert later.data["offset"] == start
    assert any("row 0 is position" in text for text in later.warnings)
    endpoint = identify(tensor2tensor_encoding(torch.arange(99), 32))
    assert endpoint.data["scaling"] == "endpoint"
    padded = sinusoidal_encoding(torch.arange(99), 32)
    padded[0] = 0
    assert identify(padded).data["padding_row"]
    learned = torch.randn(99, 32, generator=torch.Generator().manual_seed(start))
    assert identify(learned).data["method"] == "unknown"


# Words and data


def test_text_and_data_say_the_same():
    found = identify(Rope(W, 64))
    data = json.loads(json.dumps(found.as_dict()))
    assert data["kind"] == "rotation"
    assert data["base"] == 10_000
    text = str(found)
    for fact in ("half", "base 10000", "64 of 64", "forwards", "do not depend on the length"):
        assert fact in text


@pytest.mark.parametrize(
    ("thing", "options", "message"),
    [
        (7, {}, "got int"),
        (Rope(W, 64), {"kind": "rope"}, "kind must be one of"),
        (lambda: None, {}, "no way of calling it works"),
        (torch.ones(3, 3), {"kind": "bias"}, "bias must be"),
        (torch.ones(3), {"kind": "buckets"}, "buckets must be"),
        (torch.ones(3, 3), {}, "table must be"),
        ((torch.ones(3, 2), torch.ones(2, 2)), {}, "must be tables of one shape"),
    ],
)
def test_what_cannot_be_identified_is_refused(thing, options, message):
    with pytest.raises(ValueError, match=message):
        identify(thing, **options)


@pytest.mark.parametrize(
    ("choice", "message"),
    [({"pairing": "halves"}, "pairing must be one of"), ({"first": 8}, "must not exceed head_dim")],
)
def test_a_rope_refuses_what_cannot_be(choice, message):
    with pytest.raises(ValueError, match=message):
        Rope(W, 64, **choice)
    with pytest.raises(ValueError, match="x must have 64 channels, got 8"):
        Rope(W, 64)(torch.ones(1, 8), torch.arange(1))


# The command line

MODULE = """
import torch
from posenc import alibi_bias, alibi_slopes, angles, inverse_frequencies, relative_positions, rotate

W = inverse_frequencies(64)

def right(x, positions):
    return rotate(x, angles(positions, W), pairing="half")

def wrong(x, positions):
    return rotate(x, angles(positions + 1, W), pairing="half")

p = torch.arange(9)
bias = alibi_bias(alibi_slopes(8), relative_positions(p, p))
"""
CONFIG = {
    "model_type": "llama",
    "hidden_size": 128,
    "num_attention_heads": 2,
    "num_hidden_layers": 2,
    "rope_theta": 10000.0,
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(MODULE)
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (("identify", "mine:right"), 0, "base 10000, exponent over 64"),
        (("identify", "mine:wrong"), 1, "looks wrong: positions are counted from 1"),
        (("identify", "mine:bias"), 0, "as published"),
        (("compare", "mine:right", "config.json"), 0, "agree"),
        (("compare", "mine:wrong", "mine:right"), 1, "looks like: one position late"),
        (("models", "config.json"), 0, "layers 0-1: rope, half, 64 of 64 channels, base 10000"),
        (("identify", "mine:nothing"), 2, "AttributeError"),
        (("identify", "mine"), 2, "the name must be package.module:name, got 'mine'"),
        (("identify", "no/config.json"), 2, "there is no file no/config.json"),
        (
            ("compare", "mine:right", "config.json", "--layer", "7"),
            2,
            "layer must be within 0 ... 1, got 7",
        ),
        (("compare", "mine:right", "config.json", "--length", "99"), 0, "agree"),
    ],
)
def test_the_command_line(folder, capsys, arguments, status, said):
    assert main(list(arguments)) == status
    printed = capsys.readouterr()
    assert said in printed.out + printed.err


def test_the_command_line_gives_json(folder, capsys):
    def data(*arguments):
        main([*arguments, "--json"])
        return json.loads(capsys.readouterr().out)

    assert data("identify", "mine:right")["base"] == 10_000
    assert data("compare", "mine:wrong", "mine:right")["mistake"] == "one position late"
    assert data("models", "config.json")["model_type"] == "llama"


def test_python_m_posenc_runs_it(folder):
    command = [sys.executable, "-m", "posenc", "identify", "mine:wrong"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    assert "counted from 1" in done.stdout


@pytest.mark.parametrize("offset", [1, -1, 7, 0.5, -40, 1000])
def test_an_offset_of_any_size_is_told(offset):
    found = identify(lambda x, p: rotate(x, spread(p + offset), pairing="half"))
    assert found.data["offset"] == offset
    sign = "-" if offset < 0 else "+"
    assert f"position p counts as p {sign} {abs(offset)}" in found.facts["offset"]
    assert any("wrong beside others that count from 0" in text for text in found.warnings)


def test_one_of_three_rows_of_positions_is_no_section():
    def first(x, positions):
        given = positions[0] if positions.shape[:-1] == (3,) else positions
        return rotate(x, spread(given), pairing="half")

    found = identify(first)
    assert "row 0 alone is looked at: no matter for a text" in found.facts["axes"]
    assert not found.warnings


def test_a_long_text_without_positions_is_called_few_times():
    rows = 0

    def counts(q, k):  # [b, h, n, d]
        nonlocal rows
        rows += q.shape[:-1].numel() * (q.shape[-2] > 50_000)
        n = torch.arange(q.shape[-2])
        return tuple(rotate(x, spread(n), pairing="half") for x in (q, k))

    assert not identify(counts).warnings
    assert rows < 450_000  # 2 vectors, and one more in either dtype: once each, with one head
