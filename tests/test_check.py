"""Checks survive what a student can send, leave the notebook alone, and say what is wrong."""

import itertools
import math
import os
import random
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch

from grading import record
from grading.questions.master import Case, Comparison, Misconception, masters
from posenc import check
from posenc.check import Probe, Question, Values, Wrong, luck
from posenc.check.again import Asked, AskedByRows
from posenc.check.calls import Settings, TimeLimit, TooSlow, call, limited
from posenc.check.plain import decode, encode
from posenc.check.ways import _refused, ask
from posenc.sinusoidal import sinusoidal_encoding
from tests.answers import chapter_7
from tests.answers.chapter_2 import loops

NUMBERS = torch.tensor([1.0, 2.0, 4.0])
doubled = Comparison(
    "doubled",
    lambda x, times: 2.0 * x * times,
    [Case("once", NUMBERS, 1), Case("three times", NUMBERS, 3)],
    [
        Misconception("squared", "Twice is not squared.", lambda x, times: x**2 * times),
        Misconception("once only", "Do you use the second argument?", lambda x, times: 2 * x),
        Misconception("impossible", "Never shown.", lambda x, times: 1 / 0),
    ],
    seconds=0.3,
).question()


class Liar(torch.Tensor):
    """A tensor that claims to be equal to all."""

    def __eq__(self, other):
        return torch.tensor(True)

    def allclose(self, *_, **__):
        return True


class Unprintable(Exception):
    def __str__(self):
        raise ValueError("not even this")


class Callable:
    def __call__(self, x, times):
        return 2 * x * times


def forever(x, times):
    while True:
        pass


def deaf(x, times):
    stop = time.process_time() + 1.2
    while time.process_time() < stop:
        try:
            while time.process_time() < stop:
                pass
        except BaseException:
            pass
    return 2 * x * times


def recursive(x, times):
    return recursive(x, times)


def raising(error):
    def answer(x, times):
        raise error

    return answer


def in_place(x, times):
    return x.mul_(2 * times)


def flipping(x, times, calls=[]):  # noqa: B006  # keeps its calls, as a student's global list would
    calls.append(1)
    return 2 * x * times + len(calls) // 3


def one_line(verdict):
    return str(verdict).splitlines()[0]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (None, "not answered yet"),
        (..., "not answered yet"),
        (lambda x, times: None, "not answered yet"),
        (lambda x, times: ..., "not answered yet"),
        (3, "it must be a function, got an int"),
        (NUMBERS, "it must be a function, got a Tensor"),
        ("doubled", "it must be a function, got a str"),
        (lambda x: x, "it raised TypeError"),
        (lambda x, times: 1 / 0, "it raised ZeroDivisionError: division by zero (its line 1)"),
        (lambda x, times: missing, "it raised NameError: name 'missing' is not defined"),  # noqa: F821
        (raising(Unprintable()), "it raised Unprintable: (no message)"),
        (raising(SystemExit(0)), "it raised SystemExit: 0"),
        (raising(GeneratorExit()), "it raised GeneratorExit"),
        (raising(MemoryError()), "it raised MemoryError"),
        (lambda x, times: sys.exit("bye"), "it raised SystemExit: bye"),
        (recursive, "it raised RecursionError"),
        (forever, "it did not finish within 0.3 seconds"),
        (deaf, "it did not finish within 0.3 seconds"),
        (lambda x, times: "6", "it must return real numbers"),
        (lambda x, times: {"a": 1}, "it must return real numbers"),
        (lambda x, times: {1, 2, 3}, "as a tensor, an array or lists, got a set"),
        (lambda x, times: (missing for _ in range(3)), "it raised NameError: name 'missing'"),  # noqa: F821
        (lambda x, times: lambda: 3, "got a function"),
        (lambda x, times: 2j * x, "it must return real numbers"),
        (lambda x, times: [[1.0], [2.0, 3.0]], "it must return real numbers, as a tensor"),
        (lambda x, times: [None, 1, 2], "it must return real numbers"),
        (in_place, "it changes what it is given"),
    ],
)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_whatever_is_sent_becomes_a_verdict(answer, said):
    """A limit that strikes in a destructor is dropped, with a warning; it strikes again."""
    verdict = doubled(answer)
    assert not verdict.passed
    assert said in one_line(verdict)
    assert repr(verdict) == str(verdict)


@pytest.mark.long
@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda x, times: itertools.count(), "has the shape [400000]: far too many numbers"),
        (lambda x, times: (itertools.count() for _ in itertools.count()), "wrong"),
    ],
)
def test_what_has_no_end_becomes_a_verdict(answer, said):
    verdict = replace(doubled, seconds=5.0)(answer)  # nearly 0.3 is needed to read it
    assert not verdict.passed
    assert said in one_line(verdict)


