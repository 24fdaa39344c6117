"""Named lines over one axis: point at one for its name and value."""

import math
import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from xml.etree.ElementTree import Element

import torch
from torch import Tensor

from posenc.lab.tables import Row
from posenc.show.colours import looks, method_name
from posenc.show.live.figure import LiveFigure, State
from posenc.show.live.marks import (
    apart,
    choice,
    controls,
    fixed,
    grouped,
    h,
    knob,
    line,
    nearest,
    note,
    number,
    path,
    place,
    plot,
    power_of_two,
    round_ticks,
    slider,
    with_ends,
)

HEIGHT, LETTERS = 19, 1.4  # of the picture, and of a name beside it, in em
LONG = 14  # letters of a name that still has room upon a phone's picture
TOP = 0.85  # of the picture: who ends there has left it
NUMBERS, SIDE = 1.15, 0.85  # height of a number in the picture, and from where it stands left


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
    at: float | None = None,
    digits: int = 2,
    says: str | None = None,
    measured: bool = False,
) -> LiveFigure:
    """Lines of measured or computed values, each named at its right end; one is in front.

    All have their values at a place to drag: at the right end they stand beside the names, and
    elsewhere each at its line. A line may end before the others (nan from there on),
    and has no value beyond. Methods have the colours and names that they have everywhere; the
    second line of a colour is dashed. Where all of x are whole numbers, so is the place.

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
        at: x to begin at; the right end by default.
        digits: behind the point of a value.
        says: the sentence below, of {line}, {x} and {y}: "At {x} characters {line} loses {y} nats."
        measured: whether values are known at the places x alone: dots mark them, and the place
            moves from one to the next.

    Returns:
        What a notebook displays.

    Raises:
        ValueError: if there are no curves, lengths differ, x does not rise, a name is unknown, at
            is not within x, or the sentence asks for something else.

    Example:
        >>> lines([0, 1, 2], {"a": [1, 2, 3], "b": [3, 1, 2]}, xlabel="x", ylabel="y")
        live figure: lines, at=2, line=a
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
    if at is not None and not places[0] <= at <= places[-1]:
        raise ValueError(f"at must be from {places[0]:g} to {places[-1]:g}, got {at}")

    says = says or f"At {{x}}{_unit(xlabel)}, {{line}}: {{y}}{_unit(ylabel)}."
    _fill(says, line="", x="", y="")

    axis = places.log2() if xscale == "log" else places
    everything = torch.cat([*table.values(), *(band.flatten() for band in spread.values())])
    everything = everything[everything.isfinite()].tolist() + list((levels or {}).values())
    low, high = min(everything), max(everything)
    low, high = low - 0.06 * (high - low or 1), high + 0.06 * (high - low or 1)
    ends = axis[0].item(), axis[-1].item()
    begin = ends[1] if at is None else math.log2(at) if xscale == "log" else float(at)
    known = {name: int(row.isfinite().sum()) for name, row in table.items()}  # from the first on
    last = {name: axis[known[name] - 1].item() for name in table}
    whole = bool((places == places.round()).all())
    names = list(table)

    def place_near(spot: float) -> tuple[float, float]:
        """The place on the axis that is meant, and what stands there."""
        if measured:
            spot = min(axis.tolist(), key=lambda known: abs(known - spot))
        shown = 2**spot if xscale == "log" else spot
        if not whole:
            return spot, shown
        shown = nearest(shown)
        return (math.log2(shown) if xscale == "log" else shown), shown

    def value(spot: float, name: str) -> float:
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
        there = [spot <= last[name] + 1e-9 for name in names]
        found = [value(spot, name) if on else low for name, on in zip(names, there, strict=True)]
        away = spot < ends[1] - 1e-9
        spread = iter(
            apart(
                [(y - low) / (high - low) for y, on in zip(found, there, strict=True) if on],
                NUMBERS / HEIGHT,
            )
        )
        said = grouped(fixed(shown, 0)) if abs(shown) >= 10 else place(shown)
        return {
            "x": spot,
            "y": found[names.index(front)],
            "front": [int(name == front) for name in names],
            "front_said": _shown(front),
            "said_of": [
                _spoken(y, digits) if on else "\N{EN DASH}"
                for y, on in zip(found, there, strict=True)
            ],
            "end": int(not away),
            "number": [int(on and away) for on in there],
            "height": [low + (high - low) * next(spread) if on else low for on in there],
            "side": int((spot - ends[0]) / (ends[1] - ends[0]) > SIDE),
            "x_said": said,
            "letters": len(said),
        }

    def describe(state: State, values: dict) -> str:
        front = state["line"]
        value = values["said_of"][names.index(front)]
        return _fill(says, line=_shown(front), x=values["x_said"], y=value)

    upright = {name: math.log2(v) if xscale == "log" else v for name, v in (marks or {}).items()}
    level = dict(levels or {})
    drawn = [line([(v, low), (v, high)], class_="axis dotted") for v in upright.values()]
    drawn += [line([(ends[0], v), (ends[1], v)], class_="axis dotted") for v in level.values()]
    shares = [((row[known[name] - 1]).item() - low) / (high - low) for name, row in table.items()]
    shares += [(v - low) / (high - low) for v in level.values()]
    left = [(ends[1] - last[name]) / (ends[1] - ends[0]) for name in names] + [0] * len(level)
    # of lines that leave the picture above, the first to go is named highest
    wanted = [s + gone * (s > TOP) for s, gone in zip(shares, left, strict=True)]
    heights = apart(wanted, LETTERS / HEIGHT)
    at_end = {n: s for n, s in zip(names, shares, strict=False) if last[n] == ends[1]}
    room = _room(at_end)
    named, numbers, ended = [], [], []
    for i, ((name, row), (colour, again)) in enumerate(
        zip(table.items(), looks(names), strict=True)
    ):
        along = axis[: known[name]].tolist()
        look, dashes = f"--c:var(--{colour})", " second" if again else ""
        quiet = " quiet" if colour == "grey" else ""
        follow = {"style": look, "data_set": f"--on:front.{i}"}
        if name in spread:
            below, above = spread[name][:, : known[name]].tolist()
            around = zip([*along, *along[::-1]], [*below, *above[::-1]], strict=True)
            drawn.append(line(list(around), class_="band", **follow))
        points = list(zip(along, row[: known[name]].tolist(), strict=True))
        kind = f"line one{dashes}{quiet}"
        if len(points) == 1:
            points, kind = points * 2, "line one single"  # a dot
        drawn.append(line(points, class_=kind, **follow))
        if measured:
            dots = "".join(f"{path([point])}h0" for point in points)
            drawn.append(h("path", d=dots, class_="line one dots", **follow))
        follow["style"] += f";--at:{heights[i]:.4f}"
        parts = h("i"), h("span", _shown(name)), h("b", data_set=f"text:said_of.{i}")
        named.append(h("div", *parts, class_=dashes.strip(), data_go=f"line.{i}", **follow))
        tied = (
            f"text:said_of.{i} --x:x --y:height.{i} --number:number.{i} --side:side --on:front.{i}"
        )
        numbers.append(h("span", class_="number", style=look, data_set=tied, aria_hidden="true"))
        if name in room:
            style = f"{look};--x:{ends[1]:.5g};--y:{points[-1][1]:.5g}"
            tied = f"--on:front.{i}"
            ended.append(h("span", _shown(name), class_=room[name], style=style, data_set=tied))
    for name, at_height in zip(level, heights[len(names) :], strict=True):
        parts = h("i"), h("span", name)
        named.append(h("div", *parts, class_="level", style=f"--at:{at_height:.4f}"))
    here = line([(0, low), (0, high)], class_="line here", data_set="--x:x")
    picture = plot(
        here,
        *drawn,
        x=ends,
        y=(low, high),
        xticks=_ticks(places, xscale),
        yticks=round_ticks(low, high),
        xlabel=xlabel,
        ylabel=ylabel,
        height=f"{HEIGHT}em",
        over=[
            *_flags(upright, ends),
            h("div", *numbers, aria_hidden="true"),
            h("div", *ended, aria_hidden="true"),
            knob("--x:x --y:y", drag="at"),
            note("--x:x --y:y", "front_said", side="fore"),
            h("span", class_="where", data_set="--x:x text:x_said", aria_hidden="true"),
        ],
        data_drag="at",
        data_tip="at",
    )
    picture.set("class", "plot named flagged" if upright else "plot named")
    for tick in picture.find("div[@class='xticks']"):
        tick.set("data-set", "--x:x --letters:letters")  # it makes room for the place told there
        tick.set("style", f"{tick.get('style')};--own:{len(tick.text)}")
    picture.append(h("div", *named, class_="names", data_set="--end:end", aria_hidden="true"))
    step = axis.diff().min().item() if measured else (ends[1] - ends[0]) / 40
    if whole and xscale == "linear" and not measured:
        step = max(1, round(step))
    return LiveFigure(
        "lines",
        f"Lines of {ylabel} over {xlabel}",
        picture,
        controls(
            choice("line", "in front", {name: _shown(name) for name in names}),
            slider("at", xlabel, *ends, step=step, said="x_said"),
        ),
        data={
            "names": names,
            "shown": [_shown(name) for name in names],
            "x": axis.tolist(),
            "rows": [row[: known[name]].tolist() for name, row in table.items()],
            "size": [ends[1] - ends[0], high - low],
            "low": low,
            "gap": NUMBERS / HEIGHT,
            "side": SIDE,
            "log": xscale == "log",
            "whole": whole,
            "measured": measured,
            "digits": digits,
            "says": says,
        },
        state={"at": begin, "line": start},
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
    unit: str = "tokens",
    says: str | None = None,
) -> LiveFigure:
    """What was measured over the length of the test: a line a method, with its seeds in front.

    Args:
        rows: from `posenc.lab.rows`.
        train_length: of a training text.
        ylabel: what the score is, with its unit.
        levels: name -> score of a dotted line: chance, goal.
        start: method in front to begin with; the first by default.
        unit: of lengths.
        says: the sentence below, as in `lines`.

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
        xlabel=f"length of the test ({unit})",
        ylabel=ylabel,
        xscale="log",
        marks={"training length": train_length},
        levels=levels,
        bands={row.method: (along(row, min), along(row, max)) for row in rows},
        start=start,
        says=says,
        measured=True,
    )


