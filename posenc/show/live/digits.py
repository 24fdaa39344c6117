"""Counting, digits, digits without jumps, hands: four ways to write one position."""

import math
from collections.abc import Sequence
from xml.etree.ElementTree import Element

import torch
from torch import Tensor

from posenc import angles, inverse_frequencies
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
    words_row,
)

STEPS = 120  # of a drawn curve


def digits(
    words: Sequence[str] = SENTENCE, *, base: int = 2, wheels: int = 4, start: float = 5
) -> LiveFigure:
    """A position as digits that jump, as wheels that turn smoothly, and as hands.

    Wheel k makes a turn in base^(k+1) positions. A word fills the place from half a position
    before it to half a position after: there its digit jumps. The hands start at 6, half a position
    on, so the digit is the part of the dial where a hand stands (in base 2: left half 0, right half
    1), and the wave, how far right its tip is, goes up and down with it: (base - 1) (1 + sin) / 2.

    Args:
        words: the sentence; its first word is at position 0.
        base: of the digits, from 2 to 10.
        wheels: how many digits, the fastest first.
        start: position to begin with.

    Returns:
        What a notebook displays.

    Raises:
        ValueError: if start is not a position of the sentence, or base is out of range.

    Example:
        >>> digits()
        live figure: digits, p=5
    """
    require_place("start", start, words)
    if not 2 <= base <= 10:
        raise ValueError(f"base must be from 2 to 10, got {base}")
    words = list(words)
    last = len(words) - 1
    frequencies = 2 * math.pi / base * inverse_frequencies(2 * wheels, base=float(base**wheels))
    places = [base**k for k in range(wheels)]

    def hands_at(p: Tensor) -> Tensor:
        return angles(p + 0.5, frequencies) + torch.pi

    def values(state: State) -> dict:
        p = state["p"]
        hands = hands_at(torch.tensor(p, dtype=torch.float64))
        found = [math.floor((p + 0.5) / unit) % base for unit in places]
        return {
            "hand": hands.tolist(),
            "at": p,
            "digit": found,
            "digit_said": [str(digit) for digit in found],
            "smooth": ((base - 1) * (1 + hands.sin()) / 2).tolist(),
            "near_p": near(p, words),
            "p_said": place(p),
        }

    def describe(state: State, values: dict) -> str:
        smooth = ", ".join(fixed(value, 2) for value in values["smooth"])
        return (
            f"Position {values['p_said']} has the digits {' '.join(values['digit_said'])} in base "
            f"{base}, fastest first. The hands, which do not jump, say {smooth}, from 0 (far "
            f"left) to {base - 1} (far right)."
        )

    x = torch.linspace(0, last, STEPS + 1, dtype=torch.float64)
    smooth = (base - 1) * (1 + hands_at(x).sin()) / 2  # [steps, wheels]

    def column(k: int) -> Element:
        jumps = [(0.0, 0)]
        for p in range(1, last + 1):
            jumps += [(p - 0.5, (p - n) // places[k] % base) for n in (1, 0)]
        jumps.append((last, last // places[k] % base))
        curve = plot(
            line(jumps, class_="line faint"),
            line(list(zip(x.tolist(), smooth[:, k].tolist(), strict=True)), class_="line p"),
            x=(0, last),
            y=(-0.12 * (base - 1), 1.12 * (base - 1)),
            yticks={0: "0", base - 1: str(base - 1)},
            xticks={0: "0", last: str(last)},
            height="5em",
            over=[
                knob(f"--x:at --y:digit.{k}", colour="small"),
                knob(f"--x:at --y:smooth.{k}", colour="p small"),
            ],
            data_drag="place",
            data_tip=f"place.{k}",
        )
        turn = base ** (k + 1)
        digit = h("div", class_="digit", data_set=f"text:digit_said.{k}", aria_hidden="true")
        caption = h("span", f"a turn in {turn}", class_="period", aria_hidden="true")
        clock = dials.dial(
            k,
            dials.places([p + 0.5 + turn / 2 for p in range(len(words))], frequencies[k].item()),
            dials.hand(f"hand.{k}", "p"),
            below=[caption],
        )
        return h("div", digit, curve, clock, class_="wheel")

    columns = [column(k) for k in range(wheels)]
    return LiveFigure(
        "digits",
        "A position as digits, as digits without jumps, and as hands",
        h(
            "div",
            words_row(words, "p"),
            controls(
                play("p", speed=1.0),
                rail("p", "position", 0, last, said="p_said", colour="p", rests=True),
            ),
            class_="stage",
        ),
        h("div", *columns, class_="clocks wheels", style=f"--n:{wheels};--narrow:{min(wheels, 4)}"),
        dials.speeds("words for one turn"),
        data={"inv_freq": frequencies.tolist(), "words": words, "base": base},
        state={"p": start},
        values=values,
        describe=describe,
    )
