"""Turn a report about a submission into points, notes and reasons."""

import importlib.machinery
import importlib.util
import platform
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

import posenc
from grading import notebook, rendered, without, written
from grading.assignment import RUNS, Asked, Assignment
from grading.cells import CELLS
from grading.examine import CALLED
from grading.submissions import plain, quoted
from posenc.check.calls import UNANSWERED
from posenc.check.ways import ALL

_A_TEXT = 40  # characters that are more than a remark
_SHOWN = 5  # places that are named
# What a notebook says it lacks, which it may say though it is not so
_MODULE = re.compile(r"ModuleNotFoundError: No module named '([A-Za-z0-9_.]{1,60})'")
_MAGIC = re.compile(r"UsageError: Cell magic `%%([A-Za-z0-9_]{1,60})` not found")
_NAME = re.compile(r"ImportError: (cannot import name .*)")
_NO_PYTHON = re.compile(r"(?:Syntax|Indentation|Tab)Error")
_DEVICE = re.compile(  # how torch says that it lacks one
    r"not compiled with (CUDA|XPU)|support for (mps|xla) devices|from the '(MPS|XLA)' backend"
    r"|without (MPS) backend|NVIDIA driver|(?:No|Cannot get) CUDA|CUDA-capable"
    r"|CUDA is not available"
)
_MOST = 20  # exceptions that are shown
# Of what was found after a hidden input had been sent, no number is for the student's page
_LEFT_OUT_LATE = "when answers were tried, a cell had to be left out; your instructor sees which"
_NOT_THERE = "a function of posenc that is not there while grading, so that line was passed over"
_PASSED_OVER_LATE = f"a cell calls {_NOT_THERE}"
IN_GENERAL = (_LEFT_OUT_LATE, _PASSED_OVER_LATE)  # what flags say in particular


@dataclass
class Mark:
    """A question, what a submission got for it and why.

    Args:
        asked: the question.
        verdicts: for each hidden test, what `posenc.check` found, as plain data.
        untouched: whether the cell for the answer is as it was handed out.
        answer: to a written question: text and pictures of each cell.
        given: points that a person gave, None if nobody has.
        comment: for the student.
        elsewhere: cells in which an answer may stand, if there is none where it should.
    """

    asked: Asked
    verdicts: list[dict] = field(default_factory=list)
    untouched: bool = False
    answer: rendered.Pieces = ()
    given: float | None = None
    comment: str = ""
    elsewhere: str = ""

    @property
    def tested(self) -> float:
        """The points of the hidden tests that passed."""
        pairs = zip(self.asked.tests, self.verdicts, strict=True)
        return sum(points for (points, _), verdict in pairs if verdict["passed"] is True)

    @property
    def shown(self) -> Markup:
        """The answer as HTML."""
        return rendered.page_part(self.answer)

    @property
    def score(self) -> float | None:
        """The points, None if nobody has given them yet."""
        if self.given is not None or self.asked.written:
            return self.given
        return self.tested


@dataclass
class Graded:
    """A submission: its questions, and what is to be said about the whole."""

    student: str
    marks: list[Mark]
    file: str = ""
    id: str = ""
    fault: str = ""  # why the file was not graded at all
    unread: str = ""  # why it could not be read
    remarks: list[str] = field(default_factory=list)  # for the student, too
    flags: list[str] = field(default_factory=list)  # for the instructor
    raised: list[str] = field(default_factory=list)
    cells: list[tuple[str, str]] = field(default_factory=list)

    @property
    def total(self) -> float:
        """The points so far."""
        return sum(mark.score or 0 for mark in self.marks)

    @property
    def possible(self) -> float:
        """The points that there are."""
        return sum(mark.asked.points for mark in self.marks)

    @property
    def ungraded(self) -> str:
        """Why there are no points, unless a person has given some."""
        return (self.fault or self.unread) * (not self.total)

    @property
    def pending(self) -> list[str]:
        """The questions that nobody has given points for, though there is something to grade."""
        if self.ungraded:
            return []
        return [mark.asked.name for mark in self.marks if mark.score is None]


def headings(cells: Sequence[tuple[str, str]]) -> list[str]:
    """The heading above each cell."""
    above, found = "the beginning", []
    for kind, source in cells:
        lines = re.findall(r"^##? +(\S.*)$", source, re.MULTILINE) if kind == "markdown" else []
        above = plain(lines[-1].strip()[:60]) if lines else above
        found.append(above)
    return found


