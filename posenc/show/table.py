"""Results as a table: HTML with caption and headers where it is shown, aligned text elsewhere."""

import html
import re
from collections.abc import Sequence

_SIGNED = "[+\N{MINUS SIGN}-]\\d+(?:\\.\\d+)?"
_SPAN = re.compile(rf"({_SIGNED}) (?:± ([\d.]+)|\(({_SIGNED}) to ({_SIGNED})\))")
_WASH = "var(--book-teal, #0f766e)"


class Table:
    """Rows to show; see `table`."""

    def __init__(
        self,
        rows: list[list[str]],
        columns: list[str],
        caption: str,
        numbers: set[int],
        depth: list[list[float]],
    ):
        self.rows, self.columns = rows, columns
        self.caption, self.numbers, self.depth = caption, numbers, depth

    def __repr__(self) -> str:
        lines = [self.columns, *self.rows]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        text = [
            "  ".join(
                entry.rjust(width) if at in self.numbers else entry.ljust(width)
                for at, (entry, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in lines
        ]
        return "\n".join([self.caption, *text])

    def _repr_html_(self) -> str:
        head = "".join(self._entry("th", "col", *each) for each in enumerate(self.columns))
        body = ""
        spans = [span for row in self.rows for each in row if (span := _span(each))]
        ends = min([0, *(low for low, _, _ in spans)]), max([0, *(high for *_, high in spans)])
        for (name, *entries), (_, *depth) in zip(self.rows, self.depth, strict=True):
            cells = [
                self._entry("td", "", at, *each, ends=ends)
                for at, each in enumerate(zip(entries, depth, strict=True), start=1)
            ]
            body += f"<tr>{self._entry('th', 'row', 0, name)}{''.join(cells)}</tr>"
        return (
            f'<table class="results"><caption>{html.escape(self.caption)}</caption>'
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        )

    def _entry(
        self,
        tag: str,
        scope: str,
        at: int,
        text: str,
        depth: float = 0,
        ends: tuple[float, float] = (0, 0),
    ) -> str:
        starts = [row[at].lstrip("<>~+-\N{MINUS SIGN} ")[:1] for row in self.rows]
        words = sum(map(str.isalpha, starts)) > sum(map(str.isdigit, starts))  # a dash is neither
        side = "left" if words or (at == 0 and at not in self.numbers) else "right"
        scope = f' scope="{scope}"' if scope else ""
        wash = f";background:color-mix(in oklab,{_WASH} {36 * depth:.0f}%,transparent)"
        style = f"text-align:{side}{wash if depth else ''}"
        drawn = _draw(_span(text), *ends) if tag == "td" else ""
        return f'<{tag}{scope} style="{style}">{html.escape(text)}{drawn}</{tag}>'


def _span(text: str) -> tuple[float, float, float] | None:
    """The low end, the middle and the high end of an interval; None if the text is none."""
    found = _SPAN.fullmatch(text)
    if not found:
        return None
    middle, half, low, high = (
        float((part or "nan").replace("\N{MINUS SIGN}", "-")) for part in found.groups()
    )
    return (middle - half, middle, middle + half) if found[2] else (low, middle, high)


def _draw(span: tuple[float, float, float] | None, first: float, last: float) -> str:
    """An interval as a line with a dot, on the scale of the whole table; the page's style draws."""
    if not span:
        return ""
    low, middle, high, zero = ((x - first) / (last - first) for x in (*span, 0))
    places = f"--low:{low:.3f};--at:{middle:.3f};--high:{high:.3f};--zero:{zero:.3f}"
    return f'<i class="span" aria-hidden="true" style="{places}"></i>'


def table(
    rows: Sequence[Sequence[object]],
    *,
    columns: Sequence[str],
    caption: str,
    digits: int = 2,
    shares: bool = False,
) -> Table:
    """Show rows of results as a table, in the book, in Jupyter and in Colab.

    Args:
        rows: one sequence of entries a row; the first entry names the row.
        columns: the headers, one a column.
        caption: what the numbers are.
        digits: decimals of floats. Whole numbers and words are shown as they are.
        shares: whether the floats are shares, 0 to 1. The larger, the deeper its cell is coloured.

    Returns:
        What a notebook displays; as text it is aligned columns under the caption. Entries such as
        "+0.44 ± 0.13" and "+0.44 (+0.31 to +0.57)" are drawn under their numbers, on one scale.

    Raises:
        ValueError: if there is no row, a row has more or fewer entries than columns, or a share
            is not between 0 and 1.

    Example:
        >>> table([["rotary", 64, 0.913], ["none", 64, 0.12]],
        ...       columns=["method", "length", "right"], caption="Share of right answers.")
        Share of right answers.
        method  length  right
        rotary      64   0.91
        none        64   0.12
    """
    if not rows:
        raise ValueError(f"rows must not be empty, got {rows!r}")
    for row in rows:
        if len(row) != len(columns):
            raise ValueError(f"rows must have {len(columns)} entries like columns, got {row!r}")
    outside = [x for row in rows for x in row if isinstance(x, float) and not 0 <= x <= 1]
    if shares and outside:
        raise ValueError(f"rows must hold shares from 0 to 1, got {outside[0]!r}")
    numbers = {
        at
        for at, column in enumerate(zip(*rows, strict=True))
        if all(isinstance(entry, int | float) for entry in column)
    }
    shown = [
        [f"{entry:.{digits}f}" if isinstance(entry, float) else str(entry) for entry in row]
        for row in rows
    ]
    depth = [[x if shares and isinstance(x, float) else 0 for x in row] for row in rows]
    return Table(shown, list(columns), caption, numbers, depth)
