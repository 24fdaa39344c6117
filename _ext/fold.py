"""Something that opens on demand: the HTML element `details`, and the directive `trap`.

    ```{trap} Integers overflow
    What goes wrong, and what to do instead.
    ```

Code cells with the tag `trap` that directly follow move into the fold. A fold needs no script and
works by keyboard. On paper it is open. An `admonition` of the class `dropdown` is a fold as
well.
"""

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import SphinxError
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator

from _ext.cells import adopt, has_tag

LABEL = "Trap"


class fold(nodes.General, nodes.Element):
    """A `details` element; its first child is the summary."""


class summary(nodes.General, nodes.Element):
    """The line that is always shown."""


class Trap(SphinxDirective):
    """An error that waits for the reader, told aside."""

    has_content = True
    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Return a fold under its title."""
        self.assert_has_content()
        title, _ = self.parse_inline(self.arguments[0])
        label = nodes.strong("", f"{LABEL}: ")
        box = fold("", summary("", label, *title), classes=["trap"])
        self.state.nested_parse(self.content, self.content_offset, box)
        return [box]


def gather(app: Sphinx, doctree: nodes.document) -> None:
    """Move the cells tagged `trap` into the traps before them."""
    for trap in list(doctree.findall(lambda n: isinstance(n, fold) and "trap" in n["classes"])):
        adopt(trap, "trap")
    for cell in doctree.findall(lambda n: has_tag(n, "trap")):
        if not isinstance(cell.parent, fold):
            raise SphinxError(f"{app.env.docname}: no trap stands before a cell tagged trap")


def close_dropdowns(app: Sphinx, doctree: nodes.document) -> None:
    """Fold the boxes of the class `dropdown` behind their titles."""
    boxes = [box for box in doctree.findall(nodes.admonition) if "dropdown" in box["classes"]]
    for box in boxes:
        title, *rest = box.children
        box.replace_self(fold("", summary("", *title.children), *rest, classes=["dropdown"]))


def element(name: str) -> dict:
    """The visitors that write a node as an HTML element of this name."""

    def visit(writer: HTML5Translator, node: nodes.Element) -> None:
        writer.body.append(writer.starttag(node, name, ""))

    def depart(writer: HTML5Translator, node: nodes.Element) -> None:
        writer.body.append(f"</{name}>\n")

    return {"html": (visit, depart)}


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the nodes and the directive; cells are gathered before anything wraps them."""
    app.add_node(fold, **element("details"))
    app.add_node(summary, **element("summary"))
    app.add_directive("trap", Trap)
    app.connect("doctree-read", gather, priority=400)
    app.connect("doctree-read", close_dropdowns, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