def judge(
    student: str,
    cells: list[tuple[str, str]],
    report: dict,
    assignment: Assignment,
    pictures: Sequence[dict[str, str]] = (),
) -> Graded:
    """Turn a report into points.

    Args:
        student: whose it is.
        cells: kind and source of each cell that was handed in.
        report: see `grading.examine`, and "read", if that is known: see `Assignment.read`.
        assignment: what was asked.
        pictures: those of each cell.
    """
    where = headings(cells)
    remarks = [report["error"]] if report["error"] else ["it has no cells"] * (not cells)
    remarks += _left_out(_found(report, "left_out", late=False), where)
    remarks += _passed_over(_found(report, "refused", late=False), cells, assignment)
    late = _left_out(_found(report, "left_out", late=True), where)
    remarks += [_LEFT_OUT_LATE] * bool(late)
    passed_over = _passed_over(_found(report, "refused", late=True), cells, assignment)
    remarks += [_PASSED_OVER_LATE] * bool(passed_over)
    read = report.get("read") or assignment.read(cells)
    stubs = dict(read["stubs"])
    remarks += _passed_stubs(stubs, assignment)
    code = [s for n, (kind, s) in enumerate(cells) if kind == "code" and n not in stubs]
    untouched = {name for n, name in enumerate(read["untouched"]) if n not in stubs}
    marks = []
    titles = {asked.title for asked in assignment.questions}
    for asked in assignment.questions:
        mark = Mark(asked)
        if asked.written:
            parts = written.answer(cells, asked.title, titles, asked.prompt)
            mark.answer = [(text, pictures[n] if pictures else {}) for n, text in parts]
        else:
            failed = {"passed": False, "parts": [], "hint": "", "misconception": "", "words": []}
            mark.verdicts = report["verdicts"].get(asked.name) or [failed] * len(asked.tests)
            mark.untouched = asked.name in untouched
        marks.append(mark)
    words = notebook.words("\n".join(code))
    remarks += _missing(marks, words, set(read["made"]), cells) + _in_text(marks, read["in_text"])
    remarks += _shadowing(marks, read["imported"])
    sources = {str(n): source for n, (kind, source) in enumerate(cells) if kind == "code"}
    raised = [
        f"below {quoted(where[int(n)], 60)}: {quoted(text, 200)}"
        for n, text in report["raised"].items()
    ]
    if len(raised) > _MOST:
        raised[_MOST:] = [f"and in {len(raised) - _MOST} more cells"]
    return Graded(
        student,
        marks,
        remarks=list(dict.fromkeys(remarks)),
        flags=late
        + passed_over
        + _lacking(report["raised"], marks, sources, read["imported"])
        + _no_python(report["raised"], marks, read["no_python"])
        + _without_a_gpu(report["raised"], marks, "\n".join(code))
        + _borrowing(marks)
        + _ended(marks)
        + ["it was ended from outside once, and ran again: is memory short?"] * report["killed"]
        + _odd(read["odd"])
        + _unshown(marks)
        + _elsewhere(cells, marks, assignment, pictures),
        raised=raised,
        cells=cells,
    )


def _lacking(
    raised: dict[str, str], marks: Sequence[Mark], sources: dict[str, str], imported: Sequence[str]
) -> list[str]:
    """What a notebook uses and the grader lacks, if points are missing; else what it says of it."""
    if not _points_are_missing(marks):
        return []
    texts = {n: raised[n] for n in sorted(raised, key=int)}
    magics = ((match[1], n) for n, text in texts.items() if (match := _MAGIC.match(text)))
    names = dict.fromkeys(m[1] for m in map(_MODULE.match, texts.values()) if m)
    named = [
        n for n in list(names)[:_MOST] if any(f"{other}.".startswith(f"{n}.") for other in imported)
    ]
    lacks = {
        "it imports": [name for name in named if not _is_here(name)],
        "a cell begins with": [f"%%{m}" for m, n in magics if m in _magics(sources.get(n, ""))],
    }
    notes = []
    for verb, found in lacks.items():
        named = list(dict.fromkeys(found))
        shown = ", ".join(quoted(name, most=30) for name in named[:_SHOWN])
        shown += ", ..." * (len(named) > _SHOWN)
        notes += [f"{verb} what is not here: {shown}"] * bool(named)
    said = [(n, match[1]) for n, text in texts.items() if (match := _NAME.match(text))]
    return notes + [f"cell {int(n) + 1} says {quoted(text)}" for n, text in said[:1]]


def _magics(source: str) -> list[str]:
    """The magics for the whole cell that it begins with."""
    found, at = [], 0
    while match := CELLS.match(source, at):
        found.append(match[1])
        at = match.end()
    return found


