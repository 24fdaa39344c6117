"""What figures are made of: elements, controls, plots and words."""

import math
import re
import statistics
from collections.abc import Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from xml.etree.ElementTree import Element

SENTENCE = ["the", "cat", "sat", "on", "the", "mat", "and", "the", "dog", "on", "the", "cat"]


def h(tag: str, *children: Element | str | Sequence, **attributes: object) -> Element:
    """An element of HTML or SVG: `h("p", "text", class_="said", data_set="text:said")`."""
    names = {name: name.rstrip("_").replace("_", "-") for name in attributes}
    element = Element(tag, {names[k]: str(v) for k, v in attributes.items() if v is not None})
    for child in children:
        if isinstance(child, str):
            if len(element):
                element[-1].tail = (element[-1].tail or "") + child
            else:
                element.text = (element.text or "") + child
        elif isinstance(child, Element):
            element.append(child)
        else:
            element.extend(child)
    return element


def fixed(value: float, digits: int) -> str:
    """A number in words: a true minus, no minus zero, and halves rounded as browsers do."""
    rounded = Decimal(value).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)
    return f"{rounded:zf}".replace("-", "\N{MINUS SIGN}")


def place(value: float) -> str:
    """A position in words, to a tenth."""
    return fixed(value, 1).removesuffix(".0")


def quoted(word: str) -> str:
    """A word of the sentence, in a sentence about it."""
    return f"\N{LEFT SINGLE QUOTATION MARK}{word}\N{RIGHT SINGLE QUOTATION MARK}"


def grouped(value: str) -> str:
    """A number in words, its thousands set apart."""
    whole, *rest = value.split(".")
    return ".".join([re.sub(r"\B(?=(\d{3})+$)", ",", whole), *rest])


def nearest(value: float) -> int:
    """The nearest whole number, halves up, as the browser rounds."""
    return math.floor(value + 0.5)


def number(value: float, digits: int = 5) -> str:
    """A number as an attribute holds it."""
    return f"{round(value, digits) + 0:.{digits}f}".rstrip("0").rstrip(".")


def path(points: Sequence[tuple[float, float]]) -> str:
    """The d attribute of a line through points."""
    return "M" + "L".join(f"{number(x, 4)} {number(y, 4)}" for x, y in points)


def apart(wanted: Sequence[float], gap: float) -> list[float]:
    """Heights from 0 to 1, at least `gap` apart and else as near as can be to the wanted ones.

    Example:
        >>> apart([0.5, 0.0, 0.5], 0.25)
        [0.375, 0.0, 0.625]
    """
    order = sorted(range(len(wanted)), key=wanted.__getitem__)
    blocks: list[list[int]] = []  # neighbours that push one another
    starts: list[float] = []

    def start(block: list[int]) -> float:
        middle = statistics.mean(wanted[i] - gap * n for n, i in enumerate(block))
        return max(0.0, min(middle, 1 - gap * (len(block) - 1)))

    for i in order:
        blocks.append([i])
        starts.append(start([i]))
        while len(blocks) > 1 and starts[-1] < starts[-2] + gap * len(blocks[-2]):
            upper = blocks.pop()
            starts.pop()
            blocks[-1] = blocks[-1] + upper
            starts[-1] = start(blocks[-1])
    found = {
        i: first + gap * n
        for block, first in zip(blocks, starts, strict=True)
        for n, i in enumerate(block)
    }
    return [found[i] for i in range(len(wanted))]


def near(value: float, words: Sequence[str]) -> list[float]:
    """How near each word is to a position: 1 at it, 0 from one word away."""
    return [max(0.0, 1 - abs(value - i)) for i in range(len(words))]


def require_place(name: str, value: float, words: Sequence[str]) -> None:
    """Raise ValueError unless `value` is a position of the sentence."""
    if not 0 <= value <= len(words) - 1:
        raise ValueError(f"{name} must be a position from 0 to {len(words) - 1}, got {value}")


def controls(*parts: Element) -> Element:
    """The controls under a figure: a row, or where there are many two columns."""
    many = len(parts) > 3 or sum("slider" in part.get("class", "") for part in parts) > 2
    return h("div", *parts, class_="controls many" if many else "controls")


