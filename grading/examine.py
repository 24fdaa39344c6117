"""Examine one submission: its notebook runs in a sandbox, what it answers is compared here.

This side never runs a student's code. It draws nothing from the sandbox but plain numbers, answers
to inputs that the notebook could not know, and short texts, of which a page shows the class alone
(`grading.known`).

The questions that refuse functions of `posenc` are asked in a sandbox without these.

A cell that ends Python, fills the memory or does not end is left out, and everything is run again
without it; so is a question at which that happens. So it costs only what is in it. Where all of
its time is used up so, what stands below runs from a reserve, with less time for each cell.
What was killed from outside, as where the machine's memory is full, runs once more before, if there
is time: once, since a cell can end Python as if it had been.

An answer that fails is asked once more, each time in a new sandbox, as it is at the end of the
notebook, if any name stands for something else there, and as it was when its own check had called
it right, with the cells up to there alone. The version with the most points counts,
whole: each is the student's own. All these runs of a notebook share one more limit.
"""

import contextlib
import secrets
import signal
import threading
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from grading import without
from grading.known import reported
from grading.sandbox import PYTHON, Ended, Killed, Limits, Sandbox
from posenc.check import Probe, Question, Values, Verdict
from posenc.check.plain import encode
from posenc.check.question import Part

_RUNNER = Path(__file__).with_name("runner.py")
_IGNORED = 1000  # messages that nobody asked for; then it is talking nonsense
_SAID = 4  # messages about a cell
_NONSENSE = "it sends what nobody asked for"
_TAKING = 5.0  # seconds until a message is taken, by who does nothing but wait for it
_LEAST = 20.0  # seconds that are kept for asking, and of a cell that is tried in a hurry
_JUDGING = 300.0  # seconds of this side's own processor time for a test: whatever was sent
_OURS = "it could not be graded: its sandbox ended before a cell had begun: {}"
CALLED = "when it was called,"
_NO_TIME = "came when no time was left"
_WORDS = 5  # texts of a notebook's own that are kept for each test


