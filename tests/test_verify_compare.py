"""Does `compare` agree where it should, and name the mistake where it should not?"""

import importlib
import json
import logging

import pytest
import torch

from posenc import (
    alibi_bias,
    alibi_slopes,
    compare,
    identify,
    inverse_frequencies,
    llama3_scaling,
    relative_positions,
    sinusoidal_encoding,
    t5_buckets,
    yarn_scaling,
)
from posenc.verify import Mistake, Rope, recognise, rotation_mistakes

pytestmark = pytest.mark.usefixtures("annotations_off")
W = inverse_frequencies(64)
YARN, GAIN = yarn_scaling(W, factor=4, trained_length=4096, ramp="dimensions")
ROPES = {
    "half": Rope(W, 64),
    "interleaved": Rope(inverse_frequencies(32, base=5e5), 32, "interleaved"),
    "partial": Rope(inverse_frequencies(16), 64),
    "scaled": Rope(YARN, 64, gain=GAIN, plain=W),
    "partial, scaled": Rope(YARN[:8], 64, gain=1.2, plain=W[:8]),
    "llama3": Rope(llama3_scaling(W)[0], 64, "interleaved", plain=W),
}
PLANTED = [
    (name, index, known.name)
    for name, rope in ROPES.items()
    for index, known in enumerate(rotation_mistakes(rope))
]
SAME = {  # different mistakes with the same result
    "every token at position 0": "nothing rotated",
    "base 10000": "frequencies not scaled, gain kept",
}


@pytest.mark.every
@pytest.mark.parametrize(("name", "index", "mistake"), PLANTED)
def test_each_known_mistake_is_recognised(name, index, mistake):
    rope = ROPES[name]
    known = rotation_mistakes(rope)[index]

    def mine(x, positions):
        return known.wrong(x, positions)

    found = compare(mine, rope, dim=rope.head_dim)
    if found.agrees:  # it is no mistake for this rotation
        x = torch.randn(1, 4, rope.head_dim)
        p = torch.tensor([3, 900, 1, 8000])
        assert torch.allclose(known.wrong(x, p).double(), rope(x, p).double(), atol=2e-3)
        assert (name, mistake) in {
            ("half", "base 10000"),
            ("interleaved", "base 500000"),
            ("partial", "base 10000"),
            ("scaled", "gain over all channels"),
        }
        return
    assert found.mistake in (mistake, SAME.get(mistake), "scaling forgotten")
    assert found.hint
    assert found.begins is not None


@pytest.mark.parametrize("name", ROPES)
def test_a_rotation_agrees_with_itself(name):
    found = compare(ROPES[name], ROPES[name])
    assert found.agrees
    assert found.begins is None
    assert max(found.differences) == 0
    assert str(found).startswith("agree")


def test_order_of_channels_alone_leaves_the_scores():
    found = compare(
        ROPES["half"].but(pairing="interleaved in, half out"), Rope(W, 64, "interleaved")
    )
    assert not found.agrees
    assert found.scores_agree
    assert "channels in another order" in str(found)
    other = compare(Rope(W, 64, "half"), Rope(W, 64, "interleaved"))
    assert other.scores_agree is False


@pytest.mark.parametrize(("change", "first"), [(1e-3, 1), (1e-6, 8000)])
def test_where_it_begins(change, first):
    def mine(x, positions):
        late = positions.double() + change * positions * (positions >= first)
        return ROPES["half"](x, late)

    found = compare(mine, ROPES["half"], dim=64)
    assert found.begins >= first
    assert not found.agrees
    assert found.mistake == ("all angles times 1.001" if first == 1 else "")
    assert ("no mistake that is known" in str(found)) == (first != 1)


@pytest.mark.parametrize("start", [1, 0])
def test_a_first_position_that_is_ignored_is_not_no_rotation(start):
    def mine(x, offset=0):
        return ROPES["half"](x, torch.arange(x.shape[-2]) + start * offset)

    found = compare(mine, ROPES["half"])
    assert found.agrees == bool(start)
    assert found.mistake == ("" if start else "every token at position 0")


# The tolerance


def llama(base: float):
    import transformers

    logging.getLogger("transformers").setLevel(logging.ERROR)
    config = transformers.LlamaConfig(
        head_dim=64, rope_parameters={"rope_type": "default", "rope_theta": base}
    )
    return importlib.import_module("transformers.models.llama.modeling_llama"), config


@pytest.mark.parametrize("base", [10_000.0, 500_000.0])
def test_float32_angles_are_within_the_tolerance_but_not_far_within(base):
    package, config = llama(base)
    module, apply = package.LlamaRotaryEmbedding(config), package.apply_rotary_pos_emb
    found = compare(module, Rope(inverse_frequencies(64, base=base), 64), apply=apply)
    assert found.agrees, found
    far = found.positions.index(100_003)
    assert found.tolerances[far] / 50 < found.differences[far] < found.tolerances[far]
    strict = compare(
        module, Rope(inverse_frequencies(64, base=base), 64), apply=apply, tolerance=0.01
    )
    assert not strict.agrees


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_low_precision_has_a_wider_tolerance(dtype):
    def mine(x, positions):
        return ROPES["half"](x.to(dtype), positions).to(x.dtype)

    assert compare(mine, ROPES["half"], dim=64, dtype=dtype).agrees
    late = compare(lambda x, p: mine(x, p + 1), ROPES["half"], dim=64, dtype=dtype)
    assert late.mistake == "one position late"


