"""By which other positions was it turned? For rotations that are right but for their positions."""

import math

import torch
from torch import Tensor

from posenc.verify.known import Mistake
from posenc.verify.measure import NEAR
from posenc.verify.rope import Rope

LISTED = "positions are changed on the way"
BITS = (8, 16)
AROUND, WIDE = 8, 1024
"""How many positions to either side of a near and of a far one are tried, besides 0 to 299."""


def moved_positions(
    rope: Rope, x: Tensor, positions: Tensor, seen: Tensor, allowed: Tensor, begins: int
) -> Mistake | None:
    """A mistake that says which position each one was turned as; None if one of the near ones was
    turned as none.

    Args:
        rope: what the positions are of.
        x: the vectors, [m, n, d], the same in each row.
        positions: that were given, [n].
        seen: what came out, [m, n, d].
        allowed: what rounding explains at each position, [n].
        begins: the first that is wrong.
    """
    places = {
        p: _place(rope, x[:, :1], p, seen[:, row], float(allowed[row]), begins)
        for row, p in enumerate(positions.tolist())
    }
    if any(q is None for p, q in places.items() if p <= NEAR[-1]):
        return None
    found = {p: q for p, q in sorted(places.items()) if q is not None}
    if all(p == q for p, q in found.items()):
        return None
    name, rule = _rule(found)
    return Mistake(name, rule, lambda x, p: rope(x, torch.tensor([found[int(i)] for i in p])))


def _place(rope: Rope, x: Tensor, p: int, seen: Tensor, allowed: float, begins: int) -> int | None:
    """The position nearest to p that gives what was seen."""
    around = AROUND if p <= NEAR[-1] else WIDE
    tried = {*range(p - around, p + around + 1), *range(300), *(p // k for k in range(2, 9))}
    tried |= {_wrapped(p, bits) for bits in BITS}
    for near in (begins, p - begins, p % max(begins, 1)):
        tried |= set(range(near - AROUND, near + AROUND + 1))
    if rope.temperature is not None:  # defined from position 0 on
        tried = {q for q in tried if q >= 0}
    candidates = torch.tensor(sorted(tried, key=lambda q: (abs(q - p), q)))
    turned = rope(x.expand(-1, len(candidates), -1), candidates).double()
    fits = (turned - seen[:, None]).abs().amax(dim=(0, 2)) <= allowed
    return int(candidates[fits.nonzero()[0, 0]]) if fits.any() else None


def _wrapped(p: int, bits: int) -> int:
    """The position as a signed integer of so few bits holds it."""
    half = 2 ** (bits - 1)
    return (p + half) % (2 * half) - half


def _rule(places: dict[int, int]) -> tuple[str, str]:
    """The rule that takes each position to its place, in words; a list if there is none."""
    by = [q - p for p, q in places.items()]
    spots = list(places)
    start = next((i for i in range(len(by)) if len(set(by[i:])) == 1), len(by) - 1)
    before = set(by[:start])
    if start < len(by) - 1 and before == {0}:
        word = f"p + {by[-1]}" if by[-1] > 0 else f"p - {-by[-1]}"
        return (
            f"position p turns as {word} from {spots[start]} on",
            f"positions up to {spots[start - 1]} are right, later ones are turned as {word}: look "
            "at how the length of the cache is added",
        )
    moved = {p: q for p, q in places.items() if p != q}
    if len(set(by)) == 1:
        word = f"p + {by[0]}" if by[0] > 0 else f"p - {-by[0]}"
        return (
            f"position p turns as {word}",
            f"positions are counted from {by[0]}",
        )
    for bits in BITS:
        if len(moved) > 1 and all(q == _wrapped(p, bits) for p, q in places.items()):
            return (
                f"positions wrap around as int{bits}",
                f"positions are stored in {bits} bits, so that {2 ** (bits - 1)} is "
                f"{-(2 ** (bits - 1))}",
            )
    ends, ring = set(moved.values()), math.gcd(*(p - q for p, q in moved.items()))
    if len(ends) == 1 and max(ends) > 0 and min(moved) > max(ends):
        end = max(ends)
        return (
            f"positions end at {end}",
            f"all positions after {end} turn as {end}: a table that ends, or a count that stops, "
            "as of a cache that holds a window",
        )
    if len(moved) > 1 and ring > 1 and all(q == p % ring for p, q in places.items()):
        return (
            f"positions start again at {ring}",
            "positions are taken modulo that length, as in a ring buffer or a window that "
            "renumbers its tokens",
        )
    moved = [f"{p} as {q}" for p, q in moved.items()]
    more = ", ..." if len(moved) > 7 else ""
    return LISTED, f"some are turned as other ones: {', '.join(moved[:7])}{more}"