class _Run:
    """One sandbox, and the notebook in it."""

    def __init__(
        self,
        cells: Sequence[tuple[int, str, bool]],
        names: Sequence[str],
        refused: tuple[str, ...],
        limits: Limits,
        deadline: float,
        late: bool = False,
    ):
        self.limits, self.deadline = limits, deadline  # in the sandbox's own seconds
        self.at: int | None = None
        self.hurried: int | None = None  # cells below this one have less time
        self.raised: dict[int, str] = {}
        self.refused: set[int] = set()
        self.changed: set[str] = set()  # answers that may be others at the end
        self.checked: dict[str, int] = {}  # the cell that showed an answer to be right
        self.words: list[str] = []  # what it said of the test that is tried
        program = [PYTHON, "-s", "-P", "-c", _RUNNER.read_text(encoding="utf-8")]
        self.sandbox = Sandbox(program, without.files(refused) | without.files_of_torch(), limits)
        self._cells, self._names, self._late = list(cells), list(names), late
        self._numbers = {number for number, *_ in cells}

    def start(self) -> None:
        """Run the cells.

        Raises:
            Ended: if one of them, or all together, cannot be run; `at` says which.
        """
        told = {"cells": self._cells, "names": self._names, "refusal": without.SAID}
        told["late"] = self._late
        self.sandbox.send(told, self.deadline)
        cell_deadline = self.deadline  # to begin may take long on a busy machine: nobody's fault
        for _ in range(_IGNORED + _SAID * len(self._cells)):
            said = self.sandbox.receive(min(cell_deadline, self.deadline))
            if not isinstance(said, dict):
                continue
            if "next" in said and (said["next"] is None or self._is_cell(said["next"])):
                self.sandbox.send({"go": said["next"]}, self.deadline)  # all before it is in limits
                cell_deadline = min(cell_deadline, self.sandbox.seconds + _TAKING)
            if said.get("ready") is True:
                changed = said.get("changed")
                named = changed if isinstance(changed, list) else []
                self.changed = {name for name in self._names if name in named}
                checked = said.get("checked")
                cells = checked if isinstance(checked, dict) else {}
                found = {name: cells.get(name) for name in self._names}
                self.checked = {name: at for name, at in found.items() if self._is_cell(at)}
                return
            if self._is_cell(said.get("at")):
                if said["at"] != self.at:  # its time begins once
                    cell_deadline = self.sandbox.seconds + self._patience(said["at"])
                self.at = said["at"]
                self.sandbox.send({"go": self.at}, self.deadline)  # what it does is charged to it
            if self._is_cell(said.get("refused")):
                self.refused.add(said["refused"])
            raised = said.get("raised")
            pair = raised if isinstance(raised, list) and len(raised) == 2 else [None, None]
            if self._is_cell(pair[0]) and isinstance(pair[1], str):
                self.raised[pair[0]] = pair[1][:200]
        raise Ended(_NONSENSE)

    def _patience(self, number: int) -> float:
        """The seconds that a cell has."""
        is_hurried = self.hurried is not None and number > self.hurried
        return min(self.limits.cell_seconds, _LEAST) if is_hurried else self.limits.cell_seconds

    def _is_cell(self, number: object) -> bool:
        """Whether it is the number of a cell that was sent: whoever says it is a stranger."""
        return type(number) is int and number in self._numbers

    def ask(
        self,
        name: str,
        arguments: tuple,
        *,
        way: str = "call",
        seconds: float = 10.0,
        refuses: Sequence[str] = (),
        seed: int | None = None,
    ) -> Values:
        """The numbers that the notebook's function gives.

        Raises:
            Wrong: if it gives none.
            Ended: if the sandbox is no more.
        """
        number = secrets.token_hex(8)
        request = {"id": number, "ask": name, "way": way, "arguments": encode(arguments)}
        request |= {"seconds": seconds, "refuses": list(refuses), "seed": seed}
        taking = self.sandbox.seconds + _TAKING
        deadline = min(self.deadline, taking)
        self.sandbox.send(request, deadline)
        for _ in range(_IGNORED):
            said = self.sandbox.receive(deadline)
            if said is None:  # what may have been the reply: no other will come
                raise reported(None)
            if not isinstance(said, dict):
                continue
            if said.get("id") == number:
                return self._read(said)
            if said.get("taken") == number:  # which a cell of the notebook has not eaten
                deadline = min(self.deadline, taking + 2 * seconds + 10)
        raise Ended(_NONSENSE)

    def _read(self, said: dict) -> Values:
        if "values" in said:
            try:
                return Values.decode(said["values"])
            except ValueError:
                raise reported("it must return real numbers") from None
        fault = said.get("fault")
        if isinstance(fault, str) and len(self.words) < _WORDS and fault[:400] not in self.words:
            self.words.append(fault[:400])
        raise reported(fault)


