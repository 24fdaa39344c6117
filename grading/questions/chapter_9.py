"""Questions of the page Pitfalls: code that looks right, to be repaired."""

from collections.abc import Sequence

import torch
from torch import Tensor

from grading.questions.master import Case, Comparison, Draw, Misconception, Test
from posenc.check.ways import ALL
from posenc.frequencies import angles, inverse_frequencies
from posenc.rotary import rotate
from posenc.scaling import ntk_scaling


def _noise(seed: int, *shape: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64).round(decimals=4)


def _turned(x: Tensor, positions: Tensor, base: float, **options) -> Tensor:
    width = options.pop("width", x.shape[-1])
    turn = angles(positions, inverse_frequencies(options.pop("over", width), base=base))
    return rotate(x, turn[..., : width // 2], pairing="half", rotary_dim=width, **options)


# Layout


def _by_token(x: Tensor, positions: Tensor, base: float) -> Tensor:
    return _turned(x, positions, base, axis=-3)


def _by_head(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """Turn head number h by the h-th position, as far as there are so many."""
    heads = positions[torch.arange(x.shape[-2]) % len(positions)]
    return _turned(x, heads, base)


def _layout_elsewhere(draw: Draw) -> list[Case]:
    start = draw.integer(20, 500)
    gaps = torch.tensor(draw.unordered(range(start, start + 40), 4))
    return [
        Case("an odd order", draw.normal(1, 4, 4, 8, dtype=torch.float64), gaps, 10_000.0),
        Case("more heads", draw.normal(2, 4, 6, 4, dtype=torch.float64), gaps, draw.base()),
        Case("one token", draw.normal(1, 1, 3, 6, dtype=torch.float64), gaps[1:2].clone(), 1e4),
    ]


mended_layout = Comparison(
    "mended_layout",
    _by_token,
    [
        Case("4 tokens, 4 heads", _noise(0, 1, 4, 4, 8), torch.tensor([3, 0, 9, 1]), 10_000.0),
        Case("3 tokens, 5 heads", _noise(1, 1, 3, 5, 8), torch.tensor([0, 7, 2]), 10_000.0),
        Case("one token, late", _noise(2, 2, 1, 4, 6), torch.tensor([700]), 10_000.0),
        Case("another base", _noise(3, 1, 5, 2, 8), torch.tensor([8, 6, 7, 5, 3]), 300.0),
    ],
    [
        Misconception(
            "heads turned",
            "Heads are turned by their number. Which axis of x are the tokens on?",
            _by_head,
        ),
        Misconception(
            "axes left exchanged",
            "The right numbers with tokens and heads exchanged. Give back the layout you got.",
            lambda x, p, b: _by_token(x, p, b).transpose(1, 2),
        ),
        Misconception(
            "positions replaced",
            "The tokens are turned by 0, 1, 2, ... Use the positions that you are given.",
            lambda x, p, b: _by_token(x, torch.arange(x.shape[1]), b),
        ),
        Misconception(
            "opposite direction",
            "It turns the other way. Where does the minus stand?",
            lambda x, p, b: _by_token(x, -p, b),
        ),
        Misconception(
            "base ignored",
            "Right for one base only. Is there a 10000 in your code?",
            lambda x, p, b: _by_token(x, p, 10_000.0),
        ),
        Misconception(
            "same position for all",
            "All tokens are turned by the first position. Each has its own.",
            lambda x, p, b: _by_token(x, p[:1].expand(len(p)), b),
        ),
    ],
    tolerance=1e-3,
    tests=[Test(3, "positions with gaps, out of order", _layout_elsewhere)],
)


# Packing


def _rows(lengths: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Document and position of each row."""
    lengths = torch.tensor(lengths)
    document = torch.repeat_interleave(torch.arange(len(lengths)), lengths)
    start = (lengths.cumsum(0) - lengths)[document]
    return document, torch.arange(len(document)) - start


def _packed(lengths: Sequence[int]) -> Tensor:
    document, _ = _rows(lengths)
    row = torch.arange(len(document))
    return (document[:, None] == document) & (row[:, None] >= row)


def _restarted(lengths: Sequence[int]) -> Tensor:
    _, position = _rows(lengths)
    return position[:, None] >= position


def _causal(lengths: Sequence[int]) -> Tensor:
    return torch.ones(sum(lengths), sum(lengths)).tril().bool()


def _same_document(lengths: Sequence[int]) -> Tensor:
    document, _ = _rows(lengths)
    return document[:, None] == document


def _other_documents(draw: Draw) -> list[Case]:
    return [
        Case("three documents", [draw.integer(2, 6) for _ in range(3)]),
        Case("five documents", [draw.integer(1, 5) for _ in range(4)] + [draw.integer(2, 4)]),
        Case("a single one", [draw.integer(2, 7)]),
    ]


mended_packing = Comparison(
    "mended_packing",
    _packed,
    [
        Case("one document of 4", [4]),
        Case("documents of 2 and 3", [2, 3]),
        Case("documents of 3, 1 and 2", [3, 1, 2]),
    ],
    [
        Misconception(
            "restarted positions alone",
            "A first document's word sees words of the second. Do positions say which document "
            "a word is of?",
            _restarted,
        ),
        Misconception(
            "documents ignored",
            "Right for one document. In the second, who may look at the first?",
            _causal,
        ),
        Misconception(
            "later words seen",
            "Documents are apart, but a word sees those after it.",
            _same_document,
        ),
        Misconception(
            "not itself",
            "A word may look at itself. What would the first word of a document see?",
            lambda lengths: _packed(lengths) & ~torch.eye(sum(lengths)).bool(),
        ),
        Misconception(
            "query and key exchanged",
            "Rows are queries, columns keys: yours are exchanged.",
            lambda lengths: _packed(lengths).T,
        ),
        Misconception(
            "hidden for seen",
            "True and false are exchanged: true is where a query may look.",
            lambda lengths: ~_packed(lengths),
        ),
    ],
    tests=[Test(3, "other documents", _other_documents)],
)


# Partial width


def _partial(x: Tensor, positions: Tensor, width: int, base: float) -> Tensor:
    return _turned(x, positions, base, width=width)


def _across(x: Tensor, positions: Tensor, width: int, base: float) -> Tensor:
    """Pair i with i + d/2, for the first width/2 pairs."""
    turn = angles(positions, inverse_frequencies(width, base=base))
    rest = torch.zeros(len(positions), x.shape[-1] // 2 - width // 2, dtype=turn.dtype)
    return rotate(x, torch.cat((turn, rest), dim=-1), pairing="half")


def _other_widths(draw: Draw) -> list[Case]:
    places = torch.tensor(draw.unordered(range(3, 60), 3))
    return [
        Case("6 of 16", draw.normal(3, 16, dtype=torch.float64), places, 6, draw.base()),
        Case("8 of 20", draw.normal(3, 20, dtype=torch.float64), places + 400, 8, 10_000.0),
        Case("all of 10", draw.normal(3, 10, dtype=torch.float64), places, 10, draw.base()),
    ]


mended_partial = Comparison(
    "mended_partial",
    _partial,
    [
        Case("4 of 16 channels", _noise(10, 3, 16), torch.tensor([5, 1, 80]), 4, 10_000.0),
        Case("8 of 12 channels", _noise(11, 3, 12), torch.tensor([2, 2, 31]), 8, 10_000.0),
        Case("all 8 channels", _noise(12, 2, 8), torch.tensor([40, 3]), 8, 10_000.0),
        Case("another base", _noise(13, 2, 16), torch.tensor([9, 6]), 8, 500.0),
    ],
    [
        Misconception(
            "exponent over the head",
            "Pair 0 is right, the others turn too fast. What is the exponent divided by, in a "
            "model that turns a part?",
            lambda x, p, w, b: _turned(x, p, b, width=w, over=x.shape[-1]),
        ),
        Misconception(
            "paired across the head",
            "The partners are half a head apart. They are half of the turned part apart.",
            _across,
        ),
        Misconception(
            "the last channels",
            "You turned the other end of the row. The first channels are asked.",
            lambda x, p, w, b: torch.cat(
                (x[:, : x.shape[1] - w], _turned(x[:, x.shape[1] - w :], p, b)), dim=1
            ),
        ),
        Misconception(
            "all channels",
            "You turned the whole row. Only the first channels turn.",
            lambda x, p, w, b: _turned(x, p, b),
        ),
        Misconception(
            "rest lost",
            "The channels that do not turn are gone. They are part of the query.",
            lambda x, p, w, b: _partial(x, p, w, b)[:, :w],
        ),
        Misconception(
            "rest zero",
            "The channels that do not turn are zero. They stay as they are.",
            lambda x, p, w, b: torch.cat((_partial(x, p, w, b)[:, :w], 0 * x[:, w:]), dim=1),
        ),
        Misconception(
            "interleaved",
            "The pairing is half, within the turned part.",
            lambda x, p, w, b: torch.cat(
                (
                    rotate(
                        x[:, :w],
                        angles(p, inverse_frequencies(w, base=b)),
                        pairing="interleaved",
                    ),
                    x[:, w:],
                ),
                dim=1,
            ),
        ),
        Misconception(
            "positions replaced",
            "The rows are turned by 0, 1, 2, ... Use the positions that you are given.",
            lambda x, p, w, b: _partial(x, torch.arange(len(x)), w, b),
        ),
    ],
    tolerance=1e-3,
    tests=[Test(3, "other widths, rows out of order", _other_widths)],
)


# A chunk beside a cache


def _chunk(new: int, cached: int) -> Tensor:
    query = cached + torch.arange(new)
    return query[:, None] >= torch.arange(cached + new)


def _other_chunks(draw: Draw) -> list[Case]:
    return [
        Case("a chunk", draw.integer(2, 5), draw.integer(2, 9)),
        Case("one token", 1, draw.integer(3, 30)),
        Case("a long prompt", draw.integer(6, 9), 0),
    ]


mended_chunk = Comparison(
    "mended_chunk",
    _chunk,
    [
        Case("a prompt of 4, nothing cached", 4, 0),
        Case("one token after 5", 1, 5),
        Case("three tokens after 2", 3, 2),
    ],
    [
        Misconception(
            "top left",
            "Right with an empty cache. The first new token stands after all the cached ones: "
            "which keys may it see?",
            lambda new, cached: torch.ones(new, cached + new).tril().bool(),
        ),
        Misconception(
            "everything",
            "Right for one token. In a chunk, the first new token must not see the second.",
            lambda new, cached: torch.ones(new, cached + new).bool(),
        ),
        Misconception(
            "cache hidden",
            "The new tokens see each other and nothing of the cache.",
            lambda new, cached: _chunk(new, cached) & (torch.arange(cached + new) >= cached),
        ),
        Misconception(
            "not itself",
            "A token may see its own key.",
            lambda new, cached: torch.ones(new, cached + new).tril(cached - 1).bool(),
        ),
        Misconception(
            "one too far",
            "Each token sees the one after it as well.",
            lambda new, cached: torch.ones(new, cached + new).tril(cached + 1).bool(),
        ),
        Misconception(
            "hidden for seen",
            "True and false are exchanged: true is where a query may look.",
            lambda new, cached: ~_chunk(new, cached),
        ),
        Misconception(
            "square",
            "There are keys of cached and of new tokens, but only new queries.",
            lambda new, cached: torch.ones(cached + new, cached + new).tril().bool(),
        ),
    ],
    tests=[Test(3, "other chunks", _other_chunks)],
    refuses=[ALL],
)


# A window that moves


def _shifted(keys: Tensor, start: int, dropped: int, base: float) -> Tensor:
    """Keys turned at start, start + 1, ...; without the first, numbered from start again."""
    kept = keys[dropped:]
    return _turned(kept, torch.full((len(kept),), -dropped), base)


def _cached(seed: int, n: int, dim: int, start: int, base: float) -> Tensor:
    return _turned(_noise(seed, n, dim), start + torch.arange(n), base)


def _other_windows(draw: Draw) -> list[Case]:
    start, n = draw.integer(3, 90), draw.choice([7, 9, 10])  # and not its width
    base = draw.base()
    keys = draw.normal(n, 8, dtype=torch.float64)
    keys = _turned(keys, start + torch.arange(n), base)
    return [
        Case("from another start", keys, start, draw.integer(2, 5), base),
        Case("one dropped", keys, start, 1, base),
        Case("none dropped", keys, start, 0, base),
    ]


mended_window = Comparison(
    "mended_window",
    _shifted,
    [
        Case("nothing dropped", _cached(20, 4, 8, 0, 10_000.0), 0, 0, 10_000.0),
        Case("two of six dropped", _cached(21, 6, 8, 0, 10_000.0), 0, 2, 10_000.0),
        Case("from position 40", _cached(22, 5, 6, 40, 10_000.0), 40, 3, 10_000.0),
        Case("another base", _cached(23, 5, 8, 7, 200.0), 7, 1, 200.0),
    ],
    [
        Misconception(
            "turned again",
            "These keys were turned before they were kept. If they are turned by their new "
            "positions as well, where do they stand?",
            lambda k, s, n, b: _turned(k[n:], s + torch.arange(len(k) - n), b),
        ),
        Misconception(
            "left as they were",
            "The keys still stand where they stood. They are to have the numbers of the new "
            "window.",
            lambda k, s, n, b: k[n:],
        ),
        Misconception(
            "turned on",
            "The keys went on, not back.",
            lambda k, s, n, b: _turned(k[n:], torch.full((len(k) - n,), n), b),
        ),
        Misconception(
            "turned back to nothing",
            "These are the keys before any turn. Turn them to their new positions, too.",
            lambda k, s, n, b: _turned(k[n:], -(s + n + torch.arange(len(k) - n)), b),
        ),
        Misconception(
            "newest dropped",
            "You dropped the newest keys. The oldest go.",
            lambda k, s, n, b: _turned(k[: len(k) - n], torch.full((len(k) - n,), -n), b),
        ),
        Misconception(
            "turned back by the start",
            "You turn the window back to position 0. It begins at `start`, before and after.",
            lambda k, s, n, b: _turned(k[n:], torch.full((len(k) - n,), -n - s), b),
        ),
        Misconception(
            "base ignored",
            "Right for one base only. Is there a 10000 in your code?",
            lambda k, s, n, b: _shifted(k, s, n, 10_000.0),
        ),
    ],
    tolerance=1e-3,
    tests=[Test(3, "other windows", _other_windows)],
)


# Dynamic frequencies and a cache


def _now(dim: int, base: float, length: int, trained: int) -> Tensor:
    factor = max(length, trained) / trained
    return ntk_scaling(inverse_frequencies(dim, base=base), factor=factor)[0]


def _each_by(keys: Tensor, positions: Sequence[int], clocks: Sequence[Tensor]) -> Tensor:
    rows = [
        rotate(key[None], angles(torch.tensor([p]), inv_freq), pairing="half")[0]
        for key, p, inv_freq in zip(keys, positions, clocks, strict=True)
    ]
    return torch.stack(rows)


def _dynamic(
    query: Tensor,
    keys: Tensor,
    base: float,
    trained: int,
    *,
    of_query: int = 0,
    of_keys: int = 0,
    each: bool = False,
) -> Tensor:
    """Scores of the newest token; of_...: the text's length that the clocks are for, 0: now."""
    n, dim = keys.shape
    lengths = range(1, n + 1) if each else [of_keys or n] * n
    clocks = [_now(dim, base, length, trained) for length in lengths]
    turned = _each_by(keys, range(n), clocks)
    own = _each_by(query[None], [n - 1], [_now(dim, base, of_query or n, trained)])
    return turned @ own[0]


def _other_dynamic(draw: Draw) -> list[Case]:
    cases = []
    for label, times in (("shorter", 0), ("twice as long", 2), ("five times as long", 5)):
        trained, dim = draw.integer(4, 6), draw.choice([8, 12])
        n = times * trained + draw.integer(2, trained - 1)  # and a bit: no whole number of times
        query, keys = (draw.normal(*s, dtype=torch.float64) for s in ((dim,), (n, dim)))
        cases.append(Case(label, query, keys, draw.base(), trained))
    return cases


mended_dynamic = Comparison(
    "mended_dynamic",
    _dynamic,
    [
        Case("within the trained length", _noise(30, 8), _noise(31, 5, 8), 10_000.0, 8),
        Case("twice as long", _noise(32, 8), _noise(33, 12, 8), 10_000.0, 6),
        Case("five and a half times as long", _noise(34, 12), _noise(35, 22, 12), 500.0, 4),
    ],
    [
        Misconception(
            "each key by the length of its day",
            "Each key still has the frequencies of the moment in which it was read. Which "
            "frequencies has the query now?",
            lambda q, k, b, t: _dynamic(q, k, b, t, each=True),
        ),
        Misconception(
            "keys as in training",
            "The keys are turned as in training, the query is not.",
            lambda q, k, b, t: _dynamic(q, k, b, t, of_keys=t),
        ),
        Misconception(
            "query as in training",
            "The query is turned as in training, the keys are not.",
            lambda q, k, b, t: _dynamic(q, k, b, t, of_query=t),
        ),
        Misconception(
            "never stretched",
            "Right within the trained length. A longer text has slower frequencies.",
            lambda q, k, b, t: _dynamic(q, k, b, t, of_query=t, of_keys=t),
        ),
        Misconception(
            "one token behind",
            "These are the frequencies of the text without its newest token.",
            lambda q, k, b, t: _dynamic(q, k, b, t, of_query=len(k) - 1, of_keys=len(k) - 1),
        ),
        Misconception(
            "no position at all",
            "These are the scores without positions.",
            lambda q, k, b, t: k @ q,
        ),
        Misconception(
            "newest first",
            "The right scores in another order. The oldest key comes first.",
            lambda q, k, b, t: _dynamic(q, k, b, t).flip(0),
        ),
    ],
    tolerance=1e-3,
    tests=[Test(3, "other lengths", _other_dynamic)],
)
