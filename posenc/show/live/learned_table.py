"""How alike the rows of a table become while it is trained."""

import statistics

import torch
from torch import Tensor

from posenc.show.live.figure import LiveFigure, State
from posenc.show.live.heat import colour_key, painted
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
    play,
    plot,
    rail,
    round_ticks,
    slider,
    with_ends,
)


def learned_table(
    cosines: Tensor, *, every: int, seed: int = 0, row: int = 0, column: int = 0
) -> LiveFigure:
    """Cosines of all pairs of rows, at each step that was kept: all small, and one large.

    It begins with the first step, and Play runs through the others. Beside the map, the row that
    is framed stands as a curve.

    Args:
        cosines: [seeds, steps, n, n], from -1 to 1; each map is its own mirror.
        every: training steps from one to the next.
        seed: to begin with.
        row: likewise.
        column: likewise.

    Returns:
        What a notebook displays.

    Raises:
        ValueError: if the shape is another, a map is not its own mirror, a value is out of range,
            there are fewer than 2 steps, or seed, row or column is not one of the cosines'.

    Example:
        >>> learned_table(torch.eye(8).expand(2, 5, 8, 8), every=100, row=3)
        live figure: learned_table, step=0, seed=0, r=3, c=0
    """
    shape = tuple(cosines.shape)
    if len(shape) != 4 or shape[1] < 2 or shape[2] != shape[3]:
        raise ValueError(f"cosines must be [seeds, 2 or more steps, n, n], got {shape}")
    if not torch.allclose(cosines, cosines.mT, atol=1e-5):
        raise ValueError("cosines must be the same for rows a and b as for b and a")
    if not cosines.abs().max() < 1 + 1e-5:
        raise ValueError(f"cosines must be from -1 to 1, got {cosines.abs().max():g}")
    seeds, steps, n, _ = shape
    for name, value, count in (("seed", seed, seeds), ("row", row, n), ("column", column, n)):
        if not 0 <= value < count:
            raise ValueError(f"{name} must be from 0 to {count - 1}, got {value}")
    maps = (100 * cosines.double()).round() / 100  # as many digits as are shown
    start = {"step": 0, "seed": str(seed), "r": row, "c": column}

    def values(state: State) -> dict:
        step, r, c = (nearest(state[name]) for name in ("step", "r", "c"))
        found = maps[int(state["seed"]), step]
        beside = found.diagonal(1).tolist()
        worst = beside.index(min(beside))
        return {
            "on": [int(i == step) for i in range(steps)],
            "curve": [[i, v] for i, v in enumerate(found[r].tolist())],
            "r": r,
            "c": c,
            "down": n - 1 - r,
            "value": found[r, c].item(),
            "value_said": fixed(found[r, c].item(), 2),
            "mean_said": fixed(statistics.mean(beside), 2),
            "least_said": fixed(beside[worst], 2),
            "worst": worst,
            "step_said": grouped(str(every * step)),
            "r_said": str(r),
            "c_said": str(c),
        }

    def describe(state: State, values: dict) -> str:
        worst = values["worst"]
        return (
            f"Step {values['step_said']}, seed {state['seed']}: rows {values['r']} and "
            f"{values['c']} have a cosine of {values['value_said']}. Neighbours: "
            f"{values['mean_said']} in the mean, at worst {values['least_said']} (rows {worst} "
            f"and {worst + 1})."
        )

    film = [
        h(
            "button",
            h("span", *painted(table, data_step=i), class_="frame painted"),
            grouped(str(every * i)),
            type="button",
            data_go=f"step.{i}",
            aria_label=f"step {every * i}",
            data_set=f"--on:on.{i}",
        )
        for i, table in enumerate(maps[seed])
    ]
    ticks = with_ends(round_ticks(0, n - 1), "0", str(n - 1), (0, n - 1))
    box = {"x": -0.5, "y": -0.5, "height": 1}
    table = plot(
        h("rect", **box, width=n, class_="row p", data_set="--y:down"),
        h("rect", **box, width=1, class_="chosen", data_set="--x:c --y:down"),
        x=(-0.5, n - 0.5),
        y=(-0.5, n - 0.5),
        xticks=ticks,
        yticks={n - 1 - at: text for at, text in ticks.items()},
        xlabel="row",
        ylabel="row (down)",
        height="var(--square)",
        under=painted(maps[seed, 0]),
        over=[note("--x:c --y:down", "value_said")],
        data_drag="cell",
        data_tip="cell",
    )
    curve = plot(
        line([(-0.5, 0), (n - 0.5, 0)], class_="axis"),
        line(data_set="d:curve", class_="line p"),
        x=(-0.5, n - 0.5),
        y=(-1, 1.05),
        xticks=ticks,
        yticks={-1: "\N{MINUS SIGN}1", 0: "0", 1: "1"},
        xlabel="row",
        ylabel="cosine with the framed row",
        height="var(--beside)",
        over=[knob("--x:c --y:value", colour="p", drag="row")],
        data_drag="row",
        data_tip="row",
    )
    above = torch.triu_indices(n, n)
    hundredths = (100 * maps[:, :, above[0], above[1]]).round().long()
    return LiveFigure(
        "learned_table",
        "How alike the rows of a table are, while it is trained",
        h("div", *film, class_="film", style=f"--n:{steps}"),
        rail("step", "training steps", 0, steps - 1, said="step_said", whole=True),
        h("div", table, curve, class_="side"),
        colour_key("cosine", "\N{MINUS SIGN}1", "1"),
        controls(
            play("step", speed=1.6),
            choice("seed", "seed", {str(i): str(i) for i in range(seeds)}),
            slider("r", "row", 0, n - 1, said="r_said", colour="p", whole=True),
            slider("c", "with row", 0, n - 1, said="c_said", whole=True),
        ),
        data={"n": n, "every": every, "maps": hundredths.tolist()},
        state=start,
        values=values,
        describe=describe,
    )
