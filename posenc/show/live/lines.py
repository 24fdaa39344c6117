"""Named lines over one axis: point at one for its name and value."""

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from xml.etree.ElementTree import Element

import torch
from torch import Tensor

from posenc.lab.tables import Row
from posenc.show.colours import looks
from posenc.show.live.figure import LiveFigure, State
from posenc.show.live.marks import (
    choice,
    controls,
    fixed,
    grouped,
    h,
    knob,
    line,
    nearest,
    note,
    place,
    plot,
    round_ticks,
    slider,
)


def lines(
    x: Sequence[float] | Tensor,
    curves: Mapping[str, Sequence[float] | Tensor],
    *,
    xlabel: str,
    ylabel: str,
    xscale: str = "linear",
    marks: Mapping[str, float] | None = None,
    levels: Mapping[str, float] | None = None,
    bands: Mapping[str, tuple[Sequence[float], Sequence[float]]] | None = None,
    start: str | None = None,
    digits: int = 2,
) -> LiveFigure:
    """Lines of measured or computed values; one is in front, with its value at a place to drag.

    A line may end before the others (nan from there on), and has no value beyond. Methods have the
    colours that they have everywhere; the second line of a colour is dashed. Where all of x are
    whole numbers, so is the place.

    Args:
        x: [n], rising; positive if the scale is "log".
        curves: name -> values [n].
        xlabel: quantity and unit of x.
        ylabel: quantity and unit of the values.
        xscale: "linear" or "log".
        marks: name -> x of an upright dotted line.
        levels: name -> value of a level dotted line.
        bands: name -> lowest and highest values [n], shown for the line in front.
        start: name of the line in front to begin with; the first by default.
        digits: behind the point of a value.

    Returns:
        What a notebook displays.

    Raises:
        ValueError: if there are no curves, lengths differ, x does not rise, or a name is unknown.

    Example:
        >>> lines([0, 1, 2], {"a": [1, 2, 3], "b": [3, 1, 2]}, xlabel="x", ylabel="y")
        live figure: lines, at=1, line=a
    """
    places = torch.as_tensor(x, dtype=torch.float64)
    table = {name: torch.as_tensor(y, dtype=torch.float64) for name, y in curves.items()}
    spread = {n: torch.as_tensor(b, dtype=torch.float64) for n, b in (bands or {}).items()}
    start = next(iter(table), "") if start is None else start
    if start not in table or not set(spread) <= set(table):
        raise ValueError(f"start and bands must name curves, got {[start, *spread]}")
    if len(places) < 2 or not (places.diff() > 0).all():
        raise ValueError(f"x must be at least two numbers that rise, got {places.tolist()}")
    for name, row in table.items():
        if row.shape != places.shape:
            raise ValueError(f"{name} must have {len(places)} values, got {tuple(row.shape)}")
    if xscale not in ("linear", "log"):
        raise ValueError(f"xscale must be 'linear' or 'log', got {xscale!r}")
    if xscale == "log" and places[0] <= 0:
        raise ValueError(f"x must be positive on a log scale, got {places[0].item():g}")

    axis = places.log2() if xscale == "log" else places
    everything = torch.cat([*table.values(), *(band.flatten() for band in spread.values())])
    everything = everything[everything.isfinite()].tolist() + list((levels or {}).values())
    low, high = min(everything), max(everything)
    low, high = low - 0.06 * (high - low or 1), high + 0.1 * (high - low or 1)
    ends = axis[0].item(), axis[-1].item()
    known = {name: int(row.isfinite().sum()) for name, row in table.items()}  # from the first on
    last = {name: axis[known[name] - 1].item() for name in table}
    whole = bool((places == places.round()).all())
    names = list(table)

    def place_near(spot: float) -> tuple[float, float]:
        """The place on the axis that is meant, and what stands there."""
        shown = 2**spot if xscale == "log" else spot
        if not whole:
            return spot, shown
        shown = nearest(shown)
        return (math.log2(shown) if xscale == "log" else shown), shown

    def at(spot: float, name: str) -> float:
        """The value of a line at a place within it."""
        row, i = table[name], int(torch.searchsorted(axis, spot, right=True)) - 1
        if known[name] == 1:
            return row[0].item()
        i = max(0, min(i, known[name] - 2))
        part = (spot - axis[i].item()) / (axis[i + 1] - axis[i]).item()
        return (row[i] + part * (row[i + 1] - row[i])).item()

    def values(state: State) -> dict:
        front = state["line"]
        spot, shown = place_near(min(max(state["at"], ends[0]), last[front]))
        said = [
            fixed(at(spot, name), digits) if spot <= last[name] + 1e-9 else "\N{EN DASH}"
            for name in names
        ]
        return {
            "x": spot,
            "y": at(spot, front),
            "front": [int(name == front) for name in names],
            "said_of": said,
            "value_said": said[names.index(front)],
            "x_said": grouped(fixed(shown, 0)) if abs(shown) >= 10 else place(shown),
        }

    (x_name, x_unit), (y_name, y_unit) = _parts(xlabel), _parts(ylabel)

    def describe(state: State, values: dict) -> str:
        return (
            f"{state['line']}. {x_name}: {values['x_said']}{x_unit}; "
            f"{y_name}: {values['value_said']}{y_unit}."
        )

    drawn, legend = [], []
    for i, ((name, row), (colour, again)) in enumerate(
        zip(table.items(), looks(names), strict=True)
    ):
        along = axis[: known[name]].tolist()
        look, dashes = f"--c:var(--{colour})", " second" if again else ""
        follow = {"style": look, "data_set": f"--on:front.{i}"}
        value = h("b", data_set=f"text:said_of.{i}")
        legend.append(h("span", name, value, class_=dashes.strip(), data_go=f"line.{i}", **follow))
        if name in spread:
            below, above = spread[name][:, : known[name]].tolist()
            around = zip([*along, *along[::-1]], [*below, *above[::-1]], strict=True)
            drawn.append(line(list(around), class_="band", **follow))
        points = list(zip(along, row[: known[name]].tolist(), strict=True))
        kind = f"line one{dashes}"
        if len(points) == 1:
            points, kind = points * 2, "line one single"  # a dot
        drawn.append(line(points, class_=kind, **follow))
    upright = dict(zip(marks or {}, _scaled(marks, xscale), strict=True))
    level = dict(levels or {})
    rules = [line([(v, low), (v, high)], class_="axis dashed") for v in upright.values()]
    rules += [line([(ends[0], v), (ends[1], v)], class_="axis dashed") for v in level.values()]
    words = [_label(name, v, high, "flag") for name, v in upright.items()]
    words += [_label(name, ends[0], v, "flag level") for name, v in level.items()]
    picture = plot(
        *rules,
        *drawn,
        x=ends,
        y=(low, high),
        xticks=_ticks(places, xscale),
        yticks=round_ticks(low, high),
        xlabel=xlabel,
        ylabel=ylabel,
        height="19em",
        over=[*words, knob("--x:x --y:y", drag="at"), note("--x:x --y:y", "value_said")],
        data_drag="at",
        data_tip="at",
    )
    step = (ends[1] - ends[0]) / 40
    if whole and xscale == "linear":
        step = max(1, round(step))
    return LiveFigure(
        "lines",
        f"Lines of {ylabel} over {xlabel}",
        picture,
        h("div", *legend, class_="names", aria_hidden="true"),
        controls(
            choice("line", "in front", {name: name for name in names}),
            slider("at", xlabel, *ends, step=step, said="x_said"),
        ),
        data={
            "names": names,
            "x": axis.tolist(),
            "rows": [row[: known[name]].tolist() for name, row in table.items()],
            "log": xscale == "log",
            "whole": whole,
            "digits": digits,
            "labels": [[x_name, x_unit], [y_name, y_unit]],
        },
        state={"at": (ends[0] + ends[1]) / 2, "line": start},
        values=values,
        describe=describe,
    )


