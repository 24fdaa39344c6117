"""Something that opens on demand: the HTML element `details`, and two directives.

    ```{trap} Integers overflow
    What goes wrong, and what to do instead.
    ```

    ```{detail} What adding leaves: the proof
    A proof, a definition, how a measure is taken: what the story does without.
    ```

Code cells with the tag `trap` or `detail` that directly follow move into the fold of that name. A
fold needs no script and works by keyboard. On paper it is open. An `admonition` of the class
`dropdown` is a fold as well. Folded code that shows nothing stands in the next fold of code, or in
the next seal: two that open in a row would ask for two clicks to read what belongs together.
"""

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import SphinxError
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator

from _ext.cells import adopt, has_tag, is_cell, next_to, part
from _ext.tables import TABLE

LABELS = {"trap": "Trap: ", "detail": ""}  # what stands before the title


class fold(nodes.General, nodes.Element):
    """A `details` element; its first child is the summary."""


class summary(nodes.General, nodes.Element):
    """The line that is always shown."""


class Aside(SphinxDirective):
    """Something told aside, under its title."""

    has_content = True
    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Return a fold under its title."""
        self.assert_has_content()
        title, _ = self.parse_inline(self.arguments[0])
        label = [nodes.strong("", text)] if (text := LABELS[self.name]) else []
        box = fold("", summary("", *label, *title), classes=[self.name])
        self.state.nested_parse(self.content, self.content_offset, box)
        return [box]


def gather(app: Sphinx, doctree: nodes.document) -> None:
    """Move the cells with the tag of a directive into the folds of its name before them."""
    for box in list(doctree.findall(fold)):
        for name in LABELS.keys() & box["classes"]:
            adopt(box, name)
    for cell in doctree.findall(is_cell):
        for name in LABELS:
            if has_tag(cell, name) and not isinstance(cell.parent, fold):
                raise SphinxError(f"{app.env.docname}: no {name} stands before a cell tagged so")


def close_dropdowns(app: Sphinx, doctree: nodes.document) -> None:
    """Fold the boxes of the class `dropdown` behind their titles."""
    boxes = [box for box in doctree.findall(nodes.admonition) if "dropdown" in box["classes"]]
    for box in boxes:
        title, *rest = box.children
        box.replace_self(fold("", summary("", *title.children), *rest, classes=["dropdown"]))


def join(app: Sphinx, doctree: nodes.document) -> None:
    """Move folded code that shows nothing into the fold that directly follows.

    That cell has the indices of those that it took in as "joined".
    """
    for cell in list(doctree.findall(is_cell)):
        after = next_to(cell)
        if _is_folded(cell) and not part(cell, "cell_code_output").children and after is not None:
            is_seal = isinstance(after, fold) and "seal" in after["classes"]
            if is_seal or _is_folded(after):
                goal = next(after.findall(is_cell))
                part(goal, "cell_code_source")[:0] = part(cell, "cell_code_source").children
                goal["joined"] = [*cell.get("joined", ()), cell["cell_index"]]
                cell.parent.remove(cell)


def mark(app: Sphinx, doctree: nodes.document) -> None:
    """Give cells classes by what they show: a style that asks for it acts only when it arrives."""
    for cell in doctree.findall(is_cell):
        shown = part(cell, "cell_code_output")
        has = {
            "shows": bool(shown.children),
            "captioned": any(shown.findall(nodes.caption)),
            "tabled": any(TABLE in raw.astext() for raw in shown.findall(nodes.raw)),
        }
        cell["classes"] += [name for name, is_so in has.items() if is_so]


def _is_folded(node: nodes.Node) -> bool:
    return is_cell(node) and node.get("hide_mode") == "input"


def element(name: str) -> dict:
    """The visitors that write a node as an HTML element of this name."""

    def visit(writer: HTML5Translator, node: nodes.Element) -> None:
        writer.body.append(writer.starttag(node, name, ""))

    def depart(writer: HTML5Translator, node: nodes.Element) -> None:
        writer.body.append(f"</{name}>\n")

    return {"html": (visit, depart)}


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the nodes and the directives; cells are gathered before anything wraps them.

    They are joined when seals have been judged, each by its own code.
    """
    app.add_node(fold, **element("details"))
    app.add_node(summary, **element("summary"))
    for name in LABELS:
        app.add_directive(name, Aside)
    app.connect("doctree-read", gather, priority=400)
    app.connect("doctree-read", close_dropdowns, priority=400)
    app.connect("doctree-read", join, priority=460)
    app.connect("doctree-read", mark, priority=480)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
