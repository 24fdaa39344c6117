"""Questions of chapter 1: the position problem."""

import math
from collections import Counter
from collections.abc import Sequence

import torch
from torch import Tensor

from grading.questions.master import Case, Comparison, Draw, Misconception, Test
from posenc.attention import attention


def _weights(num_words: int) -> Tensor:
    """Attention weights between random words, the same at every call."""
    source = torch.Generator().manual_seed(num_words)
    q, k = torch.randn(2, num_words, 8, generator=source)
    return attention(q, k, k)[1]


def _shuffled(weights: Tensor, order: Tensor) -> Tensor:
    return weights[order][:, order]


def _some_weights(draw: Draw, num_words: int) -> Tensor:
    return draw.normal(num_words, num_words).softmax(dim=-1)


def _other_orders(draw: Draw) -> list[Case]:
    sizes = (draw.integer(5, 7), draw.integer(8, 9))
    orders = {f"an order of {n} words": torch.tensor(draw.permutation(n)) for n in sizes}
    cases = [Case(k, _some_weights(draw, len(order)), order) for k, order in orders.items()]
    return [*cases, Case("one word", torch.ones(1, 1), torch.tensor([0]))]


shuffled_weights = Comparison(
    "shuffled_weights",
    _shuffled,
    [
        Case("four words, order 2, 0, 3, 1", _weights(4), torch.tensor([2, 0, 3, 1])),
        Case("the same order", _weights(3), torch.arange(3)),
        Case("back to front", _weights(3), torch.tensor([2, 1, 0])),
        Case("the last word moved to the front", _weights(5), torch.tensor([4, 0, 1, 2, 3])),
    ],
    [
        Misconception(
            "unchanged",
            "You return the weights as they were. The new first row belongs to another word.",
            lambda weights, order: weights,
        ),
        Misconception(
            "only the diagonal",
            "Two lists of indices side by side pick single entries, one a pair; you need a "
            "whole matrix.",
            lambda weights, order: weights[order, order],
        ),
        Misconception(
            "rows only",
            "The queries are in their new places, the keys are not.",
            lambda weights, order: weights[order],
        ),
        Misconception(
            "columns only",
            "The keys are in their new places, the queries are not.",
            lambda weights, order: weights[:, order],
        ),
        Misconception(
            "inverse permutation",
            "This undoes the order. Word 0 of the new sentence was word order[0] of the old one.",
            lambda weights, order: _shuffled(weights, order.argsort()),
        ),
        Misconception(
            "not transposed",
            "Rows follow the order, columns the inverse of it. One P in the chapter's formula "
            "is transposed.",
            lambda weights, order: weights[order][:, order.argsort()],
        ),
        Misconception(
            "rows twice",
            "The rows are put in order twice, the columns never.",
            lambda weights, order: weights[order][order],
        ),
        Misconception(
            "softmax again",
            "Your rows are flatter than the old ones. Weights have been through a softmax already.",
            lambda weights, order: _shuffled(weights, order).softmax(dim=-1),
        ),
        Misconception(
            "queries and keys exchanged",
            "Do your rows still sum to 1? A row is a query, before and after.",
            lambda weights, order: _shuffled(weights, order).T,
        ),
    ],
    tests=[Test(2, "other orders", _other_orders)],
)


def _orders(counts: Sequence[int]) -> int:
    """Orders of a bag that holds its words so many times."""
    return math.factorial(sum(counts)) // math.prod(map(math.factorial, counts))


def _counts(words: Sequence[str]) -> list[int]:
    return list(Counter(words).values())


def _sentences(*sentences: str) -> list[Case]:
    return [Case(sentence, sentence.split()) for sentence in sentences]


def _hidden_words(draw: Draw, *counts: int) -> list[str]:
    """Words that occur so many times, in any order."""
    names = draw.sample(["he", "she", "it", "we", "you", "they", "who", "one", "all"], len(counts))
    words = [name for name, count in zip(names, counts, strict=True) for _ in range(count)]
    return draw.sample(words, len(words))


def _few_repetitions(draw: Draw) -> list[Case]:
    size = draw.integer(4, 6)
    return [
        Case(f"{size} different words", _hidden_words(draw, *[1] * size)),
        Case("one of them twice", _hidden_words(draw, 2, *[1] * draw.integer(4, 6))),
        Case("capitals", draw.sample(["May", "may", "MAY"], 3)),
    ]


def _more_repetitions(draw: Draw) -> list[Case]:
    return [
        Case("two words, three times each", _hidden_words(draw, 3, 3)),
        Case("three times, twice and once", _hidden_words(draw, 3, 2, 1)),
        Case("three words, twice each", _hidden_words(draw, 2, 2, 2)),
        Case("four times, and others", _hidden_words(draw, 4, draw.integer(2, 3), 1, 1)),
        Case("one word alone", _hidden_words(draw, draw.integer(3, 6))),
    ]


