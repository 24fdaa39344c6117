"""A page of feedback: one file, for one student; whatever the student wrote is escaped."""

import re
from pathlib import Path

import jinja2

from grading.known import hint_in_general, in_general
from grading.marks import Graded

_NUMBER = re.compile(r"\d[\d.]*")

TEMPLATES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).parent),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
    undefined=jinja2.StrictUndefined,
)
TEMPLATES.filters["points"] = lambda value: f"{value:g}"


def said(verdict: dict, *, show_right: bool) -> list[str]:
    """What a hidden test found, line by line.

    Numbers and words of an answer may repeat what it was asked: they are shown, like the right
    numbers, only if these may be.
    """
    lines = []
    for part in verdict["parts"]:
        label = part["label"] if show_right else _NUMBER.sub("n", part["label"])
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
        said=lambda verdict: said(verdict, show_right=show_right),
        hint=lambda verdict: hint(verdict, show_right=show_right),
    )
