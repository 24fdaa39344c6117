"""Ask again: what is asked for must be a function, of its arguments and of nothing else.

An answer that counts its calls could know what is asked next, if order and number were the same
for all. So they are drawn, and now and then a question that was asked before comes again.
"""

import random
from collections.abc import Callable

import torch

from posenc.check.calls import Wrong
from posenc.check.plain import Values

CHANGED = "the same call, made again, gives another result"
HINT = "Does it keep something from call to call, or draw random numbers?"
OFTEN = 0.25  # how probable it is after each question that an earlier one comes again
LAST = (3, 9)  # how many come again at the end
TOLERANCE = 1e-4


class Asked:
    """The numbers of an answer, and whether it keeps to them.

    Args:
        numbers: gives numbers for arguments, and perhaps a seed, or raises `Wrong`.
        draw: what is asked again, and when.
        chance: the share that may change, where answers may themselves draw random numbers.
    """

    def __init__(self, numbers: Callable[..., Values], draw: random.Random, *, chance: float = 0.0):
        self._numbers, self._draw, self._chance = numbers, draw, chance
        self._known: list[tuple[tuple, Values]] = []
        self._compared, self._changed = 0, 0

    def __call__(self, arguments: tuple, seed: int | None = None) -> Values:
        """Ask, and perhaps something else again."""
        values = self._numbers(arguments, seed=seed)
        self._known.append((arguments, values))
        if self._draw.random() < OFTEN:
            self._again()
        return values

    def keeps(self) -> bool:
        """Whether what was asked before has been answered as before; asked some times more."""
        for _ in range(self._draw.randint(*LAST) if self._known else 0):
            self._again()
        return self._changed <= self._chance * self._compared

    def _again(self) -> None:
        arguments, values = self._draw.choice(self._known)
        self._count(self._same(arguments, values))

    def _same(self, arguments: tuple, values: Values) -> bool:
        try:
            return self._numbers(arguments).close(values, TOLERANCE)
        except Wrong:
            return False

    def _count(self, same: bool) -> None:
        self._compared += 1
        self._changed += not same


class AskedByRows(Asked):
    """The same of an answer that gives a row for each entry of its first argument.

    The entry alone decides on the row, whatever else is asked for with it, and in which order.
    """

    MOST = 64  # entries that are asked again at once

    def __init__(self, *given: object, **settings: object):
        super().__init__(*given, **settings)
        self._rows: dict[str, dict[int, tuple[float, ...]]] = {}

    def __call__(self, arguments: tuple, seed: int | None = None) -> Values:
        """Ask; every row must be what it was in any other call."""
        values = super().__call__(arguments, seed=seed)
        self._count(self._fits(arguments, values))
        return values

    def _again(self) -> None:
        (entries, *others), _ = self._draw.choice(self._known)
        known = self._rows.get(str(others)) or dict.fromkeys(entries.tolist())
        some = self._draw.sample(sorted(known), min(len(known), self.MOST))
        arguments = (torch.tensor(some, dtype=entries.dtype, device="cpu"), *others)
        try:
            self._count(self._fits(arguments, self._numbers(arguments)))
        except Wrong:
            self._count(same=False)

    def _fits(self, arguments: tuple, values: Values) -> bool:
        entries, *others = arguments
        rows = values.rows()
        if len(rows) != len(entries):
            return True  # it is told so elsewhere
        known = self._rows.setdefault(str(others), {})
        return all(
            _close(known.setdefault(entry, row), row)
            for entry, row in zip(entries.tolist(), rows, strict=True)
        )


def _close(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one == other or Values((len(one),), one).close(Values((len(other),), other), TOLERANCE)
