"""Questions of chapter 5: rotary position embedding."""

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from grading.questions.master import Case, Comparison, Draw, Judged, Misconception, Test
from posenc.check.frequencies import FAR, scores
from posenc.check.frequencies import parts as speed_parts
from posenc.check.ways import ALL
from posenc.frequencies import angles, inverse_frequencies
from posenc.rotary import rotate
from posenc.sinusoidal import sinusoidal_encoding


def _noise(seed: int, *shape: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64).round(decimals=4)


def _turns(positions: Tensor, dim: int, base: float, power: float = 1.0) -> Tensor:
    return angles(positions, inverse_frequencies(dim, base=base) ** power)


def _rotated(
    x: Tensor, positions: Tensor, base: float, *, power: float = 1.0, pairing: str = "interleaved"
) -> Tensor:
    return rotate(x, _turns(positions, x.shape[-1], base, power), pairing=pairing)


def _weave(a: Tensor, b: Tensor) -> Tensor:
    """First and second channels [n, pairs] in turn."""
    return torch.stack((a, b), dim=-1).flatten(-2)


def _first_overwritten(x: Tensor, positions: Tensor, base: float) -> Tensor:
    turn, (a, b) = _turns(positions, x.shape[-1], base), (x[:, 0::2], x[:, 1::2])
    a = a * turn.cos() - b * turn.sin()
    return _weave(a, a * turn.sin() + b * turn.cos())


def _minus_lost(x: Tensor, positions: Tensor, base: float) -> Tensor:
    turn, (a, b) = _turns(positions, x.shape[-1], base), (x[:, 0::2], x[:, 1::2])
    return _weave(a * turn.cos() + b * turn.sin(), a * turn.sin() + b * turn.cos())


def _reflected(x: Tensor, positions: Tensor, base: float) -> Tensor:
    turn, (a, b) = _turns(positions, x.shape[-1], base), (x[:, 0::2], x[:, 1::2])
    return _weave(a * turn.cos() - b * turn.sin(), a * turn.sin() - b * turn.cos())


def _halves_exchanged(x: Tensor) -> Tensor:
    a, b = x.chunk(2, dim=-1)
    return torch.cat((-b, a), dim=-1)


def _mixed(x: Tensor, positions: Tensor, base: float, *, halves: bool) -> Tensor:
    """Angles in the order of one pairing, channels exchanged as the other has them."""
    turn = _turns(positions, x.shape[-1], base)
    if halves:
        turn, exchanged = turn.repeat_interleave(2, dim=-1), _halves_exchanged(x)
    else:
        turn, exchanged = turn.repeat(1, 2), _weave(-x[:, 1::2], x[:, 0::2])
    return x * turn.cos() + exchanged * turn.sin()


def _angle_a_channel(x: Tensor, positions: Tensor, base: float, *, factor: int = 1) -> Tensor:
    """Use the channel where the formula has twice the pair, or (factor 2) where it has the pair."""
    turn = positions[:, None] / base ** (factor * torch.arange(x.shape[-1]) / x.shape[-1])
    return x * turn.cos() + _weave(-x[:, 1::2], x[:, 0::2]) * turn.sin()


def _rotated_elsewhere(draw: Draw) -> list[Case]:
    start = draw.integer(5, 90)
    x = draw.normal(3, 12, dtype=torch.float64)
    back = torch.tensor([draw.integer(0, 9) + 0.5, -1.0, -draw.integer(20, 90)])
    return [
        Case(f"positions {start} to {start + 2}", x, torch.arange(start, start + 3), 10_000.0),
        Case("backwards", draw.normal(3, 4, dtype=torch.float64), back, 10_000.0),
        Case("one row", draw.normal(1, 6, dtype=torch.float64), back[:1].clone(), 10_000.0),
    ]


