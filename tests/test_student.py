"""Students get the questions and the checks, and not a line of a solution, anywhere."""

import copy
import importlib
import inspect
import json
import re
import zipfile
from pathlib import Path

import nbformat
import pytest
from browser import SITE
from bs4 import BeautifulSoup
from helpers import lacking
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_raw_cell

from _ext import colab, student
from _ext.wheel import build_wheel
from grading.questions.master import Comparison, masters
from posenc import check
from posenc.check import Probe, Values
from tests.answers.chapter_2 import in_degrees

MASTERS = {path.stem: nbformat.read(path, as_version=4) for path in student.masters()}
JUDGED = {"better", "my_encoding", "reach", "speeds"}
ENGINE = (
    "again", "calls", "encodings", "frequencies", "luck", "plain", "question", "reading", "ways",
)  # fmt: skip
EACH = pytest.mark.parametrize("name", MASTERS)


def master(*cells):
    """A notebook: text that begins with # BEGIN or # END is raw, a tuple is text, else code."""
    made = []
    for cell in cells:
        if isinstance(cell, tuple):
            made.append(new_markdown_cell(*cell))
        else:
            raw = re.match("# (BEGIN|END)", cell)
            made.append((new_raw_cell if raw else new_code_cell)(cell))
    return new_notebook(cells=made)


QUESTION = "# BEGIN QUESTION\nname: double\npoints: 2"
TITLE = ("## 1.1 Double\n\n*Warm-up · 5 minutes · 2 points · teaches doubling*\n\nDouble it.",)
SOLUTION = (
    "def double(x):\n    # BEGIN SOLUTION\n    return x + x\n    # END SOLUTION\n\n"
    "half = double  # kept"
)


def small(*cells):
    return master(("# Title",), QUESTION, TITLE, *cells, "# END QUESTION")


def test_the_solution_becomes_dots():
    cells = student.student(small("# BEGIN SOLUTION", SOLUTION, "# END SOLUTION")).cells
    assert [cell.cell_type for cell in cells] == ["markdown", "markdown", "markdown", "code"]
    assert cells[-1].source == "def double(x):\n    ...\n\nhalf = double  # kept"


def test_code_to_be_mended_stands_where_the_solution_was():
    source = (
        "def double(x):\n    # BEGIN SOLUTION NO PROMPT\n    return x + x\n    # END SOLUTION\n"
        '    """ # BEGIN PROMPT\n    return x * x\n    """  # END PROMPT'
    )
    left, lines = student.cut(source)
    assert left == "def double(x):\n    return x * x"
    assert lines == ["return x + x"]


def test_written_solutions_are_left_out():
    made = small(
        *("# BEGIN PROMPT", ("Write here.",), "# END PROMPT"),
        *("# BEGIN SOLUTION", ("Because 2 = 1 + 1.",), "# END SOLUTION"),
    )
    text = json.dumps(student.student(made))
    assert "Write here." in text
    assert "Because" not in text
    assert "Because 2 = 1 + 1." in student.solution_lines(made)


def test_outputs_and_metadata_are_left_out():
    made = small("# BEGIN SOLUTION", SOLUTION, "# END SOLUTION")
    code = made.cells[-3]
    code.outputs = [nbformat.v4.new_output("stream", text="secret")]
    code.execution_count = 3
    code.metadata["tags"] = ["secret"]
    made.cells[2].attachments = {"secret.png": {"image/png": "AAAA"}}
    made.metadata["grader"] = "secret"
    assert "secret" not in json.dumps(student.student(made))
    assert student.student(made).cells[-1].execution_count is None


def test_a_copy_for_colab_installs_the_package_once():
    made = small("# BEGIN SOLUTION", SOLUTION, "# END SOLUTION")
    assert "pip" not in json.dumps(student.student(made))
    (cell,) = (c for c in student.student(made, "https://x/posenc.whl").cells if "pip" in c.source)
    assert cell.source.count("https://x/posenc.whl") == 1


def test_the_address_of_the_wheel_is_that_of_the_site(tmp_path, monkeypatch):
    monkeypatch.setenv("GITHUB_REPOSITORY", "someone/book")
    name = build_wheel(tmp_path).name
    assert student.wheel_address() == f"https://someone.github.io/book/wheels/{name}"
    monkeypatch.setenv("GITHUB_SERVER_URL", "https://git.example.org")
    assert student.wheel_address() == ""


def test_a_question_says_what_a_reader_should_know():
    (question,) = student.exercises(small("# BEGIN SOLUTION", SOLUTION, "# END SOLUTION"))
    assert question == student.Exercise(
        "double", "1.1 Double", "Warm-up", 5, 2, "doubling", written=False
    )


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (master("# BEGIN QUESTION"), "blocks must be closed, QUESTION is not"),
        (master("# BEGIN QUESTION", "# BEGIN PROMPT", "# END QUESTION"), "closed in order"),
        (master("# END PROMPT"), "closed in order"),
        (small("# BEGIN SOLUTION", "# open\n# BEGIN SOLUTION\n1", "# END SOLUTION"), "must end"),
        (master(QUESTION, ("## 1.1 Double\n\nDouble it.",), "# END QUESTION"), "must state"),
        (master(QUESTION.replace("2", "3"), TITLE, "# END QUESTION"), "must state"),
    ],
)
def test_a_mistake_in_a_master_is_named(made, message):
    def both():
        return student.exercises(made), student.student(made)

    with pytest.raises(ValueError, match=message):
        both()


