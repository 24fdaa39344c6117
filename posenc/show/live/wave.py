"""A turning hand and the waves that it draws: one height is not a place, two are."""

import math
from collections.abc import Sequence

import torch

from posenc import angles
from posenc.show.live import dials
from posenc.show.live.figure import LiveFigure, State
from posenc.show.live.marks import (
    SENTENCE,
    controls,
    fixed,
    h,
    knob,
    line,
    near,
    place,
    play,
    plot,
    rail,
    require_place,
    slider,
    with_ends,
    words_row,
)

STEPS = 160  # of a drawn wave


def wave(
    words: Sequence[str] = SENTENCE, *, frequency: float = 0.9, start: float = 2
) -> LiveFigure:
    """One hand turns with the position; its height over the positions is a wave.

    The sine alone gives two places of one turn the same value: the twin is shown on the wave. There
    the cosine has the opposite sign, so the two together tell the places apart, within a turn.

    Args:
        words: the sentence; its first word is at position 0.
        frequency: radians a position, from 0.1 to 3.
        start: position to begin with.

    Returns:
        What a notebook displays.

    Raises:
        ValueError: if start is not a position of the sentence, or frequency is out of range.

    Example:
        >>> wave()
        live figure: wave, p=2, w=0.9
    """
    require_place("start", start, words)
    if not 0.1 <= frequency <= 3:
        raise ValueError(f"frequency must be between 0.1 and 3, got {frequency}")
    words = list(words)
    last = len(words) - 1
    x = torch.linspace(0, last, STEPS + 1, dtype=torch.float64)

    def values(state: State) -> dict:
        p, w = state["p"], state["w"]
        speed = torch.tensor([w], dtype=torch.float64)
        turns = angles(x, speed)[:, 0]
        here = angles(torch.tensor(p, dtype=torch.float64), speed)
        at_words = angles(torch.arange(len(words)), speed)[:, 0]
        twin = _twin(p, w, last)
        return {
            "hand": here.item(),
            "sines": list(zip(x.tolist(), turns.sin().tolist(), strict=True)),
            "cosines": list(zip(x.tolist(), turns.cos().tolist(), strict=True)),
            "at": p,
            "sin": here.sin().item(),
            "cos": here.cos().item(),
            "dots": at_words.sin().tolist(),
            "twin": p if twin is None else twin,
            "has_twin": int(twin is not None),
            "level": [[0.0, here.sin().item()], [float(last), here.sin().item()]],
            "near_p": near(p, words),
            "p_said": place(p),
            "w_said": fixed(w, 2),
        }

    def describe(state: State, values: dict) -> str:
        said = (
            f"Position {values['p_said']}: sine {fixed(values['sin'], 2)}, "
            f"cosine {fixed(values['cos'], 2)}. "
        )
        if not values["has_twin"]:
            return said + "No other place of this turn has that sine here."
        return said + (
            f"At {fixed(values['twin'], 1)} the sine is the same, and the cosine "
            f"{fixed(-values['cos'], 2)}."
        )

    face = h(
        "svg",
        h("circle", r=dials.RADIUS, class_="rim"),
        dials.hand("hand", "p"),
        h("circle", r=2.4, class_="pin"),
        h("circle", r=49, class_="hit", data_drag="hand", data_tip="hand"),
        viewBox="-50 -50 100 100",
        aria_hidden="true",
    )
    dots = [
        h("i", class_="dot", style=f"--x:{i}", data_set=f"--y:dots.{i}", aria_hidden="true")
        for i in range(len(words))
    ]
    twin = h("i", class_="knob ring", data_set="--x:twin --y:sin --on:has_twin", aria_hidden="true")
    every = range(0, last + 1, 1 if last < 12 else 5)
    waves = plot(
        line([(0, 0), (last, 0)], class_="axis"),
        line(data_set="d:level", class_="axis dashed"),
        line(data_set="d:cosines", class_="line q dashed"),
        line(data_set="d:sines", class_="line p"),
        x=(0, last),
        y=(-1.15, 1.15),
        xticks=with_ends({i: str(i) for i in every}, "0", str(last), (0, last)),
        yticks={-1: "\N{MINUS SIGN}1", 0: "0", 1: "1"},
        xlabel="position",
        height="12em",
        over=[
            *dots,
            twin,
            knob("--x:at --y:cos", colour="q", drag="wave"),
            knob("--x:at --y:sin", colour="p", drag="wave"),
        ],
        data_drag="wave",
        data_tip="wave",
    )
    legend = h(
        "div",
        h("span", "sine: how far to the right the hand points", class_="p"),
        h("span", "cosine: how far up", class_="q"),
        class_="legend",
    )
    return LiveFigure(
        "wave",
        "A turning hand and the waves that it draws",
        h(
            "div",
            words_row(words, "p"),
            controls(
                play("p", speed=1.5),
                rail("p", "position", 0, last, said="p_said", colour="p", rests=True),
                slider("w", "radians a word", 0.1, 3, step=0.1, said="w_said"),
            ),
            class_="stage",
        ),
        h("div", h("div", face, class_="clock"), waves, class_="unrolled"),
        legend,
        data={"words": words, "steps": STEPS},
        state={"p": start, "w": frequency},
        values=values,
        describe=describe,
    )


def _twin(p: float, w: float, last: int) -> float | None:
    """The place of the same sine that is nearest to p, if there is one in the sentence."""
    turn = 2 * math.pi / w
    first = math.pi / w - p  # sin(w (pi/w - p)) = sin(w p)
    places = [
        first + k * turn for k in range(math.ceil(-first / turn), 1 + int(2 * last / turn + 2))
    ]
    places = [other for other in places if 0 <= other <= last and abs(other - p) > 0.05]
    return min(places, key=lambda other: abs(other - p), default=None)
