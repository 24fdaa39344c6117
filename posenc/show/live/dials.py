"""The clocks: one dial a channel pair, fast to slow, and what every figure with clocks shows."""

from collections.abc import Sequence
from xml.etree.ElementTree import Element

import torch
from torch import Tensor

from posenc import angles
from posenc.show.live.marks import fixed, grouped, h

RADIUS = 44  # of a dial, in its own units: 94 across


def hand(value: str, colour: str) -> Element:
    """A hand that follows an angle, clockwise from 12."""
    tip = h("circle", cy=-36, r=5.5)
    return h("g", h("line", y2=-32), tip, class_=f"hand {colour}", data_set=f"--turn:{value}")


def places(positions: Sequence[float], frequency: float) -> Element:
    """A stroke inside the rim where the hand stands at each position."""
    turns = angles(torch.tensor(positions, dtype=torch.float64), torch.tensor([frequency]).double())
    degrees = torch.rad2deg(turns[:, 0]).tolist()
    ends = {"y1": -RADIUS, "y2": 4 - RADIUS}
    strokes = [h("line", **ends, transform=f"rotate({d:.3f})") for d in degrees]
    return h("g", *strokes, class_="place")


def dial(
    pair: int,
    *marks: Element,
    above: Sequence[Element] = (),
    below: Sequence[Element] = (),
    drag: str | None = None,
) -> Element:
    """A clock that is pulled as `drag`, `hand.pair` by default; marks on its face and around it."""
    name = drag or f"hand.{pair}"
    face = h(
        "svg",
        h("circle", r=RADIUS, class_="rim"),
        *marks,
        h("circle", r=2.4, class_="pin"),
        h("circle", r=47, class_="hit", data_drag=name, data_tip=name),
        viewBox="-47 -47 94 94",
        aria_hidden="true",
    )
    return h("div", *above, face, *below, class_="clock")


def clock_row(dials: Sequence[Element], *, narrow: int = 4) -> Element:
    """Dials side by side; on a phone `narrow` of them, then the next.

    More than six reach into the rail of the book's page, where there is one; what stands there
    makes way for a "popout".
    """
    many = len(dials) > 6
    return h(
        "div",
        *dials,
        class_="clocks many popout" if many else "clocks",
        style=f"--n:{len(dials)};--narrow:{min(narrow, len(dials))}",
    )


def period(wavelength: float, unit: str = "words") -> Element:
    """How far a hand goes round in."""
    digits = 1 if wavelength < 10 else 0
    said = f"{grouped(fixed(wavelength, digits))} {unit}".rstrip()
    return h("span", said, class_="period", aria_hidden="true")


def speeds(between: str = "words for one turn") -> Element:
    """The line that says which end is which."""
    texts = [h("span", text) for text in ("fast", between, "slow")]
    rules = h("i"), h("i")
    return h(
        "div", texts[0], rules[0], texts[1], rules[1], texts[2], class_="speeds", aria_hidden="true"
    )


def as_list(values: Tensor) -> list:
    """Numbers for JSON."""
    return values.double().tolist()


def between(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """The smaller angle between two hands: where it begins, clockwise, and how wide it is."""
    arc = torch.remainder(b - a + torch.pi, 2 * torch.pi) - torch.pi
    return torch.where(arc < 0, b, a), arc.abs()
