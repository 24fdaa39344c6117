"""What CONTRIBUTING says is enough: a method, a chapter and a set of exercises are planted."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_raw_cell

ROOT = Path(__file__).parents[1]

METHOD = '''"""KERPLE's logarithmic bias."""

import torch
from jaxtyping import Float
from torch import Tensor


def kerple_bias(relative: Float[Tensor, "*axes"], *, rate: float) -> Float[Tensor, "*axes"]:
    """Fall with the logarithm of the distance: -log(1 + rate abs(relative)).

    Args:
        relative: key position - query position.
        rate: positive.

    Returns:
        The bias.

    Raises:
        ValueError: if rate is not positive.

    Example:
        >>> kerple_bias(torch.tensor([1.0, -1.0]), rate=1.0)
        tensor([-0.6931, -0.6931])

    Paper: Chi et al. (2022), KERPLE, equation 5.
    """
    if rate <= 0:
        raise ValueError(f"rate must be positive, got {rate}")
    return -torch.log1p(rate * relative.abs())
'''
METHOD_TEST = """import torch

from posenc import kerple_bias


def test_kerple_is_zero_at_no_distance():
    assert kerple_bias(torch.zeros(1), rate=2.0) == 0
"""
REFUSAL = """\
    refuse(ValueError, "rate must be positive, got 0", kerple_bias, P, rate=0),
"""
CASE = """\
        "KERPLE": (partial(kerple_bias, rate=0.5), relative.double() + 0.25),
"""
QUESTION = '''"""Questions of a planted chapter."""

from grading.questions.master import Case, Comparison, Misconception, Test

