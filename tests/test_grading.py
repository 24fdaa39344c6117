"""A class of forty hands in, some of them with bad intent; every mark is known beforehand."""

import csv
import hashlib
import inspect
import json
import os
import re
import shutil
import signal
import subprocess
import time
import zipfile
from pathlib import Path

import nbformat
import pytest
from bs4 import BeautifulSoup
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_raw_cell

from _ext import student
from tests.answers import chapter_2

ROOT = Path(__file__).parent.parent
PYTHON = ROOT / ".venv-grading" / "bin" / "python"
NAME = "02_sinusoidal"
MASTER = nbformat.read(student.EXERCISES / f"{NAME}.ipynb", as_version=4)
QUESTIONS = ("sinusoidal", "dot_product", "moved", "mended_sinusoidal")
FULL = (3, 3, 4, 3)
NOTHING = (0, 0, 0, 0)


def missing(reason):
    """On a reader's machine a test may lack what it needs; in CI it may not."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="module", autouse=True)
def equipment():
    current = ["make", "--question", ".venv-grading/.ready"]
    if not shutil.which("bwrap") or subprocess.run(current, cwd=ROOT, check=False).returncode:
        missing("what grades is missing, or older than posenc; type: make grader")


def grading(tool, *arguments, **settings):
    """Run a command of the grading room."""
    command = [PYTHON, "-m", f"grading.{tool}", *arguments]
    settings = {"env": os.environ | {"PYTHONPATH": str(ROOT)}, "cwd": ROOT} | settings
    return subprocess.run(
        [str(part) for part in command], capture_output=True, check=False, text=True, **settings
    )


def grade(folder, out, *arguments):
    done = grading("grade", folder, "--out", out, *arguments)
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture(scope="module")
def assignment(equipment, tmp_path_factory):
    dist = tmp_path_factory.mktemp("dist")
    done = grading("assign", NAME, "--dist", dist)
    assert done.returncode == 0, done.stderr
    return dist / NAME


def table(path):
    with path.open(newline="", encoding="utf-8") as file:
        return {row["student"]: row for row in csv.DictReader(file)}


def marks(row, questions=QUESTIONS):
    return tuple(float(row[question]) for question in questions)


# What students write

HELPERS = inspect.getsource(chapter_2).partition("ANSWERS = {")[0]
HELPERS = HELPERS.replace("from tests.answers import Answers\n", "")
SOLUTIONS = {
    settings["name"]: cell.source
    for inside, settings, cell in student.blocks(MASTER)
    if inside == ("QUESTION", "SOLUTION") and cell.cell_type == "code"
}
SIGNATURES = {
    "sinusoidal": "positions, dim, base",
    "dot_product": "offset, dim, base",
    "moved": "rows, offset, base",
    "mended_sinusoidal": "positions, dim",
}
IN_OTHER_STYLES = [
    dict(zip(QUESTIONS, names, strict=True))
    for names in (
        ("loops", "dot_by_rows", "moved_loops", "loops"),
        ("numpy_table", "dot_numpy", "moved_complex", "numpy_table"),
        ("phasors", "dot_complex", "moved_matrix", "phasors"),
    )
]
# What each wrong answer still gets: the hidden tests of a question are independent.
PARTLY_RIGHT = {"always_ten_thousand": 2, "in_half_precision": 2, "still_bfloat16": 2}


def notebook(**answers):
    """The notebook as handed out, with answers: the name of a helper, or the code of a cell."""
    made = student.student(MASTER)
    made.cells.insert(3, new_code_cell(HELPERS))
    for cell in made.cells:
        match = re.match(r"def (\w+)\(", cell.source)
        if cell.cell_type == "code" and match and match[1] in answers:
            question, answer = match[1], answers[match[1]]
            arguments = SIGNATURES[question]
            if answer.isidentifier():
                base = ", 10_000.0" * (question == "mended_sinusoidal")
                base *= "base" in inspect.signature(getattr(chapter_2, answer)).parameters
                answer = f"def {question}({arguments}):\n    return {answer}({arguments}{base})"
            cell.source = answer
    return made


def solved(*code, at=None):
    """All answers right, and further cells: at the end, or at a place."""
    made = notebook(**IN_OTHER_STYLES[0])
    place = len(made.cells) if at is None else at
    made.cells[place:place] = [new_code_cell(source) for source in code]
    return made


def unanswered(*code):
    made = notebook()
    made.cells += [new_code_cell(source) for source in code]
    return made


def bare():
    """The answers alone: no text, no check, no metadata, another kernel, cells of no known kind."""
    made = solved()
    kept = [c for c in made.cells if c.cell_type == "code" and "check." not in c.source]
    made.cells = [*kept, new_raw_cell("raw")]
    made.metadata = {"kernelspec": {"name": "conda-env", "display_name": "x", "language": "R"}}
    return made


def twice():
    made = solved()
    made.cells += [cell.copy() for cell in made.cells]
    for number, cell in enumerate(made.cells):
        cell.id = f"twice-{number}"
    return made


READ = """
import os, socket
found = []
for path in {paths}:
    if os.path.isfile(path):
        found.append(path)
