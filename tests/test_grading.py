"""A class hands in, most of it with bad intent; every mark is known beforehand."""

import argparse
import csv
import hashlib
import inspect
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
import uuid
import zipfile
from pathlib import Path

import nbformat
import pytest
from bs4 import BeautifulSoup
from helpers import lacking
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_raw_cell

from _ext import student
from grading import examine, sandbox
from grading.names import slug
from grading.questions import CHAPTERS
from grading.submissions import gather
from tests.answers import chapter_2
from tests.hostile import ATTACKS, ELSEWHERE, FOUND, FULL, HONEST, NOTHING, QUESTIONS

ROOT = Path(__file__).parent.parent
PYTHON = ROOT / ".venv-grading" / "bin" / "python"
NAME = "02_sinusoidal"
MASTER = nbformat.read(student.EXERCISES / f"{NAME}.ipynb", as_version=4)


@pytest.fixture(scope="module", autouse=True)
def equipment():
    current = ["make", "--question", ".venv-grading/.ready"]
    if not shutil.which("bwrap") or subprocess.run(current, cwd=ROOT, check=False).returncode:
        lacking("what grades is missing, or older than posenc; type: make grader")


def grading(tool, *arguments, python=PYTHON, **settings):
    """Run a command of the grading room."""
    command = [python, "-m", f"grading.{tool}", *arguments]
    settings = {"env": os.environ | {"PYTHONPATH": str(ROOT)}, "cwd": ROOT} | settings
    return subprocess.run(
        [str(part) for part in command], capture_output=True, check=False, text=True, **settings
    )


def grade(folder, out, *arguments, **settings):
    done = grading("grade", folder, "--out", out, *arguments, **settings)
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


def stubs_below():
    """The same, where the cells for answers are spelled otherwise, and far below much code."""
    made = answered_above()
    made.cells.insert(3, new_code_cell("x = 1\n" * 20_000))
    for number, cell in enumerate(made.cells):
        if cell.source.endswith("    ..."):
            spelled = (cell.source.replace("...", "pass"), cell.source + "  # later")
            cell.source = spelled[number % 2].replace("\n", "\r\n")
    return made


def answered_above():
    """Each answer in a new cell above the one for it, which stays as it was handed out."""
    made = notebook()
    for cell in list(made.cells):
        match = re.match(r"def (\w+)\(", cell.source)
        if cell.cell_type == "code" and match and match[1] in QUESTIONS:
            made.cells.insert(made.cells.index(cell), new_code_cell(SOLUTIONS[match[1]]))
    return made


TABLE = "import math" + HONEST["sinusoidal"].replace("sinusoidal", "table")
BY_TABLE = {
    "sinusoidal": f"{TABLE}\n\ndef sinusoidal(*given):\n    return table(*given)",
    "mended_sinusoidal": "def mended_sinusoidal(p, dim):\n    return table(p, dim, 1e4)",
}


def rebound():
    """A helper has the name of a picture that was handed out, and answers those of results."""
    made = notebook(**(HONEST | BY_TABLE))
    own = ("moved = moved(torch.ones(2, 8), 3, 9.0)", "dot_product = dot_product(5, 16, 9.0)")
    for name, source in zip(("moved", "dot_product"), own, strict=True):
        (check,) = (n for n, c in enumerate(made.cells) if f"check.{name}(" in c.source)
        made.cells.insert(check + 1, new_code_cell(source))
    return made


def mended_below():
    """A helper is mended in a cell of its own, above the check and below the answer."""
    made = notebook(**(HONEST | BY_TABLE))
    (check,) = (n for n, c in enumerate(made.cells) if "check.sinusoidal(" in c.source)
    made.cells.insert(check, new_code_cell(TABLE))
    wrong = TABLE.replace("math.sin, math.cos", "math.cos, math.sin")
    made.cells[check - 1].source = made.cells[check - 1].source.replace(TABLE, wrong)
    return made


def imported_again():
    """What a function took from the first cell comes back when that cell is repeated."""
    (first,) = (c.source for c in notebook().cells if c.source.startswith("import matplotlib"))
    return solved("def torch():\n    pass", first, at=4)


READ = """
import os
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
for path in ("{root}/grading/new", "{prefix}/new", "/usr/new", "/new", "/dev/new"):
    try:
        open(path, "w").close()
        found.append(path)
    except OSError:
        pass
open("mine.txt", "w").write("x")
raise RuntimeError("could reach: " + repr(found))
"""
LONG = "a" * 246
NO_SUBMISSIONS = {
    ".hidden": (".hidden", "it is a hidden file"),
    "a folder": ("a folder", "it is a folder"),
    "link.ipynb": ("link.ipynb", "it is a link"),
    "=cmd().ipynb": ("'=cmd()", "cannot be read"),
    "essay.pdf": ("essay.pdf", "its name must end with .ipynb"),
    "line\nbreak.ipynb": ("line\N{REPLACEMENT CHARACTER}break", "cannot be read"),
}


def write_class(folder, paths):
    """Write the submissions; what each of them gets, and what must be said about it."""
    folder.mkdir(exist_ok=True)
    known = {}

    def hand_in(name, made, expected, note="^$"):
        if isinstance(made, bytes):
            (folder / f"{name}.ipynb").write_bytes(made)
        else:
            made.cells.append(new_markdown_cell(f"this is the work of {name}"))
            nbformat.write(made, folder / f"{name}.ipynb")
        known[name] = (expected, note)

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
    hand_in(LONG, solved(), FULL)
    hand_in("bo ", solved(), FULL)

    # Clumsy ones
    hand_in("garbage", b"\x00\xff{not json", NOTHING, "cannot be read")
    hand_in("empty_file", b"", NOTHING, "cannot be read")
    hand_in("no_cells", new_notebook(), NOTHING, "answers no question")
    other = new_notebook(cells=[new_code_cell("def alibi(): return 1")])
    hand_in("anothers", other, NOTHING, "another's")
    hand_in("bare", bare(), FULL)
    hand_in("twice", twice(), FULL)
    hand_in(
        "answered_above", answered_above(), FULL, r"^cell \d+ is as it was handed out, and 2\.1 is"
    )
    hand_in("stubs_below", stubs_below(), FULL, "2.1 is answered above it.* 2.3 is answered above")
    hand_in("rebound", rebound(), FULL)
    hand_in("mended_below", mended_below(), FULL)
    hand_in("imported_again", imported_again(), FULL)
    hand_in("exits", solved("import sys\nsys.exit(1)", "raise SystemExit", "input()"), FULL)
    pip = ("%pip install --quiet nosuchthing", "!curl http://a.org")
    hand_in("installs", solved(*pip), FULL)
    code = READ.format(
        paths=[str(path) for path in paths], root=ROOT, prefix=ROOT / ".venv-grading"
    )
    hand_in("reads", unanswered(code), NOTHING, "open")

    # Hostile ones
    for name, attack in ATTACKS.items():
        hand_in(name, attack.content(), attack.points, attack.note)

    # No submissions
    (folder / "a folder").mkdir()
    (folder / "link.ipynb").symlink_to(student.EXERCISES / f"{NAME}.ipynb")
    for file, (shown, note) in NO_SUBMISSIONS.items():
        if not (folder / file).exists():
            (folder / file).write_text("x")
        known[shown] = (NOTHING, note)
    return known


def wrong_answers(number):
    """For each question one of its wrong answers and its hint."""
    wrong = {question: chapter_2.ANSWERS[question].wrong for question in QUESTIONS}
    chosen = {question: wrong[question][number % len(wrong[question])] for question in QUESTIONS}
    return {question: (answer.__name__, hint) for question, (answer, hint) in chosen.items()}


# The class


def state():
    """A hash of every file that grading could damage."""
    packages = list((ROOT / ".venv-grading").glob("lib/*/site-packages"))
    folders = [ROOT / name for name in ("posenc", "grading", "chapters", "tests", "_ext")]
    folders += [package / "posenc" for package in packages]
    files = [path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file()]
    kept = [path for path in files if path.suffix != ".pyc"]
    return {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in kept}


