"""Pairs of channels as points that turn on circles."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from torch import Tensor

from posenc.show.colours import light


def _clean_plane(ax: Axes, radius: float, *, cross: bool = True) -> None:
    ax.set(xlim=(-radius, radius), ylim=(-radius, radius), aspect="equal", xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    for draw in (ax.axhline, ax.axvline) if cross else ():
        draw(0, color="0.85", lw=1, zorder=0)


def plot_clock_hands(angles: Tensor, *, axes: Sequence[Axes] | None = None) -> Sequence[Axes]:
    """Draw one clock per channel pair: the hand points to (sin, cos), 12 o'clock is 0.

    Args:
        angles: [pairs], radians.
        axes: one a pair; a new row of clocks by default.

    Returns:
        The axes, one a pair.
    """
    if axes is None:
        axes = plt.subplots(1, len(angles), figsize=(1.6 * len(angles), 1.9), squeeze=False)[1][0]
    for pair, (angle, ax) in enumerate(zip(angles.detach().cpu(), axes, strict=True)):
        _clean_plane(ax, 1.15, cross=False)
        ax.add_patch(plt.Circle((0, 0), 1, fc="0.97", ec="0.62", lw=0.9))
        hand = {"color": light("amber"), "lw": 3, "marker": "o", "ms": 8, "markevery": [1]}
        ax.plot([0, 0.82 * angle.sin()], [0, 0.82 * angle.cos()], **hand)
        ax.plot(0, 0, "o", color="0.45", ms=3)
        ax.set_xlabel(f"pair {pair}")
    return axes


def plot_turns(
    before: Tensor, after: Tensor, *, labels: Sequence[str], ax: Axes | None = None
) -> Axes:
    """Draw points in the plane of one channel pair and where a rotation takes them.

    Names stand beyond the points where they end; those of points at one place, one after the other.

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
    largest = max(before.norm(dim=-1).max(), after.norm(dim=-1).max()).item()
    _clean_plane(ax, 1.25 * largest)
    named: list = []
    for old, new, label in zip(before, after, labels, strict=True):
        (line,) = ax.plot(*zip((0, 0), new, strict=True), marker="o", markevery=[1], label=label)
        ax.plot(*zip((0, 0), old, strict=True), color=line.get_color(), lw=1, ls=":")
        if named and (new - named[-1][1]).norm() < 0.1 * largest:
            text = named[-1][0]
            text.set_text(f"{text.get_text()}, {label}")
            continue
        right, up = (new / new.norm().clamp(min=1e-9)).tolist()
        side = {"ha": ("center", "left", "right")[round(right)], "color": line.get_color()}
        away = {"xytext": (9 * right, 9 * up), "textcoords": "offset points", "va": "center"}
        named.append((ax.annotate(label, new.tolist(), **away, **side), new))
    return ax
