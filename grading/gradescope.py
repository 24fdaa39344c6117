"""Grade the one submission in a container of Gradescope; run there by `run_autograder`.

The same two sides as everywhere: the notebook runs in a sandbox and returns numbers, and a process
that runs no student's code compares them and writes the results. Where the container allows no
sandbox of bubblewrap, the notebook runs as another user, who can neither read the questions nor
write the results, but has the container's network.
"""

import argparse
import json
from pathlib import Path

from grading import assign, feedback, notebook, sandbox
from grading.assignment import Assignment
from grading.examine import examine
from grading.grade import empty
from grading.marks import Graded, judge
from grading.sandbox import Limits
from grading.submissions import is_notebook


def results(graded: Graded) -> dict:
    """What Gradescope shows: an entry for each hidden test."""
    tests = []
    for mark in graded.marks:
        if mark.asked.written:
            continue
        pairs = zip(mark.asked.tests, mark.verdicts, strict=True)
        for (points, label), verdict in pairs:
            lines = [] if verdict["passed"] else feedback.said(verdict, show_right=False)
            hint = feedback.hint(verdict, show_right=False)
            lines += [f"Hint: {hint}"] * bool(hint)
            tests.append(
                {
                    "name": f"{mark.asked.title}: {label}",
                    "score": points if verdict["passed"] is True else 0,
                    "max_score": points,
                    "output": "\n".join(lines),
                    "output_format": "text",
                }
            )
    return {
        "tests": tests,
        "output": "\n".join(graded.remarks + graded.raised),
        "output_format": "text",
        "extra_data": {"look at": graded.flags},
    }


def main() -> None:
    """Grade what was uploaded."""
    parser = argparse.ArgumentParser(prog="python -m grading.gradescope")
    parser.add_argument("master")
    parser.add_argument("--root", type=Path, default=Path("/autograder"), help="of the container")
    options = parser.parse_args()
    assignment = Assignment(Path(options.master))
    seed = json.loads(Path(assign.SEED).read_text())["seed"]
    by_user = not sandbox.works()
    files = sorted(p for p in options.root.glob("submission/*") if is_notebook(p.name))
    cells, report = [], empty("upload one notebook, a file whose name ends with .ipynb")
    if len(files) == 1 and files[0].is_file() and not files[0].is_symlink():
        try:
            cells = notebook.read(files[0].read_bytes())
            limits = Limits(by_user=by_user)
            tests = assignment.tests(seed)
            read = assignment.read(cells)
            code = assignment.run_of(cells, read)
            report = examine(code, tests, limits, assignment.points) | {"read": read}
        except ValueError as error:
            report = empty(str(error))
    graded = judge("", cells, json.loads(json.dumps(report)), assignment)
    path = options.root / "results" / "results.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results(graded), ensure_ascii=False, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
