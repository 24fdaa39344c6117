"""The table of encodings as a heat map: channels, base and length to choose."""

import torch
from torch import Tensor

from posenc import inverse_frequencies, sinusoidal_encoding, wavelengths
from posenc.show.live.figure import LiveFigure, State
from posenc.show.live.heat import colour_key, painted
from posenc.show.live.marks import controls, fixed, h, knob, line, nearest, plot, slider

LONGEST, FINE = 128, 4  # positions, and points of the curve from one to the next


def encoding_table(*, dim: int = 32, base: float = 10_000.0, length: int = 64) -> LiveFigure:
    """`sinusoidal_encoding` of positions 0 ... length - 1: a row a position, a column a channel.

    Beside it stands the column that is pointed at, as the wave that it is taken from.

    Args:
        dim: channels to begin with, even, from 2 to 64.
        base: to begin with, from 2 to 1,000,000.
        length: positions to begin with, from 8 to 128.

    Returns:
        What a notebook displays.

    Raises:
        ValueError: if dim, base or length is out of range.

    Example:
        >>> encoding_table(dim=8, length=16)
        live figure: encoding_table, r=5, c=2, pairs=4, log_base=4, length=16
    """
    if dim % 2 or not 2 <= dim <= 64:
        raise ValueError(f"dim must be even and from 2 to 64, got {dim}")
    if not 2 <= base <= 1e6:
        raise ValueError(f"base must be from 2 to 1,000,000, got {base}")
    if not 8 <= length <= LONGEST:
        raise ValueError(f"length must be from 8 to {LONGEST}, got {length}")
    start = {
        "r": min(5, length - 1),
        "c": min(2, dim - 1),
        "pairs": dim // 2,
        "log_base": torch.tensor(base, dtype=torch.float64).log10().item(),
        "length": length,
    }

    def encoded(positions: Tensor, state: State) -> Tensor:
        channels, base = 2 * nearest(state["pairs"]), 10 ** state["log_base"]
        return sinusoidal_encoding(positions, channels, base=base, dtype=torch.float64)

    def table_of(state: State) -> Tensor:
        return encoded(torch.arange(nearest(state["length"])), state)

    def values(state: State) -> dict:
        table = table_of(state)
        count, channels = table.shape
        r = min(max(nearest(state["r"]), 0), count - 1)
        c = min(max(nearest(state["c"]), 0), channels - 1)
        speeds = inverse_frequencies(channels, base=10 ** state["log_base"])
        column = table[:, c].tolist()
        between = torch.linspace(0, count - 1, FINE * (count - 1) + 1, dtype=torch.float64)
        wave = zip(between.tolist(), encoded(between, state)[:, c].tolist(), strict=True)
        return {
            "row": table[r].tolist(),
            "column": [[v, 1 - (i + 0.5) / count] for i, v in enumerate(column)],
            "wave": [[v, 1 - (p + 0.5) / count] for p, v in wave],
            "x": (c + 0.5) / channels,
            "y": 1 - (r + 0.5) / count,
            "width": 1 / channels,
            "height": 1 / count,
            "left": c / channels,
            "below": 1 - (r + 1) / count,
            "value": column[r],
            "value_said": fixed(column[r], 2),
            "r_said": str(r),
            "c_said": str(c),
            "wave_said": fixed(wavelengths(speeds)[c // 2].item(), 0),
            "kind": "cosine" if c % 2 else "sine",
            "pair": c // 2,
            "dim_said": str(channels),
            "base_said": f"{nearest(10 ** state['log_base']):,}",
            "length_said": str(count),
            "last_row": str(count - 1),
            "last_channel": str(channels - 1),
        }

    def describe(state: State, values: dict) -> str:
        return (
            f"{values['length_said']} positions, {values['dim_said']} channels, base "
            f"{values['base_said']}. Position {values['r_said']}, channel {values['c_said']}, the "
            f"{values['kind']} of pair {values['pair']}: {values['value_said']}. Its wave is "
            f"{values['wave_said']} positions long."
        )

    table = plot(
        h("rect", class_="cross", width=1, y=0, height=0.001, data_set="--y:below height:height"),
        h("rect", class_="cross", height=1, x=0, width=0.001, data_set="--x:left width:width"),
        x=(0, 1),
        y=(0, 1),
        xticks={0: "0", 1: "=last_channel"},
        yticks={1: "0", 0: "=last_row"},
        xlabel="channel",
        ylabel="position (down)",
        height="22em",
        under=painted(table_of(start)),
        data_drag="cell",
        data_tip="cell",
    )
    column = plot(
        line([(0, 0), (0, 1)], class_="axis"),
        line(data_set="d:wave", class_="line p"),
        x=(-1.1, 1.1),
        y=(0, 1),
        xticks={-1: "\N{MINUS SIGN}1", 1: "1"},
        xlabel="column",
        ylabel="\N{NO-BREAK SPACE}",
        height="22em",
        over=[knob("--x:value --y:y", colour="p", drag="wave")],
        data_drag="wave",
        data_tip="wave",
    )
    return LiveFigure(
        "encoding_table",
        "The table of encodings as a heat map, with one column as a curve",
        h("div", table, column, class_="beside"),
        colour_key("sine or cosine", "\N{MINUS SIGN}1", "1"),
        controls(
            slider("pairs", "channels", 1, 32, said="dim_said"),
            slider("log_base", "base", 0.301029996, 6, step=0.25, said="base_said"),
            slider("length", "positions", 8, LONGEST, step=4, said="length_said"),
            slider("r", "position", 0, LONGEST - 1, said="r_said", colour="p"),
            slider("c", "channel", 0, 63, said="c_said", colour="p"),
        ),
        data={},
        state=start,
        values=values,
        describe=describe,
    )
