"""What makes slopes, biases, tables, or cos and sin: called with sizes, positions or vectors."""

import copy
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from posenc.verify.ways import WIDTHS, parameters_of

HEADS, KEYS, ROWS, CHANNELS = 12, 40, 512, 64
"""Sizes that are handed over; no two alike, so that the shape of a result tells what it is."""
FEW = 16
"""Rows that are asked for before many are."""


@dataclass(frozen=True)
class Made:
    """What came of a call.

    Args:
        kind: "bias", "table", or "rotation" for cos and sin.
        thing: slopes [h], a bias [h, q, k], a table [n, dim], or (cos, sin) [n, d] or [n, d/2].
        words: how it was called.
        times: by what the vectors were multiplied that a table was added to.
    """

    kind: str
    thing: Tensor | tuple[Tensor, Tensor]
    words: str
    times: float = 1.0


def made(
    thing: object, *, heads: int = HEADS, keys: int = KEYS, rows: int = ROWS, dim: int | None = None
) -> Made | None:
    """What a function makes of sizes (heads; heads and keys; rows; rows and channels) or positions.

    Args:
        thing: anything; what is no function, or a class, makes nothing.
        heads, keys, rows, dim: the sizes; without dim, usual ones.

    Returns:
        What it makes; None if that is nothing known.
    """
    if not callable(thing) or isinstance(thing, type):
        return None
    calls = list(_by_sizes(thing, heads, keys, rows, dim or CHANNELS))
    required = parameters_of(thing)[1]
    if len(required) == 1 and "mask" in required[0]:
        calls += [((torch.ones(1, keys),), {"keys": keys}, f"mask=ones [1, {keys}]")]
    if len(required) <= 1:
        spots = torch.arange(rows)
        calls += [((spots[:n],), {"rows": n, "dim": dim}, "positions [n]") for n in (rows, 64, 16)]
    for given, sizes, words in calls:
        if sizes.get("rows", 0) > FEW and all(isinstance(size, int) for size in given):
            few = tuple(FEW if size == rows else size for size in given)
            first = _made(thing, few, {**sizes, "rows": FEW})
            if first is None:  # what makes a grid of so many rows would fill the memory
                continue
            if first[0] == "table" and first[1].ndim == 3:
                return Made(*first, f"f({words.replace(f'rows={rows}', f'rows={FEW}')})")
        read = _made(thing, given, sizes)
        if read is not None:
            return Made(*read, f"f({words})")
    return None


def _made(
    thing: Callable, given: tuple, sizes: dict
) -> tuple[str, Tensor | tuple[Tensor, Tensor]] | None:
    """What one call gives, if it is something known."""
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = thing(*given)
        except Exception:  # it wants something else
            return None
    return _read(result, **sizes)


def _by_sizes(
    thing: Callable, heads: int, keys: int, rows: int, dim: int
) -> Iterator[tuple[tuple[int, ...], dict, str]]:
    """Calls with one size or two, in both orders: the arguments, what they mean, in words."""
    names, required = parameters_of(thing)
    one = [{"heads": heads}, {"heads": 8}, {"rows": rows}]
    two = [{"heads": heads, "keys": keys}, {"rows": rows, "dim": dim}]
    for count, all_sizes in ((1, one), (2, two)):
        if not len(required) <= count <= len(names):
            continue
        for sizes in all_sizes:
            for order in (list(sizes), list(sizes)[::-1])[:count]:
                given = tuple(sizes[name] for name in order)
                yield given, sizes, ", ".join(f"{name}={sizes[name]}" for name in order)


