"""Seals: a code cell that only checks a claim is one line on the page, which opens to the cell.

A cell with the tag `seal` asserts at least once, and its last statement prints one line: the
claim, with the number that was measured.

    apart = (score(5, 2) - score(105, 102)).abs()
    assert apart < 1e-12
    print("the score depends on n − m alone (differences below 1e-12)")

The page shows "✓ the score depends on …". That line is what the cell itself printed when this
page was built, so it stands there only if the assertions held; below the code it is not said again.
A cell that asserts nothing, prints something else, or prints before it has asserted is an error.

Three seals or more that follow one another are one line, "✓ 3 claims checked", which opens to them.
"""

import ast
import re
from itertools import groupby

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import SphinxError

from _ext.cells import has_tag, part
from _ext.fold import fold, summary

TAG = "seal"
MARK = "✓"
MANY = 3  # in a row they are one line
# A letter by itself, or with an index or a second one: no article, no pronoun, no "(b)" of a list.
LETTER = re.compile(
    r"(?<![\w'.])(?:(?<!\()|(?![a-z]\)))"
    r"((?:PX|mj|ηλ|A(?= P)|[B-HJ-Zb-zηλπ])(?:ᵀ|_[A-Z])?)(?![\w'])"
)


def problems(source: str, printed: list[str]) -> list[str]:
    """What is wrong with a seal: its code, and the texts of its outputs, one each."""
    found = []
    statements = ast.parse(source).body
    if not any(_asserts(node) for statement in statements for node in ast.walk(statement)):
        found.append("a seal must assert something")
    if not statements or not _prints(statements[-1]):
        found.append("a seal must print its claim last")
    if len(printed) != 1 or len(printed[0].strip().splitlines()) != 1:
        found.append(f"a seal must print one line and nothing else, got {printed}")
    return found


def _asserts(node: ast.AST) -> bool:
    """`assert` of something that can be false, or a call such as `assert_close(...)`."""
    if isinstance(node, ast.Assert):
        return not isinstance(node.test, ast.Constant | ast.Tuple)
    name = getattr(node, "func", None)
    return getattr(name, "attr", getattr(name, "id", "")).startswith("assert")


def _prints(statement: ast.stmt) -> bool:
    call = getattr(statement, "value", None)
    return isinstance(call, ast.Call) and getattr(call.func, "id", "") == "print"


def claim(cell: nodes.container) -> str:
    """The line that a seal printed."""
    return part(cell, "cell_code_output").astext().strip()


def close(app: Sphinx, doctree: nodes.document) -> None:
    """Fold each seal behind its claim."""
    for cell in list(doctree.findall(lambda node: has_tag(node, TAG))):
        source = part(cell, "cell_code_source").astext()
        outputs = part(cell, "cell_code_output").children
        if wrong := problems(source, [output.astext() for output in outputs]):
            raise SphinxError(f"{app.env.docname}: {'; '.join(wrong)}, in\n{source}")
        line = _line(claim(cell))
        cell.remove(part(cell, "cell_code_output"))
        at = cell.parent.index(cell)
        cell.parent[at] = seal = fold("", line, classes=[TAG])
        seal.append(cell)


def gather(app: Sphinx, doctree: nodes.document) -> None:
    """Put seals that follow one another behind one line, if they are many."""
    for parent in {seal.parent for seal in doctree.findall(_is_seal)}:
        for are_seals, found in groupby(list(parent), _is_seal):
            seals = list(found)
            if are_seals and len(seals) >= MANY:
                at = parent.index(seals[0])
                del parent[at : at + len(seals)]
                text = f"{len(seals)} claims checked"
                parent.insert(at, fold("", _line(text), *seals, classes=["seals"]))


def _line(text: str) -> summary:
    """The mark and the claim, its letters for numbers and matrices set as formulas have them."""
    parts = [
        nodes.emphasis("", part) if n % 2 else nodes.Text(part)
        for n, part in enumerate(LETTER.split(f" {text}"))
    ]
    return summary("", nodes.inline("", MARK, classes=["seal-mark"]), *parts)


def _is_seal(node: nodes.Node) -> bool:
    return isinstance(node, fold) and TAG in node["classes"]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx; between the two, folded code moves into seals that it stands before."""
    app.setup_extension("_ext.fold")
    app.connect("doctree-read", close, priority=450)
    app.connect("doctree-read", gather, priority=470)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
