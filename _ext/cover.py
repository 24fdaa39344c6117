"""What the cover says of the chapters, so that a new chapter is there by itself.

    ```{facts}
    {chapters} chapters, {hours} in all
    ```

is a line in which numbers are filled in: the chapters, the time that reading them takes, the
exercises. And

    ```{chapters}
    ```

is a card for each chapter: its number and title, its question (the box "The question" at its
top), and a thumbnail, `static/thumbs/NN.svg` or else `chapter.svg`.

A chapter opens with its thumbnail beside the question, and ends with the card of the next one, as
the cover does with that of the first.
"""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import nbformat
from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from _ext import student
from _ext.colab import is_chapter

THUMBS = Path(__file__).parent / "static" / "thumbs"
QUARTERS = ("", "¼", "½", "¾")


class facts(nodes.paragraph):
    """A line with numbers to fill in."""


class chapters(nodes.General, nodes.Element):
    """Where the cards go."""


class Facts(SphinxDirective):
    """A line about the book."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the line as it is written."""
        return [facts("", " ".join(self.content), classes=["facts"])]


class Chapters(SphinxDirective):
    """A card a chapter."""

    def run(self) -> list[nodes.Node]:
        """Return the place of the cards."""
        return [chapters()]


def numbered(app: Sphinx) -> list[str]:
    """The chapters, in order."""
    return sorted(name for name in app.env.found_docs if is_chapter(app, name))


def hours(minutes: int) -> str:
    """A time in quarters of an hour: 165 -> "2¾ hours"."""
    whole, quarter = divmod(round(minutes / 15), 4)
    return f"{whole or ''}{QUARTERS[quarter]} hour{'' if whole * 4 + quarter <= 4 else 's'}"


def minutes(app: Sphinx, docname: str) -> int:
    """How long a chapter takes to read, as it says itself."""
    return app.env.metadata[docname]["minutes"]


def questions() -> int:
    """How many exercises there are."""
    masters = (nbformat.read(path, as_version=4) for path in student.masters())
    return sum(len(student.exercises(master)) for master in masters)


def card(app: Sphinx, docname: str, name: str) -> nodes.list_item:
    """A link to a chapter, for a list on the page `docname`."""
    number = ".".join(map(str, app.env.toc_secnumbers[name][""]))
    title = [nodes.inline("", f"{number}. ", classes=["card-number"]), *plain(app, name, "title")]
    parts = [
        picture(name),
        nodes.inline("", "", *title, classes=["card-title"]),
        nodes.inline("", "", *plain(app, name, "question"), classes=["card-question"]),
        nodes.inline("", f"{minutes(app, name)} minutes", classes=["card-time"]),
    ]
    address = app.builder.get_relative_uri(docname, name)
    link = nodes.reference("", "", *parts, refuri=address, internal=True, classes=["chapter-card"])
    return nodes.list_item("", nodes.paragraph("", "", link))


def picture(name: str, method: str = "") -> nodes.raw:
    """A chapter's thumbnail, or that of a method in it that has one of its own."""
    thumbs = [THUMBS / f"{which}.svg" for which in (method.lower(), Path(name).name[:2], "chapter")]
    file = next(thumb for thumb in thumbs if thumb.exists())
    return nodes.raw("", file.read_text("utf-8"), format="html", site_only=True)


def plain(app: Sphinx, name: str, what: str) -> Iterator[nodes.Node]:
    """The parts of a chapter's title or question, without links."""
    source = app.env.titles[name] if what == "title" else question(app.env.get_doctree(name))
    for part in source.children if source else ():
        if isinstance(part, addnodes.pending_xref) and part["reftype"] == "doc":
            there = app.env.titles.get(f"{Path(name).parent}/{part['reftarget']}")
            yield nodes.Text(there.astext() if there else part.astext())
        elif isinstance(part, addnodes.pending_xref):
            yield nodes.Text(part.astext())
        else:
            yield part.deepcopy()


def question(doctree: nodes.document) -> nodes.paragraph | None:
    """The first paragraph of the box "The question"."""
    for box in doctree.findall(nodes.admonition):
        if box[0].astext() == "The question":
            return next(box.findall(nodes.paragraph), None)
    return None


def frame(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Open a chapter with its picture, and end it, as the cover, with the card of the next one."""
    names = numbered(app)
    if docname in names and (asked := question(doctree)):
        asked.parent.insert(1, picture(docname))
    following = dict(pairwise([app.config.root_doc, *names])).get(docname)
    if following:
        ending = nodes.bullet_list("", card(app, docname, following), site_only=True)
        ending["classes"] = ["chapter-cards", "next-chapter"]
        doctree.next_node(nodes.section).append(ending)


def is_map(node: nodes.Node) -> bool:
    """Whether a node is the map of the methods, on which each has its picture."""
    return isinstance(node, nodes.container) and "methods-map" in node["classes"]


def fill(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Fill in the numbers and deal out the cards; the section with the line is the book's front."""
    for line in doctree.findall(facts):
        line.parent["classes"].append("front")
        names = numbered(app)
        total = hours(sum(minutes(app, name) for name in names))
        text = line.astext().format(chapters=len(names), hours=total, exercises=questions())
        line.children = []  # one piece a fact: the style sheet puts dots between those of a line
        for fact in text.split(" · "):
            line += [nodes.Text(" ")] * bool(line.children) + [nodes.inline("", fact)]
    for box in doctree.findall(is_map):
        for link in box.findall(nodes.reference):
            link.insert(0, picture(link["refuri"], link.astext()))
    for place in list(doctree.findall(chapters)):
        cards = [card(app, docname, name) for name in numbered(app)]
        place.replace_self(nodes.bullet_list("", *cards, classes=["chapter-cards"]))


def read_again(app: Sphinx, env, added: set, changed: set, removed: set) -> set[str]:
    """Make anew what shows a changed chapter: the cover, and the chapter before it."""
    touched = added | changed | removed
    before = {name for name, after in pairwise(numbered(app)) if after in touched}
    return {app.config.root_doc} | before if touched else set()


def widen(app: Sphinx, pagename: str, templatename: str, context: dict, doctree) -> None:
    """Give the cover the whole width: nothing stands beside it."""
    if pagename == app.config.root_doc:
        app.add_css_file("cover.css", priority=900)
        context["meta"] = {**(context.get("meta") or {}), "html_theme.sidebar_secondary.remove": ""}


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.setup_extension("_ext.about")
    visit = (lambda w, n: w.visit_paragraph(n), lambda w, n: w.depart_paragraph(n))
    app.add_node(facts, html=visit)
    app.add_node(chapters)
    app.add_directive("facts", Facts)
    app.add_directive("chapters", Chapters)
    app.connect("env-get-outdated", read_again)
    app.connect("doctree-resolved", fill)
    app.connect("doctree-resolved", frame)
    app.connect("html-page-context", widen, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
