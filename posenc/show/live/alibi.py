"""ALiBi's slopes as prices of distance, and how far the attention then goes."""

import math

import torch

from posenc import alibi_bias, alibi_slopes
from posenc.show.live.figure import LiveFigure, State
from posenc.show.live.marks import (
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
    slider,
    with_ends,
)

TOP = -8.0  # the plot of penalties reaches from here to 0
OCTAVES = 11  # the axis of distances reaches from 1 to 2 to this
LONG = 16_384  # keys of a long text: beyond, the flattest head spends less than 1e-27


def alibi(*, num_heads: int = 8, head: int = 7, distance: int = 512) -> LiveFigure:
    """The penalty of each head over the distance, and its attention from there on.

    All scores are equal, and the text is long. Distances stand on a log scale from 1 to 2048.

    Args:
        num_heads: at most 32; their slopes are `alibi_slopes(num_heads)`.
        head: to begin with.
        distance: likewise, from 1 to 2048.

    Returns:
        What a notebook displays.

    Raises:
        ValueError: if num_heads, head or distance is out of range.

    Example:
        >>> alibi()
        live figure: alibi, head=7, at=9
    """
    if not 1 <= num_heads <= 32:
        raise ValueError(f"num_heads must be from 1 to 32, got {num_heads}")
    if not 0 <= head < num_heads:
        raise ValueError(f"head must be from 0 to {num_heads - 1}, got {head}")
    if not 1 <= distance <= 2**OCTAVES:
        raise ValueError(f"distance must be from 1 to {2**OCTAVES}, got {distance}")
    slopes = alibi_slopes(num_heads)
    bias = alibi_bias(slopes, -torch.arange(LONG)[None], dtype=torch.float64)[:, 0]
    weights = bias.softmax(dim=-1)  # [heads, keys], the nearest first
    beyond = weights.flip(-1).cumsum(-1).flip(-1)  # of a key and all farther ones
    drawn = sorted({round(2 ** (i / 8)) for i in range(8 * OCTAVES + 1)})

    def curve(row: torch.Tensor) -> list[tuple[float, float]]:
        return [(math.log2(n), row[n].item()) for n in drawn]

    def values(state: State) -> dict:
        here, n = nearest(state["head"]), nearest(2 ** state["at"])
        price, weight, share = (table[here, n].item() for table in (bias, weights, beyond))
        return {
            "head": here,
            "prices": curve(bias[here]),
            "shares": curve(beyond[here]),
            "x": math.log2(n),
            "price": max(price, TOP),
            "price_said": fixed(price, 2) if price > -100 else grouped(fixed(price, 0)),
            "weight_said": f"{fixed(100 * weight, 2)}%",
            "share": share,
            "share_said": f"{fixed(100 * share, 2)}%",
            "head_said": f"{here}, slope 1/{place(1 / slopes[here].item())}",
            "distance_said": grouped(str(n)),
        }

    def describe(state: State, values: dict) -> str:
        n = values["distance_said"]
        return (
            f"Head {values['head_said']}: a key {n} back pays {values['price_said']} and gets "
            f"{values['weight_said']} of the attention in a long text. All keys {n} or more back "
            f"together get {values['share_said']}."
        )

    ends = 0, OCTAVES
    ticks = {octave: str(2**octave) for octave in range(0, OCTAVES, 5)}
    axis = {
        "x": ends,
        "xticks": with_ends(ticks, "1", grouped(str(2**OCTAVES)), ends),
        "xlabel": "distance (positions back)",
        "height": "14em",
    }
    prices = plot(
        *(line(curve(row), class_="line faint") for row in bias),
        line(data_set="d:prices"),
        **axis,
        y=(TOP, 1.4),  # room for the note of a price near 0
        yticks={0: "0", TOP / 2: fixed(TOP / 2, 0), TOP: fixed(TOP, 0)},
        ylabel="added to the score",
        over=[
            knob("--x:x --y:price", drag="price"),
            note("--x:x --y:price", "price_said", side="falling"),
        ],
        data_drag="price",
        data_tip="price",
    )
    attention = plot(
        *(line(curve(row), class_="line faint") for row in beyond),
        line(data_set="d:shares"),
        **axis,
        y=(0, 1.175),
        yticks={0: "0", 0.5: "50%", 1: "100%"},
        ylabel="attention from there on, equal scores",
        over=[
            knob("--x:x --y:share", drag="share"),
            note("--x:x --y:share", "share_said", side="falling"),
        ],
        data_drag="share",
        data_tip="share",
    )
    return LiveFigure(
        "alibi",
        "ALiBi's penalties over the distance and the attention from there on",
        h("div", prices, attention, class_="side"),
        controls(
            slider("head", "head", 0, num_heads - 1, said="head_said"),
            slider("at", "distance", *ends, said="distance_said"),
        ),
        data={"slopes": slopes.tolist(), "drawn": drawn, "top": TOP},
        state={"head": head, "at": math.log2(distance)},
        values=values,
        describe=describe,
    )
