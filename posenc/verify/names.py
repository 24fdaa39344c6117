"""Give frequencies their names: base and denominator, and which scaling with which parameters."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product

import torch
from torch import Tensor

from posenc.frequencies import inverse_frequencies
from posenc.scaling import (
    linear_scaling,
    ntk_scaling,
    parts_scaling,
    proportional_scaling,
    yarn_gain,
    yarn_scaling,
)

BASES = (10_000.0, 500_000.0, 1_000_000.0, 100.0, 1_000.0, 10_000_000.0)
USUAL = (*BASES, 150_000.0, 160_000.0, 5_000_000.0, 8_000_000.0, 2_000_000.0, 100_000.0, 25_000.0)
LENGTHS = tuple(sorted({*(2**k for k in range(7, 21)), 1000, 3072, 6144, 12_288, 40_960}))
RAMPS = ((1.0, 32.0), (1.0, 4.0), (2.0, 16.0), (1.0, 16.0), (1.0, 64.0))
LOW = {torch.bfloat16: "bfloat16", torch.float16: "float16"}


@dataclass(frozen=True)
class Named:
    """Frequencies by name.

    Args:
        scaling: "none", "linear", "ntk", "llama3", "parts", "yarn", "proportional", "endpoint",
            "geometric" (a base that nobody uses) or "unknown".
        settings: parameters of the scaling, as `posenc.scaling` calls them.
        base: of the frequencies before scaling.
        denominator: the width under the exponent.
        exact: the frequencies that the name stands for, float64.
        plain: those before scaling.
        rounded: the low precision that the frequencies were rounded to, "" if none.
        also: other readings that give the same numbers.
    """

    scaling: str
    base: float | None = None
    denominator: int | None = None
    settings: dict = field(default_factory=dict)
    exact: Tensor | None = None
    plain: Tensor | None = None
    rounded: str = ""
    also: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.scaling == "unknown":
            return "no rule that is known here" + "".join(f"; {text}" for text in self.also)
        text = f"base {number(self.base)}, exponent over {self.denominator}"
        if self.scaling == "endpoint":
            text += ", reaching 1/base at the last pair (tensor2tensor)"
        elif self.scaling not in ("none", "geometric"):
            settings = ", ".join(f"{k} {_said(v)}" for k, v in self.settings.items())
            text += f"; {self.scaling}: {settings}"
        if self.rounded:
            text += f"; rounded to {self.rounded}"
        return text + "".join(f"; {other}" for other in self.also)


def name(inv_freq: Tensor, sure: Tensor, *, head_dim: int) -> Named:
    """Name frequencies.

    Args:
        inv_freq: radians per position, float64, decreasing; zeros at the end for pairs that
            do not turn.
        sure: how exactly each is known.
        head_dim: channels of the head, of which 2 len(inv_freq) turn.
    """
    turning = int((inv_freq != 0).sum())
    if not turning:
        return Named("unknown", also=("no pair turns",))
    if (inv_freq[:turning] <= 0).any():
        return Named("unknown", also=("some pairs turn by half a turn a position, or more",))
    for candidate in _candidates(inv_freq, turning, head_dim):
        if candidate.exact is None or len(candidate.exact) != len(inv_freq):
            continue
        if _close(candidate.exact, inv_freq, sure):
            return candidate
        for low, called in LOW.items():
            rounded = candidate.exact.to(low).double()
            if _close(rounded, inv_freq, sure):
                return _with(candidate, exact=rounded, rounded=called)
    return Named("unknown", also=(_beside_a_base(inv_freq, turning, head_dim),))


def _beside_a_base(inv_freq: Tensor, turning: int, head_dim: int) -> str:
    """By which factors frequencies that follow no rule differ from those of a base."""
    search = "factors found by search, as LongRoPE's, or a slip"
    for base, width in _bases(inv_freq[:turning] / inv_freq[0], 2 * len(inv_freq), head_dim):
        plain = inverse_frequencies(width, base=base)[: len(inv_freq)]
        times = plain[:turning] / inv_freq[:turning]
        same = (times - 1).abs() < 1e-3
        if same[:3].all() and not same.all() and base in USUAL:
            kept, others = int((~same).nonzero()[0, 0]), times[~same]
            low, high = (_said(round(t.item(), 4)) for t in (others.min(), others.max()))
            which = f"pair {kept}" if len(others) == 1 else f"pairs from {kept} on"
            return (
                f"the first {kept} are base {number(base)}'s over {width}, {which} are divided by "
                f"{low} to {high}: {search}"
            )
    ends = _geometric(inv_freq[:turning], len(inv_freq))
    low, high = (_said(t.item()) for t in ((inv_freq / ends).min(), (inv_freq / ends).max()))
    found = math.exp(-math.log((ends[-1] / ends[0]).item()) * len(ends) / max(len(ends) - 1, 1))
    return (
        f"they are {low} to {high} times a geometric sequence through the first and the last "
        f"(base {number(float(f'{found:.4g}'))}): {search}"
    )


def _candidates(inv_freq: Tensor, turning: int, head_dim: int) -> Iterator[Named]:
    """What it may be, the plainest first."""
    half = len(inv_freq)
    if turning < 2:
        return
    bases = _bases(inv_freq[:turning] / inv_freq[0], 2 * half, head_dim)
    for base, width in bases:
        plain = inverse_frequencies(width, base=base)[:half]
        also = _other_reading(base, width, half, head_dim)
        if turning < half:
            settings = {"share": turning / half}
            yield Named(
                "proportional",
                base,
                width,
                settings,
                proportional_scaling(plain, **settings)[0],
                plain,
            )
            continue
        if base == float(f"{base:.2e}"):  # otherwise a usual base, scaled: see below
            yield Named("none", base, width, {}, plain, plain, also=also)
        factor = (plain[0] / inv_freq[0]).item()
        if factor > 1.001:
            settings = {"factor": nice(factor)}
            yield Named(
                "linear", base, width, settings, linear_scaling(plain, **settings)[0], plain
            )
    if turning < half:
        return
    for base in BASES:
        if half > 1:
            yield Named(
                "endpoint",
                base,
                2 * half,
                {},
                inverse_frequencies(2 * half, base=base, endpoint=True),
            )
    for base in USUAL:  # their first two may be rounded, so that they do not tell the base
        plain = inverse_frequencies(2 * half, base=base)
        yield Named("none", base, 2 * half, {}, plain, plain)
    for base, width in bases:
        plain = inverse_frequencies(width, base=base)[:half]
        factor = nice((plain[-1] / inv_freq[-1]).item())
        if factor > 1.001 and width == 2 * half:
            yield from _blends(inv_freq, base, plain, factor)
    yield from _larger_base(inv_freq, half)


def _bases(unit: Tensor, rotary_dim: int, head_dim: int) -> list[tuple[float, int]]:
    """Bases that the first two frequencies may come from, over either width; usual ones first."""
    found = []
    for width in dict.fromkeys((rotary_dim, head_dim)):
        steepness = -math.log(unit[1].item()) * width / 2
        if 0.1 < steepness < 40:
            found.append((nice(math.exp(steepness), digits=3, within=2e-4), width))
    usual = [pair for pair in found if pair[0] in BASES]
    return sorted(usual, key=lambda pair: BASES.index(pair[0])) + [
        pair for pair in found if pair not in usual
    ]


def _other_reading(base: float, width: int, half: int, head_dim: int) -> tuple[str, ...]:
    other = head_dim if width == 2 * half else 2 * half
    if other == width:
        return ()
    same = base ** (other / width)
    return (f"the same numbers as base {number(same)} over {other}",)


def _blends(inv_freq: Tensor, base: float, plain: Tensor, factor: float) -> Iterator[Named]:
    """Fast pairs as they were, slow ones divided: by rotations, or by dimensions (YaRN's code)."""
    if abs(factor - 1) < 0.01:  # nobody stretches by so little: it is noise
        return
    width = 2 * len(plain)
    keep = (inv_freq - plain / factor) / (plain - plain / factor)
    for length, slow, fast in _ramp_in_rotations(plain, keep):
        settings = {"factor": factor, "trained_length": length, "slow": slow, "fast": fast}
        scaled = parts_scaling(plain, **settings)[0]
        called = "llama3" if fast / slow == 4 else "parts"
        yield Named(called, base, width, settings, scaled, plain)
    matches = []
    if torch.allclose(keep, keep.clamp(0, 1), atol=1e-3):
        for truncate, (slow, fast), length in product((True, False), RAMPS, LENGTHS):
            settings = {"factor": factor, "trained_length": length, "slow": slow, "fast": fast}
            ramp = {"ramp": "dimensions", "truncate": truncate}
            scaled = yarn_scaling(plain, **settings, **ramp)[0]
            if torch.allclose(scaled, inv_freq, rtol=1e-5, atol=0):
                named = Named("yarn", base, width, {**settings, **ramp}, scaled, plain)
                matches.append(named)
    if matches:
        lengths = sorted({m.settings["trained_length"] for m in matches[1:]})
        also = (f"as well: trained_length {', '.join(map(str, lengths[:4]))}",) if lengths else ()
        yield _with(matches[0], also=also)


def _ramp_in_rotations(plain: Tensor, keep: Tensor) -> Iterator[tuple[int, float, float]]:
    """A ramp linear in the frequency: where it is 0 and 1 tells the length, if slow is 1."""
    inside = (keep > 1e-3) & (keep < 1 - 1e-3)
    if inside.sum() >= 2:
        w, k = plain[inside], keep[inside]
        steep = ((k[0] - k[-1]) / (w[0] - w[-1])).item()
        zero = w[-1].item() - k[-1].item() / steep
        if steep > 0 and zero > 0:
            length = nice(2 * math.pi / zero, digits=6, within=1e-3)
            yield round(length), 1.0, nice((zero + 1 / steep) / zero, digits=2, within=1e-2)
    for slow, fast in RAMPS:
        for length in LENGTHS:
            yield length, slow, fast


def _larger_base(inv_freq: Tensor, half: int) -> Iterator[Named]:
    """Geometric, but from an unusual base: perhaps a usual one, NTK-scaled."""
    if half < 2:
        return
    found = math.exp(-math.log((inv_freq[-1] / inv_freq[0]).item()) * half / (half - 1))
    found = nice(found, within=1e-6)
    for base in BASES:
        plain = inverse_frequencies(2 * half, base=base)
        factor = nice((plain[-1] / inv_freq[-1]).item())
        if factor > 1.001 and factor == round(factor, 2):
            settings = {"factor": factor}
            same = (f"the same numbers as base {number(found)}",)
            scaled = ntk_scaling(plain, **settings)[0]
            yield Named("ntk", base, 2 * half, settings, scaled, plain, also=same)
    exact = inv_freq[0] * inverse_frequencies(2 * half, base=found) if found > 1 else None
    yield Named("geometric", found, 2 * half, {}, exact, exact)


def _geometric(inv_freq: Tensor, half: int) -> Tensor:
    index = torch.arange(half, dtype=torch.float64) / max(len(inv_freq) - 1, 1)
    return inv_freq[0] * (inv_freq[-1] / inv_freq[0]) ** index


def _close(exact: Tensor, inv_freq: Tensor, sure: Tensor) -> bool:
    return bool(((exact - inv_freq).abs() <= 2 * sure + 2e-6 * exact.abs()).all())


def _with(named: Named, **changes) -> Named:
    return Named(**{**named.__dict__, **changes})


def gain_name(gain: float, named: Named) -> str:
    """Where a gain may come from."""
    factor = named.settings.get("factor")
    if abs(gain - 1) < 1e-5:
        return "1"
    text = number(gain)
    if factor and factor > 1:
        yarn = yarn_gain(factor)
        if abs(gain - yarn) < 1e-4:
            return f"{text}, YaRN's 0.1 ln {number(factor)} + 1"
        if abs(gain - yarn**2) < 1e-4:
            return f"{text}, the square of YaRN's 0.1 ln {number(factor)} + 1"
    return text


def nice(value: float, *, digits: int = 4, within: float = 1e-4) -> float:
    """The number of few digits that a measured one stands for, if one is near."""
    rounded = float(f"{value:.{digits - 1}e}")
    return rounded if abs(rounded - value) <= within * abs(value) else value


def number(value: float | None) -> str:
    """A number as one writes it: 500000, 1.138629, 3.1e-07."""
    if value is None:
        return "?"
    if float(value).is_integer() and abs(value) < 1e12:
        return str(int(value))
    return f"{value:.7g}"


def _said(value: object) -> str:
    return (
        number(value)
        if isinstance(value, int | float) and not isinstance(value, bool)
        else str(value)
    )
