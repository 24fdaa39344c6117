"""Rotary embedding of queries and keys: time and memory beside a copy of the same bytes."""

from functools import partial

import torch
from torch import Tensor

from benchmarks import peers
from benchmarks.peers import Rotate, both
from benchmarks.report import ABSENT, Report, Target, number
from benchmarks.timing import Cases, Race, peak_bytes, race
from posenc import angles, inverse_frequencies, phasors, rotate

LARGE, SMALL, TOKEN = (1, 32, 8_192, 128), (1, 8, 512, 64), (1, 32, 1, 128)
QUICK_LARGE = (1, 8, 2_048, 128)
OURS = ("posenc interleaved", "posenc half")
HALF = ("posenc half", "vLLM-style", "transformers Llama")
OVER_LLAMA = {  # transformers pairs halves: memory holds no complex numbers there, and that costs
    ("large", "posenc interleaved"): 4.0,
    ("large", "posenc half"): 3.0,
    ("small", "posenc interleaved"): 4.0,
    ("small", "posenc half"): 1.5,
}
COMPILED = {"float32": 1.25, "bfloat16": 1.5}  # times a copy


def run(report: Report, *, quick: bool) -> None:
    """Report forward, backward, compiled, memory; float32 and bfloat16."""
    report.section(
        "RoPE on q and k",
        "Interleaved pairs: posenc interleaved, Meta, x-transformers, rotary-embedding-torch;",
        "half-split pairs: posenc half, transformers, vLLM-style. [b, h, n, d] is",
        f"{QUICK_LARGE if quick else LARGE} (large), {SMALL} (small), {TOKEN} (token).",
    )
    shapes = {"large": QUICK_LARGE if quick else LARGE, "small": SMALL, "token": TOKEN}
    _forward(report, shapes, torch.float32, quick)
    _forward(report, shapes, torch.bfloat16, quick)
    _backward(report, shapes, quick)
    _compiled(report, shapes["large"], quick)
    _memory(report, shapes["large"])


def rotations(shape: tuple[int, ...], dtype: torch.dtype) -> dict[str, Rotate | None]:
    """Every implementation, with whatever it can compute ahead computed ahead."""
    length, dim = shape[-2:]
    z = phasors(angles(torch.arange(length), inverse_frequencies(dim)))
    return {
        **{
            f"posenc {pairing}": both(partial(rotate, rotation=z, pairing=pairing))
            for pairing in ("interleaved", "half")
        },
        "Meta, complex": both(partial(peers.meta_rope, rotation=z)),
        "vLLM-style": both(partial(peers.vllm_rope, rotation=z)),
        "transformers Llama": peers.optional(lambda: peers.llama_rope(length, dim, dtype)),
        "x-transformers": peers.optional(lambda: peers.x_transformers_rope(length, dim)),
        "rotary-embedding-torch": peers.optional(lambda: peers.rotary_embedding_torch_rope(dim)),
    }


def _cases(shape: tuple[int, ...], dtype: torch.dtype, *, backward: bool = False) -> Cases:
    q, k, to_q, to_k = (torch.randn(shape, dtype=dtype) for _ in range(4))
    copies = 2 if backward else 1

    def copy() -> None:
        for _ in range(copies):
            to_q.copy_(q), to_k.copy_(k)

    step = _forward_backward if backward else lambda f, q, k: f(q, k)
    cases: Cases = {"two copies" if backward else "copy": copy}
    if not backward:
        cases["clone"] = lambda: (q.clone(), k.clone())
    q.requires_grad_(backward), k.requires_grad_(backward)
    for name, f in rotations(shape, dtype).items():
        cases[name] = f and partial(step, f, q, k)
    return cases


def _forward_backward(f: Rotate, q: Tensor, k: Tensor) -> tuple[Tensor, ...]:
    return torch.autograd.grad(f(q, k), (q, k), (q.detach(), k.detach()))


def _forward(report: Report, shapes: dict, dtype: torch.dtype, quick: bool) -> None:
    races = {
        size: race(_cases(shape, dtype), rounds=_rounds(size, quick), label=f"RoPE {dtype} {size}")
        for size, shape in shapes.items()
    }
    report.line(f"\nForward, {dtype}")
    report.races(races, "copy")
    if dtype == torch.float32:
        report.target(*_float32_targets(races))
    else:
        report.target(*_bfloat16_targets(races, _accurate(report, shapes["small"])))


def _rounds(size: str, quick: bool) -> int:
    if quick:
        return 3
    return 5 if size == "large" else 25


def _float32_targets(races: dict[str, Race]) -> list[Target]:
    large, small, token = races["large"], races["small"], races["token"]
    targets = []
    for size, measured in (("large", large), ("small", small)):
        over_meta = measured.ratio("Meta, complex", "posenc interleaved")
        targets.append(
            Target(f"RoPE f32 {size}, interleaved: speed over Meta", over_meta, 0.95, True)
        )
        for ours in OURS:
            over_llama = measured.ratio("transformers Llama", ours)
            name = f"RoPE f32 {size}, {_pairing(ours)}: speed over transformers"
            targets.append(Target(name, over_llama, OVER_LLAMA[size, ours], True))
    name = "RoPE f32 large, interleaved: time over copy"
    targets.append(Target(name, large.ratio("posenc interleaved", "copy"), 1.3))
    for ours in OURS:
        best = token.fastest(_peers(token, ours))
        name = f"RoPE f32 one token, {_pairing(ours)}: time over {best}"
        targets.append(Target(name, token.ratio(ours, best), 1))
    return targets


