"""Known mistakes of scaling rules: frequencies that a slip in the rule gives."""

import math
from collections.abc import Iterator
from itertools import product

import torch
from torch import Tensor

from posenc.frequencies import inverse_frequencies
from posenc.scaling import parts_scaling, yarn_scaling
from posenc.verify.known import Mistake
from posenc.verify.names import LENGTHS, RAMPS, name, nice, number
from posenc.verify.rope import Rope

_TIMES = (  # by which each pair's turns are multiplied
    (
        "2 pi forgotten",
        "a pair's wavelength is 2 pi/frequency; the ramp takes 1/frequency",
        2 * math.pi,
    ),
    ("2 pi counted twice", "the ramp divides turns by 2 pi twice", 1 / (2 * math.pi)),
)
BASES = (10_000.0, 500_000.0, 1_000_000.0, 100_000.0, 150_000.0, 5_000_000.0)
RULES = {"llama3": parts_scaling, "parts": parts_scaling, "yarn": yarn_scaling}


def rule_mistakes(rope: Rope) -> Iterator[Mistake]:
    """Ways to get the rule wrong by which this rotation was scaled; it must say what was scaled."""
    for called, hint, inv_freq in _slips(rope.plain, rope.inv_freq, rope.head_dim):
        yield Mistake(called, hint, rope.but(inv_freq=inv_freq))


def near_rule(inv_freq: Tensor) -> tuple[str, str] | None:
    """The known rule that these frequencies follow but for one slip: its name, and the slip.

    Args:
        inv_freq: measured, float64, decreasing but for the slip; its fastest pairs not scaled.
    """
    if len(inv_freq) < 8 or not (inv_freq > 0).all():
        return None
    base = nice((inv_freq[0] / inv_freq[1]).item() ** len(inv_freq), digits=3, within=2e-3)
    if base <= 1:
        return None
    plain = inverse_frequencies(2 * len(inv_freq), base=base)
    factor = nice((plain[-1] / inv_freq[-1]).item(), within=1e-3)
    if factor < 1.001:
        return None
    for (slow, fast), length, ramp in product(RAMPS, LENGTHS, ("rotations", "dimensions")):
        ends = {"slow": slow, "fast": fast}
        rule = {"factor": factor, "trained_length": length, **ends}
        right = yarn_scaling(plain, **rule, ramp=ramp)[0]
        low = plain / factor
        keep = ((right - low) / (plain - low)).clamp(0, 1)
        slips = [*_ramp_slips(plain, low, keep)]
        for other in BASES:
            there = inverse_frequencies(2 * len(inv_freq), base=other)
            factors = there / yarn_scaling(there, **rule, ramp=ramp)[0]
            slips.append((*_two_bases(base, other), plain / factors))
        for called, hint, times in _TIMES:
            moved = {end: turns / times for end, turns in ends.items()}
            slips.append((called, hint, yarn_scaling(plain, **{**rule, **moved}, ramp=ramp)[0]))
        for called, hint, wrong in slips:
            if ((wrong - inv_freq).abs() <= 1e-5 * wrong).all():
                kind = "llama3" if fast / slow == 4 else "yarn" if ramp == "dimensions" else "parts"
                settings = f"base {number(base)}, factor {number(factor)}, trained_length {length}"
                return f"{kind} ({settings}) but for one slip", f"{called}: {hint}"
    return None


def _slips(plain: Tensor, scaled: Tensor, head_dim: int) -> Iterator[tuple[str, str, Tensor]]:
    if not (plain > 0).all() or not (scaled > 0).all():
        return
    yield (
        "multiplied, not divided",
        "frequencies are multiplied where they should be divided",
        plain**2 / scaled,
    )
    factor = (plain / scaled).max()
    slow = plain / factor
    keep = (scaled - slow) / (plain - slow)  # 1 for a pair that stays as it was
    if factor > 1 and keep[0] > 0.999 and keep[-1] < 0.001 and not _geometric(scaled):
        yield from _ramp_slips(plain, slow, keep.clamp(0, 1))
    if factor > 1 and _geometric(plain) and _geometric(scaled):
        index = torch.arange(len(plain), dtype=torch.float64)
        yield (
            "exponent d/(d - 2) forgotten",
            "the base is multiplied by the factor itself, not by its power d/(d - 2): the slowest "
            "pair is not slowed enough",
            plain * factor ** (-index / len(plain)),
        )
    yield from _setting_slips(plain, scaled, head_dim)


def _ramp_slips(plain: Tensor, slow: Tensor, keep: Tensor) -> Iterator[tuple[str, str, Tensor]]:
    """Fast pairs stay, slow ones are divided, those between are blended: the blend gone wrong."""
    between = (keep > 1e-6) & (keep < 1 - 1e-6)
    turned = plain + slow - (keep * plain + (1 - keep) * slow)
    yield (
        "weights of the ramp exchanged",
        "between the fast and the slow pairs, what is kept and what is divided have each other's "
        "weight",
        torch.where(between, turned, keep * plain + (1 - keep) * slow),
    )
    yield (
        "ramp turned round",
        "fast pairs are divided and slow ones kept: the ramp is the wrong way round",
        turned,
    )
    yield (
        "blended as wavelengths",
        "between the fast and the slow pairs wavelengths are blended, not frequencies",
        1 / (keep / plain + (1 - keep) / slow),
    )
    for end, cut in (("slow", keep > 1e-6), ("fast", keep > 1 - 1e-6)):
        yield (
            f"no ramp, cut at its {end} end",
            "pairs are either kept or divided, none is blended: as with low_freq_factor and "
            "high_freq_factor exchanged",
            torch.where(cut, plain, slow),
        )


def _setting_slips(
    plain: Tensor, scaled: Tensor, head_dim: int
) -> Iterator[tuple[str, str, Tensor]]:
    """The same rule, with a number that is easily taken for the right one."""
    named = name(scaled, scaled * 1e-9, head_dim=head_dim)
    if named.scaling not in RULES or named.plain is None or len(named.plain) != len(plain):
        return
    longer = (
        "ramp over the long context",
        "the ramp counts turns within the stretched context, not the trained one",
        named.settings["factor"],
    )
    rule = RULES[named.scaling]
    for base in BASES:
        if base == named.base:
            continue
        there = inverse_frequencies(2 * len(plain), base=base)
        factors = there / rule(there, **named.settings)[0]
        yield *_two_bases(named.base, base), plain / factors
        yield *_two_bases(base, named.base), there * scaled / plain
    for called, hint, times in (*_TIMES, longer):
        ends = {end: named.settings[end] / times for end in ("slow", "fast")}
        yield called, hint, rule(plain, **{**named.settings, **ends})[0]


def _two_bases(base: float, other: float) -> tuple[str, str]:
    return (
        f"factors for base {number(other)}",
        f"the scaling's factors are those for frequencies of base {number(other)}, applied to "
        f"frequencies of base {number(base)}: the base is read in two places, and one of them took "
        "a default (transformers 5 keeps rope_theta within rope_parameters)",
    )


def _geometric(inv_freq: Tensor) -> bool:
    """Whether each frequency is the last one times one number."""
    if len(inv_freq) < 3:
        return False
    steps = inv_freq[1:] / inv_freq[:-1]
    return bool((steps - steps[0]).abs().max() < 1e-6)
