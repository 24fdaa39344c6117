"""Matplotlib's figures as SVG that belongs to the page: its letters, its colours, light and dark.

Ink, letters and lines get two colours each, and the page's `color-scheme` chooses. The dark ones
are those of `colours.py`, or computed: lightness is turned round, and strong colours keep theirs,
so red stays red. Heat maps are embedded as pictures of one pixel a number, one a page; weights and
signed numbers have a ramp of their own for each.

A figure is drawn twice, for a screen and for a phone, so that its letters are large enough on both.
"""

import base64
import hashlib
import io
import itertools
import math
import re
import textwrap
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec
from matplotlib.legend import Legend
from matplotlib.text import Text
from matplotlib.ticker import AutoLocator, MaxNLocator
from PIL import Image

from posenc.show.colours import (
    DARK,
    DARK_SIGNED,
    DARK_WEIGHTS,
    SIGNED,
    WEIGHTS,
)
from posenc.show.letters import (
    LEAST,
    bars_named_on_top,
    framed_maps,
    is_chart,
    large_letters,
    named_on_top,
    plain_numbers,
    plots_of,
    upright_words,
)

COLUMN = 6.4  # inches; 10 point are 15 pixels then where a column is 690 wide
PHONE = 3.8  # inches; 10 point are 12 pixels then where a column is 330 wide
CHART = 3.6  # likewise, of a chart: it has room for letters of 13 pixels
_NUMBERS = 5  # at an axis, on a phone, about
_APART = 0.09  # inches around plots that stand below one another
_MANY = 10  # rows of a matrix that is drawn as wide as the phone is
_SCALE = 1.5  # pixels a point at most, so that letters are of one size in all figures
_LOOK = {"svg.fonttype": "none", "svg.hashsalt": "book", "savefig.transparent": True}
_LINK = "{http://www.w3.org/1999/xlink}href"

# From linear red, green and blue to OKLab's cones, and from their cube roots to OKLab.
_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_OKLAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)
_PAPER, _INK, _STRONG = 0.21, 0.92, 0.7  # lightness of the dark page, its text, its strong colours
_VIVID = 0.16  # chroma of a strong colour
_THIN = 0.65  # of letters and lines: below 1, greys come nearer to the ink, or they are lost


def in_the_dark(colours: np.ndarray, greys: float = 1) -> np.ndarray:
    """The colours of a dark page: white becomes its paper, black its ink, strong colours shine.

    Args:
        colours: [..., 3], sRGB from 0 to 1.
        greys: power of the way from paper to ink, a share of it, that what lies between takes.

    Returns:
        The same shape and range.
    """
    linear = np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)
    lab = np.cbrt(linear @ _CONES.T) @ _OKLAB.T
    strength = np.minimum(1, np.hypot(lab[..., 1], lab[..., 2]) / _VIVID) ** 2
    turned = _PAPER + (_INK - _PAPER) * np.maximum(0, 1 - lab[..., 0]) ** greys
    lab[..., 0] = turned + strength * np.maximum(0, _STRONG - turned)
    linear = np.clip((lab @ np.linalg.inv(_OKLAB).T) ** 3 @ np.linalg.inv(_CONES).T, 0, 1)
    return np.where(linear <= 0.0031308, linear * 12.92, 1.055 * linear ** (1 / 2.4) - 0.055)


def draw_both(figure: Figure) -> tuple[str, str]:
    """Draw a figure for a screen, no wider than the column, and for a phone.

    Args:
        figure: of matplotlib.

    Returns:
        Two SVG elements, one line for each of their parts.
    """
    own, height = figure.get_size_inches()
    letters, numbers = large_letters(figure), plain_numbers(figure)
    with letters, numbers, framed_maps(figure), named_on_top(figure):
        figure.set_size_inches(min(own, COLUMN), height)
        _square(figure, plots_of(figure))
        with upright_words(figure), bars_named_on_top(figure):
            screen = to_svg(figure)
        figure.set_size_inches(min(own, CHART if _is_plain(figure) else PHONE), height)
        with _on_a_phone(figure), upright_words(figure), bars_named_on_top(figure):
            phone = to_svg(figure)
    figure.set_size_inches(own, height)
    return screen, phone


