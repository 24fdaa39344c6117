"""Stretching RoPE: each method maps frequencies to (frequencies, gain), to serve longer texts.

    inv_freq, gain = llama3_scaling(inverse_frequencies(128), factor=8, trained_length=8192)
    q = rotate(q, phasors(angles(positions, inv_freq), gain=gain), pairing="half")

The gain multiplies cos and sin, so a score is multiplied by its square.
"""

import math
from typing import Literal

import torch
from jaxtyping import Float64, Shaped
from torch import Tensor

from posenc._validate import (
    require_choice,
    require_inv_freq,
    require_positions,
    require_positive,
    require_tensor,
    violated,
)


def linear_scaling(
    inv_freq: Float64[Tensor, " half"], *, factor: float
) -> tuple[Float64[Tensor, " half"], float]:
    """Position interpolation: every position is divided by the factor.

    scaled[i] = inv_freq[i] / factor,     i = 0 ... dim/2 - 1

    Args:
        inv_freq: radians per position, float64, none negative.
        factor: new length over trained length, at least 1.

    Returns:
        The scaled frequencies, float64, and the gain 1.

    Raises:
        TypeError: if inv_freq is not float64.
        ValueError: if inv_freq is not one row of finite numbers, none negative, or factor is
            not finite and at least 1.

    Example:
        >>> linear_scaling(torch.tensor([1.0, 0.01], dtype=torch.float64), factor=4)
        (tensor([0.2500, 0.0025], dtype=torch.float64), 1.0)

    Paper: Chen et al. (2023), Extending Context Window via Position Interpolation, section 2.3.
    """
    _require_frequencies(inv_freq)
    _require_factor(factor)
    return inv_freq / factor, 1.0


def ntk_scaling(
    inv_freq: Float64[Tensor, " half"], *, factor: float
) -> tuple[Float64[Tensor, " half"], float]:
    """NTK-aware scaling: a larger base, which keeps the first frequency and divides the last.

    scaled[i] = inv_freq[i] factor^(-i/(dim/2 - 1)),     i = 0 ... dim/2 - 1

    That is what `inverse_frequencies` gives for base * factor^(dim/(dim - 2)).

    Args:
        inv_freq: radians per position, float64, two or more, none negative.
        factor: how much slower the last pair turns, at least 1.

    Returns:
        The scaled frequencies, float64, and the gain 1.

    Raises:
        TypeError: if inv_freq is not float64.
        ValueError: if inv_freq is not one row of two or more finite numbers, none negative, or
            factor is not finite and at least 1.

    Example:
        >>> ntk_scaling(torch.tensor([1.0, 0.01], dtype=torch.float64), factor=4)
        (tensor([1.0000, 0.0025], dtype=torch.float64), 1.0)

    Source: bloc97 (2023), NTK-Aware Scaled RoPE; Peng et al. (2023), YaRN, section 3.1.
    """
    _require_frequencies(inv_freq, at_least=2)
    _require_factor(factor)
    share = torch.arange(len(inv_freq)).to(inv_freq) / (len(inv_freq) - 1)
    return inv_freq * factor**-share, 1.0


def dynamic_ntk_scaling(
    inv_freq: Float64[Tensor, " half"], *, factor: float, length: int, trained_length: int
) -> tuple[Float64[Tensor, " half"], float]:
    """Dynamic NTK: NTK-aware scaling that grows with the text, once it is longer than trained.

    `ntk_scaling` by  factor n / trained_length - (factor - 1),     n = max(length, trained_length)

    The factor is therefore not the ratio of lengths: factor 4 at four times the trained length
    scales by 13. Every new length has its own frequencies, so keys that were rotated and cached
    before do not fit the queries after.

    Args:
        inv_freq: radians per position, float64, two or more, none negative.
        factor: at least 1; with 1 the ratio of lengths itself.
        length: positions in the text now, positive.
        trained_length: positions in training, positive.

    Returns:
        The scaled frequencies, float64, and the gain 1.

    Raises:
        TypeError: if inv_freq is not float64, or a length is not an int.
        ValueError: if a length is not positive, or as in `ntk_scaling`.

    Example:
        >>> inv_freq = torch.tensor([1.0, 0.01], dtype=torch.float64)
        >>> dynamic_ntk_scaling(inv_freq, factor=1, length=4096, trained_length=1024)
        (tensor([1.0000, 0.0025], dtype=torch.float64), 1.0)

    Source: emozilla (2023), Dynamically Scaled RoPE; transformers' "dynamic".
    """
    require_positive("length", length)
    require_positive("trained_length", trained_length)
    _require_factor(factor)
    ratio = max(length, trained_length) / trained_length
    return ntk_scaling(inv_freq, factor=factor * ratio - (factor - 1))


