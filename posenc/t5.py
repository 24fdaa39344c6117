"""T5's relative bias: one learned number a head for each rounded distance.

Everywhere, relative = key position - query position: negative looks back, positive ahead.
"""

import math

import torch
from jaxtyping import Float, Integer
from torch import Tensor, nn
from torch.nn import functional as F

from posenc._validate import require_even, require_positions, require_positive, require_std


def t5_buckets(
    relative: Integer[Tensor, "*qk"],
    *,
    num_buckets: int = 32,
    max_distance: int = 128,
    bidirectional: bool = True,
) -> Integer[Tensor, "*qk"]:
    """T5's rounding of relative positions: exact when near, logarithmic when far.

    With B buckets for one direction, X = B // 2 exact ones, and distance n:

        bucket = n                                                      if n < X
        bucket = min(B - 1, X + floor((B - X) log(n/X) / log(max_distance/X)))    otherwise

    bidirectional: B = num_buckets / 2; keys after the query (relative > 0) use the upper half.
    Otherwise: B = num_buckets and all keys after the query share bucket 0.

    The logarithm is taken in float32, as in T5's code, so that every boundary is the same.

    Args:
        relative: key position - query position, integers of any shape.
        num_buckets: rows of the table; even when bidirectional.
        max_distance: distance from which on, at the latest, all keys share the last bucket of
            their direction.
        bidirectional: whether keys after the query count (encoders) or not (decoders).

    Returns:
        Bucket indices in 0 ... num_buckets - 1, int64.

    Raises:
        TypeError: if relative is not an integer tensor, or a count is not an int.
        ValueError: if relative is empty, num_buckets is too small or odd when bidirectional, or
            max_distance is not above the exact range X.

    Example:
        >>> t5_buckets(torch.tensor([-128, -8, -1, 0, 1, 8, 128]))
        tensor([15,  8,  1,  0, 17, 24, 31])

    Paper: Raffel et al. (2020), T5, section 2.1; the formula is in the authors' code.
    """
    require_positions("relative", relative)
    if relative.is_floating_point():
        raise TypeError(f"relative must be integers, got {relative.dtype}")
    require_positive("num_buckets", num_buckets)
    if bidirectional:
        require_even("num_buckets", num_buckets)
    per_side = num_buckets // 2 if bidirectional else num_buckets
    exact = per_side // 2
    if exact < 1:
        needed = 4 if bidirectional else 2
        raise ValueError(f"num_buckets must be at least {needed}, got {num_buckets}")
    require_positive("max_distance", max_distance)
    if max_distance <= exact:
        raise ValueError(f"max_distance must be above {exact}, got {max_distance}")
    relative = relative.long().clamp(-max_distance, max_distance)  # farther is no other bucket
    distance = relative.abs() if bidirectional else (-relative).clamp(min=0)
    growth = torch.log(distance.clamp(min=1).float() / exact) / math.log(max_distance / exact)
    far = (exact + (growth * (per_side - exact)).long()).clamp(max=per_side - 1)
    bucket = torch.where(distance < exact, distance, far)
    return bucket + per_side * (relative > 0).long() if bidirectional else bucket


class T5RelativeBias(nn.Module):
    """T5: one learned number a head for each bucket of relative positions, added to the scores.

    bias[h, i, j] = weight[bucket(relative[i, j]), h]

    T5 shares one such table among all layers of a stack, and does not scale its scores by
    1/sqrt(d): call attention with scale=1.

    Args:
        num_heads: positive.
        num_buckets: as in `t5_buckets`.
        max_distance: as in `t5_buckets`.
        bidirectional: as in `t5_buckets`.
        std: standard deviation of the normal initialisation.

    Attributes:
        weight: the table, [num_buckets, num_heads], as T5 checkpoints store it.

    Raises:
        TypeError: if num_heads or num_buckets is not an int.
        ValueError: if a count is not positive, std is negative or not finite, or as in
            `t5_buckets`.

    Example:
        >>> from posenc import relative_positions
        >>> T5RelativeBias(8)(relative_positions(torch.arange(3), torch.arange(5))).shape
        torch.Size([8, 3, 5])

    Paper: Raffel et al. (2020), section 2.1.
    """

    def __init__(
        self,
        num_heads: int,
        *,
        num_buckets: int = 32,
        max_distance: int = 128,
        bidirectional: bool = True,
        std: float = 0.02,
    ):
        super().__init__()
        require_positive("num_heads", num_heads)
        require_positive("num_buckets", num_buckets)
        require_std(std)
        self.max_distance = max_distance
        self.bidirectional = bidirectional
        self.weight = nn.Parameter(torch.randn(num_buckets, num_heads) * std)
        self.buckets(torch.zeros(1, dtype=torch.long))  # refuses bad settings now, not later

    def extra_repr(self) -> str:
        """What `print` shows of the module."""
        return (
            f"num_heads={self.weight.shape[1]}, num_buckets={self.weight.shape[0]}, "
            f"max_distance={self.max_distance}, bidirectional={self.bidirectional}"
        )

    def buckets(self, relative: Integer[Tensor, "*qk"]) -> Integer[Tensor, "*qk"]:
        """`t5_buckets` with the settings of this module."""
        return t5_buckets(
            relative,
            num_buckets=len(self.weight),
            max_distance=self.max_distance,
            bidirectional=self.bidirectional,
        )

    def forward(self, relative: Integer[Tensor, "..."]) -> Float[Tensor, "..."]:
        """Look up the bias of every head.

        Args:
            relative: key position - query position: the whole matrix, [q, k] or [b, q, k], or
                the `diagonals` alone, [r], to be spread by `toeplitz`.

        Returns:
            Biases in the units of scores, with the head axis where scores have it: [h, q, k]
            from [q, k], [b, h, q, k] from [b, q, k], and [h, r] from [r].

        Raises:
            TypeError, ValueError: as in `t5_buckets`.
        """
        return F.embedding(self.buckets(relative), self.weight).movedim(
            -1, -1 - min(relative.ndim, 2)
        )
