"""Questions of chapter 3: learned encodings."""

import math

import torch
from torch import Tensor
from torch.nn.functional import interpolate

from grading.questions.master import Case, Comparison, Draw, Misconception, Test


def _rows(share: float, dim: int, layers: int, vocabulary: int) -> float:
    """Rows of the largest table with that share of a model; not a whole number yet."""
    others = vocabulary + layers * (12 * dim + 13)  # parameters, in rows of the table
    return share * others / (1 - share)


def _affordable(share: float, dim: int, layers: int, vocabulary: int) -> int:
    return math.floor(_rows(share, dim, layers, vocabulary))


def _other_models(draw: Draw) -> list[Case]:
    """Models of several sizes, and those shares at which rounding matters."""
    models = [
        ("a large one", draw.integer(10, 20) / 1e4, 1600, 48, 50257),
        ("a small one", draw.integer(50, 90) / 1e3, 16, 2, draw.integer(90, 140)),
        ("two thirds", draw.integer(63, 69) / 100, 6, 3, draw.integer(35, 60)),
        ("half a per cent", 0.005, 64, draw.integer(4, 6), draw.integer(900, 1400)),
        ("two fifths", 0.4, draw.integer(5, 7), draw.integer(2, 3), draw.integer(70, 120)),
    ]
    places = [(0.1, 0.45), *[(0.55, 0.95)] * (len(models) - 1)]  # both sides of a half
    clear = map(_clear_of_a_whole_number, models, places, (0, 1, 1, 0, None))
    return [Case(label, *size) for label, *size in clear]


def _clear_of_a_whole_number(model: tuple, between: tuple[float, float], odd: int | None) -> tuple:
    """The vocabulary is made larger until no rounding error decides about a row, odd or even."""
    label, share, dim, layers, vocabulary = model
    low, high = between
    while True:
        rows = _rows(share, dim, layers, vocabulary)
        if low < rows % 1 < high and odd in (None, int(rows) % 2):
            return label, share, dim, layers, vocabulary
        vocabulary += 1


affordable_positions = Comparison(
    "affordable_positions",
    _affordable,
    [
        Case("1 % of GPT-2 small", 0.01, 768, 12, 50257),
        Case("0.1 % of BERT base", 0.001, 768, 12, 30522),
        Case("30 % of a tiny model", 0.3, 8, 1, 50),
        Case("20 % of a narrow one with 6 layers", 0.2, 4, 6, 28),
    ],
    [
        Misconception(
            "table not in the total",
            "Too few: the table belongs to the model, too. The more rows it has, the "
            "larger is the whole.",
            lambda s, d, n, v: math.floor(_rows(s, d, n, v) * (1 - s)),
        ),
        Misconception(
            "words forgotten",
            "Which table is missing from your total?",
            lambda s, d, n, v: _affordable(s, d, n, 0),
        ),
        Misconception(
            "layers forgotten",
            "There is more in a model than its two tables.",
            lambda s, d, n, v: _affordable(s, d, 0, v),
        ),
        Misconception(
            "one layer only",
            "Right for a model with one layer. How many does this one have?",
            lambda s, d, n, v: _affordable(s, d, 1, v),
        ),
        Misconception(
            "words in every layer",
            "Far too many. The word table is there once, whatever the number of layers.",
            lambda s, d, n, v: _affordable(s, d, n, n * v),
        ),
        Misconception(
            "divided by 1 + share",
            "Too few, even fewer than if the table were no part of the total. It stands on both "
            "sides of the inequality: watch its sign when you bring it to one.",
            lambda s, d, n, v: math.floor(_rows(s, d, n, v) * (1 - s) / (1 + s)),
        ),
        Misconception(
            "small vectors forgotten",
            "A little too few: each layer has 13 vectors beside its matrices.",
            lambda s, d, n, v: math.floor(s * (v + n * 12 * d) / (1 - s)),
        ),
        Misconception(
            "not rounded",
            "A table has whole rows. Which way do you round if the share is a maximum?",
            _rows,
        ),
        Misconception(
            "rounded up",
            "One row too many: the share is exceeded. Try your result in the inequality.",
            lambda s, d, n, v: math.ceil(_rows(s, d, n, v)),
        ),
        Misconception(
            "rounded to the nearest",
            "Sometimes one row too many. To the nearest whole number can mean upwards.",
            lambda s, d, n, v: round(_rows(s, d, n, v)),
        ),
        Misconception(
            "table not in the total, not rounded",
            "Two things: the table is part of the total, and it cannot end within a row.",
            lambda s, d, n, v: _rows(s, d, n, v) * (1 - s),
        ),
        Misconception(
            "parameters, table not in the total",
            "Two things: this is a number of parameters, and the total lacks the table itself.",
            lambda s, d, n, v: math.floor(_rows(s, d, n, v) * (1 - s) * d),
        ),
        Misconception(
            "parameters, not positions",
            "This is a number of parameters. How many does one position cost?",
            lambda s, d, n, v: math.floor(_rows(s, d, n, v) * d),
        ),
        Misconception(
            "in per cent",
            "The share is given as a fraction: 0.01 stands for one per cent.",
            lambda s, d, n, v: _affordable(s / 100, d, n, v),
        ),
    ],
    tests=[Test(2, "other models", _other_models)],
)


