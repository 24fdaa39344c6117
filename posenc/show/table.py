"""Results as a table: HTML with caption and headers where it is shown, aligned text elsewhere."""

import html
import re
from collections.abc import Sequence
from typing import NamedTuple

from posenc.show.live.marks import round_ticks

_SIGNED = "[+\N{MINUS SIGN}-]\\d+(?:\\.\\d+)?"
_INTERVAL = rf" (?:± (?P<half>[\d.]+)|\((?P<low>{_SIGNED}) to (?P<high>{_SIGNED})\))"
_DIFFERENCE = re.compile(
    rf"(?:(?P<of>.+): )?(?P<told>(?P<middle>{_SIGNED})(?:{_INTERVAL})?)(?:, (?P<verdict>.+))?"
)
_TONES = {"teal": "#0f766e", "red": "#ae3324"}  # the book's, where its style is not


def wash(tone: str, percent: float) -> str:
    """The ground of an entry: so much of a colour on the page."""
    return f"color-mix(in oklab,var(--book-{tone}, {_TONES[tone]}) {percent:.0f}%,transparent)"


class Table:
    """Rows to show; see `table`."""

    def __init__(
        self,
        rows: list[list[str]],
        columns: list[str],
        caption: str,
        note: str,
        numbers: set[int],
        washes: list[list[str]],
    ):
        self.rows, self.columns, self.caption, self.note = rows, columns, caption, note
        self.numbers, self.washes = numbers, washes

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
        return "\n".join([self.caption, *text, *([self.note] if self.note else [])])

    def _repr_html_(self) -> str:
        head = "".join(self._entry("th", "col", *each) for each in enumerate(self.columns))
        found = [[_difference(text) for text in row[1:]] for row in self.rows]
        flat = [one for row in found for one in row if one]
        drawn = any(one.high > one.low for one in flat)  # one of them has an interval
        low, high = min([0, *(one.low for one in flat)]), max([0, *(one.high for one in flat)])
        beside = 0.03 * (high - low)  # or a mark at an end is cut
        low, high = low - beside, high + beside
        body = ""
        for row, washes, differences in zip(self.rows, self.washes, found, strict=True):
            body += f"<tr>{self._entry('th', 'row', 0, row[0])}"
            for at, one in enumerate(differences, start=1):
                if drawn and one:
                    body += self._mark(at, one, low, high)
                else:
                    body += self._entry("td", "", at, row[at], washes[at])
            body += "</tr>"
        kind = "results differences" if drawn else "results"
        note = f'<p class="note">{html.escape(self.note)}</p>' if self.note else ""
        zero = f' style="--zero:{-low / (high - low):.3f}"' if drawn else ""
        return (
            f'<table class="{kind}"{zero}><caption>{html.escape(self.caption)}</caption>'
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
            f"{self._scale(low, high) if drawn else ''}</table>{note}"
        )

    def _scale(self, first: float, last: float) -> str:
        """The numbers along the scale, which the page's style writes below it."""
        ticks = "".join(
            f'<i style="--at:{(at - first) / (last - first):.3f}" data-at="{text}"></i>'
            for at, text in round_ticks(first, last, most=5).items()
        )
        cell = f'<td class="scale" colspan="{len(self.columns)}"><i>{ticks}</i></td>'
        return f'<tfoot aria-hidden="true"><tr>{cell}</tr></tfoot>'

    def _entry(self, tag: str, scope: str, at: int, text: str, ground: str = "") -> str:
        starts = [row[at].lstrip("<>~+-\N{MINUS SIGN} ")[:1] for row in self.rows]
        words = sum(map(str.isalpha, starts)) > sum(map(str.isdigit, starts))  # a dash is neither
        words |= sum("=" in row[at][1:] for row in self.rows) > len(self.rows) / 2  # settings
        side = "left" if at not in self.numbers and (words or at == 0) else "right"
        scope = f' scope="{scope}"' if scope else ""
        style = f"text-align:{side}{f';background:{ground}' if ground else ''}"
        return f'<{tag}{scope} style="{style}">{html.escape(text)}</{tag}>'

    def _mark(self, at: int, one: "_Difference", first: float, last: float) -> str:
        """A difference in words, and on the scale of the whole table; the page's style draws it."""
        low, middle, high = ((x - first) / (last - first) for x in (one.low, one.middle, one.high))
        places = f"--low:{low:.3f};--at:{middle:.3f};--high:{high:.3f}"
        own = f'<span class="of">{html.escape(one.of)}</span> ' if one.of else ""
        many = len(self.columns) > 2 and not own
        of = f' data-of="{html.escape(self.columns[at])}"' if many else ""
        verdict = f" <b>{html.escape(one.verdict)}</b>" if one.verdict else ""
        return (
            f'<td class="{one.side}"{of}>{own}<span>{one.told}</span>{verdict}'
            f'<i class="span" aria-hidden="true" style="{places}"></i></td>'
        )


class _Difference(NamedTuple):
    """What an entry such as "searched: +0.44 ± 0.13, beats" says."""

    of: str | None
    told: str
    low: float
    middle: float
    high: float
    verdict: str | None

    @property
    def side(self) -> str:
        """Of 0, on which the whole interval lies."""
        if self.low < self.high and (self.low > 0 or self.high < 0):
            return "above" if self.low > 0 else "below"
        return "open"


def _difference(text: str) -> _Difference | None:
    """An entry taken apart; None if it is no difference."""
    found = _DIFFERENCE.fullmatch(text)
    if not found:
        return None
    middle, half, low, high = (
        float((found[part] or "nan").replace("\N{MINUS SIGN}", "-"))
        for part in ("middle", "half", "low", "high")
    )
    if not found["low"]:
        half = half if found["half"] else 0.0
        low, high = middle - half, middle + half
    return _Difference(found["of"], found["told"], low, middle, high, found["verdict"])


def table(
    rows: Sequence[Sequence[object]],
    *,
    columns: Sequence[str],
    caption: str,
    note: str = "",
    digits: int = 2,
    shares: bool = False,
) -> Table:
    """Show rows of results as a table, in the book, in Jupyter and in Colab.

    Args:
        rows: one sequence of entries a row; the first entry names the row.
        columns: the headers, one a column.
        caption: what the numbers are, in a line or two.
        note: how they came about, or what else to know of them; it stands below.
        digits: decimals of floats. Whole numbers and words are shown as they are.
        shares: whether the floats are shares, 0 to 1. The larger, the deeper its cell is coloured.

    Returns:
        What a notebook displays; as text it is aligned columns under the caption. Entries such as
        "+0.44 ± 0.13" and "+0.44 (+0.31 to +0.57)" are differences, of which more is better: they
        stand below one another and are drawn on one scale. Before one may be what it is of, and
        after it a verdict: "searched: +0.44 ± 0.13, beats".

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
    washes = [
        [wash("teal", 36 * x) if shares and isinstance(x, float) and x else "" for x in row]
        for row in rows
    ]
    return Table(shown, list(columns), caption, note, numbers, washes)
