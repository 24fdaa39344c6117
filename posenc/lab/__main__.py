"""Train many models, and tell what came of it.

    python -m posenc.lab sweep --results mine --quick     4 methods, 1 seed, a few minutes
    python -m posenc.lab sweep --results mine --tasks text --seeds 0 1 2
    python -m posenc.lab sweep --results mine --methods rope mine:Kerple    a class in mine.py
    python -m posenc.lab sweep --results mine --scheduler tcp://host:8786
    python -m posenc.lab study --results mine             the book's own study: hours
    python -m posenc.lab stretch --results mine           chapter 8's: RoPE, stretched, half an hour
    python -m posenc.lab report                           what comes with the package
    python -m posenc.lab report --results mine --task text --csv

A sweep or a study that was stopped goes on when the same command is given again.
"""

import argparse
import math
import os
import shlex
import sys
import warnings
from pathlib import Path

from posenc.lab import outside, records, stretch, study
from posenc.lab.methods import METHODS
from posenc.lab.sweep import alone, grid, sweep
from posenc.lab.tables import STYLES, table
from posenc.lab.tasks import TASKS
from posenc.lab.training import Recipe

QUICK = {"methods": ["sinusoidal", "rope", "t5", "alibi"], "tasks": ["text"], "seeds": [0]}


class _Parser(argparse.ArgumentParser):
    """Says in one line what is wrong."""

    def error(self, message):
        self.exit(2, f"{self.prog}: {message}\n")


def main(arguments: list[str]) -> int:
    """Run the command; returns its exit status, or leaves with it if the arguments are wrong."""
    parser = _Parser(
        prog="python -m posenc.lab",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parsers = parser.add_subparsers(dest="action", required=True)
    sweeper = parsers.add_parser("sweep", help="train what is not on record yet")
    sweeper.add_argument("--methods", nargs="+", type=_method, metavar="METHOD", help=_known())
    sweeper.add_argument("--tasks", nargs="+", choices=TASKS)
    sweeper.add_argument("--lengths", nargs="+", type=_positive, help="of training; a task's own")
    sweeper.add_argument("--seeds", nargs="+", type=int)
    sweeper.add_argument("--quick", action="store_true", help=", ".join(QUICK["methods"]))
    sweeper.add_argument("--steps", type=_positive, help="a task's own by default")
    sweeper.add_argument("--batch", type=_positive, default=Recipe.batch)
    sweeper.add_argument("--rate", type=_rate, default=Recipe.rate, help="peak learning rate")
    sweeper.add_argument(
        "--drawn", action="store_true", help="train at all lengths up to --lengths"
    )
    for name in ("dim", "num_heads", "num_layers"):
        sweeper.add_argument(f"--{name.replace('_', '-')}", type=_positive)
    sweeper.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    student = parsers.add_parser("study", help="do what is missing of the book's own study")
    part = student.add_mutually_exclusive_group()
    part.add_argument("--only", nargs="+", choices=study.EXPERIMENTS)
    part.add_argument("--again", action="store_true", help="the second look, in a file of its own")
    for one in (sweeper, student):
        one.add_argument("--results", type=_own, required=True, metavar="FOLDER")
        one.add_argument("--jobs", type=_positive, help="processes; one a core by default")
        one.add_argument("--scheduler", help="address of a Dask scheduler")
    stretcher = parsers.add_parser("stretch", help="do what is missing of chapter 8's stretchings")
    stretcher.add_argument("--results", type=_own, required=True, metavar="FOLDER")
    reporter = parsers.add_parser("report", help="what is on record, as tables")
    reporter.add_argument("--results", type=Path, default=records.SHIPPED, metavar="FOLDER")
    reporter.add_argument("--task", nargs="+", choices=TASKS)
    styles = reporter.add_mutually_exclusive_group()
    for style in STYLES[1:]:
        styles.add_argument(f"--{style}", dest="style", action="store_const", const=style)
    options = parser.parse_args(arguments)
    warnings.showwarning = lambda message, *_, **__: print(message, file=sys.stderr)
    try:
        command = shlex.join(["python", "-m", "posenc.lab", *arguments])
        actions = {"sweep": _sweep, "study": _study, "stretch": _stretch, "report": _report}
        return actions[options.action](options, command)
    except BrokenPipeError:  # `| head` has read enough, and nothing is left to be flushed to it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (OSError, ValueError, TypeError) as error:
        print(f"{parser.prog}: {' '.join(str(error).split())}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nStopped. What was finished is on record; the same command goes on.")
        return 130


def _sweep(options: argparse.Namespace, command: str) -> int:
    if options.quick:
        given = [name for name in QUICK if getattr(options, name) is not None]
        if given:
            raise ValueError(f"--quick chooses the {given[0]} itself, got --{given[0]} beside it")
        vars(options).update(QUICK)
    size = {
        name: value
        for name in ("dim", "num_heads", "num_layers")
        if (value := getattr(options, name)) is not None
    }
    runs = grid(
        options.methods or list(METHODS),
        options.tasks or list(TASKS),
        options.lengths,
        [0, 1, 2] if options.seeds is None else options.seeds,
        batch=options.batch,
        rate=options.rate,
        drawn=options.drawn,
        device=options.device,
        size=size,
        **({"steps": options.steps} if options.steps else {}),
    )
    path = options.results / f"{options.device}.jsonl"
    count = sweep(runs, path, jobs=options.jobs, scheduler=options.scheduler, command=command)
    print(f"{count} of {len(runs)} runs were executed, the others were on record in {path}")
    return 0


def _study(options: argparse.Namespace, command: str) -> int:
    if options.again:
        path = options.results / "again.jsonl"
        todo = study.second_look(records.recorded())
        count = sweep(todo, path, command=command, jobs=options.jobs, scheduler=options.scheduler)
        print(f"{count} runs were executed; {path} holds all of the second look")
        return 0
    path = options.results / "study.jsonl"
    names = options.only or list(study.EXPERIMENTS)
    count = 0
    while todo := study.missing(records.read(path)[0], names):
        shared = {"jobs": options.jobs, "scheduler": options.scheduler}
        count += sweep(todo, path, command=command, **shared)
    print(f"{count} runs were executed; {path} holds all of {', '.join(names)}")
    return 0


def _stretch(options: argparse.Namespace, command: str) -> int:
    path = options.results / "stretch.jsonl"
    with alone(path):
        count = stretch.stretch(path, command=command)
    total = len(stretch.runs(stretch.SEEDS))
    print(f"{count} of {total} runs were executed, the others were on record in {path}")
    return 0


def _report(options: argparse.Namespace, command: str) -> int:
    found, problems = records.read(options.results)
    for problem in problems:
        print(problem, file=sys.stderr)
    if not found:
        raise ValueError(f"results must hold records, got none in {options.results}")
    print(table(found, tasks=options.task, style=options.style or "text"), flush=True)
    return 1 if problems else 0


def _known() -> str:
    return f"{', '.join(METHODS)}, or package.module:Class; all named ones by default"


def _method(text: str) -> str:
    try:
        outside.find(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def _own(text: str) -> Path:
    """A folder for results that is not the package's own."""
    folder = Path(text)
    if records.SHIPPED.parent in (folder.resolve(), *folder.resolve().parents):
        raise argparse.ArgumentTypeError(f"must be outside of the package, got {text}")
    return folder


def _rate(text: str) -> float:
    value = float(text)
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"must be positive and finite, got {text}")
    return value


def _positive(text: str) -> int:
    if not text.strip().isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a positive whole number, got {text}")
    return int(text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