def _rotated_at_other_bases(draw: Draw) -> list[Case]:
    cases = []
    for base, dim in ((draw.base(30, 900), 10), (draw.base(200_000, 900_000), 6)):
        positions = torch.tensor(draw.unordered(range(1, 40), 3))
        x = draw.normal(3, dim, dtype=torch.float64)
        cases.append(Case(f"base {base:g}", x, positions, base))
    return cases


rotated = Comparison(
    "rotated",
    _rotated,
    [
        Case("positions 0 to 3, 8 channels", _noise(0, 4, 8), torch.arange(4), 10_000.0),
        Case("from position 7, another base", _noise(1, 5, 6), torch.arange(7, 12), 500.0),
        Case("positions 5, -2.5 and 5", _noise(2, 3, 8), torch.tensor([5.0, -2.5, 5.0]), 10_000.0),
        Case("one row, position 1000", _noise(3, 1, 4), torch.tensor([1000]), 10_000.0),
        Case("two channels", _noise(4, 2, 2), torch.tensor([0, 2]), 10_000.0),
    ],
    [
        Misconception(
            "opposite direction",
            "It turns clockwise. Where does (1, 0) go by the formula, at a small angle?",
            lambda x, p, b: _rotated(x, -p, b),
        ),
        Misconception(
            "half pairing",
            "You paired channels half a row apart. Which pairing is asked for?",
            lambda x, p, b: _rotated(x, p, b, pairing="half"),
        ),
        Misconception(
            "half's exchange, interleaved angles",
            "Two pairings are mixed: the angles stand two by two, but the exchanged channels "
            "come from the other half.",
            lambda x, p, b: _mixed(x, p, b, halves=True),
        ),
        Misconception(
            "interleaved exchange, half's angles",
            "Neighbours are exchanged, but they do not have the same angle. Print the angles of "
            "one row, channel by channel.",
            lambda x, p, b: _mixed(x, p, b, halves=False),
        ),
        Misconception(
            "put back in another order",
            "The right numbers in another order. Where do the two channels of a pair go back to?",
            lambda x, p, b: torch.cat(
                (_rotated(x, p, b)[:, 0::2], _rotated(x, p, b)[:, 1::2]), dim=-1
            ),
        ),
        Misconception(
            "taken by halves, put back by pairs",
            "You take the channels of a pair from the two halves, and put them back side by side.",
            lambda x, p, b: _weave(*_rotated(x, p, b, pairing="half").chunk(2, dim=-1)),
        ),
        Misconception(
            "first channel overwritten",
            "The first channel of each pair is right. Does the second one see the old value of "
            "the first, or the new one?",
            _first_overwritten,
        ),
        Misconception(
            "minus lost",
            "The vectors do not keep their length. There is one minus in the formula.",
            _minus_lost,
        ),
        Misconception(
            "reflected",
            "A turn by 0 should change nothing. What does your second channel do there?",
            _reflected,
        ),
        Misconception(
            "cosines alone",
            "Each channel is scaled, none is mixed with its partner. What became of the sines?",
            lambda x, p, b: x * _turns(p, x.shape[-1], b).cos().repeat_interleave(2, dim=-1),
        ),
        Misconception(
            "added, not turned",
            "You added the encoding of the position. Turn each pair instead.",
            lambda x, p, b: x + sinusoidal_encoding(p, x.shape[-1], base=b, dtype=torch.float64),
        ),
        Misconception(
            "degrees",
            "These are rotations by degrees. The angles are meant in radians.",
            lambda x, p, b: _rotated(x, p * math.pi / 180, b),
        ),
        Misconception(
            "one angle a channel",
            "The two channels of a pair have different angles. What does i count in 2i/d?",
            _angle_a_channel,
        ),
        Misconception(
            "one angle a channel, doubled",
            "You made an angle for each of the d channels. How many pairs are there, and where "
            "does i end?",
            partial(_angle_a_channel, factor=2),
        ),
        Misconception(
            "exponent halved",
            "Pair 0 is right, the later ones are too fast. Look at the exponent of the base.",
            lambda x, p, b: _rotated(x, p, b, power=0.5),
        ),
        Misconception(
            "exponent doubled",
            "Pair 0 is right, the later ones are too slow. Is d the number of channels or of "
            "pairs?",
            lambda x, p, b: _rotated(x, p, b, power=2.0),
        ),
        Misconception(
            "multiplied by the wavelength",
            "The later pairs should turn slowly; yours turn faster and faster.",
            lambda x, p, b: _rotated(x, p, b, power=-1.0),
        ),
        Misconception(
            "one speed for all",
            "All pairs turn by the angle of pair 0. Each has a speed of its own.",
            lambda x, p, b: _rotated(x, p, b, power=0.0),
        ),
        Misconception(
            "base ignored",
            "Right for one base only. Is there a 10000 in your code?",
            lambda x, p, b: _rotated(x, p, 10_000.0),
        ),
        Misconception(
            "counted from 1",
            "Every row is turned by one position too much. Use the positions as they are.",
            lambda x, p, b: _rotated(x, p + 1, b),
        ),
        Misconception(
            "whole positions",
            "Right for whole positions alone. What becomes of -2.5 in your code?",
            lambda x, p, b: _rotated(x, p.long(), b),
        ),
        Misconception(
            "positions without sign",
            "Right from 0 on. A negative position turns the other way.",
            lambda x, p, b: _rotated(x, p.abs(), b),
        ),
        Misconception(
            "positions replaced",
            "The rows are turned by 0, 1, 2, ... Use the positions that you are given.",
            lambda x, p, b: _rotated(x, torch.arange(len(x)), b),
        ),
    ],
    tolerance=1e-3,
    tests=[
        Test(2, "other positions", _rotated_elsewhere),
        Test(2, "other bases", _rotated_at_other_bases),
    ],
    refuses=[ALL],
)


