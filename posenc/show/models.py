"""What a model's layers can tell apart: wavelengths against the length of its texts."""

import math

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from posenc.show.curves import name_lines
from posenc.verify import Model


def plot_model(model: Model, *, ax: Axes | None = None) -> Axes:
    """Draw the wavelength of each pair, one line per kind of rotating layer.

    Pairs above the line of the context do not complete a turn within it. Pairs that do not turn
    at all have no wavelength, and no point.

    Args:
        model: from `posenc.models`.
        ax: where to draw; a new figure by default.

    Returns:
        The axes.

    Raises:
        ValueError: if no layer of the model rotates.
    """
    groups: dict[tuple, list[int]] = {}
    for index, layer in enumerate(model.layers):
        if layer.rope is not None:
            groups.setdefault(layer.signature(), []).append(index)
    if not groups:
        raise ValueError(f"model must have layers that rotate, got {model.model_type}")
    ax = plt.subplots()[1] if ax is None else ax
    for members in groups.values():
        layer = model.layers[members[0]]
        turning = layer.rope.inv_freq > 0
        pairs = turning.nonzero().flatten()
        kind = layer.kind.partition("_")[0]
        (line,) = ax.plot(
            pairs,
            2 * math.pi / layer.rope.inv_freq[turning],
            ".-",
            label=f"{kind}, {len(members)} layers",
        )
        if layer.window:
            ax.axhline(layer.window, color=line.get_color(), lw=1, ls=":")
    if model.context:
        ends = [0, max(max(line.get_xdata()) for line in ax.lines)]
        ax.plot(ends, [model.context] * 2, color="0.4", lw=1, ls="--", label="context")
    ax.set(xlabel="pair of channels, from 0", ylabel="wavelength, positions", yscale="log")
    name_lines(ax)
    return ax
