"""Questions of chapter 4: relative encodings."""

import math
from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor
from torch.nn.functional import pad

from grading.questions.master import Case, Comparison, Draw, Misconception, Test
from posenc.check.ways import ALL
from posenc.relative import relative_positions, skew, toeplitz
from posenc.t5 import t5_buckets

_NOISE = torch.Generator().manual_seed(4)


def _random(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=_NOISE).round(decimals=4)


def _counted(query_positions: Tensor, key_positions: Tensor, first: int = 0) -> Tensor:
    """Forget where the queries start (at `first` instead) and the keys (at 0)."""
    queries, keys = torch.arange(len(query_positions)), torch.arange(len(key_positions))
    return relative_positions(queries + first, keys)


def _on_both_sides(draw: Draw) -> list[Case]:
    keys = draw.integer(6, 9)
    query = draw.integer(2, keys - 2)
    return [
        Case(f"query {query} among {keys} keys", torch.tensor([query]), torch.arange(keys)),
        Case("as many of each, from 0", torch.arange(keys), torch.arange(keys)),
    ]


def _other_starts(draw: Draw) -> list[Case]:
    start = draw.integer(7, 20)
    queries, keys = draw.sample(range(200), 2), draw.sample(range(100), 3)
    return [
        Case("the next segment", torch.arange(start, start + 4), torch.arange(4, start + 4)),
        Case("apart", torch.tensor(queries), torch.tensor(keys)),
    ]


relative = Comparison(
    "relative",
    relative_positions,
    [
        Case("4 queries and 4 keys, all from 0", torch.arange(4), torch.arange(4)),
        Case("decoding: query 7, keys 0 to 7", torch.tensor([7]), torch.arange(8)),
        Case("queries 5 and 6, keys 2 to 5", torch.tensor([5, 6]), torch.arange(2, 6)),
        Case("positions with gaps", torch.tensor([0, 3, 10]), torch.tensor([1, 12])),
    ],
    [
        Misconception(
            "query minus key",
            "Every sign is wrong. The book's relative position is negative for a key that comes "
            "before the query.",
            lambda q, k: -relative_positions(q, k),
        ),
        Misconception(
            "transposed",
            "The right numbers, but rows and columns are exchanged: each query has a row.",
            lambda q, k: relative_positions(q, k).T,
        ),
        Misconception(
            "transposed, query minus key",
            "Right where queries and keys stand at the same positions. Which of the two has the "
            "rows, and which is subtracted?",
            lambda q, k: -relative_positions(q, k).T,
        ),
        Misconception(
            "absolute distance",
            "A key before the query and one as far after it look the same. What became of the "
            "sign?",
            lambda q, k: relative_positions(q, k).abs(),
        ),
        Misconception(
            "keys after the query left out",
            "Keys after the query have relative positions, too. No causal mask is asked for.",
            lambda q, k: relative_positions(q, k).clamp(max=0),
        ),
        Misconception(
            "keys before the query left out",
            "Keys before the query have relative positions, too: negative ones.",
            lambda q, k: relative_positions(q, k).clamp(min=0),
        ),
        Misconception(
            "positions replaced",
            "Right only if queries and keys both start at 0. You use where they stand in their "
            "tensors; look at what the tensors hold.",
            _counted,
        ),
        Misconception(
            "first positions alone",
            "Right where positions follow one another without gaps. You use the first of each "
            "tensor; look at what the tensors hold besides.",
            lambda q, k: _counted(q, k, int(q[0] - k[0])),
        ),
        Misconception(
            "place by place",
            "Here key j meets query j alone. Every query must meet every key: which axis has the "
            "queries, which the keys?",
            lambda q, k: k - q,
        ),
        Misconception(
            "queries taken for the last",
            "Right only if keys start at 0 without gaps and the queries stand at their end. "
            "The tensors say where they really stand.",
            lambda q, k: _counted(q, k, len(k) - len(q)),
        ),
        Misconception(
            "one too much",
            "Everything is too large by 1. What is the relative position of a key at the query's "
            "own place?",
            lambda q, k: relative_positions(q, k) + 1,
        ),
        Misconception(
            "one too little",
            "Everything is too small by 1. What is the relative position of a key at the query's "
            "own place?",
            lambda q, k: relative_positions(q, k) - 1,
        ),
        Misconception(
            "sum",
            "These are sums of two positions. They change when everything moves by one place; "
            "a relative position must not.",
            lambda q, k: relative_positions(-q, k),
        ),
    ],
    tests=[
        Test(1, "keys on both sides", _on_both_sides),
        Test(1, "other starts", _other_starts),
    ],
    refuses=[ALL],
)


