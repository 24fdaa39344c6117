"""Figures that readers touch: drawn in the page from numbers that posenc computed.

Each function returns a `LiveFigure`, which a notebook displays as one piece of HTML that needs no
kernel, no network and no library: the same on the site, in Jupyter, in VS Code and in Colab.
"""

from posenc.show.live.alibi import alibi
from posenc.show.live.clock_pair import clock_pair
from posenc.show.live.clocks import clocks
from posenc.show.live.digits import digits
from posenc.show.live.dot_product import dot_product
from posenc.show.live.figure import LiveFigure
from posenc.show.live.lines import lines
from posenc.show.live.marks import SENTENCE
from posenc.show.live.query_key_clocks import query_key_clocks
from posenc.show.live.rotated_pair import rotated_pair
from posenc.show.live.wave import wave

__all__ = [
    "SENTENCE",
    "LiveFigure",
    "alibi",
    "clock_pair",
    "clocks",
    "digits",
    "dot_product",
    "lines",
    "query_key_clocks",
    "rotated_pair",
    "wave",
]