def parts_scaling(
    inv_freq: Float64[Tensor, " half"],
    *,
    factor: float,
    trained_length: int,
    slow: float = 1.0,
    fast: float = 32.0,
) -> tuple[Float64[Tensor, " half"], float]:
    """NTK by parts: pairs that turned often in training stay, those that did not are divided.

    turns[i]  = trained_length inv_freq[i] / 2 pi
    keep[i]   = (turns[i] - slow) / (fast - slow), at least 0, at most 1
    scaled[i] = keep[i] inv_freq[i] + (1 - keep[i]) inv_freq[i] / factor

    Args:
        inv_freq: radians per position, float64, none negative.
        factor: new length over trained length, at least 1.
        trained_length: positions in training, positive.
        slow: turns up to which a pair is divided by the factor, not negative.
        fast: turns from which on a pair stays as it is, above slow.

    Returns:
        The scaled frequencies, float64, and the gain 1.

    Raises:
        TypeError: if inv_freq is not float64, or trained_length is not an int.
        ValueError: if trained_length is not positive, slow and fast are not in order, or as in
            `linear_scaling`.

    Example:
        >>> inv_freq = torch.tensor([1.0, 0.01], dtype=torch.float64)
        >>> parts_scaling(inv_freq, factor=4, trained_length=512)
        (tensor([1.0000, 0.0025], dtype=torch.float64), 1.0)

    Paper: Peng et al. (2023), YaRN, section 3.2, equations 17 and 18.
    """
    _require_frequencies(inv_freq)
    _require_factor(factor)
    _require_ramp(slow, fast)
    require_positive("trained_length", trained_length)
    turns = trained_length * inv_freq / (2 * math.pi)
    return _blend(inv_freq, factor, keep=(turns - slow) / (fast - slow)), 1.0


def llama3_scaling(
    inv_freq: Float64[Tensor, " half"],
    *,
    factor: float = 8.0,
    trained_length: int = 8192,
    slow: float = 1.0,
    fast: float = 4.0,
) -> tuple[Float64[Tensor, " half"], float]:
    """Llama 3.1's scaling: `parts_scaling` with a ramp from 1 to 4 turns, and no gain.

    Args:
        inv_freq: radians per position, float64, none negative.
        factor: 8 in Llama 3.1, 32 in Llama 3.2.
        trained_length: "original_max_position_embeddings".
        slow: "low_freq_factor".
        fast: "high_freq_factor".

    Returns:
        The scaled frequencies, float64, and the gain 1.

    Raises:
        TypeError, ValueError: as in `parts_scaling`.

    Example:
        >>> llama3_scaling(torch.tensor([1.0, 0.002, 0.0001], dtype=torch.float64))[0]
        tensor([1.0000e+00, 1.1878e-03, 1.2500e-05], dtype=torch.float64)

    Code: meta-llama/llama-models, models/llama3/model.py, apply_scaling.
    """
    return parts_scaling(
        inv_freq, factor=factor, trained_length=trained_length, slow=slow, fast=fast
    )


