"""Curves over one axis, each named at its end."""

import textwrap
from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from torch import Tensor

from posenc.show.colours import light, looks, method_name
from posenc.show.live.marks import apart

_NAME = 14  # points that a line of letters takes


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
        look = {
            "label": method_name(label),
            "color": light(name),
            "linestyle": "--" if again else "-",
        }
        ax.plot(x.detach().cpu().numpy(), values.detach().float().cpu().numpy(), **look)
    ax.set(xlabel=xlabel, ylabel=ylabel, xscale=xscale, yscale=yscale)
    if len(curves) > 1:
        name_lines(ax)
    return ax


def name_lines(ax: Axes) -> None:
    """Write the label of each line at its last visible point, in its colour, instead of a legend.

    Call it when all is drawn and the limits are set; called again, it names them anew. Names that
    would touch stand apart.
    """
    for text in [text for text in ax.texts if text.get_gid() == "name"]:
        text.remove()
    ax.figure.draw_without_rendering()  # the layout says how high the axes are
    high = ax.get_window_extent().height * 72 / ax.figure.dpi
    named, ends = [], []
    for line in ax.lines:
        points = line.get_xydata()
        shares = (ax.transData - ax.transAxes).transform(points)
        seen = (np.abs(shares - 0.5) <= 0.5 + 1e-6).all(axis=1)
        if seen.any() and not line.get_label().startswith("_"):
            named.append(line)
            ends.append((points[seen][-1, 0], shares[seen][-1, 1]))
    texts = [textwrap.fill(line.get_label(), 14, break_on_hyphens=False) for line in named]
    tallest = max(text.count("\n") + 1 for text in texts)
    gap = _NAME * tallest / high
    inner = apart([(share - gap / 2) / (1 - gap) for _, share in ends], gap / (1 - gap))
    heights = [gap / 2 + (1 - gap) * share for share in inner]
    pushed = [(height - share) * high for height, (_, share) in zip(heights, ends, strict=True)]
    across = 16 if max(map(abs, pushed), default=0) > _NAME / 4 else 7  # room for thin lines
    for line, text, (x, share), up in zip(named, texts, ends, pushed, strict=True):
        red, green, blue = to_rgb(line.get_color())
        look = {"color": "0.35" if red == green == blue else line.get_color(), "va": "center"}
        thin = {"arrowstyle": "-", "lw": 0.6, "color": line.get_color()}
        thin |= {"relpos": (0, 0.5), "shrinkA": 0, "shrinkB": 4}  # from the line's end to its name
        ax.annotate(
            text,
            (x, share),
            (across, up),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            annotation_clip=False,
            arrowprops=thin if across > 7 else None,
            gid="name",
            **look,
        )
