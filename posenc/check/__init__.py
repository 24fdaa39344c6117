"""Feedback on exercises: what is right, what is wrong, and which misconception it looks like.

Each question of the book's exercises is an object here that is called with the answer:

    >>> from posenc import check
    >>> check.dot_product(lambda offset, dim, base: dim / 2)
    dot_product: wrong, in 3 of 4 cases
      yes  offset 0
      NO   offset 5: 5, 16, 10000
           it gives 8, not 6.137
      NO   offset -5: -5, 16, 10000
           it gives 8, not 6.137
      NO   another width and base: 40, 64, 500
           it gives 32, not 8.0812

A check never raises, whatever the answer is or does. One module a chapter; `question` says how
answers are called and compared.
"""

from posenc.check.chapter_1 import orders_alike, positions_from_outputs, shuffled_weights
from posenc.check.chapter_2 import dot_product, mended_sinusoidal, moved, sinusoidal
from posenc.check.chapter_3 import affordable_positions, position_ids, stretched_table
from posenc.check.chapter_4 import buckets, mended_shaw, relative, skewed
from posenc.check.chapter_5 import (
    mended_decoding,
    mended_pairing,
    mended_precision,
    rotated,
    score_from_offset,
)
from posenc.check.chapter_6 import biased, half_distance, slopes
from posenc.check.chapter_7 import Root, compared, my_encoding, ntk_base
from posenc.check.question import Case, Comparison, Misconception, Probe, Verdict, Wrong

__all__ = [
    "Case",
    "Comparison",
    "Misconception",
    "Probe",
    "Root",
    "Verdict",
    "Wrong",
    "affordable_positions",
    "biased",
    "buckets",
    "compared",
    "dot_product",
    "half_distance",
    "mended_decoding",
    "mended_pairing",
    "mended_precision",
    "mended_shaw",
    "mended_sinusoidal",
    "moved",
    "my_encoding",
    "ntk_base",
    "orders_alike",
    "position_ids",
    "positions_from_outputs",
    "relative",
    "rotated",
    "score_from_offset",
    "shuffled_weights",
    "sinusoidal",
    "skewed",
    "slopes",
    "stretched_table",
]
