"""Matplotlib's figures as drawings in the page: named for those who do not see them.

In a book build a figure shows itself as HTML as well as PNG (`posenc.show.drawing`); the page takes
the HTML, and the copy for Colab the PNG. The text alternative stands in the cell's metadata, where
MyST-NB looks for that of an image.
"""

import html
import shutil
from pathlib import Path

import nbformat
from docutils import nodes
from sphinx.application import Sphinx

from _ext.cells import is_cell, part

DRAWING = '<div class="drawing">'
STYLE = Path(__file__).parent.parent / "posenc" / "show" / "drawing.css"


def name(app: Sphinx, doctree: nodes.document) -> None:
    """Give the drawings of each cell the cell's text alternative."""
    drawn = [
        (cell, raw)
        for cell in doctree.findall(is_cell)
        for raw in part(cell, "cell_code_output").findall(nodes.raw)
        if raw.astext().startswith(DRAWING)
    ]
    if drawn:
        cells = nbformat.read(app.env.doc2path(app.env.docname), nbformat.NO_CONVERT).cells
        for cell, raw in drawn:
            metadata = cells[cell["cell_index"]].metadata
            alt = metadata.get("mystnb", {}).get("image", {}).get("alt")
            if alt:
                start = f'{DRAWING[:-1]} role="img" aria-label="{html.escape(alt)}">'
                text = start + raw.astext().removeprefix(DRAWING)
                raw.parent.replace(raw, nodes.raw("", text, format="html", classes=raw["classes"]))


def add_style(app: Sphinx, exception: Exception | None) -> None:
    """Put the drawings' style sheet beside the book's own."""
    if not exception:
        shutil.copy(STYLE, Path(app.outdir) / "_static" / STYLE.name)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_css_file(STYLE.name)
    app.connect("doctree-read", name)
    app.connect("build-finished", add_style)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
