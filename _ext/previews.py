"""Show where a link leads: the formula, the figure's caption, the paper, as a term its definition.

What a link to a numbered formula, to a figure or to a paper names is put beside it, hidden until
the link is pointed at or focused. To a figure `book.js` adds the picture.
"""

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

from _ext.formulas import lines, mathml
from _ext.glossary import described, tooltip
from _ext.sets import sets

WITHIN = nodes.table | nodes.title  # what cuts at its edge, or is quoted elsewhere
LIVE = nodes.reference | addnodes.pending_xref | sets


def preview(app: Sphinx, here: nodes.document, link: nodes.reference) -> list[nodes.Node]:
    """What is shown of the place that a link leads to; nothing of most places."""
    if "bibliography" in link.get("refuri", "") and "reftitle" in link:
        return [nodes.Text(link["reftitle"])]
    path, _, anchor = link.get("refuri", f"#{link.get('refid', '')}").rpartition("#")
    formula = anchor.startswith("equation-")
    if not formula and "std-numref" not in getattr(link[0], "attributes", {}).get("classes", ()):
        return []
    find = equation if formula else caption
    if not path:
        found, number = find(here, anchor), f"{link.astext()} "
        if found and not formula:
            found[0].insert(0, nodes.inline("", number, classes=["number"]))
        return [nodes.inline("", number, classes=["source"]), *found] if formula else found
    uri = app.builder.get_target_uri
    name = min((name for name in app.env.found_docs if uri(name).endswith(path)), key=len)
    title = f"{link.astext()}, {app.env.titles[name].astext()}. "
    found = find(app.env.get_doctree(name), anchor)
    return [nodes.inline("", title, classes=["source"]), *found] if found else []


def equation(there: nodes.document, anchor: str) -> list[nodes.Node]:
    """The numbered formula with this anchor."""
    for block in there.findall(nodes.math_block):
        if nodes.make_id(f"equation-{block.get('label')}") == anchor:
            latex = block.astext().strip()
            shown = mathml(latex if block.get("nowrap") else lines(latex), display=True)
            return [nodes.raw("", shown, format="html")]
    return []


def caption(there: nodes.document, anchor: str) -> list[nodes.Node]:
    """The caption of the figure with this anchor, without links."""
    for figure in there.findall(nodes.figure):
        if anchor in figure["ids"]:
            said = next(figure.findall(nodes.caption)).deepcopy()
            for term in list(said.findall(is_described)):
                term.parent.replace(term, nodes.Text(term[-1].astext()))
            for part in list(said.findall(lambda node: isinstance(node, LIVE))):
                part.parent.replace(part, nodes.Text(part.astext()))
            return [nodes.inline("", "", *said.children)]
    return []


def describe(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Put what is shown before each such link. The single page is for paper, which shows none."""
    if app.builder.name != "html":
        return
    for number, link in enumerate(list(doctree.findall(nodes.reference))):
        if isinstance(link, described) or within(link, WITHIN):
            continue
        if shown := preview(app, doctree, link):
            name = f"preview-{number}"
            uri = link.get("refuri") or f"#{link['refid']}"
            term = described("", "", *link.children, refuri=uri, described_by=name)
            both = [tooltip("", "", *shown, ids=[name]), term]
            link.replace_self(nodes.inline("", "", *both, classes=["has-definition", "elsewhere"]))


def is_described(node: nodes.Node) -> bool:
    """Whether a node is a link with what is shown of its goal."""
    return isinstance(node, nodes.inline) and "has-definition" in node["classes"]


def within(node: nodes.Node, kinds: type) -> bool:
    """Whether a node lies in one of these."""
    while node := node.parent:
        if isinstance(node, kinds):
            return True
    return False


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.setup_extension("_ext.glossary")
    app.connect("doctree-resolved", describe)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