doubled = Comparison(
    "doubled",
    lambda x: 2 * x,
    [Case("three", 3), Case("five", 5)],
    [
        Misconception("squared", "It was multiplied by itself.", lambda x: x * x),
        Misconception("as it was", "It did not change.", lambda x: x),
        Misconception("one more", "That is its neighbour.", lambda x: x + 1),
    ],
    tests=[
        Test(2, "other numbers", lambda d: [Case("one", d.integer(6, 99)) for _ in range(4)]),
    ],
)
'''
ANSWERS = """from tests.answers import Answers

ANSWERS = {
    "doubled": Answers(
        right=[lambda x: x + x, lambda x: x * 2, lambda x: x << 1],
        wrong=[
            (lambda x: x**2, "multiplied by itself"),
            (lambda x: x, "did not change"),
            (lambda x: x + 1, "neighbour"),
        ],
    )
}
"""
ANSWER = """def doubled(x):
    # BEGIN SOLUTION
    return sum([x, x])
    # END SOLUTION"""


def exercises(number):
    """A solved master with one question."""
    text = "*Warm-up · 5 minutes · 2 points · teaches doubling*\n\nDouble it."
    marks = [
        new_raw_cell(f"# {mark}")
        for mark in (
            f"ASSIGNMENT CONFIG\nname: {number:02}_planted",
            "BEGIN QUESTION\nname: doubled\npoints: 2",
            "BEGIN SOLUTION",
            "END SOLUTION",
            "END QUESTION",
        )
    ]
    cells = [
        marks[0],
        new_markdown_cell("# Exercises that were planted"),
        new_code_cell("from posenc import check"),
        marks[1],
        new_markdown_cell(f"## {number}.1 Double it\n\n{text}"),
        marks[2],
        new_code_cell(ANSWER),
        marks[3],
        new_code_cell("check.doubled(doubled)"),
        marks[4],
    ]
    return new_notebook(cells=cells)


def insert(path, before, new):
    """Put something before what stands in a file once."""
    text = path.read_text()
    assert text.count(before) == 1, (path, before)
    path.write_text(text.replace(before, new + before))


class Copy:
    """The repository in another place, and what its tests say there."""

    def __init__(self, folder):
        self.folder = folder
        listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
        names = subprocess.run(listed, cwd=ROOT, capture_output=True, check=True, text=True).stdout
        for name in filter(None, names.split("\0")):
            if (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / name, folder / name)
        self.chapter = 1 + len(list((folder / "chapters").glob("[0-9]*.ipynb")))
        self.set = 1 + len(list((folder / "chapters" / "exercises").glob("[0-9]*.ipynb")))

    def python(self, *arguments):
        """Run Python there."""
        environment = os.environ | {"PYTHONPATH": str(self.folder)}
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def test(self):
        """What the tests that the three walks concern say: the outcome of each, by name."""
        files = ["package", "kerple", "distribution", "api", "refusals", "transforms"]
        files += ["chapters", "exercises", "student"]
        chosen = (
            "kerple or doubled or _planted or public_names or numbered or in_that_order or "
            "holds_its_tests or stands_on_the_page or every_question_has or measured_by or "
            "syllabus or is_asked"
        )
        paths = [f"tests/test_{name}.py" for name in files]
        paths = [path for path in paths if (self.folder / path).exists()]
        options = ["-v", "-p", "no:cacheprovider", "--continue-on-collection-errors"]
        chosen = f"({chosen}) and not runs_to_its_end and not the_book_executed"  # it is not built
        said = self.python("-m", "pytest", *options, *paths, "-k", chosen).stdout
        found = dict(re.findall(r"^(tests/\S.*?) (PASSED|FAILED|ERROR)\b", said, re.MULTILINE))
        found |= dict.fromkeys(re.findall(r"^ERROR (tests/\S+)", said, re.MULTILINE), "ERROR")
        return found, said


@pytest.fixture(scope="module")
def half(tmp_path_factory):
    """A copy in which each of the three stands, and nobody was told of it."""
    copy = Copy(tmp_path_factory.mktemp("walk"))
    folder, exercise = copy.folder, f"{copy.set:02}_planted.ipynb"
    (folder / "posenc" / "kerple.py").write_text(METHOD)
    (folder / "tests" / "test_kerple.py").write_text(METHOD_TEST)
    start = folder / "posenc" / "__init__.py"
    insert(start, "from posenc.learned", "from posenc.kerple import kerple_bias\n")
    insert(start, '    "linear_scaling",\n', '    "kerple_bias",\n')
    chapter = folder / "chapters" / f"{copy.chapter:02}_planted.ipynb"
    shutil.copy(folder / "chapters" / "03_learned.ipynb", chapter)
    nbformat.write(exercises(copy.set), folder / "chapters" / "exercises" / exercise)
    (folder / "grading" / "questions" / f"chapter_{copy.set}.py").write_text(QUESTION)
    return copy


def test_what_is_half_done_is_noticed(half):
    found, said = half.test()
    wrong = {
        name.partition("::")[2] or name for name, outcome in found.items() if outcome != "PASSED"
    }
    assert wrong == {
        "test_every_public_name_stands_on_the_page_once",
        "test_what_is_documented_is_refused[kerple_bias]",
        "test_whatever_takes_tensors_is_asked",
        "test_the_source_distribution_holds_its_tests_and_texts",
        "test_the_mutants_are_measured_by_the_cores_own_tests",
        "test_the_chapters_are_numbered_without_a_gap_and_listed_in_that_order",
        "TestLetters::test_letters_of_numbered_formulas_of_two_chapters_are_there",
        "tests/test_exercises.py",
    }, said


def test_what_contributing_says_is_enough(half):
    folder, chapter, number = half.folder, f"{half.chapter:02}_planted", half.set
    insert(
        folder / "chapters" / "api.md",
        ".. autofunction:: linear_scaling",
        ".. autofunction:: kerple_bias\n\n",
    )
    insert(
        folder / "MANIFEST.in", "include tests/test_frequencies", "include tests/test_kerple.py\n"
    )
    for name, before, new in (
        ("refusals", '    *counts("num_heads", alibi_slopes', REFUSAL),
        ("transforms", '        "linear": (', CASE),
    ):
        file = folder / "tests" / f"test_{name}.py"
        insert(file, "    linear_scaling,\n    llama3", "    kerple_bias,\n")
        insert(file, before, new)
    insert(folder / "pyproject.toml", '"tests/test_learned.py"', '"tests/test_kerple.py", ')
    before = "  - caption: Practice\n"
    insert(folder / "_toc.yml", before, f"      - file: chapters/{chapter}\n")
    glossary = folder / "chapters" / "glossary.md"  # the copy has the letters of chapter 3
    row = re.compile(r"^(\| \$.*?\$ \| (?:[\d, ]+, )?3(?:, [\d, ]+)?) \|", re.MULTILINE)
    glossary.write_text(row.sub(rf"\1, {half.chapter} |", glossary.read_text()))
    questions = folder / "grading" / "questions" / "__init__.py"
    text = questions.read_text()
    last = f"    chapter_{number - 1},\n)"
    assert text.count(last) == 2
    questions.write_text(text.replace(last, last[:-1] + f"    chapter_{number},\n)"))
    (folder / "tests" / "answers" / f"chapter_{number}.py").write_text(ANSWERS)
    recorded = half.python("-m", "grading.record", "doubled")
    assert recorded.returncode == 0, recorded.stderr
    found, said = half.test()
    assert set(found.values()) == {"PASSED"}, said
    for planted in (
        "test_package.py::test_a_public_name_says_what_it_is_takes_and_returns[kerple_bias]",
        "test_package.py::test_the_examples_in_docstrings_run[posenc.kerple]",
        f"test_chapters.py::TestChapter::test_asks_before_it_tells[{chapter}]",
        "test_exercises.py::test_the_solution_gets_full_marks[doubled]",
        f"test_student.py::test_questions_are_numbered_by_their_chapter[{number:02}_planted]",
    ):
        assert f"tests/{planted}" in found, said


def test_contributing_names_what_the_walk_touched():
    said = (ROOT / "CONTRIBUTING.md").read_text()
    for name in (
        "posenc/__init__.py",
        "chapters/api.md",
        "MANIFEST.in",
        "[tool.mutmut]",
        "_toc.yml",
        "chapters/glossary.md",
        "grading/questions/__init__.py",
        "tests/answers/",
        "grading.record",
    ):
        assert name in said


@pytest.mark.long
def test_make_test_leaves_no_planted_fault_and_no_question_whole_to_ci():
    def collected(*options):
        files = [f"tests/test_{name}.py" for name in ("live", "grading", "rotary")]
        command = [sys.executable, "-m", "pytest", "-q", "--collect-only", *options, *files]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True)
        return [line for line in done.stdout.splitlines() if "::" in line]

    every, some = collected(), collected("--some")
    asked = {test.partition("[")[0] for test in every}
    left = asked - {test.partition("[")[0] for test in some}
    assert 1 <= len(left) < 0.1 * len(asked)  # long ones alone
    assert "tests/test_grading.py::test_the_whole_class_is_graded" in some
    for kind in ("CanFail", "test_a_way_that_was_found", "test_rotary"):
        assert [t for t in some if kind in t] == [t for t in every if kind in t] != []
    of_one = [t for t in every if "TestLooks::test_axe" in t]
    assert [t for t in some if "TestLooks::test_axe" in t] == [of_one[0], of_one[-1]]
