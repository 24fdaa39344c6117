"""Records as tables: mean and spread over seeds, and what supports no claim marked as such."""

import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from posenc.lab.methods import METHODS
from posenc.lab.records import Record
from posenc.lab.tasks import TASKS


@dataclass(frozen=True)
class Row:
    """What a method achieved on a task, over its seeds.

    Args:
        method: a name of METHODS.
        scores: length -> one score a seed; no entry where the method cannot run.
        refused: length -> why not.
        converged: how many seeds reached the task's goal at the training length.
        seeds: how many seeds there are.
    """

    method: str
    scores: dict[int, list[float]]
    refused: dict[int, str]
    converged: int
    seeds: int


def rows(records: Sequence[Record], task: str, train_length: int) -> list[Row]:
    """Gather the records of one task and length, one row a method in the order of METHODS.

    Args:
        records: from `read`; models of one size, trained by one recipe.
        task: a name of TASKS.
        train_length: tokens of a training sequence.

    Returns:
        The rows of the methods that were run.

    Raises:
        ValueError: if sizes or recipes would be mixed, or a seed is there twice.
    """
    by_method = defaultdict(list)
    for record in _of_one_recipe(records, task, train_length):
        by_method[record.run.method].append(record)
    return [_row(method, by_method[method], task) for method in METHODS if method in by_method]


def _of_one_recipe(records: Sequence[Record], task: str, train_length: int) -> list[Record]:
    chosen = [r for r in records if (r.run.task, r.run.train_length) == (task, train_length)]
    recipes = list(groups(chosen))
    if len(recipes) > 1:
        raise ValueError(f"records must share device, size, steps, batch and rate, got {recipes}")
    return chosen


def _row(method: str, records: list[Record], task: str) -> Row:
    seeds = [record.run.seed for record in records]
    if len(set(seeds)) < len(seeds):
        raise ValueError(f"records must have different seeds, got {seeds} for {method}")
    scores, refused = defaultdict(list), {}
    for record in records:
        for length, result in record.results.items():
            if isinstance(result, str):
                refused[length] = result
            else:
                scores[length].append(result[TASKS[task].measure])
    converged = sum(record.converged for record in records)
    return Row(method, dict(scores), refused, converged, len(records))


def by_position(
    records: Sequence[Record], task: str, train_length: int, method: str, length: int
) -> list[float]:
    """Loss along the sequence: the mean over seeds for positions 0-7, 8-15 and so on.

    Args:
        records: from `read`; models of one size, trained by one recipe.
        task: a name of TASKS that predicts something at every position.
        train_length: tokens of a training sequence.
        method: a name of METHODS.
        length: tokens of a test sequence.

    Returns:
        Nats, one number a block of 8 positions.

    Raises:
        ValueError: if sizes or recipes would be mixed, or the method was not run on this task, or
            cannot run at this length.
    """
    found = [
        record.results.get(length)
        for record in _of_one_recipe(records, task, train_length)
        if record.run.method == method
    ]
    if not found or not all(isinstance(result, dict) for result in found):
        raise ValueError(f"records must hold {method} on {task} at {length}, got {found[:1]}")
    blocks = zip(*(result["by_block"] for result in found), strict=True)
    return [statistics.mean(block) for block in blocks]


def groups(records: Sequence[Record]) -> dict[tuple, list[Record]]:
    """Split records into those that may stand in one table.

    Args:
        records: from `read`.

    Returns:
        (task, training length, device, size, steps, batch, rate) -> records.
    """
    found = defaultdict(list)
    for record in records:
        run = record.run
        size = ", ".join(f"{name} {value}" for name, value in sorted(run.size.items()))
        recipe = (run.device, size, run.steps, run.batch, run.rate)
        found[run.task, run.train_length, *recipe].append(record)
    return dict(found)


def table(records: Sequence[Record]) -> str:
    """Render all records in Markdown, one table a task.

    A cell is the mean over seeds and half the range from the worst to the best, if there are
    several. A method with a seed that did not reach the goal at the training length is marked
    with an asterisk: it supports no claim about longer sequences.

    Args:
        records: from `read`.

    Returns:
        The text.
    """
    parts = []
    for (task, length, device, size, steps, batch, rate), some in groups(records).items():
        first = some[0]
        measure = "loss (nats)" if TASKS[task].measure == "tail_loss" else "right answers"
        parts.append(
            f"{task}, trained at {length} on {device}{', ' + size if size else ''}, {steps} steps "
            f"of {batch} at {rate:g}: {measure}; chance {first.chance:.2f}, goal {first.goal:.2f}\n"
        )
        lengths = sorted(first.results)
        parts.append("| method | " + " | ".join(map(str, lengths)) + " | seeds |")
        parts.append("|---" * (len(lengths) + 2) + "|")
        for row in rows(some, task, length):
            mark = "" if row.converged == row.seeds else " *"
            cells = [_cell(row.scores.get(at)) for at in lengths]
            parts.append(f"| {row.method}{mark} | {' | '.join(cells)} | {row.seeds} |")
        missing = [name for name in METHODS if all(r.run.method != name for r in some)]
        if missing:
            parts.append(f"\nNot run: {', '.join(missing)}.")
        parts.append("")
    parts.append("\\* not converged at the training length: supports no claim.")
    return "\n".join(parts)


def _cell(scores: list[float] | None) -> str:
    if not scores:
        return "cannot run"
    mean = f"{statistics.mean(scores):.2f}"
    return mean if len(scores) == 1 else f"{mean} ± {(max(scores) - min(scores)) / 2:.2f}"