def _table(num_rows: int, dim: int, seed: int) -> Tensor:
    source = torch.Generator().manual_seed(seed)
    return torch.randn(num_rows, dim, generator=source)


def _interpolated(rows: Tensor, length: int, mode: str = "linear", aligned: bool = True) -> Tensor:
    corners = aligned if mode == "linear" else None
    return interpolate(rows.T[None], size=length, mode=mode, align_corners=corners)[0].T


def _read(rows: Tensor, at: Tensor, *, nearer: bool = True) -> Tensor:
    """Rows at fractional places, beyond the end the last; `nearer` is how it should be weighed."""
    at = at.clamp(max=len(rows) - 1)
    low, high = at.floor().long(), at.ceil().long()
    part = (at - low)[:, None]
    part = part if nearer else 1 - part
    return rows[low] + part * (rows[high] - rows[low])


def _spaced(table: Tensor, places: int) -> Tensor:
    return torch.linspace(0, len(table) - 2, places, dtype=torch.float64)


def _behind_the_class(table: Tensor, rows: Tensor) -> Tensor:
    return torch.cat((table[:1], rows))


def _stretched(table: Tensor, places: int) -> Tensor:
    return _behind_the_class(table, _interpolated(table[1:], places))


def _at(table: Tensor, at: Tensor, *, nearer: bool = True) -> Tensor:
    return _behind_the_class(table, _read(table[1:], at, nearer=nearer))


def _exchanged(table: Tensor, places: int, *, last: int) -> Tensor:
    """Weigh the row below by the fraction; `last` is the largest number of a row below."""
    rows, at = table[1:], _spaced(table, places)
    low = at.long().clamp(max=last)
    part = (at - low)[:, None]
    above = (low + 1).clamp(max=len(rows) - 1)
    return _behind_the_class(table, part * rows[low] + (1 - part) * rows[above])


def _extrapolated(table: Tensor, places: int) -> Tensor:
    """Go on with the last step where the table ends."""
    beyond = torch.arange(1, max(places + 2 - len(table), 1))[:, None]
    return torch.cat((table, table[-1] + beyond * (table[-1] - table[-2])))[: places + 1]


def _padded(table: Tensor, places: int) -> Tensor:
    longer = table.new_zeros(max(places + 1, len(table)), table.shape[1])
    longer[: len(table)] = table
    return longer[: places + 1]


def _wider(draw: Draw) -> list[Case]:
    old = draw.integer(5, 8)
    new = old + draw.integer(3, 7)
    return [
        Case(f"{old} to {new}", draw.normal(old + 1, 3), new),
        Case(f"{old} to {old + 1}", draw.normal(old + 1, 2), old + 1),
        Case("2 to 3", draw.normal(3, 3), 3),
    ]


def _narrower_and_equal(draw: Draw) -> list[Case]:
    old = draw.integer(7, 10)
    bent = draw.normal(old + 1, 2)
    return [Case(f"{old} to {new}", bent, new) for new in (2, 3, old - 1, old)]


