"""What the instructor knows of a question: how to compute what is right and what is wrong.

`Comparison.question` puts numbers on record, for the visible cases or for hidden ones; whoever
has the numbers can check an answer, and cannot compute another case.
"""

import functools
import itertools
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from posenc import check
from posenc.check import Question, Values

_OWN = "the check in your notebook: "  # before the label of a visible case
_ANEW = "other numbers of the same sizes"
_KEPT = "Is something kept from an earlier call? It must be a function of its arguments."
_WHOLE = (int, bool, str)  # sizes and choices, the same in both
_DRAWS = 200  # in which there may be a case of the same sizes
_SEEDS = 8  # in which a label that is always the same has nothing drawn in it


class Case:
    """One thing to ask of an answer.

    Args:
        label: for the student.
        arguments: what the answer is given.
        way: how it is asked, see `posenc.check.ways`.
        tolerance: largest difference that counts as equal; the question's own by default.
        alone: the hint if this is wrong alone; such a case is tried after all others are right.
    """

    def __init__(
        self,
        label: str,
        *arguments: object,
        way: str = "call",
        tolerance: float | None = None,
        alone: str = "",
    ):
        self.label, self.arguments, self.way = label, arguments, way
        self.tolerance, self.alone = tolerance, alone


@dataclass(frozen=True)
class Misconception:
    """A way to be wrong.

    Args:
        name: two or three words, for the class page.
        hint: where to look; no solution.
        wrong: what someone who has it would return, for the arguments of a case.
    """

    name: str
    hint: str
    wrong: Callable[..., object]


