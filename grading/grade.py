"""Grade a folder of submissions: `grades.csv`, `written.csv` and a page of feedback for each.

    python -m grading.grade submissions/02_sinusoidal      into submissions/graded/02_sinusoidal

A submission is a notebook, named after its student. Each is graded in a sandbox of its own
(`grading.sandbox`, `grading.worker`); whatever it does costs its own grade only. Results are kept
in `results/` by the content of the submission and of the autograder, so what is graded already is
not graded again, and a run that was stopped goes on when the same command is given.

What this cannot exclude: Otter tests an answer in the Python that ran the notebook, so who knows
Otter well can forge a result there, or read the hidden tests while they run. Against that, a
control must fail in each notebook (`grading.worker`), no question gives more than its points, and
the column `note` names code that has no business in an answer. Look at these notebooks.
"""

import argparse
import csv
import hashlib
import io
import json
import os
import re
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from tqdm import tqdm

from grading import assign, feedback, sandbox, written
from grading.marks import Graded, checked, judge

LARGEST = 10 * 2**20
_WORKER = Path(__file__).with_name("worker.py")
_NAME = re.compile(r"[^\s.=+@-][^\x00-\x1f/]*")  # no hidden file, nothing that a spreadsheet runs


def submissions(folder: Path) -> Iterator[tuple[str, Path, str]]:
    """Each file of a folder: its student, its path, and why it cannot be graded, if it cannot."""
    if not folder.is_dir():
        sys.exit(f"there is no folder {folder.name!r}; give one that holds a notebook a student")
    for path in sorted(folder.iterdir()):
        is_notebook = path.suffix == ".ipynb"
        if path.is_symlink() or not path.is_file() or not _NAME.fullmatch(path.name):
            print(f"left out: {path.name!r} is no submission", file=sys.stderr)
        elif not is_notebook:
            yield path.name, path, "it is not a notebook: its name must end with .ipynb"
        elif path.stat().st_size > LARGEST:
            yield path.stem, path, f"it is larger than {LARGEST // 2**20} MiB"
        else:
            yield path.stem, path, ""


def digest(autograder: Path) -> str:
    """A hash of what grades: the contents of the zip and this room's worker and sandbox."""
    found = hashlib.sha256(_WORKER.read_bytes() + Path(sandbox.__file__).read_bytes())
    with zipfile.ZipFile(autograder) as file:
        for name in sorted(file.namelist()):
            found.update(name.encode() + b"\0" + hashlib.sha256(file.read(name)).digest())
    return found.hexdigest()


