"""Hold one rotation against another: where they differ, and which known mistake it looks like."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from posenc.verify.agreement import Agreement
from posenc.verify.besides import APART, FIRST_ROW, axes_of, axes_told, first_after_others
from posenc.verify.identify import identify
from posenc.verify.known import Mistake, recognise
from posenc.verify.measure import FAR, NEAR, starts_nowhere
from posenc.verify.mistakes import named_mistake, rotation_mistakes
from posenc.verify.moved import LISTED, moved_positions
from posenc.verify.rope import Rope
from posenc.verify.turn import Turn, said

ANGLE = 2.0**-22
"""Error of a float32 angle, per radian: half a unit in the last place (2^-24 of the value) each for
the frequency and for the product, and one more unit for the power that made the frequency. The
fastest pair turns one radian per position, so this is also the error per position. Seen in
transformers: 3e-8 to 6e-8 per position; one position off is 1."""

RESULT = {
    torch.float64: 2.0**-22,
    torch.float32: 2.0**-22,
    torch.float16: 2.0**-9,
    torch.bfloat16: 2.0**-6,
}
"""Error of a result at position 0, relative to the largest entry: a few roundings of its dtype."""

FAR_ENOUGH = 100_004
"""The length of a text that holds every position that is tried."""


@dataclass(frozen=True)
class Round:
    """One call of both: yours, theirs, and what rounding explains, in the vectors' units."""

    positions: Tensor
    mine: Tensor
    theirs: Tensor
    allowed: Tensor

    @property
    def apart(self) -> Tensor:
        """The largest difference at each position."""
        return (self.mine - self.theirs).abs().amax(dim=(0, 2))

    @property
    def wrong(self) -> Tensor:
        """The positions where they differ by more than rounding explains."""
        return self.positions[self.apart > self.allowed]


def compare_rotations(
    mine: Turn,
    theirs: Turn,
    *,
    rope: Rope | None,
    at: Callable[[int], Rope] | None,
    dtype: torch.dtype,
    tolerance: float,
) -> Agreement:
    """Call both in the same way, in a short text and in a long one.

    Args:
        mine: the rotation in question.
        theirs: the one to hold it against.
        rope: what theirs is, if that is known.
        at: what theirs is in a text of so many positions, if that changes it.
        dtype: of the vectors handed over.
        tolerance: multiplies what rounding explains.
    """
    if mine.state and mine.broken:  # no call can be held against another
        return Agreement(False, mistake=mine.state.partition(":")[0], hint=mine.state)
    x = torch.randn(3, 1, theirs.head_dim, generator=torch.Generator().manual_seed(1)).to(dtype)
    size = x.abs().max().item()

    def between(positions: Tensor, one: Tensor, two: Tensor) -> Round:
        allowed = size * tolerance * (RESULT[dtype] + ANGLE * positions)
        return Round(positions, one.double(), two.double(), allowed)

    near = torch.tensor(NEAR)
    before, their_short = _shortly(mine, x), _shortly(theirs, x)
    positions, results, notes = _both(mine, theirs, x)
    kept = before is not None and not torch.equal(before, _shortly(mine, x))
    shown, limit, not_compared = between(positions, *results), "", []
    queries = keys = shown
    if before is not None and their_short is not None:
        short = between(near, before, their_short)
        by_length = [
            _by_length(alone, positions, together)
            for alone, together in zip((before, their_short), results, strict=True)
        ]
        fixed = rope is not None and at is None and by_length[0]  # it cannot follow the length
        if fixed and len(shown.wrong) and not len(short.wrong):
            shown, limit = short, f" up to position {NEAR[-1]}"
            not_compared.append(
                f"positions beyond {NEAR[-1]}: yours turns long texts otherwise, the reference "
                "has one set of frequencies"
            )
        elif fixed and len(short.wrong) and not len(shown.wrong):
            limit = f" in a text of {FAR_ENOUGH} positions"
            not_compared.append(
                "shorter texts: yours turns them otherwise, the reference has one set of "
                "frequencies"
            )
        elif len(short.wrong) and not len(shown.wrong):
            shown = short
            notes.append("a long text is turned as it should be, a short one is not")
    else:
        by_length = [False, False]
    if mine.keys is not None and mine.explicit and not kept and not limit:
        keys = _keys_round(mine, theirs, rope, x, positions, between)
        if keys is not None and len(keys.wrong) and not len(shown.wrong):
            shown = keys
            notes.append("queries agree, keys do not: all of this is said of the keys")
        elif keys is not None and len(shown.wrong) and not len(keys.wrong):
            notes.append("keys agree, queries do not: all of this is said of the queries")
    elif mine.keys is None and "q, k" in mine.convention:
        not_compared.append("keys: yours gives one result")
    agrees, scores, told = not len(shown.wrong), None, ("", "")
    if not agrees:
        scores = keys is not None and _scores_agree(queries, keys, size)
        told, more = _why(mine, theirs, x, shown, rope, at, by_length, scores, dtype)
        notes += more
    elif mine.mixed:
        agrees, told = False, (mine.mixed.partition(":")[0], mine.mixed)
    elif mine.apart is not None and first_after_others(mine) is None:
        agrees, told = False, (APART.partition(",")[0], APART)
    elif mine.first_row and not theirs.first_row:
        agrees, told = False, ("one row of positions for the whole batch", FIRST_ROW)
    elif (apart := _chunk_differs(mine, theirs, x, between)) is not None:
        agrees, told = False, apart
    elif mine.axes is not None and theirs.axes is not None:
        if _axes_differ(mine, theirs, x, tolerance * RESULT[dtype] * 64):
            told = "rows of positions read otherwise", _axes_apart(mine, theirs, rope)
            agrees = False
    elif mine.axes is not None:
        limit += " for a text"
        not_compared.append(
            "three rows of positions that differ, as for an image: the reference takes one row"
        )
    elif theirs.axes is not None:
        limit += " for a text"
        not_compared.append("three rows of positions that differ, as for an image: yours takes one")
    if agrees and kept:
        agrees, told = False, ("frequencies of a longer text kept", KEPT)
    if mine.state:
        notes += [] if agrees or told[1] == mine.state else [mine.state]
        told = (mine.state.partition(":")[0], mine.state) if agrees else told
        agrees = False
    rising = shown.positions.argsort()
    wrong = shown.wrong
    return Agreement(
        agrees,
        tuple(shown.positions[rising].tolist()),
        tuple((shown.apart / size)[rising].tolist()),
        tuple((shown.allowed / size)[rising].tolist()),
        int(wrong.min()) if len(wrong) else None,
        scores or None if agrees else scores,
        *told,
        tuple(notes),
        limit,
        (*not_compared, *_never(mine, dtype)) if agrees else (),
    )


