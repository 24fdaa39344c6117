"""How far every implementation is from the true encoding, up to position one million."""

from collections.abc import Callable
from unittest import mock

import numpy as np
import torch
from torch import Tensor

from benchmarks import peers
from benchmarks.report import ABSENT, Report, Target
from posenc import TransformerXLRelative, angles, inverse_frequencies, phasors
from posenc import sinusoidal_encoding as sinusoidal
from posenc import tensor2tensor_encoding as tensor2tensor

PLACES = (1_000, 65_536, 1_000_000)
ROWS = 256  # positions tested up to each place
DIM = 128
HALF_BF16 = 2.0**-9  # half a unit in the last place of bfloat16, for values near 1

Table = Callable[[Tensor], Tensor]  # positions -> [positions, dim]


def run(report: Report, *, quick: bool) -> None:
    """Report rounding errors of tables, of rotation angles and of modules cast to bfloat16."""
    bits = np.finfo(np.longdouble).nmant + 1
    report.section(
        "Exactness",
        f"Truth: the formula in {bits}-bit floats; {DIM} channels, the {ROWS} positions up to",
        "each place. Float64 angles at 1e6 are off by about 1e-10: the float64 row is their limit.",
    )
    shares = _tables(report)
    _rotations(report)
    worst = _modules_in_bfloat16(report)
    report.target(
        Target("float32 entries correctly rounded to 1e6", shares["posenc"], 100, True, " %"),
        Target("module cast to bf16: error / half a last bit", worst / HALF_BF16, 1.001),
    )


def truth(positions: Tensor, *, endpoint: bool = False, halves: bool = False) -> np.ndarray:
    """Sines and cosines in extended precision, interleaved or in halves."""
    half = DIM // 2
    rates = np.longdouble(10_000) ** (-np.arange(half) / np.longdouble(half - endpoint))
    turn = positions.numpy().astype(np.longdouble)[:, None] * rates
    pairs = np.stack((np.sin(turn), np.cos(turn)), axis=1 if halves else 2)
    return pairs.reshape(len(positions), DIM)


def error(table: Table, last: int, **layout: bool) -> tuple[float, float]:
    """Largest error over the positions up to `last`, and the share of correctly rounded entries."""
    positions = torch.arange(last - ROWS + 1, last + 1)
    exact, values = truth(positions, **layout), table(positions).float().numpy()
    return float(abs(values - exact).max()), float((values == exact.astype(np.float32)).mean())


def _tables(report: Report) -> dict[str, float]:
    halves = {"halves": True}
    endpoint = {"halves": True, "endpoint": True}
    tables = {
        "posenc": (lambda p: sinusoidal(p, DIM), {}),
        "posenc, tensor2tensor": (lambda p: tensor2tensor(p, DIM), endpoint),
        "float64 formula in NumPy": (_numpy_table, {}),
        "angle addition": (lambda p: peers.addition_table(int(p[-1]) + 1, DIM)[p], {}),
        "usual torch formula": (lambda p: peers.usual_table(p, DIM), {}),
        "fairseq's formula": (lambda p: peers.fairseq_table(p, DIM), endpoint),
        "positional-encodings": (peers.optional(_positional_encodings), {}),
        "x-transformers": (peers.optional(lambda: peers.x_transformers_table(DIM)), halves),
    }
    rows, shares = [], {}
    for name, (table, layout) in tables.items():
        if table is None:
            rows.append([name, *[ABSENT] * (len(PLACES) + 1)])
            continue
        errors = [error(table, last, **layout) for last in PLACES]
        shares[name] = 100 * float(np.mean([share for _, share in errors]))
        rows.append([name, *(f"{e:.1e}" for e, _ in errors), f"{shares[name]:.3f} %"])
    report.table(["float32 table: max error", *map(str, PLACES), "correctly rounded"], rows)
    return shares


