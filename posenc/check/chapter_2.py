"""Questions of chapter 2: sinusoidal encodings."""

import math

import torch
from torch import Tensor

from posenc.check.question import Case, Comparison, Misconception
from posenc.frequencies import angles, inverse_frequencies
from posenc.sinusoidal import shift_matrix, sinusoidal_encoding


def _weave(turn: Tensor) -> Tensor:
    """Sines and cosines of angles [n, pairs] in turn, as the formula has them."""
    return torch.stack((turn.sin(), turn.cos()), dim=-1).flatten(-2)


def _turns(positions: Tensor, dim: int, base: float, power: float = 1.0) -> Tensor:
    return angles(positions, inverse_frequencies(dim, base=base) ** power)


def _wrong_index(positions: Tensor, dim: int, base: float) -> Tensor:
    """Use base^(channel/dim), the channel where the formula has twice the pair."""
    turn = positions[:, None] / base ** (torch.arange(dim) / dim)
    return torch.where(torch.arange(dim) % 2 == 0, turn.sin(), turn.cos())


SINUSOIDAL_WRONG = (
    Misconception(
        "degrees",
        "These are sines of degrees. torch.sin takes radians.",
        lambda p, d, b: _weave(_turns(p, d, b) * math.pi / 180),
    ),
    Misconception(
        "sine and cosine exchanged",
        "At position 0 the first channel should be sin(0).",
        lambda p, d, b: _weave(_turns(p, d, b)).unflatten(-1, (-1, 2)).flip(-1).flatten(-2),
    ),
    Misconception(
        "all sines first",
        "The right numbers in another order: sine and cosine of a pair are neighbours here.",
        lambda p, d, b: sinusoidal_encoding(p, d, base=b, layout="half"),
    ),
    Misconception(
        "i for 2i",
        "The two channels of a pair turn at different speeds. What does i count in 2i/dim, "
        "channels or pairs?",
        _wrong_index,
    ),
    Misconception(
        "exponent halved",
        "The exponent is 2i/dim for pair i; with i/dim the hands are too fast.",
        lambda p, d, b: _weave(_turns(p, d, b, 0.5)),
    ),
    Misconception(
        "multiplied by the wavelength",
        "The later pairs should turn slowly. Does the power of the base divide, or multiply?",
        lambda p, d, b: _weave(_turns(p, d, b, -1.0)),
    ),
    Misconception(
        "base misplaced",
        "The base is raised to 2i/dim; here 2i/dim is raised, or multiplied, instead.",
        lambda p, d, b: _weave(p[:, None] / (b * torch.arange(0, d, 2) / d).clamp(min=1.0)),
    ),
    Misconception(
        "base ignored",
        "Right for one base only. Is there a 10000 in your code?",
        lambda p, d, b: sinusoidal_encoding(p, d),
    ),
    Misconception(
        "counted from 1",
        "Every row is that of the next position. The positions are given; use them as they are.",
        lambda p, d, b: sinusoidal_encoding(p + 1, d, base=b),
    ),
    Misconception(
        "positions replaced",
        "The rows are those of 0, 1, 2, ... Use the positions that you are given.",
        lambda p, d, b: sinusoidal_encoding(torch.arange(len(p)), d, base=b),
    ),
    Misconception(
        "tensor2tensor's exponent",
        "The last pair is too slow. The paper divides by dim, its code divides by dim - 2.",
        lambda p, d, b: _weave(angles(p, inverse_frequencies(d, base=b, endpoint=True))),
    ),
)

sinusoidal = Comparison(
    "sinusoidal",
    lambda positions, dim, base: sinusoidal_encoding(positions, dim, base=base),
    [
        Case("positions 0 to 3, 8 channels", torch.arange(4), 8, 10_000.0),
        Case("another base", torch.arange(4), 8, 100.0),
        Case("positions that start at 7", torch.arange(7, 12), 6, 10_000.0),
        Case("negative and fractional positions", torch.tensor([-3.0, 0.5, 2.25]), 8, 10_000.0),
        Case("far away: 100 000", torch.tensor([100_000]), 4, 10_000.0),
    ],
    SINUSOIDAL_WRONG,
    tolerance=2e-3,
)


def _dot(offset: int, dim: int, base: float) -> Tensor:
    return angles(torch.tensor(offset), inverse_frequencies(dim, base=base)).cos().sum()


