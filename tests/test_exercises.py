"""Every question: who is right gets full marks, who is wrong gets a hint that fits."""

import importlib
import re
import sys
from types import SimpleNamespace

import nbformat
import pytest

from _ext import student
from posenc import check
from tests.answers import Answers

MASTERS = {int(path.name[:2]): nbformat.read(path, as_version=4) for path in student.masters()}
ANSWERS: dict[str, Answers] = {
    name: answers
    for number in MASTERS
    for name, answers in importlib.import_module(f"tests.answers.chapter_{number}").ANSWERS.items()
}
QUESTIONS = [
    (question.name, master)
    for master in MASTERS.values()
    for question in student.exercises(master)
    if not question.written
]
RIGHT = [(name, answer) for name in ANSWERS for answer in ANSWERS[name].right]
WRONG = [(name, *pair) for name in ANSWERS for pair in ANSWERS[name].wrong]
EACH = pytest.mark.parametrize(("name", "master"), QUESTIONS, ids=[name for name, _ in QUESTIONS])


@pytest.fixture(autouse=True)
def where_the_hidden_tests_run(monkeypatch):
    """In grading they import `posenc` anew; here, where annotations are checked, once is enough."""
    monkeypatch.setitem(sys.modules, "fresh_check", SimpleNamespace(check=check))


def label(value):
    return getattr(value, "__name__", "") if callable(value) else str(value)[:30]


def code_of(master, question, *, tests):
    """The code of one question: its solution, or its tests."""
    return [
        cell.source
        for inside, settings, cell in student.blocks(master)
        if settings.get("name") == question and cell.cell_type == "code"
        if ("TESTS" in inside) == tests and (tests or "SOLUTION" in inside)
    ]


def hidden_tests(name):
    """The functions of a question's hidden tests; like Otter, in a namespace of their own."""
    master = dict(QUESTIONS)[name]
    tests = []
    for source in code_of(master, name, tests=True):
        namespace = {}
        body = re.split(r'^""" *# END TEST CONFIG\n', source, flags=re.M)[-1]
        definition, call = body.rstrip().rsplit("\n", 1)
        exec(definition, namespace)
        tests.append(namespace[call.partition("(")[0]])
    return tests


def solution(name, *, stub=False):
    (source,) = code_of(dict(QUESTIONS)[name], name, tests=False)
    imports = "\n".join(
        cell.source
        for inside, _, cell in student.blocks(dict(QUESTIONS)[name])
        if not inside and cell.cell_type == "code"
    )
    namespace = {}
    exec(imports, namespace)
    exec(student.cut(source)[0] if stub else source, namespace)
    return namespace[name]


def refusals(name, answer):
    """How many of the hidden tests an answer fails."""
    failed = 0
    for test in hidden_tests(name):
        try:
            test(answer)
        except AssertionError:
            failed += 1
    return failed


def test_every_question_has_answers():
    assert set(ANSWERS) == {name for name, _ in QUESTIONS}
    assert len(QUESTIONS) >= 20
    assert list(MASTERS) == [1, 2, 3, 4, 5, 6, 7]


@EACH
def test_a_question_has_three_right_and_three_wrong_answers(name, master):
    answers = ANSWERS[name]
    assert len(answers.right) >= 3
    assert len({hint for _, hint in answers.wrong}) == len(answers.wrong) >= 3


@EACH
def test_the_solution_gets_full_marks(name, master):
    assert getattr(check, name)(solution(name)).passed
    assert refusals(name, solution(name)) == 0


@EACH
def test_the_stub_fails(name, master):
    verdict = getattr(check, name)(solution(name, stub=True))
    assert not verdict.passed
    assert refusals(name, solution(name, stub=True)) == len(hidden_tests(name))


@EACH
def test_the_hidden_tests_have_other_cases_than_the_check(name, master):
    question = getattr(check, name)
    hidden = "\n".join(code_of(master, name, tests=True))
    if isinstance(question, check.Comparison):
        assert "cases=" in hidden
        assert not [case.label for case in question.cases if f'"{case.label}"' in hidden]


@pytest.mark.parametrize(("name", "answer"), RIGHT, ids=label)
def test_another_right_answer_passes(name, answer):
    verdict = getattr(check, name)(answer)
    assert verdict.passed, verdict
    assert refusals(name, answer) == 0


@pytest.mark.parametrize(("name", "answer", "hint"), WRONG, ids=label)
def test_a_wrong_answer_fails_with_its_own_hint(name, answer, hint):
    verdict = getattr(check, name)(answer)
    assert not verdict.passed
    assert hint in verdict.hint, verdict
    others = {other for question, _, other in WRONG if question == name} - {hint}
    assert not [other for other in others if other in verdict.hint]
    assert refusals(name, answer) > 0