def _is_here(name: str) -> bool:
    """Whether the Python that grades has a module; none is imported to know it."""
    if name in sys.modules:
        return True
    first, *inner = name.split(".")
    try:
        spec = importlib.util.find_spec(first)
        for part in inner:
            first = f"{first}.{part}"
            places = spec and spec.submodule_search_locations
            spec = importlib.machinery.PathFinder.find_spec(first, places) if places else None
    except ValueError:  # it is no name of a module
        return True
    return spec is not None


def _no_python(raised: dict[str, str], marks: Sequence[Mark], unread: Sequence[int]) -> list[str]:
    """Cells that this Python cannot read, as Colab's newer one may, if points are missing."""
    found = [n for n in map(str, unread) if _NO_PYTHON.match(raised.get(n, ""))]
    if not found or not _points_are_missing(marks):
        return []
    version = ".".join(platform.python_version_tuple()[:2])
    said = f"cell {int(found[0]) + 1} is nothing for Python {version}: {quoted(raised[found[0]])}"
    more = f", nor is cell {', '.join(str(int(n) + 1) for n in found[1:_SHOWN])}"
    return [said + more * (len(found) > 1)]


def _points_are_missing(marks: Sequence[Mark]) -> bool:
    return any(not mark.asked.written and mark.tested < mark.asked.points for mark in marks)


def _without_a_gpu(raised: dict[str, str], marks: Sequence[Mark], code: str) -> list[str]:
    """The answers that ask for a device, or, if points are missing, the cells that do.

    Only devices that the code names, as torch does, in small letters: anybody can raise an error.
    """
    coded = [mark for mark in marks if not mark.asked.written and mark.tested < mark.asked.points]
    answers = {
        mark.asked.title.partition(" ")[0]: _devices(w for v in mark.verdicts for w in v["words"])
        for mark in coded
    }
    cells = {f"cell {int(n) + 1}": _devices([text]) for n, text in raised.items() if coded}
    named = {
        device
        for device in set().union(*answers.values(), *cells.values())
        if device.lower() in code
    }
    answers, cells = ({k: v & named for k, v in s.items() if v & named} for s in (answers, cells))
    asking = answers or dict(list(cells.items())[:_SHOWN])
    if not asking:
        return []
    names = ", ".join(sorted(set().union(*asking.values())))
    return [f"{', '.join(asking)} ask{'s' * (len(asking) < 2)} for {names}, which is not here"]


def _devices(texts: Iterable[str]) -> set[str]:
    """The devices that these texts lack."""
    found = filter(None, map(_DEVICE.search, texts))
    return {next(filter(None, match.groups()), "CUDA").upper() for match in found}


def _passed_stubs(stubs: dict[int, str], assignment: Assignment) -> list[str]:
    titles = {asked.name: asked.title.partition(" ")[0] for asked in assignment.questions}
    return [
        f"cell {n + 1} is as it was handed out, and {titles[name]} is answered above it, so it was "
        "passed over"
        for n, name in list(stubs.items())[:_SHOWN]
    ]


def _found(report: dict, what: str, *, late: bool) -> dict[str, str] | list[int]:
    """Cells that were left out or refused before a hidden input was sent, or only after it."""
    after = {str(number) for number in report["late"].get(what, ())}
    kept = [number for number in report[what] if (str(number) in after) == late]
    return {n: report[what][n] for n in kept} if isinstance(report[what], dict) else kept


def _left_out(reasons: dict[str, str], where: list[str]) -> list[str]:
    """A remark for each cell; for neighbours with one reason, one for all."""
    groups: list[list[int]] = []
    for number in sorted(map(int, reasons)):
        last = groups[-1][-1] if groups else -2
        same = number == last + 1 and reasons[str(number)] == reasons[str(last)]
        groups[-1].append(number) if same else groups.append([number])
    return [
        f"cell {group[0] + 1}, below {quoted(where[group[0]])}, was left out: "
        f"{reasons[str(group[0])]}"
        if len(group) == 1
        else f"cells {group[0] + 1} to {group[-1] + 1} were left out: {reasons[str(group[0])]}"
        for group in groups
    ]


def _passed_over(numbers: Sequence[int], cells: Sequence, assignment: Assignment) -> list[str]:
    """Where lines of the student's own call a function that is not there while grading."""
    asked = set().union(*map(_refused, assignment.questions))

    def is_own(number: int) -> bool:
        own = notebook.words(notebook.own([cells[number]], assignment.given_lines))
        return bool(own) and bool(own & asked or not asked & notebook.words(cells[number][1]))

    own = list(filter(is_own, numbers))
    if not own:
        return []
    places = ", ".join(str(n + 1) for n in own[:_SHOWN]) + ", ..." * (len(own) > _SHOWN)
    return [f"cell {places} calls {_NOT_THERE}"]


