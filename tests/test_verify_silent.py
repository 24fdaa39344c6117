"""Bugs that no error tells of and no short text shows: each is found by default, and named."""

import functools
import json

import numpy as np
import pytest
import torch

from posenc import compare, identify, inverse_frequencies, llama3_scaling, models, yarn_scaling
from posenc.verify import Rope
from posenc.verify.cli import main

pytestmark = pytest.mark.usefixtures("annotations_off")
LLAMA = {
    "model_type": "llama",
    "hidden_size": 256,
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "max_position_embeddings": 4096,
    "rope_theta": 10_000.0,
}
INV = inverse_frequencies(64).float()


def turned(x, t, inv_freq=INV):
    """x [..., n, d], halves, turned by t [n]."""
    turn = t[:, None].float() * inv_freq
    cos, sin = (torch.cat((f(turn), f(turn)), dim=-1).to(x.dtype) for f in (torch.cos, torch.sin))
    one, two = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-two, one), dim=-1) * sin


# The vectors' dtype


def counting(q, k, dtype):
    if q.shape[-2] > 4096:
        raise IndexError("the table has 4096 rows")
    t = torch.arange(q.shape[-2], dtype=dtype or q.dtype)
    return turned(q, t), turned(k, t)


def told(q, k, positions, dtype):
    assert positions.ndim == 1
    t = positions.to(dtype or q.dtype)
    return turned(q, t), turned(k, t)


FORMS = {
    "counting": lambda dtype: lambda q, k: counting(q, k, dtype),
    "told": lambda dtype: lambda q, k, positions: told(q, k, positions, dtype),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("named", [{}, {"torch_dtype": "bfloat16"}, {"dtype": torch.bfloat16}])
def test_positions_in_the_vectors_dtype_are_found_by_default(form, named):
    found = compare(FORMS[form](None), LLAMA | named)
    assert not found.agrees
    assert found.begins == 257
    assert "positions are rounded to bfloat16" in found.mistake or "in bfloat16" in found.mistake
    why = "the configuration's dtype" if named else "in which most models run"
    assert any("in float32 it agrees" in text and why in text for text in found.notes)
    right = compare(FORMS[form](torch.float32), LLAMA | named)
    assert right.agrees, right
    assert "in float32 and in bfloat16" in right.compared[0]
    assert compare(FORMS[form](None), LLAMA | named, dtype=torch.float32).agrees


def test_a_configuration_that_says_float16_is_compared_in_it():
    found = compare(FORMS["told"](None), LLAMA | {"torch_dtype": "float16"})
    assert found.begins == 2049
    assert "float16" in found.mistake
    right = compare(FORMS["told"](torch.float32), LLAMA | {"torch_dtype": "float16"})
    assert "in float32 and in float16" in right.compared[0]


@pytest.mark.parametrize("named", [{}, {"torch_dtype": "bfloat16"}])
def test_code_that_refuses_the_models_dtype_is_not_said_to_agree_in_it(named):
    def by_numpy(x, positions):
        return turned(torch.from_numpy(x.numpy()), positions)

    found = compare(by_numpy, LLAMA | named)
    assert found.agrees == (not named)
    told = found.undecided if named else found.not_compared
    assert any("vectors in bfloat16" in text for text in told)
    assert compare(by_numpy, LLAMA | named, dtype=torch.float32).agrees
    told = identify(by_numpy)
    assert not told.warnings
    assert any("vectors in bfloat16" in text for text in told.unknown)


def test_identify_tries_bfloat16_and_names_what_it_finds():
    found = identify(FORMS["counting"](None))
    assert found.data["base"] == 10_000
    assert found.data["depends_on_dtype"]
    assert "from position 257 on: positions are rounded to bfloat16" in found.warnings[0]
    right = identify(FORMS["counting"](torch.float32))
    assert not right.warnings
    assert not right.data["depends_on_dtype"]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_rounded_positions_are_no_lead_to_other_frequencies(dtype):
    found = identify(FORMS["counting"](None), dtype=dtype)
    assert found.data["scaling"] == "none"
    assert found.data["base"] == 10_000
    assert len(found.warnings) == 1


@pytest.mark.parametrize("nested", [True, False])
def test_the_dtype_is_read_from_old_and_new_files_and_around_a_text_config(nested):
    raw = LLAMA | {"torch_dtype": "float16"}
    raw = {"model_type": "llava", "text_config": LLAMA, "dtype": "float16"} if nested else raw
    read = models(raw)
    assert read.dtype == "float16"
    assert "float16" in str(read).splitlines()[0]
    assert models(LLAMA).dtype == ""


def test_the_command_line_finds_it_without_an_option(tmp_path, monkeypatch, capsys):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(LLAMA | {"torch_dtype": "bfloat16"}))
    monkeypatch.setattr("posenc.verify.cli._load", lambda name: FORMS["counting"](None))
    assert main(["compare", "mine:rope", str(path)]) == 1
    assert main(["compare", "mine:rope", str(path), "--dtype", "float32"]) == 0
    assert "agree" in capsys.readouterr().out


