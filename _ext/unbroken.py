"""What a line must not break: a formula and the comma after it, a name such as GPT-J, 1e-8.

A browser may end a line after any formula or button, and then the next begins with a full stop. And
no caption ends with one short word on a line of its own.
"""

import re

from docutils import nodes
from sphinx.application import Sphinx

from _ext.sets import sets

CLASS = "unbroken"
OPENS, CLOSES = re.compile(r"[(\[“]+$"), re.compile(r"[.,;:!?)\]”…]+")
NAME = re.compile(r"\b(?:[A-Z]\w*-\w{1,2}|[\d.]+e-\d+)\b")  # GPT-J, 1e-8: too short a tail
END = 12  # letters of a caption's last line, at least
VERBATIM = nodes.literal | nodes.literal_block | nodes.math | nodes.math_block | nodes.raw


def hold_marks(doctree: nodes.document) -> None:
    """Put formulas, and words that set a figure, together with the bracket and the mark beside."""
    for each in list(doctree.findall(lambda node: isinstance(node, nodes.math | sets))):
        line, at = each.parent, each.parent.index(each)
        held = [each]
        if at + 1 < len(line) and (found := cut(line, at + 1, CLOSES.match)):
            held.append(found)
        if at and (found := cut(line, at - 1, OPENS.search)):
            held.insert(0, found)
        if len(held) > 1:
            line.replace(each, nodes.inline("", "", *held, classes=[CLASS]))


def cut(line: nodes.Element, at: int, find) -> nodes.Text | None:
    """Take what is found at the edge of a text out of it; None if it is no text, or not there."""
    text = line[at]
    if not isinstance(text, nodes.Text) or not (found := find(text)):
        return None
    line[at] = nodes.Text(text[: found.start()] + text[found.end() :])
    return nodes.Text(found[0])


def hold_names(doctree: nodes.document) -> None:
    """Put the parts of names together that a hyphen joins to a short one."""
    for text in list(doctree.findall(lambda n: isinstance(n, nodes.Text) and NAME.search(n))):
        if isinstance(text.parent, VERBATIM):
            continue
        parts, end = [], 0
        for name in NAME.finditer(text):
            parts.append(nodes.Text(text[end : name.start()]))
            parts.append(nodes.inline("", name[0], classes=[CLASS]))
            end = name.end()
        text.parent.replace(text, [*parts, nodes.Text(text[end:])])


def hold_ends(doctree: nodes.document) -> None:
    """Put the last words of each caption together."""
    for caption in doctree.findall(nodes.caption):
        *_, text = [None, *caption.findall(nodes.Text)]
        if text and not isinstance(text.parent, VERBATIM):
            cut = text.rfind(" ", 0, -END) + 1
            held = text[cut:].replace(" ", "\N{NO-BREAK SPACE}")
            text.parent.replace(text, nodes.Text(text[:cut] + held))


def hold(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Do all, when all references have their texts."""
    hold_marks(doctree)
    hold_names(doctree)
    hold_ends(doctree)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("doctree-resolved", hold, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
