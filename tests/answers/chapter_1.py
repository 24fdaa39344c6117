import itertools
import math
from collections import Counter
from functools import reduce

import numpy as np
import torch

from tests.answers import Answers


def entry_by_entry(weights, order):
    new = order.tolist()
    return [[weights[i, j].item() for j in new] for i in new]


def open_mesh(weights, order):
    index = order.numpy()
    return weights.numpy()[np.ix_(index, index)]


def by_permutation_matrices(weights, order):
    p = torch.nn.functional.one_hot(order, len(order)).double()
    return torch.einsum("ai,ij,bj->ab", p, weights.double(), p)


def as_in_the_chapter(weights, order):
    p = torch.eye(len(order))[order]
    return p @ weights @ p.T


def select_twice(weights, order):
    return weights.index_select(0, order).index_select(1, order)


def only_queries(weights, order):
    return torch.stack([weights[i] for i in order])


def only_keys(weights, order):
    return weights.index_select(1, order)


def scattered(weights, order):
    new = torch.zeros_like(weights)
    for i, a in enumerate(order.tolist()):
        for j, b in enumerate(order.tolist()):
            new[a, b] = weights[i, j]
    return new


def identical_patterns(weights, order):
    return weights.clone()


def pairs_of_indices(weights, order):
    return weights[order, order]


def weights_as_scores(weights, order):
    return np.exp(open_mesh(weights, order)) / np.exp(open_mesh(weights, order)).sum(1)[:, None]


def p_on_both_sides(weights, order):
    p = torch.eye(len(order), dtype=weights.dtype)[order]
    return p @ weights @ p


def listed(words):
    return len(set(itertools.permutations(words)))


def factorials(words):
    repeated = math.prod(math.factorial(n) for n in Counter(words).values())
    return math.factorial(len(words)) / repeated


def choose_places(words):
    free, ways = len(words), 1
    for word in set(words):
        ways *= math.comb(free, words.count(word))
        free -= words.count(word)
    return torch.tensor(ways)


def recursive(words):
    if not words:
        return 1
    total = 0
    for word in set(words):
        rest = list(words)
        rest.remove(word)
        total += recursive(rest)
    return total


def every_order(words):
    return len(list(itertools.permutations(words)))


def other_orders(words):
    return listed(words) - 1


def each_word_once(words):
    return listed(sorted(set(words)))


def divided_by_counts(words):
    return math.factorial(len(words)) // reduce(lambda a, b: a * b, Counter(words).values())


def halved_for_each_repeated_word(words):
    ways = math.factorial(len(words))
    for word in set(words):
        ways //= 2 if words.count(word) > 1 else 1
    return ways


def divided_by_the_most_frequent(words):
    most = Counter(words).most_common(1)[0][1]
    return math.factorial(len(words)) // math.factorial(most)


def divided_by_the_largest_count(words):
    return math.factorial(len(words)) / max(words.count(word) for word in words)


def divided_by_all_repetitions(words):
    return math.factorial(len(words)) // math.factorial(len(words) - len(Counter(words)))


def lower_case(words):
    return listed([word.lower() for word in words])


def any_word_anywhere(words):
    return len(list(itertools.product(set(words), repeat=len(words))))


def solve_the_mean(outputs, first, other):
    return [(first - out) / (out - other) for out in outputs.tolist()]


def search(outputs, first, other):
    found = []
    for out in outputs.numpy():
        p = np.arange(1000)
        found.append(np.abs((first + p * other) / (p + 1) - out).argmin())
    return np.array(found)


def inverse_share(outputs, first, other):
    share = (outputs.float() - other) / (first - other)
    return share.reciprocal().round().long() - 1


def growing_text(outputs, first, other):
    found = []
    for out in outputs:
        text = [first]
        while abs(sum(text) / len(text) - out) > 1e-6:
            text.append(other)
        found.append(len(text) - 1)
    return found


def left_for_the_others(outputs, first, other):
    return [(first - out.item()) / (first - other) for out in outputs]


