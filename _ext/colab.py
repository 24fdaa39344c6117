"""Make of each chapter a copy that runs in Colab, and a button that opens it there.

Each build leaves drafts of the copies in `_build/colab`: the executed notebook with its outputs,
its text as the Markdown that Colab shows. Where the repository's address is known, publishing
makes of them the notebooks in `colab/` of the site, beside the wheel of `posenc` in `wheels/`.
The first code cell of a copy installs that very wheel, so a copy stays with its page.

A notebook in Colab may not change what Colab has installed: pip leaves alone whatever satisfies
the needs of `posenc`, and adds the rest.
"""

import ast
import hashlib
import shutil
from pathlib import Path

import nbformat
from docutils import nodes
from jupyter_cache import get_cache
from myst_nb.core.utils import coalesce_streams
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from sphinx.application import Sphinx
from sphinx.errors import SphinxError

from _ext.colab_markdown import Markdown
from _ext.seal import MARK
from _ext.wheel import build_wheel

COLAB = "https://colab.research.google.com/github"
BRANCH = "gh-pages"
DRAFTS = "colab"
SITE = "https://site.invalid/"  # stands in a draft for the address that publishing puts there
KNOWN_TAGS = {
    "detail",
    "gpu",
    "hide-cell",
    "hide-input",
    "nbval-ignore-output",
    "predict",
    "seal",
    "skip-execution",
    "trap",
}
GPU_LINE = "%%gpu"

INTRODUCTION = """\
This is a copy of [a chapter of *{book}*]({page}), to run and to change. Run the next cell first. \
It installs `posenc`, the package of the book, as it was when that page was made, and changes \
nothing else that Colab has installed.{gpu}"""

INSTALL = """\
from importlib.metadata import distributions

WHEEL = "{wheel}"
SHA256 = "{sha256}"


def is_installed():
    origins = [d.read_text("direct_url.json") for d in distributions(name="posenc")]
    return any(SHA256 in origin for origin in origins if origin)


if not is_installed():
    %pip uninstall --quiet --quiet --yes posenc
    %pip install --quiet "posenc @ {{WHEEL}}#sha256={{SHA256}}"
if not is_installed():
    raise RuntimeError(
        "posenc was not installed, so the cells below cannot run. If pip says that the hashes "
        "differ, the book has a newer page: open this chapter in Colab from there once more."
    )"""

GPU_INTRODUCTION = """ Cells that begin with `%%gpu` need a GPU with bfloat16 (in Colab an L4, \
A100 or later: *Runtime*, *Change runtime type*). Elsewhere they say so and are left out."""

GPU = """\


from IPython.core.magic import register_cell_magic


@register_cell_magic
def gpu(line, cell):
    import torch

    if torch.cuda.is_available() and torch.cuda.get_device_capability() >= (8, 0):
        get_ipython().run_cell(cell).raise_error()
    else:
        print("Not run: this cell needs a GPU with bfloat16, an L4, A100 or later.")"""


def is_chapter(app: Sphinx, docname: str) -> bool:
    """Whether a page is made from a notebook and has a number."""
    numbers = app.env.toc_secnumbers.get(docname, {})
    return any(numbers.values()) and app.env.doc2path(docname).endswith(".ipynb")


def executed(app: Sphinx, docname: str) -> NotebookNode:
    """Return the chapter as this build has executed it, now or earlier."""
    notebook = nbformat.read(app.env.doc2path(docname), as_version=4)
    try:
        return get_cache(app.config.nb_execution_cache_path).merge_match_into_notebook(notebook)[1]
    except KeyError:
        raise SphinxError(f"{docname} has changed since it was executed; build again") from None


def draft(app: Sphinx, docname: str) -> NotebookNode:
    """Translate a chapter; its links lead to a site whose address is still open."""
    notebook = executed(app, docname)
    doctree = app.env.get_and_resolve_doctree(docname, app.builder)
    markdown = Markdown(app.builder, docname, SITE + app.builder.get_target_uri(docname))
    cells, text, seen = [], [], []

    def flush() -> None:
        if text:
            cells.append(new_markdown_cell("\n\n".join(text), id=f"text-{len(cells)}"))
            text.clear()

    for part in markdown.parts(doctree):
        if isinstance(part, str):
            text.append(part)
            continue
        flush()
        for index in part.get("joined", ()):  # see `_ext/fold.py`
            seen.append(index)
            cells.append(code_cell(notebook.cells[index], None, docname))
        seen.append(part["cell_index"])
        caption = markdown.caption(part)
        cells.append(code_cell(notebook.cells[seen[-1]], caption, docname))
        if caption:
            text.append(caption + in_words(cells[-1]))
            flush()
    flush()
    if seen != [i for i, cell in enumerate(notebook.cells) if cell.cell_type == "code"]:
        raise SphinxError(f"{docname}: the page does not show all code cells in order")
    metadata = {
        "colab": {"name": f"{Path(docname).name}.ipynb", "toc_visible": True},
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
        "book": {"title": app.config.html_title, "page": app.builder.get_target_uri(docname)},
    }
    return new_notebook(cells=cells, metadata=metadata)