def slider(
    name: str,
    label: str,
    low: float,
    high: float,
    *,
    step: float = 1,
    said: str | None = None,
    colour: str | None = None,
    whole: bool = False,
    rests: bool = False,
) -> Element:
    """A range input. It moves continuously; its arrow keys move by `step`, with Shift a tenth.

    Args:
        name: of what it moves in the state.
        label: what to call it.
        low: least value.
        high: greatest value.
        step: of an arrow key.
        said: name of the value that says in words where it stands; shown beside it.
        colour: "p" or "q", if it moves a thing of that colour.
        whole: whether it moves by whole numbers only.
        rests: whether it moves on to the nearest whole number when it is let go.
    """
    text = h("output", data_set=f"text:{said}") if said else None
    bar = h(
        "input",
        type="range",
        name=name,
        min=low,
        max=high,
        step="1" if whole else "any",
        data_step=step,
        data_rests="" if rests else None,
        data_set=f"aria-valuetext:{said}" if said else None,
    )
    parts = [h("span", label), bar] + ([text] if text is not None else [])
    return h("label", *parts, class_=f"slider {colour or ''}".strip())


def rail(
    name: str,
    label: str,
    low: int,
    high: int,
    *,
    said: str,
    colour: str | None = None,
    rests: bool = False,
    whole: bool = False,
) -> Element:
    """A slider below things in a row, from `low` to `high`: it stands below the one that it means.

    Args:
        name: of what it moves in the state.
        label: what to call it; it is seen where the row is broken in two, as words on a phone.
        low: of the first thing.
        high: of the last thing.
        said: name of the value that says in words where it stands.
        colour: as of a `slider`.
        rests: likewise.
        whole: likewise.
    """
    more = {"said": said, "colour": colour, "rests": rests, "whole": whole}
    element = slider(name, label, low, high, **more)
    element.set("class", f"{element.get('class')} rail")
    element.set("style", f"--n:{high - low + 1}")
    return element


def switch(name: str, label: str) -> Element:
    """A box to tick."""
    return h("label", h("input", type="checkbox", name=name), h("span", label), class_="switch")


def choice(name: str, label: str, options: Mapping[str, str]) -> Element:
    """A list to choose from: value -> what to call it."""
    parts = [h("option", text, value=value) for value, text in options.items()]
    return h("label", h("span", label), h("select", *parts, name=name), class_="choice")


def play(name: str, *, speed: float) -> Element:
    """A button that moves a number from its least to its greatest value, `speed` a second."""
    icon = h("i", aria_hidden="true")
    attributes = {"data_play": name, "data_speed": speed}
    return h("button", icon, "Play", type="button", class_="play", **attributes)


def words_row(words: Sequence[str], *hands: str, twins: bool = False) -> Element:
    """The sentence as buttons; a word is lit in the colours of the hands that are near it.

    Each hand, "p" or "q", is a value `near_p` of the figure, one number a word. With twins, the
    value `same` says which words equal the one that is lit: a phone has no arcs to say so.
    """
    told = {f"--near-{hand}": f"near_{hand}" for hand in hands} | (
        {"--same": "same"} if twins else {}
    )
    buttons = [
        h(
            "button",
            word,
            type="button",
            data_go=f"word.{i}",
            aria_label=f"{word}, position {i}",
            data_set=" ".join(f"{name}:{value}.{i}" for name, value in told.items()),
        )
        for i, word in enumerate(words)
    ]
    return h("div", *buttons, class_="words", style=f"--n:{len(words)}")