def _rotations(report: Report) -> None:
    places = (8_191, 1_000_000)
    rotations = {
        "posenc phasors": lambda p: _as_table(phasors(angles(p, inverse_frequencies(DIM)))),
        "transformers Llama": peers.optional(_llama),
        "x-transformers": peers.optional(_x_transformers_rotary),
    }
    rows = [
        [name, *(ABSENT if table is None else f"{error(table, p)[0]:.1e}" for p in places)]
        for name, table in rotations.items()
    ]
    report.line()
    report.table(["RoPE cosines and sines: max error", *map(str, places)], rows)


def _modules_in_bfloat16(report: Report) -> float:
    last = 8_192
    modules = {
        "posenc TransformerXLRelative": (_transformer_xl, {"halves": True}),
        "transformers Llama": (peers.optional(lambda: _llama(torch.bfloat16)), {}),
        "x-transformers rotary": (
            peers.optional(lambda: _x_transformers_rotary(torch.bfloat16)),
            {},
        ),
        "positional-encodings": (
            peers.optional(lambda: _positional_encodings(torch.bfloat16)),
            {},
        ),
    }
    errors = {
        name: None if table is None else error(table, last, **layout)[0]
        for name, (table, layout) in modules.items()
    }
    rows = [[name, ABSENT if e is None else f"{e:.1e}"] for name, e in errors.items()]
    report.line()
    report.table(["module cast to bfloat16: max error", str(last)], rows)
    return errors["posenc TransformerXLRelative"]


def _as_table(z: Tensor) -> Tensor:
    return torch.stack((z.imag, z.real), dim=-1).flatten(-2)


def _numpy_table(positions: Tensor) -> Tensor:
    turn = positions.numpy()[:, None] * 10_000.0 ** (-np.arange(0, DIM, 2) / DIM)
    return torch.from_numpy(np.stack((np.sin(turn), np.cos(turn)), axis=-1)).flatten(1).float()


def _positional_encodings(dtype: torch.dtype = torch.float32) -> Table:
    """The package's own buffer and steps, at any positions; its module starts at 0 only."""
    from positional_encodings.torch_encodings import PositionalEncoding1D, get_emb

    inv_freq = PositionalEncoding1D(DIM).to(dtype).inv_freq
    return lambda p: get_emb(torch.einsum("i,j->ij", p.to(dtype), inv_freq))


def _llama(dtype: torch.dtype = torch.float32) -> Table:
    module = peers.llama_rotary(DIM).to(dtype)

    def table(positions: Tensor) -> Tensor:
        cos, sin = module(torch.empty(0, dtype=dtype), positions[None])
        return _as_table(torch.complex(cos[0].float(), sin[0].float())[:, : DIM // 2])

    return table


def _x_transformers_rotary(dtype: torch.dtype = torch.float32) -> Table:
    from x_transformers.x_transformers import RotaryEmbedding

    module = RotaryEmbedding(DIM).to(dtype)

    def table(positions: Tensor) -> Tensor:
        turn = module(positions)[0][0, :, ::2].float()
        return torch.stack((turn.sin(), turn.cos()), dim=-1).flatten(-2)

    return table


def _transformer_xl(positions: Tensor) -> Tensor:
    """The encoding that a module cast to bfloat16 computes for itself, caught on its way."""
    module = TransformerXLRelative(1, 8, DIM).to(torch.bfloat16)
    q = torch.zeros(1, 1, 8, dtype=torch.bfloat16)
    keys = torch.zeros(1, len(positions), 8, dtype=torch.bfloat16)
    caught = []

    def spy(*args, **kwargs) -> Tensor:
        caught.append(sinusoidal(*args, **kwargs))
        return caught[-1]

    with mock.patch("posenc.transformer_xl.sinusoidal_encoding", spy):
        module(q, keys, keys, positions[-1:] + positions[0], positions)
    return caught[0].flip(0)  # distances from the query at last + first: last ... first
