"""Relative encodings: what attention needs is how far apart two tokens are, and in which direction.

Everywhere, relative = key position - query position: negative looks back, positive ahead.
"""

import math
from collections.abc import Callable, Iterator
from itertools import groupby

import torch
from jaxtyping import Float, Integer, Shaped
from torch import Tensor
from torch.nn import functional as F

from posenc._validate import require_positions, require_positive, seen, violated
from posenc.attention import causal_mask, require_qkv

_ROWS = 64  # of a Toeplitz matrix whose diagonals are summed at a time


def relative_positions(
    query_positions: Shaped[Tensor, "*b q"], key_positions: Shaped[Tensor, "*b k"]
) -> Shaped[Tensor, "*b q k"]:
    """How far, and on which side, every key lies from every query.

    relative[i, j] = key_positions[j] - query_positions[i]

    Args:
        query_positions: integers or floats, one a query; any start.
        key_positions: likewise, one a key.

    Returns:
        Positions, negative where the key comes before the query (the sign of T5).

    Raises:
        TypeError: if positions are boolean, complex, bf16 or fp16.
        ValueError: if positions are empty or not finite.

    Example:
        >>> relative_positions(torch.tensor([0, 1]), torch.tensor([0, 1, 2]))
        tensor([[ 0,  1,  2],
                [-1,  0,  1]])
    """
    require_positions("query_positions", query_positions)
    require_positions("key_positions", key_positions)
    return _wide(key_positions)[..., None, :] - _wide(query_positions)[..., :, None]


def diagonals(
    query_positions: Integer[Tensor, " q"], key_positions: Integer[Tensor, " k"]
) -> Integer[Tensor, " r"]:
    """The q + k - 1 distinct relative positions of consecutive queries and keys.

    The matrix of relative positions is constant along its diagonals (it is Toeplitz):
    relative[i, j] = diagonals[j - i + q - 1]. Whatever depends on it needs to be computed
    only here.

    Args:
        query_positions: consecutive integers in increasing order.
        key_positions: likewise.

    Returns:
        Relative positions from (first key - last query) to (last key - first query).

    Raises:
        TypeError: if positions are not integers.
        ValueError: if positions are empty, not one-dimensional or not consecutive.

    Example:
        >>> diagonals(torch.tensor([0, 1]), torch.tensor([0, 1, 2]))
        tensor([-1,  0,  1,  2])
    """
    for name, positions in (("query_positions", query_positions), ("key_positions", key_positions)):
        require_positions(name, positions)
        if positions.is_floating_point():
            raise TypeError(f"{name} must be integers, got {positions.dtype}")
        if positions.ndim != 1:
            shape = tuple(positions.shape)
            raise ValueError(f"{name} must be consecutive and 1-D, got shape {shape}")
        steps = _wide(positions).diff()
        if violated(steps == 1):
            first = (steps != 1).nonzero()[0].item()
            pair = positions[first : first + 2].tolist()
            raise ValueError(f"{name} must be consecutive and 1-D, got {pair} at {first}")
    low = _wide(key_positions[0]) - _wide(query_positions[-1])
    steps = len(query_positions) + len(key_positions) - 1
    return low + torch.arange(steps, device=low.device, dtype=low.dtype)


def toeplitz(values: Float[Tensor, "*h r"], num_queries: int) -> Float[Tensor, "*h q k"]:
    """Spread one value a diagonal over the whole matrix.

    matrix[i, j] = values[j - i + num_queries - 1]

    Row i is the window of `values` that starts at num_queries - 1 - i, so the matrix without
    the final flip is a view that owns no memory: `values.unfold(-1, num_keys, 1)`.

    Args:
        values: one value for each of the q + k - 1 `diagonals`.
        num_queries: rows of the matrix, between 1 and r.

    Returns:
        The matrix, materialised, with k = r - q + 1 columns.

    Raises:
        TypeError: if num_queries is not an int.
        ValueError: if num_queries is not between 1 and the number of values.

    Example:
        >>> toeplitz(torch.tensor([-1.0, 0.0, 1.0, 2.0]), 2)
        tensor([[ 0.,  1.,  2.],
                [-1.,  0.,  1.]])
    """
    _require_rows("num_queries", num_queries, values.shape[-1])
    return _Toeplitz.apply(values, num_queries)


