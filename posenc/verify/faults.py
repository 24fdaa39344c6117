"""How a fault is named that only other sizes show: which rows are wrong, and turned by what."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from posenc.verify.models import ranges

INTERLEAVE = "repeat_interleave, not repeat"
MANY = 20
"""More rows than these are looked at here and there."""


def latest(positions: Tensor) -> int:
    """The row of the greatest position, of whichever text."""
    return int(positions.reshape(-1, positions.shape[-1]).amax(dim=0).argmax())


def fault_of(
    vectors: list[Tensor],
    seen: list[Tensor],
    positions: Tensor,
    right: list[Callable],
    allowed: Callable[[Tensor], Tensor],
) -> str:
    """What is wrong with rows that come out otherwise than in a small call, "" if none do.

    Args:
        vectors: queries and keys [b, h, n, d] that were handed over.
        seen: what came out of them; keys may be repeated for the queries' heads.
        positions: [n], of all texts, [b, n], or three rows [3, b, n].
        right: what queries [m, n, d] come out as at positions [n], and keys, if they are known.
        allowed: what rounding explains at positions [n], for vectors whose entries are within 1.
    """
    texts, _, n, _ = vectors[0].shape
    rows = _looked_at(n, positions)
    spots = positions if positions.ndim == 3 else positions.expand(texts, -1)
    told = {}
    names = ("queries", "keys") if len(seen) > 1 else ("vectors",)
    for who, x, out, by in zip(names, vectors, seen, right, strict=False):
        times = out.shape[1] // x.shape[1]  # as often as it repeats keys, for the queries' heads
        given, out = x[:, :, rows], out[:, :, rows].double()
        wide = given.repeat_interleave(times, 1)
        differs = partial(_differs, x=wide, out=out, by=by, allowed=allowed)
        here = spots[..., rows]
        wrong = differs(here)
        if times > 1 and wrong.any() and not differs(here, x=given.repeat(1, times, 1, 1)).any():
            told[who] = f"are repeated in another order than the queries' heads: {INTERLEAVE}"
        elif wrong.any():
            x = wide.double()
            told[who] = f"{_where(wrong, rows)}{_what(x, out, wrong, spots, rows, differs)}"
    if len(set(told.values())) == 1:
        told = {" and ".join(told): next(iter(told.values()))}
    return "; ".join(f"{who} {text}" for who, text in told.items())


def _differs(
    spots: Tensor, *, x: Tensor, out: Tensor, by: Callable, allowed: Callable[[Tensor], Tensor]
) -> Tensor:
    """Which rows [b, h, n] come out otherwise than at these positions, [b, n] or [3, b, n]."""
    bound = allowed(spots if spots.ndim == 2 else spots.amax(dim=0))[:, None, :, None]
    flat = by(x.transpose(0, 1).flatten(1, 2), spots.flatten(-2))
    alike = flat.unflatten(1, (len(x), -1)).transpose(0, 1)
    found = ~((alike.double() - out).abs() <= bound).all(dim=-1)
    if len(x) == 1 or not found.any():
        return found
    each = torch.stack([by(*text) for text in zip(x, spots.unbind(-2), strict=True)])
    return found & ~((each.double() - out).abs() <= bound).all(dim=-1)  # heeding its own length


def _looked_at(n: int, positions: Tensor) -> list[int]:
    """All rows, or of many the first, the last, and those around powers of two."""
    if n <= MANY:
        return list(range(n))
    edges = {2**i + j for i in range(13) for j in (-1, 0, 1)}
    last = latest(positions)
    return sorted(i for i in {*edges, 100, 1000, 3000, n - 2, n - 1, last} if i < n)


def _where(wrong: Tensor, rows: list[int]) -> str:
    """Which heads, texts and rows are wrong, in words; "" if all are."""
    found = []
    for name, axes in (("head", (0, 2)), ("text", (1, 2))):
        here = wrong.any(dim=axes[1]).any(dim=axes[0])
        members = here.nonzero().flatten().tolist()
        if len(members) < len(here):
            found.append(_in(name, members, len(here)))
    rows_wrong = wrong.any(dim=0).any(dim=0).nonzero().flatten().tolist()
    if rows[-1] >= MANY and rows_wrong[0] > 0:
        found.append(f"from row {rows[rows_wrong[0]]} on")
    return "".join(f"{text} " for text in found)


def _in(name: str, members: list[int], count: int) -> str:
    """These heads or texts, in words."""
    first = members[0]
    if members == list(range(first, count)) and len(members) > 1:
        return f"in {name}s {first} and on"
    return f"in {name}{'s' * (len(members) > 1)} {ranges(members)}"


def _what(
    x: Tensor, out: Tensor, wrong: Tensor, spots: Tensor, rows: list[int], differs: Callable
) -> str:
    """What the wrong rows do: whether they stay, or turn by other positions."""
    if torch.equal(out[wrong], x[wrong]):
        return "are not turned"
    seats = torch.tensor(rows)
    begins = rows[int(wrong.any(dim=0).any(dim=0).nonzero()[0, 0])]
    again = spots[..., seats % max(begins, 1)]
    here = spots[..., rows]
    for other, words in (
        (here[..., :1, :].expand_as(here), "are turned by the first text's positions"),
        (here + 1, "are turned as one position later"),
        ((here - 1).clamp(min=0), "are turned as one position earlier"),
        (again, "are turned by the positions of the first rows again"),
        (seats.expand_as(here), "are turned by their place in the call, not by their position"),
        (here[..., :1].expand_as(here), "are all turned by the position of the first row"),
        *([(here[:1].expand_as(here), "follow the first row of positions")] * (here.ndim == 3)),
    ):
        if not torch.equal(other, here) and not (differs(other) & wrong).any():
            return words
    return "are turned by other positions"
