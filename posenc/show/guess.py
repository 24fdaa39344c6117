"""Questions that a reader answers by hand: draw a curve, place a point, turn a hand.

Each function takes the truth as `posenc` computed it and returns what a notebook displays: one
piece of HTML with a picture to draw on and a slider for each value, which needs no kernel and no
library. *Compare* shows the truth beside the answer, and how far off it was. Without scripts a fold
holds the truth, and on paper it is there from the start.
"""

import html
import itertools
import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.ticker import LogLocator, MaxNLocator
from torch import Tensor

_UNDER = 66  # below the axes: numbers and a label
_LETTER = 9  # width of one
_BETWEEN = 9  # two numbers of an axis, at least
_BESIDE = 18  # from an upright axis to its numbers: a ring that waits stands between
Box = tuple[int, int, int, int]
_WIDTHS = {"wide": 640, "phone": 360}  # of the two pictures of a question
# left, top, width, height of the axes in each; on the right of a curve's there is room for a word
_BOX = {"wide": (84, 34, 496, 200), "phone": (58, 34, 260, 250)}
_SCALE = {"wide": (24, 24, 592, 56), "phone": (16, 24, 328, 76)}  # without an upright axis
_DIAL = {"wide": (210, 14, 220, 220), "phone": (60, 14, 240, 240)}
_STEP = 0.005  # of a slider, as a share of its axis or of a turn
_SCRIPT = Path(__file__).with_name("guess.js")
_STYLE = """
.guess { container-type: inline-size; max-width: 46rem; text-align: left }
.guess svg { display: block; width: 100%; touch-action: pan-y; cursor: crosshair; color: inherit }
.guess .waiting, .guess.curve .mine { pointer-events: all } /* they keep a finger */
.guess text {
  font: 15px var(--book-sans, inherit); fill: currentColor;
  user-select: none; -webkit-user-select: none
}
.guess path { fill: none; stroke-width: 3; stroke-linejoin: round; stroke-linecap: round }
.guess .axes { stroke: currentColor; stroke-width: 1; opacity: 0.5 }
.guess .mine { stroke: var(--book-amber, #b45309) }
.guess .waiting { stroke: var(--book-amber, #b45309); stroke-width: 2; stroke-dasharray: 4 4 }
.guess .truth { stroke: currentColor; stroke-dasharray: 9 5 }
.guess text.you { fill: var(--book-amber, #b45309); font-weight: 600 }
.guess text.is { font-weight: 600 }
.guess [hidden] { display: none }
.guess text.hint { opacity: 0.75 }
.guess .between { fill: var(--book-amber, #b45309); opacity: 0.15; stroke: none }
@media (prefers-reduced-motion: no-preference) { /* the true curve is drawn beside what was said */
  .guess.curve.fresh :is(.truth, .between) { animation: guess-drawn 0.8s ease-out }
}
@keyframes guess-drawn {
  from { clip-path: inset(-9px 100% -9px -9px) }
  to { clip-path: inset(-9px) }
}
.guess .open:not(:empty) { margin-left: 1em; font: 0.95rem var(--book-sans, inherit) }
@container (max-width: 30rem) { .guess .open:not(:empty) { display: block; margin: 0.4em 0 0 } }
.guess button:disabled { /* it waits */
  color: color-mix(in oklab, currentColor 80%, transparent); cursor: not-allowed;
  background: color-mix(in oklab, currentColor 12%, transparent); border-color: transparent
}
.guess .said:empty { margin: 0 }
.guess.compared .said { margin-top: 0.8rem; padding-left: 1rem; border-left: 4px solid }
.guess.right .said { border-color: var(--book-teal, #0f766e) }
.guess.wrong .said { border-color: var(--book-red, #ae3324) }
.guess .sliders {
  display: grid; gap: 0 1em; grid-template-columns: max-content 1fr minmax(4em, max-content)
}
.guess details + button { margin-top: 0.7em }
.guess.angle output { min-width: 7.5em; white-space: nowrap } /* nothing moves when it speaks */
.guess label { display: contents }
.guess input { width: 100%; min-width: 0; accent-color: var(--book-amber, #b45309) }
.guess.point { position: relative } /* its slider lies unseen on the picture: one track */
.guess.point .controls:not([hidden]) { display: flex; align-items: center }
.guess.point .sliders { display: contents }
.guess.point label span { position: absolute; clip-path: inset(50%) }
.guess.point input {
  position: absolute; top: 0; left: 3.75%; width: 92.5%; height: 4rem;
  opacity: 0; pointer-events: none
}
.guess.point:has(input:focus-visible) svg { outline: 3px solid var(--book-amber, #b45309) }
.guess.point output { order: 1; padding-left: 1em }
.guess .unset { /* a bar to pull along, and the ring of the picture, which stands nowhere yet */
  appearance: none; height: 1.5rem; background: none; color: inherit; cursor: grab
}
.guess .unset::-webkit-slider-runnable-track {
  height: 8px; border-radius: 4px; border: 1px solid #8888; background: #8883
}
.guess .unset::-moz-range-track {
  height: 6px; border-radius: 4px; border: 1px solid #8888; background: #8883
}
.guess .unset::-webkit-slider-thumb {
  appearance: none; box-sizing: border-box; width: 20px; height: 20px; margin-top: -7px;
  border-radius: 50%; border: 2px dashed var(--book-amber, #b45309);
  background: var(--pst-color-background, Canvas)
}
.guess .unset::-moz-range-thumb {
  box-sizing: border-box; width: 20px; height: 20px;
  border-radius: 50%; border: 2px dashed var(--book-amber, #b45309);
  background: var(--pst-color-background, Canvas)
}
@media screen { .guess:has(> .answer:not([open])) .truth { display: none } }
@media print {
  .guess :is(.hint, .waiting, .answer summary) { display: none }
  .guess .answer::details-content { content-visibility: visible; height: auto }
  .guess .truth[hidden] { display: inline !important } /* answered or not */
  .guess .said:empty::after { content: attr(data-says) }
}
.guess .phone { display: none }
@container (max-width: 30rem) {
  .guess .wide { display: none }
  .guess .phone { display: block }
  .guess text.hint { font-size: 14px }
  .guess .sliders { grid-template-columns: 1fr max-content }
  .guess .sliders span { grid-column: 1 / -1 }
}
"""


