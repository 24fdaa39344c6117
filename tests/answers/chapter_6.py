import math

import numpy as np
import torch

from tests.answers import Answers


def formula(count):
    return [2 ** (-8 * (h + 1) / count) for h in range(count)]


def slopes_recursive(num_heads):
    if num_heads & (num_heads - 1) == 0:
        return formula(num_heads)
    closest = 2 ** math.floor(math.log2(num_heads))
    return formula(closest) + slopes_recursive(2 * closest)[0::2][: num_heads - closest]


def slopes_numpy(num_heads):
    n = 2 ** int(np.log2(num_heads))
    ratio = 2.0 ** (-8 / n)
    first = ratio ** np.arange(1, n + 1)
    second = np.sqrt(ratio) ** np.arange(1, 2 * (num_heads - n), 2)
    return np.concatenate([first, second])


def slopes_one_by_one(num_heads):
    n = 1
    while n * 2 <= num_heads:
        n *= 2
    result = torch.zeros(num_heads, dtype=torch.float32)
    for h in range(num_heads):
        if h < n:
            result[h] = 0.5 ** (8 * (h + 1) / n)
        else:
            result[h] = 0.5 ** (8 * (2 * (h - n) + 1) / (2 * n))
    return result


def slopes_to_64(num_heads):
    n = max(power for power in (1, 2, 4, 8, 16, 32, 64) if power <= num_heads)
    return formula(n) + formula(2 * n)[0::2][: num_heads - n]


def slopes_of_many(num_heads):
    return slopes_recursive(num_heads) if num_heads > 1 else [1.0]


def slopes_of_eight(num_heads):
    return [1 / 2 ** (h + 1) for h in range(num_heads)]


def slopes_not_every_other(num_heads):
    n = 2 ** int(math.log2(num_heads))
    return (formula(n) + formula(2 * n))[:num_heads]


def slopes_of_even_places(num_heads):
    n = 2 ** int(math.log2(num_heads))
    return (formula(n) + formula(2 * n)[1::2])[:num_heads]


def slopes_sorted(num_heads):
    return sorted(slopes_recursive(num_heads))[::-1]


def slopes_rising(num_heads):
    return slopes_recursive(num_heads)[::-1]


def slopes_from_one(num_heads):
    n = 2 ** int(math.log2(num_heads))
    first = [2 ** (-8 * h / n) for h in range(n)]
    second = [2 ** (-8 * h / (2 * n)) for h in range(0, 2 * n, 2)]
    return (first + second)[:num_heads]


def slopes_linear(num_heads):
    return np.linspace(1, 1 / num_heads, num_heads)


def slopes_cut(num_heads):
    n = 1
    while n < num_heads:
        n *= 2
    return formula(n)[:num_heads]


def slopes_up(num_heads):
    return [1 / slope for slope in slopes_recursive(num_heads)]


def biased_loops(scores, slopes):
    heads, queries, keys = scores.shape
    result = torch.full(scores.shape, -math.inf)
    for h in range(heads):
        for i in range(queries):
            position = keys - queries + i
            for j in range(position + 1):
                result[h, i, j] = scores[h, i, j] - slopes[h] * (position - j)
    return result


def biased_numpy(scores, slopes):
    _, queries, keys = scores.shape
    distance = np.arange(keys - queries, keys)[:, None] - np.arange(keys)[None]
    bias = np.where(distance < 0, -np.inf, -distance * slopes.numpy()[:, None, None])
    return scores.numpy() + bias


def biased_einsum(scores, slopes):
    keys = scores.shape[2]
    everything = torch.arange(keys).double()
    back = (everything[:, None] - everything)[-scores.shape[1] :]
    total = scores - torch.einsum("h,qk->hqk", slopes.double(), back)
    return total + torch.full(back.shape, -math.inf).triu(keys - scores.shape[1] + 1)


def biased_in_lists(scores, slopes):
    missing = scores.shape[2] - scores.shape[1]
    return [
        [
            [
                s - m * (i + missing - j) if j <= i + missing else -math.inf
                for j, s in enumerate(row)
            ]
            for i, row in enumerate(head.tolist())
        ]
        for head, m in zip(scores, slopes.tolist(), strict=True)
    ]


def penalty(scores, slopes, first):
    _, queries, keys = scores.shape
    back = torch.arange(first, first + queries)[:, None] - torch.arange(keys)
    return slopes[:, None, None] * back, back < 0


def biased_as_found(scores, slopes):
    price, later = penalty(scores, slopes, 0)
    return (scores + price).masked_fill(later, -math.inf)


def biased_from_zero(scores, slopes):
    price, later = penalty(scores, slopes, 0)
    return (scores - price).masked_fill(later, -math.inf)


def biased_rewarding(scores, slopes):
    price, later = penalty(scores, slopes, scores.shape[2] - scores.shape[1])
    return (scores + price).masked_fill(later, -math.inf)


