"""Named lines over one axis: point at one for its name and value."""

import copy
import math
import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from itertools import chain, pairwise
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
    number,
    path,
    place,
    plot,
    round_ticks,
    slider,
    with_ends,
)

HEIGHT, LETTERS = 19, 1.4  # of the picture, and of a name beside it, in em
FIRST, NEARER = 16, 11  # of two pictures, of which the second shows some from nearer, in em
MANY, HIGHER = 8, 27  # lines: the picture reaches into the rail of the page, and is so high there
TOP = 0.85  # of the picture: who ends there has left it
PHONE, LETTER = 17, 0.56  # width of the picture on a narrow phone, and of a letter, in em
LOWER = 15  # of a picture there with a second one, in em
CORNER = 0.03  # of the height: no number of y stands there, beside the first of x
CLEAR = 0.8  # of a name in the picture from its line, in em: the ring has room between them


def lines(
    x: Sequence[float] | Tensor,
    curves: Mapping[str, Sequence[float] | Tensor],
    *,
    xlabel: str,
    ylabel: str,
    xscale: str = "linear",
    marks: Mapping[str, float] | None = None,
    levels: Mapping[str, float | Sequence[float]] | None = None,
    bands: Mapping[str, tuple[Sequence[float], Sequence[float]]] | None = None,
    start: str | None = None,
    at: float | None = None,
    nearer: float | None = None,
    digits: int = 2,
    says: str | None = None,
    measured: bool = False,
) -> LiveFigure:
    """Lines of measured or computed values, each named at its right end; one is in front.

    All have their values at a place to drag, beside the names. On a phone the names stand below,
    the highest line's first, and in the picture that of the line in front, where it meets no line.
    A line may end before the others (nan from there on), and has no value beyond; one that leaves
    at the top is named there, too. Methods have the colours and names that they have everywhere;
    the second line of a colour is dashed. Where all of x are whole numbers, so is the place.

    Args:
        x: [n], rising; positive if the scale is "log".
        curves: name -> values [n].
        xlabel: quantity and unit of x.
        ylabel: quantity and unit of the values.
        xscale: "linear" or "log".
        marks: name -> x of an upright dotted line.
        levels: name -> value of a level dotted line, or values of several of one name.
        bands: name -> lowest and highest values [n], shown for the line in front.
        start: name of the line in front to begin with; the first by default.
        at: x to begin at; the right end by default.
        nearer: value up to which a second picture, below the first, shows the lines from nearer.
        digits: behind the point of a value.
        says: the sentence below, of {line}, {x} and {y}: "At {x} characters {line} loses {y} nats."
        measured: whether values are known at the places x alone: dots mark them, and the place
            moves from one to the next.

    Returns:
        What a notebook displays.

    Raises:
        ValueError: if there are no curves, lengths differ, x does not rise, a name is unknown, at
            is not within x, nearer not between the values, or the sentence asks for something else.

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
    level = {
        name: [float(v) for v in (many if isinstance(many, Sequence) else [many])]
        for name, many in (levels or {}).items()
    }
    everything = everything[everything.isfinite()].tolist() + list(chain(*level.values()))
    low, high = min(everything), max(everything)
    if nearer is not None and not low < nearer < high:
        raise ValueError(f"nearer must be between {low:.4g} and {high:.4g}, got {nearer}")
    low, high = low - 0.06 * (high - low or 1), high + 0.06 * (high - low or 1)
    twice = nearer is not None
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
        said = grouped(fixed(shown, 0)) if abs(shown) >= 10 else place(shown)
        return {
            "x": spot,
            "y": found[names.index(front)],
            "front": [int(name == front) for name in names],
            "said_of": [
                _spoken(y, digits) if on else "\N{EN DASH}"
                for y, on in zip(found, there, strict=True)
            ],
            "x_said": said,
            "letters": len(said),
        }

    def describe(state: State, values: dict) -> str:
        front = state["line"]
        value = values["said_of"][names.index(front)]
        return _fill(says, line=_shown(front), x=values["x_said"], y=value)

    upright = {name: math.log2(v) if xscale == "log" else v for name, v in (marks or {}).items()}
    drawn = [line([(v, low), (v, high)], class_="axis dotted") for v in upright.values()]
    dotted = list(chain(*level.values()))
    drawn += [line([(ends[0], v), (ends[1], v)], class_="axis dotted") for v in dotted]
    shares = [((row[known[name] - 1]).item() - low) / (high - low) for name, row in table.items()]
    shares += [(max(many) - low) / (high - low) for many in level.values()]
    left = [(ends[1] - last[name]) / (ends[1] - ends[0]) for name in names] + [0] * len(level)
    height = FIRST if twice else HIGHER if len(names) >= MANY else HEIGHT
    # of lines that leave the picture above, the first to go is named highest
    wanted = [s + gone * (s > TOP) for s, gone in zip(shares, left, strict=True)]
    heights = apart(wanted, LETTERS / height)
    flags = {name: (v, "soft") for name, v in upright.items()}
    for name, (colour, _), top, gone in zip(names, looks(names), shares, left, strict=False):
        if gone and top > TOP:
            flags[_shown(name)] = last[name], colour

    def share(points: Sequence[tuple[float, float]]) -> Points:
        """Points as shares of the picture."""
        wide, tall = ends[1] - ends[0], high - low
        return [((x - ends[0]) / wide, (y - low) / tall) for x, y in points]

    drawn_as = {
        name: share(list(zip(axis.tolist(), row[: known[name]].tolist(), strict=False)))
        for name, row in table.items()
    }
    fixed_lines = [share([(v, low), (v, high)]) for v in upright.values()]
    fixed_lines += [share([(ends[0], v), (ends[1], v)]) for v in dotted]
    longest = max(
        len(_spoken(y, digits)) for n, row in table.items() for y in row[: known[n]].tolist()
    )
    named, inside, fronts = [], [], []  # fronts: of the line to begin with, painted last
    for i, ((name, row), (colour, again)) in enumerate(
        zip(table.items(), looks(names), strict=True)
    ):
        along = axis[: known[name]].tolist()
        look, dashes = f"--c:var(--{colour})", " second" if again else ""
        painted = fronts if name == start else drawn
        quiet = " quiet" if colour == "grey" else ""
        follow = {"style": look, "data_set": f"--on:front.{i}"}
        if name in spread:
            below, above = spread[name][:, : known[name]].tolist()
            around = zip([*along, *along[::-1]], [*below, *above[::-1]], strict=True)
            painted.append(line(list(around), class_="band", **follow))
        points = list(zip(along, row[: known[name]].tolist(), strict=True))
        kind = f"line one{dashes}{quiet}"
        if len(points) == 1:
            points, kind = points * 2, "line one single"  # a dot
        painted.append(line(points, class_=kind, **follow))
        if measured:
            dots = "".join(f"{path([point])}h0" for point in points)
            painted.append(h("path", d=dots, class_="line one dots", **follow))
        follow["style"] += f";--at:{heights[i]:.4f}"
        parts = h("i"), h("span", _shown(name)), h("b", data_set=f"text:said_of.{i}")
        named.append(
            h("div", *parts, class_=(dashes + quiet).strip(), data_go=f"line.{i}", **follow)
        )
        others = [points for other, points in drawn_as.items() if other != name]
        if at := _room(
            len(_shown(name)), drawn_as[name], [*others, *fixed_lines], LOWER if twice else HEIGHT
        ):
            style = f"{look};--left:{at[0]:.4f};--up:{at[1]:.4f}"
            tied = f"--on:front.{i}"
            inside.append(h("span", _shown(name), class_="fore", style=style, data_set=tied))
    for name, at_height in zip(level, heights[len(names) :], strict=True):
        parts, look = (h("i"), h("span", name)), f"--c:var(--soft);--at:{at_height:.4f}"
        named.append(h("div", *parts, class_="level", style=look))
    here = line([(0, low), (0, high)], class_="line here", data_set="--x:x")
    pulled = {"data_drag": "at", "data_tip": "at"}
    where = "--x:x --letters:letters text:x_said"
    told = h("span", class_="where", data_set=where, aria_hidden="true")
    picture = plot(
        here,
        *drawn,
        *fronts,
        x=ends,
        y=(low, high),
        xticks=_ticks(places, xscale),
        yticks=round_ticks(low + CORNER * (high - low), high, most=height // 3),
        xlabel=xlabel,
        ylabel=ylabel,
        height=f"{height}em",
        over=[
            *_flags(flags, ends),
            h("div", *inside, aria_hidden="true"),
            knob("--x:x --y:y", drag="at"),
            *([] if twice else [told]),
        ],
        **pulled,
    )
    if nearer is not None:
        y = min(everything) - 0.06 * (nearer - min(everything)), nearer
        again = copy.deepcopy([here, *drawn, *fronts])
        over = [knob("--x:x --y:y", drag="at"), told]
        ticks = round_ticks(y[0] + CORNER * (y[1] - y[0]), nearer)
        second = plot(*again, x=ends, y=y, yticks=ticks, height=f"{NEARER}em", over=over, **pulled)
        at = next(i for i, part in enumerate(picture) if part.get("class") == "xticks")
        for part in second.findall("div[@class='yticks']") + second.findall("div[@class='frame']"):
            part.set("style", second.get("style"))
            picture.insert(at, part)
        title = f"the same from nearer: {ylabel} up to {number(nearer)}"
        picture.insert(at, h("div", title, class_="ylabel"))
    flagged = " flagged" if flags else ""
    popout = " popout" if len(names) >= MANY else ""  # what stands in the rail makes way
    picture.set("class", f"plot named{flagged}{popout}{' twice' * twice}")
    for tick in picture.find("div[@class='xticks']"):
        tick.set("data-set", "--x:x --letters:letters")  # it makes room for the place told there
        tick.set("style", f"{tick.get('style')};--own:{len(tick.text)}")
    letters = max(len(_shown(name)) for name in names)
    room = f"--value:{longest};--letters:{letters}"
    ends_at = [gone == 0 and 0 <= share <= 1 for gone, share in zip(left, shares, strict=True)]
    stands = "at ", h("b", data_set="text:x_said")  # what all values beside the names are at
    picture.append(h("div", *stands, class_="stands", aria_hidden="true"))
    picture.append(_names(named, shares, heights, ends_at, height, style=room))
    if nearer is not None:
        ends_of = [(low + share * (high - low) - y[0]) / (y[1] - y[0]) for share in shares]
        low_ones = [i for i in range(len(names)) if left[i] == 0 and ends_of[i] <= 1]
        below = [ends_of[i] for i in low_ones]
        heights = apart(below, LETTERS / NEARER)
        again = [copy.deepcopy(named[i]) for i in low_ones]
        for name, at_height in zip(again, heights, strict=True):
            name.remove(name.find("b"))  # the value is told above
            name.set("style", f"{name.get('style').partition(';')[0]};--at:{at_height:.4f}")
        look = f"--height:{NEARER}em"
        picture.append(_names(again, below, heights, [True] * len(again), NEARER, " low", look))
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
            "low": low,
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
    nearer: float | None = None,
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
        nearer: as in `lines`.
        unit: of lengths.
        says: the sentence below, as in `lines`.

    Returns:
        What a notebook displays.

    Raises:
        ValueError: if there are no rows, start names none, or nearer is not between the scores.
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
        nearer=nearer,
        says=says,
        measured=True,
    )


Points = list[tuple[float, float]]


def _room(
    letters: int, own: Points, others: list[Points], height: float = HEIGHT
) -> tuple[float, float] | None:
    """Where in a phone's picture a line's name meets no line: the middle of its foot, in shares.

    The name stands just above its line or just below it, as near to it and as far from others as
    can be. None, if there is no such place: then it is named below the picture alone.
    """
    wide, tall, clear = LETTER * letters / PHONE, LETTERS / height, CLEAR / height
    found = []
    for part in range(13 if wide <= 1 else 0):
        middle = own[0][0] + (own[-1][0] - own[0][0]) * part / 12
        left = max(0.0, min(middle - wide / 2, 1 - wide))
        mine = _heights(own, left, left + wide)
        for foot in (max(mine) + clear, min(mine) - clear - tall):
            if not 0 <= foot <= 1 - tall:
                continue
            far = 1.0  # from the nearest of the others
            for heights in (_heights(points, left, left + wide) for points in others):
                if heights:
                    far = min(far, max(min(heights) - foot - tall, foot - max(heights)))
            if far > clear / 2:
                off = max(max(mine) - foot - tall, foot - min(mine))
                found.append((min(far, 3 * clear) - off, part, left + wide / 2, foot))
    return max(found)[2:] if found else None


def _heights(points: Points, left: float, right: float) -> list[float]:
    """The heights of a line between two places: of its corners, and where it goes in and out."""
    inside = [y for x, y in points if left <= x <= right]
    for (x0, y0), (x1, y1) in pairwise(points):
        inside += [
            y0 + (y1 - y0) * (edge - x0) / (x1 - x0) for edge in (left, right) if x0 < edge < x1
        ]
    return inside


def _shown(name: str) -> str:
    """A line's name as readers see it: methods by their own names, numbers with a true minus.

    No line of text ends within "b = 8".
    """
    minus = re.sub(r"(?<!\w)-(?=\d)", "\N{MINUS SIGN}", method_name(name))
    return minus.replace(" = ", "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}")


def _unit(label: str) -> str:
    """The unit of a label, held to the number before it: "loss (nats)" has " nats"."""
    unit = label.partition(" (")[2].removesuffix(")")
    return f"\N{NO-BREAK SPACE}{unit}" if unit else ""


def _fill(says: str, **parts: str) -> str:
    """A sentence with its parts in place."""
    try:
        return says.format(**parts)
    except (KeyError, IndexError, ValueError) as error:
        raise ValueError(f"says must ask for {{line}}, {{x}} and {{y}}, got {says!r}") from error


def _names(
    named: list[Element],
    wanted: Sequence[float],
    heights: Sequence[float],
    ends: Sequence[bool],
    height: float,
    kind: str = "",
    style: str = "",
) -> Element:
    """Names beside a picture, from above, each tied to the end of its line if it gave way there."""
    leads = [
        h("path", d=path([(0, 100 * (1 - share)), (100, 100 * (1 - at))]), style=each.get("style"))
        for each, share, at, there in zip(named, wanted, heights, ends, strict=True)
        if there and abs(share - at) > 0.2 * LETTERS / height
    ]
    box = {"viewBox": "0 0 100 100", "preserveAspectRatio": "none"}  # or they are blurred
    from_above = [named[i] for i in sorted(range(len(named)), key=lambda i: -heights[i])]
    parts = h("svg", *leads, class_="leads", **box), *from_above
    return h("div", *parts, class_=f"names{kind}", style=style, aria_hidden="true")


def _spoken(value: float, digits: int) -> str:
    """A value in words; the thousands of a whole one set apart."""
    return grouped(fixed(value, digits))


def _flags(named: Mapping[str, tuple[float, str]], ends: tuple[float, float]) -> list[Element]:
    """Names above the picture, each at its place and in its colour.

    There upright lines end, and others leave. Of two neighbours the left stands left.
    """
    places = sorted(at for at, _ in named.values())
    flags = []
    for name, (at, colour) in named.items():
        share = (at - ends[0]) / (ends[1] - ends[0])
        later = [p for p in places if p > at]
        crowded = later and (later[0] - at) / (ends[1] - ends[0]) < 0.3
        side = "before" if share > 0.7 or (crowded and share > 0.2) else ""
        look = f"--x:{at:.5g};--c:var(--{colour})"
        flags.append(h("span", name, class_=f"flag {side}".strip(), style=look, aria_hidden="true"))
    return flags


def _ticks(places: Tensor, xscale: str) -> dict[float, str]:
    """Where x stands: its ends, and between them round numbers or some powers of two."""
    first, last = places[0].item(), places[-1].item()
    words = [grouped(number(end)).replace("-", "\N{MINUS SIGN}") for end in (first, last)]
    if xscale == "linear":
        return with_ends(round_ticks(first, last), *words, (first, last))
    ends = math.log2(first), math.log2(last)
    low, high = math.ceil(ends[0]), int(ends[1])
    few = 5 if high <= 16 else 4  # thousands need room
    step = math.ceil((high - low + 1) / few)
    inner = {power: f"{2**power:,}" for power in range(high % step, high + 1, step)}
    return with_ends({p: t for p, t in inner.items() if p >= low}, *words, ends)