def _t5(relative: Tensor, num_buckets: int, max_distance: int) -> Tensor:
    return t5_buckets(relative, num_buckets=num_buckets, max_distance=max_distance)


def _beta(distance: Tensor, per_side: int, max_distance: int) -> Tensor:
    """Buckets of distances on one side, which has `per_side` buckets."""
    return t5_buckets(
        -distance, num_buckets=per_side, max_distance=max_distance, bidirectional=False
    )


def _far(
    rule: Callable[..., Tensor],
    *,
    singles: Callable[[int], int] = lambda side: side // 2,
    beyond: float = 0,
    rounding: Callable[[Tensor], Tensor] = torch.floor,
) -> Callable[[Tensor, int, int], Tensor]:
    """T5's buckets with another rule for the distances that share buckets.

    Args:
        rule: a function of the distance, the buckets of one side, the exact ones among them and
            max_distance; it gives a bucket, counted from the first shared one.
        singles: how many of the buckets of one side are exact.
        beyond: how many buckets a side has beyond its last.
        rounding: makes a bucket out of what the rule gives.
    """

    def buckets(relative: Tensor, num_buckets: int, max_distance: int) -> Tensor:
        side = num_buckets // 2
        exact = singles(side)
        n = relative.abs().double()
        far = exact + rounding(rule(n.clamp(min=exact), side, exact, max_distance))
        far = far.clamp(max=side - 1 + beyond)
        return torch.where(n < exact, n, far) + side * (relative > 0)

    return buckets


def _growth(n: Tensor, side: int, exact: int, max_distance: int) -> Tensor:
    return (side - exact) * (n / exact).log() / math.log(max_distance / exact)


def _begins(n: Tensor, side: int, exact: int, max_distance: int) -> Tensor:
    """A rule by which each shared bucket begins at a whole number."""
    steps = torch.arange(1, side - exact).double() / (side - exact)
    return (n[:, None] >= (exact * (max_distance / exact) ** steps).floor()).sum(-1)