@pytest.mark.parametrize(
    ("answer", "said", "hint"),
    [
        (lambda x, times: x[:2], "its result has the shape [2], not [3]", ""),
        (
            lambda x, times: 2 * x[None],
            "its result has the shape [1, 3], not [3]",
            "axis of length 1",
        ),
        (lambda x, times: 2, "its result has the shape [], not [3]", ""),
        (lambda x, times: [], "its result has the shape [0], not [3]", ""),
        (lambda x, times: x * math.nan, "it gives nan at [0], not 2", "NaN"),
        (lambda x, times: x / 0, "it gives inf at [0], not 2", ""),
        (lambda x, times: -2 * x * times, "it gives -2 at [0], not 2", "wrong sign"),
        (lambda x, times: x * times, "it gives 1 at [0], not 2", "0.5 times the right one"),
        (lambda x, times: x**2 * times, "it gives 1 at [0], not 2", "Twice is not squared."),
        (lambda x, times: 2 * x, "it gives 2 at [0], not 6", "Do you use the second argument?"),
        (lambda x, times: Liar([0.0, 0.0, 0.0]), "it gives 0 at [0], not 2", ""),
        (lambda x, times: torch.zeros(3, dtype=torch.bool), "it gives 0 at [0], not 2", ""),
    ],
)
def test_wrong_numbers_are_shown_beside_the_right_ones(answer, said, hint):
    verdict = doubled(answer)
    assert not verdict.passed
    assert said in str(verdict)
    assert (hint in verdict.hint) if hint else not verdict.hint


@pytest.mark.parametrize(
    "answer",
    [
        lambda x, times: 2 * x * times,
        lambda x, times: (2 * x * times).double().requires_grad_(),
        lambda x, times: 2 * x.numpy() * times,
        lambda x, times: [2 * value * times for value in x.tolist()],
        lambda x, times: tuple(2 * value * times for value in x),
        lambda x, times: (2 * value * times for value in x.tolist()),
        lambda x, times: {i: 2 * value * times for i, value in enumerate(x)}.values(),
        lambda x, times: (2 * x * times).to_sparse(),
        lambda x, times: (2 * x * times).int(),
        lambda x, times: np.asarray(2 * x * times, dtype=object),
        lambda x, times: print("so", "much") or 2 * x * times,
        Callable(),
        torch.nn.Bilinear(1, 1, 1).eval() and (lambda x, times: x.clone().mul_(2 * times)),
    ],
)
def test_right_answers_come_in_many_forms(answer, capsys):
    verdict = doubled(answer)
    assert verdict.passed, verdict
    assert not verdict.hint
    assert capsys.readouterr().out == ""


def test_what_went_wrong_before_the_numbers_comes_first():
    def squared_in_place(x, times):
        return x.mul_(x).mul_(times) if times > 1 else x**2

    assert "Work on a copy" in doubled(squared_in_place).hint
    mixed = doubled(lambda x, times: torch.eye(3, dtype=torch.float64) @ x * 2 * times)
    assert "dtype" in mixed.hint


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (lambda x, times: (2 * x * times)[None], "axis of length 1"),
        (lambda x, times: (2 * x * times).expand(3, 3), ""),
        (lambda x, times: (2 * x * times)[: 4 - times], ""),
        (lambda x, times: (2 * x * times)[:, None] if times > 1 else x[:2], ""),
    ],
)
def test_a_hint_on_shapes_must_hold_in_every_case(answer, hint):
    verdict = doubled(answer)
    assert not verdict.passed
    assert (hint in verdict.hint) if hint else not verdict.hint


def test_a_place_can_have_a_name():
    named = Comparison(
        "named",
        lambda x: 2 * x,
        [Case("all", NUMBERS), Case("one", torch.tensor(3.0))],
        where=(" for {}", lambda x: [[f"{n:g}" for n in x.tolist()]] if x.ndim else []),
    ).question()
    assert "it gives 1 for 1, not 2" in str(named(lambda x: x))
    assert "it gives 3, not 6" in str(named(lambda x: x))


def test_long_arguments_are_not_shown():
    def given(*arguments):
        return check.Case("a", arguments, Values((), (1.0,))).given

    assert given(torch.zeros(100), 3, "x") == "a tensor [100], 3, 'x'"
    assert given([0.1] * 30) == ""
    assert given(torch.tensor([[1, 2]]), 1e4, True) == "[[1, 2]], 10000, True"