class Guess:
    """A question to be answered by hand; see `guess_curve`, `guess_point`, `guess_angle`."""

    def __init__(self, name: str, picture: str, sliders: str, data: dict):
        self.name, self.picture, self.sliders, self.data = name, picture, sliders, data

    def __repr__(self) -> str:
        return self.name

    def _repr_html_(self) -> str:
        packed = json.dumps(self.data).replace("</", "<\\/")
        says = html.escape(self.data["told"] + self.data["says"])
        return (
            f'<div class="guess {self.data["kind"]}"><style>{_STYLE}</style>{self.picture}'
            f'<div class="controls" hidden>{self.sliders}'
            '<button type="button">Compare</button><span class="open"></span></div>'
            '<details class="answer"><summary>Answer</summary>'
            f'<p class="said" role="status">{says}</p></details>'
            f'<script type="application/json">{packed}</script>'
            f"<script>({_SCRIPT.read_text('utf-8')})"
            "(document.currentScript.parentElement);</script></div>"
        )


def guess_curve(
    x: Sequence[float] | np.ndarray | Tensor,
    truth: Sequence[float] | np.ndarray | Tensor,
    *,
    xlabel: str,
    ylabel: str,
    ylim: tuple[float, float],
    within: float,
    says: str,
    knots: int = 9,
    log: bool = False,
    xticks: Sequence[float] | None = None,
) -> Guess:
    """Ask for a curve, and compare it with the true one.

    Args:
        x: where the truth is known, rising.
        truth: one value each.
        xlabel: what x is, with its unit.
        ylabel: what the values are, with their unit.
        ylim: what the vertical axis shows; it must hold the truth and should not give it away.
        within: mean distance from the truth, in units of y, that still counts as right.
        says: a sentence or two beside the comparison.
        knots: how many places of the curve the reader sets; straight lines join them.
        log: whether the axis of x is logarithmic.
        xticks: the numbers at the axis of x; round ones by default.

    Returns:
        What a notebook displays.

    Raises:
        ValueError: if x and truth differ in length or are shorter than 2, x does not rise or, with
            `log`, is not positive, the truth leaves ylim, within is not positive or there are
            fewer than 2 knots.

    Example:
        >>> guess_curve([0, 1, 2], [1, 0.5, 0.25], xlabel="distance", ylabel="weight",
        ...             ylim=(0, 1), within=0.1, says="Half at every step.")
        to draw: weight against distance
    """
    x, truth = _numbers("x", x), _numbers("truth", truth)
    if len(x) != len(truth) or len(x) < 2:
        raise ValueError(
            f"x and truth must have the same length, 2 or more, got {len(x)} and {len(truth)}"
        )
    if not (np.diff(x) > 0).all():
        raise ValueError(f"x must rise, got {x.tolist()}")
    if log and x[0] <= 0:
        raise ValueError(f"x must be positive on a logarithmic axis, got {x[0]:g}")
    low, high = ylim
    if not low < high or truth.min() < low or truth.max() > high:
        raise ValueError(
            f"ylim must hold the truth, {truth.min():g} to {truth.max():g}, got {ylim}"
        )
    if knots < 2:
        raise ValueError(f"knots must be at least 2, got {knots}")
    spots = np.log(x) if log else x
    places = (spots - spots[0]) / (spots[-1] - spots[0])
    shares = (truth - low) / (high - low)
    data = _data("curve", shares.tolist(), (low, high), within, says, unit=high - low, label=ylabel)
    data["places"] = places.tolist()

    def drawn(box: Box) -> tuple[str, str]:
        left, top, width, height = box
        line = "L".join(
            f"{left + width * a:.1f},{top + height * (1 - b):.1f}"
            for a, b in zip(places, shares, strict=True)
        )
        across = _x_axis(x[0], x[-1], xlabel, box, log=log, ticks=xticks)
        return across + _y_axis(low, high, ylabel, box), f"M{line}"

    pictures = _pictures(
        f"{ylabel} against {xlabel}, to draw on", drawn, "pull the line, or draw it from end to end"
    )
    knot = np.linspace(spots[0], spots[-1], knots)
    at = [f"at {_three_digits(number)}" for number in (np.exp(knot) if log else knot)]
    sliders = f"<details><summary>Set it by sliders</summary>{_sliders(at)}</details>"
    return Guess(f"to draw: {ylabel} against {xlabel}", pictures, sliders, data)


