"""Typeset formulas when the book is built: LaTeX becomes MathML, which browsers draw by themselves.

Temml translates (`vendor/temml.min.js`, in an embedded V8), the font STIX Two Math comes with the
site, and no page loads a formula engine. The LaTeX stays in the attribute `data-tex`.

A browser spaces MathML by rules of its own, and some of TeX's are lost: `spaced` puts them back.
"""

import functools
import html
import re
from pathlib import Path
from xml.etree import ElementTree

from docutils import nodes
from py_mini_racer import MiniRacer
from sphinx.application import Sphinx
from sphinx.errors import SphinxError
from sphinx.util.math import get_node_equation_number
from sphinx.writers.html5 import HTML5Translator

ROWS = ("math", "mrow", "mtd", "mstyle", "mpadded", "msqrt")
SCRIPTED = ("msub", "msup", "msubsup", "munder", "mover", "munderover")
APPLIED = "\N{FUNCTION APPLICATION}"  # Temml writes it after the name of a function
TEMML = Path(__file__).parent / "vendor" / "temml.min.js"


@functools.cache
def _engine() -> MiniRacer:
    engine = MiniRacer()
    engine.eval(TEMML.read_text("utf-8"))
    return engine


@functools.cache
def mathml(latex: str, *, display: bool = False) -> str:
    """Translate a formula; one that Temml does not understand is an error."""
    settings = {"displayMode": display, "throwOnError": True}
    try:
        written = _engine().call("temml.renderToString", latex, settings)
    except Exception as error:
        raise SphinxError(f"a formula cannot be set, {latex!r}: {error}") from error
    return spaced(written).replace("<math", f'<math data-tex="{html.escape(latex)}"', 1)


def spaced(written: str) -> str:
    """The same formula with TeX's spaces.

    None in scripts and between dots and their comma, a thin one before a function such as cos,
    and a power that stands at its bracket, not above it.
    """
    formula = ElementTree.fromstring(written)
    for node in list(formula.iter()):
        if node.tag in SCRIPTED:
            for sign in (sign for script in node[1:] for sign in script.iterfind(".//mo")):
                sign.attrib.update(lspace="0em", rspace="0em")
        if node.tag == "msup" and node[0].tag == "mrow" and node[0][0].get("stretchy") == "false":
            node[0].tag, node[0].attrib["height"] = "mpadded", "0.62em"
        if node.tag in ROWS:
            for n in range(len(node) - 1, 0, -1):
                space(node, n)
    return ElementTree.tostring(formula, "unicode", short_empty_elements=False)


def space(row: ElementTree.Element, n: int) -> None:
    """Set the space between a part of a row and the part before it."""
    before, part = row[n - 1], row[n]
    if part.get("separator") and before.text == "…":
        before.attrib["rspace"] = "0em"
    if before.get("separator") and part.text == "…":
        part.attrib["lspace"] = "0em"
    name = part if part.tag == "mrow" and len(part) > 1 else row[n:]
    names = name[0].tag not in ("mo", "mspace") and len(name) > 1 and name[1].text == APPLIED
    if names and (before.tag not in ("mo", "mspace") or before.get("form") == "postfix"):
        row.insert(n, ElementTree.Element("mspace", width="0.1667em"))


def lines(latex: str) -> str:
    """Align the lines of a formula that has several and says nothing of how they stand."""
    several = re.search(r"\\\\|(?<!\\)&", latex) and r"\begin{" not in latex
    return rf"\begin{{aligned}} {latex} \end{{aligned}}" if several else latex


def visit_inline(writer: HTML5Translator, node: nodes.math) -> None:
    """Write a formula within a line."""
    writer.body.append(f'<span class="math">{mathml(node.astext())}</span>')
    raise nodes.SkipNode


def visit_block(writer: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula on lines of its own, with its number."""
    writer.body.append(writer.starttag(node, "div", CLASS="math"))
    latex = node.astext().strip()
    shown = mathml(latex if node.get("nowrap") else lines(latex), display=True)
    writer.body.append(f'<div class="formula" tabindex="-1">{shown}</div>')
    if node["number"]:
        number = get_node_equation_number(writer, node)
        writer.body.append(f'<span class="eqno">({number})')
        writer.add_permalink_ref(node, "Link to this equation")
        writer.body.append("</span>")
    writer.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx as `html_math_renderer: mathml`."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
