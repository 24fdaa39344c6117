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
    return rows @ torch.block_diag(*blocks).double()


def moved_back(rows, offset, base):
    return moved_loops(rows, -offset, base)


def moved_by_adding(rows, offset, base):
    return rows + torch.tensor(loops(torch.tensor([offset]), rows.shape[1], base))


def moved_all_alike(rows, offset, base):
    sin, cos = rows[:, 0::2], rows[:, 1::2]
    a = math.sin(offset)
    b = math.cos(offset)
    return torch.stack((sin * b + cos * a, cos * b - sin * a), dim=-1).flatten(1)


def still_one_speed_a_channel(positions, dim):
    return channel_for_pair(positions.double(), dim, 10_000)


def still_bfloat16(positions, dim):
    return loops(positions.bfloat16(), dim, 10_000)


def bfloat16_angles(positions, dim):
    return table_of((positions[:, None] / 10_000 ** exponents(dim)).bfloat16().double())


ANSWERS = {
    "sinusoidal": Answers(
        [loops, numpy_table, phasors, cosines_as_sines],
        [
            (in_degrees, "radians"),
            (cosine_first, "position 0"),
            (channel_for_pair, "channels or pairs"),
            (halves, "another order"),
            (faster_and_faster, "divide, or multiply"),
            (own_positions, "positions that you are given"),
            (always_ten_thousand, "10000 in your code"),
            (one_off, "next position"),
        ],
    ),
    "dot_product": Answers(
        [dot_by_rows, dot_numpy, dot_complex],
        [(dot_mean, "is a sum"), (dot_sines, "identity"), (dot_all_channels, "Twice too much")],
    ),
    "moved": Answers(
        [moved_loops, moved_complex, moved_matrix],
        [
            (moved_back, "the other way"),
            (moved_by_adding, "do not add"),
            (moved_all_alike, "own speed"),
        ],
    ),
    "mended_sinusoidal": Answers(
        [
            lambda positions, dim: loops(positions, dim, 10_000),
            lambda positions, dim: numpy_table(positions, dim, 10_000.0),
            lambda positions, dim: phasors(positions, dim, 10_000.0),
        ],
        [
            (still_one_speed_a_channel, "one speed"),
            (still_bfloat16, "whole numbers"),
            (bfloat16_angles, "angles are rounded"),
        ],
    ),
}
