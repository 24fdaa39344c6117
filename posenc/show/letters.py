"""Letters and names of a figure of the book: large enough, plain, upright, and where one looks.

Matplotlib turns what names an upright axis or a bar of colours; here that is said above it, as in
live figures. Each of these holds for a while, and then the figure is as it was.
"""

import itertools
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colorbar import Colorbar
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import Formatter
from matplotlib.transforms import Bbox

from posenc.show.live.marks import grouped

LEAST = 10  # points, of any letter
_FRAME = "#999999"  # of a heat map
_ABOVE = 6  # points between a plot and what is said above it
_SHORT = 12  # letters of a name that stands beside a plot and is not turned
_LONG = 24  # and of one that stands above a matrix


@contextmanager
def large_letters(figure: Figure) -> Iterator[None]:
    """All letters are large enough, for a while."""
    with ExitStack() as kept:
        for text in figure.findobj(Text):
            if text.get_fontsize() < LEAST:
                kept.callback(text.set_fontsize, text.get_fontsize())
                text.set_fontsize(LEAST)
        yield


class _Plain(Formatter):
    """Writes numbers as plain text, thousands set apart, where another writes formulas.

    A formula's digits are placed one by one, for letters that the page does not have.
    """

    def __init__(self, other: Formatter):
        self.other = other

    def __call__(self, x: float, pos: int | None = None) -> str:
        return self.format_ticks([x])[0]

    def format_ticks(self, values: Sequence[float] | np.ndarray) -> list[str]:
        return [_plain(str(text)) for text in self.other.format_ticks(values)]

    def get_offset(self) -> str:
        return self.other.get_offset()


def _plain(text: str) -> str:
    bare = re.sub(r"^\$\\mathdefault\{(-?[\d.]+)\}\$$", r"\1", text)
    number = re.fullmatch(r"[-\N{MINUS SIGN}]?\d+(\.\d+)?", bare)
    return grouped(bare).replace("-", "\N{MINUS SIGN}") if number else text


@contextmanager
def plain_numbers(figure: Figure) -> Iterator[None]:
    """All axes write their numbers plainly, for a while."""
    with ExitStack() as kept:
        for axis in (axis for ax in figure.axes for axis in (ax.xaxis, ax.yaxis)):
            for formatter, choose in (
                (axis.get_major_formatter(), axis.set_major_formatter),
                (axis.get_minor_formatter(), axis.set_minor_formatter),
            ):
                kept.callback(choose, formatter)
                choose(_Plain(formatter))
        yield


@contextmanager
def framed_maps(figure: Figure) -> Iterator[None]:
    """Heat maps have a frame, for a while: what is near 0 has the colour of the page."""
    with ExitStack() as kept:
        for spine in (spine for ax in figure.axes if ax.images for spine in ax.spines.values()):
            for part, value in {"visible": True, "linewidth": 0.8, "edgecolor": _FRAME}.items():
                kept.callback(getattr(spine, f"set_{part}"), getattr(spine, f"get_{part}")())
                getattr(spine, f"set_{part}")(value)
        yield


@contextmanager
def named_on_top(figure: Figure) -> Iterator[None]:
    """What an upright axis shows is said above it, or beside it and not turned, for a while.

    Above the title, if a chart has one, and not where names of lines will stand. Beside the plot
    if it is a matrix with a title, or a circle, and the name is short.
    """
    with ExitStack() as kept:
        plots = [ax for ax in plots_of(figure) if not ax.get_legend()]
        for ax in plots:
            name, told = ax.yaxis.label, _turned(ax)
            look = {"color": name.get_color(), "fontsize": name.get_fontsize()}
            if not told:
                continue
            if is_chart(ax) or (ax.images and not ax.get_title() and len(told) <= _LONG):
                kept.callback(ax.set_title, "", loc="left")
                ax.set_title(f"{told}\n" if ax.get_title() else told, loc="left", **look)
            elif len(told) > _SHORT:
                continue
            elif ax.images:
                kept.callback(_say(ax, told, (0, 1), -_ABOVE, **look).remove)
                kept.enter_context(_below(ax.get_yticklabels(), ax))
            else:
                kept.enter_context(_beside(name))
                continue
            kept.callback(ax.set_ylabel, told)
            ax.set_ylabel("")
        yield


def _turned(ax: Axes) -> str:
    """The name of the upright axis, if it is turned."""
    return ax.get_ylabel() if ax.yaxis.label.get_rotation() else ""


