"""Attention with every choice in the open: scores, bias, mask, softmax, weighted sum."""

import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor

from posenc._validate import require_float, require_positions, violated


def causal_mask(
    query_positions: Shaped[Tensor, "*b q"], key_positions: Shaped[Tensor, "*b k"]
) -> Bool[Tensor, "*b q k"]:
    """True where a query may look: at keys that do not come after it.

    mask[i, j] = key_positions[j] <= query_positions[i]

    Since it compares positions and not indices, it is also right for one query against a
    cache of earlier keys, where a lower-triangular matrix is not.

    Args:
        query_positions: integers or floats, one a query.
        key_positions: likewise, one a key.

    Returns:
        A boolean mask for `attention`.

    Raises:
        TypeError: if positions are boolean, complex, bf16 or fp16.
        ValueError: if positions are empty or not finite.

    Example:
        >>> causal_mask(torch.tensor([2]), torch.tensor([0, 1, 2, 3]))
        tensor([[ True,  True,  True, False]])
    """
    require_positions("query_positions", query_positions)
    require_positions("key_positions", key_positions)
    return key_positions[..., None, :] <= query_positions[..., :, None]


def attention(
    q: Float[Tensor, "*batch q d"],
    k: Float[Tensor, "*batch k d"],
    v: Float[Tensor, "*batch k e"],
    *,
    bias: Float[Tensor, "..."] | None = None,
    mask: Bool[Tensor, "..."] | None = None,
    scale: float | None = None,
) -> tuple[Float[Tensor, "*batch q e"], Float[Tensor, "*batch q k"]]:
    """Scaled dot-product attention that also returns its weights.

    weights = softmax(scale * q k^T + bias),  over the keys that the mask allows
    output = weights v

    bf16 and fp16 are computed in float32 and rounded once.

    Args:
        q, k, v: queries, keys and values; leading axes (batch, heads) must be equal. Where
            several query heads share a key head (GQA), repeat the keys and values first.
        bias: added to the scores after scaling; its last two axes must be [q, k] exactly, the
            others broadcast.
        mask: True where a query may look; axes as for bias.
        scale: factor on q k^T; 1/sqrt(d) by default, 1 for T5.

    Returns:
        The outputs and the weights, in the dtype of v; each row of weights sums to 1.

    Raises:
        TypeError: if q, k, v or bias are not floating-point, or the mask is not boolean.
        ValueError: if shapes do not fit, or mask and bias leave some query no key: its weights
            would be 0/0. (A row of padding may look at itself.)

    Example:
        >>> q = k = v = torch.eye(2)
        >>> attention(q, k, v, mask=torch.tensor([[True, False], [True, True]]))[1]
        tensor([[1.0000, 0.0000],
                [0.3302, 0.6698]])

    Paper: Vaswani et al. (2017), equation 1.
    """
    require_qkv(q, k, v)
    wide = torch.promote_types(torch.promote_types(q.dtype, k.dtype), torch.float32)
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    scores = (scale * q.to(wide)) @ k.to(wide).transpose(-1, -2)  # scaled first: no overflow
    if bias is not None:
        require_float("bias", bias)
        _require_per_score("bias", bias, scores)
        scores = scores + bias
    if mask is not None:
        if mask.dtype != torch.bool:
            raise TypeError(f"mask must be boolean, True where a query may look, got {mask.dtype}")
        _require_per_score("mask", mask, scores)
        _require_a_key("mask must allow each query a key", mask)
        scores = scores.masked_fill(~mask, -torch.inf)
    _require_a_key("bias must leave each query a score", ~scores.isneginf())
    weights = scores.softmax(dim=-1)
    wide = torch.promote_types(weights.dtype, v.dtype)
    return (weights.to(wide) @ v.to(wide)).to(v.dtype), weights.to(v.dtype)


def require_qkv(q: Tensor, k: Tensor, v: Tensor) -> None:
    """Raise unless q, k and v are floating-point and their shapes fit together."""
    for name, x in (("q", q), ("k", k), ("v", v)):
        require_float(name, x)
        if x.ndim < 2:
            raise ValueError(f"{name} must have shape [..., rows, channels], got {tuple(x.shape)}")
    if q.shape[-1] != k.shape[-1]:
        raise ValueError(f"k must have the {q.shape[-1]} channels of q, got {k.shape[-1]}")
    if k.shape[-2] != v.shape[-2]:
        raise ValueError(f"v must have one row for each of {k.shape[-2]} keys, got {v.shape[-2]}")
    for name, x in (("k", k), ("v", v)):
        if x.shape[:-2] != q.shape[:-2]:
            raise ValueError(
                f"{name} must have the leading axes {tuple(q.shape[:-2])} of q, "
                f"got {tuple(x.shape[:-2])}{_advice_on_groups(q, x)}"
            )


def _advice_on_groups(q: Tensor, x: Tensor) -> str:
    """What to do where heads of q share those of x (grouped queries)."""
    if q.ndim < 3 or x.ndim < 3 or q.shape[-3] % x.shape[-3]:
        return ""
    return f"; for grouped queries call repeat_interleave({q.shape[-3] // x.shape[-3]}, dim=-3)"


def _require_a_key(rule: str, allowed: Tensor) -> None:
    has_key = allowed.any(dim=-1)
    if violated(has_key):
        raise ValueError(f"{rule}, got none at {(~has_key).nonzero()[0].tolist()}")


def _require_per_score(name: str, x: Tensor, scores: Tensor) -> None:
    tail, target = x.shape[-2:], scores.shape
    lead = zip(reversed(x.shape[:-2]), reversed(target[:-2]), strict=False)
    if tail != target[-2:] or x.ndim > scores.ndim or any(s not in (1, t) for s, t in lead):
        raise ValueError(
            f"{name} must end in [q, k] = {list(target[-2:])} and broadcast to "
            f"{list(target)}, got {list(x.shape)}"
        )
