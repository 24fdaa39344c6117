"""Hold one rotation against another: where they differ, and which known mistake it looks like."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product

import torch
from torch import Tensor

from posenc.verify.agreement import Agreement
from posenc.verify.besides import (
    APART,
    FIRST_ROW,
    PIECES,
    RENUMBERED,
    TORN,
    XPOS,
    axes_of,
    first_after_others,
    heeds_axes,
    keys_slips,
)
from posenc.verify.identify import Identity, identify
from posenc.verify.known import Mistake, recognise
from posenc.verify.measure import ANGLE, FAR, NEAR, RESULT, starts_nowhere
from posenc.verify.mistakes import named_mistake, rotation_mistakes
from posenc.verify.moved import LISTED, moved_positions
from posenc.verify.names import number
from posenc.verify.rope import Rope
from posenc.verify.sizes import Tried, by_few, other_sizes
from posenc.verify.temperature import keys_grow, temperature_mistakes
from posenc.verify.turn import NotARotation, Turn, said

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

    def with_rows_of(self, other: "Round", positions: tuple[int, ...]) -> "Round":
        """The same, and the other's rows of these positions, if they are not there."""
        known = set(self.positions.tolist())
        rows = [
            row
            for row, p in enumerate(other.positions.tolist())
            if p in positions and p not in known
        ]
        return Round(
            torch.cat((self.positions, other.positions[rows])),
            torch.cat((self.mine, other.mine[:, rows]), dim=1),
            torch.cat((self.theirs, other.theirs[:, rows]), dim=1),
            torch.cat((self.allowed, other.allowed[rows])),
        )

    @property
    def wrong(self) -> Tensor:
        """The positions where they differ by more than rounding explains."""
        return self.positions[~(self.apart <= self.allowed)]  # what is no number is wrong, too


