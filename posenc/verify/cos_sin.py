"""Rotations that come as tables of cosines and sines, and the functions that apply these."""

from collections.abc import Callable, Iterator
from functools import partial

import torch
from torch import Tensor

from posenc.verify.turn import NotARotation, said
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
        tables = [t.reshape(-1, t.shape[-1]).to(x.dtype) for t in (cos, sin)]
        return _by(apply, x, *tables, of_keys=of_keys)
    cos, sin = (t.reshape(-1, t.shape[-1]).to(x.dtype) for t in (cos, sin))
    if form == "interleaved":
        cos, sin = cos[:, 0::2], sin[:, 0::2]
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)
    if form == "half":
        cos, sin = cos.chunk(2, -1)[0], sin.chunk(2, -1)[0]
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)


def _by(apply: Callable, x: Tensor, cos: Tensor, sin: Tensor, *, of_keys: bool) -> Tensor:
    """Call it with x [m, n, d] and tables [n, columns] in that shape of both which it takes."""
    names, _ = parameters_of(apply)
    vectors = 1 + takes_keys(apply)

    def call(shape: int, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        axis, turned, tables = list(_shapes(names, vectors, cos, sin))[shape]
        given = [x] if vectors == 1 else [other(x), x] if of_keys else [x, other(x)]
        given = [t.transpose(0, 1) if turned else t for t in given]
        result = apply(*(t.unsqueeze(axis) for t in given), *tables)
        result = (result[of_keys] if isinstance(result, tuple | list) else result).squeeze(axis)
        result = result.transpose(0, 1) if turned else result
        if result.shape != x.shape:
            raise NotARotation(f"it gives {tuple(result.shape)} for {tuple(x.shape)}")
        return result

    worked, failed = [], ""
    for shape in range(len(list(_shapes(names, vectors, cos, sin)))):
        try:
            worked.append((_heeds_rows(partial(call, shape), x, cos), -shape))
        except Exception as error:  # whatever somebody else's code does with a wrong call
            failed = said(error)
    if not worked:
        raise NotARotation(f"apply= cannot be called with x and tables of cos and sin: {failed}")
    return call(-max(worked)[1], x, cos, sin)


def _heeds_rows(call: Callable[..., Tensor], x: Tensor, cos: Tensor) -> bool:
    """Whether row 2 of the tables turns row 2 of each text, and no other; tried with 3 by 5."""
    rows = torch.arange(5)
    x = torch.ones(3, 5, x.shape[-1], dtype=x.dtype)
    turn = (rows[:, None] * torch.ones(cos.shape[-1])).to(cos.dtype)
    before, after = (call(x, t.cos(), t.sin()) for t in (turn, turn + 0.5 * (rows == 2)[:, None]))
    changed = (before != after).any(dim=-1)
    return torch.equal(changed, (rows == 2).expand(3, -1))


def _shapes(
    names: list[str], vectors: int, cos: Tensor, sin: Tensor
) -> Iterator[tuple[int, bool, tuple[Tensor, ...]]]:
    """Where heads stand in x; whether rows come before texts; the tables and what follows them."""
    if len(names) == vectors + 1:  # one table: Meta's complex one, x [b, n, h, d]; or ChatGLM's
        for table in (torch.complex(cos.float(), sin.float()), torch.stack((cos, sin), dim=-1)):
            for axis, turned in ((2, False), (2, True), (1, False)):
                yield axis, turned, (table,)
        return
    order = [name[:3] for name in names if name.startswith(("cos", "sin"))]
    pair = (sin, cos) if order[:2] == ["sin", "cos"] else (cos, sin)
    rows = (torch.arange(len(cos))[None],) if any(name in POSITIONS for name in names) else ()
    for axis in (1, 2):  # [b, h, n, d] and [b, n, h, d]
        whole = [t[None, None] if rows else t[None] for t in pair]
        yield axis, False, (*whole, *rows)  # it looks up the rows itself
        yield axis, False, (*pair, *rows)
