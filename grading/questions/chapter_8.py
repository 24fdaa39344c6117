"""Questions of chapter 8: stretching RoPE."""

import math

from torch import Tensor

from grading.questions.master import Case, Comparison, Draw, Misconception, Test
from posenc.frequencies import inverse_frequencies
from posenc.scaling import linear_scaling, llama3_scaling, ntk_scaling


def _unseen(inv_freq: Tensor, scaled: Tensor, trained: int, length: int) -> Tensor:
    """A pair that made no full turn in training, and now goes beyond its arc."""
    seen = (trained - 1) * inv_freq
    return (seen < 2 * math.pi) & ((length - 1) * scaled > seen * (1 + 1e-9))


def _any_pair(inv_freq: Tensor, scaled: Tensor, trained: int, length: int) -> Tensor:
    return (length - 1) * scaled > (trained - 1) * inv_freq * (1 + 1e-9)


def _below_one_turn(inv_freq: Tensor, trained: int) -> Tensor:
    return (trained - 1) * inv_freq < 2 * math.pi


_SMALL = inverse_frequencies(16, base=100.0)
_MIDDLE = inverse_frequencies(32, base=500.0)


def _first_turn(
    draw: Draw, dim: int, bases: tuple[float, float], pairs: tuple[int, int]
) -> tuple[float, int]:
    """A base, and the tokens that one of the pairs needs for a turn: no rounding error decides."""
    while True:
        base = draw.base(*bases)
        tokens = 2 * math.pi * base ** (2 * draw.integer(*pairs) / dim)
        if 0.05 < tokens % 1 < 0.95:
            return base, int(tokens) + 1


def _stretched_otherwise(draw: Draw) -> list[Case]:
    base, just_turned = _first_turn(draw, 24, (200, 2000), (5, 9))
    inv_freq, trained = inverse_frequencies(24, base=base), draw.integer(40, 200)
    factor = draw.choice([2, 4, 8])
    n = factor * trained
    return [
        Case("by a larger base", inv_freq, ntk_scaling(inv_freq, factor=factor)[0], trained, n),
        Case(
            "by parts",
            inv_freq,
            llama3_scaling(inv_freq, factor=factor, trained_length=trained)[0],
            trained,
            n - draw.integer(factor, 30),
        ),
        Case("just under a turn", inv_freq, inv_freq, just_turned, factor * just_turned),
    ]


def _stretched_too_little(draw: Draw) -> list[Case]:
    base, trained = draw.base(200, 2000), draw.integer(40, 200)
    inv_freq = inverse_frequencies(20, base=base)
    return [
        Case("divided by 2", inv_freq, linear_scaling(inv_freq, factor=2)[0], trained, 3 * trained),
        Case("a short text", inv_freq, inv_freq, trained, trained - draw.integer(1, 9)),
        Case("just as long", inv_freq, inv_freq, trained, trained),
        *_at_the_edge(draw, inv_freq),
    ]


def _at_the_edge(draw: Draw, inv_freq: Tensor) -> list[Case]:
    """Texts whose largest distance is half a token too short, and too long, for the old arcs."""
    trained = 2 * draw.integer(20, 100)
    scaled = linear_scaling(inv_freq, factor=2.5)[0]
    longest = (5 * trained - 5) // 2 + 1  # 2.5 (trained - 1) ends with a half
    return [
        Case("nearly too long", inv_freq, scaled, trained, longest),
        Case("a little too long", inv_freq, scaled, trained, longest + 1),
    ]


unseen_pairs = Comparison(
    "unseen_pairs",
    _unseen,
    [
        Case("not stretched", _SMALL, _SMALL, 12, 48),
        Case("divided by 4", _SMALL, linear_scaling(_SMALL, factor=4)[0], 12, 44),
        Case("divided by 3", _SMALL, linear_scaling(_SMALL, factor=3)[0], 12, 48),
        Case("a larger base", _MIDDLE, ntk_scaling(_MIDDLE, factor=4)[0], 64, 256),
        Case("a text as long as in training", _MIDDLE, _MIDDLE, 64, 64),
        Case("just under and over a turn", _MIDDLE, _MIDDLE, 8, 9),
    ],
    [
        Misconception(
            "full turns counted",
            "A pair that turned all the way round has no angle left to show. Which pairs did?",
            _any_pair,
        ),
        Misconception(
            "new frequencies in the past",
            "How far a pair turned in training, it did with the frequencies of training.",
            lambda f, s, t, n: _unseen(s, s, t, n),
        ),
        Misconception(
            "old frequencies now",
            "The text of now is read with the stretched frequencies.",
            lambda f, s, t, n: _unseen(f, f, t, n),
        ),
        Misconception(
            "length ignored",
            "You marked all pairs that made no full turn. Which of them go further in this text?",
            lambda f, s, t, n: _below_one_turn(f, t),
        ),
        Misconception(
            "half a turn",
            "You take half a turn for a whole one. How many radians has a circle?",
            lambda f, s, t, n: ((t - 1) * f < math.pi) & ((n - 1) * s > (t - 1) * f * (1 + 1e-9)),
        ),
        Misconception(
            "lengths as distances",
            "Nearly. Between how many tokens is the largest distance 11?",
            lambda f, s, t, n: (t * f < 2 * math.pi) & (n * s > t * f * (1 + 1e-9)),
        ),
        Misconception(
            "answers exchanged",
            "Yes and no are exchanged.",
            lambda f, s, t, n: ~_unseen(f, s, t, n),
        ),
        Misconception(
            "counted",
            "You return how many. One answer for each pair is asked.",
            lambda f, s, t, n: _unseen(f, s, t, n).sum(),
        ),
    ],
    tests=[
        Test(2, "other stretchings", _stretched_otherwise),
        Test(1, "too little, or not needed", _stretched_too_little),
    ],
)


