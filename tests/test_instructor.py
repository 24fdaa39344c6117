"""What an instructor gets: tables for Canvas and Moodle, rendered answers, pages, who is alike."""

import argparse
import base64
import builtins
import contextlib
import csv
import dataclasses
import gc
import hashlib
import io
import json
import re
import shutil
import signal
import subprocess
import sys
import time
import tracemalloc
import unicodedata
import zipfile
import zlib
from pathlib import Path

import nbformat
import pytest
from bs4 import BeautifulSoup
from PIL import Image

from _ext import student
from grading import (
    examine,
    feedback,
    grade,
    notebook,
    outputs,
    pages,
    rendered,
    runner,
    sandbox,
    similar,
    submissions,
    without,
    written,
)
from grading.assign import handed_out
from grading.assignment import Asked, Assignment
from grading.cells import form
from grading.grade import empty
from grading.gradebook import Gradebook
from grading.known import REPORTED, engine_texts, hint_in_general, in_general, reported
from grading.marks import Graded, Mark, judge
from grading.names import read_as, slug
from grading.questions.master import masters
from grading.uses import Uses
from posenc.check import Probe, Wrong
from posenc.check.calls import UNANSWERED
from posenc.check.question import LATER
from tests.answers import chapter_2

ROOT = Path(__file__).parent.parent
TESTS = ((2.0, "some"), (2.0, "others"))
CODED = Asked("moved", "2.3 Move it & go", 4, False, "", tests=TESTS)
WRITTEN = Asked(
    "proof", "5.3 The proof", 6, True, "## 5.3 The proof\n\nProve it.", "One **point**."
)


def verdict(*, passed, misconception="", fault="it gives 1"):
    part = {"label": "some", "fault": "" if passed else fault, "right": "2", "given": ""}
    hint = f"The hint on {misconception}." if misconception else ""
    found = {"passed": passed, "parts": [part], "hint": hint, "misconception": misconception}
    return found | {"words": []}


def graded(student, passed=2, given=6.0, misconception="", **settings):
    """One who passed some of two tests, and was given points for an answer; a fault has none."""
    passed, given = (0, None) if settings.get("fault") else (passed, given)
    verdicts = [
        verdict(passed=n < passed, misconception="" if n < passed else misconception)
        for n in range(2)
    ]
    marks = [Mark(CODED, verdicts), Mark(WRITTEN, answer=[("Because.", {})], given=given)]
    return Graded(student, marks, **settings)


@pytest.mark.parametrize("change", [
    lambda package: (package / "check" / "ways.py").write_text("# as it was"),
    lambda package: (package / "check" / "ways.py").unlink(),
    lambda package: (package / "check" / "older.py").touch(),
    shutil.rmtree,
], ids=["changed", "missing", "left over", "not there"])  # fmt: skip
def test_nothing_is_graded_with_an_older_posenc(change, tmp_path, monkeypatch):
    package = tmp_path / "posenc"
    shutil.copytree(ROOT / "posenc", package)
    monkeypatch.setattr(without, "INSTALLED", tmp_path)
    without.require_current()
    change(package)
    with pytest.raises(SystemExit, match=r"another posenc \(.* differs\); type: make -B grader$"):
        without.require_current()


# Canvas and Moodle

CANVAS = """\
Student,ID,SIS User ID,SIS Login ID,Section,Quiz (7),Sinusoids (8),Final Score
,,,,,,Manual Posting,
    Points Possible,,,,,5,10,(read only)
"Doe, Jane",11,s1,jdoe,A,5,,1
"Roe, Jo",12,s2,jroe@x.org,A,4,3,1
"Roe, Jo",13,s3,other,B,4,2,1
"=cmd, Max",14,s4,max,"A, B",4,1,1
"""
MOODLE = """\
Identifier,"Full name","Email address",Status,Grade,"Maximum Grade","Grade can be changed",\
"Last modified (grade)","Feedback comments"
Participant 77,"Jane Doe",j@x.org,s,,20.00,Yes,-,
Participant 78,"Jo Roe",r@x.org,s,3.00,20.00,Yes,-,"Well done"
Participant 79,"Max Moe",m@x.org,s,,20.00,No,-,
"""


@pytest.fixture
def export(tmp_path):
    """A function that writes what was exported, and opens it."""

    def opened(text, titles=("sinusoids",), possible=10.0):
        path = tmp_path / "export.csv"
        path.write_text(text, encoding="utf-8", newline="")
        return Gradebook(path, list(titles), possible)

    return opened


def rows(text):
    delimiter = ";" if ";" in text.partition("\n")[0] else ","
    return list(csv.reader(io.StringIO(text.removeprefix("\ufeff")), delimiter=delimiter))


def test_canvas_gets_its_students_and_this_column_alone(export):
    text, said = export(CANVAS).fill(
        [graded("doejane", id="11"), graded("roejo", passed=1, given=1.5, id="12")]
    )
    made = rows(text)
    assert made[0] == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Sinusoids (8)"]
    assert made[1:3] == [["", "", "", "", "", "Manual Posting"], [*rows(CANVAS)[2][:5], "10"]]
    assert [row[-1] for row in made[3:]] == ["10", "3.5", "2", "1"]
    assert made[6][0] == "=cmd, Max"
    assert said == []


@pytest.mark.parametrize("student", ["doejane", "Jane Doe", "jdoe", "S1", "jane-doe"])
def test_without_a_number_a_student_is_found_by_name_or_login(export, student):
    text, said = export(CANVAS).fill([graded(student)])
    assert (rows(text)[3][-1], said) == ("10", [])


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (graded("Jo Roe"), "Jo Roe: no row there is this student's alone"),
        (graded("doejane", id="99"), "doejane: no row there is this student's alone"),
        (graded("nobody"), "nobody: no row there is this student's alone"),
        (graded("doejane", given=None, id="11"), "doejane: not graded yet: proof"),
    ],
)
def test_where_there_is_doubt_a_cell_stays_as_it_is(export, one, said):
    text, lines = export(CANVAS).fill([one])
    assert [row[-1] for row in rows(text)[3:]] == ["", "3", "2", "1"]
    assert lines == [said]


def test_part_of_an_address_is_nobodys_name(export):  # who chooses an address would choose points
    mine = MOODLE.replace("m@x.org", "ann@x.org")
    text, said = export(mine).fill([graded("ann")])
    assert [row[4] for row in rows(text)[1:]] == ["", "3.00", ""]
    assert said == ["ann: no row there is this student's alone"]


def test_a_long_text_in_a_cell_stops_no_gradebook(export):
    text, said = export(MOODLE.replace("Well done", "a" * 200_000)).fill([graded("Jane Doe")])
    assert (rows(text)[1][4], said) == ("20", [])


def test_two_notebooks_of_one_student_are_not_chosen_from(export):
    text, said = export(CANVAS).fill([graded("jdoe"), graded("Jane Doe", passed=0)])
    assert rows(text)[3][-1] == ""
    assert len(said) == 2


def test_what_was_not_graded_is_not_in_the_gradebook(export):
    older = graded("doejane: a.ipynb", id="", fault="a-1.ipynb is newer, and was graded")
    text, said = export(CANVAS).fill([graded("doejane", id="11"), older])
    assert (rows(text)[3][-1], said) == ("10", [])


def test_a_file_that_cannot_be_read_is_no_zero_in_the_gradebook(export):
    broken = graded("roejo", id="12", fault="it cannot be read as a notebook")
    text, said = export(CANVAS).fill([broken])
    assert rows(text)[4][-1] == "3"
    assert said == ["roejo: not graded: it cannot be read as a notebook"]


def test_moodle_gets_the_whole_worksheet_scaled_to_its_maximum(export):
    book = export(MOODLE)
    text, said = book.fill([graded(name, id=n) for name, n in (("a", "77"), ("b", "78"))])
    made, before = rows(text), rows(MOODLE)
    assert (book.worth, book.scale) == (20, 2)
    assert made[0] == before[0]
    assert [row[4] for row in made[1:]] == ["20", "20", ""]
    assert [row[:4] + row[5:8] for row in made] == [row[:4] + row[5:8] for row in before]
    assert [row[8] for row in made[1:]] == [
        "2.3 Move it &amp; go: 4 of 4; 5.3 The proof: 6 of 6",
        "Well done",
        "",
    ]
    assert said == []


def test_no_student_is_called_as_a_row_of_canvas_is(export):
    text = CANVAS.replace('"Roe, Jo",13', '"Points Possible, Eve",13')
    book = export(text)
    assert book.worth == 10
    filled, said = book.fill([graded("eve", id="13")])
    assert (rows(filled)[5][-1], said) == ("10", [])


def test_moodle_says_which_grades_cannot_be_changed(export):
    text, said = export(MOODLE).fill([graded("Max Moe", id="79")])
    assert rows(text)[3][4] == ""
    assert said == ["Max Moe: Moodle says that the grade cannot be changed"]


def test_the_form_of_the_table_is_kept(export):
    semicolons = "\ufeffStudent;ID;SIS Login ID;Section;Sinusoids (8)\nJane;11;jdoe;A;\n"
    text, _ = export(semicolons).fill([graded("doejane", id="11")])
    assert text == "\ufeffStudent;ID;SIS Login ID;Section;Sinusoids (8)\nJane;11;jdoe;A;10\n"


@pytest.mark.parametrize(
    ("text", "titles", "said"),
    [
        (CANVAS, ["Cosines"], "no column 'Cosines'; say which with --column; there are: 'Quiz"),
        (CANVAS.replace("Quiz (7)", "Sinusoids (7)"), ["sinusoids"], "more than one column"),
        ("name,points\na,1\n", ["x"], "is no gradebook of Canvas"),
        ("", ["x"], "is no gradebook of Canvas"),
        (MOODLE.replace("20.00,No", "30.00,No"), ["x"], "more than one maximum grade"),
    ],
)
def test_a_table_that_cannot_be_filled_is_refused(export, text, titles, said):
    with pytest.raises(SystemExit, match=said):
        export(text, titles)


def test_moodle_takes_the_pages_back_as_a_zip(tmp_path):
    named = [graded("a", file="Jane Doe_77_assignsubmission_file_/hand in.ipynb"),
             graded("b", file="Jo Roe_78_assignsubmission_file_x.ipynb"),
             graded("c", file="Jos\udce9_79_assignsubmission_file_/x.ipynb")]  # fmt: skip
    folders = [submissions.moodle_folder(one.file) for one in named]
    ends = ["Jane Doe_77", "Jo Roe_78", "Jos\udce9_79"]
    assert folders == [f"{end}_assignsubmission_file" for end in ends]
    assert submissions.moodle_folder("doejane_11_905_a-1.ipynb") == ""
    outputs.write_zip(
        tmp_path / "feedback.zip", dict(zip(folders, ("page", "\ud800", ""), strict=True))
    )
    with zipfile.ZipFile(tmp_path / "feedback.zip") as archive:
        shown = [folder.replace("\udce9", "?") for folder in folders]
        assert archive.namelist() == [f"{folder}/feedback.html" for folder in shown]
    outputs.write_zip(tmp_path / "feedback.zip", {"": "page"})
    assert not (tmp_path / "feedback.zip").exists()


# What is handed in


def test_no_file_takes_the_name_of_another(tmp_path):
    names = [
        "zoe.ipynb",
        "zoe",
        "zoe (zoe.ipynb).ipynb",
        "zoe (2).ipynb",
        "a\x01.ipynb",
        "a\x02.ipynb",
    ]
    for name in names:
        (tmp_path / name).write_text(name)
    found = submissions.gather(tmp_path)
    assert len({one.student for one in found}) == len(found) == len(names)
    by_file = {one.file: one.student for one in found}
    assert by_file["zoe.ipynb"] == "zoe"
    assert by_file["zoe (zoe.ipynb).ipynb"] == "zoe (zoe.ipynb)"
    assert all(one.student.isprintable() or "\ufffd" in one.student for one in found)


def test_a_zip_may_hold_anything(tmp_path):
    path = tmp_path / "canvas.zip"
    names = [f"doejane_1_2_hw-{'9' * 5000}.ipynb", "roe_3_4_x.ipynb", "bad_5_6_line\nfeed.ipynb"]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(name, "{}" * 1000)
    data = bytearray(path.read_bytes())
    start = data.index(b"roe_3_4_x.ipynb") + len("roe_3_4_x.ipynb")
    data[start : start + 9] = b"\xff" * 9
    path.write_bytes(data)
    found = {one.student: one for one in submissions.gather(path)}
    assert set(found) == {"doejane", "roe", "bad"}
    assert found["roe"].fault == "it cannot be read in the zip"


def test_a_damaged_part_of_a_zip_costs_that_part_alone(tmp_path):
    path = tmp_path / "canvas.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        for name in ("roe_3_4_x.ipynb", "doejane_1_2_x.ipynb"):
            archive.writestr(name, "{}" * 1000)
    data = bytearray(path.read_bytes())
    start = data.index(b"roe_3_4_x.ipynb") + len("roe_3_4_x.ipynb") + 9  # behind its header
    data[start : start + 9] = b"\xff" * 9
    path.write_bytes(data)
    faults = {one.student: one.fault for one in submissions.gather(path)}
    assert faults == {"doejane": "", "roe": "it cannot be read in the zip"}