def code_cell(cell: NotebookNode, caption: str | None, docname: str) -> NotebookNode:
    """Copy a code cell with its outputs; what its tags ask for becomes a line before its code."""
    tags = set(cell.metadata.get("tags", ()))
    if tags - KNOWN_TAGS:
        raise SphinxError(f"{docname}: Colab knows no tag {', '.join(tags - KNOWN_TAGS)}")
    source, metadata = cell.source, {}
    if tags & {"hide-cell", "hide-input", "seal"}:  # Colab folds forms, and a form has a title
        source, metadata = f"# @title {title(cell, caption)}\n{source}", {"cellView": "form"}
    if "gpu" in tags:  # a cell's magic is its first line
        source = f"{GPU_LINE}\n{source}"
    outputs = coalesce_streams(cell.outputs)  # as the site does: where they broke was chance
    image = cell.metadata.get("mystnb", {}).get("image", {})
    for output in outputs:
        if "image/png" in output.get("data", {}):
            output.data.pop("text/html", None)  # the page's drawing
            if "alt" in image:
                output.metadata = {"image/png": {"alt": image["alt"]}}
    count = cell.execution_count
    return new_code_cell(
        source, id=cell.id, metadata=metadata, execution_count=count, outputs=outputs
    )


def title(cell: NotebookNode, caption: str | None) -> str:
    """What stands in the place of folded code."""
    if "seal" in cell.metadata.tags:
        return f"{MARK} {cell.outputs[0].text.strip()}"
    if "predict" in cell.metadata.tags:
        return "Answer here"
    if all(isinstance(node, ast.Import | ast.ImportFrom) for node in ast.parse(cell.source).body):
        return "Imports"
    figure = caption.partition(".*")[0].strip("*") if caption else "This cell"
    return f"{figure}: its code"


def in_words(cell: NotebookNode) -> str:
    """What a figure shows, for those who do not see it."""
    said = [o.metadata["image/png"]["alt"] for o in cell.outputs if o.get("metadata")]
    return "".join(f"\n\n<details><summary>In words</summary>\n\n{t}\n\n</details>" for t in said)


def setup_cells(book: dict[str, str], site: str, wheel: Path, *, gpu: bool) -> list[NotebookNode]:
    """The two cells before the chapter: what will be installed, and the installation."""
    introduction = INTRODUCTION.format(
        book=book["title"], page=site + book["page"], gpu=GPU_INTRODUCTION if gpu else ""
    )
    sha256 = hashlib.sha256(wheel.read_bytes()).hexdigest()
    install = INSTALL.format(wheel=f"{site}wheels/{wheel.name}", sha256=sha256)
    return [
        new_markdown_cell(introduction, id="introduction"),
        new_code_cell(install + GPU if gpu else install, id="install"),
    ]


def publish(drafts: Path, site: str, folder: Path) -> list[Path]:
    """Put the wheel and the finished copies into the folder that is the root of the site."""
    wheel = build_wheel(folder / "wheels")
    (folder / "colab").mkdir(parents=True, exist_ok=True)
    published = []
    for path in sorted(drafts.glob("*.ipynb")):
        text = path.read_text(encoding="utf-8")
        notebook = nbformat.reads(text.replace(SITE, site), as_version=4)
        gpu = any(cell.source.startswith(GPU_LINE) for cell in notebook.cells)
        notebook.cells[:0] = setup_cells(notebook.metadata.pop("book"), site, wheel, gpu=gpu)
        nbformat.validate(notebook)
        published.append(folder / "colab" / path.name)
        nbformat.write(notebook, published[-1])
    return published


def finish(app: Sphinx, exception: Exception | None) -> None:
    """Write the drafts, and publish them where there is a repository."""
    if exception or app.builder.name != "html":
        return
    drafts = Path(app.outdir).parent / DRAFTS
    shutil.rmtree(drafts, ignore_errors=True)
    drafts.mkdir()
    for docname in sorted(app.env.found_docs):
        if is_chapter(app, docname):
            nbformat.write(draft(app, docname), drafts / f"{Path(docname).name}.ipynb")
    for name in ("colab", "wheels"):
        shutil.rmtree(Path(app.outdir, name), ignore_errors=True)
    if app.config.book_repository:
        publish(drafts, app.config.book_site, Path(app.outdir))


def add_button(
    app: Sphinx, docname: str, template: str, context: dict, doctree: nodes.document | None
) -> None:
    """Put a link among the buttons above a chapter."""
    repository = app.config.book_repository
    if not repository or not is_chapter(app, docname):
        return
    context["header_buttons"].insert(
        0,
        {
            "type": "link",
            "url": f"{COLAB}/{repository}/blob/{BRANCH}/colab/{Path(docname).name}.ipynb",
            "text": "Open this chapter in Colab",
            "tooltip": "Open this chapter in Colab",
            "icon": "fas fa-rocket",
            "label": "colab-button",
        },
    )


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx, after the theme has made its list of buttons."""
    app.setup_extension("_ext.repository")
    app.connect("html-page-context", add_button, priority=502)
    app.connect("build-finished", finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
