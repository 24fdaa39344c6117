"""Stretched frequencies: beside the papers, literally, and beside transformers."""

import math

import pytest
import spec
import torch
from helpers import bases, close, same
from hypothesis import given
from hypothesis import strategies as st

from posenc import (
    angles,
    dynamic_ntk_scaling,
    inverse_frequencies,
    linear_scaling,
    llama3_scaling,
    longrope_scaling,
    ntk_scaling,
    parts_scaling,
    phasors,
    proportional_scaling,
    query_gain,
    rotate,
    yarn_gain,
    yarn_scaling,
)

W = inverse_frequencies(8)
factors = st.sampled_from([1.0, 1.5, 4.0, 32.0])
lengths = st.sampled_from([64, 2048, 8192])
wide = st.sampled_from([4, 6, 64, 128])
ramps = st.sampled_from([(1.0, 32.0), (1.0, 4.0), (0.5, 3.0)])
BY_NAME = {
    "linear": lambda w: linear_scaling(w, factor=4),
    "ntk": lambda w: ntk_scaling(w, factor=4),
    "dynamic": lambda w: dynamic_ntk_scaling(w, factor=4, length=300, trained_length=100),
    "parts": lambda w: parts_scaling(w, factor=4, trained_length=2048),
    "llama3": lambda w: llama3_scaling(w),
    "yarn, paper": lambda w: yarn_scaling(w, factor=4, trained_length=512, ramp="rotations"),
    "yarn, code": lambda w: yarn_scaling(w, factor=4, trained_length=512, ramp="dimensions"),
    "longrope": lambda w: longrope_scaling(
        w, short_factors=w + 1, long_factors=w + 2, factor=4, length=9, trained_length=8
    ),
    "proportional": lambda w: proportional_scaling(w, share=0.5),
}


def relative_close(actual, expected, rtol):
    torch.testing.assert_close(
        actual, torch.as_tensor(expected, dtype=torch.float64), rtol=rtol, atol=0
    )


# The papers


@given(wide, bases, factors)
def test_ntk_is_the_larger_base(dim, base, factor):
    inv_freq = inverse_frequencies(dim, base=base)
    scaled, gain = ntk_scaling(inv_freq, factor=factor)
    relative_close(scaled, spec.ntk_scaling(inv_freq.tolist(), factor), 1e-14)
    larger = inverse_frequencies(dim, base=base * factor ** (dim / (dim - 2)))
    relative_close(scaled, larger, 1e-13)
    assert gain == 1


@given(wide, bases, factors, lengths, ramps)
def test_parts_and_yarns_paper_are_a_ramp_in_rotations(dim, base, factor, length, ramp):
    inv_freq, (slow, fast) = inverse_frequencies(dim, base=base), ramp
    expected = spec.yarn_by_rotations(inv_freq.tolist(), factor, length, slow, fast)
    options = {"factor": factor, "trained_length": length, "slow": slow, "fast": fast}
    parts, gain = parts_scaling(inv_freq, **options)
    relative_close(parts, expected, 1e-13)
    assert gain == 1
    yarn, gain = yarn_scaling(inv_freq, ramp="rotations", **options)
    same(yarn, parts)
    assert gain == pytest.approx(0.1 * math.log(factor) + 1, rel=1e-15)


@given(wide, bases, factors, lengths, ramps, st.booleans())
def test_yarns_code_is_a_ramp_in_dimensions(dim, base, factor, length, ramp, truncate):
    slow, fast = ramp
    scaled, _ = yarn_scaling(
        inverse_frequencies(dim, base=base),
        factor=factor,
        trained_length=length,
        slow=slow,
        fast=fast,
        ramp="dimensions",
        truncate=truncate,
    )
    expected = spec.yarn_by_dimensions(dim, base, factor, length, slow, fast, truncate)
    relative_close(scaled, expected, 1e-9)