def yarn_scaling(
    inv_freq: Float64[Tensor, " half"],
    *,
    factor: float,
    trained_length: int,
    slow: float = 1.0,
    fast: float = 32.0,
    ramp: Literal["rotations", "dimensions"],
    truncate: bool = True,
    gain: float | None = None,
) -> tuple[Float64[Tensor, " half"], float]:
    """YaRN: NTK by parts, and a gain that sharpens the attention again.

    ramp="rotations" is the paper: `parts_scaling`, linear in the number of turns.
    ramp="dimensions" is all published code: linear in the index of the pair. With i(r) the index,
    not rounded, of the pair that turns r times within the trained length,

    first     = i(fast), rounded down if truncate, at least 0
    last      = i(slow), rounded up if truncate, at most dim - 1     (first + 0.001 if equal)
    keep[i]   = 1 - (i - first) / (last - first), at least 0, at most 1
    scaled[i] = keep[i] inv_freq[i] + (1 - keep[i]) inv_freq[i] / factor

    The two agree beyond the ends of the ramp and differ between: with 128 channels, 4096 trained
    positions and factor 32 by a factor of up to 4.

    Args:
        inv_freq: radians per position, float64; for "dimensions" as `inverse_frequencies` has them.
        factor: new length over trained length, at least 1.
        trained_length: "original_max_position_embeddings", positive.
        slow: "beta_slow", turns up to which a pair is divided by the factor; above 0 for
            "dimensions".
        fast: "beta_fast", turns from which on a pair stays as it is, above slow.
        ramp: "dimensions" for checkpoints that were trained with published code; "rotations" for
            the paper's formula.
        truncate: whether the ends of the ramp over dimensions are whole numbers. GPT-OSS: False.
        gain: multiplies cos and sin; None for `yarn_gain(factor)`.

    Returns:
        The scaled frequencies, float64, and the gain.

    Raises:
        TypeError: if inv_freq is not float64, or trained_length is not an int.
        ValueError: if ramp is unknown, inv_freq is not geometric for "dimensions", gain is not
            positive and finite, or as in `parts_scaling`.

    Example:
        >>> inv_freq = torch.tensor([1.0, 0.1, 0.01, 0.001], dtype=torch.float64)
        >>> code, gain = yarn_scaling(inv_freq, factor=4, trained_length=2048, ramp="dimensions")
        >>> paper, gain = yarn_scaling(inv_freq, factor=4, trained_length=2048, ramp="rotations")
        >>> 1000 * torch.stack((code, paper))[:, 1:]
        tensor([[100.0000,   6.2500,   0.2500],
                [100.0000,   3.0467,   0.2500]], dtype=torch.float64)

    Paper: Peng et al. (2023), YaRN, equations 17 to 22. Code: jquesnelle/yarn; issue 60 there.
    """
    require_choice("ramp", ramp, ("rotations", "dimensions"))
    parts = {"factor": factor, "trained_length": trained_length, "slow": slow, "fast": fast}
    scaled, _ = parts_scaling(inv_freq, **parts)
    if ramp == "dimensions":
        first, last = _pairs_of_the_ramp(inv_freq, trained_length, slow, fast, truncate)
        index = torch.arange(len(inv_freq)).to(inv_freq)
        scaled = _blend(inv_freq, factor, keep=1 - (index - first) / (last - first))
    if gain is None:
        return scaled, yarn_gain(factor)
    if not math.isfinite(gain) or gain <= 0:
        raise ValueError(f"gain must be positive and finite, got {gain}")
    return scaled, float(gain)


def yarn_gain(factor: float, *, mscale: float = 1.0, mscale_all_dim: float = 0.0) -> float:
    """What YaRN multiplies cos and sin by.

    gain = m(mscale) / m(mscale_all_dim),     m(x) = 1 + 0.1 x ln(factor)

    "Attention factor" means three things; confused, they are squared or lost:

    - transformers' `attention_factor` is this gain. Queries and keys both have it, so scores of
      rotated channels are multiplied by its square, the paper's 1/t.
    - vLLM's, SGLang's and llama.cpp's `attn_factor` multiplies this gain once more.
    - DeepSeek leaves the rotation at m(mscale) / m(mscale_all_dim), which is 1, and multiplies
      all scores, also of channels that do not turn, by yarn_gain(factor, mscale=mscale_all_dim)².

    Args:
        factor: new length over trained length, at least 1.
        mscale: 1 in the paper; "mscale" in DeepSeek's configurations.
        mscale_all_dim: "mscale_all_dim" there; transformers reads the two only together.

    Returns:
        The gain, 1 if factor is 1.

    Raises:
        ValueError: if factor is not finite and at least 1, or a scale is not finite or negative.

    Example:
        >>> round(yarn_gain(4), 6), yarn_gain(40, mscale=0.7, mscale_all_dim=0.7)
        (1.138629, 1.0)

    Paper: Peng et al. (2023), YaRN, equation 22. Code: deepseek-ai/DeepSeek-V3, inference/model.py.
    """
    _require_factor(factor)
    for name, value in (("mscale", mscale), ("mscale_all_dim", mscale_all_dim)):
        if not math.isfinite(value) or value < 0:
            raise ValueError(f"{name} must be finite and not negative, got {value}")
    growth = 0.1 * math.log(factor)
    return (1 + mscale * growth) / (1 + mscale_all_dim * growth)


