"""Every question: who is right gets full marks, who is wrong gets a hint that fits."""

import functools
import importlib
from pathlib import Path

import nbformat
import pytest

from _ext import student
from grading.questions import chapter_7
from grading.questions.master import Comparison, Draw, Judged, masters
from posenc import check
from posenc.check import Probe, Values, Wrong, frequencies, luck
from posenc.check.plain import encode
from tests.answers import Answers
from tests.answers.chapter_7 import by_students_t_at, train

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
NEARLY = [(name, answer) for name in ANSWERS for answer in ANSWERS[name].nearly]
GREEN = [(name, answer) for name in ANSWERS for answer in ANSWERS[name].green]
WRONG = [(name, *pair) for name in ANSWERS for pair in ANSWERS[name].wrong]
EACH = pytest.mark.parametrize(("name", "master"), QUESTIONS, ids=[name for name, _ in QUESTIONS])


@pytest.fixture(scope="module", autouse=True)
def trained_once():
    """What is right, and each mistake, need the same models: apart from those of the answers."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chapter_7, "train", functools.cache(chapter_7.train))
        yield


def label(value):
    return getattr(value, "__name__", "") if callable(value) else str(value)[:30]


@functools.cache
def hidden_tests(name, seed):
    return masters()[name].hidden(seed)


def solution(name, *, stub=False):
    (source,) = (
        cell.source
        for inside, settings, cell in student.blocks(dict(QUESTIONS)[name])
        if settings.get("name") == name and cell.cell_type == "code" and "SOLUTION" in inside
    )
    imports = "\n".join(
        cell.source
        for inside, _, cell in student.blocks(dict(QUESTIONS)[name])
        if not inside and cell.cell_type == "code"
    )
    namespace = {}
    exec(imports, namespace)
    if "train" in namespace:
        namespace["train"] = train
    exec(student.cut(source)[0] if stub else source, namespace)
    return namespace[name]


def kinds(questions):
    """The types of each argument, of tensors with what they hold, and the way of asking."""
    return {
        (case.way, place, type(given), getattr(given, "dtype", None))
        for question in questions
        for case in question.cases
        for place, given in enumerate(case.arguments)
    }


@functools.cache
def drawn_cases(name, seed):
    """The hidden tests without the visible cases."""
    return masters()[name].drawn(seed)


@functools.cache
def refusals(name, answer, seed=0):
    """How many of the hidden tests an answer fails."""
    return sum(not test(answer).passed for test in hidden_tests(name, seed))


def test_every_question_has_answers():
    assert set(ANSWERS) == {name for name, _ in QUESTIONS}
    assert len(QUESTIONS) >= 20
    beside = Path(__file__).parent.glob("answers/chapter_*.py")
    known = sorted(int(path.stem.removeprefix("chapter_")) for path in beside)
    assert list(MASTERS) == known == list(range(1, len(known) + 1))


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
    assert refusals(name, solution(name, stub=True)) == len(hidden_tests(name, 0))


@EACH
def test_hidden_tests_give_the_points_of_the_question(name, master):
    (points,) = (q.points for q in student.exercises(master) if q.name == name)
    assert sum(test.points for test in masters()[name].tests) == points
    assert all(test.label for test in masters()[name].tests)


@EACH
def test_hidden_cases_are_others_for_each_seed_and_no_visible_ones(name, master):
    if not isinstance(masters()[name], Comparison):
        return
    once, again, other = (
        [str(encode(c.arguments)) for test in masters()[name].hidden(seed) for c in test.cases]
        for seed in (5, 5, 6)
    )
    visible = {str(encode(case.arguments)) for case in check.named(name).cases}
    assert once == again
    assert once != other
    assert kinds(masters()[name].hidden(5)) <= kinds([check.named(name)])
    own = [case for case in once if case not in visible]
    assert len(own) >= len(once) - len(visible) - 3  # some edges can only be tried in one way


@EACH
def test_an_answer_that_its_own_check_calls_wrong_gets_no_full_marks(name, master):
    *others, last = hidden_tests(name, 0)
    if isinstance(masters()[name], Judged):
        own = {f"the check in your notebook: {label}" for label in check.named(name).parts}
        assert own <= set(last.parts)
        assert own <= masters()[name].public_labels()
        return
    visible = [(str(encode(case.arguments)), case.right) for case in check.named(name).cases]
    asked = [(str(encode(case.arguments)), case.right) for case in last.cases]
    assert asked[-len(visible) :] == visible
    assert not any("check in your notebook" in c.label for test in others for c in test.cases)
    labels = {case.label for case in last.cases[-len(visible) :]}
    assert all(label.startswith("the check in your notebook: ") for label in labels)
    assert labels <= masters()[name].public_labels()


@pytest.mark.parametrize(("name", "answer"), RIGHT, ids=label)
def test_luck_does_not_decide(name, answer):
    if name not in ("compared", "Root", "my_encoding"):
        seeds = (1,) if name == "better" else (1, 2, 3)  # which asks by thousands
        assert not any(refusals(name, answer, seed) for seed in seeds)


def caught(share, seed, seeds):
    """Whether a rule is called wrong that is so in this share of all cases with nothing in them."""
    rule = by_students_t_at(share)
    caution = luck.parts(seed, seeds)["equal methods are called equal"]
    try:
        return any(caution(lambda arguments: Values.read(rule(*arguments))))
    except Wrong:
        return True


@pytest.mark.parametrize("seeds", [5, 14])
def test_whether_a_rule_keeps_the_promise_is_no_matter_of_luck(seeds):
    for seed in range(12):
        assert not any(caught(share, seed, seeds) for share in (0.05, 0.10, 0.11))
        assert caught(0.2, seed, seeds)


def test_rows_are_turned_at_positions_out_of_order_with_every_seed():
    for seed in range(30):
        for case in masters()["rotated"].tests[1].draw(Draw(seed, "x")):
            places = case.arguments[1].tolist()
            assert sorted(places) not in (places, places[::-1])


@pytest.mark.parametrize("answer", ANSWERS["speeds"].right, ids=label)
def test_speeds_at_a_limit_are_right_with_every_seed(answer):
    assert not any(refusals("speeds", answer, seed) for seed in range(10))


def test_the_solutions_speeds_are_right_for_all_that_grading_tries():
    answer = solution("speeds")
    lengths = (*range(150, 201, 5), *range(500, 1201, 7))
    settings = [(dim, n) for dim in (32, 36, 40, 44, 48) for n in lengths]
    assert Probe("speeds", frequencies.parts(*settings))(answer).passed


@pytest.mark.parametrize(("name", "answer", "hint"), WRONG, ids=label)
def test_bad_luck_does_not_either(name, answer, hint):
    if name not in ("compared", "Root", "my_encoding"):
        seeds = (0, 1) if name == "better" else (0, 1, 2)
        failed = {refusals(name, answer, seed) for seed in seeds}
        assert len(failed) == 1
        assert failed != {0}


@pytest.mark.parametrize(("name", "answer"), NEARLY, ids=label)
def test_an_answer_that_is_wrong_at_an_edge_is_found_with_every_seed(name, answer):
    assert not getattr(check, name)(answer).passed
    seeds = range({"compared": 1, "better": 3}.get(name, 10))  # one trains, one asks by thousands
    if isinstance(masters()[name], Judged):
        assert all(refusals(name, answer, seed) for seed in seeds)
        return
    for cases in (drawn_cases(name, seed) for seed in seeds):  # the visible ones alone would do
        assert any(not test(answer).passed for test in cases)
    assert refusals(name, answer) > 0


@pytest.mark.parametrize(("name", "answer"), GREEN, ids=label)
def test_an_answer_that_is_wrong_where_its_check_does_not_look_is_found(name, answer):
    assert getattr(check, name)(answer).passed
    assert all(refusals(name, answer, seed) for seed in range(1 if name == "compared" else 10))


def test_how_long_is_trained_is_drawn():
    seen = {case.arguments[3] for case in check.compared.cases}
    test = masters()["compared"].tests[0]
    steps = {case.arguments[3] for seed in range(30) for case in test.draw(Draw(seed, "x"))}
    assert len(steps) > 1
    assert not steps & seen


def test_far_away_the_slowest_pair_does_not_tell_the_others():
    cases = [case for seed in range(300) for test in masters()["moved"].tests
             for case in test.draw(Draw(seed, "x")) if case.label == "far positions"]  # fmt: skip
    assert len(cases) == 600
    for case in cases:  # if it did, a pair would turn a whole number of times while the next does
        rows, _, base = case.arguments
        times = base ** (2 / rows.shape[-1])
        assert abs(times - round(times)) > 1e-4, (base, rows.shape)


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
