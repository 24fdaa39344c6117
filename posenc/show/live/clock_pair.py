"""Two positions on the clocks, in the table and on the curve: only their distance counts."""

from collections.abc import Sequence
from xml.etree.ElementTree import Element

import torch
from torch import Tensor

from posenc import angles, inverse_frequencies, sinusoidal_encoding, wavelengths
from posenc.show.live import dials
from posenc.show.live.figure import LiveFigure, State
from posenc.show.live.heat import colour_key
from posenc.show.live.marks import (
    SENTENCE,
    controls,
    fixed,
    h,
    knob,
    line,
    near,
    note,
    place,
    play,
    plot,
    require_place,
    slider,
    switch,
    words_row,
)


def clock_pair(
    words: Sequence[str] = SENTENCE,
    *,
    dim: int = 16,
    base: float = 100.0,
    first: int = 4,
    second: int = 7,
) -> LiveFigure:
    """Two positions: two hands a clock, two rows of the table, one point of the dot product.

    Under each clock stands the cosine of the angle between its hands. Their mean is the dot
    product of the two encodings over dim/2. Moved together, the positions leave it as it is.

    Args:
        words: the sentence; its first word is at position 0.
        dim: channels, two a clock.
        base: of `inverse_frequencies`.
        first: position to begin with.
        second: likewise.

    Returns:
        What a notebook displays.

    Raises:
        ValueError: if first or second is not a position of the sentence.

    Example:
        >>> clock_pair()
        live figure: clock_pair, p=4, q=7, together=False
    """
    require_place("first", first, words)
    require_place("second", second, words)
    inv_freq = inverse_frequencies(dim, base=base)
    words = list(words)
    last = len(words) - 1

    def values(state: State) -> dict:
        p, q = state["p"], state["q"]
        hands = angles(torch.tensor([p, q], dtype=torch.float64), inv_freq)
        start, arc = dials.between(*hands)
        rows = sinusoidal_encoding(
            torch.tensor([p, q], dtype=torch.float64), dim, base=base, dtype=torch.float64
        )
        cosines = (rows[0] * rows[1]).view(-1, 2).sum(dim=1)
        mean = cosines.mean().item()
        return {
            "p": dials.as_list(hands[0]),
            "q": dials.as_list(hands[1]),
            "from": dials.as_list(start),
            "arc": dials.as_list(arc),
            "cos": dials.as_list(cosines),
            "cos_said": [fixed(cosine, 2) for cosine in cosines.tolist()],
            "near_p": near(p, words),
            "near_q": near(q, words),
            "row_p": last - p,
            "row_q": last - q,
            "distance": q - p,
            "mean": mean,
            "mean_said": fixed(mean, 2),
            "p_said": place(p),
            "q_said": place(q),
        }

    def describe(state: State, values: dict) -> str:
        return (
            f"Positions {values['p_said']} and {values['q_said']}: a distance of "
            f"{place(values['distance'])}. The mean of the {len(inv_freq)} cosines is "
            f"{values['mean_said']}."
        )

    def below(pair: int) -> list[Element]:
        bar = h("div", class_="bar", data_set=f"--v:cos.{pair}", aria_hidden="true")
        return [bar, h("span", data_set=f"text:cos_said.{pair}")]

    clocks = [
        dials.dial(
            pair,
            h(
                "circle",
                r=12,
                pathLength=6.283185,
                class_="wedge",
                data_set=f"--from:from.{pair} --arc:arc.{pair}",
            ),
            dials.places(range(len(words)), inv_freq[pair].item()),
            dials.hand(f"q.{pair}", "q"),
            dials.hand(f"p.{pair}", "p"),
            above=[dials.period(wavelength, unit="")],
            below=below(pair),
        )
        for pair, wavelength in enumerate(wavelengths(inv_freq).tolist())
    ]
    table = sinusoidal_encoding(torch.arange(len(words)), dim, base=base, dtype=torch.float64)
    return LiveFigure(
        "clock_pair",
        "Two positions on the clocks, in the table and on the curve of the dot product",
        words_row(words, "p", "q"),
        dials.speeds(),
        dials.clock_row(clocks),
        h("div", _curve(inv_freq, last), _table(table, words), class_="side"),
        colour_key("sine or cosine", "\N{MINUS SIGN}1", "1"),
        controls(
            play("p", speed=1.2),
            switch("together", "move together"),
            slider("p", "first", 0, last, said="p_said", colour="p", rests=True),
            slider("q", "second", 0, last, said="q_said", colour="q", rests=True),
        ),
        data={
            "inv_freq": dials.as_list(inv_freq),
            "words": words,
            "table": dials.as_list(table),
        },
        state={"p": first, "q": second, "together": False},
        values=values,
        describe=describe,
    )


def _table(table: Tensor, words: Sequence[str]) -> Element:
    """The encoding as a heat map, position 0 on top, with a frame round each of the two rows."""
    last, dim = len(words) - 1, table.shape[1]
    cells = [
        h("rect", x=c, y=last - r, width=1, height=1, class_="cell", style=f"--v:{table[r, c]:.3f}")
        for r in range(len(words))
        for c in range(dim)
    ]
    frames = [
        h("rect", width=dim, height=1, class_=f"row {look}", data_set=f"--y:row_{hand}")
        for hand in "qp"
        for look in ("under", hand)
    ]
    return plot(
        *cells,
        *frames,
        x=(0, dim),
        y=(0, len(words)),
        xticks={c + 0.5: str(c) for c in range(0, dim, 4)} | {dim - 0.5: str(dim - 1)},
        yticks={last - r + 0.5: word for r, word in enumerate(words)},
        xlabel="channel",
        height="17em",
        data_drag="row",
        data_tip="cell",
    )


def _curve(inv_freq: Tensor, last: int) -> Element:
    """The mean cosine over the distance, with the point of the two positions."""
    distance = torch.linspace(-last, last, 40 * last + 1, dtype=torch.float64)
    mean = angles(distance, inv_freq).cos().mean(dim=1)
    low = min(-0.2, mean.min().item() - 0.1)
    return plot(
        line([(-last, 0), (last, 0)], class_="axis"),
        line([(0, low), (0, 1.15)], class_="axis"),
        line(list(zip(distance.tolist(), mean.tolist(), strict=True))),
        x=(-last, last),
        y=(low, 1.15),
        xticks={d: fixed(d, 0) for d in range(-last + last % 5, last + 1, 5)},
        yticks={0: "0", 0.5: "0.5", 1: "1"},
        xlabel="distance, second minus first",
        height="17em",
        over=[
            knob("--x:distance --y:mean", drag="distance"),
            note("--x:distance --y:mean", "mean_said", side="peaked"),
        ],
        data_drag="distance",
        data_tip="curve",
    )
