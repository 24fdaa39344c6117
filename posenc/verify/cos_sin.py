"""Rotations that come as tables of cosines and sines, and the functions that apply these."""

from collections.abc import Callable

import torch
from torch import Tensor

from posenc.verify.ways import POSITIONS, other, parameters_of, takes_keys_at


def is_pairs(table: Tensor) -> bool:
    """Whether it is [n, pairs, 2], cosines and sines side by side."""
    if table.ndim != 3 or table.shape[-1] != 2 or not table.is_floating_point():
        return False
    return bool((table.float().norm(dim=-1) - 1).abs().max() < 1e-2)


def tables_of(result: object, n: int) -> tuple[Tensor, Tensor] | None:
    """Cos and sin, if that is what came back: two tables of n rows, or angles, or phasors."""
    if isinstance(result, Tensor) and result.is_complex() and n in result.shape:
        return result.real, result.imag
    if not (isinstance(result, tuple | list) and len(result) == 2):
        return None
    one, two = result
    if isinstance(one, Tensor) and isinstance(two, int | float) and one.shape[-2:-1] == (n,):
        return one.cos() * two, one.sin() * two  # x-transformers: angles and a scale
    if not all(isinstance(t, Tensor) and t.ndim >= 2 for t in (one, two)):
        return None
    if one.shape != two.shape or one.shape[-2] != n or one.numel() != n * one.shape[-1]:
        return None
    return one, two


def form_of(cos: Tensor, sin: Tensor) -> str:
    """How a table repeats its columns: that tells for which pairing it was made."""
    columns = cos.shape[-1]
    if columns % 2 == 0 and columns > 2:
        if all(torch.equal(*t.chunk(2, -1)) for t in (cos, sin)):
            return "half"
        if all(torch.equal(t[:, 0::2], t[:, 1::2]) for t in (cos, sin)):
            return "interleaved"
    return "one column a pair"


def takes_keys(apply: Callable | None) -> bool:
    """Whether a function that applies tables is given queries and keys."""
    names = parameters_of(apply)[0] if apply is not None else []
    return takes_keys_at(names)


def applied(
    x: Tensor, cos: Tensor, sin: Tensor, apply: Callable | None, form: str, *, of_keys: bool = False
) -> Tensor:
    """Rotate by tables: with the given function, or else in the way the tables are made for."""
    if apply is not None:
        names, _ = parameters_of(apply)
        tables = [t.reshape(-1, t.shape[-1]).to(x.dtype) for t in (cos, sin)]
        inputs = [x[:, None]]
        if takes_keys(apply):
            inputs = [other(x)[:, None], x[:, None]] if of_keys else [x[:, None], other(x)[:, None]]
        if len(names) == len(inputs) + 1:  # Meta's: one complex table, x [b, n, h, d]
            result = apply(*(t.transpose(1, 2) for t in inputs), torch.complex(*map(_f32, tables)))
            result = result[of_keys] if isinstance(result, tuple | list) else result
            return result.reshape(x.shape)
        if any(name in POSITIONS for name in names):  # it looks up the rows itself
            rows = torch.arange(len(tables[0]))[None]
            try:
                result = apply(*inputs, *(t[None, None] for t in tables), rows)
            except Exception:
                result = apply(*inputs, *tables, rows)
            return (result[of_keys] if isinstance(result, tuple | list) else result).reshape(
                x.shape
            )
        try:
            result = apply(*inputs, *(t[None] for t in tables))
        except Exception:
            result = apply(*inputs, *tables)
        result = result[of_keys] if isinstance(result, tuple | list) else result
        return result.reshape(x.shape)
    cos, sin = (t.reshape(-1, t.shape[-1]).to(x.dtype) for t in (cos, sin))
    if form == "interleaved":
        cos, sin = cos[:, 0::2], sin[:, 0::2]
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)
    if form == "half":
        cos, sin = cos.chunk(2, -1)[0], sin.chunk(2, -1)[0]
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)


def _f32(table: Tensor) -> Tensor:
    return table.float()
