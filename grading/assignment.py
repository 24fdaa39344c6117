"""What an assignment asks: from its solved master and the questions of its chapter."""

import importlib.util
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import nbformat

from _ext import student
from grading.cells import defined, form, read
from grading.questions.master import Comparison, Judged, masters
from grading.uses import Uses
from posenc.check import Probe, Question

RUNS = "*Grading runs this notebook from top to bottom, without a network, with"


@dataclass(frozen=True)
class Asked:
    """A question as the grader sees it.

    Args:
        name: of the answer in the notebook.
        title: its heading.
        points: that it gives.
        written: whether a person gives them.
        prompt: its text.
        rubric: what the master says about marking, for a written one.
        tests: points and label of each hidden test.
        refuses: functions of `posenc` that the answer may not call.
        public: the labels of hidden cases that say nothing of what is drawn.
    """

    name: str
    title: str
    points: float
    written: bool
    prompt: str
    rubric: str = ""
    tests: tuple[tuple[float, str], ...] = ()
    refuses: tuple[str, ...] = ()
    public: frozenset[str] = frozenset()


class Assignment:
    """A master, and what its questions are graded with.

    Args:
        path: of the master. Its questions are those of the book, or those that a Python file of
            the same name beside it holds.
    """

    def __init__(self, path: Path):
        self.path, self.name = path, path.stem
        try:
            self.master = nbformat.read(path, as_version=4)
            self.handed_out = student.student(self.master, student.wheel_address())
            self.questions = list(self._questions())
        except Exception as error:
            sys.exit(f"{path.name} is no master: {error}")
        if not self.questions:
            sys.exit(f"{path.name} is no master: it asks nothing")

    @classmethod
    def find(cls, name: str) -> "Assignment":
        """An assignment of the book by its name, or any by its path."""
        path = Path(name) if name.endswith(".ipynb") else student.EXERCISES / f"{name}.ipynb"
        if not name or not path.is_file():
            known = ", ".join(path.stem for path in student.masters())
            sys.exit(
                f"there is no assignment {name!r}; there are: {known}; or give a master's path"
            )
        return cls(path)

    @property
    def title(self) -> str:
        """The first heading."""
        texts = (cell.source for cell in self.master.cells if cell.cell_type == "markdown")
        return re.search(r"^# +(.+)$", "\n".join(texts), re.MULTILINE)[1]

    @cached_property
    def known(self) -> dict[str, Comparison | Judged]:
        """The coded questions' own objects."""
        beside = self.path.with_suffix(".py")
        if not beside.exists():
            return masters()
        spec = importlib.util.spec_from_file_location(beside.stem, beside)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        own = [value for value in vars(module).values() if isinstance(value, Comparison | Judged)]
        return {question.name: question for question in own}

    @cached_property
    def given_lines(self) -> set[str]:
        """The lines of code that students get."""
        code = (cell.source for cell in self.handed_out.cells if cell.cell_type == "code")
        return {line.strip() for source in code for line in source.splitlines()}

    @cached_property
    def given_text(self) -> set[str]:
        """The lines of text that students get."""
        texts = (cell.source for cell in self.handed_out.cells if cell.cell_type != "code")
        return {line.strip() for source in texts for line in source.splitlines()}

    @cached_property
    def given_cells(self) -> dict[str, str]:
        """For each coded question, the cell in which students are to answer it."""
        code = [cell.source for cell in self.handed_out.cells if cell.cell_type == "code"]
        return {
            asked.name: source.strip()
            for asked in self.questions
            for source in code
            if not asked.written and re.search(rf"^(def|class) {asked.name}\b", source, re.M)
        }

    @cached_property
    def given_forms(self) -> dict[str, str]:
        """What each cell of code says that is handed out, see `cells.form`, and for which question
        it is; "" for none.
        """
        code = [cell.source for cell in self.handed_out.cells if cell.cell_type == "code"]
        names = {source: name for name, source in self.given_cells.items()}
        return {form(source): names.get(source.strip(), "") for source in code}

    def read(self, cells: Sequence[tuple[str, str]]) -> dict:
        """What the code of a notebook says, as plain data: to read it again may take long.

        Args:
            cells: kind and source of each.

        Returns:
            "untouched": the question of each cell that is as it was handed out, None for the
            student's own; "stubs": of each cell for an answer, as it was handed out, below an
            answer, which it would undo, its number and the question's name; "no_python": the
            numbers of the cells that are none; "made": the questions whose names a cell makes;
            "in_text": of each function of a question that stands in a cell of text the number of
            the cell and the name; "odd" and "imported": see `grading.uses`.
        """
        found = {"untouched": [], "stubs": [], "no_python": [], "in_text": []}
        code = [source if kind == "code" else "" for kind, source in cells]
        answered, made = set(), set()
        asked = {one.name for one in self.questions if not one.written}
        for number, (is_none, names, said) in enumerate(read(code)):
            name = self.given_forms.get(said) if cells[number][0] == "code" else None
            found["untouched"].append(name)
            found["no_python"] += [number] * is_none
            found["stubs"] += [(number, name)] * (name in answered)
            answered |= names if not name else set()
            made |= names & asked
        for number, (kind, text) in enumerate(cells):
            in_text = defined(text) & asked if kind != "code" else ()
            found["in_text"] += [(number, name) for name in sorted(in_text)]
        uses = Uses(cells, self.given_lines)
        return found | {
            "made": sorted(made),
            "odd": uses.odd(),
            "imported": sorted(uses.imported()),
        }

    def run_of(self, cells: Sequence[tuple[str, str]], read: dict) -> list[tuple[int, str, bool]]:
        """What is run: number and source of each cell of code, and whether it was handed out.

        Cells for an answer are the student's own; the stubs below one are left out.

        Args:
            cells: kind and source of each.
            read: what `read` says of them.
        """
        stubs = dict(read["stubs"])
        return [
            (number, source, read["untouched"][number] == "")
            for number, (kind, source) in enumerate(cells)
            if kind == "code" and number not in stubs
        ]

    @property
    def points(self) -> dict[str, list[float]]:
        """What each hidden test of each coded question is worth."""
        return {q.name: [points for points, _ in q.tests] for q in self.questions if not q.written}

    def tests(self, seed: int) -> dict[str, list[Question | Probe]]:
        """The hidden tests of each coded question, drawn with a seed."""
        return {q.name: self.known[q.name].hidden(seed) for q in self.questions if not q.written}

    def _questions(self):
        prompts, rubrics = {}, {}
        for inside, question, cell in student.blocks(self.master):
            name = question.get("name")
            if inside == ("QUESTION",) and cell.source.startswith("## "):
                prompts[name] = cell.source
            elif inside == ("QUESTION", "PROMPT"):
                prompts[name] += "\n\n" + cell.source
            elif inside == ("QUESTION", "SOLUTION") and cell.cell_type == "markdown":
                rubrics[name] = rubrics.get(name, "") + cell.source
        for found in student.exercises(self.master):
            tests, public = (), frozenset()
            if not found.written:
                if found.name not in self.known:
                    raise ValueError(f"nothing is known of the question {found.name}")
                known = self.known[found.name]
                tests = tuple((test.points, test.label) for test in known.tests)
                public = frozenset(known.public_labels())
                if sum(points for points, _ in tests) != found.points:
                    raise ValueError(f"the tests of {found.name} must sum to its points")
            yield Asked(
                found.name,
                found.title,
                found.points,
                found.written,
                prompts[found.name],
                rubrics.get(found.name, ""),
                tests,
                () if found.written else getattr(known, "settings", {}).get("refuses", ()),
                public,
            )
