"""A line under each chapter's title: how long it takes to read and to run, and what it needs."""

from docutils import nodes
from sphinx.application import Sphinx

from _ext.cells import is_cell


def add(app: Sphinx, doctree: nodes.document) -> None:
    """Put the line below the title of a page that was executed, but for the cover."""
    if app.env.docname == app.config.root_doc:
        return
    run = app.env.nb_metadata.get(app.env.docname, {}).get("exec_data") or {}
    if not run.get("runtime"):
        return
    minutes = doctree.substitution_defs["wordcount-minutes"].astext()  # MyST's, of the prose
    seconds = max(1, round(run["runtime"]))
    has_gpu_cell = any("tag_gpu" in cell["classes"] for cell in doctree.findall(is_cell))
    gpu = "one section needs a GPU and is skipped without one" if has_gpu_cell else "no GPU"
    text = (
        f"{minutes} minutes to read, more with pen and paper · {seconds} seconds to run where "
        f"this page was built · Python with torch; {gpu}"
    )
    title = next(doctree.findall(nodes.title))
    title.parent.insert(1, nodes.paragraph("", text, classes=["about-page"]))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("doctree-read", add)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