def guess_point(
    truth: float | Tensor,
    *,
    low: float,
    high: float,
    xlabel: str,
    within: float,
    says: str,
    log: bool = False,
) -> Guess:
    """Ask for a place on an axis, and compare it with the true one.

    If the truth and the ends are whole numbers, so is the answer.

    Args:
        truth: the true place.
        low: where the axis begins.
        high: where it ends.
        xlabel: what the axis measures, with its unit.
        within: how far off still counts as right: a distance, or with `log` a factor.
        says: a sentence or two after the verdict, which has just said the number.
        log: whether the axis is logarithmic.

    Returns:
        What a notebook displays.

    Raises:
        ValueError: if the truth is not between low and high, within is not positive (with `log`:
            not above 1), or low is not positive on a logarithmic axis.

    Example:
        >>> guess_point(628.3, low=6, high=60_000, log=True, within=1.5,
        ...             xlabel="wavelength (positions)", says="The middle one.")
        to place: wavelength (positions), from 6 to 60000
    """
    truth = float(truth)
    if not low < truth < high:
        raise ValueError(f"truth must be between low and high, {low} and {high}, got {truth}")
    if log and low <= 0:
        raise ValueError(f"low must be positive on a logarithmic axis, got {low}")
    if log and within <= 1:
        raise ValueError(f"within must be a factor above 1 on a logarithmic axis, got {within}")
    if log:
        unit, share = math.log(high / low), math.log(truth / low) / math.log(high / low)
    else:
        unit, share = high - low, (truth - low) / (high - low)
    data = _data("point", float(share), (low, high), within, says, unit=unit, label=xlabel, log=log)
    data["told"] = f"It is {_three_digits(truth)}{data['of']}. "
    data["whole"] = all(float(x).is_integer() for x in (truth, low, high))
    step = 1 / (high - low) if data["whole"] and not log else _STEP
    data["boxes"] = _SCALE

    def drawn(box: Box) -> tuple[str, str]:
        left, top, width, height = box
        path = f"M{left + width * share:.1f},{top}v{height}"
        return _x_axis(low, high, xlabel, box, log=log), path

    hint = "press where it is, or pull the ring there"
    pictures = _pictures(f"An axis of {xlabel}", drawn, hint, _SCALE)
    name = f"to place: {xlabel}, from {low} to {high}"
    return Guess(name, pictures, _sliders([xlabel], step), data)