def test_infinity_is_equal_to_nothing_else():
    masked = Comparison(
        "masked", lambda: torch.tensor([0.0, -math.inf, math.nan]), [Case("the only one")]
    ).question()
    assert masked(lambda: [0.0, -math.inf, math.nan]).passed
    for wrong in ([0.0, -1e9, math.nan], [0.0, math.inf, math.nan], [-math.inf, -math.inf, 0.0]):
        assert not masked(lambda wrong=wrong: wrong).passed
    assert not masked(lambda: [0.0, -1e9, math.nan]).hint  # the NaN is right


def test_an_endless_loop_is_waited_for_once():
    start = time.process_time()
    verdict = doubled(forever)
    assert time.process_time() - start < 0.55
    assert [part.passed for part in verdict.parts] == [False, False]


def test_a_verdict_names_each_case():
    assert str(doubled(lambda x, times: 2 * x)) == (
        "doubled: wrong, in 1 of 2 cases\n"
        "  yes  once\n"
        "  NO   three times: [1, 2, 4], 3\n"
        "       it gives 2 at [0], not 6\n"
        "  Hint: Do you use the second argument?"
    )
    assert str(doubled(Callable())) == "doubled: right\n  yes  once\n  yes  three times"


def asked_of(check, factor):
    """What a check asks of an answer that is right for the factor 2."""
    found = []

    def answer(x, *times):
        found.append((str(x), times))
        return factor * x * sum(times, start=0 if times else 1)

    check(answer)
    return found


def test_what_is_asked_does_not_tell_an_answer_whether_it_was_right():
    late = Case("late", NUMBERS, 5, alone="This alone is wrong.")
    one = Comparison("doubled", lambda x, t: 2.0 * x * t, [Case("once", NUMBERS, 1), late])
    for question in (doubled, one.question()):
        assert asked_of(question, 2) == asked_of(question, 3)
        assert len(asked_of(question, 3)) == len(question.cases) + 1

    def is_doubled(numbers):
        if numbers((NUMBERS,)).flat != (2.0, 4.0, 8.0):
            raise Wrong("it is not doubled")

    probe = Probe("doubled", {"doubled": is_doubled})
    assert probe(lambda x: 2 * x).passed
    assert asked_of(probe, 2) == asked_of(probe, 3)
    assert len(asked_of(probe, 3)) > 3


def test_an_answer_that_changes_from_call_to_call_is_no_function():
    verdict = doubled(flipping)
    assert verdict.misconception == "not a function"
    assert "the same call, made again, gives another result" in str(verdict)
    noisy = doubled(lambda x, times: 2 * x * times + 1e-2 * torch.rand(3))
    assert not noisy.passed


def test_an_answer_may_use_what_earlier_cells_defined():
    earlier = {"factor": 2}
    assert doubled(lambda x, times: earlier["factor"] * x * times).passed


def test_a_check_leaves_the_notebook_as_it_was():
    def meddling(x, times):
        torch.set_default_dtype(torch.float64)
        torch.manual_seed(7)
        torch.set_grad_enabled(False)
        print("noise", file=sys.stderr)
        return 2 * x * times

    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    stdout = sys.stdout
    assert doubled(meddling).passed
    assert sys.stdout is stdout
    assert torch.get_default_dtype() == torch.float32
    assert torch.is_grad_enabled()
    assert torch.equal(torch.rand(2), expected)


def test_the_cases_stay_as_they_were():
    doubled(in_place)
    assert torch.equal(doubled.cases[0].arguments[0], torch.tensor([1.0, 2.0, 4.0]))


def test_interrupting_a_check_interrupts_it():
    with pytest.raises(KeyboardInterrupt):
        doubled(raising(KeyboardInterrupt()))


def test_outside_the_main_thread_there_is_no_limit_but_an_answer():
    found = []
    thread = threading.Thread(target=lambda: found.append(doubled(Callable())))
    thread.start()
    thread.join()
    assert found[0].passed


def test_the_limit_is_over_with_the_call():
    call(lambda: 1, (), seconds=0.05)
    time.sleep(0.15)


def test_a_limit_that_rings_while_it_is_put_away_is_put_away():
    """What rings there used to be raised before the timer stood still, and rang on elsewhere."""
    handler, rung = signal.getsignal(signal.SIGALRM), []

    def profile(frame, event, _):
        if event == "call" and frame.f_code.co_name == "__exit__":
            sys.setprofile(None)
            rung.append(frame)
            signal.raise_signal(signal.SIGALRM)

    def put_away() -> None:
        with limited(0.02):
            try:
                forever(None, None)
            except TimeLimit:
                sys.setprofile(profile)

    try:
        with pytest.raises(TooSlow, match=r"did not finish within 0\.02 seconds"):
            put_away()
    finally:
        sys.setprofile(None)
        timer = signal.setitimer(signal.ITIMER_REAL, 0)
        left = signal.signal(signal.SIGALRM, handler)
    assert rung
    assert timer == (0, 0)
    assert left is handler