# Where it begins


@pytest.mark.parametrize("end", [300, 4096, 5000])
def test_the_place_where_it_begins_is_looked_for(end):
    found = compare(lambda x, positions: turned(x, positions.clamp(max=end)), LLAMA)
    assert found.begins == end + 1
    assert found.begins in found.positions
    assert found.mistake == f"positions end at {end}"


@pytest.mark.parametrize("ring", [1000, 3000])
def test_a_ring_of_any_size_is_named(ring):
    found = compare(lambda x, positions: turned(x, positions % ring), LLAMA)
    assert found.begins == ring
    assert found.mistake == f"positions start again at {ring}"


def test_the_place_of_a_key_is_looked_for_too():
    def mine(q, k, positions):
        return turned(q, positions), turned(k, positions.clamp(max=700))

    found = compare(mine, LLAMA)
    assert (found.begins, found.mistake) == (701, "keys: positions end at 700")


# M-RoPE's sections

MROPE = np.array([8, 12, 12])
QWEN = {
    "model_type": "qwen2_vl",
    "hidden_size": 256,
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "max_position_embeddings": 4096,
    "rope_theta": 10_000.0,
    "rope_scaling": {"type": "mrope", "mrope_section": MROPE.tolist()},
}


def by_sections(sections):
    def mine(q, k, position_ids):  # [3, b, n]
        turn = position_ids[..., None].float() * torch.cat((INV, INV))
        parts = np.split(np.arange(64), np.cumsum(sections)[:-1])

        def pick(table):
            return torch.cat([table[i % 3][..., p] for i, p in enumerate(parts)], dim=-1)[:, None]

        cos, sin = pick(turn.cos()), pick(turn.sin())
        return tuple(x * cos + torch.cat((-x[..., 32:], x[..., :32]), dim=-1) * sin for x in (q, k))

    return mine


@pytest.mark.parametrize("reference", [QWEN, LLAMA])
def test_sections_doubled_and_not_repeated_are_no_rotation(reference):
    found = compare(by_sections(MROPE * 2), reference)
    assert not found.agrees
    assert found.mistake == "the two channels of a pair follow different rows of positions"
    assert "channels 0-15 follow row 0; channels 16-39 follow row 1" in found.hint
    assert "sections * 2 repeats a list" in found.hint
    told = identify(by_sections(MROPE * 2))
    assert told.data["axis"] is None
    assert any("no rotation: lengths change" in text for text in told.warnings)
    right = by_sections(MROPE.tolist() * 2)
    assert compare(right, reference).agrees
    assert identify(right).facts["axes"].startswith("three rows of positions, sections [8, 12, 12]")


# Factors for another base

RULES = {
    "llama3": lambda w: llama3_scaling(w, factor=8.0, trained_length=8192),
    "yarn": lambda w: yarn_scaling(w, factor=4.0, trained_length=4096, ramp="dimensions"),
}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("base", "other"), [(500_000.0, 10_000.0), (1_000_000.0, 100_000.0)])
def test_factors_computed_for_another_base_are_named(rule, base, other):
    plain, there = (inverse_frequencies(128, base=b) for b in (base, other))
    right, gain = RULES[rule](plain)
    reference = Rope(right, 128, gain=gain, plain=plain)
    wrong = {
        (base, other): plain * RULES[rule](there)[0] / there,
        (other, base): there * right / plain,
    }
    for (b, of), inv_freq in wrong.items():
        found = compare(reference.but(inv_freq=inv_freq, plain=None), reference)
        assert found.mistake == f"factors for base {of:.0f}"
        assert f"frequencies of base {b:.0f}" in found.hint
        told = identify(reference.but(inv_freq=inv_freq, plain=None))
        of = of if rule == "llama3" else 0  # YaRN's ramp has whole ends, which several bases give
        assert f"factors for base {of or ''}".removesuffix(".0") in told.warnings[0]
        assert f"base {b:.0f}" in told.facts["frequencies"]
        assert "off by" not in told.facts["precision"]


