"""Small faults in right answers: what the visible check calls wrong is wrong when it is graded."""

import contextlib

import pytest

from grading.questions.master import Comparison, masters
from posenc import check
from posenc.check import Question, Wrong
from posenc.check.calls import Settings, TooSlow
from posenc.check.ways import ask
from tests.faults import kept, planted
from tests.test_exercises import ANSWERS, drawn_cases

SEEDS = range(3)
SLOW = ("compared", "Root")  # they train
COMPARED = [name for name, m in masters().items() if isinstance(m, Comparison) and name not in SLOW]


def is_right(question: Question, answer) -> bool:
    """Whether all cases are right; it stops at the first that is not.

    Raises:
        TooSlow: if it does not end.
    """
    for case in question.cases:
        try:
            question._compared(ask(answer, case.arguments, way=case.way, seconds=0.3), case)
        except TooSlow:
            raise
        except Wrong:
            return False
    return True


@pytest.mark.parametrize("name", COMPARED)
def test_no_small_fault_that_a_check_finds_gets_full_marks(name):
    """Even without the visible cases: each kind of them has a hidden one. Nor does luck decide."""
    found = []
    with Settings().used():
        for where, faulty in (pair for right in ANSWERS[name].right for pair in planted(right)):
            with contextlib.suppress(TooSlow):
                is_green = is_right(check.named(name), faulty)
                full = [all(is_right(t, faulty) for t in drawn_cases(name, s)) for s in SEEDS]
                if len(set(full)) > 1 or (any(full) and not is_green):
                    found.append(f"{where}: {'green' if is_green else 'red'}, full marks: {full}")
    assert not found, "\n".join(found)


@pytest.mark.parametrize("name", COMPARED)
def test_no_answer_that_keeps_an_argument_by_its_size_gets_full_marks(name):
    """A table cached by its width, a bias by its shape, a mask by its length: another call's."""
    right, found = ANSWERS[name].right[0], []
    with Settings().used():
        for number, argument in enumerate(check.named(name).cases[0].arguments):
            for seed in SEEDS if type(argument) is not int else ():
                faulty = kept(right, number)
                if all(is_right(test, faulty) for test in drawn_cases(name, seed)):
                    found.append((number, seed))
    assert not found
