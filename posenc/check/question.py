"""A question: cases to try an answer on, and the misconceptions that wrong answers look like.

What is right, and what somebody with a misconception would return, is on record as numbers.
"""

import contextlib
import json
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from torch import Tensor

from posenc.check import again
from posenc.check.calls import UNANSWERED, Settings, TooSlow, Wrong
from posenc.check.plain import Values, decode, encode
from posenc.check.ways import ask

LATER = "tried when the other parts are right"
_DIGITS = 8  # of the numbers on record: a tenth of the strictest tolerance, or less


@dataclass(frozen=True)
class Part:
    """One thing that was tried, what was wrong with it, if anything, and with what arguments.

    Args:
        label: what was tried.
        fault: what was wrong, "" if nothing was.
        right: what would have been right, if that can be said in a few words.
        given: the arguments, if they are short.
    """

    label: str
    fault: str = ""
    right: str = ""
    given: str = ""

    @property
    def passed(self) -> bool:
        """Whether nothing was wrong."""
        return not self.fault

    @property
    def whole_fault(self) -> str:
        """What was wrong, and what is right."""
        return f"{self.fault}, not {self.right}" if self.right else self.fault


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

    def __str__(self) -> str:
        count = len(self.parts)
        faults = [part.whole_fault for part in self.parts if part.fault]
        if len(faults) == count and len(set(faults)) == 1:
            lines = [f"{self.question}: {'' if faults[0] == UNANSWERED else 'wrong: '}{faults[0]}"]
        else:
            total = f"wrong, in {len(faults)} of {count} cases" if faults else "right"
            lines = [f"{self.question}: {total}"]
            for part in self.parts:
                given = f": {part.given}" if part.given and part.fault else ""
                lines.append(f"  {'yes' if part.passed else 'NO '}  {part.label}{given}")
                lines += [f"       {part.whole_fault}"] * bool(part.fault)
        if self.hint:
            lines.append(f"  Hint: {self.hint}")
        return "\n".join(lines)

    __repr__ = __str__


@dataclass(frozen=True)
class Case:
    """One thing to ask of an answer, and what is on record for it.

    Args:
        label: for the student.
        arguments: what the answer is given.
        right: the right numbers.
        wrong: what each misconception of the question would give, None if it gives nothing.
        way: how the answer is asked, see `posenc.check.ways`.
        tolerance: largest difference that counts as equal; the question's own by default.
        places: names of the places on each axis of the result, for `Question.where`.
        alone: the hint if this is wrong alone; such a case is tried after all others are right.
    """

    label: str
    arguments: tuple
    right: Values
    wrong: tuple[Values | None, ...] = ()
    way: str = "call"
    tolerance: float | None = None
    places: tuple[tuple[str, ...], ...] = ()
    alone: str = ""

    @property
    def given(self) -> str:
        """The arguments as one would type them; "" if that is too long for a line."""
        text = ", ".join(map(_typed, self.arguments))
        return text if len(text) <= 60 and self.way == "call" else ""


