"""One channel pair of a query and a key, turned by their positions: RoPE in the plane."""

import math

import torch

from posenc import angles, rotate
from posenc.show.live.figure import LiveFigure, State
from posenc.show.live.marks import controls, fixed, h, place, play, slider, switch

LAST = 16  # the positions reach from 0 to here


def rotated_pair(
    query: tuple[float, float] = (1.0, 0.4),
    key: tuple[float, float] = (0.9, -0.5),
    *,
    frequency: float = 0.5,
    query_position: float = 5,
    key_position: float = 2,
    together: bool = False,
) -> LiveFigure:
    """A query and a key in the plane of one pair, before (faint) and after the turn.

    Both turn by position times frequency, clockwise from 12, as the clocks do: the first channel
    points up, the second to the right. The score is the product of the lengths and the cosine of
    the angle between the turned arrows. Moved together, the positions leave it as it is. A turned
    arrow is pulled along its turn, by its position, and a faint one by its own angle.

    Args:
        query: its two channels, not both 0.
        key: likewise.
        frequency: radians a position, above 0 and at most 3.
        query_position: from 0 to 16.
        key_position: likewise.
        together: whether the two move together, to begin with.

    Returns:
        What a notebook displays.

    Raises:
        ValueError: if an arrow has no length, or frequency or a position is out of range.

    Example:
        >>> rotated_pair(query=(1.0, 0.0), key=(1.0, 0.0))
        live figure: rotated_pair, m=5, n=2, q=0, k=0, together=False
    """
    lengths = {"query": math.hypot(*query), "key": math.hypot(*key)}
    for name, length in lengths.items():
        if length == 0:
            raise ValueError(f"{name} must not be (0, 0)")
    if not 0 < frequency <= 3:
        raise ValueError(f"frequency must be above 0 and at most 3, got {frequency}")
    for name, value in {"query_position": query_position, "key_position": key_position}.items():
        if not 0 <= value <= LAST:
            raise ValueError(f"{name} must be from 0 to {LAST}, got {value}")
    scale = 40 / max(lengths.values())  # of the drawing: the longer arrow has length 40

    def values(state: State) -> dict:
        at = torch.tensor([state["m"], state["n"]], dtype=torch.float64)
        turns = angles(at, torch.tensor([frequency], dtype=torch.float64))
        rest = torch.tensor([state["q"], state["k"]], dtype=torch.float64)
        length = torch.tensor(list(lengths.values()), dtype=torch.float64)[:, None]
        arrows = length * torch.stack((rest.cos(), rest.sin()), dim=1)
        turned = rotate(arrows, turns, pairing="interleaved")
        score = (turned[0] @ turned[1]).item()
        between = (rest[1] + turns[1, 0] - rest[0] - turns[0, 0]).item()
        between -= 2 * math.pi * round(between / (2 * math.pi))
        hands = (rest + turns[:, 0]).tolist()
        return {
            "rest": rest.tolist(),
            "turned": hands,
            "from": hands[1] if between < 0 else hands[0],
            "arc": abs(between),
            "turn_q": turns[0, 0].item(),
            "turn_k": turns[1, 0].item(),
            "score": score,
            "score_said": fixed(score, 2),
            "between_said": fixed(math.degrees(abs(between)), 0),
            "m_said": place(state["m"]),
            "n_said": place(state["n"]),
            "q_said": f"{fixed(math.degrees(state['q']), 0)}°",
            "k_said": f"{fixed(math.degrees(state['k']), 0)}°",
        }

    def describe(state: State, values: dict) -> str:
        return (
            f"Query at {values['m_said']}, key at {values['n_said']}: the turned arrows are "
            f"{values['between_said']}° apart, and the score is {values['score_said']}."
        )

    def arrow(name: str, length: float, colour: str, *, faint: bool = False) -> object:
        reach, look = scale * length, f"hand {colour}" + (" rest" if faint else "")
        tip = h("path", d=f"M0 {-reach - 1}l-4.2 9 4.2 -2.2 4.2 2.2z")
        grip = h("circle", cy=-reach + 4, r=7, class_="grip")
        parts = h("line", y2=-reach + 6), grip, tip
        return h("g", *parts, class_=look, data_set=f"--turn:{name}")

    def sweep(name: str, rest: str, length: float, colour: str) -> object:
        look = f"wedge sweep {colour}"
        return h(
            "circle",
            r=0.45 * scale * length,
            pathLength=2 * math.pi,
            class_=look,
            data_set=f"--from:{rest} --arc:{name}",
        )

    face = h(
        "svg",
        h("circle", r=46, class_="rim"),
        h("path", d="M-46 0H46M0 -46V46", class_="axis"),
        h("circle", r=9, pathLength=2 * math.pi, class_="wedge", data_set="--from:from --arc:arc"),
        sweep("turn_q", "rest.0", lengths["query"], "p"),
        sweep("turn_k", "rest.1", lengths["key"], "q"),
        arrow("rest.0", lengths["query"], "p", faint=True),
        arrow("rest.1", lengths["key"], "q", faint=True),
        arrow("turned.1", lengths["key"], "q"),
        arrow("turned.0", lengths["query"], "p"),
        h("circle", r=1.5, class_="pin"),
        h("circle", r=49, class_="hit", data_drag="arrow", data_tip="arrow"),
        viewBox="-50 -50 100 100",
        aria_hidden="true",
    )
    sums = h(
        "div",
        h(
            "p",
            "the query's turn: ",
            h("b", data_set="text:m_said"),
            f" \N{MULTIPLICATION SIGN} {frequency:g}",
            class_="p",
        ),
        h(
            "p",
            "the key's turn: ",
            h("b", data_set="text:n_said"),
            f" \N{MULTIPLICATION SIGN} {frequency:g}",
            class_="q",
        ),
        h("p", "angle between: ", h("b", data_set="text:between_said"), "°"),
        h("p", "score: ", h("b", data_set="text:score_said"), class_="big"),
        class_="sums",
        aria_hidden="true",
    )
    return LiveFigure(
        "rotated_pair",
        "A query and a key in the plane of one channel pair",
        h("div", h("div", face, class_="clock"), sums, class_="plane"),
        controls(
            play("m", speed=1.2),
            switch("together", "move together"),
            slider("m", "query's position", 0, LAST, said="m_said", colour="p", rests=True),
            slider("n", "key's position", 0, LAST, said="n_said", colour="q", rests=True),
            slider("q", "query's angle", -3.15, 3.15, step=0.1, said="q_said", colour="p"),
            slider("k", "key's angle", -3.15, 3.15, step=0.1, said="k_said", colour="q"),
        ),
        data={"w": frequency, "lengths": list(lengths.values()), "last": LAST},
        state={
            "m": query_position,
            "n": key_position,
            "q": math.atan2(query[1], query[0]),
            "k": math.atan2(key[1], key[0]),
            "together": together,
        },
        values=values,
        describe=describe,
    )
