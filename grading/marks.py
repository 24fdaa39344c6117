"""Turn what a sandbox said about a submission into points, notes and reasons."""

import re
from dataclasses import dataclass, field

from grading import written

_SUSPICIOUS = re.compile(
    r"\b(?:otter|Checker|GradingResults|test_case|Comparison|Verdict|fresh_check|autograder"
    r"|sys\.modules|sys\.path|gc|inspect|ctypes|builtins|importlib|__import__|setattr|settrace"
    r"|atexit|subprocess|threading|os\.(?:_exit|abort|fork|kill|system|popen|environ))\b"
    r"|\b_getframe\b|/proc\b|\bopen\(|^ *(?:!\S+|%%(?:writefile|bash|sh|script)\b)"
    r"|\b(?:check|math|np|torch(?:\.\w+)*)\.\w+(?=\s*=[^=])",
    re.MULTILINE,
)


@dataclass
class Question:
    """A question, what a submission got for it and why."""

    name: str
    title: str
    points: float
    written: bool
    prompt: str
    tests: list[float]
    verdicts: list[tuple[bool, float, str]] = field(default_factory=list)
    answer: str = ""
    comment: str = ""
    given: float | None = None

    @property
    def score(self) -> float | None:
        """The points, None if nobody has given them yet."""
        return self.given if self.written else sum(p for passed, p, _ in self.verdicts if passed)


@dataclass
class Graded:
    """A submission: its questions, and what is to be said about the whole."""

    student: str
    questions: list[Question]
    remarks: list[str]  # for the student, too
    flags: list[str]  # for the instructor
    raised: list[str]

    @property
    def total(self) -> float:
        """The points so far."""
        return sum(question.score or 0 for question in self.questions)

    @property
    def possible(self) -> float:
        """The points that there are."""
        return sum(question.points for question in self.questions)

    @property
    def pending(self) -> list[str]:
        """The questions that nobody has given points for."""
        return [question.name for question in self.questions if question.score is None]


def checked(report: object) -> dict:
    """What a sandbox said, in the form that it must have; it is not to be trusted."""
    try:
        return {
            "error": str(report["error"])[:300],
            "cells": [(str(kind), str(source)) for kind, source in report.get("cells", ())],
            "tests": {
                str(name): [(passed is True, str(text)[:5000]) for passed, text in tests]
                for name, tests in report.get("tests", {}).items()
            },
            "raised": {str(c): str(text)[:200] for c, text in report.get("raised", {}).items()},
            "left_out": {str(c): str(text)[:200] for c, text in report.get("left_out", {}).items()},
        }
    except (TypeError, AttributeError, KeyError):
        raise ValueError("no result") from None


def headings(cells: list[tuple[str, str]]) -> dict[str, str]:
    """The heading above each cell."""
    above, found = "the beginning", {}
    for number, (kind, source) in enumerate(cells):
        lines = re.findall(r"^##? +(.+)$", source, re.MULTILINE) if kind == "markdown" else []
        above = lines[-1].strip()[:80] if lines else above
        found[f"cell-{number}"] = above
    return found


def judge(student: str, report: dict, questions: list[dict]) -> Graded:
    """Turn what the sandbox said into points."""
    code = "\n".join(source for kind, source in report["cells"] if kind == "code")
    where = headings(report["cells"])
    remarks = [report["error"]] if report["error"] else []
    for cell, reason in report["left_out"].items():
        remarks.append(f"a cell below “{where.get(cell)}” {reason} and was left out")
    asked = [Question(**question) for question in questions]
    titles = {question.title for question in asked}
    for question in asked:
        tests = report["tests"].get(question.name, [])
        if question.written:
            question.answer = written.answer(
                report["cells"], question.title, titles, question.prompt
            )
        elif len(tests) != len(question.tests):
            question.verdicts = [(False, points, "not graded") for points in question.tests]
        else:
            pairs = zip(question.tests, tests, strict=True)
            question.verdicts = [(passed, points, text) for points, (passed, text) in pairs]
    names = [question.name for question in asked if not question.written]
    missing = [name for name in names if not re.search(rf"\b{name}\b", code)]
    if report["cells"] and missing:
        alien = "it answers no question of this assignment: is it another's?"
        some = f"nothing is named {', '.join(missing)}"
        remarks.append(alien if len(missing) == len(names) else some)
    found = sorted({match[0].strip() for match in _SUSPICIOUS.finditer(code)})
    flags = [f"look at its code: {', '.join(found)}"] if found else []
    raised = [f"below “{where.get(cell)}”: {text}" for cell, text in report["raised"].items()]
    return Graded(student, asked, list(dict.fromkeys(remarks)), flags, raised)
