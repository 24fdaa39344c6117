"""Questions of chapter 6: ALiBi."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from grading.questions.master import Case, Comparison, Draw, Misconception, Test
from posenc.alibi import alibi_bias, alibi_slopes
from posenc.attention import causal_mask
from posenc.check.ways import ALL
from posenc.relative import relative_positions


def _power(num_heads: int) -> int:
    """The largest power of two that is not above the number of heads."""
    return 1 << (num_heads.bit_length() - 1)


def _two_parts(num_heads: int, second: slice, of: Callable[[int], Tensor] = alibi_slopes) -> Tensor:
    """Slopes of a power of two, then some of those of its double."""
    power = _power(num_heads)
    return torch.cat((of(power), of(2 * power)[second][: num_heads - power]))


def _sequence(num_heads: int, *, first: int = 1, base: float = 2.0, sign: int = -1) -> Tensor:
    """One geometric sequence, whatever the number of heads."""
    head = torch.arange(first, first + num_heads, dtype=torch.float64)
    return base ** (sign * 8 * head / num_heads)


EVERY_OTHER = slice(None, None, 2)


def _powers_of_two(draw: Draw) -> list[Case]:
    many = [Case(f"{n} heads", n) for n in draw.sample([4, 16, 32, 64], 2)]
    return [*many, Case("1 head", 1)]


def _no_powers_of_two(draw: Draw) -> list[Case]:
    numbers = [draw.choice([5, 7]), draw.choice([9, 10, 11, 13]), draw.integer(18, 31)]
    numbers.append(draw.integer(130, 250))  # more than a list of powers may hold
    return [Case(f"{n} heads", n) for n in numbers]


slopes = Comparison(
    "slopes",
    alibi_slopes,
    [
        Case("8 heads", 8),
        Case("2 heads", 2),
        Case("1 head", 1),
        Case("3 heads", 3),
        Case("6 heads", 6),
        Case("12 heads", 12),
    ],
    [
        Misconception(
            "one formula for all",
            "Powers of two are right. For other numbers of heads the slopes come in two parts.",
            _sequence,
        ),
        Misconception(
            "halved from head to head",
            "Each slope is half of the one before only if there are 8 heads.",
            lambda n: 2.0 ** -torch.arange(1, n + 1),
        ),
        Misconception(
            "second part in a row",
            "The second part leaves slopes out: it takes the 1st, the 3rd, the 5th and so on.",
            lambda n: _two_parts(n, slice(None)),
        ),
        Misconception(
            "second part takes the 2nd, 4th, ...",
            "Two heads have the same slope. Does the second part begin with the 1st or the 2nd?",
            lambda n: _two_parts(n, slice(1, None, 2)),
        ),
        Misconception(
            "next power of two",
            "You cut off the list of the next larger power of two. The first part is all of the "
            "next smaller one's.",
            lambda n: alibi_slopes(2 * _power(n) if _power(n) < n else n)[:n],
        ),
        Misconception(
            "sorted",
            "The right numbers in another order. The second part comes after the first, unsorted.",
            lambda n: alibi_slopes(n).sort(descending=True).values,
        ),
        Misconception(
            "parts exchanged",
            "The parts have changed places: the power of two comes first.",
            lambda n: alibi_slopes(n).roll(n - _power(n)),
        ),
        Misconception(
            "reversed",
            "The first head should be the steepest of its part. Does the exponent count up?",
            lambda n: alibi_slopes(n).flip(0),
        ),
        Misconception(
            "two parts always",
            "A power of two has one part only. Does your P reach the number of heads itself?",
            lambda n: (
                torch.cat((alibi_slopes(max(1, n // 2)), alibi_slopes(n)[::2]))[:n]
                if n == _power(n)
                else alibi_slopes(n)
            ),
        ),
        Misconception(
            "reversed, one formula",
            "The first head should be the steepest, and the formula is for powers of two only.",
            lambda n: _sequence(n).flip(0),
        ),
        Misconception(
            "8/H upside down",
            "Right for 8 heads only. In the exponent, which divides: 8, or the number of heads?",
            lambda n: 2.0 ** (-n / 8 * torch.arange(1, n + 1)),
        ),
        Misconception(
            "counted from 0 in one part",
            "The first part begins with slope 1: the formula has h + 1 where you have h.",
            lambda n: torch.cat((_sequence(_power(n), first=0), alibi_slopes(n)[_power(n) :])),
        ),
        Misconception(
            "counted from 0",
            "The exponent is 0 for the first head. No head is that steep, and the last has 1/256.",
            lambda n: _two_parts(n, EVERY_OTHER, lambda m: _sequence(m, first=0)),
        ),
        Misconception(
            "counted from 0, one formula",
            "Two things: the first exponent is not 0, and the formula is for powers of two only.",
            lambda n: _sequence(n, first=0),
        ),
        Misconception(
            "e for 2",
            "The powers are those of e. ALiBi's are those of 2.",
            lambda n: _two_parts(n, EVERY_OTHER, lambda m: _sequence(m, base=math.e)),
        ),
        Misconception(
            "sign of the exponent",
            "These slopes grow up to 256. They should lie between 0 and 1.",
            lambda n: _two_parts(n, EVERY_OTHER, lambda m: _sequence(m, sign=1)),
        ),
        Misconception(
            "linear",
            "These fall in equal steps. From head to head, slopes change by a factor.",
            lambda n: torch.arange(n, 0, -1) / n,
        ),
        Misconception(
            "harmonic",
            "These are 1, 1/2, 1/3 and so on. The head number stands in the exponent.",
            lambda n: 1 / torch.arange(1, n + 1),
        ),
    ],
    tolerance=1e-6,
    tests=[
        Test(1, "powers of two", _powers_of_two),
        Test(1, "other numbers", _no_powers_of_two),
    ],
    refuses=[ALL],
)


def _decoding(scores: Tensor) -> tuple[Tensor, Tensor]:
    """Positions of the queries, the last of all, and of the keys."""
    queries, keys = scores.shape[-2:]
    return torch.arange(keys - queries, keys), torch.arange(keys)


def _biased(
    scores: Tensor,
    slopes: Tensor,
    *,
    sign: int = 1,
    distance_from: int | None = None,
    mask_from: int | None = None,
    past: float = -math.inf,
    far: int = 0,
) -> Tensor:
    """Scores with ALiBi's bias under a causal mask, and what can go wrong with it.

    Args:
        scores: [h, q, k].
        slopes: [h].
        sign: -1 rewards distance.
        distance_from: position of the first query in the bias; that after the cache by default.
        mask_from: likewise, in the mask.
        past: what a masked score becomes.
        far: added to every distance but that of a token to itself.
    """
    queries, keys = _decoding(scores)
    there = queries if distance_from is None else queries - queries[0] + distance_from
    seen = queries if mask_from is None else queries - queries[0] + mask_from
    relative = relative_positions(there, keys)
    relative = relative - far * (relative != 0)
    bias = sign * alibi_bias(slopes, relative, dtype=torch.float64)
    return (scores + bias).masked_fill(~causal_mask(seen, keys), past)


def _back(scores: Tensor) -> Tensor:
    return relative_positions(*_decoding(scores))


def _past_masked(scores: Tensor, slopes: Tensor) -> Tensor:
    return (scores + alibi_bias(slopes, _back(scores))).masked_fill(_back(scores) < 0, -math.inf)


def _flipped(scores: Tensor, slopes: Tensor, own: int) -> Tensor:
    """The earlier keys masked, and the others, whose distances are negative, rewarded."""
    bias = slopes[:, None, None] * _back(scores)
    return (scores + bias).masked_fill(_back(scores) < own, -math.inf)


def _signed(scores: Tensor, slopes: Tensor, sign: int) -> Tensor:
    """The mask right; the bias as if there were no cache, and without an absolute value."""
    queries, keys = _decoding(scores)
    bias = slopes[:, None, None] * (keys - torch.arange(len(queries))[:, None])
    return (scores + sign * bias).masked_fill(~causal_mask(queries, keys), -math.inf)


def _by_column(scores: Tensor, slopes: Tensor, shift: int) -> Tensor:
    """BLOOM's or MPT's form: one row of biases for all queries."""
    queries, keys = _decoding(scores)
    bias = slopes[:, None, None] * (keys - shift)
    return (scores + bias).masked_fill(~causal_mask(queries, keys), -math.inf)


def _scores(heads: int, queries: int, keys: int) -> Tensor:
    """Different scores that float32 holds exactly, and so are their sums with the biases."""
    number = torch.arange(heads * queries * keys).view(heads, queries, keys)
    return (number * 7 % 11 - 5) / 4


def _exact(draw: Draw, *shape: int) -> Tensor:
    """Numbers that float32 holds exactly, and so are their sums with the biases."""
    return (4 * draw.normal(*shape)).round().clamp(-20, 20) / 4


def _more_keys(draw: Draw) -> list[Case]:
    slopes = torch.tensor([0.5, 0.125], dtype=torch.float64)  # as `alibi_slopes` has them
    keys, cached = draw.integer(6, 8), draw.integer(7, 10)
    return [
        Case(f"the last 4 of {keys} positions", _exact(draw, 2, 4, keys), slopes),
        Case(f"one query after {cached} keys", _exact(draw, 2, 1, cached + 1), slopes.flip(0)),
    ]


def _as_many_keys(draw: Draw) -> list[Case]:
    slopes = torch.tensor(draw.sample([0.25, 2.0, 0.5, 1.0], 3), dtype=torch.float64)
    return [Case("3 of each", _exact(draw, 3, 3, 3), slopes)]


biased = Comparison(
    "biased",
    _biased,
    [
        Case("8 heads, no cache", _scores(8, 5, 5), alibi_slopes(8)),
        Case("2 heads, the last 3 of 7 positions", _scores(2, 3, 7), alibi_slopes(2)),
        Case("one new query, 6 keys", _scores(3, 1, 6), alibi_slopes(3)),
    ],
    [
        Misconception(
            "both bugs left",
            "Far keys gain, and with cached keys the distances are those of other queries.",
            lambda s, m: _biased(s, m, sign=-1, distance_from=0, mask_from=0),
        ),
        Misconception(
            "distance mended alone",
            "With a cache, the distances are right by now, but the mask still takes the first "
            "query for position 0.",
            lambda s, m: _biased(s, m, mask_from=0),
        ),
        Misconception(
            "distance mended alone, sign left",
            "Far keys still gain, and the mask still takes the first query for position 0.",
            lambda s, m: _biased(s, m, mask_from=0, sign=-1),
        ),
        Misconception(
            "mask mended alone",
            "With a cache, the mask is right by now, but the penalty is not 0 where a query "
            "meets its own key.",
            lambda s, m: _biased(s, m, distance_from=0),
        ),
        Misconception(
            "mask mended alone, distances signed",
            "With a cache, the mask is right by now, but a query's own key has a bias that is "
            "not 0. Does the bias know where the queries stand?",
            lambda s, m: _signed(s, m, 1),
        ),
        Misconception(
            "mask mended alone, sign left",
            "The mask is right by now. The bias still has both bugs.",
            lambda s, m: _signed(s, m, -1),
        ),
        Misconception(
            "queries after all keys",
            "Here every query stands after all keys. The last query and the last key belong to "
            "the same token.",
            lambda s, m: _biased(s, m, distance_from=s.shape[-1], mask_from=s.shape[-1]),
        ),
        Misconception(
            "distances after all keys",
            "The mask is right. The distances are those of queries that stand after all keys.",
            lambda s, m: _biased(s, m, distance_from=s.shape[-1]),
        ),
        Misconception(
            "cached keys not counted",
            "Without a cache it is right. With one, at which position does the first query stand?",
            lambda s, m: _biased(s, m, distance_from=0, mask_from=0),
        ),
        Misconception(
            "sign",
            "Far keys gain. Should they?",
            lambda s, m: _biased(s, m, sign=-1),
        ),
        Misconception(
            "queries one too far",
            "Every query stands one position too far on, in the mask too. Where is the last one?",
            lambda s, m: _biased(
                s,
                m,
                distance_from=s.shape[-1] - s.shape[-2] + 1,
                mask_from=s.shape[-1] - s.shape[-2] + 1,
            ),
        ),
        Misconception(
            "one position too far",
            "The distances are off by one. A query's own key has distance 0.",
            lambda s, m: _biased(s, m, distance_from=s.shape[-1] - s.shape[-2] + 1),
        ),
        Misconception(
            "earlier keys too far",
            "The distances to earlier keys are off by one, that to the query's own key is not.",
            lambda s, m: _biased(s, m, far=1),
        ),
        Misconception(
            "the other end",
            "Is it the first query that is given the last position? Queries stand in order.",
            lambda s, m: _biased(s.flip(-2), m).flip(-2),
        ),
        Misconception(
            "no mask",
            "Some keys come after their query. No score of theirs may stay finite.",
            lambda s, m: s + alibi_bias(m, _back(s)),
        ),
        Misconception(
            "mask at zero",
            "A masked score of 0 still gets attention: exp(0) is 1.",
            lambda s, m: _biased(s, m, past=0.0),
        ),
        Misconception(
            "masked by a large number",
            "The masked scores should be minus infinity, not just very small.",
            lambda s, m: _biased(s, m, past=-1e9),
        ),
        Misconception(
            "own key masked",
            "A query may look at its own key, too: masked are the keys that come after it.",
            lambda s, m: _biased(s, m, mask_from=s.shape[-1] - s.shape[-2] - 1),
        ),
        Misconception(
            "the past masked",
            "The mask is the wrong way round: it hides the keys that come before.",
            _past_masked,
        ),
        Misconception(
            "the past masked, distances signed",
            "The mask is flipped: earlier keys are hidden, and later ones gain.",
            lambda s, m: _flipped(s, m, 0),
        ),
        Misconception(
            "the past and its own key masked",
            "The mask is flipped, and hides a query's own key as well.",
            lambda s, m: _flipped(s, m, 1),
        ),
        Misconception(
            "softmax taken",
            "Your rows sum to 1. What is asked for are the scores, before any softmax.",
            lambda s, m: _biased(s, m).softmax(dim=-1),
        ),
        Misconception(
            "bias alone",
            "This is the bias. The scores should be in it as well.",
            lambda s, m: _biased(torch.zeros_like(s), m),
        ),
        Misconception(
            "later keys free",
            "A key that comes after its query is not free of charge, it is out of sight.",
            lambda s, m: s + alibi_bias(m, _back(s).clamp(max=0)),
        ),
        Misconception(
            "slope times key position",
            "After a softmax this is the same. But here the penalty of a query's own key is 0.",
            lambda s, m: _by_column(s, m, 0),
        ),
        Misconception(
            "counted from the last key",
            "Right for the last query only: the others pay as if they stood where it stands.",
            lambda s, m: _by_column(s, m, s.shape[-1] - 1),
        ),
        Misconception(
            "slopes reversed",
            "The slopes belong to the heads in the order in which they are given.",
            lambda s, m: _biased(s, m.flip(0)),
        ),
        Misconception(
            "one slope for all",
            "Every head has the slope of the first.",
            lambda s, m: _biased(s, m[:1].expand(len(m))),
        ),
    ],
    tolerance=1e-6,  # the right numbers are exact, a misconception's softmax is not
    tests=[
        Test(2, "more keys than queries", _more_keys),
        Test(1, "as many keys as queries", _as_many_keys),
    ],
    refuses=[ALL],
)


def _other_slopes(draw: Draw) -> list[Case]:
    steep, flat = round(draw.uniform(3, 8), 2), round(draw.uniform(1e-3, 9e-3), 4)
    return [
        Case("a steep head and a flat one", torch.tensor([steep, flat])),
        Case("one head", torch.tensor([round(draw.uniform(0.6, 1.5), 2)])),
    ]


half_distance = Comparison(
    "half_distance",
    lambda slopes: math.log(2) / slopes,
    [
        Case("slope 1/2", torch.tensor([0.5])),
        Case("8 heads", alibi_slopes(8)),
        Case("slopes 2 and 0.3", torch.tensor([2.0, 0.3])),
    ],
    [
        Misconception(
            "score for weight",
            "There the score has fallen by 1, and the weight to 1/e. A weight is the exponential "
            "of a score.",
            lambda m: 1 / m,
        ),
        Misconception(
            "a factor of two in the score",
            "A score that has fallen by 2 is a weight that has fallen to e^-2. How much must the "
            "score fall for one half?",
            lambda m: 2 / m,
        ),
        Misconception(
            "half a score",
            "There the score has fallen by 1/2. What has the weight fallen to?",
            lambda m: 0.5 / m,
        ),
        Misconception(
            "decimal logarithm",
            "Softmax takes powers of e. Which logarithm undoes them?",
            lambda m: math.log10(2) / m,
        ),
        Misconception(
            "sign",
            "A distance is not negative. What is the sign of the logarithm of 1/2?",
            lambda m: -math.log(2) / m,
        ),
        Misconception(
            "slope multiplied",
            "The steeper the head, the nearer the half. Your distances grow with the slope.",
            lambda m: math.log(2) * m,
        ),
        Misconception(
            "upside down",
            "These are one over the right numbers.",
            lambda m: m / math.log(2),
        ),
        Misconception(
            "mean distance",
            "That is the mean distance of the chapter. Here the weight of one key is compared "
            "with that of another.",
            lambda m: 1 / torch.expm1(m),
        ),
        Misconception(
            "the token's share taken into account",
            "Is the token's share of the sum in it? Both weights are divided by the same sum.",
            lambda m: (math.log(2) - torch.log(-torch.expm1(-m))) / m,
        ),
        Misconception(
            "a weight of one half",
            "There the key has half of all the attention. Half of the token's own is asked for.",
            lambda m: (math.log(2) + torch.log(-torch.expm1(-m))) / m,
        ),
        Misconception(
            "rounded up",
            "These are whole positions. The exact distance lies between two of them.",
            lambda m: (math.log(2) / m).ceil(),
        ),
        Misconception(
            "rounded",
            "These are rounded to whole positions. Leave them as they are.",
            lambda m: (math.log(2) / m).round(),
        ),
        Misconception(
            "rounded down",
            "At these whole positions the weight is still above one half. Do not round.",
            lambda m: (math.log(2) / m).floor(),
        ),
        Misconception(
            "one per cent",
            "That is the chapter's window of 99 %. Here the weight falls to one half.",
            lambda m: math.log(100) / m,
        ),
    ],
    tests=[Test(2, "other slopes", _other_slopes)],
)