orders_alike = Comparison(
    "orders_alike",
    lambda words: _orders(_counts(words)),
    _sentences(
        "dog bites man",
        "the cat sat on the mat",
        "no no no yes",
        "dog dog cat cat",
        "The cat saw the dog",
        "well well well well",
    ),
    [
        Misconception(
            "all permutations",
            "Exchange two words that are the same: is that another sentence?",
            lambda words: math.factorial(len(words)),
        ),
        Misconception(
            "the given one left out",
            "One too few each time. The order that you were given counts as well.",
            lambda words: _orders(_counts(words)) - 1,
        ),
        Misconception(
            "a set, not a bag",
            "You arrange each word once. A word that occurs twice has two places to fill.",
            lambda words: math.factorial(len(set(words))),
        ),
        Misconception(
            "counts, not their factorials",
            "Right as long as no word occurs three times. In how many ways can three equal "
            "words change places?",
            lambda words: math.factorial(len(words)) // math.prod(_counts(words)),
        ),
        Misconception(
            "divided by the largest count",
            "You look at the most frequent word only, and at how often it occurs. In how many "
            "orders can its copies stand, and what of the other words?",
            lambda words: math.factorial(len(words)) // max(_counts(words)),
        ),
        Misconception(
            "one repeated word only",
            "Right as long as a single word is repeated. What if there are two such words?",
            lambda words: math.factorial(len(words)) // math.factorial(max(_counts(words))),
        ),
        Misconception(
            "repetitions taken together",
            "You divide by the repetitions of all words taken together. Only equal words can "
            "change places unseen, so look at one word after the other.",
            lambda words: (
                math.factorial(len(words)) // math.factorial(len(words) - len(set(words)))
            ),
        ),
        Misconception(
            "powers of two",
            "Words that occur twice are right. How often do you count the same order if a word "
            "occurs three times?",
            lambda words: math.factorial(len(words)) // 2 ** sum(n > 1 for n in _counts(words)),
        ),
        Misconception(
            "divided by a sum",
            "You divide by a sum over the words. Are the exchanges of one word made instead of "
            "those of another, or as well?",
            lambda words: math.factorial(len(words)) // sum(map(math.factorial, _counts(words))),
        ),
        Misconception(
            "divided by the number of words",
            "You divide by the number of words. Dividing is for exchanges that nobody sees; among "
            "three different words there are none.",
            lambda words: math.factorial(len(words) - 1),
        ),
        Misconception(
            "capitals ignored",
            "Two words that differ in a capital letter have different embeddings.",
            lambda words: _orders(_counts([word.lower() for word in words])),
        ),
        Misconception(
            "with replacement",
            "You let each place take any word. A word that has been placed is used up.",
            lambda words: len(set(words)) ** len(words),
        ),
        Misconception(
            "any number for each place",
            "Each place may not take all of the words. A word that has been placed is gone.",
            lambda words: len(words) ** len(words),
        ),
        Misconception(
            "subsets",
            "This counts the ways to leave words out. Every order uses all the words.",
            lambda words: 2 ** len(words),
        ),
    ],
    seconds=30.0,  # listing all orders is slow, and allowed
    tests=[
        Test(1, "words that are repeated once at most", _few_repetitions),
        Test(2, "words that are repeated more often", _more_repetitions),
    ],
)


def _outputs(positions: Sequence[int], first: float, other: float) -> Tensor:
    """What words at these positions hear if all scores are equal, under a causal mask.

    Written out, since one processor's softmax differs from another's in its last digit, and an
    answer that cuts off fractions makes a whole position of it.
    """
    seen = torch.tensor(positions, dtype=torch.float64) + 1
    return (first + other * (seen - 1)) / seen


def _share(outputs: Tensor, first: float, other: float) -> Tensor:
    """How much of its attention each word gives to the first."""
    return (outputs - other) / (first - other)


def _positions(outputs: Tensor, first: float, other: float) -> Tensor:
    return 1 / _share(outputs, first, other) - 1


def _in_order(outputs: Tensor, first: float, other: float) -> Tensor:
    return _share(outputs, first, other).argsort(descending=True)


def _heard(label: str, positions: Sequence[int], first: float, other: float) -> Case:
    return Case(label, _outputs(positions, first, other), first, other)


def _other_values(draw: Draw) -> list[Case]:
    return [
        _heard(
            f"values {first} and {other}",
            draw.unordered(range(40), draw.integer(3, 5)),
            float(first),
            float(other),
        )
        for first, other in (
            (draw.integer(2, 9), -draw.integer(1, 9)),
            (-draw.integer(1, 9), draw.integer(1, 9) + 0.5),
            (0, draw.integer(2, 9)),
        )
    ]


