"""Figures: one plot function an idea; each takes data first, draws on `ax` and returns it.

The style of the book is the file beside this one: `plt.style.use("posenc.show.book")`. Figures that
readers touch are in `posenc.show.live`.
"""

import os

from posenc._extras import need

need("show", "matplotlib", "PIL", "ipywidgets")

from posenc.show import live
from posenc.show.cards import card_table
from posenc.show.circles import plot_clock_hands, plot_turns
from posenc.show.curves import name_lines, plot_curves
from posenc.show.drawing import show_in_book
from posenc.show.evidence import plot_lengths
from posenc.show.explore import explore
from posenc.show.guess import guess_angle, guess_curve, guess_point
from posenc.show.matrices import plot_attention, plot_encoding, plot_matrix
from posenc.show.models import plot_model
from posenc.show.table import table

if os.environ.get("POSENC_BOOK"):
    show_in_book()

__all__ = [
    "card_table",
    "explore",
    "guess_angle",
    "guess_curve",
    "guess_point",
    "live",
    "name_lines",
    "plot_attention",
    "plot_clock_hands",
    "plot_curves",
    "plot_encoding",
    "plot_lengths",
    "plot_matrix",
    "plot_model",
    "plot_turns",
    "table",
]