def compare_rotations(
    mine: Turn,
    theirs: Turn,
    *,
    rope: Rope | None,
    at: Callable[[int], Rope] | None,
    dtype: torch.dtype,
    tolerance: float,
    softmax: float = 1.0,
    positions: tuple[int, ...] = (*NEAR, *FAR),
    lengths: tuple[int, ...] = (),
    sizes: bool = True,
) -> Agreement:
    """Call both in the same way, near positions alone and with far ones; keys as queries.

    Args:
        mine: the rotation in question.
        theirs: the one to hold it against.
        rope: what theirs is, if that is known.
        at: what theirs is in a text of so many positions, if that changes it.
        dtype: of the vectors handed over.
        tolerance: multiplies what rounding explains.
        softmax: by what scores are multiplied besides, if that is known.
        positions: where both are tried, in rising order, the near ones first.
        lengths: of other texts that are tried, those around which frequencies change.
        sizes: whether what agrees is called in other sizes, too.
    """
    if mine.state and mine.broken:  # no call can be held against another
        return Agreement(False, mistake=mine.state.partition(":")[0], hint=mine.state)
    for turn in (mine, theirs):
        turn.start_anew()
    several = 3 if mine.explicit else 2  # each comes with as many rows as the text is long
    noise = torch.Generator().manual_seed(1)
    x = torch.randn(several, 1, theirs.head_dim, generator=noise).to(dtype)
    size = x.abs().max().item()

    def between(positions: Tensor, one: Tensor, two: Tensor) -> Round:
        allowed = size * tolerance * (RESULT[dtype] + ANGLE * positions)
        return Round(positions, one.double(), two.double(), allowed)

    near = torch.tensor(NEAR)
    before, their_short = _shortly(mine, x), _shortly(theirs, x)
    positions, results, notes = _both(mine, theirs, x, positions)
    kept = before is not None and not torch.equal(before, _shortly(mine, x))
    shown, limit, not_compared = between(positions, *results), "", []
    tried = [positions]
    by_length, short_texts, found = [False, False], True, Tried(None)
    if before is not None and their_short is not None:
        short = between(near, before, their_short)
        tried.append(near)
        by_length = [
            _by_length(alone, positions, together)
            for alone, together in zip((before, their_short), results, strict=True)
        ]
        fixed = rope is not None and at is None and by_length[0]  # it cannot follow the length
        if fixed and len(shown.wrong) and not len(short.wrong):
            shown, limit, tried = short, f" up to position {NEAR[-1]}", [near]
            not_compared.append(
                f"positions beyond {NEAR[-1]}: yours turns long texts otherwise, the reference "
                "has one set of frequencies"
            )
        elif fixed and len(short.wrong) and not len(shown.wrong):
            limit, tried = f" in a text of {FAR_ENOUGH} positions", [positions]
            short_texts = False
            not_compared.append(
                "shorter texts: yours turns them otherwise, the reference has one set of "
                "frequencies"
            )
        elif len(short.wrong) and not len(shown.wrong):
            shown = short
            notes.append("a long text is turned as it should be, a short one is not")
    keys, undecided, refused = (
        (None, (), []) if kept else _keys(mine, theirs, rope, at, x, tried, between)
    )
    notes += refused
    both = (mine, mine.keys) if mine.keys is not None else (mine,)
    pieces: list[str] = []
    agrees, scores, told = not (len(shown.wrong) or (keys and len(keys.wrong))), None, ("", "")
    case = Case(mine, theirs, x, rope, at, by_length, dtype, softmax, between, tolerance)
    if not agrees:
        scores = _scores_agree(shown, keys or shown, size) and not undecided
        told, more, shown = _why_either(case, shown, keys, scores)
        notes += more
        if mine.chunk is not None and _piece_differs(both, theirs, x, between, pieces) is None:
            notes += [] if pieces else [SINGLE]
            scores = scores and bool(pieces)  # beside keys of several rows they do not
        if told[0] == XPOS_NAME:  # numbers that grow without end tell nothing
            shown = between(near, *(t(x.expand(-1, len(NEAR), -1), near) for t in (mine, theirs)))
    elif mine.mixed:
        agrees, told = False, (mine.mixed.partition(":")[0], mine.mixed)
    elif any(t.apart is not None and first_after_others(t) is None for t in both):
        agrees, told = False, (APART.partition(",")[0], APART)
    elif any(t.first_row for t in both) and not theirs.first_row:
        who = "" if all(t.first_row for t in both) else "queries: " if mine.first_row else "keys: "
        agrees, told = False, (f"{who}one row of positions for the whole batch", FIRST_ROW)
    elif (
        not kept
        and short_texts
        and (apart := _piece_differs(both, theirs, x, between, pieces)) is not None
    ):
        agrees, told = False, apart
    elif lengths and not kept and (apart := _length_differs(case, both, lengths)) is not None:
        agrees = False
        told, shown = apart
    elif (wrong := _other_axes(both, theirs, x, tolerance * RESULT[dtype] * 64)) is not None:
        agrees, told = False, _axes_apart(wrong, theirs, rope)
    elif sizes and short_texts and not kept and (found := _sized(case, tried, limit)).wrong:
        agrees, told = False, found.wrong
    elif mine.axes is not None and theirs.axes is not None:
        pass  # they are read alike
    elif any((torn := _torn(t, rope)) for t in both):
        agrees, told = False, (TORN, torn)
    elif mine.axes is not None and theirs.axes is None and heeds_axes(mine):
        limit += " for a text"
        not_compared.append(
            "three rows of positions that differ, as for an image: the reference takes one row"
        )
    elif theirs.axes is not None and mine.tables:
        limit += " for a text"
        not_compared.append("three rows of positions that differ, as for an image: yours has one")
    elif theirs.axes is not None and mine.axes is None:
        undecided = (*undecided, THREE_ROWS)
    undecided = (*undecided, *found.undecided)
    if agrees and kept:
        agrees, told = False, ("frequencies of a longer text kept", KEPT)
    if mine.state:
        notes += [] if agrees or told[1] == mine.state else [mine.state]
        told = told if told[0] else (mine.state.partition(":")[0], mine.state)
        agrees = False
    if mine.tables:
        limit = f" in tables of cos and sin{limit}"
        not_compared.append("how the tables are applied, and to what: give that function, apply=")
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
        (*not_compared, *pieces, *found.refused, *_never(mine, theirs)) if agrees else (),
        _compared(mine, keys, tried, dtype, found.taken),
        undecided if agrees else (),
    )