def _is_plain(figure: Figure) -> bool:
    """Whether it has charts only, with no words but the names of lines."""
    return all(
        is_chart(ax) and all(text.get_gid() == "name" for text in ax.texts)
        for ax in plots_of(figure)
    )


def _shape(ax: Axes) -> tuple[int, int]:
    """Rows and columns of the matrix that is shown; unequal for other plots."""
    return ax.images[0].get_array().shape[:2] if ax.images else (1, 2)


def _rows(plots: list[Axes]) -> int:
    """How many plots stand below one another."""
    return max(ax.get_subplotspec().get_gridspec().nrows for ax in plots)


def _square(figure: Figure, plots: list[Axes]) -> None:
    """Make the figure as high as it needs for its square matrices to be square, if all are."""
    if not plots or any(rows != columns for rows, columns in map(_shape, plots)):
        return
    rows = _rows(plots)
    for _ in range(2):  # the layout answers: letters take room
        figure.draw_without_rendering()
        box, (width, height) = plots[0].get_window_extent(), figure.get_size_inches()
        figure.set_size_inches(width, height + rows * (box.width - box.height) / figure.dpi)


@contextmanager
def _on_a_phone(figure: Figure) -> Iterator[None]:
    """What stands side by side stands below one another, and matrices fit, for a while."""
    plots = plots_of(figure)
    with ExitStack() as kept:
        for text in figure.findobj(lambda part: isinstance(part, Text) and _is_sentence(part)):
            kept.callback(text.set_fontsize, text.get_fontsize())
            text.set_fontsize(LEAST)  # twelve words stand in a row
        if len(plots) == 1 and plots[0].get_legend():
            _lift_legend(plots[0], kept)
        for old in list(figure.legends):
            names = [text.get_text() for text in old.get_texts()]
            new = figure.legend(old.legend_handles, names, loc="outside upper left")
            _replace(old, new, kept)
        for axis in (axis for ax in plots for axis in (ax.xaxis, ax.yaxis)):
            if isinstance(locator := axis.get_major_locator(), AutoLocator):
                kept.callback(axis.set_major_locator, locator)
                axis.set_major_locator(MaxNLocator(_NUMBERS, steps=[1, 2, 2.5, 4, 5, 10]))
        if plots:
            _stack(figure, plots, kept)
        yield


def _is_sentence(text: Text) -> bool:
    """Whether it is set in the letters of the book's sentence."""
    return text.get_fontfamily() == ["serif"]


def _lift_legend(ax: Axes, kept: ExitStack) -> None:
    """Put the names of lines above a plot, where they cover none."""
    old, (width, height) = ax.get_legend(), ax.figure.get_size_inches()
    names = [text.get_text() for text in old.get_texts()]
    new = Legend(ax, old.legend_handles, names, loc="lower left", bbox_to_anchor=(0, 1))
    ax.add_artist(new)
    new.set_clip_on(False)  # or the layout leaves no room for it
    ax.figure.set_size_inches(width, height + 0.2 * len(names))
    _replace(old, new, kept)


def _replace(old: Legend, new: Legend, kept: ExitStack) -> None:
    """Show one legend for another."""
    for choose in (old.set_visible, old.set_in_layout):
        choose(False)
        kept.callback(choose, True)
    kept.callback(new.remove)


