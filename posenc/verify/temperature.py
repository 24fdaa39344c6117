"""Queries that grow with their position: attention temperature, as in Llama 4, Ministral 3."""

from collections.abc import Callable

import torch
from torch import Tensor

from posenc.scaling import query_gain
from posenc.verify.known import Mistake
from posenc.verify.measure import FAR, NEAR
from posenc.verify.names import LENGTHS, nice, number
from posenc.verify.rope import Rope
from posenc.verify.turn import Turn

NEARLY = 1e-4
FORGOTTEN = "queries do not grow"


def edges(temperature: dict | None) -> tuple[int, ...]:
    """Positions around a step of the floor, beyond the near ones."""
    if temperature is None:
        return ()
    length = int(temperature["length"])
    step = length * (NEAR[-1] // length + 1)
    return tuple(p for p in range(step - 2, step + 2) if p > NEAR[-1])


def growth_of(turn: Turn) -> dict | None:
    """The parameters of `query_gain` by which vectors grow with their position; None if they do so
    by another rule, or not at all."""
    positions = _reached(turn)
    gains = _gains(turn, positions)
    grown = gains[-1].item() - 1
    if grown < NEARLY:
        return None
    found = []
    for length in LENGTHS:
        for first in (0, 1):
            unit = query_gain(positions, scale=1.0, length=length, first=first) - 1
            if not unit[-1] > 0:
                continue
            scale = nice(grown / unit[-1].item(), digits=3, within=1e-2)
            if torch.allclose(gains, 1 + scale * unit, atol=NEARLY):
                found.append({"scale": scale, "length": length, "first": first})
    for each in found:  # the steps tell from where positions are counted
        asked = torch.tensor(edges(each))
        if asked.max() <= positions.max() and torch.allclose(
            _gains(turn, asked), query_gain(asked, **each), atol=NEARLY
        ):
            return each
    return None


def grows(turn: Turn) -> bool:
    """Whether vectors are longer, or shorter, far away than at position 0."""
    gains = _gains(turn, _reached(turn))
    return bool((gains / gains[0] - 1).abs().max() > NEARLY)


def gains_told(turn: Turn) -> str:
    """By which numbers vectors are multiplied at some positions, in words."""
    positions = _reached(turn)
    told = list(zip(positions.tolist(), _gains(turn, positions).tolist(), strict=True))
    shown = [pair for i, pair in enumerate(told) if i == 0 or abs(pair[1] - told[i - 1][1]) > 1e-4]
    return ", ".join(f"{gain:.5g} at position {p}" for p, gain in [*shown[:4], *shown[4:][-1:]])


def rule_told(temperature: dict) -> str:
    """The rule, as one writes it."""
    scale, length, first = (temperature[key] for key in ("scale", "length", "first"))
    counted = f"(p + {first})" if first else "p"
    return f"1 + {number(scale)} ln(1 + floor({counted}/{number(length)}))"


def temperature_mistakes(rope: Rope) -> list[Mistake]:
    """Known ways to get the growth of queries wrong; none without it."""
    right = rope.temperature
    if right is None:
        return []
    bare, first = rope.but(temperature=None), right["first"]

    def by(gain: Callable[[Tensor], Tensor]) -> Callable[[Tensor, Tensor], Tensor]:
        return lambda x, p: (bare(x, p) * gain(p)[:, None]).to(x.dtype)

    def steady(p: Tensor) -> Tensor:
        counted = (p.double() + first) / right["length"]
        return 1 + right["scale"] * torch.log1p(counted)

    rule = rule_told(right)
    return [
        Mistake(
            FORGOTTEN,
            f"queries are not multiplied by {rule} (attention temperature), or elsewhere",
            bare,
        ),
        *(
            Mistake(
                f"queries grow {'a position late' if other < first else 'a position early'}",
                f"queries are multiplied by {rule_told({**right, 'first': other})}, not by {rule}",
                rope.but(temperature={**right, "first": other}),
            )
            for other in (first - 1, first + 1)
            if other >= 0
        ),
        Mistake(
            "queries grow without steps",
            f"the floor is missing: queries are to be multiplied by {rule}",
            by(steady),
        ),
        Mistake(
            "queries grow twice",
            f"queries are multiplied by the square of {rule}",
            by(lambda p: query_gain(p, **right) ** 2),
        ),
        Mistake(
            "queries are divided where they should grow",
            f"queries are divided by {rule}, not multiplied",
            by(lambda p: 1 / query_gain(p, **right)),
        ),
        *(
            Mistake(
                f"queries grow from {length} on, not from {right['length']} on",
                f"queries are multiplied by {rule_told({**right, 'length': length})}, not by "
                f"{rule}: another length is taken",
                rope.but(temperature={**right, "length": length}),
            )
            for length in LENGTHS
            if length != right["length"]
        ),
    ]


def keys_grow(rope: Rope) -> list[Mistake]:
    """What queries do, done to keys."""
    if rope.temperature is None:
        return []
    hint = f"only queries are to be multiplied by {rule_told(rope.temperature)}, keys are, too"
    return [Mistake("keys grow as queries do", hint, rope)]


def _reached(turn: Turn) -> Tensor:
    """The positions up to the farthest that it takes."""
    positions = [*NEAR, *FAR]
    x = torch.ones(1, 1, turn.head_dim)
    while len(positions) > len(NEAR):
        try:
            turn(x.expand(-1, len(positions), -1).contiguous(), torch.tensor(positions))
            break
        except Exception:  # whatever somebody else's code does when it ends
            positions.pop()
    return torch.tensor(positions)


def _gains(turn: Turn, positions: Tensor) -> Tensor:
    """The length of what comes out, over that of what went in, at each position."""
    x = torch.randn(1, 1, turn.head_dim, generator=torch.Generator().manual_seed(7))
    out = turn(x.expand(-1, len(positions), -1).contiguous(), positions)[0]
    return out.double().norm(dim=-1) / x.double().norm()
