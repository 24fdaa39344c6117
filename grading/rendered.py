"""HTML of what students write: Markdown, formulas, pictures of their own, and nothing that acts.

The text is a stranger's. HTML in it is shown, not used; a formula becomes MathML; a picture must be
in the notebook itself, and no larger than a browser can unfold; and what comes out passes a list of
allowed tags and attributes. Pictures beyond what a page may hold become words. Where it takes too
long, the page shows the text as it was typed.
"""

import base64
import functools
import hashlib
import html
import io
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote
from xml.etree import ElementTree

import nh3
from latex2mathml.converter import convert_to_element
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup
from mdit_py_plugins.amsmath import amsmath_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from PIL import Image

from posenc.check.calls import Wrong, call

SECONDS = 5.0
LONGEST = 50_000  # characters
LONGEST_FORMULA = 2_000
LARGEST = 16_000_000  # characters of all pictures in an answer: six photos of 2 MB
MOST_PIXELS = 100_000_000  # of all pictures in an answer: eight photos of 12 million
PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_SOURCE = re.compile(rf"data:(?:{'|'.join(PICTURES)});base64,[A-Za-z0-9+/=]+")
_EMBEDDED = re.compile(r'<img src="data:image/(\w+);base64,([^"]+)"')  # in what `_clean` returns
_TURNS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")  # what is read, and its order
# As HTML, which is how one gives a picture a width
_IMAGE = re.compile(
    r"""<img\b[^<>]{0,300}?\bsrc=["']?(attachment:[^"'<>\s]{1,200}+)[^<>]{0,300}+>"""
)
_TEXT = """
    p br hr h4 h5 h6 em strong s code pre blockquote ul ol li table thead tbody tr th td a img
    span div
    """.split()  # noqa: SIM905
_MATH = """
    math mrow mi mn mo ms mtext mspace msup msub msubsup mfrac msqrt mroot mover munder munderover
    mtable mtr mtd mstyle mpadded mphantom menclose mmultiscripts mprescripts none merror
    """.split()  # noqa: SIM905
_ATTRIBUTES = {
    "a": {"href"},
    "img": {"src", "alt"},
    "ol": {"start"},
    "span": {"class"},
    "div": {"class"},
    "math": {"display"},
    "mo": {"stretchy", "fence", "separator", "form", "lspace", "rspace", "movablelimits"},
    "mi": {"mathvariant"},
    "mspace": {"width"},
    "mfrac": {"linethickness"},
    "mover": {"accent"},
    "munder": {"accentunder"},
    "mtable": {"displaystyle", "rowspacing", "columnspacing"},
    "mtd": {"columnalign"},
    "mstyle": {"displaystyle", "scriptlevel"},
}


Pieces = Sequence[tuple[str, Mapping[str, str]]]


def page_part(pieces: Pieces) -> Markup:
    """HTML of an answer.

    Args:
        pieces: text of each cell, and its pictures: name -> data URI.
    """
    return _made(pieces)[0]


def linked(written: Markup, folder: str, files: dict[str, bytes]) -> Markup:
    """The same HTML with its pictures in a folder: those are added to its files, by their names."""

    def named(match: re.Match) -> str:
        data = base64.b64decode(match[2])
        name = f"{folder}/{hashlib.sha256(data).hexdigest()[:16]}.{match[1]}"
        files[name] = data
        return f'<img src="{name}"'

    return Markup(_EMBEDDED.sub(named, written))


def fault(pieces: Pieces) -> str:
    """What of an answer its page does not show, "" if it shows all."""
    return _made(pieces)[1]


def _made(pieces: Pieces) -> tuple[Markup, str]:
    taken = [_taken_out(text, pictures) for text, pictures in pieces]
    written, said = _page_part(tuple((text, tuple(pictures.items())) for text, pictures in taken))
    return Markup(_TURNS.sub("", written)), said


