"""A page of feedback: one file, for one student; whatever the student wrote is escaped."""

from pathlib import Path

import jinja2

_TEMPLATES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).parent),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
    undefined=jinja2.StrictUndefined,
)
HINT = "\n  Hint: "


def parted(message: str) -> tuple[str, str]:
    """What a test said, and its hint if there is one."""
    verdict, _, hint = message.partition(HINT)
    return verdict, hint


def page(assignment: str, graded: object) -> str:
    """The page of one submission.

    Args:
        assignment: its title.
        graded: a `grading.marks.Graded`.
    """
    template = _TEMPLATES.get_template("feedback.html.j2")
    return template.render(assignment=assignment, one=graded, parted=parted)


_TEMPLATES.filters["points"] = lambda value: f"{value:g}"
