"""What may be said to a student of an answer, though his own code chose the words.

An answer can repeat what it is asked: in an exception, a number, a shape, or in the choice of a
text. So of what a student's process reports only its class is kept, one of a few that stand here;
its own words are for the instructor. What the grader's side found is said in texts of the engine,
and without the numbers that are in them.
"""

import ast
import functools
import itertools
import re
from pathlib import Path

from posenc import check
from posenc.check import Wrong
from posenc.check.calls import COPY_HINT, LOOP_HINT, UNANSWERED, Refused, TooSlow

_HEADS = "Heads come first, [h, q, k], one slope a head; not every model has that many heads."
EXCEPTIONS = (AttributeError, IndexError, NameError, RuntimeError, TypeError, ValueError)
_REFUSED = Refused()
# How a report begins, what is said of it, and the hint: the whole alphabet of a student's process
_REPORTED = (
    (UNANSWERED, UNANSWERED, ""),
    (str(_REFUSED), str(_REFUSED), _REFUSED.hint),
    ("it changes what it is given", "it changes what it is given", COPY_HINT),
    ("it must be", "it must be a function, or a class where the question says so", ""),
    ("it has no", "it must be a function, or a class where the question says so", ""),
    ("its bias", "its bias has another shape or dtype", _HEADS),
    ("it must return", "it must return real numbers, as a tensor, an array or lists", ""),
    *((f"it raised {e.__name__}", f"it raised {e.__name__}", "") for e in EXCEPTIONS),
    ("it raised", "it raised an exception", ""),
)
_SLOW = "it did not finish in time"
_ELSE = "it gives no answer that can be compared"
_MISSED = "it does not do what this part asks"  # of what is measured, and not compared
REPORTED = tuple(dict.fromkeys([_SLOW, *(said for _, said, _ in _REPORTED), _ELSE]))

_FOUND = {  # how a fault begins that the grader's side found -> what is said of it
    "it gives": "it gives another number",
    "its result has the shape": "its result has another shape",
    "when it was called, it ended Python": "when it was called, it ended Python",
    "when it was called, it took": "when it was called, it took too long",
    "when it was called, it used": "when it was called, it used too much memory",
    "when it was called, it": "when it was called, it was stopped",
    "it cannot be measured": "it cannot be measured",
    "the rows of positions": "its rows depend on the other positions",
    "after training": "after training too few answers are right",
    "it took longer": "it took too long",
    "it could not be run": "it could not be run",
    "there was no time": "there was no time left to try it",
}
_FACTOR = re.compile(r"Every number is \S+ times the right one\.")


def reported(words: object) -> Wrong:
    """What a student's process says is wrong with an answer, as one of `REPORTED`.

    Args:
        words: its own, which may be anything.
    """
    words = words if isinstance(words, str) else ""
    if words.startswith("it did not finish"):
        return TooSlow(_SLOW, LOOP_HINT)
    for beginning, said, hint in _REPORTED:
        if re.match(rf"{re.escape(beginning)}\b", words):
            return Wrong(said, hint)
    return Wrong(_ELSE)


def in_general(fault: str) -> str:
    """A fault without a word or number that the student's code could have chosen."""
    if fault in REPORTED or fault in engine_texts():
        return fault
    if "but the rule is: " in fault:
        return "a grade of the report card is not met"
    for beginning, said in _FOUND.items():
        if fault.startswith(beginning):
            return said
    return _MISSED


def hint_in_general(hint: str) -> str:
    """A hint without a number that the student's code could have chosen."""
    return _FACTOR.sub("Every number is the right one, times the same factor.", hint)


@functools.cache
def engine_texts() -> frozenset[str]:
    """Every text in the source of the engine: these say nothing of a hidden case."""
    files = Path(check.__file__).parent.glob("*.py")
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in files)
    nodes = itertools.chain.from_iterable(map(ast.walk, trees))
    return frozenset(n.value for n in nodes if isinstance(n, ast.Constant) and type(n.value) is str)