@contextmanager
def _beside(name: Text) -> Iterator[None]:
    """A name at the left stands upright and ends at its plot, for a while."""
    upright = {"rotation": 0, "horizontalalignment": "right", "verticalalignment": "center"}
    before = {part: getattr(name, f"get_{part}")() for part in upright}
    name.set(**upright)
    yield
    name.set(**before)


@contextmanager
def bars_named_on_top(figure: Figure) -> Iterator[None]:
    """Bars of colours have no frame, and say above them what they show, for a while.

    That is in the row of the titles, if all of them have room there.
    """
    images = [image for ax in plots_of(figure) for image in ax.images if image.colorbar]
    bars = {id(image.colorbar): image.colorbar for image in images}.values()
    named = [bar for bar in bars if bar.ax.get_ylabel()]
    with ExitStack() as kept:
        for bar in bars:
            kept.callback(bar.outline.set_visible, bar.outline.get_visible())
            bar.outline.set_visible(False)
        with ExitStack() as tried:
            texts = [tried.enter_context(_on_top(bar)) for bar in named]
            figure.draw_without_rendering()
            if all(_has_room(text) for text in texts):
                kept.push(tried.pop_all())
        yield


@contextmanager
def _on_top(bar: Colorbar) -> Iterator[Text]:
    """What colours show is said above their bar, for a while."""
    name, told = bar.ax.yaxis.label, bar.ax.get_ylabel()
    look = {"color": name.get_color(), "fontsize": name.get_fontsize()}
    bar.set_label("")
    bar.ax.figure.draw_without_rendering()
    wide = bar.ax.get_tightbbox().x1 - bar.ax.get_window_extent().x1
    right = wide * 72 / bar.ax.figure.dpi
    text = _say(bar.ax, told, (1, 1), right, in_layout=False, **look)
    with _below(bar.ax.get_yticklabels(), bar.ax):
        yield text
    text.remove()
    bar.set_label(told)


@contextmanager
def _below(numbers: Sequence[Text], ax: Axes) -> Iterator[None]:
    """The highest number at an axis does not reach up to the name above it, for a while."""
    ax.figure.draw_without_rendering()
    high = [number for number in numbers if number.get_window_extent().y1 > ax.bbox.y1]
    before = [number.get_va() for number in high]
    for number in high:
        number.set_va("top")
    yield
    for number, side in zip(high, before, strict=True):
        number.set_va(side)


def _has_room(text: Text) -> bool:
    """Whether it stands in the row of the titles, if there is one, and touches none."""
    place = text.get_window_extent()
    row = [part for ax in plots_of(text.figure) for part in _above(ax, place)]
    return bool(row) and all(p.x1 + 8 < place.x0 or p.x0 - 8 > place.x1 for p in row)


def _say(ax: Axes, text: str, at: tuple[float, float], right: float, **look: object) -> Text:
    """Write a text that ends so many points right of a place, in the row of the titles."""
    places = {"xycoords": "axes fraction", "textcoords": "offset points"}
    return ax.annotate(
        text, at, (right, _ABOVE), ha="right", annotation_clip=False, **places, **look
    )


def _above(ax: Axes, row: Bbox) -> list[Bbox]:
    """Where the plot's other texts stand that are in the same row."""
    texts = [part for part in ax.get_children() if isinstance(part, Text) and part.get_text()]
    places = [text.get_window_extent() for text in texts]
    return [place for place in places if place.y0 < row.y1 and place.y1 > row.y0]


@contextmanager
def upright_words(figure: Figure) -> Iterator[None]:
    """Words below an axis that a figure turned, lest they touch, are not turned if they fit."""
    level = {"rotation": 0, "horizontalalignment": "center"}
    with ExitStack() as kept:
        for ax in plots_of(figure):
            texts = [text for text in ax.get_xticklabels() if text.get_text()]
            if len(texts) < 2 or not all(text.get_rotation() for text in texts):
                continue
            with ExitStack() as tried:
                for text in texts:
                    tried.callback(text.set, **{k: getattr(text, f"get_{k}")() for k in level})
                    text.set(**level)
                figure.draw_without_rendering()
                places = [text.get_window_extent() for text in texts]
                if all(right.x0 - left.x1 >= 4 for left, right in itertools.pairwise(places)):
                    kept.push(tried.pop_all())
        yield


def plots_of(figure: Figure) -> list[Axes]:
    """The axes that show data, not colour bars."""
    return [ax for ax in figure.axes if ax.get_subplotspec() is not None]


def is_chart(ax: Axes) -> bool:
    """Whether it has no matrix and no circle."""
    return not ax.images and ax.get_aspect() == "auto"