stretched_table = Comparison(
    "stretched_table",
    _stretched,
    [
        Case("from 3 places to 5, as you predicted", _table(4, 2, seed=6), 5),
        Case("from 4 places to 7", _table(5, 3, seed=0), 7),
        Case("from 4 places to 9", _table(5, 2, seed=1), 9),
        Case("from 6 places to 4", _table(7, 2, seed=2), 4),
        Case("from 5 places to 5", _table(6, 4, seed=3), 5),
        Case("from 2 places to 5", _table(3, 2, seed=4), 5),
        Case("from 3 places to 2", _table(4, 3, seed=5), 2),
    ],
    [
        Misconception(
            "class row stretched",
            "Your second row is a mixture with the class row. That row is no place of the "
            "image and has no neighbours.",
            lambda table, places: _interpolated(table, places + 1),
        ),
        Misconception(
            "class row doubled",
            "Row 0 is there twice, once as itself and once as a place.",
            lambda table, places: _behind_the_class(table, _interpolated(table, places)),
        ),
        Misconception(
            "class row lost",
            "One row is missing: what became of row 0?",
            lambda table, places: _interpolated(table[1:], places),
        ),
        Misconception(
            "class row counted as a place",
            "One row too few: the number of places does not include the class row.",
            lambda table, places: _stretched(table, places - 1),
        ),
        Misconception(
            "class row lost and stretched",
            "One row too few, and row 0 was treated as a place.",
            lambda table, places: _interpolated(table, places),
        ),
        Misconception(
            "ends not aligned",
            "The last place should keep its vector, but all rows between are shifted. How does "
            "your function align the corners, if nobody tells it?",
            lambda table, places: _behind_the_class(
                table, _interpolated(table[1:], places, aligned=False)
            ),
        ),
        Misconception(
            "steps of n/n'",
            "The steps are too long, and your last place comes too early or too late. From the "
            "first of n places to the last there are not n steps.",
            lambda table, places: _at(table, torch.arange(places) * (len(table) - 1.0) / places),
        ),
        Misconception(
            "one step too many",
            "Your last places are all equal to the last row. How many steps lie between the first "
            "and the last of n places?",
            lambda table, places: _at(
                table, torch.arange(places) * (len(table) - 1.0) / (places - 1)
            ),
        ),
        Misconception(
            "end not reached",
            "Your last place does not reach the end of the line. How many steps are there to it?",
            lambda table, places: _at(table, torch.arange(places) * (len(table) - 2.0) / places),
        ),
        Misconception(
            "nearest row",
            "Your rows are copies of old ones. Between two old rows lies a mixture of both.",
            lambda table, places: _behind_the_class(
                table, table[1:][_spaced(table, places).round().long()]
            ),
        ),
        Misconception(
            "row below",
            "Your rows are copies: you rounded down and left out the fraction.",
            lambda table, places: _behind_the_class(
                table, table[1:][_spaced(table, places).floor().long()]
            ),
        ),
        Misconception(
            "nearest row, ends not aligned",
            "That is the nearest old row for each new one. Which mode of the function is linear?",
            lambda table, places: _behind_the_class(
                table, _interpolated(table[1:], places, mode="nearest")
            ),
        ),
        Misconception(
            "weights exchanged",
            "A new row close to an old one should resemble it. Which of the two neighbours gets "
            "the fraction f as its weight?",
            lambda table, places: _at(table, _spaced(table, places), nearer=False),
        ),
        Misconception(
            "weights exchanged, whole places too",
            "Where a new place falls on an old one, the fraction f is 0. Which of the two "
            "neighbours should have all the weight there?",
            lambda table, places: _exchanged(table, places, last=len(table) - 2),
        ),
        Misconception(
            "weights exchanged, the last place too",
            "Even your first place is not an old row any more. At f = 0, which of the two "
            "neighbours should count?",
            lambda table, places: _exchanged(table, places, last=len(table) - 3),
        ),
        Misconception(
            "read from row 0 on",
            "Your patches are read from table[0] on. Whose row is that?",
            lambda table, places: _behind_the_class(
                table, _read(table[:-1], _spaced(table, places))
            ),
        ),
        Misconception(
            "class row behind",
            "All rows are right, but the class token comes first, not last.",
            lambda table, places: _stretched(table, places).roll(-1, dims=0),
        ),
        Misconception(
            "class row repeated",
            "You repeat the whole table, so the class row stands among the places.",
            lambda table, places: table[torch.arange(places + 1) % len(table)],
        ),
        Misconception(
            "extrapolated",
            "You go on past the end of the line. The last place keeps its vector, and the new "
            "ones lie between the old.",
            _extrapolated,
        ),
        Misconception(
            "repeated",
            "You repeat the places from the start. That makes far places alike; it does not "
            "stretch.",
            lambda table, places: _behind_the_class(
                table, table[1:][torch.arange(places) % (len(table) - 1)]
            ),
        ),
        Misconception(
            "padded with zeros",
            "You cut the table or fill it up with zeros; the old rows stay where they were.",
            _padded,
        ),
        Misconception(
            "last row repeated",
            "You cut the table or fill it up with its last row. Only the ends keep their vectors.",
            lambda table, places: table[torch.arange(places + 1).clamp(max=len(table) - 1)],
        ),
    ],
    tests=[
        Test(2, "wider", _wider),
        Test(2, "narrower, and the same", _narrower_and_equal),
    ],
)


