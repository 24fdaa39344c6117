"""Causal attention with a relative bias, beside attention without any."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from benchmarks import peers
from benchmarks.report import ABSENT, Report, Target
from benchmarks.timing import Cases, Race, peak_bytes, race
from posenc import (
    ShawRelative,
    T5RelativeBias,
    TransformerXLRelative,
    alibi_bias,
    alibi_slopes,
    attention,
    causal_mask,
    diagonals,
    relative_attention,
)

HEADS, DIM = 8, 64
LENGTHS, QUICK = (1_024, 4_096, 8_192), (512,)
FAR, QUICK_FAR = (8_192, 32_768), (1_024,)
NO_BIAS = "no bias, SDPA"
FLEX = ("ALiBi, FlexAttention compiled", "T5, FlexAttention compiled")
OURS = ("ALiBi, posenc relative_attention", "T5, posenc relative_attention")
EXACT, ROUNDED = "ALiBi, to float32's smallest number", "ALiBi, to 2^-25"
NEGLIGIBLE = {EXACT: None, ROUNDED: 2**-25}
LIMITS = {  # times attention without a bias
    (EXACT, 8_192): 0.9,
    (ROUNDED, 8_192): 0.65,
    (EXACT, 32_768): 0.45,
    (ROUNDED, 32_768): 0.45,
}
MODULES = ("Shaw", "Transformer-XL")

Attend = Callable[[Tensor, Tensor, Tensor], Tensor]


def run(report: Report, *, quick: bool) -> None:
    """Report biases that keep the fused kernel, ALiBi's horizon, then what needs scores."""
    report.section("Causal attention with a bias", f"{HEADS} heads of {DIM}, float32, no gradient.")
    lengths = QUICK if quick else LENGTHS
    with torch.no_grad():
        _biases(report, lengths, quick)
        _horizon(report, QUICK_FAR if quick else FAR)
        _modules(report, lengths[:2], quick)


def attend_plain(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Causal attention without positions."""
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def t5_bias() -> T5RelativeBias:
    """T5's bias with the same table at every call."""
    module = T5RelativeBias(HEADS, bidirectional=False)
    torch.nn.init.normal_(module.weight, generator=torch.Generator().manual_seed(0))
    return module


def posenc_biases(length: int) -> dict[str, Attend]:
    """ALiBi and T5 by posenc, without a matrix."""
    p = torch.arange(length)
    biases = (partial(alibi_bias, alibi_slopes(HEADS)), t5_bias())
    return {
        name: lambda q, k, v, bias=bias: relative_attention(q, k, v, bias, p, p, causal=True)
        for name, bias in zip(OURS, biases, strict=True)
    }


def alibi_mask(length: int) -> Tensor:
    """The whole [h, q, k] mask, as a model would build it at each call."""
    p = torch.arange(length)
    bias = alibi_slopes(HEADS).float()[:, None, None] * (p[None, :] - p[:, None])
    return bias.masked_fill_(p[None, :] > p[:, None], -torch.inf)


def masked_biases(length: int) -> dict[str, Attend]:
    """SDPA with a mask that is made at each call, or once."""
    cached = alibi_mask(length)[None]
    sdpa = F.scaled_dot_product_attention
    return {
        "ALiBi, mask kept": lambda q, k, v: sdpa(q, k, v, attn_mask=cached),
        "ALiBi, mask at each call": lambda q, k, v: sdpa(
            q, k, v, attn_mask=alibi_mask(length)[None]
        ),
    }


def transformers_t5(length: int) -> Attend:
    """T5's bias as transformers builds it at each call, then SDPA."""
    module = peers.t5_module(HEADS, decoder=True)
    module.relative_attention_bias.weight = t5_bias().weight
    future = torch.ones(length, length, dtype=torch.bool).triu(1)

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        bias = module.compute_bias(length, length).masked_fill(future, -torch.inf)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=bias)

    return attend


def flex_biases(length: int, device: str = "cpu") -> dict[str, Attend]:
    """FlexAttention, compiled: ALiBi from its slopes, T5 from one value a diagonal."""
    torch.compiler.reset()  # else the limit on recompilations is reached, one length at a time
    slopes = alibi_slopes(HEADS).float().to(device)
    p = torch.arange(length)
    table = t5_bias()(diagonals(p, p)).detach().to(device)
    scores = (
        lambda score, b, h, i, j: score + slopes[h] * (j - i),
        lambda score, b, h, i, j: score + table[h, j - i + length - 1],
    )
    return {
        name: flex(length, score_mod, device) for name, score_mod in zip(FLEX, scores, strict=True)
    }


def flex(length: int, score_mod: Callable | None, device: str = "cpu") -> Attend:
    """Causal FlexAttention, compiled for one length."""
    causal = create_block_mask(lambda b, h, i, j: i >= j, None, None, length, length, device=device)
    run = torch.compile(flex_attention, dynamic=False, fullgraph=True)  # never falls back
    return lambda q, k, v: run(q, k, v, score_mod=score_mod, block_mask=causal)


def _biases(report: Report, lengths: tuple[int, ...], quick: bool) -> None:
    races = {}
    for length in lengths:
        cases = _bias_cases(length)
        rounds = 3 if quick or length > 1_024 else 7
        races[f"L={length}"] = race(cases, rounds=rounds, label=f"attention {length}")
        if length == lengths[0]:
            _agree(report, cases, length)
    report.races(races, NO_BIAS)
    _peaks(report, cases, lengths[-1])
    report.target(*_bias_targets(races))


