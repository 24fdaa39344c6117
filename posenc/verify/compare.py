"""Do two implementations agree, up to rounding? And if not, which known mistake is it?"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from posenc.verify.calls import NotARotation, as_turn, said
from posenc.verify.identify import FIRST_ROW, KINDS, identify
from posenc.verify.measure import FAR, NEAR, starts_nowhere
from posenc.verify.mistakes import Mistake, named_mistake, recognise, rotation_mistakes
from posenc.verify.models import Layer, Model, models
from posenc.verify.rope import Rope

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


@dataclass(frozen=True)
class Agreement:
    """What `compare` found; printing it shows everything.

    Args:
        agrees: whether no difference exceeds its tolerance.
        positions: where both were tried.
        differences: the largest at each, relative to the largest entry of the vectors.
        tolerances: what rounding explains at each.
        begins: the first position that differs by more, None if none does.
        scores_agree: whether q.k agrees nevertheless, as when channels are only reordered.
        mistake: the known mistake that yours looks like, "" if none.
        hint: what was done, and where to look.
        notes: what was noticed besides.
        limit: where "agree" ends, "" if at the last position.
    """

    agrees: bool
    positions: tuple[int, ...] = ()
    differences: tuple[float, ...] = ()
    tolerances: tuple[float, ...] = ()
    begins: int | None = None
    scores_agree: bool | None = None
    mistake: str = ""
    hint: str = ""
    notes: tuple[str, ...] = ()
    limit: str = ""

    def __str__(self) -> str:
        lines = [f"agree{self.limit}" if self.agrees else "differ"]
        rows = list(zip(self.positions, self.differences, self.tolerances, strict=True))
        shown = [row for row in rows if row[0] in (0, 1, 7, 127, 1009, 8000, 100_003, self.begins)]
        if shown:
            lines.append("  position   difference   rounding explains")
        lines += [
            f"  {p:>8}   {d:>10.2g}   {t:>10.2g}{'   <- more' if d > t else ''}"
            for p, d, t in shown
        ]
        if self.begins is not None:
            lines.append(f"  begins to differ at position {self.begins}")
        if self.scores_agree and not self.agrees:
            lines.append("  scores q.k agree: only the order of channels differs")
        if self.mistake:
            lines.append(f"  looks like: {self.mistake}\n    {self.hint}")
        elif not self.agrees and not self.scores_agree:
            lines.append("  looks like no mistake that is known here; identify() shows both apart")
        return "\n".join(lines + [f"  {note}" for note in self.notes])

    __repr__ = __str__

    def as_dict(self) -> dict[str, object]:
        """Everything as JSON can hold it."""
        return {key: list(v) if isinstance(v, tuple) else v for key, v in self.__dict__.items()}


def compare(
    yours: object,
    reference: object,
    *,
    kind: str | None = None,
    apply: Callable | None = None,
    dim: int | None = None,
    dtype: torch.dtype = torch.float32,
    tolerance: float = 1.0,
) -> Agreement:
    """Hold an implementation against another one, or against a description.

    Rotations are tried at positions from 0 to 100 003, out of order and with gaps, as far as
    both go. A difference counts if rounding does not explain it: at position p, float32 angles
    explain 2^-22 (1 + p) of the largest entry, about 2.4e-7 per position.

    Args:
        yours: what `identify` takes.
        reference: likewise; or a `Rope`, as `identify(...).rope` and the layers of `models(...)`
            have them, or such a layer; or what `models` gives or takes, for its first layer that
            rotates.
        kind: as in `identify`; biases, buckets and tables are compared entry by entry.
        apply: as in `identify`, for both.
        dim: as in `identify`.
        dtype: of the vectors handed over.
        tolerance: multiplies what rounding explains.

    Returns:
        The verdict, with the position where it begins and the known mistake it looks like.

    Raises:
        ValueError: if kind is unknown, the two take heads of different widths, tensors have
            different shapes, or one cannot be called.

    Example:
        >>> from posenc import angles, inverse_frequencies, rotate
        >>> def rope(pairing):
        ...     w = inverse_frequencies(64)
        ...     return lambda x, positions: rotate(x, angles(positions, w), pairing=pairing)
        >>> found = compare(rope("interleaved"), rope("half"))
        >>> found.agrees, found.begins, found.mistake
        (False, 1, 'pairing exchanged')
    """
    if kind is not None and kind not in KINDS:
        raise ValueError(f"kind must be one of {KINDS}, got {kind!r}")
    notes: tuple[str, ...] = ()
    yours, reference = _rotation_of(yours, "yours"), _rotation_of(reference, "reference")
    if isinstance(reference, Mapping | str | Path | Model) or hasattr(reference, "model_type"):
        read = reference if isinstance(reference, Model) else models(reference)
        rotating = [layer.rope for layer in read.layers if layer.rope is not None]
        if not rotating:
            raise ValueError(f"reference must have a layer that rotates, got {read.model_type}")
        reference = rotating[0]
        notes = tuple(note for note in read.notes if "change with the length" in note)
    tensors = all(isinstance(t, Tensor) and not t.is_complex() for t in (yours, reference))
    if kind == "buckets" and callable(yours) and callable(reference):
        relative = torch.arange(-2000, 2001)
        yours, reference, tensors = yours(relative)[None], reference(relative)[None], True
    if tensors:
        return _compare_tensors(yours, reference, kind, tolerance)
    if kind not in (None, "rotation"):
        raise ValueError(f"a {kind} is compared as a tensor, got {type(yours).__name__}")
    return _compare_rotations(yours, reference, apply, dim, dtype, tolerance, notes)


def _rotation_of(thing: object, what: str) -> object:
    """The rotation of a layer; anything else as it is."""
    if not isinstance(thing, Layer):
        return thing
    if thing.rope is None:
        raise ValueError(f"{what} must be a layer that rotates, got one with {thing.method}")
    return thing.rope


def _compare_rotations(yours, reference, apply, dim, dtype, tolerance, said_before) -> Agreement:
    theirs = as_turn(reference, apply=apply, dim=dim, dtype=dtype)
    wanted = f"yours must take heads of {theirs.head_dim} channels, as the reference does"
    try:
        mine = as_turn(yours, apply=apply, dim=dim or theirs.head_dim, dtype=dtype)
    except NotARotation as error:
        raise NotARotation(f"{wanted}: {error}") from None
    if mine.head_dim != theirs.head_dim:
        raise ValueError(f"{wanted}, got {mine.head_dim}")
    x = torch.randn(3, 1, theirs.head_dim, generator=torch.Generator().manual_seed(1)).to(dtype)
    before = _shortly(mine, x)
    positions, results, notes = _both(mine, theirs, x)
    notes += said_before
    limit = ""
    kept = before is not None and not torch.equal(before, _shortly(mine, x))
    if before is not None and _by_length(mine, x, before, positions, results[0]):
        short = torch.tensor(NEAR)
        apart = (before.double() - _shortly(theirs, x).double()).abs().amax(dim=(0, 2))
        longer = (results[0].double() - results[1].double()).abs().amax(dim=(0, 2))
        explained = x.abs().max() * tolerance * (RESULT[dtype] + ANGLE * positions)
        if (longer > explained).any() and (
            apart <= x.abs().max() * tolerance * (RESULT[dtype] + ANGLE * short)
        ).all():
            positions, results = short, [before, _shortly(theirs, x)]
            notes.append(f"yours turns long texts otherwise: compared up to position {NEAR[-1]}")
            limit = f" up to position {NEAR[-1]}; beyond: not compared"
    left, right = (result.double() for result in results)
    queries = keys = (left, right)
    scale = x.abs().max().item()
    differences = (left - right).abs().amax(dim=(0, 2)) / scale
    tolerances = tolerance * (RESULT[dtype] + ANGLE * positions)
    if mine.keys is not None and mine.explicit and not kept:
        wide = x.expand(-1, len(positions), -1).contiguous()
        keys = [turn(wide, positions).double() for turn in (mine.keys, theirs.keys or theirs)]
        of_keys = (keys[0] - keys[1]).abs().amax(dim=(0, 2)) / scale
        if (of_keys > tolerances).any() and (differences <= tolerances).all():
            (left, right), differences = keys, of_keys
            notes.append("queries agree, keys do not: all of this is said of the keys")
    rising = positions.argsort()
    wrong = positions[differences > tolerances]
    agrees = not len(wrong)
    allowed = (scale * tolerances)[:, None]
    scores, told = None, ("", "")  # the mistake's name, and the hint
    if not agrees:
        scores = _scores_agree(queries, keys, positions, scale)
        rope = reference if isinstance(reference, Rope) else _rope_of(theirs, dtype)
        known = _known(rope, x.expand(-1, len(positions), -1), positions, left, right, allowed)
        if known and known.name == "nothing rotated" and starts_nowhere(mine):
            known = named_mistake(rope, "every token at position 0")
        if known:
            told = known.name, known.hint
        elif not scores:
            told, apart = _told_apart(mine, theirs, dtype)
            notes += apart
    elif mine.first_row and not theirs.first_row:
        agrees, told = False, ("one row of positions for the whole batch", FIRST_ROW)
    elif (by_axes := _axes_differ(mine, theirs, x, tolerance * RESULT[dtype] * 64)) is not None:
        if by_axes:
            agrees, told = False, ("rows of positions read otherwise", AXES)
    elif mine.axes is not None:
        limit += " for a text, three equal rows of positions; others: not compared"
    if agrees and kept:
        agrees, told = False, ("frequencies of a longer text kept", KEPT)
    return Agreement(
        agrees,
        tuple(positions[rising].tolist()),
        tuple(differences[rising].tolist()),
        tuple(tolerances[rising].tolist()),
        int(wrong.min()) if len(wrong) else None,
        scores,
        *told,
        tuple(notes),
        limit,
    )


AXES = (
    "with three rows of positions that differ, as for an image, pairs turn by other rows than the "
    "reference's: look at the sections (M-RoPE)"
)


def _axes_differ(mine, theirs, x: Tensor, allowed: float) -> bool | None:
    """Whether rows of positions that differ are read otherwise; None if one takes no such rows."""
    if mine.axes is None or theirs.axes is None:
        return None
    rows = torch.tensor([[3, 3, 3, 3], [0, 5, 1, 9], [4, 2, 8, 0]])
    wide = x[:1].expand(-1, 4, -1).contiguous()
    one, two = (turn.axes(wide, rows).double() for turn in (mine, theirs))
    return bool((one - two).abs().max() > allowed * x.abs().max())


def _both(mine, theirs, x: Tensor) -> tuple[Tensor, list[Tensor], list[str]]:
    """Call both at the same positions, out of order, as far as both go."""
    positions = [*NEAR, *FAR]
    notes: list[str] = []
    while True:
        tried = torch.tensor(positions)
        if mine.explicit:
            tried = tried[torch.randperm(len(tried), generator=torch.Generator().manual_seed(2))]
        else:
            notes = notes or ["yours takes no positions: rows count as 0, 1, 2, ..."]
        try:
            wide = x.expand(-1, len(tried), -1).contiguous()
            return tried, [turn(wide, tried) for turn in (mine, theirs)], notes
        except Exception as error:
            if positions[-1] <= NEAR[-1]:
                raise
            notes.append(f"one refuses position {positions.pop()}: {said(error)}")


KEPT = (
    "after a long text a short one is turned otherwise than before: frequencies are changed for "
    "long texts and never put back"
)


def _shortly(turn, x: Tensor) -> Tensor | None:
    """The near positions in a call of their own; None if it refuses them or counts rows itself."""
    if not turn.explicit or turn.counted is not None:
        return None
    try:
        return turn(x.expand(-1, len(NEAR), -1).contiguous(), torch.tensor(NEAR))
    except Exception:  # it is said elsewhere
        return None


def _by_length(turn, x: Tensor, shortly: Tensor, positions: Tensor, longer: Tensor) -> bool:
    """Whether near positions turn otherwise when a far one is in the call."""
    same = torch.stack([longer[:, (positions == p).nonzero()[0, 0]] for p in NEAR], dim=1)
    return not torch.allclose(same.float(), shortly.float(), atol=1e-4)


def _told_apart(mine, theirs, dtype: torch.dtype) -> tuple[tuple[str, str], list[str]]:
    """What `identify` finds wrong with one alone, or sees otherwise: a name and a hint; notes."""
    found, wanted = (identify(turn, dtype=dtype) for turn in (mine, theirs))
    fresh = [text for text in found.warnings if text not in wanted.warnings]
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


def _scores_agree(queries, keys, positions: Tensor, scale: float) -> bool:
    """Whether near queries and keys give the same scores although they are different vectors."""
    near = positions <= NEAR[-1]
    if max((a - b)[:, near].abs().max() for a, b in (queries, keys)) < 1e-2 * scale:
        return False
    mine, theirs = (q[0, near] @ k[1, near].T for q, k in zip(queries, keys, strict=True))
    return bool((mine - theirs).abs().max() <= 1e-3 * theirs.abs().max())


def _rope_of(turn, dtype: torch.dtype) -> Rope | None:
    return identify(turn, dtype=dtype).rope


def _known(
    rope: Rope | None, x: Tensor, positions: Tensor, seen: Tensor, right: Tensor, allowed: Tensor
) -> Mistake | None:
    def close(one: Tensor, two: Tensor) -> bool:
        return bool(((one - two.double()).abs() <= allowed).all())

    if rope is None:
        return None
    mistakes = [
        known
        for known in rotation_mistakes(rope)
        if not recognise([known], [(x, positions)], [right], close)  # none for this rotation
    ]
    return recognise(mistakes, [(x, positions)], [seen], close)


def _compare_tensors(
    yours: Tensor, reference: Tensor, kind: str | None, tolerance: float
) -> Agreement:
    if yours.shape != reference.shape:
        raise ValueError(
            f"yours must have the reference's shape {tuple(reference.shape)}, "
            f"got {tuple(yours.shape)}"
        )
    left, right = yours.double(), reference.double()
    shown = (right > -1e4) | (left > -1e4)
    difference = torch.where(shown, (left - right).abs(), 0)
    size = right[shown].abs().max().clamp(min=1e-30)
    allowed = 0.0 if not reference.is_floating_point() else tolerance * 2.0**-20
    relative = (difference / size).max().item()
    agrees = relative <= allowed
    mistake = hint = ""
    if not agrees:
        found, wanted = (identify(t, kind=kind) for t in (yours, reference))
        fresh = [text for text in found.warnings if text not in wanted.warnings]
        changed = [
            f"{key}: {found.facts.get(key)}, not {value}"
            for key, value in wanted.facts.items()
            if found.facts.get(key) != value
        ]
        mistake, hint = (fresh or [""])[0], "; ".join(changed[:4])
        softmax = _same_after_softmax(left, right, shown)
        notes = (
            ("softmax forgets the difference: rows differ by one number each",) if softmax else ()
        )
        return Agreement(
            False,
            notes=(f"largest difference {relative:.2g} of the largest entry", *notes),
            mistake=mistake,
            hint=hint,
            scores_agree=softmax or None,
        )
    return Agreement(True, notes=(f"largest difference {relative:.2g} of the largest entry",))


def _same_after_softmax(left: Tensor, right: Tensor, shown: Tensor) -> bool:
    if left.ndim < 2 or left.shape[-1] < 2 or not shown.all():
        return False
    gap = left - right
    return bool((gap - gap[..., :1]).abs().max() <= 1e-5 * (1 + right.abs().max()))
