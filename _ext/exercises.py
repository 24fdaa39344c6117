"""The page of exercises: what each set asks, and links to the student notebooks.

    ```{exercises}
    ```

The lists are read from the solved masters, so they say what the notebooks say. The notebooks
themselves, cut by `_ext.student`, are written into the folder `student` of the site.
"""

from pathlib import Path

import nbformat
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator

from _ext import student
from _ext.colab import BRANCH, COLAB

FOLDER = "student"


class copies(nodes.General, nodes.Element):
    """The links to one student notebook."""


class Exercises(SphinxDirective):
    """One section a set, in the order of the chapters."""

    def run(self) -> list[nodes.Node]:
        """Return the sections."""
        found = []
        for path in student.masters():
            self.env.note_dependency(path)
            master = nbformat.read(path, as_version=4)
            name = next(student.blocks(master))[2].source.partition("\n")[0].removeprefix("# ")
            section = nodes.section("", nodes.title("", name), ids=[nodes.make_id(name)])
            section += copies(name=path.name)
            section += self.parse_text_to_nodes(overview(student.exercises(master)))
            self.state.document.note_implicit_target(section)
            found.append(section)
        return found


def overview(questions: list[student.Exercise]) -> str:
    """What a set asks for, and a list of its questions, in Markdown."""
    minutes = sum(question.minutes for question in questions)
    points = sum(question.points for question in questions)
    total = f"{len(questions)} questions, about {minutes} minutes, {points} points."
    items = [
        f"- **{q.title}** · {q.level}{', in writing' if q.written else ''} · {q.minutes} minutes · "
        f"{q.points} points · teaches {q.teaches}"
        for q in questions
    ]
    return "\n".join([total, "", *items])


def visit(writer: HTML5Translator, node: copies) -> None:
    """Write the links on the site; a printed page has no use for them."""
    if writer.builder.name == "html":
        name, repository = node["name"], writer.builder.config.book_repository
        folder = "../" * writer.builder.current_docname.count("/") + FOLDER
        links = [f'<a href="{folder}/{name}" download>Download the notebook</a>']
        if repository:
            address = f"{COLAB}/{repository}/blob/{BRANCH}/{FOLDER}/{name}"
            links.insert(0, f'<a href="{address}">Open in Colab</a>')
        writer.body.append(f'<p class="copies">{" · ".join(links)}</p>\n')
    raise nodes.SkipNode


def publish(app: Sphinx, exception: Exception | None) -> None:
    """Write the student notebooks into the site."""
    if exception or app.builder.name != "html":
        return
    folder = Path(app.outdir, FOLDER)
    for old in folder.glob("*.ipynb"):
        old.unlink()
    student.write(folder, student.wheel_address())


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.setup_extension("_ext.colab")
    app.add_node(copies, html=(visit, None))
    app.add_directive("exercises", Exercises)
    app.connect("build-finished", publish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