def _qkv(length: int) -> list[Tensor]:
    return [torch.randn(1, HEADS, length, DIM) for _ in range(3)]


def _bias_cases(length: int) -> Cases:
    attends = {NO_BIAS: attend_plain, **posenc_biases(length), **masked_biases(length)}
    if length <= 4_096:  # at 8192 it takes gigabytes
        attends["T5, transformers at each call"] = peers.optional(partial(transformers_t5, length))
    attends |= flex_biases(length)
    qkv = _qkv(length)
    return {name: f and partial(f, *qkv) for name, f in attends.items()}


def _agree(report: Report, cases: Cases, length: int) -> None:
    """Say how far apart the implementations are: timings of wrong results mean nothing."""
    for kind in ("ALiBi", "T5"):
        first, *others = (f() for name, f in cases.items() if f and name.startswith(kind))
        apart = max((other - first).abs().max().item() for other in others)
        report.line(f"{kind}, L={length}: all outputs agree to {apart:.1e}")


def _peaks(report: Report, cases: Cases, length: int) -> None:
    rows = [
        [name, ABSENT if f is None else f"{peak_bytes(f) / 2**20:.0f} MiB"]
        for name, f in cases.items()
    ]
    report.line()
    report.table([f"peak memory of a call, L={length}", "its output included"], rows)


def _bias_targets(races: dict[str, Race]) -> list[Target]:
    targets = []
    for ours, theirs in zip(OURS, FLEX, strict=True):
        for size, measured in races.items():
            name = f"{ours.split(',')[0]} {size}: time over "
            targets.append(Target(name + "no bias", measured.ratio(ours, NO_BIAS), 1.2))
            targets.append(Target(name + "FlexAttention", measured.ratio(ours, theirs), 1))
    return targets


def _horizon(report: Report, lengths: tuple[int, ...]) -> None:
    """What skipping the keys beyond each head's horizon saves, and what it changes."""
    races, targets = {}, []
    report.line("\nALiBi has a horizon: keys that cannot weigh are not looked at")
    for length in lengths:
        qkv = _qkv(length)
        cases: Cases = {NO_BIAS: partial(attend_plain, *qkv)}
        cases |= {name: partial(_alibi, *qkv, limit) for name, limit in NEGLIGIBLE.items()}
        races[f"L={length}"] = measured = race(cases, rounds=3, label=f"horizon {length}")
        apart = (cases[EXACT]() - cases[ROUNDED]()).abs().max().item()
        report.line(f"L={length}: the two differ by {apart:.1e} at most")
        plain, *peaks = (peak_bytes(cases[name]) for name in (NO_BIAS, *NEGLIGIBLE))
        for name, peak in zip(NEGLIGIBLE, peaks, strict=True):
            limit = LIMITS.get((name, length), 0.9)
            time = measured.ratio(name, NO_BIAS)
            targets.append(Target(f"{name}, L={length}: time over no bias", time, limit))
            targets.append(Target(f"{name}, L={length}: memory over no bias", peak / plain, 2))
    report.races(races, NO_BIAS)
    report.target(*targets)


def _alibi(q: Tensor, k: Tensor, v: Tensor, negligible: float | None) -> Tensor:
    p, bias = torch.arange(q.shape[-2]), partial(alibi_bias, alibi_slopes(HEADS))
    return relative_attention(q, k, v, bias, p, p, causal=True, negligible=negligible)


def _modules(report: Report, lengths: tuple[int, ...], quick: bool) -> None:
    races, peaks = {}, {}
    for length in lengths:
        cases = _module_cases(length)
        rounds = 3 if quick or length > 1_024 else 7
        races[f"L={length}"] = race(cases, rounds=rounds, label=f"modules {length}")
        peaks[length] = {name: peak_bytes(cases[name]) for name in MODULES}
    report.line()
    report.races(races, NO_BIAS)
    _peaks(report, cases, lengths[-1])
    targets = [
        Target(f"{name} {size}: time over no bias", measured.ratio(name, NO_BIAS), 3)
        for name in MODULES
        for size, measured in races.items()
    ]
    for name in MODULES:
        for length, peak in peaks.items():
            scores = 4 * HEADS * length**2
            title = f"{name} L={length}: peak memory, scores [h, q, k] = 1"
            targets.append(Target(title, peak[name] / scores, 1_024 / length))
    report.target(*targets)


def _module_cases(length: int) -> Cases:
    qkv, p = _qkv(length), torch.arange(length)
    mask = causal_mask(p, p)
    shaw = ShawRelative(DIM, max_distance=64)
    shaw_keys = ShawRelative(DIM, max_distance=64, values=False)
    transformer_xl = TransformerXLRelative(HEADS, DIM, HEADS * DIM)
    return {
        NO_BIAS: partial(attend_plain, *qkv),
        "softmax by hand, posenc attention": partial(attention, *qkv, mask=mask),
        MODULES[0]: partial(shaw.outputs, *qkv, p, p, causal=True),
        "Shaw without values": partial(shaw_keys.outputs, *qkv, p, p, causal=True),
        MODULES[1]: partial(transformer_xl.outputs, *qkv, p, p, causal=True),
        "Shaw, with its weights": partial(shaw, *qkv, p, p, mask=mask),
        "Transformer-XL, with its weights": partial(transformer_xl, *qkv, p, p, mask=mask),
    }
