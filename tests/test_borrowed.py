"""No function of the package answers a question by itself, unless the question refuses it.

Every public function of every module is called with what a question gives, and with what a student
has of it in a line: frequencies, angles, a range of distances. Where many answers are right, every
function is handed in. And every question has answers by the functions of the package that are made
for it, of several lines, which are refused; or it is said why there are none.
"""

import copy
import dataclasses
import inspect
import itertools
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import numpy as np
import pytest
import torch

from _ext import student
from grading import without
from grading.questions.master import Comparison, masters
from posenc import check
from posenc.check import Values, Wrong
from posenc.check.question import LATER
from posenc.check.ways import _without, is_gone
from posenc.frequencies import angles, inverse_frequencies
from tests.answers.borrowed import (
    BORROWED,
    by_a_figure,
    dead,
    functions,
    needing,
    shaw_logarithms,
)
from tests.test_exercises import drawn_cases, solution

ROOT = Path(__file__).parent.parent
TRAINED = {"compared", "Root"}  # what they ask for takes a training
NAMES = [name for name in masters() if name not in TRAINED]
GIVEN = {  # what is asked where many answers are right
    "my_encoding": (torch.arange(3), 8),
    "speeds": (8, 100),
    "reach": ([32, 64], [1.0, 0.5], 0.1),
    "better": ([1.0, 2.0], [1.0, 2.0]),
}
MOST = 4  # arguments that are tried in every order
PATIENCE = 0.2  # seconds of the processor for one function and one question


FUNCTIONS = functions()


def pool(name, case):
    """What a student can pass on: the arguments, and what is a line away from them."""
    found = dict(zip(inspect.signature(solution(name)).parameters, case.arguments, strict=True))
    dim = found.get("dim") or (found["x"].shape[-1] if "x" in found else None)
    if dim and "base" in found:
        found["speeds"] = inverse_frequencies(dim, base=found["base"])
        for place in {"positions", "offset"} & set(found):
            found["angles"] = angles(torch.as_tensor(found[place]), found["speeds"])
    if isinstance(found.get("offset"), int):
        found["length"] = abs(found["offset"]) + 1
        found["distances"] = torch.arange(found["length"])
    return found


def fits(value, annotation):
    """Whether a parameter could take a value, by the words of its annotation."""
    words = str(annotation)
    if isinstance(value, torch.Tensor):
        return re.search("Tensor|ndarray|Any|object|empty", words)
    if isinstance(value, list | tuple):
        return re.search("Sequence|Iterable|list|tuple|Any|object|empty", words)
    return re.search("int|float|Any|object|empty", words)


def ways_to_call(function, given):
    """Each choice and order of arguments that fits."""
    parameters = inspect.signature(function).parameters.values()
    plain = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    named = {p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.name in given}
    least = sum(p.default is p.empty for p in plain)
    fitting = [[key for key in given if fits(given[key], p.annotation)] for p in plain]
    for count in range(max(1, least), min(MOST, len(plain)) + 1):
        for keys in itertools.product(*fitting[:count]):
            if len(set(keys)) == count:
                yield keys, named


def leaves(thing, depth=0):
    """Every number, tensor and list in a result."""
    if isinstance(thing, torch.Tensor | np.ndarray | float | int | list | tuple):
        yield thing
    inside = thing if isinstance(thing, list | tuple) else getattr(thing, "__dict__", {})
    inside = thing if isinstance(thing, dict) else inside
    for part in list(inside.values() if isinstance(inside, dict) else inside)[:20]:
        yield from leaves(part, depth + 1) if depth < 3 else ()


def is_told(leaf, right, dim):
    """Whether a result has the right numbers, perhaps times a factor; one alone at an end of it."""
    try:
        got = torch.tensor(Values.read(leaf).flat, dtype=torch.float64)
    except Wrong:
        return False
    wanted = torch.tensor(right.flat, dtype=torch.float64)
    if len(wanted) == 1:
        ends = [e * k for e in (*got[:1], *got[-1:]) for k in (1, -1, dim, dim / 2, 2 / dim)]
        return any(abs(e - wanted) <= 1e-4 * max(1, abs(wanted)) for e in ends)
    if got.shape != wanted.shape or not wanted.isfinite().all() or wanted.std() == 0:
        return False
    size = (got.norm() * wanted.norm()).item()
    return bool(abs((got @ wanted).item()) > (1 - 1e-7) * size > 0)


