"""Words and a row of clocks: where a word stands is what the clocks show."""

import math
from collections.abc import Sequence
from itertools import pairwise
from xml.etree.ElementTree import Element

import torch

from posenc import angles, inverse_frequencies, wavelengths
from posenc.show.live import dials
from posenc.show.live.figure import LiveFigure, State
from posenc.show.live.marks import (
    SENTENCE,
    controls,
    h,
    near,
    nearest,
    number,
    place,
    play,
    quoted,
    rail,
    require_place,
    words_row,
)


def clocks(
    words: Sequence[str] = SENTENCE,
    *,
    dim: int = 12,
    base: float = 50.0,
    start: int = 4,
    arrives: int | None = None,
) -> LiveFigure:
    """Words to press and one clock a channel pair, each with a hand to drag.

    The word that is lit and the other places of the same word are linked, and every clock shows
    faintly where its hand would stand there.

    Args:
        words: the sentence; its first word is at position 0.
        dim: channels, two a clock.
        base: of `inverse_frequencies`.
        start: position to begin with.
        arrives: position from which the hands come to `start` when they are first seen.

    Returns:
        What a notebook displays.

    Raises:
        ValueError: if start or arrives is not a position of the sentence.

    Example:
        >>> clocks(start=7)
        live figure: clocks, p=7
    """
    require_place("start", start, words)
    if arrives is not None:
        require_place("arrives", arrives, words)
    inv_freq = inverse_frequencies(dim, base=base)
    words = list(words)
    turns = angles(torch.arange(len(words)), inv_freq)  # [words, pairs]
    links = [pair for word in dict.fromkeys(words) for pair in pairwise(_where(words, word))]

    def values(state: State) -> dict:
        here = words[nearest(state["p"])]
        return {
            "hand": dials.as_list(angles(torch.tensor(state["p"]).double(), inv_freq)),
            "near_p": near(state["p"], words),
            "same": [int(word == here) for word in words],
            "link": [int(words[i] == here) for i, _ in links],
            "at": place(state["p"]),
        }

    def describe(state: State, values: dict) -> str:
        here = nearest(state["p"])
        others = [str(i) for i in _where(words, words[here]) if i != here]
        if "." in values["at"]:
            two = [quoted(words[math.floor(state["p"]) + step]) for step in (0, 1)]
            said = f"Position {values['at']}, between {' and '.join(two)}."
            return said + f" Dashed: {quoted(words[here])} elsewhere." * bool(others)
        said = f"Position {values['at']}: {quoted(words[here])}. "
        if not others:
            return said + "No other word is the same."
        return said + f"The same word stands at {', '.join(others)}: dashed hands."

    rows = [
        dials.dial(
            pair,
            dials.places(range(len(words)), inv_freq[pair].item()),
            *(_ghost(i, turns[i, pair].item()) for i in range(len(words))),
            dials.hand(f"hand.{pair}", "p"),
            below=[dials.period(wavelength)],
        )
        for pair, wavelength in enumerate(wavelengths(inv_freq).tolist())
    ]
    return LiveFigure(
        "clocks",
        "Clocks that show where a word stands",
        h(
            "div",
            words_row(words, "p", twins=True),
            controls(
                play("p", speed=1.2),
                rail("p", "position", 0, len(words) - 1, said="at", colour="p", rests=True),
            ),
            _arcs(links, len(words)),
            class_="stage",
        ),
        dials.clock_row(rows, narrow=3),
        dials.speeds(),
        _legend(),
        data={"inv_freq": dials.as_list(inv_freq), "words": words, "links": links},
        state={"p": start},
        values=values,
        describe=describe,
        arrives=None if arrives is None else {"p": arrives},
    )


def _where(words: Sequence[str], word: str) -> list[int]:
    return [i for i, other in enumerate(words) if other == word]


def _ghost(i: int, turn: float) -> Element:
    """The hand as it stands at position i; seen if the word there is the same."""
    look = f"--turn:{turn:.5f}"
    return h("line", y2=-36, class_="ghost", data_set=f"--same:same.{i}", style=look)


def _legend() -> Element:
    """What the thin marks of a clock mean."""
    texts = {"same": "the same word elsewhere", "other": "each word's place"}
    return h(
        "div", *(h("span", text, class_=kind) for kind, text in texts.items()), class_="legend"
    )


def _arcs(links: Sequence[tuple[int, int]], count: int) -> Element:
    """Arcs below the words from each word to the next that is the same, the longest the deepest."""
    arcs = []
    longest = max((j - i for i, j in links), default=1)
    for n, (i, j) in enumerate(links):
        deep = number(1.3 * ((j - i) / longest) ** 0.5)
        d = f"M{i + 0.5} 0C{i + 0.5} {deep} {j + 0.5} {deep} {j + 0.5} 0"
        arcs.append(h("path", d=d, data_set=f"--on:link.{n}"))
    box = {"viewBox": f"0 0 {count} 1", "preserveAspectRatio": "none", "aria_hidden": "true"}
    return h("svg", *arcs, class_="links", **box)
