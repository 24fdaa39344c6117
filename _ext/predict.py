"""The directive `predict`: a question, and a cover over what gives its answer away.

    ```{predict}
    Does the output differ?

    - [ ] Yes.

      The place of a word enters the formula nowhere.
    - [x] No.

      The same sum, in another order.
    ```

Each choice becomes an HTML `details` element, which needs no script and works by keyboard.
Exactly one choice is marked as right, and each has an explanation.

Without choices the question is answered by hand: the code cell that follows, tagged `predict`,
shows something to draw on, such as `posenc.show.guess_curve`. It moves into the box.

What follows the box, up to the next heading or to

    ```{predict-end}
    ```

is covered until there is an answer. The section "What to remember" sums up the answers, and is
covered until all are given. The style sheet covers, and only on screens and where scripts run:
paper and a browser without scripts show everything. The script `predict.js` remembers answers in
the browser and counts them at the chapter's end.
"""

import hashlib
import re

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import SphinxError
from sphinx.util.docutils import SphinxDirective

from _ext.cells import adopt, has_tag
from _ext.fold import fold, summary

VERDICTS = {True: "Right.", False: "No."}
COVER = "The answer comes next. What follows opens when you have answered."
AGAIN = "What follows opens when you have answered."  # under a page's later questions
SUMMARY = "What to remember"
ALL = "It gives the answers away, and opens when you have answered all the questions above."


class predict(nodes.admonition):
    """A question; `by_hand` says that a cell, and not a choice, answers it."""


class predict_end(nodes.General, nodes.Element):
    """Where a cover ends."""


class cover(nodes.General, nodes.Element):
    """What stands in the place of that which is covered."""


class covered(nodes.container):
    """What gives an answer away."""


class Predict(SphinxDirective):
    """A question, then a list of choices: `[x]` the right one, `[ ]` the others."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return an admonition whose list of choices can be opened."""
        box = predict("", nodes.title("", "Predict"), classes=["seealso", "predict"])
        self.state.nested_parse(self.content, self.content_offset, box)
        if len(box) < 2:
            raise self.error("predict needs a question")
        digest = hashlib.sha256("\n".join(self.content).encode()).hexdigest()
        box["ids"] = [f"predict-{digest[:8]}"]  # a changed question is a new one
        items = box[-1]
        box["by_hand"] = not isinstance(items, nodes.bullet_list)
        if box["by_hand"]:
            return [box]
        if len(box) < 3:
            raise self.error("predict needs a question before its choices")
        box.remove(items)
        choices = [self.choice(item) for item in items]
        if sum("right" in c["classes"] for c in choices) != 1:
            raise self.error("predict needs exactly one right choice, marked [x]")
        box.extend(choices)
        return [box]

    def choice(self, item: nodes.list_item) -> fold:
        """Turn one item of the list into a summary and its explanation."""
        mark = re.match(r"\[([ x])\] ", item[0][0].astext())
        if not mark or len(item) < 2:
            raise self.error(f"a choice needs [x] or [ ] and an explanation: {item.astext()!r}")
        right = mark[1] == "x"
        item[0][0] = nodes.Text(item[0][0].astext()[mark.end() :])
        item[1].insert(0, [nodes.strong("", VERDICTS[right]), nodes.Text(" ")])
        line = summary("", *item[0].children)
        classes = ["choice", "right" if right else "wrong"]
        return fold("", line, *item.children[1:], classes=classes)


class PredictEnd(SphinxDirective):
    """The end of a cover."""

    def run(self) -> list[nodes.Node]:
        """Return a mark."""
        return [predict_end()]


def hold(app: Sphinx, doctree: nodes.document) -> None:
    """Move the cells that answer by hand into their boxes."""
    for box in list(doctree.findall(predict)):
        if box["by_hand"] and adopt(box, "predict") != 1:
            raise SphinxError(
                f"{app.env.docname}: predict needs choices, or one cell tagged predict "
                f"right after it: {box[1].astext()!r}"
            )
    for cell in doctree.findall(lambda node: has_tag(node, "predict")):
        if not isinstance(cell.parent, predict):
            raise SphinxError(f"{app.env.docname}: no question stands before a cell tagged predict")


def lay_covers(app: Sphinx, doctree: nodes.document) -> None:
    """Wrap what follows each question, up to the next heading or the end that was marked."""
    boxes = list(doctree.findall(predict))
    if len({box["ids"][0] for box in boxes}) < len(boxes):
        raise SphinxError(f"{app.env.docname}: the same question is asked twice")
    for box in boxes:  # in order, so that a later question is under the cover of an earlier one
        parent = box.parent
        start = end = parent.index(box) + 1
        while end < len(parent) and not isinstance(parent[end], nodes.section | predict_end):
            end += 1
        hidden = parent[start:end]
        if end < len(parent) and isinstance(parent[end], predict_end):
            end += 1
        if hidden:
            told = AGAIN if doctree.next_node(cover) else COVER
            parent[start:end] = [cover(text=told), covered("", *hidden, classes=["covered"])]
        else:
            parent[start:end] = []
    for end in list(doctree.findall(predict_end)):
        raise SphinxError(f"{app.env.docname}: predict-end ends no cover, after {_before(end)!r}")
    if boxes:
        doctree.next_node(nodes.section).append(nodes.container(classes=["predict-score"]))
        for section in doctree.findall(nodes.section):
            title, *hidden = section.children
            if title.astext() == SUMMARY:
                section[1:] = [cover(text=ALL), covered("", *hidden, classes=["covered"])]


def _before(node: nodes.Node) -> str:
    at = node.parent.index(node)
    return node.parent[at - 1].astext()[-60:] if at else ""


def visit_cover(writer, node: cover) -> None:
    """Write the cover, which the style sheet shows where something is covered."""
    writer.body.append(f'<p class="cover">{node["text"]}</p>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives and their nodes; a cover wraps what others have made."""
    app.setup_extension("_ext.fold")
    visit = (lambda w, n: w.visit_admonition(n), lambda w, n: w.depart_admonition(n))
    app.add_node(predict, html=visit)
    app.add_node(cover, html=(visit_cover, None))
    app.add_node(
        covered, html=(lambda w, n: w.visit_container(n), lambda w, n: w.depart_container(n))
    )
    app.add_directive("predict", Predict)
    app.add_directive("predict-end", PredictEnd)
    app.connect("doctree-read", hold, priority=400)
    app.connect("doctree-read", lay_covers, priority=500)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