def longrope_scaling(
    inv_freq: Float64[Tensor, " half"],
    *,
    short_factors: Float64[Tensor, " half"],
    long_factors: Float64[Tensor, " half"],
    factor: float,
    length: int,
    trained_length: int,
    gain: float | None = None,
) -> tuple[Float64[Tensor, " half"], float]:
    """LongRoPE: a factor for every pair, found by search; one set for short texts, one for long.

    scaled[i] = inv_freq[i] / factors[i],     long factors if length > trained_length, else short
    gain      = sqrt(1 + ln(factor) / ln(trained_length)),     for short texts too

    A text that grows beyond the trained length changes its set on the way: keys cached before do
    not fit the queries after.

    Args:
        inv_freq: radians per position, float64, none negative.
        short_factors: one positive number a pair.
        long_factors: one positive number a pair.
        factor: longest length over trained length, at least 1; in transformers
            max_position_embeddings / original_max_position_embeddings.
        length: positions in the text now, positive.
        trained_length: positions in training, above 1.
        gain: multiplies cos and sin; None for the formula above.

    Returns:
        The scaled frequencies, float64, and the gain.

    Raises:
        TypeError: if inv_freq is not float64, or a length is not an int.
        ValueError: if there is not one positive factor a pair, a length is not positive or the
            trained one not above 1, or gain is not positive and finite.

    Example:
        >>> inv_freq = torch.tensor([1.0, 0.01], dtype=torch.float64)
        >>> ones = torch.ones(2, dtype=torch.float64)
        >>> options = {"short_factors": ones, "long_factors": 4 * ones, "factor": 16}
        >>> longrope_scaling(inv_freq, length=5000, trained_length=4096, **options)[0]
        tensor([0.2500, 0.0025], dtype=torch.float64)

    Paper: Ding et al. (2024), LongRoPE, section 3; the gain is in its code and in Phi-3's.
    """
    _require_frequencies(inv_freq)
    _require_factor(factor)
    require_positive("length", length)
    require_positive("trained_length", trained_length)
    if trained_length < 2:
        raise ValueError(f"trained_length must be above 1, got {trained_length}")
    for name, factors in (("short_factors", short_factors), ("long_factors", long_factors)):
        require_tensor(name, factors)
        positive = factors.isfinite() & (factors > 0)
        if factors.shape != inv_freq.shape or violated(positive):
            raise ValueError(
                f"{name} must be {len(inv_freq)} positive numbers, one a pair, "
                f"got {factors.tolist()}"
            )
    if gain is None:
        gain = math.sqrt(1 + math.log(factor) / math.log(trained_length))
    elif not math.isfinite(gain) or gain <= 0:
        raise ValueError(f"gain must be positive and finite, got {gain}")
    factors = long_factors if length > trained_length else short_factors
    return inv_freq / factors.to(inv_freq), float(gain)


def proportional_scaling(
    inv_freq: Float64[Tensor, " half"], *, share: float
) -> tuple[Float64[Tensor, " half"], float]:
    """Proportional RoPE (p-RoPE): the fastest pairs turn as ever, the others not at all.

    scaled[i] = inv_freq[i] if i < floor(share dim/2), else 0,     i = 0 ... dim/2 - 1

    It is not partial rotary (`rotate` with rotary_dim), whose few pairs span all frequencies and
    are paired within the rotated channels.

    Args:
        inv_freq: radians per position of the whole head, float64, none negative.
        share: which part of the pairs turns, from 0 (none: NoPE) to 1 (all).

    Returns:
        The frequencies, with zeros, float64, and the gain 1.

    Raises:
        TypeError: if inv_freq is not float64.
        ValueError: if share is not within [0, 1], or inv_freq as in `linear_scaling`.

    Example:
        >>> inv_freq = torch.tensor([1.0, 0.1, 0.01, 0.001], dtype=torch.float64)
        >>> proportional_scaling(inv_freq, share=0.5)
        (tensor([1.0000, 0.1000, 0.0000, 0.0000], dtype=torch.float64), 1.0)

    Paper: Barbero et al. (2024), Round and Round We Go!, section 6; Gemma 4's global layers.
    """
    _require_frequencies(inv_freq)
    if not 0 <= share <= 1:
        raise ValueError(f"share must be within [0, 1], got {share}")
    turning = torch.arange(len(inv_freq), device=inv_freq.device) < int(share * len(inv_freq))
    return inv_freq * turning, 1.0