dot_product = Comparison(
    "dot_product",
    _dot,
    [
        Case("offset 0", 0, 16, 10_000.0),
        Case("offset 5", 5, 16, 10_000.0),
        Case("offset -5", -5, 16, 10_000.0),
        Case("another width and base", 40, 64, 500.0),
    ],
    [
        Misconception(
            "divided by the number of channels",
            "A dot product is a sum. What is it at offset 0?",
            lambda k, d, b: _dot(k, d, b) / d,
        ),
        Misconception(
            "mean of the cosines",
            "A dot product is a sum. At offset 0 it is the squared length of a row, not 1.",
            lambda k, d, b: _dot(k, d, b) / (d // 2),
        ),
        Misconception(
            "one cosine a channel",
            "Twice too much: sin a sin b + cos a cos b is one cosine for both channels of a pair.",
            lambda k, d, b: 2 * _dot(k, d, b),
        ),
        Misconception(
            "sines for cosines",
            "Which identity ends in sin a sin b + cos a cos b? At offset 0 the result is not 0.",
            lambda k, d, b: angles(torch.tensor(k), inverse_frequencies(d, base=b)).sin().sum(),
        ),
        Misconception(
            "base ignored",
            "Right for one base only. Is there a 10000 in your code?",
            lambda k, d, b: _dot(k, d, 10_000.0),
        ),
    ],
)


def _rows(*positions: float, dim: int, base: float = 10_000.0) -> Tensor:
    return sinusoidal_encoding(torch.tensor(positions), dim, base=base, dtype=torch.float64)


def _moved(rows: Tensor, offset: float, base: float) -> Tensor:
    return rows @ shift_matrix(offset, inverse_frequencies(rows.shape[-1], base=base))


def _half_turned(rows: Tensor, offset: float, base: float) -> Tensor:
    """Take channel i and channel i + dim/2 for a pair."""
    turn = _turns(torch.tensor([float(offset)]), rows.shape[-1], base)
    sin, cos = rows.chunk(2, dim=-1)
    return torch.cat(
        (sin * turn.cos() + cos * turn.sin(), cos * turn.cos() - sin * turn.sin()), dim=-1
    )


moved = Comparison(
    "moved",
    _moved,
    [
        Case("3 further, from 7", _rows(7, dim=8), 3, 10_000.0),
        Case("3 back, from 7", _rows(7, dim=8), -3, 10_000.0),
        Case("many rows at once", _rows(0, 2, 50, dim=6), 10, 10_000.0),
        Case("half a position, another base", _rows(1, 4, dim=8, base=50.0), 0.5, 50.0),
    ],
    [
        Misconception(
            "sign",
            "This moves the other way. Check it with position 0: sin(0 + a) = sin a.",
            lambda rows, offset, base: _moved(rows, -offset, base),
        ),
        Misconception(
            "added, not rotated",
            "You added the encoding of the offset. Encodings do not add: rotate each pair.",
            lambda rows, offset, base: (
                rows + sinusoidal_encoding(torch.tensor(offset), rows.shape[-1], base=base)
            ),
        ),
        Misconception(
            "halves for pairs",
            "The two channels of a pair are neighbours here, not half a row apart.",
            _half_turned,
        ),
        Misconception(
            "one angle for all",
            "Each pair turns at its own speed; you turned all by the angle of the first.",
            lambda rows, offset, base: (
                rows @ shift_matrix(offset, torch.ones(rows.shape[-1] // 2, dtype=torch.float64))
            ),
        ),
        Misconception(
            "base ignored",
            "Right for one base only. Is there a 10000 in your code?",
            lambda rows, offset, base: _moved(rows, offset, 10_000.0),
        ),
        Misconception(
            "degrees",
            "These are rotations by degrees. torch.sin and torch.cos take radians.",
            lambda rows, offset, base: _moved(rows, offset * math.pi / 180, base),
        ),
    ],
    tolerance=1e-3,
)


def _mended(positions: Tensor, dim: int) -> Tensor:
    return sinusoidal_encoding(positions, dim)


def _in_bfloat16(positions: Tensor, dim: int) -> Tensor:
    return sinusoidal_encoding(positions.bfloat16(), dim)


mended_sinusoidal = Comparison(
    "mended_sinusoidal",
    _mended,
    [
        Case("positions 0 to 3", torch.arange(4), 8),
        Case("16 channels", torch.arange(4), 16),
        Case("positions 255 to 260", torch.arange(255, 261), 8),
    ],
    [
        Misconception(
            "two bugs left",
            "The speeds are still wrong, and positions beyond 256 still run together.",
            lambda p, d: _wrong_index(p.bfloat16().double(), d, 10_000.0),
        ),
        Misconception(
            "i for 2i",
            "Some rows are still wrong from channel 1 on: which channels form a pair, and do they "
            "turn at one speed?",
            lambda p, d: _wrong_index(p, d, 10_000.0),
        ),
        Misconception(
            "positions in bfloat16",
            "Small positions are right, larger ones are not: bfloat16 has 8 significant bits. "
            "Which whole numbers can it hold?",
            _in_bfloat16,
        ),
        Misconception(
            "angles in bfloat16",
            "The angles are rounded to 8 significant bits. Round at the very end, if at all.",
            lambda p, d: _weave(_turns(p, d, 10_000.0).bfloat16().double()),
        ),
    ],
    tolerance=2e-3,
)
