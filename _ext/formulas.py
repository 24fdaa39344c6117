"""Typeset formulas when the book is built: LaTeX becomes MathML, which browsers draw by themselves.

Temml translates (`vendor/temml.min.js`, in an embedded V8), the font STIX Two Math comes with the
site, and no page loads a formula engine. The LaTeX stays in the attribute `data-tex`.
"""

import functools
import html
import re
from pathlib import Path

from docutils import nodes
from py_mini_racer import MiniRacer
from sphinx.application import Sphinx
from sphinx.errors import SphinxError
from sphinx.util.math import get_node_equation_number
from sphinx.writers.html5 import HTML5Translator

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
    return written.replace("<math", f'<math data-tex="{html.escape(latex)}"', 1)


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
