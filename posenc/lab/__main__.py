"""Train many models, and tell what came of it.

    python -m posenc.lab sweep --results mine --quick     4 methods, 1 seed, a few minutes
    python -m posenc.lab sweep --results mine --tasks text --seeds 0 1 2
    python -m posenc.lab sweep --results mine --scheduler tcp://host:8786
    python -m posenc.lab report                           what comes with the package
    python -m posenc.lab report --results mine

A sweep that was stopped goes on when the same command is given again.
"""

import argparse
import shlex
import sys
from pathlib import Path

from posenc.lab import records
from posenc.lab.methods import METHODS
from posenc.lab.report import table
from posenc.lab.sweep import grid, sweep
from posenc.lab.tasks import TASKS

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
    sweeper.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    sweeper.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    sweeper.add_argument("--lengths", nargs="+", type=_positive, help="of training; a task's own")
    sweeper.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    sweeper.add_argument("--quick", action="store_true", help=", ".join(QUICK["methods"]))
    sweeper.add_argument("--steps", type=_positive, help="a task's own by default")
    sweeper.add_argument("--batch", type=_positive, default=32)
    sweeper.add_argument("--rate", type=float, default=2e-3, help="peak learning rate")
    for name in ("dim", "num_heads", "num_layers"):
        sweeper.add_argument(f"--{name.replace('_', '-')}", type=_positive)
    sweeper.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    sweeper.add_argument("--jobs", type=_positive, help="processes; one a core by default")
    sweeper.add_argument("--scheduler", help="address of a Dask scheduler")
    reporter = parsers.add_parser("report", help="what is on record, as tables")
    sweeper.add_argument("--results", type=Path, required=True, metavar="FOLDER")
    reporter.add_argument("--results", type=Path, default=records.SHIPPED, metavar="FOLDER")
    options = parser.parse_args(arguments)
    try:
        return _sweep(options, arguments) if options.action == "sweep" else _report(options)
    except (OSError, ValueError) as error:
        print(f"{parser.prog}: {' '.join(str(error).split())}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nStopped. What was finished is on record; the same command goes on.")
        return 130


def _sweep(options: argparse.Namespace, arguments: list[str]) -> int:
    if options.quick:
        vars(options).update(QUICK)
    size = {
        name: value
        for name in ("dim", "num_heads", "num_layers")
        if (value := getattr(options, name)) is not None
    }
    runs = grid(
        options.methods,
        options.tasks,
        options.lengths,
        options.seeds,
        batch=options.batch,
        rate=options.rate,
        device=options.device,
        size=size,
        **({"steps": options.steps} if options.steps else {}),
    )
    path = options.results / f"{options.device}.jsonl"
    command = shlex.join(["python", "-m", "posenc.lab", *arguments])
    count = sweep(runs, path, jobs=options.jobs, scheduler=options.scheduler, command=command)
    print(f"{count} of {len(runs)} runs were executed, the others were on record in {path}")
    return 0


def _report(options: argparse.Namespace) -> int:
    found, problems = records.read(options.results)
    for problem in problems:
        print(problem, file=sys.stderr)
    if not found:
        raise ValueError(f"results must hold records, got none in {options.results}")
    print(table(found))
    return 0


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be positive, got {value}")
    return value


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
