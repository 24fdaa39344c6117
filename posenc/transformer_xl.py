"""Transformer-XL's relative attention: an absolute score's four terms, rewritten for distances."""

import torch
from jaxtyping import Bool, Float, Integer
from torch import Tensor, nn
from torch.nn import functional as F

from posenc._validate import require_positive, require_std
from posenc.attention import attention
from posenc.relative import blocks_of_queries, matching_diagonals, skew
from posenc.sinusoidal import sinusoidal_encoding


class TransformerXLRelative(nn.Module):
    """Transformer-XL: the four terms of an absolute score, rewritten for relative positions.

    score[i, j] = ((q[i] + u) . k[j] + (q[i] + v) . W_R R[i - j]) / sqrt(head_dim)

    R is the sinusoidal encoding, sines first, of the distance back, i - j = -relative; it is
    computed from the positions at every call and no buffer holds it, so casting the module
    to bfloat16 leaves its angles exact. u and v are one vector a head, W_R a matrix a head.

    Args:
        num_heads: positive.
        head_dim: channels of one head, positive.
        dim: channels of R, positive and even; the model's width in the paper.
        base: as in `sinusoidal_encoding`.
        std: standard deviation of the normal initialisation.

    Attributes:
        u, v: [num_heads, head_dim], content and position bias.
        w_r: [num_heads, head_dim, dim].

    Raises:
        TypeError: if a count is not an int.
        ValueError: if a count is not positive, dim is odd, base is not above 1, or std is
            negative or not finite.

    Example:
        >>> q = k = v = torch.randn(1, 2, 5, 8)
        >>> p = torch.arange(5)
        >>> TransformerXLRelative(2, 8, 16)(q, k, v, p, p)[0].shape
        torch.Size([1, 2, 5, 8])

    Paper: Dai et al. (2019), Transformer-XL, section 3.3.
    """

    def __init__(
        self, num_heads: int, head_dim: int, dim: int, *, base: float = 10_000.0, std: float = 0.02
    ):
        super().__init__()
        require_positive("num_heads", num_heads)
        require_positive("head_dim", head_dim)
        require_std(std)
        sinusoidal_encoding(torch.zeros(1), dim, base=base)  # refuses bad settings now, not later
        self.dim = dim
        self.base = base
        self.u = nn.Parameter(torch.randn(num_heads, head_dim) * std)
        self.v = nn.Parameter(torch.randn(num_heads, head_dim) * std)
        self.w_r = nn.Parameter(torch.randn(num_heads, head_dim, dim) * std)

    def extra_repr(self) -> str:
        """What `print` shows of the module."""
        num_heads, head_dim = self.u.shape
        return f"num_heads={num_heads}, head_dim={head_dim}, dim={self.dim}, base={self.base:g}"

    def forward(
        self,
        q: Float[Tensor, "*batch h q d"],
        k: Float[Tensor, "*batch h k d"],
        v: Float[Tensor, "*batch h k d"],
        query_positions: Integer[Tensor, " q"],
        key_positions: Integer[Tensor, " k"],
        *,
        mask: Bool[Tensor, "..."] | None = None,
    ) -> tuple[Float[Tensor, "*batch h q d"], Float[Tensor, "*batch h q k"]]:
        """Attend with the four terms.

        Args:
            q, k, v: queries, keys and values of num_heads heads.
            query_positions: consecutive integers in increasing order, one a query.
            key_positions: likewise, one a key.
            mask: True where a query may look.

        Returns:
            Outputs and weights, as `posenc.attention`.

        Raises:
            TypeError: as in `posenc.attention`.
            ValueError: if q does not have the module's heads and channels, positions are not
                consecutive or do not match q and k, or as in `posenc.attention`.
        """
        by_diagonal = self._keys(q, k, query_positions, key_positions)
        position = self._position(q, by_diagonal)
        return attention(q + self.u[:, None], k, v, bias=position, mask=mask)

    def outputs(
        self,
        q: Float[Tensor, "*batch h q d"],
        k: Float[Tensor, "*batch h k d"],
        v: Float[Tensor, "*batch h k d"],
        query_positions: Integer[Tensor, " q"],
        key_positions: Integer[Tensor, " k"],
        *,
        causal: bool,
        block_size: int = 128,
    ) -> Float[Tensor, "*batch h q d"]:
        """The outputs alone, by the fused kernel, a block of queries at a time.

        Args:
            q, k, v, query_positions, key_positions: as in `forward`.
            causal: whether queries see only keys that do not come after them.
            block_size: queries handled at a time; memory grows with block_size, not with q.

        Returns:
            Outputs, as `forward`.

        Raises:
            TypeError, ValueError: as in `forward`, or if block_size is not a positive int.
        """
        by_diagonal = self._keys(q, k, query_positions, key_positions)
        blocks = blocks_of_queries(
            query_positions, key_positions, causal=causal, block_size=block_size
        )
        outputs = []
        for rows, keys, diagonals, mask in blocks:
            bias = self._position(q[..., rows, :], by_diagonal[:, diagonals])
            if causal:
                bias = bias.masked_fill(~mask, -torch.inf)
            content = q[..., rows, :] + self.u[:, None], k[..., keys, :], v[..., keys, :]
            outputs.append(F.scaled_dot_product_attention(*content, attn_mask=bias))
        return torch.cat(outputs, dim=-2)

    def _keys(self, q: Tensor, k: Tensor, query_positions: Tensor, key_positions: Tensor) -> Tensor:
        """W_R R of every diagonal, [h, r, d]: a key for each distance."""
        if q.shape[-3:-2] + q.shape[-1:] != self.u.shape:
            raise ValueError(
                f"q must have heads and channels {tuple(self.u.shape)}, got shape {tuple(q.shape)}"
            )
        relative = matching_diagonals(q, k, query_positions, key_positions)
        encoding = sinusoidal_encoding(
            -relative, self.dim, base=self.base, layout="half", dtype=q.dtype
        )
        return encoding @ self.w_r.transpose(-1, -2)

    def _position(self, q: Tensor, by_diagonal: Tensor) -> Tensor:
        """The two terms of the score that depend on the distance, scaled, [h, q, k]."""
        scale = q.shape[-1] ** -0.5
        return scale * skew((q + self.v[:, None]) @ by_diagonal.transpose(-1, -2))
