import cmath
import math

import numpy as np
import torch

from tests.answers import Answers


def loops(positions, dim, base):
    rows = []
    for position in positions.tolist():
        row = []
        for i in range(dim // 2):
            angle = position / base ** (2 * i / dim)
            row += [math.sin(angle), math.cos(angle)]
        rows.append(row)
    return rows


def numpy_table(positions, dim, base):
    channel = np.arange(dim)
    angle = positions.numpy()[:, None] * base ** -(channel // 2 * 2 / dim)
    return np.where(channel % 2, np.cos(angle), np.sin(angle))


def phasors(positions, dim, base):
    speed = torch.exp(-math.log(base) * torch.arange(0, dim, 2, dtype=torch.float64) / dim)
    turned = torch.polar(torch.ones(1, dtype=torch.float64), positions[:, None] * speed)
    return torch.stack((turned.imag, turned.real), dim=-1).reshape(len(positions), dim)


def cosines_as_sines(positions, dim, base):
    speed = base ** -(torch.arange(0, dim, 2, dtype=torch.float64) / dim)
    angle = (positions[:, None] * speed).repeat_interleave(2, dim=1)
    angle[:, 1::2] += math.pi / 2
    return angle.sin()


def table_of(angle):
    return torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(1)


def exponents(dim):
    return torch.arange(0, dim, 2, dtype=torch.float64) / dim


def in_degrees(positions, dim, base):
    return table_of(torch.deg2rad(positions[:, None] / base ** exponents(dim)))


def cosine_first(positions, dim, base):
    angle = positions[:, None] / base ** exponents(dim)
    return torch.stack((angle.cos(), angle.sin()), dim=-1).flatten(1)


def channel_for_pair(positions, dim, base):
    channel = torch.arange(dim, dtype=torch.float64)
    angle = positions[:, None] / base ** (channel / dim)
    return torch.where(channel % 2 == 0, angle.sin(), angle.cos())


def twice_the_channel(positions, dim, base):
    angle = positions[:, None] / base ** (2 * torch.arange(dim, dtype=torch.float64) / dim)
    return torch.stack(
        [f(angle[:, c]) for c in range(0, dim, 2) for f, c in ((torch.sin, c), (torch.cos, c + 1))],
        dim=1,
    )


def tutorial_loop(positions, dim, base):
    table = np.zeros((len(positions), dim))
    for row, position in enumerate(positions.tolist()):
        for i in range(0, dim, 2):
            table[row, i] = math.sin(position / base ** (2 * i / dim))
            table[row, i + 1] = math.cos(position / base ** (2 * i / dim))
    return table


def keras_loop(positions, dim, base):
    table = np.zeros((len(positions), dim))
    for row, position in enumerate(positions.tolist()):
        for i in range(0, dim, 2):
            table[row, i] = math.sin(position / base ** (2 * i / dim))
            table[row, i + 1] = math.cos(position / base ** (2 * (i + 1) / dim))
    return table


def cosine_of_the_next_pair(positions, dim, base):
    i = np.arange(dim // 2)
    table = np.zeros((len(positions), dim))
    table[:, 0::2] = np.sin(positions.numpy()[:, None] / base ** (2 * i / dim))
    table[:, 1::2] = np.cos(positions.numpy()[:, None] / base ** (2 * (i + 1) / dim))
    return table


def times_dim(positions, dim, base):
    i = torch.arange(dim // 2)
    return table_of(positions[:, None] / base ** (2 * i * dim))


def half_the_exponent(positions, dim, base):
    i = torch.arange(dim // 2, dtype=torch.float64)
    return table_of(positions[:, None] / base ** (i / dim))


def halves(positions, dim, base):
    angle = positions[:, None] / base ** exponents(dim)
    return torch.cat((angle.sin(), angle.cos()), dim=-1)


def faster_and_faster(positions, dim, base):
    return table_of(positions[:, None] * base ** exponents(dim))


def own_positions(positions, dim, base):
    return loops(torch.arange(len(positions)), dim, base)


def always_ten_thousand(positions, dim, base):
    return loops(positions, dim, 10_000)


def one_off(positions, dim, base):
    return loops(positions + 1, dim, base)


def dot_by_rows(offset, dim, base):
    first, second = loops(torch.tensor([3, 3 + offset]), dim, base)
    return sum(a * b for a, b in zip(first, second, strict=True))


def dot_numpy(offset, dim, base):
    return np.cos(offset / base ** (np.arange(0, dim, 2) / dim)).sum()


def dot_complex(offset, dim, base):
    return sum(cmath.exp(1j * offset * base ** (-2 * i / dim)) for i in range(dim // 2)).real


def dot_mean(offset, dim, base):
    return dot_numpy(offset, dim, base) / (dim / 2)


def dot_sines(offset, dim, base):
    return np.sin(offset / base ** (np.arange(0, dim, 2) / dim)).sum()


def dot_all_channels(offset, dim, base):
    return 2 * dot_numpy(offset, dim, base)


def dot_not_summed(offset, dim, base):
    return np.cos(offset / base ** (np.arange(0, dim, 2) / dim))


def dot_range_of_channels(offset, dim, base):
    return sum(math.cos(offset / base ** (2 * i / dim)) for i in range(dim))


def dot_speed_a_channel(offset, dim, base):
    return sum(math.cos(offset / base ** (i / dim)) for i in range(dim))


def dot_every_other(offset, dim, base):
    return sum(math.cos(offset / base ** (2 * i / dim)) for i in range(0, dim, 2))


def dot_half_the_exponent(offset, dim, base):
    return sum(math.cos(offset / base ** (i / dim)) for i in range(dim // 2))


def dot_from_one(offset, dim, base):
    return sum(math.cos(offset / base ** (2 * i / dim)) for i in range(1, dim // 2 + 1))


def dot_with_sines(offset, dim, base):
    return dot_numpy(offset, dim, base) + dot_sines(offset, dim, base)


def dot_multiplied(offset, dim, base):
    return sum(math.cos(offset * base ** (2 * i / dim)) for i in range(dim // 2))


def moved_loops(rows, offset, base):
    dim = rows.shape[1]
    moved = rows.clone()
    for i in range(dim // 2):
        turn = offset / base ** (2 * i / dim)
        sin, cos = rows[:, 2 * i], rows[:, 2 * i + 1]
        moved[:, 2 * i] = sin * math.cos(turn) + cos * math.sin(turn)
        moved[:, 2 * i + 1] = cos * math.cos(turn) - sin * math.sin(turn)
    return moved


def moved_complex(rows, offset, base):
    dim = rows.shape[1]
    z = rows[:, 1::2].numpy() + 1j * rows[:, 0::2].numpy()
    z = z * np.exp(1j * offset * base ** -(np.arange(0, dim, 2) / dim))
    return np.stack((z.imag, z.real), axis=-1).reshape(rows.shape)


def moved_matrix(rows, offset, base):
    turn = offset * base ** -exponents(rows.shape[1])
    blocks = [torch.tensor([[t.cos(), -t.sin()], [t.sin(), t.cos()]]) for t in turn]
    return rows @ torch.block_diag(*blocks).float()


def moved_back(rows, offset, base):
    return moved_loops(rows, -offset, base)


def moved_by_adding(rows, offset, base):
    return rows + torch.tensor(loops(torch.tensor([offset]), rows.shape[1], base))


def moved_all_alike(rows, offset, base):
    sin, cos = rows[:, 0::2], rows[:, 1::2]
    a = math.sin(offset)
    b = math.cos(offset)
    return torch.stack((sin * b + cos * a, cos * b - sin * a), dim=-1).flatten(1)


def pair_by_pair(rows, offset, base, turned):
    moved = rows.clone()
    for i in range(rows.shape[1] // 2):
        b = offset / base ** (2 * i / rows.shape[1])
        sin, cos = rows[:, 2 * i], rows[:, 2 * i + 1]
        moved[:, 2 * i], moved[:, 2 * i + 1] = turned(sin, cos, math.sin(b), math.cos(b))
    return moved


def moved_plus_in_the_cosine(rows, offset, base):
    return pair_by_pair(rows, offset, base, lambda s, c, sb, cb: (s * cb + c * sb, c * cb + s * sb))


def moved_minus_in_the_sine(rows, offset, base):
    return pair_by_pair(rows, offset, base, lambda s, c, sb, cb: (s * cb - c * sb, c * cb - s * sb))


def moved_cosine_first(rows, offset, base):
    return pair_by_pair(rows, offset, base, lambda s, c, sb, cb: (c * cb - s * sb, s * cb + c * sb))


def moved_in_place(rows, offset, base):
    moved = rows.numpy().copy()
    sin, cos = moved[:, 0::2], moved[:, 1::2]
    b = offset * base ** -(np.arange(0, rows.shape[1], 2) / rows.shape[1])
    moved[:, 0::2] = sin * np.cos(b) + cos * np.sin(b)
    moved[:, 1::2] = cos * np.cos(b) - sin * np.sin(b)
    return moved


def moved_halves(rows, offset, base):
    right = moved_loops(rows, offset, base)
    return torch.hstack((right[:, 0::2], right[:, 1::2]))


def moved_by_one(rows, offset, base):
    return moved_loops(rows, 1, base)


def moved_half_the_exponent(rows, offset, base):
    return moved_loops(rows, offset, math.sqrt(base))


def moved_from_zero(rows, offset, base):
    return loops(offset + torch.arange(len(rows)), rows.shape[1], base)


def by_its_angle(rows, offset, base, angle):
    b = offset / base ** exponents(rows.shape[1])
    return table_of(angle(rows[:, 0::2], rows[:, 1::2]) + b)


def moved_atan2(rows, offset, base):
    return by_its_angle(rows, offset, base, torch.atan2)


def moved_arcsine(rows, offset, base):
    return by_its_angle(rows, offset, base, lambda sin, cos: sin.arcsin())


def moved_arccosine(rows, offset, base):
    return by_its_angle(rows, offset, base, lambda sin, cos: cos.arccos())


def moved_arctangent(rows, offset, base):
    return by_its_angle(rows, offset, base, lambda sin, cos: torch.arctan(sin / cos))


def still_one_speed_a_channel(positions, dim):
    return channel_for_pair(positions.double(), dim, 10_000)


def still_bfloat16(positions, dim):
    return loops(positions.bfloat16(), dim, 10_000)


def as_given(positions, dim):
    return channel_for_pair(positions.bfloat16().double(), dim, 10_000)


def in_half_precision(positions, dim):
    return loops(positions.half(), dim, 10_000)


def speeds_left_in_half_precision(positions, dim):
    return channel_for_pair(positions.half().double(), dim, 10_000)


def doubled_channel(positions, dim):
    return twice_the_channel(positions.double(), dim, 10_000)


def doubled_channel_in_bfloat16(positions, dim):
    return keras_loop(positions.bfloat16(), dim, 10_000)


def not_doubled(positions, dim):
    return half_the_exponent(positions.double(), dim, 10_000)


def not_doubled_in_bfloat16(positions, dim):
    return half_the_exponent(positions.bfloat16().double(), dim, 10_000)


def mended_halves(positions, dim):
    return halves(positions, dim, 10_000)


def mended_cosine_first(positions, dim):
    return cosine_first(positions, dim, 10_000)


def bfloat16_angles(positions, dim):
    return table_of((positions[:, None] / 10_000 ** exponents(dim)).bfloat16().double())


def half_precision_angles(positions, dim):
    return table_of((positions[:, None] / 10_000 ** exponents(dim)).half().double())


def sinusoidal_squeezed(positions, dim, base):
    return torch.as_tensor(loops(positions, dim, base)).squeeze()


def moved_squeezed(rows, offset, base):
    return torch.as_tensor(moved_complex(rows, offset, base)).squeeze()


ANSWERS = {
    "sinusoidal": Answers(
        [loops, numpy_table, phasors, cosines_as_sines],
        [
            (in_degrees, "radians"),
            (cosine_first, "position 0"),
            (channel_for_pair, "channels or pairs"),
            (twice_the_channel, "and channel 3 at another"),
            (tutorial_loop, "Channels 2 and 3"),
            (cosine_of_the_next_pair, "do your cosines turn"),
            (times_dim, "dim divide in the exponent"),
            (half_the_exponent, "too fast"),
            (halves, "another order"),
            (faster_and_faster, "divide, or multiply"),
            (own_positions, "positions that you are given"),
            (always_ten_thousand, "10000 in your code"),
            (one_off, "next position"),
        ],
        nearly=[sinusoidal_squeezed],
    ),
    "dot_product": Answers(
        [dot_by_rows, dot_numpy, dot_complex],
        [
            (dot_mean, "is a sum"),
            (dot_sines, "identity"),
            (dot_all_channels, "Twice too much"),
            (dot_not_summed, "one number: sum"),
            (dot_range_of_channels, "as many terms"),
            (dot_speed_a_channel, "speed of its own"),
            (dot_every_other, "Your second pair"),
            (dot_half_the_exponent, "too fast"),
            (dot_from_one, "fastest pair is missing"),
            (dot_with_sines, "sines in your sum"),
            (dot_multiplied, "divide, or multiply"),
        ],
    ),
    "moved": Answers(
        [moved_loops, moved_complex, moved_matrix, moved_atan2],
        [
            (moved_back, "the other way"),
            (moved_by_adding, "do not add"),
            (moved_all_alike, "own speed"),
            (moved_plus_in_the_cosine, "sign in cos"),
            (moved_minus_in_the_sine, "sign in sin"),
            (moved_cosine_first, "are exchanged"),
            (moved_in_place, "just written"),
            (moved_halves, "another order"),
            (moved_by_one, "always move by one"),
            (moved_half_the_exponent, "too fast"),
            (moved_from_zero, "any positions"),
            (moved_arcsine, "An arcsine"),
            (moved_arccosine, "An arccosine"),
            (moved_arctangent, "half a turn further"),
        ],
        nearly=[moved_squeezed],
    ),
    "mended_sinusoidal": Answers(
        [
            lambda positions, dim: loops(positions, dim, 10_000),
            lambda positions, dim: numpy_table(positions, dim, 10_000.0),
            lambda positions, dim: phasors(positions, dim, 10_000.0),
        ],
        [
            (as_given, "Both bugs"),
            (still_one_speed_a_channel, "do they turn at one speed"),
            (in_half_precision, "only moved"),
            (speeds_left_in_half_precision, "only later"),
            (doubled_channel, "and channel 3 at another"),
            (doubled_channel_in_bfloat16, "You changed the index"),
            (not_doubled, "too fast"),
            (not_doubled_in_bfloat16, "have one speed now"),
            (mended_halves, "another order"),
            (mended_cosine_first, "position 0 the first"),
            (still_bfloat16, "whole numbers"),
            (bfloat16_angles, "to 8 significant bits"),
            (half_precision_angles, "to 11 significant bits"),
        ],
    ),
}