class _Toeplitz(torch.autograd.Function):
    """Windows forward; sums along the diagonals backward, which autograd does entry by entry."""

    generate_vmap_rule = True

    @staticmethod
    def forward(values: Tensor, num_queries: int) -> Tensor:
        return values.unfold(-1, values.shape[-1] - num_queries + 1, 1).flip(-2)

    @staticmethod
    def setup_context(ctx, inputs: tuple[Tensor, int], output: Tensor) -> None:
        ctx.num_queries = inputs[1]

    @staticmethod
    def jvp(ctx, moves: Tensor, _) -> Tensor:
        return _Toeplitz.apply(moves, ctx.num_queries)

    @staticmethod
    def backward(ctx, grad: Tensor) -> tuple[Tensor, None]:
        q, k = grad.shape[-2:]
        total = grad.new_zeros(*grad.shape[:-2], q + k - 1)
        for start in range(0, q, _ROWS):
            rows = grad[..., start : start + _ROWS, :].flip(-2)
            n = rows.shape[-2]
            padded = F.pad(rows, (0, n)).flatten(-2)[..., :-n]  # each row now starts one later
            sums = padded.unflatten(-1, (n, -1)).sum(-2)
            total[..., q - start - n : q - start + k - 1] += sums
        return total, None


def skew(by_diagonal: Float[Tensor, "*h q r"]) -> Float[Tensor, "*h q k"]:
    """Line up, for every query, its values by diagonal with the keys (a view, nothing moves).

    matrix[i, j] = by_diagonal[i, j - i + q - 1]

    Stepping one row down shifts the window one entry left: in memory, rows of r - 1 entries
    instead of r. Transformer-XL's `_rel_shift` gets there by padding and reshaping.

    Args:
        by_diagonal: for each of q queries, one value for each of the q + k - 1 `diagonals`.

    Returns:
        A view with k = r - q + 1 columns, if by_diagonal is contiguous.

    Raises:
        ValueError: if there are fewer diagonals than queries.

    Example:
        >>> skew(torch.tensor([[9.0, 1.0, 2.0], [3.0, 4.0, 9.0]]))
        tensor([[1., 2.],
                [3., 4.]])

    Paper: Dai et al. (2019), Transformer-XL, appendix B.
    """
    *_, q, r = by_diagonal.shape
    _require_rows("the number of queries", q, r)
    if q == 1:
        return by_diagonal
    entries = by_diagonal.contiguous().flatten(-2)[..., q - 1 : -1]
    return entries.unflatten(-1, (q, r - 1))[..., : r - q + 1]


