"""Heat maps: sequential colours for magnitudes, diverging ones centred at 0 for signed values."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import PowerNorm
from matplotlib.ticker import MaxNLocator
from torch import Tensor

_SQUARED = np.array([0, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1])  # numbers that stand apart as roots


def plot_matrix(
    matrix: Tensor,
    *,
    xlabel: str,
    ylabel: str,
    signed: bool = False,
    limit: float | None = None,
    root: bool = False,
    label: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw a matrix, row 0 on top, with a colour bar.

    Args:
        matrix: [rows, columns]; -inf and nan stay white.
        xlabel: what a column is.
        ylabel: what a row is.
        signed: whether 0 is the middle of the colours.
        limit: value of the strongest colour; the largest magnitude by default.
        root: whether colours follow the square root from 0 on, so that small ones show.
        label: what a colour is, beside the colour bar.
        ax: where to draw; a new figure by default.

    Returns:
        The axes.
    """
    ax = plt.subplots()[1] if ax is None else ax
    values = matrix.detach().float().cpu()
    values = values.masked_fill(~values.isfinite(), float("nan")).numpy()
    if signed:
        top = np.nanmax(np.abs(values)) if limit is None else limit
        image = ax.imshow(values, cmap="posenc.signed", vmin=-top, vmax=top)
    else:
        scale = {"norm": PowerNorm(0.5, 0, limit)} if root else {"vmax": limit}
        image = ax.imshow(values, cmap="posenc.weights", **scale)
    ax.set(xlabel=xlabel, ylabel=ylabel)
    ticks = {"ticks": MaxNLocator(5, steps=[1, 2, 5, 10])}
    if root and not signed:
        power = 10.0 ** np.ceil(np.log10(image.norm.vmax))
        ticks = {"ticks": power * _SQUARED, "format": "{x:g}"}
    ax.figure.colorbar(image, ax=ax, label=label, **ticks)
    return ax


def plot_encoding(encoding: Tensor, *, ax: Axes | None = None) -> Axes:
    """Draw an encoding: one row a position, one column a channel, both from 0.

    Args:
        encoding: [positions, channels].
        ax: where to draw; a new figure by default.

    Returns:
        The axes.
    """
    names = {"xlabel": "channel", "ylabel": "position", "label": _if_alone("value", ax)}
    return plot_matrix(encoding, signed=True, ax=ax, **names)


def plot_attention(
    weights: Tensor,
    *,
    tokens: Sequence[str] | None = None,
    root: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Draw attention weights: one row a query, one column a key.

    Args:
        weights: [queries, keys], each row summing to 1.
        tokens: labels of the keys, and of the queries if there are as many; indices by default.
        root: whether colours follow the square root, so that small weights show.
        ax: where to draw; a new figure by default.

    Returns:
        The axes.
    """
    told = "weight, root scale" if root else "weight"
    names = {"xlabel": "key", "ylabel": "query", "label": _if_alone(told, ax)}
    ax = plot_matrix(weights, limit=1.0, root=root, ax=ax, **names)
    ax.images[0].set_clim(0, 1)
    if tokens is not None:
        ax.set_xticks(range(len(tokens)), tokens)
        if len(tokens) == len(weights):
            ax.set_yticks(range(len(tokens)), tokens)
    return ax


def _if_alone(label: str, ax: Axes | None) -> str:
    """A name for the colour bar of the only map of a figure; beside others there is no room."""
    return label if ax is None or len(ax.figure.axes) == 1 else ""