def test_of_many_files_of_one_student_the_newest_that_can_be_read_takes_memory(tmp_path):
    path = tmp_path / "canvas.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(1, 9):
            archive.writestr(f"doejane_11_{number}_a.ipynb", f"{number}".ljust(2**24))
    data = bytearray(path.read_bytes())
    start = data.index(b"doejane_11_8_a.ipynb") + len("doejane_11_8_a.ipynb")
    data[start : start + 9] = b"\xff" * 9
    path.write_bytes(data)
    tracemalloc.start()
    try:
        found = submissions.gather(path)
        assert tracemalloc.get_traced_memory()[1] < 2**26  # all of them have 2**27
    finally:
        tracemalloc.stop()
    (graded,) = (one for one in found if not one.fault)
    assert (graded.file, graded.content.strip()) == ("doejane_11_7_a.ipynb", b"7")
    assert {one.fault for one in found} == {
        "",
        "it cannot be read in the zip",
        "“doejane_11_7_a.ipynb” is newer, and was graded",
    }


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), MemoryError()])
def test_what_the_grader_lacks_is_no_students_fault(error, monkeypatch):
    def examine(*_):
        raise error

    monkeypatch.setattr(grade, "examine", examine)
    content = json.dumps({"cells": [{"cell_type": "code", "source": "1"}]}).encode()
    master = student.EXERCISES / "02_sinusoidal.ipynb"
    report = grade.run(content, str(master), 1, sandbox.Limits())
    assert report["ours"]
    assert report["error"].startswith(f"it could not be graded: {type(error).__name__}")


def test_what_takes_too_long_to_read_costs_itself_alone(monkeypatch):
    positions = Assignment.find("01_position_problem")
    read, content = Assignment.read, b'{"cells": [{"cell_type": "code", "source": "x"}]}'
    monkeypatch.setattr(grade, "READING", 0.2)
    monkeypatch.setattr(Assignment, "read", lambda self, cells: (
        read(self, cells) if not cells else [time.sleep(0.01) for _ in range(1000)]))  # fmt: skip
    start = time.monotonic()
    report = json.loads(json.dumps(grade.run(content, str(positions.path), 1, sandbox.Limits())))
    assert time.monotonic() - start < 5
    found = [submissions.Submission("ann", "ann.ipynb", content=content)]
    (one,) = grade.graded(found, {"ann": report}, positions)
    assert "it takes more than 0.2 seconds to read" in one.remarks
    assert not report["ours"]  # kept: no command ends the same again
    assert (one.pending, one.total) == ([], 0)


def test_a_fault_of_ours_while_reading_is_no_fault_of_the_students(monkeypatch):
    positions = Assignment.find("01_position_problem")
    monkeypatch.setattr(Assignment, "read", lambda self, cells: int("x"))
    report = grade.run(b'{"cells": []}', str(positions.path), 1, sandbox.Limits())
    assert report["ours"]
    assert report["error"].startswith("it could not be graded: ValueError")


def test_a_cell_that_runs_a_file_is_no_longer_as_it_was_handed_out():
    stub = "def f(x):\n    ...\n"
    assert form(stub + "%run mine.py") != form(stub + "%matplotlib inline") == form(stub)


def test_who_hands_in_what_nobody_can_read_waits_for_no_points(tmp_path):
    positions = Assignment.find("01_position_problem")
    found = [submissions.Submission(name, f"{name}.ipynb", content=b"") for name in ("ann", "eve")]
    found[0] = dataclasses.replace(found[0], content=b'{"cells": []}')
    found.append(submissions.Submission("pia", "pia.pdf", fault="it is no notebook"))
    results = {"ann": empty(""), "eve": empty("it cannot be read as a notebook")}
    results["pia"] = empty("it is no notebook")
    ann, eve, pia = grade.graded(found, results, positions)
    assert (ann.pending, eve.pending, eve.total) == (["order_proof"], [], 0)
    assert (ann.ungraded, eve.ungraded) == ("", "it cannot be read as a notebook")
    page = BeautifulSoup(feedback.page("Positions", eve), "html.parser")
    assert "This file was not graded: it cannot be read as a notebook" in page.get_text()
    assert not page.select("section, meter")
    alike = argparse.Namespace(pairs=[], uncompared=[])
    page = BeautifulSoup(pages.class_page(positions, [ann, eve], alike), "html.parser")
    assert "eve, not graded: it cannot be read" in page.select_one("[aria-labelledby=look]").text
    path = tmp_path / "written.csv"
    assert (pia.pending, pia.ungraded) == ([], "it is no notebook")
    path.write_text("student,question,points,comment\neve,order_proof,2,sent again\n")
    written.merge(path, [eve])
    path.write_text("student,question,points,reason\npia,order_proof,1,read on paper\n")
    written.override(path, [pia])
    totals = [(one.total, one.ungraded, one.pending) for one in (eve, pia)]
    assert totals == [(2, "", []), (1, "", [])]  # a person may give points nevertheless


def test_a_table_that_is_saved_with_semicolons_is_told_so(tmp_path):
    path = tmp_path / "written.csv"
    path.write_text("student;question;points;comment\nann;why;3,5;good\n")  # one comma too many
    with pytest.raises(SystemExit, match=r"columns student, .* got student;.*; save it with comm"):
        written.read(path)


def left(source, names):
    """What is left of a cell when it has run up to what it raises."""
    shell = argparse.Namespace(user_ns=names, transform_cell=lambda text: text)
    try:
        exec(compile(source, "cell", "exec"), names)
    except Exception as error:
        return runner._left(shell, source, error)
    return []


def test_an_import_that_fails_takes_no_other_with_it():
    found = left("x = 1\nimport no_such_module as nsm, math, json as j\ny = math.pi", {})
    assert found[1:] == ["import math", "import json as j", "y = math.pi"]
    assert found[0] == "import no_such_module as nsm"  # which raises again


BLOCKS = """
class Block:
    def __init__(self, begin=1, end=1): self.begin, self.end = begin, end
    def __enter__(self): 1 / self.begin
    def __exit__(self, *_): ran("out"); 1 / self.end
begins, ends, passes = Block(begin=0), Block(end=0), Block()
def refuses(_): 1 / 0
"""


@pytest.mark.parametrize(("source", "ran"), [
    ("with ends:\n    ran(1)\n    ran(2)\nran(3)", [1, 2, "out", 3]),
    ("with ends:\n    ran(1)\n    1 / 0\n    ran(2)\nran(3)", [1, "out", 3]),
    ("with begins:\n    ran(1)\n    1 / 0\n    ran(2)\nran(3)", [1, 2, 3]),
    ("with passes, begins:\n    ran(1)\nran(2)", ["out", 1, 2]),
    ("for n in 1, 2:\n    with ends, passes:\n        ran(n)\n    ran(3)", [1, "out", "out", 3]),
    ("try:\n    with ends: ran(1)\nexcept KeyError: ran(2)\nelse: ran(3)", [1, "out", 3]),
    ("class C:\n    ran(1)\n    1 / 0\n    ran(2)\nran('C' in globals())", [1, False]),
    ("@refuses\nclass C:\n    ran(1)\nran('C' in globals())", [1, False]),
    ("@nowhere\nclass C:\n    ran(1)\nran('C' in globals())", [1, True]),
])  # fmt: skip
def test_what_has_run_is_not_run_again(source, ran):
    found, todo = [], [source]
    names = {"ran": found.append}
    exec(BLOCKS, names)
    while todo:
        todo[:0] = left(todo.pop(0), names)
    assert found == ran


def test_a_line_that_is_no_json_ends_the_question():
    lines = iter([None, {"id": "no"}])  # the second would not have come before the deadline
    busy = argparse.Namespace(seconds=0.0, send=lambda *_: 0, receive=lambda _: next(lines))
    run = argparse.Namespace(sandbox=busy, deadline=9.0)
    with pytest.raises(Wrong, match="it gives no answer that can be compared"):
        examine._Run.ask(run, "moved", ())
    assert next(lines)


def test_what_nobody_takes_is_not_waited_for():
    waited, sent = [], []
    said = iter([{"next": 7}, {"next": 7}, {"at": 7}])

    def receive(deadline):
        waited.append(deadline)
        for message in said:
            return message
        raise sandbox.Ended("it took too long")

    busy = argparse.Namespace(seconds=1.0, receive=receive, send=lambda line, _: sent.append(line))
    run = argparse.Namespace(sandbox=busy, deadline=600.0, at=None, _patience=lambda _: 120.0)
    run._cells, run._names, run._late, run._is_cell = [(7, "", False)], [], False, [7].count
    with pytest.raises(sandbox.Ended):
        examine._Run.start(run)
    assert waited == [600.0, 6.0, 6.0, 121.0]

    waited.clear()
    said, run._read = ({what: sent[-1]["id"]} for what in ("taken", "other", "id")), dict
    assert examine._Run.ask(run, "moved", ()) == {"id": sent[-1]["id"]}
    assert waited == [6.0, 36.0, 36.0]


def test_a_zip_may_be_packed_again_and_have_more_in_it(tmp_path):
    def gathered(*names):
        path = tmp_path / "x.zip"
        with zipfile.ZipFile(path, "w") as archive:
            for hour, name in enumerate(names):
                archive.writestr(zipfile.ZipInfo(name, (2026, 1, 1, hour, 0, 0)), "{}")
        return {one.student: one.file for one in submissions.gather(path) if not one.fault}

    mac = ("__MACOSX/w/._doe_1_2_a.ipynb", "w/.DS_Store", "w/.ipynb_checkpoints/a.ipynb")
    assert gathered("w/doe_1_2_a.ipynb", "w/roe_3_4_b.ipynb", *mac) == {
        "doe": "doe_1_2_a.ipynb",
        "roe": "roe_3_4_b.ipynb",
    }
    assert set(gathered("doe_1_2_a.ipynb", "roe_3_4_b.ipynb", "02_sinusoidal.ipynb")) == {
        "doe", "roe", "02_sinusoidal",
    }  # fmt: skip
    jane, jo = "Jane Doe_77_assignsubmission_file_", "Jo Roe_78_assignsubmission_file_"
    assert gathered(f"{jane}/a.ipynb", f"{jane}/.ipynb_checkpoints/a-checkpoint.ipynb") == {
        "Jane Doe": f"{jane}/a.ipynb"
    }
    assert gathered(f"w/{jane}/a.ipynb", f"w/{jo}/a.ipynb") == {
        "Jane Doe": f"{jane}/a.ipynb",
        "Jo Roe": f"{jo}/a.ipynb",
    }
    assert set(gathered("one/hw.ipynb", "two/hw.ipynb")) == {"one/hw", "two/hw"}
    assert set(gathered("w/ann.ipynb")) == {"ann"}


@pytest.mark.parametrize("name", [" =1+1", "\N{FULLWIDTH EQUALS SIGN}1+1", "=x", "@x", "", " "])
def test_a_spreadsheet_runs_no_name(name):
    assert submissions.printable(name).startswith("'")


@pytest.mark.parametrize(
    "cut", ["x;=1+1", "x; =1", ";@x", "a;+1;-2", "x;\N{FULLWIDTH EQUALS SIGN}1"]
)
def test_no_spreadsheet_runs_what_stands_behind_a_semicolon(cut, assignment):
    assert ";" not in submissions.plain(cut)
    assert submissions.plain("Tables; rows; 2") == "Tables; rows; 2"
    report = empty("") | {"left_out": {"1": "it ended Python"}}
    one = judge("ann", [("markdown", f"# {cut}"), ("code", "x = 1")], report, assignment)
    assert not any(re.search(r";\s*[^\w\s]", text) for text in one.remarks)


def test_letters_may_be_joined_and_blanks_are_blanks():
    persian = "\u0645\u06cc\N{ZERO WIDTH NON-JOINER}\u0646\u0627"
    assert submissions.printable(persian) == persian
    assert submissions.printable("Zo\N{NO-BREAK SPACE}Ro") == "Zo Ro"
    for odd in ("an\N{ZERO WIDTH JOINER}na", f"{persian}\N{ZERO WIDTH JOINER}", "a\u202eb"):
        assert "\ufffd" in submissions.printable(odd)


# of the letters, marks, controls and unassigned that Unicode lets no font show
UNSEEN = "\u3164\u115f\u1160\uffa0\ufe0f\u034f\u17b5\u180b\u180f\U000e0100\u00ad\u2065\ufff0"


@pytest.mark.parametrize("unseen", UNSEEN, ids=ascii)
def test_what_nobody_sees_tells_no_name_from_another(unseen, tmp_path):
    names = ["bob.ipynb", f"bob{unseen}.ipynb", f"bo{unseen}b.ipynb", f"{unseen}=1.ipynb"]
    found = {one.file: one for one in submissions.gather(handed_in(tmp_path, *names))}
    bob, eve, mal, formula = (found[name] for name in names)
    assert all(one.remark.startswith("its name may be read as") for one in (bob, eve, mal))
    assert bob.student.startswith("bob [")
    assert eve.student.startswith("bob\ufffd [")
    assert mal.student.startswith("bo\ufffdb [")
    assert (formula.student, formula.remark) == ("\ufffd=1", "")


def test_a_mark_is_read_with_its_letter_whatever_nobody_sees_between_them():
    assert (
        read_as("zoe\N{COMBINING GRAPHEME JOINER}\u0308") == read_as("Zo\u00eb") != read_as("zoe")
    )
    assert read_as("\u3164") == "\u3164"  # for there is no other


def test_no_disk_takes_a_page_for_another(tmp_path):
    path = tmp_path / "in.zip"  # a disk may not hold all of these
    names = ["Anna", "anna", "ANNA", "anna (2)", "Zo\u00eb", "zoe\u0308", "\u1e9eo", "sso"]
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(f"{name}.ipynb", "{}")
    found = [one.student for one in submissions.gather(path)]
    pages = {unicodedata.normalize("NFC", slug(student)).casefold() for student in found}
    assert len(pages) == len(found) == len(names)
    assert [student for student in found if student in names] == ["anna (2)"]