def _never(mine: Turn, dtype: torch.dtype) -> list[str]:
    """What no comparison of rotations looks at."""
    name = str(dtype).removeprefix("torch.")
    other = [f"other values of {', '.join(mine.left)}"] if mine.left else []
    return [*other, f"values, masks and the scale of scores; other dtypes than {name}"]


def _both(mine: Turn, theirs: Turn, x: Tensor) -> tuple[Tensor, list[Tensor], list[str]]:
    """Call both at the same positions, out of order, as far as both go."""
    positions = [*NEAR, *FAR]
    refused: dict[str, tuple[int, str]] = {}
    while True:
        tried = torch.tensor(positions)
        if mine.explicit:
            tried = tried[torch.randperm(len(tried), generator=torch.Generator().manual_seed(2))]
        wide = x.expand(-1, len(tried), -1).contiguous()
        results = []
        for who, turn in (("yours", mine), ("the reference", theirs)):
            try:
                results.append(turn(wide, tried))
            except Exception as error:  # whatever somebody else's code does when it ends
                if positions[-1] <= NEAR[-1]:
                    raise
                refused[who] = positions[-1], said(error)
        if len(results) == 2:
            notes = [f"{who} refuses position {p}: {words}" for who, (p, words) in refused.items()]
            if not mine.explicit:
                takes = "is given" if mine.left else "takes"
                notes.insert(
                    0,
                    f"yours {takes} no positions: rows count as 0, 1, 2, ... along n, called as "
                    f"{mine.convention}",
                )
            return tried, results, notes
        positions.pop()


def _shortly(turn: Turn, x: Tensor) -> Tensor | None:
    """The near positions in a call of their own; None if it refuses them or counts rows itself."""
    if not turn.explicit or turn.counted is not None:
        return None
    try:
        return turn(x.expand(-1, len(NEAR), -1).contiguous(), torch.tensor(NEAR))
    except Exception:  # it is said elsewhere
        return None