for folder, folders, names in os.walk("/"):
    if folder == "/":
        folders[:] = [name for name in folders if name not in ("proc", "usr", "dev")]
    folders[:] = [name for name in folders if not name.startswith("lib")]
    for name in names:
        try:
            with open(os.path.join(folder, name), "rb") as file:
                if b"this is the work" + b" of stub" in file.read(2**20):
                    found.append(name)
        except OSError:
            pass
for port in (53, 80):
    try:
        socket.create_connection(("1.1.1.1", port), 1)
        found.append("network")
    except OSError:
        pass
for path in ("{root}/grading/new", "{prefix}/new", "/usr/new", "/new", "/given/new", "/dev/new"):
    try:
        open(path, "w").close()
        found.append(path)
    except OSError:
        pass
open("mine.txt", "w").write("x")
raise RuntimeError("could reach: " + repr(found))
"""
FORGED_RUN = """
from otter.test_files import exception_test as e
from otter.test_files.abstract_test import TestCaseResult
def run(self, env):
    self.test_case_results = [TestCaseResult(t, "", True) for t in self.test_cases]
e.ExceptionTestFile.run = run
"""
FORGED_RESULTS = """
import otter.execute
from otter import Notebook
from otter.test_files import ExceptionTestFile, TestCase
from otter.test_files.abstract_test import TestCaseResult
def files():
    for name in ("sinusoidal", "dot_product", "moved", "mended_sinusoidal"):
        cases = [TestCase(str(n), None, True, 99, None, None) for n in range(2)]
        file = ExceptionTestFile(name, name, cases)
        file.test_case_results = [TestCaseResult(case, "", True) for case in cases]
        yield file
otter.execute.Checker.get_results = classmethod(lambda cls: list(files()))
Notebook.check = lambda *a, **k: None
"""
FORGED_CHECK = """
import posenc.check as c
from posenc.check import question
c.Comparison.__call__ = lambda self, *a, **k: c.Verdict(self.name, ())
c.Verdict.require = lambda self: None
question.Comparison = c.Comparison
"""
FORGED_BUILTINS = """
import builtins, math
builtins.abs = lambda *a, **k: 0.0
math.isclose = lambda *a, **k: True
"""
FORGED_TORCH = """
torch.allclose = torch.equal = lambda *a, **k: True
torch.testing.assert_close = lambda *a, **k: None
"""
FORGED_OUTPUT = """
import glob
for path in glob.glob("/proc/*/fd/*"):
    try:
        with open(path, "w") as file:
            file.write('{"error": "", "tests": {"moved": [[true, ""], [true, ""]]}}')
    except OSError:
        pass
