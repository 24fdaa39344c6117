"""How long the lines of a cell are: the style sheet sets them accordingly.

Code with lines of more than 71 characters is `long`: set a little smaller, it needs no scrolling.
What was printed in columns is `aligned`: on a phone its lines do not break, and may be scrolled.
"""

import re

from docutils import nodes
from sphinx.application import Sphinx

from _ext.cells import is_cell, part

LONG = 71
GAP = re.compile(r"\S {2,}\S")  # between two columns


def is_long(code: str) -> bool:
    """Whether some line of code does not fit at full size."""
    return any(len(line) > LONG for line in code.splitlines())


def is_aligned(text: str) -> bool:
    """Whether a text has columns: a gap in two of its lines or more."""
    return sum(bool(GAP.search(line)) for line in text.splitlines()) > 1


def mark(app: Sphinx, doctree: nodes.document) -> None:
    """Give the cells' code and outputs their classes."""
    for cell in doctree.findall(is_cell):
        source = part(cell, "cell_code_source")
        if is_long(source.astext()):
            source["classes"].append("long")
        for output in part(cell, "cell_code_output").findall(nodes.literal_block):
            if is_aligned(output.astext()):
                output["classes"].append("aligned")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx, behind `join` of fold.py: a cell may have taken in another's code."""
    app.connect("doctree-read", mark, priority=470)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