class Class:
    """The class after grading."""

    def __init__(self, folder, dist):
        self.folder, self.out = folder / "submissions", folder / "out"
        master, archive = student.EXERCISES / f"{NAME}.ipynb", dist / NAME / "autograder.zip"
        mine = [self.folder / "stub.ipynb", self.out / "results" / "deep.json", master, archive]
        theirs = [ROOT / "README.md", ROOT / "grading" / "grade.py", "/etc/passwd"]
        self.known = write_class(self.folder, [*mine, *theirs])
        before, start = state(), resource.getrusage(resource.RUSAGE_CHILDREN)
        self.said = self.grade()
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.seconds = used.ru_utime + used.ru_stime - start.ru_utime - start.ru_stime
        self.unchanged = state() == before
        self.grades = table(self.out / "grades.csv")

    def grade(self, **settings):
        options = ("--name", NAME, "--seconds", 200, "--cell-seconds", 20)  # of the processor
        return grade(self.folder, self.out, *options, **settings)

    def page(self, name):
        return (self.out / "feedback" / f"{slug(name)}.html").read_text(encoding="utf-8")

    def text(self, name):
        return " ".join(BeautifulSoup(self.page(name), "html.parser").get_text(" ").split())

    def results(self):
        return {path.name: path.stat().st_mtime_ns for path in self.out.glob("results/*.json")}


@pytest.fixture(scope="module")
def room(assignment, tmp_path_factory):
    return Class(tmp_path_factory.mktemp("class"), assignment.parent)


def test_the_whole_class_is_graded(room):
    assert list(room.grades) == sorted(room.known)
    assert len(ATTACKS) >= 80
    pages = {path.stem for path in room.out.glob("feedback/*.html")}
    assert pages == {slug(name) for name in room.known}
    assert room.seconds / 2 < 720  # on two cores, whatever else they do


@pytest.mark.parametrize("way", FOUND)
def test_a_way_that_was_found_is_closed(room, way):
    names = FOUND[way]
    assert names
    for name in names:
        assert marks(room.grades[name]) == ATTACKS[name].points


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


@pytest.mark.parametrize("number", range(8))
def test_a_wrong_answer_gets_its_hint(room, number):
    text = room.text(f"wrong_{number}")
    for _, hint in wrong_answers(number).values():
        assert hint in text


def test_feedback_says_what_was_right_and_what_was_not(room):
    text = room.text("partly")
    assert "2.1 The table 2 of 3 ✓ Test 1 of 2, other positions: right (2 of 2)" in text
    assert "✗ Test 2 of 2, other bases: wrong (0 of 1)" in text
    assert "NO base … it gives another number " in text
    assert "NO the check in your notebook: another base it gives another number " in text
    assert "NO far positions it gives another number " in text
    assert "13 of 13 points" in room.text("solution")
    assert "not answered yet" in room.text("stub")


@pytest.mark.long
def test_feedback_shows_no_right_number_unless_the_instructor_says_so(room, tmp_path):
    for name in room.known:
        assert not re.search(r"it gives [^<]*, not ", room.page(name))
    folder = tmp_path / NAME
    folder.mkdir()
    shutil.copy(room.folder / "partly.ipynb", folder)
    grade(folder, tmp_path / "out", "--show-right")
    page = (tmp_path / "out" / "feedback" / "partly.html").read_text(encoding="utf-8")
    assert re.search(r"it gives \S+ at \[\d, \d\], not [-\d.]+", page)


def test_feedback_names_exceptions_and_escapes_them(room):
    text = room.text("raising")
    assert "below “2.1 The table”" in text or "below “Exercises 2: sinusoidal encodings”" in text
    assert "ValueError: <b>loud</b>" in text
    assert "it raised NameError" in text
    assert "<b>loud" not in room.page("raising")
    assert "<i>" not in room.page("Zoë O'Neil & <i>")


def test_feedback_repeats_no_input_that_an_answer_tells(room):
    soup = BeautifulSoup(room.page("tells_inputs"), "html.parser")
    lines = "\n".join(part.get_text() for part in soup.select(".tests pre"))
    assert lines.count("it raised ValueError") == 2  # once for all cases of a test
    assert not re.search(r"\d|\[", lines)


@pytest.mark.long
def test_a_page_is_the_same_whatever_the_hidden_inputs_are(room, tmp_path):
    folder = tmp_path / NAME
    folder.mkdir()
    shutil.copy(room.folder / "chooses_texts.ipynb", folder)
    found = set()
    for seed in (1, 2):
        grade(folder, tmp_path / f"{seed}", "--seed", seed)
        found.add((tmp_path / f"{seed}" / "feedback" / "chooses_texts.html").read_text())
    (page,) = found
    for said in ("it raised an exception", "another shape", "times the same factor"):
        assert said in page


def test_feedback_is_one_page_for_one_student(room):
    for name in room.known:
        page = room.page(name)
        soup = BeautifulSoup(page, "html.parser")
        assert soup.html["lang"] == "en"
        assert [h.get_text() for h in soup.find_all("h1")] == [name]
        is_graded = "This file was not graded" not in soup.get_text()
        assert len(soup.find_all("h2")) == 4 * is_graded
        assert is_graded or (marks(room.grades[name]) == NOTHING and room.grades[name]["note"])
        assert is_graded or name not in ("solution", "stub", "no_cells", "wrong_0")
        assert not soup.find_all(["script", "link", "img", "iframe"])
        others = [other for other in room.known if len(other) > 9 and other != name]
        words = set(re.findall(r"\w+", soup.get_text()))
        assert not words & {other for other in others if not re.search(r"[a-z]_[a-z]", other)}


def test_students_are_not_told_what_the_instructor_looks_for(room):
    assert "look at its code" in room.grades["forged_torch"]["note"]
    assert "look at its code" not in room.page("forged_torch")


def test_a_submission_reaches_nothing_but_itself(room):
    assert "could reach: []" in room.text("reads")


def test_nothing_of_the_checkout_is_changed(room):
    assert room.unchanged


@pytest.mark.long
def test_what_is_graded_is_not_graded_again(room, tmp_path):
    before, started = room.results(), tmp_path / "started"
    counting = tmp_path / "bwrap"
    counting.write_text(f'#!/bin/sh\necho >> "{started}"\nexec {shutil.which("bwrap")} "$@"\n')
    counting.chmod(0o755)
    room.grade(
        env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    )
    assert started.read_text() == "\n"  # to see whether there can be a sandbox; none for anybody
    assert room.results() == before


@pytest.mark.long
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
    """The sandboxes of this test: another grading may run beside it."""
    listed = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, check=True, text=True)
    pids = (line.split()[0] for line in listed.stdout.splitlines() if "bwrap --unshare" in line)
    return {pid for pid in pids if _is_marked(pid)}


def _is_marked(pid):
    try:
        return MARK.encode() in Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:  # it has just ended
        return False


MARK = f"STARTED_BY={uuid.uuid4()}"  # in what grading inherits; the sandbox clears its own


@pytest.fixture
def marked(monkeypatch):
    monkeypatch.setenv(*MARK.split("="))


@pytest.mark.long
def test_a_run_that_is_killed_loses_nothing_that_is_finished(assignment, tmp_path, marked):
    folder, out = tmp_path / NAME, tmp_path / "out"
    folder.mkdir()
    for name in "ab":
        nbformat.write(unanswered(), folder / f"{name}.ipynb")
    nbformat.write(solved("import time\ntime.sleep(9)"), folder / "c.ipynb")
    command = [PYTHON, "-m", "grading.grade", folder, "--out", out, "--jobs", "1"]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)
    while not (out / "results" / "b.json").exists():
        time.sleep(0.2)
        assert process.poll() is None
    time.sleep(3)
    assert sandboxes()
    process.send_signal(signal.SIGKILL)
    process.wait()
    time.sleep(1)
    assert not sandboxes()
    assert not (out / "results" / "c.json").exists()
    finished = {path: path.stat().st_mtime_ns for path in out.glob("results/*.json")}
    assert len(finished) == 2
    grade(folder, out)
    assert {path: path.stat().st_mtime_ns for path in finished} == finished
    assert marks(table(out / "grades.csv")["c"]) == FULL


