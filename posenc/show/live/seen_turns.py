"""How much of its turn each pair has shown in training, and what a larger base does to it."""

import math
from xml.etree.ElementTree import Element

import torch

from posenc import inverse_frequencies, wavelengths
from posenc.show.live.figure import LiveFigure, State
from posenc.show.live.marks import controls, h, knob, line, nearest, plot, slider

NAMES = {"seen": "training text", "now": "new text"}
TALL = 0.09  # of the picture: a name
WIDE = {"seen": 0.33, "now": 0.25, "one": 0.2}  # likewise, on a phone


def seen_turns(
    *, dim: int = 128, base: float = 10_000.0, trained: int = 2048, length: int = 8192
) -> LiveFigure:
    """Turns of each pair within a training text (amber) and within a new text (teal).

    A pair below the line of one turn has shown only an arc in training. Where the new text is
    longer, such a pair stands at angles that training has not shown.

    Args:
        dim: channels, even.
        base: to begin with, from 100 to 10,000,000.
        trained: tokens of a training text, from 32 to 1,048,576.
        length: tokens of the new text, likewise.

    Returns:
        What a notebook displays.

    Raises:
        ValueError: if dim is odd, or base, trained or length is out of range.

    Example:
        >>> seen_turns()
        live figure: seen_turns, log_base=4, trained=11, length=13
    """
    if not 100 <= base <= 1e7:
        raise ValueError(f"base must be from 100 to 10,000,000, got {base}")
    for name, value in {"trained": trained, "length": length}.items():
        if not 32 <= value <= 2**20:
            raise ValueError(f"{name} must be from 32 to 1,048,576, got {value}")
    start = {
        "log_base": math.log10(base),
        "trained": math.log2(trained),
        "length": math.log2(length),
    }
    pairs = len(inverse_frequencies(dim))
    fastest, slowest = wavelengths(inverse_frequencies(dim, base=base))[[0, -1]].tolist()
    low = min(-1, math.floor(math.log10(min(trained, length) / slowest)))  # powers of ten of a turn
    high = max(1, math.ceil(math.log10(max(trained, length) / fastest)))

    def values(state: State) -> dict:
        around = wavelengths(inverse_frequencies(dim, base=10 ** state["log_base"]))
        before, now = nearest(2 ** state["trained"]), nearest(2 ** state["length"])
        turns = torch.stack((before / around, now / around))
        logs = turns.log10().tolist()
        slow = turns[0] < 1
        partly = int(slow.sum())
        arc = (before - 1) / around  # as much of a turn as training has shown
        there = int((slow & ((now / around) % 1 > arc + 1e-9)).sum())
        middle = pairs // 2
        seen_name, now_name = named(logs[0], now < before), named(logs[1], now >= before)
        return {
            "seen": [[i, y] for i, y in enumerate(logs[0])],
            "now": [[i, y] for i, y in enumerate(logs[1])],
            "partly": partly,
            "split": pairs - partly - 0.5,
            "new": partly if now > before else 0,
            "there": there,
            "middle": middle,
            "seen_at": min(max(logs[0][middle], low), high),
            "now_at": min(max(logs[1][middle], low), high),
            "seen_name": seen_name,
            "now_name": now_name,
            "one": one_turn(logs, [box(seen_name, "seen"), box(now_name, "now")]),
            "slowest_said": f"{nearest(around[-1].item()):,}",
            "base_said": f"{nearest(10 ** state['log_base']):,}",
            "trained_said": f"{before:,}",
            "length_said": f"{now:,}",
        }

    def named(logs: list[float], above: bool) -> dict:
        """Where the name of a line stands: above it at the left, or below it nearer the middle.

        The line of one turn does not go through it.
        """
        wanted, tall = pairs * (0.06 if above else 0.42), TALL * (high - low)
        foot, head = (-tall, 0) if above else (0, tall)  # between these, the line goes through it
        inside = [
            i for i, y in enumerate(logs) if low + 0.5 < y < high - 0.5 and not foot < y < head
        ]
        at = min(inside or range(pairs), key=lambda i: abs(i - wanted))
        return {"x": at, "y": logs[at], "above": int(above)}

    def box(name: dict, which: str) -> tuple[float, float, float, float]:
        """Left, right, foot and head of a name."""
        wide, tall = WIDE[which] * (pairs - 1), TALL * (high - low)
        left = name["x"] - (0 if name["above"] else wide)
        foot = name["y"] - (0 if name["above"] else tall)
        return left, left + wide, foot, foot + tall

    def one_turn(logs: list[list[float]], names: list[tuple]) -> dict:
        """Where the line of one turn is named: at an end, above or below, where the room is."""

        def crowd(place: dict) -> int:
            wide, tall = WIDE["one"] * (pairs - 1), TALL * (high - low)
            left = place["x"] - wide * place["right"]
            right, foot = left + wide, -tall * (1 - place["above"])
            head = foot + tall
            covered = sum(
                left < other[1] and other[0] < right and foot < other[3] and other[2] < head
                for other in names
            )
            struck = sum(
                any(left <= i <= right and foot < y < head for i, y in enumerate(line))
                for line in logs
            )
            return 10 * covered + struck

        ends = [(0, 0), (pairs - 1, 1)]
        return min(
            ({"x": x, "right": right, "above": above} for above in (1, 0) for x, right in ends),
            key=crowd,
        )

    def describe(state: State, values: dict) -> str:
        said = (
            f"Base {values['base_said']}, trained on {values['trained_said']} tokens: "
            f"{values['partly']} of {pairs} pairs have not made a full turn; the slowest needs "
            f"{values['slowest_said']} tokens. "
        )
        if not values["new"]:
            return said + f"A text of {values['length_said']} shows no new angle."
        length, new = values["length_said"], values["new"]
        return said + (
            f"In a text of {length} these {new} meet new angles on the way; at {length} itself "
            f"{values['there']} of them point where training never did."
        )

    picture = plot(
        h("rect", y=low, height=-low, width=pairs, class_="unseen", data_set="--x:split"),
        line([(0, 0), (pairs - 1, 0)], class_="line whole"),
        line(data_set="d:now", class_="line q dashed"),
        line(data_set="d:seen", class_="line p"),
        x=(0, pairs - 1),
        y=(low, high),
        xticks={0: "0", pairs // 2: str(pairs // 2), pairs - 1: str(pairs - 1)},
        yticks={k: f"1/{10**-k:,}" if k < 0 else f"{10**k:,}" for k in range(low, high + 1)},
        xlabel="pair, fast to slow",
        ylabel="turns within the text",
        height="19em",
        over=[
            h(
                "span",
                "one turn",
                class_="named whole",
                style="--y:0",
                data_set="--x:one.x --above:one.above --right:one.right",
                aria_hidden="true",
            ),
            *(_name(which, told) for which, told in NAMES.items()),
            knob("--x:middle --y:now_at", colour="q", drag="now"),
            knob("--x:middle --y:seen_at", colour="p", drag="seen"),
        ],
        data_tip="pair",
    )
    legend = h("div", h("span", "less than one turn in training", class_="field"), class_="legend")
    return LiveFigure(
        "seen_turns",
        "Turns of each pair within a training text and within a longer one",
        legend,
        picture,
        controls(
            slider("log_base", "base", 2, 7, step=0.25, said="base_said"),
            slider("trained", NAMES["seen"], 5, 20, said="trained_said", colour="p"),
            slider("length", NAMES["now"], 5, 20, said="length_said", colour="q"),
        ),
        data={"pairs": pairs, "low": low, "high": high, "tall": TALL * (high - low), "wide": WIDE},
        state=start,
        values=values,
        describe=describe,
    )


def _name(which: str, told: str) -> Element:
    """The name of a line, beside it."""
    at = f"--x:{which}_name.x --y:{which}_name.y --above:{which}_name.above"
    colour = {"seen": "p", "now": "q"}[which]
    return h("span", told, class_=f"named {colour}", data_set=at, aria_hidden="true")
