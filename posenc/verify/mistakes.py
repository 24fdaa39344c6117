"""Known mistakes of rotations, each a short function that makes it."""

import math

import torch
from torch import Tensor

from posenc.frequencies import angles, inverse_frequencies
from posenc.verify.known import Mistake
from posenc.verify.rope import Rope
from posenc.verify.rules import rule_mistakes


def rotation_mistakes(rope: Rope) -> list[Mistake]:
    """Known ways to get this rotation wrong; `wrong` takes x [m, n, d] and positions [n]."""
    return [
        Mistake(
            "nothing rotated",
            "what comes out is what went in: the rotation is never applied, or all its frequencies "
            "are 0",
            lambda x, p: x,
        ),
        Mistake(
            "positions ignored",
            "rows count as 0, 1, 2, ...: the positions that were given are not looked at; wrong "
            "with a cache, left padding or packing",
            lambda x, p: rope(x, torch.arange(len(p))),
        ),
        Mistake(
            "every token at position 0",
            "each row is rotated as position 0, as when decoding without the cache's length",
            lambda x, p: rope(x, torch.zeros_like(p)),
        ),
        Mistake(
            "one position late",
            "positions are counted from 1: position p turns as p + 1",
            lambda x, p: rope(x, p + 1),
        ),
        Mistake(
            "one position early",
            "position p turns as p - 1",
            lambda x, p: rope(x, p - 1),
        ),
        Mistake(
            "pairing exchanged",
            "pairs are halves where they should be neighbours, or the other way round: weights "
            "of one pairing in code of the other; right only if they were permuted to fit, as a "
            "conversion to GGUF does",
            _other_pairing(rope),
        ),
        Mistake(
            "divided by sqrt(head_dim)",
            "vectors are divided by the root of the head's width here: scores are scaled twice if "
            "attention does so, too",
            lambda x, p: rope(x, p) / math.sqrt(rope.head_dim),
        ),
        Mistake(
            "turned backwards",
            "the angle has the wrong sign: the minus stands at the other sine",
            lambda x, p: rope(x, -p),
        ),
        Mistake(
            "a minus missing",
            "both sines have the same sign, so pairs are mirrored, not turned",
            lambda x, p: _mirrored(rope, x, p),
        ),
        Mistake(
            "sine and cosine exchanged",
            "the tables of cos and sin are given in the wrong order",
            lambda x, p: _quarter(rope, x, p),
        ),
        Mistake(
            "tables for the other pairing",
            "cos and sin are repeated for halves and applied to neighbours, or the other way "
            "round: the two channels of a pair turn by different angles",
            lambda x, p: _wrong_tables(rope, x, p),
        ),
        *_scaling_mistakes(rope),
        Mistake(
            "turned twice",
            "the rotation is applied twice: position p turns as 2 p",
            lambda x, p: rope(rope(x, p), p),
        ),
        *_width_mistakes(rope),
        *_precision_mistakes(rope),
        *(
            Mistake(
                f"base {base:g}",
                f"the base is {base:g}: a default was taken where the configuration has another",
                lambda x, p, base=base: rope.but(
                    inv_freq=inverse_frequencies(rope.rotary_dim, base=base)
                )(x, p),
            )
            for base in (10_000.0, 500_000.0, 1_000_000.0, 100_000.0, 150_000.0, 8_000_000.0)
        ),
        *_exponent_mistakes(rope),
        Mistake(
            "pairs in reverse order",
            "the slowest frequency comes first: the frequencies are in the wrong order",
            rope.but(inv_freq=rope.inv_freq.flip(0)),
        ),
        *_range_mistakes(rope),
    ]


def named_mistake(rope: Rope, name: str) -> Mistake:
    """The known mistake of that name."""
    return next(known for known in rotation_mistakes(rope) if known.name == name)


def _exponent_mistakes(rope: Rope) -> list[Mistake]:
    """Ways to get base^(-2i/d) wrong, i = 0 ... d/2 - 1; only for frequencies that are that."""
    right, d = rope.inv_freq, rope.rotary_dim
    if rope.plain is not None or len(right) < 2 or right[0] != 1 or not right[1] > 0:
        return []
    step = right[1]
    known = [
        (
            "exponent i/d",
            "the exponent is i/d, not 2i/d, i = 0 ... d/2 - 1",
            0.5,
        ),
        ("exponent 4i/d", "the exponent is 4i/d, not 2i/d: doubled twice", 2.0),
        ("exponent over d - 2", "the exponent is 2i/(d - 2): it reaches 1/base", d / (d - 2 or 1)),
    ]
    known += [
        (
            f"exponent over {k * d}",
            f"the exponent is divided by {k * d}, not by {d}: by the hidden size, perhaps, where "
            "the width of a head is meant",
            1 / k,
        )
        for k in (*range(3, 13), 16, 20, 24, 32, 40, 48, 56, 64, 71, 80, 96, 128)
        if k * d != rope.head_dim  # said elsewhere
    ]
    times = (
        ("pairs counted from 1", "exponents run from 2/d to 1: the first is to be 0", step),
        ("pairs counted from -1", "exponents run from -2/d on: the first is to be 0", 1 / step),
        ("angles times 2 pi", "angles are radians: no 2 pi is to be multiplied", 2 * math.pi),
        ("angles in turns", "angles are radians: they are divided by 2 pi", 1 / (2 * math.pi)),
    )
    return [
        *(Mistake(name, hint, rope.but(inv_freq=right**power)) for name, hint, power in known),
        *(Mistake(name, hint, rope.but(inv_freq=right * factor)) for name, hint, factor in times),
    ]


