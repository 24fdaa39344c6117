"""Code cells, as MyST-NB leaves them in Sphinx's tree."""

from docutils import nodes


def is_cell(node: nodes.Node) -> bool:
    """Whether a node is a code cell with its outputs."""
    return isinstance(node, nodes.container) and node.get("nb_element") == "cell_code"


def has_tag(node: nodes.Node, tag: str) -> bool:
    """Whether a node is a code cell with this tag."""
    return is_cell(node) and f"tag_{tag}" in node["classes"]


def part(cell: nodes.container, name: str) -> nodes.Element:
    """The part of a cell called cell_code_source or cell_code_output; empty if it has none."""
    found = (node for node in cell.children if node.get("nb_element") == name)
    return next(found, nodes.container())


def next_to(node: nodes.Element) -> nodes.Node | None:
    """The node that follows within the same section."""
    after = node.parent.index(node) + 1
    return node.parent[after] if after < len(node.parent) else None


def adopt(box: nodes.Element, tag: str) -> int:
    """Move the cells with this tag that directly follow a box into it; returns how many."""
    adopted = 0
    while (following := next_to(box)) is not None and has_tag(following, tag):
        box.parent.remove(following)
        box.append(following)
        adopted += 1
    return adopted
