"""Answers to the exercises: right ones in several styles, plausible wrong ones."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Answers:
    """Answers to one question.

    Args:
        right: at least three, in different styles (loops, NumPy, complex numbers, ...).
        wrong: at least three, each with a part of the hint that it must be given.
        nearly: wrong at an edge alone; no hint of their own is asked for.
        green: wrong where the check in the notebook does not look.
    """

    right: Sequence[object]
    wrong: Sequence[tuple[object, str]]
    nearly: Sequence[object] = ()
    green: Sequence[object] = ()
