"""Write what grading found: tables for the instructor, and a page of feedback for each student."""

import argparse
import csv
import hashlib
import io
import os
import shutil
import zipfile
from collections.abc import Iterable
from pathlib import Path

from grading import feedback, pages
from grading.assignment import Asked, Assignment
from grading.marks import IN_GENERAL, Graded
from grading.names import slug
from grading.similar import compare
from grading.submissions import moodle_folder

_NOTE = 2000  # characters; a cell of a spreadsheet takes 32 767


def write(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{hashlib.sha256(path.name.encode()).hexdigest()[:12]}.part")
    temporary.write_text(text, encoding="utf-8", errors="replace", newline="")
    os.replace(temporary, path)


def number(value: float | None) -> str:
    """A number as people write it."""
    return "" if value is None else f"{value:g}"


def rows(marked: list[Graded]) -> Iterable[list[str]]:
    """The rows of grades.csv."""
    with_ids = any(one.id for one in marked)
    questions = [mark.asked.name for mark in marked[0].marks]
    yield ["student", *["id"] * with_ids, *questions, "total", "possible", "note"]
    for one in marked:
        pending = [f"not graded yet: {', '.join(one.pending)}"] if one.pending else []
        points = [number(mark.score) for mark in one.marks]
        remarks = [remark for remark in one.remarks if remark not in IN_GENERAL]
        note = "; ".join(one.flags + pending + remarks)
        if len(note) > _NOTE:
            note = f"{note[:_NOTE]}... (the rest: class.html, and the page of feedback)"
        known = [one.student, *[one.id] * with_ids]
        yield [*known, *points, number(one.total), number(one.possible), note]


def table(lines: Iterable[list[str]]) -> str:
    """The text of a CSV file."""
    made = io.StringIO(newline="")
    csv.writer(made, lineterminator="\n").writerows(lines)
    return made.getvalue()


def write_all(
    out: Path, assignment: Assignment, marked: list[Graded], options: argparse.Namespace
) -> None:
    """Write the grades first, then the pages."""
    write(out / "grades.csv", table(rows(marked)))
    made = {
        one.student: feedback.page(assignment.title, one, show_right=options.show_right)
        for one in marked
    }
    for student, page in made.items():
        write(out / "feedback" / f"{slug(student)}.html", page)
    pages_back = {moodle_folder(o.file): made[o.student] for o in marked if not o.fault}
    write_zip(out / "feedback.zip", pages_back)
    for asked in assignment.questions:
        if asked.written:
            write_answers(out / "answers", assignment, asked, marked)
    alike = compare(marked, assignment.given_lines)
    pairs = [[f"{share:.2f}", *pair] for share, *pair in alike.pairs]
    write(out / "alike.csv", table([["share", "student", "other"], *pairs]))
    write(out / "class.html", pages.class_page(assignment, marked, alike))


def write_answers(folder: Path, assignment: Assignment, asked: Asked, marked: list[Graded]) -> None:
    """Write the page of a written question, and its pictures; those of another time go."""
    page, pictures = pages.answers_page(assignment, asked, marked)
    write(folder / f"{slug(asked.name)}.html", page)
    shutil.rmtree(folder / slug(asked.name), ignore_errors=True)
    for name, data in pictures.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(data)


def write_zip(path: Path, made: dict[str, str]) -> None:
    """Pages of feedback, named as Moodle wants them back; nothing if Moodle named none."""
    named = {
        folder.encode(errors="replace").decode(): page  # as an unzip may leave a name
        for folder, page in made.items()
        if folder
    }
    path.unlink(missing_ok=True)
    if named:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for folder, page in named.items():
                archive.writestr(f"{folder}/feedback.html", page.encode(errors="replace"))
