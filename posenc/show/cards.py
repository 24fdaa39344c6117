"""Report cards side by side."""

import re
from collections.abc import Mapping

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from posenc.card import ReportCard
from posenc.show.colours import ANSWERS

_NOISE = 1e-6  # what is smaller comes from rounding, and is written as 0
_WORD = {"ha": "center", "va": "bottom", "fontweight": "bold"}
_NUMBER = {"ha": "center", "va": "top"}  # each its own, centred in any font
_WANTED = re.compile(r"([<>]=?|=) [\d.]+")  # in a rule


def plot_report_cards(cards: Mapping[str, ReportCard], *, ax: Axes | None = None) -> Axes:
    """Draw one row per encoding and one column per property; colour and word say if it is met.

    Below each column stands what is wanted.

    Args:
        cards: name of an encoding -> its report card.
        ax: where to draw; a new figure by default.

    Returns:
        The axes.
    """
    if ax is None:
        ax = plt.subplots(figsize=(5.6, 1.9 + 0.45 * len(cards)))[1]
    rows = [[grade.passed for grade in card.grades] for card in cards.values()]
    ax.imshow(rows, cmap=ANSWERS, vmin=0, vmax=1)
    for y, card in enumerate(cards.values()):
        for x, grade in enumerate(card.grades):
            value = 0 if abs(grade.value) < _NOISE else grade.value
            ax.text(x, y - 0.02, "yes" if grade.passed else "NO", **_WORD)
            ax.text(x, y + 0.08, f"{value:.2g}", **_NUMBER)
    grades, below = next(iter(cards.values())).grades, len(cards) - 0.38
    for x, grade in enumerate(grades):
        sign, limit = _WANTED.search(grade.rule)[0].split(" ")
        sign = sign.replace("<=", "\N{LESS-THAN OR EQUAL TO}")
        for text, down in ((sign, 0), (limit, 0.42)):  # a phone has no room for both on one line
            ax.text(x, below + down, text, color="0.35", **_NUMBER)
    ax.text(-0.6, below, "wanted", color="0.35", **_NUMBER | {"ha": "right"})
    names = [grade.name for grade in grades]
    ax.set_xticks(range(len(names)), names, rotation=40, ha="left", rotation_mode="anchor")
    ax.set_yticks(range(len(cards)), cards.keys())
    ax.xaxis.tick_top()
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return ax
