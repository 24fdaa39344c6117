"""Take a rotation apart with unit vectors: which channels meet, and by which angle they turn."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from posenc.verify.turn import ELEMENTS, Turn, said

NEAR = (0, 1, 2, 3, 5, 7, 15, 31, 63, 127)
FAR = (256, 257, 512, 1009, 2048, 2049, 4095, 8000, 32_768, 100_003)
NOISE = {torch.bfloat16: 2.0**-7, torch.float16: 2.0**-10}
ANGLE = 2.0**-22
"""Error of a float32 angle, per radian: half a unit in the last place (2^-24 of the value) each for
the frequency and for the product, and one more unit for the power that made the frequency. The
fastest pair turns one radian per position, so this is also the error per position. Seen in
transformers: 3e-8 to 6e-8 per position; one position off is 1."""

RESULT = {
    torch.float64: 2.0**-22,
    torch.float32: 2.0**-22,
    torch.float16: 2.0**-9,
    torch.bfloat16: 2.0**-6,
}
"""Error of a result at position 0, relative to the largest entry: a few roundings of its dtype."""

NOTHING = 1e-9  # below this, a channel did not get anything from a unit vector


@dataclass(frozen=True)
class Measured:
    """What was seen of a rotation.

    Args:
        pairs: (a in, b in, a out, b out) of each pair of channels.
        still: channels that come out as they went in, times `still_gain`.
        still_gain: by which number; None if they differ.
        positions: where it was tried; the first `near` of them in a call without far ones, too.
        near: how many positions were near.
        angles: radians, [positions, pairs], within (-pi, pi].
        gains: [positions, pairs], by which vectors grow.
        bent: why the two channels of a pair do not turn together, "" if they do.
        refused: the first position it refuses, and with what words.
        short: the same angles when no far position was in the call.
        again: whether a short call gave the same when it was made again, and after the long one.
        ignores: whether other positions change nothing, though it takes positions.
        representable: which low precision holds every number that came out, if any does.
        noise: by how much the vectors' own precision blurs an angle, in radians.
    """

    pairs: tuple[tuple[int, int, int, int], ...]
    still: tuple[int, ...]
    still_gain: float | None
    positions: tuple[int, ...]
    near: int
    angles: Tensor
    gains: Tensor
    refused: tuple[int, str] | None
    short: Tensor
    again: bool
    ignores: bool
    representable: torch.dtype | None
    noise: float = 0.0
    bent: str = ""


STILL = "it does not turn anything: what comes out is what went in, at every position"
SKEWED = 0.02
"""From which difference on the two channels of a pair do not turn together."""


def measure(turn: Turn, *, dtype: torch.dtype = torch.float32) -> Measured | str:
    """Measure a rotation; returns one sentence instead if it is none.

    Args:
        turn: from `as_turn`.
        dtype: of the vectors handed over.
    """
    dim = turn.head_dim
    eye = torch.eye(dim, dtype=dtype)
    ignores = _ignores(turn, eye)
    if ignores:
        turn = _recounted(turn)
    near, seen = _near(turn, eye)  # [in, position, out]
    found = _pairs(seen)
    if isinstance(found, str):
        return found
    pairs, still = found
    if not pairs:
        return STILL
    a_in, b_in, a_out, b_out = (list(column) for column in zip(*pairs, strict=True))
    probes = torch.zeros(2, 1, dim, dtype=dtype)
    probes[0, 0, a_in] = 1
    probes[1, 0, b_in] = 1
    shortly, repeated = (turn(probes.repeat(1, len(near), 1), near)[0].double() for _ in range(2))
    positions, everything, refused = _far(turn, probes, near.tolist())
    once_more = turn(probes.repeat(1, len(near), 1), near)[0].double()
    kept = max(_not_vanished(everything, pairs), len(near))
    if kept < len(positions):
        refused = refused or (int(positions[kept]), VANISH)
        positions, everything = positions[:kept], everything[:, :kept]
    first, second = everything[0].double(), everything[1].double()
    if dtype in (torch.bfloat16, torch.float16):
        representable = None
    else:
        representable = next(
            (
                low
                for low in (torch.bfloat16, torch.float16)
                if torch.equal(everything.to(low).to(dtype), everything)
            ),
            None,
        )
    cos, sin = first[:, a_out], first[:, b_out]
    minus_sin, other_cos = second[:, a_out], second[:, b_out]
    skewed = torch.stack(((cos - other_cos).abs(), (sin + minus_sin).abs())).max().item()
    gain = seen[still, :, still] if still else torch.ones(1)
    return Measured(
        pairs=tuple(pairs),
        still=tuple(still),
        still_gain=gain.mean().item() if (gain - gain.mean()).abs().max() < 1e-3 else None,
        positions=tuple(positions.tolist()),
        near=len(near),
        angles=torch.atan2(sin, cos),
        gains=torch.hypot(sin, cos),
        refused=refused,
        short=torch.atan2(shortly[:, b_out], shortly[:, a_out]),
        again=torch.equal(shortly, repeated) and torch.equal(shortly, once_more),
        ignores=ignores,
        representable=representable,
        noise=NOISE.get(dtype, 0.0),
        bent=_bent(cos, minus_sin, sin, other_cos) if skewed > SKEWED else "",
    )


VANISH = "what comes out there is smaller than float32's numbers, so that it has no angle"


def _not_vanished(seen: Tensor, pairs: list[tuple[int, int, int, int]]) -> int:
    """How many positions come before the first at which a pair comes out as nothing."""
    a_out, b_out = ([pair[i] for pair in pairs] for i in (2, 3))
    gone = (torch.hypot(seen[0, :, a_out], seen[0, :, b_out]) < 1e-30).any(dim=-1)
    return int(gone.nonzero()[0, 0]) if gone.any() else len(gone)


BEYOND = (
    "the rotation reaches beyond the channels that turn: only the first channel of each pair turns "
    "and its partner stays, as with tables that are padded with cos 1 and sin 0 to the head's "
    "width and a rotate_half of the whole head; cut the channels that turn out first"
)


def _bent(a: Tensor, b: Tensor, c: Tensor, d: Tensor) -> str:
    """What is wrong with pairs (x, y) that come out as (a x + b y, c x + d y), not as a rotation.

    At position 0, the first in each, a rotation gives a = d = 1, b = c = 0.
    """

    def near(one: Tensor, two: Tensor | float) -> bool:
        return bool((one - two).abs().max() <= SKEWED)

    kept = [near(one[0].abs(), 1) and near(other[0], 0) for one, other in ((a, b), (d, c))]
    exchanged = [near(one[0], 0) and near(other[0].abs(), 1) for one, other in ((a, b), (d, c))]
    for which, (here, there) in {"second": exchanged[::-1], "first": exchanged}.items():
        if here and not there:
            return f"in the {which} channel of each pair cos and sin are exchanged"
    if all(kept) and near(a, d) and near(b, c):
        return "both sines have the same sign, so pairs are mirrored, not turned"
    for which, found in {
        "second": near(c, -a * b) and near(d, a - b * b),
        "first": near(b, -d * c) and near(a, d - c * c),
    }.items():
        if found:
            return (
                f"the {which} channel of each pair is made of the other one as it comes out, not "
                "as it went in: written in place, before it was read for the last time"
            )
    if a.shape[-1] > 1 and all(kept) and near(c, 0) and near(d, 1) and near(torch.hypot(a, b), 1):
        return BEYOND
    if near(torch.hypot(a, b), 1) and near(torch.hypot(c, d), 1) and all(kept):
        return (
            "the two channels of a pair turn by different angles: tables laid out for the other "
            "pairing (cat for repeat_interleave, or the other way round)"
        )
    return (
        "the two channels of a pair do not turn by one angle: tables laid out for the other "
        "pairing, or a sign"
    )


def _ignores(turn: Turn, eye: Tensor) -> bool:
    """Whether rows come out by their place in the tensor, whatever positions are given."""
    if not turn.explicit:
        return False
    if turn.counted is not None:
        return starts_nowhere(turn)
    x = eye[:1, None].repeat(1, 4, 1) + eye[-1]
    try:
        one, two = (turn(x, torch.tensor(p)) for p in ([0, 1, 2, 3], [5, 9, 2, 40]))
    except Exception:  # it looks at them, and 40 is too far
        return False
    return torch.equal(one, two) and not torch.allclose(one[:, :1], one[:, 1:2])


def starts_nowhere(turn: Turn) -> bool:
    """Whether a function of the first position begins at 0 whatever that position is."""
    if turn.counted is None:
        return False
    x = torch.ones(1, 4, turn.head_dim)
    rows = torch.arange(4)
    alone, together = turn(x, rows), turn.counted(x, rows)
    return torch.equal(alone[:, 3], alone[:, 0]) and not torch.allclose(together, alone)


def _recounted(turn: Turn) -> Turn:
    """A rotation that ignores its positions, called as one that counts its rows."""
    if turn.counted is not None:
        return turn.counted

    def call(x: Tensor, positions: Tensor) -> Tensor:
        length = int(positions.max()) + 1
        parts = []
        for part in x.split(max(1, ELEMENTS // (2 * length * x.shape[-1]))):
            whole = part.new_zeros(len(part), length, part.shape[-1])
            whole[:, positions] = part
            parts.append(turn(whole, torch.arange(length))[:, positions])
        return torch.cat(parts)

    return Turn(call, turn.head_dim, turn.convention, False, turn.tables)


def dtypes_differ(turn: Turn, low: torch.dtype) -> int | None:
    """From which position on vectors of a low precision are turned otherwise than in float32.

    None if rounding explains all. Tables of an instance are made anew; no text is longer than those
    in float32, so that those of a function do not stay in the low precision.
    """
    several = 3 if turn.explicit else 1  # each comes with as many rows as the text is long
    noise = torch.Generator().manual_seed(6)
    x = torch.randn(several, 1, turn.head_dim, generator=noise).to(low)
    _, right, _ = _far(turn, x.float(), list(NEAR[:4]))
    turn.start_anew()
    positions, seen, _ = _far(turn, x, list(NEAR[:4]))
    several = min(right.shape[1], seen.shape[1])
    apart = (right[:, :several].double() - seen[:, :several].double()).abs().amax(dim=(0, 2))
    size = right[:, :several].abs().max().item()
    wrong = positions[:several][apart > size * (RESULT[low] + 2 * ANGLE * positions[:several])]
    return int(wrong[0]) if len(wrong) else None


def _pairs(seen: Tensor) -> tuple[list[tuple[int, int, int, int]], list[int]] | str:
    """Group channels: each input reaches one output (still) or shares two with one other."""
    reaches = (seen.abs() > NOTHING).any(dim=1)
    outs = {c: tuple(reaches[c].nonzero().flatten().tolist()) for c in range(len(reaches))}
    pairs, still, done = [], [], set()
    for c, to in outs.items():
        if c in done:
            continue
        if len(to) == 1 and to[0] == c:
            still.append(c)
            continue
        partners = [other for other, there in outs.items() if set(there) & set(to)]
        together = sorted({o for other in partners for o in outs[other]})
        if len(partners) != 2 or len(together) != 2:
            if not to:
                return f"channel {c} is lost: nothing comes out for it"
            return (
                f"it is no rotation of pairs: input channels {partners[:6]} meet in output "
                f"channels {together[:6]}"
            )
        pairs.append((*partners, *together))
        done.update(partners)
    return pairs, still


def _near(turn: Turn, eye: Tensor) -> tuple[Tensor, Tensor]:
    """Every unit vector at the near positions, as far as it goes, at least to 3."""
    positions = list(NEAR)
    while True:
        try:
            tried = torch.tensor(positions)
            return tried, turn(eye[:, None].repeat(1, len(positions), 1), tried).double()
        except Exception:
            if len(positions) == 4:
                raise
            positions.pop()


def _far(
    turn: Turn, probes: Tensor, near: list[int]
) -> tuple[Tensor, Tensor, tuple[int, str] | None]:
    """Try as far as it goes; the first refusal is kept."""
    refused, positions = None, [*near, *(p for p in NEAR + FAR if p > near[-1])]
    while True:
        try:
            tried = torch.tensor(positions)
            return tried, turn(probes.repeat(1, len(positions), 1), tried), refused
        except Exception as error:
            if positions[-1] <= near[-1]:
                raise
            refused = (positions.pop(), said(error))


def frequencies(
    angles: Tensor, positions: tuple[float, ...], noise: float = 0.0
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Angular frequencies from angles at rising positions, each refining the last.

    Args:
        angles: radians, [positions, pairs], known modulo 2 pi.
        positions: 0, 1 and others in rising order.
        noise: error of each angle beside that of float32.

    Returns:
        The frequencies; the angle at position 0; what is left over, [positions, pairs]; and how
        exactly each frequency is known.
    """
    start = angles[positions.index(0)]
    inv_freq = wrap(angles[positions.index(1)] - start)
    sure = torch.full_like(inv_freq, 2.0**-22 + noise)
    for row, p in enumerate(positions):
        if p < 2:
            continue
        left = wrap(angles[row] - start - p * inv_freq)
        good = left.abs() < noise + (0.05 if p <= NEAR[-1] else 1e-4 + p * 2.0**-22)
        inv_freq = torch.where(good, inv_freq + left / p, inv_freq)
        better = (2.0**-22 + noise) / p + 2.0**-22 * inv_freq.abs()
        sure = torch.where(good, better.minimum(sure), sure)
    at = torch.tensor(positions, dtype=torch.float64)[:, None]
    return inv_freq, start, wrap(angles - start - at * inv_freq), sure


def wrap(angle: Tensor) -> Tensor:
    """The same angle within [-pi, pi)."""
    return torch.remainder(angle + math.pi, 2 * math.pi) - math.pi