def _stack(figure: Figure, plots: list[Axes], kept: ExitStack) -> None:
    """Plots below one another, or matrices and clocks in two columns; square ones stay square.

    A matrix or a clock that is left over stands in the middle below the others.
    """
    shapes = [_shape(ax) for ax in plots]
    square = all(rows == columns for rows, columns in shapes)
    before = [ax.get_subplotspec() for ax in plots]
    grids = {id(spec.get_gridspec()): spec.get_gridspec() for spec in before}
    shape = [(grid.nrows, grid.ncols) for grid in grids.values()]
    words = all(len(ax.get_xticks()) >= _MANY for ax in plots)  # need the width for themselves
    clocks = plots[0].get_aspect() == 1
    lines = not clocks and not any(ax.images for ax in plots)
    crossed = shape == [(2, 2)] and (lines or (square and words))
    if (crossed or shape == [(1, len(plots))]) and len(plots) >= (3 if clocks else 2):
        bars = len(figure.axes) - len(plots)  # they are laid out beside their columns
        many = square and (shapes[0][0] >= _MANY or bars > 1)
        alone = crossed or many or (lines and len(plots) == 3)
        columns = 1 if alone or len(plots) == 2 else 2
        rows, (width, height) = math.ceil(len(plots) / columns), figure.get_size_inches()
        high = 0.9 * height / shape[0][0]
        if square:
            high = 1.1 * width / columns  # high enough for any letters
        figure.set_size_inches(width, rows * high)
        _set_apart(figure, kept)
        is_odd = columns == 2 and len(plots) % 2 == 1 and (square or clocks) and not bars
        wide = 2 if is_odd else 1  # columns of the grid for a plot: the last stands between
        grid = GridSpec(rows, wide * columns, figure=figure)
        under = shape == [(2, 2)] and not square  # what stood below one another still does
        order = [plots[i] for i in (0, 2, 1, 3)] if under else plots
        kept_in = {id(ax): spec for ax, spec in zip(plots, before, strict=True)}
        for n, ax in enumerate(order):
            row, column = divmod(n, columns)
            kept.callback(ax.set_subplotspec, kept_in[id(ax)])
            start = 1 if is_odd and n == len(order) - 1 else wide * column
            ax.set_subplotspec(grid[row, start : start + wide])
            shared = {"labelleft": not column, "labelbottom": not under}
            for (side, on), axis in zip(shared.items(), (ax.yaxis, ax.xaxis), strict=True):
                if on and not axis.get_tick_params()[side]:
                    kept.callback(ax.tick_params, **{side: False})
                    ax.tick_params(**{side: True})  # told at the left of each row, and below each
        if columns == 1:
            _share(figure, order, kept)
    if square:
        _square(figure, plots)
    _wrap(figure, plots, kept)
    if clocks and not any(ax.images or ax.get_ylabel() for ax in plots):  # they leave room unused
        figure.draw_without_rendering()
        given, taken = (plots[0].get_position(original=way).height for way in (True, False))
        width, height = figure.get_size_inches()
        figure.set_size_inches(width, height * (1 - _rows(plots) * (given - taken)))


def _wrap(figure: Figure, plots: list[Axes], kept: ExitStack) -> None:
    """Break what is longer than its side of the plot, or it would lie upon its neighbour's."""
    figure.draw_without_rendering()
    for ax in plots:
        box = ax.get_window_extent()
        for text, side in ((ax.xaxis.label, "width"), (ax.yaxis.label, "height")):
            long = getattr(text.get_window_extent(), side)
            if text.get_text() and long > 1.2 * getattr(box, side):
                kept.callback(text.set_text, text.get_text())
                letters = int(len(text.get_text()) * 1.1 * getattr(box, side) / long)
                text.set_text(textwrap.fill(text.get_text(), max(8, letters)))


def _set_apart(figure: Figure, kept: ExitStack) -> None:
    """Leave room between what stands below one another."""
    if layout := figure.get_layout_engine():
        kept.callback(layout.set, **layout.get())
        layout.set(h_pad=_APART)