def lengths(
    rows: Sequence[Row],
    *,
    train_length: int,
    ylabel: str,
    levels: Mapping[str, float] | None = None,
    start: str | None = None,
) -> LiveFigure:
    """What was measured over the length of the test: a line a method, with its seeds in front.

    Args:
        rows: from `posenc.lab.rows`.
        train_length: tokens of a training text.
        ylabel: what the score is, with its unit.
        levels: name -> score of a dotted line: chance, goal.
        start: method in front to begin with; the first by default.

    Returns:
        What a notebook displays.

    Raises:
        ValueError: if there are no rows, or start names none.
    """
    places = sorted({length for row in rows for length in row.scores})

    def along(row: Row, pick: Callable[[Sequence[float]], float]) -> list[float]:
        return [pick(row.scores[n]) if n in row.scores else math.nan for n in places]

    return lines(
        places,
        {row.method: along(row, statistics.mean) for row in rows},
        xlabel="length of the test (tokens)",
        ylabel=ylabel,
        xscale="log",
        marks={"training length": train_length},
        levels=levels,
        bands={row.method: (along(row, min), along(row, max)) for row in rows},
        start=start,
    )


def _scaled(marks: Mapping[str, float] | None, xscale: str) -> list[float]:
    return [math.log2(v) if xscale == "log" else v for v in (marks or {}).values()]


def _label(text: str, x: float, y: float, look: str) -> Element:
    return h("span", text, class_=look, style=f"--x:{x:.5g};--y:{y:.5g}", aria_hidden="true")


def _parts(label: str) -> tuple[str, str]:
    """A label as the quantity and its unit, with a space before: ("loss", " nats")."""
    quantity, _, unit = label.partition(" (")
    return (quantity, f" {unit.removesuffix(')')}") if unit else (label, "")


def _ticks(places: Tensor, xscale: str) -> dict[float, str]:
    """Where x stands on its axis: some powers of two on a log scale, round numbers else."""
    first, last = places[0].item(), places[-1].item()
    if xscale == "linear":
        return round_ticks(first, last)
    low, high = math.ceil(math.log2(first)), int(math.log2(last))
    powers = range(low, high + 1, math.ceil((high - low + 1) / 5))
    return {power: f"{2**power:,}" for power in powers}
