"""A page of feedback: one file, for one student; whatever the student wrote is escaped."""

import re
from collections.abc import Set
from pathlib import Path

import jinja2

from grading.known import hint_in_general, in_general
from grading.marks import Graded
from posenc.check.question import LATER

_NUMBER = re.compile(r"-?\d[\d.]*")

TEMPLATES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).parent),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
    undefined=jinja2.StrictUndefined,
)
TEMPLATES.filters["points"] = lambda value: f"{value:g}"


def said(verdict: dict, public: Set[str] = frozenset(), *, show_right: bool) -> list[str]:
    """What a hidden test found, line by line.

    Numbers and words of an answer may repeat what it was asked: they are shown, like the right
    numbers and the drawn ones, only if these may be. What is said of all cases is said once.

    Args:
        verdict: of the test.
        public: labels of cases in which nothing is drawn.
        show_right: whether right numbers and inputs are shown.
    """
    lines, parts = [], verdict["parts"]
    asked = [part["fault"] for part in parts if part["fault"] != LATER]
    same = {fault and in_general(fault) for fault in asked}
    if len(parts) > 1 and len(same) == 1 and "" not in same and not show_right:
        return ["NO   every case", f"     {same.pop()}"]
    for part in parts:
        is_shown = show_right or part["label"] in public
        label = part["label"] if is_shown else _NUMBER.sub("…", part["label"])
        if part["fault"] == LATER:
            lines += [f"--   {label}", f"     {LATER}"]
            continue
        if not part["fault"]:
            lines.append(f"yes  {label}")
            continue
        given = f": {part['given']}" if show_right and part["given"] else ""
        right = f", not {part['right']}" if show_right and part["right"] else ""
        fault = part["fault"] if show_right else in_general(part["fault"])
        lines += [f"NO   {label}{given}", f"     {fault}{right}"]
    words = verdict["words"] if show_right else []
    return lines + [f"     in its own words: {said}" for said in words]


def hint(verdict: dict, *, show_right: bool) -> str:
    """The hint, without a number that the answer chose."""
    return verdict["hint"] if show_right else hint_in_general(verdict["hint"])


def page(assignment: str, graded: Graded, *, show_right: bool = False) -> str:
    """The page of one submission.

    Args:
        assignment: its title.
        graded: the submission.
        show_right: whether right numbers and inputs of hidden cases are on the page.
    """
    template = TEMPLATES.get_template("feedback.html.j2")
    return template.render(
        assignment=assignment,
        one=graded,
        said=lambda mark, verdict: said(verdict, mark.asked.public, show_right=show_right),
        hint=lambda verdict: hint(verdict, show_right=show_right),
    )