def _by_length(shortly: Tensor, positions: Tensor, longer: Tensor) -> bool:
    """Whether near positions turn otherwise when a far one is in the call."""
    same = torch.stack([longer[:, (positions == p).nonzero()[0, 0]] for p in NEAR], dim=1)
    return not torch.allclose(same.float(), shortly.float(), atol=1e-4)


def _keys_round(
    mine: Turn, theirs: Turn, rope: Rope | None, x: Tensor, positions: Tensor, between: Callable
) -> Round | None:
    """The same call, of keys; None if keys are of another width and the reference is a function."""
    other = theirs.keys or theirs
    if mine.keys.head_dim != other.head_dim:
        if rope is None or mine.keys.head_dim < rope.rotary_dim:
            return None
        narrow = rope.but(head_dim=mine.keys.head_dim, first=0)
        other = Turn(lambda x, p: narrow(x, p), narrow.head_dim, "", True)
    wide = x[..., : other.head_dim].expand(-1, len(positions), -1).contiguous()
    return between(positions, mine.keys(wide, positions), other(wide, positions))


KEPT = (
    "after a long text a short one is turned otherwise than before: frequencies are changed for "
    "long texts and never put back"
)


def _axes_apart(mine: Turn, theirs: Turn, rope: Rope | None) -> str:
    rope = rope or identify(theirs).rope
    return (
        "with three rows of positions that differ, as for an image, pairs turn by other rows than "
        f"the reference's. Yours: {axes_told(axes_of(mine, rope))}. The reference: "
        f"{axes_told(axes_of(theirs, rope))}"
    )


def _axes_differ(mine: Turn, theirs: Turn, x: Tensor, allowed: float) -> bool:
    """Whether rows of positions that differ are read otherwise."""
    rows = torch.tensor([[3, 3, 3, 3], [0, 5, 1, 9], [4, 2, 8, 0]])
    wide = x[:1].expand(-1, 4, -1).contiguous()
    one, two = (turn.axes(wide, rows).double() for turn in (mine, theirs))
    return bool((one - two).abs().max() > allowed * x.abs().max())


def _chunk_differs(
    mine: Turn, theirs: Turn, x: Tensor, between: Callable
) -> tuple[str, str] | None:
    """Whether several rows after a cache are turned otherwise than one by one."""
    if mine.chunk is None:
        return None
    rows = torch.arange(3, 7)
    wide = x.expand(-1, len(rows), -1).contiguous()
    found = between(rows, mine.chunk(wide, rows), theirs(wide, rows))
    if not len(found.wrong):
        return None
    return (
        "several new tokens at once",
        "one row after a cache is turned as it should be, four rows in one call are not: the first "
        f"of them at position {int(found.wrong.min())} differs already",
    )


def _why(
    mine: Turn,
    theirs: Turn,
    x: Tensor,
    shown: Round,
    rope: Rope | None,
    at: Callable[[int], Rope] | None,
    by_length: list[bool],
    scores: bool,
    dtype: torch.dtype,
) -> tuple[tuple[str, str], list[str]]:
    """The mistake it looks like, its hint, and notes."""
    if mine.broken:
        return (mine.broken.partition(":")[0], mine.broken), []
    length = int(shown.positions.max()) + 1
    if rope is None and by_length[0] != by_length[1]:
        who, other = ("yours", "the reference")[:: 1 if by_length[0] else -1]
        return (
            "the length heeded by one alone",
            f"{who} turns a text otherwise when it is long, {other} does not",
        ), []
    if rope is not None and at is not None:
        rope = at(length)
    elif any(by_length):  # look at both as they are in a text of that length
        mine, theirs = (_in_a_text_of(length, turn) for turn in (mine, theirs))
    rope = rope or identify(theirs, dtype=dtype).rope
    width = shown.mine.shape[-1]
    if rope is not None and width < rope.head_dim:  # keys of another width than queries
        rope = rope.but(head_dim=width, first=0)
    x = x[..., :width].expand(-1, len(shown.positions), -1)
    known = _known(rope, x, shown, at)
    moved = _moved(rope, x, shown) if known is None and mine.explicit else None
    known = known or (moved if moved and moved.name != LISTED else None)
    if known and known.name == "nothing rotated" and starts_nowhere(mine):
        known = named_mistake(rope, "every token at position 0")
    if known:
        return (known.name, known.hint), []
    if mine.mixed:
        return (mine.mixed.partition(":")[0], mine.mixed), []
    if scores:
        return ("", ""), []
    told, notes = _told_apart(mine, theirs, dtype)
    if moved and (not told[0] or "changed on the way" in told[1]):
        return (moved.name, moved.hint), notes
    return told, notes


