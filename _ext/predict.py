"""The directive `predict`: a question whose choices answer when they are opened.

    ```{predict}
    Does the output differ?

    - [ ] Yes.

      The place of a word enters the formula nowhere.
    - [x] No.

      The same sum, in another order.
    ```

Each choice becomes an HTML `details` element: it needs no script, works by keyboard, and
forgets what was opened. Exactly one choice is marked as right, and each has an explanation.
"""

import re

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator

VERDICTS = {True: "Right.", False: "No."}


class choice(nodes.General, nodes.Element):
    """A `details` element; its first child is the summary."""


class Predict(SphinxDirective):
    """A question, then a list of choices: `[x]` the right one, `[ ]` the others."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return an admonition whose list of choices can be opened."""
        box = nodes.admonition("", nodes.title("", "Predict"), classes=["seealso", "predict"])
        self.state.nested_parse(self.content, self.content_offset, box)
        items = box[-1]
        if not isinstance(items, nodes.bullet_list) or len(box) < 3:
            raise self.error("predict needs a question and then a list of choices")
        box.remove(items)
        choices = [self.choice(item) for item in items]
        if sum("right" in c["classes"] for c in choices) != 1:
            raise self.error("predict needs exactly one right choice, marked [x]")
        box.extend(choices)
        return [box]

    def choice(self, item: nodes.list_item) -> choice:
        """Turn one item of the list into a summary and its explanation."""
        mark = re.match(r"\[([ x])\] ", item[0][0].astext())
        if not mark or len(item) < 2:
            raise self.error(f"a choice needs [x] or [ ] and an explanation: {item.astext()!r}")
        right = mark[1] == "x"
        item[0][0] = nodes.Text(item[0][0].astext()[mark.end() :])
        item[1].insert(0, [nodes.strong("", VERDICTS[right]), nodes.Text(" ")])
        return choice("", *item.children, classes=["right" if right else "wrong"])


def visit(writer: HTML5Translator, node: choice) -> None:
    """Write the summary, and open what is shown on demand."""
    summary = node.pop(0)
    writer.body.append(writer.starttag(node, "details") + "<summary>")
    for child in summary.children:
        child.walkabout(writer)
    writer.body.append("</summary>")


def depart(writer: HTML5Translator, node: choice) -> None:
    """Close the element."""
    writer.body.append("</details>\n")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive and its node."""
    app.add_node(choice, html=(visit, depart))
    app.add_directive("predict", Predict)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
