"""Questions of chapter 2: sinusoidal encodings."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from grading.questions.master import Case, Comparison, Draw, Misconception, Test
from posenc.check.ways import ALL
from posenc.frequencies import angles, inverse_frequencies
from posenc.sinusoidal import shift_matrix, sinusoidal_encoding

NOT_THERE = (ALL, "posenc.check.frequencies.scores")  # the set is written without posenc


def _weave(turn: Tensor) -> Tensor:
    """Sines and cosines of angles [n, pairs] in turn, as the formula has them."""
    return torch.stack((turn.sin(), turn.cos()), dim=-1).flatten(-2)


def _turns(positions: Tensor, dim: int, base: float, power: float = 1.0) -> Tensor:
    return angles(positions, inverse_frequencies(dim, base=base) ** power)


def _wrong_index(positions: Tensor, dim: int, base: float) -> Tensor:
    """Use base^(channel/dim), the channel where the formula has twice the pair."""
    turn = positions[:, None] / base ** (torch.arange(dim) / dim)
    return torch.where(torch.arange(dim) % 2 == 0, turn.sin(), turn.cos())


def _doubled_index(positions: Tensor, dim: int, base: float) -> Tensor:
    """Use base^(2 channel/dim), with i for the channel and not for the pair."""
    return _wrong_index(positions, dim, base**2)


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
        "i counts channels",
        "Channel 2 turns at the speed that channel 4 should have, and channel 3 at another one: i "
        "counts pairs.",
        _doubled_index,
    ),
    Misconception(
        "i counts every other channel",
        "Channels 2 and 3 turn at the speed that channels 4 and 5 should have: i counts pairs, one "
        "by one.",
        lambda p, d, b: _weave(_turns(p, d, b, 2.0)),
    ),
    Misconception(
        "cosine of the next pair",
        "All sines are right. At which speed do your cosines turn?",
        lambda p, d, b: torch.stack(
            (_turns(p, d, b).sin(), (_turns(p, d, b) * b ** (-2 / d)).cos()), dim=-1
        ).flatten(-2),
    ),
    Misconception(
        "multiplied by dim",
        "Only the first pair turns. Does dim divide in the exponent, or multiply?",
        lambda p, d, b: _weave(p[:, None] * (torch.arange(0, d, 2) == 0)),
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
        "whole positions",
        "Right for whole positions alone. What becomes of 0.5 in your code?",
        lambda p, d, b: sinusoidal_encoding(p.long(), d, base=b),
    ),
    Misconception(
        "positions without sign",
        "Right from 0 on. The sine of a negative position is not that of the positive one.",
        lambda p, d, b: sinusoidal_encoding(p.abs(), d, base=b),
    ),
    Misconception(
        "positions sorted",
        "These are the right rows, sorted. Each belongs to one position: keep their order.",
        lambda p, d, b: sinusoidal_encoding(p.sort().values, d, base=b),
    ),
    Misconception(
        "rows rolled",
        "These are the right rows, each one place too far down; the last has come out on top.",
        lambda p, d, b: sinusoidal_encoding(p.roll(1), d, base=b),
    ),
    Misconception(
        "rows rolled back",
        "These are the right rows, each one place too far up; the first has come out at the end.",
        lambda p, d, b: sinusoidal_encoding(p.roll(-1), d, base=b),
    ),
    Misconception(
        "divided by dim - 1",
        "Every pair but the first is a little too slow: what does the formula divide 2i by?",
        lambda p, d, b: _weave(_turns(p, d, b, d / (d - 1))),
    ),
    Misconception(
        "half precision",
        "Nearly right: the numbers have been rounded to 11 significant bits. Which dtype do you "
        "compute in?",
        lambda p, d, b: sinusoidal_encoding(p, d, base=b).half(),
    ),
    Misconception(
        "tensor2tensor's exponent",
        "The last pair is too slow. The paper divides by dim, its code divides by dim - 2.",
        lambda p, d, b: _weave(angles(p, inverse_frequencies(d, base=b, endpoint=True))),
    ),
)


def _positions(draw: Draw, count: int, most: int = 2000) -> Tensor:
    return torch.tensor(draw.sample(range(most), count))


def _other_positions(draw: Draw) -> list[Case]:
    start, width = draw.integer(3, 40), 2 * draw.integer(4, 9)
    anywhere = torch.tensor([round(draw.uniform(-150, 150), 2) for _ in range(3)])
    return [
        Case(f"six positions from {start} on", torch.arange(start, start + 6), width, 10_000.0),
        Case("some far positions", _positions(draw, 3, 20_000), 6, 10_000.0, tolerance=4e-3),
        Case("between whole numbers, on both sides of 0", anywhere, 2 * draw.integer(2, 5), 1e4),
        Case("others, in no order", _positions(draw, 5, 150), 2 * draw.integer(3, 6), 10_000.0),
        Case("two channels", torch.tensor([-2, draw.integer(3, 90)]), 2, 10_000.0),
        Case("one position", _positions(draw, 1, 150), 2 * draw.integer(2, 6), 10_000.0),
    ]


def _other_bases(draw: Draw) -> list[Case]:
    return [
        Case(f"base {base:g}", _positions(draw, 4, 100), 2 * draw.integer(4, 7), base)
        for base in (draw.base(50, 900), draw.base(20_000, 90_000))
    ]


sinusoidal = Comparison(
    "sinusoidal",
    lambda positions, dim, base: sinusoidal_encoding(positions, dim, base=base),
    [
        Case("positions 0 to 3, 8 channels", torch.arange(4), 8, 10_000.0),
        Case("another base", torch.arange(4), 8, 100.0),
        Case("positions that start at 7", torch.arange(7, 12), 6, 10_000.0),
        Case("negative and fractional positions", torch.tensor([-3.0, 0.5, 2.25]), 8, 10_000.0),
        Case("in no order", torch.tensor([9, 2, 30, 4]), 6, 10_000.0),
        Case("far away: 100 000", torch.tensor([100_000]), 4, 10_000.0, tolerance=2e-3),
    ],
    SINUSOIDAL_WRONG,
    tests=[
        Test(2, "other positions", _other_positions),
        Test(1, "other bases", _other_bases),
    ],
    refuses=NOT_THERE,
)


def _cosines(offset: int, dim: int, base: float, power: float = 1.0) -> Tensor:
    return _turns(torch.tensor(offset), dim, base, power).cos()


def _dot(offset: int, dim: int, base: float) -> Tensor:
    return _cosines(offset, dim, base).sum()


def _other_offsets(draw: Draw) -> list[Case]:
    wide, base = 2 * draw.integer(6, 20), draw.base(30, 900)
    return [
        Case(f"offset 0, {wide} channels", 0, wide, 10_000.0),
        Case("a negative offset", -draw.integer(6, 90), 2 * draw.integer(6, 20), 10_000.0),
        Case(f"far away, base {base:g}", draw.integer(150, 900), 2 * draw.integer(4, 9), base),
    ]


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
            "not summed",
            "The result is one number: sum over the pairs.",
            _cosines,
        ),
        Misconception(
            "a speed for each channel",
            "You add a term for each channel, each at a speed of its own. A pair has one speed and "
            "gives one cosine.",
            lambda k, d, b: (k / b ** (torch.arange(d) / d)).cos().sum(),
        ),
        Misconception(
            "i counts channels",
            "You add as many terms as there are channels. How many pairs are there?",
            lambda k, d, b: (k / b ** (2 * torch.arange(d) / d)).cos().sum(),
        ),
        Misconception(
            "i counts every other channel",
            "Your second pair turns at the speed that the third should have: i counts pairs, one "
            "by one.",
            lambda k, d, b: _cosines(k, d, b, 2.0).sum(),
        ),
        Misconception(
            "exponent halved",
            "The exponent is 2i/dim for pair i; with i/dim the hands are too fast.",
            lambda k, d, b: _cosines(k, d, b, 0.5).sum(),
        ),
        Misconception(
            "multiplied by the wavelength",
            "The later pairs should turn slowly. Does the power of the base divide, or multiply?",
            lambda k, d, b: _cosines(k, d, b, -1.0).sum(),
        ),
        Misconception(
            "i counted from 1",
            "The fastest pair is missing, and there is one too slow. Where does i begin?",
            lambda k, d, b: (_turns(torch.tensor(k), d, b) * b ** (-2 / d)).cos().sum(),
        ),
        Misconception(
            "sines added",
            "There are sines in your sum. The whole of sin a sin b + cos a cos b is one cosine.",
            lambda k, d, b: _dot(k, d, b) + _turns(torch.tensor(k), d, b).sin().sum(),
        ),
        Misconception(
            "sines for cosines",
            "Which identity ends in sin a sin b + cos a cos b? At offset 0 the result is not 0.",
            lambda k, d, b: _turns(torch.tensor(k), d, b).sin().sum(),
        ),
        Misconception(
            "base ignored",
            "Right for one base only. Is there a 10000 in your code?",
            lambda k, d, b: _dot(k, d, 10_000.0),
        ),
    ],
    tests=[Test(3, "other offsets", _other_offsets)],
    refuses=NOT_THERE,
)


def _rows(*positions: float, dim: int, base: float = 10_000.0) -> Tensor:
    return sinusoidal_encoding(torch.tensor(positions), dim, base=base)


def _moved(rows: Tensor, offset: float, base: float) -> Tensor:
    return rows.double() @ shift_matrix(offset, inverse_frequencies(rows.shape[-1], base=base))


def _other_speeds(rows: Tensor, offset: float, base: float, power: float) -> Tensor:
    return rows.double() @ shift_matrix(
        offset, inverse_frequencies(rows.shape[-1], base=base) ** power
    )


def _by_identities(rows: Tensor, offset: float, base: float) -> tuple[Tensor, Tensor, Tensor]:
    """The angles of the turn, and the sines and cosines of the rows' positions further on."""
    turn = _turns(torch.tensor([float(offset)]), rows.shape[-1], base)
    sin, cos = rows[:, 0::2], rows[:, 1::2]
    return turn, sin * turn.cos() + cos * turn.sin(), cos * turn.cos() - sin * turn.sin()