@dataclass(frozen=True)
class Question:
    """The answer's numbers are compared with those on record.

    Tensors, arrays, nested lists and numbers are all welcome, of any real dtype.

    Args:
        name: the name of the function or class in the notebook.
        cases: what to ask.
        misconceptions: name and hint of known ways to be wrong, the most specific ones first.
        tolerance: largest difference that counts as equal, relative to numbers above 1.
        seconds: time limit of each case.
        where: how a place in the result is named, with one {} for each axis; by its indices if "".
        refuses: functions of `posenc` that the answer may not call.
        hints: what to say of a wrong answer that is not recognised: "slow" of one that did not
            finish, "numbers" of one that gave others.
    """

    name: str
    cases: tuple[Case, ...]
    misconceptions: tuple[tuple[str, str], ...] = ()
    tolerance: float = 1e-4
    seconds: float = 10.0
    where: str = ""
    refuses: tuple[str, ...] = ()
    hints: Mapping[str, str] | None = None

    def __call__(self, answer: object) -> Verdict:
        """Try an answer, which is anything and should be a function; never raises."""

        theirs = Settings.now()

        def numbers(case: Case, seed: int | None = None) -> Values:
            given = {"seconds": self.seconds, "refuses": self.refuses, "seed": seed}
            with theirs.used():
                return ask(answer, case.arguments, way=case.way, **given)

        with Settings().used():
            return self.judge(numbers)

    def judge(self, numbers: Callable[..., Values]) -> Verdict:
        """Compare numbers with those on record, wherever they come from.

        Args:
            numbers: gives those of a case, perhaps with a seed for random numbers, or raises
                `Wrong`.
        """
        parts, seen, hint, is_slow = [], [], "", False
        for case in self.cases:
            if case.alone and not all(part.passed for part in parts):
                with contextlib.suppress(Wrong):  # what is asked tells no answer what was right
                    numbers(case)
                unanswered = parts[0].fault == UNANSWERED
                parts.append(Part(case.label, UNANSWERED if unanswered else LATER))
                seen.append(None)
                continue
            try:
                seen.append(self._compared(numbers(case), case))
                parts.append(Part(case.label))
            except _Different as error:
                seen.append(error.values)
                parts.append(Part(case.label, str(error), error.right, case.given))
                hint = hint or case.alone
            except Wrong as error:
                seen.append(None)
                parts.append(Part(case.label, str(error), given=case.given))
                hint = hint or error.hint
                if isinstance(error, TooSlow):  # once is enough to wait
                    parts += [Part(case.label, str(error)) for case in self.cases[len(parts) :]]
                    seen += [None] * (len(self.cases) - len(seen))
                    hint, is_slow = self._said("slow", hint), True
                    break
        changes = not is_slow and self._changes(numbers, seen[0])
        if all(part.passed for part in parts):
            return (_no_function if changes else Verdict)(self.name, tuple(parts))
        known = None if hint else self._recognised(seen)
        if known is not None:
            return Verdict(self.name, tuple(parts), *self.misconceptions[known])
        return Verdict(self.name, tuple(parts), hint=hint or self._general_hint(parts, seen))

    def _compared(self, values: Values, case: Case) -> Values:
        if values.shape != case.right.shape:
            seen = f"its result has the shape {list(values.shape)}"
            raise _Different(seen, str(list(case.right.shape)), values)
        index = values.first_difference(case.right, self._tolerance(case))
        if index is not None:
            where = self._named(case, values.place(index)) if values.shape else ""
            seen, right = values.flat[index], case.right.flat[index]
            digits = 5 if f"{seen:.5g}" != f"{right:.5g}" else 9
            raise _Different(f"it gives {seen:.{digits}g}{where}", f"{right:.{digits}g}", values)
        return values

    def _tolerance(self, case: Case) -> float:
        return self.tolerance if case.tolerance is None else case.tolerance

    def _named(self, case: Case, place: list[int]) -> str:
        if not self.where:
            return f" at {place}"
        return self.where.format(*(case.places[axis][i] for axis, i in enumerate(place)))

    def _said(self, key: str, otherwise: str) -> str:
        return (self.hints or {}).get(key, otherwise)

    def _changes(self, numbers: Callable, first: Values | None) -> bool:
        """Ask once more: it may depend on what it was asked before, or on chance.

        Wrong answers are asked, too: else they could tell that they are wrong.
        """
        case = self.cases[0]
        try:
            again = self._compared(numbers(case, seed=1), case)
        except Wrong:
            return True
        return first is None or not again.close(first, self._tolerance(case))

    def _recognised(self, seen: Sequence[Values | None]) -> int | None:
        """The misconception whose numbers the answer gave in every case that it finished."""
        pairs = zip(self.cases, seen, strict=True)
        finished = [(case, values) for case, values in pairs if values]
        for known in range(len(self.misconceptions)) if finished else ():
            if all(self._looks_like(known, *pair) for pair in finished):
                return known
        return None

    def _looks_like(self, known: int, case: Case, values: Values) -> bool:
        expected = case.wrong[known] if case.wrong else None
        if expected is None:  # it cannot be computed for this case, or is no answer there
            return False
        one, other = values.unsigned_infinities(), expected.unsigned_infinities()
        return one.close(other, self._tolerance(case))

    def _general_hint(self, parts: Sequence[Part], seen: Sequence[Values | None]) -> str:
        compared = [(got, c.right) for c, got in zip(self.cases, seen, strict=True) if got]
        shapes = [(got.shape, right.shape) for got, right in compared if got.shape != right.shape]
        pairs = [
            pair
            for got, right in compared
            if got.shape == right.shape
            for pair in zip(got.flat, right.flat, strict=True)
        ]
        hint = _shape_hint(shapes)
        if not any(part.passed for part in parts):
            hint = hint or _number_hint(pairs, self.tolerance)
        return hint or (self._said("numbers", "") if pairs else "")

    # On record

    @classmethod
    def load(cls, path: Path) -> "Question":
        """Read a question from its file."""
        data = json.loads(path.read_text(encoding="utf-8"))
        cases = tuple(
            Case(
                **case
                | {
                    "arguments": tuple(decode(case["arguments"])),
                    "right": Values.decode(case["right"]),
                    "wrong": tuple(w and Values.decode(w) for w in case["wrong"]),
                    "places": tuple(map(tuple, case.get("places", ()))),
                }
            )
            for case in data.pop("cases")
        )
        tuples = {"misconceptions": tuple(map(tuple, data.pop("misconceptions")))}
        tuples["refuses"] = tuple(data.pop("refuses", ()))
        return cls(cases=cases, **tuples, **data)

    def save(self, path: Path) -> None:
        """Write the question to its file: a line for each misconception and each case."""
        left_out = replace(self, cases=(), misconceptions=())
        facts = {k: v for k, v in vars(left_out).items() if v not in ((), None, "")}
        lines = [f'"{key}": {_json(value)}' for key, value in facts.items()]
        known = ",\n  ".join(_json(pair) for pair in self.misconceptions)
        cases = ",\n  ".join(_json(_recorded(case)) for case in self.cases)
        lines += [f'"misconceptions": [\n  {known}\n]', f'"cases": [\n  {cases}\n]']
        path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def _json(data: object) -> str:
    return json.dumps(data, ensure_ascii=False, allow_nan=False)