def _room(ends: Mapping[str, float]) -> dict[str, str]:
    """The lines whose end has room for a name, on a phone, and whether above it or under it.

    A long name would lie across the other lines: it stands below the picture alone.
    """
    names, enough = sorted(ends, key=ends.__getitem__), 2 * LETTERS / HEIGHT
    free = [ends[upper] - ends[lower] > enough for lower, upper in pairwise(names)]
    above, below = [*free, True], [False, *free]
    return {
        name: "ended" if over else "ended under"
        for name, over, under in zip(names, above, below, strict=True)
        if (over or under) and len(_shown(name)) <= LONG
    }


def _shown(name: str) -> str:
    """A line's name as readers see it: methods by their own names, numbers with a true minus."""
    return re.sub(r"(?<!\w)-(?=\d)", "\N{MINUS SIGN}", method_name(name))


def _unit(label: str) -> str:
    """The unit of a label, with a space before: "loss (nats)" has " nats"."""
    return f" {label.partition(' (')[2].removesuffix(')')}".rstrip()


def _fill(says: str, **parts: str) -> str:
    """A sentence with its parts in place."""
    try:
        return says.format(**parts)
    except (KeyError, IndexError, ValueError) as error:
        raise ValueError(f"says must ask for {{line}}, {{x}} and {{y}}, got {says!r}") from error