def test_factors_of_no_rule_are_told_with_their_base():
    plain = inverse_frequencies(64, base=500_000.0)
    odd = plain / torch.where(torch.arange(32) > 20, 1 + torch.arange(32) % 3 / 7, 1.0)
    found = identify(Rope(odd, 64)).facts["frequencies"]
    assert "the first 21 are base 500000's over 64, pairs from 22 on are divided by" not in found
    assert "are base 500000's over 64" in found


# Queries that grow with their position

LLAMA4 = {
    "model_type": "llama4_text",
    "hidden_size": 512,
    "num_attention_heads": 4,
    "num_hidden_layers": 8,
    "max_position_embeddings": 262_144,
    "attn_temperature_tuning": True,
}


def bare(scale=0.1, length=8192, first=1.0, keys=False, power=1, floor=torch.floor):
    """A layer without positions: queries alone grow."""

    def layer(q, k, position_ids):
        grown = 1 + scale * torch.log1p(floor((position_ids.float() + first) / length))
        gain = (grown**power)[:, None, :, None].to(q.dtype)
        return q * gain, k * gain if keys else k

    return layer


def test_a_layer_without_positions_agrees_with_its_temperature():
    found = compare(bare(), LLAMA4)
    assert str(found).startswith("agree with layers 3, 7 (full_attention)")
    assert any("layers 0-2, 4-6" in text for text in found.not_compared)
    assert compare(bare(), LLAMA4, layer=3).agrees
    other = LLAMA4 | {"attn_scale": 0.3, "floor_scale": 1000}
    assert compare(bare(0.3, 1000), other).agrees
    assert not compare(bare(0.3, 1000), LLAMA4).agrees


TEMPERATURES = {
    "queries grow a position late": {"first": 0.0},
    "queries grow a position early": {"first": 2.0},
    "queries grow without steps": {"floor": lambda x: x},
    "queries grow twice": {"power": 2},
    "queries are divided where they should grow": {"power": -1},
    "queries grow from 4096 on, not from 8192 on": {"length": 4096},
    "keys grow as queries do": {"keys": True},
}


@pytest.mark.parametrize("layer", [None, 7])
@pytest.mark.parametrize("name", TEMPERATURES)
def test_a_temperature_gone_wrong_is_named(name, layer):
    found = compare(bare(**TEMPERATURES[name]), LLAMA4, layer=layer)
    assert not found.agrees
    assert found.mistake == name
    assert found.begins > 4000 or name == "queries grow without steps"
    assert "layer 7" in found.notes[0] or "layers 3, 7" in found.notes[0]


def test_a_temperature_that_is_forgotten_and_one_beside_a_rotation():
    def nothing(q, k, positions):
        return q, k

    assert compare(nothing, LLAMA4, layer=3).mistake == "queries do not grow"
    assert compare(nothing, LLAMA4).mistake == "nothing rotated"
    rope = models(LLAMA4).layers[0].rope
    found = compare(lambda x, positions: rope(x, positions), LLAMA4, layer=3)
    assert found.mistake == "another layer's"
    found = compare(lambda x, positions: rope.but(inv_freq=rope.inv_freq / 3)(x, positions), LLAMA4)
    assert "layers 0-2, 4-6" in found.notes[0]
    once = rope.but(pairing="half")
    found = compare(lambda x, positions: once(x, positions), LLAMA4, layer=3)
    assert found.mistake == "it turns, the reference does not"
    assert "base 500000" in found.hint


@pytest.mark.parametrize("first", [0.0, 1.0])
def test_identify_names_the_growth_of_queries(first):
    found = identify(bare(first=first))
    counted = "(p + 1)" if first else "p"
    assert found.kind == "temperature"
    assert found.facts["gain"].startswith(f"1 + 0.1 ln(1 + floor({counted}/8192))")
    assert found.data["temperature"] == {"scale": 0.1, "length": 8192, "first": int(first)}
    assert found.facts["keys"] == "come out as they went in"
    assert not found.warnings
    assert "what comes out is what went in" not in str(found)
    assert ["keys grow" in text for text in identify(bare(keys=True)).warnings] == [True]
    odd = identify(bare(floor=torch.sqrt))
    assert "grow or shrink with their position" in odd.warnings[0]
    assert "at position 100003" in odd.facts["gain"]