# Tensors

P = torch.arange(30)
R = relative_positions(P, P)
BIAS = alibi_bias(alibi_slopes(8), R)


def test_tensors_that_agree():
    assert compare(BIAS, BIAS.clone()).agrees
    assert compare(BIAS * (1 + 1e-7), BIAS).agrees
    buckets = t5_buckets(R)
    assert compare(buckets, buckets.clone()).agrees
    assert compare(lambda r: t5_buckets(r), t5_buckets, kind="buckets").agrees
    table = sinusoidal_encoding(P, 16)
    assert compare(table, table.clone()).agrees


@pytest.mark.parametrize(
    ("yours", "reference", "mistake"),
    [
        (-BIAS, BIAS, "the sign is wrong"),
        (BIAS.flip(0), BIAS, "slopes are reversed"),
        (BIAS / 8, BIAS, "slopes divided by the root"),
        (BIAS * 8, BIAS, "slopes not divided by the root"),
        (BIAS * 3, BIAS, "slopes times 3"),
        (t5_buckets(-R), t5_buckets(R), "the sign is exchanged"),
        (sinusoidal_encoding(P + 1, 16), sinusoidal_encoding(P, 16), "row 0 is position 1"),
    ],
)
def test_tensors_that_differ(yours, reference, mistake):
    found = compare(yours, reference)
    assert not found.agrees
    assert mistake in found.mistake


def test_a_layout_is_told_in_the_hint():
    interleaved, half = (sinusoidal_encoding(P, 16, layout=x) for x in ("interleaved", "half"))
    assert "half, sine first, not interleaved, sine first" in compare(half, interleaved).hint


def test_softmax_forgets_one_number_a_row():
    row = (alibi_slopes(8)[:, None, None] * P).expand(8, 30, 30)
    causal = R > 0
    shifted = row - row.diagonal(dim1=1, dim2=2)[..., None]
    for yours, reference in ((row, shifted), (shifted, row), (row[:, -1:], shifted[:, -1:])):
        found = compare(yours, reference)
        assert found.agrees
        assert found.scores_agree
        assert any("softmax forgets" in note for note in found.notes)
    bent = row.clone()
    bent[3, 7, 2] += 0.1
    assert not compare(bent, shifted).agrees
    hidden = row.masked_fill(causal, -torch.inf)
    assert compare(hidden, shifted.masked_fill(causal, -torch.inf)).agrees


# Data and refusals


def test_data_can_be_json():
    found = compare(ROPES["half"], ROPES["interleaved"].but(inv_freq=W, head_dim=64))
    assert json.loads(json.dumps(found.as_dict()))["mistake"] == "pairing exchanged"


@pytest.mark.parametrize(
    ("yours", "reference", "options", "message"),
    [
        (Rope(W, 64), Rope(W[:8], 16), {}, "yours must take heads of 16 channels"),
        (BIAS, BIAS[:4], {}, "yours must have the reference's shape"),
        (BIAS, BIAS, {"kind": "biases"}, "kind must be one of"),
        (Rope(W, 64), Rope(W, 64), {"kind": "bias"}, "a bias is compared as a tensor, got Rope"),
    ],
)
def test_what_cannot_be_compared_is_refused(yours, reference, options, message):
    with pytest.raises(ValueError, match=message):
        compare(yours, reference, **options)


def test_keys_are_held_against_the_references_keys():
    other = Rope(inverse_frequencies(64, base=5e5), 64)

    def port(q, k, positions):
        return ROPES["half"](q, positions), other(k, positions)

    found = compare(port, ROPES["half"])
    assert not found.agrees
    assert found.mistake == "keys: base 500000"
    assert found.notes == ("queries agree, keys do not: all of this is said of the keys",)
    assert compare(port, port).agrees
    assert compare(lambda q, k, positions: (q, k), port).notes == ()


@pytest.mark.parametrize("length", [8192, 16_384, 32_768])
def test_rings_that_no_probe_tells_apart_are_named_together(length):
    found = compare(lambda x, positions: ROPES["half"](x, positions % length), ROPES["half"])
    assert found.mistake == "positions start again at 8192, 16384 or 32768"


def test_the_engine_takes_any_mistakes():
    known = [
        Mistake("adds", "it adds", lambda a, b: a + b),
        Mistake("breaks", "it breaks", lambda a, b: 1 / 0),
        Mistake("multiplies", "it multiplies", lambda a, b: a * b),
    ]

    def equal(one, two):
        return one == two

    assert recognise(known, [(2, 2), (2, 3)], [4, 6], equal).name == "multiplies"
    assert recognise(known, [(2, 2)], [4], equal).name == "adds"
    assert recognise(known, [(2, 3)], [7], equal) is None
    assert recognise(known, [], [], equal) is None


def test_what_identify_finds_can_be_compared():
    for rope in ROPES.values():
        assert compare(identify(rope).rope, rope).agrees
