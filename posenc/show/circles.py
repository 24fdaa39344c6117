"""Pairs of channels as points that turn on circles."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from torch import Tensor

from posenc.show.colours import light


def _clean_plane(ax: Axes, radius: float) -> None:
    ax.set(xlim=(-radius, radius), ylim=(-radius, radius), aspect="equal", xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    ax.axhline(0, color="0.85", lw=1, zorder=0)
    ax.axvline(0, color="0.85", lw=1, zorder=0)


def plot_clock_hands(angles: Tensor, *, axes: Sequence[Axes] | None = None) -> Sequence[Axes]:
    """Draw one clock per channel pair: the hand ends at (sin, cos), 12 o'clock is angle 0.

    Args:
        angles: [pairs], radians.
        axes: one a pair; a new row of clocks by default.

    Returns:
        The axes, one a pair.
    """
    if axes is None:
        axes = plt.subplots(1, len(angles), figsize=(1.6 * len(angles), 1.9), squeeze=False)[1][0]
    for pair, (angle, ax) in enumerate(zip(angles.detach().cpu(), axes, strict=True)):
        _clean_plane(ax, 1.15)
        ax.add_patch(plt.Circle((0, 0), 1, fill=False, color="0.6"))
        ax.plot([0, angle.sin()], [0, angle.cos()], color=light("amber"), marker="o", markevery=[1])
        ax.set_xlabel(f"pair {pair}")
    return axes


def plot_turns(
    before: Tensor, after: Tensor, *, labels: Sequence[str], ax: Axes | None = None
) -> Axes:
    """Draw points in the plane of one channel pair and where a rotation takes them.

    Args:
        before: [points, 2].
        after: [points, 2].
        labels: one a point.
        ax: where to draw; a new figure by default.

    Returns:
        The axes.
    """
    ax = plt.subplots(figsize=(3.6, 3.6))[1] if ax is None else ax
    before, after = before.detach().cpu(), after.detach().cpu()
    _clean_plane(ax, 1.25 * max(before.norm(dim=-1).max(), after.norm(dim=-1).max()).item())
    for old, new, label in zip(before, after, labels, strict=True):
        (line,) = ax.plot(*zip((0, 0), new, strict=True), marker="o", markevery=[1], label=label)
        ax.plot(*zip((0, 0), old, strict=True), color=line.get_color(), lw=1, ls=":")
    ax.legend()
    return ax