MINISTRAL = {
    "model_type": "ministral3",
    "hidden_size": 256,
    "num_attention_heads": 2,
    "num_hidden_layers": 2,
    "max_position_embeddings": 262_144,
}


def test_a_rotation_may_grow_its_queries_or_leave_it_to_others():
    layer = models(MINISTRAL).layers[0]
    grown, rope = layer.rope.but(temperature=layer.temperature), layer.rope
    both = compare(lambda q, k, positions: (grown(q, positions), rope(k, positions)), MINISTRAL)
    assert both.agrees, both
    assert not any("grow" in text for text in both.not_compared)
    alone = compare(lambda q, k, positions: (rope(q, positions), rope(k, positions)), MINISTRAL)
    assert alone.agrees
    assert any("queries grow with their position" in text for text in alone.not_compared)
    wrong = compare(lambda q, k, positions: (grown(q, positions), grown(k, positions)), MINISTRAL)
    assert wrong.mistake == "keys grow as queries do"
    told = identify(lambda q, k, positions: (grown(q, positions), rope(k, positions)))
    assert told.data["temperature"]["length"] == 16_384
    assert not told.warnings
    assert told.data["scaling"] == "yarn"


COHERE = {
    "model_type": "cohere2",
    "hidden_size": 256,
    "num_attention_heads": 4,
    "num_hidden_layers": 4,
}


def test_layers_without_positions_are_compared_only_if_asked_for():
    def nothing(q, k, positions):
        return q, k

    assert not compare(nothing, COHERE).agrees
    assert compare(nothing, COHERE, layer=3).agrees
    rope = models(COHERE).layers[0].rope
    found = compare(lambda x, positions: rope(x, positions), COHERE)
    assert found.agrees
    assert any("layer 3 (full_attention), which have no positions" in t for t in found.not_compared)


# Buckets and biases as code has them


def bucket(relative, count=32, both=True):
    """T5's rule for one number, as in llama.cpp."""
    count = count // 2 if both else count
    exact, found = count // 2, 0
    if both:
        found += (relative > 0) * count
        relative = abs(relative)
    else:
        relative = -min(relative, 0)
    if relative < exact:
        return found + relative
    far = int(exact + np.log(relative / exact) / np.log(128 / exact) * (count - exact))
    return found + min(far, count - 1)


T5 = {"model_type": "t5", "num_layers": 2}


def matrix(rule, q=40, k=300):
    return torch.tensor([[rule(j - i) for j in range(k)] for i in range(q)], dtype=torch.int32)


@pytest.mark.parametrize("both", [True, False])
def test_buckets_are_compared_as_a_matrix_and_as_a_rule_of_one_number(both):
    side = "agree with the encoder's" if both else "agree with the decoder's"
    told = {"first_query": 0}
    for thing in (matrix(lambda r: bucket(r, both=both)), lambda r: bucket(r, both=both)):
        assert str(compare(thing, T5, **told)).startswith(side)
        assert identify(thing).data["bidirectional"] == both
    found = compare(matrix(lambda r: bucket(r, both=both)), T5, **told)
    assert "relative positions -39 to 299" in found.compared[0]
    assert any("beyond these" in text for text in found.not_compared)


def test_wrong_buckets_in_a_matrix_are_named():
    found = compare(matrix(lambda r: bucket(-r)), T5)
    assert found.mistake == "the sign is exchanged"
    with pytest.raises(ValueError, match="must depend on key - query alone"):
        identify(matrix(bucket).flip(1), kind="buckets")
    with pytest.raises(ValueError, match="a rule of two positions is wrapped"):
        identify(lambda key, query: bucket(key - query))


MPT = {"model_type": "mpt", "n_heads": 16, "n_layers": 2}


def slopes_bias(slopes, n=40):
    return slopes[:, None, None] * torch.arange(1 - n, 1).float()


@pytest.mark.parametrize(("own", "rank"), [(8, 0), (8, 1), (4, 2)])
def test_one_ranks_slopes_are_held_against_its_share(own, rank):
    from posenc import alibi_slopes

    every = alibi_slopes(16)
    share = every[own * rank : own * (rank + 1)]
    right = compare(slopes_bias(share), MPT)
    assert str(right).startswith(f"agree with heads {own * rank} to {own * (rank + 1) - 1} of 16")
    found = compare(slopes_bias(alibi_slopes(own)), MPT)
    assert found.mistake == f"those of {own} heads, not {own} of 16"
    assert f"slopes[{own} * rank" in found.hint
    assert not compare(slopes_bias(2 * share), MPT).agrees
    with pytest.raises(ValueError, match="an equal share"):
        compare(slopes_bias(every[:5]), MPT)


