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
    "several rows after a cache are turned otherwise than one by one: wrong for a second prompt, "
    "or for a long one that comes in pieces"
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


def axes_of(turn: Turn, rope: Rope | None) -> list[int] | None:
    """Which row of positions [3, n] each pair follows; None if a pair follows none of them."""
    if rope is None or turn.axes is None:
        return None
    rows = torch.tensor([[0], [1009], [30_011]])
    x = torch.randn(1, 1, turn.head_dim, generator=torch.Generator().manual_seed(5))
    try:
        seen = turn.axes(x, rows).double()
    except Exception:  # whatever somebody else's code does with three rows
        return None
    half = len(rope.inv_freq)
    firsts = rope.first + torch.arange(half) * (2 if rope.pairing == "interleaved" else 1)
    apart = torch.stack([(rope.but(axis=None)(x, row) - seen).abs()[0, 0, firsts] for row in rows])
    if (apart.amin(dim=0) > 0.02 * x.abs().max()).any():
        return None
    return apart.argmin(dim=0).tolist()


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
        return f"three rows of positions; all pairs follow row {axis[0]}"
    told = [
        f"pairs {ranges([i for i, a in enumerate(axis) if a == row])} follow row {row}"
        for row in sorted(set(axis))
    ]
    return f"three rows of positions; {', '.join(told)}"


def chunks_differ(turn: Turn) -> bool:
    """Whether four rows after three others turn otherwise than one by one."""
    x, rows = torch.ones(1, 4, turn.head_dim), torch.arange(3, 7)
    return not torch.allclose(turn.chunk(x, rows), turn(x, rows), atol=1e-4)


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
            queries, keys = (each(x, torch.tensor([p])) for each in (turn, turn.keys))
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