class Draw:
    """The numbers that hidden cases are made of; one seed and one name give the same ones."""

    def __init__(self, seed: int, name: str):
        self._random = random.Random(f"{seed} {name}")
        self.integer, self.uniform = self._random.randint, self._random.uniform
        self.choice, self.sample = self._random.choice, self._random.sample

    def base(self, low: float = 100.0, high: float = 20_000.0) -> float:
        """A base of frequencies, a whole number that nobody has in his code."""
        return float(round(low * (high / low) ** self._random.random())) + 3.0

    def normal(self, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
        """Normal numbers, with four decimals."""
        generator = torch.Generator().manual_seed(self._random.getrandbits(62))
        return torch.randn(shape, generator=generator, dtype=dtype).round(decimals=4)

    def unordered(self, numbers: Sequence[int], size: int) -> list[int]:
        """Some of the numbers, three or more, in an order that is neither rising nor falling."""
        while True:
            found = self.sample(numbers, size)
            if sorted(found) not in (found, found[::-1]):
                return found

    def permutation(self, size: int) -> list[int]:
        """Numbers from 0 on in another order; never in their own, nor one that is its inverse."""
        while True:
            order = self.sample(range(size), size)
            if size < 3 or any(order[order[i]] != i for i in range(size)):
                return order


@dataclass(frozen=True)
class Test:
    """A hidden test: all its cases must be right; in a question's last, the visible ones as well.

    Args:
        points: for all of them.
        label: what it tries, for the student.
        draw: makes its cases.
    """

    points: float
    label: str
    draw: Callable[[Draw], list[Case]]

    def public_labels(self) -> set[str]:
        """The labels of its cases in which nothing is drawn: they are the same for all seeds."""
        drawn = (self.draw(Draw(seed, self.label)) for seed in range(_SEEDS))
        return set.intersection(*({getattr(c, "label", c) for c in cases} for cases in drawn))


class Comparison:
    """The answer is a function or a class; its numbers are compared with those of a reference.

    Args:
        name: its name in the notebook.
        reference: the right function; or one for each way in which the answer is asked.
        cases: the visible ones.
        misconceptions: known ways to be wrong, the most specific ones first; they are asked as
            the first way is.
        tests: the hidden ones.
        where: how a place in the result is named, with one {} for each axis, and a function of
            the arguments that gives the names on each axis.
        tolerance: see `posenc.check.Question`, like `seconds`, `refuses` and `hints`.
        seconds: time limit of a case.
        refuses: functions of `posenc` that the answer may not call.
        hints: for wrong answers that are not recognised.
    """

    def __init__(
        self,
        name: str,
        reference: Callable[..., object] | Mapping[str, Callable[..., object]],
        cases: Sequence[Case],
        misconceptions: Sequence[Misconception] = (),
        *,
        tests: Sequence[Test] = (),
        where: tuple[str, Callable[..., Sequence[Sequence[str]]]] | None = None,
        tolerance: float = 1e-4,
        seconds: float = 10.0,
        refuses: Sequence[str] = (),
        hints: Mapping[str, str] | None = None,
    ):
        self.name, self.cases, self.misconceptions = name, tuple(cases), tuple(misconceptions)
        self.references = reference if isinstance(reference, Mapping) else {"call": reference}
        self.tests, self.where = tuple(tests), where
        self.settings = {
            "tolerance": tolerance,
            "seconds": seconds,
            "refuses": tuple(refuses),
            "hints": dict(hints) if hints else None,
        }

    def question(self, cases: Sequence[Case] | None = None) -> Question:
        """What is on record for cases; for the visible ones by default."""
        return Question(
            self.name,
            tuple(map(self._recorded, self.cases if cases is None else cases)),
            tuple((known.name, known.hint) for known in self.misconceptions),
            where=self.where[0] if self.where else "",
            **self.settings,
        )

    def drawn(self, seed: int) -> list[Question]:
        """The hidden tests in order, with the numbers that a seed gives.

        Each asks a case with other numbers of the same sizes again, if it has one: who keeps a
        table from call to call, by its size, is wrong there.
        """
        found = []
        for number, test in enumerate(self.tests):
            cases = test.draw(Draw(seed, f"{self.name} {number}"))
            draw = Draw(seed, f"{self.name} {number} anew")
            pairs = itertools.islice(_anew(cases, test, draw), _DRAWS)
            other = next((two for one, two in pairs if self._tells(one, two)), None)
            found.append(self.question([*cases, other] if other else cases))
        return found

    def _tells(self, one: Case, two: Case) -> bool:
        """Whether the second is wrong with any one of its arguments as in the first."""
        right = self._right(two.way, two.arguments)
        return not any(
            self._right(two.way, (*two.arguments[:place], old, *two.arguments[place + 1 :])).close(
                right, two.tolerance or self.settings["tolerance"]
            )
            for place, old in enumerate(one.arguments)
            if type(old) not in _WHOLE
        )

    def _right(self, way: str, arguments: tuple) -> Values:
        return Values.read(self.references[way](*arguments))

    def hidden(self, seed: int) -> list[Question]:
        """The hidden tests in order; the last one asks the visible cases, too.

        So no answer gets all points if its own check is red.
        """
        drawn = self.drawn(seed)
        return [*drawn[:-1], replace(drawn[-1], cases=(*drawn[-1].cases, *self._visible))]

    def public_labels(self) -> set[str]:
        """The labels that say nothing of what is drawn."""
        return {case.label for case in self._visible}.union(
            *(test.public_labels() for test in self.tests)
        )

    @functools.cached_property
    def _visible(self) -> tuple[check.Case, ...]:
        """The visible cases as they are on record, where they are: a student has no others."""
        if self.name not in check.names():
            return ()
        return tuple(replace(c, label=_OWN + c.label) for c in check.named(self.name).cases)

    def _recorded(self, case: Case) -> check.Case:
        wrong = self.misconceptions if case.way == next(iter(self.references)) else ()
        return check.Case(
            case.label,
            case.arguments,
            self._right(case.way, case.arguments),
            tuple(_given(known.wrong, case.arguments) for known in wrong),
            case.way,
            case.tolerance,
            tuple(map(tuple, self.where[1](*case.arguments))) if self.where else (),
            case.alone,
        )


class Judged:
    """Many answers are right: each test measures properties of what the answer returns.

    Args:
        name: the name of the answer in the notebook.
        tests: the hidden ones; `draw` makes the parts of a `posenc.check.Probe`.
    """

    misconceptions = ()

    def __init__(self, name: str, tests: Sequence[Test]):
        self.name, self.tests = name, tuple(tests)

    @functools.cached_property
    def settings(self) -> dict:
        """Those of the visible one."""
        return {"refuses": self.question().refuses, "asked": self.question().asked}

    def question(self) -> check.Probe:
        """The visible one; it knows no answer, so the package has it."""
        return check.named(self.name)

    def public_labels(self) -> set[str]:
        """The labels that say nothing of what is drawn."""
        return set(self._visible).union(*(test.public_labels() for test in self.tests))

    @property
    def _visible(self) -> dict[str, Callable]:
        return {_OWN + label: part for label, part in self.question().parts.items()}

    def hidden(self, seed: int) -> list[check.Probe]:
        """The hidden tests in order, with the settings that a seed gives; as of a `Comparison`."""
        draws = [Draw(seed, f"{self.name} {number}") for number in range(len(self.tests))]
        parts = [test.draw(draw) for test, draw in zip(self.tests, draws, strict=True)]
        parts[-1] = parts[-1] | self._visible
        return [
            check.Probe(self.name, measured, seed=draw.integer(0, 2**62), **self.settings)
            for draw, measured in zip(draws, parts, strict=True)
        ]


def _anew(cases: list[Case], test: Test, draw: Draw) -> Iterator[tuple[Case, Case]]:
    """Some of a test's cases, each with one of its sizes and whole numbers, and all others anew."""
    for _ in range(_DRAWS):
        for case, other in zip(cases, test.draw(draw), strict=False):
            pairs = list(zip(case.arguments, other.arguments, strict=False))
            if case.way == other.way and not all(type(one) in _WHOLE for one, _ in pairs):
                arguments = [_another(one, two, draw) for one, two in pairs]
                if not any(argument is None for argument in arguments):
                    settings = {"way": case.way, "tolerance": case.tolerance, "alone": _KEPT}
                    yield case, Case(_ANEW, *arguments, **settings)


def _another(one: object, two: object, draw: Draw) -> object:
    """Another argument of the same size, the second if that is one; a whole number stays."""
    if type(one) in _WHOLE:
        return one
    if isinstance(one, list) and all(type(part) is int for part in one):
        found = draw.sample(one, len(one))
        return found if found != one else None
    if isinstance(one, Tensor) and isinstance(two, Tensor):
        is_alike = one.shape == two.shape and one.dtype == two.dtype
        return two if is_alike and not one.equal(two) else None
    return two if type(one) is type(two) is float and one != two else None


def _given(wrong: Callable[..., object], arguments: tuple) -> Values | None:
    try:
        return Values.read(wrong(*arguments))
    except Exception:  # it cannot be computed for this case, or is no answer there
        return None


@functools.cache
def masters() -> dict[str, "Comparison | Judged"]:
    """All questions of the book, in order."""
    from grading.questions import CHAPTERS

    found = [m for chapter in CHAPTERS for m in vars(chapter).values()]
    return {m.name: m for m in found if isinstance(m, Comparison | Judged)}
