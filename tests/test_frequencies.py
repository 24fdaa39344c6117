import math

import jaxtyping
import mpmath
import numpy as np
import pytest
import spec
import torch
from helpers import bases, close, dims, position_tensors, same
from hypothesis import given
from hypothesis import strategies as st

from posenc import angles, inverse_frequencies, phasors, sinusoidal_encoding, wavelengths

mpmath.mp.dps = 40


def rounding_of_a_power(value) -> float:
    """Relative error when base, the exponent and their power are each a float64."""
    return 2**-53 * (2 + abs(mpmath.log(value)))


def test_annotations_are_checked():
    with pytest.raises(jaxtyping.TypeCheckError, match="wavelengths"):
        wavelengths(torch.ones(2, 2, dtype=torch.float64))


@given(dims, bases)
def test_inverse_frequencies_are_the_papers(dim, base):
    close(inverse_frequencies(dim, base=base), spec.inverse_frequencies(dim, base), atol=1e-15)


@pytest.mark.parametrize("dim", [6, 64, 128])
@pytest.mark.parametrize("base", [100.0, 10_000.0, 500_000.0])
@pytest.mark.parametrize("endpoint", [False, True])
def test_inverse_frequencies_are_float64_exact(dim, base, endpoint):
    steps = dim // 2 - endpoint
    for i, w in enumerate(inverse_frequencies(dim, base=base, endpoint=endpoint).tolist()):
        truth = mpmath.mpf(base) ** (-mpmath.mpf(i) / steps)
        assert abs(w - truth) <= truth * rounding_of_a_power(truth)


@pytest.mark.parametrize("dim", [4, 10, 512])
@pytest.mark.parametrize("base", [100.0, 10_000.0])
def test_only_the_endpoint_variant_reaches_one_over_base(dim, base):
    assert inverse_frequencies(dim, base=base, endpoint=True)[[0, -1]].tolist() == [1, 1 / base]
    slowest = inverse_frequencies(dim, base=base)[-1].item()
    assert slowest == pytest.approx(base ** (2 / dim) / base, rel=1e-14)


@pytest.mark.parametrize("endpoint", [False, True])
def test_a_single_pair_turns_one_radian_a_position(endpoint):
    assert inverse_frequencies(2, endpoint=endpoint).tolist() == [1]


@given(dims, bases)
def test_a_pair_repeats_after_its_wavelength(dim, base):
    inv_freq = inverse_frequencies(dim, base=base)
    for i, wavelength in enumerate(wavelengths(inv_freq)):
        here, there = sinusoidal_encoding(
            torch.stack((wavelength * 0 + 3, 3 + wavelength)), dim, base=base, dtype=torch.float64
        )
        close(there[2 * i : 2 * i + 2], here[2 * i : 2 * i + 2], atol=1e-10)


@pytest.mark.parametrize("dim", [4, 64, 512])
def test_the_middle_wavelength_is_the_root_of_the_base(dim):
    middle = wavelengths(inverse_frequencies(dim))[dim // 4].item()
    assert middle == pytest.approx(200 * math.pi, rel=1e-14)


@given(position_tensors(), dims, bases)
def test_angles_are_the_float64_product(positions, dim, base):
    inv_freq = inverse_frequencies(dim, base=base)
    expected = np.array(positions.tolist(), dtype=np.float64)[:, None] * inv_freq.numpy()
    same(angles(positions, inv_freq), expected)


@pytest.mark.parametrize("shape", [(), (3,), (2, 1, 3)])
def test_angles_keep_the_shape_of_positions(shape):
    positions = torch.arange(math.prod(shape)).reshape(shape)
    turns = angles(positions, inverse_frequencies(10))
    same(turns, angles(positions.flatten(), inverse_frequencies(10)).reshape(*shape, 5))


def test_integers_beyond_float32_stay_apart():
    first, second = angles(torch.tensor([2**24, 2**24 + 1]), inverse_frequencies(2))
    assert (second - first).item() == 1


@pytest.mark.parametrize("dim", [8, 128])
@pytest.mark.parametrize("base", [10_000.0, 500_000.0])
def test_angles_at_a_million_are_exact(dim, base):
    turns = angles(
        torch.tensor([1, 65_537, 999_983, -1_000_000]), inverse_frequencies(dim, base=base)
    )
    for p, row in zip([1, 65_537, 999_983, -1_000_000], turns.tolist(), strict=True):
        for i, turn in enumerate(row):
            truth = p * mpmath.mpf(base) ** (-mpmath.mpf(2 * i) / dim)
            assert abs(turn - truth) <= abs(truth) * (2**-53 + rounding_of_a_power(truth / p))


@pytest.mark.parametrize("dim", [32, 128])
@pytest.mark.parametrize("base", [10_000.0, 500_000.0])
def test_every_phasor_is_the_float64_formula_rounded_once(dim, base):
    positions = torch.cat((torch.arange(2048), torch.arange(0, 1_000_001, 997)))
    inv_freq = inverse_frequencies(dim, base=base)
    turns = positions.numpy()[:, None] * inv_freq.numpy()
    z = phasors(angles(positions, inv_freq))
    same(z.real, np.float32(np.cos(turns)))
    same(z.imag, np.float32(np.sin(turns)))


@given(position_tensors(), dims, bases)
def test_complex128_phasors_keep_float64(positions, dim, base):
    turns = angles(positions, inverse_frequencies(dim, base=base))
    z = phasors(turns, dtype=torch.complex128)
    assert z.dtype == torch.complex128
    close(z.real, np.cos(turns.numpy()), atol=1e-15)
    close(z.imag, np.sin(turns.numpy()), atol=1e-15)


@given(dims)
def test_looking_back_turns_the_other_way(dim):
    inv_freq = inverse_frequencies(dim)
    ahead, back = (phasors(angles(torch.tensor([p]), inv_freq)) for p in (7, -7))
    same(back, ahead.conj().resolve_conj())


@given(dims, st.floats(0.1, 9))
def test_a_gain_is_the_radius(dim, gain):
    turns = angles(torch.arange(50), inverse_frequencies(dim))
    z = phasors(turns, gain=gain, dtype=torch.complex128)
    close(z.real, gain * np.cos(turns.numpy()), atol=1e-14)
    close(z.imag, gain * np.sin(turns.numpy()), atol=1e-14)


@pytest.mark.parametrize("base", [np.float32(5e5), torch.tensor(5e5), np.int64(500_000)])
@pytest.mark.usefixtures("annotations_off")
def test_the_dtype_of_the_base_rounds_nothing(base):
    same(inverse_frequencies(64, base=base), inverse_frequencies(64, base=5e5))