@pytest.mark.long
def test_a_sandbox_that_begins_no_cell_is_no_students_fault(assignment, tmp_path):
    folder, out, bin_ = tmp_path / NAME, tmp_path / "out", tmp_path / "bin"
    for new in (folder, bin_):
        new.mkdir()
    nbformat.write(solved(), folder / "ann.ipynb")
    ends = bin_ / "bwrap"  # the first one is to see whether there can be a sandbox
    ends.write_text(
        f'#!/bin/sh\ncase "$*" in *--seccomp*) exit 1;; esac\nexec {shutil.which("bwrap")} "$@"\n'
    )
    ends.chmod(0o755)
    path = {"PATH": f"{bin_}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    done = grade(folder, out, env=os.environ | path)
    assert "1 not graded, for a fault of the grader's: ann; give the same command ag" in done.stderr
    row = table(out / "grades.csv")["ann"]
    assert row["note"].startswith("it could not be graded: its sandbox ended before a cell had beg")
    assert row["note"].endswith("; give the same command again")
    assert not list(out.glob("results/*"))
    grade(folder, out)
    assert marks(table(out / "grades.csv")["ann"]) == FULL


@pytest.mark.long
def test_a_submission_has_a_time_limit(assignment, tmp_path, marked):
    folder = tmp_path / NAME
    folder.mkdir()
    busy = "import time\nend = time.process_time() + 6\nwhile time.process_time() < end: pass"
    nbformat.write(solved(*[busy] * 6, at=0), folder / "late.ipynb")
    grade(folder, tmp_path / "out", "--seconds", 15)
    report = json.loads((tmp_path / "out" / "results" / "late.json").read_text())
    assert 15 < report["seconds"] < 40  # and not the 36 of its cells, six times
    row = table(tmp_path / "out" / "grades.csv")["late"]
    assert marks(row) == NOTHING
    assert "left out: came when no time was left" in row["note"]
    time.sleep(1)
    assert not sandboxes()


@pytest.mark.long
def test_whatever_is_asked_once_more_shares_one_limit(tmp_path):
    folder = tmp_path / NAME
    folder.mkdir()
    code = ["import time\nfrom posenc import check\ntime.sleep(12)"]
    code += ["check.Question.judge = lambda self, _: check.Verdict(self.name, ())"]
    code += [f"def {name}(*a):\n    return 1.0\ncheck.{name}({name})" for name in QUESTIONS]
    code += [f"for name in {QUESTIONS}:\n    globals()[name] = lambda *a: 2.0"]
    nbformat.write(new_notebook(cells=list(map(new_code_cell, code))), folder / "sleeps.ipynb")
    grade(folder, tmp_path / "out", "--seconds", 12, "--cell-seconds", 8)
    report = json.loads((tmp_path / "out" / "results" / "sleeps.json").read_text())
    assert 12 < report["seconds"] < 30  # twice the limit; six runs would take 40
    row = table(tmp_path / "out" / "grades.csv")["sleeps"]
    assert marks(row) == NOTHING
    assert "; what was asked once more took longer than 12 seconds" in row["note"]


FLOOD = """
import fcntl, os, sys, threading, time
try:
    fcntl.fcntl(1, 1031, 2**20)  # F_SETPIPE_SZ
    os._exit(1)
except OSError as error:
    assert error.errno == 38  # as where the kernel knows no such call
lines = (b"1" + bytes([10])) * 2**19
threading.Thread(target=os.write, args=(1, lines), daemon=True).start()
sys.stdin.readline()
kept = b"1" * 2**29
time.sleep(600)
"""
FLOODED = """
import sys, time, psutil
from grading.sandbox import Ended, Limits, Sandbox
count = 1
with Sandbox([sys.executable, "-c", sys.argv[1]], {}, Limits(memory=0.25)) as one:
    assert one.receive(60.0) == 1
    one.send("now", 60.0)
    inside = psutil.Process(one._process.pid).children(recursive=True)
    while sum(process.memory_info().rss for process in inside) < 2**29:
        time.sleep(0.1)
    try:
        while True:
            count += one.receive(60.0)
    except Ended as error:
        print(count, error)
"""


def test_a_sandbox_is_looked_at_whatever_it_sends():
    settings = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [PYTHON, "-c", FLOODED, FLOOD], capture_output=True, check=True, text=True, env=settings
    )
    count, _, said = done.stdout.strip().partition(" ")
    assert said == "it used more than 0.25 GiB of memory"
    assert int(count) < 2**16  # of half a million lines


WORKERS = """
import os, sys, time
kept = bytearray(os.urandom(2**20)) * 100
for _ in range(9):
    if not os.fork():
        sum(kept[::4096])
        time.sleep(600)
print(1, flush=True)
sys.stdin.readline()
kept = b"1" * 2**29
time.sleep(600)
"""
WORKED = """
import sys, time, psutil
from grading.sandbox import Ended, Limits, Sandbox
with Sandbox([sys.executable, "-S", "-c", sys.argv[1]], {}, Limits(memory=0.25)) as one:
    assert one.receive(60.0) == 1
    inside = psutil.Process(one._process.pid).children(recursive=True)
    while sum(process.memory_info().rss for process in inside) < 2**29:
        time.sleep(0.1)
    one._look(60.0)
    print("shared")
    one.send("now", 60.0)
    try:
        one.receive(60.0)
    except Ended as error:
        print(error)
"""


def test_memory_that_processes_share_counts_once():
    settings = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [PYTHON, "-c", WORKED, WORKERS], capture_output=True, check=True, text=True, env=settings
    )
    assert done.stdout.splitlines() == ["shared", "it used more than 0.25 GiB of memory"]


KEPT = """
import sys, time
from grading import sandbox
from grading.sandbox import Ended, Limits, Sandbox
sandbox._memory = lambda process: 0  # as if its part of all went with those that end
held = "kept = b'1' * 2**29; print(1, flush=True); import time; time.sleep(60)"
for limit in (0.25, 1.0):
    with Sandbox([sys.executable, "-S", "-c", held], {}, Limits(memory=limit)) as one:
        try:
            print(one.receive(60.0))
            one._look(60.0)
        except Ended as error:
            print(error)
with Sandbox([sys.executable, "-S", "-c", "import time; time.sleep(60)"], {}, Limits()) as one:
    one._start, one._starved = time.monotonic() - 1200, 9e9  # as it was told
    print(round(one.seconds))
"""


def test_what_one_process_keeps_counts_whoever_shares_it_and_none_is_spared_for_ever():
    settings = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run([PYTHON, "-c", KEPT], capture_output=True, text=True, env=settings)
    kept, one, seconds = done.stdout.splitlines()[-3:]
    assert (kept, one) == ("it used more than 0.25 GiB of memory", "1")
    assert int(seconds) >= 100  # a quarter of the time by the clock, in three parts


TABLES = """
import ctypes, mmap, os, time
ctypes.CDLL(None).prctl(15, {name}, 0, 0, 0)  # it calls itself so
for _ in range(40):
    if not os.fork():
        kept = mmap.mmap(-1, 7 * 2**30, 34 | 0x4000)  # private, its own, unreserved
        kept.madvise(mmap.MADV_NOHUGEPAGE)
        sum(kept[:: 2**21])  # zeros: of the machine's memory, one page
        time.sleep(600)
time.sleep(9)
print(1, flush=True)
time.sleep(600)
"""
TABLED = """
import sys
from grading.sandbox import Ended, Limits, Sandbox
with Sandbox([sys.executable, "-S", "-c", sys.argv[1]], {}, Limits(memory=0.5)) as one:
    try:
        print(one.receive(60.0))
    except Ended as error:
        print(error)
"""


@pytest.mark.parametrize("name", [b"python", b"VmPTE: 0"])
def test_where_pages_lie_takes_memory_too(name):
    settings = os.environ | {"PYTHONPATH": str(ROOT)}
    tables = TABLES.format(name=name)
    done = subprocess.run(
        [PYTHON, "-c", TABLED, tables], capture_output=True, check=True, text=True, env=settings
    )
    assert done.stdout == "it used more than 0.5 GiB of memory\n"


CROWD = """
import ctypes, os, time
ctypes.CDLL(None).prctl(15, {name}, 0, 0, 0)
for _ in range(60):
    if not os.fork():
        time.sleep(600)
time.sleep(9)
print(1, flush=True)
time.sleep(600)
"""
CROWDED = """
import sys
from grading.sandbox import Ended, Limits, Sandbox
with Sandbox([sys.executable, "-S", "-c", sys.argv[1]], {}, Limits(processes=20)) as one:
    try:
        print(one.receive(60.0))
    except Ended as error:
        print(error)
"""


@pytest.mark.parametrize("name", [b"python", b"Threads:\t0"])
def test_a_process_counts_whatever_it_calls_itself(name):
    settings = os.environ | {"PYTHONPATH": str(ROOT)}
    many = CROWD.format(name=name)
    done = subprocess.run(
        [PYTHON, "-c", CROWDED, many], capture_output=True, check=True, text=True, env=settings
    )
    assert done.stdout == "it started more than 40 processes\n"


ORPHANS = """
import os, threading, time
def orphans():
    for _ in range(30):
        if not (child := os.fork()):
            if not os.fork():
                time.sleep(600)
            os._exit(0)
        os.waitpid(child, 0)
def own():
    for _ in range(30):
        if not os.fork():
            time.sleep(600)
    time.sleep(600)
orphans()
threading.Thread(target=own).start()
time.sleep(9)
print(1, flush=True)
"""
SEEN = """
import sys
import psutil
from grading import sandbox
from grading.sandbox import Ended, Limits, Sandbox
if sys.argv[2] == "walk":
    psutil.Process.children = lambda *_, **__: []
else:
    sandbox._TELLS, sandbox._children = False, lambda _: set()
with Sandbox([sys.executable, "-S", "-c", sys.argv[1]], {}, Limits(processes=25)) as one:
    try:
        print(one.receive(60.0))
    except Ended as error:
        print(error)
"""