@pytest.mark.parametrize(
    "other", ["bob.IPYNB", "B.O.B.ipynb", "\N{FULLWIDTH LATIN SMALL LETTER B}ob.ipynb"]
)
def test_nobody_takes_a_name_that_another_may_mean(other, export, tmp_path):
    def gathered(*files):
        path = tmp_path / "in.zip"
        with zipfile.ZipFile(path, "w") as archive:
            for file in files:
                archive.writestr(file, "{}")
        return {one.file: one for one in submissions.gather(path)}

    found = gathered("bob.ipynb", other, "cy.ipynb")
    bob, eve = found["bob.ipynb"], found[other]
    assert (bob.remark, eve.remark) == (
        f"its name may be read as that of row {eve.student.partition(' ')[2]}",
        f"its name may be read as that of row {bob.student.partition(' ')[2]}",
    )
    assert bob.student.startswith("bob [")
    assert (found["cy.ipynb"].student, found["cy.ipynb"].remark) == ("cy", "")
    imitated = gathered("bob.ipynb", other, "BOB.ipynb", f"{bob.student}.ipynb")
    assert imitated["bob.ipynb"].student == bob.student  # whoever else comes
    assert imitated[other].student == eve.student
    marked = [graded(bob.student), graded(eve.student, passed=0)]
    table = f"Student,ID,Section,Sinusoids (8)\nBob,11,A,\n{bob.student},12,A,\n"
    text, said = export(table).fill(marked)
    assert ([row[-1] for row in rows(text)[1:]], len(said)) == (["", ""], 2)
    assert [one.flags for one in marked] == [
        ["no row of the gradebook is this student's alone"]
    ] * 2


def test_a_name_is_his_who_alone_has_a_notebook(tmp_path):
    for file in ("bob", "bob.ipynb", "essay.pdf", "essay.pdf.ipynb"):
        (tmp_path / file).write_text("{}")
    found = {one.file: one for one in submissions.gather(tmp_path)}
    assert [found[f"{name}.ipynb"].student for name in ("bob", "essay.pdf")] == ["bob", "essay.pdf"]
    assert found["essay.pdf.ipynb"].remark.startswith("its name may be read as that of row [")
    assert found["essay.pdf"].remark == "its name may be read as that of a row without a mark"
    assert found["essay.pdf"].student.startswith("essay.pdf [")


def test_a_file_that_nobody_may_read_costs_itself_alone(tmp_path):
    assert submissions._read_file(tmp_path / "gone.ipynb") == (b"", "it cannot be read")


def test_of_a_notebook_without_cells_it_is_said(assignment):
    assert judge("ann", [], empty(""), assignment).remarks == ["it has no cells"]
    assert judge("ann", [], empty("it is a link"), assignment).remarks == ["it is a link"]


def test_students_of_one_name_have_their_numbers(tmp_path):
    for file in ("doejane_11_900_a.ipynb", "doejane_12_901_b.ipynb", "roe_13_902_c.ipynb"):
        (tmp_path / file).write_text("{}")
    found = [one.student for one in submissions.gather(tmp_path)]
    assert found == ["doejane [11]", "doejane [12]", "roe"]


def test_a_name_that_a_mac_took_apart_is_the_same(export, tmp_path):
    (tmp_path / "jose\u0301.ipynb").write_text("{}")
    (one,) = submissions.gather(tmp_path)
    assert one.student == "jos\u00e9"
    for there in ("Jos\u00e9", "Jose\u0301"):
        table = f"Student,ID,Section,Sinusoids (8)\n{there},11,A,\nJose,12,A,\n"
        text, said = export(table).fill([graded("jose\u0301")])
        assert ([row[-1] for row in rows(text)[1:]], said) == (["10", ""], [])


def test_letters_are_told_apart_by_their_marks(tmp_path):
    names = ["\u0915\u093e", "\u0915\u0940"]  # two syllables of Hindi
    for name in names:
        (tmp_path / f"{name}.ipynb").write_text("{}")
    assert [(one.student, one.remark) for one in submissions.gather(tmp_path)] == [
        (name, "") for name in names
    ]


def test_no_text_of_a_student_commands_a_terminal(assignment):
    heading = "# x\x1b]0;pwned\x07\x1b[2J\u202e”; checked by hand, all fine; “"
    cells = [("markdown", heading), ("code", "!\x1b[2K x = 1")]
    report = empty("") | {"left_out": {"1": "it ended Python"}, "raised": {"1": "E: \x1b[2J"}}
    one = judge("ann", cells, report, assignment)
    for text in (*one.remarks, *one.flags, *one.raised):
        assert text.isprintable()
    assert one.remarks[0].startswith("cell 2, below “x")
    assert one.raised[0].endswith("”: “E: \N{REPLACEMENT CHARACTER}[2J”")


def odd(code):
    """What is odd in a cell."""
    return Uses([("code", code)], set()).odd()


def test_odd_code_is_named_however_it_is_written():
    for code in ("x = !id", "\t!id", "%sx id", "%%python", "%run x.py", "import ｃtypes",  # noqa: RUF001
                 "ways._without = 1", "import concurrent.futures", "!ls && id",
                 "!!id"):  # fmt: skip
        assert odd(code), code


@pytest.mark.parametrize("code", [
    "def f(exec):\n    pass\nexec('1')", "f = lambda exec: 1\nexec('1')",
    "[1 for eval in x]\neval(y)", "def f(x=lambda exec: 1):\n    exec('1')",
    "class A:\n    def open(self):\n        pass\nopen(x)", "def f(exec, y=exec('1')):\n    pass",
    "exec = exec\nexec('1')", "if 0:\n    exec = 0\nexec('1')", "exec('1')\nexec = 0",
    "exec = 0\ndel exec\nexec('1')", "[exec('1') for exec in (exec,)]", "exec, x = [exec, 0]",
    "class A:\n    exec = exec\n    exec('1')", "@(lambda f: exec)\ndef exec(x):\n    pass",
    "def f():\n    global exec\n    exec('1')\n    exec = 0", "for exec in [exec]:\n    exec('1')",
    "class A:\n    exec = 0\n    def f(self):\n        exec('1')", "(exec := exec)('1')",
    "import nowhere as eval\neval('1')", "class eval(1 / 0):\n    pass\neval('1')",
    "def eval(x=1 / 0):\n    pass\neval('1')", "def eval(x: 1 / 0):\n    pass\neval('1')",
    "eval = 1 / 0\neval('1')", "eval = nothing\neval('1')", "a[1 / 0] = eval = 0\neval('1')",
    "from torch import nothing as eval\neval('1')", "def eval() -> 1 / 0:\n    pass\neval('1')",
])  # fmt: skip
def test_a_name_of_ones_own_is_so_in_its_scope_alone(code):
    assert odd(code)


@pytest.mark.parametrize("code", [
    "def f(exec):\n    return [lambda: exec(x) for x in y]", "lambda open: open(1)",
    "def open(x):\n    return x\ndef f(x):\n    return open(x)", "[eval(1) for eval in x]",
    "class A:\n    def eval(self):\n        return 1\nA().eval()",
    "def f(*open, **exec):\n    exec(open)",
    "x = 7 % 3\nassert x != 2\ny = x %3",
    "%matplotlib inline\n%timeit f(2)\n%load_ext autoreload\n%%time\n%config X = 1",
    '!pip install -q "torch>=2.2" "x[y]>1"', "!pip install numpy>=1.20", "!pip list  # (again)",
    "!{sys.executable} -m pip install x", "!echo '(a); b'",
    "!pip install -q pandas==2.1", "with open('notes-1.txt', 'w') as f:\n    f.write(x)",
    "compile = torch.compile\nf = compile(f)", "open = len\nopen(x)",
    "from re import compile\ncompile(x)", "%config A.b = {'figsize': (9, 6)}", "s = y\ns.modules",
    "!pip freeze > versions.txt\n!echo hi >> notes.md\n!pip install {name} {a.b}",
    "%cd {folder}", "%config Completer.use_jedi = False",
    "%pip install seaborn",
    "# don't leave it open",
    "x = 1  # an open question of types, for exec",
    "print('the system has two types')",
    'note = """\nopen(the system); import types\n"""\nx = 1',
    "print('at=%d' % x, \"=!x\")",
    "print(f'the system is open at {x:.3f}')",
    "signal = 3\ntypes = [signal]\ny = np.sin(signal)",
    "def f(vars):\n    return g(vars)",
    "def open(x):\n    return x\ny = open(3)",
    "for types in (1, 2):\n    print(types)",
    "print('gc content of getattr')", "f(x, 'getattr')", "x = 1  # with the gc, not getattr",
    'def f():\n    """Kein getattr, kein gc."""\n    return 1', "def kill(x): return x\nkill(2)",
    "!nvidia-smi\n!pip install -q git+https://a.org/x\n%cd /content\n%env X=1\n!ls -la\nx = 1",
    "!pip install \\\n  einops \\\n  pandas\nx = 1", "files = !ls\nx = 1", "f?\nf??\n?f\nx = 1",
    "import inspect\nprint(inspect.signature(f))", "from types import SimpleNamespace\nx = 1",
    "from torch.nn import functional as F\nattention = F.attention = nn.attention = 1\nattention",
    "model.eval()\nfor m in model.modules():\n    pass\nf = torch.compile(f)",
    "from scipy import signal\nsignal.chirp(1)", "print(platform.system())", "Image.open(x)",
    "%%html\n<b>open(the system)</b>", "#@title Eval { run: 'auto' }\nx = 3 #@param",
    "!which python\n!date\n!echo hi\n!pip install -U pip && pip install torch", "print(vars())",
    "%automagic off\n%store x\nx = 1", "%%script echo skipping\nthis: is no (Python",
    "f = getattr(g, 'h')",
    "def open(x): pass\nopen(1)", "%matplotlib inline\ndef f(:\n    angle = 3 # gc",
    "import sys\nif 'google.colab' in sys.modules:\n    from google.colab import drive, files",
    "if 'google.colab' in str(get_ipython()):\n    x = files.upload()",
    "from IPython import get_ipython\nget_ipython().run_line_magic('matplotlib', 'inline')",
    "get_ipython().system('pip install -q x')", "import os\nos.system('pip install -q x')",
    "print(get_ipython().__class__.__name__ == 'Shell', get_ipython() is not None)",
    "import os\nos.environ['KMP_DUPLICATE_LIB_OK'] = 'True'\nx = 'COLAB_GPU' in os.environ",
    "import importlib\nimportlib.reload(posenc)\nfrom importlib import reload\nreload(posenc)",
    "import gc\ndel x\ngc.collect()\ntorch.cuda.empty_cache()",
    "import importlib.metadata\nimportlib.metadata.version('torch')",
    "!pip list 2>&1 | grep -i torch\n!pip install -q 'torch<3' {name} $more > /dev/null 2>&1",
    "!cat /proc/cpuinfo | grep 'model name' | uniq\n!python --version; pip --version",
    "%%bash\n# what is here\npip install -q \\\n  einops\n\nls -l | head", "%%shell\npip list",
    "%tensorboard --logdir x\n%lprun -f f f(2)\n%watermark -v\n%set_env X=1\n%pip3 list",
    "torch.set_default_device('mps' if torch.backends.mps.is_available() else 'cpu')",
    "%time f(1)\nmodel.eval()\nre.compile('a')", "%timeit -n100 -r 3 -o -q f()\nmodel.eval()",
    "f'{d['a']} rows'\nmodel.eval()\nre.compile('a')",
    "%time !pip install x\nsignal.chirp(1)", "if x:\n    %timeit -n 1 !ls \\\n -l\n    signal.f()",
    "%prun -s cumulative -q f()\nmodel.eval()", "if x:\n    %time f(1)\n    model.eval()",
])  # fmt: skip
def test_nobody_is_accused_of_words(code):
    assert odd(code) == []


