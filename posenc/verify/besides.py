"""What a rotation does beside turning rows one by one: keys, rows of positions, chunks, padding."""

import math
from dataclasses import replace

import torch
from torch import Tensor

from posenc.axial import mrope_axes
from posenc.verify.measure import FAR, measure, wrap
from posenc.verify.models import ranges
from posenc.verify.rope import Rope
from posenc.verify.turn import Turn

FIRST_ROW = (
    "one row of positions is used for the whole batch: wrong if rows are padded or packed "
    "each in its own way"
)
CHUNKS = (
    "several rows after a cache are turned otherwise than one by one: either a second prompt, or a "
    "long one that comes in pieces, is wrong, or each new token is"
)
XPOS = [
    "why keys are turned otherwise than queries: scores still depend on the offset alone, as with "
    "xPos"
]
OTHER_PLACES = (
    "keys are turned by other positions than queries: scores depend on the offset alone, but not "
    "as they do with the offset's own"
)
APART = "rows after padding, or after another text, do not turn as rows that follow each other"


def first_after_others(turn: Turn) -> int | None:
    """As which position the first row turns that comes after three hidden rows, or another text.

    0 or 3; None if the rows after these do not turn as rows that follow each other.
    """
    x = torch.randn(1, 7, turn.head_dim, generator=torch.Generator().manual_seed(4))
    try:
        seen = turn.apart(x, 3)
    except Exception:  # whatever somebody else's code does with it
        return None
    for first in (0, 3):
        if torch.allclose(seen, turn(x[:, 3:], torch.arange(first, first + 4)), atol=1e-4):
            return first
    return None


def axes_of(turn: Turn, rope: Rope | None) -> tuple[list[int] | None, str]:
    """Which row of positions [3, n] each pair follows, None if one follows none; and in words."""
    if rope is None or turn.axes is None:
        return None, axes_told(None)
    rows = torch.tensor([[0], [1009], [30_011]])
    x = torch.randn(1, 1, turn.head_dim, generator=torch.Generator().manual_seed(5))
    try:
        seen = turn.axes(x, rows).double()
    except Exception:  # whatever somebody else's code does with three rows
        return None, axes_told(None)
    half = len(rope.inv_freq)
    step, partner = (2, 1) if rope.pairing == "interleaved" else (1, half)
    firsts = rope.first + step * torch.arange(half)
    apart = torch.stack([(rope.but(axis=None)(x, row) - seen).abs()[0, 0] for row in rows])
    if (apart.amin(dim=0)[rope.first : rope.first + 2 * half] > 0.02 * x.abs().max()).any():
        return None, axes_told(None)
    one, two = (apart[:, c].argmin(dim=0).tolist() for c in (firsts, firsts + partner))
    return (one, axes_told(one)) if one == two else (None, _torn(one, two, partner))


TORN = "the two channels of a pair follow different rows of positions"


def _torn(one: list[int], two: list[int], partner: int) -> str:
    """What pairs do whose channels follow different rows, and which mistake it may be."""
    pairs = [i for i, (a, b) in enumerate(zip(one, two, strict=True)) if a != b]
    rows = [*one, *two]
    told = [
        f"channels {ranges([c for c, row in enumerate(rows) if row == here])} follow row {here}"
        for here in sorted(set(rows))
    ]
    which = f". {'; '.join(told)}" if partner > 1 else ""
    if partner > 1 and rows == sorted(rows):
        which += (
            "; the sections are doubled where they should be repeated: sections * 2 repeats a "
            "list, but doubles the numbers of an array or a tensor"
        )
    return (
        f"{TORN} (pairs {ranges(pairs)}), so that with rows that differ, as for an image, it is no "
        f"rotation: lengths change{which}"
    )


def axes_told(axis: list[int] | None) -> str:
    """The rows that pairs follow, in words."""
    if axis is None:
        return "three rows of positions; a pair follows none of them"
    counts = [axis.count(row) for row in range(3)]
    for interleaved, form in ((False, "chunked"), (True, "interleaved")):
        try:
            if mrope_axes(counts, interleaved=interleaved).tolist() == axis:
                return f"three rows of positions, sections {counts}, {form} (M-RoPE)"
        except ValueError:  # no such sections
            continue
    if len(set(axis)) == 1:
        return (
            f"three rows of positions are taken, and row {axis[0]} alone is looked at: no matter "
            "for a text, in which they are equal"
        )
    told = [
        f"pairs {ranges([i for i, a in enumerate(axis) if a == row])} follow row {row}"
        for row in sorted(set(axis))
    ]
    return f"three rows of positions; {', '.join(told)}"


PIECES = (
    ("a text that does not begin at 0", torch.arange(3, 7)),
    ("rows out of order", torch.tensor([6, 0, 5, 3])),
)
RENUMBERED = (
    "each row turns by its own position only in a call that begins at 0 and rises: positions are "
    "counted from the first of the call or its least one, or are sorted; wrong for a second piece "
    "of a prompt, and for what is padded or packed"
)