def relative_attention(
    q: Float[Tensor, "*batch h q d"],
    k: Float[Tensor, "*batch h k d"],
    v: Float[Tensor, "*batch h k e"],
    bias: Callable[[Tensor], Tensor],
    query_positions: Integer[Tensor, " q"],
    key_positions: Integer[Tensor, " k"],
    *,
    causal: bool,
    scale: float | None = None,
    negligible: float | None = None,
    block_size: int = 256,
) -> Float[Tensor, "*batch h q e"]:
    """Attention with a bias that depends on relative position alone, in O(h (q + k)) memory.

    It equals `attention(q, k, v, bias=bias(relative_positions(...)), mask=...)`, with the bias
    rounded to the dtype of q, but the [h, q, k] bias is never built: a Toeplitz matrix has only
    q + k - 1 distinct entries a head, and sliding windows over them are its rows. torch has no
    negative strides, so the windows come last query first, and the queries are reversed to match.

    Keys beyond a head's horizon are skipped. A key whose bias is lower than that of the query's
    own position by more than

        ln(1 / negligible) + 2 scale max|q| max|k|

    weighs less than `negligible` times what the query's own key does, since two scores of a head
    are at most 2 scale max|q| max|k| apart (Cauchy-Schwarz). ALiBi's bias falls by a slope a
    position, so its horizon is that number over the slope: the longer the sequence, the smaller
    the part of it that a steep head has to look at.

    Args:
        q, k, v: queries, keys and values of h heads.
        bias: maps relative positions [r] to biases [h, r]: a `T5RelativeBias`, or
            `functools.partial(alibi_bias, slopes)`.
        query_positions: consecutive integers in increasing order.
        key_positions: likewise.
        causal: whether queries see only keys that do not come after them.
        scale: factor on q k^T; 1/sqrt(d) by default, 1 for T5.
        negligible: weights, relative to that of the query's own key, that may be left out:
            between 0 and 1. By default the smallest normal number of the dtype that scores are
            computed in, 2^-126 in float32, below which nothing can change an output. 2^-25
            changes outputs by no more than float32's rounding does, and skips more.
        block_size: queries handled at a time.

    Returns:
        The outputs. The weights are never formed.

    Raises:
        TypeError: if block_size is not an int.
        ValueError: if shapes do not fit, positions are not consecutive, some query may look at
            no key, or negligible is not between 0 and 1.

    torch's fused kernel has no forward-mode derivative; `attention` has.

    Example:
        >>> from functools import partial
        >>> from posenc import alibi_bias, alibi_slopes
        >>> q = k = v = torch.eye(4).expand(1, 2, 4, 4)
        >>> bias, p = partial(alibi_bias, alibi_slopes(2)), torch.arange(4)
        >>> relative_attention(q, k, v, bias, p, p, causal=True).shape
        torch.Size([1, 2, 4, 4])
    """
    require_qkv(q, k, v)
    require_positive("block_size", block_size)
    if negligible is not None and not 0 < negligible < 1:
        raise ValueError(f"negligible must be between 0 and 1, got {negligible}")
    if q.ndim < 3:
        raise ValueError(f"q must have a head axis, [..., h, q, d], got shape {tuple(q.shape)}")
    relative = matching_diagonals(q, k, query_positions, key_positions)
    values = bias(relative).to(q.dtype)
    if values.shape != (q.shape[-3], len(relative)):
        expected = (q.shape[-3], len(relative))
        raise ValueError(f"bias must return shape {expected}, got {tuple(values.shape)}")
    if causal:
        _require_a_first_key(query_positions, key_positions)
        values = values.masked_fill(relative > 0, -torch.inf)
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    wide = torch.promote_types(q.dtype, torch.float32)
    negligible = torch.finfo(wide).tiny if negligible is None else negligible
    longest = (torch.linalg.vector_norm(x.detach(), dim=-1, dtype=wide).amax(-1) for x in (q, k))
    bound = abs(scale) * torch.mul(*longest).reshape(-1, q.shape[-3]).amax(0)
    budget = 2 * bound - math.log(negligible)
    outputs = [
        _attend(*(x[..., heads, :, :] for x in (q, k, v)), values[heads], *near, block_size, scale)
        for heads, near in _horizons(values, budget, query_positions, key_positions)
    ]
    return outputs[0] if len(outputs) == 1 else torch.cat(outputs, dim=-3)