def _compared(
    mine: Turn,
    keys: Round | None,
    tried: list[Tensor],
    dtype: torch.dtype,
    sizes: tuple[str, ...],
) -> tuple[str, ...]:
    """What was held against the reference, in words."""
    what = (
        "tables" if mine.tables else "queries" if keys or "q, k" in mine.convention else "vectors"
    )
    longest = max(int(positions.max()) for positions in tried)
    texts = ", alone and with far ones" if len(tried) > 1 else ""
    known = (
        f"{what}{' and keys' if keys else ''} at {len(tried[0])} positions, 0 to {longest}{texts}, "
        f"in {dtype}".replace("torch.", "")
    )
    called = f"called as {mine.convention}"
    return (known, called, *([f"calls of {', '.join(sizes)}"] if sizes else []))


def _never(mine: Turn, theirs: Turn) -> list[str]:
    """What no comparison of rotations looks at."""
    other = [f"other values of {', '.join(mine.left)}"] if mine.left else []
    if mine.guess or theirs.guess:
        other.append(f"wider heads: {mine.head_dim} channels were tried, dim= tells the width")
    values = "" if mine.values else "values, "
    if not mine.explicit or mine.counted is not None:
        other.append("several texts in one row, whose positions start again")
    return [*other, f"{values}masks, gradients and the scale of scores; other dtypes"]


def _both(
    mine: Turn, theirs: Turn, x: Tensor, positions: tuple[int, ...]
) -> tuple[Tensor, list[Tensor], list[str]]:
    """Call both at the same positions, out of order, as far as both go."""
    positions = list(positions)
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


def _keys(
    mine: Turn,
    theirs: Turn,
    rope: Rope | None,
    at: Callable[[int], Rope] | None,
    x: Tensor,
    tried: list[Tensor],
    between: Callable,
) -> tuple[Round | None, tuple[str, ...], list[str]]:
    """The same calls, of keys: the first wrong one, or the first; what is undecided; and notes.

    None without keys, or if they are of a width that the reference, a function, does not take.
    """
    if mine.keys is None:
        one = "q, k" in mine.convention and not mine.tables
        return None, (ONE_RESULT,) if one else (), []
    other, width = _their_keys(mine, theirs, rope, at), mine.keys.head_dim
    if other is None:
        their = (theirs.keys or theirs).head_dim
        return None, (f"keys: yours have {width} channels, the reference's {their}",), []
    rounds, refused = [], []
    for positions in tried:
        wide = x[..., :width].expand(-1, len(positions), -1).contiguous()
        results, positions, words = _as_far_as(mine.keys, other, wide, positions)
        rounds.append(between(positions, *results))
        refused += [text for text in words if text not in refused]
    return next((each for each in rounds if len(each.wrong)), rounds[0]), (), refused


def _as_far_as(
    mine: Turn, theirs: Turn, x: Tensor, positions: Tensor
) -> tuple[list[Tensor], Tensor, list[str]]:
    """Keys of both, without the far positions that one refuses; and what was refused."""
    refused: list[str] = []
    while True:
        results, last = [], int(positions.max())
        for who, turn in (("yours", mine), ("the reference", theirs)):
            try:
                results.append(turn(x[:, : len(positions)], positions))
            except Exception as error:  # whatever somebody else's code does when it ends
                words = f"{who} refuses keys at position {last}: {said(error)}"
                if last <= NEAR[-1]:
                    raise NotARotation(words) from error
                refused = [text for text in refused if not text.startswith(who)] + [words]
                break
        if len(results) == 2:
            return results, positions, refused
        positions = positions[positions != last]