def chunks_differ(turn: Turn) -> bool:
    """Whether four rows after three others turn otherwise than one by one; not if it refuses."""
    x, rows = torch.ones(1, 4, turn.head_dim), torch.arange(3, 7)
    try:
        together = turn.chunk(x, rows)
    except Exception:  # whatever somebody else's code does with several rows after a cache
        return False
    return not torch.allclose(together, turn(x, rows), atol=1e-4)


def renumbers(turn: Turn) -> bool:
    """Whether pieces of a text turn otherwise than in a call of the whole, which rises from 0."""
    if not turn.explicit or turn.counted is not None:
        return False
    x = torch.randn(1, 1, turn.head_dim, generator=torch.Generator().manual_seed(8))
    whole = turn(x.repeat(1, 7, 1), torch.arange(7))
    return any(
        not torch.allclose(turn(x.repeat(1, 4, 1), rows), whole[:, rows], atol=1e-3)
        for _, rows in PIECES
    )


def heeds_axes(turn: Turn) -> bool:
    """Whether rows of positions after the first change anything."""
    x = torch.randn(1, 4, turn.head_dim, generator=torch.Generator().manual_seed(5))
    rows = torch.tensor([[3, 3, 3, 3], [0, 5, 1, 9], [4, 2, 8, 0]])
    return not torch.allclose(turn.axes(x, rows), turn.axes(x, rows[:1].expand(3, -1)), atol=1e-3)


def keys_slips(turn: Turn) -> list[str]:
    """Whether keys come out as queries do."""
    if turn.mixed.startswith("values"):
        return [turn.mixed, *keys_slips(replace(turn, mixed=""))]
    if turn.mixed:
        return [turn.mixed]
    if turn.keys.head_dim != turn.head_dim:
        return _other_keys(turn)
    one = torch.randn(2, 1, turn.head_dim, generator=torch.Generator().manual_seed(3))
    positions = torch.arange(8)
    x = one.repeat(1, len(positions), 1)
    queries, keys = turn(x, positions), turn.keys(x, positions)
    if torch.allclose(queries, keys, atol=1e-4):
        return _far_keys(turn, one) if turn.explicit else []
    if torch.equal(keys, x):
        return ["keys are not rotated at all, only queries"]
    times = (keys.norm() / queries.norm()).item()
    if torch.allclose(keys, times * queries, atol=1e-4):
        return [_longer(times, turn.head_dim)]
    for late, words in ((1, "before"), (-1, "after")):
        there, here = (
            (slice(late, None), slice(None, -late))
            if late > 0
            else (
                slice(None, late),
                slice(-late, None),
            )
        )
        if torch.allclose(keys[:, there], queries[:, here], atol=1e-4):
            return [f"a key is turned as one position {words} its own, a query is not: off by one"]
    scores = (queries[0] @ keys[1].T).double()
    diagonals = [scores.diagonal(i) for i in range(-6, 7)]
    uneven = max((d - d.mean()).abs().max().item() for d in diagonals)
    if uneven <= 1e-3 * scores.abs().max().item():
        kept = torch.allclose(queries.norm(dim=-1), keys.norm(dim=-1), rtol=1e-3)
        return [OTHER_PLACES] if kept else XPOS
    return ["keys are rotated otherwise than queries: scores do not depend on the offset alone"]


def _longer(times: float, head_dim: int) -> str:
    """Keys are so many times as long as queries, and otherwise as they are."""
    if math.isclose(times, math.sqrt(head_dim), rel_tol=1e-3):
        return (
            f"queries, not keys, are divided by sqrt({head_dim}): right only if attention does not "
            "scale scores once more"
        )
    return (
        f"keys come out {times:.5g} times as long as queries: scores are multiplied, as by a gain "
        "on one side alone"
    )


def _far_keys(turn: Turn, x: Tensor) -> list[str]:
    """Whether keys turn as queries at far positions, too; x is one row of vectors."""
    same = 7
    for p in FAR:
        try:
            far = torch.full((4,), p)  # what is done for a single row is looked at elsewhere
            queries, keys = (each(x.repeat(1, 4, 1), far) for each in (turn, turn.keys))
        except Exception:  # it goes no further
            return []
        if (queries - keys).abs().max() > 0.05 * x.abs().max():
            return [
                f"keys turn as queries do up to position {same}, but not at {p}: positions of keys "
                "are changed on the way, as by a window or a ring buffer"
            ]
        same = p
    return []


def _other_keys(turn: Turn) -> list[str]:
    """Whether keys of another width turn as the turning channels of queries do."""
    queries, keys = (measure(t) for t in (turn, turn.keys))
    if isinstance(keys, str):
        return [f"keys: {keys}"]
    same = queries.angles.shape == keys.angles.shape and bool(
        (wrap(queries.angles - keys.angles).abs() < 1e-3 * (1 + queries.near)).all()
    )
    return [] if same else ["keys are rotated otherwise than queries"]
