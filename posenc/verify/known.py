"""A known mistake, and the search for the one that was made."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Mistake:
    """A way to be wrong.

    Args:
        name: a few words.
        hint: what was done, and where to look.
        wrong: what someone who makes it gets, for the arguments of a case.
    """

    name: str
    hint: str
    wrong: Callable[..., object]


def recognise(
    mistakes: Iterable[Mistake],
    cases: Sequence[tuple],
    seen: Sequence[object],
    close: Callable[[object, object], bool],
) -> Mistake | None:
    """Find the first mistake that gives what was seen, in every case.

    Args:
        mistakes: the most specific ones first.
        cases: the arguments of each call.
        seen: what came back from each.
        close: whether two results are equal, all but rounding.

    Returns:
        The mistake, or None if it is none of these.

    Example:
        >>> minus = Mistake("sign", "minus for plus", lambda a, b: a - b)
        >>> recognise([minus], [(3, 1), (5, 5)], [2, 0], lambda a, b: a == b).name
        'sign'
    """
    for known in mistakes:
        if cases and all(
            _gives(known, case, values, close) for case, values in zip(cases, seen, strict=True)
        ):
            return known
    return None


def _gives(
    known: Mistake, case: tuple, values: object, close: Callable[[object, object], bool]
) -> bool:
    try:
        return close(values, known.wrong(*case))
    except Exception:  # it cannot be made for this case
        return False
