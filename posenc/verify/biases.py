"""Biases that are added to scores: what they are, from their numbers alone."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from posenc.alibi import alibi_slopes
from posenc.verify.names import number
from posenc.verify.standing import elsewhere, relative_in, spots

Found = tuple[dict, dict, tuple, tuple]  # facts, data, warnings, unknown
HIDDEN = -1e4  # a bias at most this is a mask
FEWEST = 4
"""How many keys must lie on a line to tell where queries stand that are not at the end."""


def identify_bias(bias: Tensor) -> Found:
    """Name a bias that is added to scores, [h, q, k] or [1, h, q, k]; q may be 1, or fewer than k.

    The last query is taken to stand at the last key, or else where the numbers say. A tensor [h] is
    taken for slopes.
    """
    if isinstance(bias, Tensor) and is_slopes(bias):
        return _identify_slopes(bias)
    if not isinstance(bias, Tensor):
        raise ValueError(
            f"bias must be a tensor [h, q, k], got {type(bias).__name__}: call it first"
        )
    bias = one_of_batch(bias, "bias")
    rounded = precision_of(bias)
    given = bias.dtype if bias.is_floating_point() else None
    bias = bias.detach().double()
    heads, q, k = bias.shape
    if not bias.any():
        return {"form": "0 everywhere"}, {"method": "unknown"}, (), ("what it is to be",)
    lines, first, end = None, None, max(k - q, 0)
    places = [end] + [place(bias) for place in (nearest_key, farthest_key)] * (q < k)
    for first in dict.fromkeys(places):
        relative = relative_in(q, k, first)
        past = (relative <= 0) & (bias > HIDDEN).all(dim=0)
        if past[-1].sum() < (2 if first == end else FEWEST):
            continue
        for low in (given, rounded):
            blur = torch.finfo(low).eps if low is not None else 0.0
            lines = _slopes(bias, relative, past, max(1e-5, 2 * blur))
            if lines[2]:
                break
        if lines[2]:
            break
    if lines is None or not lines[2]:
        facts = {
            "form": "no straight lines: not ALiBi, if no row is padded; T5's is learned, identify "
            "its buckets"
        }
        return facts, {"method": "unknown"}, (), ("what was learned or computed here",)
    slopes, one_row, _ = lines
    named, order, data, warnings = _name_slopes(slopes, max(1e-3, 2 * blur))
    unknown = ("whether queries and keys are where they are taken to be",)
    if first != end:
        unknown = (elsewhere(first, q, k),)
    if data.get("factor", 1) < 1 and "sqrt" in named:
        unknown += (
            "whether the model divides its bias by sqrt(head_dim), as Falcon alone does: compare "
            "it with the configuration",
        )
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
    if blur > 1e-4 and rounded is not None:
        facts["precision"] = f"{rounded}: neighbouring keys may get one number".replace(
            "torch.", ""
        )
    if first != end:
        facts["queries"] = f"at {spots(first, q)} of {k} keys, not the last keys"
    data = {"method": "alibi", "slopes": slopes.tolist(), "one_row": one_row, **data}
    return facts, data, warnings, unknown


def is_slopes(numbers: Tensor) -> bool:
    """Whether it is one number a head, [h] or [h, 1, 1], and no bias of several keys."""
    return numbers.ndim > 0 and 1 < numbers.numel() == len(numbers)


def _identify_slopes(slopes: Tensor) -> Found:
    rounded = precision_of(slopes)
    blur = torch.finfo(rounded).eps if rounded is not None else 0.0
    size = slopes.detach().double().flatten().abs()
    named, order, data, warnings = _name_slopes(size, max(1e-3, 2 * blur))
    facts = {
        "form": "slopes, one a head",
        "heads": str(len(size)),
        "slopes": named,
        "head order": order,
    }
    unknown = ("the sign, and from where distances count: the bias that is made of them tells",)
    return facts, {"method": "alibi", "slopes": size.tolist(), **data}, warnings, unknown


def nearest_key(bias: Tensor) -> int:
    """The key that the first query prefers, its own if that bias falls with the distance."""
    row = _steepest(bias)
    return int((row == row.max()).nonzero()[0, 0])


def farthest_key(bias: Tensor) -> int:
    """The key that the first query likes least, its own if the sign is wrong."""
    row = _steepest(bias)
    return int((row == row[row > HIDDEN].min()).nonzero()[0, 0])


def _steepest(bias: Tensor) -> Tensor:
    """The first query's row, of the head in which keys differ most."""
    row = bias[:, 0].double()
    shown = row.where(row > HIDDEN, row.amax(dim=-1, keepdim=True))
    return row[int((shown.amax(dim=-1) - shown.amin(dim=-1)).argmax())]


