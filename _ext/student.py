"""Cut a solved master of exercises down to what students get.

    python -m _ext.student FOLDER      write the student notebooks there

In a master raw cells say where questions, prompts and solutions begin and end, and comments do
the same for lines of code. Students get the text, the stubs and the checks. The
published copies install `posenc` where it is missing, so they run in Colab.
"""

import argparse
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat
import yaml
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from _ext.repository import ROOT, find, site

EXERCISES = ROOT / "chapters" / "exercises"
STUB = "..."
_MARK = re.compile(r"# (BEGIN|END) (QUESTION|PROMPT|SOLUTION)\b")
_FACTS = re.compile(
    r"\*(?P<level>[\w -]+) · (?P<minutes>\d+) minutes · (?P<points>\d+) points? · "
    r"teaches (?P<teaches>[^*]+)\*"
)
INTRODUCTION = """\
Answers go where the dots are. After each answer a check says what is right, and what a wrong \
answer looks like. Leave the names of functions as they are: checks and grading look for them."""
INSTALL = """\
try:  # where the book's package is missing, as in Colab, this installs it
    import posenc.check
except ImportError:
    %pip install --quiet "posenc @ {wheel}\""""


@dataclass(frozen=True)
class Exercise:
    """One question: what a reader should know before starting it."""

    name: str
    title: str
    level: str
    minutes: int
    points: int
    teaches: str
    written: bool


def masters() -> list[Path]:
    """The solved notebooks, in order."""
    return sorted(EXERCISES.glob("[0-9]*.ipynb"))


def blocks(master: NotebookNode) -> Iterator[tuple[tuple[str, ...], dict, NotebookNode]]:
    """Each cell but the marks, with the blocks it stands in and its question's settings."""
    inside: list[str] = []
    question: dict = {}
    for cell in master.cells:
        mark = _MARK.match(cell.source) if cell.cell_type == "raw" else None
        if mark and mark[1] == "BEGIN":
            inside.append(mark[2])
            if mark[2] == "QUESTION":
                question = yaml.safe_load(cell.source)
        elif mark:
            if not inside or inside.pop() != mark[2]:
                raise ValueError(f"blocks must be closed in order, got {mark[0]!r}")
        elif cell.cell_type != "raw":
            yield tuple(inside), question if inside else {}, cell
    if inside:
        raise ValueError(f"blocks must be closed, {inside[-1]} is not")


def exercises(master: NotebookNode) -> list[Exercise]:
    """The questions of a master, in order."""
    found = []
    for inside, question, cell in blocks(master):
        if inside == ("QUESTION",) and cell.source.startswith("## "):
            facts = _FACTS.search(cell.source)
            if not facts or int(facts["points"]) != question["points"]:
                raise ValueError(f"{question['name']} must state its level, minutes and points")
            found.append(
                Exercise(
                    question["name"],
                    cell.source.partition("\n")[0].removeprefix("## "),
                    facts["level"],
                    int(facts["minutes"]),
                    int(facts["points"]),
                    facts["teaches"],
                    bool(question.get("manual")),
                )
            )
    return found


def cut(source: str) -> tuple[str, list[str]]:
    """Replace the solution in a cell's code; returns what is left, and the lines cut out."""
    left, lines, cutting = [], [], False
    for line in source.splitlines():
        stripped = line.strip()
        if stripped.startswith("# BEGIN SOLUTION"):
            cutting = True
            if not stripped.endswith("NO PROMPT"):
                left.append(line.replace(stripped, STUB))
        elif stripped == "# END SOLUTION":
            cutting = False
        elif cutting:
            lines.append(stripped)
        elif not stripped.endswith(("# BEGIN PROMPT", "# END PROMPT")):
            left.append(line)
    if cutting:
        raise ValueError("a solution must end, with # END SOLUTION")
    return "\n".join(left), [line for line in lines if line]


def wheel_address() -> str:
    """Where the published site has the package; "" if the book has no repository."""
    repository = find()
    if not repository:
        return ""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    return f"{site(repository)}wheels/posenc-{version}-py3-none-any.whl"


def student(master: NotebookNode, wheel: str = "") -> NotebookNode:
    """Return what students get: no solution, no output and no metadata.

    Args:
        master: the solved notebook.
        wheel: address of the wheel to install; without one no cell installs anything.
    """
    cells = []
    for inside, _, cell in blocks(master):
        if "SOLUTION" in inside and cell.cell_type != "code":
            continue
        if cell.cell_type == "code":
            cells.append(new_code_cell(cut(cell.source)[0]))
        else:
            cells.append(new_markdown_cell(cell.source))
    head = [new_markdown_cell(INTRODUCTION)]
    if wheel:
        head.append(new_code_cell(INSTALL.format(wheel=wheel)))
    cells[1:1] = head
    for number, cell in enumerate(cells):
        cell.id = f"cell-{number}"
    metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return new_notebook(cells=cells, metadata=metadata)


def solution_lines(master: NotebookNode) -> list[str]:
    """Every line of solutions, written ones included: students may not get them."""
    lines = []
    for inside, _, cell in blocks(master):
        if "SOLUTION" in inside and cell.cell_type != "code":
            lines += [line.strip() for line in cell.source.splitlines() if line.strip()]
        elif cell.cell_type == "code":
            lines += cut(cell.source)[1]
    return lines


def write(folder: Path, wheel: str = "") -> list[Path]:
    """Write the student notebook of every master into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for path in masters():
        written.append(folder / path.name)
        nbformat.write(student(nbformat.read(path, as_version=4), wheel), written[-1])
    return written


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m _ext.student")
    parser.add_argument("folder", type=Path)
    for made in write(parser.parse_args().folder, wheel_address()):
        print(made)
