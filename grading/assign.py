"""Make an assignment of a solved master: the notebook for students and Otter's `autograder.zip`.

    python -m grading.assign 02_sinusoidal      into dist/02_sinusoidal

The student notebook is the one that the site serves, made by `_ext.student`; Otter's own must
have the same code. The zip holds the hidden tests, what they import, the wheel of `posenc` and
the versions to install, so Gradescope and containers can grade with it as well. Nothing is made
again if nothing has changed since.
"""

import argparse
import contextlib
import io
import json
import re
import shutil
import sys
import tempfile
from pathlib import Path

import nbformat
import yaml
from nbformat import NotebookNode

from _ext import student
from _ext.repository import ROOT
from _ext.wheel import PACKAGE, build_wheel

DIST = ROOT / "dist"
ZIP = "autograder.zip"
FACTS = "facts.json"  # in the zip, for grading.grade
_REQUIREMENTS = Path(__file__).with_name("requirements.txt")
_IN_CONTAINERS = "file:///autograder/source/files/"  # where Otter unpacks the zip there


def find(name: str) -> Path:
    """Path of a master: a name in the book, or a path."""
    path = Path(name) if name.endswith(".ipynb") else student.EXERCISES / f"{name}.ipynb"
    if not name or not path.is_file():
        known = ", ".join(path.stem for path in student.masters())
        sys.exit(f"there is no assignment {name!r}; there are: {known}; or give a master's path")
    return path


def is_current(master: Path, folder: Path) -> bool:
    """Whether everything that an assignment is made of is older than its zip."""
    parts = [master.parent, _REQUIREMENTS, Path(__file__), *(ROOT / name for name in PACKAGE)]
    files = [file for part in parts for file in ([part] if part.is_file() else part.rglob("*.*"))]
    made = folder / ZIP
    times = [file.stat().st_mtime for file in files if "__pycache__" not in file.parts]
    return made.exists() and max(times) <= made.stat().st_mtime


def versions() -> list[str]:
    """What submissions may import, as grading/requirements.txt pins it."""
    _, _, rest = _REQUIREMENTS.read_text().partition("# What submissions may import")
    return [line for line in rest.partition("\n\n")[0].splitlines() if "==" in line]


def configured(master: NotebookNode, wheel: Path) -> NotebookNode:
    """Return the master with what Otter must know to install `posenc` elsewhere.

    Its name is left out: Otter would refuse each notebook that lacks it in its metadata.
    """
    found = nbformat.from_dict(master)
    config = yaml.safe_load(found.cells[0].source)
    config.pop("name", None)
    config["autograder_files"] = [*config.get("autograder_files", []), wheel.name, FACTS]
    config["requirements"] = [*versions(), f"posenc @ {_IN_CONTAINERS}{wheel.name}"]
    config["python_version"] = "{}.{}".format(*sys.version_info)
    found.cells[0].source = "# ASSIGNMENT CONFIG\n" + yaml.safe_dump(config, sort_keys=False)
    return found


def questions_of(master: NotebookNode) -> list[dict]:
    """What grading must know of each question."""
    prompts, tests = {}, {}
    for inside, question, cell in student.blocks(master):
        if inside == ("QUESTION",) and cell.source.startswith("## "):
            prompts[question["name"]] = cell.source
        if inside == ("QUESTION", "PROMPT"):
            prompts[question["name"]] += "\n" + cell.source
        if "TESTS" in inside:
            config = yaml.safe_load(cell.source.partition('"""')[2].partition('"""')[0])
            tests.setdefault(question["name"], []).append(config["points"])
    return [
        {
            "name": found.name,
            "title": found.title,
            "points": found.points,
            "written": found.written,
            "prompt": prompts[found.name],
            "tests": tests.get(found.name, []),
        }
        for found in student.exercises(master)
    ]


def title_of(master: NotebookNode) -> str:
    """The first heading."""
    texts = (cell.source for cell in master.cells if cell.cell_type == "markdown")
    return re.search(r"^# +(.+)$", "\n".join(texts), re.MULTILINE)[1]


def code(notebook: NotebookNode) -> list[str]:
    """The code cells of a notebook."""
    return [cell.source.strip() for cell in notebook.cells if cell.cell_type == "code"]


def run_otter(master: Path, folder: Path) -> tuple[NotebookNode, Path]:
    """Let Otter cut the master and grade its solution; its student notebook, and its zip."""
    from otter.assign import main

    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            main(str(master), str(folder), no_pdfs=True)
    except Exception as error:
        sys.exit(f"Otter cannot make {master.stem}: {error}")
    (made,) = (folder / "autograder").glob("*.zip")
    return nbformat.read(folder / "student" / master.name, as_version=4), made


def make(path: Path, folder: Path) -> Path:
    """Write the student notebook and the zip of a master into a folder, unless they are current.

    Returns:
        Path of the zip.
    """
    if is_current(path, folder):
        return folder / ZIP
    print(f"==> Making {path.stem}, and grading its own solution")
    try:
        master = nbformat.read(path, as_version=4)
        handed_out = student.student(master, student.wheel_address())
        questions = questions_of(master)
        facts = {"title": title_of(master), "questions": questions}
    except Exception as error:
        sys.exit(f"{path.name} is no master: {error}")
    if not questions:
        sys.exit(f"{path.name} is no master: it asks nothing")
    for question in questions:
        if not question["written"] and sum(question["tests"]) != question["points"]:
            sys.exit(f"{path.name}: the tests of {question['name']} must sum to its points")
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary, "master")
        shutil.copytree(path.parent, work, ignore=shutil.ignore_patterns("*.ipynb", "__pycache__"))
        wheel = build_wheel(work)
        (work / FACTS).write_text(json.dumps(facts, ensure_ascii=False, indent=1))
        nbformat.write(configured(master, wheel), work / path.name)
        otters, made = run_otter(work / path.name, Path(temporary, "made"))
        if code(otters) != code(student.student(master)):
            sys.exit(f"{path.name}: Otter's student notebook has other code than _ext.student's")
        folder.mkdir(parents=True, exist_ok=True)
        nbformat.write(handed_out, folder / path.name)
        return Path(shutil.copy(made, folder / ZIP))


def main() -> None:
    """Make one assignment."""
    parser = argparse.ArgumentParser(prog="python -m grading.assign")
    parser.add_argument("name", help="an assignment of the book, or the path of a master")
    parser.add_argument("--dist", type=Path, default=DIST, help="where its folder is made")
    options = parser.parse_args()
    master = find(options.name)
    made = make(master, options.dist / master.stem)
    print(f"==> {made.parent / master.name} is for students, {made} for you and your graders")


if __name__ == "__main__":
    main()
