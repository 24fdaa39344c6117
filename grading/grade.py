"""Grade what was handed in: `grades.csv`, a page of feedback for each student, and more.

    python -m grading.grade submissions/02_sinusoidal      into submissions/graded/02_sinusoidal

Each notebook runs in a sandbox of its own and returns numbers; a process that runs no student's
code compares them and writes (`grading.examine`). Hidden inputs are drawn from a seed, which is
kept in `run.json`: the same for all, and for the next time. Results are kept in `results/` by the
content of the submission and of what grades, so what is graded already is not graded again, and
a run that was stopped goes on when the same command is given. What could not be graded for a fault
of ours, such as a sandbox that ends before any cell has begun, or an exception here, is not kept.
"""

import argparse
import contextlib
import ctypes
import functools
import hashlib
import json
import multiprocessing
import os
import secrets
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from tqdm import tqdm

from _ext.repository import ROOT
from grading import notebook, outputs, rendered, sandbox, without, written
from grading.assignment import Assignment
from grading.examine import examine
from grading.gradebook import Gradebook
from grading.marks import Graded, judge
from grading.names import slug
from grading.sandbox import Limits
from grading.submissions import Submission, gather

_TOOLS = ("grading", "posenc")  # what decides about points
READING = 120.0  # seconds for one file; 28 MB of a letter that means eighteen others take some 40


@functools.cache
def digest() -> str:
    """A hash of everything that decides about points, but the master."""
    files = [path for name in _TOOLS for path in sorted((ROOT / name).rglob("*"))]
    found = hashlib.sha256()
    for path in files:
        if path.suffix in (".py", ".json", ".jsonl") and path.is_file():
            found.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
    return found.hexdigest()


def key(one: Submission, assignment: Assignment, seed: int, limits: Limits) -> str:
    """What a result must carry to be of this very submission, grader, seed and limits."""
    own = assignment.path.with_suffix(".py")
    parts = [one.content, assignment.path.read_bytes(), own.read_bytes() if own.exists() else b""]
    hashes = [hashlib.sha256(part).hexdigest() for part in parts]
    return " ".join([*hashes, digest(), str(seed), repr(limits)])


def load(path: Path, wanted: str) -> dict | None:
    """A result that is on record, if it is the wanted one."""
    try:
        report = json.loads(path.read_text(encoding="utf-8"))
        return report if report["key"] == wanted else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def empty(error: str, *, ours: bool = False) -> dict:
    """The report about what cannot be run; whether that is a fault of ours."""
    found = {"error": error, "verdicts": {}, "raised": {}, "left_out": {}, "refused": []}
    return found | {"seconds": 0.0, "late": {}, "killed": False, "ours": ours}


def failed(error: Exception) -> dict:
    """The report about what met an exception on this side: nobody but us can mend that."""
    return empty(f"it could not be graded: {type(error).__name__}: {error}"[:300], ours=True)


@functools.cache
def _assignment(path: str) -> Assignment:
    return Assignment(Path(path))