def _in_a_text_of(length: int, turn: Turn) -> Turn:
    """The same, always with the last position of such a text in the call."""

    def call(x: Tensor, positions: Tensor) -> Tensor:
        last = torch.tensor([length - 1])
        return turn(torch.cat((x, x[:, :1]), dim=1), torch.cat((positions, last)))[:, :-1]

    return Turn(call, turn.head_dim, turn.convention, True)


def _known(rope: Rope | None, x: Tensor, shown: Round, at: Callable | None) -> Mistake | None:
    def close(one: Tensor, two: Tensor) -> bool:
        return bool(((one - two.double()).abs() <= shown.allowed[:, None]).all())

    if rope is None:
        return None
    mistakes = rotation_mistakes(rope)
    if at is not None:
        mistakes = [*_length_mistakes(at), *mistakes]
    mistakes = [
        known
        for known in mistakes
        if not recognise([known], [(x, shown.positions)], [shown.theirs], close)  # none for this
    ]
    return recognise(mistakes, [(x, shown.positions)], [shown.mine], close)


def _moved(rope: Rope | None, x: Tensor, shown: Round) -> Mistake | None:
    if rope is None:
        return None
    return moved_positions(rope, x, shown.positions, shown.mine, shown.allowed)


def _length_mistakes(at: Callable[[int], Rope]) -> list[Mistake]:
    return [
        Mistake(
            "frequencies of short texts always",
            "a long text is turned by the frequencies for short ones: its length is not looked at",
            at(1),
        ),
        Mistake(
            "frequencies of long texts always",
            "a short text is turned by the frequencies for long ones: its length is not looked at",
            at(FAR_ENOUGH),
        ),
    ]


def _told_apart(mine: Turn, theirs: Turn, dtype: torch.dtype) -> tuple[tuple[str, str], list[str]]:
    """What `identify` finds wrong with one alone, or sees otherwise: a name and a hint; notes."""
    found, wanted = (identify(turn, dtype=dtype) for turn in (mine, theirs))
    fresh = [
        text.removeprefix("no rotation: ") for text in found.warnings if text not in wanted.warnings
    ]
    if fresh:
        return (fresh[0].partition(":")[0], fresh[0]), []
    one, two = found.data, wanted.data
    if one.get("scaling") == two.get("scaling") not in ("unknown", None):
        other = [
            f"{key} {one['settings'].get(key)}, not {value}"
            for key, value in two["settings"].items()
            if one["settings"].get(key) != value
        ]
        if other:
            hint = f"same rule, but {', '.join(other)}"
            return (f"{two['scaling']} with other settings", hint), []
    return ("", ""), _pairs_apart(one.get("inv_freq", []), two.get("inv_freq", []))


def _pairs_apart(mine: list[float], theirs: list[float]) -> list[str]:
    """Which frequencies differ, and by what ratios."""
    if len(mine) != len(theirs) or not all(theirs):
        return []
    ratios = [a / b for a, b in zip(mine, theirs, strict=True)]
    other = [i for i, ratio in enumerate(ratios) if abs(ratio - 1) > 1e-4]
    if not other:
        return []
    found = [ratios[i] for i in other]
    which = f"{other[0]} to {other[-1]}" if len(other) > 1 else f"{other[0]}"
    return [
        f"frequencies of {len(other)} of {len(mine)} pairs differ, in {which}: "
        f"{min(found):.4g} to {max(found):.4g} times the reference's"
    ]


def _scores_agree(queries: Round, keys: Round, size: float) -> bool:
    """Whether near queries and keys give the same scores although they are different vectors."""
    near = queries.positions <= NEAR[-1]
    if not torch.equal(queries.positions, keys.positions) or not near.any():
        return False
    if max((r.mine - r.theirs)[:, near].abs().max() for r in (queries, keys)) < 1e-2 * size:
        return False
    if queries.mine.shape != keys.mine.shape:
        return False
    mine = queries.mine[0, near] @ keys.mine[1, near].T
    theirs = queries.theirs[0, near] @ keys.theirs[1, near].T
    return bool((mine - theirs).abs().max() <= 1e-3 * theirs.abs().max())
