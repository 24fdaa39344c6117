"""Figures that readers touch: drawn in the page from numbers that posenc computed.

Each function returns a `LiveFigure`, which a notebook displays as one piece of HTML that needs no
kernel, no network and no library: the same on the site, in Jupyter, in VS Code and in Colab.
"""

from posenc.show.live.alibi import alibi
from posenc.show.live.buckets import buckets
from posenc.show.live.clock_pair import clock_pair
from posenc.show.live.clocks import clocks
from posenc.show.live.digits import digits
from posenc.show.live.dot_product import dot_product
from posenc.show.live.encoding_table import encoding_table
from posenc.show.live.figure import LiveFigure
from posenc.show.live.learned_table import learned_table
from posenc.show.live.lines import lengths, lines
from posenc.show.live.marks import SENTENCE
from posenc.show.live.query_key_clocks import query_key_clocks
from posenc.show.live.relative_grid import relative_grid
from posenc.show.live.reordered import reordered
from posenc.show.live.rotated_pair import rotated_pair
from posenc.show.live.seen_turns import seen_turns
from posenc.show.live.shift_clocks import shift_clocks
from posenc.show.live.wave import wave

__all__ = [
    "SENTENCE",
    "LiveFigure",
    "alibi",
    "buckets",
    "clock_pair",
    "clocks",
    "digits",
    "dot_product",
    "encoding_table",
    "learned_table",
    "lengths",
    "lines",
    "query_key_clocks",
    "relative_grid",
    "reordered",
    "rotated_pair",
    "seen_turns",
    "shift_clocks",
    "wave",
]
