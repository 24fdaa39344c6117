"""The question of chapter 7 on reading far: a share of right answers becomes a distance.

Readers whose reach is known are planted, and what the answer says of them is measured.
"""

import functools
import math
import statistics
from collections.abc import Callable, Mapping, Sequence

from posenc.check.calls import Wrong
from posenc.check.plain import Values
from posenc.check.question import Probe

Numbers = Callable[..., Values]  # of arguments, and perhaps a seed

NEARLY = 0.1  # of a reach that is known
LENGTHS = (32, 64, 128, 256)


def shares(reach: float, lengths: Sequence[int], chance: float) -> list[float]:
    """What a perfect reader of the last so many symbols finds: it guesses the rest.

    Example:
        >>> shares(32, (32, 64), 0.0)
        [1.0, 0.5]
    """
    seen = [min(1.0, reach / length) for length in lengths]
    return [share + (1 - share) * chance for share in seen]


def _said(numbers: Numbers, lengths: Sequence[int], found: Sequence[float], chance: float) -> float:
    values = numbers((list(lengths), list(found), chance))
    if values.shape not in ((), (1,)):
        raise Wrong(f"its result has the shape {list(values.shape)}, not []", "One number.")
    if not math.isfinite(values.flat[0]):
        raise Wrong("it gives no finite number", "Is something divided by zero?")
    return values.flat[0]


def _require_known(numbers: Numbers, reach: float, lengths: Sequence[int], chance: float) -> None:
    said = _said(numbers, lengths, shares(reach, lengths, chance), chance)
    if abs(said - reach) <= NEARLY * reach:
        return
    hint = "Which lines tell readers of this reach apart? In short ones all are right."
    if abs(said - _said(numbers, lengths, shares(reach, lengths, 0.0), 0.0)) > NEARLY * reach:
        hint = "Who guesses finds some, too. How many of those that it finds has it read?"
    raise Wrong(f"a reader of the last {reach:g} symbols is said to read {said:.4g}", hint)


def _require_ends(numbers: Numbers, lengths: Sequence[int], chance: float) -> None:
    longest = lengths[-1]
    said = _said(numbers, lengths, [1.0] * len(lengths), chance)
    if not (1 - NEARLY) * longest <= said <= longest * (1 + 1e-6):
        raise Wrong(
            f"who finds all in lines up to {longest} is said to read {said:.4g}",
            "It read all of the longest line; nobody showed it a longer one.",
        )
    for lost in (0.0, 0.01):  # a little less than a guess is chance, too
        said = _said(numbers, lengths, [chance - lost] * len(lengths), chance)
        if not 0 <= said <= 2:
            raise Wrong(
                f"who only guesses is said to read {said:.4g}",
                "Who reads nothing has the reach 0, also when it was unlucky.",
            )


def _require_rising(numbers: Numbers, lengths: Sequence[int], chance: float) -> None:
    for reach in (10, 30, 60, 120):
        found = shares(reach, lengths, chance)
        before = _said(numbers, lengths, found, chance)
        for place in range(len(lengths)):
            better = [min(1.0, s + 0.05 * (n == place)) for n, s in enumerate(found)]
            if _said(numbers, lengths, better, chance) < before - 1e-6:
                raise Wrong(
                    f"who finds more at {lengths[place]} is said to read less far",
                    "No share that rises may lower the reach.",
                )


@functools.cache
def recorded_shares() -> dict[str, tuple[float, ...]]:
    """Method -> the share of passkeys found at each of `LENGTHS`, the mean over the seeds."""
    from posenc.lab.records import recorded
    from posenc.lab.study import tested

    found = tested("passkey", "at 2x", recorded())
    return {
        method: tuple(statistics.mean(r.results[n]["accuracy"] for r in some) for n in LENGTHS)
        for method, some in found.items()
        if all(isinstance(r.results[n], dict) for r in some for n in LENGTHS)
    }


def _require_order(numbers: Numbers) -> None:
    said = {m: _said(numbers, LENGTHS, s, 1 / 16) for m, s in recorded_shares().items()}
    for one, first in recorded_shares().items():
        for other, second in recorded_shares().items():
            ahead = all(a > b + 0.02 for a, b in zip(first[1:], second[1:], strict=True))
            if ahead and said[one] <= said[other]:
                raise Wrong(
                    f"{one} finds more than {other} at every length, but is said to read no "
                    f"farther: {said[one]:.4g} and {said[other]:.4g}",
                    "Two readers that differ at 256 only differ in reach.",
                )


def parts(
    readers: Mapping[float, Sequence[int]], chance: float
) -> dict[str, Callable[[Numbers], None]]:
    """What a measure of reach must do.

    Args:
        readers: reach -> lengths of the lines by which it is to be found, the last the longest.
        chance: the share that a guess finds.
    """

    def known(numbers: Numbers) -> None:
        for reach, lengths in readers.items():
            _require_known(numbers, reach, lengths, chance)

    last = list(readers.values())[-1]
    return {
        "readers whose reach is known": known,
        "who finds all, and who guesses": lambda numbers: _require_ends(numbers, last, chance),
        "more is not less": lambda numbers: _require_rising(numbers, last, chance),
        "the models on record": _require_order,
    }


reach = Probe("reach", parts({20: LENGTHS, 50: LENGTHS, 200: LENGTHS}, 1 / 16))