@pytest.mark.parametrize("way", ["search", "walk"])
def test_orphans_and_children_of_threads_are_seen_in_both_ways(way):
    settings = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [PYTHON, "-c", SEEN, ORPHANS, way]
    done = subprocess.run(command, capture_output=True, check=True, text=True, env=settings)
    assert done.stdout == "it started more than 50 processes\n"


LIVES_ON = {
    "by_a_thread": """
import os, sys, threading
lines = "import time; print(2, flush=True); time.sleep(600)", sys.argv[1]
again = [sys.executable, "-S", "-c", *lines]
threading.Thread(target=lambda: os.execv(sys.executable, again)).start()
threading.Event().wait()
""",
    "by_prctl": """
import ctypes, time
ctypes.CDLL(None).prctl(1, 0, 0, 0, 0)  # no signal when its parent dies
print(2, flush=True)
time.sleep(600)
""",
}
LEFT = """
import sys, time, uuid
import psutil
from grading.sandbox import Limits, Sandbox
word = uuid.uuid4().hex
with Sandbox([sys.executable, "-S", "-c", sys.argv[1], word], {}, Limits()) as one:
    assert one.receive(60.0) == 2
    inside = [p for p in psutil.Process().children(recursive=True) if word in p.cmdline()[-1:]]
    assert inside
print(len(psutil.wait_procs(inside, 10)[1]))
"""


@pytest.mark.parametrize("code", LIVES_ON.values(), ids=LIVES_ON)
def test_nothing_outlives_its_sandbox(code):
    settings = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [PYTHON, "-c", LEFT, code]
    done = subprocess.run(command, capture_output=True, check=True, text=True, env=settings)
    assert done.stdout == "0\n"


WITHOUT_A_FIRST_THREAD = """
import ctypes, os, threading, time
def work():
    time.sleep(1)
    WHAT
    print(1, flush=True)
    time.sleep(600)
threading.Thread(target=work).start()
ctypes.CDLL(None).syscall(60, 0)  # ends this thread, and no other
"""
UNSEEN = """
import sys
from grading.sandbox import Ended, Limits, Sandbox
with Sandbox([sys.executable, "-S", "-c", sys.argv[1]], {}, Limits(memory=0.5)) as one:
    try:
        print(one.receive(60.0))
        print(one.receive(one.seconds + 2.0))
    except Ended as error:
        print(error)
"""


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("held = b'1' * 2**30", "it used more than 0.5 GiB of memory"),
        ("held = [os.openpty() for _ in range(30)]", "it opened more than 16 terminals"),
    ],
)
def test_what_goes_on_without_its_first_thread_is_seen(what, said):
    settings = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [PYTHON, "-c", UNSEEN, WITHOUT_A_FIRST_THREAD.replace("WHAT", what)]
    done = subprocess.run(command, capture_output=True, check=True, text=True, env=settings)
    assert done.stdout.splitlines()[-1] == said


ECHO = """
import sys
for line in sys.stdin:
    print(line, end="", flush=True)
"""
SEARCHED = """
import sys, time
import psutil
from grading.sandbox import Ended, Limits, Sandbox
searches, search = [], psutil.Process.children
psutil.Process.children = lambda *a, **k: searches.append(1) or search(*a, **k)
with Sandbox([sys.executable, "-S", "-c", sys.argv[1]], {}, Limits()) as one:
    start = time.monotonic()
    for number in range(2000):
        one.send(number, 600.0)
        assert one.receive(600.0) == number
    print(len(searches), time.monotonic() - start)
    try:
        one.receive(one.seconds + 1.0)
    except Ended:
        print(len(searches))
"""


@pytest.mark.skipif(not sandbox._TELLS, reason="this kernel does not tell a process's children")
def test_the_machine_is_searched_some_times_a_second_and_not_for_each_line():
    settings = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [PYTHON, "-c", SEARCHED, ECHO]
    done = subprocess.run(command, capture_output=True, check=True, text=True, env=settings)
    busy, seconds, silent = map(float, done.stdout.split())
    assert 0 < busy < 20 + 10 * seconds < 2000
    assert silent - busy > 5  # three seconds by the clock, and five looks in each


NAMED = """
import os, sys, time
for number in range(10_000):
    os.symlink("x", f"{sys.argv[1]}/{number:0200}")
print(1, flush=True)
sys.stdin.readline()
for number in range(10_000, 10**6):
    os.symlink("x", f"{sys.argv[1]}/{number:0200}")
"""
NAMES = """
import sys
from grading.sandbox import Ended, Limits, Sandbox
with Sandbox([sys.executable, "-S", "-c", *sys.argv[1:]], {}, Limits()) as one:
    assert one.receive(60.0) == 1
    one.send("now", 60.0)
    try:
        one.receive(60.0)
    except Ended as error:
        print(error)
"""


@pytest.mark.parametrize("place", ["/tmp", "/dev/shm"])
def test_files_are_counted_for_each_takes_memory_of_the_kernel(place):
    settings = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [PYTHON, "-c", NAMES, NAMED, place]
    done = subprocess.run(command, capture_output=True, check=True, text=True, env=settings)
    assert done.stdout == "it made more than 100000 files\n"


HELD = {
    "it opened more than 16 terminals": """
kept = [os.openpty() for _ in range(20)]
""",
    "it cut its memory into more than 10000 parts": """
import ctypes
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
place = libc.mmap(None, ctypes.c_size_t(2**27), 0, 0x22, -1, ctypes.c_long(0))
for page in range(0, 2**15, 2):
    libc.mprotect(ctypes.c_void_p(place + 4096 * page), ctypes.c_size_t(4096), 1)
""",
}


@pytest.mark.parametrize("said", HELD)
def test_what_the_kernel_keeps_for_a_process_is_counted(said):
    settings = os.environ | {"PYTHONPATH": str(ROOT)}
    held = f"import os, time\n{HELD[said]}\ntime.sleep(5)\nprint(1, flush=True)\ntime.sleep(600)"
    command = [PYTHON, "-c", TABLED, held]
    done = subprocess.run(command, capture_output=True, check=True, text=True, env=settings)
    assert done.stdout == f"{said}\n"


UNWAITED = """
import os, signal, sys, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # now nobody waits for them
for _ in range(2):
    child = os.fork()
    if not child:
        while time.process_time() < 4:
            pass
        os._exit(0)
    try:
        while True:
            os.kill(child, 0)
            time.sleep(0.01)
    except ProcessLookupError:
        pass
print(1, flush=True)
sys.stdin.readline()
"""
COUNTED = """
import sys
from grading import sandbox
from grading.sandbox import Limits, Sandbox
sandbox.PATIENCE = 1e9  # time by the clock does not count
with Sandbox([sys.executable, "-S", "-c", sys.argv[1]], {}, Limits()) as one:
    one.receive(600.0)
    print(one.seconds)
"""


@pytest.mark.long
def test_the_time_of_a_child_that_nobody_waits_for_counts():
    settings = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [PYTHON, "-c", COUNTED, UNWAITED], capture_output=True, check=True, text=True, env=settings
    )
    assert float(done.stdout) > 5  # of 8 seconds: the last moments of each are not seen


BUSY = """
import time
end = time.time() + 60
while time.time() < end and time.process_time() < {}:
    pass
print(1, flush=True)
"""
STARVED = """
import os, subprocess, sys, time
from grading.sandbox import Limits, Sandbox
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
busy = [[sys.executable, "-S", "-c", sys.argv[1].format(seconds)] for seconds in (99, 1)]
others = [subprocess.Popen(busy[0], start_new_session=True) for _ in range(9)]
try:
    time.sleep(1)
    with Sandbox(busy[1], {}, Limits()) as one:
        one.receive(600.0)
        print(one.seconds, time.monotonic() - one._start)
finally:
    for other in others:
        other.kill()
"""


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="nobody tells who starves")
def test_the_time_of_others_does_not_count():
    settings = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [PYTHON, "-c", STARVED, BUSY], capture_output=True, check=True, text=True, env=settings
    )
    seconds, clock = map(float, done.stdout.split())
    assert seconds < 2 < clock / sandbox.PATIENCE


CHAINS = """
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for _ in range(4):
    if not os.fork():
        while True:
            end = time.process_time() + 0.002
            while time.process_time() < end:
                pass
            if os.fork():
                os._exit(0)
try:
    os.nice(19)
except PermissionError:
    pass
while True:
    pass
"""
HELD_UP = """
import sys, time
from grading.sandbox import Ended, Limits, Sandbox
start = time.monotonic()
with Sandbox([sys.executable, "-S", "-c", sys.argv[1]], {}, Limits()) as one:
    try:
        one.receive(2.0)
    except Ended:
        print(time.monotonic() - start)
"""