def _share(figure: Figure, stack: list[Axes], kept: ExitStack) -> None:
    """Say once what all in a stack have in common: the quantity below it, and its colours."""
    for upper, lower in itertools.pairwise(stack):
        text = upper.get_xlabel()
        if text == lower.get_xlabel() and upper.get_xlim() == lower.get_xlim():
            kept.callback(upper.set_xlabel, text)
            upper.set_xlabel("")
    for bar in figure.axes:
        told = getattr(bar, "_colorbar_info", {})
        if len(told.get("parents", [])) == len(stack):
            kept.callback(told.update, **{part: told[part] for part in ("shrink", "anchor")})
            told.update(shrink=1 / len(stack), anchor=(0, 1))  # beside the first


def to_svg(figure: Figure) -> str:
    """Draw a figure without its background as one SVG element in the page's colours."""
    for mesh in figure.findobj(QuadMesh):
        mesh.set_rasterized(True)  # a colour bar is 256 shapes otherwise
    for ax in figure.axes:
        for image in ax.images:
            image.set_interpolation("none")  # one pixel a number, however large it is shown
    out = io.StringIO()
    with mpl.rc_context(_LOOK):
        figure.savefig(out, format="svg", metadata={"Date": None}, dpi=100)
    text = re.sub(r'xmlns="[^"]+"', "", out.getvalue().partition("<svg")[2])
    root = ElementTree.fromstring(f"<svg{text}")
    width = float(root.get("viewBox").split()[2])
    root.attrib = {"viewBox": root.get("viewBox"), "style": f"max-width: {_SCALE * width:.0f}px"}
    named = set(re.findall(r'(?:href="|url\()#([^")]+)', text))
    _clean(root, named)
    lines = ElementTree.tostring(root, encoding="unicode").replace("><", ">\n<")
    # a line's end in a text is room between letters
    lines = lines.replace(">\n<tspan", "><tspan").replace("</tspan>\n<", "</tspan><")
    lines = lines.replace(' href="data:', '\nhref="data:').replace(' class="', '\nclass="')
    return re.sub(r"<[^>]+>", _rounded, lines)


def _rounded(tag: re.Match) -> str:
    """A tag with its coordinates to a hundredth; texts keep all their digits."""
    numbers = re.split(r"(\d+\.\d{3,})", tag[0])
    numbers[1::2] = (f"{float(n):.2f}".rstrip("0").rstrip(".") for n in numbers[1::2])
    return "".join(numbers)


def _clean(parent: Element, named: set[str]) -> None:
    """Leave what is seen: colours in pairs, no names but those that are called."""
    kept = []
    for child in parent:
        if child.tag in ("metadata", "style") or child.get("style") == "fill: none":
            continue
        child.text, child.tail = (child.text or "").strip() or None, None
        if child.get("id") not in named:
            child.attrib.pop("id", None)
        if _LINK in child.attrib:
            child.set("href", child.attrib.pop(_LINK))
        if child.get("transform", "").startswith("rotate(-0 "):
            del child.attrib["transform"]
        if style := child.get("style"):
            family = "font-family: var(--book-serif, serif); " if "'DejaVu Serif'" in style else ""
            style = re.sub(r"font-family: [^;]+;?\s*", family, style)
            child.set("style", re.sub(r"#[0-9a-f]{6}", lambda m: _pair(m[0]), style))
        if "d" in child.attrib:
            child.set("d", " ".join(child.get("d").split()))
        if child.tag == "image":
            kept += _pictures(child)
            continue
        _clean(child, named)
        if child.tag == "text" and _is_formula(child.text or ""):
            _slant(child)
        kept += list(child) if child.tag == "g" and not child.attrib else [child]
    parent[:] = _together(kept)


def _is_formula(text: str) -> bool:
    """Whether all letters of a text stand for quantities: of "a = 0.9", not of "loss (nats)"."""
    has_words = re.search(r"[^\W\d_]{2}", text.replace("ln", ""))
    return not has_words and bool(re.search(r"[=(+·/]", text))