def _pairs(sin: Tensor, cos: Tensor) -> Tensor:
    return torch.stack((sin, cos), dim=-1).flatten(-2)


def _moved_by_angle(rows: Tensor, offset: float, base: float, inverse: str) -> Tensor:
    """Find the angle of each pair first, by an inverse function that knows half of the circle."""
    sin, cos = rows[:, 0::2].double(), rows[:, 1::2].double()
    angle = {"asin": sin.asin(), "acos": cos.acos(), "atan": (sin / cos).atan()}[inverse]
    return _weave(angle + _turns(torch.tensor([float(offset)]), rows.shape[-1], base))


def _by_slowest_pair(rows: Tensor, offset: float, base: float) -> Tensor:
    """Find the position of each row from the angle of its slowest pair, and begin anew."""
    slowest = inverse_frequencies(rows.shape[-1], base=base)[-1]
    angle = torch.atan2(rows[:, -2].double(), rows[:, -1].double()) % math.tau
    return sinusoidal_encoding(angle / slowest + offset, rows.shape[-1], base=base)


def _half_turned(rows: Tensor, offset: float, base: float) -> Tensor:
    """Take channel i and channel i + dim/2 for a pair."""
    turn = _turns(torch.tensor([float(offset)]), rows.shape[-1], base)
    sin, cos = rows.chunk(2, dim=-1)
    return torch.cat(
        (sin * turn.cos() + cos * turn.sin(), cos * turn.cos() - sin * turn.sin()), dim=-1
    )


