"""ALiBi: no encoding at all, only a penalty on the score that grows with distance."""

import torch
from jaxtyping import Float, Float64, Shaped
from torch import Tensor

from posenc._validate import (
    require_float,
    require_float_dtype,
    require_positions,
    require_positive,
    violated,
)


def alibi_slopes(num_heads: int) -> Float64[Tensor, " h"]:
    """How steeply each head's penalty grows, per position.

    slope[h] = 2^(-8 (h + 1) / num_heads),     h = 0 ... num_heads - 1

    for a power of two. Otherwise, with n the largest power of two below num_heads: the n slopes
    of n heads, then every other slope of 2n heads (its 1st, 3rd, 5th, ...) until all heads
    have one.

    Args:
        num_heads: positive; powers of two are not required.

    Returns:
        Slopes in (0, 1), float64. They decrease when num_heads is a power of two.

    Raises:
        TypeError: if num_heads is not an int.
        ValueError: if num_heads is not positive.

    Example:
        >>> alibi_slopes(3)
        tensor([0.0625, 0.0039, 0.2500], dtype=torch.float64)

    Paper: Press et al. (2022), Train Short, Test Long, section 3; the rule for other head
    counts is in the authors' code.
    """
    require_positive("num_heads", num_heads)
    power = 1 << (num_heads.bit_length() - 1)
    slopes = [2.0 ** (-8 * (h + 1) / power) for h in range(power)]
    extra = [2.0 ** (-4 * (h + 1) / power) for h in range(0, 2 * power, 2)]
    return torch.tensor((slopes + extra)[:num_heads], dtype=torch.float64)


def alibi_bias(
    slopes: Float[Tensor, " h"],
    relative: Shaped[Tensor, "..."],
    *,
    dtype: torch.dtype = torch.float32,
) -> Float[Tensor, "..."]:
    """The number to add to the scores of each head, before the softmax.

    bias[h, i, j] = -slopes[h] |relative[i, j]|,     relative = key position - query position

    Under a causal mask, where relative <= 0, this is the paper's bias. Without one it is the
    symmetric form, which cannot tell left from right.

    Args:
        slopes: one non-negative slope a head, usually `alibi_slopes(num_heads)`.
        relative: relative positions: the whole matrix, [q, k] or [b, q, k], or the `diagonals`
            alone, [r].
        dtype: floating-point dtype of the result. The product is float64 whatever it is.

    Returns:
        Biases at most 0, in the units of scores, with the head axis where scores have it:
        [h, q, k] from [q, k], [b, h, q, k] from [b, q, k], and [h, r] from [r].

    Raises:
        TypeError: if slopes or dtype are not floating-point.
        ValueError: if slopes is not one finite, non-negative number a head, or relative is
            empty or not finite.

    Example:
        >>> alibi_bias(alibi_slopes(2), torch.tensor([[0, 1], [-1, 0]]))[0]
        tensor([[-0.0000, -0.0625],
                [-0.0625, -0.0000]])

    Paper: Press et al. (2022), section 3.
    """
    require_float("slopes", slopes)
    if slopes.ndim != 1 or slopes.numel() == 0:
        raise ValueError(f"slopes must have shape [num_heads], got {tuple(slopes.shape)}")
    if violated(slopes.isfinite() & (slopes >= 0)):
        raise ValueError(f"slopes must be finite and not negative, got {slopes.tolist()}")
    require_positions("relative", relative)
    require_float_dtype("dtype", dtype)
    distance = relative.to(torch.float64).abs()  # wide first: there is no +128 in int8
    axes = min(relative.ndim, 2)  # of a head: [q, k] or [r]
    per_head = slopes.to(distance).reshape(-1, *[1] * axes)
    return (-per_head * distance.unsqueeze(-axes - 1)).to(dtype)
