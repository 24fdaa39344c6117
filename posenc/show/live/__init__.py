"""Figures that readers touch: drawn in the page from numbers that posenc computed.

Each function returns a `LiveFigure`, which a notebook displays as one piece of HTML that needs no
kernel, no network and no library: the same on the site, in Jupyter, in VS Code and in Colab.
"""

from posenc.show.live.clock_pair import clock_pair
from posenc.show.live.clocks import clocks
from posenc.show.live.figure import LiveFigure
from posenc.show.live.marks import SENTENCE

__all__ = ["SENTENCE", "LiveFigure", "clock_pair", "clocks"]
