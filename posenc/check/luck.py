"""The question of chapter 7 on seeds: is one method better, or was it luck?

Pairs of losses are drawn whose truth is known: the method's own advantage, the difficulty of a
seed, which both methods share, and chance. What the answer says of many such pairs is counted.
"""

import math
from collections.abc import Callable

import torch
from torch import Generator, Tensor

from posenc.check.calls import Wrong
from posenc.check.plain import Values
from posenc.check.question import Probe

Numbers = Callable[..., Values]  # of arguments, and perhaps a seed

DRAWS = 150
FALSE = 0.12  # the share of claims that may be made where there is nothing
FOUND = 0.6  # the share of claims that must be made where there is something


def losses(generator: Generator, seeds: int, lead: float, shared: float) -> tuple[Tensor, Tensor]:
    """Losses of two methods, seed by seed.

    Args:
        generator: of the chance.
        seeds: how many.
        lead: how much lower the first method's are, in standard deviations of a difference.
        shared: how much seeds differ from each other, in the same unit.
    """
    level, one, other = torch.randn(3, seeds, generator=generator, dtype=torch.float64)
    unit = 0.02
    base = 2 + unit * shared * level
    return (
        base + unit * (one / math.sqrt(2) - lead),
        base + unit * other / math.sqrt(2),
    )


def _said(numbers: Numbers, first: Tensor, second: Tensor) -> int:
    values = numbers((first.tolist(), second.tolist()))
    if values.shape not in ((), (1,)) or values.flat[0] not in (-1.0, 0.0, 1.0):
        raise Wrong("it must return 1, 0 or -1", "One number: better, a tie, or worse.")
    return int(values.flat[0])


def _claims(numbers: Numbers, seed: int, seeds: int, lead: float, shared: float) -> list[int]:
    generator = Generator().manual_seed(seed)
    return [_said(numbers, *losses(generator, seeds, lead, shared)) for _ in range(DRAWS)]


def _require_symmetry(numbers: Numbers, seed: int, seeds: int) -> None:
    generator = Generator().manual_seed(seed)
    for lead in (0.0, 1.0, 3.0):
        first, second = losses(generator, seeds, lead, 3.0)
        said = _said(numbers, first, second)
        if _said(numbers, second, first) != -said:
            raise Wrong(
                "with the methods exchanged it does not say the opposite",
                "If the first beats the second, the second is beaten.",
            )
        order = torch.randperm(seeds, generator=generator)
        others = {
            "with the seeds in another order": (first[order], second[order]),
            "with all losses ten times as large": (10 * first, 10 * second),
            "with 1 added to all losses": (first + 1, second + 1),
        }
        for name, (one, other) in others.items():
            if _said(numbers, one, other) != said:
                raise Wrong(f"{name} it says something else", "Which unit is in your threshold?")


def _require_sign(numbers: Numbers, seed: int, seeds: int) -> None:
    first = torch.linspace(1.0, 1.01, seeds, dtype=torch.float64)
    if _said(numbers, first, first + 1 + 0.001 * first) != 1:
        raise Wrong(
            "it does not see that losses lower by 1, with every seed, are better",
            "A loss is the better the lower it is.",
        )
    if _said(numbers, first, first) != 0:
        raise Wrong("equal losses are no tie", "Is something divided by zero?")


def _require_caution(numbers: Numbers, seed: int, seeds: int) -> None:
    for shared in (0.0, 10.0):
        share = sum(map(abs, _claims(numbers, seed, seeds, 0.0, shared))) / DRAWS
        if share > FALSE:
            raise Wrong(
                f"of two equal methods with {seeds} seeds one is called better in {share:.0%} "
                "of all cases",
                "Some difference there always is. How large is it beside its own spread?",
            )


def _require_power(numbers: Numbers, seed: int, seeds: int) -> None:
    lead = 5 / math.sqrt(seeds)  # what a good rule finds nearly always
    for shared in (0.0, 10.0):
        share = _claims(numbers, seed, seeds, lead, shared).count(1) / DRAWS
        if share < FOUND:
            paired = "Both share their seeds. What is left if you take differences seed by seed?"
            few = "With more seeds one of them may disagree, and the mean still be clear."
            raise Wrong(
                f"a clear lead with {seeds} seeds is found in {share:.0%} of all cases",
                paired if shared else few,
            )


def parts(seed: int, *seeds: int) -> dict[str, Callable[[Numbers], None]]:
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

    def part(require: Callable[[Numbers, int, int], None]) -> Callable[[Numbers], None]:
        def in_all(numbers: Numbers) -> None:
            for count in seeds:
                require(numbers, seed, count)

        return in_all

    return {label: part(require) for label, require in required.items()}


better = Probe("better", parts(0, 5, 14), refuses=["posenc.lab.paired._interval"])
