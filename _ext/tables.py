"""Tables of results: each has a number, as figures have, and one whose rows do not fit a margin.

"Table 7.3" stands before the caption of the third table of chapter 7, and a link behind it. A
table whose rows do not fit is a `popout`: it reaches into the margin, and the theme's list of
contents makes way, as for wide figures.
"""

from collections import Counter

from bs4 import BeautifulSoup
from docutils import nodes
from sphinx.application import Sphinx

from _ext.cells import is_cell

WIDE = 100  # characters of a row, at the least: the widest that fits has 89
TABLE = '<table class="results'


def is_wide(table: str) -> bool:
    """Whether the rows of a table of results do not fit, broken wherever they may be."""
    rows = [
        row.select("th, td")
        for row in BeautifulSoup(table, "html.parser").select(":not(tfoot) > tr")
    ]
    whole = [  # numbers are not broken
        max(
            len(part)
            for entry in column
            for part in ([entry.text] if "right" in entry["style"] else entry.text.split() or [""])
        )
        for column in zip(*rows, strict=True)
    ]
    return sum(whole) + 2 * len(whole) > WIDE


def _set(node: nodes.raw, text: str) -> None:
    node.replace_self(nodes.raw("", text, **node.attributes))


def _found(tree: nodes.Node) -> list[nodes.raw]:
    """The outputs of cells that are tables of results."""
    cells = list(tree.findall(is_cell))
    return [n for c in cells for n in c.findall(nodes.raw) if n.astext().startswith(TABLE)]


def widen(app: Sphinx, doctree: nodes.document) -> None:
    """Give tables that do not fit their class."""
    for node in _found(doctree):
        text = node.astext()
        if text.startswith(f'{TABLE}"') and is_wide(text):
            _set(node, text.replace(TABLE, f"{TABLE} popout", 1))


def _page(node: nodes.Node, docname: str) -> str:
    """The page that a node is of, where one document holds the whole book."""
    while node is not None:
        if isinstance(node, nodes.section) and "docname" in node:
            return node["docname"]
        node = node.parent
    return docname


def number(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Write the number of each table in a numbered chapter before its caption."""
    seen = Counter()
    for node in _found(doctree):
        page = _page(node, docname)
        if chapter := app.env.toc_secnumbers.get(page, {}).get(""):
            seen[page] += 1
            name = f"{chapter[0]}.{seen[page]}"
            anchor = f"table-{name.replace('.', '-')}"
            link = f'<a class="headerlink" href="#{anchor}" title="Link to this table">#</a>'
            told = f'<caption><span class="caption-number">Table {name} </span>'
            text = node.astext().replace("<table ", f'<table id="{anchor}" ', 1)
            text = text.replace("<caption>", told, 1).replace("</caption>", f" {link}</caption>", 1)
            _set(node, text)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx: before anything wraps the cells, and when chapters have numbers."""
    app.connect("doctree-read", widen, priority=390)
    app.connect("doctree-resolved", number)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
