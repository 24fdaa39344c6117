"""What may be said to a student of an answer, though his own code chose the words.

An answer can repeat what it is asked, in an exception, a number or a shape. So a page of feedback
shows texts that are in the source of the engine, and of all others only what kind they are.
"""

import ast
import builtins
import functools
import itertools
import re
from pathlib import Path

from posenc import check

_IN_GENERAL = {  # how a fault begins -> what is said of it
    "it gives": "it gives another number",
    "its result has the shape": "its result has another shape",
    "its bias has the shape": "its bias has another shape",
    "it did not finish": "it did not finish in time",
    "when it was called, it ended Python": "when it was called, it ended Python",
    "when it was called, it took": "when it was called, it took too long",
    "when it was called, it used": "when it was called, it used too much memory",
    "when it was called, it returned": "when it was called, it returned too much",
    "it must be": "it must be a function, or a class where the question says so",
    "it must return": "it must return real numbers, as a tensor, an array or lists",
    "its bias is": "its bias is of another dtype",
    "it has no": "it has not the hooks of a method",
    "it cannot be tested": "it cannot be tested",
    "it cannot be measured": "it cannot be measured",
    "the rows of positions": "its rows depend on the other positions",
    "after training": "after training too few answers are right",
    "it took longer": "it took too long",
    "it could not be run": "it could not be run",
    "there was no time": "there was no time left to try it",
}


def in_general(fault: str) -> str:
    """A fault without a word or number that the student's code could have chosen."""
    if fault in engine_texts():
        return fault
    raised = re.match(r"it raised (\w{1,40})", fault)
    if raised:
        known = getattr(builtins, raised[1], None)
        is_known = isinstance(known, type) and issubclass(known, BaseException)
        return f"it raised {raised[1]}" if is_known else "it raised an exception"
    if "but the rule is: " in fault:
        return "a grade of the report card is not met"
    for beginning, said in _IN_GENERAL.items():
        if fault.startswith(beginning):
            return said
    return "it gives no answer that can be compared"


@functools.cache
def engine_texts() -> frozenset[str]:
    """Every text in the source of the engine: these say nothing of a hidden case."""
    files = Path(check.__file__).parent.glob("*.py")
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in files)
    nodes = itertools.chain.from_iterable(map(ast.walk, trees))
    return frozenset(n.value for n in nodes if isinstance(n, ast.Constant) and type(n.value) is str)