def biased_square_mask(scores, slopes):
    _, queries, keys = scores.shape
    price = penalty(scores, slopes, keys - queries)[0].abs()
    return (scores - price).masked_fill(~torch.ones(queries, keys).tril().bool(), -math.inf)


def biased_by_key(scores, slopes):
    later = penalty(scores, slopes, scores.shape[2] - scores.shape[1])[1]
    columns = torch.arange(scores.shape[2])
    return (scores + slopes[:, None, None] * columns).masked_fill(later, -math.inf)


def biased_backwards(scores, slopes):
    return biased_loops(scores, slopes.flip(0))


def biased_open(scores, slopes):
    return scores - penalty(scores, slopes, scores.shape[2] - scores.shape[1])[0].abs()


def biased_nearly_masked(scores, slopes):
    price, later = penalty(scores, slopes, scores.shape[2] - scores.shape[1])
    return (scores - price).masked_fill(later, -1e9)


def biased_beyond(scores, slopes):
    price, later = penalty(scores, slopes, scores.shape[2] - scores.shape[1] + 1)
    return (scores - price).masked_fill(later, -math.inf)


def biased_without_abs(scores, slopes):
    first = scores.shape[2] - scores.shape[1]
    price, _ = penalty(scores, slopes, 0)
    return (scores - price).masked_fill(penalty(scores, slopes, first)[1], -math.inf)


def biased_mask_only(scores, slopes):
    first = scores.shape[2] - scores.shape[1]
    price, _ = penalty(scores, slopes, 0)
    return (scores + price).masked_fill(penalty(scores, slopes, first)[1], -math.inf)


def biased_after_all(scores, slopes):
    price, later = penalty(scores, slopes, scores.shape[2])
    return (scores - price).masked_fill(later, -math.inf)


def biased_flipped(scores, slopes):
    _, queries, keys = scores.shape
    relative = torch.arange(keys) - torch.arange(keys - queries, keys)[:, None]
    return (scores + slopes[:, None, None] * relative).masked_fill(relative < 0, -math.inf)


def biased_flipped_abs(scores, slopes):
    _, queries, keys = scores.shape
    relative = torch.arange(keys) - torch.arange(keys - queries, keys)[:, None]
    return (scores - slopes[:, None, None] * relative.abs()).masked_fill(relative < 0, -math.inf)


def half_of_share(slopes):
    own = 1 - np.exp(-slopes.numpy())
    return -np.log(own / 2) / slopes.numpy()


def half_of_everything(slopes):
    return [-math.log(0.5 / (1 - math.exp(-m))) / m for m in slopes.tolist()]


ANSWERS = {
    "half_distance": Answers(
        [
            lambda slopes: math.log(2) / slopes,
            lambda slopes: [-math.log(0.5) / m for m in slopes.tolist()],
            lambda slopes: np.log(2) / slopes.numpy(),
            lambda slopes: 1 / (slopes * torch.tensor(math.e).log2()),
        ],
        [
            (lambda slopes: 1 / slopes, "fallen by 1, and"),
            (lambda slopes: math.log(0.5) / slopes, "not negative"),
            (lambda slopes: np.log10(2) / slopes.numpy(), "Which logarithm"),
            (lambda slopes: slopes * math.log(2), "grow with the slope"),
            (lambda slopes: 0.5 / slopes, "fallen by 1/2"),
            (half_of_share, "by the same sum"),
            (half_of_everything, "half of all the attention"),
            (lambda slopes: np.ceil(np.log(2) / slopes.numpy()), "whole positions. The exact"),
        ],
    ),
    "slopes": Answers(
        [slopes_recursive, slopes_numpy, slopes_one_by_one],
        [
            (formula, "come in two parts"),
            (slopes_of_eight, "only if there are 8 heads"),
            (slopes_not_every_other, "leaves slopes out"),
            (slopes_of_even_places, "the same slope"),
            (slopes_sorted, "unsorted"),
            (slopes_rising, "steepest of its part"),
            (slopes_from_one, "0 for the first head"),
            (slopes_linear, "equal steps"),
            (slopes_cut, "cut off"),
            (slopes_up, "between 0 and 1"),
        ],
        [slopes_of_many],
        [slopes_to_64],
    ),
    "biased": Answers(
        [biased_loops, biased_numpy, biased_einsum, biased_in_lists],
        [
            (biased_as_found, "those of other queries"),
            (biased_from_zero, "Without a cache it is right"),
            (biased_rewarding, "Should they"),
            (biased_square_mask, "the mask still takes"),
            (biased_by_key, "After a softmax"),
            (biased_backwards, "belong to the heads"),
            (biased_open, "come after their query"),
            (biased_nearly_masked, "not just very small"),
            (biased_beyond, "too far on"),
            (biased_without_abs, "where the queries stand"),
            (biased_mask_only, "still has both bugs"),
            (biased_after_all, "Here every query stands after"),
            (biased_flipped, "later ones gain"),
            (biased_flipped_abs, "the wrong way round"),
        ],
    ),
}
