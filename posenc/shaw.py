"""Shaw's relative attention: a learned vector for each clipped distance."""

import torch
from jaxtyping import Bool, Float, Integer
from torch import Tensor, nn

from posenc._validate import require_positive, require_std
from posenc.attention import attention
from posenc.relative import blocks_of_queries, matching_diagonals, skew


class ShawRelative(nn.Module):
    """Shaw et al.: a learned vector for every clipped relative position, for keys and values.

    score[i, j] = q[i] . (k[j] + key_weight[clip(j - i)]) / sqrt(d)
    output[i]   = sum_j weights[i, j] (v[j] + value_weight[clip(j - i)])

    with clip(r) = max(-max_distance, min(max_ahead, r)); row r + max_distance of a table belongs
    to relative position r. Heads share the tables, as in the paper's big model.

    Args:
        head_dim: channels of one head, positive.
        max_distance: positive; all keys farther than that look equally far.
        max_ahead: the same for keys after the query, not negative; max_distance by default, as
            in the paper. Wav2Vec2-BERT clips at 64 before and 8 after.
        values: whether to have the value table too, as the paper does.
        std: standard deviation of the normal initialisation.

    Attributes:
        key_weight: [max_distance + 1 + max_ahead, head_dim].
        value_weight: likewise, or None.

    Raises:
        TypeError: if head_dim, max_distance or max_ahead is not an int.
        ValueError: if head_dim or max_distance is not positive, max_ahead is negative, or std is
            negative or not finite.

    Example:
        >>> q = k = v = torch.randn(1, 2, 5, 8)
        >>> p = torch.arange(5)
        >>> ShawRelative(8, max_distance=3)(q, k, v, p, p)[0].shape
        torch.Size([1, 2, 5, 8])

    Paper: Shaw et al. (2018), Self-Attention with Relative Position Representations, eqs. 3-5.
    """

    def __init__(
        self,
        head_dim: int,
        *,
        max_distance: int,
        max_ahead: int | None = None,
        values: bool = True,
        std: float = 0.02,
    ):
        super().__init__()
        require_positive("head_dim", head_dim)
        require_positive("max_distance", max_distance)
        require_std(std)
        self.max_distance = max_distance
        self.max_ahead = max_distance if max_ahead is None else max_ahead
        if not isinstance(self.max_ahead, int) or isinstance(self.max_ahead, bool):
            raise TypeError(f"max_ahead must be an int, got {max_ahead!r}")
        if self.max_ahead < 0:
            raise ValueError(f"max_ahead must not be negative, got {max_ahead}")
        rows = max_distance + 1 + self.max_ahead
        self.key_weight = nn.Parameter(torch.randn(rows, head_dim) * std)
        self.value_weight = nn.Parameter(torch.randn(rows, head_dim) * std) if values else None

    def extra_repr(self) -> str:
        """What `print` shows of the module."""
        ahead = f"max_ahead={self.max_ahead}, " if self.max_ahead != self.max_distance else ""
        return (
            f"head_dim={self.key_weight.shape[1]}, max_distance={self.max_distance}, "
            f"{ahead}values={self.value_weight is not None}"
        )

    def forward(
        self,
        q: Float[Tensor, "*batch q d"],
        k: Float[Tensor, "*batch k d"],
        v: Float[Tensor, "*batch k d"],
        query_positions: Integer[Tensor, " q"],
        key_positions: Integer[Tensor, " k"],
        *,
        mask: Bool[Tensor, "..."] | None = None,
    ) -> tuple[Float[Tensor, "*batch q d"], Float[Tensor, "*batch q k"]]:
        """Attend with relative keys and values.

        Args:
            q, k, v: queries, keys and values.
            query_positions: consecutive integers in increasing order, one a query.
            key_positions: likewise, one a key.
            mask: True where a query may look.

        Returns:
            Outputs and weights, as `posenc.attention`.

        Raises:
            TypeError: as in `posenc.attention`.
            ValueError: if q, or v with a value table, does not have head_dim channels, positions
                are not consecutive or do not match q and k, or as in `posenc.attention`.
        """
        rows = self._rows(q, k, v, query_positions, key_positions)
        return self._attend(q, k, v, rows, mask)

    def outputs(
        self,
        q: Float[Tensor, "*batch q d"],
        k: Float[Tensor, "*batch k d"],
        v: Float[Tensor, "*batch k d"],
        query_positions: Integer[Tensor, " q"],
        key_positions: Integer[Tensor, " k"],
        *,
        causal: bool,
        block_size: int = 64,
    ) -> Float[Tensor, "*batch q d"]:
        """The outputs alone, a block of queries at a time: what one block needs stays in the cache.

        Args:
            q, k, v, query_positions, key_positions: as in `forward`.
            causal: whether queries see only keys that do not come after them.
            block_size: queries handled at a time; memory grows with block_size, not with q.

        Returns:
            Outputs, as `forward`.

        Raises:
            TypeError, ValueError: as in `forward`, or if block_size is not a positive int.
        """
        table_rows = self._rows(q, k, v, query_positions, key_positions)
        blocks = blocks_of_queries(
            query_positions, key_positions, causal=causal, block_size=block_size
        )
        parts = (
            self._attend(
                q[..., rows, :], k[..., keys, :], v[..., keys, :], table_rows[diagonals], mask
            )[0]
            for rows, keys, diagonals, mask in blocks
        )
        return torch.cat(tuple(parts), dim=-2)

    def _rows(
        self, q: Tensor, k: Tensor, v: Tensor, query_positions: Tensor, key_positions: Tensor
    ) -> Tensor:
        """The row of the tables that belongs to each diagonal."""
        for name, x, weight in (("q", q, self.key_weight), ("v", v, self.value_weight)):
            if weight is not None and x.shape[-1] != weight.shape[-1]:
                raise ValueError(f"{name} must have {weight.shape[-1]} channels, got {x.shape[-1]}")
        relative = matching_diagonals(q, k, query_positions, key_positions)
        return relative.clamp(-self.max_distance, self.max_ahead) + self.max_distance

    def _attend(
        self, q: Tensor, k: Tensor, v: Tensor, rows: Tensor, mask: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        bias = q.shape[-1] ** -0.5 * skew(q @ self.key_weight[rows].T)
        output, weights = attention(q, k, v, bias=bias, mask=mask)
        if self.value_weight is not None:
            by_diagonal = weights.new_zeros(*weights.shape[:-1], len(rows))
            skew(by_diagonal).copy_(weights)
            output = output + by_diagonal @ self.value_weight[rows]
        return output, weights
