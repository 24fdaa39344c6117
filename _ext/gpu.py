"""A section that needs a GPU and was not run: the page says so once, and calmly.

In a notebook each cell tagged `gpu` says that it was not run, for who opens it there. A page says
it in one line below the last of them. Where a result was recorded, the page shows that.
"""

from docutils import nodes
from sphinx.application import Sphinx

from _ext.cells import has_tag, part
from _ext.notebooks import NOT_RUN

OUTPUT = "cell_code_output"


def note() -> nodes.paragraph:
    """What the page says."""
    return nodes.paragraph(
        "",
        "",
        nodes.Text("Not run here: this section needs a GPU. "),
        nodes.literal("", "make gpu"),
        nodes.Text(" runs it where there is one, and keeps its result."),
        classes=["not-run"],
    )


def tell(app: Sphinx, doctree: nodes.document) -> None:
    """Put the note in the place of what the cells say."""
    cells = doctree.findall(lambda node: has_tag(node, "gpu"))
    silent = [cell for cell in cells if part(cell, OUTPUT).astext().strip() == NOT_RUN.strip()]
    for cell in silent[:-1]:
        cell.remove(part(cell, OUTPUT))
    if silent:
        part(silent[-1], OUTPUT).children = [note()]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("doctree-read", tell)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
