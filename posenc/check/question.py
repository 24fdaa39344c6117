"""A question: cases to try an answer on, and the misconceptions that wrong answers look like."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from posenc.check.calls import UNANSWERED, TooSlow, Wrong, call, kind, require_answer

__all__ = ["Case", "Comparison", "Misconception", "Probe", "Verdict", "Wrong"]


@dataclass(frozen=True)
class Part:
    """One thing that was tried, what was wrong with it, if anything, and with what arguments."""

    label: str
    fault: str = ""
    given: str = ""

    @property
    def passed(self) -> bool:
        """Whether nothing was wrong."""
        return not self.fault


@dataclass(frozen=True)
class Verdict:
    """What a check found; printing it shows everything.

    Args:
        question: name of the question.
        parts: what was tried.
        misconception: which one the answer looks like, "" if none is recognised.
        hint: where to look, "" if there is nothing to say.
    """

    question: str
    parts: tuple[Part, ...]
    misconception: str = ""
    hint: str = ""

    @property
    def passed(self) -> bool:
        """Whether every part passed."""
        return all(part.passed for part in self.parts)

    def require(self) -> None:
        """Raise an AssertionError with the whole verdict, unless everything passed."""
        if not self.passed:
            raise AssertionError(str(self))

    def __str__(self) -> str:
        count, faults = len(self.parts), [part.fault for part in self.parts if part.fault]
        if len(faults) == count and len(set(faults)) == 1:
            lines = [f"{self.question}: {'' if faults[0] == UNANSWERED else 'wrong: '}{faults[0]}"]
        else:
            total = f"wrong, in {len(faults)} of {count} cases" if faults else "right"
            lines = [f"{self.question}: {total}"]
            for part in self.parts:
                given = f": {part.given}" if part.given and part.fault else ""
                lines.append(f"  {'yes' if part.passed else 'NO '}  {part.label}{given}")
                lines += [f"       {part.fault}"] * bool(part.fault)
        if self.hint:
            lines.append(f"  Hint: {self.hint}")
        return "\n".join(lines)

    __repr__ = __str__


@dataclass(frozen=True)
class Case:
    """One call of the answer: a label for the student, and the arguments."""

    label: str
    arguments: tuple

    def __init__(self, label: str, *arguments: object):
        object.__setattr__(self, "label", label)
        object.__setattr__(self, "arguments", arguments)

    @property
    def given(self) -> str:
        """The arguments as one would type them; "" if that is too long for a line."""
        text = ", ".join(map(_typed, self.arguments))
        return text if len(text) <= 60 else ""


@dataclass(frozen=True)
class Misconception:
    """A way to be wrong.

    Args:
        name: two or three words, for the grader's statistics.
        hint: where to look; no solution.
        wrong: what someone who has it would return, for the arguments of a case.
    """

    name: str
    hint: str
    wrong: Callable[..., object]


class Comparison:
    """The answer is a function; its results are compared with those of a reference.

    Tensors, arrays, nested lists and numbers are all welcome, of any real dtype.

    Args:
        name: the name of the function in the notebook.
        reference: the right function.
        cases: what to call both with.
        misconceptions: known ways to be wrong, the most specific ones first.
        tolerance: largest difference that counts as equal, relative to numbers above 1.
        seconds: time limit of each call.
        where: how a place in the result is named, from the case's arguments and its indices.
    """

    def __init__(
        self,
        name: str,
        reference: Callable[..., object],
        cases: Sequence[Case],
        misconceptions: Sequence[Misconception] = (),
        *,
        tolerance: float = 1e-4,
        seconds: float = 10.0,
        where: Callable[[tuple, list[int]], str] | None = None,
    ):
        self.name, self.seconds = name, seconds
        self.where = where or (lambda arguments, place: f" at {place}")
        self.reference = reference
        self.cases = tuple(cases)
        self.misconceptions = tuple(misconceptions)
        self.tolerance = tolerance

    def __call__(self, answer: object, *, cases: Sequence[Case] | None = None) -> Verdict:
        """Try the answer.

        Args:
            answer: anything; it should be a function.
            cases: others than the question's own.

        Returns:
            What was right and what was not.
        """
        tried = self.cases if cases is None else tuple(cases)
        parts, seen, hint = [], [], ""
        for case in tried:
            try:
                seen.append(self._compare(answer, case))
                parts.append(Part(case.label))
            except _Different as error:
                seen.append(error.values)
                parts.append(Part(case.label, str(error), case.given))
            except Wrong as error:
                seen.append(None)
                parts.append(Part(case.label, str(error), case.given))
                hint = hint or error.hint
                if isinstance(error, TooSlow):  # once is enough to wait
                    parts += [Part(case.label, str(error)) for case in tried[len(parts) :]]
                    seen += [None] * (len(tried) - len(seen))
                    break
        if all(part.passed for part in parts):
            return self._again(answer, tried[0], parts, seen[0])
        known = None if hint else self._recognise(tried, seen)
        if known:
            return Verdict(self.name, tuple(parts), known.name, known.hint)
        compared = [(got, self._right(case)) for case, got in zip(tried, seen, strict=True) if got]
        shapes = [(got.shape, right.shape) for got, right in compared if got.shape != right.shape]
        pairs = [
            pair
            for got, right in compared
            if got.shape == right.shape
            for pair in zip(got.flat, right.flat, strict=True)
        ]
        hint = hint or _shape_hint(shapes)
        if not any(part.passed for part in parts):
            hint = hint or _general_hint(pairs, self.tolerance)
        return Verdict(self.name, tuple(parts), hint=hint)

    def _compare(self, answer: object, case: Case) -> "_Values":
        returned = call(answer, case.arguments, seconds=self.seconds)
        values, right = _Values.read(returned), self._right(case)
        if values.shape != right.shape:
            message = f"its result has the shape {list(values.shape)}, not {list(right.shape)}"
            raise _Different(message, values)
        index = values.first_difference(right, self.tolerance)
        if index is not None:
            where = self.where(case.arguments, values.place(index)) if values.shape else ""
            numbers = f"it gives {values.flat[index]:.5g}{where}, not {right.flat[index]:.5g}"
            raise _Different(numbers, values)
        return values

    def _right(self, case: Case) -> "_Values":
        return _Values.read(self.reference(*case.arguments))

    def _again(self, answer: object, case: Case, parts: list[Part], first: "_Values") -> Verdict:
        """Call it once more: it may depend on what it was called with before, or on chance."""
        try:
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(1)
                changed = not self._compare(answer, case).close(first, self.tolerance)
        except Wrong:
            changed = True
        if changed:
            parts[0] = Part(case.label, "the same call, made again, gives another result")
            hint = "Does it keep something from call to call, or draw random numbers?"
            return Verdict(self.name, tuple(parts), "not a function", hint)
        return Verdict(self.name, tuple(parts))

    def _recognise(
        self, cases: Sequence[Case], seen: list["_Values | None"]
    ) -> Misconception | None:
        """Find the misconception whose results the answer gave in every case that it finished."""
        finished = [(case, values) for case, values in zip(cases, seen, strict=True) if values]
        for known in self.misconceptions:
            if finished and all(self._looks_like(known, *pair) for pair in finished):
                return known
        return None

    def _looks_like(self, known: Misconception, case: Case, values: "_Values") -> bool:
        try:
            expected = _Values.read(known.wrong(*case.arguments))
        except Exception:  # it cannot be computed for this case, or is no answer there
            return False
        # which infinity a division by zero gives depends on how it was written
        return values.unsigned_infinities().close(expected.unsigned_infinities(), self.tolerance)


class Probe:
    """The answer is tried by functions, one a part; each raises `Wrong` or returns.

    Args:
        name: the name of the answer in the notebook.
        parts: label -> function of the answer.
        seconds: time limit of each part.
    """

    def __init__(
        self, name: str, parts: Mapping[str, Callable[[object], None]], *, seconds: float = 60.0
    ):
        self.name, self.seconds = name, seconds
        self.parts = dict(parts)

    def __call__(self, answer: object) -> Verdict:
        """Try the answer; returns what was right and what was not."""
        parts, hint = [], ""
        for label, part in self.parts.items():
            try:
                require_answer(answer)
                call(_finished(part), (answer,), seconds=self.seconds)
                parts.append(Part(label))
            except Wrong as error:
                parts.append(Part(label, str(error)))
                hint = hint or error.hint
        return Verdict(self.name, tuple(parts), hint=hint)


class _Different(Wrong):
    """Numbers of the right kind that are not the right ones."""

    def __init__(self, message: str, values: "_Values"):
        super().__init__(message)
        self.values = values


@dataclass(frozen=True)
class _Values:
    """Numbers as plain Python floats: nothing that a student can redefine compares them."""

    shape: tuple[int, ...]
    flat: tuple[float, ...]

    @classmethod
    def read(cls, returned: object) -> "_Values":
        try:
            values = _as_tensor(returned)
        except (Exception, SystemExit):
            raise Wrong(
                f"it must return real numbers, as a tensor, an array or lists, got {kind(returned)}"
            ) from None
        return cls(tuple(values.shape), tuple(values.flatten().tolist()))

    def close(self, other: "_Values", tolerance: float) -> bool:
        return self.shape == other.shape and self.first_difference(other, tolerance) is None

    def unsigned_infinities(self) -> "_Values":
        return _Values(self.shape, tuple(abs(x) if math.isinf(x) else x for x in self.flat))

    def first_difference(self, other: "_Values", tolerance: float) -> int | None:
        for index, (one, two) in enumerate(zip(self.flat, other.flat, strict=True)):
            near = math.isfinite(two) and abs(one - two) <= tolerance * max(1.0, abs(two))
            if not (near or one == two or (math.isnan(one) and math.isnan(two))):
                return index
        return None

    def place(self, index: int) -> list[int]:
        return [int(part) for part in np.unravel_index(index, self.shape)]


def _finished(part: Callable[[object], None]) -> Callable[[object], bool]:
    def run(answer: object) -> bool:
        part(answer)
        return True

    return run


def _as_tensor(returned: object) -> Tensor:
    if isinstance(returned, list | tuple) and any(isinstance(x, Tensor | list) for x in returned):
        return torch.stack([_as_tensor(x) for x in returned])
    if isinstance(returned, Tensor):
        values = returned.detach().cpu()
    else:
        values = torch.tensor(np.asarray(returned).tolist(), dtype=torch.float64)
    if values.is_complex():
        raise TypeError("the numbers must be real")
    return values.double()


def _typed(thing: object) -> str:
    if isinstance(thing, Tensor):
        if thing.numel() > 24:
            return f"a tensor {list(thing.shape)}"
        thing = thing.tolist()
    if isinstance(thing, list | tuple):
        return f"[{', '.join(map(_typed, thing))}]"
    return f"{thing:.6g}" if isinstance(thing, float) else repr(thing)


def _shape_hint(shapes: Sequence[tuple[tuple[int, ...], tuple[int, ...]]]) -> str:
    """What can be said of wrong shapes, beside the right ones, if it holds in every case."""
    if shapes and all(got == right[::-1] for got, right in shapes):
        return "Rows and columns are exchanged."
    if shapes and all(
        len(got) != len(right) and [n for n in got if n != 1] == [n for n in right if n != 1]
        for got, right in shapes
    ):
        return "It has an axis of length 1 too many, or too few."
    return ""


def _general_hint(pairs: Sequence[tuple[float, float]], tolerance: float) -> str:
    """What can be said of numbers, beside the right ones, without knowing the question."""
    if any(math.isnan(got) and not math.isnan(right) for got, right in pairs):
        return "There is a NaN: a division of 0 by 0, or inf minus inf?"
    if len(pairs) < 2:
        return ""
    if all(abs(a + b) <= tolerance * max(1.0, abs(b)) for a, b in pairs):
        return "Every number has the wrong sign."
    factors = [a / b for a, b in pairs if abs(b) > 1e-3 and math.isfinite(b)]
    zeros = all(abs(a) <= tolerance for a, b in pairs if abs(b) <= tolerance)
    if factors and zeros and all(abs(f - factors[0]) <= 1e-3 * abs(factors[0]) for f in factors):
        return f"Every number is {factors[0]:.4g} times the right one." if factors[0] else ""
    return ""