"""
NEVER_ENDS = """
import time
while True:
    try:
        time.sleep(1)
    except BaseException:
        pass
"""


def write_class(folder, paths):
    """Write the submissions; what each of them gets, and what must be said about it."""
    folder.mkdir(exist_ok=True)
    known = {}

    def hand_in(name, made, expected, note="^$", suffix=".ipynb"):
        if isinstance(made, bytes):
            (folder / f"{name}{suffix}").write_bytes(made)
        else:
            made.cells.append(new_markdown_cell(f"this is the work of {name}"))
            nbformat.write(made, folder / f"{name}.ipynb")
        known[name if suffix == ".ipynb" else f"{name}{suffix}"] = (expected, note)

    # Fair ones
    hand_in("solution", notebook(**SOLUTIONS), FULL)
    hand_in("stub", unanswered(), NOTHING)
    for number, answers in enumerate(IN_OTHER_STYLES):
        hand_in(f"style_{number}", notebook(**answers), FULL)
    hand_in("only_first", notebook(sinusoidal="cosines_as_sines"), (3, 0, 0, 0))
    hand_in("only_third", notebook(moved="moved_complex"), (0, 0, 4, 0))
    for number in range(8):
        chosen = wrong_answers(number)
        expected = tuple(PARTLY_RIGHT.get(answer, 0) for answer, _ in chosen.values())
        answers = {question: answer for question, (answer, _) in chosen.items()}
        hand_in(f"wrong_{number}", notebook(**answers), expected)
    partly = {"sinusoidal": "always_ten_thousand", "mended_sinusoidal": "still_bfloat16"}
    hand_in("partly", notebook(**partly), (2, 0, 0, 2))
    raising = notebook(
        **(IN_OTHER_STYLES[0] | {"moved": "def moved(r, o, b):\n    return r / zero"})
    )
    raising.cells.insert(5, new_code_cell("raise ValueError('<b>loud</b>')"))
    hand_in("raising", raising, (3, 3, 0, 3))
    hand_in("Zoë O'Neil & <i>", solved(), FULL)

    # Clumsy ones
    hand_in("garbage", b"\x00\xff{not json", NOTHING, "cannot be read")
    hand_in("empty_file", b"", NOTHING, "cannot be read")
    hand_in(
        "json", b'{"cells": [1, {"cell_type": "code"}, null], "nbformat": 4}', NOTHING, "cannot"
    )
    hand_in("deep", b"[" * 100_000, NOTHING, "cannot be read")
    hand_in("no_cells", new_notebook(), NOTHING, "answers no question")
    other = new_notebook(cells=[new_code_cell("def alibi(): return 1")])
    hand_in("anothers", other, NOTHING, "another's")
    hand_in("essay", b"%PDF-1.7", NOTHING, "not a notebook", suffix=".pdf")
    hand_in("bare", bare(), FULL)
    hand_in("twice", twice(), FULL)
    hand_in(
        "another_style", notebook(**IN_OTHER_STYLES[0] | {"sinusoidal": "cosines_as_sines"}), FULL
    )
    hand_in("exits", solved("import sys\nsys.exit(1)", "raise SystemExit", "input()"), FULL)
    hand_in(
        "installs", solved("%pip install --quiet nosuchthing", "!curl http://a.org"), FULL, "!curl"
    )

    # Hostile ones
    hand_in("kills", solved("import os\nos._exit(0)", at=4), FULL, "ended Python and was left out")
    hand_in("blocks", solved(NEVER_ENDS, at=4), FULL, "ran longer than 20 seconds")
    endless = "def dot_product(offset, dim, base):\n    while True:\n        pass"
    hand_in("endless", notebook(**IN_OTHER_STYLES[0] | {"dot_product": endless}), (3, 0, 4, 3), "")
    hand_in("wishes", solved("huge = bytearray(2**40)", at=4), FULL)
    eats = "eaten = []\nwhile True:\n    eaten.append(b'1' * 2**30)"
    hand_in("eats", solved(eats, at=4), NOTHING, "memory")
    forks = "import os, time\nfor _ in range(1000):\n    if os.fork() == 0:\n        time.sleep(99)"
    hand_in("forks", solved(forks, at=4), NOTHING, "processes|memory")
    fills = "import os\nfor n in range(99):\n    open(f'/tmp/{n}', 'wb').write(bytes(2**30))"
    hand_in("fills", solved(fills), FULL, "open")
    hand_in(
        "boasts", unanswered("print('sinusoidal results: All test cases passed! 13 / 13')"), NOTHING
    )
    own_check = "class check:\n    sinusoidal = moved = dot_product = mended_sinusoidal = print"
    hand_in("own_check", unanswered(own_check), NOTHING)
    hand_in("forged_check", unanswered(FORGED_CHECK), NOTHING, "Verdict")
    hand_in("forged_builtins", wrong_with(FORGED_BUILTINS), NOTHING, "changes how.*builtins")
    hand_in("forged_torch", wrong_with(FORGED_TORCH), NOTHING, "torch.allclose")
    hand_in("forged_run", unanswered(FORGED_RUN), NOTHING, "changes how answers are tested.*otter")
    hand_in("forged_results", unanswered(FORGED_RESULTS), NOTHING, "changes how answers.*Checker")
    hand_in("forged_output", unanswered(FORGED_OUTPUT), NOTHING, "/proc")
    shadows = "print = len = isinstance = abs = float = lambda *given: True"
    made = notebook(**IN_OTHER_STYLES[1] | {"sinusoidal": "cosines_as_sines"})
    made.cells.append(new_code_cell(shadows))
    hand_in("shadows", made, FULL)
    code = READ.format(
        paths=[str(path) for path in paths], root=ROOT, prefix=ROOT / ".venv-grading"
    )
    hand_in("reads", unanswered(code), NOTHING, "open")
    return known


def wrong_answers(number):
    """For each question one of its wrong answers and its hint."""
    wrong = {question: chapter_2.ANSWERS[question].wrong for question in QUESTIONS}
    chosen = {question: wrong[question][number % len(wrong[question])] for question in QUESTIONS}
    return {question: (answer.__name__, hint) for question, (answer, hint) in chosen.items()}


def wrong_with(code):
    answers = {question: answer for question, (answer, _) in wrong_answers(0).items()}
    made = notebook(**answers)
    made.cells.append(new_code_cell(code))
    return made


# The class


def state():
    """A hash of every file that grading could damage."""
    packages = list((ROOT / ".venv-grading").glob("lib/*/site-packages"))
    folders = [ROOT / name for name in ("posenc", "grading", "chapters", "tests", "_ext")]
    folders += [package / name for package in packages for name in ("posenc", "otter")]
    files = [path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file()]
    kept = [path for path in files if path.suffix != ".pyc"]
    return {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in kept}


class Class:
    """The class after grading."""

    def __init__(self, folder, dist):
        self.folder, self.out, self.dist = folder / "submissions", folder / "out", dist
        master, archive = student.EXERCISES / f"{NAME}.ipynb", dist / NAME / "autograder.zip"
        mine = [self.folder / "stub.ipynb", self.out / "results" / "deep.json", master, archive]
        theirs = [ROOT / "README.md", ROOT / "grading" / "grade.py", "/etc/passwd"]
        self.known = write_class(self.folder, [*mine, *theirs])
        (self.folder / ".hidden").write_text("x")
        (self.folder / "a folder").mkdir()
        (self.folder / "link.ipynb").symlink_to(student.EXERCISES / f"{NAME}.ipynb")
        (self.folder / "=cmd().ipynb").write_text("x")
        before, start = state(), time.monotonic()
        self.said = self.grade()
        self.seconds = time.monotonic() - start
        self.unchanged = state() == before
        self.grades = table(self.out / "grades.csv")

    def grade(self):
        options = ("--name", NAME, "--dist", self.dist, "--seconds", 240, "--cell-seconds", 20)
        return grade(self.folder, self.out, *options)

    def page(self, name):
        return (self.out / "feedback" / f"{name}.html").read_text(encoding="utf-8")

    def text(self, name):
        return " ".join(BeautifulSoup(self.page(name), "html.parser").get_text(" ").split())

    def results(self):
        return {path.name: path.stat().st_mtime_ns for path in self.out.glob("results/*.json")}


@pytest.fixture(scope="module")
def room(assignment, tmp_path_factory):
    return Class(tmp_path_factory.mktemp("class"), assignment.parent)


def test_the_whole_class_is_graded(room):
    assert list(room.grades) == sorted(room.known)
    assert len(room.known) >= 40
    assert {path.stem for path in room.out.glob("feedback/*.html")} == set(room.known)
    assert room.seconds < 600


def test_every_mark_is_as_expected(room):
    got = {name: marks(row) for name, row in room.grades.items()}
    assert got == {name: expected for name, (expected, _) in room.known.items()}
    for row in room.grades.values():
        assert float(row["total"]) == sum(marks(row))
        assert row["possible"] == "13"


def test_the_instructor_is_told_what_is_odd(room):
    notes = {name: room.grades[name]["note"] for name in room.known}
    odd = {n: notes[n] for n, (_, note) in room.known.items() if not re.search(note, notes[n])}
    assert not odd


def test_what_is_no_submission_is_named(room):
    for name in (".hidden", "a folder", "link.ipynb", "=cmd().ipynb"):
        assert f"left out: '{name}' is no submission" in room.said.stderr


@pytest.mark.parametrize("number", range(8))
def test_a_wrong_answer_gets_its_hint(room, number):
    text = room.text(f"wrong_{number}")
    for _, hint in wrong_answers(number).values():
        assert hint in text


def test_feedback_says_what_was_right_and_what_was_not(room):
    text = room.text("partly")
    assert "2.1 The table 2 of 3 ✓ Test 1 of 2: right (2 of 2)" in text
    assert "✗ Test 2 of 2: wrong (0 of 1)" in text
    assert "NO base 500" in text
    assert "13 of 13 points" in room.text("solution")
    assert "not answered yet" in room.text("stub")


def test_feedback_shows_no_code_of_a_hidden_test(room):
    for name in room.known:
        assert not re.search(
            r"fresh_check|check\.Case|def test_|\.require\(|Error at line", room.text(name)
        )


def test_feedback_names_exceptions_and_escapes_them(room):
    text = room.text("raising")
    assert "below “2.1 The table”" in text or "below “Exercises 2: sinusoidal encodings”" in text
    assert "ValueError: <b>loud</b>" in text
    assert "NameError" in text
    assert "<b>loud" not in room.page("raising")
    assert "<i>" not in room.page("Zoë O'Neil & <i>")


def test_feedback_is_one_page_for_one_student(room):
    for name in room.known:
        page = room.page(name)
        soup = BeautifulSoup(page, "html.parser")
        assert soup.html["lang"] == "en"
        assert [h.get_text() for h in soup.find_all("h1")] == [name]
        assert len(soup.find_all("h2")) == 4
        assert not soup.find_all(["script", "link", "img", "iframe"])
        assert "http" not in page
        others = [other for other in room.known if len(other) > 7 and other != name]
        words = set(re.findall(r"\w+", soup.get_text()))
        assert not words & set(others)


def test_students_are_not_told_what_the_instructor_looks_for(room):
    assert "look at its code" in room.grades["forged_torch"]["note"]
    assert "look at its code" not in room.page("forged_torch")


def test_a_submission_reaches_nothing_but_itself(room):
    assert "could reach: []" in room.text("reads")


def test_nothing_of_the_checkout_is_changed(room):
    assert room.unchanged


def test_what_is_graded_is_not_graded_again(room):
    before, start = room.results(), time.monotonic()
    room.grade()
    assert time.monotonic() - start < 20
    assert room.results() == before


def test_a_changed_submission_is_graded_again_and_no_other(room):
    before, path = room.results(), room.folder / "only_first.ipynb"
    made = notebook(sinusoidal="loops", dot_product="dot_numpy")
    nbformat.write(made, path)
    room.grade()
    after = room.results()
    assert {name for name in after if after[name] != before[name]} == {"only_first.json"}
    assert marks(table(room.out / "grades.csv")["only_first"]) == (3, 3, 0, 0)


# Limits and interruptions


def sandboxes():
    """The sandboxes that run on this machine."""
    listed = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, check=True, text=True)
    return {line.split()[0] for line in listed.stdout.splitlines() if " bwrap --unshare" in line}


def test_a_run_that_is_killed_loses_nothing_that_is_finished(assignment, tmp_path):
    folder, out = tmp_path / NAME, tmp_path / "out"
    folder.mkdir()
    for name in "ab":
        nbformat.write(unanswered(), folder / f"{name}.ipynb")
    nbformat.write(solved("import time\ntime.sleep(9)"), folder / "c.ipynb")
    before = sandboxes()
    command = [PYTHON, "-m", "grading.grade", folder, "--out", out, "--jobs", "1"]
    command += ["--dist", assignment.parent]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)
    while not (out / "results" / "b.json").exists():
        time.sleep(0.2)
        assert process.poll() is None
    time.sleep(3)
    process.send_signal(signal.SIGKILL)
    process.wait()
    time.sleep(1)
    assert not sandboxes() - before
    assert not (out / "results" / "c.json").exists()
    finished = {path: path.stat().st_mtime_ns for path in out.glob("results/*.json")}
    assert len(finished) == 2
    grade(folder, out, "--dist", assignment.parent)
    assert {path: path.stat().st_mtime_ns for path in finished} == finished
    assert marks(table(out / "grades.csv")["c"]) == FULL


def test_a_submission_has_a_time_limit(assignment, tmp_path):
    folder = tmp_path / NAME
    folder.mkdir()
    nbformat.write(solved(NEVER_ENDS), folder / "late.ipynb")
    before, start = sandboxes(), time.monotonic()
    grade(folder, tmp_path / "out", "--dist", assignment.parent, "--seconds", 15)
    assert time.monotonic() - start < 40
    row = table(tmp_path / "out" / "grades.csv")["late"]
    assert marks(row) == NOTHING
    assert row["note"] == "it took longer than 15 seconds"
    time.sleep(1)
    assert not sandboxes() - before


# The assignment


def test_an_assignment_hands_out_the_students_notebook_and_no_more(assignment):
    assert {path.name for path in assignment.iterdir()} == {f"{NAME}.ipynb", "autograder.zip"}
    text = (assignment / f"{NAME}.ipynb").read_text(encoding="utf-8")
    handed_out = student.student(MASTER, student.wheel_address())
    assert nbformat.reads(text, as_version=4) == handed_out
    assert "otter" not in text.lower()
    handed_out = {
        line.strip()
        for cell in nbformat.reads(text, as_version=4).cells
        for line in cell.source.splitlines()
    }
    secret = [line for line in student.solution_lines(MASTER) if len(line) > 15]
    assert secret
    assert not handed_out & set(secret)


def test_the_zip_holds_what_grading_needs_elsewhere(assignment):
    with zipfile.ZipFile(assignment / "autograder.zip") as file:
        names = set(file.namelist())
        assert {f"tests/{question}.py" for question in QUESTIONS} <= names
        assert {"setup.sh", "run_autograder", "files/fresh_check.py"} <= names
        (wheel,) = (name for name in names if name.endswith(".whl"))
        environment = file.read("environment.yml").decode()
        assert f"posenc @ file:///autograder/source/{wheel}" in environment
        pinned = (ROOT / "requirements.txt").read_text()
        for package in ("torch", "numpy", "jaxtyping", "matplotlib"):
            (version,) = re.findall(rf"^{package}==.*$", pinned, re.MULTILINE)
            assert f"- {version}\n" in environment
        assert "assignment_name" not in json.loads(file.read("otter_config.json"))
        tests = file.read("tests/sinusoidal.py").decode()
        assert "hidden=True" in tests
        for name in names - {wheel}:
            assert "further[:, 0::2]" not in file.read(name).decode()


def test_an_assignment_is_made_once(assignment):
    before = (assignment / "autograder.zip").stat().st_mtime_ns
    grading("assign", NAME, "--dist", assignment.parent)
    assert (assignment / "autograder.zip").stat().st_mtime_ns == before


def test_versions_are_the_books():
    own, graders = (
        dict(re.findall(r"^([\w.-]+)==(\S+)$", path.read_text(), re.MULTILINE))
        for path in (ROOT / "requirements.txt", ROOT / "grading" / "requirements.txt")
    )
    assert {name: graders[name] for name in own.keys() & graders} == {
        name: own[name] for name in own.keys() & graders
    }
    assert "otter-grader" not in own


# Written answers

TINY = """\
# ASSIGNMENT CONFIG
name: tiny
init_cell: false
export_cell: false
tests:
  ok_format: false"""
TEST = '''\
""" # BEGIN TEST CONFIG
points: 2
hidden: true
"""  # END TEST CONFIG
def test_double(double):
    assert double(4) == 8, "double: look at 4"
test_double(double)'''
TITLES = ("9.1 Double it", "9.2 Say why")


def facts(points):
    return f"*Core · 5 minutes · {points} points · teaches nothing*"


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A master with a written question."""
    raw, code, text = new_raw_cell, new_code_cell, new_markdown_cell
    solution = "def double(x):\n    # BEGIN SOLUTION\n    return 2 * x\n    # END SOLUTION"
    cells = [
        raw(TINY),
        text("# Tiny"),
        raw("# BEGIN QUESTION\nname: double\npoints: 2\ncheck_cell: false"),
        text(f"## {TITLES[0]}\n\n{facts(2)}\n\nGo."),
        raw("# BEGIN SOLUTION"),
        code(solution),
        raw("# END SOLUTION"),
        raw("# BEGIN TESTS"),
        code(TEST),
        raw("# END TESTS"),
        raw("# END QUESTION"),
        raw("# BEGIN QUESTION\nname: why\npoints: 4\nmanual: true"),
        text(f"## {TITLES[1]}\n\n{facts(4)}\n\nWhy?"),
        raw("# BEGIN PROMPT"),
        text("*Write your answer here.*"),
        raw("# END PROMPT"),
        raw("# BEGIN SOLUTION"),
        text("Because. Rubric: 4 points for it."),
        raw("# END SOLUTION"),
        raw("# END QUESTION"),
    ]
    metadata = {"kernelspec": {"name": "python3", "language": "python", "display_name": "Python"}}
    path = tmp_path_factory.mktemp("tiny") / "tiny.ipynb"
    nbformat.write(new_notebook(cells=cells, metadata=metadata), path)
    return path