def _needed(dim: int, base: float, trained: int, stretch: float) -> float:
    """The smallest factor whose larger base keeps all slow pairs on their arcs."""
    turns = trained * inverse_frequencies(dim, base=base) / (2 * math.pi)
    slow = (turns < 1).nonzero()
    if not len(slow):
        return 1.0
    return stretch ** ((dim / 2 - 1) / slow[0].item())


def _first_slow(dim: int, base: float, trained: int) -> int:
    turns = trained * inverse_frequencies(dim, base=base) / (2 * math.pi)
    slow = (turns < 1).nonzero()
    return slow[0].item() if len(slow) else 0


def _other_models(draw: Draw) -> list[Case]:
    cases = []
    for _ in range(2):
        dim, trained = draw.choice([24, 40, 56]), draw.integer(60, 900)
        stretch = draw.choice([2.0, 3.0, 6.0])
        cases.append(
            Case(f"{dim} channels, {trained}", dim, draw.base(3000, 40_000), trained, stretch)
        )
    dim = draw.choice([24, 40, 56])
    base, turned = _first_turn(draw, dim, (200, 900), (3, 6))
    return [
        *cases,
        Case("late", dim, base, _trained_to(dim, base, dim // 2 - 2), stretch),
        Case("a turn just made", dim, base, turned, stretch),
        Case("a turn nearly made", dim, base, turned - 1, stretch),
    ]


def _trained_to(dim: int, base: float, pair: int) -> int:
    """A length after which this pair is the first that has made no full turn."""
    return int(2 * math.pi * base ** ((2 * pair - 1) / dim))


def _no_slow_pair(draw: Draw) -> list[Case]:
    base = draw.base(50, 400)
    return [
        Case("all turned", 16, draw.base(10, 40), draw.integer(900, 2000), 4.0),
        Case("not all", 16, draw.base(5000, 9000), draw.integer(90, 200), 4.0),
        Case("just all", 12, base, _trained_to(12, base, 6), 3.0),
    ]


ntk_factor = Comparison(
    "ntk_factor",
    _needed,
    [
        Case("Llama 2, four times", 128, 10_000.0, 4096, 4.0),
        Case("Llama 3, eight times", 128, 500_000.0, 8192, 8.0),
        Case("16 channels, twelve words, four times", 16, 100.0, 12, 4.0),
        Case("all pairs have turned", 8, 10.0, 100, 4.0),
    ],
    [
        Misconception(
            "the stretch itself",
            "With this factor the last pair is slowed enough, and those before it less. Which "
            "pair is the one that needs the most?",
            lambda d, b, t, s: 1.0 if not _first_slow(d, b, t) else s,
        ),
        Misconception(
            "the stretch, always",
            "If all pairs have turned, nothing needs to be slowed.",
            lambda d, b, t, s: s,
        ),
        Misconception(
            "pairs for pairs minus one",
            "The last pair has the number d/2 - 1, and it is slowed by the whole factor.",
            lambda d, b, t, s: s ** ((d / 2) / _first_slow(d, b, t)) if _first_slow(d, b, t) else 1,
        ),
        Misconception(
            "one pair too late",
            "The pair before yours made no full turn either. Count pairs from 0.",
            lambda d, b, t, s: (
                s ** ((d / 2 - 1) / (_first_slow(d, b, t) + 1)) if _first_slow(d, b, t) else 1
            ),
        ),
        Misconception(
            "one pair too early",
            "Your pair has made a full turn in training, so it needs nothing.",
            lambda d, b, t, s: (
                s ** ((d / 2 - 1) / (_first_slow(d, b, t) - 1)) if _first_slow(d, b, t) else 1
            ),
        ),
        Misconception(
            "the new base",
            "This is a base. The factor is asked, before it goes into the base.",
            lambda d, b, t, s: b * _needed(d, b, t, s) ** (d / (d - 2)),
        ),
        Misconception(
            "exponent upside down",
            "Your factor is smaller than the stretch. Pair i is slowed by the power "
            "i / (d/2 - 1) of it: solve for the factor.",
            lambda d, b, t, s: (
                s ** (_first_slow(d, b, t) / (d / 2 - 1)) if _first_slow(d, b, t) else 1
            ),
        ),
    ],
    tolerance=1e-3,
    tests=[
        Test(2, "other models", _other_models),
        Test(1, "a model whose pairs have all turned", _no_slow_pair),
    ],
)