def _scaling_mistakes(rope: Rope) -> list[Mistake]:
    """Ways to get frequencies and gain wrong; only for a rotation that has been scaled."""
    known = []
    if rope.gain != 1:
        known += [
            Mistake(
                "gain forgotten",
                "cos and sin are not multiplied by the gain (YaRN's attention factor)",
                rope.but(gain=1.0),
            ),
            Mistake(
                "gain applied twice",
                "its square is there: it is applied to queries and keys, and in the tables, too; "
                "or an attention factor is multiplied with its own default",
                rope.but(gain=rope.gain**2),
            ),
            Mistake(
                "gain on cosines alone",
                "cosines are multiplied by the gain, sines are not: pairs are bent as they turn",
                lambda x, p: _bent(rope, x, p),
            ),
        ]
    if rope.gain != 1 and rope.rotary_dim < rope.head_dim:
        known.append(
            Mistake(
                "gain over all channels",
                "channels that do not turn are multiplied by the gain, too",
                lambda x, p: rope.but(gain=1.0)(x, p) * rope.gain,
            )
        )
    if rope.plain is not None and not torch.equal(rope.plain, rope.inv_freq):
        known += [
            Mistake(
                "scaling forgotten",
                "the frequencies are not scaled; at position 0 that cannot be seen",
                rope.but(inv_freq=rope.plain, gain=1.0),
            ),
            Mistake(
                "frequencies not scaled, gain kept",
                "the gain is there, but the frequencies are not scaled",
                rope.but(inv_freq=rope.plain),
            ),
            Mistake(
                "scaled twice",
                "frequencies are divided where they had been divided before",
                rope.but(inv_freq=rope.inv_freq**2 / rope.plain.clamp(min=1e-300)),
            ),
            *rule_mistakes(rope),
        ]
    return known