def _zero_values(draw: Draw) -> list[Case]:
    return [_heard("values 1 and 0", draw.unordered(range(200), 4), 1.0, 0.0)]


positions_from_outputs = Comparison(
    "positions_from_outputs",
    _positions,
    [
        _heard("values 1 and 0", (0, 1, 2, 3), 1.0, 0.0),
        _heard("words in any order", (7, 2, 0, 12), 1.0, 0.0),
        _heard("values 3 and 0", (2, 5, 1), 3.0, 0.0),
        _heard("values 1 and 5", (4, 1, 9), 1.0, 5.0),
        _heard("values -2 and 0.5, far away", (300, 20), -2.0, 0.5),
    ],
    [
        Misconception(
            "counted from 1",
            "One too many. The first word sees one word, itself, and its position is 0.",
            lambda outputs, first, other: _positions(outputs, first, other) + 1,
        ),
        Misconception(
            "both values ignored",
            "Right for the values 1 and 0 only. What share of the attention makes that output?",
            lambda outputs, first, other: 1 / outputs - 1,
        ),
        Misconception(
            "other ignored",
            "Right if the other values are 0. What do they add to an output?",
            lambda outputs, first, other: first / outputs - 1,
        ),
        Misconception(
            "other subtracted once",
            "Right if `other` is 0. An output equal to `first` belongs to position 0: what do you "
            "give it?",
            lambda outputs, first, other: first / (outputs - other) - 1,
        ),
        Misconception(
            "other subtracted from first only",
            "Right if `other` is 0. If the first word got no attention at all, what would an "
            "output be?",
            lambda outputs, first, other: (first - other) / outputs - 1,
        ),
        Misconception(
            "sorted",
            "These are the positions, but sorted. Each belongs to one output: keep their order.",
            lambda outputs, first, other: _positions(outputs, first, other).sort().values,
        ),
        Misconception(
            "share, not position",
            "This is the share of attention that goes to the first word. Among how many words "
            "is the attention shared?",
            _share,
        ),
        Misconception(
            "share of the others",
            "This is the share of all other words together. How many are they?",
            lambda outputs, first, other: 1 - _share(outputs, first, other),
        ),
        Misconception(
            "cut off",
            "You cut off a fraction like 0.9999 that is a rounding error. Round, or leave it.",
            lambda outputs, first, other: _positions(outputs, first, other).trunc(),
        ),
        Misconception(
            "upside down",
            "Your result falls along the text. Have first and other changed places, or the two "
            "sides of a fraction?",
            lambda outputs, first, other: (outputs - other) / (first - outputs),
        ),
        Misconception(
            "indices",
            "The outputs come in any order. Where one stands in the list says nothing.",
            lambda outputs, first, other: torch.arange(len(outputs)),
        ),
        Misconception(
            "ranks",
            "You rank the outputs. There may be words between them that you were not given.",
            lambda outputs, first, other: _in_order(outputs, first, other).argsort(),
        ),
        Misconception(
            "ranks by size",
            "You rank the outputs by their size. How far apart two of them are tells you more than "
            "which is larger.",
            lambda outputs, first, other: outputs.argsort(descending=True).argsort(),
        ),
        Misconception(
            "ranks, smallest first",
            "You rank the outputs from the smallest on. A rank cannot tell that words are missing.",
            lambda outputs, first, other: outputs.argsort().argsort(),
        ),
        Misconception(
            "argsort",
            "This is argsort: it tells which output comes first, not the position of each. Words "
            "may be missing, too.",
            _in_order,
        ),
        Misconception(
            "argsort by size",
            "This is argsort of the outputs: places in the list, not in the text.",
            lambda outputs, first, other: outputs.argsort(descending=True),
        ),
        Misconception(
            "argsort, smallest first",
            "This is argsort, from the smallest output on. It gives places in the list, not in the "
            "text.",
            lambda outputs, first, other: outputs.argsort(),
        ),
        Misconception(
            "one word less",
            "You share the attention among the words before; a word looks at itself, too.",
            lambda outputs, first, other: _positions(outputs, first, other) + 2,
        ),
        Misconception(
            "halving",
            "This would be right if the share halved with every word. What is it at position 2?",
            lambda outputs, first, other: -_share(outputs, first, other).log2(),
        ),
        Misconception(
            "logarithm",
            "There is no exponential here to undo: all scores are equal.",
            lambda outputs, first, other: -_share(outputs, first, other).log(),
        ),
        Misconception(
            "from the end",
            "You count back from the end. Which position does an output equal to `first` have?",
            lambda outputs, first, other: (
                _positions(outputs, first, other).max() - _positions(outputs, first, other)
            ),
        ),
    ],
    tolerance=1e-3,
    tests=[
        Test(2, "other values", _other_values),
        Test(1, "values 1 and 0, far away", _zero_values),
    ],
)