@functools.cache
def _tests(path: str, seed: int) -> dict:
    return _assignment(path).tests(seed)


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextlib.contextmanager
def _within(seconds: float) -> Iterator[None]:
    """Raise TimeoutError in what takes longer; for the main thread of a process."""

    def stop(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def run(content: bytes, path: str, seed: int, limits: Limits) -> dict:
    """Examine one notebook, in a process of the pool."""
    try:
        asked = _assignment(path)
        try:
            with _within(READING):
                try:
                    cells = notebook.read(content)
                except ValueError as error:
                    return empty(str(error))
                read = asked.read(cells)
        except TimeoutError:
            unread = {"read": asked.read([]), "unread": True}
            return empty(f"it takes more than {READING:g} seconds to read") | unread
        code, tests = asked.run_of(cells, read), _tests(path, seed)
        return examine(code, tests, limits, asked.points) | {"read": read}
    except Exception as error:
        return failed(error)


def reports(
    found: list[Submission],
    assignment: Assignment,
    out: Path,
    seed: int,
    limits: Limits,
    options: argparse.Namespace,
) -> dict[str, dict]:
    """The report about each submission: those on record, and the others from new sandboxes."""
    results, waiting = {}, []
    for one in found:
        if one.fault:
            results[one.student] = empty(one.fault)
            continue
        record, wanted = (
            out / "results" / f"{slug(one.student)}.json",
            key(one, assignment, seed, limits),
        )
        kept = None if one.student in options.again else load(record, wanted)
        if kept is None:
            waiting.append((one, record, wanted))
        else:
            results[one.student] = kept
    if not waiting:
        return results
    context = multiprocessing.get_context("spawn")
    jobs = min(options.jobs, len(waiting))
    with ProcessPoolExecutor(jobs, context, _die_with_parent) as pool:
        work = {
            pool.submit(run, one.content, str(assignment.path), seed, limits): (one, record, wanted)
            for one, record, wanted in waiting
        }
        try:
            for done in tqdm(as_completed(work), "grading", len(work), unit="submission"):
                one, record, wanted = work[done]
                try:  # through JSON at once, so that a report is the same whenever it is read
                    report = json.loads(json.dumps(done.result()))
                except BrokenProcessPool as error:  # the machine ended a process of ours
                    report = empty(f"it could not be graded: {error}", ours=True)
                results[one.student] = report
                if report["ours"]:  # nothing of it is kept
                    report["error"] += "; give the same command again"
                    continue
                outputs.write(record, json.dumps({"key": wanted, **report}, ensure_ascii=False))
        except KeyboardInterrupt:
            print("stopped; the same command goes on from here", file=sys.stderr, flush=True)
            os._exit(130)  # which ends the sandboxes, too
    return results


def graded(
    found: list[Submission], results: dict[str, dict], assignment: Assignment
) -> list[Graded]:
    """The marks of each submission."""
    made = []
    for one in found:
        cells, pictures, is_read = [], [], False
        if not one.fault and not results[one.student].get("unread"):
            with contextlib.suppress(ValueError):  # the report says so
                cells = notebook.read(one.content)
                pictures = notebook.pictures(one.content, rendered.PICTURES)
                is_read = True
        try:
            marked = judge(one.student, cells, results[one.student], assignment, pictures)
        except Exception as error:
            results[one.student] = failed(error)
            marked = judge(one.student, [], results[one.student], assignment)
        for mark in marked.marks:
            if mark.asked.written and not (is_read or one.fault):
                mark.given = 0.0  # for there is nothing that a person could grade
        made.append(marked)
        made[-1].file, made[-1].id = one.file, one.id
        said, is_ours = results[one.student]["error"], results[one.student]["ours"]
        made[-1].fault = one.fault or said * is_ours
        made[-1].unread = said * (not is_read)
        made[-1].flags += [one.remark] * bool(one.remark)
    return made


def the_gradebook(options: argparse.Namespace, assignment: Assignment) -> Gradebook | None:
    """What Canvas or Moodle has exported, if it is given."""
    if not options.gradebook:
        return None
    titles = [options.column] if options.column else [assignment.title, assignment.name]
    possible = sum(asked.points for asked in assignment.questions)
    return Gradebook(Path(options.gradebook), titles, possible)


def write_filled(gradebook: Gradebook, out: Path, text: str, said: list[str]) -> None:
    """Write the gradebook with the totals in it, and say what is not in it."""
    outputs.write(out / "gradebook.csv", text)
    for line in said:
        print(f"not in the gradebook: {line}", file=sys.stderr)
    if gradebook.scale != 1:
        possible = gradebook.worth / gradebook.scale
        print(f"==> {possible:g} points here are worth {gradebook.worth:g} there: scaled")
    print(f"==> {out / 'gradebook.csv'} is to be imported again")


def the_seed(out: Path, wanted: int | None, name: str) -> int:
    """The seed of the hidden inputs: as wanted, else that of the last time, else a new one.

    Exits with one line if the folder has the grades of another assignment.
    """
    path = out / "run.json"
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        before, kept = kept.get("name", name), kept["seed"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        before, kept = name, None
    if before != name:
        sys.exit(f"{out} has the grades of {before!r}; say with OUT= where to write others")
    fresh = kept if isinstance(kept, int) else secrets.randbits(128)
    seed = fresh if wanted is None else wanted
    outputs.write(path, json.dumps({"name": name, "seed": seed}) + "\n")
    return seed


def parsed() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m grading.grade")
    parser.add_argument("submissions", help="a folder or zip: plain, from Canvas or from Moodle")
    parser.add_argument("--name", help="of the assignment, or its master; else the folder's name")
    parser.add_argument("--out", help="where to write; else ../graded/NAME beside the submissions")
    parser.add_argument("--seed", type=int, help="of the hidden inputs; else the last one, or new")
    parser.add_argument("--again", action="append", default=[], help="a student to grade once more")
    parser.add_argument("--gradebook", help="exported from Canvas or Moodle, to be filled in")
    parser.add_argument("--column", help="of the assignment in Canvas; else the title of the set")
    parser.add_argument(
        "--show-right", action="store_true", help="right numbers on all pages of feedback"
    )
    known = Limits()
    what = "processor time, in seconds, or a third of the time by the clock; default %(default)g"
    parser.add_argument(
        "--seconds", type=float, default=known.seconds, help=f"limit of a submission: {what}"
    )
    parser.add_argument(
        "--cell-seconds", type=float, default=known.cell_seconds, help=f"limit of a cell: {what}"
    )
    parser.add_argument("--memory", type=float, default=known.memory, help="GiB of a submission")
    parser.add_argument(
        "--processes", type=int, default=known.processes, help="processes and threads of one"
    )
    parser.add_argument("--jobs", type=int, default=2, help="submissions at a time")
    options = parser.parse_args()
    if not options.submissions:
        sys.exit("give a folder of notebooks: make grade SUBMISSIONS=folder")
    return options


def the_limits(options: argparse.Namespace) -> Limits:
    """What a submission may use; what lies beside those files is private, too."""
    files = [options.submissions, options.out, options.gradebook]
    files += [options.name] if str(options.name).endswith(".ipynb") else []  # a master's path
    private = dict.fromkeys(Path(file).resolve().parent for file in files if file)
    seconds = options.seconds, options.cell_seconds
    return Limits(*seconds, options.memory, options.processes, private=tuple(private))


def main() -> None:
    """Grade one assignment."""
    options = parsed()
    limits = the_limits(options)
    sandbox.require(limits)
    without.require_current()
    path = Path(options.submissions).resolve()
    found = gather(path)
    if not found:
        sys.exit(f"nothing to grade: there is no notebook in {options.submissions!r}")
    assignment = Assignment.find(options.name or path.stem)
    unknown = set(options.again) - {one.student for one in found}
    if unknown:
        sys.exit(f"there is no submission of {', '.join(sorted(unknown))}")
    gradebook = the_gradebook(options, assignment)
    out = Path(options.out) if options.out else path.parent / "graded" / assignment.name
    seed = the_seed(out, options.seed, assignment.name)
    results = reports(found, assignment, out, seed, limits, options)
    marked = graded(found, results, assignment)
    if any(asked.written for asked in assignment.questions):
        outputs.write(out / "written.csv", written.merge(out / "written.csv", marked))
    written.override(out / "overrides.csv", marked)
    filled = gradebook.fill(marked) if gradebook else ()  # which notes who has no row there
    outputs.write_all(out, assignment, marked, options)
    print(f"==> {len(marked)} submissions: {out / 'grades.csv'}, {out / 'feedback'}")
    print(f"==> The whole class: {out / 'class.html'}")
    if ours := sorted(name for name, report in results.items() if report["ours"]):
        said = f"{len(ours)} not graded, for a fault of the grader's: {', '.join(ours[:5])}"
        more = ", ..." * (len(ours) > 5)
        print(f"==> {said}{more}; give the same command again", file=sys.stderr)
    if gradebook:
        write_filled(gradebook, out, *filled)
    if any(one.pending for one in marked):
        print(f"==> Fill in the points of {out / 'written.csv'}, then give the same command again")
        print(f"    The answers, beside the rubric: {out / 'answers'}")


if __name__ == "__main__":
    main()
