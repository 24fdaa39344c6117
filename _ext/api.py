"""The reference of `posenc`: what autodoc reads from docstrings, made to look right on a page.

Docstrings are written to be read in a terminal. Formulas there are paragraphs of their own, which
keep their lines on the page too; a word in single backticks is code, and a link where it can be.
"""

import re

from sphinx.application import Sphinx

_SECTION = re.compile(r"(Args|Attributes|Returns|Raises|Example):$")
_FORMULA = re.compile(r"(?!With )\(?\w[\w\[\], ()]*\s(=|->) ")
_SPACED = re.compile(r"\S {3,}\S")


def is_formula(paragraph: list[str]) -> bool:
    """Whether lines are a formula or a table: indented, equated, or aligned by spaces."""
    first = paragraph[0]
    return bool(first.startswith("    ") or _FORMULA.match(first) or _SPACED.search(first))


def keep_formulas(app: Sphinx, what: str, name: str, thing, options, lines: list[str]) -> None:
    """Make literal blocks of the formulas that stand before a docstring's sections."""
    out, paragraph, in_sections = [], [], False
    for line in [*lines, ""]:
        in_sections = in_sections or bool(_SECTION.match(line))
        if line:
            paragraph.append(line)
            continue
        if paragraph and not in_sections and is_formula(paragraph):
            paragraph = [".. code-block:: none", "", *(f"    {formula}" for formula in paragraph)]
        out += [*paragraph, ""]
        paragraph = []
    lines[:] = out


def shorten_types(app: Sphinx, what: str, name: str, thing, options, signature, returns):
    """Write annotations as the sources do: without the modules that they come from."""
    prefix = re.compile(r"\b(?:jaxtyping|typing|torch|collections\.abc)\.(?=[A-Z])")
    return tuple(text and prefix.sub("", text) for text in (signature, returns))


def setup(app: Sphinx) -> dict[str, bool]:
    """Set autodoc and napoleon, and go before them."""
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-process-docstring", keep_formulas, priority=100)
    app.connect("autodoc-process-signature", shorten_types)
    app.setup_extension("sphinx.ext.napoleon")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