def _recorded(case: Case) -> dict:
    data = {key: value for key, value in vars(case).items() if value not in ("", None, ())}
    return data | {
        "arguments": encode(case.arguments),
        "right": case.right.encode(_DIGITS),
        "wrong": [values and values.encode(_DIGITS) for values in case.wrong],
    }


def asking(
    answer: object, seconds: float = 10.0, refuses: Sequence[str] = ()
) -> Callable[..., Values]:
    """The numbers that an answer gives for arguments, perhaps with a seed for random numbers.

    It is asked with the settings of torch that are in force now, whatever they are later.
    """
    theirs = Settings.now()

    def numbers(arguments: tuple, seed: int | None = None) -> Values:
        with theirs.used():
            return ask(answer, arguments, seed=seed, seconds=seconds, refuses=refuses)

    return numbers


def _no_function(name: str, parts: Sequence[Part]) -> Verdict:
    """All was right, but an answer depends on more than on what it is given."""
    changed = Part(parts[0].label, again.CHANGED)
    return Verdict(name, (changed, *parts[1:]), "not a function", again.HINT)


class Probe:
    """Properties of the answer's numbers are measured; many answers may be right.

    Args:
        name: the name of the answer in the notebook.
        parts: label -> function of `asking(answer)`; it raises `Wrong` or returns. As a generator
            it yields where questions of other parts may come between its own.
        seconds: time limit of each call of the answer.
        refuses: functions of `posenc` that the answer may not call.
        seed: of the order and number of the questions.
        asked: how they are asked, see `posenc.check.again`.
    """

    def __init__(
        self,
        name: str,
        parts: Mapping[str, Callable[[Callable[..., Values]], None]],
        *,
        seconds: float = 10.0,
        refuses: Sequence[str] = (),
        seed: int = 0,
        asked: Callable[..., again.Asked] = again.Asked,
    ):
        self.name, self.seconds, self.refuses = name, seconds, tuple(refuses)
        self.parts, self.seed, self.asked = dict(parts), seed, asked

    def __call__(self, answer: object) -> Verdict:
        """Try an answer, which is anything and should be a function; never raises."""
        numbers = asking(answer, self.seconds, self.refuses)
        with Settings().used():
            return self.judge(numbers)

    def judge(self, numbers: Callable[..., Values]) -> Verdict:
        """Measure what comes from wherever: numbers for arguments, or `Wrong`."""
        draw = random.Random(self.seed)
        asked = self.asked(numbers, draw)
        left = {label: _steps(part, asked) for label, part in self.parts.items()}
        faults: dict[str, Wrong] = {}
        while left:
            label = draw.choice(list(left))
            try:
                if next(left[label], True):
                    del left[label]
            except Wrong as error:
                faults[label] = error
                del left[label]
            except ImportError:  # our fault, not the answer's: nobody may lose a point by it
                raise
            except Exception as error:  # of a measurement: strange numbers, for example
                faults[label] = Wrong(f"it cannot be measured: {type(error).__name__}")
                del left[label]
        parts = [Part(label, str(faults.get(label, ""))) for label in self.parts]
        is_slow = any(isinstance(fault, TooSlow) for fault in faults.values())
        changes = not is_slow and not asked.keeps()  # asked of wrong answers, too, as above
        if changes and not faults:
            return _no_function(self.name, parts)
        hints = [faults[label].hint for label in self.parts if label in faults]
        return Verdict(self.name, tuple(parts), hint=next(filter(None, hints), ""))


def _steps(part: Callable[[Callable[..., Values]], object], asked: again.Asked) -> Iterator[None]:
    """A part of a probe, from one of its pauses to the next."""
    found = part(asked)
    if isinstance(found, Iterator):
        yield from found


class _Different(Wrong):
    """Numbers of the right kind that are not the right ones."""

    def __init__(self, message: str, right: str, values: Values):
        super().__init__(message)
        self.right, self.values = right, values


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


def _number_hint(pairs: Sequence[tuple[float, float]], tolerance: float) -> str:
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