def test_who_waits_for_short_processes_of_its_own_waits_for_nobody():
    settings = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [PYTHON, "-c", HELD_UP, CHAINS], capture_output=True, check=True, text=True, env=settings
    )
    assert float(done.stdout) < 1.5 * 2 * sandbox.PATIENCE


def test_a_breach_is_charged_to_the_cell_at_work(monkeypatch, tmp_path):
    said = iter([{"next": 4}, {"at": 4}, {"raised": [4, "x"]}, {"next": 7}])
    told = []

    def receive(_):
        for message in said:
            return message
        raise sandbox.Ended("it used much")  # 7 has not begun

    busy = argparse.Namespace(seconds=0.0, receive=receive, send=lambda line, _: told.append(line))
    monkeypatch.setattr(examine, "Sandbox", lambda *_: busy)
    run = examine._Run([(4, "", False), (7, "", False)], [], (), sandbox.Limits(), 9.0)
    with pytest.raises(sandbox.Ended):
        run.start()
    assert (run.at, told[1:]) == (4, [{"go": 4}, {"go": 4}, {"go": 7}])

    command = [PYTHON, "-c", examine._RUNNER.read_text()]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    cells = [[7, "open('began', 'w').close()", False]]
    told = {"cells": cells, "names": [], "refusal": "no", "late": False}
    with subprocess.Popen(command, cwd=tmp_path, **pipes) as process:
        for line, what in ((told, "next"), ({"go": 7}, "at")):  # both looked at, however late
            process.stdin.write(json.dumps(line) + "\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline()) == {what: 7}
            time.sleep(1)
            assert not (tmp_path / "began").exists()
        process.communicate('{"go": 7}\n{"go": null}\n')
    assert (tmp_path / "began").exists()


class Simulated:
    """A sandbox in which each cell takes the seconds that its source says."""

    def __init__(self, *_):
        self.seconds, self.lines, self.begun = 4.0, iter(()), 4.0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def send(self, told, _):
        if "cells" in told:
            self.lines = iter([*told["cells"], None])

    def receive(self, deadline):
        cell = next(self.lines)
        self.seconds = min(self.begun, deadline)
        if self.begun > deadline:
            raise sandbox.Ended("it took too long")
        self.begun += float(cell[1]) if cell else 0.0
        return {"at": cell[0]} if cell else {"ready": True}


@pytest.mark.parametrize(
    ("seconds", "lost"),
    [
        ([1, 140, 140, 140, 140, 1, 1, 1], {1, 2, 3, 4}),
        ([60, 140, 140, 140, 140, 1, 1, 19], {1, 2, 3, 4}),
        ([30, 140, 140, 140, 140, 140, 1, 140, 1], {1, 2, 3, 4, 5, 7}),
        ([1, *[9999] * 40, 1], set(range(1, 42))),
    ],
)
def test_a_slow_cell_costs_what_is_in_it(monkeypatch, seconds, lost):
    monkeypatch.setattr(examine, "Sandbox", Simulated)
    code = [(number, str(cost), False) for number, cost in enumerate(seconds)]
    report = examine.examine(code, {"asked": []}, sandbox.Limits(), {"asked": []})
    assert (report["error"], set(report["left_out"])) == ("", lost)
    assert report["seconds"] < 2 * 600


@pytest.mark.parametrize("kills", [0, 1, 2])
def test_what_was_killed_from_outside_runs_once_more(monkeypatch, kills):
    runs = []

    class Killing(Simulated):
        def __init__(self, *_):
            super().__init__()
            runs.append(self)

        def receive(self, deadline):
            said = super().receive(deadline)
            if said.get("at") == 2 and len(runs) <= kills:  # at work is 1
                raise sandbox.Killed("it ended Python")
            return said

    monkeypatch.setattr(examine, "Sandbox", Killing)
    code = [(number, "1", False) for number in range(3)]
    report = examine.examine(code, {"asked": []}, sandbox.Limits(), {"asked": []})
    assert report["left_out"] == ({1: "it ended Python"} if kills == 2 else {})
    assert (report["error"], report["killed"], len(runs)) == ("", kills > 0, kills + 1)


KILLED = """
import sys, psutil
from grading import sandbox
program = [sandbox.PYTHON, "-c", sys.argv[1]]
with sandbox.Sandbox(program, {}, sandbox.Limits()) as box:
    try:
        while box.receive(60) == "up":
            psutil.Process(box._process.pid).children(recursive=True)[-1].kill()
    except sandbox.Ended as error:
        print(type(error).__name__, error)
"""


@pytest.mark.long
@pytest.mark.parametrize(("code", "said"), [
    ("import os, time; print('\"up\"', flush=True); time.sleep(99)", "Killed"),
    ("import os; os.kill(os.getpid(), 9); os._exit(3)", "Ended"),
    ("import os, time; os.close(1); time.sleep(9)", "Ended"),
    ("import mmap; share = open('/dev/shm/x', 'w+b'); share.truncate(2**22); "
     "part = mmap.mmap(share.fileno(), 2**22); part[:] = bytes(2**22)", "Ended"),
])  # fmt: skip
def test_a_kill_from_outside_is_known(code, said):
    command = [PYTHON, "-c", KILLED, code]
    done = subprocess.run(command, capture_output=True, check=True, text=True, cwd=ROOT)
    more = ", as where /dev/shm is full (1 MiB)" * ("share" in code)
    assert done.stdout == f"{said} it ended Python{more}\n"


TRIES = """
import json, mmap, os, sys, time
def told(name, attempt):
    try:
        attempt()
        print(json.dumps(name), flush=True)
    except (IndexError, OSError, ValueError):
        pass
def shared(number):
    return lambda: mmap.mmap(number, 2**20)
def written(path):
    return lambda: open(path, "r+" if os.path.isfile(path) else "w").close()
told("shared memory", shared(-1))
told("memory of /dev/zero", shared(os.open("/dev/zero", os.O_RDWR)))
told("the machine's settings", written("/proc/sys/kernel/core_pattern"))
told("its own place", written("/proc/self/oom_score_adj"))
told("the wheels", written(sys.prefix + "/wheels/new"))
mmap.mmap(-1, 2**20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).write(b"1")
import ctypes, socket
def semaphores():
    if ctypes.CDLL(None).semget(0, 32000, 0o1600) == -1:
        raise OSError
told("semaphores", semaphores)
one, other = socket.socketpair()
one.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
for name in ("SO_SNDBUF", "SO_RCVBUF"):
    told(name, lambda: one.setsockopt(socket.SOL_SOCKET, getattr(socket, name), 2**20))
def lent():
    number = {"x86_64": 278, "aarch64": 75}[os.uname().machine]
    kept = ctypes.create_string_buffer(8)
    part = (ctypes.c_size_t * 2)(ctypes.addressof(kept), 1)
    if ctypes.CDLL(None).syscall(number, os.pipe()[1], part, 1, 0) == -1:
        raise OSError
told("pages in a pipe", lent)
import errno, fcntl, struct
seen = open(sys.executable, "rb")
def held(kind, command):
    lock = struct.pack("hhqqi", kind, 0, 0, 1, 0)
    return lambda: fcntl.fcntl(seen, command, lock)
def called(*arguments):
    if ctypes.CDLL(None).syscall(*arguments) == -1:
        raise OSError
told("a lock", lambda: fcntl.flock(seen, fcntl.LOCK_SH | fcntl.LOCK_NB))
for command in (fcntl.F_SETLK, fcntl.F_SETLKW, fcntl.F_OFD_SETLK, fcntl.F_OFD_SETLKW):
    told(f"a lock of bytes, {command}", held(fcntl.F_RDLCK, command))
told("a lease", lambda: fcntl.fcntl(seen, fcntl.F_SETLEASE, fcntl.F_RDLCK))
told("word of a folder", lambda: fcntl.fcntl(os.open("/usr", os.O_RDONLY), fcntl.F_NOTIFY, 1))
told("word of a file", lambda: called(
    {"x86_64": 254, "aarch64": 27}[os.uname().machine],
    ctypes.CDLL(None).inotify_init(), sys.executable.encode(), 0x20))
told("word of all files", lambda: called(
    {"x86_64": 300, "aarch64": 262}[os.uname().machine], 0x200, 0))
fcntl.fcntl(seen, fcntl.F_DUPFD)
flags = fcntl.fcntl(one, fcntl.F_GETFL)
fcntl.fcntl(one, fcntl.F_SETFL, flags | os.O_NONBLOCK), os.set_inheritable(one.fileno(), True)
fcntl.ioctl(one, 0x541B, bytes(4)), os.get_terminal_size(os.openpty()[0])
for command in (1035, 1036, 1037, 1038):  # F_GET_RW_HINT and others
    told(f"a hint, {command}", lambda: fcntl.fcntl(seen, command, struct.pack("Q", 0)))
for request in (0x6612, 0x6628, 0xC020660B, 0x80086601):  # of ext4, and of all disks
    try:
        fcntl.ioctl(seen, request, bytes(64))
        told(f"request {request:x} to a disk", list)
    except OSError as error:
        if error.errno != errno.ENOSYS:  # another disk has no such thing; it was asked
            told(f"request {request:x} to a disk", list)
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
pages = ctypes.c_void_p(libc.mmap(None, ctypes.c_size_t(4096), 1, 2, seen.fileno(), 0))
room = ctypes.create_string_buffer(64)
own = open("own", "w")  # no call may change it; so none changes what is the machine's
place, one, size = map(ctypes.c_size_t, (0, 1, 4096))
part = (ctypes.c_size_t * 2)(ctypes.addressof(room), 1)
numbers = {  # of each call: what x86_64 and aarch64 call it, and how it is called
    "to forget what was read": (221, 223, seen.fileno(), place, place, os.POSIX_FADV_DONTNEED),
    "to read ahead": (187, 213, seen.fileno(), place, size),
    "which pages are in memory": (27, 232, pages, size, room),
    "how many pages are in memory": (451, 451, seen.fileno(), (ctypes.c_uint64 * 2)(0, 4096),
                                     room, 0),
    "pages of another, aged": (440, 440, os.pidfd_open(os.getpid()),
                               (ctypes.c_size_t * 2)(pages.value, 4096), one, 20, 0),
    "pages, and none around them": (28, 233, pages, size, 1),
    "pages, aged": (28, 233, pages, size, 20),
    "pages, out": (28, 233, pages, size, 21),
    "reading what is in memory": (327, 286, seen.fileno(), part, one, place, place, 0x08),
    "reading what is not kept": (327, 286, seen.fileno(), part, one, place, place, 0x80),
    "reading by and by": (206, 0, 1, (ctypes.c_uint64 * 1)()),
    "a step back": (141, 140, 0, 0, 1),
    "a step back, by and by": (142, 118, 0, (ctypes.c_int * 1)()),
    "a place behind all others": (144, 119, 0, os.SCHED_IDLE, (ctypes.c_int * 1)()),
    "another place": (314, 274, 0, (ctypes.c_uint32 * 12)(48, os.SCHED_IDLE, 0, 0, 19), 0),
    "a locked page": (149, 228, room, one),
    "a locked page, by and by": (325, 284, room, one, 1),
    "all pages, locked": (151, 230, 1),
    "pages of another, read": (310, 270, os.getpid(), part, one, part, one, 0),
    "pages of another, written": (311, 271, os.getpid(), part, one, part, one, 0),
    "a place for word of files": (294, 26, 0),
    "a list of what is waited for": (213, 20, one),
    "a list of what is waited for, by and by": (291, 20, 0),
    "how full a disk is, by its number": (136, -1, 1, room),
    "how full a disk is": (137, 43, b"/usr", ctypes.create_string_buffer(512)),
    "how full a disk is, by a file": (138, 44, seen.fileno(), ctypes.create_string_buffer(512)),
    "a request to the machine's keys": (249, 218, b"user", b"x", b"y", -3),
    "the memory of this moment": (99, 179, ctypes.create_string_buffer(512)),
    "the log of the kernel": (103, 116, 10, 0, 0),
    "who else has pages": (279, 239, 0, one, (ctypes.c_size_t * 1)(pages.value), None,
                           (ctypes.c_int * 1)(), 2),
    "who else has pages, in a rule": (237, 235, pages, size, 0, None, 0, 0),
    "who else has pages, of all": (256, 238, 0, 2, (ctypes.c_long * 1)(1),
                                   (ctypes.c_long * 1)(1)),
    "an attribute": (188, 5, b"own", b"user.x", b"1", one, 0),
    "an attribute of no link": (189, 6, b"own", b"user.x", b"1", one, 0),
    "an attribute of what is open": (190, 7, own.fileno(), b"user.x", b"1", one, 0),
    "no attribute": (197, 14, b"own", b"user.x"),
}
for name, (intel, arm, *given) in numbers.items():
    number = {"x86_64": intel, "aarch64": arm}[os.uname().machine]
    told(name, lambda: called(number, *given))
before, now = os.stat("own"), ctypes.create_string_buffer(64)
quiet = {  # calls that succeed and do nothing
    "mode": (90, None, b"own", 0), "mode of what is open": (91, 52, own.fileno(), 0),
    "mode in a folder": (268, 53, -100, b"own", 0),
    "mode, with a flag": (452, 452, -100, b"own", 0, 0),
    "owner": (92, None, b"own", 0, -1), "owner of what is open": (93, 55, own.fileno(), 0, -1),
    "owner of a link": (94, None, b"own", 0, -1), "owner, by": (260, 54, -100, b"own", 0, -1, 0),
    "time": (132, None, b"own", now), "times": (235, None, b"own", now),
    "times, by": (261, None, -100, b"own", now), "times, exactly": (280, 88, -100, b"own", now, 0),
}
for name, (intel, arm, *given) in quiet.items():
    number = {"x86_64": intel, "aarch64": arm}[os.uname().machine]
    if number is not None:
        called(number, *given)
        told(name, lambda: [1][os.stat("own") == before])
def advised(kind):
    with mmap.mmap(-1, 2**20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as kept:
        kept.madvise(kind)
for kind in (mmap.MADV_DONTNEED, mmap.MADV_WILLNEED, mmap.MADV_HUGEPAGE, mmap.MADV_FREE):
    advised(kind)
os.preadv(seen.fileno(), [bytearray(1)], 0, os.RWF_HIPRI)
import multiprocessing
multiprocessing.Lock()
told("locked memory", lambda: mmap.mmap(-1, 4096, flags=0x2022))
for family in (socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK, socket.AF_VSOCK):
    told(str(family), lambda: socket.socket(family, socket.SOCK_DGRAM))
socket.socket(socket.AF_UNIX)
told("the terminal", lambda: [1][os.stat("/dev/tty").st_rdev == os.stat(os.devnull).st_rdev])
kept = {"cpuinfo", "filesystems", "loadavg", "meminfo", "stat", "uptime", "version"}
for folder, folders, names in os.walk("/proc"):
    for name in {os.path.join(folder, name)[6:] for name in names} - kept - {"self/schedstat"}:
        told(name, list)
first = {name: open("/proc/" + name).read() for name in sorted(kept)}
assert os.cpu_count() and "ctxt" not in first["stat"] and "MemTotal" in first["meminfo"]
time.sleep(2)
for name, text in first.items():
    told(name, lambda: [1][open("/proc/" + name).read() == text])
told("all", list)
"""
TRIED = """
import sys
from grading.sandbox import Ended, Limits, Sandbox
with Sandbox([sys.executable, "-c", sys.argv[1]], {}, Limits()) as one:
    try:
        while True:
            print(one.receive(60.0))
    except Ended:
        pass
"""


def test_what_nobody_counts_or_all_sandboxes_share_is_out_of_reach():
    settings = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [PYTHON, "-c", TRIED, TRIES], capture_output=True, check=True, text=True, env=settings
    )
    assert done.stdout.splitlines() == ["all"]


