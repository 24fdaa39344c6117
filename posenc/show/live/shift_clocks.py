"""The same step from every position: two hands on each clock, and the matrix between them."""

import math
from xml.etree.ElementTree import Element

import torch

from posenc import angles, inverse_frequencies, shift_matrix, wavelengths
from posenc.show.live import dials
from posenc.show.live.figure import LiveFigure, State
from posenc.show.live.heat import colour_key
from posenc.show.live.marks import controls, fixed, h, place, play, plot, slider


def shift_clocks(
    *,
    dim: int = 8,
    base: float = 20.0,
    position: int = 4,
    offset: int = 3,
    longest: int = 12,
    farthest: int = 8,
) -> LiveFigure:
    """The hands at p and at p + k, and below each clock its block of `shift_matrix` for k.

    Moving p turns all hands; the angles between them, and the matrix, follow k alone.

    Args:
        dim: channels, two a clock.
        base: of `inverse_frequencies`.
        position: p to begin with.
        offset: k to begin with.
        longest: the last position that p can be moved to.
        farthest: the largest k.

    Returns:
        What a notebook displays.

    Raises:
        ValueError: if position or offset is beyond its end.

    Example:
        >>> shift_clocks()
        live figure: shift_clocks, position=4, offset=3
    """
    for name, value, end in (("position", position, longest), ("offset", offset, farthest)):
        if not 0 <= value <= end:
            raise ValueError(f"{name} must be from 0 to {end}, got {value}")
    inv_freq = inverse_frequencies(dim, base=base)

    def values(state: State) -> dict:
        p, k = state["position"], state["offset"]
        here, there = angles(torch.tensor([p, p + k], dtype=torch.float64), inv_freq)
        start, arc = dials.between(here, there)
        return {
            "p": dials.as_list(here),
            "q": dials.as_list(there),
            "from": dials.as_list(start),
            "arc": dials.as_list(arc),
            "turn_said": [fixed(turn, 0) for turn in torch.rad2deg(k * inv_freq).tolist()],
            "cell": shift_matrix(k, inv_freq).flatten().tolist(),
            "p_said": place(p),
            "k_said": place(k),
            "moved_said": place(p + k),
        }

    def describe(state: State, values: dict) -> str:
        *some, last = (f"{turn}°" for turn in values["turn_said"])
        by = f"{', '.join(some)} and {last}" if some else last
        return (
            f"From {values['p_said']} to {values['moved_said']}: the hands turn on by {by}, "
            f"as from every p to p + {values['k_said']}."
        )

    clocks = [
        dials.dial(
            pair,
            h(
                "circle",
                r=12,
                pathLength=f"{2 * math.pi:.6f}",
                class_="wedge",
                data_set=f"--from:from.{pair} --arc:arc.{pair}",
            ),
            dials.hand(f"q.{pair}", "q"),
            dials.hand(f"p.{pair}", "p"),
            above=[dials.period(wavelength, unit="")],
        )
        for pair, wavelength in enumerate(wavelengths(inv_freq).tolist())
    ]
    return LiveFigure(
        "shift_clocks",
        "Two positions on the clocks, and the matrix that moves the one to the other",
        h(
            "div",
            dials.speeds("positions for one turn"),
            dials.clock_row(clocks, narrow=len(clocks)),
            _matrix(dim),
            class_="shift",
        ),
        colour_key("entry of the matrix", "\N{MINUS SIGN}1", "1"),
        controls(
            play("position", speed=1.2),
            slider("position", "position p", 0, longest, said="p_said", colour="p", rests=True),
            slider("offset", "offset k", 0, farthest, said="k_said", colour="q", rests=True),
        ),
        data={"inv_freq": dials.as_list(inv_freq)},
        state={"position": position, "offset": offset},
        values=values,
        describe=describe,
    )


def _matrix(dim: int) -> Element:
    """The matrix, channel 0 above and at the left, with a frame round each clock's block."""
    one = {"width": 1, "height": 1, "class_": "cell"}
    cells = [
        h("rect", x=c, y=dim - 1 - r, **one, data_set=f"--v:cell.{r * dim + c}")
        for r in range(dim)
        for c in range(dim)
    ]
    frames = "".join(f"M{c} {dim - c}v-2h2v2z" for c in range(0, dim, 2))
    return plot(
        *cells,
        h("path", d=frames, class_="frames"),
        x=(0, dim),
        y=(0, dim),
        xlabel="channel at p (down), at p + k (across)",
        height="auto",
        data_tip="cell",
    )
