"""T5's buckets: near distances one by one, far ones together."""

import torch

from posenc import t5_buckets
from posenc.show.live.figure import LiveFigure, State
from posenc.show.live.marks import choice, controls, knob, line, note, plot, slider

LAST = 160  # the farthest distance shown
COUNTS, FARTHEST = (8, 16, 32), (32, 64, 128)


def buckets(*, num_buckets: int = 32, max_distance: int = 128, distance: int = 40) -> LiveFigure:
    """The bucket of each distance back, as a decoder's T5 rounds it.

    Args:
        num_buckets: to begin with: 8, 16 or 32.
        max_distance: likewise: 32, 64 or 128.
        distance: likewise, from 0 to 160.

    Returns:
        What a notebook displays.

    Raises:
        ValueError: if a number is another one.

    Example:
        >>> buckets()
        live figure: buckets, d=40, num_buckets=32, max_distance=128
    """
    if num_buckets not in COUNTS:
        raise ValueError(f"num_buckets must be one of {COUNTS}, got {num_buckets}")
    if max_distance not in FARTHEST:
        raise ValueError(f"max_distance must be one of {FARTHEST}, got {max_distance}")
    if not 0 <= distance <= LAST:
        raise ValueError(f"distance must be from 0 to {LAST}, got {distance}")
    distances = torch.arange(LAST + 1)
    tables = {
        f"{count} {far}": t5_buckets(
            -distances, num_buckets=count, max_distance=far, bidirectional=False
        )
        for count in COUNTS
        for far in FARTHEST
    }

    def values(state: State) -> dict:
        table = tables[f"{state['num_buckets']} {state['max_distance']}"]
        bucket = table[state["d"]].item()
        members = (table == bucket).nonzero()[:, 0]
        first, last = members[0].item(), members[-1].item()
        share = bucket / (int(state["num_buckets"]) - 1)
        return {
            "steps": _steps(table.tolist()),
            "y": share,
            "here": [[_left(first), share], [min(last + 0.5, LAST), share]],
            "d": state["d"],
            "bucket": bucket,
            "bucket_said": f"bucket {bucket}",
            "first": first,
            "last": last,
            "d_said": str(state["d"]),
            "top": str(int(state["num_buckets"]) - 1),
        }

    def describe(state: State, values: dict) -> str:
        said = f"Distance {values['d_said']} is in bucket {values['bucket']}"
        first, last = values["first"], values["last"]
        if first == last:
            return f"{said}, alone."
        if last == LAST:
            return f"{said}, with all from {first} on."
        return f"{said}, with {first} to {last}: {last - first + 1} distances."

    return LiveFigure(
        "buckets",
        "T5's bucket of each distance",
        plot(
            line(data_set="d:steps"),
            line(data_set="d:here", class_="line p thick"),
            x=(0, LAST),
            y=(-0.06, 1.12),
            xticks={d: str(d) for d in range(0, LAST + 1, 32)},
            yticks={0: "0", 1: "=top"},
            xlabel="distance back (tokens)",
            ylabel="bucket",
            height="17em",
            over=[
                knob("--x:d --y:y", colour="p", drag="d"),
                note("--x:d --y:y", "bucket_said", side="below"),
            ],
            data_drag="d",
            data_tip="d",
        ),
        controls(
            slider("d", "distance", 0, LAST, said="d_said", colour="p", whole=True),
            choice("num_buckets", "buckets", {str(n): str(n) for n in COUNTS}),
            choice("max_distance", "max_distance", {str(n): str(n) for n in FARTHEST}),
        ),
        data={
            "starts": {name: _starts(table.tolist()) for name, table in tables.items()},
            "last": LAST,
        },
        state={
            "d": distance,
            "num_buckets": str(num_buckets),
            "max_distance": str(max_distance),
        },
        values=values,
        describe=describe,
    )


def _left(distance: int) -> float:
    """Where the step of a distance begins."""
    return max(0.0, distance - 0.5)


def _starts(table: list[int]) -> list[int]:
    """Bucket -> its first distance; buckets that are empty begin where the next one does."""
    return [next(d for d, b in enumerate(table) if b >= bucket) for bucket in range(table[-1] + 1)]


def _steps(table: list[int]) -> list[list[float]]:
    """The corners of the stairs."""
    points = []
    for d, bucket in enumerate(table):
        if not points or bucket != table[d - 1]:
            points += [[_left(d), points[-1][1]]] if points else []
            points.append([_left(d), bucket / table[-1]])
    return [*points, [float(LAST), 1.0]]
