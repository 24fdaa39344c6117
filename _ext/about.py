"""A line under each chapter's title: how long it takes, and what it asks. And one at its end."""

from docutils import nodes
from sphinx.application import Sphinx

from _ext.cells import is_cell
from _ext.fold import fold
from _ext.predict import predict

WORDS_A_MINUTE = 180  # of a text that one follows with a finger
WORDS_OF_A_FORMULA = 10  # that stands on a line of its own
WORDS_OF_A_FIGURE = WORDS_A_MINUTE // 2  # besides its caption: half a minute to look, or to play
WORDS_OF_A_QUESTION = 2 * WORDS_A_MINUTE  # besides its text: to think, to draw, to compare
LINE = "about-page"
COLOPHON = "colophon"


def minutes(doctree: nodes.document) -> int:
    """How long a page takes: its text, its questions and their answers, its figures.

    Code, exercises, seals and folds take none.
    Readers said so: by its words alone a chapter takes hardly more than half of their time.
    """

    def words(node: nodes.Node) -> int:
        if isinstance(node, nodes.Text):
            return len(node.astext().split())
        is_folded = isinstance(node, fold) and "choice" not in node["classes"]
        if is_folded or isinstance(node, nodes.raw) or LINE in node["classes"] or is_practice(node):
            return 0
        if isinstance(node, nodes.math):
            return 1
        if isinstance(node, nodes.math_block):
            return WORDS_OF_A_FORMULA
        if is_cell(node):
            captions = list(node.findall(nodes.caption))
            return sum(WORDS_OF_A_FIGURE + words(caption) for caption in captions)
        own = WORDS_OF_A_QUESTION if isinstance(node, predict) else 0
        return own + sum(map(words, node.children))

    return max(1, round(words(doctree) / WORDS_A_MINUTE))


def is_practice(node: nodes.Element) -> bool:
    """Whether a node is the section of the exercises."""
    return isinstance(node, nodes.section) and node[0].astext() == "Exercises"


def add(app: Sphinx, doctree: nodes.document) -> None:
    """Measure a page, and put the lines on one that was executed, but for the cover."""
    app.env.metadata[app.env.docname]["minutes"] = taken = minutes(doctree)  # for its card
    if app.env.docname == app.config.root_doc:
        return
    run = app.env.nb_metadata.get(app.env.docname, {}).get("exec_data") or {}
    if not run.get("runtime"):
        return
    asked = len(list(doctree.findall(predict)))
    questions = f", with {asked} questions to answer on the way" if asked > 1 else ""
    line = nodes.paragraph("", f"{taken} minutes to read{questions}", classes=[LINE])
    source = "../" * app.env.docname.count("/") + f"_sources/{app.env.docname}.ipynb"
    if app.config.html_copy_source and app.env.doc2path(app.env.docname).endswith(".ipynb"):
        link = f'<span class="d-print-none"> · <a href="{source}" download>the notebook</a></span>'
        line += nodes.raw("", link, format="html", site_only=True)
    title = next(doctree.findall(nodes.title))
    title.parent.insert(1, line)
    title.parent.append(nodes.paragraph("", colophon(doctree, run["runtime"]), classes=[COLOPHON]))


def colophon(doctree: nodes.document, runtime: float) -> str:
    """What a page's minutes leave out, and what its cells took."""
    has_gpu_cell = any("tag_gpu" in cell["classes"] for cell in doctree.findall(is_cell))
    gpu = "one section needs a GPU and is skipped without one" if has_gpu_cell else "no GPU"
    return (
        "What is folded, the exercises, and working along with pen and paper come on top of the "
        "minutes. "
        f"This page ran in {max(1, round(runtime))} seconds when it was built: Python with torch; "
        f"{gpu}."
    )


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("doctree-read", add)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