def _slant(element: Element) -> None:
    """Set the letters of a formula as the page's formulas have them."""
    first, *rest = re.split(r"(?<![a-z])([A-Za-z])(?![a-z])", element.text)
    element.text = first
    for letter, tail in zip(rest[::2], rest[1::2], strict=True):
        look = "font-family: var(--book-serif, serif); font-style: italic"
        part = ElementTree.SubElement(element, "tspan", style=look)
        part.text, part.tail = letter, tail


def _together(children: list[Element]) -> list[Element]:
    """Points that look the same say so once."""
    groups = []
    for style, run in itertools.groupby(children, lambda e: e.tag == "use" and e.get("style")):
        run = list(run)
        if style and len(run) > 2:
            for point in run:
                del point.attrib["style"]
            group = Element("g", style=style)
            group[:] = run
            run = [group]
        groups += run
    return groups


def _pair(colour: str) -> str:
    if colour == "#000000":
        return "currentColor"
    if colour in DARK:
        return f"light-dark({colour}, {DARK[colour]})"
    light = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    dark = "".join(f"{round(part * 255):02x}" for part in in_the_dark(light, _THIN))
    return f"light-dark({colour}, #{dark})"


def _pictures(image: Element) -> list[Element]:
    """An embedded picture for the light page, and one for the dark."""
    packed = image.get("href").partition(",")[2]
    pixels = np.asarray(Image.open(io.BytesIO(base64.b64decode(packed))).convert("RGBA"))
    image.set("href", _packed(pixels))
    dark = _map_in_the_dark(pixels)
    night = Element("image", {**image.attrib, "class": "night", "href": _packed(dark)})
    image.set("class", "day")
    return [image, night]


def _map_in_the_dark(pixels: np.ndarray) -> np.ndarray:
    """A heat map on a dark page; what has the colours of one of the book's maps has its twin's."""
    seen, dark = pixels[..., 3] > 0, pixels.copy()
    known, at = np.unique(pixels[seen], axis=0, return_inverse=True)
    for pair in ((WEIGHTS, DARK_WEIGHTS), (SIGNED, DARK_SIGNED)):
        light, night = (ramp(np.arange(ramp.N), bytes=True) for ramp in pair)
        apart = np.abs(known[:, None].astype(int) - light).max(axis=-1)
        if apart.min(axis=1).max(initial=0) <= 1:  # it was rounded
            dark[seen] = night[apart.argmin(axis=1)][at.ravel()]
            return dark
    dark[..., :3] = np.rint(255 * in_the_dark(pixels[..., :3] / 255))
    return dark


def _packed(pixels: np.ndarray) -> str:
    """A picture as a PNG, in an address."""
    colours, places = np.unique(pixels.reshape(-1, 4), axis=0, return_inverse=True)
    image, small = Image.fromarray(pixels), io.BytesIO()
    if len(colours) <= 256:
        image = Image.fromarray(places.reshape(pixels.shape[:2]).astype(np.uint8), "P")
        image.putpalette(colours.tobytes(), "RGBA")
    image.save(small, "png", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(small.getvalue()).decode()}"


def with_own_names(svg: str) -> str:
    """The same drawing, in which no name is one of another drawing on the page."""
    salt = hashlib.sha256(svg.encode()).hexdigest()[:8]
    return re.sub(r'( id="|href="#|url\(#)', rf"\g<1>{salt}", svg)


def to_html(figure: Figure) -> str:
    """Both drawings of a figure, of which the style sheet `drawing.css` shows one."""
    wide, phone = map(with_own_names, draw_both(figure))
    return (
        f'<div class="drawing"><div class="wide">{wide}</div><div class="phone">{phone}</div></div>'
    )


def show_in_book() -> None:
    """Let figures show themselves as drawings, too, in the notebooks that become the book."""
    from IPython import get_ipython

    if shell := get_ipython():
        plt.switch_backend(mpl.get_backend())  # which sets how figures show themselves, once
        shell.display_formatter.formatters["text/html"].for_type(Figure, to_html)
