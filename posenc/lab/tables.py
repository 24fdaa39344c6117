"""Records as tables: mean and spread over seeds, and what supports no claim marked as such."""

import csv
import io
import statistics
import textwrap
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from posenc.lab.methods import METHODS
from posenc.lab.records import Record
from posenc.lab.tasks import TASKS
from posenc.lab.training import Recipe

STYLES = ("text", "markdown", "csv")


@dataclass(frozen=True)
class Row:
    """What a method achieved on a task, over its seeds.

    Args:
        method: a name of METHODS, or "module:Class".
        scores: length -> one score a seed; no entry where the method cannot run.
        refused: length -> why not.
        converged: how many seeds reached the task's goal at the training length.
        seeds: how many seeds there are.
        rate: peak learning rate.
        knobs: the method's own settings, where they are not its defaults.
    """

    method: str
    scores: dict[int, list[float]]
    refused: dict[int, str]
    converged: int
    seeds: int
    rate: float = Recipe.rate
    knobs: str = ""


def rows(records: Sequence[Record], task: str, train_length: int) -> list[Row]:
    """Gather the records of one task and length, one row a method in the order of METHODS.

    Args:
        records: from `read`; models of one size, trained by one recipe, except that each method
            may have a learning rate and settings of its own.
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
    for method, some in by_method.items():
        settings = sorted({(record.run.rate, record.run.label) for record in some})
        if len(settings) > 1:
            raise ValueError(f"records must share rate and knobs, got {settings} for {method}")
    return _rows(by_method.values(), task)


def _rows(groups, task: str) -> list[Row]:
    known = list(METHODS)
    made = [_row(some, task) for some in groups]
    return sorted(made, key=lambda row: known.index(row.method) if row.method in known else 99)


def _of_one_recipe(records: Sequence[Record], task: str, train_length: int) -> list[Record]:
    chosen = [r for r in records if (r.run.task, r.run.train_length) == (task, train_length)]
    recipes = list(groups(chosen))
    if len(recipes) > 1:
        raise ValueError(f"records must share device, size, steps and batch, got {recipes}")
    return chosen


def _row(records: Sequence[Record], task: str) -> Row:
    run = records[0].run
    seeds = [(record.run.seed, record.run.data_seed) for record in records]
    if len(set(seeds)) < len(seeds):
        raise ValueError(f"records must have different seeds, got {seeds} for {run.method}")
    scores, refused = defaultdict(list), {}
    for record in records:
        for length, result in record.results.items():
            if isinstance(result, str):
                refused[length] = result
            else:
                scores[length].append(result[TASKS[task].measure])
    converged = sum(record.converged for record in records)
    knobs = run.label.removeprefix(run.method)
    return Row(run.method, dict(scores), refused, converged, len(records), run.rate, knobs)


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
    of_one = [r for r in _of_one_recipe(records, task, train_length) if r.run.method == method]
    rows(of_one, task, train_length)  # refuses mixed settings
    found = [record.results.get(length) for record in of_one]
    if not found or not all(isinstance(result, dict) for result in found):
        raise ValueError(f"records must hold {method} on {task} at {length}, got {found[:1]}")
    blocks = zip(*(result["by_block"] for result in found), strict=True)
    return [statistics.mean(block) for block in blocks]


def groups(records: Sequence[Record]) -> dict[tuple, list[Record]]:
    """Split records into those that may stand in one table.

    Args:
        records: from `read`.

    Returns:
        (task, training length, a description of all else that they share) -> records.
    """
    found = defaultdict(list)
    for record in records:
        run = record.run
        size = "".join(f", {name} {value}" for name, value in sorted(run.size.items()))
        up_to = "up to " if run.drawn else ""
        shared = f"trained at {up_to}{run.train_length} on {run.device}, {run.steps} steps of "
        shared += f"{run.batch}{size}; {run.part}, {run.design} design"
        found[run.task, run.train_length, shared].append(record)
    return dict(found)


def table(
    records: Sequence[Record], *, tasks: Sequence[str] | None = None, style: str = "text"
) -> str:
    """Render records as tables, one a task and way of training, one row a method and setting.

    Args:
        records: from `read`.
        tasks: names of TASKS, in the order wanted; all by default.
        style: one of STYLES. "text" fits a screen of 80 columns; "csv" has one line a score.

    Returns:
        The text.

    Raises:
        ValueError: if a seed is there twice.
    """
    chosen = [r for task in dict.fromkeys(tasks or TASKS) for r in records if r.run.task == task]
    if style == "csv":
        return _csv(chosen)
    parts = []
    for (task, _, shared), some in groups(chosen).items():
        first = some[0]
        rates = {record.run.rate for record in some}
        at = "a rate for each (@)" if len(rates) > 1 else f"rate {first.run.rate:g}"
        lower = TASKS[task].measure == "tail_loss"
        measure = "loss in nats, lower is better" if lower else "right answers, higher is better"
        title = f"{task}, {shared}; {at}"
        parts.append(title if style == "markdown" else textwrap.fill(title, width=79))
        parts.append(f"{measure}; chance {first.chance:.2f}, goal {first.goal:.2f}\n")
        lengths = sorted(first.results)
        lines = [["method", *map(str, lengths), "seeds"]]
        by_setting = defaultdict(list)
        for record in some:
            by_setting[record.run.rate, record.run.label].append(record)
        for row in _rows(by_setting.values(), task):
            name = f"{row.method}{row.knobs}" + (f" @{row.rate:g}" if len(rates) > 1 else "")
            mark = "" if row.converged == row.seeds else " *"
            cells = [_cell(row.scores.get(at)) for at in lengths]
            lines.append([name + mark, *cells, str(row.seeds)])
        parts.append(_markdown(lines) if style == "markdown" else _text(lines))
        missing = [name for name in METHODS if all(r.run.method != name for r in some)]
        if missing:
            parts.append("\n" + textwrap.fill(f"Not run: {', '.join(missing)}.", width=79))
        parts.append("")
    parts.append("@ is the learning rate. A cell is the mean over seeds; ± is half the range from")
    parts.append("the worst seed to the best, no confidence interval.")
    parts.append("\\* not converged at the training length: supports no claim.")
    text = "\n".join(parts)
    return text if style == "markdown" else text.replace("\\*", "*")


def _markdown(lines: list[list[str]]) -> str:
    rule = ["---"] * len(lines[0])
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (lines[0], rule, *lines[1:]))


def _text(lines: list[list[str]]) -> str:
    """Columns; a method with long settings has a line of its own above its numbers."""
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    name = min(widths[0], 78 - sum(widths[1:]) - 2 * (len(widths) - 1))
    shown = []
    for line in lines:
        if len(line[0]) > name:
            shown.append(line[0])
            line = ["", *line[1:]]
        cells = [line[0].ljust(name)]
        cells += [cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)]
        shown.append("  ".join(cells))
    return "\n".join(shown)


def _csv(records: Sequence[Record]) -> str:
    file = io.StringIO()
    names = ("design", "part", "task", "train_length", "drawn", "method", "knobs", "rate")
    more = ("dim", "steps", "seed", "data_seed", "converged", "length", "score", "refused")
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(names + more)
    for record in records:
        run = record.run
        knobs = run.label.removeprefix(run.method)
        start = [run.design, run.part, run.task, run.train_length, run.drawn, run.method, knobs]
        start += [run.rate, run.size.get("dim", ""), run.steps, run.seed, run.data_seed]
        for length, result in record.results.items():
            refused = isinstance(result, str)
            end = ["", result] if refused else [result[TASKS[run.task].measure], ""]
            writer.writerow([*start, record.converged, length, *end])
    return file.getvalue().rstrip("\n")


def _cell(scores: list[float] | None) -> str:
    if not scores:
        return "-"
    mean = f"{statistics.mean(scores):.2f}"
    return mean if len(scores) == 1 else f"{mean}±{(max(scores) - min(scores)) / 2:.2f}"
