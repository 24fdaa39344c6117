"""Hold biases, buckets and tables against others, entry by entry, and say what changed."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from posenc.verify.agreement import Agreement
from posenc.verify.biases import HIDDEN, nearest_key, one_of_batch, precision_of
from posenc.verify.buckets import bucket_mistakes, by_distance, standing_at
from posenc.verify.identify import Identity, identify
from posenc.verify.known import recognise
from posenc.verify.names import number
from posenc.verify.standing import elsewhere, misplaced, relative_in, require_first_query


def compare_buckets(
    yours: Tensor | Callable, reference: Tensor | Callable, *, first_query: int | None = None
) -> Agreement:
    """Buckets as functions of relative positions (key - query), or as matrices [q, k]."""
    mine, one = by_distance(yours, first_query)
    alike = isinstance(reference, Tensor) and reference.shape == getattr(yours, "shape", None)
    theirs, two = by_distance(reference, first_query if alike else None)
    wrong, both = _buckets_apart(mine, one, theirs, two)
    if not wrong.any():
        notes = (f"all {len(both)} buckets are the same",)
        farther = len(mine) != len(theirs) or len(both) < len(mine)
        beyond = ("relative positions beyond these, which one of both does not have",)
        ends = both[[0, -1]].tolist() if len(both) else []
        seen = (
            (f"{len(both)} buckets, of relative positions {ends[0]} to {ends[1]}",) if ends else ()
        )
        return Agreement(True, notes=notes, compared=seen, not_compared=beyond * farther)
    notes = [f"{int(wrong.sum())} of {len(both)} buckets differ"]
    notes.append(f"the nearest at distance {both[wrong].abs().min().item()}")
    places = [mine]
    if isinstance(yours, Tensor) and yours.shape[0] < yours.shape[1]:
        q, k = yours.shape
        first, told = standing_at(one, q), -int(mine[q - 1])
        if first is not None:
            there = mine + told - first
            if not _buckets_apart(there, one, theirs, two)[0].any():
                return _standing_elsewhere(first, first_query, q, k, f"{len(one)} buckets")
            places += [there] * (first_query is None)
    found, wanted = (identify(thing, kind="buckets") for thing in (yours, reference))
    known = None
    settings = {key: wanted.data.get(key) for key in ("num_buckets", "max_distance")}
    if wanted.data["method"] == "t5":
        mistakes = bucket_mistakes(**settings, bidirectional=wanted.data["bidirectional"])
        tried = (recognise(mistakes, [(place,)], [one], torch.equal) for place in places)
        known = next((mistake for mistake in tried if mistake), None)
    told = (known.name, known.hint) if known else _changed(found, wanted)
    return Agreement(False, mistake=told[0], hint=told[1], notes=tuple(notes))


def _buckets_apart(mine: Tensor, one: Tensor, theirs: Tensor, two: Tensor) -> tuple[Tensor, Tensor]:
    """Where buckets differ, and the relative positions that both have."""
    both = mine[torch.isin(mine, theirs)]
    return one[torch.isin(mine, both)] != two[torch.isin(theirs, both)], both


def _standing_elsewhere(
    first: int, first_query: int | None, q: int, k: int, seen: str
) -> Agreement:
    """The verdict on what is right if queries begin at `first`: they do not, or nobody said so."""
    if first_query is None:
        return Agreement(False, compared=(seen,), undecided=(elsewhere(first, q, k),))
    name, hint = misplaced(first, first_query, q)
    return Agreement(False, mistake=name, hint=hint)


def compare_biases(
    yours: Tensor,
    reference: Tensor | Callable[[Tensor], Tensor],
    *,
    tolerance: float,
    first_query: int | None = None,
) -> Agreement:
    """Biases that are added to scores; softmax forgets one number a row.

    Args:
        yours: [h, q, k] or with a batch.
        reference: likewise; or a function of key - query that gives it: then keys after the query
            are left out.
        tolerance: multiplies what rounding explains.
        first_query: the key at which the first query stands; the last one at the last key if None.
    """
    yours = one_of_batch(yours, "yours")
    _, q, k = yours.shape
    require_first_query(first_query, q, k)
    relative = relative_in(q, k, first_query)
    if isinstance(reference, Tensor):
        return _biases_apart(yours, one_of_batch(reference, "reference"), relative, tolerance)
    verdict = _biases_apart(yours, reference(relative), relative, tolerance, causal=True)
    first = nearest_key(yours) if q < k else None
    if verdict.agrees or first is None or first == -int(relative[0, 0]):
        return verdict
    there = relative_in(q, k, first)
    again = _biases_apart(yours, reference(there), there, tolerance, causal=True)
    if not again.agrees:
        return verdict
    return _standing_elsewhere(first, first_query, q, k, *again.compared)


def _biases_apart(
    yours: Tensor, reference: Tensor, relative: Tensor, tolerance: float, *, causal: bool = False
) -> Agreement:
    """The verdict on biases [h, q, k] for these relative positions; those of the past if causal."""
    _same_shape(yours, reference)
    left, right = yours.detach().double(), reference.detach().double()
    past = relative <= 0
    asked = past if causal else torch.ones_like(past)
    hidden = [(t <= HIDDEN) & asked for t in (left, right)]  # what is no number is not hidden
    shown = asked & ~hidden[0] & ~hidden[1]
    size = right[shown].abs().amax(dim=0).clamp(min=1e-30) if shown.any() else torch.ones(())
    gap = torch.where(shown, left - right, 0.0)
    of_row = gap.sum(-1, keepdim=True) / shown.sum(-1, keepdim=True).clamp(min=1)
    uneven = torch.where(shown, gap - of_row, 0.0).abs()
    notes = [_largest(gap, size)]
    looked = _looked_at(shown, hidden[0] != hidden[1])
    for blur, said in _blurs(yours):
        each = tolerance * (2.0**-20 * size + blur * torch.where(shown, left.abs(), 0.0))
        if (gap.abs() <= each).all():
            return Agreement(True, notes=(*notes, *said), **looked)
        if (uneven <= each.amax(-1, keepdim=True)).all():
            constant = "rows differ by one number each, which softmax forgets"
            told = _largest(uneven, size) + " without that", constant, *said
            if blur and _near_keys_alike(left, right, shown):
                return Agreement(False, mistake=COLLAPSED[0], hint=COLLAPSED[1], notes=told)
            return Agreement(True, scores_agree=True, notes=told, **looked)
    if (torch.where(past, gap, 0.0).abs() <= 1e-6 * size).all():
        notes.append("they differ only for keys after the query: no matter if a mask hides those")
    found, wanted = (identify(t, kind="bias") for t in (yours, reference))
    told = _slopes_apart(found, wanted) or _changed(found, wanted)
    return Agreement(False, mistake=told[0], hint=told[1], notes=tuple(notes))


def _looked_at(shown: Tensor, apart: Tensor) -> dict[str, tuple[str, ...]]:
    """What shown entries let one see; a query must show two keys, as softmax forgets one number."""
    blind = (shown.sum(dim=-1) < 2).all(dim=-1).nonzero().flatten().tolist()
    found = {"compared": (f"{int(shown.sum())} entries",) if shown.any() else ()}
    if blind:
        heads = ", ".join(map(str, blind[:4])) + (", ..." if len(blind) > 4 else "")
        found["undecided"] = (f"heads {heads}: no query shows two keys, and softmax forgets one",)
    if apart.any():
        found["not_compared"] = (f"{int(apart.sum())} entries, which one hides and one shows",)
    return found


COLLAPSED = (
    "near keys get one number",
    "rounded in a form whose numbers are largest next to the query, where they matter most: make "
    "the bias in float32, or as minus slope times distance, unless the model was trained with this",
)


def _largest(gap: Tensor, size: Tensor) -> str:
    return f"largest difference {(gap.abs().max() / size).item():.2g} of the largest entry"


def _near_keys_alike(left: Tensor, right: Tensor, shown: Tensor) -> bool:
    """Whether steps between the keys next to the last query are off by half a step or more."""
    near = shown[:, -1].all(dim=0).nonzero().flatten()[-9:]
    mine, theirs = (t[:, -1, near].diff(dim=-1) for t in (left, right))
    return bool(((mine - theirs).abs() >= 0.5 * theirs.abs()).any())


def compare_tables(yours: Tensor, reference: Tensor, kind: str, tolerance: float) -> Agreement:
    """Tables of encodings, entry by entry.

    Of angles in float32, at position p, rounding explains 2^-22 p besides.
    """
    _same_shape(yours, reference)
    left, right = yours.detach().double(), reference.detach().double()
    size = right.abs().max().clamp(min=1e-30)
    gap = (left - right).abs() / size
    notes = (f"largest difference {gap.max().item():.2g} of the largest entry",)
    rounding = torch.full((len(gap), *[1] * (gap.ndim - 1)), 2.0**-20, dtype=torch.float64)
    if gap.ndim == 2 and identify(reference, kind=kind).data["method"] == "sinusoidal":
        rounding += 2.0**-22 * torch.arange(len(gap), dtype=torch.float64)[:, None]
    if (gap <= tolerance * rounding).all():
        return Agreement(True, notes=notes, compared=(f"{left.numel()} entries",))
    told = _changed(*(identify(t, kind=kind) for t in (yours, reference)))
    return Agreement(False, mistake=told[0], hint=told[1], notes=notes)


def _blurs(bias: Tensor) -> list[tuple[float, tuple[str, ...]]]:
    """By how much its entries may be rounded, and what is to be said then; float32 first."""
    low = precision_of(bias)
    if low is None:
        return [(0.0, ())]
    return [
        (0.0, ()),
        (torch.finfo(low).eps, (f"yours is rounded to {low}".replace("torch.", ""),)),
    ]


def _same_shape(yours: Tensor, reference: Tensor) -> None:
    if yours.shape != reference.shape:
        raise ValueError(
            f"yours must have the reference's shape {tuple(reference.shape)}, "
            f"got {tuple(yours.shape)}"
        )


def _slopes_apart(found: Identity, wanted: Identity) -> tuple[str, str] | None:
    """Whether all slopes are the reference's times one number."""
    if not found.data.get("slopes") or not wanted.data.get("slopes"):
        return None
    ratio = torch.tensor(found.data["slopes"]) / torch.tensor(wanted.data["slopes"])
    times = ratio.mean().item()
    if times <= 0 or (ratio - times).abs().max() > 2e-2 * times:
        return None
    square = round(max(times, 1 / times) ** 2)
    if square in (16, 32, 64, 80, 96, 128, 256) and math.isclose(
        max(times, 1 / times), math.sqrt(square), rel_tol=1e-2
    ):
        how = "not divided by" if times > 1 else "divided by"
        return (
            f"slopes {how} the root of the head's width",
            f"slopes are {number(round(times, 4))} times the reference's, sqrt({square}): Falcon "
            "divides its bias by sqrt(head_dim), as it does its scores, and no other model does",
        )
    return (
        f"slopes times {number(round(times, 4))}",
        f"every slope is {number(round(times, 4))} times the reference's",
    )


OTHER = "other "
"""How a mistake begins of which nothing is known but what came out otherwise."""


def _told(fact: str | None) -> str:
    """A fact, in quotation marks if it is a sentence."""
    return f'"{fact}"' if ":" in str(fact) else str(fact)


def _changed(found: Identity, wanted: Identity) -> tuple[str, str]:
    """What `identify` suspects in yours alone, or sees otherwise."""
    fresh = [text for text in found.warnings if text not in wanted.warnings]
    changed = [
        f"{key}: {_told(found.facts.get(key))}, not {_told(value)}"
        for key, value in wanted.facts.items()
        if found.facts.get(key) != value
    ]
    hint = "; ".join(changed[:4])
    if fresh:
        return fresh[0], hint
    if changed and "unknown" not in (found.data["method"], wanted.data["method"]):
        return f"{OTHER}{changed[0].partition(':')[0]}", hint
    return "", hint
