"""ALiBi's slopes as prices of distance, and the attention that they leave."""

import torch

from posenc import alibi_bias, alibi_slopes
from posenc.show.live.figure import LiveFigure, State
from posenc.show.live.marks import (
    controls,
    fixed,
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


def alibi(*, num_heads: int = 8, tokens: int = 64, head: int = 3) -> LiveFigure:
    """The penalty of each head over the distance, and its attention when all scores are equal.

    Args:
        num_heads: at most 32; their slopes are `alibi_slopes(num_heads)`.
        tokens: keys that a query sees, from 8 to 256.
        head: to begin with.

    Returns:
        What a notebook displays.

    Raises:
        ValueError: if num_heads, tokens or head is out of range.

    Example:
        >>> alibi()
        live figure: alibi, head=3, j=8
    """
    if not 1 <= num_heads <= 32:
        raise ValueError(f"num_heads must be from 1 to 32, got {num_heads}")
    if not 8 <= tokens <= 256:
        raise ValueError(f"tokens must be from 8 to 256, got {tokens}")
    if not 0 <= head < num_heads:
        raise ValueError(f"head must be from 0 to {num_heads - 1}, got {head}")
    slopes = alibi_slopes(num_heads)
    last = tokens - 1
    bias = alibi_bias(slopes, -torch.arange(tokens), dtype=torch.float64)  # [heads, tokens]
    weights = bias.softmax(dim=-1)

    def values(state: State) -> dict:
        here, j = nearest(state["head"]), nearest(state["j"])
        price, weight = bias[here, j].item(), weights[here, j].item()
        near = weights[here, : j + 1].sum().item()
        return {
            "head": here,
            "penalty": [[0.0, 0.0], [float(last), bias[here, -1].item()]],
            "weights": list(zip(range(tokens), weights[here].tolist(), strict=True)),
            "j": j,
            "price": max(price, TOP),
            "price_said": fixed(price, 2),
            "weight": weight,
            "weight_said": f"{fixed(100 * weight, 1)}%",
            "share": near,
            "head_said": f"{here}, slope {fixed(slopes[here].item(), 4)}",
            "j_said": place(j),
        }

    def describe(state: State, values: dict) -> str:
        return (
            f"Head {values['head_said']}: a key {values['j_said']} back pays "
            f"{values['price_said']} and gets {values['weight_said']} of the attention; it and all "
            f"nearer keys get {fixed(100 * values['share'], 0)}%."
        )

    others = [
        line([(0, 0), (last, bias[i, -1].item())], class_="line faint") for i in range(num_heads)
    ]
    steps = range(0, tokens, max(1, tokens // 4))
    xticks = with_ends({j: str(j) for j in steps}, "0", str(last), (0, last))
    prices = plot(
        *others,
        line(data_set="d:penalty"),
        x=(0, last),
        y=(TOP, 1.4),  # room for the note of a price near 0
        xticks=xticks,
        yticks={0: "0", TOP / 2: fixed(TOP / 2, 0), TOP: fixed(TOP, 0)},
        xlabel="distance (tokens back)",
        ylabel="added to the score",
        height="14em",
        over=[knob("--x:j --y:price", drag="price"), note("--x:j --y:price", "price_said")],
        data_drag="price",
        data_tip="price",
    )
    attention = plot(
        line(data_set="d:weights"),
        x=(0, last),
        y=(0, 0.45),
        xticks=xticks,
        yticks={0: "0", 0.2: "20%", 0.4: "40%"},
        xlabel="distance (tokens back)",
        ylabel="attention, all scores equal",
        height="14em",
        over=[knob("--x:j --y:weight", drag="weight"), note("--x:j --y:weight", "weight_said")],
        data_drag="weight",
        data_tip="weight",
    )
    return LiveFigure(
        "alibi",
        "ALiBi's penalties over the distance and the attention that they leave",
        h("div", prices, attention, class_="side"),
        controls(
            slider("head", "head", 0, num_heads - 1, said="head_said"),
            slider("j", "distance", 0, last, said="j_said"),
        ),
        data={"slopes": slopes.tolist(), "tokens": tokens, "top": TOP},
        state={"head": head, "j": min(8, last)},
        values=values,
        describe=describe,
    )