def _spoken(value: float, digits: int) -> str:
    """A value in words; the thousands of a whole one set apart."""
    return grouped(fixed(value, digits))


def _flags(upright: Mapping[str, float], ends: tuple[float, float]) -> list[Element]:
    """The names of upright lines, above the picture; of two neighbours the left stands left."""
    places = sorted(upright.values())
    flags = []
    for name, at in upright.items():
        share = (at - ends[0]) / (ends[1] - ends[0])
        later = [p for p in places if p > at]
        crowded = later and (later[0] - at) / (ends[1] - ends[0]) < 0.3
        side = "before" if share > 0.7 or (crowded and share > 0.2) else ""
        flags.append(
            h(
                "span",
                name,
                class_=f"flag {side}".strip(),
                style=f"--x:{at:.5g}",
                aria_hidden="true",
            )
        )
    return flags


def _ticks(places: Tensor, xscale: str) -> dict[float, str]:
    """Where x stands: its ends, and between them round numbers or some powers of two."""
    first, last = places[0].item(), places[-1].item()
    words = [grouped(number(end)).replace("-", "\N{MINUS SIGN}") for end in (first, last)]
    if xscale == "linear":
        return with_ends(round_ticks(first, last), *words, (first, last))
    ends = math.log2(first), math.log2(last)
    low, high = math.ceil(ends[0]), int(ends[1])
    step = math.ceil((high - low + 1) / 5)
    inner = {power: power_of_two(power) for power in range(high % step, high + 1, step)}
    words = [inner.get(end, word) for end, word in zip(ends, words, strict=True)]
    return with_ends({p: t for p, t in inner.items() if p >= low}, *words, ends)