def _their_keys(
    mine: Turn, theirs: Turn, rope: Rope | None, at: Callable[[int], Rope] | None
) -> Turn | None:
    """The reference for keys of yours; None if it does not take so many channels."""
    other, width = theirs.keys or theirs, mine.keys.head_dim
    if width == other.head_dim:
        return other
    if rope is None or width < rope.rotary_dim:
        return None

    def narrow(x: Tensor, positions: Tensor) -> Tensor:
        now = at(int(positions.max()) + 1) if at else rope
        return now.but(head_dim=width, first=0)(x, positions)

    return Turn(narrow, width, "", True)


THREE_ROWS = (
    "three rows of positions that differ, as for an image, which the reference takes: yours was "
    "given [3, n] and [3, 1, n], and does not take them as it takes one row"
)
ONE_RESULT = "keys: yours takes queries and keys, and gives one result"
KEPT = (
    "after a long text a short one is turned otherwise than before: frequencies are changed for "
    "long texts and never put back"
)


def _torn(mine: Turn, rope: Rope | None) -> str:
    """How pairs are torn by three rows of positions that differ, "" if they are not."""
    told = axes_of(mine, rope)[1] if mine.axes is not None else ""
    return told if told.startswith(TORN) else ""


def _axes_apart(mine: Turn, theirs: Turn, rope: Rope | None) -> tuple[str, str]:
    rope = rope or identify(theirs).rope
    mine, theirs = (axes_of(turn, rope)[1] for turn in (mine, theirs))
    if mine.startswith(TORN):
        return TORN, f"{mine}. The reference: {theirs}"
    return (
        "rows of positions read otherwise",
        "with three rows of positions that differ, as for an image, pairs turn by other rows than "
        f"the reference's. Yours: {mine}. The reference: {theirs}",
    )


def _other_axes(both: tuple[Turn, ...], theirs: Turn, x: Tensor, allowed: float) -> Turn | None:
    """The one of yours that reads three rows of positions otherwise, None if none does."""
    if both[0].axes is None or theirs.axes is None:
        return None
    return next((t for t in both if t.axes and _axes_differ(t, theirs, x, allowed)), None)


def _axes_differ(mine: Turn, theirs: Turn, x: Tensor, allowed: float) -> bool:
    """Whether rows of positions that differ are read otherwise."""
    rows = torch.tensor([[3, 3, 3, 3], [0, 5, 1, 9], [4, 2, 8, 0]])
    wide = x[:1].expand(-1, 4, -1).contiguous()
    one, two = (turn.axes(wide, rows).double() for turn in (mine, theirs))
    return bool((one - two).abs().max() > allowed * x.abs().max())


SINGLE = "this is said of calls of a single row: four rows in one call are turned as they should be"


def _piece_differs(
    both: tuple[Turn, ...], theirs: Turn, x: Tensor, between: Callable, refused: list[str]
) -> tuple[str, str] | None:
    """Whether several rows after a cache, or out of order, are turned otherwise than one by one.

    What yours refuses is added to `refused`.
    """
    for mine, (name, rows) in product(both, PIECES):
        other = theirs if mine is both[0] else theirs.keys or theirs
        who = "" if mine is both[0] else " of keys"
        if mine.head_dim != other.head_dim or (mine.counted is not None and name != PIECES[0][0]):
            continue
        if mine.chunk is None and not mine.explicit:
            continue
        wide = x[..., : mine.head_dim].expand(-1, len(rows), -1).contiguous()
        try:
            seen = (mine.chunk or mine)(wide, rows)
        except Exception as error:  # whatever somebody else's code does with several rows
            what = name if mine.chunk is None else "several rows after a cache"
            words = f"{what}: yours refuses that, {said(error)}"
            refused += [words] if words not in refused else []
            continue
        found = between(rows, seen, other(wide, rows))
        if not len(found.wrong):
            continue
        if mine.chunk is None:
            return f"{name}{who.replace('of', 'in')}", RENUMBERED
        return (
            "several new tokens at once",
            f"one row{who} after a cache is turned as it should be, four rows in one call are "
            f"not: the first of them at position {int(found.wrong.min())} differs already",
        )
    return None


