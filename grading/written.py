"""Written answers: found in a submission, and marked by the instructor in `written.csv`."""

import csv
import io
import math
import re
import sys
from pathlib import Path

COLUMNS = ["student", "question", "points", "comment"]
_HEADING = re.compile(r"^##? +(.+)$", re.MULTILINE)


def answer(cells: list[tuple[str, str]], title: str, titles: set[str], prompt: str) -> str:
    """The text below a question's heading, up to code or another question, without the prompt."""
    inside, found = False, []
    asked = {line.strip() for line in prompt.splitlines()}
    for kind, source in cells:
        if kind != "markdown":
            inside = False
            continue
        for line in source.splitlines():
            heading = _HEADING.match(line)
            if heading and heading[1].strip() in titles:
                inside = heading[1].strip() == title
            elif inside and (line.strip() not in asked or not line.strip()):
                found.append(line)
        found.append("")
    return re.sub(r"\n{3,}", "\n\n", "\n".join(found)).strip()


def read(path: Path) -> list[dict[str, str]]:
    """The rows of the file, if there is one."""
    if not path.exists():
        return []
    try:
        rows = list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig"), newline="")))
    except (UnicodeDecodeError, csv.Error) as error:
        sys.exit(f"{path} cannot be read as UTF-8 and commas: {error}")
    if rows and not set(COLUMNS) <= set(rows[0]):
        sys.exit(f"{path} must have the columns {', '.join(COLUMNS)}, got {', '.join(rows[0])}")
    return [{name: (row[name] or "").strip() for name in COLUMNS} for row in rows]


def points(text: str, most: float) -> float:
    """Points as a number from 0 to the most that there are."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= most:
        raise ValueError(f"points must be from 0 to {most:g}, got {text!r}")
    return value


def merge(path: Path, graded: list) -> str:
    """Put what the instructor filled in into the questions; returns the file's new text.

    What is there stays as it is, right or wrong; rows are added for answers that have none.
    """
    asked = {(one.student, q.name): q for one in graded for q in one.questions if q.written}
    rows = read(path)
    for line, row in enumerate(rows, 2):
        question = asked.get((row["student"], row["question"]))
        if question is None:
            who = f"{row['student']!r} has no written answer {row['question']!r}"
            print(f"ignored: {path.name} line {line}: {who}", file=sys.stderr)
            continue
        question.comment = row["comment"]
        try:
            question.given = points(row["points"], question.points) if row["points"] else None
        except ValueError as error:
            print(f"ignored: {path.name} line {line}: {error}", file=sys.stderr)
    there = {(row["student"], row["question"]) for row in rows}
    rows += [
        {"student": student, "question": name, "points": "", "comment": ""}
        for student, name in asked
        if (student, name) not in there
    ]
    out = io.StringIO(newline="")
    table = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    return out.getvalue()
