"""Time to make a sinusoidal table."""

from functools import partial

import torch

from benchmarks import peers
from benchmarks.report import Report, Target
from benchmarks.timing import Cases, race
from posenc import sinusoidal_encoding

SIZES = ((5_000, 512), (65_536, 1_024))
QUICK = ((5_000, 512), (8_192, 512))
ACCEPTED = 0.6  # of the speed of fairseq's formula: what exact float64 angles may cost


def run(report: Report, *, quick: bool) -> None:
    """Report table times, and what exactness costs."""
    report.section(
        "Sinusoidal table",
        "posenc evaluates sin and cos of float64 angles in blocks, and every entry is exact. Angle",
        "addition would be faster, but some entries then differ in the last bit; fairseq's float32",
        f"formula is faster too. {ACCEPTED} of its speed is what exactness may cost.",
    )
    sizes = QUICK if quick else SIZES
    races = {
        f"{n} x {dim}": race(
            _cases(n, dim), rounds=3 if quick else 5 if n > 10_000 else 15, label=f"table {n}"
        )
        for n, dim in sizes
    }
    report.races(races, "usual torch formula")
    ours = [race.ratio("fairseq's formula", "posenc") for race in races.values()]
    report.target(
        *(
            Target(f"table {size}, exact: speed over fairseq's", speed, ACCEPTED, True)
            for size, speed in zip(races, ours, strict=True)
        )
    )


def _cases(n: int, dim: int) -> Cases:
    positions = torch.arange(n)
    package = peers.optional(lambda: peers.positional_encodings_table(dim))
    x_transformers = peers.optional(lambda: peers.x_transformers_table(dim))
    return {
        "usual torch formula": lambda: peers.usual_table(positions, dim),
        "allocate and write": lambda: torch.empty(n, dim).fill_(1.0),
        "posenc": lambda: sinusoidal_encoding(positions, dim),
        "posenc, halves": lambda: sinusoidal_encoding(positions, dim, layout="half"),
        "angle addition (reference)": lambda: peers.addition_table(n, dim),
        "fairseq's formula": lambda: peers.fairseq_table(positions, dim),
        "positional-encodings": package and partial(package, n),
        "x-transformers": x_transformers and partial(x_transformers, positions),
    }