def _horizons(
    values: Tensor, budget: Tensor, query_positions: Tensor, key_positions: Tensor
) -> list[tuple[slice, list[int]]]:
    """Neighbouring heads, with the range of diagonals beyond which their weights are negligible."""
    everything = [(slice(None), [0, values.shape[-1]])]
    ends = seen(torch.stack((query_positions[[0, -1]], key_positions[[0, -1]])))
    if ends is None or not ends[1][0] <= ends[0][0] <= ends[0][1] <= ends[1][1]:
        return everything  # not every query has a key at its own position
    own = values[:, len(query_positions) - 1 + ends[0][0] - ends[1][0], None]
    near = (values >= own - budget[:, None]) | values.isnan()
    ends = near.byte().argmax(-1), values.shape[-1] - near.flip(-1).byte().argmax(-1)
    ranges = seen(torch.stack(ends, dim=-1))
    if ranges is None:
        return everything
    alike = groupby(range(len(ranges)), key=ranges.__getitem__)
    runs = ((near, list(heads)) for near, heads in alike)
    return [(slice(heads[0], heads[-1] + 1), near) for near, heads in runs]


def _attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    values: Tensor,
    low: int,
    high: int,
    block_size: int,
    scale: float,
) -> Tensor:
    """Block by block of queries, the keys on the diagonals low ... high - 1."""
    num_queries, num_keys = q.shape[-2], k.shape[-2]
    outputs = []
    for start in range(0, num_queries, block_size):
        stop = min(start + block_size, num_queries)
        first = max(0, low + start - num_queries + 1)
        after = min(num_keys, high + stop - num_queries)
        window = values[:, num_queries - stop + first : num_queries - 1 - start + after]
        rows = window.unfold(-1, after - first, 1)  # [h, queries, keys], last query first
        block = F.scaled_dot_product_attention(
            q[..., start:stop, :].flip(-2),
            k[..., first:after, :],
            v[..., first:after, :],
            attn_mask=rows.expand(*q.shape[:-3], *rows.shape),
            scale=scale,
        )
        outputs.append(block.flip(-2))
    return torch.cat(outputs, dim=-2)


def blocks_of_queries(
    query_positions: Tensor, key_positions: Tensor, *, causal: bool, block_size: int
) -> Iterator[tuple[slice, slice, slice, Tensor | None]]:
    """For each block of queries its rows, the keys they see, the diagonals of both, and a mask."""
    require_positive("block_size", block_size)
    if causal:
        _require_a_first_key(query_positions, key_positions)
    num_queries, num_keys = len(query_positions), len(key_positions)
    ahead = seen(query_positions[0].long() - key_positions[0].long()) if causal else None
    for start in range(0, num_queries, block_size):
        stop = min(start + block_size, num_queries)
        visible = num_keys if ahead is None else min(num_keys, ahead + stop)
        rows, keys = slice(start, stop), slice(visible)
        mask = causal_mask(query_positions[rows], key_positions[keys]) if causal else None
        yield rows, keys, slice(num_queries - stop, num_queries - start + visible - 1), mask


def _require_a_first_key(query_positions: Tensor, key_positions: Tensor) -> None:
    """Raise ValueError if causality leaves the first query no key."""
    if violated(query_positions[0] >= key_positions[0]):
        first, start = query_positions[0].item(), key_positions[0].item()
        raise ValueError(f"query_positions must not start before key {start}, got {first}")


def _wide(positions: Tensor) -> Tensor:
    """Integers as int64, where no difference wraps around."""
    return positions if positions.is_floating_point() else positions.long()


def matching_diagonals(
    q: Tensor, k: Tensor, query_positions: Tensor, key_positions: Tensor
) -> Tensor:
    """The `diagonals`, if there is one position for each query and each key."""
    relative = diagonals(query_positions, key_positions)
    for name, positions, x in (
        ("query_positions", query_positions, q),
        ("key_positions", key_positions, k),
    ):
        if len(positions) != x.shape[-2]:
            raise ValueError(f"{name} must name all {x.shape[-2]} rows, got {len(positions)}")
    return relative


def _require_rows(name: str, rows: int, entries: int) -> None:
    require_positive(name, rows)
    if rows > entries:
        raise ValueError(f"{name} must not exceed the {entries} diagonals, got {rows}")