@pytest.mark.parametrize("code", [
    "open('/x')", "x = open ('../x')", "open('a/x')", "open(x)", "open('.x')", "open()", "f = open",
    "open('a.py', 'w')", "open('a.txt.so', 'wb')", "open('x')",
    "f = exec\nf('x')", "list(map(eval, lines))", "os.system('x')",
    "from os import system", "from os import (\n    path,\n    system,\n)", "import marshal",
    "x = 1; import signal as s", "if 1: import socket", "sys.modules['x']", "sys . modules",
    "f'{open(1)}'", 'f"""\n{exec(y)}\n"""', "x = '#'; open(y)", "x = '\\\\'; open(y)",
    "'''a'''; import marshal; '''b'''", "x = \"'\"\nopen(y)\nz = \"'\"",
    '%load_ext a """\nimport marshal\n# """', "!echo '''\nopen(x)\n#'''",
    "%time x = 1\\\nimport gc", "%time !id", "%time %run x.py",
    "def f():\n    import marshal", "!pip install x; id",
    "%run x.py", "# '\nopen(y)\n# '",
    "%%bash\npip list\nid", "%%sh\nls $(id)", "!ls | sh", "!ls & id", "x = os.environ[exec('1')]",
    "import gc\ngc.collect(gc.get_objects())", "import gc as g", "import importlib.util",
    "import importlib\nimportlib.import_module('x')", "from importlib import util",
    "x = get_ipython()", "get_ipython().run_line_magic('run', 'x.py')", "list(sys.modules)",
    "get_ipython().run_line_magic('pip', x)", "get_ipython().system('ls' + x)",
    "get_ipython().user_ns", "os.environ.clear()", "import os\nos.system('id')", "x = os.environ",
    "'x' in list(sys.modules['y'].z)", "os.system(x)", "from IPython import get_ipython as g",
    "str(get_ipython().user_ns)", "import os\nos.system(0x" + 9_000 * "f" + ")",
    "x = rb'\\\\'\nopen(y)\n'", "import os; os.kill(1, 9)", "os.environ",
    "import io; io.open(1)",
    "np.ctypeslib.load_library(x, y)", "shell.run_cell(x)",
    "import os as o\no.system('x')", "inspect.getsource(f)", "x = 1\n%x '''\nimport ctypes\n# '''",
    "x = '''\n'''; import ctypes", "f'{gc.x} of it'",
    "%time gc.get_objects()", "%%time\ngc.get_objects()", "%%writefile a.py\nimport ctypes",
    "!git log | sh", "x = 1\n" * 300_000 + "import gc", "def f(:\n    import gc",
    "%cd x\nx = 5 \\\n%ctypes.CDLL(None)", "%cd x\nx = (5\n%ctypes.CDLL(None))",
    "%cd x\nx = '''\n%s''' % gc.x", "%cd x\nx = '=%d' % ctypes.x", "%cd x\nf(\nctypes?\n)",
    "torch.onnx.ops.f(x)", "from torch.onnx.ops import f", "import torch.onnx as o", "(onnx.f x",
    "torch.nn.attention.bias.f(x)", "from torch import nn as n\nn.attention.bias.f(x)",
    "from torch.nn.attention.bias import f", "from torch.nn import attention as a",
    "import torch.nn.attention.bias as b", "import torch.nn as n\nn.attention", "import torchtune",
    "import torch as t\nt.nn.attention",
    "%cd {math.__dict__.update(g=x()) or '.'}", "%config X.y = math.f()", "%alias_magic t run",
    "%alias zz python3 -c", "!echo 'import x' > hh.py", "!cat a >>b.py", "!ls {x[f]}",
    "import sys\nw = sys\nw.modules", "import os\nw = v = os\nv.fork()", "import _thread",
    "import pty", "os.forkpty()", "sys._current_frames()", "import inspect\ninspect.stack()",
    "asyncio.create_subprocess_exec(x)",
    "/exec x", ";exec x", ",exec x", "x = 1\n/exec x", "x = (1;\nrun = exec\nrun(y)",
    "x = (1;\nimport \\\n  socket", "x = (1;\nfrom \\\r\n  socket import *",
    "from os import *", "np.os.fork()", "torch.os.system", "import posix", "os.execl(x)",
    "os.abort()", "pkgutil.resolve_name(x)", "g.gi_frame", '!pip install "$(id)"',
    "!pip list '# ' ; id", "!ls '' > a.py", "!ls >=1a.py x",
])  # fmt: skip
def test_what_is_odd_is_named_whatever_stands_around_it(code):
    assert odd(code)


def test_of_many_odd_lines_it_is_said_how_many_there_are():
    lines = [f"!id {n}" for n in range(9)]
    assert odd("\n".join(lines[:5])) == [f"“{line}”" for line in lines[:5]]
    assert odd("\n".join(lines[:6]))[5:] == ["1 more such line"]
    assert odd("\n".join(lines))[5:] == ["4 more such lines"]


def test_lines_that_python_joins_are_not_as_they_were_handed_out():
    for code in ("import ctypes as c, \\\n  math", "from os import (\n  system\n)",
                 "import gc, \\\n  ctypes, \\\r\n  math", "x = gc. \\\nmath"):  # fmt: skip
        assert Uses([("code", code)], {"math", ")"}).odd(), code
    given = "from os import (\n  system\n)"
    assert Uses([("code", f"x = 1\n{given}")], set(map(str.strip, given.split("\n")))).odd() == []