def _taken_out(text: str, pictures: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Pictures that stand in the text itself, as Colab writes them, become named ones."""
    found = dict(pictures)

    def named(match: re.Match) -> str:
        found[f"picture-{len(found)}"] = match[0]
        return f"attachment:picture-{len(found) - 1}"

    return _SOURCE.sub(named, text), found


@functools.cache  # the student's page and the instructor's show the same
def _page_part(pieces: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]) -> tuple[Markup, str]:
    whole = "\n\n".join(text for text, _ in pieces)
    try:
        if len(whole) > LONGEST:
            raise Wrong("it is too long")
        written, left_out = call(_all, (pieces,), seconds=SECONDS)
    except Wrong:
        return Markup("<pre>{}</pre>").format(whole), "its page shows it as it was typed"
    said = f"{left_out} of its pictures are not on the page: too large, in all or alone"
    return Markup(written), said * bool(left_out)


def _all(pieces: tuple) -> tuple[str, int]:
    shown = Shown()
    written = [_markdown(text, dict(pictures), shown) for text, pictures in pieces]
    return "\n".join(map(_clean, written)), shown.left_out


@dataclass
class Shown:
    """The pictures of an answer so far: how many pixels each has, and what all take.

    Args:
        pixels: of each, by its data.
        size: characters, of a picture as often as it is named.
        left_out: how many were too large.
    """

    pixels: dict[str, int] = field(default_factory=dict)
    size: int = 0
    left_out: int = 0


def _markdown(text: str, pictures: Mapping[str, str], shown: Shown) -> str:
    parser = _parser()
    tokens = parser.parse(_IMAGE.sub(r"![a picture](\1)", text))
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1]) + 3, 6)}"  # below the page's own headings
        for child in token.children or ():
            if child.type == "image":
                _place(child, pictures, shown)
    return parser.renderer.render(tokens, parser.options, {})


def _clean(written: str) -> str:
    return nh3.clean(
        written,
        tags={*_TEXT, *_MATH},
        attributes=_ATTRIBUTES,
        url_schemes={"http", "https", "mailto", "data"},
        attribute_filter=_allowed,
    )


def _allowed(tag: str, attribute: str, value: str) -> str | None:
    if attribute == "src":
        return value if _SOURCE.fullmatch(value) else None
    if attribute == "href":
        return value if value.startswith(("http://", "https://", "mailto:")) else None
    if attribute == "class":
        return value if value == "formula" else None
    return value


def _place(image: Token, pictures: Mapping[str, str], shown: Shown) -> None:
    """A picture of this cell; any other becomes words, as does one too many for a browser."""
    source = str(image.attrs.get("src", ""))
    scheme, _, name = source.partition(":")
    kept = pictures.get(unquote(name), "") if scheme == "attachment" else source
    said = "a picture that is not in the notebook"
    if _SOURCE.fullmatch(kept):
        size, is_small = shown.pixels.get(kept) or _pixels(kept), True
        if size and sum({**shown.pixels, kept: size}.values()) <= MOST_PIXELS:
            is_small = shown.size + len(kept) <= LARGEST
            if is_small:
                shown.pixels[kept] = size
                shown.size += len(kept)
                image.attrs["src"] = kept
                return
        source, said = "", "a file that is no picture"
        shown.left_out += bool(size)
        if not is_small:
            said = f"a picture of {len(kept) * 3 / 4e6:.1f} MB, too much for a page"
        elif size:
            said = f"a picture of {size / 1e6:.0f} million pixels, too many for a page"
    image.type, image.tag, image.nesting = "text", "", 0
    image.content = f"[{': '.join(filter(None, (said, image.content or source[:200])))}]"
    image.children = None


def _pixels(source: str) -> int:
    """How many pixels a picture has, by its head, which is all that is read; 0 for no picture."""
    kinds = [kind.partition("/")[2].upper() for kind in PICTURES]  # whatever its name says it is
    try:
        data = io.BytesIO(base64.b64decode(source.partition(",")[2]))
        with warnings.catch_warnings(action="ignore"), Image.open(data, formats=kinds) as image:
            return image.width * image.height
    except Image.DecompressionBombError as error:
        return int(re.search(r"\d+", str(error))[0])
    except Exception:  # it has a class for each damage
        return 0


@functools.cache
def _parser() -> MarkdownIt:
    def dollars(latex: str, settings: Mapping[str, bool]) -> str:
        return _formula(latex, display=settings["display_mode"])

    parser = MarkdownIt("js-default", {"html": False, "linkify": False})
    parser.use(dollarmath_plugin, allow_labels=False, double_inline=True, renderer=dollars)
    return parser.use(amsmath_plugin, renderer=functools.partial(_formula, display=True))


def _formula(latex: str, *, display: bool) -> str:
    """MathML, or what was typed where it cannot be set."""
    try:
        if len(latex) > LONGEST_FORMULA:
            raise ValueError("it is too long")
        known = re.sub(r"\{align(ed)?\}", "{align*}", latex)  # the one that latex2mathml knows
        made = convert_to_element(known, display="block" if display else "inline")
        for part in made.iter():
            part.text = html.unescape(part.text or "")
        shown = ElementTree.tostring(made, encoding="unicode")
        if "\\" in "".join(made.itertext()):
            raise ValueError("there is a command in it that is not known")
    except Exception:  # it has a class for each mistake, and does not foresee them all
        return f"<code>{html.escape(latex)}</code>"
    return f'<div class="formula">{shown}</div>' if display else shown