def _overwritten(rows: Tensor, offset: float, base: float) -> Tensor:
    turn, sin, _ = _by_identities(rows, offset, base)
    return _pairs(sin, rows[:, 1::2] * turn.cos() - sin * turn.sin())


def _hidden_rows(draw: Draw, count: int, most: int, dim: int, base: float = 10_000.0) -> Tensor:
    positions = torch.tensor(draw.sample(range(3, most), count), dtype=torch.float64)
    return sinusoidal_encoding(positions, dim, base=base)


def _forwards_and_back(draw: Draw) -> list[Case]:
    two = _hidden_rows(draw, 2, 400, 2 * draw.integer(4, 8))
    far = _hidden_rows(draw, 3, 100_000, draw.choice([6, 10]))
    return [
        Case("1 on", two, 1, 1e4),
        Case("one row", two[:1].clone(), draw.integer(2, 9), 1e4),
        Case("back", two, -draw.integer(5, 60), 1e4),
        Case("far positions", far, draw.integer(5, 60), 1e4),
    ]


def _moved_at_another_base(draw: Draw) -> list[Case]:
    base = draw.base(50, 900) + 0.5  # with 64 the slower pairs would begin again with the slowest
    few = _hidden_rows(draw, 3, 60, 2 * draw.integer(3, 5), base)
    return [
        Case(f"base {base:g}", few, draw.integer(2, 9), base),
        Case("nowhere", few, 0, base),
        Case("far positions", _hidden_rows(draw, 2, 90_000, 6, base), draw.integer(2, 9), base),
        Case("a part of a position", few, draw.integer(1, 9) + 0.25, base),
    ]


