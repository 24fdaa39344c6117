"""Positions with several axes, as in images and video: each pair of channels follows one axis."""

from collections.abc import Sequence

import torch
from jaxtyping import Float64, Int64, Shaped
from torch import Tensor

from posenc._validate import (
    require_base,
    require_inv_freq,
    require_positions,
    require_positive,
    require_tensor,
    violated,
)
from posenc.frequencies import angles, inverse_frequencies


def axial_angles(
    positions: Shaped[Tensor, "*n axes"],
    inv_freq: Float64[Tensor, " half"],
    axis: Int64[Tensor, " half"],
) -> Float64[Tensor, "*n half"]:
    """Angle of every pair: the coordinate that the pair follows, times its frequency.

    angle[p, i] = positions[p, axis[i]] inv_freq[i],     i = 0 ... dim/2 - 1

    Args:
        positions: coordinates on the last axis, integers or floats: (row, column) of a patch, or
            (time, row, column). transformers' Qwen-VL has that axis first: move it.
        inv_freq: radians per unit, float64.
        axis: which coordinate each pair follows, from 0; int64.

    Returns:
        Angles in radians, float64, for `rotate`.

    Raises:
        TypeError: if positions are boolean, complex, bf16 or fp16, inv_freq is not float64, or
            axis is not int64.
        ValueError: if positions are empty or not finite, inv_freq is not 1-D and finite, or axis
            does not name one coordinate for each frequency, or one that is not there.

    Example:
        >>> where = torch.tensor([[0, 5], [1, 5]])  # two patches, one below the other
        >>> inv_freq = torch.tensor([1.0, 1.0], dtype=torch.float64)
        >>> axial_angles(where, inv_freq, torch.tensor([0, 1]))
        tensor([[0., 5.],
                [1., 5.]], dtype=torch.float64)

    Paper: Wang et al. (2024), Qwen2-VL, section 2.1, for time, row and column.
    """
    require_positions("positions", positions)
    require_inv_freq(inv_freq)
    require_tensor("axis", axis)
    if axis.dtype != torch.int64:
        raise TypeError(f"axis must be int64, got {axis.dtype}")
    if axis.shape != inv_freq.shape:
        raise ValueError(
            f"axis must name one coordinate for each of {len(inv_freq)} pairs, "
            f"got shape {tuple(axis.shape)}"
        )
    axes = positions.shape[-1] if positions.ndim else 0
    if violated((axis >= 0) & (axis < axes)):
        raise ValueError(f"axis must be within 0 ... {axes - 1}, got {axis.tolist()}")
    every = angles(positions, inv_freq)  # [*n, axes, half]
    index = axis.to(every.device).expand(*every.shape[:-2], 1, -1)
    return every.gather(-2, index).squeeze(-2)


def axial_frequencies(
    dim: int, *, axes: int = 2, base: float = 10_000.0, dealt: bool = False
) -> tuple[Float64[Tensor, " half"], Int64[Tensor, " half"]]:
    """Frequencies of an axial rotation, where the pairs of the first axis come first.

    With m = dim/(2 axes) pairs an axis, pair i of axis a, at place a m + i, has the frequency

    base^(-2 i axes/dim)            each axis the same ones (Qwen2-VL's and Llama 4's vision)
    base^(-2 (i axes + a)/dim)      dealt: those of `inverse_frequencies(dim)` in turn (Pixtral)

    Args:
        dim: channels of one head, a multiple of 2 axes.
        axes: number of coordinates, positive.
        base: finite and above 1.
        dealt: whether the axes share the frequencies out among them.

    Returns:
        Radians per unit, float64, and the axis that each pair follows, for `axial_angles`.

    Raises:
        TypeError: if dim or axes is not an int.
        ValueError: if dim is not a positive multiple of 2 axes, axes is not positive, or base is
            not finite and above 1.

    Example:
        >>> axial_frequencies(8)
        (tensor([1.0000, 0.0100, 1.0000, 0.0100], dtype=torch.float64), tensor([0, 0, 1, 1]))

    Code: transformers, Qwen2VLVisionRotaryEmbedding, PixtralVisionRotaryEmbedding.
    """
    require_positive("dim", dim)
    require_positive("axes", axes)
    require_base(base)
    if dim % (2 * axes):
        raise ValueError(f"dim must be a multiple of 2 axes = {2 * axes}, got {dim}")
    pairs = dim // (2 * axes)
    if dealt:
        inv_freq = inverse_frequencies(dim, base=base).reshape(pairs, axes).T.flatten()
    else:
        inv_freq = inverse_frequencies(dim // axes, base=base).repeat(axes)
    return inv_freq, torch.arange(axes).repeat_interleave(pairs)


def mrope_axes(sections: Sequence[int], *, interleaved: bool) -> Int64[Tensor, " half"]:
    """Which of (time, row, column) each pair follows in M-RoPE.

    Chunked (Qwen2-VL, Qwen2.5-VL): the first sections[0] pairs time, the next rows, then columns.
    Interleaved (Qwen3-VL): pair i follows axis a = i mod 3 if i < 3 sections[a], otherwise time.

    Args:
        sections: pairs of each axis, "mrope_section"; they add up to dim/2.
        interleaved: "mrope_interleaved".

    Returns:
        The axis of each pair, for `axial_angles`.

    Raises:
        TypeError: if a section is not an int.
        ValueError: if there are not three sections, or one is not positive, or interleaved they
            do not fit into dim/2 pairs.

    Example:
        >>> mrope_axes([2, 1, 1], interleaved=False), mrope_axes([2, 1, 1], interleaved=True)
        (tensor([0, 0, 1, 2]), tensor([0, 1, 2, 0]))

    Paper: Wang et al. (2024), Qwen2-VL, section 2.1; Huang et al. (2025), MRoPE-Interleave.
    """
    if len(sections) != 3:
        raise ValueError(f"sections must be three, time, rows and columns, got {list(sections)}")
    for section in sections:
        require_positive("sections", section)
    if not interleaved:
        return torch.arange(3).repeat_interleave(torch.tensor(list(sections)))
    axis = torch.zeros(sum(sections), dtype=torch.int64)
    for a in (1, 2):
        axis[a : 3 * sections[a] : 3] = a
    if axis.bincount(minlength=3).tolist() != list(sections):
        raise ValueError(f"sections {list(sections)} do not fit when interleaved")
    return axis