@pytest.fixture(scope="module")
def essays(equipment, tiny, tmp_path_factory):
    """Three students of the tiny assignment, and a function that grades them."""
    folder = tmp_path_factory.mktemp("essays")
    (folder / "in").mkdir()
    answer = "First <script>x</script>.\n\n## A step\n\nThen."
    for name, words in {
        "ann": answer,
        "bob": "*Write your answer here.*",
        "cy": "Because.",
    }.items():
        made = student.student(nbformat.read(tiny, as_version=4))
        texts = [cell for cell in made.cells if cell.source == "*Write your answer here.*"]
        assert len(texts) == 1
        texts[0].source = words
        (stub,) = (cell for cell in made.cells if cell.cell_type == "code")
        stub.source = "def double(x):\n    return x + x"
        made.cells += [new_code_cell("double(2)"), new_markdown_cell("# Notes of my own")]
        nbformat.write(made, folder / "in" / f"{name}.ipynb")

    def run():
        options = ("--name", tiny, "--dist", folder / "dist")
        return grade(folder / "in", folder / "out", *options), table(folder / "out" / "grades.csv")

    return folder / "out", run


def test_written_answers_wait_for_the_instructor(essays):
    out, run = essays
    said, grades = run()
    assert "Fill in the points of" in said.stdout
    assert (grades["ann"]["double"], grades["ann"]["why"], grades["ann"]["total"]) == ("2", "", "2")
    assert grades["ann"]["possible"] == "6"
    assert grades["ann"]["note"] == "not graded yet: why"
    page = (out / "feedback" / "ann.html").read_text(encoding="utf-8")
    text = BeautifulSoup(page, "html.parser").get_text()
    assert "First <script>x</script>.\n\n## A step\n\nThen." in text
    assert "<script>" not in page
    assert "Not graded yet" in text
    assert "Notes of my own" not in text
    assert "There is no answer below" in (out / "feedback" / "bob.html").read_text()


