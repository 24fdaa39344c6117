"""The question of chapter 7 on seeds: is one method better, or was it luck?

Pairs of losses are drawn whose truth is known: the method's own advantage, the difficulty of a
seed, which both methods share, and chance. What the answer says of many such pairs is counted.
They come in an order that is drawn, the better method first or second: nobody can count along.
"""

import functools
import math
import random
from collections.abc import Callable, Generator

import torch
from torch import Tensor

from posenc.check.again import Asked
from posenc.check.calls import Wrong
from posenc.check.encodings import NOT_THERE
from posenc.check.plain import Values
from posenc.check.question import Probe

Numbers = Callable[..., Values]  # of arguments, and perhaps a seed
Pauses = Generator[None, None, None]  # where questions of other parts may come between
Claims = Generator[None, None, list[int]]

DRAWS = 150
CLOSER = 600  # where these seem to break the promise, which chance may do
UNITS = (0.002, 0.1)  # of a difference, one or the other: who does not look cannot know it
FALSE = 0.12  # the share of claims that may be made where there is nothing
MARGIN = 2 * math.sqrt(FALSE * (1 - FALSE) / CLOSER)  # two standard errors of who keeps to it
FOUND = 0.6  # the share of claims that must be made where there is something


def losses(
    chance: random.Random, seeds: int, lead: float, shared: float, unit: float = 0.02
) -> tuple[Tensor, Tensor]:
    """Losses of two methods, seed by seed.

    Args:
        chance: draws them. (A generator of torch has seeds of 32 bits, which can all be tried.)
        seeds: how many.
        lead: how much lower the first method's are, in standard deviations of a difference.
        shared: how much seeds differ from each other, in the same unit.
        unit: this standard deviation.
    """
    drawn = [[chance.gauss() for _ in range(seeds)] for _ in range(3)]
    level, one, other = torch.tensor(drawn, dtype=torch.float64)
    base = 5 + unit * shared * level
    return (
        base + unit * (one / math.sqrt(2) - lead),
        base + unit * other / math.sqrt(2),
    )


def _said(numbers: Numbers, first: Tensor, second: Tensor) -> int:
    values = numbers((first.tolist(), second.tolist()))
    if values.shape not in ((), (1,)) or values.flat[0] not in (-1.0, 0.0, 1.0):
        raise Wrong("it must return 1, 0 or -1", "One number: better, a tie, or worse.")
    return int(values.flat[0])


def _claims(
    numbers: Numbers, seed: int, seeds: int, lead: float, shared: float, draws: int = DRAWS
) -> Claims:
    """What is said of many pairs, 1 where the one with the lead is called better."""
    chance = random.Random(seed)
    found = []
    for _ in range(draws):
        yield
        unit = chance.choice(UNITS)
        first, second = losses(chance, seeds, lead, shared, unit)
        if chance.random() < 0.5:
            found.append(_said(numbers, first, second))
        else:
            found.append(-_said(numbers, second, first))
    return found


def _require_symmetry(numbers: Numbers, seed: int, seeds: int) -> Pauses:
    chance = random.Random(seed)
    for lead in (0.0, 1.0, 3.0):
        yield
        first, second = losses(chance, seeds, lead, 3.0)
        said = _said(numbers, first, second)
        if _said(numbers, second, first) != -said:
            raise Wrong(
                "with the methods exchanged it does not say the opposite",
                "If the first beats the second, the second is beaten.",
            )
        order = chance.sample(range(seeds), seeds)
        others = {
            "with the seeds in another order": (first[order], second[order]),
            "with all losses ten times as large": (10 * first, 10 * second),
            "with 1 added to all losses": (first + 1, second + 1),
        }
        for name, (one, other) in others.items():
            yield
            if _said(numbers, one, other) != said:
                raise Wrong(f"{name} it says something else", "Which unit is in your threshold?")


def _require_sign(numbers: Numbers, seed: int, seeds: int) -> Pauses:
    first = torch.linspace(1.0, 1.01, seeds, dtype=torch.float64)
    if _said(numbers, first, first + 1 + 0.001 * first) != 1:
        raise Wrong(
            "it does not see that losses lower by 1, with every seed, are better",
            "A loss is the better the lower it is.",
        )
    yield
    if _said(numbers, first, first) != 0:
        raise Wrong("equal losses are no tie", "Is something divided by zero?")


def _require_caution(numbers: Numbers, seed: int, seeds: int) -> Pauses:
    for shared in (0.0, 10.0):
        said = yield from _claims(numbers, seed, seeds, 0.0, shared)
        if sum(map(abs, said)) <= FALSE * DRAWS:
            continue
        said = yield from _claims(numbers, seed + 2, seeds, 0.0, shared, CLOSER)
        share = sum(map(abs, said)) / CLOSER
        if share > FALSE + MARGIN:
            raise Wrong(
                f"of two equal methods with {seeds} seeds one is called better in {share:.0%} "
                "of all cases",
                "Some difference there always is. How large is it beside its own spread?",
            )


def _require_power(numbers: Numbers, seed: int, seeds: int) -> Pauses:
    lead = 5 / math.sqrt(seeds)  # what a good rule finds nearly always
    for shared in (0.0, 10.0):
        said = yield from _claims(numbers, seed + 1, seeds, lead, shared)
        share = said.count(1) / DRAWS
        if share < FOUND:
            paired = "Both share their seeds. What is left if you take differences seed by seed?"
            few = "With more seeds one of them may disagree, and the mean still be clear."
            raise Wrong(
                f"a clear lead with {seeds} seeds is found in {share:.0%} of all cases",
                paired if shared else few,
            )


def parts(seed: int, *seeds: int) -> dict[str, Callable[[Numbers], Pauses]]:
    """What a rule must do.

    Args:
        seed: of what is drawn.
        seeds: numbers of pairs of losses; all are tried in each part.
    """
    required = {
        "lower is better": _require_sign,
        "names, order and units do not matter": _require_symmetry,
        "equal methods are called equal": _require_caution,
        "a clear lead is found": _require_power,
    }

    def part(require: Callable[[Numbers, int, int], Pauses]) -> Callable[[Numbers], Pauses]:
        def in_all(numbers: Numbers) -> Pauses:
            for count in seeds:
                yield from require(numbers, seed, count)

        return in_all

    return {label: part(require) for label, require in required.items()}


asked = functools.partial(Asked, chance=0.15)  # resampling may draw random numbers itself
better = Probe("better", parts(0, 5, 14), refuses=NOT_THERE, asked=asked)