def one_of_batch(bias: Tensor, what: str) -> Tensor:
    """[h, q, k] of a bias that may have a batch; `what` names it in errors."""
    if bias.ndim == 4:
        if not (bias == bias[:1]).all():
            raise ValueError(f"{what} must be one for all rows of the batch, got several; give one")
        bias = bias[0]
    if bias.ndim != 3 or bias.shape[-1] < 4:
        raise ValueError(f"{what} must be [h, q, k] with 4 keys or more, got {tuple(bias.shape)}")
    return bias


def precision_of(numbers: Tensor) -> torch.dtype | None:
    """The low precision that holds every one of these numbers, if one does."""
    known = numbers[numbers > HIDDEN].float()
    for low in (torch.bfloat16, torch.float16):
        if numbers.dtype == low or torch.equal(known.to(low).float(), known):
            return low
    return None


def slopes_of(num_heads: int, bias_max: float = 8.0) -> Tensor:
    """ALiBi's slopes, and MPT's with another alibi_bias_max: float64, one a head.

    slope[h] = 2^(-bias_max (h + 1)/n) for n heads, a power of two; otherwise every second one of
    the next power, then those between, as many as there are heads.
    """
    power = 1 << (num_heads - 1).bit_length()
    every = 2.0 ** (-bias_max * torch.arange(1, power + 1, dtype=torch.float64) / power)
    return every if num_heads == power else torch.cat((every[1::2], every[::2]))[:num_heads]


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
            text, warning = _factor(factor, near)
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
    if torch.allclose(size, slopes_of(heads, most), rtol=near):
        text = f"{sign}2^(-{number(round(most, 3))} h/{power}), another alibi_bias_max (MPT)"
        return text, "as published", {"order": "as published", "bias_max": most}, warnings
    full = alibi_slopes(power)
    if torch.allclose(size, torch.cat((full[::2], full[1::2]))[:heads], rtol=near):
        text = f"{sign}those of {power} heads, first, third, ... before second, fourth, ..."
        warnings += (f"{text}: the published rule has them the other way round",)
        return text, "exchanged", {"order": "exchanged"}, warnings
    fewer = power // 2
    every = torch.cat((right[:fewer], slopes_of(power)))[:heads]
    if heads != power and torch.allclose(size, every, rtol=near):
        warnings += (
            f"heads from {fewer} on have every slope of {power} heads, not every second one: "
            f"m^(h - {fewer} + 1) where m^(2(h - {fewer}) + 1) is meant",
        )
        text = f"{sign}as published up to head {fewer - 1}, then every one of {power} heads'"
        return text, "as published", {"order": "every"}, warnings
    wrong = ((size / right - 1).abs() > near).nonzero().flatten()
    if 2 * len(wrong) <= heads:
        told = ", ".join(
            f"head {h} has {size[h]:.5g}, not {right[h]:.5g}" for h in wrong.tolist()[:4]
        )
        warnings += (f"{len(wrong)} of {heads} slopes are not as published: {told}",)
    shown = [round(x, 5) for x in slopes.tolist()]
    more = f" and {heads - 16} more" if heads > 16 else ""
    return f"{sign}{shown[:16]}{more}", "unknown", {"order": "unknown"}, warnings


def _factor(factor: float, near: float) -> tuple[str, tuple]:
    if abs(factor - 1) < near:
        return "as published", ()
    width = (1 / factor**2) if factor < 1 else factor**2
    for what, value in (
        ("1/ln 2, for base-2 softmax", 1 / math.log(2)),
        ("ln 2", math.log(2)),
        ("2, added twice", 2.0),
    ):
        if abs(factor - value) < near:
            return f"as published times {what}", (f"slopes are multiplied by {what}",) * (
                value == 2
            )
    if abs(width - round(width)) < 1e-2 * width and round(width) in (16, 32, 64, 80, 96, 128, 256):
        how = "divided" if factor < 1 else "multiplied"
        text = f"as published, {how} by sqrt({round(width)})"
        if factor < 1:
            return f"{text}, as in Falcon", ()
        return text, (f"slopes are {how} by the root of the head's width",)
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
