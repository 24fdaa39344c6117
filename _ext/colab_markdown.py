"""Write a page of the book as the Markdown that Colab shows.

Sphinx has read the page already: references are resolved, citations are written out, formulas
and figures are numbered. So this starts from Sphinx's tree and not from the source, and says
what the site says. Colab shows CommonMark, tables, `$` and `$$`, and the HTML element
`details`. What has no translation here is an error.
"""

import html
import re
from collections.abc import Iterator
from textwrap import indent
from types import SimpleNamespace
from urllib.parse import urljoin

from docutils import nodes
from sphinx.builders import Builder
from sphinx.errors import SphinxError
from sphinx.locale import admonitionlabels
from sphinx.util.math import get_node_equation_number

from _ext.cells import has_tag, is_cell
from _ext.fold import fold
from _ext.predict import covered

_SPECIAL = re.compile(r"[\\`*_$~]")
_BLOCK_START = re.compile(r"(\d+)(?=[.)](?:\s|$))|(?=(?:#{1,6}|[-+>=|])(?:\s|$))")
_HTML = {"emphasis": "em", "strong": "strong", "literal": "code"}


class Markdown:
    """Translate the nodes of one page; `builder` knows its numbers, `page` is its address."""

    def __init__(self, builder: Builder, docname: str, page: str):
        self.env, self.config = builder.env, builder.config
        self.docname, self.page = docname, page
        self.figures = self.env.toc_fignumbers.get(docname, {})
        self.sections = self.env.toc_secnumbers.get(docname, {})
        # What the HTML writer has at hand when it asks for the number of a formula.
        self.writer = SimpleNamespace(
            builder=SimpleNamespace(config=self.config, fignumbers=self.figures, name=builder.name)
        )

    def parts(self, parent: nodes.Element, level: int = 0) -> Iterator[str | nodes.container]:
        """Go through a page: text as Markdown, code cells as they are, in order."""
        for node in parent.children:
            if isinstance(node, nodes.section):
                yield from self.parts(node, level + 1)
            elif is_cell(node):
                yield node
            elif next(node.findall(is_cell), None):
                yield from self.around_cells(node, level)
            elif isinstance(node, nodes.title):
                yield "#" * level + " " + self.number(parent, level) + self.inlines(node)
            elif text := self.block(node):
                yield text

    def around_cells(self, node: nodes.Element, level: int) -> Iterator[str | nodes.container]:
        """Go through what holds code cells: a cell of Colab stands in nothing but the page."""
        if isinstance(node, covered):
            yield from self.parts(node, level)
            return
        cells = list(node.findall(is_cell))
        is_seal = has_tag(cells[0], "seal") and cells[0].parent is node
        if not is_seal and "seals" not in node["classes"]:  # whose lines are their forms' titles
            words = node.deepcopy()
            words.children = [c for c in words.children if not next(c.findall(is_cell), None)]
            yield self.block(words)
        yield from cells

    def number(self, section: nodes.Element, level: int) -> str:
        """Return the number before a title as the site has it."""
        anchors = [f"#{name}" for name in section["ids"]] + [""] * (level == 1)
        number = next((self.sections[a] for a in anchors if a in self.sections), ())
        return ".".join(map(str, number)) + self.config.html_secnumber_suffix if number else ""

    def caption(self, cell: nodes.container) -> str | None:
        """Return the numbered caption of the cell's figure, if it has one."""
        for figure in cell.findall(nodes.figure):
            number = ".".join(map(str, self.figures["figure"][figure["ids"][0]]))
            text = self.inlines(next(figure.findall(nodes.caption)))
            return f"*{self.config.numfig_format['figure'] % number}.* {text}"
        return None

    def block(self, node: nodes.Node) -> str:
        """Translate a paragraph, a list, a table."""
        return self._dispatch("block", node)

    def blocks(self, parent: nodes.Element) -> str:
        """Translate all children as blocks."""
        return "\n\n".join(filter(None, map(self.block, parent.children)))

    def inlines(self, parent: nodes.Element) -> str:
        """Translate all children as parts of a line."""
        return "".join(self._dispatch("inline", child) for child in parent.children)

    def _dispatch(self, kind: str, node: nodes.Node) -> str:
        if isinstance(node, nodes.Element) and node.get("site_only"):
            return ""
        name = type(node).__name__
        method = getattr(self, f"{kind}_{name}", None)
        if method is None:
            text = " ".join(node.astext().split())[:60]
            raise SphinxError(f"{self.docname}: Colab shows no {kind} {name!r}: {text!r}")
        return method(node)

    def _nothing(self, node: nodes.Node) -> str:
        return ""

    block_comment = block_target = inline_target = inline_comment = _nothing
    block_cover = _nothing
    inline_tooltip = _nothing  # a term's definition, which the site shows on demand

    def block_paragraph(self, node: nodes.paragraph) -> str:
        text = self.inlines(node).strip()
        start = _BLOCK_START.match(text)
        return f"{start[0]}\\{text[start.end() :]}" if start else text

    def block_bullet_list(self, node: nodes.bullet_list) -> str:
        return self._list(node, ["- "] * len(node))

    def block_enumerated_list(self, node: nodes.enumerated_list) -> str:
        first = node.get("start", 1)
        return self._list(node, [f"{first + i}. " for i in range(len(node))])

    def _list(self, node: nodes.Element, marks: list[str]) -> str:
        items = []
        for item, mark in zip(node.children, marks, strict=True):
            text = indent(self.blocks(item), " " * len(mark))
            items.append(mark + text[len(mark) :])
        tight = all(len(item) == 1 for item in node.children)
        return ("\n" if tight else "\n\n").join(items)

    def block_block_quote(self, node: nodes.block_quote) -> str:
        return _quote(self.blocks(node))

    def block_literal_block(self, node: nodes.literal_block) -> str:
        language = node.get("language", "").replace("default", "")
        return f"```{language}\n{node.astext().rstrip()}\n```"

    def block_admonition(self, node: nodes.Element) -> str:
        """A quotation under its title; choices below it can be opened."""
        title, *body = node.children
        return self._box(self.inlines(title), body)

    block_predict = block_admonition

    def _labelled(self, node: nodes.Element) -> str:
        return self._box(str(admonitionlabels[type(node).__name__]), node.children)

    block_note = block_tip = block_warning = block_important = block_seealso = _labelled

    def _box(self, title: str, body: list[nodes.Node]) -> str:
        choices = [child for child in body if isinstance(child, fold)]
        texts = [self.block(child) for child in body if child not in choices]
        quote = _quote("\n\n".join([f"**{title}**", *filter(None, texts)]))
        return "\n\n".join([quote, *map(self.block, choices)])

    def block_fold(self, node: nodes.Element) -> str:
        """A `details` element. Formulas are not shown in a summary, so they go before it."""
        summary, *rest = node.children
        explanation = "\n\n".join(map(self.block, rest))
        if next(summary.findall(nodes.math), None) is None:
            before, shown = "", self._html(summary)
        else:
            before, shown = f"{self.inlines(summary)}\n\n", "This one"
        return f"{before}<details><summary>{shown}</summary>\n\n{explanation}\n\n</details>"

    def _html(self, parent: nodes.Element) -> str:
        """Inside an element of HTML, Markdown is not read."""
        written = ""
        for node in parent.children:
            if isinstance(node, nodes.Text):
                written += html.escape(_line(node.astext()), quote=False)
            elif (tag := _HTML.get(type(node).__name__)) is not None:
                written += f"<{tag}>{self._html(node)}</{tag}>"
            elif isinstance(node, nodes.inline):
                written += self._html(node)
            else:
                raise SphinxError(f"{self.docname}: a choice cannot hold {node.astext()!r}")
        return written

    def block_table(self, node: nodes.table) -> str:
        rows = [[self._entry(entry) for entry in row] for row in node.findall(nodes.row)]
        rows.insert(1, ["---"] * len(rows[0]))
        return "\n".join(f"| {' | '.join(row)} |" for row in rows)

    def _entry(self, entry: nodes.entry) -> str:
        """A bar ends a cell, also within a formula."""
        entry = entry.deepcopy()
        for formula in entry.findall(nodes.math):
            latex = formula.astext().replace(r"\|", r"\Vert ").replace("|", r"\vert ")
            formula.children = [nodes.Text(latex)]
        return self.blocks(entry).replace("|", r"\|")

    def block_math_block(self, node: nodes.math_block) -> str:
        """One line, so that no part of it can look like a list or a heading."""
        latex = node.astext().strip()
        if node.get("nowrap") or "\n\n" in latex or re.search(r"(?<!\\)%", latex):
            raise SphinxError(f"{self.docname}: write this formula between $$, whole: {latex!r}")
        if re.search(r"\\\\|(?<!\\)&", latex) and r"\begin{" not in latex:
            latex = rf"\begin{{aligned}} {latex} \end{{aligned}}"
        tag = ""
        if node.get("label"):
            tag = rf" \tag{{{get_node_equation_number(self.writer, node)}}}"
        return f"$$\n{_line(latex)}{tag}\n$$"

    def block_sidebar(self, node: nodes.sidebar) -> str:
        """A note in the margin becomes one in the text."""
        notes = [child for child in node.children if not isinstance(child, nodes.title)]
        return _quote("\n\n".join(filter(None, map(self.block, notes))))

    def block_container(self, node: nodes.container) -> str:
        return self.blocks(node)

    block_covered = block_container

    def block_citation(self, node: nodes.citation) -> str:
        return f"- {' '.join(map(self.block, node.children[1:]))}"

    def inline_Text(self, node: nodes.Text) -> str:
        text = _SPECIAL.sub(r"\\\g<0>", html.escape(_line(node), quote=False))
        return text.replace("](", "]&#40;").replace("&gt;", ">")

    def inline_emphasis(self, node: nodes.emphasis) -> str:
        return f"*{self.inlines(node)}*"

    def inline_strong(self, node: nodes.strong) -> str:
        return f"**{self.inlines(node)}**"

    def inline_literal(self, node: nodes.literal) -> str:
        text = _line(node.astext())
        fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
        return f"{fence}{text}{fence}" if len(fence) == 1 else f"{fence} {text} {fence}"

    def inline_math(self, node: nodes.math) -> str:
        return f"${_line(node.astext()).strip()}$"

    def inline_inline(self, node: nodes.inline) -> str:
        return self.inlines(node)

    inline_sets = inline_inline

    def inline_reference(self, node: nodes.Element) -> str:
        """A link; within its own page a reference has nowhere to lead, so it is text."""
        text = self.inlines(node)
        address = urljoin(self.page, node.get("refuri", ""))
        own = "refid" in node or address.partition("#")[0] == self.page
        return text if own else f"[{text}]({address.replace('(', '%28').replace(')', '%29')})"

    inline_number_reference = inline_described = inline_reference


def _line(text: str) -> str:
    return re.sub(r"\s*\n\s*", " ", text)


def _quote(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines())
