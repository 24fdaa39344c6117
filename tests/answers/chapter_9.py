"""Answers to the repair exercises."""

import math

import numpy as np
import torch

from posenc import angles, dynamic_ntk_scaling, inverse_frequencies, ntk_scaling, rotate
from tests.answers import Answers


def half(x, places, base, over=None):
    """Turn the last axis, by one place for each entry of the axis before it."""
    width = x.shape[-1]
    i = torch.arange(width // 2, dtype=torch.float64)
    t = torch.as_tensor(places).double()[..., None] * base ** (-2 * i / (over or width))
    a, b = x[..., : width // 2], x[..., width // 2 :]
    return torch.cat((a * t.cos() - b * t.sin(), a * t.sin() + b * t.cos()), dim=-1)


def layout_by_axis(x, positions, base):
    turn = angles(positions, inverse_frequencies(x.shape[-1], base=base))
    return rotate(x, turn, pairing="half", axis=1)


def layout_exchanged(x, positions, base):
    return half(x.transpose(1, 2), positions, base).transpose(1, 2)


def layout_loop(x, positions, base):
    new = torch.empty_like(x)
    for n, p in enumerate(positions.tolist()):
        new[:, n] = half(x[:, n], [p] * x.shape[2], base)
    return new


def layout_as_it_was(x, positions, base):
    places = positions[torch.arange(x.shape[2]) % len(positions)]
    return half(x, places, base)


def layout_left_exchanged(x, positions, base):
    return half(x.transpose(1, 2), positions, base)


def layout_arange(x, positions, base):
    return layout_exchanged(x, torch.arange(x.shape[1]), base)


def layout_backwards(x, positions, base):
    return layout_exchanged(x, -positions, base)


def layout_ten_thousand(x, positions, base):
    return layout_exchanged(x, positions, 1e4)


def layout_first(x, positions, base):
    return layout_exchanged(x, [positions[0].item()] * len(positions), base)


def packed_blocks(lengths):
    return torch.block_diag(*(torch.ones(n, n).tril() for n in lengths)).bool()


def packed_loop(lengths):
    owner = [d for d, n in enumerate(lengths) for _ in range(n)]
    size = len(owner)
    return [[owner[i] == owner[j] and j <= i for j in range(size)] for i in range(size)]


def packed_starts(lengths):
    n = np.arange(sum(lengths))
    start = np.repeat(np.cumsum([0, *lengths[:-1]]), lengths)
    return (n[None] <= n[:, None]) & (n[None] >= start[:, None])


def packed_positions(lengths):
    p = torch.cat([torch.arange(n) for n in lengths])
    return p[:, None] >= p


def packed_causal(lengths):
    n = torch.arange(sum(lengths))
    return n[:, None] >= n


def packed_both_ways(lengths):
    return torch.block_diag(*(torch.ones(n, n) for n in lengths)) > 0


def packed_strict(lengths):
    return torch.block_diag(*(torch.ones(n, n).tril(-1) for n in lengths)) > 0


def packed_columns(lengths):
    return packed_blocks(lengths).T


def packed_hidden(lengths):
    return ~packed_blocks(lengths)


def partial_cat(x, positions, width, base):
    return torch.cat((half(x[:, :width], positions, base), x[:, width:]), dim=1)


def partial_posenc(x, positions, width, base):
    turn = angles(positions, inverse_frequencies(width, base=base))
    return rotate(x, turn, pairing="half", rotary_dim=width)


def partial_loop(x, positions, width, base):
    new = x.clone()
    for row, p in enumerate(positions.tolist()):
        for i in range(width // 2):
            t = p * base ** (-2 * i / width)
            a, b = x[row, i], x[row, i + width // 2]
            new[row, i] = a * math.cos(t) - b * math.sin(t)
            new[row, i + width // 2] = a * math.sin(t) + b * math.cos(t)
    return new


def partial_over_the_head(x, positions, width, base):
    turned = half(x[:, :width], positions, base, over=x.shape[1])
    return torch.cat((turned, x[:, width:]), dim=1)


def partial_across(x, positions, width, base):
    new, far = x.clone(), x.shape[1] // 2
    t = positions.double()[:, None] * base ** (-torch.arange(0, width, 2).double() / width)
    a, b = x[:, : width // 2], x[:, far : far + width // 2]
    new[:, : width // 2] = a * t.cos() - b * t.sin()
    new[:, far : far + width // 2] = a * t.sin() + b * t.cos()
    return new


def partial_last(x, positions, width, base):
    rest = x.shape[1] - width
    return torch.cat((x[:, :rest], half(x[:, rest:], positions, base)), dim=1)


def partial_whole(x, positions, width, base):
    return half(x, positions, base)


def partial_cut(x, positions, width, base):
    return half(x[:, :width], positions, base)


def partial_zero(x, positions, width, base):
    return torch.nn.functional.pad(half(x[:, :width], positions, base), (0, x.shape[1] - width))


def partial_neighbours(x, positions, width, base):
    turn = angles(positions, inverse_frequencies(width, base=base))
    return rotate(x, turn, pairing="interleaved", rotary_dim=width)


def partial_arange(x, positions, width, base):
    return partial_cat(x, torch.arange(len(x)), width, base)


def chunk_tril(new, cached):
    return torch.ones(new, cached + new).tril(diagonal=cached).bool()


def chunk_loop(new, cached):
    return [[key <= cached + query for key in range(cached + new)] for query in range(new)]


def chunk_rows(new, cached):
    n = np.arange(cached + new)
    return (n[:, None] >= n[None])[cached:]


def chunk_top_left(new, cached):
    return torch.ones(new, cached + new).tril().bool()


def chunk_all(new, cached):
    return torch.ones(new, cached + new) > 0


def chunk_without_cache(new, cached):
    return torch.cat((torch.zeros(new, cached), torch.ones(new, new).tril()), dim=1).bool()


def chunk_strict(new, cached):
    return torch.ones(new, cached + new).tril(cached - 1) > 0


def chunk_one_more(new, cached):
    return torch.ones(new, cached + new).tril(cached + 1) > 0


def chunk_hidden(new, cached):
    return ~chunk_tril(new, cached)


def chunk_square(new, cached):
    return torch.ones(cached + new, cached + new).tril() > 0


def window_back(keys, start, dropped, base):
    kept = keys[dropped:]
    return half(kept, [-dropped] * len(kept), base)


def window_undone(keys, start, dropped, base):
    raw = half(keys, [-(start + n) for n in range(len(keys))], base)[dropped:]
    return half(raw, range(start, start + len(raw)), base)


def window_complex(keys, start, dropped, base):
    z = torch.complex(*keys[dropped:].chunk(2, dim=1))
    z = z * torch.exp(-1j * dropped * inverse_frequencies(keys.shape[1], base=base))
    return torch.cat((z.real, z.imag), dim=1)


def window_again(keys, start, dropped, base):
    kept = keys[dropped:]
    return half(kept, range(start, start + len(kept)), base)


def window_left(keys, start, dropped, base):
    return keys[dropped:]


def window_on(keys, start, dropped, base):
    return half(keys[dropped:], [dropped] * (len(keys) - dropped), base)


def window_raw(keys, start, dropped, base):
    return half(keys[dropped:], [-(start + n) for n in range(dropped, len(keys))], base)


def window_newest(keys, start, dropped, base):
    kept = keys[: len(keys) - dropped]
    return half(kept, [-dropped] * len(kept), base)


def window_to_zero(keys, start, dropped, base):
    return half(keys[dropped:], [-dropped - start] * (len(keys) - dropped), base)


def window_ten_thousand(keys, start, dropped, base):
    return window_back(keys, start, dropped, 1e4)


def turned(x, places, inv_freq):
    return rotate(x, angles(torch.as_tensor(places), inv_freq), pairing="half")


def scaled(dim, base, length, trained):
    options = {"factor": 1, "length": length, "trained_length": trained}
    return dynamic_ntk_scaling(inverse_frequencies(dim, base=base), **options)[0]


def dynamic_afresh(query, keys, base, trained):
    n = len(keys)
    now = scaled(len(query), base, n, trained)
    return turned(keys, torch.arange(n), now) @ turned(query[None], [n - 1], now)[0]


def dynamic_offsets(query, keys, base, trained):
    n, d = keys.shape
    ratio = max(n / trained, 1)
    larger = base * ratio ** (d / (d - 2))
    return half(keys, [j - n + 1 for j in range(n)], larger) @ query


def dynamic_loop(query, keys, base, trained):
    n, d = keys.shape
    factor = max(n, trained) / trained
    now = ntk_scaling(inverse_frequencies(d, base=base), factor=factor)[0].tolist()
    scores = []
    for j in range(n):
        total = 0.0
        for i, theta in enumerate(now):
            q = complex(query[i], query[i + d // 2])
            k = complex(keys[j, i], keys[j, i + d // 2])
            t = (j - n + 1) * theta
            total += (q.conjugate() * k * complex(math.cos(t), math.sin(t))).real
        scores.append(total)
    return scores


def dynamic_cached(query, keys, base, trained):
    n, d = keys.shape
    old = [turned(keys[j : j + 1], [j], scaled(d, base, j + 1, trained)) for j in range(n)]
    return torch.cat(old) @ turned(query[None], [n - 1], scaled(d, base, n, trained))[0]


def dynamic_two(query, keys, base, trained, *, of_query, of_keys):
    n, d = keys.shape
    keys = turned(keys, torch.arange(n), scaled(d, base, of_keys, trained))
    return keys @ turned(query[None], [n - 1], scaled(d, base, of_query, trained))[0]


def dynamic_old_keys(query, keys, base, trained):
    return dynamic_two(query, keys, base, trained, of_query=len(keys), of_keys=trained)


def dynamic_old_query(query, keys, base, trained):
    return dynamic_two(query, keys, base, trained, of_query=trained, of_keys=len(keys))


def dynamic_never(query, keys, base, trained):
    return dynamic_two(query, keys, base, trained, of_query=1, of_keys=1)


def dynamic_behind(query, keys, base, trained):
    before = len(keys) - 1
    return dynamic_two(query, keys, base, trained, of_query=before, of_keys=before)


def dynamic_plain(query, keys, base, trained):
    return keys @ query


def dynamic_flipped(query, keys, base, trained):
    return dynamic_afresh(query, keys, base, trained).flip(0)


def partial_from_the_end(x, positions, width, base):
    rest = x[:, -(x.shape[1] - width) :]
    return torch.cat((half(x[:, :width], positions, base), rest), dim=1)


def window_of_another_width(keys, start, dropped, base):
    turned = half(keys[dropped:], [-dropped] * (len(keys) - dropped), base, over=len(keys))
    return turned


def dynamic_with(factor):
    def answer(query, keys, base, trained):
        n, d = keys.shape
        larger = base * factor(n, trained) ** (d / (d - 2))
        return half(keys, [j - n + 1 for j in range(n)], larger) @ query

    return answer


dynamic_faster_at_first = dynamic_with(lambda n, trained: n / trained)
dynamic_in_whole_steps = dynamic_with(lambda n, trained: max(1, n // trained))
dynamic_rounded = dynamic_with(lambda n, trained: max(1, round(n / trained)))


ANSWERS = {
    "mended_layout": Answers(
        [layout_by_axis, layout_exchanged, layout_loop],
        [
            (layout_as_it_was, "turned by their number"),
            (layout_left_exchanged, "tokens and heads exchanged"),
            (layout_arange, "turned by 0, 1, 2"),
            (layout_backwards, "turns the other way"),
            (layout_ten_thousand, "10000 in your code"),
            (layout_first, "by the first position"),
        ],
    ),
    "mended_packing": Answers(
        [packed_blocks, packed_loop, packed_starts],
        [
            (packed_positions, "which document"),
            (packed_causal, "who may look at the first"),
            (packed_both_ways, "sees those after it"),
            (packed_strict, "may look at itself"),
            (packed_columns, "yours are exchanged"),
            (packed_hidden, "True and false"),
        ],
    ),
    "mended_partial": Answers(
        [partial_cat, partial_posenc, partial_loop],
        [
            (partial_over_the_head, "exponent divided by"),
            (partial_across, "half a head apart"),
            (partial_last, "other end of the row"),
            (partial_whole, "the whole row"),
            (partial_cut, "are gone"),
            (partial_zero, "are zero"),
            (partial_neighbours, "within the turned part"),
            (partial_arange, "turned by 0, 1, 2"),
        ],
        nearly=[partial_from_the_end],
    ),
    "mended_chunk": Answers(
        [chunk_tril, chunk_loop, chunk_rows],
        [
            (chunk_top_left, "after all the cached"),
            (chunk_all, "Right for one token"),
            (chunk_without_cache, "nothing of the cache"),
            (chunk_strict, "its own key"),
            (chunk_one_more, "the one after it"),
            (chunk_hidden, "True and false"),
            (chunk_square, "only new queries"),
        ],
    ),
    "mended_window": Answers(
        [window_back, window_undone, window_complex],
        [
            (window_again, "where do they stand"),
            (window_left, "stand where they stood"),
            (window_on, "went on, not back"),
            (window_raw, "before any turn"),
            (window_newest, "dropped the newest"),
            (window_to_zero, "back to position 0"),
            (window_ten_thousand, "10000 in your code"),
        ],
        nearly=[window_of_another_width],
    ),
    "mended_dynamic": Answers(
        [dynamic_afresh, dynamic_offsets, dynamic_loop],
        [
            (dynamic_cached, "in which it was read"),
            (dynamic_old_keys, "the query is not"),
            (dynamic_old_query, "the keys are not"),
            (dynamic_never, "has slower frequencies"),
            (dynamic_behind, "without its newest token"),
            (dynamic_plain, "scores without positions"),
            (dynamic_flipped, "another order"),
        ],
        nearly=[dynamic_faster_at_first, dynamic_in_whole_steps, dynamic_rounded],
    ),
}