def _read(
    result: object,
    *,
    heads: int | None = None,
    keys: int | None = None,
    rows: int | None = None,
    dim: int | None = None,
) -> tuple[str, Tensor | tuple[Tensor, Tensor]] | None:
    """Kind and thing, if the result's shape is that of something with these sizes."""
    if rows is not None and isinstance(result, tuple | list) and len(result) == 2:
        both = [_numbers(one) for one in result]
        if all(t is not None and _is_table(t.squeeze(), rows, dim, (1, 2)) for t in both):
            return "rotation", tuple(t.squeeze() for t in both)
        return None
    found = _numbers(result)
    if found is None:
        return None
    bare = found.squeeze()
    if found.is_complex():
        table = rows is not None and _is_table(bare, rows, dim, (2,))
        return ("rotation", (bare.real, bare.imag)) if table else None
    if rows is not None:
        if rows == FEW and dim is not None and bare.shape == (rows * rows, dim):
            bare = bare.reshape(rows, rows, dim)  # a grid of so many rows and columns
        grid = bare.ndim == 3 and bare.shape == (rows, rows, dim)
        return (
            ("table", bare) if grid or (_is_table(bare, rows, dim, (1,)) and bare.any()) else None
        )
    if keys is None:
        return ("bias", bare) if bare.shape == (heads,) else None
    fits = found.ndim in (3, 4) and found.shape[-1] == keys and found.shape[-2] in (1, keys)
    return ("bias", found) if fits and heads in (None, found.shape[-3]) else None


def _is_table(table: Tensor, rows: int, dim: int | None, parts: tuple[int, ...]) -> bool:
    """Whether it is [rows, columns], with dim columns or a part of these."""
    if table.ndim != 2 or len(table) != rows:
        return False
    return dim is None or table.shape[1] in [dim // part for part in parts]


def _numbers(result: object) -> Tensor | None:
    """A tensor of floating-point or complex numbers, if the result is one, or an array or list."""
    if not isinstance(result, Tensor):
        try:
            result = torch.as_tensor(result)
        except Exception:  # it holds something else
            return None
    return result if result.is_floating_point() or result.is_complex() else None


def adds(thing: object, *, rows: int = ROWS, dim: int | None = None) -> Made | None:
    """The table that a function or module adds to vectors [b, n, dim], or [n, b, dim], if it does.

    A module is called in a copy that is set to evaluation, without dropout. Rotations make zeros
    of zeros, and add nothing.
    """
    if not callable(thing) or isinstance(thing, type) or len(parameters_of(thing)[1]) != 1:
        return None
    if isinstance(thing, nn.Module):
        try:
            thing = copy.deepcopy(thing).eval()
        except Exception:  # whatever it holds
            return None
    for width in [dim] if dim else _widths(thing):
        for layout, texts_first in (("[b, n, d]", True), ("[n, b, d]", False)):
            if _table_added(thing, 5, width, texts_first) is None:
                continue
            tried = (_table_added(thing, n, width, texts_first) for n in (rows, 64, 16, 5))
            table, times = next(found for found in tried if found is not None)
            return Made("table", table, f"f(x), x as {layout}, to which it is added", times)
    return None


def _widths(thing: Callable) -> tuple[int, ...]:
    """Channels that its tables have, and then usual ones."""
    if not isinstance(thing, nn.Module):
        return (*WIDTHS, 512, 768)
    own = [t.shape[-1] for t in (*thing.buffers(), *thing.parameters()) if t.ndim > 1]
    return tuple(dict.fromkeys((*own, *WIDTHS, 512, 768)))


def _table_added(
    thing: Callable, rows: int, width: int, texts_first: bool
) -> tuple[Tensor, float] | None:
    """What is added to each row of two texts, and by what the rows are multiplied before."""
    noise = torch.Generator().manual_seed(0)
    shape = (2, rows, width) if texts_first else (rows, 2, width)
    x = torch.randn(shape, generator=noise)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            zero, again, some = thing(torch.zeros(shape)), thing(torch.zeros(shape)), thing(x)
        except Exception:  # it wants something else
            return None
    if not all(isinstance(t, Tensor) and t.shape == shape for t in (zero, again, some)):
        return None
    one, two = zero.unbind(0 if texts_first else 1)
    moved = some - zero
    times = ((moved * x).sum() / x.square().sum()).item()
    alike = torch.equal(zero, again) and torch.equal(one, two) and not torch.equal(one[0], one[1])
    kept = (moved - times * x).abs().max() <= 1e-4 * max(1.0, zero.abs().max().item(), abs(times))
    return (one, round(times, 4)) if alike and kept and times else None