def _score(
    q: Tensor,
    k: Tensor,
    offset: float,
    base: float,
    *,
    power: float = 1.0,
    pairing: str = "interleaved",
) -> Tensor:
    position = torch.tensor([float(offset)])
    return q @ _rotated(k[None], position, base, power=power, pairing=pairing)[0]


def _cosine_part(q: Tensor, k: Tensor, offset: float, base: float) -> Tensor:
    """Half the sum of the scores at an offset and at its opposite: an even function."""
    return (_score(q, k, offset, base) + _score(q, k, -offset, base)) / 2


def _conjugate_lost(q: Tensor, k: Tensor, offset: float, base: float) -> Tensor:
    return _score(q * torch.tensor([1.0, -1.0]).repeat(len(q) // 2), k, offset, base)


def _sines_added(q: Tensor, k: Tensor, offset: float, base: float) -> Tensor:
    """In the part with the sines, take the sum of the two products for their difference."""
    turn = _turns(torch.tensor(float(offset)), len(q), base)
    products = q[1::2] * k[0::2] + q[0::2] * k[1::2]
    return _cosine_part(q, k, offset, base) + (products * turn.sin()).sum()


def _minus_in_cosines(q: Tensor, k: Tensor, offset: float, base: float) -> Tensor:
    """In the part with the cosines, take the difference of the two products for their sum."""
    turn = _turns(torch.tensor(float(offset)), len(q), base)
    lost = 2 * q[1::2] * k[1::2] * turn.cos()
    return _score(q, k, offset, base) - lost.sum()


def _pair_by_pair(q: Tensor, k: Tensor, offset: float, base: float) -> Tensor:
    shares = q * _rotated(k[None], torch.tensor([float(offset)]), base)[0]
    return shares.unflatten(0, (-1, 2)).sum(-1)


_TWIN = _noise(16, 6)


def _score_offsets(draw: Draw) -> list[Case]:
    q, k = draw.normal(2, 10, dtype=torch.float64)
    far = draw.integer(11, 40)
    return [
        Case("offset -1", q, k, -1, 10_000.0),
        Case(f"offset {far}", q, k, far, 10_000.0),
        Case("exchanged", k, q, far, 10_000.0),
    ]


def _score_base(draw: Draw) -> list[Case]:
    q, k = draw.normal(2, 6, dtype=torch.float64)
    base = draw.base(30, 900)
    return [Case(f"base {base:g}", q, k, -draw.integer(3, 9), base)]


score_from_offset = Comparison(
    "score_from_offset",
    _score,
    [
        Case("offset 0", _noise(10, 8), _noise(11, 8), 0, 10_000.0),
        Case("offset 3", _noise(10, 8), _noise(11, 8), 3, 10_000.0),
        Case("offset -3", _noise(10, 8), _noise(11, 8), -3, 10_000.0),
        Case("another width and base", _noise(12, 12), _noise(13, 12), -40, 500.0),
        Case("query and key alike", _TWIN, _TWIN, 2, 10_000.0),
        Case("two channels", _noise(14, 2), _noise(15, 2), 1, 10_000.0),
    ],
    [
        Misconception(
            "sign",
            "This is the score at the opposite offset. Who stands further on, query or key?",
            lambda q, k, o, b: _score(q, k, -o, b),
        ),
        Misconception(
            "distance without sign",
            "The offset's sign is lost, but RoPE tells before from after.",
            lambda q, k, o, b: _score(q, k, abs(o), b),
        ),
        Misconception(
            "offset without effect",
            "This is the dot product at offset 0, whatever the offset is. If both vectors turn "
            "by the same angle, nothing is left of it.",
            lambda q, k, o, b: q @ k,
        ),
        Misconception(
            "turned twice",
            "The offset counts double. How much do query and key turn against each other?",
            lambda q, k, o, b: _score(q, k, 2 * o, b),
        ),
        Misconception(
            "cosines alone",
            "Right if query and key are alike, or at offset 0. Then all the sines cancel; in "
            "general they do not.",
            _cosine_part,
        ),
        Misconception(
            "sines with the wrong products",
            "The part with the cosines is right. The other one should vanish if query and key "
            "are alike; does it?",
            _sines_added,
        ),
        Misconception(
            "conjugate lost",
            "At offset 0 it is not the dot product. As complex numbers, what must happen to one "
            "of the two before they are multiplied?",
            _conjugate_lost,
        ),
        Misconception(
            "cosines with the wrong products",
            "The part with the sines is right. At offset 0 nothing turns. What is the score then?",
            _minus_in_cosines,
        ),
        Misconception(
            "not summed",
            "You have one number per pair: what is left to do?",
            _pair_by_pair,
        ),
        Misconception(
            "sines alone",
            "At offset 0 the score should be the dot product. Where are the cosines?",
            lambda q, k, o, b: _score(q, k, o, b) - _cosine_part(q, k, o, b),
        ),
        Misconception(
            "divided by the root of d",
            "This one is divided by the square root of the width. A plain dot product is asked.",
            lambda q, k, o, b: _score(q, k, o, b) / math.sqrt(len(q)),
        ),
        Misconception(
            "half pairing",
            "You paired channels half a row apart. Which pairing is asked for?",
            lambda q, k, o, b: _score(q, k, o, b, pairing="half"),
        ),
        Misconception(
            "degrees",
            "These are rotations by degrees. The angles are meant in radians.",
            lambda q, k, o, b: _score(q, k, o * math.pi / 180, b),
        ),
        Misconception(
            "exponent halved",
            "The later pairs are too fast. Look at the exponent of the base.",
            lambda q, k, o, b: _score(q, k, o, b, power=0.5),
        ),
        Misconception(
            "one speed for all",
            "All pairs turn by the angle of pair 0. Each has a speed of its own.",
            lambda q, k, o, b: _score(q, k, o, b, power=0.0),
        ),
        Misconception(
            "base ignored",
            "Right for one base only. Is there a 10000 in your code?",
            lambda q, k, o, b: _score(q, k, o, 10_000.0),
        ),
    ],
    tolerance=1e-3,
    tests=[
        Test(2, "other offsets", _score_offsets),
        Test(1, "another base", _score_base),
    ],
    refuses=["posenc.rotary.rotate", "posenc.sinusoidal.shift_matrix"],
)


def _to_half(weight: Tensor, heads: int) -> Tensor:
    return weight.unflatten(0, (heads, -1, 2)).transpose(1, 2).flatten(0, 2)


def _to_interleaved(weight: Tensor, heads: int) -> Tensor:
    return weight.unflatten(0, (heads, 2, -1)).transpose(1, 2).flatten(0, 2)


def _order(dim: int) -> list[int]:
    return _to_half(torch.arange(dim), 1).tolist()


def _labelled(rows: int, columns: int) -> Tensor:
    """Entries that tell where they are: 10 * row + column."""
    return 10.0 * torch.arange(rows)[:, None] + torch.arange(columns)


def _wider_heads(draw: Draw) -> list[Case]:
    dim = draw.choice([10, 12, 14])
    return [
        Case(f"one head of {dim} channels", draw.normal(dim, 7), 1),
        Case("one head of 6 channels", draw.normal(6, 5), 1),
    ]


def _more_heads(draw: Draw) -> list[Case]:
    heads = draw.integer(2, 4)
    return [
        Case(f"{heads} heads of 8 channels", draw.normal(8 * heads, 11), heads),
        Case("four heads of 6 channels", draw.normal(24, 5), 4),
    ]


mended_pairing = Comparison(
    "mended_pairing",
    _to_half,
    [
        Case("one head of 4 channels", _labelled(4, 5), 1),
        Case("one head of 8 channels", _labelled(8, 8), 1),
        Case("two heads of 6 channels", _labelled(12, 9), 2),
        Case("three heads of 4 channels", _labelled(12, 6), 3),
    ],
    [
        Misconception(
            "inverse permutation",
            "With 4 channels a head, where does each row go, and where with 6?",
            _to_interleaved,
        ),
        Misconception(
            "inverse, heads ignored",
            "Rows leave their head, and the reordering is the inverse of the right one, too.",
            lambda w, h: _to_interleaved(w, 1),
        ),
        Misconception(
            "heads ignored",
            "Right for one head. With more, rows leave their head; each is rotated by itself.",
            lambda w, h: _to_half(w, 1),
        ),
        Misconception(
            "odd channels first",
            "The pairs are right, but first and second channel are exchanged: they would turn "
            "backwards.",
            lambda w, h: w.unflatten(0, (h, -1, 2)).transpose(1, 2).flip(1).flatten(0, 2),
        ),
        Misconception(
            "columns reordered",
            "The columns moved, which belong to the input. Output channels are the rows here.",
            lambda w, h: w[:, _order(len(w) // h)],
        ),
        Misconception(
            "all columns reordered",
            "You sorted the columns and left the rows alone. Which of the two are the "
            "channels of query and key?",
            lambda w, h: torch.cat((w[:, 0::2], w[:, 1::2]), dim=1),
        ),
        Misconception(
            "pairs reversed",
            "First and second channels are where they should be, but the last pair comes first. "
            "It would turn with the wrong frequency.",
            lambda w, h: _to_half(w.unflatten(0, (h, -1, 2)).flip(1).flatten(0, 2), h),
        ),
        *(
            Misconception(
                f"axes 0 and {axis} exchanged, {name}",
                "Rows of different heads are mixed: which axis has the heads, and should it move?",
                lambda w, h, axis=axis, sizes=sizes: (
                    w.unflatten(0, (h, *sizes)).transpose(0, axis).flatten(0, 2)
                ),
            )
            for axis in (1, 2)
            for name, sizes in (("as given", (2, -1)), ("pairs last", (-1, 2)))
        ),
        *(
            Misconception(
                f"{name} left",
                "The rows are in the right order, but they do not stand on a single axis.",
                lambda w, h, sizes=sizes: _to_half(w, h).unflatten(0, (*sizes(h), -1)),
            )
            for name, sizes in (
                ("axis of heads", lambda h: (h,)),
                ("axes of heads and halves", lambda h: (h, 2)),
                ("axis of halves", lambda h: (2 * h,)),
            )
        ),
        Misconception(
            "first head alone",
            "Only the first head came back. The others need the same reordering.",
            lambda w, h: w[_order(len(w) // h)],
        ),
        Misconception(
            "nothing done",
            "The rows are where they were. In half, where is the partner of channel 0?",
            lambda w, h: w,
        ),
    ],
    tests=[
        Test(2, "wider heads", _wider_heads),
        Test(1, "more heads", _more_heads),
    ],
    refuses=[ALL],
)


def _decoding(
    query: Tensor, keys: Tensor, base: float, relative: Tensor | None = None, pairing: str = "half"
) -> Tensor:
    """Scores of keys at offsets `relative`, key minus query; by default, the query is the last."""
    if relative is None:
        relative = torch.arange(1 - len(keys), 1)
    return _rotated(keys, relative, base, pairing=pairing) @ query


def _later_tokens(draw: Draw) -> list[Case]:
    cases = []
    for count in (1, 2, draw.integer(20, 60)):
        query, keys = (draw.normal(*shape, dtype=torch.float64) for shape in ((10,), (count, 10)))
        cases.append(Case(f"token number {count}", query, keys, 10_000.0))
    return cases


def _decoding_base(draw: Draw) -> list[Case]:
    query, keys = (draw.normal(*shape, dtype=torch.float64) for shape in ((4,), (7, 4)))
    base = draw.base(30, 900)
    return [Case(f"base {base:g}", query, keys, base)]


mended_decoding = Comparison(
    "mended_decoding",
    _decoding,
    [
        Case("the first token", _noise(20, 8), _noise(21, 1, 8), 10_000.0),
        Case("the fifth token", _noise(22, 8), _noise(23, 5, 8), 10_000.0),
        Case("another width and base", _noise(24, 6), _noise(25, 12, 6), 500.0),
        Case("the 300th token", _noise(26, 16), _noise(27, 300, 16), 10_000.0),
    ],
    [
        Misconception(
            "query at position 0",
            "Right for the first token only. At which position does your code put the query?",
            lambda q, k, b: _decoding(q, k, b, torch.arange(len(k))),
        ),
        Misconception(
            "query one too late",
            "The query stands one position too far on. The last key is that of its own token, "
            "and positions are counted from 0.",
            lambda q, k, b: _decoding(q, k, b, torch.arange(len(k)) - len(k)),
        ),
        Misconception(
            "query one too early",
            "The query stands before its own token. Which position has the last of t tokens, "
            "counted from 0?",
            lambda q, k, b: _decoding(q, k, b, torch.arange(len(k)) - len(k) + 2),
        ),
        Misconception(
            "sign",
            "The keys are as far away as they should be, but after the query.",
            lambda q, k, b: _decoding(q, k, b, len(k) - 1 - torch.arange(len(k))),
        ),
        Misconception(
            "keys counted backwards",
            "Your distances grow from the first key on. Which key is the newest?",
            lambda q, k, b: _decoding(q, k, b, -torch.arange(len(k))),
        ),
        Misconception(
            "keys not rotated",
            "All keys are as far from the query as token 0. Each key has a position of its own.",
            lambda q, k, b: _decoding(q, k, b, torch.full((len(k),), 1 - len(k))),
        ),
        Misconception(
            "no position at all",
            "These are the scores without positions. Query and keys turn by the same angle, or "
            "not at all.",
            lambda q, k, b: k @ q,
        ),
        Misconception(
            "offset counted twice",
            "The keys stand at their offsets from the query, and the query is moved as well.",
            lambda q, k, b: _decoding(q, k, b, torch.arange(len(k)) - 2 * (len(k) - 1)),
        ),
        Misconception(
            "newest first",
            "The right scores in another order. The oldest key comes first.",
            lambda q, k, b: _decoding(q, k, b).flip(0),
        ),
        Misconception(
            "softmax taken",
            "These are weights: they add up to 1. Scores are asked.",
            lambda q, k, b: _decoding(q, k, b).softmax(0),
        ),
        Misconception(
            "interleaved pairing",
            "The pairing was right before: it is half here.",
            lambda q, k, b: _decoding(q, k, b, pairing="interleaved"),
        ),
        Misconception(
            "divided by the root of d",
            "These are divided by the square root of the width. Plain dot products are asked.",
            lambda q, k, b: _decoding(q, k, b) / math.sqrt(len(q)),
        ),
        Misconception(
            "base ignored",
            "Right for one base only. Is there a 10000 in your code?",
            lambda q, k, b: _decoding(q, k, 10_000.0),
        ),
    ],
    tolerance=1e-3,
    tests=[
        Test(2, "later tokens", _later_tokens),
        Test(1, "another base", _decoding_base),
    ],
)


def _waves(turn: Tensor) -> Tensor:
    return torch.stack((turn.cos(), turn.sin()))


def _rounded(
    positions: Tensor,
    dim: int,
    base: float,
    *,
    places: torch.dtype = torch.float64,
    speeds: torch.dtype = torch.float64,
    product: torch.dtype = torch.float64,
    result: torch.dtype = torch.float64,
) -> Tensor:
    """Cosines and sines with each step rounded to a format of its own, then widened again."""
    speed = inverse_frequencies(dim, base=base)
    if speeds == torch.float32:  # its last bit depends on how the power is taken: as in the task
        speed = base ** (-2 * torch.arange(dim // 2) / dim)
    speed = speed.to(speeds).double()
    turn = (positions.to(places).double()[:, None] * speed).to(product)
    return _waves(turn.double()).to(result).double()


def _all_in(dtype: torch.dtype, positions: Tensor, dim: int, base: float) -> Tensor:
    return _rounded(positions, dim, base, places=dtype, speeds=dtype, product=dtype)


def _wave_names(positions: Tensor, dim: int, base: float) -> list[list[str]]:
    rows = [str(int(position)) for position in positions]
    return [["cosine", "sine"], rows, [str(pair) for pair in range(dim // 2)]]


_BF16, _FP16, _FP32, _FP64 = torch.bfloat16, torch.float16, torch.float32, torch.float64
_PARTLY_MENDED = (  # name, hint, dtypes of the positions, the frequencies and the product
    (
        "both in bfloat16",
        "The product is fine, but both its factors were rounded before. Widening them afterwards "
        "brings nothing back.",
        [(_BF16, _BF16, _FP64)],
    ),
    (
        "positions in bfloat16",
        "From 257 on some positions share one row. Which whole numbers can bfloat16 hold?",
        [(_BF16, speeds, product) for speeds in (_FP32, _FP64) for product in (_FP32, _FP64)],
    ),
    (
        "frequencies in bfloat16",
        "Up to millions of positions pair 0 is right, but the others drift away: they turn at "
        "speeds that are slightly off.",
        [(_FP64, _BF16, _FP32), (_FP64, _BF16, _FP64)],
    ),
    (
        "frequencies in float32",
        "The frequencies were computed in float32: which dtype has base ** (-2 * pair / dim) for "
        "an integer pair?",
        [(_FP64, _FP32, _FP64)],
    ),
    (
        "angles in float32",
        "Right for all usual lengths. But float32 has a first whole number that it cannot hold, "
        "too; only the result may be rounded to it.",
        [(_FP64, _FP64, _FP32)],
    ),
)


def _usual_lengths(draw: Draw) -> list[Case]:
    start, base = draw.integer(505, 700), draw.base(30, 900)
    far = torch.tensor([2 * draw.integer(1500, 2400) + 1 for _ in range(2)])
    return [
        Case(f"seven positions from {start} on", torch.arange(start, start + 7), 8, 10_000.0),
        Case(f"base {base:g}", far, 6, base),
    ]


def _a_time(draw: Draw) -> list[Case]:
    odd = [2 * draw.integer(9_000_000, 9_999_999) + 1 for _ in range(2)]
    return [
        Case(f"{odd[0]}", torch.tensor(odd[:1]), 2, 10_000.0),
        Case(f"{odd[1]}, 128 channels", torch.tensor(odd[1:]), 128, 500_000.0),
    ]


mended_precision = Comparison(
    "mended_precision",
    lambda positions, dim, base: _waves(_turns(positions, dim, base)),
    [
        Case("positions 0 to 3", torch.arange(4), 8, 10_000.0),
        Case("positions 254 to 260", torch.arange(254, 261), 8, 10_000.0),
        Case("positions 2046 to 2051, another base", torch.arange(2046, 2052), 6, 500.0),
        Case("position 16 777 217, two channels", torch.tensor([2**24 + 1]), 2, 10_000.0),
        Case("position 20 000 000, 8 channels", torch.tensor([20_000_000]), 8, 10_000.0),
    ],
    [
        Misconception(
            "product in bfloat16",
            "Three things are rounded before the cosine. List them.",
            lambda p, d, b: _all_in(_BF16, p, d, b),
        ),
        *(
            Misconception(
                f"{name}: {', '.join(str(dtype)[6:] for dtype in (places, speeds, product))}",
                hint,
                partial(_rounded, places=places, speeds=speeds, product=product),
            )
            for name, hint, formats in _PARTLY_MENDED
            for places, speeds, product in formats
        ),
        Misconception(
            "angles in bfloat16",
            "Both factors are exact now, but their product, the angle, is rounded to 8 "
            "significant bits.",
            lambda p, d, b: _rounded(p, d, b, product=_BF16),
        ),
        Misconception(
            "product in float16",
            "float16 in place of bfloat16: three more significant bits, but far fewer large "
            "numbers. Is that enough?",
            lambda p, d, b: _all_in(_FP16, p, d, b),
        ),
        Misconception(
            "positions in float16",
            "Right up to position 2048. Which whole numbers can float16 hold?",
            lambda p, d, b: _rounded(p, d, b, places=_FP16),
        ),
        Misconception(
            "sines first",
            "The right numbers, but cosines are asked first, then sines.",
            lambda p, d, b: _rounded(p, d, b).flip(0),
        ),
        Misconception(
            "result in bfloat16",
            "The angles are right. The cosines and sines are rounded to 8 significant bits.",
            lambda p, d, b: _rounded(p, d, b, result=_BF16),
        ),
    ],
    tolerance=1e-3,
    where=(" for the {} of position {}, pair {}", _wave_names),
    tests=[
        Test(2, "usual lengths", _usual_lengths),
        Test(1, "a time", _a_time),
    ],
    refuses=[ALL],
)


def _resonates(dim: int, length: int) -> bool:
    """Whether some plain right speeds, equal ratios from 1 down to what turns by 2 to 8 radians
    within the length, happen to come back together: who chose them would lose to the draw."""
    pairs = torch.arange(dim // 2)
    rows = (
        (turn / length) ** (pairs / n)
        for turn in (2, 3, math.pi, 4, 5, 6, math.tau, 7, 8)
        for n in (dim // 2 - 1, dim // 2)
    )
    return any(scores(row, length)[length // 8 :].max() > FAR for row in rows)


def _other_heads(*lengths: tuple[int, int]) -> Callable[[Draw], dict]:
    def drawn(draw: Draw) -> dict:
        settings = []
        for dim, limits in zip(
            draw.sample([32, 36, 40, 44, 48], len(lengths)), lengths, strict=True
        ):
            while _resonates(dim, length := draw.integer(*limits)):
                pass
            settings.append((dim, length))
        return speed_parts(*settings)

    return drawn


speeds = Judged(
    "speeds",
    [
        Test(2, "other heads", _other_heads((500, 800), (500, 800), (150, 200))),
        Test(2, "longer texts", _other_heads((900, 1200), (900, 1200))),
    ],
)