def tells(function, keys, named, given, right):
    try:
        found = function(
            *copy.deepcopy([given[key] for key in keys]), **{k: given[k] for k in named}
        )
    except Exception:  # nearly always: it is no such argument
        return False
    several = itertools.islice(leaves(found), 50)
    return any(is_told(leaf, right, given.get("dim", 1)) for leaf in several)


def told(question, refuses):
    """The functions that answer two cases of a question, and with which arguments."""
    drawn = [case for test in drawn_cases(question.name, 3) for case in test.cases]
    cases = [c for c in drawn if len(set(c.right.flat)) > 1 or c.right.flat[0] not in (0, 1)][-2:]
    first, *others = [(pool(question.name, case), case.right) for case in cases]
    with _without(refuses):
        for name, function in FUNCTIONS.items():
            if is_gone(name.rpartition(".")[0], refuses):
                continue
            end = time.process_time() + PATIENCE
            for keys, named in ways_to_call(function, first[0]):
                if time.process_time() > end:
                    break
                if tells(function, keys, named, *first) and all(
                    tells(function, keys, named, *other) for other in others
                ):
                    yield name, keys


def handed_in(question):
    """The functions that get points where many answers are right."""
    given = GIVEN[question.name]
    for name, function in FUNCTIONS.items():
        parameters = list(inspect.signature(function).parameters.values())
        least = sum(p.default is p.empty for p in parameters)
        pairs = zip(given, parameters, strict=False)
        if least <= len(given) <= len(parameters) and all(fits(v, p.annotation) for v, p in pairs):
            for test in question.hidden(3):
                if test(function).passed:
                    yield name


