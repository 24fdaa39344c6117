"""Sinusoidal encodings: a fixed vector for every position, one clock hand per channel pair."""

import math
from typing import Literal

import torch
from jaxtyping import Float, Float64, Shaped
from torch import Tensor

from posenc._validate import (
    require_choice,
    require_float_dtype,
    require_inv_freq,
    require_positions,
)
from posenc.frequencies import angles, inverse_frequencies

Layout = Literal["interleaved", "half"]

_BLOCK = 65_536  # channels written at a time, so that the float64 angles stay in the cache


def sinusoidal_encoding(
    positions: Shaped[Tensor, "*n"],
    dim: int,
    *,
    base: float = 10_000.0,
    layout: Layout = "interleaved",
    dtype: torch.dtype = torch.float32,
) -> Float[Tensor, "*n dim"]:
    """The encoding of the original Transformer.

    PE[p, 2i]     = sin(p / base^(2i/dim))       for pair i = 0 ... dim/2 - 1
    PE[p, 2i + 1] = cos(p / base^(2i/dim))

    With layout="half" the same numbers are grouped: all sines, then all cosines.

    Args:
        positions: integers, float32 or float64, of any shape; any start, negative ones included.
        dim: number of channels, positive and even.
        base: finite and above 1; the longest wavelength approaches 2 pi base positions.
        layout: "interleaved" (sin, cos, sin, cos, ...) or "half" (sin, sin, ..., cos, cos).
        dtype: floating-point dtype of the result. Angles are float64 whatever it is, so every
            float32 entry is the float64 formula's value, rounded once.

    Returns:
        One row of `dim` channels a position, with values in [-1, 1].

    Raises:
        TypeError: if positions are boolean, complex, bf16 or fp16, or dtype is not a float dtype.
        ValueError: if positions are empty or not finite, dim is not positive and even, base is
            not finite and above 1, or layout is unknown.

    Example:
        >>> sinusoidal_encoding(torch.tensor([0, 1]), 4)
        tensor([[0.0000, 1.0000, 0.0000, 1.0000],
                [0.8415, 0.5403, 0.0100, 0.9999]])

    Paper: Vaswani et al. (2017), Attention Is All You Need, section 3.5.
    """
    return _table(positions, inverse_frequencies(dim, base=base), layout, dtype)


def tensor2tensor_encoding(
    positions: Shaped[Tensor, "*n"],
    dim: int,
    *,
    base: float = 10_000.0,
    dtype: torch.dtype = torch.float32,
) -> Float[Tensor, "*n dim"]:
    """The variant in the paper's own code, tensor2tensor: the exponent reaches 1, sines first.

    PE[p, i]         = sin(p / base^(i/(dim/2 - 1)))       for i = 0 ... dim/2 - 1
    PE[p, dim/2 + i] = cos(p / base^(i/(dim/2 - 1)))

    Whisper and M2M100 use it. It is not `sinusoidal_encoding` with another layout: the
    frequencies differ, by a factor of up to base^(2/dim).

    Args:
        positions: integers, float32 or float64, of any shape; any start, negative ones included.
        dim: number of channels, positive and even.
        base: finite and above 1; the longest wavelength is exactly 2 pi base positions.
        dtype: floating-point dtype of the result.

    Returns:
        One row of `dim` channels a position, with values in [-1, 1].

    Raises:
        TypeError: if positions are boolean, complex, bf16 or fp16, or dtype is not a float dtype.
        ValueError: if positions are empty or not finite, dim is not positive and even, or base
            is not finite and above 1.

    Example:
        >>> tensor2tensor_encoding(torch.tensor([1]), 4)
        tensor([[8.4147e-01, 1.0000e-04, 5.4030e-01, 1.0000e+00]])

    Code: tensorflow/tensor2tensor, layers/common_attention.py, get_timing_signal_1d.
    """
    return _table(positions, inverse_frequencies(dim, base=base, endpoint=True), "half", dtype)


def shift_matrix(offset: float, inv_freq: Float64[Tensor, " half"]) -> Float64[Tensor, "dim dim"]:
    """The matrix that moves an interleaved encoding by `offset` positions.

    PE(p + offset) = PE(p) @ M for every position p, where block i of M, acting on the pair
    (sin, cos) of frequency w = inv_freq[i], is the rotation

        [ cos(w offset)  -sin(w offset) ]
        [ sin(w offset)   cos(w offset) ]

    It depends on the offset alone, and M(a) @ M(b) = M(a + b).

    Args:
        offset: number of positions to move by; any finite number, negative ones included.
        inv_freq: radians per position, float64.

    Returns:
        A block-diagonal rotation matrix, float64.

    Raises:
        TypeError: if inv_freq is not float64.
        ValueError: if offset or inv_freq is not finite, or inv_freq is not 1-D.

    Example:
        >>> here, there = sinusoidal_encoding(torch.tensor([7, 10]), 4, dtype=torch.float64)
        >>> torch.allclose(there, here @ shift_matrix(3, inverse_frequencies(4)))
        True

    Paper: Vaswani et al. (2017), section 3.5, which states the property and leaves the proof.
    """
    if not math.isfinite(offset):
        raise ValueError(f"offset must be finite, got {offset}")
    require_inv_freq(inv_freq)
    turn = angles(torch.tensor(offset, dtype=torch.float64, device=inv_freq.device), inv_freq)
    cos, sin = turn.cos(), turn.sin()
    blocks = torch.stack((cos, -sin, sin, cos), dim=-1).unflatten(-1, (2, 2))
    return torch.block_diag(*blocks)


def _table(positions: Tensor, inv_freq: Tensor, layout: str, dtype: torch.dtype) -> Tensor:
    require_choice("layout", layout, ("interleaved", "half"))
    require_float_dtype("dtype", dtype)
    require_positions("positions", positions)
    flat, half = positions.flatten(), len(inv_freq)
    sines, cosines = slice(half), slice(half, None)
    if layout == "interleaved":
        sines, cosines = slice(0, None, 2), slice(1, None, 2)
    out = flat.new_empty(len(flat), 2 * half, dtype=dtype)
    # A compiler makes one kernel of it all, but would unroll the blocks.
    step = len(flat) if torch.compiler.is_compiling() else max(1, _BLOCK // (2 * half))
    for start in range(0, len(flat), step):
        block = slice(start, start + step)
        turn = angles(flat[block], inv_freq)
        out[block, sines] = turn.sin()
        out[block, cosines] = turn.cos()
    return out.reshape(*positions.shape, 2 * half)
