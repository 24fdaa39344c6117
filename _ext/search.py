"""What a search finds: the text of each place of the book as readers see it, also from a file.

Sphinx would search pages, fetch each one and show its raw text, with formulas' sources, code and
the definitions of terms run together; and a page that is opened as a file may not fetch. So the
texts are written into the script `texts.js` when the site is made. `search.js` brings it when a
search begins, and finds in it the section, or the entry, that has the words. Each paragraph, and
each row of a table, is a line of its own.
"""

import json
from pathlib import Path

from bs4 import BeautifulSoup, Tag
from sphinx.application import Sphinx

SILENT = (
    ".about-page, .headerlink, [role=tooltip], script, style, svg, pre, .cell, .seal, .seals, "
    ".cover, .predict-score, .chapter-cards, .admonition-title"
)
HEADINGS = "h1, h2, h3, h4"
BLOCKS = "p:not(tr *), li, tr, caption, summary, dt, dd, div.math"
END = "\0"  # of a block
HIGH = "msub, msup, msubsup, munder, mover, munderover, mfrac, mtable"  # than a line of text


def texts(html: str) -> dict[str, list[str]]:
    """The title and the text of each section and entry of a page by its anchor; its own by ""."""
    article = BeautifulSoup(html, "html.parser").select_one("article.bd-article")
    if article is None:
        return {}
    for node in article.select(SILENT):
        node.decompose()
    for formula in article.select("math"):
        if formula.select_one(HIGH):
            formula.replace_with("…")
    for part in article.select("td, th"):
        part.insert_after(" · ")
    for part in article.select(BLOCKS):
        part.insert_after(END)
    places = {}
    for section in article.select("section[id]"):
        title = _text(section.select_one(HEADINGS))
        places["" if section.select_one("h1") else section["id"]] = [title, _text(section)]
    for term in article.select("dt[id]"):  # of functions the name, and not their arguments
        title = term["id"] if "sig" in term.get("class", ()) else _text(term)
        places[term["id"]] = [title, _text(term.find_next_sibling("dd"))]
    return places


def _text(node: Tag) -> str:
    """Its text: of a section without its title, what lies within it, and entries."""
    own = [
        part
        for part in node.find_all(string=True)
        if node.name != "section"
        or (
            part.find_parent("section") is node
            and not part.find_parent([*HEADINGS.split(", "), "dl"])
        )
    ]
    lines = (" ".join(line.split()).removesuffix(" ·") for line in "".join(own).split(END))
    return "\n".join(line for line in lines if line)


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


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_js_file("search.js", loading_method="defer")
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