@pytest.mark.parametrize("name", NAMES)
def test_no_function_answers_a_question(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    question = masters()[name]
    if isinstance(question, Comparison):
        assert list(told(question, question.settings["refuses"])) == []
    else:
        assert list(handed_in(question)) == []


ALLOWED = {  # what the question itself hands out, or tells to use
    "compared": "train", "Root": "alibi_slopes", "mended_decoding": "rotate",
    "mended_layout": "rotate", "mended_partial": "rotate", "mended_window": "rotate",
    "mended_dynamic": "rotate",
}  # fmt: skip
NOTHING = {  # it has nothing that comes near: the walk over all functions finds none
    "shuffled_weights", "orders_alike", "positions_from_outputs", "affordable_positions",
    "stretched_table", "position_ids", "half_distance", "unseen_pairs", "ntk_factor",
    "mended_packing",
    "speeds", "reach",  # and many answers are right
}  # fmt: skip


def test_of_every_question_it_is_known_what_answers_it():
    assert sorted([*BORROWED, *ALLOWED, *NOTHING]) == sorted(masters())
    refusing = {name for name, master in masters().items() if master.settings["refuses"]}
    assert refusing == set(BORROWED)
    for path in student.masters():
        texts = "\n".join(cell.source for cell in student.student(nbformat.read(path, 4)).cells)
        for question in student.exercises(nbformat.read(path, 4)):
            assert ALLOWED.get(question.name, "") in texts


@pytest.mark.parametrize(
    ("name", "answer"),
    [*BORROWED.items(), ("mended_shaw", shaw_logarithms), ("dot_product", by_a_figure)],
)
def test_an_answer_by_the_package_is_refused(name, answer):
    question = check.named(name)
    if isinstance(question, check.Question):
        verdict = dataclasses.replace(question, refuses=())(answer)
        assert verdict.passed, verdict  # it is an answer
    faults = {part.fault for part in question(answer).parts}
    assert faults - {LATER} == {without.SAID}


MEASURES = {  # an answer: they say whether it is right, and no number that was asked for
    "posenc.check.encodings._require_grade",
    "posenc.check.encodings._require_no_sinusoids",
    "posenc.check.frequencies._require_neighbours",
    "posenc.check.frequencies._require_no_likeness",
}
ONES_OWN = {  # classes that are the refused function, and its neighbours in the class: who puts
    # another in its place has written what was asked for
    "posenc.lab.methods.Hybrid.embed",
    "posenc.lab.methods.Rope.turn",
    "posenc.lab.methods.Shaw.__init__",
    "posenc.lab.methods.Sinusoidal.embed",
    "posenc.lab.paired.change",
    "posenc.lab.paired.difference",
    "posenc.lab.paired.farther",
    "posenc.lab.paired.gain",
    "posenc.lab.stretch.DynamicNtk.scaled",
    "posenc.lab.stretch.Ntk.scaled",
    "posenc.lab.stretch.Unscaled.turn",
    "posenc.transformer_xl.TransformerXLRelative.__init__",
    "posenc.transformer_xl.TransformerXLRelative._keys",
}


@pytest.mark.parametrize("refuses", {m.settings["refuses"] for m in masters().values()} - {()})
def test_nothing_that_is_left_answers_once_a_part_of_it_is_ones_own(refuses):
    """What needs a refused function could be given another in its place, by its module's name."""
    found = set(needing(refuses))
    assert found <= (MEASURES if "posenc" in refuses else MEASURES | ONES_OWN)


@pytest.mark.parametrize("name", masters())
def test_the_check_at_home_refuses_what_grading_refuses(name):
    assert check.named(name).refuses == masters()[name].settings["refuses"]


@pytest.mark.parametrize("refuses", {m.settings["refuses"] for m in masters().values()} - {()})
def test_what_is_not_in_a_sandbox_is_what_the_check_at_home_refuses(refuses, tmp_path, monkeypatch):
    monkeypatch.setattr(without, "INSTALLED", ROOT)
    shutil.copytree(ROOT / "posenc", tmp_path / "posenc", ignore=lambda *_: ["__pycache__"])
    for path, content in without.files(refuses).items():
        if path.endswith(".py"):
            (tmp_path / Path(path).relative_to(ROOT)).write_bytes(content)
    names = [name for name in BORROWED if masters()[name].settings["refuses"] == refuses]
    done = subprocess.run(
        [sys.executable, "-s", "-P", "-c", "import tests.answers.borrowed as b; b.show()", *names],
        capture_output=True, check=False, text=True, cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": f"{tmp_path}:{ROOT}"},
    )  # fmt: skip
    place, gone, *said = done.stdout.splitlines()
    assert (place, said) == (str(tmp_path), [without.SAID] * len(names)), done.stderr
    with _without(refuses):
        there, here = set(gone.split()), set(dead())
    assert (sorted(there - here), sorted(here - there)) == ([], [])


EMPTIES = """
import sys
from pathlib import Path
from grading import without
without.INSTALLED = Path(sys.argv[1])
print(*(path for path, content in without.files(("posenc",)).items() if not content))
"""


@pytest.mark.parametrize("settings", [
    {}, {"PYTHONPYCACHEPREFIX": "/nowhere"}, {"PYTHONOPTIMIZE": "2"},
], ids=["none", "a prefix", "optimized"])  # fmt: skip
def test_no_compiled_copy_is_left_whatever_the_graders_settings(settings, tmp_path):
    shutil.copytree(ROOT / "posenc", tmp_path / "posenc", ignore=lambda *_: ["__pycache__"])
    package = tmp_path / "posenc"
    copies = {
        package / "sinusoidal.pyc",
        *(
            package / "__pycache__" / f"sinusoidal.cpython-311{part}.pyc"
            for part in ("", ".opt-1", ".opt-2", "-pytest-9")
        ),
        package / "lab" / "__pycache__" / "methods.cpython-313.pyc",
    }
    for path in copies | {package / "__pycache__" / "_extras.cpython-311.pyc"}:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"compiled")
    done = subprocess.run(
        [sys.executable, "-c", EMPTIES, tmp_path], capture_output=True, check=True, text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)} | settings, cwd=ROOT,
    )  # fmt: skip
    found = {path for path in map(Path, done.stdout.split()) if path.suffix == ".pyc"}
    assert found == copies


def test_one_that_does_is_found():
    found = {name for name, _ in told(masters()["dot_product"], ())}
    assert "posenc.check.frequencies.scores" in found
    for name, function in {
        "relative": "posenc.relative.relative_positions",
        "slopes": "posenc.alibi.alibi_slopes",
        "sinusoidal": "posenc.sinusoidal.sinusoidal_encoding",
    }.items():
        assert function in {found for found, _ in told(masters()[name], ())}