def test_a_call_in_a_call_has_the_shorter_of_both_limits():
    def outer():
        call(lambda: 1, (), seconds=5)
        while True:
            pass

    start = time.process_time()
    with pytest.raises(Wrong, match=r"within 0\.2 seconds"):
        call(outer, (), seconds=0.2)
    assert time.process_time() - start < 1


def test_chance_is_no_function():
    lucky = iter([True, True, False])

    def answer(x, times):
        return 2 * x * times + (0 if next(lucky) else 1)

    assert "draw random numbers" in doubled(answer).hint
    torch.manual_seed(0)
    threshold = torch.rand(1)
    torch.manual_seed(0)
    drawn = doubled(lambda x, times: 2 * x * times + (torch.rand(1) != threshold))
    assert "draw random numbers" in drawn.hint


def test_a_probe_tries_its_parts_one_by_one():
    def small(numbers):
        if numbers((1,)).flat[0] > 3:
            raise Wrong("it is large", "Smaller.")

    probe = Probe("size", {"is small": small, "is a number": lambda n: n((1,))}, seconds=1)
    assert probe(lambda x: x).passed
    assert str(probe(lambda x: 9)) == (
        "size: wrong, in 1 of 2 cases\n"
        "  NO   is small\n"
        "       it is large\n"
        "  yes  is a number\n"
        "  Hint: Smaller."
    )
    assert str(probe(None)) == "size: not answered yet"
    assert "it raised KeyError: 1" in str(probe(lambda x: {}[x]))
    assert "did not finish within 1 seconds" in str(probe(lambda x: forever(x, x)))


def test_a_measurement_that_fails_costs_its_part_only():
    probe = Probe("size", {"broken": lambda numbers: 1 / 0, "is a number": lambda n: n((1,))})
    verdict = probe(lambda x: x)
    assert [part.passed for part in verdict.parts] == [False, True]
    assert "it cannot be measured: ZeroDivisionError" in str(verdict)


def test_the_books_table_up_to_some_place_is_no_encoding_of_ones_own():
    from posenc.check.encodings import _require_another
    from posenc.check.question import asking

    def patched(positions, dim):
        near, far = (sinusoidal_encoding(positions, dim, base=base) for base in (1e4, 37.0))
        return torch.where((positions < 400)[:, None], near, far)

    for dim, length in ((32, 64), (48, 96), (56, 90)):
        with pytest.raises(Wrong, match="those of the chapter on sinusoids"):
            _require_another(asking(patched), dim, length)


def mixed(table):
    return table @ torch.linalg.qr(noise(torch.arange(table.shape[1]), table.shape[1]))[0]


def noise(positions, dim):
    return torch.sin(positions[:, None].double() ** 2 * (1.7 + torch.arange(dim)) * 12.9898)


@pytest.mark.parametrize("near", [
    lambda table, positions: table + 1e-3 * noise(positions, table.shape[1]),
    lambda table, positions: mixed(table) + 1e-3 * noise(positions, table.shape[1]),
    lambda table, positions: torch.tanh(2 * table),
    lambda table, positions: table**3,
    lambda table, positions: table.half().double(),
], ids=["noise", "mixed", "tanh", "cubes", "rounded"])  # fmt: skip
def test_nor_is_it_nearly_or_bent_where_it_is_graded(near):
    from posenc.check.encodings import _require_another
    from posenc.check.question import asking

    def patched(positions, dim):
        table = sinusoidal_encoding(positions, dim, dtype=torch.float64)
        is_near = (positions < 401)[:, None]
        return torch.where(is_near, near(table, positions), noise(positions, dim))

    for dim, length in ((32, 64), (48, 96), (56, 90)):
        with pytest.raises(Wrong, match="of the chapter on sinusoids"):
            _require_another(asking(patched), dim, length)


@pytest.mark.parametrize("near", [True, False])
@pytest.mark.parametrize("scale", [1e308, 1e154, 1e-154, 1e-300])
def test_nor_does_it_become_another_by_its_scale(scale, near):
    from posenc.check.encodings import _require_no_sinusoids

    positions = torch.arange(128)
    table = scale * sinusoidal_encoding(positions, 32, dtype=torch.float64)
    with pytest.raises(Wrong, match="its columns are those of the chapter on sinusoids"):
        _require_no_sinusoids(table, positions, 32, near=near)
    own = scale * torch.sin(positions[:, None].double() * (0.7 + torch.arange(32) ** 0.5))
    _require_no_sinusoids(own, positions, 32, near=near)


