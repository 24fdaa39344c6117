"""Hold one rotation against another: where they differ, and which known mistake it looks like."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from posenc.verify.agreement import Agreement
from posenc.verify.besides import (
    APART,
    FIRST_ROW,
    XPOS,
    axes_of,
    axes_told,
    first_after_others,
    keys_slips,
)
from posenc.verify.identify import Identity, identify
from posenc.verify.known import Mistake, recognise
from posenc.verify.measure import FAR, NEAR, starts_nowhere
from posenc.verify.mistakes import named_mistake, rotation_mistakes
from posenc.verify.moved import LISTED, moved_positions
from posenc.verify.names import number
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
) -> Agreement:
    """Call both in the same way, in a short text and in a long one: queries, and keys likewise.

    Args:
        mine: the rotation in question.
        theirs: the one to hold it against.
        rope: what theirs is, if that is known.
        at: what theirs is in a text of so many positions, if that changes it.
        dtype: of the vectors handed over.
        tolerance: multiplies what rounding explains.
        softmax: by what scores are multiplied besides, if that is known.
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
    tried = [positions]
    by_length = [False, False]
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
            not_compared.append(
                "shorter texts: yours turns them otherwise, the reference has one set of "
                "frequencies"
            )
        elif len(short.wrong) and not len(shown.wrong):
            shown = short
            notes.append("a long text is turned as it should be, a short one is not")
    keys, undecided = (None, ()) if kept else _keys(mine, theirs, rope, at, x, tried, between)
    both = (mine, mine.keys) if mine.keys is not None else (mine,)
    agrees, scores, told = not (len(shown.wrong) or (keys and len(keys.wrong))), None, ("", "")
    if not agrees:
        scores = _scores_agree(shown, keys or shown, size) and not undecided
        case = Case(mine, theirs, x, rope, at, by_length, dtype, softmax)
        told, more, shown = _why_either(case, shown, keys, scores)
        notes += more
        if told[0] == XPOS_NAME:  # numbers that grow without end tell nothing
            shown = between(near, *(t(x.expand(-1, len(NEAR), -1), near) for t in (mine, theirs)))
    elif mine.mixed:
        agrees, told = False, (mine.mixed.partition(":")[0], mine.mixed)
    elif any(t.apart is not None and first_after_others(t) is None for t in both):
        agrees, told = False, (APART.partition(",")[0], APART)
    elif any(t.first_row for t in both) and not theirs.first_row:
        agrees, told = False, ("one row of positions for the whole batch", FIRST_ROW)
    elif (apart := _chunk_differs(both, theirs, x, between)) is not None:
        agrees, told = False, apart
    elif mine.axes is not None and theirs.axes is not None:
        allowed = tolerance * RESULT[dtype] * 64
        wrong = next((t for t in both if t.axes and _axes_differ(t, theirs, x, allowed)), None)
        if wrong is not None:
            told = "rows of positions read otherwise", _axes_apart(wrong, theirs, rope)
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
        (*not_compared, *_never(mine, theirs, dtype)) if agrees else (),
        _compared(mine, keys, tried),
        undecided if agrees else (),
    )


def _compared(mine: Turn, keys: Round | None, tried: list[Tensor]) -> tuple[str, ...]:
    """What was held against the reference, in words."""
    what = (
        "tables" if mine.tables else "queries" if keys or "q, k" in mine.convention else "vectors"
    )
    longest = max(int(positions.max()) for positions in tried)
    texts = ", in a short text and a long one" if len(tried) > 1 else ""
    return (
        f"{what}{' and keys' if keys else ''} at {len(tried[0])} positions, 0 to {longest}{texts}",
    )


def _never(mine: Turn, theirs: Turn, dtype: torch.dtype) -> list[str]:
    """What no comparison of rotations looks at."""
    name = str(dtype).removeprefix("torch.")
    other = [f"other values of {', '.join(mine.left)}"] if mine.left else []
    if mine.guess or theirs.guess:
        other.append(f"wider heads: {mine.head_dim} channels were tried, dim= tells the width")
    values = "" if mine.values else "values, "
    return [*other, f"{values}masks and the scale of scores; other dtypes than {name}"]


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