def test_what_the_instructor_fills_in_is_merged(essays):
    out, run = essays
    run()
    path = out / "written.csv"
    assert path.read_text().splitlines()[0] == "student,question,points,comment"
    rows = ["student,question,points,comment", 'ann,why,3.5,"Nearly, <b>nearly</b>."']
    rows += ["bob,why,five,", "cy,why,9,", "dan,why,1,"]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8-sig")
    said, grades = run()
    assert (grades["ann"]["why"], grades["ann"]["total"], grades["ann"]["note"]) == (
        "3.5",
        "5.5",
        "",
    )
    assert (grades["bob"]["why"], grades["cy"]["why"]) == ("", "")
    text = BeautifulSoup((out / "feedback" / "ann.html").read_text(), "html.parser").get_text()
    assert "Nearly, <b>nearly</b>." in text
    assert "line 3: points must be from 0 to 4, got 'five'" in said.stderr
    assert "line 4: points must be from 0 to 4, got '9'" in said.stderr
    assert "line 5: 'dan' has no written answer 'why'" in said.stderr
    assert "dan,why,1," in path.read_text()  # what was typed is kept, for the instructor to mend


# Bad input


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "there is no folder 'nowhere'"),
        ([""], "give a folder of notebooks"),
        (["empty"], "nothing to grade"),
        (["full"], "there is no assignment 'full'; there are: .*02_sinusoidal"),
        (["full", "--name", "99_none"], "there is no assignment '99_none'"),
        (["full", "--name", "plain.ipynb"], "plain.ipynb is no master"),
    ],
)
def test_bad_input_gets_one_clear_line(tmp_path, arguments, said):
    (tmp_path / "empty").mkdir()
    (tmp_path / "full").mkdir()
    nbformat.write(unanswered(), tmp_path / "full" / "a.ipynb")
    nbformat.write(new_notebook(cells=[]), tmp_path / "plain.ipynb")
    done = grading("grade", *arguments, cwd=tmp_path)
    assert done.returncode == 1
    assert re.match(said, done.stderr)
    assert done.stderr.count("\n") == 1


def test_nothing_is_graded_without_a_sandbox(tmp_path):
    settings = os.environ | {"PATH": str(tmp_path), "PYTHONPATH": str(ROOT)}
    done = grading("grade", tmp_path, env=settings)
    assert done.returncode == 1
    assert re.fullmatch("bwrap is missing.*type: make grader\n", done.stderr)