def _within(texts: Tensor, *, grows: bool = False) -> Tensor:
    """Count within runs of equal numbers, padding included; or within runs that never grow."""
    columns = torch.arange(texts.shape[1]).expand_as(texts)
    begins = torch.ones_like(texts, dtype=torch.bool)
    step = texts.diff(dim=1)
    begins[:, 1:] = step > 0 if grows else step != 0
    return columns - (begins * columns).cummax(dim=1).values


def _position_ids(texts: Tensor) -> Tensor:
    return _within(texts) * (texts > 0)


def _counted(texts: Tensor, dim: int = 1) -> Tensor:
    return (texts > 0).cumsum(dim=dim) - 1


def _smaller_before(texts: Tensor) -> Tensor:
    """Subtract the tokens of texts with smaller numbers, as if texts came in their order."""
    smaller = (texts[:, None, :] < texts[:, :, None]) & (texts > 0)[:, None, :]
    return (_counted(texts) - smaller.sum(-1)) * (texts > 0)


def _numbered(texts: Tensor) -> Tensor:
    """Count the earlier tokens with the same number, padding included."""
    return (texts[:, :, None] == texts[:, None, :]).tril(-1).sum(-1)


def _once(row: Tensor) -> Tensor:
    """Restart once, at the first token of another text than the first."""
    real = (row > 0).nonzero().flatten().tolist()
    counts = torch.zeros_like(row)
    start = real[0]
    second = next((column for column in real if row[column] != row[start]), None)
    for column in real:
        counts[column] = column - (start if second is None or column < second else second)
    return counts


def _packed(draw: Draw, *lengths: int, left: int = 0, right: int = 0) -> list[int]:
    """A row: texts of these lengths with any numbers, and padding on both sides."""
    numbers = draw.sample(range(1, 30), len(lengths))
    runs = [[n] * length for n, length in zip(numbers, lengths, strict=True)]
    return [0] * left + [n for run in runs for n in run] + [0] * right


def _one_text_a_row(draw: Draw) -> list[Case]:
    size = draw.integer(3, 5)
    rows = [
        _packed(draw, size, left=3),
        _packed(draw, size, right=3),
        _packed(draw, size, left=1, right=2),
    ]
    return [Case("padded three ways", torch.tensor(rows))]


def _packed_rows(draw: Draw) -> list[Case]:
    three = [_packed(draw, 2, 1, 4, right=1), _packed(draw, draw.integer(2, 4), 1, 2, 1, left=1)]
    longest = max(map(len, three))
    three = [row + [0] * (longest - len(row)) for row in three]
    a, b = draw.sample(range(1, 20), 2)
    follows = [[a, a, b, b], [b, b, b, a]]
    falling = [[9, 9, 9, 4, 4, 2, 2, 2], [3, 7, 7, 1, 1, 1, 0, 0]]
    return [
        Case("several texts a row", torch.tensor(three)),
        Case("a number used again in the next row", torch.tensor(follows)),
        Case("numbers in no order", torch.tensor(falling)),
        Case("a single row", torch.tensor([_packed(draw, 2, draw.integer(2, 5), left=1, right=2)])),
    ]