# Latent attention as DeepSeek writes it


@pytest.mark.parametrize("right", [True, False])
def test_keys_without_an_axis_of_heads_are_called(right):
    table = torch.arange(200_000).float()[:, None] * inverse_frequencies(32).float()

    def pairs(x, turn):  # [b, n, h, d], turn [n, d/2]
        a, b = x.float()[..., 0::2], x.float()[..., 1::2]
        cos, sin = turn.cos()[None, :, None], turn.sin()[None, :, None]
        return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2).to(x.dtype)

    def mla(q, kv_pe, start_pos=0):
        n = q.size(1)
        turn = table[start_pos : start_pos + n]
        still, pe = q.split([64, 32], -1)
        late = turn if right else table[start_pos + 1 : start_pos + n + 1]
        return torch.cat([still, pairs(pe, turn)], -1), pairs(kv_pe.unsqueeze(2), late)

    config = LLAMA | {"model_type": "deepseek_v2", "qk_rope_head_dim": 32, "qk_nope_head_dim": 64}
    found = compare(mla, config)
    assert found.agrees == right, found
    assert "queries and keys" in found.compared[0]
    assert found.mistake == ("" if right else "keys: one position late")
    assert "no axis of heads" in identify(mla).facts["called as"]


# Calls that are not a whole text, rising from 0


@pytest.mark.parametrize(
    ("moved", "name"),
    [
        (lambda p: p - p[0], "a text that does not begin at 0"),
        (lambda p: p - p.min(), "a text that does not begin at 0"),
        (lambda p: p.sort()[0], "rows out of order"),
    ],
)
def test_positions_that_are_renumbered_within_a_call_do_not_agree(moved, name):
    def mine(q, k, positions):
        return turned(q, moved(positions)), turned(k, moved(positions))

    found = compare(mine, LLAMA)
    assert not found.agrees
    assert found.mistake == name
    assert any("turns by its own position only" in text for text in identify(mine).warnings)


def test_keys_alone_may_be_renumbered():
    def mine(q, k, positions):
        return turned(q, positions), turned(k, positions - positions.min())

    assert compare(mine, LLAMA).mistake == "a text that does not begin at 0 in keys"


# Frequencies that depend on the length

DYNAMIC = LLAMA | {"rope_scaling": {"rope_type": "dynamic", "factor": 4.0}}
PHI3 = LLAMA | {
    "model_type": "phi3",
    "max_position_embeddings": 131_072,
    "original_max_position_embeddings": 4096,
    "rope_scaling": {
        "type": "longrope",
        "short_factor": [1.0 + i / 64 for i in range(32)],
        "long_factor": [1.0 + i for i in range(32)],
    },
}
LENGTHS = {
    "right": lambda n: n,
    "one too few": lambda n: n - 1,
    "one too many": lambda n: n + 1,
    "late": lambda n: n if n > 8192 else 1,
}


@pytest.mark.parametrize("config", [DYNAMIC, PHI3])
@pytest.mark.parametrize("counted", LENGTHS)
def test_a_length_that_is_counted_wrong_is_found_where_frequencies_change(config, counted):
    at = models(config).layers[0].at

    def mine(x, positions):
        return at(LENGTHS[counted](int(positions.max()) + 1))(x, positions)

    found = compare(mine, config)
    assert found.agrees == (counted == "right"), found
    if counted != "right":
        assert found.mistake == "the frequencies of another length"
        told = "4096 positions" if counted == "one too many" and config is PHI3 else "4097"
        assert told in found.hint or config is DYNAMIC
    length = compare(at(5000), config, length=5000)
    assert length.agrees


# Frequencies and positions, slightly wrong

SLIPS = {
    "exponent i/d": lambda i: 1e4 ** (-i / 64),
    "exponent over 256": lambda i: 1e4 ** (-2 * i / 256),
    "exponent over d - 2": lambda i: 1e4 ** (-2 * i / 62),
    "pairs counted from 1": lambda i: 1e4 ** (-2 * (i + 1) / 64),
    "pairs counted from -1": lambda i: 1e4 ** (-2 * (i - 1) / 64),
    "angles times 2 pi": lambda i: 2 * torch.pi * 1e4 ** (-2 * i / 64),
    "angles in turns": lambda i: 1e4 ** (-2 * i / 64) / (2 * torch.pi),
}