@contextlib.contextmanager
def _patience() -> Iterator[None]:
    """A limit for this side: to measure what an answer sends may take long, and then it ends."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        raise Ended("it sent what takes too long to measure")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, _JUDGING)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _failed(test: Question | Probe, reason: str) -> Verdict:
    labels = [c.label for c in test.cases] if isinstance(test, Question) else list(test.parts)
    return Verdict(test.name, tuple(Part(label, reason) for label in labels))


def _judged(test: Question | Probe, run: _Run) -> Verdict:
    if isinstance(test, Probe):
        return test.judge(
            lambda arguments, seed=None: run.ask(
                test.name, arguments, seconds=test.seconds, refuses=test.refuses, seed=seed
            )
        )
    return test.judge(
        lambda case, seed=None: run.ask(
            test.name,
            case.arguments,
            way=case.way,
            seconds=test.seconds,
            refuses=test.refuses,
            seed=seed,
        )
    )


def examine(
    code: Sequence[tuple[int, str, bool]],
    tests: dict[str, list[Question | Probe]],
    limits: Limits,
    points: dict[str, Sequence[float]],
) -> dict:
    """Run the notebook and try its answers.

    Args:
        code: number and source of each cell, and whether it was handed out.
        tests: for each coded question, its hidden tests.
        limits: what the submission may use.
        points: what each of these tests is worth.

    Returns:
        A report of plain data: verdicts by question and test, exceptions and cells left out by
        number, cells that call what is not there while grading, which of these two were found
        after a hidden input had been sent, and may say what it was, whether it was killed from
        outside, what stopped it, if anything did, whether that was a fault of ours, and it is to be
        graded again, and the seconds that it took, as `Sandbox.seconds` counts them.
    """
    report = {"error": "", "verdicts": {}, "raised": {}, "left_out": {}, "refused": []}
    report |= {"ours": False, "seconds": 0.0, "killed": False}
    early: dict[str, set[int]] = {}
    ended: dict[str, str] = {}
    again = limits.seconds  # for whatever is asked once more
    for refused, asked in _together(tests):
        changed: set[str] = set()
        checked: dict[str, int] = {}
        for run in _runs(code, list(asked), refused, limits, report):
            with run.sandbox:
                try:
                    run.start()
                except Ended as error:
                    if run.at is None:  # no cell has begun: a fault of ours, if there was time
                        report["ours"] = run.deadline >= limits.seconds
                        late = f"it took longer than {limits.seconds:g} seconds"
                        report["error"] = _OURS.format(error) if report["ours"] else late
                        break
                    if not _is_forgiven(error, run, report):
                        report["left_out"][run.at] = str(error)
                    continue
                report["refused"] = sorted({*report["refused"], *run.refused})
                if not report["verdicts"]:  # no cell of it has seen a hidden input
                    report["raised"] = run.raised
                    early = {what: set(report[what]) for what in ("left_out", "refused")}
                changed |= run.changed
                checked = run.checked
                if _asked(asked, run, report["verdicts"], ended, report):
                    break
        if report["error"]:
            break
        last = max((number for number, *_ in code), default=0)
        own = max((number for number, _, is_given in code if not is_given), default=0)
        for at, names in [(last, changed), *_by_cell(checked, before=own)]:
            missed = {
                name: asked[name]
                for name in asked
                if name in names and not all(v["passed"] for v in report["verdicts"][name])
            }
            if missed and again > 0:
                version = [cell for cell in code if cell[0] <= at]
                again -= _once_more(version, missed, refused, limits, again, points, report)
    if again <= 0 and not report["error"]:
        report["error"] = f"what was asked once more took longer than {limits.seconds:g} seconds"
    report["late"] = {what: sorted(set(report[what]) - early[what]) for what in early}
    for name, asked in tests.items():
        reason = ended.get(name) or report["error"] or "there was no time left to try it"
        found = report["verdicts"].setdefault(name, [])
        found += [_plain(_failed(test, reason)) for test in asked[len(found) :]]
    return report


def _is_forgiven(error: Ended, run: _Run, report: dict) -> bool:
    """Whether what ended so runs once more: the first that was killed, if there is time."""
    if not isinstance(error, Killed) or report["killed"]:
        return False
    report["killed"] = True
    return 2 * run.sandbox.seconds < run.deadline


def _by_cell(checked: dict[str, int], *, before: int) -> list[tuple[int, set[str]]]:
    """The answers that each of these cells has checked."""
    cells = sorted({number for number in checked.values() if number < before})
    return [(at, {name for name, number in checked.items() if number == at}) for at in cells]


def _once_more(
    code: Sequence[tuple[int, str, bool]],
    tests: dict,
    refused: tuple[str, ...],
    limits: Limits,
    left: float,
    points: dict[str, Sequence[float]],
    report: dict,
) -> float:
    """Try these answers as they are when these cells have run; who gets more points so keeps them.

    Not the better of each test: two wrong versions are no right one. Returns the seconds it took,
    of those that are left: the notebook says how often it is asked, and not how long.
    """
    kept = [cell for cell in code if cell[0] not in report["left_out"]]
    run, verdicts = _Run(kept, list(tests), refused, limits, left, late=True), {}
    with run.sandbox, contextlib.suppress(Ended):
        run.start()
        _asked(tests, run, verdicts, {})
    report["seconds"] += run.sandbox.seconds
    for name, found in verdicts.items():
        if _worth(found, points[name]) > _worth(report["verdicts"][name], points[name]):
            report["verdicts"][name] = found
    return run.sandbox.seconds


def _worth(verdicts: Sequence[dict], points: Sequence[float]) -> float:
    return sum(worth for verdict, worth in zip(verdicts, points, strict=False) if verdict["passed"])


def _together(tests: dict) -> list[tuple[tuple[str, ...], dict]]:
    """The questions that refuse the same functions, fewest first: a sandbox for each group."""
    groups: dict[tuple[str, ...], dict] = {}
    for name, asked in tests.items():
        refused = tuple(sorted({name for test in asked for name in test.refuses}))
        groups.setdefault(refused, {})[name] = asked
    return sorted(groups.items(), key=lambda group: len(group[0]))


def _runs(
    code: Sequence[tuple[int, str, bool]],
    names: Sequence[str],
    refused: tuple[str, ...],
    limits: Limits,
    report: dict,
) -> Iterator[_Run]:
    """Sandboxes with what is not left out yet, until there is no time left.

    If it runs short where cells were left out, those below have not been tried: they run in a
    hurry, from a reserve of half as much; at last what is known to run, from another.
    """
    whole, took = limits.seconds, 0.0  # for each group of questions: they share nothing but cells
    for stage in ("all", "hurried", "known"):
        left = whole if stage == "all" else whole / 2
        is_first = True
        while left > 0:
            tried = max(report["left_out"], default=-1)
            kept = [cell for cell in code if cell[0] not in report["left_out"]]
            if tried >= 0 and stage == "all" and left < _LEAST + limits.cell_seconds:
                break
            if stage == "hurried" and not is_first and left < took:
                break
            if stage == "known":
                report["left_out"] |= {cell[0]: _NO_TIME for cell in kept if cell[0] > tried}
                kept = [cell for cell in kept if cell[0] < tried]
            run, is_first = _Run(kept, names, refused, limits, left), False
            run.hurried = tried if stage == "hurried" else None
            try:
                yield run
            finally:
                took = run.sandbox.seconds
                left -= took
                report["seconds"] += took
        if not report["left_out"]:
            break
    report["error"] = report["error"] or f"it took longer than {limits.seconds:g} seconds"


def _asked(
    tests: dict,
    run: _Run,
    verdicts: dict[str, list],
    ended: dict[str, str],
    report: dict | None = None,
) -> bool:
    """Try what has not been tried; False if the sandbox ended, and another is needed.

    With a report, see `_is_forgiven`.
    """
    for name, asked in tests.items():
        found = verdicts.setdefault(name, [])
        while len(found) < len(asked):
            test = asked[len(found)]
            try:
                run.words.clear()
                with _patience():
                    judged = _judged(test, run)
                found.append(_plain(judged, run.words))
            except Ended as error:
                if report and _is_forgiven(error, run, report):
                    return False
                ended[name] = f"{CALLED} {error}"
                found.append(_plain(_failed(test, ended[name])))
                return False
    return True


def _plain(verdict: Verdict, words: Sequence[str] = ()) -> dict:
    """A verdict as plain data, with what the notebook itself said."""
    return asdict(verdict) | {"passed": verdict.passed, "words": list(words)}