def how_many_words(outputs, first, other):
    return (first - other) / (outputs - other)


def as_if_one_and_zero(outputs, first, other):
    return (1 - outputs) / outputs


def zero_for_the_others(outputs, first, other):
    return [first / out.item() - 1 for out in outputs]


def subtracted_from_the_output_only(outputs, first, other):
    return [first / (out.item() - other) - 1 for out in outputs]


def subtracted_from_first_only(outputs, first, other):
    return [(first - other) / out.item() - 1 for out in outputs]


def ranked_upwards(outputs, first, other):
    return [sorted(outputs.tolist()).index(out) for out in outputs.tolist()]


def sorted_positions(outputs, first, other):
    return sorted(solve_the_mean(outputs, first, other))


def ranked_by_size(outputs, first, other):
    falling = sorted(outputs.tolist(), reverse=True)
    return [falling.index(out) for out in outputs.tolist()]


def argsort_by_share(outputs, first, other):
    return np.argsort(-((outputs - other) / (first - other)).numpy())


def argsort_downwards(outputs, first, other):
    return np.argsort(outputs.numpy())[::-1].copy()


def argsort_upwards(outputs, first, other):
    return sorted(range(len(outputs)), key=lambda i: outputs[i].item())


def only_the_share(outputs, first, other):
    return [(out.item() - other) / (first - other) for out in outputs]


def fraction_turned(outputs, first, other):
    return (other - outputs) / (outputs - first)


def places_in_the_list(outputs, first, other):
    return list(range(len(outputs)))


def sorted_places(outputs, first, other):
    falling = sorted(outputs.tolist(), key=lambda out: -abs(out - other))
    return [falling.index(out) for out in outputs.tolist()]


def halved_each_time(outputs, first, other):
    return [math.log((out.item() - other) / (first - other), 0.5) for out in outputs]


ANSWERS = {
    "shuffled_weights": Answers(
        [entry_by_entry, open_mesh, by_permutation_matrices, as_in_the_chapter, select_twice],
        [
            (only_queries, "the keys are not"),
            (only_keys, "the queries are not"),
            (scattered, "undoes the order"),
            (identical_patterns, "belongs to another word"),
            (pairs_of_indices, "side by side"),
            (p_on_both_sides, "is transposed"),
            (weights_as_scores, "flatter"),
        ],
    ),
    "orders_alike": Answers(
        [listed, factorials, choose_places, recursive],
        [
            (every_order, "is that another sentence"),
            (other_orders, "One too few each time"),
            (each_word_once, "two places to fill"),
            (divided_by_counts, "three equal"),
            (divided_by_the_most_frequent, "two such words"),
            (divided_by_the_largest_count, "most frequent word only"),
            (divided_by_all_repetitions, "one word after the other"),
            (halved_for_each_repeated_word, "occur twice are right"),
            (lower_case, "different embeddings"),
            (any_word_anywhere, "used up"),
        ],
    ),
    "positions_from_outputs": Answers(
        [solve_the_mean, search, inverse_share, growing_text],
        [
            (how_many_words, "One too many"),
            (as_if_one_and_zero, "1 and 0 only"),
            (zero_for_the_others, "values are 0"),
            (subtracted_from_the_output_only, "An output equal to"),
            (subtracted_from_first_only, "no attention at all"),
            (ranked_upwards, "from the smallest on"),
            (sorted_positions, "but sorted"),
            (ranked_by_size, "by their size"),
            (argsort_by_share, "which output comes first"),
            (argsort_downwards, "argsort of the outputs"),
            (argsort_upwards, "from the smallest output"),
            (only_the_share, "Among how many words"),
            (left_for_the_others, "all other words together"),
            (fraction_turned, "falls along the text"),
            (places_in_the_list, "Where one stands in the list"),
            (sorted_places, "between them that you"),
            (halved_each_time, "halved with every word"),
        ],
    ),
}
