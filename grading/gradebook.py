"""Fill the totals into a table that Canvas or Moodle has exported, to be imported there again.

- Canvas, *Grades, Export*: the column of the assignment, "Title (1234)". What comes back has the
  columns that name a student and this one, so that no other grade is touched.
- Moodle, *Download grading worksheet*, in English: `Grade`, and `Feedback comments` where there is
  such a column and it is empty.

A student is found by the number in the name of the file that was handed in; without one by name,
login or address, if these are one student's alone. Where nobody is found, and where points are
still missing, the cell stays as it is, and the command says so.
"""

import csv
import html
import io
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from grading.marks import Graded
from grading.names import read_as
from grading.submissions import is_marked

_NAMES = ("Student", "SIS Login ID", "SIS User ID", "Full name", "Email address", "Username")
_CANVAS, _MOODLE = ("Student", "ID", "Section"), ("Identifier", "Grade")


class Gradebook:
    """An exported table.

    Args:
        path: of it.
        titles: names that the assignment may have there.
        possible: points of the assignment here; where it is worth others, they are scaled.
    """

    def __init__(self, path: Path, titles: list[str], possible: float):
        self.name = path.name
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            sys.exit(f"{path} cannot be read as UTF-8: {error}")
        self._mark = "\ufeff" * text.startswith("\ufeff")
        lines = text.removeprefix("\ufeff")
        first = lines.partition("\n")[0]
        self._separator = ";" if first.count(";") > first.count(",") else ","
        csv.field_size_limit(sys.maxsize)  # a text that a student wrote in Moodle is a cell
        try:
            table = list(csv.reader(io.StringIO(lines, newline=""), delimiter=self._separator))
        except csv.Error as error:
            sys.exit(f"{path} cannot be read as a table: {error}")
        self.columns, self.rows = table[0] if table else [], table[1:]
        self.is_moodle = set(_MOODLE) <= set(self.columns)
        if not self.is_moodle and not set(_CANVAS) <= set(self.columns):
            sys.exit(
                f"{path.name} is no gradebook of Canvas (Student, ID, Section), and no grading "
                "worksheet of Moodle in English (Identifier, Grade)"
            )
        self._grade = self.columns.index("Grade") if self.is_moodle else self._of(titles)
        self.worth = self._worth(possible)
        self.scale = self.worth / possible

    def _of(self, titles: list[str]) -> int:
        wanted = {title.casefold() for title in titles}
        plain = [re.sub(r" \(\d+\)$", "", column).casefold() for column in self.columns]
        found = [number for number, column in enumerate(plain) if column in wanted]
        if len(found) != 1:
            there = ", ".join(repr(c) for c in self.columns[self.columns.index("Section") + 1 :])
            wanted = " or ".join(map(repr, titles))
            many = "more than one column" if found else "no column"
            sys.exit(
                f"{self.name} has {many} {wanted}; say which with --column; there are: {there}"
            )
        return found[0]

    def _worth(self, possible: float) -> float:
        """What the assignment is worth there."""
        if self.is_moodle:
            said = {self._cell(row, "Maximum Grade") for row in self.rows}
        else:
            said = {
                self._at(row, self._grade)
                for row in self.rows
                if "Points Possible" in self._at(row, 0) and not self._number(row)
            }
        numbers = {float(text.replace(",", ".")) for text in said if _is_number(text)}
        if len(numbers) > 1:
            sys.exit(f"{self.name} has more than one maximum grade: {sorted(numbers)}")
        worth = numbers.pop() if numbers else possible
        return worth if worth > 0 else possible

    @staticmethod
    def _at(row: list[str], place: int) -> str:
        return row[place].strip() if place < len(row) else ""

    def _cell(self, row: list[str], column: str) -> str:
        return self._at(row, self.columns.index(column)) if column in self.columns else ""

    def fill(self, marked: list[Graded]) -> tuple[str, list[str]]:
        """Write the points into the table, and a note for whoever has no row there.

        Returns:
            The new table, and a line about each student whose points are not in it.
        """
        handed_in = [one for one in marked if not one.ungraded]
        found = self._rows(handed_in)
        others = [one for one in marked if one.ungraded]
        known = self._rows(others)  # of who handed in what cannot be graded
        said = [f"{o.student}: not graded: {o.ungraded}" for o in others if o.student in known]
        for one in handed_in:
            place = found.get(one.student)
            row = self.rows[place] if place is not None else None
            if row is None:
                said.append(f"{one.student}: no row there is this student's alone")
                one.flags.append("no row of the gradebook is this student's alone")
            elif one.pending:
                said.append(f"{one.student}: not graded yet: {', '.join(one.pending)}")
            elif self._cell(row, "Grade can be changed") == "No":
                said.append(f"{one.student}: Moodle says that the grade cannot be changed")
            else:
                self._put(row, one)
        return self._text(), said

    def _put(self, row: list[str], one: Graded) -> None:
        row += [""] * (len(self.columns) - len(row))
        row[self._grade] = f"{round(one.total * self.scale, 2):g}"
        comments = "Feedback comments"
        if comments in self.columns and not self._cell(row, comments):
            row[self.columns.index(comments)] = html.escape(  # Moodle shows it as HTML
                "; ".join(f"{m.asked.title}: {m.score:g} of {m.asked.points:g}" for m in one.marks)
            )

    def _rows(self, marked: list[Graded]) -> dict[str, int]:
        """The row of each student, where there is one and no doubt."""
        numbers, names = defaultdict(set), defaultdict(set)
        for place, row in enumerate(self.rows):
            if number := self._number(row):
                numbers[number].add(place)
                for name in self._called(row):
                    names[name].add(place)
        found = {}
        for one in marked:
            places = numbers[one.id] if one.id else names[read_as(one.student)]
            if len(places) == 1 and (one.id or not is_marked(one.student)):
                found[one.student] = next(iter(places))
        twice = [place for place in found.values() if list(found.values()).count(place) > 1]
        return {student: place for student, place in found.items() if place not in twice}

    def _number(self, row: list[str]) -> str:
        """Canvas has a number, Moodle "Participant 123"."""
        number = self._cell(row, "Identifier" if self.is_moodle else "ID").rpartition(" ")[2]
        return number if number.isdecimal() else ""

    def _called(self, row: list[str]) -> Iterator[str]:
        """Every form of the name: Canvas's files have "lastfirst", its table "Last, First"."""
        for column in _NAMES:
            if name := self._cell(row, column):
                yield read_as(name)
                last, comma, first = name.partition(",")
                if comma:
                    yield read_as(first + last)

    def _text(self) -> str:
        kept = range(len(self.columns))
        if not self.is_moodle:
            kept = [*range(self.columns.index("Section") + 1), self._grade]
        made = io.StringIO(newline="")
        writer = csv.writer(made, delimiter=self._separator, lineterminator="\n")
        for row in (self.columns, *self.rows):
            writer.writerow([row[place] if place < len(row) else "" for place in kept])
        return self._mark + made.getvalue()


def _is_number(text: str) -> bool:
    return bool(re.fullmatch(r"\d+([.,]\d+)?", text))
