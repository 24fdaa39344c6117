"""Frequencies, wavelengths and angles: what sinusoidal encodings and RoPE have in common."""

import math

import torch
from jaxtyping import Complex, Float, Float64, Shaped
from torch import Tensor

from posenc._validate import (
    require_base,
    require_even,
    require_inv_freq,
    require_positions,
    require_tensor,
    violated,
)


def inverse_frequencies(
    dim: int, *, base: float = 10_000.0, endpoint: bool = False
) -> Float64[Tensor, " half"]:
    """Angular frequencies, from 1 radian per position down to about 1/base.

    inv_freq[i] = base^(-2i/dim),            i = 0 ... dim/2 - 1    (the paper)
    inv_freq[i] = base^(-i/(dim/2 - 1)),     i = 0 ... dim/2 - 1    (endpoint=True)

    Args:
        dim: number of channels, positive and even; each pair of channels gets one frequency.
        base: ratio of the longest wavelength scale to the shortest, finite and above 1.
        endpoint: whether the last frequency is exactly 1/base. The paper stops one step short
            of it; tensor2tensor, and with it fairseq, Whisper and M2M100, do not.

    Returns:
        Radians per position, in float64 and in decreasing order.

    Raises:
        TypeError: if dim is not an int.
        ValueError: if dim is not positive and even, or base is not finite and above 1.

    Example:
        >>> inverse_frequencies(4)
        tensor([1.0000, 0.0100], dtype=torch.float64)

    Paper: Vaswani et al. (2017), Attention Is All You Need, section 3.5.
    """
    require_even("dim", dim)
    require_base(base)
    base = float(base)  # a float32 one, from NumPy or torch, would round every power
    half = dim // 2
    steps = max(half - 1, 1) if endpoint else half
    return torch.tensor([base ** (-i / steps) for i in range(half)], dtype=torch.float64)


def wavelengths(inv_freq: Float64[Tensor, " half"]) -> Float64[Tensor, " half"]:
    """Number of positions after which each channel pair repeats: 2 pi / inv_freq.

    Args:
        inv_freq: radians per position, all positive.

    Returns:
        Positions per turn, in float64.

    Raises:
        TypeError: if inv_freq is not a float64 tensor.
        ValueError: if inv_freq is not 1-D and finite, or a frequency is not positive.

    Example:
        >>> wavelengths(inverse_frequencies(4))
        tensor([  6.2832, 628.3185], dtype=torch.float64)
    """
    require_inv_freq(inv_freq)
    if violated(inv_freq > 0):
        raise ValueError(f"inv_freq must be positive, got {inv_freq.min().item()}")
    return 2 * math.pi / inv_freq


def angles(
    positions: Shaped[Tensor, "*n"], inv_freq: Float64[Tensor, " half"]
) -> Float64[Tensor, "*n half"]:
    """Angle of every channel pair at every position: positions[p] * inv_freq[i].

    The product is taken in float64 whatever the dtype of `positions`: in float32 an angle
    near 10^6 radians is already off by 0.03.

    Args:
        positions: integers, float32 or float64, of any shape; any start, negative ones included.
            Lower precision is refused, since it cannot hold them: bfloat16 takes 257 for 256.
        inv_freq: radians per position, float64.

    Returns:
        Angles in radians, float64, not reduced modulo 2 pi.

    Raises:
        TypeError: if positions are boolean, complex, bf16 or fp16, or inv_freq is not float64.
        ValueError: if positions are empty or not finite, or inv_freq is not 1-D and finite.

    Example:
        >>> angles(torch.tensor([0, 1, 2]), inverse_frequencies(4))
        tensor([[0.0000, 0.0000],
                [1.0000, 0.0100],
                [2.0000, 0.0200]], dtype=torch.float64)
    """
    require_positions("positions", positions)
    require_inv_freq(inv_freq)
    return positions.to(torch.float64)[..., None] * inv_freq.to(positions.device)


def phasors(
    angles: Float[Tensor, "*n half"],
    *,
    gain: float = 1.0,
    dtype: torch.dtype = torch.complex64,
) -> Complex[Tensor, "*n half"]:
    """Points on the unit circle, as complex numbers: gain exp(1j angles), rounded once to `dtype`.

    Args:
        angles: radians, float64.
        gain: radius of the circle, positive. `rotate` then also lengthens what it rotates, as
            YaRN does ("attention factor").
        dtype: torch.complex64, or torch.complex128 to rotate float64 vectors.

    Returns:
        gain (cos(angles) + 1j sin(angles)).

    Raises:
        TypeError: if angles are not float64, or dtype is not complex64 or complex128.
        ValueError: if gain is not finite and positive.

    Example:
        >>> phasors(torch.tensor([0.0, math.pi / 2], dtype=torch.float64)).imag
        tensor([0., 1.])
    """
    require_tensor("angles", angles)
    if angles.dtype != torch.float64:
        raise TypeError(f"angles must be float64, got {angles.dtype}")
    if not 0 < gain < math.inf:  # nor nan
        raise ValueError(f"gain must be finite and positive, got {gain}")
    if dtype not in (torch.complex64, torch.complex128):
        raise TypeError(f"dtype must be torch.complex64 or torch.complex128, got {dtype}")
    return torch.polar(torch.full_like(angles, gain), angles).to(dtype)
