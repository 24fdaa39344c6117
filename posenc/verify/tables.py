"""Biases, buckets and tables of encodings: what they are, from their numbers alone."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from posenc.alibi import alibi_slopes
from posenc.t5 import t5_buckets
from posenc.verify.measure import frequencies
from posenc.verify.names import name, number

Found = tuple[dict, dict, tuple, tuple]  # facts, data, warnings, unknown
HIDDEN = -1e4  # a bias at most this is a mask


def identify_bias(bias: Tensor) -> Found:
    """Name a bias that is added to scores, [h, q, k] or [1, h, q, k]; q may be 1, or fewer than k.

    The last query is taken to stand at the last key.
    """
    if not isinstance(bias, Tensor):
        raise ValueError(
            f"bias must be a tensor [h, q, k], got {type(bias).__name__}: call it first"
        )
    blur = torch.finfo(bias.dtype).eps if bias.is_floating_point() else 0.0
    bias = bias.detach().double()
    if bias.ndim == 4:
        if not (bias == bias[:1]).all():
            raise ValueError("bias must be one for all rows of the batch, got several; give one")
        bias = bias[0]
    if bias.ndim != 3 or bias.shape[-1] < 4:
        raise ValueError(f"bias must be [h, q, k] with 4 keys or more, got {tuple(bias.shape)}")
    heads, q, k = bias.shape
    relative = torch.arange(k) - torch.arange(k - q, k)[:, None]
    past = (relative <= 0) & (bias > HIDDEN).all(dim=0)
    slopes, one_row, straight = _slopes(bias, relative, past, max(1e-5, 2 * blur))
    if not straight:
        facts = {
            "form": "no straight lines: not ALiBi, if no row is padded; T5's is learned, identify "
            "its buckets"
        }
        return facts, {"method": "unknown"}, (), ("what was learned or computed here",)
    named, order, data, warnings = _name_slopes(slopes, max(1e-3, 2 * blur))
    unknown = ("whether queries and keys are where they are taken to be",)
    if order == "restarts" and q == 1:  # BLOOM folds its batch into the heads
        unknown += ("whether slopes start again for each rank, or a batch is folded into heads",)
        warnings = ()
    facts = {
        "form": "one row a head, right up to a number that softmax forgets"
        if one_row
        else "minus slope times distance, 0 on the diagonal",
        "heads": str(heads),
        "slopes": named,
        "head order": order,
        "keys after the query": _future(bias, relative, slopes),
    }
    if one_row and bias[bias > HIDDEN].abs().max() > 256:
        warnings = (*warnings, "one-row form reaches large numbers: in bfloat16 near keys collapse")
    data = {"method": "alibi", "slopes": slopes.tolist(), "one_row": one_row, **data}
    return facts, data, warnings, unknown


def _slopes(bias: Tensor, relative: Tensor, past: Tensor, blur: float) -> tuple[Tensor, bool, bool]:
    """Rise per key of each head within the last row, whether rows are alike, whether straight."""
    row = bias[:, -1, :][:, past[-1]]
    steps = row.diff(dim=-1)
    slopes = steps.mean(dim=-1)
    size = row.abs().max()
    straight = bool((steps - slopes[:, None]).abs().max() <= blur * (1 + size))
    at_self = bias[:, relative == 0]
    one_row = bias.shape[1] == 1 or bool((at_self - at_self[:, :1]).abs().max() > 1e-4 * (1 + size))
    if bias.shape[1] == 1:
        one_row = bool(at_self.abs().max() > 1e-6 * (1 + size))
    return slopes, one_row, straight


def _name_slopes(slopes: Tensor, near: float) -> tuple[str, str, dict, tuple]:
    heads = len(slopes)
    right = alibi_slopes(heads)
    sign = "" if slopes.mean() >= 0 else "minus "
    size = slopes.abs()
    warnings = () if not sign else ("the sign is wrong: far keys are preferred, not near ones",)
    for order, known in (
        ("as published", right),
        ("reversed", right.flip(0)),
        ("sorted", right.sort(descending=True)[0]),
    ):
        ratio = size / known
        if (ratio - ratio[0]).abs().max() <= near * ratio[0]:
            factor = ratio[0].item()
            if order != "as published":
                warnings += (f"slopes are {order}: head 0 has another head's",)
            text, warning = _factor(factor)
            return f"{sign}{text}", order, {"order": order, "factor": factor}, warnings + warning
    half = alibi_slopes(max(heads // 2, 1)).repeat(2)
    if heads % 2 == 0 and torch.allclose(size, half, rtol=near):
        warnings += ("slopes start again at half of the heads: each rank counts its own heads",)
        return (
            f"{sign}those of {heads // 2} heads, twice",
            "restarts",
            {"order": "restarts", "factor": 1.0},
            warnings,
        )
    naive = torch.tensor([2.0 ** (-8 * (h + 1) / heads) for h in range(heads)], dtype=torch.float64)
    if torch.allclose(size, naive, rtol=near):
        warnings += (
            f"2^(-8h/{heads}) although {heads} is no power of two: not the published rule",
        )
        return f"{sign}2^(-8h/{heads})", "as counted", {"order": "naive", "factor": 1.0}, warnings
    power = 1 << (heads - 1).bit_length()  # at least as many heads, a power of two
    for more in (power, 2 * power):
        if heads != power and torch.allclose(size, alibi_slopes(more)[:heads], rtol=near):
            text = f"{sign}the first {heads} of those of {more} heads"
            warnings += (f"{text}: not the published rule for {heads}",)
            return text, "cut", {"order": "cut"}, warnings
    most = (-size[:1].log2() * (power / (1 if heads == power else 2))).item()
    rule = [2.0 ** (-most * (h + 1) / power) for h in range(power)]
    rule = rule if heads == power else (rule[1::2] + rule[::2])[:heads]
    if torch.allclose(size, torch.tensor(rule, dtype=torch.float64), rtol=near):
        text = f"{sign}2^(-{number(round(most, 3))} h/{power}), another alibi_bias_max (MPT)"
        return text, "as published", {"order": "as published", "bias_max": most}, warnings
    full = alibi_slopes(power)
    if torch.allclose(size, torch.cat((full[::2], full[1::2]))[:heads], rtol=near):
        text = f"{sign}those of {power} heads, first, third, ... before second, fourth, ..."
        warnings += (f"{text}: the published rule has them the other way round",)
        return text, "exchanged", {"order": "exchanged"}, warnings
    wrong = ((size / right - 1).abs() > near).nonzero().flatten()
    if 2 * len(wrong) <= heads:
        told = ", ".join(
            f"head {h} has {size[h]:.5g}, not {right[h]:.5g}" for h in wrong.tolist()[:4]
        )
        warnings += (f"{len(wrong)} of {heads} slopes are not as published: {told}",)
    shown = [round(x, 5) for x in slopes.tolist()]
    more = f" and {heads - 16} more" if heads > 16 else ""
    return f"{sign}{shown[:16]}{more}", "unknown", {"order": "unknown"}, warnings


def _factor(factor: float) -> tuple[str, tuple]:
    if abs(factor - 1) < 1e-3:
        return "as published", ()
    width = (1 / factor**2) if factor < 1 else factor**2
    for what, value in (
        ("1/ln 2, for base-2 softmax", 1 / math.log(2)),
        ("ln 2", math.log(2)),
        ("2, added twice", 2.0),
    ):
        if abs(factor - value) < 1e-3:
            return f"as published times {what}", (f"slopes are multiplied by {what}",) * (
                value == 2
            )
    if abs(width - round(width)) < 1e-2 * width and round(width) in (16, 32, 64, 80, 96, 128, 256):
        how = "divided" if factor < 1 else "multiplied"
        text = f"as published, {how} by sqrt({round(width)})"
        warning = f"slopes are {how} by the root of the head's width"
        if factor < 1:
            text += ", as in Falcon"
            warning += ": right for Falcon alone, which divides its bias as it does its scores"
        return text, (warning,)
    return f"as published times {number(factor)}", (f"slopes are multiplied by {number(factor)}",)


def _future(bias: Tensor, relative: Tensor, slopes: Tensor) -> str:
    ahead = relative > 0
    if not ahead.any():
        return "none in this bias"
    values = bias[:, ahead]
    if (values <= HIDDEN).all():
        return "masked in the bias itself"
    if (values.abs() < 1e-9).all():
        return "0: a causal mask must hide them"
    expected = -slopes[:, None] * relative[ahead]
    if torch.allclose(values, expected, atol=1e-4):
        return "penalised alike, by distance"
    if torch.allclose(values, -expected, atol=1e-4):
        return "the line goes on, upwards: a causal mask must hide them"
    return "something else: a causal mask must hide them"


def identify_buckets(buckets: Tensor | Callable[[Tensor], Tensor]) -> Found:
    """Name a bucketing of relative positions: a function of key - query, or its matrix [n, n]."""
    if isinstance(buckets, Tensor):
        if buckets.ndim != 2:
            raise ValueError(f"buckets must be [q, k], got shape {tuple(buckets.shape)}")
        q, k = buckets.shape
        relative = torch.cat((torch.arange(1 - q, 0), torch.arange(k)))
        seen = torch.cat((buckets[1:, 0].flip(0), buckets[0]))
    else:
        relative = torch.arange(-2000, 2001)
        seen = buckets(relative)
    seen = seen.long()
    for flipped in (False, True):
        r = -relative if flipped else relative
        for both in (True, False):
            fits = _bucket_settings(seen, r, both)
            if fits:
                return _bucket_report(fits, both, flipped)
    facts = {"form": f"{len(seen.unique())} buckets that are not T5's"}
    return facts, {"method": "unknown"}, (), ("the rule",)


def _bucket_settings(seen: Tensor, relative: Tensor, both: bool) -> list[tuple[int, int]]:
    """Numbers of buckets and distances that give exactly these."""
    top = int(seen.max()) + 1
    counts = [32, 64, 16, 8, 128, 256, 10, 12, 20, 24, 40, 48, 96, 320]
    near = [n for n in dict.fromkeys((top, *counts)) if top <= n <= 4 * top + 4 and n >= 4]
    usual = [128, 64, 256, 32, 512, 800, 1000, 1024, 2048, 16, 500, 20, 40]
    few = (relative.abs() < 40).nonzero().flatten()
    for count in near:
        if both and count % 2:
            continue
        exact = (count // 2 if both else count) // 2
        fits = []
        for distance in dict.fromkeys((*usual, *range(exact + 1, 300))):
            if distance <= exact:
                continue
            settings = {"num_buckets": count, "max_distance": distance, "bidirectional": both}
            if torch.equal(t5_buckets(relative[few], **settings), seen[few]) and torch.equal(
                t5_buckets(relative, **settings), seen
            ):
                fits.append((count, distance))
        if fits:
            return fits
    return []


def _bucket_report(fits: list[tuple[int, int]], both: bool, flipped: bool) -> Found:
    count, distance = fits[0]
    warnings = ("the sign is exchanged: T5 counts key - query",) if flipped else ()
    others = [d for _, d in fits[1:4]]
    facts = {
        "form": "T5's buckets",
        "num_buckets": str(count),
        "max_distance": str(distance)
        + (f" (as well: {', '.join(map(str, others))})" * bool(others)),
        "direction": "both sides (encoder)" if both else "keys before the query (decoder)",
    }
    data = {
        "method": "t5",
        "num_buckets": count,
        "max_distance": distance,
        "bidirectional": both,
        "sign": -1 if flipped else 1,
    }
    return (
        facts,
        data,
        warnings,
        ("the learned numbers of the buckets, and that scores are not scaled",),
    )


def identify_table(table: Tensor) -> Found:
    """Name a table of encodings [n, dim], row p for position p."""
    table = table.detach().double()
    if table.ndim != 2 or table.shape[-1] % 2 or len(table) < 4:
        raise ValueError(
            f"table must be [n, dim], n at least 4, dim even, got {tuple(table.shape)}"
        )
    warnings, facts, data = [], {}, {}
    padded = bool((table[0] == 0).all())
    rows = table[1:] if padded else table
    for layout, cosine_first in (
        ("interleaved", False),
        ("half", False),
        ("interleaved", True),
        ("half", True),
    ):
        one, two = (rows[:, 0::2], rows[:, 1::2]) if layout == "interleaved" else rows.chunk(2, -1)
        sin, cos = (two, one) if cosine_first else (one, two)
        size = torch.hypot(sin, cos)
        scale = size.mean().item()
        fits = bool((size - scale).abs().max() <= 1e-2 * scale)
        if not fits:
            continue
        inv_freq, start, left, sure = _table_frequencies(torch.atan2(sin, cos))
        if left.abs().max() > 0.05 or not (inv_freq > 0).all():
            continue
        named = name(inv_freq, sure, head_dim=table.shape[-1])
        offset = round((start[0] / inv_freq[0]).item(), 3) + 0.0
        facts = {
            "form": "sinusoidal",
            "layout": f"{layout}, {'cosine' if cosine_first else 'sine'} first",
            "frequencies": str(named),
            "size": number(round(scale, 6)),
            "offset": f"{offset:g}" + ("; row 0 is all zeros, for padding" * padded),
        }
        if offset and not padded:
            warnings.append(f"row 0 is position {offset:g}")
        data = {
            "method": "sinusoidal",
            "layout": layout,
            "cosine_first": cosine_first,
            "base": named.base,
            "scaling": named.scaling,
            "size": scale,
            "offset": offset,
            "padding_row": padded,
        }
        return facts, data, tuple(warnings), ()
    facts = {"form": "no sines and cosines of a position: learned, perhaps"}
    return facts, {"method": "unknown"}, (), ("what was learned",)


def _table_frequencies(angles: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    inv_freq, start, _, sure = frequencies(angles, tuple(range(len(angles))))
    near = min(len(angles), 64)
    at = torch.arange(near, dtype=torch.float64)[:, None]
    left = torch.remainder(angles[:near] - start - at * inv_freq + math.pi, 2 * math.pi) - math.pi
    return inv_freq, start, left, sure