def _keys(
    mine: Turn,
    theirs: Turn,
    rope: Rope | None,
    at: Callable[[int], Rope] | None,
    x: Tensor,
    tried: list[Tensor],
    between: Callable,
) -> tuple[Round | None, tuple[str, ...]]:
    """The same calls, of keys: the first that is wrong, or else the first; and what is undecided.

    None without keys, or if they are of a width that the reference, a function, does not take.
    """
    if mine.keys is None:
        return None, (ONE_RESULT,) if "q, k" in mine.convention and not mine.tables else ()
    other, width = theirs.keys or theirs, mine.keys.head_dim
    if width != other.head_dim:
        if rope is None or width < rope.rotary_dim:
            return None, (f"keys: yours have {width} channels, the reference's {other.head_dim}",)
        other = Turn(
            lambda x, p: (at(int(p.max()) + 1) if at else rope).but(head_dim=width, first=0)(x, p),
            width,
            "",
            True,
        )
    rounds = []
    for positions in tried:
        wide = x[..., :width].expand(-1, len(positions), -1).contiguous()
        rounds.append(between(positions, mine.keys(wide, positions), other(wide, positions)))
    return next((each for each in rounds if len(each.wrong)), rounds[0]), ()


ONE_RESULT = "keys: yours takes queries and keys, and gives one result"
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
    both: tuple[Turn, ...], theirs: Turn, x: Tensor, between: Callable
) -> tuple[str, str] | None:
    """Whether several rows after a cache are turned otherwise than one by one."""
    for mine in both:
        other = theirs if mine is both[0] else theirs.keys or theirs
        if mine.chunk is None or mine.head_dim != other.head_dim:
            continue
        rows = torch.arange(3, 7)
        wide = x[..., : mine.head_dim].expand(-1, len(rows), -1).contiguous()
        found = between(rows, mine.chunk(wide, rows), other(wide, rows))
        if len(found.wrong):
            who = "" if mine is both[0] else " of keys"
            return (
                "several new tokens at once",
                f"one row{who} after a cache is turned as it should be, four rows in one call are "
                f"not: the first of them at position {int(found.wrong.min())} differs already",
            )
    return None


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


def _why_either(
    case: Case, queries: Round, keys: Round | None, scores: bool
) -> tuple[tuple[str, str], list[str], Round]:
    """Why queries or keys differ, saying which of them do; notes; and those that are shown."""
    mine = case.mine
    wrong = {
        who: (turn, shown)
        for who, turn, shown in (("queries", mine, queries), ("keys", mine.keys, keys))
        if shown is not None and len(shown.wrong)
    }
    alone = next(iter(wrong)) if keys is not None and len(wrong) == 1 else ""
    told, notes = {}, []
    for who, (turn, shown) in wrong.items():
        turn = replace(turn, mixed=mine.mixed, broken=mine.broken)
        told[who], more = _why(case, turn, shown, scores, softmax=1.0 if alone else case.softmax)
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
    return (name, hint), notes, wrong[first][1]


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
    case: Case, mine: Turn, shown: Round, scores: bool, softmax: float
) -> tuple[tuple[str, str], list[str]]:
    """The mistake that queries or keys look like, its hint, and notes."""
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
    width = shown.mine.shape[-1]
    if rope is not None and width < rope.head_dim:  # keys of another width than queries
        rope = rope.but(head_dim=width, first=0)
    x = x[..., :width].expand(-1, len(shown.positions), -1)
    known = _known(rope, x, shown, at) or _gained(rope, x, shown, softmax)
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
    if case.mine.keys is not None and keys_slips(case.mine) == XPOS:
        return (XPOS_NAME, XPOS_HINT), []
    told, notes = _told_apart(mine, theirs, case.dtype)
    if moved and (not told[0] or "changed on the way" in told[1]):
        return (moved.name, moved.hint), notes
    return told, notes


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
    if {None, "unknown", "geometric"} & set(rules):  # no rule that somebody meant
        return None
    hint = f"yours: {found.facts['frequencies']}; the reference: {wanted.facts['frequencies']}"
    if rules == ("none", "none") and one["base"] != two["base"]:
        return f"base {number(one['base'])}, not {number(two['base'])}", hint
    return (f"{rules[0]} scaling, not {rules[1]}", hint) if rules[0] != rules[1] else None


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