def _width_mistakes(rope: Rope) -> list[Mistake]:
    """Ways to get a partial rotation wrong, and its opposite."""
    ratio = rope.inv_freq[1] / rope.inv_freq[0] if len(rope.inv_freq) > 1 else None
    if rope.rotary_dim == rope.head_dim or ratio is None or not ratio > 0:
        return []
    half = rope.rotary_dim // 2
    index = torch.arange(half, dtype=torch.float64)
    whole = torch.arange(rope.head_dim // 2, dtype=torch.float64)
    step = ratio.log()
    over_head = rope.inv_freq[0] * (step * index * rope.rotary_dim / rope.head_dim).exp()
    everything = rope.inv_freq[0] * (step * whole * rope.rotary_dim / rope.head_dim).exp()
    other_end = rope.head_dim - rope.rotary_dim
    return [
        Mistake(
            "exponent over the head's width",
            "the right channels turn, but exponents are divided by the width of the head, not by "
            "the rotary width",
            rope.but(inv_freq=over_head),
        ),
        Mistake(
            "the whole head rotated",
            "the rotary share is not read: all channels turn",
            rope.but(inv_freq=everything, first=0),
        ),
        Mistake(
            "paired across the head",
            "the right number of channels, but paired over half of the head, not half of the "
            "rotary width (proportional, not partial)",
            lambda x, p: _across(rope, x, p),
        ),
        Mistake(
            "rotate_half over the whole head",
            f"the tables are right, padded with cos 1 and sin 0 to the head's {rope.head_dim} "
            f"channels, but channel i is paired with i + {rope.head_dim // 2}, which does not "
            f"turn: cut out the {rope.rotary_dim} channels that turn first",
            lambda x, p: _beyond(rope, x, p),
        ),
        Mistake(
            "the other end of the head rotated",
            "as many channels turn as should, but at the other end of the head",
            rope.but(first=0 if rope.first else other_end),
        ),
    ]


def _precision_mistakes(rope: Rope) -> list[Mistake]:
    known = []
    for low in (torch.bfloat16, torch.float16):
        called = str(low).removeprefix("torch.")
        known += [
            Mistake(
                f"frequencies in {called}",
                f"the frequencies were rounded to {called}, as `.to({called})` of a model does to "
                "its buffers",
                rope.but(inv_freq=rope.inv_freq.to(low).double()),
            ),
            Mistake(
                f"positions in {called}",
                f"positions were rounded to {called}: {256 if low == torch.bfloat16 else 2048} and "
                "the next are one",
                lambda x, p, low=low: rope(x, p.clamp(max=65_504).to(low).double()),
            ),
            Mistake(
                f"angles in {called}",
                f"positions times frequencies were rounded to {called}",
                lambda x, p, low=low: _by_angles(
                    rope, x, angles(p, rope.inv_freq).to(low).double()
                ),
            ),
        ]
    return known


def _range_mistakes(rope: Rope) -> list[Mistake]:
    """Tables that end, and positions that are counted in a ring."""
    ends = [
        Mistake(
            f"positions end at {length - 1}",
            f"a table has {length} rows, and all later positions take its last one",
            lambda x, p, length=length: rope(x, p.clamp(max=length - 1)),
        )
        for length in (512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536)
    ]
    alike = {8192: "8192, 16384 or 32768"}  # 100 003 is the same number in all three rings
    rings = [
        Mistake(
            f"positions start again at {alike.get(length, length)}",
            "positions are taken modulo that length, as in a ring buffer or a window that "
            "renumbers its tokens",
            lambda x, p, length=length: rope(x, p % length),
        )
        for length in (512, 1024, 2048, 4096, 8192, 65_536)
    ]
    return ends + rings


def _other_pairing(rope: Rope) -> Rope:
    return rope.but(pairing="interleaved" if rope.pairing == "half" else "half")


def _channels(rope: Rope) -> tuple[Tensor, Tensor]:
    """First and second channel of each pair."""
    half = rope.rotary_dim // 2
    index = torch.arange(half)
    if rope.pairing == "half":
        return rope.first + index, rope.first + index + half
    return rope.first + 2 * index, rope.first + 2 * index + 1


def _with_pairs(rope: Rope, x: Tensor, one: Tensor, two: Tensor) -> Tensor:
    a, b = _channels(
        rope if rope.pairing != "interleaved in, half out" else rope.but(pairing="half")
    )
    out = x.clone()
    out[..., a], out[..., b] = one.to(x.dtype), two.to(x.dtype)
    return out


def _by_angles(rope: Rope, x: Tensor, turn: Tensor) -> Tensor:
    a, b = (x[..., c].double() for c in _channels(rope))
    cos, sin = rope.gain * turn.cos(), rope.gain * turn.sin()
    return _with_pairs(rope, x, a * cos - b * sin, a * sin + b * cos)


def _bent(rope: Rope, x: Tensor, p: Tensor) -> Tensor:
    turn = angles(p, rope.inv_freq)
    a, b = (x[..., c].double() for c in _channels(rope))
    cos, sin = rope.gain * turn.cos(), turn.sin()
    return _with_pairs(rope, x, a * cos - b * sin, a * sin + b * cos)


def _mirrored(rope: Rope, x: Tensor, p: Tensor) -> Tensor:
    turn = angles(p, rope.inv_freq)
    a, b = (x[..., c].double() for c in _channels(rope))
    cos, sin = rope.gain * turn.cos(), rope.gain * turn.sin()
    return _with_pairs(rope, x, a * cos + b * sin, a * sin + b * cos)


def _quarter(rope: Rope, x: Tensor, p: Tensor) -> Tensor:
    return _by_angles(rope, x, torch.pi / 2 - angles(p, rope.inv_freq))


def _wrong_tables(rope: Rope, x: Tensor, p: Tensor) -> Tensor:
    turn = angles(p, rope.inv_freq)
    if rope.pairing == "half":  # the table repeats neighbours, the code pairs halves
        first, second = turn.repeat_interleave(2, dim=-1).chunk(2, dim=-1)
    else:
        both = torch.cat((turn, turn), dim=-1)
        first, second = both[..., 0::2], both[..., 1::2]
    a, b = (x[..., c].double() for c in _channels(rope))
    one = rope.gain * (a * first.cos() - b * first.sin())
    two = rope.gain * (b * second.cos() + a * second.sin())
    return _with_pairs(rope, x, one, two)


def _beyond(rope: Rope, x: Tensor, p: Tensor) -> Tensor:
    if rope.pairing != "half" or rope.first:
        raise ValueError("neighbours stay neighbours in a wider head")
    turn = angles(p, rope.inv_freq).repeat(1, 2)
    rest = rope.head_dim - rope.rotary_dim
    cos = torch.nn.functional.pad(rope.gain * turn.cos(), (0, rest), value=1.0)
    sin = torch.nn.functional.pad(rope.gain * turn.sin(), (0, rest))
    one, two = x.double().chunk(2, dim=-1)
    return (x.double() * cos + torch.cat((-two, one), dim=-1) * sin).to(x.dtype)


def _across(rope: Rope, x: Tensor, p: Tensor) -> Tensor:
    rest = torch.zeros(rope.head_dim // 2 - len(rope.inv_freq), dtype=torch.float64)
    return rope.but(inv_freq=torch.cat((rope.inv_freq, rest)), first=0)(x, p)
