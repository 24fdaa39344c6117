"""The question of chapter 5 on speeds: what fast pairs are for, and what slow ones.

The score of a query with an equal key, o positions away, is that of RoPE, scaled to 1 at o = 0:

    s(o) = mean over pairs of cos(o w_i)
"""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from posenc.check.calls import Wrong
from posenc.check.plain import Values
from posenc.check.question import Probe

Numbers = Callable[..., Values]  # of arguments, and perhaps a seed

NEIGHBOURS = (0.8, 0.98)
FAR = 0.65  # the most that s may be from an eighth of the length on
TURNED = math.pi / 2  # radians that the slowest pair turns within the length, at the least
ROUNDING = 1e-5  # of a limit: who means exactly that, in float32, may miss it by so much
FASTEST = math.pi * (1 + ROUNDING)


def _speeds(numbers: Numbers, dim: int, length: int) -> Tensor:
    values = numbers((dim, length))
    if values.shape != (dim // 2,):
        raise Wrong(
            f"its result has the shape {list(values.shape)}, not {[dim // 2]}",
            "One speed a pair, and a pair has two channels.",
        )
    found = values.tensor()
    if not (found.isfinite().all() and (found > 0).all() and (found <= FASTEST).all()):
        raise Wrong(
            "speeds must be above 0 and at most pi",
            "Who turns by more than half a turn a position seems to turn backwards.",
        )
    return found


def scores(speeds: Tensor, length: int) -> Tensor:
    """The score s at each of the distances 0, 1, ..., length - 1.

    Example:
        >>> scores(torch.tensor([math.pi]), 3).round().tolist()
        [1.0, -1.0, 1.0]
    """
    return (torch.arange(length, dtype=torch.float64)[:, None] * speeds.double()).cos().mean(-1)


def _require_neighbours(speeds: Tensor, dim: int, length: int) -> None:
    near = scores(speeds, 2)[1].item()
    low, high = NEIGHBOURS
    if near > high:
        hint = "A neighbour scores like the word itself. Which pairs tell the two apart?"
    elif near < low:
        hint = "A neighbour should still score much like the word itself. Which pairs are too fast?"
    else:
        return
    raise Wrong(f"s(1) is {near:.3f} for {dim} channels, not from {low} to {high}", hint)


def _require_turning(speeds: Tensor, dim: int, length: int) -> None:
    turned = speeds.min().item() * length
    if turned < TURNED * (1 - ROUNDING):
        raise Wrong(
            f"one of {dim // 2} pairs turns by {turned:.3g} radians in {length} positions",
            "This pair says nearly the same everywhere: it is lost for telling places apart.",
        )


def _require_no_likeness(speeds: Tensor, dim: int, length: int) -> None:
    far = scores(speeds, length)
    start = length // 8
    worst = start + far[start:].argmax().item()
    if far[worst] > FAR:
        raise Wrong(
            f"s({worst}) is {far[worst]:.3f} for {dim} channels and length {length}, above {FAR}",
            "A far word scores like a near one: many pairs are back where they began. What have "
            "their speeds in common?",
        )


def parts(*settings: Sequence[int]) -> dict[str, Callable[[Numbers], None]]:
    """What speeds must do.

    Args:
        settings: channels of a head, and the length of the text; all are tried in each part.
    """
    required = {
        "as many as pairs": lambda speeds, dim, length: None,
        "neighbours are alike, and not the same": _require_neighbours,
        "no pair is idle": _require_turning,
        "nothing far looks near": _require_no_likeness,
    }

    def part(require: Callable[[Tensor, int, int], None]) -> Callable[[Numbers], None]:
        def in_all(numbers: Numbers) -> None:
            for dim, length in settings:
                require(_speeds(numbers, dim, length), dim, length)

        return in_all

    return {label: part(require) for label, require in required.items()}


speeds = Probe("speeds", parts((32, 600), (48, 1000)))
