"""T5's buckets of relative positions: settings and known mistakes, from the buckets alone."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable

import torch
from torch import Tensor

from posenc.t5 import t5_buckets
from posenc.verify.known import Mistake, recognise
from posenc.verify.standing import elsewhere, relative_in, require_first_query, spots

Found = tuple[dict, dict, tuple, tuple]  # facts, data, warnings, unknown
FEWEST = 8
"""How many different buckets some rows of a matrix must show to tell their rule."""


def identify_buckets(buckets: Tensor | Callable[[Tensor], Tensor]) -> Found:
    """Name a bucketing of relative positions: a function of key - query, or its matrix [q, k].

    Of fewer queries than keys it is found out where they stand.
    """
    relative, seen = by_distance(buckets)
    if not isinstance(buckets, Tensor) or buckets.shape[0] >= buckets.shape[1]:
        return _named(relative, seen)
    q, k = buckets.shape
    if len(seen.unique()) < FEWEST:
        shown = ", ".join(map(str, seen.unique().tolist()))
        facts = {"form": f"no buckets but {shown}: too few to tell"}
        return facts, {"method": "unknown"}, (), ("the rule, and where queries stand",)
    first = standing_at(seen, q)
    for start in dict.fromkeys((k - q, k - q if first is None else first)):
        facts, data, warnings, unknown = found = _named(relative + k - q - start, seen)
        if data["method"] != "unknown":
            at_end = "the last keys" if start == k - q else "not the last keys"
            facts["queries"] = f"at {spots(start, q)} of {k} keys, {at_end}"
            data["first_query"] = start
            more = () if start == k - q else (elsewhere(start, q, k),)
            return facts, data, warnings, (*more, *unknown)
    return found


def _named(relative: Tensor, seen: Tensor) -> Found:
    for flipped in (False, True):
        r = -relative if flipped else relative
        one_side = bool((r <= 0).all())
        for both in (not one_side, one_side):
            fits = _bucket_settings(seen, r, both)
            if fits:
                facts, data, warnings, unknown = _bucket_report(fits, both, flipped)
                return facts, data, warnings, (*((NO_KEYS_AFTER,) * one_side), *unknown)
    facts = {"form": f"{len(seen.unique())} buckets that are not T5's"}
    for count, distance in ((32, 128), (64, 128), (32, 256), (16, 64)):
        for both in (True, False):
            right = {"num_buckets": count, "max_distance": distance, "bidirectional": both}
            known = recognise(bucket_mistakes(**right), [(relative,)], [seen], torch.equal)
            if known:
                facts["form"] = f"nearly T5's buckets: {known.name}"
                facts |= _settings(count, distance, both)
                warning = f"{known.name}: {known.hint}"
                return facts, {"method": "t5", **right, "mistake": known.name}, (warning,), ()
    return facts, {"method": "unknown"}, (), ("the rule",)


NO_KEYS_AFTER = (
    "whether keys after the query have buckets of their own: none is seen; an encoder with twice "
    "as many buckets gives these"
)


def standing_at(seen: Tensor, q: int) -> int | None:
    """The key at which the first query stands, by its bucket: no key before it has bucket 0.

    Args:
        seen: buckets along the diagonals of a matrix, from `by_distance`.
        q: how many queries it has.
    """
    zero = (seen == 0).nonzero().flatten()
    first = int(zero[0]) + 1 - q if len(zero) else -1
    return first if first >= 0 else None


def by_distance(
    buckets: Tensor | Callable, first_query: int | None = None
) -> tuple[Tensor, Tensor]:
    """Relative positions (key - query), rising, and the bucket of each.

    Args:
        buckets: a matrix [q, k]; or a function of relative positions, of a tensor of them or of
            one number.
        first_query: the key at which the first query of a matrix stands; otherwise the last one
            stands at the last key.

    Raises:
        ValueError: if a matrix has other axes, or buckets that do not depend on key - query alone;
            or if a function gives no integer for each relative position.
    """
    if isinstance(buckets, Tensor):
        if buckets.ndim != 2 or buckets.is_floating_point():
            raise ValueError(
                "buckets must be integers [q, k], before the learned numbers are looked up, got "
                f"{buckets.dtype} of shape {tuple(buckets.shape)}"
            )
        if buckets.numel() == 0:
            return torch.zeros(0, dtype=torch.long), torch.zeros(0, dtype=torch.long)
        q, k = buckets.shape
        require_first_query(first_query, q, k)
        relative = torch.arange(1 - q, k) + relative_in(q, k, first_query)[0, 0]
        seen = torch.cat((buckets[1:, 0].flip(0), buckets[0])).long()
        again = seen[torch.arange(k) - torch.arange(q)[:, None] + q - 1]
        if not torch.equal(again, buckets.long()):
            row, column = (again != buckets.long()).nonzero()[0].tolist()
            raise ValueError(
                "buckets must depend on key - query alone, queries and keys in order; got "
                f"{int(buckets[row, column])} at [{row}, {column}] and {int(again[row, column])} "
                "elsewhere on that diagonal"
            )
        return relative, seen
    return RELATIVE, _asked(buckets)


RELATIVE = torch.arange(-2000, 2001)


def _asked(rule: Callable) -> Tensor:
    """The bucket of each of RELATIVE: all at once, or else one by one."""
    advice = (
        "a rule of buckets is called with relative positions, key - query, an integer tensor "
        f"[{len(RELATIVE)}] or one int at a time; a rule of two positions is wrapped, "
        "lambda relative: f(relative, 0) where f takes the key first"
    )
    try:
        seen = rule(RELATIVE)
        if isinstance(seen, Tensor) and seen.shape == RELATIVE.shape:
            return seen.long()
    except Exception:  # it takes one number at a time, perhaps
        seen = None
    try:
        return torch.tensor([operator.index(rule(r)) for r in RELATIVE.tolist()])
    except Exception as error:
        raise ValueError(f"{advice}; it failed: {type(error).__name__}: {error}") from None


def bucket_mistakes(*, num_buckets: int, max_distance: int, bidirectional: bool) -> list[Mistake]:
    """Known ways to get these buckets wrong; `wrong` takes relative positions, key - query."""
    right = {
        "num_buckets": num_buckets,
        "max_distance": max_distance,
        "bidirectional": bidirectional,
    }
    other = {**right, "bidirectional": not bidirectional}
    sided = num_buckets // 2 if bidirectional else num_buckets

    def log_part(
        r: Tensor, *, exact: int = sided // 2, base: float = max_distance, count: int = sided
    ) -> Tensor:
        """T5's rule, spelled out so that its numbers can be got wrong one by one."""
        distance = r.abs() if bidirectional else (-r).clamp(min=0)
        grown = (distance.clamp(min=1) / exact).log() / math.log(base / exact) * (count - exact)
        far = (exact + grown.long()).clamp(max=count - 1)
        near = torch.where(distance < exact, distance, far)
        return near + (r > 0) * (sided if bidirectional else 0)

    return [
        Mistake(
            "both sides for a decoder" if not bidirectional else "one side for an encoder",
            "bidirectional has the wrong value: an encoder has buckets for keys on both sides, a "
            "decoder for those before the query alone",
            lambda r: t5_buckets(r, **other),
        ),
        Mistake(
            "the sign is exchanged",
            "T5 counts key - query",
            lambda r: t5_buckets(-r, **right),
        ),
        Mistake(
            "both sides for a decoder, and the sign exchanged"
            if not bidirectional
            else "one side for an encoder, and the sign exchanged",
            "bidirectional has the wrong value, and T5 counts key - query",
            lambda r: t5_buckets(-r, **other),
        ),
        Mistake(
            "max_exact of all buckets",
            "half of the buckets of one side are exact, not half of all",
            lambda r: log_part(r, exact=num_buckets // 2),
        ),
        Mistake(
            "max_exact of all buckets, within all",
            "buckets are halved for the two sides after the rule, not before it",
            lambda r: log_part(r, exact=num_buckets // 2, count=num_buckets),
        ),
        Mistake(
            "both sides in one",
            "keys after the query get the buckets of those before it",
            lambda r: t5_buckets(-r.abs(), **{**right, "num_buckets": sided, **_ONE}),
        ),
        Mistake(
            "logarithm over the whole distance",
            "the logarithm is divided by that of max_distance, not of max_distance/max_exact",
            lambda r: log_part(r, base=max_distance * (sided // 2)),
        ),
    ]


_ONE = {"bidirectional": False}


def _settings(count: int, distance: int, both: bool) -> dict[str, str]:
    return {
        "num_buckets": str(count),
        "max_distance": str(distance),
        "direction": "both sides (encoder)" if both else "keys before the query (decoder)",
    }


def _bucket_settings(seen: Tensor, relative: Tensor, both: bool) -> list[tuple[int, int]]:
    """Numbers of buckets and distances that give exactly these."""
    top = int(seen.max()) + 1
    counts = [32, 64, 16, 8, 128, 256, 10, 12, 20, 24, 40, 48, 96, 320]
    near = [n for n in dict.fromkeys((top, *counts)) if top <= n <= 4 * top + 4 and n >= 4]
    usual = [128, 64, 256, 32, 512, 800, 1000, 1024, 2048, 16, 500, 20, 40]
    few = (relative.abs() < 40).nonzero().flatten()
    for count in near:
        if both and count % 2:
            continue
        exact = (count // 2 if both else count) // 2
        fits = []
        for distance in dict.fromkeys((*usual, *range(exact + 1, 300))):
            if distance <= exact:
                continue
            settings = {"num_buckets": count, "max_distance": distance, "bidirectional": both}
            if torch.equal(t5_buckets(relative[few], **settings), seen[few]) and torch.equal(
                t5_buckets(relative, **settings), seen
            ):
                fits.append((count, distance))
        if fits:
            return fits
    return []


def _bucket_report(fits: list[tuple[int, int]], both: bool, flipped: bool) -> Found:
    count, distance = fits[0]
    warnings = ("the sign is exchanged: T5 counts key - query",) if flipped else ()
    others = [d for _, d in fits[1:4]]
    facts = {"form": "T5's buckets", **_settings(count, distance, both)}
    data = {
        "method": "t5",
        "num_buckets": count,
        "max_distance": distance,
        "bidirectional": both,
        "sign": -1 if flipped else 1,
    }
    unknown = ("the learned numbers of the buckets, and that scores are not scaled",)
    if others:
        shown = ", ".join(map(str, others))
        unknown = (f"which max_distance: {shown} give the same buckets as far as seen", *unknown)
    return facts, data, warnings, unknown