def _sized(case: "Case", tried: list[Tensor], limit: str) -> Tried:
    """Whether yours, called in other sizes, turns rows otherwise than the reference in small ones.

    A limit on the length holds for sizes, too.
    """
    right = [case.theirs]
    if case.mine.keys is not None:
        right.append(_their_keys(case.mine, case.theirs, case.rope, case.at))
    return other_sizes(
        case.mine,
        [by_few(turn) for turn in right if turn is not None],
        lambda positions: case.tolerance * (RESULT[case.dtype] + ANGLE * positions),
        far=int(max(positions.max() for positions in tried)),
        long=not limit,
        three=all(turn is None or turn.axes is not None for turn in (case.mine, *right)),
        dtype=case.dtype,
    )


def _length_differs(
    case: "Case", both: tuple[Turn, ...], lengths: tuple[int, ...]
) -> tuple[tuple[str, str], Round] | None:
    """Whether a text that ends where frequencies change, or near, is turned otherwise."""
    for mine, length in product(both, lengths):
        other = case.theirs if mine is both[0] else case.theirs.keys or case.theirs
        if mine.head_dim != other.head_dim or not (mine.explicit or mine is both[0]):
            continue
        positions = torch.tensor([*NEAR, length - 1])
        x = case.x[..., : mine.head_dim].expand(-1, len(positions), -1).contiguous()
        try:
            found = case.between(positions, mine(x, positions), other(x, positions))
        except Exception:  # it goes no further
            continue
        if len(found.wrong):
            return _other_length(case, x, found, length), found
    return None


def _other_length(case: "Case", x: Tensor, found: Round, length: int) -> tuple[str, str]:
    """As a text of which other length it is turned, in words."""
    tried = {
        length - 1: "one less",
        length + 1: "one more",
        1: "a short one",
        FAR_ENOUGH: "a long one",
    }
    right = case.at(length)
    fits = []
    for other, told in tried.items():
        rope = case.at(other).but(temperature=right.temperature)
        gap = (found.mine - rope(x, found.positions).double()).abs().amax(dim=(0, 2))
        if (gap <= found.allowed).all():
            fits.append(told)
    which = f" but by those for {' or '.join(fits)}" if fits else ""
    return (
        "the frequencies of another length",
        f"a text of {length} positions is not turned by the frequencies for its length{which}: "
        "look at how the length is counted, and at the comparison where they change",
    )


@dataclass(frozen=True)
class Case:
    """What was held against what; see `compare_rotations`. `by_length`: who heeds the length."""

    mine: Turn
    theirs: Turn
    x: Tensor
    rope: Rope | None
    at: Callable[[int], Rope] | None
    by_length: list[bool]
    dtype: torch.dtype
    softmax: float
    between: Callable[[Tensor, Tensor, Tensor], Round]
    tolerance: float