def _missing(marks: Sequence[Mark], words: set[str], made: set[str], cells: Sequence) -> list[str]:
    """The names that no cell has, or that none makes and that stand for nothing."""
    names = [mark.asked.name for mark in marks if not mark.asked.written]
    none = {mark.asked.name for mark in marks if _faults(mark) == {UNANSWERED}} - made
    missing = [name for name in names if name not in words or name in none]
    if not cells or not missing:
        return []
    if len(missing) == len(names) and not any(mark.answer for mark in marks):
        return ["it answers no question of this assignment: is it another's?"]
    return [f"nothing is named {', '.join(missing)}"]


def _faults(mark: Mark) -> set[str]:
    return {part["fault"] for verdict in mark.verdicts for part in verdict["parts"]}


def _in_text(marks: Sequence[Mark], found: Sequence) -> list[str]:
    """Functions that stand in cells of text, where they do not run, if they have no points."""
    titles = {m.asked.name: m.asked.title.partition(" ")[0] for m in marks if not m.tested}
    return [
        f"cell {number + 1} has a function of {titles[name]}, but is no cell of code, so it did "
        "not run"
        for number, name in found
        if name in titles
    ][:_SHOWN]


def _shadowing(marks: Sequence[Mark], imported: Sequence[str]) -> list[str]:
    """Imports of all names, some of which may stand for builtins, if points are missing."""
    found = [name.removesuffix(".*") for name in imported if name.endswith(".*")]
    if not found or not _points_are_missing(marks):
        return []
    shown = ", ".join(quoted(name, most=30) for name in found[:_SHOWN])
    return [f"it imports every name of {shown}: some may hide builtins, as numpy's sum and max do"]


def _unshown(marks: Sequence[Mark]) -> list[str]:
    """Written answers of which a page does not show all."""
    faults = [(m.asked.title.partition(" ")[0], rendered.fault(m.answer)) for m in marks]
    return [f"{number}: {fault}" for number, fault in faults if fault]


def _elsewhere(
    cells: Sequence, marks: Sequence[Mark], assignment: Assignment, pictures: Sequence[dict]
) -> list[str]:
    """Own text, and pictures, where no answer is looked for, if a written question has none."""
    empty = [m.asked.title for m in marks if m.asked.written and not m.answer and m.given is None]
    if not empty:
        return []
    answers = {line.strip() for m in marks for text, _ in m.answer for line in text.splitlines()}
    known = assignment.given_text | answers
    above, below = headings(cells), {plain(title[:60]) for title in empty}
    places = []
    for number, (kind, text) in enumerate(cells):
        if kind == "code" and above[number] in below:  # where the answer was to stand
            text = notebook.told(notebook.own([(kind, text)], assignment.given_lines))
        elif kind not in ("markdown", "raw"):
            continue
        is_drawn = kind == "code" and notebook.DRAWN in (pictures[number] if pictures else ())
        if len(_new(text, known)) >= _A_TEXT or (is_drawn and above[number] in below):
            places.append(str(number + 1))
    if not places:
        return []
    shown = ", ".join(places[:_SHOWN]) + ", ..." * (len(places) > _SHOWN)
    for mark in marks:
        mark.elsewhere = shown * (mark.asked.title in empty)
    numbers = ", ".join(title.partition(" ")[0] for title in empty)
    return [f"no answer below the heading of {numbers}, but own text in cell {shown}"]


def _new(text: str, known: set[str]) -> str:
    lines = (line.strip() for line in text.splitlines())
    return "".join(line for line in lines if line not in known and not line.startswith(RUNS))


def _borrowing(marks: Sequence[Mark]) -> list[str]:
    """The answers that call a function of `posenc` which is not there for them."""
    faults = {mark.asked.title.partition(" ")[0]: _faults(mark) for mark in marks}
    asking = [number for number, found in faults.items() if without.SAID in found]
    numbers, calls = ", ".join(asking), "call" if len(asking) > 1 else "calls"
    return [f"{numbers} {calls} what is to be written without posenc"] if asking else []


def _ended(marks: Sequence[Mark]) -> list[str]:
    """The answers at which the sandbox ended, and why; of a test, not of what it was asked."""
    found = [(m.asked.title.partition(" ")[0], sorted(_faults(m))) for m in marks]
    return [
        f"{number}: {fault}" for number, own in found for fault in own if fault.startswith(CALLED)
    ]


def _odd(found: Sequence[str]) -> list[str]:
    """Code that a person should look at; read in the text that was handed in."""
    return [f"look at its code: {', '.join(found)}"] if found else []


def _refused(asked: Asked) -> set[str]:
    """The names of what is not there for a question."""
    named = {name.rpartition(".")[2] for name in asked.refuses}
    return named | set(posenc.__all__) if ALL in named else named