def guess_angle(truth: float | Tensor, *, within: float, says: str) -> Guess:
    """Ask for the angle of a hand, and compare it with the true one.

    Args:
        truth: radians, clockwise from 12 o'clock, as the book draws its clocks.
        within: how many radians off still count as right.
        says: a sentence or two after the verdict, which has just said the number.

    Returns:
        What a notebook displays.

    Raises:
        ValueError: if within is not positive.

    Example:
        >>> guess_angle(4.0, within=0.3, says="More than half a turn.")
        to turn: a hand
    """
    share = float(truth) / (2 * math.pi) % 1
    data = _data("angle", share, (0, 2 * math.pi), within, says, unit=2 * math.pi)
    data["boxes"] = _DIAL
    data["told"] = f"It is {share:.2g} of a turn. "
    turn = 2 * math.pi * share

    def drawn(box: Box) -> tuple[str, str]:
        left, top, width, height = box
        x, y, r = left + width / 2, top + height / 2, height / 2
        axes = f'<circle class="axes" fill="none" cx="{x}" cy="{y}" r="{r}"/>'
        told = f'<text x="{x}" y="{top + height + 48}" text-anchor="middle">'
        axes += f"{told}12 is up, clockwise</text>"
        return axes, f"M{x},{y}l{r * math.sin(turn):.1f},{-r * math.cos(turn):.1f}"

    pictures = _pictures("A dial with one hand", drawn, "press where it points", _DIAL)
    return Guess("to turn: a hand", pictures, _sliders(["angle"]), data)


def _numbers(name: str, values: Sequence[float] | np.ndarray | Tensor) -> np.ndarray:
    numbers = np.asarray(values, dtype=float)
    if numbers.ndim != 1 or not np.isfinite(numbers).all():
        raise ValueError(f"{name} must be a row of finite numbers, got {values}")
    return numbers


def _data(
    kind: str,
    truth: float | list[float],
    limits: tuple[float, float],
    within: float,
    says: str,
    *,
    unit: float,
    label: str = "",
    log: bool = False,
) -> dict:
    if within <= 0:
        raise ValueError(f"within must be positive, got {within}")
    unit_name = label.rpartition("(")[2].removesuffix(")") if label.endswith(")") else ""
    return {
        "kind": kind,
        "truth": truth,  # as shares of the axis or of a turn
        "limits": limits,
        "within": within,
        "unit": unit,  # what a share of 1 is worth
        "log": log,
        "of": f" {unit_name}" if unit_name else "",
        "told": "",  # before it, where no verdict names a number
        "says": says,
        "boxes": _BOX,
    }


def _pictures(
    name: str,
    drawn: Callable[[Box], tuple[str, str]],
    hint: str,
    boxes: Mapping[str, Box] = _BOX,
) -> str:
    """A picture for a screen and one for a phone: axes and the true line, as `drawn` in a box."""
    return "".join(_svg(kind, name, *drawn(box), hint, box) for kind, box in boxes.items())


def _svg(kind: str, name: str, axes: str, truth: str, hint: str, box: Box) -> str:
    dial = box == _DIAL[kind]
    x, y = box[0] + box[2] / 2, box[1] + (0.5 if dial else 0.2) * box[3]
    height = box[1] + box[3] + _UNDER
    words = "".join(
        f'<text class="{whose}" hidden="">{text}</text>'
        for whose, text in (("you", "you"), ("is", "it is"))
    )
    return (
        f'<svg class="{kind}" viewBox="0 0 {_WIDTHS[kind]} {height}" role="img" '
        f'aria-label="{html.escape(name)}">{axes}'
        '<path class="between" hidden=""/>'
        f'<path class="truth" d="{truth}"/><path class="waiting" hidden=""/>'
        f'<path class="mine" hidden=""/>{words}'
        f'<text class="hint" x="{x}" y="{y}" text-anchor="middle" hidden="">{hint}</text></svg>'
    )