moved = Comparison(
    "moved",
    _moved,
    [
        Case("3 further, from position 7", _rows(7, dim=8), 3, 10_000.0),
        Case("3 back, from position 7", _rows(7, dim=8), -3, 10_000.0),
        Case("10 further, from 0, 2 and 50", _rows(0, 2, 50, dim=6), 10, 10_000.0),
        Case("half a position further, base 50", _rows(1, 4, dim=8, base=50.0), 0.5, 50.0),
        Case("5 further, from 100 000", _rows(100_000, 70_007, dim=6), 5, 10_000.0),
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
            lambda rows, offset, base: _other_speeds(rows, offset, base, 0.0),
        ),
        Misconception(
            "offset forgotten",
            "You always move by one position. Where does the offset come in?",
            lambda rows, offset, base: _moved(rows, 1, base),
        ),
        Misconception(
            "sign of the cosines",
            "The sines are right, the cosines are not. What is the sign in cos(a + b)?",
            lambda rows, offset, base: _pairs(
                _by_identities(rows, offset, base)[1], _by_identities(rows, -offset, base)[2]
            ),
        ),
        Misconception(
            "sign of the sines",
            "The cosines are right, the sines are not. What is the sign in sin(a + b)?",
            lambda rows, offset, base: _pairs(
                _by_identities(rows, -offset, base)[1], _by_identities(rows, offset, base)[2]
            ),
        ),
        Misconception(
            "sine and cosine exchanged",
            "The right numbers, but the two channels of each pair are exchanged. Which comes "
            "first?",
            lambda rows, offset, base: _pairs(*reversed(_by_identities(rows, offset, base)[1:])),
        ),
        Misconception(
            "overwritten",
            "The sines are right. Do your cosines use the old sines, or those that you have just "
            "written?",
            _overwritten,
        ),
        Misconception(
            "all sines first",
            "The right numbers in another order: sine and cosine of a pair are neighbours here.",
            lambda rows, offset, base: torch.cat(_by_identities(rows, offset, base)[1:], dim=-1),
        ),
        Misconception(
            "exponent halved",
            "The exponent is 2i/dim for pair i; with i/dim the hands are too fast.",
            lambda rows, offset, base: _other_speeds(rows, offset, base, 0.5),
        ),
        Misconception(
            "i counts every other channel",
            "Channels 2 and 3 turn at the speed that channels 4 and 5 should have: i counts pairs, "
            "one by one.",
            lambda rows, offset, base: _other_speeds(rows, offset, base, 2.0),
        ),
        Misconception(
            "multiplied by the wavelength",
            "The later pairs should turn slowly. Does the power of the base divide, or multiply?",
            lambda rows, offset, base: _other_speeds(rows, offset, base, -1.0),
        ),
        Misconception(
            "rows from 0 on",
            "You take the rows for those of 0, 1, 2, ... They may stand for any positions.",
            lambda rows, offset, base: sinusoidal_encoding(
                torch.arange(len(rows)) + offset, rows.shape[-1], base=base
            ),
        ),
        Misconception(
            "position read from the slowest pair",
            "Right as long as the slowest pair has not turned once around. What do you need "
            "positions for? Each pair can turn as it stands.",
            _by_slowest_pair,
        ),
        Misconception(
            "arcsine",
            "An arcsine knows half of the circle only; use both numbers.",
            lambda rows, offset, base: _moved_by_angle(rows, offset, base, "asin"),
        ),
        Misconception(
            "arccosine",
            "An arccosine cannot tell an angle from its negative; use both numbers.",
            lambda rows, offset, base: _moved_by_angle(rows, offset, base, "acos"),
        ),
        Misconception(
            "arctangent of a quotient",
            "The quotient of sine and cosine is the same half a turn further; use both numbers and "
            "their signs.",
            lambda rows, offset, base: _moved_by_angle(rows, offset, base, "atan"),
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
    tests=[
        Test(2, "forwards and back", _forwards_and_back),
        Test(2, "another base", _moved_at_another_base),
    ],
    refuses=NOT_THERE,
)


def _mended(positions: Tensor, dim: int) -> Tensor:
    return sinusoidal_encoding(positions, dim)


def _rounded(dtype: torch.dtype, index: str | None = None) -> Callable[[Tensor, int], Tensor]:
    """The encoding of rounded positions, with one of the wrong indices or none."""

    def wrong(positions: Tensor, dim: int) -> Tensor:
        rounded = positions.to(dtype).double()
        return WRONG_SPEEDS[index](rounded, dim, 10_000.0) if index else _mended(rounded, dim)

    return wrong


def _at_base(wrong: Callable[..., object]) -> Callable[[Tensor, int], object]:
    return lambda positions, dim: wrong(positions, dim, 10_000.0)


WRONG_SPEEDS = {
    known.name: known.wrong
    for known in SINUSOIDAL_WRONG
    if known.name in ("i for 2i", "i counts channels", "exponent halved")
}


def _near_positions(draw: Draw) -> list[Case]:
    """Positions that bfloat16 holds, and too many of them, and of widths, for a list of all."""
    between = [(2 * draw.integer(0, 63) + 1) / 2 ** draw.integer(1, 7) for _ in range(5)]
    start = draw.integer(60, 150)
    return [
        Case("between positions", torch.tensor(between), 2 * draw.integer(20, 60)),
        Case("near positions", torch.arange(start, start + 5), 2 * draw.integer(5, 40)),
    ]


def _far_positions(draw: Draw) -> list[Case]:
    odd = torch.tensor([2 * draw.integer(1100, 4000) + 1 for _ in range(3)])
    return [Case("far positions", odd, 2 * draw.integer(2, 4))]


_NOT_SEEN_HERE = (  # where positions are positive and in order, and bfloat16 is the point
    "positions without sign",
    "positions sorted",
    "half precision",
)


mended_sinusoidal = Comparison(
    "mended_sinusoidal",
    _mended,
    [
        Case("positions 0 to 3", torch.arange(4), 8),
        Case("16 channels", torch.arange(4), 16),
        Case("positions 255 to 260", torch.arange(255, 261), 8),
        Case("positions 4095 to 4100", torch.arange(4095, 4101), 8),
        Case("between two positions", torch.tensor([0.5, 2.25]), 8),
    ],
    [
        Misconception(
            "i for 2i",
            "All rows but that of position 0 are still wrong from channel 1 on: which channels "
            "form a pair, and do they turn at one speed?",
            _at_base(_wrong_index),
        ),
        Misconception(
            "two bugs left",
            "Both bugs are still there. Take one row at a time, and compare it with the formula, "
            "channel by channel.",
            _rounded(torch.bfloat16, "i for 2i"),
        ),
        Misconception(
            "positions in bfloat16",
            "Small positions are right, larger ones are not. Which whole numbers can the dtype of "
            "the positions hold?",
            _rounded(torch.bfloat16),
        ),
        Misconception(
            "positions in half precision",
            "One bug has only moved: positions up to 2048 are right, and further on they run "
            "together again.",
            _rounded(torch.float16),
        ),
        Misconception(
            "two bugs left, one of them moved",
            "The speeds are still wrong, and far positions still run together, only later.",
            _rounded(torch.float16, "i for 2i"),
        ),
        Misconception(
            "i counts channels, positions in bfloat16",
            "You changed the index, but channel 2 now turns at the speed that channel 4 should "
            "have. The other bug is still there.",
            _rounded(torch.bfloat16, "i counts channels"),
        ),
        Misconception(
            "exponent halved, positions in bfloat16",
            "The channels of a pair have one speed now, but not that of the formula. The other bug "
            "is still there.",
            _rounded(torch.bfloat16, "exponent halved"),
        ),
        Misconception(
            "angles in bfloat16",
            "The angles are rounded to 8 significant bits. Round at the very end, if at all.",
            lambda p, d: _weave(_turns(p, d, 10_000.0).bfloat16().double()),
        ),
        Misconception(
            "angles in half precision",
            "The angles are rounded to 11 significant bits: too few for the far positions.",
            lambda p, d: _weave(_turns(p, d, 10_000.0).half().double()),
        ),
        *(
            Misconception(known.name, known.hint, _at_base(known.wrong))
            for known in SINUSOIDAL_WRONG
            if known.name not in ("i for 2i", "base ignored", *_NOT_SEEN_HERE)
        ),
    ],
    tolerance=2e-3,
    tests=[
        Test(2, "near positions", _near_positions),
        Test(1, "far positions", _far_positions),
    ],
    refuses=NOT_THERE,
)