def test_what_cannot_be_compared_is_no_encoding_of_ones_own(monkeypatch):
    from posenc.check import encodings

    positions = torch.arange(128)
    monkeypatch.setattr(encodings, "_outside_the_span", lambda *_, **__: math.nan)
    with pytest.raises(Wrong, match="its columns are those of the chapter on sinusoids"):
        encodings._require_no_sinusoids(noise(positions, 32), positions, 32, near=False)


def counted(answer_of_call):
    """An answer that looks at nothing but how often it has been called."""
    calls = itertools.count()
    return lambda *_: answer_of_call(next(calls))


@pytest.mark.long
def test_who_counts_calls_gets_no_judged_question():
    by_order = counted(lambda k: 1 if k % 617 == 0 or k % 617 >= 317 else 0)
    for test in masters()["better"].hidden(12345):
        assert not test(by_order).passed

    half_read = itertools.count()  # reads who leads, and from its place whether one does

    def phases(first, second):
        lead = sum(second) > sum(first)
        return (1 if lead else -1) if next(half_read) % 617 >= 317 else 0

    for test in masters()["better"].hidden(1):
        assert not test(phases).passed


def test_who_answers_each_part_by_its_turn_gets_no_judged_question():
    ways = [  # one for each part: neighbours, no idle pair, nothing far that looks near
        lambda dim, length: torch.linspace(0.01, 0.6, dim // 2),
        lambda dim, length: torch.linspace(0.1, 3.0, dim // 2),
    ]
    turns = itertools.count()

    def speeds(dim, length):
        return ways[next(turns) // 2 % 2](dim, length)

    for test in masters()["speeds"].hidden(3):
        assert not test(speeds).passed


@pytest.mark.parametrize("to_the_last", [True, False])
@pytest.mark.parametrize("turn", [2, math.pi, 4, 6, math.tau, 8])
def test_plain_speeds_lose_to_no_draw(turn, to_the_last):
    def speeds(dim, length):
        pairs = torch.arange(dim // 2, dtype=torch.float64)
        return (turn / length) ** (pairs / (dim // 2 - to_the_last))

    for seed in range(10):
        assert all(test(speeds).passed for test in masters()["speeds"].hidden(seed))


def steps(name, parts, seed):
    """What is asked, in order."""
    seen = []

    def answer(x):
        seen.append(x)
        return x

    probe = Probe(name, parts, seed=seed)
    return probe(answer), seen


def test_order_and_number_of_calls_are_drawn():
    def part(numbers):
        for x in range(5):
            yield
            numbers((x,))

    def other(numbers):
        for x in range(10, 15):
            yield
            numbers((x,))

    found = {seed: steps("x", {"one": part, "other": other}, seed) for seed in range(8)}
    assert all(verdict.passed for verdict, _ in found.values())
    assert len({tuple(seen) for _, seen in found.values()}) == 8
    assert len({len(seen) for _, seen in found.values()}) > 2
    assert all(set(seen) == {*range(5), *range(10, 15)} for _, seen in found.values())


def test_what_keeps_something_is_no_function():
    probe = Probe("x", {"one": lambda n: n((1,)), "two": lambda n: n((2,))})
    verdict = probe(counted(float))
    assert not verdict.passed
    assert "the same call, made again, gives another result" in str(verdict)
    assert verdict.misconception == "not a function"


def test_a_row_may_not_depend_on_what_else_is_asked_for():
    def parts(numbers):
        numbers((torch.arange(9), 4))
        numbers((7 * torch.arange(9), 4))

    def honest(positions, dim):
        return positions[:, None] * torch.ones(dim)

    def looks(positions, dim):
        return honest(positions, dim) * (2 if len(positions) > 1 and positions[1] == 7 else 1)

    assert Probe("x", {"one": parts}, asked=AskedByRows)(honest).passed
    assert not Probe("x", {"one": parts}, asked=AskedByRows)(looks).passed


def test_who_resamples_may_draw_random_numbers():
    calls = itertools.count()
    seen = lambda arguments, seed=None: Values((), (float(next(calls) % 20 == 0),))  # noqa: E731
    for chance, kept in ((0.25, True), (0.0, False)):
        asked = Asked(seen, random.Random(0), chance=chance)
        for number in range(300):
            asked((number,))
        assert asked.keeps() is kept


SETTINGS = {
    "float64": lambda: torch.set_default_dtype(torch.float64),
    "float16": lambda: torch.set_default_dtype(torch.float16),
    "no grad": lambda: torch.set_grad_enabled(False),
    "deterministic": lambda: torch.use_deterministic_algorithms(True),
    "threads": lambda: torch.set_num_threads(2),
    "printing": lambda: (torch.set_printoptions(precision=1), np.set_printoptions(legacy="1.13")),
    "numpy": lambda: np.seterr(all="raise"),
    "device": lambda: torch.set_default_device("meta"),  # one that holds no numbers
}


@pytest.fixture
def kept():
    """What a notebook may set is again as it was afterwards."""
    threads, printed = torch.get_num_threads(), np.get_printoptions()
    with np.errstate(), Settings.now().used():
        yield
    torch.set_num_threads(threads)
    torch.set_printoptions(profile="default")
    np.set_printoptions(**printed)


def asked_with_numbers():
    """Honest answers that are given no tensor."""
    yield (
        "dot_product",
        lambda offset, dim, base: sum(
            math.cos(offset / base ** (2 * i / dim)) for i in range(dim // 2)
        ),
    )
    yield "better", chapter_7.ANSWERS["better"].right[0]
    yield "reach", chapter_7.ANSWERS["reach"].right[0]


@pytest.mark.parametrize("name", SETTINGS)
def test_what_a_notebook_sets_changes_no_verdict(name, kept):
    SETTINGS[name]()
    before = Settings.now()
    for question, answer in asked_with_numbers():
        assert check.named(question)(answer).passed, question
    record = {"tensor": "float32", "shape": [2], "numbers": [1, "nan"]}
    assert str(decode(record).device) == "cpu"
    assert Values.read([1.0, 2.0]).tensor().tolist() == [1.0, 2.0]
    if name != "device":
        assert check.named("sinusoidal")(loops).passed
    if name == "float16":
        assert check.named("Root")(chapter_7.RootByLoops).passed
    assert Settings.now() == before


def test_a_model_left_in_inference_mode_is_trained_nevertheless():
    with torch.inference_mode():
        assert check.named("Root")(chapter_7.RootByLoops).passed
        assert torch.is_inference_mode_enabled()


def test_an_answer_is_given_tensors_where_the_notebook_makes_its_own(kept):
    torch.set_default_device("meta")
    ones = decode({"tensor": "float32", "shape": [3], "numbers": [1, 1, 1]})
    seen = []
    with pytest.raises(NotImplementedError, match="meta"):  # it cannot be compared afterwards
        call(lambda x, y, z: seen.extend([x, *y, z]) or 1, (ones, [ones], 3))
    assert [str(thing.device) for thing in seen[:2]] == ["meta", "meta"]
    assert seen[2] == 3


def test_what_an_answer_sets_lasts_no_longer_than_its_call(kept):
    def sets(x):
        for setting in SETTINGS.values():
            setting()
        return 1

    before = Settings.now()
    call(sets, (1,))
    assert Settings.now() == before


@pytest.mark.parametrize("made", [
    lambda: map(list, [[1, 2], [3, 4]]),
    lambda: map(lambda row: map(float, row), TABLE),
    lambda: zip((1, 3), (2, 4), strict=True),
    lambda: tuple(tuple(torch.tensor(float(x), requires_grad=True) for x in r) for r in TABLE),
    lambda: [tuple(torch.tensor(r).unbind()) for r in TABLE],
    lambda: tuple(map(tuple, TABLE)),
    lambda: [np.array(r) for r in TABLE],
    lambda: ((x for x in row) for row in TABLE),
    lambda: [range(1, 3), range(3, 5)],
    lambda: dict(TABLE).items(),
    lambda: torch.tensor(TABLE).to_sparse(),
])  # fmt: skip
def test_numbers_may_come_in_any_nest(made):
    values = ask(made, ())
    assert (values.shape, values.flat) == ((2, 2), (1.0, 2.0, 3.0, 4.0))


TABLE = ((1, 2), (3, 4))


def test_reading_what_is_returned_has_a_time_limit_too():
    class Endless(list):
        def __iter__(self):
            return itertools.repeat(1)

    assert "did not finish within 0.3 seconds" in str(doubled(lambda x, times: Endless([1])))


def test_a_time_limit_counts_the_time_of_the_processor(monkeypatch):
    start = time.monotonic()
    assert call(lambda: time.sleep(0.5) or 1, (), seconds=0.3) == 1  # others may be at work
    with pytest.raises(TooSlow):
        call(lambda: time.sleep(9) or 1, (), seconds=0.3)
    assert time.monotonic() - start < 5
    with pytest.raises(TooSlow):
        call(forever, (1, 2), seconds=0.3)


@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="nobody tells who starves")
def test_no_time_limit_counts_the_time_of_others():
    busy = "import time\nend = time.time() + 60\nwhile time.time() < end: pass"
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    others = [
        subprocess.Popen([sys.executable, "-S", "-c", busy], start_new_session=True)
        for _ in range(12)
    ]

    def slow():
        end = time.process_time() + 0.2
        while time.process_time() < end:
            pass
        return 1

    try:
        time.sleep(1)  # they have begun
        start = time.monotonic()
        assert call(slow, (), seconds=0.3) == 1
        assert time.monotonic() - start > 0.9  # it would be over
    finally:
        os.sched_setaffinity(0, cores)
        for other in others:
            other.kill()
            other.wait()


@pytest.mark.parametrize("name", check.names())
def test_every_question_survives_the_worst(name):
    question = check.named(name)
    for answer in (None, 3, "x", lambda *_: None, raising(SystemExit()), lambda *_: NUMBERS):
        verdict = question(answer)
        assert not verdict.passed
        assert str(verdict).startswith(f"{name}: ")


def test_a_question_is_found_by_its_name():
    assert check.moved is check.named("moved")
    assert {"moved", "my_encoding", "Root"} <= set(dir(check))
    with pytest.raises(ValueError, match="there is no question 'mooved'; there are: Root, "):
        check.named("mooved")
    with pytest.raises(AttributeError, match="there is no question 'mooved'"):
        check.mooved  # noqa: B018
    with pytest.raises(ValueError, match="no question"):
        check.named("../questions/moved")


# On record

RECORDED = {name: made for name, made in masters().items() if isinstance(made, Comparison)}


@pytest.mark.parametrize("name", RECORDED)
def test_a_misconception_is_recognised_by_its_own_results(name):
    master, question = RECORDED[name], replace(check.named(name), refuses=())
    names = [known.name for known in master.misconceptions]
    assert len(set(names)) == len(names)
    assert len({known.hint for known in master.misconceptions}) >= 3
    if set(master.references) != {"call"}:
        return  # asked in a model: tests/answers has classes
    assert question(master.references["call"]).passed
    for known in master.misconceptions:
        verdict = question(known.wrong)
        assert not verdict.passed
        assert verdict.misconception == known.name


@pytest.mark.parametrize("name", RECORDED)
def test_what_is_on_record_is_what_the_instructor_has(name):
    """If it is not, type: python -m grading.record."""
    kept, made = check.named(name), RECORDED[name].question()
    assert kept.misconceptions == made.misconceptions
    for setting in ("name", "tolerance", "seconds", "where", "refuses", "hints"):
        assert getattr(kept, setting) == getattr(made, setting)
    near = made.tolerance / 4
    for one, other in zip(kept.cases, made.cases, strict=True):
        assert (one.label, one.way, one.alone, one.places) == (
            other.label,
            other.way,
            other.alone,
            other.places,
        )
        assert _alike(encode(one.arguments), encode(other.arguments), 1e-6)
        assert one.right.close(other.right, near)
        for kept_wrong, wrong in zip(one.wrong, other.wrong, strict=True):
            assert (kept_wrong is None) == (wrong is None)
            assert wrong is None or kept_wrong.close(wrong, near)


def _alike(one: object, other: object, near: float) -> bool:
    """Whether both are the same data: processors differ in a softmax's last digit."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_alike, one, other, itertools.repeat(near)))
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and _alike([*one.values()], [*other.values()], near)
    if float in (type(one), type(other)) and {type(one), type(other)} <= {int, float}:
        return abs(one - other) <= near * max(1.0, abs(other))
    return type(one) is type(other) and one == other


@pytest.mark.parametrize("place", ["numbers", "shape", "tensor"])
def test_other_data_are_not_alike(place):
    data = encode((torch.tensor([0.25, 0.5]), [1, "word"]))
    other = encode((torch.tensor([0.25, 0.5]), [1, "word"]))
    assert _alike(data, other, 1e-9)
    other[0]["numbers"][1] += 1e-12
    assert _alike(data, other, 1e-9)
    other[0][place] = {"numbers": [0.25, 0.5001], "shape": [1, 2], "tensor": "float64"}[place]
    assert not _alike(data, other, 1e-9)
    assert not _alike([1, "word"], [1, "words"], 1e-9)
    assert not _alike([1], [1, 2], 1e-9)


def test_only_questions_are_on_record(tmp_path):
    (tmp_path / "old.json").write_text("{}")
    small = {name: RECORDED[name] for name in ("relative", "slopes")}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record, "masters", lambda: small)
        record.write(tmp_path)
    assert sorted(path.stem for path in tmp_path.iterdir()) == ["relative", "slopes"]
    assert sorted(path.stem for path in check.QUESTIONS.iterdir()) == sorted(RECORDED)
    assert Question.load(tmp_path / "relative.json") is not None


@pytest.mark.parametrize(
    "argument",
    [
        3,
        -2.5,
        math.inf,
        "word",
        True,
        ["a", [1, 2]],
        torch.tensor([1, 2]),
        torch.tensor([[0.1, -math.inf]]),
        torch.tensor([math.pi], dtype=torch.float64),
        torch.zeros(0, 3),
        torch.arange(6.0).reshape(2, 3).T,
    ],
)
def test_arguments_survive_being_written(argument):
    again = decode(encode(argument))
    if isinstance(argument, torch.Tensor):
        assert torch.equal(again, argument)
        assert (again.dtype, again.stride()) == (argument.dtype, argument.stride())
    else:
        assert again == argument


def test_nothing_else_can_be_written():
    for argument in (object(), lambda: 1, torch.tensor(1j), {"a": 1}, None):
        with pytest.raises(TypeError, match="must"):
            encode(argument)


@pytest.mark.parametrize(
    "data",
    [
        None,
        3,
        [],
        {},
        {"shape": [2]},
        {"shape": 2, "numbers": [1, 2]},
        {"shape": [2], "numbers": [1, 2, 3]},
        {"shape": [-1], "numbers": []},
        {"shape": [10**9], "numbers": [1]},
        {"shape": [500, 500], "numbers": [1]},
        {"shape": [True], "numbers": [1]},
        {"shape": [2], "numbers": [1, "2"]},
        {"shape": [2], "numbers": [1, None]},
        {"shape": [1], "numbers": [True]},
        {"shape": [1], "numbers": [10**400]},
        {"shape": [1] * 9, "numbers": [1]},
        {"shape": [1], "numbers": "1"},
    ],
)
def test_values_are_read_strictly(data):
    with pytest.raises(ValueError, match="must"):
        Values.decode(data)


def test_values_survive_being_written():
    for values in (
        Values((2,), (1.5, math.inf)),
        Values((), (-2.0,)),
        Values((2, 2), (7.0,) * 4),
        Values((0,), ()),
    ):
        assert Values.decode(values.encode()) == values
    assert Values((1,), (1.23456789,)).encode(3)["numbers"] == [1.23]


# What a question refuses


def test_an_answer_may_not_call_what_it_should_write(monkeypatch):
    import posenc
    from posenc import sinusoidal_encoding as renamed
    from posenc.sinusoidal import sinusoidal_encoding

    for answer in (
        lambda p, dim, base: posenc.sinusoidal_encoding(p, dim, base=base),
        lambda p, dim, base: renamed(p, dim, base=base),
        lambda p, dim, base: posenc.tensor2tensor_encoding(p, dim, base=base),
    ):
        verdict = check.sinusoidal(answer)
        assert "it calls a function of `posenc` that this question does without" in str(verdict)
        assert "write it yourself" in verdict.hint
    table = sinusoidal_encoding(torch.arange(3), 4)  # afterwards it is as before
    assert table.shape == (3, 4)


@pytest.mark.parametrize("name", RECORDED)
def test_what_is_refused_exists(name):
    for refused in RECORDED[name].settings["refuses"]:
        assert list(_refused([refused]))


def test_all_of_the_package_is_refused_where_a_question_does_without_it():
    from posenc import alibi_slopes

    names = {function.__name__ for function in _refused(["posenc"])}
    assert {"angles", "causal_mask", "llama3_scaling", "relative_positions"} < names
    for name in ("sinusoidal", "relative", "buckets", "skewed", "rotated"):
        verdict = check.named(name)(lambda *_: alibi_slopes(8))
        assert "that this question does without" in str(verdict)
    assert len(alibi_slopes(8)) == 8


def test_a_module_that_is_loaded_between_two_questions_is_refused_as_well(monkeypatch):
    module = ModuleType("posenc.loaded_later")
    exec(compile("def found(): return 1", "loaded_later.py", "exec"), vars(module))
    assert module.found not in _refused(["posenc"])
    monkeypatch.setitem(sys.modules, module.__name__, module)
    assert module.found in _refused(["posenc"])


def test_checks_need_no_more_than_torch():
    code = (
        "import sys, torch; before = set(sys.modules); from posenc import check;"
        "check.sinusoidal(None); check.Root(None); check.my_encoding(None);"
        "heavy = {'tqdm', 'matplotlib', 'ipywidgets', 'joblib'};"
        "print(sorted(heavy & (set(sys.modules) - before)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_all_bits_of_a_seed_count():
    """With the 32 bits that torch uses, an answer could find the seed, and with it the truth."""
    drawn = {str(luck.losses(random.Random(5 + n * 2**32), 5, 0.0, 3.0)) for n in range(4)}
    assert len(drawn) == 4
