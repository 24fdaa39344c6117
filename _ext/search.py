"""What the search page shows of a page that it has found: text as readers see it, also from a file.

Sphinx would fetch each page and show its raw text, with formulas' sources, code and the
definitions of terms run together; and a page that is opened as a file may not fetch. So the texts
are written into the script `texts.js` when the site is made, and only the search page loads it.
"""

import json
from pathlib import Path

from bs4 import BeautifulSoup, Tag
from sphinx.application import Sphinx

SILENT = (  # and a page's title, which stands above its text
    "h1, .about-page, .headerlink, [role=tooltip], script, style, svg, .cell, .seal, .cover, "
    ".predict-score"
)
HIGH = "msub, msup, msubsup, munder, mover, munderover, mfrac, mtable"  # than a line of text


def texts(html: str) -> dict[str, str]:
    """The text of each section and entry of a page by its anchor, and of the whole page by ""."""
    article = BeautifulSoup(html, "html.parser").select_one("article.bd-article")
    if article is None:
        return {}
    for node in article.select(SILENT):
        node.decompose()
    for formula in article.select("math"):
        if formula.select_one(HIGH):
            formula.replace_with("…")
    sections = {section["id"]: section for section in article.select("section[id]")}
    sections |= {term["id"]: term.find_next_sibling("dd") for term in article.select("dt[id]")}
    return {"": _text(article)} | {anchor: _text(node) for anchor, node in sections.items()}


def _text(node: Tag) -> str:
    """Its text without that of the sections within it."""
    own = [
        part
        for part in node.find_all(string=True)
        if node.name != "section" or part.find_parent("section") is node
    ]
    return " ".join("".join(own).split())


def write(app: Sphinx, exception: Exception | None) -> None:
    """Write the texts of all pages."""
    if exception or app.builder.name != "html":
        return
    out = Path(app.outdir)
    found = {
        name: texts((out / app.builder.get_target_uri(name)).read_text("utf-8"))
        for name in sorted(app.env.found_docs)
    }
    script = f"window.BOOK_TEXTS = {json.dumps(found, ensure_ascii=False)};\n"
    (out / "_static" / "texts.js").write_text(script, "utf-8")


def add_scripts(app: Sphinx, pagename: str, templatename: str, context: dict, doctree) -> None:
    """Give the search page its scripts."""
    if pagename == "search":
        app.add_js_file("texts.js")
        app.add_js_file("search.js")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("html-page-context", add_scripts)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