def write(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.part")
    temporary.write_text(text, encoding="utf-8", errors="replace", newline="")
    os.replace(temporary, path)


def load(path: Path, key: str) -> dict | None:
    """A result that is on record, if it is of this very submission and autograder."""
    try:
        report = json.loads(path.read_text(encoding="utf-8"))
        return report if report["key"] == key else None
    except (OSError, ValueError, KeyError):
        return None


def run_worker(notebook: bytes, autograder: Path, seconds: float, cell_seconds: float) -> dict:
    """Grade one submission in a sandbox."""
    with tempfile.TemporaryDirectory() as temporary:
        files = {
            "/given/submission.ipynb": Path(temporary, "submission.ipynb"),
            "/given/autograder.zip": Path(temporary, "autograder.zip"),
            "/given/worker.py": Path(temporary, "worker.py"),
        }
        contents = (notebook, autograder.read_bytes(), _WORKER.read_bytes())
        for path, content in zip(files.values(), contents, strict=True):
            path.write_bytes(content)
        program = [sys.executable, "/given/worker.py", *list(files)[:2], str(cell_seconds)]
        output = Path(temporary, "result.json")
        status, reason = sandbox.run(program, files, output, seconds)
        try:
            report = checked(json.loads(output.read_text(encoding="utf-8")))
        except (ValueError, RecursionError):
            report = checked(
                {"error": f"grading stopped with status {status}; to try again, remove its result"}
            )
    return {**report, "error": reason} if reason else report


def reports(
    found: list[tuple[str, Path, str]], autograder: Path, out: Path, options: argparse.Namespace
) -> dict[str, dict]:
    """The result of each submission: those on record, and the others from new sandboxes."""
    tool, results, waiting = digest(autograder), {}, []
    for student, path, fault in found:
        if fault:
            results[student] = checked({"error": fault})
            continue
        notebook, record = path.read_bytes(), out / "results" / f"{student}.json"
        limits = f"{options.seconds:g} {options.cell_seconds:g}"
        key = f"{hashlib.sha256(notebook).hexdigest()} {tool} {limits}"
        results[student] = load(record, key)
        if results[student] is None:
            waiting.append((student, notebook, record, key))
    if not waiting:
        return results
    limits = (options.seconds, options.cell_seconds)
    with ThreadPoolExecutor(options.jobs) as pool:
        work = {pool.submit(run_worker, job[1], autograder, *limits): job for job in waiting}
        try:
            for done in tqdm(as_completed(work), "grading", len(work), unit="submission"):
                student, _, record, key = work[done]
                results[student] = done.result()
                write(record, json.dumps({"key": key, **results[student]}, ensure_ascii=False))
        except KeyboardInterrupt:
            print("stopped; the same command goes on from here", file=sys.stderr, flush=True)
            os._exit(130)  # which ends the sandboxes, too
    return results


def number(value: float | None) -> str:
    """A number as people write it."""
    return "" if value is None else f"{value:g}"


def rows(graded: list[Graded]) -> Iterator[list[str]]:
    """The rows of grades.csv."""
    yield ["student", *(q.name for q in graded[0].questions), "total", "possible", "note"]
    for one in graded:
        pending = [f"not graded yet: {', '.join(one.pending)}"] if one.pending else []
        points = [number(question.score) for question in one.questions]
        note = "; ".join(one.remarks + one.flags + pending)
        yield [one.student, *points, number(one.total), number(one.possible), note]


def main() -> None:
    """Grade one folder."""
    parser = argparse.ArgumentParser(prog="python -m grading.grade")
    parser.add_argument("submissions", help="a folder of notebooks, one a student")
    parser.add_argument("--name", help="of the assignment, or its master; else the folder's name")
    parser.add_argument("--out", help="where to write; else ../graded/NAME beside the submissions")
    parser.add_argument("--dist", type=Path, default=assign.DIST, help="where assignments are")
    parser.add_argument("--seconds", type=float, default=300, help="time limit of a submission")
    parser.add_argument("--cell-seconds", type=float, default=60, help="time limit of a cell")
    parser.add_argument("--jobs", type=int, default=2, help="submissions at a time")
    options = parser.parse_args()
    sandbox.require()
    folder = Path(options.submissions).resolve()
    if not options.submissions:
        sys.exit("give a folder of notebooks: make grade SUBMISSIONS=folder")
    found = list(submissions(folder))
    if not found:
        sys.exit(f"nothing to grade: there is no notebook in {options.submissions!r}")
    master = assign.find(options.name or folder.name)
    autograder = assign.make(master, options.dist / master.stem)
    out = Path(options.out) if options.out else folder.parent / "graded" / master.stem
    with zipfile.ZipFile(autograder) as file:
        facts = json.loads(file.read(f"files/{assign.FACTS}"))
    results = reports(found, autograder, out, options)
    graded = [judge(student, results[student], facts["questions"]) for student, _, _ in found]
    if any(question["written"] for question in facts["questions"]):
        write(out / "written.csv", written.merge(out / "written.csv", graded))
    grades = io.StringIO(newline="")
    csv.writer(grades, lineterminator="\n").writerows(rows(graded))
    write(out / "grades.csv", grades.getvalue())
    for one in graded:
        write(out / "feedback" / f"{one.student}.html", feedback.page(facts["title"], one))
    print(f"==> {len(graded)} submissions: {out / 'grades.csv'}, {out / 'feedback'}")
    if any(one.pending for one in graded):
        print(f"==> Fill in the points of {out / 'written.csv'}, then give the same command again")


if __name__ == "__main__":
    main()
