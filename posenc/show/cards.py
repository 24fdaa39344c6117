"""Report cards side by side."""

import re
from collections.abc import Mapping

from posenc.card import Grade, ReportCard
from posenc.show.table import Table, wash

_NOISE = 1e-6  # what is smaller comes from rounding, and is written as 0
_WANTED = re.compile(r"([<>]=?|=) [\d.]+")  # in a rule
_MET, _BROKEN = wash("teal", 18), wash("red", 18)


def card_table(cards: Mapping[str, ReportCard], *, caption: str, note: str = "") -> Table:
    """Show report cards as a table: a row a property, a column an encoding, and what is wanted.

    Args:
        cards: name of an encoding -> its report card.
        caption: what the numbers are, in a line or two.
        note: what else to know of them; it stands below.

    Returns:
        What a notebook displays: each number, and NO before it, on another ground, if the property
        is not met.

    Raises:
        ValueError: if there is no card.

    Example:
        >>> from posenc import report_card
        >>> card = report_card(lambda p: p[:, None].double(), length=32)
        >>> card_table({"count": card}, caption="Which wishes counting meets.")
        Which wishes counting meets.
        wish             wanted   count
        unique          > 0.001   0.091
        bounded          ≤ 1.05  NO 4.1
        deterministic   < 0.001       0
        generalizable       = 1       1
        smooth            < 0.5   0.091
        relative-aware   < 0.05       0
    """
    if not cards:
        raise ValueError(f"cards must not be empty, got {cards!r}")
    wishes = list(zip(*(card.grades for card in cards.values()), strict=True))
    return Table(
        [[grades[0].name, _wanted(grades[0]), *map(_told, grades)] for grades in wishes],
        ["wish", "wanted", *cards],
        caption,
        note,
        numbers={*range(1, len(cards) + 2)},
        washes=[
            ["", "", *(_MET if grade.passed else _BROKEN for grade in grades)] for grades in wishes
        ],
    )


def _wanted(grade: Grade) -> str:
    return _WANTED.search(grade.rule)[0].replace("<=", "\N{LESS-THAN OR EQUAL TO}")


def _told(grade: Grade) -> str:
    value = 0 if abs(grade.value) < _NOISE else grade.value
    return f"{'' if grade.passed else 'NO '}{value:.2g}"
