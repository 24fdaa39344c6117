"""Results on disk: one line of JSON a run, appended and never changed, with where it came from."""

import base64
import functools
import json
import math
import os
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import NotRequired  # pydantic wants these before Python 3.12

import numpy as np
from typing_extensions import TypedDict

from posenc.lab.methods import METHODS
from posenc.lab.tasks import TASKS
from posenc.lab.training import Recipe, named

FORMAT = "posenc.lab 2"
SHIPPED = Path(__file__).parent / "results"
_FIRST = "posenc.lab 1"  # what the first design's records say
_STRICT = {"extra": "forbid", "strict": True, "allow_inf_nan": False}  # as pydantic reads it
_EMPTY = 65_535  # a packed nan


@dataclass(frozen=True)
class Run:
    """One training run: all that its result depends on, but for the machine.

    Args:
        method: a name of METHODS, or "module:Class" of a method from elsewhere.
        task: a name of TASKS.
        train_length: tokens of a training sequence.
        seed: of the weights.
        steps: optimiser steps.
        batch: sequences a step.
        rate: peak learning rate.
        device: "cpu" or "cuda".
        size: dim, num_heads and num_layers, where they are not `Config`'s.
        data_seed: of the batches; None for the seed of the weights.
        knobs: the method's own settings, where they are not its defaults.
        drawn: whether each batch has a length of its own, up to train_length.
        part: what is tested: "validation" or "test".
        source: hash of the source of a method from elsewhere; "" for a name of METHODS.
        design: "first" for what was run before the corpus, the splits and the tests changed.
    """

    __pydantic_config__ = _STRICT

    method: str
    task: str
    train_length: int
    seed: int
    steps: int
    batch: int = Recipe.batch
    rate: float = Recipe.rate
    device: str = "cpu"
    size: dict[str, int] = field(default_factory=dict)
    data_seed: int | None = None
    knobs: dict[str, float] = field(default_factory=dict)
    drawn: bool = False
    part: str = "test"
    source: str = ""
    design: str = "second"

    @property
    def key(self) -> str:
        """A text that only an equal run has."""
        return json.dumps(asdict(self), sort_keys=True)

    @property
    def name(self) -> str:
        """A short name for messages."""
        return f"{self.task}/{self.label}/{self.train_length}/seed {self.seed}"

    @property
    def label(self) -> str:
        """The method and its settings."""
        settings = ", ".join(f"{name}={value:g}" for name, value in sorted(self.knobs.items()))
        return f"{self.method}({settings})" if settings else self.method


class Result(TypedDict):
    """What `evaluate` says of one length, "each" packed into a text."""

    __pydantic_config__ = _STRICT

    loss: float
    accuracy: float
    tail_loss: float | None
    by_block: list[float | None]
    each: NotRequired[str]


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

    __pydantic_config__ = _STRICT

    run: Run
    results: dict[int, Result | str]
    chance: float
    goal: float
    score: float
    converged: bool
    provenance: dict[str, str | float]

    def each(self, length: int) -> list[float]:
        """The score of every test sequence of this length, nan where nothing is asked.

        Raises:
            ValueError: if the record does not hold them.
        """
        result = self.results.get(length)
        if not isinstance(result, dict) or "each" not in result:
            raise ValueError(f"record must hold sequences of {length}, got {self.run.name}")
        return unpack(result["each"])


def pack(scores: Sequence[float]) -> str:
    """Write scores from 0 to 65 as a short text, each rounded to a thousandth.

    Raises:
        ValueError: if a score is out of range.

    Example:
        >>> unpack(pack([0.25, 1.2345, math.nan]))
        [0.25, 1.234, nan]
    """
    if any(not 0 <= score <= 65 for score in scores if not math.isnan(score)):
        raise ValueError(f"scores must be from 0 to 65, got up to {max(scores)}")
    whole = [_EMPTY if math.isnan(score) else round(1000 * score) for score in scores]
    return base64.b85encode(zlib.compress(np.array(whole, "<u2").tobytes(), 9)).decode()


def unpack(text: str) -> list[float]:
    """Read scores that `pack` has written.

    Example:
        >>> unpack(pack([]))
        []
    """
    whole = np.frombuffer(zlib.decompress(base64.b85decode(text)), "<u2")
    return [math.nan if number == _EMPTY else number / 1000 for number in whole.tolist()]


def append(path: Path, record: Record) -> None:
    """Add a record to a file, whole or not at all.

    The line is written by one call and brought to the disk; should the machine stop in the
    middle of it, `read` refuses the torn line by its number and the next record starts a new one.

    Args:
        path: the file; it and its folder are made if they are missing.
        record: what to add.

    Raises:
        ValueError: if a number is not finite, which JSON has no word for.
        OSError: if the file cannot be written; what it held before is untouched.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    line = json.dumps({"format": FORMAT, **asdict(record)}, allow_nan=False).encode() + b"\n"
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
            except (ValueError, RecursionError) as error:
                problems.append(f"{file}, line {number}: not a record ({_reason(error)})")
    return records, problems


def recorded(design: str = "second") -> list[Record]:
    """Read the records that come with the package.

    Args:
        design: "second", or "first" for those that this book began with: another text, of which
            parts of the test stood in the training part, one length a task, nothing tuned;
            or "again" for the second look at the second, see `study.second_look`.

    Raises:
        ValueError: if there is no such design, or a line of it is no record.

    Example:
        >>> {"rope", "alibi"} <= {record.run.method for record in recorded("first")}
        True
    """
    folders = {"second": SHIPPED, "first": SHIPPED / "first", "again": SHIPPED / "again"}
    folder = named("design", design, folders)
    records, problems = read(folder)
    if problems:
        raise ValueError(f"every shipped line must be a record, got {problems[0]}")
    return records


@functools.cache
def _schema():
    from pydantic import TypeAdapter

    return TypeAdapter(Record)


def _parse(line: bytes) -> Record:
    found = json.loads(line, parse_constant=_no_number)
    kind = found.pop("format", None) if isinstance(found, dict) else None
    if kind not in (FORMAT, _FIRST):
        raise ValueError(f"its format must be {FORMAT!r}")
    if kind == _FIRST and isinstance(found.get("run"), dict):
        found["run"]["design"] = "first"
    record = _schema().validate_json(json.dumps(found))
    if ":" not in record.run.method:
        named("method", record.run.method, METHODS)
    named("task", record.run.task, TASKS)
    return record


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _reason(error: Exception) -> str:
    """One line: of a schema's complaints the first, with the name of the field."""
    if not hasattr(error, "errors"):
        return str(error)
    first = error.errors()[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}, got {first['input']!r:.60}"
