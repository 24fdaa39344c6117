"""What a person grades: written answers in `written.csv`, and `overrides.csv` for all others."""

import csv
import difflib
import hashlib
import io
import json
import math
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from grading.assignment import RUNS

if TYPE_CHECKING:
    from grading.marks import Graded
    from grading.rendered import Pieces

_ANSWER = "answer"  # a hash of it; who wrote the row by hand need not give one
COLUMNS = ["student", "question", "points", "comment", _ANSWER]
OVERRIDES = ["student", "question", "points", "reason"]
_WORDS = 3  # in a line of prose
_HEADING = re.compile(r"^#{1,3} +(.+)$", re.MULTILINE)


def answer(
    cells: list[tuple[str, str]], title: str, titles: set[str], prompt: str
) -> list[tuple[int, str]]:
    """What stands below a question's heading, up to another question, without the prompt.

    Returns:
        Number and text of each cell that has a part of it.
    """
    own, known = _same(title), set(map(_same, titles))
    inside, found = False, []
    for number, (kind, source) in enumerate(cells):
        if kind != "markdown":  # code between may check a step of it
            continue
        kept = []
        for line in source.splitlines():
            heading = _HEADING.match(line)
            said = _same(heading[1]) if heading else ""
            if said in known:
                inside = said == own
            elif inside and not line.startswith(RUNS):  # which stands below the last question
                kept.append(line)
        text = re.sub(r"\n{3,}", "\n\n", "\n".join(_without(kept, prompt))).strip()
        found += [(number, text)] * bool(text)
    return found


def _without(lines: list[str], prompt: str) -> list[str]:
    """Lines without the prompt's passages; a formula of it that stands alone is the student's."""
    asked = [line.strip() for line in prompt.splitlines() if line.strip()]
    prose, formula = [], False
    for line in asked:
        formula ^= line.count("$$") % 2
        prose.append(not formula and len(re.findall(r"[^\W\d_]{2,}", line)) >= _WORDS)
    places = [place for place, line in enumerate(lines) if line.strip()]  # blank ones say nothing
    said = [lines[place].strip() for place in places]
    matcher = difflib.SequenceMatcher(None, said, asked, autojunk=False)
    kept = list(lines)
    for start, place, size in matcher.get_matching_blocks():
        if any(prose[place : place + size]):
            for number in places[start : start + size]:
                kept[number] = ""
    return kept


def _same(title: str) -> str:
    return "".join(title.casefold().split())


def read(path: Path, columns: list[str] = COLUMNS) -> list[dict[str, str]]:
    """The rows of a file that an instructor fills in, if there is one."""
    if not path.exists():
        return []
    try:
        rows = list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig"), newline="")))
    except (UnicodeDecodeError, csv.Error) as error:
        sys.exit(f"{path} cannot be read as UTF-8 and commas: {error}")
    wanted = [column for column in columns if column != _ANSWER]
    if rows and not set(wanted) <= set(rows[0]):
        got = ", ".join(filter(None, rows[0]))  # a row may have more fields than the first line
        how = "; save it with commas" if ";" in got else ""
        sys.exit(f"{path} must have the columns {', '.join(wanted)}, got {got}{how}")
    own = ("student", "comment", "reason")  # a name may end with a blank
    given = [{column: row.get(column) or "" for column in columns} for row in rows]
    return [{c: text if c in own else text.strip() for c, text in row.items()} for row in given]


def points(text: str, most: float) -> float:
    """Points as a number from 0 to the most that there are."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= most:
        raise ValueError(f"points must be from 0 to {most:g}, got {text!r}")
    return value


def merge(path: Path, marked: "list[Graded]") -> str:
    """Put what the instructor filled in into the marks; returns the file's new text.

    What is there stays as it is, right or wrong; rows are added for answers that have none. Points
    are for the answer that was there when they were given: for another they wait, with a note.
    """
    graded = [one for one in marked if not one.fault]
    asked = {(one.student, m.asked.name): m for one in graded for m in one.marks if m.asked.written}
    now = {who: digest(mark.answer) for who, mark in asked.items()}
    rows = read(path)
    for row in rows:
        row[_ANSWER] = row[_ANSWER] or now.get(_who(row), "")
    _fill(path, rows, asked, "comment", now)
    rows = [row for row in rows if row["points"] or row["comment"] or _is_for(row, now)]
    older = {_who(row) for row in rows if row["points"] and not _is_for(row, now)}
    older -= {_who(row) for row in rows if row["points"] and _is_for(row, now)}
    for one in graded:
        changed = [m.asked.name for m in one.marks if (one.student, m.asked.name) in older]
        said = f"changed after it was given points in {path.name}: {', '.join(changed)}"
        one.flags += [said] * bool(changed)
    there = {_who(row) for row in rows if _is_for(row, now)}
    rows += [
        dict(zip(COLUMNS, (*who, "", "", now[who]), strict=True))
        for who in asked
        if who not in there
    ]
    out = io.StringIO(newline="")
    table = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    return out.getvalue()


def digest(answer: "Pieces") -> str:
    """A hash of an answer's words and pictures, which no spreadsheet takes for a number."""
    words = " ".join(text for text, _ in answer).split()
    pictures = sorted(data for _, own in answer for data in own.values())
    return f"text {hashlib.sha256(json.dumps([words, pictures]).encode()).hexdigest()[:12]}"


def _who(row: dict[str, str]) -> tuple[str, str]:
    return row["student"], row["question"]


def _is_for(row: dict[str, str], now: dict[tuple[str, str], str]) -> bool:
    """Whether the row is for the answer as it is now, or for nobody that is known."""
    return row[_ANSWER] == now.get(_who(row), row[_ANSWER])


def override(path: Path, marked: "list[Graded]") -> None:
    """Points that the instructor gives instead of those of the tests, with a reason.

    A question is called by its name or by its number.
    """
    asked = {(one.student, m.asked.name): m for one in marked for m in one.marks}
    numbers = {m.asked.title.partition(" ")[0]: m.asked.name for m in marked[0].marks}
    rows = read(path, OVERRIDES)
    for row in rows:
        row["question"] = numbers.get(row["question"], row["question"])
    _fill(path, rows, asked, "reason", {})


def _fill(path: Path, rows: list[dict[str, str]], asked: dict, why: str, now: dict) -> None:
    for line, row in enumerate(rows, 2):
        mark = asked.get(_who(row))
        if mark is None:
            who = f"{row['student']!r} has no answer {row['question']!r} that it could be for"
            print(f"ignored: {path.name} line {line}: {who}", file=sys.stderr)
            continue
        if now and not _is_for(row, now):
            continue
        try:
            mark.given = points(row["points"], mark.asked.points) if row["points"] else mark.given
            mark.comment = row[why].strip() or mark.comment
        except ValueError as error:
            print(f"ignored: {path.name} line {line}: {error}", file=sys.stderr)
