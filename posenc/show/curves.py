"""Curves over one axis, labelled in a legend."""

from collections.abc import Mapping

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from torch import Tensor

from posenc.show.colours import light, looks


def plot_curves(
    x: Tensor,
    curves: Mapping[str, Tensor],
    *,
    xlabel: str,
    ylabel: str,
    xscale: str = "linear",
    yscale: str = "linear",
    ax: Axes | None = None,
) -> Axes:
    """Draw one line per entry of `curves`, all over the same x; methods have their own colours.

    Args:
        x: [n].
        curves: label -> values [n].
        xlabel: quantity and unit of x.
        ylabel: quantity and unit of the values.
        xscale: "linear" or "log".
        yscale: "linear" or "log".
        ax: where to draw; a new figure by default.

    Returns:
        The axes.
    """
    ax = plt.subplots()[1] if ax is None else ax
    for (label, values), (name, again) in zip(curves.items(), looks(list(curves)), strict=True):
        look = {"label": label, "color": light(name), "linestyle": "--" if again else "-"}
        ax.plot(x.detach().cpu().numpy(), values.detach().float().cpu().numpy(), **look)
    ax.set(xlabel=xlabel, ylabel=ylabel, xscale=xscale, yscale=yscale)
    if len(curves) > 1:
        ax.legend()
    return ax