def test_a_second_posenc_is_not_in_the_sandbox(tmp_path, monkeypatch):
    old = (
        tmp_path / "venv" / "lib" / "python3.10" / "site-packages" / "posenc"
    )  # left by an upgrade
    old.mkdir(parents=True)
    (old / "posenc.py").touch()
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "venv"))
    places = ("lib/python3/dist-packages", "envs/hub/lib/python3.11/site-packages")
    for place in (*places, "local/src/hub/lib/python3.11/site-packages", "lib/python3", "share"):
        for name in ("posenc", "numpy"):
            (tmp_path / "real" / place / name).mkdir(parents=True)
            (tmp_path / "real" / place / name / f"{name}.py").touch()
    (tmp_path / "link").symlink_to("real")
    monkeypatch.setattr(sys, "base_prefix", str(tmp_path / "link"))
    look = sandbox.command(["find", str(tmp_path), "-name", "*.py"], {}, sandbox.Limits())
    found = subprocess.run(look, capture_output=True, check=True, text=True).stdout
    kept = {tmp_path / "link" / place / "numpy" / "numpy.py" for place in ("lib/python3", "share")}
    assert set(map(Path, found.split())) == kept


def test_packages_of_other_pythons_are_not_in_the_sandbox():
    code = "import pathlib, numpy\nfound = [*pathlib.Path('/usr').rglob('*-packages/*')]"
    code += f"\nfound += pathlib.Path({sys.base_prefix!r}).rglob('site-packages/*')\nprint(found)"
    run = "import subprocess, sys; from grading import sandbox as s; print(subprocess.run(s.command"
    run += f"([s.PYTHON, '-c', {code!r}], {{}}, s.Limits()), capture_output=True, text=True))"
    done = subprocess.run([PYTHON, "-c", run], capture_output=True, check=True, text=True)
    assert "stdout='[]\\n'" in done.stdout


