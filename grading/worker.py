"""Grade one submission with Otter, inside the sandbox; the result goes to stdout as JSON.

    python worker.py submission.ipynb autograder.zip CELL_SECONDS

What Otter runs is a copy: the cells' text without metadata, so names, kernels and tags of a
submission do not matter. A cell that kills or blocks the kernel is left out, and everything is
run again, so it costs only what was in it.

One more test goes with the assignment's: a control with a random name, which tries a wrong answer
and a right one. If the wrong one passes, or the right one does not, then the notebook has changed
how answers are tested, and no result counts.
"""

import contextlib
import ctypes
import json
import os
import re
import secrets
import sys
import zipfile
from pathlib import Path

import nbconvert.preprocessors
import nbformat
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from traitlets import Any

ATTEMPTS = 4
CONTROL = """
from otter.test_files import test_case

OK_FORMAT = False
name = "control_{token}"
points = 2


def tried(answer):
    try:
        from fresh_check import check
    except ImportError:
        from posenc import check
    check.Comparison("control", lambda x: x, [check.Case("", 1.0)])(answer).require()


@test_case(points=1, hidden=True)
def test_wrong(env):
    tried(lambda x: {token})


@test_case(points=1, hidden=True)
def test_right(env):
    tried(lambda x: x)
"""
_FAILED = re.compile(r".*?\nError at line \d+ in test [^\n]*:\n[^\n]*\n(\w+): (.*)", re.DOTALL)


class Execute(nbconvert.preprocessors.ExecutePreprocessor):
    """Nbconvert's, with a time limit for each cell of a submission; it knows where it is."""

    seconds = 60
    at = ""
    timeout_func = Any(lambda cell: Execute.seconds if cell.id.startswith("cell-") else None)

    def preprocess_cell(self, cell, resources, index):
        """Run a cell."""
        Execute.at = cell.id
        return super().preprocess_cell(cell, resources, index)


def text_of(cell: object) -> tuple[str, str]:
    """Type and source of a cell, whatever stands in the file."""
    if not isinstance(cell, dict):
        return "", ""
    source = cell.get("source", "")
    source = "".join(map(str, source)) if isinstance(source, list) else str(source)
    return str(cell.get("cell_type")), source


def read(path: str) -> list[tuple[str, str]]:
    """The cells of a submission."""
    try:
        found = nbformat.read(path, as_version=4)
        return [text_of(cell) for cell in found.cells]
    except Exception as error:
        raise ValueError("it cannot be read as a notebook") from error


def write(cells: list[tuple[str, str]], left_out: dict[str, str]) -> str:
    """Write the copy that Otter runs."""
    new = {"code": new_code_cell, "markdown": new_markdown_cell}
    copies = [
        new[kind](source, id=f"cell-{number}")
        for number, (kind, source) in enumerate(cells)
        if kind in new and f"cell-{number}" not in left_out
    ]
    metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    nbformat.write(new_notebook(cells=copies, metadata=metadata), "submission.ipynb")
    return "submission.ipynb"


def with_control(autograder: str, token: str) -> str:
    """Copy the zip, with one more test."""
    Path("autograder.zip").write_bytes(Path(autograder).read_bytes())
    with zipfile.ZipFile("autograder.zip", "a") as file:
        file.writestr(f"tests/control_{token}.py", CONTROL.format(token=token))
    return "autograder.zip"


def message(text: str) -> str:
    """What a failed test says, without the line of its code that Otter puts before it."""
    match = _FAILED.fullmatch(text.strip())
    if not match:
        return "failed"
    return match[2] if match[1] == "AssertionError" else f"{match[1]}: {match[2]}"


def tests_of(results: object, token: str) -> dict[str, list[list]]:
    """For each question and each of its tests: whether it passed, and the message if not."""
    if results.catastrophic_error:
        raise ValueError("the notebook stopped the tests before they were done")
    found = {
        str(name): [
            [r.passed is True, "" if r.passed is True else message(str(r.message))]
            for r in file.test_case_results
        ]
        for name, file in results.results.items()
    }
    wrong = [False, f"control: wrong: it gives {token}, not 1"]
    if found.pop(f"control_{token}", None) != [wrong, [True, ""]]:
        raise ValueError("this notebook changes how answers are tested, so no test counts")
    return found


def raised(notebook: nbformat.NotebookNode) -> dict[str, str]:
    """The exceptions that cells ended with, one line each."""
    return {
        cell.id: f"{output.ename}: {' '.join(output.evalue.split())}"[:200]
        for cell in notebook.cells
        for output in cell.get("outputs", ())
        if output.output_type == "error" and cell.id.startswith("cell-")
    }


def grade(submission: str, autograder: str) -> dict:
    """Run Otter, without the cells that stop it."""
    from otter.run import main

    report = {"error": "", "cells": [], "tests": {}, "raised": {}, "left_out": {}}
    token = str(1000 + secrets.randbelow(9000))
    try:
        report["cells"] = cells = read(submission)
        archive = with_control(autograder, token)
        for _ in range(ATTEMPTS):
            try:
                copy = write(cells, report["left_out"])
                results = main(copy, autograder=archive, output_dir=None, no_logo=True)
                report["tests"] = tests_of(results, token)
                report["raised"] = raised(results.notebook)
                break
            except (CellTimeoutError, DeadKernelError) as error:
                slow = isinstance(error, CellTimeoutError)
                reason = f"ran longer than {Execute.seconds:g} seconds" if slow else "ended Python"
                if not Execute.at.startswith("cell-"):
                    raise ValueError(f"while the answers were tested, one {reason}") from None
                report["left_out"][Execute.at] = reason
        else:
            raise ValueError("too many cells end Python or do not end")
    except Exception as error:
        known = isinstance(error, ValueError)
        report["error"] = str(error) if known else f"{type(error).__name__}: {error}"[:200]
    return report


def main() -> None:
    """Grade, and keep stdout for the result: what the notebook's processes print goes elsewhere."""
    submission, autograder, seconds = sys.argv[1:]
    ctypes.CDLL(None).prctl(4, 0)  # PR_SET_DUMPABLE: other processes do not see into this one
    Execute.seconds = float(seconds)
    nbconvert.preprocessors.ExecutePreprocessor = Execute
    with os.fdopen(os.dup(1), "w", encoding="utf-8", errors="replace") as out:
        os.dup2(2, 1)
        with contextlib.redirect_stdout(sys.stderr):
            report = grade(submission, autograder)
        json.dump(report, out)


if __name__ == "__main__":
    main()
