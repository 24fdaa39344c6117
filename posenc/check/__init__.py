"""Feedback on exercises: what is right, what is wrong, and which misconception it looks like.

Each question of the book's exercises is an object here that is called with the answer:

    >>> from posenc import check
    >>> check.dot_product(lambda offset, dim, base: dim / 2)
    dot_product: wrong, in 3 of 4 cases
      yes  offset 0
      NO   offset 5
           it gives 8, not 6.137
      NO   offset -5
           it gives 8, not 6.137
      NO   another width and base
           it gives 32, not 8.0812

A check never raises, whatever the answer is or does. One module a chapter; `question` says how
answers are called and compared.
"""

from posenc.check.chapter_2 import dot_product, mended_sinusoidal, moved, sinusoidal
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
    "biased",
    "compared",
    "dot_product",
    "half_distance",
    "mended_sinusoidal",
    "moved",
    "my_encoding",
    "ntk_base",
    "sinusoidal",
    "slopes",
]
