"""Results as a table: HTML with caption and headers where it is shown, aligned text elsewhere."""

import html
from collections.abc import Sequence


class Table:
    """Rows to show; see `table`."""

    def __init__(self, rows: list[list[str]], columns: list[str], caption: str, numbers: set[int]):
        self.rows, self.columns = rows, columns
        self.caption, self.numbers = caption, numbers

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
        for name, *entries in self.rows:
            cells = [self._entry("td", "", at, entry) for at, entry in enumerate(entries, start=1)]
            body += f"<tr>{self._entry('th', 'row', 0, name)}{''.join(cells)}</tr>"
        return (
            f'<table class="results"><caption>{html.escape(self.caption)}</caption>'
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        )

    def _entry(self, tag: str, scope: str, at: int, text: str) -> str:
        words = any(row[at][:1].isalpha() for row in self.rows)  # a dash stands among numbers
        side = "left" if words or (at == 0 and at not in self.numbers) else "right"
        scope = f' scope="{scope}"' if scope else ""
        return f'<{tag}{scope} style="text-align:{side}">{html.escape(text)}</{tag}>'


def table(
    rows: Sequence[Sequence[object]], *, columns: Sequence[str], caption: str, digits: int = 2
) -> Table:
    """Show rows of results as a table, in the book, in Jupyter and in Colab.

    Args:
        rows: one sequence of entries a row; the first entry names the row.
        columns: the headers, one a column.
        caption: what the numbers are.
        digits: decimals of floats. Whole numbers and words are shown as they are.

    Returns:
        What a notebook displays; as text it is aligned columns under the caption.

    Raises:
        ValueError: if there is no row, or a row has more or fewer entries than columns.

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
    numbers = {
        at
        for at, column in enumerate(zip(*rows, strict=True))
        if all(isinstance(entry, int | float) for entry in column)
    }
    shown = [
        [f"{entry:.{digits}f}" if isinstance(entry, float) else str(entry) for entry in row]
        for row in rows
    ]
    return Table(shown, list(columns), caption, numbers)
