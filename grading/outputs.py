"""Write what grading found: the table of grades and a page of feedback for each student."""

import argparse
import csv
import hashlib
import io
import os
from collections.abc import Iterator
from pathlib import Path

from grading import feedback
from grading.assignment import Assignment
from grading.marks import Graded


def write(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{hashlib.sha256(path.name.encode()).hexdigest()[:12]}.part")
    temporary.write_text(text, encoding="utf-8", errors="replace", newline="")
    os.replace(temporary, path)


def slug(name: str) -> str:
    """A name of a file for a student: as it is, if that is a name for a file."""
    plain = name.replace("/", "_").replace("\0", "_")
    if len(plain.encode()) <= 180 and plain == name and not name.startswith("."):
        return name
    short = plain.encode()[:160].decode(errors="ignore").lstrip(".")
    return f"{short}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def number(value: float | None) -> str:
    """A number as people write it."""
    return "" if value is None else f"{value:g}"


def rows(marked: list[Graded]) -> Iterator[list[str]]:
    """The rows of grades.csv."""
    with_ids = any(one.id for one in marked)
    questions = [mark.asked.name for mark in marked[0].marks]
    yield ["student", *["id"] * with_ids, *questions, "total", "possible", "note"]
    for one in marked:
        pending = [f"not graded yet: {', '.join(one.pending)}"] if one.pending else []
        points = [number(mark.score) for mark in one.marks]
        note = "; ".join(one.remarks + one.flags + pending)
        known = [one.student, *[one.id] * with_ids]
        yield [*known, *points, number(one.total), number(one.possible), note]


def table(lines: Iterator[list[str]]) -> str:
    """The text of a CSV file."""
    made = io.StringIO(newline="")
    csv.writer(made, lineterminator="\n").writerows(lines)
    return made.getvalue()


def write_all(
    out: Path, assignment: Assignment, marked: list[Graded], options: argparse.Namespace
) -> None:
    """Write the grades and the pages."""
    write(out / "grades.csv", table(rows(marked)))
    for one in marked:
        page = feedback.page(assignment.title, one, show_right=options.show_right)
        write(out / "feedback" / f"{slug(one.student)}.html", page)
