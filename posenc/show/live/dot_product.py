"""The dot product of two encodings over their distance: it falls, and comes back."""

import math

import torch

from posenc import angles, inverse_frequencies
from posenc.show.live.figure import LiveFigure, State
from posenc.show.live.marks import (
    controls,
    fixed,
    knob,
    line,
    nearest,
    note,
    place,
    plot,
    round_ticks,
    slider,
    with_ends,
)


def dot_product(*, dim: int = 64, base: float = 10_000.0, longest: int = 100) -> LiveFigure:
    """PE(p) . PE(p + k) over its value at k = 0, for a number of channels and a base to choose.

    Args:
        dim: channels to begin with, even, from 2 to 256.
        base: to begin with, from 2 to 1,000,000.
        longest: the distances reach from 0 to here, at most 400.

    Returns:
        What a notebook displays.

    Raises:
        ValueError: if dim, base or longest is out of range.

    Example:
        >>> dot_product(dim=8)
        live figure: dot_product, k=12, pairs=4, log_base=4
    """
    if dim % 2 or not 2 <= dim <= 256:
        raise ValueError(f"dim must be even and from 2 to 256, got {dim}")
    if not 2 <= base <= 1e6:
        raise ValueError(f"base must be from 2 to 1,000,000, got {base}")
    if not 10 <= longest <= 400:
        raise ValueError(f"longest must be from 10 to 400, got {longest}")
    fewest, least = min(16, dim // 2), min(3.0, math.log10(base))  # where the sliders begin
    stays_above = fewest == 16 and least == 3 and longest <= 100
    lowest = -0.1 if stays_above else -1.05
    distances = torch.linspace(0, longest, 4 * longest + 1, dtype=torch.float64)

    def mean_cosines(k: torch.Tensor, state: State) -> torch.Tensor:
        inv_freq = inverse_frequencies(2 * nearest(state["pairs"]), base=10 ** state["log_base"])
        return angles(k, inv_freq).cos().mean(dim=-1)

    def values(state: State) -> dict:
        curve = mean_cosines(distances, state)
        here = mean_cosines(torch.tensor([state["k"]], dtype=torch.float64), state).item()
        whole = curve[::4]
        rises = (whole.diff() > 0).nonzero()
        return {
            "curve": list(zip(distances.tolist(), curve.tolist(), strict=True)),
            "distance": state["k"],
            "height": here,
            "height_said": fixed(here, 2),
            "rise": rises[0].item() if len(rises) else longest,
            "k_said": place(state["k"]),
            "dim_said": str(2 * nearest(state["pairs"])),
            "base_said": f"{nearest(10 ** state['log_base']):,}",
        }

    def describe(state: State, values: dict) -> str:
        said = (
            f"{values['dim_said']} channels, base {values['base_said']}: at distance "
            f"{values['k_said']} the dot product is {values['height_said']} of its value at 0. "
        )
        if values["rise"] == longest:
            return said + f"It falls all the way to distance {longest}."
        return said + f"It falls up to distance {values['rise']}, and rises there."

    return LiveFigure(
        "dot_product",
        "The dot product of two encodings over their distance",
        plot(
            line([(0, 0), (longest, 0)], class_="axis"),
            line(data_set="d:curve"),
            x=(0, longest),
            y=(lowest, 1.15),
            xticks=with_ends(round_ticks(0, longest), "0", str(longest), (0, longest)),
            yticks=round_ticks(lowest, 1.15, most=5),
            xlabel="distance between the two positions",
            ylabel="dot product, over its value at distance 0",
            height="17em",
            over=[
                knob("--x:distance --y:height", drag="distance"),
                note("--x:distance --y:height", "height_said"),
            ],
            data_drag="distance",
            data_tip="curve",
        ),
        controls(
            slider("k", "distance", 0, longest, said="k_said"),
            slider("pairs", "channels", fewest, 128, said="dim_said"),
            slider("log_base", "base", least, 6, step=0.25, said="base_said"),
        ),
        data={"longest": longest},
        state={
            "k": min(12, longest),
            "pairs": dim // 2,
            "log_base": math.log10(base),
        },
        values=values,
        describe=describe,
    )