def _far_to_near(relative: Tensor, num_buckets: int, max_distance: int) -> Tensor:
    bucket = _t5(relative, num_buckets, max_distance)
    return torch.where(relative > 0, bucket, num_buckets // 2 - 1 - bucket)


def _clear(candidates: Sequence[int], num_buckets: int, max_distance: int) -> Tensor:
    """Those relative positions at which no rounding error decides about a bucket."""
    side, exact = num_buckets // 2, num_buckets // 4
    kept = []
    for relative in candidates:
        distance = abs(relative)
        if distance >= exact:
            step = (side - exact) * math.log(distance / exact) / math.log(max_distance / exact)
            if distance != exact and min(step % 1, 1 - step % 1) < 1e-3:
                continue
        kept.append(relative)
    return torch.tensor(kept)


def _usual_settings(draw: Draw) -> list[Case]:
    back = [-5, 0, -22, -24, *(-draw.integer(8, 200) for _ in range(8)), -500]
    ahead = [1, 7, 8, 12, *(draw.integer(8, 140) for _ in range(8)), 130]
    return [
        Case("32 and 128, back", _clear(back, 32, 128), 32, 128),
        Case("32 and 128, ahead", _clear(ahead, 32, 128), 32, 128),
    ]


def _other_settings(draw: Draw) -> list[Case]:
    cases = []
    wide, narrow = 16 * draw.integer(11, 15) + 13, 3 * draw.integer(23, 43) + 2  # and a remainder
    for num_buckets, most in ((64, wide), (12, narrow), (4, 10)):
        reach = most + 40
        some = sorted(draw.sample(range(-reach, reach), min(200, 2 * reach)))
        near = range(-num_buckets // 4 - 2, num_buckets // 4 + 3)
        label = f"{num_buckets} buckets, max_distance {most}"
        cases.append(Case(label, _clear([*some, *near], num_buckets, most), num_buckets, most))
    return cases


buckets = Comparison(
    "buckets",
    _t5,
    [
        Case("32 buckets: near keys", torch.arange(-11, 12), 32, 128),
        Case(
            "32 buckets: far keys",
            torch.tensor([-1000, -129, -127, -100, -91, -90, -50, -20, 15, 31, 63, 65, 90, 300]),
            32,
            128,
        ),
        Case("8 buckets, max_distance 30", torch.arange(-29, 30), 8, 30),
        Case(
            "16 buckets, max_distance 1000",
            torch.tensor([-2000, -600, -252, -251, -63, -5, -4, -3, 0, 1, 4, 7, 15, 16, 64, 999]),
            16,
            1000,
        ),
        Case("12 buckets, max_distance 20", torch.arange(-19, 20), 12, 20),
    ],
    [
        Misconception(
            "sides exchanged",
            "The two sides are exchanged. Where is a key whose relative position is negative?",
            lambda r, b, m: _t5(-r, b, m),
        ),
        Misconception(
            "sides exchanged, 0 too",
            "Left and right are swapped, and relative position 0 went along. Which keys does the "
            "first half of the buckets hold?",
            lambda r, b, m: _beta(r.abs(), b // 2, m) + b // 2 * (r <= 0),
        ),
        Misconception(
            "one direction only",
            "All keys after the query share bucket 0. That is a decoder's rule; these buckets are "
            "for both directions.",
            lambda r, b, m: t5_buckets(r, num_buckets=b, max_distance=m, bidirectional=False),
        ),
        Misconception(
            "sign ignored",
            "Half of the buckets are never used: keys on the left and on the right get the same.",
            lambda r, b, m: _beta(r.abs(), b // 2, m),
        ),
        Misconception(
            "not halved",
            "Some buckets are num_buckets or larger. All buckets of both sides together must be "
            "0 to num_buckets - 1.",
            lambda r, b, m: _beta(r.abs(), b, m) + b * (r > 0),
        ),
        Misconception(
            "sides overlap",
            "Some buckets hold keys of both sides. How many buckets can one side have?",
            lambda r, b, m: _beta(r.abs(), b, m) + b // 2 * (r > 0),
        ),
        Misconception(
            "zero on the right",
            "All are right but one: to which side does relative position 0 belong?",
            lambda r, b, m: _t5(r, b, m) + b // 2 * (r == 0),
        ),
        Misconception(
            "the empty bucket filled",
            "The left is right, the right is shifted by one. Both sides are counted from "
            "distance 0, even where no key can have it.",
            lambda r, b, m: _beta(r.abs() - (r > 0).long(), b // 2, m) + b // 2 * (r > 0),
        ),
        Misconception(
            "right side one too low",
            "On the right, every bucket is one too low. The first bucket of that side stands for "
            "distance 0, and remains empty.",
            lambda r, b, m: _t5(r, b, m) - (r > 0).long(),
        ),
        Misconception(
            "left from far to near",
            "The left side runs from far to near. Both sides begin at the query.",
            _far_to_near,
        ),
        Misconception(
            "clipped",
            "This gives each distance a bucket of its own until they run out, as Shaw's clip "
            "does. Only half of each side's buckets are exact.",
            lambda r, b, m: r.abs().clamp(max=b // 2 - 1) + b // 2 * (r > 0),
        ),
        Misconception(
            "equal widths",
            "Your shared buckets all hold equally many distances. They should grow by the same "
            "factor from each to the next.",
            _far(lambda n, side, exact, m: (side - exact) * (n - exact) / (m - exact)),
        ),
        Misconception(
            "natural logarithm as it is",
            "The logarithm is right, its unit is not: it should grow by the number of shared "
            "buckets on the way to max_distance.",
            _far(lambda n, side, exact, m: (n / exact).log()),
        ),
        Misconception(
            "octaves",
            "Your shared buckets double in width, whatever max_distance is. By which factor must "
            "they grow?",
            _far(lambda n, side, exact, m: (n / exact).log2()),
        ),
        Misconception(
            "factor by division",
            "As many steps as there are shared buckets lead to max_distance, and each multiplies. "
            "By which factor?",
            _far(
                lambda n, side, exact, m: (n / exact).log() / math.log(m / exact / (side - exact))
            ),
        ),
        Misconception(
            "share for bucket",
            "Your logarithm grows from 0 to 1 on the way to max_distance, and is then rounded "
            "down. How many buckets share that way?",
            _far(lambda n, side, exact, m: _growth(n, side, exact, m) / (side - exact)),
        ),
        Misconception(
            "logarithm from distance 1",
            "In your code the growth starts at distance 1. Where do the shared buckets begin?",
            _far(lambda n, side, exact, m: (side - exact) * n.log() / math.log(m)),
        ),
        Misconception(
            "factor from distance 1",
            "Your factor is too large. All its steps together lead to max_distance, but not from "
            "distance 1.",
            _far(lambda n, side, exact, m: (side - exact) * (n / exact).log() / math.log(m)),
        ),
        Misconception(
            "last bucket from max_distance on",
            "Your last bucket begins at max_distance. It should end there, if nothing were "
            "farther.",
            _far(
                lambda n, side, exact, m: (
                    _growth(n, side, exact, m) * (side - exact - 1) / (side - exact)
                )
            ),
        ),
        Misconception(
            "not rounded",
            "Some of your buckets are no whole numbers. Between two beginnings, all distances "
            "have the same bucket.",
            _far(_growth, rounding=lambda far: far),
        ),
        Misconception(
            "rounded",
            "Each shared bucket after the first begins too near: do you round to the nearest "
            "whole number?",
            _far(_growth, rounding=torch.round),
        ),
        Misconception(
            "rounded up",
            "The first shared distance is right, those after it are one bucket too high: is "
            "something rounded up, or one added?",
            _far(_growth, rounding=torch.ceil),
        ),
        Misconception(
            "one bucket skipped",
            "All shared buckets are one too high. Which bucket has the first distance that is not "
            "exact?",
            _far(_growth, rounding=lambda far: far.floor() + 1),
        ),
        Misconception(
            "beginnings rounded down",
            "Some shared buckets begin one distance too near: is the beginning of a bucket "
            "rounded down?",
            _far(_begins),
        ),
        Misconception(
            "last exact distance shared",
            "All are right but one on each side: which is the last distance that has a bucket of "
            "its own?",
            lambda r, b, m: _t5(r, b, m) + (r.abs() == b // 4 - 1),
        ),
        Misconception(
            "a quarter exact",
            "Too few distances have a bucket of their own. Is a half taken once too often?",
            _far(_growth, singles=lambda side: max(side // 4, 1)),
        ),
        Misconception(
            "one exact too many",
            "Too many distances have a bucket of their own. Distance 0 is one of them; which is "
            "the last?",
            _far(_growth, singles=lambda side: side // 2 + 1),
        ),
        Misconception(
            "one exact too many, growth from the last",
            "Distance num_buckets / 4 has a bucket of its own, as if the exact ones were counted "
            "from 1. Which distance is the first that is shared?",
            _far(
                lambda n, side, exact, m: (
                    (side - exact) * (n / (exact - 1)).log() / math.log(m / (exact - 1))
                ),
                singles=lambda side: side // 2 + 1,
            ),
        ),
        Misconception(
            "not capped",
            "Right up to max_distance. What about the keys beyond it?",
            _far(_growth, beyond=math.inf),
        ),
        Misconception(
            "capped one too late",
            "The farthest keys leave their side. Buckets are counted from 0: which is the last?",
            _far(_growth, beyond=1),
        ),
        Misconception(
            "settings ignored",
            "Right for 32 buckets and max_distance 128 only. Are these numbers in your code?",
            lambda r, b, m: t5_buckets(r),
        ),
        Misconception(
            "max_distance ignored",
            "Right for one max_distance only. Is there a 128 in your code?",
            lambda r, b, m: _t5(r, b, 128),
        ),
    ],
    where=(" for relative position {}", lambda r, b, m: [[str(int(x)) for x in r]]),
    tests=[
        Test(2, "32 buckets, max_distance 128", _usual_settings),
        Test(2, "other settings", _other_settings),
    ],
    refuses=[ALL],
)


def _labelled(n: int) -> Tensor:
    """Products whose tens say the row and whose units say the column."""
    return 10.0 * torch.arange(n)[:, None] + torch.arange(2 * n - 1)


def _in_memory(products: Tensor, first: int, row: int) -> Tensor:
    """Read rows of another length from the products as they would lie in memory, row by row."""
    return products.contiguous().as_strided((len(products),) * 2, (row, 1), first)


def _as_it_lies(products: Tensor) -> Tensor:
    n = len(products)
    return products.as_strided((n, n), (2 * n - 2, 1), n - 1)


def _key_rows(products: Tensor) -> Tensor:
    """Take the product of the key with the right vector, where the query's is meant."""
    n = len(products)
    columns = torch.arange(n) - torch.arange(n)[:, None] + n - 1
    return products[torch.arange(n), columns]


def _all_columns(products: Tensor) -> Tensor:
    """Shift every row as Transformer-XL's `_rel_shift`, and keep what no key reads."""
    n = len(products)
    return pad(products, (1, 0)).reshape(2 * n, n)[1:].reshape(n, 2 * n - 1)


def _other_products(draw: Draw) -> list[Case]:
    n = draw.integer(5, 8)
    return [
        Case("2 queries", draw.normal(2, 3)),
        Case(f"{n} queries", draw.normal(n, 2 * n - 1)),
        Case("a single product", draw.normal(1, 1)),
    ]


def _transposed(draw: Draw) -> list[Case]:
    n = draw.integer(4, 6)
    return [Case(f"{2 * n - 1} by {n}, transposed", draw.normal(2 * n - 1, n).T)]


skewed = Comparison(
    "skewed",
    skew,
    [
        Case("3 queries; entry [i, r] is 10 i + r", _labelled(3)),
        Case("one query, one key", torch.tensor([[5.0]])),
        Case("4 queries, random numbers", _random(4, 7)),
        Case("stored column by column", _random(9, 5).T),
    ],
    [
        Misconception(
            "first columns",
            "Each row is the first n columns of products. For row 0, these are vectors of which "
            "relative positions?",
            lambda x: x[:, : len(x)],
        ),
        Misconception(
            "last columns",
            "Row 0 is right, but all rows use the same columns. Where does relative position 0 "
            "stand in row 1?",
            lambda x: x[:, len(x) - 1 :],
        ),
        Misconception(
            "reversed direction",
            "The main diagonal is right, left and right are exchanged: the relative position is "
            "key minus query.",
            lambda x: skew(x.flip(-1)),
        ),
        Misconception(
            "windows move to the right",
            "Your window moves to the right from row to row. Where must relative position 0 "
            "appear in row 0, and in row 1?",
            lambda x: _in_memory(x, 0, 2 * len(x)),
        ),
        Misconception(
            "transposed",
            "Rows and columns are exchanged: each query has a row.",
            lambda x: skew(x).T,
        ),
        Misconception(
            "rows of the keys",
            "The columns are right, but not the rows: whose product is entry [i, j], the query's "
            "or the key's?",
            _key_rows,
        ),
        Misconception(
            "one to the right",
            "Each row starts one column too far right. In which column stands relative position 0?",
            lambda x: _in_memory(x, len(x), 2 * len(x) - 2),
        ),
        Misconception(
            "one to the left",
            "Each row starts one column too far left. In which column stands relative position 0?",
            lambda x: _in_memory(x, len(x) - 2, 2 * len(x) - 2),
        ),
        Misconception(
            "one to the right, wrapped",
            "Each row starts one column too far right, and the first row ends at its own "
            "beginning.",
            lambda x: skew(x.roll(-1, -1)),
        ),
        Misconception(
            "one to the left, wrapped",
            "Each row starts one column too far left, and the last row begins at its own end.",
            lambda x: skew(x.roll(1, -1)),
        ),
        Misconception(
            "one to the right, padded",
            "Each row starts one column too far right, so a padded zero gets into the result.",
            lambda x: skew(pad(x[:, 1:], (0, 1))),
        ),
        Misconception(
            "one to the left, padded",
            "Each row starts one column too far left, so a padded zero gets into the result.",
            lambda x: skew(pad(x[:, :-1], (1, 0))),
        ),
        Misconception(
            "query 0 for all",
            "Row 0 is right, and the others take the right columns. But of which query?",
            lambda x: toeplitz(x[0], len(x)),
        ),
        Misconception(
            "columns left over",
            "Each row starts well, but has more entries than there are keys.",
            _all_columns,
        ),
        Misconception(
            "keys after the query masked",
            "Keys after the query are missing. No causal mask is asked for.",
            lambda x: skew(x).tril(),
        ),
        Misconception(
            "fails for one query",
            "Right as soon as there are two queries. With n = 1, is something empty in your code, "
            "because its length or its end is 0?",
            lambda x: skew(x) if len(x) > 1 else x[:, :0],
        ),
        Misconception(
            "memory taken for rows",
            "You read memory as if rows lay there one after another. That is not so for every "
            "tensor: what are the strides of a transposed one?",
            _as_it_lies,
        ),
    ],
    tests=[
        Test(3, "other products", _other_products),
        Test(1, "a transposed tensor", _transposed),
    ],
    refuses=[ALL],
)


def _clipped(relative: Tensor, clip: int) -> Tensor:
    return relative.clamp(-clip, clip) + clip


def _clipped_late(relative: Tensor, clip: int) -> Tensor:
    return (relative + clip).clamp(-clip, clip)


def _shaw(
    q: Tensor,
    k: Tensor,
    table: Tensor,
    query_positions: Tensor,
    key_positions: Tensor,
    *,
    row: Callable[[Tensor, int], Tensor] = _clipped,
    words: float = -0.5,
    places: float = -0.5,
) -> Tensor:
    """Shaw's scores; `words` and `places` are the powers of d that multiply the two parts."""
    rows = row(relative_positions(query_positions, key_positions), len(table) // 2)
    by_word, by_place = q @ k.T, torch.einsum("id,ijd->ij", q, table[rows])
    return q.shape[-1] ** words * by_word + q.shape[-1] ** places * by_place


def _shaw_case(
    label: str, dim: int, clip: int, query_positions: Tensor, key_positions: Tensor
) -> Case:
    q, k = _random(len(query_positions), dim), _random(len(key_positions), dim)
    return Case(label, q, k, _random(2 * clip + 1, dim), query_positions, key_positions)


_ROWS = (  # name, hint, the row of a relative position
    (
        "clipped after the shift",
        "Some keys still read the wrong row: what is clipped, and to which range?",
        _clipped_late,
    ),
    (
        "sign",
        "Rows of keys before and after the query are exchanged. Row 0 belongs to keys far behind.",
        lambda r, clip: _clipped(-r, clip),
    ),
    (
        "shift lost",
        "Clipped rightly, but where does the table have the row of relative position 0?",
        lambda r, clip: r.clamp(-clip, clip),
    ),
    (
        "keys ahead share a row",
        "Keys before the query read the right rows. All keys after it still read that of "
        "relative position 0.",
        lambda r, clip: (r + clip).clamp(0, clip),
    ),
    (
        "last row never read",
        "Keys far ahead read the last row but one. How many rows has the table?",
        lambda r, clip: (r + clip).clamp(0, 2 * clip - 1),
    ),
    (
        "negative rows",
        "Keys after the query read the right rows, those far before it do not: a negative index "
        "counts from the end of the table.",
        lambda r, clip: (r + clip).clamp(-clip, 2 * clip),
    ),
    (
        "distance",
        "Keys before the query read the rows of keys after it. A distance has lost its sign.",
        lambda r, clip: _clipped(r.abs(), clip),
    ),
)
_SIZES = (  # name, hint, powers of d that multiply the products with words and with places
    (
        "positions not divided",
        "The rows are right. Compare the fraction in the chapter's formula: what stands above its "
        "line?",
        -0.5,
        0.0,
    ),
    (
        "words not divided",
        "The rows are right. Now the positional part is divided, and the other is not.",
        0.0,
        -0.5,
    ),
    (
        "nothing divided",
        "The rows are right. Shaw's scores are scaled, unlike T5's.",
        0.0,
        0.0,
    ),
    (
        "words divided twice",
        "The positional part is right. Is the product of query and key divided twice?",
        -1.0,
        -0.5,
    ),
    (
        "divided by d",
        "The rows are right. By what does the formula divide, d or its root?",
        -1.0,
        -1.0,
    ),
)


def _which_row(draw: Draw) -> list[Case]:
    """One channel, so that the sizes do not matter."""
    q, k, positions = draw.normal(9, 1), draw.normal(9, 1), torch.arange(9)
    table, short = draw.normal(5, 1), draw.normal(3, 1)
    first = draw.integer(3, 6)
    some = positions[first : first + 2]
    return [
        Case("one channel", q, k, table, positions, positions),
        Case("one channel, clip 1", q[:2].clone(), k, short, some.clone(), positions),
    ]


def _which_size(draw: Draw) -> list[Case]:
    dim = draw.choice([9, 16, 25])
    q, k, table = draw.normal(1, dim), draw.normal(4, dim), draw.normal(13, dim)
    label = f"near keys, {dim} channels"
    first, at = draw.integer(1, 90), draw.integer(0, 3)
    return [Case(label, q, k, table, torch.tensor([first + at]), first + torch.arange(4))]


mended_shaw = Comparison(
    "mended_shaw",
    _shaw,
    [
        _shaw_case("clip 3, query 4, keys 2 to 4", 4, 3, torch.tensor([4]), torch.arange(2, 5)),
        _shaw_case("clip 2, 7 queries and 7 keys", 4, 2, torch.arange(7), torch.arange(7)),
        _shaw_case("clip 3, query 6, keys 0 to 9", 9, 3, torch.tensor([6]), torch.arange(10)),
    ],
    [
        Misconception(
            "two bugs left",
            "Both bugs are still there. Look at the picture first.",
            partial(_shaw, row=_clipped_late, places=0.0),
        ),
        *(Misconception(name, hint, partial(_shaw, row=row)) for name, hint, row in _ROWS),
        *(
            Misconception(name, hint, partial(_shaw, words=words, places=places))
            for name, hint, words, places in _SIZES
        ),
        *(
            Misconception(
                f"{name}; {size}",
                f"{hint} The sizes of the numbers are wrong, too.",
                partial(_shaw, row=row, words=words, places=places),
            )
            for name, hint, row in _ROWS
            for size, _, words, places in _SIZES
            if (row is _clipped_late) != (size == "positions not divided")  # one was mended badly
        ),
    ],
    tolerance=1e-3,
    tests=[
        Test(2, "which row is read", _which_row),
        Test(1, "the sizes", _which_size),
    ],
    refuses=["posenc.shaw.ShawRelative"],
)