position_ids = Comparison(
    "position_ids",
    _position_ids,
    [
        Case("one text a row", torch.tensor([[1, 1, 1, 1], [1, 1, 1, 1]])),
        Case("padding on the right", torch.tensor([[4, 4, 4, 0, 0], [5, 5, 5, 5, 5]])),
        Case("padding on the left", torch.tensor([[0, 0, 2, 2, 2], [0, 0, 0, 1, 1]])),
        Case("two texts a row", torch.tensor([[1, 1, 1, 2, 2, 2], [2, 2, 3, 3, 3, 3]])),
        Case("texts and padding", torch.tensor([[0, 0, 7, 7, 7, 3, 3, 0, 0]])),
        Case("texts of one token", torch.tensor([[6, 2, 9, 9, 4, 0]])),
    ],
    [
        Misconception(
            "all three faults left",
            "All three faults are still there. Try the row that is printed in the question, and "
            "compare token by token.",
            lambda texts: _counted(texts, dim=0),
        ),
        Misconception(
            "along the batch",
            "You count down the batch. Rows have nothing to do with each other.",
            lambda texts: _counted(texts, dim=0).clamp(min=0) * (texts > 0),
        ),
        Misconception(
            "two faults left",
            "The axis is right now. Two faults are left: look at the padding, and at the "
            "second text of a row.",
            _counted,
        ),
        Misconception(
            "columns",
            "These are the numbers of the columns. Left padding and earlier texts should not "
            "count.",
            lambda texts: torch.arange(texts.shape[1]).expand_as(texts),
        ),
        Misconception(
            "columns of tokens",
            "The padding is 0 now, the tokens still have the numbers of their columns.",
            lambda texts: torch.arange(texts.shape[1]) * (texts > 0),
        ),
        Misconception(
            "not restarted",
            "Right for one text in a row. What should the first token of the second one get?",
            lambda texts: _counted(texts).clamp(min=0) * (texts > 0),
        ),
        Misconception(
            "not restarted, right padding counted",
            "You count on from text to text, and repeat the last number under the padding on "
            "the right.",
            lambda texts: _counted(texts).clamp(min=0),
        ),
        Misconception(
            "restarted where the number grows",
            "A text with a smaller number than the one before it does not begin at 0. The numbers "
            "need not be in order.",
            lambda texts: _within(texts, grows=True) * (texts > 0),
        ),
        Misconception(
            "texts in order of their numbers",
            "You take the texts with smaller numbers for the earlier ones. Texts may come in any "
            "order.",
            _smaller_before,
        ),
        Misconception(
            "counted from 1",
            "The first token of a text has position 0, not 1.",
            lambda texts: (_within(texts) + 1) * (texts > 0),
        ),
        Misconception(
            "padding counted",
            "The texts are right. The padding was counted as if it were one more text.",
            _within,
        ),
        Misconception(
            "padding numbered",
            "The padding is wrong and all else is right: it is counted on both sides together.",
            _numbered,
        ),
        Misconception(
            "padding negative",
            "The texts are right. A negative number under the padding makes a table raise an "
            "error, or read its last row.",
            lambda texts: _within(texts).where(texts > 0, -1),
        ),
        Misconception(
            "carried over",
            "Equal numbers in two rows are not one text. Where does a row begin?",
            lambda texts: _position_ids(texts.reshape(1, -1)).reshape(texts.shape),
        ),
        Misconception(
            "counted from 1, not restarted",
            "First tokens get 1, and a second text continues the first. Both should begin at 0.",
            lambda texts: (_counted(texts) + 1) * (texts > 0),
        ),
        Misconception(
            "not shifted",
            "You count the tokens up to here. Three things are left: where to begin, where to "
            "begin again, and the padding on the right.",
            lambda texts: _counted(texts) + 1,
        ),
        Misconception(
            "numbers of the texts",
            "This depends on how a text is numbered. What counts is where a token stands in it.",
            lambda texts: (texts - 1).clamp(min=0),
        ),
        Misconception(
            "restarted at the first change only",
            "You jump back by the length of one text. There may be three in a row.",
            lambda texts: torch.stack([_once(row) for row in texts]),
        ),
    ],
    tests=[
        Test(1, "one text a row", _one_text_a_row),
        Test(2, "several texts a row", _packed_rows),
    ],
)