def query_gain(
    positions: Shaped[Tensor, "*n"], *, scale: float = 0.1, length: int = 8192, first: int = 1
) -> Float64[Tensor, "*n"]:
    """Attention temperature: queries grow with their position, so that attention stays sharp.

    gain[p] = 1 + scale ln(1 + floor((p + first) / length))

    Args:
        positions: positions of the queries, integers or floats, none below -first.
        scale: "attn_scale" in Llama 4, "llama_4_scaling_beta" in Ministral 3.
        length: "floor_scale" (8192) in Llama 4, the original length in Ministral 3; positive.
        first: what the first position is counted as: 1 in Llama 4, 0 in Ministral 3.

    Returns:
        What to multiply each query by, float64, 1 as long as p + first < length.

    Raises:
        TypeError: if positions are boolean or complex, or length is not an int.
        ValueError: if positions are empty, not finite or below -first, scale is not finite, or
            length is not positive.

    Example:
        >>> query_gain(torch.tensor([0, 8190, 8191, 100_000]))
        tensor([1.0000, 1.0000, 1.0693, 1.2565], dtype=torch.float64)

    Paper: Nakanishi (2025), Scalable-Softmax, for the idea. Code: transformers,
    Llama4TextAttention, Ministral3Attention.
    """
    require_positions("positions", positions)
    require_positive("length", length)
    if not math.isfinite(scale):
        raise ValueError(f"scale must be finite, got {scale}")
    counted = positions.to(torch.float64) + first
    if violated(counted >= 0):
        raise ValueError(f"positions must not be below {-first}, got {positions.min().item()}")
    return 1 + scale * torch.log1p((counted / length).floor())


def _blend(inv_freq: Tensor, factor: float, *, keep: Tensor) -> Tensor:
    keep = keep.clamp(0, 1)
    return keep * inv_freq + (1 - keep) * inv_freq / factor


def _pairs_of_the_ramp(
    inv_freq: Tensor, trained_length: int, slow: float, fast: float, truncate: bool
) -> tuple[Tensor, Tensor]:
    """Between which two indices YaRN's code blends, and its odd limits, kept as they are."""
    _require_frequencies(inv_freq, at_least=2)
    if slow == 0:
        raise ValueError("slow must be above 0 for a ramp over dimensions, got 0")
    logs = inv_freq.log()
    step = (logs[0] - logs[-1]) / (len(logs) - 1)
    even = logs[0] - step * torch.arange(len(logs)).to(logs)
    if violated(step > 0) or violated(torch.isclose(logs, even, rtol=0, atol=1e-5)):
        raise ValueError(
            "inv_freq must fall by one ratio from pair to pair for a ramp over dimensions"
        )
    first, last = (
        (logs[0] - math.log(2 * math.pi * turns / trained_length)) / step for turns in (fast, slow)
    )
    if truncate:
        first, last = first.floor(), last.ceil()
    first, last = first.clamp(min=0), last.clamp(max=2 * len(inv_freq) - 1)
    return first, torch.where(first == last, last + 0.001, last)


def _require_frequencies(inv_freq: Tensor, *, at_least: int = 1) -> None:
    require_inv_freq(inv_freq)
    if len(inv_freq) < at_least:
        raise ValueError(f"inv_freq must be {at_least} or more, got {len(inv_freq)}")
    if violated(inv_freq >= 0):
        raise ValueError(f"inv_freq must not be negative, got {inv_freq.min().item()}")


def _require_factor(factor: float) -> None:
    if not math.isfinite(factor) or factor < 1:
        raise ValueError(f"factor must be finite and at least 1, got {factor}")


def _require_ramp(slow: float, fast: float) -> None:
    if not 0 <= slow < fast < math.inf:
        raise ValueError(f"slow and fast must be 0 <= slow < fast, got {slow} and {fast}")