SEARCHES = """
import pathlib, sys
wanted = ("02_sinusoidal.ipynb", "run.json", "searches.ipynb", "gradescope.py")
found = [str(path) for name in wanted for path in pathlib.Path("/usr").rglob(name)]
raise RuntimeError(f"could read, beside {sys.prefix}: {found}")
"""


@pytest.mark.long
def test_what_lies_below_the_system_is_not_in_the_sandbox(tmp_path):
    (tmp_path / NAME).mkdir()
    (tmp_path / "out").mkdir()
    nbformat.write(solved(SEARCHES), tmp_path / NAME / "searches.ipynb")
    below = ["--tmpfs", "/usr/src", "--bind", ROOT, "/usr/src/book", "--bind", tmp_path]
    below += ["/usr/src/class", "--cap-add", "ALL", "--chdir", "/usr/src/book"]
    python = Path("/usr/src/book", PYTHON.relative_to(ROOT))
    grade = ["-m", "grading.grade", f"/usr/src/class/{NAME}", "--out", "/usr/src/class/out/1"]
    command = ["bwrap", "--dev-bind", "/", "/", *below, python, *grade]
    subprocess.run([str(part) for part in command], check=True, capture_output=True)
    assert json.loads((tmp_path / "out" / "1" / "run.json").read_text())["seed"]
    (report,) = (tmp_path / "out" / "1" / "results").iterdir()
    assert list(json.loads(report.read_text())["raised"].values()) == [
        "RuntimeError: could read, beside /usr/src/book/.venv-grading: []"
    ]
    assert marks(table(tmp_path / "out" / "1" / "grades.csv")["searches"]) == FULL


def test_what_is_private_lies_in_no_folder_that_all_see(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "base_prefix", str(tmp_path))
    with pytest.raises(SystemExit, match=f"^{tmp_path} is in every sandbox, and what is private"):
        sandbox.require(sandbox.Limits(private=(tmp_path,)))


# What Canvas and Moodle give


def zipped(path, names):
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, "{}")
    return path


def test_of_a_students_files_from_canvas_the_newest_is_graded(tmp_path):
    names = ["doejane_11_900_a.ipynb", "doejane_11_905_a-1.ipynb", "roejo_LATE_12_901_b.ipynb"]
    found = gather(zipped(tmp_path / "submissions.zip", [*names, "roejo_12_902_notes.pdf"]))
    graded = {one.student: (one.id, one.file) for one in found if not one.fault}
    assert graded == {"doejane": ("11", names[1]), "roejo": ("12", names[2])}
    faults = {one.file: one.fault for one in found if one.fault}
    assert faults[names[0]] == f"“{names[1]}” is newer, and was graded"
    assert "must end with .ipynb" in faults["roejo_12_902_notes.pdf"]
    assert len({one.student for one in found}) == len(found) == 4


def test_moodle_has_a_folder_for_each_student(tmp_path):
    folders = ["Jane Doe_77_assignsubmission_file_", "Jo Roe_78_assignsubmission_file_"]
    zip_ = zipped(tmp_path / "moodle.zip", [f"{folder}/hand in.ipynb" for folder in folders])
    for folder in folders:
        (tmp_path / "in" / folder).mkdir(parents=True)
        (tmp_path / "in" / folder / "hand in.ipynb").write_text("{}")
    for path in (zip_, tmp_path / "in"):
        found = gather(path)
        assert [(one.student, one.id, one.fault) for one in found] == [
            ("Jane Doe", "77", ""),
            ("Jo Roe", "78", ""),
        ]


# The assignment


def test_an_assignment_hands_out_the_students_notebook_and_no_more(assignment):
    assert {path.name for path in assignment.iterdir()} == {f"{NAME}.ipynb", "autograder.zip"}
    made = nbformat.read(assignment / f"{NAME}.ipynb", as_version=4)
    assert made.cells[:-1] == student.student(MASTER, student.wheel_address()).cells
    listed = (
        r"with Python 3\.\d+, torch [\d.]+, numpy [\d.]+, scipy [\d.]+, pandas [\d.]+, einops [\d.]"
    )
    assert re.search(listed, made.cells[-1].source)
    limits = (
        r"A cell has 120 seconds of processor time, all have 600 and 4 GiB of memory; a file that "
        r"it writes may have 16 MiB, and `/dev/shm` has 1; the notebook may have \d+ MiB"
    )
    assert re.search(limits, made.cells[-1].source)
    given = {line.strip() for cell in made.cells for line in cell.source.splitlines()}
    secret = [line for line in student.solution_lines(MASTER) if len(line) > 15]
    assert secret
    assert not given & set(secret)


def test_an_assignment_is_made_once(assignment):
    before = (assignment / "autograder.zip").stat().st_mtime_ns
    grading("assign", NAME, "--dist", assignment.parent)
    assert (assignment / "autograder.zip").stat().st_mtime_ns == before


def test_the_trial_for_instructors_says_what_their_page_says(assignment, tmp_path):
    page = (student.EXERCISES.parent / "teaching.md").read_text()
    for command in (
        f"cp chapters/exercises/{NAME}.ipynb dist/trial/solved.ipynb",
        f"cp dist/{NAME}/{NAME}.ipynb dist/trial/untouched.ipynb",
        f"make grade NAME={NAME} SUBMISSIONS=dist/trial OUT=dist/trial-graded",
    ):
        assert f"       {command}\n" in page
    assert "give 13 points of 13 to one, and none to the other" in page
    (tmp_path / "trial").mkdir()
    shutil.copy(student.EXERCISES / f"{NAME}.ipynb", tmp_path / "trial" / "solved.ipynb")
    shutil.copy(assignment / f"{NAME}.ipynb", tmp_path / "trial" / "untouched.ipynb")
    grade(tmp_path / "trial", tmp_path / "out", "--name", NAME)
    rows = table(tmp_path / "out" / "grades.csv")
    points = {name: (row["total"], row["possible"], row["note"]) for name, row in rows.items()}
    assert points == {"solved": ("13", "13", ""), "untouched": ("0", "13", "")}


def container(assignment, root, made):
    """What Gradescope does with the zip and an upload, but for installing; the results."""
    source = root / "source"
    with zipfile.ZipFile(assignment / "autograder.zip") as archive:
        names = archive.namelist()
        archive.extractall(source)
    (root / "submission").mkdir(parents=True)
    nbformat.write(made, root / "submission" / "anything.ipynb")
    command = [PYTHON, "-m", "grading.gradescope", f"{NAME}.ipynb", "--root", root]
    subprocess.run([str(part) for part in command], cwd=source, check=True, capture_output=True)
    return names, json.loads((root / "results" / "results.json").read_text())


@pytest.mark.long
def test_the_zip_grades_elsewhere(assignment, tmp_path):
    made = notebook(sinusoidal="loops", moved="moved_complex")
    names, results = container(assignment, tmp_path, made)
    assert {"setup.sh", "run_autograder", "seed.json", f"{NAME}.ipynb"} <= set(names)
    (wheel,) = (name for name in names if name.endswith(".whl"))
    with zipfile.ZipFile(assignment / "autograder.zip") as archive:
        assert wheel in archive.read("setup.sh").decode()
        assert json.loads(archive.read("seed.json"))["seed"] >= 0
        archive.extract(wheel, tmp_path)
    with zipfile.ZipFile(tmp_path / wheel) as archive:
        assert not [name for name in archive.namelist() if "grading" in name]
    scores = [(test["score"], test["max_score"]) for test in results["tests"]]
    assert scores == [(2, 2), (1, 1), (0, 3), (2, 2), (2, 2), (0, 2), (0, 1)]
    assert "not answered yet" in results["tests"][2]["output"]


def test_packages_are_the_books_versions():
    own, graders = (
        dict(re.findall(r"^([\w.-]+)==(\S+)$", path.read_text(), re.MULTILINE))
        for path in (ROOT / "requirements.txt", ROOT / "grading" / "requirements.txt")
    )
    assert {name: graders[name] for name in own.keys() & graders} == {
        name: own[name] for name in own.keys() & graders
    }


