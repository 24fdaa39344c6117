"""Results on disk: one line of JSON a run, appended and never changed, with where it came from."""

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path

from posenc.lab.methods import METHODS
from posenc.lab.tasks import TASKS
from posenc.lab.training import named

FORMAT = "posenc.lab 1"
SHIPPED = Path(__file__).parent / "results"
_KEYS = ("run", "results", "chance", "goal", "score", "converged", "provenance")


@dataclass(frozen=True)
class Run:
    """One training run: all that its result depends on, but for the machine.

    Args:
        method: a name of METHODS.
        task: a name of TASKS.
        train_length: tokens of a training sequence.
        seed: of weights and data.
        steps: optimiser steps.
        batch: sequences a step.
        rate: peak learning rate.
        device: "cpu" or "cuda".
        size: dim, num_heads and num_layers, where they are not `Config`'s.
    """

    method: str
    task: str
    train_length: int
    seed: int
    steps: int
    batch: int = 32
    rate: float = 2e-3
    device: str = "cpu"
    size: dict[str, int] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """A text that only an equal run has."""
        return json.dumps(asdict(self), sort_keys=True)

    @property
    def name(self) -> str:
        """A short name for messages."""
        return f"{self.task}/{self.method}/{self.train_length}/seed {self.seed}"


@dataclass(frozen=True)
class Record:
    """A run and what came of it.

    Args:
        run: what was run.
        results: length -> the numbers of `evaluate`, or why there are none.
        chance: of the task.
        goal: of the task.
        score: what the task counts ("tail_loss" or "accuracy"), at the training length.
        converged: whether the score reached the goal; if not, the run supports no claim.
        provenance: command, commit, device, versions, date and seconds.
    """

    run: Run
    results: dict[int, dict[str, object] | str]
    chance: float
    goal: float
    score: float
    converged: bool
    provenance: dict[str, object]


def append(path: Path, record: Record) -> None:
    """Add a record to a file, whole or not at all.

    The line is written by one call and brought to the disk; should the machine stop in the
    middle of it, `read` refuses the torn line by its number and the next record starts a new one.

    Args:
        path: the file; it and its folder are made if they are missing.
        record: what to add.

    Raises:
        OSError: if the file cannot be written; what it held before is untouched.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    line = json.dumps({"format": FORMAT, **asdict(record)}).encode() + b"\n"
    with path.open("ab+", buffering=0) as file:
        size = file.seek(0, os.SEEK_END)
        if size:
            file.seek(size - 1)
            if file.read(1) != b"\n":
                line = b"\n" + line
        try:
            if file.write(line) != len(line):
                raise OSError(f"only a part of {line[:40]!r}... was written")
            os.fsync(file.fileno())
        except OSError:
            file.truncate(size)
            raise


def read(path: Path) -> tuple[list[Record], list[str]]:
    """Read all records of a file, or of all *.jsonl files of a folder.

    Args:
        path: a file or folder; one that does not exist holds no records.

    Returns:
        The records, in order, and for each line that is none a message that names it.

    Example:
        >>> read(Path("there is no such file"))
        ([], [])
    """
    files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path] if path.exists() else []
    records, problems = [], []
    for file in files:
        for number, line in enumerate(file.read_bytes().splitlines(), start=1):
            try:
                records.append(_parse(line))
            except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
                problems.append(f"{file}, line {number}: not a record ({error})")
    return records, problems


def recorded() -> list[Record]:
    """Read the records that come with the package, those of all learning rates.

    Raises:
        ValueError: if a line of them is no record.

    Example:
        >>> {"rope", "alibi"} <= {record.run.method for record in recorded()}
        True
    """
    records, problems = read(SHIPPED)
    if problems:
        raise ValueError(f"every shipped line must be a record, got {problems[0]}")
    return records


def _parse(line: bytes) -> Record:
    found = json.loads(line)
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise ValueError(f"its format must be {FORMAT!r}")
    parts = {key: found[key] for key in _KEYS}
    parts["run"] = Run(**parts["run"])
    named("method", parts["run"].method, METHODS)
    named("task", parts["run"].task, TASKS)
    parts["results"] = {int(length): result for length, result in parts["results"].items()}
    return Record(**parts)
