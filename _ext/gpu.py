"""A section that needs a GPU and was not run is one quiet line, which opens to the section.

In a notebook each cell tagged `gpu` says that it was not run, for who opens it there. Where results
were recorded, the page shows the section with them.
"""

from docutils import nodes
from sphinx.application import Sphinx

from _ext.cells import has_tag, part
from _ext.fold import fold, summary
from _ext.notebooks import NOT_RUN

OUTPUT = "cell_code_output"


def line(title: nodes.title) -> summary:
    """What the page says."""
    return summary(
        "",
        *title.children,
        nodes.Text(": not run here. "),
        nodes.literal("", "make gpu"),
        nodes.Text(" runs it where there is one, and keeps its result."),
    )


def is_silent(cell: nodes.container) -> bool:
    """Whether a cell says nothing but that it was not run."""
    return part(cell, OUTPUT).astext().strip() == NOT_RUN.strip()


def close(app: Sphinx, doctree: nodes.document) -> None:
    """Fold each section whose cells for a GPU all are silent."""
    for section in list(doctree.findall(nodes.section)):
        cells = [node for node in section if has_tag(node, "gpu")]
        if cells and all(map(is_silent, cells)) and isinstance(section.parent, nodes.section):
            for cell in cells:
                cell.remove(part(cell, OUTPUT))
            title, *rest = section.children
            box = fold("", line(title), *rest, classes=["not-run"], ids=section["ids"])
            section.replace_self(box)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx, before the list of sections is made."""
    app.setup_extension("_ext.fold")
    app.connect("doctree-read", close, priority=420)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
