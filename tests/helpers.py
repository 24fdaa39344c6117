"""Random inputs and comparisons that several test files share."""

import os

import numpy as np
import pytest
import torch
from hypothesis import strategies as st
from torch import Tensor

dims = st.integers(1, 8).map(lambda half: 2 * half)
bases = st.sampled_from([1.5, 100.0, 10_000.0, 500_000.0])
seeds = st.integers(0, 2**31)
starts = st.integers(-50, 50)
counts = st.integers(1, 6)

# Half the distance between neighbours in [0.5, 1): the price of one rounding. torch takes float64
# to half precision by way of float32, so a number beside a tie is rounded twice.
ROUNDING = {
    torch.float64: 0,
    torch.float32: 2**-25,
    torch.float16: 2**-12 + 2**-25,
    torch.bfloat16: 2**-9 + 2**-25,
}
dtypes = st.sampled_from(list(ROUNDING))


@st.composite
def position_tensors(draw) -> Tensor:
    """One to six positions of either sign, of any dtype that positions may have."""
    integers = [torch.int16, torch.int32, torch.int64]
    dtype = draw(st.sampled_from([*integers, torch.float32, torch.float64]))
    number = st.floats(-9999, 9999) if dtype.is_floating_point else st.integers(-9999, 9999)
    return torch.tensor(draw(st.lists(number, min_size=1, max_size=6)), dtype=dtype)


def run(start: int, count: int) -> Tensor:
    """Consecutive positions."""
    return torch.arange(start, start + count)


def randn(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def close(actual: Tensor, expected: Tensor | np.ndarray, atol: float) -> None:
    """Assert the same shape, and entries that differ by at most `atol`."""
    expected = torch.as_tensor(expected, dtype=torch.float64)
    torch.testing.assert_close(actual.detach().double(), expected, rtol=0, atol=atol)


def same(actual: Tensor, expected: Tensor | np.ndarray) -> None:
    """Assert the same shape, dtype and bits (up to the sign of zero)."""
    torch.testing.assert_close(actual, torch.as_tensor(expected), rtol=0, atol=0)


def qkv(q: int, k: int, d: int, e: int, *, lead: tuple[int, ...] = (), seed: int = 0):
    """Random queries, keys and values."""
    shapes = ((q, d), (k, d), (k, e))
    return tuple(randn(*lead, *shape, seed=seed + n) for n, shape in enumerate(shapes))


def some_mask(*shape: int, seed: int = 0) -> Tensor:
    """A random mask that leaves every query a key."""
    mask = randn(*shape, seed=seed) > 0
    mask[..., 0] |= ~mask.any(dim=-1)
    return mask


def lacking(reason: str) -> None:
    """Skip a test for want of a thing, but never where the result counts."""
    (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)
