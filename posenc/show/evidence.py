"""What was trained and tested: one line a method, with the spread over its seeds."""

import statistics
from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from posenc.lab.tables import Row
from posenc.show.colours import light, looks, method_name
from posenc.show.curves import name_lines

_MARKS = "os^vDPX*<>"


def plot_lengths(
    rows: Sequence[Row],
    *,
    train_length: int,
    ylabel: str,
    levels: Mapping[str, float],
    grey: Sequence[Row] = (),
    ax: Axes | None = None,
) -> Axes:
    """Draw scores over the length of the test, in multiples of the training length.

    A line is the mean over seeds, the band around it reaches from the worst to the best. A method
    with a seed that did not converge is dashed. One that cannot run beyond the training length
    is a single mark.

    Args:
        rows: from `posenc.lab.rows`.
        train_length: tokens of a training sequence.
        ylabel: what the score is, with its unit.
        levels: name -> score of a dotted line: chance, goal.
        grey: rows to draw in grey, for comparison.
        ax: where to draw; a new figure by default.

    Returns:
        The axes.
    """
    ax = plt.subplots(figsize=(6.4, 3.8))[1] if ax is None else ax
    for row in grey:
        ax.plot(*_means(row, train_length), color="#c8c8c8", linewidth=1)
    chosen = looks([row.method for row in rows])
    for number, (row, (name, _)) in enumerate(zip(rows, chosen, strict=True)):
        x, means = _means(row, train_length)
        style = "-" if row.converged == row.seeds else "--"
        look = {"marker": _MARKS[number % 10], "color": light(name), "markersize": 5}
        (line,) = ax.plot(x, means, style, label=method_name(row.method), **look)
        low, high = ([pick(scores) for scores in row.scores.values()] for pick in (min, max))
        ax.fill_between(x, low, high, color=line.get_color(), alpha=0.2, linewidth=0)
    for name, level in levels.items():
        ax.axhline(level, color="black", linewidth=1, linestyle=":")
        ax.annotate(name, (1, level), (2, 2), textcoords="offset points", fontsize=8)
    ax.set_xscale("log", base=2)
    multiples = sorted({length // train_length for row in [*rows, *grey] for length in row.scores})
    ax.set_xticks(multiples, [str(multiple) for multiple in multiples])
    ax.set(xlabel=f"length, in units of {train_length}", ylabel=ylabel)
    if len(rows) > 1:
        name_lines(ax)
    return ax


def _means(row: Row, train_length: int) -> tuple[list[float], list[float]]:
    multiples = [length / train_length for length in row.scores]
    return multiples, [statistics.mean(scores) for scores in row.scores.values()]