@EACH
def test_questions_are_numbered_by_their_chapter(name):
    titles = [question.title for question in student.exercises(MASTERS[name])]
    assert [title.partition(" ")[0] for title in titles] == [
        f"{int(name[:2])}.{number}" for number in range(1, len(titles) + 1)
    ]


# What is distributed


def squeezed(text):
    return re.sub(r"\s+", "", text)


def texts(path):
    """What a reader of a distributed file can read, archives and notebooks opened."""
    if path.suffix in (".whl", ".zip"):
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                yield archive.read(name).decode(errors="replace")
    elif path.suffix == ".html":
        text = path.read_text(errors="replace")
        yield text
        yield BeautifulSoup(text, "html.parser").get_text()
    elif path.suffix == ".ipynb":
        text = path.read_text()
        yield text
        for cell in json.loads(text)["cells"]:
            yield "".join(cell["source"])
    elif path.suffix not in (".woff2", ".woff", ".ttf", ".png", ".webp", ".svg"):
        yield path.read_text(errors="replace")


def telling(line):
    """Whether a line would give something away: imports and brackets would not."""
    return len(line) >= 16 and not line.startswith(("import ", "from ", "plt."))


def leaks(folder, lines):
    wanted = {squeezed(line): line for line in lines}
    found = []
    for path in sorted(folder.rglob("*")):
        for text in texts(path) if path.is_file() else ():
            inside = squeezed(text)
            found += [f"{path.name}: {line}" for key, line in wanted.items() if key in inside]
    return found


@pytest.fixture(scope="module")
def lines():
    return {
        line for made in MASTERS.values() for line in student.solution_lines(made) if telling(line)
    }


@pytest.fixture(scope="module")
def distributed(tmp_path_factory):
    """The site, and what a publication adds to it: wheel, Colab copies, student notebooks."""
    folder = tmp_path_factory.mktemp("distributed")
    if not (SITE / "index.html").exists():
        lacking(f"No site in {SITE}; type: make book")
    (folder / "site").symlink_to(SITE)
    colab.publish(SITE.parent / colab.DRAFTS, "https://site.invalid/", folder)
    student.write(folder / "student", "https://site.invalid/wheels/posenc.whl")
    return folder


def test_no_line_of_a_solution_is_distributed(distributed, lines):
    assert len(lines) > 100
    assert not leaks(distributed, lines)
    assert not leaks(SITE, lines)


@pytest.mark.parametrize("kind", ["html", "ipynb", "js", "whl"])
def test_a_leak_is_found(tmp_path, lines, kind):
    line = max(lines, key=len)
    path = tmp_path / f"leak.{kind}"
    if kind == "html":
        spans = "".join(f"<span>{c}</span>" for c in line.replace("&", "&amp;"))
        path.write_text(spans.replace("<span><</span>", "<span>&lt;</span>"))
    elif kind == "ipynb":
        nbformat.write(new_notebook(cells=[new_code_cell(f"    {line}")]), path)
    elif kind == "whl":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("posenc/check/solutions.py", line)
    else:
        path.write_text(line)
    assert leaks(tmp_path, lines)


# The package that students install


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Names of the files in the wheel, and what is in them."""
    with zipfile.ZipFile(build_wheel(tmp_path_factory.mktemp("wheel"))) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_wheel_has_the_engine_and_numbers(wheel):
    inside = {name.removeprefix("posenc/check/") for name in wheel if "posenc/check/" in name}
    numbers = {name for name in inside if name.startswith("questions/")}
    engine = {f"{name}.py" for name in ("__init__", *ENGINE)}
    assert inside - numbers == engine
    assert {Path(name).stem for name in numbers} | JUDGED == set(check.names())
    assert not [name for name in wheel if re.search("grading|chapter_[0-9]|answers", name)]
    for name in numbers:
        json.loads(wheel[f"posenc/check/{name}"])  # and nothing that runs


def callables():
    """Every function and class that is reachable from `posenc.check`, private ones included."""
    waiting = [check, *(importlib.import_module(f"posenc.check.{name}") for name in ENGINE)]
    waiting += [check.named(name) for name in check.names()]
    seen, found = {}, []
    while waiting:
        thing = waiting.pop()
        own = getattr(thing, "__module__", None) or getattr(thing, "__name__", "")
        plain = isinstance(thing, dict | list | tuple | set | staticmethod | classmethod)
        if id(thing) in seen or not (plain or str(own).startswith("posenc.check")):
            continue
        seen[id(thing)] = thing
        if callable(thing):
            found.append(thing)
        inside = list(getattr(thing, "__dict__", {}).values())
        inside += thing.values() if isinstance(thing, dict) else thing if plain_list(thing) else ()
        inside += [getattr(thing, name, None) for name in ("__wrapped__", "__func__", "func")]
        inside += getattr(thing, "__defaults__", None) or ()
        inside += [cell.cell_contents for cell in getattr(thing, "__closure__", None) or ()]
        waiting += inside
    return found


def plain_list(thing):
    return isinstance(thing, list | tuple | set)


def test_nothing_in_the_package_answers_a_question(tmp_path, monkeypatch):
    """Every object is called with hidden inputs: none returns what is right, or what is wrong."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("posenc.check.encodings._trained", None)  # it takes its time
    found = callables()
    names = {getattr(thing, "__name__", type(thing).__name__) for thing in found}
    assert {"ask", "Values", "judge", "_require_another", "_is_bent", "Question"} <= names
    questions = [m.hidden(0)[0] for m in masters().values() if isinstance(m, Comparison)]
    telling = []
    for question in questions:
        case = question.cases[0]
        given = [v for v in (case.right, *case.wrong) if v and len(v.flat) > 2]
        for thing in found:
            arguments = copy.deepcopy(case.arguments)
            try:
                result = thing(*arguments)
                values = Values.read(result)
            except BaseException:
                continue
            returned = any(result is own for own in arguments)  # as who has no idea gives it
            if not returned and any(values.close(other, 1e-4) for other in given):
                telling.append((question.name, thing))
    assert not [pair for pair in telling if pair[1].__name__ != "encode"]


