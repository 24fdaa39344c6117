"""Code cells, as MyST-NB leaves them in Sphinx's tree."""

from docutils import nodes


def is_cell(node: nodes.Node) -> bool:
    """Whether a node is a code cell with its outputs."""
    return isinstance(node, nodes.container) and node.get("nb_element") == "cell_code"