@given(wide, bases, factors, lengths, ramps)
def test_llama3_is_its_authors_loop(dim, base, factor, length, ramp):
    inv_freq, (slow, fast) = inverse_frequencies(dim, base=base), ramp
    scaled, gain = llama3_scaling(
        inv_freq, factor=factor, trained_length=length, slow=slow, fast=fast
    )
    relative_close(
        scaled, spec.llama3_scaling(inv_freq.tolist(), factor, length, slow, fast), 1e-13
    )
    assert gain == 1


@given(wide, bases, st.sampled_from([0.0, 0.25, 0.3, 0.75, 1.0]))
def test_proportional_keeps_the_fastest(dim, base, share):
    scaled, gain = proportional_scaling(inverse_frequencies(dim, base=base), share=share)
    relative_close(scaled, spec.proportional(dim, base, share), 1e-14)
    assert gain == 1


def test_frequencies_that_were_rounded_to_float32_are_geometric_enough():
    inv_freq = inverse_frequencies(128)
    rounded, exact = (
        yarn_scaling(w, factor=4, trained_length=512, ramp="dimensions")[0]
        for w in (inv_freq.float().double(), inv_freq)
    )
    assert not torch.equal(rounded, exact)
    relative_close(rounded, exact, 1e-6)


@pytest.mark.parametrize("factor", [2.0, 8.0])
def test_a_ramp_that_begins_where_it_ends_is_a_step(factor):
    scaled, _ = yarn_scaling(W, factor=factor, trained_length=6, ramp="dimensions")
    relative_close(scaled, [W[0], *(W[1:] / factor)], 1e-15)
    relative_close(scaled, spec.yarn_by_dimensions(8, 1e4, factor, 6, 1.0, 32.0, True), 1e-9)


def test_the_defaults_are_those_of_the_models_that_use_it():
    inv_freq, positions = inverse_frequencies(128, base=500_000.0), torch.arange(0, 99_999, 13)
    parts = {"factor": 4.0, "trained_length": 2048}
    same(parts_scaling(inv_freq, **parts)[0], parts_scaling(inv_freq, slow=1, fast=32, **parts)[0])
    llama3 = {"factor": 8.0, "trained_length": 8192, "slow": 1.0, "fast": 4.0}
    same(llama3_scaling(inv_freq)[0], parts_scaling(inv_freq, **llama3)[0])
    llama3["slow"] = 0.25
    same(llama3_scaling(inv_freq, slow=0.25)[0], parts_scaling(inv_freq, **llama3)[0])
    llama4 = {"scale": 0.1, "length": 8192, "first": 1}
    same(query_gain(positions), query_gain(positions, **llama4))


def test_the_two_ramps_of_yarn_are_up_to_four_times_apart():
    options = {"factor": 32, "trained_length": 4096}
    code, paper = (
        yarn_scaling(inverse_frequencies(128), ramp=ramp, **options)[0]
        for ramp in ("dimensions", "rotations")
    )
    assert (code / paper).max().item() == pytest.approx(3.96, abs=0.01)
    assert (code / paper).argmax() == 40


@pytest.mark.parametrize("name", [name for name in BY_NAME if name != "yarn, code"])
def test_a_pair_that_rests_goes_on_resting(name):
    scaled, _ = BY_NAME[name](torch.tensor([1.0, 0.0], dtype=torch.float64))
    assert scaled[0] > 0 == scaled[1]


def test_one_pair_is_enough_to_divide():
    same(linear_scaling(W[:1], factor=4)[0], W[:1] / 4)


@pytest.mark.parametrize("name", BY_NAME)
def test_what_goes_in_stays_as_it_was_and_float64_comes_out(name):
    inv_freq = inverse_frequencies(16)
    before = inv_freq.clone()
    scaled, gain = BY_NAME[name](inv_freq)
    assert scaled.dtype == torch.float64
    assert isinstance(gain, float)
    assert not torch.equal(scaled, inv_freq)
    same(inv_freq, before)


@pytest.mark.parametrize("name", [name for name in BY_NAME if name not in ("linear", "longrope")])
def test_all_but_linear_leave_the_fastest_pair(name):
    assert BY_NAME[name](inverse_frequencies(64))[0][0] == 1