def _sliders(names: list[str], step: float = _STEP) -> str:
    rows = "".join(
        f"<label><span>{html.escape(name)}</span>"
        f'<input type="range" min="0" max="1" step="{step:.9g}" value="0">'
        "<output></output></label>"
        for name in names
    )
    return f'<div class="sliders">{rows}</div>'


def _x_axis(
    low: float,
    high: float,
    label: str,
    box: Box,
    *,
    log: bool = False,
    ticks: Sequence[float] | None = None,
) -> str:
    left, top, width, height = box
    edge = next(_WIDTHS[kind] for kind in _WIDTHS if box in (_BOX[kind], _SCALE[kind]))
    if ticks is None:
        few = log and high / low < 1000  # decades: then thirds of them, too
        subs = (1, 3) if few else (1,)
        locator = LogLocator(subs=subs, numticks=6) if log else MaxNLocator(5)
        ticks = locator.tick_values(low, high).tolist()

    def along(tick: float) -> float:
        share = math.log(tick / low) / math.log(high / low) if log else (tick - low) / (high - low)
        half = _LETTER * len(_tick(tick)) / 2
        return min(max(left + width * share, half), edge - half)  # or it would leave the picture

    def apart(one: float, other: float) -> bool:
        letters = len(_tick(one)) + len(_tick(other))
        return bool(along(other) - along(one) >= _LETTER * letters / 2 + _BETWEEN)

    shown = _log_ticks(ticks, low, high, apart) if log else _even_ticks(ticks, low, high, apart)
    marks = "".join(
        f'<text x="{along(tick):.1f}" y="{top + height + 26}" '
        f'text-anchor="middle">{_tick(tick)}</text>'
        for tick in shown
    )
    return (
        f'<path class="axes" d="M{left},{top + height}h{width}"/>{marks}'
        f'<text x="{left + width}" y="{top + height + _UNDER - 8}" text-anchor="end">'
        f"{html.escape(label)}</text>"
    )


def _even_ticks(
    ticks: Sequence[float], low: float, high: float, apart: Callable[[float, float], bool]
) -> list[float]:
    """Each tick, or each second or fourth from 0 on; an end between them, where it has room."""
    inside = [tick for tick in ticks if low <= tick <= high]
    zero = min(range(len(inside)), key=lambda n: abs(inside[n]))
    for stride in (1, 2, 4, 8):
        shown = inside[zero % stride :: stride]
        if all(itertools.starmap(apart, itertools.pairwise(shown))):
            break
    before = [low] if low not in inside and apart(low, shown[0]) else []
    return before + shown + ([high] if high not in inside and apart(shown[-1], high) else [])


def _log_ticks(
    ticks: Sequence[float], low: float, high: float, apart: Callable[[float, float], bool]
) -> list[float]:
    """Both ends, and between them each tick, or each second or fourth."""
    inside = [t for t in ticks if low < t < high and apart(low, t) and apart(t, high)]
    for stride in (1, 2, 4, 8):
        shown = inside[::stride]
        if all(itertools.starmap(apart, itertools.pairwise(shown))):
            break
    return [low, *shown, high]


def _y_axis(low: float, high: float, label: str, box: Box) -> str:
    left, top, _, height = box
    marks = ""
    for tick in MaxNLocator(4).tick_values(low, high):
        if low <= tick <= high:
            y = top + height * (1 - (tick - low) / (high - low))
            at = f'x="{left - _BESIDE}" y="{y + 5:.1f}"'
            marks += f'<text {at} text-anchor="end">{_tick(tick)}</text>'
    return (
        f'<path class="axes" d="M{left},{top}v{height}"/>{marks}'
        f'<text x="4" y="{top - 16}">{html.escape(label)}</text>'
    )


def _three_digits(value: float) -> str:
    return f"{float(f'{value:.3g}'):,.10g}".replace("-", "\N{MINUS SIGN}")


def _tick(value: float) -> str:
    if value >= 100_000 and value % 1000 == 0:  # longer ones would touch on a phone
        return f"{value / 1e6:g}M" if value >= 1e6 else f"{value / 1e3:g}k"
    whole = value == round(value) or abs(value) >= 1000  # an end may be any number
    return (f"{value:,.0f}" if whole else f"{value:g}").replace("-", "\N{MINUS SIGN}")