def _why_either(
    case: Case, queries: Round, keys: Round | None, scores: bool
) -> tuple[tuple[str, str], list[str], Round]:
    """Why queries or keys differ, saying which of them do; notes; and those that are shown."""
    mine = case.mine
    theirs = case.theirs
    sides = (("queries", mine, theirs, queries), ("keys", mine.keys, theirs.keys or theirs, keys))
    wrong = {
        who: (turn, shown, _where_it_begins(case, turn, other, shown))
        for who, turn, other, shown in sides
        if shown is not None and len(shown.wrong)
    }
    alone = next(iter(wrong)) if keys is not None and len(wrong) == 1 else ""
    told, notes = {}, []
    for who, (turn, shown, finer) in wrong.items():
        turn = replace(turn, mixed=mine.mixed, broken=mine.broken)
        softmax = 1.0 if alone else case.softmax
        told[who], more = _why(case, turn, shown, finer, scores, softmax, who == "keys")
        notes += [note for note in more if note not in notes]
    (first, (name, hint)), *others = told.items()
    if others and others[0][1] != (name, hint):
        of_keys, why = others[0][1]
        notes.append(f"that is of the queries; keys: {why or 'no mistake that is known'}")
        name = f"{_named('queries', name)}; {_named('keys', of_keys)}"
    elif alone:
        right = "keys agree, queries" if alone == "queries" else "queries agree, keys"
        notes.append(f"{right} do not: all of this is said of the {alone}")
        name = _named(alone, name)
    if mine.mixed and mine.mixed != hint:
        notes.append(mine.mixed)
        if name == "keys are not turned" and "values" in mine.mixed:
            name, hint = TURNED_FOR_KEYS
    return (name, hint), notes, wrong[first][2]