def plot(
    *marks: Element,
    x: tuple[float, float],
    y: tuple[float, float],
    xticks: Mapping[float, str] | None = None,
    yticks: Mapping[float, str] | None = None,
    xlabel: str = "",
    ylabel: str = "",
    height: str = "13em",
    under: Sequence[Element] = (),
    over: Sequence[Element] = (),
    **attributes: object,
) -> Element:
    """Axes whose picture stretches with the page while letters and lines keep their size.

    Args:
        *marks: SVG in the units of the data, y upwards.
        x: data at the left and at the right end.
        y: data at the bottom and at the top.
        xticks: where -> what stands there; "=name" follows the value of that name.
        yticks: likewise.
        xlabel: quantity and unit.
        ylabel: quantity and unit.
        height: of the picture, in CSS.
        under: HTML that fills the picture behind the marks.
        over: HTML that stands at (--x, --y), in the units of the data: `knob` and `note`.
        **attributes: of the picture, such as data_drag and data_tip.
    """
    (left, right), (low, high) = x, y
    picture = h(
        "svg",
        h("g", *marks, transform="scale(1 -1)"),  # SVG counts downwards
        viewBox=f"{left:g} {-high:g} {right - left:g} {high - low:g}",
        preserveAspectRatio="none",
        aria_hidden="true",
        **attributes,
    )

    def ticks(where: Mapping[float, str] | None, start: float, end: float, kind: str) -> Element:
        places = [
            h(
                "span",
                "" if text.startswith("=") else text,
                style=f"--at:{(value - start) / (end - start):.5g}",
                data_set=f"text:{text[1:]}" if text.startswith("=") else None,
            )
            for value, text in (where or {}).items()
        ]
        return h("div", *places, class_=kind, aria_hidden="true")

    frame = h("div", *under, picture, *over, class_="frame painted" if under else "frame")
    parts = [h("div", ylabel, class_="ylabel")] if ylabel else []
    parts += [ticks(yticks, low, high, "yticks"), frame, ticks(xticks, left, right, "xticks")]
    parts += [h("div", xlabel, class_="xlabel")] if xlabel else []
    box = f"--x0:{left:g};--x1:{right:g};--y0:{low:g};--y1:{high:g};--height:{height}"
    return h("div", *parts, class_="plot", style=box)


def round_ticks(low: float, high: float, most: int = 6) -> dict[float, str]:
    """At most `most` round numbers between two ends, and what to write there."""
    step = 10.0 ** math.floor(math.log10((high - low) / 2))
    step = next(s * step for s in (0.5, 1, 2, 5, 10, 20) if (high - low) / (s * step) <= most - 1)
    ticks = [k * step for k in range(math.ceil(low / step), math.floor(high / step) + 1)]
    return {tick: grouped(number(tick)).replace("-", "\N{MINUS SIGN}") for tick in ticks}


def with_ends(ticks: Mapping[float, str], low: str, high: str, ends: tuple[float, float]) -> dict:
    """Ticks of an axis that a slider runs along: each end has its number, with room around it.

    Numbers of one or two letters need less room than others.

    Args:
        ticks: where -> what stands there.
        low: what stands at the lower end.
        high: what stands at the higher end.
        ends: where they are.

    Example:
        >>> with_ends({0: "0", 20: "20", 40: "40", 60: "60"}, "0", "64", (0, 64))
        {0: '0', 20: '20', 40: '40', 64: '64'}
    """
    longest = max(map(len, [*ticks.values(), low, high]))
    room = (0.1 if longest > 2 else 0.08) * (ends[1] - ends[0])
    inner = {at: text for at, text in ticks.items() if ends[0] + room < at < ends[1] - room}
    return {ends[0]: low, **inner, ends[1]: high}


def line(points: Sequence[tuple[float, float]] | None = None, **attributes: object) -> Element:
    """A line through points, or one that follows a value: `data_set="d:curve"`."""
    return h(
        "path", d=path(points) if points is not None else None, **{"class_": "line", **attributes}
    )


def knob(at: str, *, colour: str = "ink", drag: str | None = None) -> Element:
    """A dot on a plot; `at` names its two values, "--x:distance --y:score"."""
    return h("i", class_=f"knob {colour}", data_set=at, data_drag=drag, aria_hidden="true")


def note(at: str, text: str, *, side: str = "") -> Element:
    """Words on a plot that follow two values and show a third.

    They stand above, "below" on the right, beside a line that is "falling", or on the outer side
    of one that is "peaked" in the middle.
    """
    return h(
        "span", class_=f"note {side}".strip(), data_set=f"{at} text:{text}", aria_hidden="true"
    )