# What the docstrings claim


@pytest.mark.parametrize(
    ("factor", "length", "acts_as"), [(4, 8192, 5), (4, 16384, 13), (1, 8192, 2), (4, 100, 1)]
)
def test_dynamics_factor_is_not_the_ratio(factor, length, acts_as):
    inv_freq = inverse_frequencies(64)
    dynamic, _ = dynamic_ntk_scaling(inv_freq, factor=factor, length=length, trained_length=4096)
    close(dynamic, ntk_scaling(inv_freq, factor=acts_as)[0], atol=0)


@pytest.mark.parametrize("gain", [1.0, 1.3])
@pytest.mark.parametrize("pairing", ["half", "interleaved"])
def test_a_gain_multiplies_scores_by_its_square(gain, pairing):
    q, k = torch.randn(2, 1, 8, dtype=torch.float64)
    rotation = phasors(angles(torch.tensor([7]), inverse_frequencies(8)), dtype=torch.complex128)
    plain, stretched = (
        rotate(q, z, pairing=pairing) @ rotate(k, z, pairing=pairing).T
        for z in (rotation, rotation * gain)
    )
    close(stretched, gain**2 * plain, atol=1e-12)


@pytest.mark.parametrize("gain", [0.9, 1.2])
def test_a_gain_that_is_given_is_taken(gain):
    options = {"factor": 4, "trained_length": 64, "gain": gain}
    assert yarn_scaling(inverse_frequencies(8), ramp="rotations", **options)[1] == gain
    one = torch.ones(4, dtype=torch.float64)
    sets = {"short_factors": one, "long_factors": one}
    assert longrope_scaling(inverse_frequencies(8), length=9, **sets, **options)[1] == gain


@pytest.mark.parametrize(
    ("mscale", "all_dim", "expected"), [(1, 0, 1.368888), (0.707, 1, 0.9210), (1, 1, 1)]
)
def test_deepseeks_scales_cancel_when_they_are_equal(mscale, all_dim, expected):
    gain = yarn_gain(40, mscale=mscale, mscale_all_dim=all_dim)
    assert gain == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("length", [100, 4096, 4097, 131072])
def test_longrope_switches_once_the_text_is_longer_than_trained(length):
    inv_freq = inverse_frequencies(8)
    short, long = (torch.full((4,), x, dtype=torch.float64) for x in (1.5, 3.0))
    scaled, gain = longrope_scaling(
        inv_freq,
        short_factors=short,
        long_factors=long,
        factor=32,
        length=length,
        trained_length=4096,
    )
    close(scaled, inv_freq / (3.0 if length > 4096 else 1.5), atol=1e-16)
    assert gain == pytest.approx(math.sqrt(1 + 5 / 12))


def test_longrope_takes_the_shortest_training_that_has_a_gain():
    options = {"short_factors": W, "long_factors": W, "factor": 4, "length": 1}
    assert longrope_scaling(W, trained_length=2, **options)[1] == pytest.approx(math.sqrt(3))


@pytest.mark.parametrize(("scale", "length", "first"), [(0.1, 8192, 1), (0.3, 100, 0)])
def test_query_gain_is_its_formula(scale, length, first):
    positions = torch.tensor([0, length - 1, length, 10 * length + 3])
    expected = [
        1 + scale * math.log(1 + math.floor((p + first) / length)) for p in positions.tolist()
    ]
    close(query_gain(positions, scale=scale, length=length, first=first), expected, atol=1e-14)


# transformers