# Other sets


@pytest.mark.long
@pytest.mark.parametrize("question", ELSEWHERE)
def test_what_other_sets_ask_is_held_too(question, tiny, tmp_path):
    folder, path = tmp_path / "in", tmp_path / "other.ipynb"
    folder.mkdir()
    made = tiny.read_text().replace("name: double", f"name: {question}")
    (chapter,) = (c for c in CHAPTERS if hasattr(c, question))
    worth = sum(test.points for test in getattr(chapter, question).tests)
    made = made.replace("points: 2", f"points: {worth}").replace("2 points", f"{worth} points")
    path.write_text(made)
    path.with_suffix(".py").write_text(f"from {chapter.__name__} import {question}\n")
    for name, (code, _) in ELSEWHERE[question].items():
        cells = [new_code_cell("import math, torch"), new_code_cell(code.strip())]
        nbformat.write(new_notebook(cells=cells), folder / f"{name}.ipynb")
    python = Path("..", PYTHON.relative_to(ROOT))  # by whatever path it is called
    grade(folder, tmp_path / "out", "--name", path, python=python, cwd=ROOT / "tests")
    found = table(tmp_path / "out" / "grades.csv")
    got = {name: float(row[question]) for name, row in found.items()}
    assert got == {name: points for name, (_, points) in ELSEWHERE[question].items()}


# Written answers

TINY = "# ASSIGNMENT CONFIG\nname: tiny"
TINY_QUESTIONS = """
from grading.questions.master import Case, Comparison, Test

double = Comparison(
    "double", lambda x: 2 * x, [Case("two", 2)],
    tests=[Test(2, "another number", lambda draw: [Case("a number", draw.integer(5, 99))])],
)
"""
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
        raw("# BEGIN QUESTION\nname: double\npoints: 2"),
        text(f"## {TITLES[0]}\n\n{facts(2)}\n\nGo."),
        raw("# BEGIN SOLUTION"),
        code(solution),
        raw("# END SOLUTION"),
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
    path.with_suffix(".py").write_text(TINY_QUESTIONS)
    return path


@pytest.fixture(scope="module")
def essays(equipment, tiny, tmp_path_factory):
    """Three students of the tiny assignment, and a function that grades them."""
    folder = tmp_path_factory.mktemp("essays")
    (folder / "in").mkdir()
    answer = "First <script>x</script>.\n\n## A step\n\nThen $R_m$."
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

    def run(*more):
        options = ("--name", tiny, *more)
        return grade(folder / "in", folder / "out", *options), table(folder / "out" / "grades.csv")

    return folder / "out", run


@pytest.mark.long
def test_written_answers_wait_for_the_instructor(essays):
    out, run = essays
    said, grades = run()
    assert "Fill in the points of" in said.stdout
    assert (grades["ann"]["double"], grades["ann"]["why"], grades["ann"]["total"]) == ("2", "", "2")
    assert grades["ann"]["possible"] == "6"
    assert grades["ann"]["note"] == "not graded yet: why"
    page = (out / "feedback" / "ann.html").read_text(encoding="utf-8")
    soup = BeautifulSoup(page, "html.parser")
    text = soup.get_text()
    assert "First <script>x</script>." in soup.select_one(".answer p").get_text()
    assert soup.select_one(".answer h5").get_text() == "A step"
    assert soup.select_one(".answer msub").get_text() == "Rm"
    assert "<script>" not in page
    assert "Not graded yet" in text
    assert "Notes of my own" in text  # code between ends no answer
    assert "Notes of my own" in (out / "feedback" / "bob.html").read_text()


def test_the_instructor_gets_a_page_of_the_class_and_one_of_each_written_question(essays):
    out, run = essays
    said, _ = run()
    assert f"The whole class: {out / 'class.html'}" in said.stdout
    text = " ".join(
        BeautifulSoup((out / "class.html").read_text(), "html.parser").get_text(" ").split()
    )
    assert "3 notebooks: 2 of 6 points on average" in text
    assert "3 written answers are not graded yet" in text
    soup = BeautifulSoup((out / "answers" / "why.html").read_text(), "html.parser")
    assert [h.get_text() for h in soup.find_all("h2")] == ["ann", "bob", "cy"]
    assert "Rubric: 4 points for it." in soup.select_one(".beside").get_text()
    for page in out.rglob("*.html"):
        assert "default-src 'none'" in page.read_text()


@pytest.mark.long
def test_points_of_a_test_can_be_changed_with_a_reason_and_a_student_graded_again(essays):
    out, run = essays
    run()
    (out / "overrides.csv").write_text(
        "student,question,points,reason\nbob,double,1.5,Shown <me>\n"
    )
    before = {path.name: path.stat().st_mtime_ns for path in out.glob("results/*.json")}
    _, grades = run("--again", "bob")
    after = {path.name: path.stat().st_mtime_ns for path in out.glob("results/*.json")}
    assert {name for name in after if after[name] != before[name]} == {"bob.json"}
    assert (grades["bob"]["double"], grades["bob"]["total"]) == ("1.5", "1.5")
    text = BeautifulSoup((out / "feedback" / "bob.html").read_text(), "html.parser").get_text()
    assert "Changed by your instructor" in text
    assert "Shown <me>" in text
    (out / "overrides.csv").unlink()


def test_a_gradebook_is_filled(essays, tmp_path):
    out, run = essays
    exported = tmp_path / "export.csv"
    table = (
        "Student,ID,SIS Login ID,Section,Tiny (3)\nPoints Possible,,,,60\nA,1,ann,x,\nB,2,bob,x,\n"
    )
    exported.write_text(table)
    (out / "written.csv").write_text("student,question,points,comment\nann,why,3,\n")
    said, _ = run("--gradebook", exported)
    assert (out / "gradebook.csv").read_text().splitlines()[2:] == ["A,1,ann,x,50", "B,2,bob,x,"]
    assert "6 points here are worth 60 there" in said.stdout
    assert "not in the gradebook: bob: not graded yet: why" in said.stderr
    assert "not in the gradebook: cy: no row" in said.stderr
    (out / "written.csv").unlink()


@pytest.mark.long
def test_what_the_instructor_fills_in_is_merged(essays):
    out, run = essays
    run()
    path = out / "written.csv"
    assert path.read_text().splitlines()[0] == "student,question,points,comment,answer"
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
    assert "line 5: 'dan' has no answer 'why'" in said.stderr
    assert "dan,why,1," in path.read_text()  # what was typed is kept, for the instructor to mend


@pytest.mark.long
def test_points_are_for_the_answer_that_they_were_given_for(essays):
    out, run = essays
    path, handed_in = out / "written.csv", out.parent / "in" / "cy.ipynb"
    path.unlink(missing_ok=True)
    run()
    path.write_text(path.read_text().replace("cy,why,,", "cy,why,4,Excellent"))
    assert run()[1]["cy"]["why"] == "4"
    first = handed_in.read_text()
    handed_in.write_text(first.replace('"Because."', '"  Because. "'))
    assert run()[1]["cy"]["why"] == "4"  # blanks say nothing
    handed_in.write_text(first.replace('"Because."', '"Or not."'))
    said, grades = run()
    assert (grades["cy"]["why"], grades["cy"]["total"]) == ("", "2")
    noted = "changed after it was given points in written.csv: why; not graded yet: why"
    assert grades["cy"]["note"] == noted
    assert "Excellent" not in (out / "feedback" / "cy.html").read_text()
    assert "ignored" not in said.stderr
    old, new = (line for line in path.read_text().splitlines() if line.startswith("cy,"))
    path.write_text(path.read_text().replace(new, new.replace("why,,", "why,1,Why")))
    _, grades = run()
    assert (grades["cy"]["why"], grades["cy"]["note"]) == ("1", "")
    handed_in.write_text(first)
    assert run()[1]["cy"]["why"] == "4"
    assert old in path.read_text()
    path.unlink()


# Bad input


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "there is no folder or zip 'nowhere'"),
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


SLOW = ("compared", "Root", "my_encoding", "better")  # a minute each; they need nothing else
JUDGE = f"""
import importlib
from grading.questions.master import masters

answers = {{}}
for number in range(1, 10):
    answers |= importlib.import_module(f"tests.answers.chapter_{{number}}").ANSWERS
for name, master in masters().items():
    if name not in {SLOW}:
        for test in master.hidden(77):
            for right in answers[name].right:
                assert test(right).passed, (name, right, test(right))
print(len(masters()))
"""


def test_the_graders_own_packages_judge_every_right_answer_right():
    command = [PYTHON, "-c", JUDGE]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 25