@pytest.mark.parametrize("name", SLIPS)
def test_exponents_gone_wrong_are_named(name):
    wrong = SLIPS[name](torch.arange(32, dtype=torch.float64)).float()
    found = compare(lambda x, positions: turned(x, positions, wrong), LLAMA)
    assert found.mistake == name
    identify(lambda x, positions: turned(x, positions, wrong))


POSITIONS = {
    "position p turns as p + 2": lambda p: p + 2,
    "position p turns as p - 3": lambda p: p - 3,
    "positions wrap around as int16": lambda p: p.to(torch.int16),
    "positions wrap around as int8": lambda p: p.to(torch.int8),
    "positions start again at 256": lambda p: p.to(torch.uint8),
    "all angles times 1.0005": lambda p: p * 1.0005,
}


@pytest.mark.parametrize("name", POSITIONS)
def test_positions_gone_wrong_are_named(name):
    found = compare(lambda x, positions: turned(x, POSITIONS[name](positions)), LLAMA)
    assert found.mistake == name
    if "1.0005" in name:
        assert "linspace(0, n, n)" in found.hint


LOW = {
    "frequencies in bfloat16": lambda x, p: turned(x, p, INV.to(x.dtype).float()),
    "cos and sin": lambda x, p: turned(x.float(), p).to(x.dtype),
}


def test_frequencies_in_the_vectors_dtype_are_named():
    found = compare(LOW["frequencies in bfloat16"], LLAMA)
    assert found.mistake == "frequencies in bfloat16"
    assert compare(LOW["cos and sin"], LLAMA).agrees


# Three rows of positions


IMAGES = LLAMA | {"model_type": "qwen2_vl"}
IMAGES |= {"rope_scaling": {"type": "mrope", "mrope_section": [8, 12, 12]}}


def sectioned(positions, order):
    """Positions [3, ...] of time, rows and columns as those of each pair, [..., 32]."""
    each = positions[..., None].expand(*positions.shape, 32).split([8, 12, 12], dim=-1)
    return torch.cat([part[order[i]] for i, part in enumerate(each)], dim=-1)


def flat(positions, query, key, *, order):
    """As vLLM's: positions [n] or [3, n], vectors [n, h d] or [n, h, d]."""
    each = sectioned(positions, order) if positions.ndim == 2 else positions[:, None]
    turn = (each.float() * INV)[:, None]

    def turned(x):
        one, two = x.view(len(turn), -1, 64).chunk(2, dim=-1)
        cos, sin = turn.cos(), turn.sin()
        both = torch.cat((one * cos - two * sin, two * cos + one * sin), dim=-1)
        return both.reshape(x.shape).to(x.dtype)

    return turned(query), turned(key)


def batched(q, k, position_ids, *, order):
    """As transformers': positions [b, n] or [3, b, n], vectors [b, h, n, d]."""
    p = position_ids if position_ids.ndim == 3 else position_ids.expand(3, -1, -1)
    turn = (sectioned(p, order).float() * INV)[:, None]

    def turned(x):
        one, two = x.chunk(2, dim=-1)
        cos, sin = turn.cos(), turn.sin()
        return torch.cat((one * cos - two * sin, two * cos + one * sin), dim=-1).to(x.dtype)

    return turned(q), turned(k)


@pytest.mark.parametrize("form", [flat, batched])
@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1), (0, 0, 0)])
def test_three_rows_are_tried_where_one_is_taken_too(form, order):
    right = order == (0, 1, 2)
    port = functools.partial(form, order=order)
    found = compare(port, IMAGES)
    assert found.agrees == right
    assert found.mistake == ("" if right else "rows of positions read otherwise")
    assert str(found).splitlines()[0] == ("agree" if right else "differ")
    assert ("sections [8, 12, 12], chunked" in identify(port).facts["axes"]) == right


def test_rows_that_are_taken_and_not_heeded_are_as_one():
    found = compare(functools.partial(flat, order=(0, 0, 0)), LLAMA)
    assert str(found).splitlines()[0] == "agree"
    found = compare(functools.partial(flat, order=(0, 1, 2)), LLAMA)
    assert str(found).splitlines()[0] == "agree for a text"