@pytest.mark.alone
def test_odd_code_is_found_in_linear_time():
    for part in ("import ", "open(", "'", '"""', "\\", "# ", "=!", "f'{", '%a "', "(", "def vars "):
        start = time.process_time()
        odd(part * (3_000_000 // len(part)))
        assert time.process_time() - start < 12, part


def doubled(work, size):
    """How much more of the processor's time work on twice the size takes; the least of seven."""

    def seconds(size):
        gc.collect()
        gc.disable()  # else it looks through all that the tests hold, and more often for more
        start = time.process_time()
        try:
            work(size)
            return time.process_time() - start
        finally:
            gc.enable()

    half, twice = (min(seconds(n) for _ in range(7)) for n in (size // 2, 2 * size))
    return (twice / half) ** 0.5, twice


@pytest.mark.alone
@pytest.mark.parametrize("code", [
    lambda size: 'x=["\U0001f600",' + "1," * (size // 2) + "] ",
    lambda size: "a" + ".b" * (size // 160) + ("\na" + ".b" * (size // 160)) * 79,
], ids=["a wide line", "chains"])  # fmt: skip
def test_code_of_many_parts_takes_linear_time(code):
    ratio, seconds = doubled(lambda size: odd(code(size)), 48_000)
    assert ratio < 2.5
    assert seconds < 1.5


@pytest.mark.alone
def test_text_that_is_nearly_a_picture_takes_linear_time():
    start = time.process_time()
    nearly = ("a" * 999 + " ") * 4000
    assert notebook._PICTURE.sub("", nearly + 1000 * "a") == nearly
    assert time.process_time() - start < 2  # a search that begins anew at each letter took 5


@pytest.mark.alone
def test_comprehensions_in_comprehensions_are_read_once():
    start = time.process_time()
    assert odd("[x for x in " * 40 + "exec(y)" + "]" * 40) == ["exec"]
    assert time.process_time() - start < 2


def test_names_times_scopes_fill_no_memory():
    names = "=".join(f"n{number}" for number in range(4000))
    code = f"{names}=0\n[{'lambda exec:0,' * 4000}exec('1')]"
    tracemalloc.start()
    try:
        assert odd(code) == ["exec"]
        assert tracemalloc.get_traced_memory()[1] < 2**26  # a set of all for each has 500 MB
    finally:
        tracemalloc.stop()


@pytest.mark.alone
def test_blank_lines_below_a_question_cost_little():
    prompt = "\n\n".join(f"Say why it is so, part {part}." for part in range(20))
    cell = "## 1.4 T\n" + prompt.replace("\n", "\nBecause.\n")  # it is compared in many parts

    def answered(size):
        ((_, text),) = written.answer(
            [("markdown", cell + "\n" * size)], "1.4 T", {"1.4 T"}, prompt
        )
        assert set(text.split()) == {"Because."}

    ratio, seconds = doubled(answered, 100_000)
    assert ratio < 2.5
    assert seconds < 1


@pytest.mark.alone
def test_many_headings_are_held_against_many_titles_at_once():
    def seconds(count):
        titles, start = {f"1.{number} T" for number in range(count)}, time.process_time()
        assert written.answer([("markdown", "# a\n" * 50_000)], "1.4 T", titles, "") == []
        return time.process_time() - start

    assert seconds(200) < 5 * min(seconds(2), seconds(2)) + 0.1


def test_marks_in_disorder_take_linear_time(assignment):
    start = time.process_time()
    cells = [("code", "# 'a" + "\u0301\u0316" * 1_000_000)]
    judge("ann", cells, empty(""), assignment)
    submissions.printable(cells[0][1])
    assert time.process_time() - start < 12


def test_an_answer_goes_on_below_code():
    cells = [("markdown", "## 5.3  The proof"), ("code", "1"), ("markdown", "Because."),
             ("markdown", "## 5.4 Next"), ("markdown", "no")]  # fmt: skip
    found = written.answer(cells, "5.3 The proof", {"5.3 The proof", "5.4 Next"}, "")
    assert found == [(2, "Because.")]


def test_a_formula_of_the_prompt_is_the_students_where_he_writes_it():
    prompt = "## 1.4 T\n\nLet the scores of X be\n\n$$\nS(X) = X W\n$$\n\nProve that\n\n$$\nx\n$$"
    titles = {"1.4 T"}
    own = "The scores are\n\n$$\nS(X) = X W\n$$\n\nso that\n\n$$\nS(PX) = P\\, S(X)\n$$"
    assert written.answer([("markdown", prompt)], "1.4 T", titles, prompt) == []
    for cells in ([("markdown", prompt), ("markdown", own)], [("markdown", f"{prompt}\n\n{own}")]):
        ((_, text),) = written.answer(cells, "1.4 T", titles, prompt)
        assert text == own


def test_nothing_that_is_handed_out_is_an_answer_in_words():
    ends = []
    for assignment in map(Assignment, student.masters()):
        cells = [(c.cell_type, c.source) for c in handed_out(assignment).cells]
        given = {asked.title for asked in assignment.questions}
        ends += [assignment.questions[-1].written]
        for asked in assignment.questions:
            if asked.written:
                assert written.answer(cells, asked.title, given, asked.prompt) == []
    assert any(ends)  # there the last cell says what the grader has


def test_in_moodle_the_latest_notebook_counts_and_its_page_goes_back(tmp_path):
    path, folder = tmp_path / "moodle.zip", "Bob Brown_77_assignsubmission_file_"
    with zipfile.ZipFile(path, "w") as archive:
        for name, hour in (("hw.ipynb", 9), ("a_new.ipynb", 11), ("zz.pdf", 12)):
            archive.writestr(zipfile.ZipInfo(f"{folder}/{name}", (2026, 1, 1, hour, 0, 0)), "{}")
    found = submissions.gather(path)
    (one,) = (one for one in found if not one.fault)
    assert one.file == f"{folder}/a_new.ipynb"
    assert one.remark.startswith("2 notebooks; graded: ")
    marked = [graded(o.student, file=o.file, fault=o.fault) for o in found]
    options = argparse.Namespace(show_right=False)
    outputs.write_all(tmp_path / "out", Assignment.find("05_rope"), marked, options)
    with zipfile.ZipFile(tmp_path / "out" / "feedback.zip") as archive:
        (page,) = archive.namelist()
        assert "Bob Brown</h1>" in archive.read(page).decode().replace(": ", "")


def of_nobody(file):
    """Its row, with a mark."""
    return f"{file.removesuffix('.ipynb')} [{hashlib.sha256(file.encode()).hexdigest()[:12]}]"


VEE = "Vic Vee_77_assignsubmission_file_"


def handed_in(path, *names, is_folder=False):
    """A folder or a zip with empty files of these names."""
    with zipfile.ZipFile(path / "in.zip", "w") as archive:
        for name in names:
            archive.writestr(name, "{}")
    if not is_folder:
        return path / "in.zip"
    shutil.unpack_archive(path / "in.zip", path / "in")
    return path / "in"


@pytest.mark.parametrize("other", [
    f"{VEE} Mal_79_assignsubmission_file_hw", f"{VEE}_79_assignsubmission_file_hw",
    f"{VEE}Mal_79_assignsubmission_file_/hw", "Vic Vee_77_assignsubmission_79_assignsubmission_hw",
])  # fmt: skip
@pytest.mark.parametrize("is_folder", [False, True])
def test_a_name_that_moodle_may_give_to_several_is_nobodys(tmp_path, other, is_folder):
    others = [f"{other} {number}.ipynb" for number in range(4)]
    path = handed_in(tmp_path, f"{VEE}hw.ipynb", *others, is_folder=is_folder)
    found = {one.file: one for one in submissions.gather(path)}
    vee = found.pop(f"{VEE}hw.ipynb")
    assert (vee.student, vee.id, vee.fault, vee.remark) == ("Vic Vee", "77", "", "")
    assert list(found) == others
    for file, one in found.items():
        assert (one.student, one.id, one.fault) == (of_nobody(file), "", "")
        assert one.remark == "Moodle's name of it can be read as that of several students"
        assert submissions.moodle_folder(file) == ""


BOB = "smithbob_12_70002_02_sinusoidal.ipynb"


@pytest.mark.parametrize("other", [
    "smithbob_12_99999999_345_70003_hw.ipynb",  # whose name in Canvas ends with two numbers
    "smithbob_12_345_70003_hw.ipynb", "smithbob_12_99999999_LATE_345_70003_hw.ipynb",
    "coxeve_345_70003_56_hw.ipynb", "coxeve_345_70003_x_12_99999999_hw.ipynb",
])  # fmt: skip
@pytest.mark.parametrize("is_folder", [False, True])
def test_a_name_that_canvas_may_give_to_several_is_nobodys(tmp_path, other, is_folder):
    others = ["leeann_11_70001_hw.ipynb", BOB]
    path = handed_in(tmp_path, *others, other, is_folder=is_folder)
    found = {one.file: one for one in submissions.gather(path)}
    bob, one = found[BOB], found[other]
    newer = "file 99999999 may be this student's, and is newer: Canvas's name of it can be read as "
    is_newer = "12_99999999" in other
    assert (bob.student, bob.id, bob.fault) == ("smithbob", "12", "")
    assert bob.remark == (newer + "that of several students") * is_newer
    assert (one.student, one.id, one.fault) == (of_nobody(other), "", "")
    assert one.remark.startswith("Canvas's name of it can be read as that of several students")


def test_nobody_takes_the_file_of_nobody(export, tmp_path):
    eves, like = "coxeve_345_70009_56_hw", "coxeve-345-70009-56-hw"
    own = [f"{eves}.ipynb", "coxeve_345_70001_old.ipynb"]
    others = [f"coxeve_345_{70_010 + n}_v_1_{n + 1}_.ipynb" for n in range(4)]
    others += [f"{like}_9_70020_a.ipynb", f"coxeve_345_70009_56_9_{70_030}_a.ipynb"]
    found = {one.file: one for one in submissions.gather(handed_in(tmp_path, BOB, *own, *others))}
    assert not any(one.fault for one in found.values())
    eve, old = (found[file] for file in own)
    assert eve.student == of_nobody(own[0])  # whoever else comes
    assert (old.student, old.remark[:36]) == ("coxeve", "file 70013 may be this student's, an")
    for name in (eves, like, eve.student):
        marked = [graded(eve.student)]
        text, said = export(f"Student,ID,Section,Sinusoids (8)\n{name},9,A,\n").fill(marked)
        assert (rows(text)[1][-1], len(said)) == ("", 1)


@pytest.mark.parametrize("name", ["HW_2_1_{}", "cs_336_2026_{}", "hw2_2026_11_26_{}"])
def test_two_numbers_that_all_names_have_are_not_canvass(tmp_path, name):
    files = [f"{name.format(student)}.ipynb" for student in ("ann", "bob", "carl")]
    found = submissions.gather(handed_in(tmp_path, *files))
    assert [one.student for one in found] == [file.removesuffix(".ipynb") for file in files]
    assert not any(one.id or one.fault or one.remark for one in found)


@pytest.mark.parametrize("file", ["coxeve_345_{}_hw.ipynb", "cox_345_{}_x_1_2_.ipynb",
                                  "van_dykeann_345_{}_hw.ipynb"])  # fmt: skip
def test_many_files_of_one_student_cost_him_alone(tmp_path, file):
    many = [file.format(70_010 + n) for n in range(5001)]
    found = submissions.gather(handed_in(tmp_path, BOB, *many, "leeann_11_70001_hw.ipynb"))
    others = {
        one.id: (one.student, one.fault, one.remark) for one in found if one.id in ("11", "12")
    }
    assert others == {"11": ("leeann", "", ""), "12": ("smithbob", "", "")}
    assert len(found) == submissions.MOST + 2
    (one,) = (one for one in found if one.file == many[-1])
    assert not one.fault
    assert one.remark.endswith("4981 more files, older or no notebooks, have no row")


def test_no_note_has_words_that_another_student_chose(tmp_path):
    words = "this is Ann's own, and the other is copied"
    for name in (f"leeann_77_70009_{words}.ipynb", f"coxeve_9_70010_11_70020_{words}.ipynb"):
        path = handed_in(tmp_path, "leeann_11_70001_hw.ipynb", BOB, name, is_folder=False)
        (ann,) = (one for one in submissions.gather(path) if one.id == "11")
        assert ann.remark
        assert "copied" not in ann.remark + ann.student


@pytest.mark.parametrize(("file", "student", "number"), [
    ("coxeve_late_345_503_hw.ipynb", "coxeve", "345"),  # as an older Canvas writes it
    ("van_dykeann_345_503_hw.ipynb", "van_dykeann", "345"),
    ("smithbob_12_LATE_345_503_hw.ipynb", "smithbob_12", "345"),
    ("smithbob_0012_345_503_hw.ipynb", "smithbob_0012", "345"),
    ("coxeve_345_503_02_sinusoidal.ipynb", "coxeve", "345"),
    ("coxeve_345_503_hw-2_1.ipynb", "coxeve", "345"),
    ("coxeve_345_503_hw_56.ipynb", "coxeve", "345"),
])  # fmt: skip
def test_a_name_of_canvas_that_is_read_in_one_way_is_its_students(tmp_path, file, student, number):
    others = ["leeann_11_70001_hw.ipynb", BOB]
    (one,) = (o for o in submissions.gather(handed_in(tmp_path, *others, file)) if o.file == file)
    assert (one.student, one.id, one.fault, one.remark) == (student, number, "", "")


def test_in_a_students_folder_of_moodle_a_file_may_have_any_name(tmp_path):
    path = handed_in(tmp_path, f"{VEE}/Mal_79_assignsubmission_file_hw.ipynb")
    (one,) = submissions.gather(path)
    assert (one.student, one.id, one.remark) == ("Vic Vee", "77", "")


def test_no_word_or_number_of_an_answer_is_on_a_page():
    secret = "67 95 10 517.0"
    for fault in (f"it gives {secret}", f"its result has the shape [{secret}]", secret,
                  f"after training {secret}", f"{secret}, but the rule is: {secret}"):  # fmt: skip
        assert not re.search(r"\d", in_general(fault)), fault
    assert in_general("two pairs idle at length 640") == "it does not do what this part asks"
    assert hint_in_general("Work on a copy.") == "Work on a copy."
    assert not re.search(r"\d", hint_in_general("Every number is 5.17e+09 times the right one."))
    found = verdict(passed=False, fault=f"it gives {secret}") | {"words": [f"it said {secret}"]}
    found["parts"][0]["label"] = "base 517"
    assert feedback.said(found, show_right=False) == ["NO   base …", "     it gives another number"]
    assert secret in feedback.said(found, show_right=True)[1]
    assert f"it said {secret}" in feedback.said(found, show_right=True)[2]


def stubs(assignment, cells):
    return dict(assignment.read(cells)["stubs"])


def run_of(assignment, cells):
    return assignment.run_of(cells, assignment.read(cells))


def test_a_stub_below_an_answer_does_not_undo_it():
    sinusoids = Assignment.find("02_sinusoidal")
    cells = [(cell.cell_type, cell.source) for cell in sinusoids.handed_out.cells]
    stub = ("code", sinusoids.given_cells["moved"])
    place = cells.index(stub)
    assert stubs(sinusoids, cells) == stubs(sinusoids, [*cells, *cells]) == {}
    for own in ("def moved(*x):\n    return x", "import os\nmoved = lambda *x: x",
                "with torch.no_grad():\n    def moved(*x):\n        return x",
                "%matplotlib inline\nmoved: Callable = max", "from helpers import moved",
                "a, (b, moved) = 1, (2, max)", "print(moved := max)"):  # fmt: skip
        mine = [*cells[:place], ("code", own), *cells[place:]]
        assert stubs(sinusoids, mine) == {place + 1: "moved"}
        run = {number: (source, given) for number, source, given in run_of(sinusoids, mine)}
        assert run[place] == (own, False)
        assert place + 1 not in run
        assert sum(given for _, given in run.values()) == 8  # imports, checks and pictures
        assert stubs(sinusoids, [*cells, ("code", own)]) == {}
        remarks = judge("ann", mine, empty(""), sinusoids).remarks
        assert f"cell {place + 2} is as it was handed out, and 2.3 is answered above it, so it " \
            "was passed over" in remarks  # fmt: skip
    for other in ("moved(1)", "moved == 1", "  moved = 1", "removed = 1", "print(moved)",
                  "def f(moved):\n    moved = 1", "[1 for moved in x]", "x.moved = 1"):  # fmt: skip
        assert stubs(sinusoids, [("code", other), stub]) == {}
    start = time.process_time()
    stubs(sinusoids, [("code", "a" * 3_000_000 + " " * 3_000_000), ("code", "a=" * 3_000_000)])
    assert time.process_time() - start < 5


def test_a_stub_is_one_however_it_is_spelled():
    sinusoids = Assignment.find("02_sinusoidal")
    stub, own = sinusoids.given_cells["moved"], "def moved(*x):\n    return x"
    for spelled in (
        stub.replace("\n", "\r\n"),
        stub.replace("...", "...  "),
        f"# later\n{stub}  # or never",
        stub.replace("...", "pass"),
        stub.replace("...", "pass\n    ..."),
        stub.replace("...", ""),
        "def moved(rows: torch.Tensor, *others) -> list:\n    ...",
        f"%%time\n{stub}",
    ):
        mine = [("code", own), ("code", spelled)]
        assert stubs(sinusoids, mine) == {1: "moved"}, spelled
        assert run_of(sinusoids, mine) == [(0, own, False)]
        (mark,) = (m for m in judge("ann", mine[1:], empty(""), sinusoids).marks
                   if m.asked.name == "moved")  # fmt: skip
        assert mark.untouched
    for other in (
        stub.replace("...", "return rows"),
        stub.replace("...", "return ..."),
        f"@answer\n{stub}",
        stub.replace("moved", "other"),
        f"{stub}\nmoved = max",
        f"moved(1)\n{stub}",
        stub.replace("...", "-" * 500_000),
        stub.replace("...", "x" + ".x" * 3000),
    ):
        assert stubs(sinusoids, [("code", own), ("code", other)]) == {}, other[:200]
    mended = Assignment.find("02_sinusoidal").given_cells["mended_sinusoidal"]
    for spelled, is_one in ((f"{mended}\n# ?", True), (mended.replace(".bfloat16()", ""), False)):
        mine = [("code", "mended_sinusoidal = max"), ("code", spelled)]
        assert bool(stubs(sinusoids, mine)) is is_one


def test_cells_that_were_handed_out_are_known_with_the_line_ends_of_windows():
    sinusoids = Assignment.find("02_sinusoidal")
    cells = [(c.cell_type, c.source) for c in sinusoids.handed_out.cells]
    on_windows = [(kind, source.replace("\n", "\r\n")) for kind, source in cells]
    given = [[is_given for *_, is_given in run_of(sinusoids, some)] for some in (cells, on_windows)]
    assert given[0] == given[1]
    assert sum(given[0]) == 8


@pytest.mark.parametrize("above", [
    [("code", "x = 1\n" * 9_000)] * 12,
    [("code", "x = 1\n" * 90_000)],
    [("code", "")] * 9_000,
    [("code", '"""' + "x" * 2_000_000 + '"""')],
], ids=["many cells", "a long cell", "empty cells", "a long text"])  # fmt: skip
def test_a_stub_is_below_its_answer_whatever_stands_above_both(above):
    sinusoids = Assignment.find("02_sinusoidal")
    stub = ("code", sinusoids.given_cells["moved"])
    for own in ("moved = max", "def moved(*x):\n    return x"):
        found = stubs(sinusoids, [*above, ("code", own), stub])
        assert found == {len(above) + 1: "moved"}
    long = ("code", "x = 1\n" * 90_000 + "def moved(*x):\n    return x")
    assert stubs(sinusoids, [long, stub]) == {1: "moved"}


@pytest.mark.long
def test_the_names_of_all_cells_are_found_in_linear_time():
    sinusoids = Assignment.find("02_sinusoidal")
    stub = ("code", sinusoids.given_cells["moved"])

    def found(size):
        assert stubs(sinusoids, [("code", "x;" * 1000)] * (size // 2000) + [stub]) == {}

    ratio, _ = doubled(found, 40_000)
    assert ratio < 2.5


def test_measuring_what_was_sent_has_a_limit(monkeypatch):
    def endless(_):
        while True:
            pass

    monkeypatch.setattr(examine, "_JUDGING", 0.2)
    run = argparse.Namespace(words=[], ask=None)
    tests, verdicts, ended = {"q": [Probe("q", {"a part": endless})] * 2}, {}, {}
    assert not examine._asked(tests, run, verdicts, ended)  # and another sandbox goes on
    assert not examine._asked(tests, run, verdicts, ended)
    assert examine._asked(tests, run, verdicts, ended)
    (part,) = verdicts["q"][1]["parts"]
    assert in_general(part["fault"]) == "when it was called, it was stopped"
    assert "takes too long to measure" in ended["q"]
    assert signal.getitimer(signal.ITIMER_PROF) == (0, 0)


def test_which_cell_fails_once_a_hidden_input_is_sent_is_for_the_instructor(
    assignment, monkeypatch
):
    class Run:
        """The first ends Python when it is asked, the second in a cell, the third not at all."""

        started = 0

        def __init__(self, *_):
            self.at, self.refused, self.raised, self.changed, self.words = None, {1}, {}, set(), []
            self.checked = {}
            self.sandbox = contextlib.nullcontext()
            self.sandbox.seconds = 1.0

        def start(self):
            Run.started += 1
            self.refused |= {2} if Run.started > 1 else set()
            if Run.started == 2:
                self.at = 3  # which it may have chosen by the input
                raise sandbox.Ended("it ended Python")

    def judged(test, _):
        if Run.started == 1:
            raise sandbox.Ended("it ended Python")
        return examine._failed(test, "it gives 1")

    monkeypatch.setattr(examine, "_Run", Run)
    monkeypatch.setattr(examine, "_judged", judged)
    cells = [("code", f"posenc.rotate({number})") for number in range(5)]
    code = [(number, source, False) for number, (_, source) in enumerate(cells)]
    tests = {"rotated": [Probe("rotated", {"a part": print})]}
    found = examine.examine(code, tests, sandbox.Limits(), {"rotated": [1.0]})
    report = json.loads(json.dumps(found))
    report["verdicts"] = {}
    one = judge("ann", cells, report, assignment)
    page, note = feedback.page("A title", one).lower(), "; ".join(one.remarks + one.flags).lower()
    assert "cell 2 calls a function of posenc" in page
    assert "a cell had to be left out" in page
    assert "a cell calls a function of posenc" in page
    for late in ("cell 4", "cell 3", "ended python"):
        assert late in note
        assert late not in page
    (_, (*_, noted)) = outputs.rows([one])
    assert "cell 3 calls a function of posenc" in noted
    assert "a cell calls" not in noted  # which is the same again
    assert "a cell had to be left out" not in noted


@pytest.mark.parametrize(("said", "device"), [
    ("AssertionError: Torch not compiled with CUDA enabled", "CUDA"),
    ("RuntimeError: PyTorch is not linked with support for mps devices", "MPS"),
    ("NotImplementedError: Could not run 'aten::x' with arguments from the 'MPS' backend.", "MPS"),
    ("RuntimeError: Cannot execute getNewGenerator() without MPS backend.", "MPS"),
    ("RuntimeError: Found no NVIDIA driver on your system.", "CUDA"),
    ("RuntimeError: PyTorch is not linked with support for xla devices", "XLA"),
])  # fmt: skip
def test_who_asks_for_a_device_is_named(assignment, said, device):
    lost = empty("") | {"raised": {"0": "ValueError", "1": said}}
    one = judge("ann", [("code", f"x.to('{device.lower()}')")] * 3, lost, assignment)
    assert f"cell 2 asks for {device}, which is not here" in one.flags
    one = judge("ann", [("code", "raise RuntimeError('CUDA is not here')")] * 3, lost, assignment)
    assert one.flags == []


SAYS = " the grader errs so 21 is right".replace(" ", "\u3164")  # a letter, and looks like a blank


@pytest.mark.parametrize(("source", "said", "note"), [
    ("f'{1'", "SyntaxError: new", r"^cell 2 is nothing for Python 3\.\d+: “SyntaxError: new”$"),
    ("raise SyntaxError('it is right')", "SyntaxError: it is right", ""),
    ("1", "SyntaxError: it is right (line 1)", ""),
    ("f'{1'", "SyntaxError: it is ” right", "“SyntaxError: it is ' right”$"),
    ("f'{1'", "SyntaxError: " + "x" * 99, r"“SyntaxError: x{47}\.\.\.”$"),
    ("from typing import new", "ImportError: cannot import name 'new' from 'typing' (a.py)",
     r"^cell 2 says “cannot import name 'new' from 'typing' \(a.py\)”$"),
    ("import nowhere", "ModuleNotFoundError: No module named 'nowhere'", "not here: “nowhere”$"),
    ("import torch.no", "ModuleNotFoundError: No module named 'torch.no'", "not here: “torch.no”$"),
    ("x", "ModuleNotFoundError: No module named 'torch'", ""),
    ("x", "ModuleNotFoundError: No module named 'torch.nn.functional'", ""),
    ("x", "ModuleNotFoundError: No module named 'sys'", ""),
    ("x", "ModuleNotFoundError: No module named '.'", ""),
    ("%%R\nx", "UsageError: Cell magic `%%R` not found", "not here: “%%R”$"),
    ("import the.grader.errs.also.gives.all.points", "ModuleNotFoundError: No module named "
     "'the.grader.errs.also.gives.all.points'", r"“the.grader.errs.also.gives.all\.\.\.”$"),
    ("x", "UsageError: Cell magic `%%R` not found", ""),
    ("%%time\n%%R\nx", "UsageError: Cell magic `%%R` not found", "not here: “%%R”$"),
    ("x\n# %%R", "UsageError: Cell magic `%%R` not found", ""),
    (f"%%time{SAYS}", f"UsageError: Cell magic `%%time{SAYS}` not found", ""),
    (f"import torch{SAYS}", f"ModuleNotFoundError: No module named 'torch{SAYS}'", ""),
    ("x", "ModuleNotFoundError: No module named 'the.grader.errs.give.3'", ""),
    ("# import nowhere\n'import nowhere'", "ModuleNotFoundError: No module named 'nowhere'", ""),
    ("from nowhere.a import b", "ModuleNotFoundError: No module named 'nowhere'", ": “nowhere”$"),
])  # fmt: skip
def test_what_a_student_says_is_held_against_what_is_so(assignment, source, said, note):
    cells = [("code", "1"), ("code", source)]
    one = judge("ann", cells, empty("") | {"raised": {"1": said}}, assignment)
    flags = [flag for flag in one.flags if not flag.startswith("look at")]
    assert len(flags) == bool(note)
    assert all(re.search(note, flag) for flag in flags)


def test_lines_stand_in_quotes(assignment):
    said = ["!x; 2.1: the grader errs", f"!y{SAYS}", "!z”, and 2.1 is right, “"]
    one = judge("ann", [("code", "if 0:\n    " + "\n    ".join(said))], empty(""), assignment)
    hidden = SAYS.replace("\u3164", "\ufffd")
    quoted = f"“{said[0]}”, “!y{hidden}”, “!z', and 2.1 is right, '”"
    assert f"look at its code: {quoted}" in one.flags


def test_what_to_look_at_comes_before_what_fills_a_note(assignment):
    one = judge("ann", [("code", "import ctypes")], empty(""), assignment)
    one.remarks = [f"cell {n}, below {99 * 'x'!r}, was left out" for n in range(99)]
    note = [*outputs.rows([one])][1][-1]
    assert note.startswith("look at its code: ctypes; ")
    assert note.endswith("... (the rest: class.html, and the page of feedback)")


def test_who_asks_for_cuda_is_named(assignment):
    said = "it raised AssertionError: Torch not compiled with CUDA enabled"
    cells = [("code", "x.to('cuda')")] * 3
    one = judge("ann", cells, empty("") | {"raised": {"1": said[10:]}}, assignment)
    assert "cell 2 asks for CUDA, which is not here" in one.flags
    name = next(asked.name for asked in assignment.questions if not asked.written)
    number = next(a.title.partition(" ")[0] for a in assignment.questions if a.name == name)
    count = len(next(a.tests for a in assignment.questions if a.name == name))
    wrong = verdict(passed=False) | {"words": [said]}
    one = judge("ann", cells, empty("") | {"verdicts": {name: [wrong] * count}}, assignment)
    assert f"{number} asks for CUDA, which is not here" in one.flags
    right = verdict(passed=True) | {"words": [said]}
    one = judge("ann", cells, empty("") | {"verdicts": {name: [right] * count}}, assignment)
    assert not [flag for flag in one.flags if "CUDA" in flag]


def test_a_label_keeps_its_numbers_if_they_say_nothing_of_what_is_drawn():
    asked = Assignment.find("02_sinusoidal").questions[0]
    fixed, drawn = "between whole numbers, on both sides of 0", "six positions from 23 on"
    found = verdict(passed=False)
    for label, shown in ((fixed, fixed), (drawn, "six positions from … on")):
        found["parts"][0]["label"] = label
        assert feedback.said(found, asked.public, show_right=False)[0] == f"NO   {shown}"
        assert label in feedback.said(found, asked.public, show_right=True)[0]
    for master in student.masters():
        assignment = Assignment(master)
        tests = [assignment.tests(seed) for seed in (11, 12)] if "07" not in master.stem else []
        for asked in assignment.questions if tests else ():
            sets = [
                {getattr(part, "label", part) for test in one.get(asked.name, ())
                 for part in getattr(test, "cases", None) or test.parts}
                for one in tests
            ]  # fmt: skip
            assert asked.public <= sets[0] & sets[1]


def test_what_is_wrong_with_all_cases_of_a_test_is_said_once():
    found = verdict(passed=False)
    found["parts"] *= 3
    assert feedback.said(found, show_right=False) == [
        "NO   every case",
        "     it gives another number",
    ]
    found["parts"][1] = found["parts"][1] | {"fault": ""}
    assert feedback.said(found, show_right=False)[2] == "yes  some"


def test_what_was_not_tried_is_not_called_wrong():
    found = verdict(passed=True)
    for fault in ("it gives 1", LATER):
        found["parts"] += verdict(passed=False, fault=fault)["parts"]
    assert feedback.said(found, show_right=False)[3:] == ["--   some", f"     {LATER}"]


@pytest.mark.parametrize("question", ["2.3", "moved"])
def test_points_are_changed_by_a_questions_name_or_number(tmp_path, question):
    path, one = tmp_path / "overrides.csv", graded("ann", passed=1)
    path.write_text(f"student,question,points,reason\nann,{question},3,It was my error\n")
    written.override(path, [one])
    assert (one.marks[0].tested, one.marks[0].score) == (2, 3)
    text = " ".join(BeautifulSoup(feedback.page("Rotary", one), "html.parser").text.split())
    assert "It was my error (The tests gave 2 of 4.)" in text


def test_a_folder_has_the_grades_of_one_assignment(tmp_path):
    seed = grade.the_seed(tmp_path, None, "01_a")
    assert grade.the_seed(tmp_path, None, "01_a") == seed
    with pytest.raises(SystemExit, match=r"has the grades of '01_a'; say with OUT="):
        grade.the_seed(tmp_path, None, "02_b")
    outputs.write(tmp_path / "run.json", '{"seed": 5}')  # as it was before it had a name
    assert grade.the_seed(tmp_path, None, "02_b") == 5


def test_the_note_says_at_which_question_a_sandbox_ended(assignment):
    (first, second, *_) = (asked for asked in assignment.questions if not asked.written)
    slow = [verdict(passed=False, fault="when it was called, it took too long")]
    found = {first.name: slow * len(first.tests), second.name: [verdict(passed=False)] * 2}
    one = judge("ann", [("code", "x = 1")], empty("") | {"verdicts": found}, assignment)
    assert f"{first.title.split()[0]}: when it was called, it took too long" in one.flags
    assert not [flag for flag in one.flags if flag.startswith(second.title.split()[0])]


def test_who_mended_one_bug_of_two_is_not_told_of_both():
    tests = masters()["mended_sinusoidal"].hidden(3)
    found = [test(chapter_2.still_bfloat16) for test in tests]
    assert not any("Both bugs" in one.hint for one in found)
    found = [test(chapter_2.still_one_speed_a_channel).hint for test in tests]
    assert {hint[:31] for hint in found} == {"All rows but that of position 0"}


def test_the_bars_of_the_class_are_of_whole_points():
    made = pages.distribution([0, 1.5, 2, 12.5, 13, 20, -1], 13)
    assert made[0] == ("0 to 1", 3)
    assert made[1] == ("2 to 3", 1)
    assert made[-1] == ("12 to 13", 3)
    assert [label for label, _ in pages.distribution([], 10)] == [str(n) for n in range(11)]
    assert pages.distribution([30], 30)[-1] == ("30", 1)


def test_a_students_process_has_fifteen_words():
    assert len(REPORTED) == 15
    assert in_general(str(reported("it raised KeyError: 517"))) == "it raised an exception"
    names = [f"it raised {name}: 517" for name in dir(builtins)]
    odd = ["", "517", None, 5, ["x"], "it raised ValueErrors", "it did not finish", "x" * 10**6]
    hints = set()
    for words in (*engine_texts(), *names, *odd):
        error = reported(words)
        assert str(error) in REPORTED
        assert in_general(str(error)) == str(error)
        hints.add((str(error), error.hint))
    assert {said for said, _ in hints} <= set(REPORTED)
    assert len(hints) <= len(REPORTED)  # the hint says no more than the class


def test_names_that_look_like_hashes_do_not_meet():
    odd = slug("a/b")
    assert len({slug(name) for name in ("a/b", odd, slug(odd), "a_b", "a-0123456", "x" * 300)}) == 6
    assert slug("doejane") == "doejane"
    assert not set('<>:"/\\|?*') & set(slug('doejane: a<b>"c"|d?*\\e.ipynb'))
    assert slug("a-0123456") == "a-0123456"


def test_a_hundred_thousand_cells_without_time_are_one_remark(assignment):
    cells = [("code", "\n")] * 100_000
    left_out = {str(n): "came when no time was left" for n in range(12, 100_000)}
    left_out["3"] = "it took too long"
    raised = {str(n): "E" for n in range(500)}
    one = judge("ann", cells, empty("") | {"left_out": left_out, "raised": raised}, assignment)
    assert "cells 13 to 100000 were left out: came when no time was left" in one.remarks
    assert len(one.remarks) == 3
    assert len(one.raised) == 21
    one.flags = ["x" * 10_000]
    assert all(len(field) < 2100 for row in outputs.rows([one]) for field in row)


def test_the_instructor_is_told_what_was_ended_from_outside(assignment):
    for killed in (False, True):
        report = empty("") | {"killed": killed}
        flags = judge("ann", [("code", "x = 1")], report, assignment).flags
        assert any("from outside" in flag for flag in flags) == killed


def flagged(assignment, *sources):
    return judge("ann", [("code", s) for s in sources], empty(""), assignment).flags


def test_nobody_is_accused_of_words_in_a_comment_or_of_names_of_his_own(assignment):
    code = "# this calls nothing of the system; types are open\ndef rotate(a, b):\n    return a"
    for one in (code, "from posenc import rotate as r", "import posenc\nposenc.rotate(x)"):
        assert flagged(assignment, one) == []
    assert flagged(assignment, '"""\n# """; import ctypes')


def test_which_answers_call_what_is_not_there_is_noted_from_what_they_did():
    sinusoids = Assignment.find("02_sinusoidal")
    failed = verdict(passed=False, fault=without.SAID)
    tests = {asked.name: len(asked.tests) for asked in sinusoids.questions}
    for names, said in {
        (): [],
        ("moved",): ["2.3 calls what is to be written without posenc"],
        ("dot_product", "moved"): ["2.2, 2.3 call what is to be written without posenc"],
    }.items():
        report = empty("") | {"verdicts": {name: [failed] * tests[name] for name in names}}
        assert judge("ann", [("code", "x = 1")], report, sinusoids).flags == said


@pytest.mark.parametrize("part", [
    "1+", "(", "x;", "x.", "!a\n", "=!a", "a if b else ", "\\\n", "x = !a\\\n", "\u0301\u0316",
    "if x:\n", "!ls ", "%time -n ",
])  # fmt: skip
def test_code_that_is_hard_to_parse_takes_linear_time(part):
    sinusoids = Assignment.find("02_sinusoidal")
    cells = [part * (10_000 // len(part))] * 20
    for code in ([part * (99_000 // len(part))], [part * (1_000_000 // len(part))], cells):
        start = time.process_time()
        flagged(sinusoids, *code)
        assert time.process_time() - start < 12, (part, len(code))


@pytest.mark.parametrize("cells", [
    ["f'" + "{a}" * 33_000 + "'\nb c"] * 8,
    ["f'" + "{a}" * 6_600 + "'\nb c\n%x"] * 20,
    ["!a\n" * 700_000],
    ["".join(f"!a{number}\n" for number in range(90_000))] * 9,
    ["%%time\n" * 1_400_000],
], ids=["long texts", "texts", "lines", "other lines", "magics"])  # fmt: skip
def test_what_is_slow_to_read_is_read_little_and_once(cells, monkeypatch):
    sinusoids, cells = Assignment.find("02_sinusoidal"), [("code", source) for source in cells]
    monkeypatch.setattr(grade, "examine", lambda *_: empty(""))
    monkeypatch.setattr(grade, "_tests", lambda *_: {})
    made = [{"cell_type": kind, "source": source} for kind, source in cells]
    content = json.dumps({"cells": made}).encode()
    start = time.process_time()
    report = json.loads(json.dumps(grade.run(content, str(sinusoids.path), 1, sandbox.Limits())))
    assert time.process_time() - start < 8
    monkeypatch.delattr(Assignment, "read")  # a later command finds it with the result
    said = ["SyntaxError", "UsageError: Cell magic `%%R` not found"]
    report["raised"] = {
        str(n): text for n, text in zip(range(len(cells)), said[::-1], strict=False)
    }
    start = time.process_time()
    judge("ann", cells, report, sinusoids)
    assert time.process_time() - start < 3


def test_an_answer_that_nobody_can_call_is_noted():
    sinusoids = Assignment.find("02_sinusoidal")
    count = {asked.name: len(asked.tests) for asked in sinusoids.questions}
    none = [verdict(passed=False, fault=UNANSWERED)] * count["moved"]
    report = empty("") | {"verdicts": {"moved": none}}
    stubs = [("code", stub) for name, stub in sinusoids.given_cells.items() if name != "moved"]

    def remarks(*cells):
        return judge(
            "ann", [*stubs, ("code", "check.moved(moved)"), *cells], report, sinusoids
        ).remarks

    place = len(stubs) + 2
    said = f"cell {place} has a function of 2.3, but is no cell of code, so it did not run"
    code = "def moved(*given):\n    return 1"
    for kind in ("markdown", "raw"):
        assert remarks((kind, code)) == ["nothing is named moved", said]
    assert remarks(("code", code.replace("moved", "mooved"))) == ["nothing is named moved"]
    assert remarks(("code", code)) == []
    (remark,) = remarks(("code", f"from numpy import *\n{code}"))
    assert remark.startswith("it imports every name of “numpy”: some may hide builtins")


def test_code_that_is_not_read_is_noted():
    long = "x = 1\n" * 90_000
    assert odd(long) == []
    uses = Uses([("code", long), ("code", long), ("code", "import ctypes")], set())
    assert uses.odd() == ["ctypes", "more of it than is read"]


def test_nobody_is_accused_of_lines_that_were_handed_out():
    alibi = Assignment.find("06_alibi")
    cells = [(cell.cell_type, cell.source) for cell in alibi.handed_out.cells]
    (place,) = (n for n, (_, text) in enumerate(cells) if "alibi_slopes(8)" in text)
    given = cells[place][1]
    reported = empty("") | {"refused": [place]}
    for own, said in {
        "": False,
        "import numpy as np": False,
        "print(alibi_slopes(4))": True,
    }.items():
        cells[place] = ("code", f"{own}\n{given}")
        remarks = " ".join(judge("ann", cells, reported, alibi).remarks)
        assert ("passed over" in remarks) is said
    cells[place] = ("code", "from posenc.verify import compare\ncompare(1, 2)")
    assert "passed over" in " ".join(judge("ann", cells, reported, alibi).remarks)


IMPORTS = """
import importlib, pkgutil, sys
sys.path.insert(0, sys.argv[1])
import posenc
for info in pkgutil.walk_packages(posenc.__path__, "posenc."):
    if not info.name.endswith("__main__"):
        importlib.import_module(info.name)
print(posenc.__file__)
"""


def test_whatever_a_question_refuses_every_module_can_be_imported(tmp_path, monkeypatch):
    monkeypatch.setattr(without, "INSTALLED", ROOT)
    refused = {name for master in masters().values() for name in master.settings["refuses"]}
    shutil.copytree(ROOT / "posenc", tmp_path / "posenc", ignore=lambda *_: ["__pycache__"])
    for name, content in without.files(tuple(sorted(refused))).items():  # all of them at once
        if name.endswith(".py"):
            (tmp_path / Path(name).relative_to(ROOT)).write_bytes(content)
    command = [sys.executable, "-s", "-P", "-c", IMPORTS, tmp_path]
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    assert done.stdout.strip() == str(tmp_path / "posenc" / "__init__.py"), done.stderr[-500:]


@pytest.mark.parametrize("name", student.masters(), ids=lambda path: path.stem)
def test_no_solution_looks_odd(name):
    given = Assignment(name).given_lines
    cells = [(c.cell_type, c.source) for c in nbformat.read(name, as_version=4).cells]
    assert Uses(cells, given).odd() == []


def proof(assignment, *cells):
    """What the instructor reads of a notebook with these cells behind the rest."""
    given = [(cell.cell_type, cell.source) for cell in handed_out(assignment).cells]
    report = empty("")
    return " ".join(judge("ann", [*given, *cells], report, assignment).flags)


def test_a_proof_that_is_not_below_its_heading_is_pointed_at(assignment):
    place = len(handed_out(assignment).cells)
    text = "Write R for the rotation of a pair. Then the score of q and k is a product of two."
    for kind, source in (("markdown", f"### The proof\n\n{text}"), ("raw", text)):
        cells = [("markdown", "## 5.4 Weights for another pairing"), (kind, source)]
        assert f"heading of 5.3, but own text in cell {place + 2}" in proof(assignment, *cells)
    assert "own text" not in proof(assignment)
    assert "own text" not in proof(assignment, ("markdown", "# Thanks!"), ("code", "1 + 1"))
    assert "own text" not in proof(assignment, ("markdown", f"## 5.3 The proof\n\n{text}"))


def test_who_answers_only_what_is_written_has_answered(assignment):
    (title,) = (asked.title for asked in assignment.questions if asked.written)
    other = [("code", "1 + 1")]
    none, eve = (
        judge("eve", cells, empty(""), assignment)
        for cells in (other, [*other, ("markdown", f"## {title}\n\nBecause R is a rotation.")])
    )
    assert none.remarks == ["it answers no question of this assignment: is it another's?"]
    assert "another&#39;s?</p>" in feedback.page("5", none)
    names = [asked.name for asked in assignment.questions if not asked.written]
    assert eve.remarks == [f"nothing is named {', '.join(names)}"]
    assert f"Nothing is named {', '.join(names)}.</p>" in feedback.page("5", eve)


def test_a_proof_that_stands_in_a_cell_of_code_is_pointed_at(assignment):
    (title,) = (asked.title for asked in assignment.questions if asked.written)
    place, heading = len(handed_out(assignment).cells), ("markdown", f"## {title}")
    text = "Write R for the rotation of a pair.\nThen the score is a product of two of them."
    for source in (f'"""\n{text}\n"""', "# " + text.replace("\n", "\n# ")):
        flag = f"heading of 5.3, but own text in cell {place + 2}"
        assert flag in proof(assignment, heading, ("code", source))
        elsewhere = ("markdown", "## 5.4 Weights for another pairing")
        assert "own text" not in proof(assignment, elsewhere, ("code", source))
    shows = f"Markdown(r'{text.replace(chr(10), ' ')}')\nprint(1)"
    for source in (f"%%markdown\n{text}", f"%%latex\n{text}", shows, f"display({shows})"):
        assert f"own text in cell {place + 2}" in proof(assignment, heading, ("code", source))
    for source in ("# to do", "print('a text that is told to nobody, but is printed: hello')"):
        assert "own text" not in proof(assignment, heading, ("code", source))


def test_a_proof_in_an_output_is_pointed_at_on_the_pages(assignment):
    (title,) = (asked.title for asked in assignment.questions if asked.written)
    cells = [("markdown", f"## {title}"), ("code", "show('proof.jpg')")]
    outputs = [{"output_type": "display_data", "data": {"image/jpeg": "QUJD"}}]
    file = {"cells": [{}, {"cell_type": "code", "outputs": outputs}]}
    drawn = notebook.pictures(json.dumps(file).encode(), rendered.PICTURES)
    made = judge("ann", cells, empty(""), assignment, drawn)
    assert "heading of 5.3, but own text in cell 2" in " ".join(made.flags)
    assert [m.elsewhere for m in made.marks if m.asked.written] == ["2"]
    assert "own text" not in " ".join(judge("ann", cells, empty(""), assignment).flags)


# What students write


def picture(width, height, kind="PNG"):
    """A small file that says how large it is; of the picture itself it has nothing."""
    file = io.BytesIO()
    Image.new("L", (1, 1)).save(file, kind)
    data = bytearray(file.getvalue())
    if kind == "PNG":
        data[16:24] = width.to_bytes(4, "big") + height.to_bytes(4, "big")
        data[29:33] = zlib.crc32(data[12:29]).to_bytes(4, "big")
    if kind == "JPEG":
        place = data.index(b"\xff\xc0") + 5
        data[place : place + 4] = height.to_bytes(2, "big") + width.to_bytes(2, "big")
    if kind == "GIF":
        for place in (6, data.index(b",") + 5):
            data[place : place + 4] = width.to_bytes(2, "little") + height.to_bytes(2, "little")
    data += b"\0" * (-len(data) % 3)
    return f"data:image/{kind.lower()};base64,{base64.b64encode(data).decode()}"


PNG = picture(1, 1)


def shown(text, pictures=None):
    return str(rendered.page_part([(text, pictures or {})]))


def test_formulas_tables_and_headings_are_set():
    soup = BeautifulSoup(shown("# A\n\n$R_m$\n\n$$x^2$$\n\n|a|b|\n|-|-|\n|1|2|"), "html.parser")
    assert soup.h4.get_text() == "A"
    assert soup.msub.get_text() == "Rm"
    assert soup.select_one('.formula math[display="block"] msup')
    assert len(soup.select("td")) == 2
    lines = "\\begin{align}\na &= b \\\\\nc &= d\n\\end{align}"
    for text in (lines, f"$${lines}$$", f"$${lines.replace('align', 'aligned')}$$"):
        soup = BeautifulSoup(shown(text), "html.parser")
        assert [len(row.select("mtd")) for row in soup.select("mtr")] == [2, 2]
        assert "\\" not in soup.get_text()


def test_a_formula_that_cannot_be_set_is_shown_as_it_was_typed():
    for latex in (r"\foo{x}", r"\left(x", "{", "x" * 3000):
        assert f"<code>{latex}</code>" in shown(f"${latex}$")


def test_a_picture_must_be_in_the_notebook():
    assert f'<img src="{PNG}"' in shown("![a](attachment:a.png)", {"a.png": PNG})
    assert f'<img src="{PNG}"' in shown(f"![a]({PNG})")
    for source in ("https://x.org/a.png", "attachment:b.png", "a.png", "file:///etc/passwd",
                   "data:image/svg+xml;base64,AAAA", "data:text/html;base64,AAAA"):  # fmt: skip
        assert "<img" not in shown(f"![a]({source})", {"a.png": PNG})
    for data in ('data:image/png;base64,A" onerror="x', "javascript:alert(1)"):
        assert "<img" not in shown("![a](attachment:a.png)", {"a.png": data})


def test_a_large_picture_may_stand_in_the_text():
    photo = picture(4000, 3000, "JPEG") + "QUJD" * 1_000_000
    for text in (f"![a]({photo})", f"![][a]\n\n[a]: <{photo}>", f'<img src="{photo}" width=9>'):
        made = shown(f"By hand:\n\n{text}\n\nand $x^2$")
        assert f'<img src="{photo}"' in made
        assert made.count("QUJD") == 1_000_000
        assert "msup" in made
    assert f'<img src="{PNG}"' in shown("<img src='attachment:a.png' width=9>", {"a.png": PNG})


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF"])
def test_a_picture_that_no_browser_can_unfold_becomes_words(kind):
    told = "[a picture of 900 million pixels, too many for a page: a]"
    honest = picture(30_000, 30_000, kind)
    for data in (honest, honest.replace(kind.lower(), "webp", 1)):
        for text in (f"Look: ![a]({data}) and $x^2$", "![a](attachment:a.png)"):
            made = shown(text, {"a.png": data})
            assert "<img" not in made
            assert told in made
    photos = {f"{n}.jpg": picture(4000, 3000 + n, "JPEG") for n in range(9)}
    made = shown(" ".join(f"![{n}](attachment:{n}.jpg)" for n in range(9)) * 2, photos)
    assert made.count("<img") == 16  # eight of them, as often as they are named
    assert "[a picture of 12 million pixels, too many for a page: 8]" in made


def test_photos_beyond_what_a_page_holds_become_words_and_the_instructor_is_told():
    photos = {f"{n}.jpg": picture(4000, 3000 + n, "JPEG") + "QUJD" * 680_000 for n in range(7)}
    named = "\n\n".join(f"![{n}](attachment:{n}.jpg)" for n in range(7))
    inline = "\n\n".join(f"![{n}]({photos[f'{n}.jpg']})" for n in range(7))
    for pieces in ([(f"By hand: $x^2$\n\n{named}", photos)], [(f"By hand: $x^2$\n\n{inline}", {})]):
        made = str(rendered.page_part(pieces))
        assert made.count("<img") == 5
        assert made.count("MB, too much for a page: ") == 2
        assert "[a picture of 2.0 MB, too much for a page: 6]" in made
        assert "<msup>" in made
        assert "base64" not in BeautifulSoup(made, "html.parser").get_text()
        assert rendered.fault(pieces).startswith("2 of its pictures are not on the page")
    assert rendered.fault([("$x$", {})]) == ""
    assert rendered.fault([("x" * 60_000, {})]) == "its page shows it as it was typed"


def test_a_notebook_of_photos_is_graded_and_one_of_too_much_text_is_not(tmp_path):
    photo = "QUJD" * 7_000_000
    cells = [{"cell_type": "markdown", "source": f"![a](data:image/png;base64,{photo})"}]
    cells += [{"cell_type": "code", "source": "1", "outputs": [{"data": {"image/png": photo}}]}]
    (tmp_path / "ann.ipynb").write_text(json.dumps({"cells": cells}))
    (one,) = submissions.gather(tmp_path)
    assert not one.fault
    assert notebook.read(one.content)[1] == ("code", "1")
    for kind in ("code", "markdown"):
        large = json.dumps({"cells": [{"cell_type": kind, "source": "x = 1 # " * 1_400_000}]})
        with pytest.raises(ValueError, match="written in its cells is larger than 10 MiB"):
            notebook.read(large.encode())
    printed = [{"output_type": "stream", "name": "stdout", "text": ["x,[{" * 3_500_000]}]
    cells = [{"cell_type": "code", "source": "1", "outputs": printed}]
    assert notebook.read(json.dumps({"cells": cells}).encode()) == [("code", "1")]
    with pytest.raises(ValueError, match="more than 10 million parts"):
        notebook.read(b'{"cells": [' + b"{}," * 6_000_000 + b"{}]}")


def test_what_is_no_picture_becomes_words():
    for data in (b"", b"\x89PNG", b"BM" + bytes(99), b"<svg></svg>"):
        kept = f"data:image/png;base64,{base64.b64encode(data).decode() or 'AAAA'}"
        assert shown("![a](attachment:a)", {"a": kept}) == "<p>[a file that is no picture: a]</p>\n"


def test_pictures_are_read_from_the_file():
    cell = {"cell_type": "markdown", "source": "x", "attachments": {"a": {"image/png": "QUI=\n"}}}
    odd = [{"attachments": odd} for odd in (None, 3, [], {"a": 3}, {"a": {"image/png": [1]}})]
    found = notebook.pictures(json.dumps({"cells": [cell, 1, *odd]}).encode(), rendered.PICTURES)
    assert found == [{"a": "data:image/png;base64,QUI="}, *[{}] * 6]


TURNS = {"LRE", "LRO", "RLE", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
HOSTILE = {
    "script": "<script>alert(1)</script>",
    "handler": "<img src=x onerror=alert(1)>",
    "style": "<div style='position:fixed;top:0'>4 of 4</div><style>* {display: none}</style>",
    "link": "[a](javascript:alert(1)) [b](data:text/html,x) <javascript:alert(1)> [c](vbscript:x)",
    "in a formula": r"$\text{<script>alert(1)</script>}$ $\href{javascript:alert(1)}{x}$",
    "by a class": r"$\class{points}{4}$ $\style{position:fixed}{x}$ $\id{a1}{x}$",
    "entity": "$\\text{&lt;script&gt;}$ &lt;script&gt; [a](java&#115;cript:alert(1))",
    "closing": "</section></main><h1>Mine</h1></div>",
    "comment": "<!-- --><math><mtext></mtext><img src onerror=alert(1)></math>",
    "direction": "\u202e4 fo 4\u2066 &#x202e;x&rlm; `\u202d` $\\text{\u202e}$ [\u061c](https://\u202ex)",
    "direction of much": "\u202e4 fo 4" * 9_000,
    "meta": "<meta http-equiv=refresh content='0;url=https://x.org'><base href=x><form action=x>",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_in_an_answer_acts(name):
    soup = BeautifulSoup(shown(HOSTILE[name]), "html.parser")
    assert not {unicodedata.bidirectional(c) for c in str(soup)} & TURNS
    for tag in soup.find_all(True):
        assert tag.name in {*rendered._TEXT, *rendered._MATH}
        assert not {"style", "id", "onerror", "class", "xlink:href"} & set(tag.attrs)
        assert tag.get("href", "https://").startswith("https://")


@pytest.mark.parametrize(
    "text",
    ["[" * 49_000, "*a " * 16_000, "[a](" * 12_000, "$" * 49_000, "`a" * 20_000, "> " * 20_000,
     "$" + "{" * 900 + "}" * 900 + "$", "$" + r"\frac{" * 300 + "}{}" * 300 + "$",
     "![a](attachment:a.png)" * 2000, "x" * 10**6, "\ud800 \u202e"],
    ids=range(11),
)  # fmt: skip
def test_whatever_is_written_is_shown_in_a_few_seconds(text):
    start = time.process_time()
    made = shown(text, {"a.png": "data:image/png;base64," + "A" * 10_000})
    assert time.process_time() - start < 12
    assert len(made) < 2 * 10**7
    assert made


@pytest.mark.parametrize("text", [
    "My proof.\n\n<img " + "src=attachment:" * 19 + "a" * 9_000_000,
    "<img src=attachment:" * 400_000,
    "<img " + "src=attachment:" * 19 + "a" * 49_000,
    "<img src=attachment:a" + " src=attachment:a" * 2_900,
], ids=["long", "many", "short", "sources"])  # fmt: skip
def test_pictures_are_looked_for_in_linear_time(text):
    start = time.process_time()
    rendered.page_part([(text, {})])
    assert time.process_time() - start < 5


def test_what_browsers_put_behind_a_name_is_no_part_of_it(tmp_path):
    behind = {"ann": ".txt", "bob": " (1)", "cy": ".json", "dan": "(12)", "eve": " (2).txt"}
    for name, more in behind.items():
        (tmp_path / f"{name}.ipynb{more}").write_text("{}")
    for other in ("ipynb.txt", "fay.ipynb.pdf", "gus.ipynb (1) (2) (3)", "ho.txt"):
        (tmp_path / other).write_text("{}")
    found = submissions.gather(tmp_path)
    assert [one.student for one in found if not one.fault] == list(behind)
    assert {one.fault for one in found if one.fault} == {
        "it is not a notebook: its name must end with .ipynb"
    }
    (tmp_path / "ann.ipynb").write_text("{}")
    both = [one for one in submissions.gather(tmp_path) if one.file.startswith("ann")]
    marks = [one.student.removeprefix("ann ") for one in both]
    assert [one.remark for one in both] == [
        f"its name may be read as that of row {mark}" for mark in reversed(marks)
    ]
    names = ["roe_12_902_a-1.ipynb.txt", "roe_12_902_a.ipynb", "doe_11_900_a.ipynb (1)"]
    with zipfile.ZipFile(tmp_path / "canvas.zip", "w") as archive:
        for name in names:
            archive.writestr(name, "{}")
    kept = {
        one.student: one.file
        for one in submissions.gather(tmp_path / "canvas.zip")
        if not one.fault
    }
    assert kept == {"roe": names[0], "doe": names[2]}


def test_the_end_of_a_name_may_be_written_large(tmp_path):
    (tmp_path / "ann.IPYNB").write_text("{}")
    (tmp_path / "doejane_11_900_a-2.IPYNB").write_text("{}")
    assert [(one.student, one.fault) for one in submissions.gather(tmp_path)] == [
        ("ann", ""),
        ("doejane_11_900_a-2", ""),
    ]


def test_a_macro_does_not_reach_another_students_formula():
    for told in (r"\gdef\x{y}", r"\newcommand{\x}{y}", r"\def\x{y}"):
        shown(f"${told}$")
        assert r"<code>\x</code>" in shown(r"$\x$")


# Pages


@pytest.fixture(scope="module")
def assignment():
    return Assignment.find("05_rope")


def test_the_class_page_counts_students_and_misconceptions(assignment):
    wrong = "rows <reversed>"
    marked = [graded(n, passed=0, given=None, misconception=wrong) for n in ("<b>ann", "bob")]
    marked += [graded("cy"), graded("dan", passed=1), graded("old", fault="is newer")]
    alike = similar.Alike([(0.93, "<b>ann", "bob")], ["cy"])
    soup = BeautifulSoup(pages.class_page(assignment, marked, alike), "html.parser")
    text = " ".join(soup.get_text(" ").split())
    assert "4 notebooks: 4.5 of 10 points on average, 4 in the middle" in text
    assert "2 written answers are not graded yet" in text
    assert "1 file is not among them" in text
    assert [cell.get_text() for cell in soup.select(".bars span")] == list("20000000101")
    (misconception,) = soup.select("table.misconceptions tbody tr")
    assert misconception.td.get_text() == "2"
    assert misconception.th.get_text() == f"{wrong}who<b>ann; bob"
    questions = soup.select("[aria-labelledby=questions] tbody tr")
    assert [c.get_text() for c in questions[0].select("td")] == ["1.5 of 4", "1", "2", "0"]
    assert [c.get_text() for c in questions[1].select("td")] == ["6 of 6", "2", "0", "0"]
    assert "93 %" in text
    assert "Not compared, since there is too much code or it took too long: cy." in text


def test_who_left_a_cell_as_it_was_has_no_misconception(assignment):
    def handed_in(source):
        found = [verdict(passed=False, misconception="x")] * 2
        report = empty("") | {"verdicts": {"mended_pairing": found}}
        return judge("ann", [("code", source)], report, assignment)

    given = assignment.given_cells["mended_pairing"]
    place = [asked.name for asked in assignment.questions].index("mended_pairing")
    mended = given.replace("1, 2", "2, 1")
    for source, unanswered in ((given, 1), (f"{given}  # mine\r\n", 1), (mended, 0)):
        one = pages.summary([("ann", handed_in(source).marks[place])])
        assert one.unanswered == unanswered
        assert len(one.misconceptions) == 1 - unanswered


def test_one_question_of_all_students_stands_beside_its_rubric(assignment):
    asked = next(asked for asked in assignment.questions if asked.written)
    marked = [Graded(n, [Mark(asked, answer=[(text, {})], given=given, comment="Well <b>")])
              for n, text, given in (("ann", "$R_m$", 3.5), ("bob", "# 4 of 4", None))]  # fmt: skip
    page, _ = pages.answers_page(assignment, asked, [*marked, graded("old", fault="is newer")])
    soup = BeautifulSoup(page, "html.parser")
    assert "Model answer." in soup.select_one(".beside").get_text()
    assert "Rubric" in soup.select_one(".beside").get_text()
    assert [h.get_text() for h in soup.find_all("h2")] == ["ann", "bob"]
    assert [p.get_text() for p in soup.select(".points")] == ["3.5 of 4", "? of 4"]
    assert soup.select_one(".answer msub")
    assert "Well <b>" in soup.get_text()
    policy = soup.select_one("meta[http-equiv=Content-Security-Policy]")["content"]
    assert policy == "default-src 'none'; img-src data: 'self' file:; style-src 'unsafe-inline'"


def test_pictures_of_a_question_are_files_beside_its_page(assignment, tmp_path):
    (asked,) = (asked for asked in assignment.questions if asked.written)

    def handed_in(*pictures):
        marks = [
            Mark(asked, answer=[("![a](attachment:a.png)", {"a.png": one})]) for one in pictures
        ]
        marked = [Graded(f"s{n}", [mark]) for n, mark in enumerate(marks)]
        outputs.write_answers(tmp_path, assignment, asked, marked)
        soup = BeautifulSoup((tmp_path / f"{asked.name}.html").read_text(), "html.parser")
        sources = [image["src"] for image in soup.find_all("img")]
        files = {path.relative_to(tmp_path) for path in tmp_path.rglob("*.*g")}
        assert files == {*map(Path, sources)}
        return [(tmp_path / source).read_bytes() for source in sources]

    made = [picture(1, 1, "JPEG"), PNG, PNG]
    content = [base64.b64decode(one.partition(",")[2]) for one in made]
    assert handed_in(*made) == content
    assert handed_in(PNG) == content[1:2]  # the other one is gone


# Who is alike

OWN = """
def table(positions, dim, base):
    rows = []
    for position in positions:
        row = [0.0] * dim
        for pair in range(dim // 2):
            angle = position / base ** (2 * pair / dim)
            row[2 * pair], row[2 * pair + 1] = math.sin(angle), math.cos(angle)
        rows.append(row)
    return torch.tensor(rows)

def score(offset, dim, base):
    total = 0
    for pair in range(dim // 2):
        total += math.cos(offset * base ** (-2 * pair / dim))
    return total
"""
OTHER = """
def table(positions, dim, base):
    speed = base ** (-torch.arange(0, dim, 2, dtype=torch.float64) / dim)
    turn = torch.outer(positions.double(), speed)
    return torch.stack((turn.sin(), turn.cos()), dim=-1).flatten(1)

def score(offset, dim, base):
    speed = base ** (-torch.arange(0, dim, 2, dtype=torch.float64) / dim)
    return (offset * speed).cos().sum().item()
"""


def with_code(student, code):
    return Graded(student, [], cells=[("code", code)])


def test_a_copy_with_other_names_is_found_and_another_way_is_not():
    renamed = OWN
    for name, new in (("position", "p"), ("row", "line"), ("angle", "a"), ("total", "s")):
        renamed = renamed.replace(name, new)
    students = {"ann": OWN, "bob": "# my own\n" + renamed, "cy": OTHER, "dan": OTHER[:50]}
    alike = similar.compare([with_code(*item) for item in students.items()], set())
    (pair,) = alike.pairs
    assert pair[0] > 0.9
    assert pair[1:] == ("ann", "bob")
    assert alike.uncompared == []
    padded = [with_code("ann", OWN), with_code("eve", renamed + OTHER)]
    assert [pair[1:] for pair in similar.compare(padded, set()).pairs] == [("ann", "eve")]


def test_what_everybody_was_given_makes_nobody_alike():
    given = {line.strip() for line in OWN.splitlines()}
    marked = [with_code("ann", OWN + OTHER), with_code("bob", OWN)]
    assert similar.compare(marked, given).pairs == []


def test_too_much_code_is_named_and_not_compared():
    marked = [with_code("ann", "x = '" + "torch." * 200_000 + "'"), with_code("bob", OWN)]
    assert similar.compare(marked, set()) == similar.Alike([], ["ann"])