def _peers(measured: Race, ours: str) -> list[str]:
    """The peers that pair channels as `ours` does."""
    others = [name for name in measured.seconds if name not in (*OURS, "copy", "clone")]
    return [name for name in others if (name in HALF) == (ours in HALF)]


def _bfloat16_targets(races: dict[str, Race], accurate: list[str]) -> list[Target]:
    targets = []
    for size in ("large", "small"):
        for ours in OURS:
            alike = (name for name in _peers(races[size], ours) if name in accurate)
            bests = dict.fromkeys((races[size].fastest(accurate), races[size].fastest(alike)))
            for best in bests:
                name = f"RoPE bf16 {size}, {_pairing(ours)}: speed over {best}"
                targets.append(Target(name, races[size].ratio(best, ours), 1.3, True))
    return targets


def _pairing(ours: str) -> str:
    return ours.removeprefix("posenc ")


def _accurate(report: Report, shape: tuple[int, ...]) -> list[str]:
    """Print errors in bfloat16; return the peers that are as exact as float32 arithmetic."""
    x = torch.randn(shape, dtype=torch.bfloat16)
    exact = {pairing: _exact(x.double(), pairing) for pairing in ("interleaved", "half")}
    errors = {}
    for name, f in rotations(shape, torch.bfloat16).items():
        pairing = "half" if name in HALF else "interleaved"
        errors[name] = None if f is None else (f(x, x)[0] - exact[pairing]).square().mean().sqrt()
    rows = [[name, ABSENT if error is None else f"{error:.1e}"] for name, error in errors.items()]
    report.line()
    report.table([f"error in bfloat16, {shape[-2]} positions", "root mean square"], rows)
    bound = 1.1 * errors["posenc interleaved"]
    return [name for name, error in errors.items() if name not in OURS and error and error < bound]


def _exact(x: Tensor, pairing: str) -> Tensor:
    """The rotation in complex128, written with strides of the pairs."""
    length, dim = x.shape[-2:]
    turn = angles(torch.arange(length), inverse_frequencies(dim))
    pairs = x.unflatten(-1, (2, -1)).mT if pairing == "half" else x.unflatten(-1, (-1, 2))
    z = torch.complex(pairs[..., 0], pairs[..., 1]) * torch.exp(1j * turn)
    out = torch.view_as_real(z)
    return (out.mT if pairing == "half" else out).flatten(-2)


def _backward(report: Report, shapes: dict[str, tuple[int, ...]], quick: bool) -> None:
    races = {
        f"{str(dtype)[6:]} {size}": race(
            _cases(shapes[size], dtype, backward=True),
            rounds=3 if quick or size == "large" else 15,
            label=f"RoPE forward + backward {dtype} {size}",
        )
        for dtype in (torch.float32, torch.bfloat16)
        for size in ("large", "small")
    }
    report.line("\nForward and backward")
    report.races(races, "two copies")
    targets = []
    for size in ("large", "small"):
        f32, bf16 = races[f"float32 {size}"], races[f"bfloat16 {size}"]
        over_meta = f32.ratio("posenc interleaved", "Meta, complex")
        name = f"RoPE f32 {size}, forward + backward, interleaved: time over Meta"
        targets.append(Target(name, over_meta, 1.3))
        best = bf16.fastest(name for name in bf16.seconds if name not in (*OURS, "two copies"))
        for ours in OURS:
            name = f"RoPE bf16 {size}, forward + backward, {_pairing(ours)}: speed over {best}"
            targets.append(Target(name, bf16.ratio(best, ours), 1.3, True))
    report.target(*targets)


def _compiled(report: Report, shape: tuple[int, ...], quick: bool) -> None:
    races = {}
    chosen = OURS if quick else (*OURS, "transformers Llama")
    for dtype in (torch.float32,) if quick else (torch.float32, torch.bfloat16):
        eager = _cases(shape, dtype)
        cases = {"copy": eager["copy"]}
        q, k = torch.randn(shape, dtype=dtype), torch.randn(shape, dtype=dtype)
        for name, f in rotations(shape, dtype).items():
            if name in chosen:
                cases[name] = f and partial(torch.compile(f, dynamic=False, fullgraph=True), q, k)
        races[str(dtype)[6:]] = race(cases, rounds=3 if quick else 7, label="RoPE compiled")
    report.line("\nCompiled with torch.compile, large")
    report.races(races, "copy")
    report.target(
        *(
            Target(
                f"RoPE {dtype} compiled, {_pairing(ours)}: time over copy", spread, COMPILED[dtype]
            )
            for dtype, measured in races.items()
            for ours in OURS
            for spread in (measured.ratio(ours, "copy"),)
        )
    )


def _memory(report: Report, shape: tuple[int, ...]) -> None:
    columns = {}
    for dtype in (torch.float32, torch.bfloat16):
        q, k = torch.randn(shape, dtype=dtype), torch.randn(shape, dtype=dtype)
        columns[dtype] = {
            name: f and peak_bytes(partial(f, q, k)) / (2 * q.nbytes)
            for name, f in rotations(shape, dtype).items()
        }
    report.line(f"\nPeak memory of the results and all that is allocated on the way, {shape}")
    rows = [
        [name, *(number(column[name]) for column in columns.values())]
        for name in columns[torch.float32]
    ]
    report.table(["bytes of q and k = 1", *(str(dtype)[6:] for dtype in columns)], rows)
    report.target(
        *(
            Target(f"RoPE {str(dtype)[6:]}, {_pairing(ours)}: extra memory", column[ours], 1.05)
            for dtype, column in columns.items()
            for ours in OURS
        )
    )
