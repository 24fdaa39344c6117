"""Show a term's definition where it is used: on hover and on focus, without a request.

Every `{term}` links to the glossary. Here the first paragraph of its definition is put beside
the link, hidden until the link is pointed at or focused; the style sheet shows it.
"""

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

GLOSSARY = "chapters/glossary"


class described(nodes.reference):
    """A link that names the element which describes it."""


class tooltip(nodes.inline):
    """The description of a link."""


def definitions(app: Sphinx) -> dict[str, list[nodes.Node]]:
    """The first paragraph below each term of the glossary, by the term's anchor."""
    if GLOSSARY not in app.env.found_docs:
        return {}
    found = {}
    for item in app.env.get_doctree(GLOSSARY).findall(nodes.definition_list_item):
        paragraph = next(item.findall(nodes.paragraph))
        for term in item.findall(nodes.term):
            found[term["ids"][0]] = [_plain(child) for child in paragraph.children]
    return found


def _plain(node: nodes.Node) -> nodes.Node:
    """A definition holds no links, which would not be reached in a tooltip."""
    return nodes.Text(node.astext()) if isinstance(node, addnodes.pending_xref) else node


def describe(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Put the definition before each link to a term."""
    if docname == GLOSSARY:
        return
    texts = definitions(app)
    for number, link in enumerate(list(doctree.findall(_is_term))):
        name = f"definition-{number}"
        text = [child.deepcopy() for child in texts[link["refuri"].rpartition("#")[2]]]
        term = described("", "", *link.children, refuri=link["refuri"], described_by=name)
        # After the term, coming and going, it would break the line anew: "base" apart from ".".
        both = [tooltip("", "", *text, ids=[name]), term]
        link.replace_self(nodes.inline("", "", *both, classes=["has-definition"]))


def _is_term(node: nodes.Node) -> bool:
    return (
        isinstance(node, nodes.reference)
        and isinstance(node[0], nodes.inline)
        and "std-term" in node[0]["classes"]
    )


def read_again(app: Sphinx, env, added: set, changed: set, removed: set) -> set[str]:
    """Make all pages anew when the glossary has changed, since they quote it."""
    return env.found_docs - {GLOSSARY} if GLOSSARY in added | changed else set()


def visit_described(writer: HTML5Translator, node: described) -> None:
    """Open the link."""
    attributes = {"href": node["refuri"], "aria-describedby": node["described_by"]}
    writer.body.append(writer.starttag(node, "a", "", CLASS="reference internal", **attributes))


def depart_described(writer: HTML5Translator, node: described) -> None:
    """Close the link."""
    writer.body.append("</a>")


def visit_tooltip(writer: HTML5Translator, node: tooltip) -> None:
    """Open the description."""
    writer.body.append(writer.starttag(node, "span", "", role="tooltip"))


def depart_tooltip(writer: HTML5Translator, node: tooltip) -> None:
    """Close the description."""
    writer.body.append("</span>")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_node(described, html=(visit_described, depart_described))
    app.add_node(tooltip, html=(visit_tooltip, depart_tooltip))
    app.connect("env-get-outdated", read_again)
    app.connect("doctree-resolved", describe)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
