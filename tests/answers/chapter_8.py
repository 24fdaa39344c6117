"""Answers to the exercises of chapter 8."""

import math

import numpy as np
import torch

from posenc import inverse_frequencies
from tests.answers import Answers


def unseen_loop(inv_freq, scaled, trained, length):
    found = []
    for old, new in zip(inv_freq.tolist(), scaled.tolist(), strict=True):
        arc = old * (trained - 1)
        found.append(arc < math.tau and new * (length - 1) > arc + 1e-12)
    return found


def unseen_numpy(inv_freq, scaled, trained, length):
    arc, now = (trained - 1) * inv_freq.numpy(), (length - 1) * scaled.numpy()
    return np.logical_and(arc < 2 * np.pi, now - arc > 1e-12)


def unseen_by_distances(inv_freq, scaled, trained, length):
    now = torch.arange(length)[:, None] * scaled
    arc = (torch.arange(trained)[:, None] * inv_freq).amax(0)
    new = (now > arc + 1e-12).any(0)
    return new & (arc < 2 * torch.pi)


def unseen_as_numbers(inv_freq, scaled, trained, length):
    return torch.tensor(unseen_loop(inv_freq, scaled, trained, length)).long()


def every_pair(inv_freq, scaled, trained, length):
    return (length - 1) * scaled > (trained - 1) * inv_freq + 1e-12


def with_new_frequencies(inv_freq, scaled, trained, length):
    return unseen_loop(scaled, scaled, trained, length)


def with_old_frequencies(inv_freq, scaled, trained, length):
    return unseen_loop(inv_freq, inv_freq, trained, length)


def all_slow_pairs(inv_freq, scaled, trained, length):
    return (trained - 1) * inv_freq < math.tau


def half_circles(inv_freq, scaled, trained, length):
    arc = (trained - 1) * inv_freq
    return (arc < math.pi) & ((length - 1) * scaled > arc + 1e-12)


def lengths_for_distances(inv_freq, scaled, trained, length):
    return unseen_loop(inv_freq, scaled, trained + 1, length + 1)


def seen_pairs(inv_freq, scaled, trained, length):
    return [not new for new in unseen_loop(inv_freq, scaled, trained, length)]


def how_many(inv_freq, scaled, trained, length):
    return sum(unseen_loop(inv_freq, scaled, trained, length))


def slow_pairs(dim, base, trained):
    return [i for i in range(dim // 2) if trained * base ** (-2 * i / dim) < math.tau]


def factor_loop(dim, base, trained, stretch):
    needed = [stretch ** ((dim // 2 - 1) / i) for i in slow_pairs(dim, base, trained)]
    return max(needed, default=1.0)


def factor_search(dim, base, trained, stretch):
    slow = slow_pairs(dim, base, trained)
    low, high = 0.0, 60.0  # logarithms
    for _ in range(80):
        middle = (low + high) / 2
        enough = all(middle * i / (dim / 2 - 1) >= math.log(stretch) for i in slow)
        low, high = (low, middle) if enough else (middle, high)
    return math.exp(high)


def factor_torch(dim, base, trained, stretch):
    speed = inverse_frequencies(dim, base=base)
    i = torch.arange(dim // 2)[speed * trained < 2 * torch.pi]
    return torch.tensor(1.0) if i.numel() == 0 else stretch ** ((dim / 2 - 1) / i.min())


def plain_stretch(dim, base, trained, stretch):
    return stretch if slow_pairs(dim, base, trained) else 1.0


def stretch_always(dim, base, trained, stretch):
    return stretch


def half_for_last(dim, base, trained, stretch):
    slow = slow_pairs(dim, base, trained)
    return stretch ** (dim / 2 / slow[0]) if slow else 1


def second_slow_pair(dim, base, trained, stretch):
    slow = slow_pairs(dim, base, trained)
    return stretch ** ((dim / 2 - 1) / (slow[0] + 1)) if slow else 1


def last_fast_pair(dim, base, trained, stretch):
    slow = slow_pairs(dim, base, trained)
    return stretch ** ((dim / 2 - 1) / (slow[0] - 1)) if slow else 1


def base_itself(dim, base, trained, stretch):
    return base * factor_loop(dim, base, trained, stretch) ** (dim / (dim - 2))


def upside_down(dim, base, trained, stretch):
    slow = slow_pairs(dim, base, trained)
    return stretch ** (slow[0] / (dim / 2 - 1)) if slow else 1


def one_length_for_a_distance(inv_freq, scaled, trained, length):
    return unseen_loop(inv_freq, scaled, trained, length + 1)


def another_length_for_a_distance(inv_freq, scaled, trained, length):
    arc = (trained - 1) * inv_freq
    return (arc < math.tau) & ((length - 1) * scaled > trained * inv_freq + 1e-12)


def only_early_pairs(dim, base, trained, stretch):
    slow = [i for i in slow_pairs(dim, base, trained) if i < dim // 3]
    return stretch ** ((dim / 2 - 1) / slow[0]) if slow else 1.0


def pairs_behind_the_last(dim, base, trained, stretch):
    first = next(i for i in range(10**6) if trained * base ** (-2 * i / dim) < math.tau)
    return stretch ** ((dim / 2 - 1) / first) if first < dim - 2 else 1.0


def turns_of_tokens(inv_freq, scaled, trained, length):
    before = (trained - 1) * inv_freq
    return (trained * inv_freq < math.tau) & ((length - 1) * scaled > before * (1 + 1e-9))


def as_far_as_before(inv_freq, scaled, trained, length):
    before = (trained - 1) * inv_freq
    return (before < math.tau) & ((length - 1) * scaled >= before)


def turns_of_distances(dim, base, trained, stretch):
    for pair in range(dim // 2):
        if (trained - 1) * base ** (-2 * pair / dim) < math.tau:
            return stretch ** ((dim / 2 - 1) / pair)
    return 1.0


ANSWERS = {
    "unseen_pairs": Answers(
        [unseen_loop, unseen_numpy, unseen_by_distances, unseen_as_numbers],
        [
            (every_pair, "no angle left to show"),
            (with_new_frequencies, "with the frequencies of training"),
            (with_old_frequencies, "read with the stretched"),
            (all_slow_pairs, "go further in this text"),
            (half_circles, "half a turn for a whole"),
            (lengths_for_distances, "largest distance 11"),
            (seen_pairs, "are exchanged"),
            (how_many, "You return how many"),
        ],
        [
            one_length_for_a_distance,
            another_length_for_a_distance,
            turns_of_tokens,
            as_far_as_before,
        ],
    ),
    "ntk_factor": Answers(
        [factor_loop, factor_search, factor_torch],
        [
            (plain_stretch, "needs the most"),
            (stretch_always, "nothing needs to be slowed"),
            (half_for_last, "slowed by the whole factor"),
            (second_slow_pair, "Count pairs from 0"),
            (last_fast_pair, "so it needs nothing"),
            (base_itself, "This is a base"),
            (upside_down, "solve for the factor"),
        ],
        [only_early_pairs, pairs_behind_the_last, turns_of_distances],
    ),
}