def _where_it_begins(case: Case, mine: Turn, theirs: Turn, shown: Round) -> Round:
    """The same, and the last right and the first wrong position, looked for between those tried."""
    first, longest = int(shown.wrong.min()), int(shown.positions.max())
    right = shown.positions[shown.positions < first]
    if not len(right) or case.mine.state or mine.head_dim != theirs.head_dim:
        return shown
    before, found = int(right.max()), shown
    last = [longest] if any(case.by_length) else []  # in a text as long
    while first - before > 1:
        step = -(-(first - before) // 32)
        tried = torch.tensor([*range(before + step, first, step), *last])
        x = case.x[..., : mine.head_dim].expand(-1, len(tried), -1).contiguous()
        try:
            found = case.between(tried, mine(x, tried), theirs(x, tried))
        except Exception:  # whatever somebody else's code does
            return shown
        first = min(first, *found.wrong.tolist(), longest)
        before = max((p for p in tried.tolist() if p < first), default=before)
        shown = shown.with_rows_of(found, (before, first))
    return shown


TURNED_FOR_KEYS = (
    "keys are not turned, values are",
    "queries and values turn, keys come out as they went in: a slice takes the wrong two of "
    "queries, keys and values, as [::2] does where [:2] is meant",
)


def _named(who: str, name: str) -> str:
    """The mistake's name, of queries or of keys alone."""
    if name == "nothing rotated":
        return f"{who} are not turned"
    if not name:
        return f"{who} differ"
    return name if name.startswith(who) else f"{who}: {name}"


def _why(
    case: Case,
    mine: Turn,
    shown: Round,
    finer: Round,
    scores: bool,
    softmax: float,
    of_keys: bool,
) -> tuple[tuple[str, str], list[str]]:
    """The mistake that queries or keys look like, its hint, and notes.

    `finer` are the same rows, and those where it begins.
    """
    theirs, x, rope, at, by_length = case.theirs, case.x, case.rope, case.at, case.by_length
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
    rope = rope or identify(theirs, dtype=case.dtype).rope
    more = []
    if rope is not None and rope.temperature is not None:
        more = keys_grow(rope) if of_keys else temperature_mistakes(rope)
        rope = rope.but(temperature=None) if of_keys else rope
    width = shown.mine.shape[-1]
    if rope is not None and width < rope.head_dim:  # keys of another width than queries
        rope = rope.but(head_dim=width, first=0)
    x = x[..., :width].expand(-1, len(finer.positions), -1)
    tried = x[:, : len(shown.positions)]
    known = _known(rope, tried, shown, at, more) or _gained(rope, tried, shown, softmax)
    moved = _moved(rope, x, finer) if known is None and mine.explicit else None
    known = known or (moved if moved and moved.name != LISTED else None)
    if known and known.name == "nothing rotated" and starts_nowhere(mine):
        known = named_mistake(rope, "every token at position 0")
    if known and at is not None and known.name == SHORT_ALWAYS and _counts_rows(case, mine):
        return (BY_ROWS.partition(":")[0], BY_ROWS), []
    if known:
        return (known.name, known.hint), []
    if mine.mixed:
        return (mine.mixed.partition(":")[0], mine.mixed), []
    if scores:
        return ("", ""), []
    if case.mine.keys is not None and keys_slips(case.mine) == XPOS:
        return (XPOS_NAME, XPOS_HINT), []
    told, notes = _told_apart(mine, theirs, case.dtype)
    if rope is not None and not rope.inv_freq.any():
        found = identify(mine, dtype=case.dtype)
        if found.data.get("rotation"):
            return (TURNS, f"yours: {found.facts['frequencies']}, in a layer without positions"), []
    if moved and (not told[0] or "changed on the way" in told[1]):
        return (moved.name, moved.hint), notes
    return told, notes


SHORT_ALWAYS = "frequencies of short texts always"
BY_ROWS = (
    "the rows of the call taken for the length of the text: frequencies are those for as many "
    "positions as the call has rows, as by positions.shape[-1]; the last position plus one is meant"
)


def _counts_rows(case: "Case", mine: Turn) -> bool:
    """Whether a call of so many rows, at position 1 all of them, is turned as a long text."""
    short = case.at(1)
    lengths = (4097, 32_769)
    rows = next((n for n in lengths if not torch.equal(case.at(n).inv_freq, short.inv_freq)), 0)
    if not rows or not mine.explicit or mine.counted is not None:
        return False
    ones = torch.ones(rows, dtype=torch.long)
    x = case.x[:1, :, : mine.head_dim].expand(1, rows, -1).contiguous()
    try:
        first = mine(x, ones)[:, :1]
    except Exception:  # whatever somebody else's code does with so many rows
        return False
    wanted, other = (case.at(n)(x[:, :1], ones[:1]) for n in (rows, 1))
    return bool((first - wanted).abs().max() < (first - other).abs().max())


TURNS = "it turns, the reference does not"
XPOS_NAME = "xPos"
XPOS_HINT = (
    "queries grow and keys shrink with their position, or the other way round, so that scores "
    "decay with the offset: right for a model that was trained with xPos; the reference does not"
)


def _gained(rope: Rope | None, x: Tensor, shown: Round, softmax: float) -> Mistake | None:
    """Whether all that is wrong is one number by which vectors are multiplied."""
    if rope is None:
        return None
    turning = slice(rope.first, rope.first + rope.rotary_dim)
    near = shown.positions <= NEAR[-1]
    right = rope(x, shown.positions).double()
    mine, there = (t[:, near, turning] for t in (shown.mine, right))
    times = ((mine * there).sum() / (there * there).sum()).item()
    if not 1e-3 < times < 1e3 or abs(times - 1) < 1e-4:
        return None
    allowed = max(1.0, times) * shown.allowed[:, None]
    gain = rope.gain * times
    for called, wrong in (
        (f"gain {gain:.6g}, not {rope.gain:.6g}", rope.but(gain=gain)),
        (f"all channels times {times:.6g}", lambda x, p: times * rope(x, p)),
    ):
        if ((shown.mine - wrong(x, shown.positions).double()).abs() <= allowed).all():
            return Mistake(called, _gain_hint(gain, times, softmax), wrong)
    return None


def _gain_hint(gain: float, times: float, softmax: float) -> str:
    """What may have made vectors so many times too long."""
    if softmax != 1 and math.isclose(times**2, softmax, rel_tol=1e-3):
        return (
            "it is applied twice: to queries and keys, and again to the scores, which this "
            f"configuration multiplies by its square, {softmax:.6g} (mscale_all_dim), as well"
        )
    factor = math.exp((gain - 1) / 0.1) if gain > 1 else 0.0
    whole = round(factor)
    yarn = (
        f"; 0.1 ln {whole} + 1 is YaRN's for a factor of {whole}"
        if 2 <= whole <= 256 and math.isclose(factor, whole, rel_tol=1e-3)
        else ""
    )
    return f"the angles are right, but what comes out is {times:.6g} times as long{yarn}"


def _in_a_text_of(length: int, turn: Turn) -> Turn:
    """The same, always with the last position of such a text in the call."""

    def call(x: Tensor, positions: Tensor) -> Tensor:
        last = torch.tensor([length - 1])
        return turn(torch.cat((x, x[:, :1]), dim=1), torch.cat((positions, last)))[:, :-1]

    return Turn(call, turn.head_dim, turn.convention, True)


def _known(
    rope: Rope | None, x: Tensor, shown: Round, at: Callable | None, more: list[Mistake]
) -> Mistake | None:
    def close(one: Tensor, two: Tensor) -> bool:
        return bool(((one - two.double()).abs() <= shown.allowed[:, None]).all())

    if rope is None:
        return None
    mistakes = [*more, *rotation_mistakes(rope)]
    if at is not None:
        mistakes = [*_length_mistakes(at), *mistakes]
    mistakes = [
        known
        for known in mistakes
        if not recognise([known], [(x, shown.positions)], [shown.theirs], close)  # none for this
    ]
    return recognise(mistakes, [(x, shown.positions)], [shown.mine], close)


def _moved(rope: Rope | None, x: Tensor, shown: Round) -> Mistake | None:
    if rope is None or not rope.inv_freq.any():
        return None
    begins = int(shown.wrong.min())
    return moved_positions(rope, x, shown.positions, shown.mine, shown.allowed, begins)


def _length_mistakes(at: Callable[[int], Rope]) -> list[Mistake]:
    return [
        Mistake(
            SHORT_ALWAYS,
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
    fresh.sort(key=lambda text: text != RENUMBERED)  # which tells most
    if fresh:
        return (fresh[0].partition(":")[0], fresh[0]), []
    one, two = found.data, wanted.data
    told = _frequencies_apart(found, wanted)
    if told:
        return told, []
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


def _frequencies_apart(found: Identity, wanted: Identity) -> tuple[str, str] | None:
    """Another width, base or rule of scaling, if both are known by name."""
    one, two = found.data, wanted.data
    if not (one.get("rotation") and two.get("rotation")):
        return None
    if one["rotary_dim"] != two["rotary_dim"]:
        name = f"{one['rotary_dim']} channels turn, not {two['rotary_dim']}"
        return name, f"yours: {found.facts['rotated']}; the reference: {wanted.facts['rotated']}"
    rules = one["scaling"], two["scaling"]
    stretched = _all_times(one["inv_freq"], two["inv_freq"])
    if stretched and rules != ("linear", "none"):
        return stretched
    if {None, "unknown", "geometric"} & set(rules):  # no rule that somebody meant
        return None
    hint = f"yours: {found.facts['frequencies']}; the reference: {wanted.facts['frequencies']}"
    if rules == ("none", "none") and one["base"] != two["base"]:
        return f"base {number(one['base'])}, not {number(two['base'])}", hint
    return (f"{rules[0]} scaling, not {rules[1]}", hint) if rules[0] != rules[1] else None


def _all_times(mine: list[float], theirs: list[float]) -> tuple[str, str] | None:
    """Whether all frequencies are the reference's times one number, and where that may be from."""
    if len(mine) != len(theirs) or not all(theirs) or not all(mine):
        return None
    ratios = [a / b for a, b in zip(mine, theirs, strict=True)]
    times = ratios[0]
    if abs(times - 1) < 2e-6 or any(abs(ratio / times - 1) > 1e-4 for ratio in ratios):
        return None
    rows = times / (times - 1)
    table = ""
    if 100 < rows < 1e6:
        table = (
            f"; linspace(0, n, n), whose steps are n/(n - 1), gives this with n about {rows:.4g}: "
            "arange is meant"
        )
    return (
        f"all angles times {times:.7g}",
        f"positions, or all frequencies, are multiplied by {times:.7g}{table}",
    )


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
