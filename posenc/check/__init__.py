"""Feedback on exercises: what is right, what is wrong, and which misconception it looks like.

Each question of the book's exercises is an object here that is called with the answer:

    >>> from posenc import check
    >>> check.dot_product(lambda offset, dim, base: dim / 2)
    dot_product: wrong, in 3 of 4 cases
      yes  offset 0
      NO   offset 5: 5, 16, 10000
           it gives 8, not 6.137
      NO   offset -5: -5, 16, 10000
           it gives 8, not 6.137
      NO   another width and base: 40, 64, 500
           it gives 32, not 8.0812

A check never raises, whatever the answer is or does.

This is the engine alone. The questions are numbers on record, in `questions/NAME.json`: what an
answer is asked, what is right, and what each misconception would give. They are written by the
instructor's side (`python -m grading.record`), which alone knows how to compute them.
"""

import functools
from importlib import import_module
from pathlib import Path

from posenc.check.calls import Wrong
from posenc.check.plain import Values
from posenc.check.question import Case, Probe, Question, Verdict

QUESTIONS = Path(__file__).with_name("questions")
# Many answers are right: properties are measured
_JUDGED = {
    "better": "luck",
    "my_encoding": "encodings",
    "reach": "reading",
    "speeds": "frequencies",
}

__all__ = ["Case", "Probe", "Question", "Values", "Verdict", "Wrong", "named", "names"]


def names() -> list[str]:
    """The names of all questions.

    Example:
        >>> "sinusoidal" in names()
        True
    """
    return sorted([path.stem for path in QUESTIONS.glob("*.json")] + list(_JUDGED))


@functools.cache
def named(name: str) -> Question | Probe:
    """The question of that name.

    Raises:
        ValueError: if there is none.
    """
    if name in _JUDGED:
        return getattr(import_module(f"{__name__}.{_JUDGED[name]}"), name)
    path = QUESTIONS / f"{name}.json"
    if not name.isidentifier() or not path.exists():
        raise ValueError(f"there is no question {name!r}; there are: {', '.join(names())}")
    return Question.load(path)


def __getattr__(name: str) -> Question | Probe:
    if name.startswith("_"):
        raise AttributeError(name)
    try:
        return named(name)
    except ValueError as error:
        raise AttributeError(str(error)) from None


def __dir__() -> list[str]:
    return sorted({*globals(), *names()})