ROPE = {"rope_theta": 10_000.0}
LONG = {"short_factor": [1.0 + i / 32 for i in range(32)], "long_factor": list(range(1, 33))}
LLAMA3 = {"low_freq_factor": 1.0, "high_freq_factor": 4.0}
SETTINGS = [
    ({"rope_type": "linear", "factor": 4.0}, 64),
    ({"rope_type": "linear", "factor": 2.5, "rope_theta": 1e6}, 128),
    ({"rope_type": "dynamic", "factor": 4.0}, 64),
    ({"rope_type": "dynamic", "factor": 2.0, "rope_theta": 5e5}, 128),
    ({"rope_type": "yarn", "factor": 4.0}, 64),
    ({"rope_type": "yarn", "factor": 32.0, "beta_fast": 16.0, "beta_slow": 2.0}, 128),
    ({"rope_type": "yarn", "factor": 32.0, "truncate": False, "rope_theta": 150_000.0}, 64),
    ({"rope_type": "yarn", "factor": 40.0, "mscale": 1.0, "mscale_all_dim": 0.7}, 64),
    ({"rope_type": "yarn", "factor": 8.0, "attention_factor": 1.1}, 64),
    ({"rope_type": "llama3", "factor": 8.0, "rope_theta": 500_000.0, **LLAMA3}, 128),
    ({"rope_type": "llama3", "factor": 32.0, **LLAMA3, "high_freq_factor": 8.0}, 64),
    ({"rope_type": "longrope", **LONG}, 64),
    ({"rope_type": "longrope", "factor": 4.0, **LONG}, 64),
    ({"rope_type": "longrope", "attention_factor": 1.2, "rope_theta": 1e6, **LONG}, 64),
    ({"rope_type": "proportional", "partial_rotary_factor": 0.25}, 256),
    ({"rope_type": "proportional", "partial_rotary_factor": 0.7, "rope_theta": 1e6}, 64),
]


def ours(settings: dict, dim: int, length: int):
    """The same settings in posenc's words; 2048 positions were trained, 8192 are allowed."""
    inv_freq = inverse_frequencies(dim, base=settings["rope_theta"])
    known = {"factor": settings.get("factor", 1.0), "trained_length": 2048}
    slow, fast = settings.get("beta_slow", 1.0), settings.get("beta_fast", 32.0)
    match settings["rope_type"]:
        case "linear":
            return linear_scaling(inv_freq, factor=known["factor"])
        case "dynamic":  # transformers counts from the configured length
            return dynamic_ntk_scaling(inv_freq, **{**known, "trained_length": 8192}, length=length)
        case "yarn":
            scales = {x: settings[x] for x in ("mscale", "mscale_all_dim") if x in settings}
            gain = settings.get("attention_factor", yarn_gain(known["factor"], **scales))
            ramp = {"ramp": "dimensions", "truncate": settings.get("truncate", True)}
            return yarn_scaling(inv_freq, **known, slow=slow, fast=fast, gain=gain, **ramp)
        case "llama3":
            ends = {"slow": settings["low_freq_factor"], "fast": settings["high_freq_factor"]}
            return llama3_scaling(inv_freq, **known, **ends)
        case "longrope":
            known["factor"] = settings.get("factor", 8192 / 2048)
            sets = {
                f"{which}_factors": torch.tensor(settings[f"{which}_factor"], dtype=torch.float64)
                for which in ("short", "long")
            }
            gain = settings.get("attention_factor")
            return longrope_scaling(inv_freq, **sets, **known, length=length, gain=gain)
        case "proportional":
            return proportional_scaling(inv_freq, share=settings["partial_rotary_factor"])


@pytest.mark.parametrize("length", [100, 3000, 20_000])
@pytest.mark.parametrize(("settings", "dim"), SETTINGS)
def test_transformers_scales_likewise(settings, dim, length):
    from transformers import LlamaConfig
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    settings = {**ROPE, **settings}
    trained = {"original_max_position_embeddings": 2048}
    if settings["rope_type"] in ("linear", "dynamic", "proportional"):
        trained = {}
    config = LlamaConfig(
        head_dim=dim, max_position_embeddings=8192, rope_parameters={**settings, **trained}
    )
    theirs, gain = ROPE_INIT_FUNCTIONS[settings["rope_type"]](config, "cpu", seq_len=length)
    scaled, our_gain = ours(settings, dim, length)
    relative_close(scaled, theirs.double(), rtol=1e-6)
    assert our_gain == pytest.approx(gain, rel=1e-6)
