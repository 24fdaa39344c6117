import cmath
import math

import numpy as np
import torch

from posenc import angles, inverse_frequencies, rotate
from tests.answers import Answers


def literally(x, positions, base):
    d = x.shape[1]
    result = x.clone()
    for row, position in enumerate(positions.tolist()):
        for i in range(d // 2):
            t = position / base ** (2 * i / d)
            a, b = x[row, 2 * i].item(), x[row, 2 * i + 1].item()
            result[row, 2 * i] = a * math.cos(t) - b * math.sin(t)
            result[row, 2 * i + 1] = a * math.sin(t) + b * math.cos(t)
    return result


def numpy_complex(x, positions, base):
    z = x.numpy()[:, 0::2] + 1j * x.numpy()[:, 1::2]
    z = z * np.exp(1j * positions.numpy()[:, None] * theta(x.shape[1], base))
    return np.stack((z.real, z.imag), axis=-1).reshape(x.shape)


def theta(d, base):
    return base ** -(np.arange(0, d, 2) / d)


def matrices(x, positions, base):
    rows = []
    for row, position in zip(x, positions, strict=True):
        t = position.double() * torch.tensor(theta(len(row), base))
        blocks = [torch.tensor([[a.cos(), -a.sin()], [a.sin(), a.cos()]]).double() for a in t]
        rows.append(torch.block_diag(*blocks) @ row)
    return torch.stack(rows)


def by_einsum(x, positions, base):
    t = positions.double()[:, None] * torch.from_numpy(theta(x.shape[1], base))
    turn = torch.stack((t.cos(), -t.sin(), t.sin(), t.cos()), dim=-1).unflatten(-1, (2, 2))
    return torch.einsum("npij,npj->npi", turn, x.unflatten(1, (-1, 2))).flatten(1)


def in_float32(x, positions, base):
    x = x.float()
    speed = 1.0 / base ** (torch.arange(0, x.shape[1], 2).float() / x.shape[1])
    t = torch.outer(positions.float(), speed).repeat_interleave(2, dim=1)
    exchanged = torch.stack((-x[:, 1::2], x[:, 0::2]), dim=-1).flatten(1)
    return x * t.cos() + exchanged * t.sin()


def clockwise(x, positions, base):
    t = positions[:, None] * torch.tensor(theta(x.shape[1], base))
    a, b = x[:, 0::2], x[:, 1::2]
    out = torch.zeros_like(x)
    out[:, 0::2] = a * t.cos() + b * t.sin()
    out[:, 1::2] = b * t.cos() - a * t.sin()
    return out


def gpt_neox(x, positions, base):
    t = positions[:, None] * torch.tensor(theta(x.shape[1], base))
    a, b = x.chunk(2, dim=1)
    return torch.cat((a * t.cos() - b * t.sin(), a * t.sin() + b * t.cos()), dim=1)


def transformers_with_interleaved_table(x, positions, base):
    t = positions[:, None] * torch.tensor(theta(x.shape[1], base))
    t = t.repeat_interleave(2, dim=1)
    a, b = x.chunk(2, dim=1)
    return x * t.cos() + torch.cat((-b, a), dim=1) * t.sin()


def gpt_j_with_a_half_table(x, positions, base):
    t = positions[:, None] * torch.tensor(theta(x.shape[1], base))
    t = torch.cat((t, t), dim=1)
    partner = torch.empty_like(x)
    partner[:, 0::2], partner[:, 1::2] = -x[:, 1::2], x[:, 0::2]
    return x * t.cos() + partner * t.sin()


def in_place(x, positions, base):
    t = positions[:, None] * torch.tensor(theta(x.shape[1], base))
    out = x.clone()
    out[:, 0::2] = out[:, 0::2] * t.cos() - out[:, 1::2] * t.sin()
    out[:, 1::2] = out[:, 0::2] * t.sin() + out[:, 1::2] * t.cos()
    return out


def two_plus(x, positions, base):
    t = positions[:, None] * torch.tensor(theta(x.shape[1], base))
    out = torch.zeros_like(x)
    out[:, 0::2] = x[:, 0::2] * t.cos() + x[:, 1::2] * t.sin()
    out[:, 1::2] = x[:, 0::2] * t.sin() + x[:, 1::2] * t.cos()
    return out


def mirrored(x, positions, base):
    t = positions[:, None] * torch.tensor(theta(x.shape[1], base))
    a, b = x[:, 0::2], x[:, 1::2]
    return torch.stack((a * t.cos() - b * t.sin(), a * t.sin() - b * t.cos()), dim=-1).flatten(1)


def chunked_and_stacked(x, positions, base):
    t = positions[:, None] * torch.tensor(theta(x.shape[1], base))
    a, b = x.chunk(2, dim=1)
    return torch.stack((a * t.cos() - b * t.sin(), a * t.sin() + b * t.cos()), dim=-1).flatten(1)


def only_cosines(x, positions, base):
    t = positions[:, None] * torch.tensor(theta(x.shape[1], base))
    return x * torch.stack((t.cos(), t.cos()), dim=-1).flatten(1)


def evens_then_odds(x, positions, base):
    turned = literally(x, positions, base)
    return torch.cat((turned[:, 0::2], turned[:, 1::2]), dim=1)


def in_degrees(x, positions, base):
    t = torch.deg2rad(positions[:, None] * torch.tensor(theta(x.shape[1], base)))
    a, b = x[:, 0::2], x[:, 1::2]
    return torch.stack((a * t.cos() - b * t.sin(), a * t.sin() + b * t.cos()), dim=-1).flatten(1)


def i_for_2i(x, positions, base):
    d = x.shape[1]
    t = positions[:, None] / base ** (torch.arange(d // 2) / d)
    a, b = x[:, 0::2], x[:, 1::2]
    return torch.stack((a * t.cos() - b * t.sin(), a * t.sin() + b * t.cos()), dim=-1).flatten(1)


def channel_for_pair(x, positions, base):
    d = x.shape[1]
    out = torch.zeros_like(x)
    for row in range(len(x)):
        for c in range(d):
            t = positions[row] * base ** (-c / d)
            partner = -x[row, c + 1] if c % 2 == 0 else x[row, c - 1]
            out[row, c] = x[row, c] * math.cos(t) + partner * math.sin(t)
    return out


def arange_of_channels(x, positions, base):
    t = positions[:, None] * base ** (-2 * torch.arange(x.shape[1]) / x.shape[1])
    exchanged = torch.stack((-x[:, 1::2], x[:, 0::2]), dim=-1).flatten(1)
    return x * t.cos() + exchanged * t.sin()


def d_for_pairs(x, positions, base):
    pairs = x.shape[1] // 2
    t = positions[:, None] * base ** (-2 * torch.arange(pairs) / pairs)
    a, b = x[:, 0::2], x[:, 1::2]
    return torch.stack((a * t.cos() - b * t.sin(), a * t.sin() + b * t.cos()), dim=-1).flatten(1)


def positions_as_indices(x, positions, base):
    return literally(x, positions.int(), base)


def by_row_number(x, positions, base):
    return literally(x, torch.arange(x.shape[0]), base)


def always_ten_thousand(x, positions, base):
    return literally(x, positions, 10_000)


def only_one_speed(x, positions, base):
    return numpy_complex(x, positions, 1.0)


def score_numpy(q, k, offset, base):
    q, k = (v.numpy()[0::2] + 1j * v.numpy()[1::2] for v in (q, k))
    return (q.conj() * k * np.exp(1j * offset * theta(2 * len(q), base))).sum().real


def score_loop(q, k, offset, base):
    total = 0j
    for i in range(len(q) // 2):
        z = complex(q[2 * i], q[2 * i + 1])
        w = complex(k[2 * i], k[2 * i + 1])
        total += z * (w * cmath.exp(1j * offset / base ** (2 * i / len(q)))).conjugate()
    return total.real


def score_somewhere(q, k, offset, base):
    both = literally(torch.stack((q, k)), torch.tensor([50, 50 + offset]), base)
    return both[0] @ both[1]


def score_query_moved(q, k, offset, base):
    return literally(q[None], torch.tensor([-offset]), base)[0] @ k


def score_b_with_the_wrong_sign(q, k, offset, base):
    t = torch.tensor(offset * theta(len(q), base))
    a = q[0::2] * k[0::2] + q[1::2] * k[1::2]
    b = q[0::2] * k[1::2] - q[1::2] * k[0::2]
    return (a * t.cos() + b * t.sin()).sum()


def score_of_distance(q, k, offset, base):
    return score_numpy(q, k, abs(offset), base)


def score_of_both_moved(q, k, offset, base):
    q, k = literally(torch.stack((q, k)), torch.tensor([offset, offset]), base)
    return (q * k).sum().item()


def score_moved_apart(q, k, offset, base):
    q, k = literally(torch.stack((q, k)), torch.tensor([-offset, offset]), base)
    return q @ k


def score_cosines(q, k, offset, base):
    total = 0
    for c in range(len(q)):
        total += q[c] * k[c] * math.cos(offset * base ** (-(c // 2 * 2) / len(q)))
    return total


def score_a_with_a_minus(q, k, offset, base):
    t = torch.tensor(offset * theta(len(q), base))
    a = q[0::2] * k[0::2] - q[1::2] * k[1::2]
    b = q[1::2] * k[0::2] - q[0::2] * k[1::2]
    return (a * t.cos() + b * t.sin()).sum()


def score_not_summed(q, k, offset, base):
    t = torch.tensor(offset * theta(len(q), base))
    a = q[0::2] * k[0::2] + q[1::2] * k[1::2]
    b = q[1::2] * k[0::2] - q[0::2] * k[1::2]
    return a * t.cos() + b * t.sin()


def score_b_added(q, k, offset, base):
    t = torch.tensor(offset * theta(len(q), base))
    a = q[0::2] * k[0::2] + q[1::2] * k[1::2]
    b = q[0::2] * k[1::2] + q[1::2] * k[0::2]
    return (a * t.cos() + b * t.sin()).sum()


def score_without_conjugate(q, k, offset, base):
    z, w = (v.numpy()[0::2] + 1j * v.numpy()[1::2] for v in (q, k))
    return (z * w * np.exp(1j * offset * theta(len(q), base))).real.sum()


def score_scaled(q, k, offset, base):
    return score_numpy(q, k, offset, base) / len(q) ** 0.5


def score_half(q, k, offset, base):
    return q @ gpt_neox(k[None], torch.tensor([offset]), base)[0]


def score_degrees(q, k, offset, base):
    return q @ in_degrees(k[None], torch.tensor([offset]), base)[0]


def score_ten_thousand(q, k, offset, base):
    return score_somewhere(q, k, offset, 1e4)


def convert_by_loops(weight, heads):
    d = weight.shape[0] // heads
    new = torch.zeros_like(weight)
    for h in range(heads):
        for i in range(d // 2):
            new[h * d + i] = weight[h * d + 2 * i]
            new[h * d + d // 2 + i] = weight[h * d + 2 * i + 1]
    return new


def convert_numpy(weight, heads):
    rows, columns = weight.shape
    w = weight.numpy().reshape(heads, rows // heads // 2, 2, columns)
    return w.swapaxes(1, 2).reshape(rows, columns)


def convert_by_head(weight, heads):
    return torch.cat([torch.cat((w[0::2], w[1::2])) for w in weight.chunk(heads)])


def convert_by_matrix(weight, heads):
    d = len(weight) // heads
    swap = torch.eye(d, dtype=weight.dtype)[[*range(0, d, 2), *range(1, d, 2)]]
    return torch.kron(torch.eye(heads, dtype=weight.dtype), swap) @ weight


def still_inverse(weight, heads):
    d = len(weight) // heads
    new = weight.clone()
    for h in range(heads):
        for i in range(d // 2):
            new[h * d + 2 * i] = weight[h * d + i]
            new[h * d + 2 * i + 1] = weight[h * d + d // 2 + i]
    return new


def scattered(weight, heads):
    """Use the right order, on the wrong side."""
    order = np.r_[0 : len(weight) : 2, 1 : len(weight) : 2]
    new = np.empty(weight.shape)
    new[order] = weight
    return new


def across_heads(weight, heads):
    return torch.cat((weight[0::2], weight[1::2]))


def odd_first(weight, heads):
    return torch.cat([torch.cat((w[1::2], w[0::2])) for w in weight.chunk(heads)])


def on_columns(weight, heads):
    d = len(weight) // heads
    return weight[:, [*range(0, d, 2), *range(1, d, 2)]]


def columns_evens_then_odds(weight, heads):
    n = weight.shape[1]
    return weight[:, [*range(0, n, 2), *range(1, n, 2)]]


def last_pair_first(weight, heads):
    return torch.cat([torch.cat((w[0::2].flip(0), w[1::2].flip(0))) for w in weight.chunk(heads)])


def axis_of_heads_moved(weight, heads):
    parts = weight.reshape(heads, -1, 2, weight.shape[1])
    return parts.transpose(0, 2).reshape(weight.shape)


def axes_not_joined(weight, heads):
    return weight.unflatten(0, (heads, -1, 2)).transpose(1, 2)


def one_head(weight, heads):
    d = len(weight) // heads
    return torch.cat((weight[:d:2], weight[1:d:2]))


def as_it_was(weight, heads):
    return weight.reshape(heads, 2, -1, weight.shape[1]).reshape(weight.shape)


def half_table(n, d, base):
    return torch.from_numpy(np.asarray(n)[:, None] * theta(d, base))


def placed(x, positions, base):
    t = half_table(positions, x.shape[-1], base)
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * t.cos() - b * t.sin(), a * t.sin() + b * t.cos()), dim=-1)


def decode_literally(query, keys, base):
    t, d = keys.shape
    scores = []
    for j in range(t):
        score = 0.0
        for i in range(d // 2):
            turn = (j - (t - 1)) * base ** (-2 * i / d)
            a, b = keys[j, i].item(), keys[j, i + d // 2].item()
            score += query[i].item() * (a * math.cos(turn) - b * math.sin(turn))
            score += query[i + d // 2].item() * (a * math.sin(turn) + b * math.cos(turn))
        scores.append(score)
    return scores


def decode_numpy(query, keys, base):
    d = len(query)
    q = query.numpy()[: d // 2] + 1j * query.numpy()[d // 2 :]
    k = keys.numpy()[:, : d // 2] + 1j * keys.numpy()[:, d // 2 :]
    p = np.arange(len(keys))
    q, k = q * np.exp(1j * p[-1] * theta(d, base)), k * np.exp(1j * p[:, None] * theta(d, base))
    return np.einsum("i,ji->j", q.conj(), k).real


def decode_counted_from_1000(query, keys, base):
    later = placed(keys, range(1000, 1000 + len(keys)), base)
    return later @ placed(query[None], [999 + len(keys)], base)[0]


def decode_with_posenc(query, keys, base):
    turn = angles(torch.arange(len(keys)), inverse_frequencies(len(query), base=base))
    return rotate(keys, turn, pairing="half") @ rotate(query[None], turn[-1:], pairing="half")[0]


def query_at(query, keys, base, position):
    return placed(keys, range(len(keys)), base) @ placed(query[None], [position], base)[0]


def still_at_0(query, keys, base):
    return placed(keys, range(len(keys)), base) @ query


def at_the_next_position(query, keys, base):
    return query_at(query, keys, base, len(keys))


def one_before(query, keys, base):
    return query_at(query, keys, base, len(keys) - 2)


def aged_keys(query, keys, base):
    return placed(keys, range(len(keys))[::-1], base) @ query


def keys_backwards(query, keys, base):
    now = placed(query[None], [len(keys) - 1], base)[0]
    return placed(keys, range(len(keys))[::-1], base) @ now


def keys_left_alone(query, keys, base):
    return keys @ placed(query[None], [len(keys) - 1], base)[0]


def all_at_the_same(query, keys, base):
    now = [len(keys) - 1]
    return placed(keys, now * len(keys), base) @ placed(query[None], now, base)[0]


def other_pairing(query, keys, base):
    p = torch.arange(len(keys))
    return literally(keys, p, base) @ literally(query[None], p[-1:], base)[0]


def moved_twice(query, keys, base):
    t = len(keys)
    now = placed(query[None], [t - 1], base)[0]
    return placed(keys, [j - (t - 1) for j in range(t)], base) @ now


def newest_first(query, keys, base):
    return decode_numpy(query, keys, base)[::-1].copy()


def weights_for_scores(query, keys, base):
    return decode_with_posenc(query, keys, base).softmax(dim=-1)


def scaled_scores(query, keys, base):
    return decode_numpy(query, keys, base) / math.sqrt(len(query))


def waves_by_loops(positions, dim, base):
    turns = [[p * base ** (-2 * i / dim) for i in range(dim // 2)] for p in positions.tolist()]
    return [[[wave(t) for t in row] for row in turns] for wave in (math.cos, math.sin)]


def waves_numpy(positions, dim, base):
    turn = positions.numpy()[:, None] * theta(dim, base)
    return np.cos(turn), np.sin(turn)


def waves_complex(positions, dim, base):
    speed = torch.exp(-math.log(base) * torch.arange(0, dim, 2).double() / dim)
    z = torch.polar(torch.ones(1).double(), positions.double()[:, None] * speed)
    return torch.stack((z.real, z.imag))


def table(turn):
    return turn.cos(), turn.sin()


def speeds_of(dim, base):
    return base ** (-2 * torch.arange(dim // 2) / dim)


def nothing_mended(positions, dim, base):
    return table((positions.bfloat16()[:, None] * speeds_of(dim, base).bfloat16()).double())


def widened_before_the_product(positions, dim, base):
    p, speed = positions.bfloat16(), speeds_of(dim, base).bfloat16()
    return table(p.float()[:, None] * speed.float())


def only_the_speeds_mended(positions, dim, base):
    return table(positions.bfloat16()[:, None] * speeds_of(dim, base))


def only_the_positions_mended(positions, dim, base):
    return table(positions.double()[:, None] * speeds_of(dim, base).bfloat16())


def rounded_after_the_product(positions, dim, base):
    return table((positions.double()[:, None] * speeds_of(dim, base)).bfloat16().double())


def in_half(positions, dim, base):
    return table((positions.half()[:, None] * speeds_of(dim, base).half()).double())


def positions_in_half(positions, dim, base):
    return table(positions.half()[:, None].double() * speeds_of(dim, base))


def float32_throughout(positions, dim, base):
    return table(positions.float()[:, None] * speeds_of(dim, base))


def speeds_in_float32(positions, dim, base):
    return table(positions.double()[:, None] * speeds_of(dim, base).double())


def sines_first(positions, dim, base):
    return waves_complex(positions, dim, base).flip(0)


def waves_in_bfloat16(positions, dim, base):
    cos, sin = waves_complex(positions, dim, base)
    return cos.bfloat16(), sin.bfloat16()


def half_a_turn_at_the_slowest(dim, length):
    n = dim // 2
    return [(math.pi / length) ** (i / (n - 1)) for i in range(n)]


def a_smaller_base(dim, length):
    return inverse_frequencies(dim, base=100.0)


def cubes(dim, length):
    return 3 / length + ((np.arange(dim // 2) + 0.5) / (dim // 2)) ** 3


def slowest_at_the_limit(dim, length):
    base = (2 * length / math.pi) ** (dim / (dim - 2))
    return [base ** (-2 * i / dim) for i in range(dim // 2)]


def for_one_length(dim, length):
    return slowest_at_the_limit(dim, 600)


def slowest_at_the_limit_numpy(dim, length):
    return np.geomspace(1.0, math.pi / 2 / length, dim // 2)


def slowest_at_the_limit_in_float32(dim, length):
    return torch.logspace(0, math.log10(math.pi / 2 / length), dim // 2)


def fastest_at_the_limit(dim, length):
    return [math.pi, *slowest_at_the_limit(dim, length)[1:]]


def fastest_at_the_limit_in_float32(dim, length):
    return torch.tensor(fastest_at_the_limit(dim, length), dtype=torch.float32)


def hardly_less_than_a_quarter(dim, length):
    return np.geomspace(1.0, 0.999 * math.pi / 2 / length, dim // 2)


def hardly_more_than_half_a_turn(dim, length):
    return [1.001 * math.pi, *slowest_at_the_limit(dim, length)[1:]]


def base_of_the_paper(dim, length):
    return 10_000.0 ** (-torch.arange(0, dim, 2) / dim)


def all_slow(dim, length):
    return [(i + 0.5) * math.pi / length for i in range(dim // 2)]


def evenly_up_to_one(dim, length):
    return (np.arange(dim // 2) + 0.5) / (dim // 2)


def evenly_up_to_half_a_turn(dim, length):
    return (np.arange(dim // 2) + 0.5) / (dim // 2) * math.pi


def one_a_channel(dim, length):
    return np.repeat(half_a_turn_at_the_slowest(dim, length), 2)


def rotated_squeezed(x, positions, base):
    return torch.as_tensor(literally(x, positions, base)).squeeze()


def decoding_squeezed(query, keys, base):
    return torch.as_tensor(decode_numpy(query, keys, base)).squeeze()


ANSWERS = {
    "rotated": Answers(
        [literally, numpy_complex, matrices, by_einsum, in_float32],
        [
            (clockwise, "clockwise"),
            (gpt_neox, "half a row apart"),
            (transformers_with_interleaved_table, "come from the other half"),
            (gpt_j_with_a_half_table, "Neighbours are exchanged"),
            (in_place, "old value"),
            (two_plus, "one minus"),
            (mirrored, "turn by 0"),
            (chunked_and_stacked, "put them back side by side"),
            (only_cosines, "became of the sines"),
            (evens_then_odds, "another order"),
            (in_degrees, "degrees"),
            (i_for_2i, "exponent of the base"),
            (channel_for_pair, "different angles"),
            (arange_of_channels, "where does i end"),
            (d_for_pairs, "too slow"),
            (positions_as_indices, "-2.5 in your code"),
            (by_row_number, "0, 1, 2"),
            (always_ten_thousand, "10000 in your code"),
            (only_one_speed, "angle of pair 0"),
        ],
        nearly=[rotated_squeezed],
    ),
    "score_from_offset": Answers(
        [score_numpy, score_loop, score_somewhere, score_query_moved],
        [
            (score_of_distance, "before from after"),
            (score_of_both_moved, "whatever the offset"),
            (score_moved_apart, "counts double"),
            (score_cosines, "all the sines cancel"),
            (score_b_with_the_wrong_sign, "further on, query or key"),
            (score_b_added, "should vanish"),
            (score_a_with_a_minus, "nothing turns"),
            (score_not_summed, "what is left to do"),
            (score_without_conjugate, "As complex numbers"),
            (score_scaled, "square root"),
            (score_half, "half a row apart"),
            (score_degrees, "degrees"),
            (score_ten_thousand, "10000 in your code"),
        ],
    ),
    "mended_pairing": Answers(
        [convert_by_loops, convert_numpy, convert_by_head, convert_by_matrix],
        [
            (still_inverse, "and where with 6"),
            (columns_evens_then_odds, "sorted the columns"),
            (last_pair_first, "last pair comes first"),
            (axis_of_heads_moved, "should it move"),
            (axes_not_joined, "on a single axis"),
            (scattered, "inverse of the right one"),
            (across_heads, "Right for one head"),
            (odd_first, "turn backwards"),
            (on_columns, "belong to the input"),
            (one_head, "Only the first head"),
            (as_it_was, "where they were"),
        ],
    ),
    "mended_decoding": Answers(
        [decode_literally, decode_numpy, decode_counted_from_1000, decode_with_posenc],
        [
            (still_at_0, "first token only"),
            (at_the_next_position, "too far on"),
            (one_before, "before its own token"),
            (aged_keys, "but after the query"),
            (keys_backwards, "from the first key on"),
            (keys_left_alone, "as far from the query as token 0"),
            (all_at_the_same, "without positions"),
            (other_pairing, "it is half here"),
            (moved_twice, "moved as well"),
            (newest_first, "oldest key comes first"),
            (weights_for_scores, "add up to 1"),
            (scaled_scores, "square root"),
        ],
        nearly=[decoding_squeezed],
    ),
    "mended_precision": Answers(
        [waves_by_loops, waves_numpy, waves_complex],
        [
            (nothing_mended, "Three things are rounded"),
            (speeds_in_float32, "for an integer pair"),
            (widened_before_the_product, "both its factors"),
            (only_the_speeds_mended, "share one row"),
            (only_the_positions_mended, "drift away"),
            (rounded_after_the_product, "product, the angle"),
            (in_half, "far fewer large"),
            (positions_in_half, "Right up to position 2048"),
            (float32_throughout, "usual lengths"),
            (sines_first, "cosines are asked first"),
            (waves_in_bfloat16, "The angles are right"),
        ],
    ),
    "speeds": Answers(
        [
            half_a_turn_at_the_slowest,
            a_smaller_base,
            cubes,
            slowest_at_the_limit,
            slowest_at_the_limit_numpy,
            slowest_at_the_limit_in_float32,
            fastest_at_the_limit,
            fastest_at_the_limit_in_float32,
        ],
        [
            (base_of_the_paper, "says nearly the same everywhere"),
            (all_slow, "Which pairs tell the two apart"),
            (evenly_up_to_one, "What have their speeds in common"),
            (evenly_up_to_half_a_turn, "Which pairs are too fast"),
            (one_a_channel, "One speed a pair"),
        ],
        nearly=[hardly_less_than_a_quarter, hardly_more_than_half_a_turn],
        green=[for_one_length],
    ),
}