def test_no_source_in_the_package_shows_a_solution(lines):
    from grading import questions

    secret = {squeezed(line) for line in lines if len(line) > 25}
    for chapter in questions.CHAPTERS:
        for line in inspect.getsource(chapter).splitlines():
            if line.strip().startswith(("lambda ", "return ")) and len(line.strip()) > 30:
                secret.add(squeezed(line))
    assert len(secret) > 300
    for thing in callables():
        try:
            source = squeezed(inspect.getsource(inspect.unwrap(thing)))
        except (TypeError, OSError):  # an object: its class is among these, too
            continue
        assert not [line for line in secret if line in source], thing


def test_no_object_of_a_question_is_a_function():
    """Nothing is reached from a question but numbers, texts and the engine."""
    for name in check.names():
        question = check.named(name)
        if isinstance(question, Probe):
            continue
        for value in vars(question).values():
            assert isinstance(value, str | float | int | tuple | dict | None)
        for case in question.cases:
            for value in vars(case).values():
                assert isinstance(value, str | float | tuple | Values | None)
            assert not any(map(callable, (w for w in case.wrong if w)))


def test_the_site_serves_the_student_notebooks():
    if not (SITE / "index.html").exists():
        lacking(f"No site in {SITE}; type: make book")
    assert sorted(path.stem for path in Path(SITE, "student").glob("*")) == sorted(MASTERS)
    for name, made in MASTERS.items():
        served = nbformat.read(SITE / "student" / f"{name}.ipynb", as_version=4)
        sources = [cell.source for cell in served.cells if "pip install" not in cell.source]
        assert sources == [cell.source for cell in student.student(made).cells]


def test_the_page_of_exercises_lists_every_question():
    page = SITE / "chapters" / "exercises.html"
    if not page.exists():
        lacking(f"No site in {SITE}; type: make book")
    text = BeautifulSoup(page.read_text(), "html.parser").select_one("article").get_text()
    text = text.replace("\u2019", "'")
    for made in MASTERS.values():
        for question in student.exercises(made):
            assert f"{question.title} · {question.level}" in text
            assert question.teaches.replace("$", "") in text.replace("\\(", "").replace("\\)", "")


def test_the_verdict_on_that_page_is_what_the_check_says():
    said = str(check.sinusoidal(in_degrees)).splitlines()
    page = (student.EXERCISES.parent / "exercises.md").read_text()
    quoted = re.search(r">>> check\.sinusoidal\(sinusoidal\)\n((?:    .*\n)+)", page)[1]
    lines = [line[4:] for line in quoted.splitlines()]
    assert len(lines) == 5
    assert lines[:3] + lines[4:] == said[:3] + said[-1:]


def test_no_week_of_the_syllabus_asks_for_more_than_it_says():
    minutes = {
        question.title.partition(" ")[0]: question.minutes
        for made in MASTERS.values()
        for question in student.exercises(made)
    }
    numbers = list(minutes)
    page = (student.EXERCISES.parent / "teaching.md").read_text()
    syllabus = page.partition("## Syllabus")[2].partition("\n## ")[0]
    weeks = re.findall(r"^\| \d \|[^|]*\| (\d.*) \|$", syllabus, re.MULTILINE)
    assert len(weeks) == 2 + 4 + 9
    for week in weeks:
        total = 0
        for part in re.findall(r"\d\.\d(?: to \d\.\d)?", week):
            first, _, last = part.partition(" to ")
            span = slice(numbers.index(first), numbers.index(last or first) + 1)
            total += sum(minutes[number] for number in numbers[span])
        assert 30 <= total <= 130, week
