"""What posenc computes stays right when torch transforms it: mapped, differentiated, compiled.

Checks of values need values. Where a transform has none, they are left out; those of shapes stay.
"""

import inspect
import shutil
from functools import partial
from types import UnionType
from typing import get_args

import pytest
import torch
from helpers import qkv, randn, run
from jaxtyping import AbstractArray
from torch import nn
from torch.func import jacfwd, jacrev, vmap

import posenc
from posenc import (
    LearnedEncoding,
    ShawRelative,
    T5RelativeBias,
    TransformerXLRelative,
    alibi_bias,
    alibi_slopes,
    angles,
    attention,
    axial_angles,
    axial_frequencies,
    causal_mask,
    diagonals,
    dynamic_ntk_scaling,
    inverse_frequencies,
    linear_scaling,
    llama3_scaling,
    longrope_scaling,
    ntk_scaling,
    parts_scaling,
    phasors,
    proportional_scaling,
    query_gain,
    relative_attention,
    relative_positions,
    rotary,
    rotate,
    shift_matrix,
    sinusoidal,
    sinusoidal_encoding,
    skew,
    t5_buckets,
    tensor2tensor_encoding,
    toeplitz,
    wavelengths,
    yarn_scaling,
)

pytestmark = [
    pytest.mark.usefixtures("annotations_off"),
    pytest.mark.filterwarnings("ignore:`torch.jit.script_method` is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Torchinductor does not support code generation for complex"),
    pytest.mark.filterwarnings("ignore:.* should not be instantiated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:There is a performance drop because we have not yet"),
]


def cases(device="cpu"):
    """Calls and their arguments; those of floats, which can be differentiated, come first."""
    torch.manual_seed(0)
    p = run(3, 5).to(device)
    mask, relative = causal_mask(p, p), relative_positions(p, p)
    frequencies = inverse_frequencies(8, base=9.0).to(device)
    turns = angles(p, frequencies)
    factors = randn(4).to(device).abs() + 1
    pairs, axes = (t.to(device) for t in axial_frequencies(8, base=9.0))
    longer = {"factor": 4.0, "trained_length": 16}
    x = [t.to(device) for t in qkv(5, 5, 8, 8, lead=(2, 3))]
    alibi = partial(alibi_bias, alibi_slopes(3).to(device), dtype=torch.float64)
    t5, shaw, xl = (
        layer.double().requires_grad_(False).to(device)
        for layer in (
            T5RelativeBias(3, std=1.0),
            ShawRelative(8, max_distance=2, std=1.0),
            TransformerXLRelative(3, 8, 6, std=1.0),
        )
    )

    def turned(pairing):
        return lambda x, t: rotate(x, t, pairing=pairing, rotary_dim=8)

    def encoded(layout):
        return partial(sinusoidal_encoding, dim=6, layout=layout, dtype=torch.float64)

    def scaled(function, **options):
        return lambda w: function(w, **options)[0]

    def yarn(ramp):
        return scaled(yarn_scaling, **longer, slow=0.3, fast=2.0, ramp=ramp)

    def attended(layer):
        return lambda q, k, v: layer(q, k, v, p, p, mask=mask)[0]

    def by_diagonal(bias, causal):
        return lambda *x: relative_attention(*x, bias, p, p, causal=causal, block_size=2)

    smooth = {
        "angles": (partial(angles, inv_freq=frequencies), p.double()),
        "phasors": (lambda t: torch.view_as_real(phasors(t, dtype=torch.complex128)), turns),
        "wavelengths": (wavelengths, frequencies),
        "linear": (scaled(linear_scaling, factor=4.0), frequencies),
        "NTK": (scaled(ntk_scaling, factor=4.0), frequencies),
        "dynamic NTK": (scaled(dynamic_ntk_scaling, **longer, length=40), frequencies),
        "parts": (scaled(parts_scaling, **longer, slow=0.3, fast=2.0), frequencies),
        "Llama 3": (scaled(llama3_scaling, **longer, slow=0.3, fast=2.0), frequencies),
        "YaRN, rotations": (yarn("rotations"), frequencies),
        "YaRN, dimensions": (lambda s: yarn("dimensions")(s * frequencies), frequencies[:1]),
        "LongRoPE": (
            scaled(
                longrope_scaling, short_factors=factors, long_factors=factors, length=9, **longer
            ),
            frequencies,
        ),
        "proportional": (scaled(proportional_scaling, share=0.5), frequencies),
        "axial": (partial(axial_angles, inv_freq=pairs, axis=axes), randn(5, 2).to(device)),
        "shift": (partial(shift_matrix, 3.0), frequencies),
        "tensor2tensor": (
            partial(tensor2tensor_encoding, dim=6, dtype=torch.float64),
            p.double(),
        ),
        "sinusoidal": (encoded("interleaved"), p.double()),
        "sinusoidal, half": (encoded("half"), p.double()),
        "rotate half": (turned("half"), randn(5, 10).to(device), turns),
        "rotate interleaved": (turned("interleaved"), randn(5, 10).to(device), turns),
        "alibi": (alibi, relative.double() + 0.25),
        "attention": (lambda *x: attention(*x, bias=alibi(relative), mask=mask)[0], *x),
        "toeplitz": (partial(toeplitz, num_queries=3), randn(2, 7).to(device)),
        "skew": (skew, randn(2, 3, 7).to(device)),
        "Shaw": (attended(shaw), *x),
        "Transformer-XL": (attended(xl), *x),
    }
    other = {  # functions of integers, and those whose fused kernel has no forward derivative
        "relative_attention, ALiBi": (by_diagonal(alibi, True), *x),
        "relative_attention, T5": (by_diagonal(t5, False), *x),
        "rotate bf16": (partial(rotate, pairing="half"), x[0].bfloat16()[0, 0], turns),
        "learned": (LearnedEncoding(9, 4).requires_grad_(False).to(device), p),
        "T5": (t5, relative),
        "t5_buckets": (t5_buckets, relative),
        "causal_mask": (causal_mask, p, p),
        "relative_positions": (relative_positions, p, p + 1),
        "diagonals": (diagonals, p, p + 1),
        "axial of integers": (
            partial(axial_angles, inv_freq=pairs, axis=axes),
            p[:, None] + run(0, 2).to(p),
        ),
        "query gain": (partial(query_gain, length=3), p),
        "sinusoidal of integers": (partial(sinusoidal_encoding, dim=6), p),
    }
    return smooth, other


SMOOTH, OTHER = cases()
EVERY = SMOOTH | OTHER
each = pytest.mark.parametrize("name", EVERY)


def takes_tensors(function):
    """Whether an argument of a function, or of a module's forward, is annotated as an array."""
    if inspect.isclass(function):
        function = function.forward if issubclass(function, nn.Module) else function.__init__
    kinds = [p.annotation for p in inspect.signature(function).parameters.values()]
    kinds += [part for kind in kinds if isinstance(kind, UnionType) for part in get_args(kind)]
    return any(inspect.isclass(kind) and issubclass(kind, AbstractArray) for kind in kinds)


def test_whatever_takes_tensors_is_asked(monkeypatch):
    every = {name for name in posenc.__all__ if takes_tensors(getattr(posenc, name))}
    asked = set()

    def noting(name):
        return lambda *x, **options: asked.add(name) or getattr(posenc, name)(*x, **options)

    for name in every:
        monkeypatch.setitem(globals(), name, noting(name))
    smooth, other = cases()
    for f, *x in (smooth | other).values():
        f(*x)
    assert asked == every


def near(actual, expected):
    """float64 to its rounding, bfloat16 to one of its own."""
    atol = 1e-9 if expected.dtype.itemsize > 4 else 2e-2
    torch.testing.assert_close(actual, expected, rtol=0, atol=atol)


@pytest.fixture(params=["in one block", "in blocks"])
def blocks(request, monkeypatch):
    """Small and large inputs take different ways."""
    if request.param == "in blocks":
        monkeypatch.setattr(rotary, "_BLOCK", 8)
        monkeypatch.setattr(sinusoidal, "_BLOCK", 8)


@pytest.mark.usefixtures("blocks")
@each
def test_it_can_be_mapped_over_a_batch(name):
    f, *x = EVERY[name]
    batch = [torch.stack((t, t + 1)) for t in x]
    expected = torch.stack([f(*(t[i] for t in batch)) for i in range(2)])
    near(vmap(f)(*batch), expected)


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize("name", SMOOTH)
def test_both_modes_of_differentiation_agree_with_differences(name):
    f, *x = SMOOTH[name]
    every = tuple(range(len(x)))
    steps = [1e-5 * randn(*t.shape, seed=9) for t in x]
    moved = f(*map(torch.add, x, steps)) - f(*map(torch.sub, x, steps))
    for mode in (jacrev, jacfwd):
        slopes = mode(f, argnums=every)(*x)
        parts = (
            (slope * step).flatten(-step.ndim).sum(-1)
            for slope, step in zip(slopes, steps, strict=True)
        )
        torch.testing.assert_close(2 * sum(parts), moved, rtol=1e-6, atol=1e-10)


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize("pairing", ["half", "interleaved"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_low_precision_has_a_forward_derivative(pairing, dtype):
    x, moves = randn(2, 3, 5, 8).to(dtype), randn(2, 3, 5, 8, seed=1).to(dtype)
    f = partial(rotate, rotation=EVERY["rotate bf16"][2], pairing=pairing)
    near(torch.func.jvp(f, (x,), (moves,))[1], f(moves))


@pytest.mark.skipif(
    not any(map(shutil.which, ("g++", "clang++"))), reason="torch.compile needs a C++ compiler"
)
@pytest.mark.parametrize("name", ["rotate half", "relative_attention, ALiBi"])
def test_it_compiles_to_machine_code(name):
    f, *x = EVERY[name]
    torch.compiler.reset()
    near(torch.compile(f, fullgraph=True)(*x), f(*x))


@each
def test_it_compiles_as_one_graph(name):
    f, *x = EVERY[name]
    torch.compiler.reset()
    near(torch.compile(f, fullgraph=True, backend="aot_eager")(*x), f(*x))


@each
def test_it_can_be_exported(name):
    f, *x = EVERY[name]

    class Program(nn.Module):
        def forward(self, *x):
            return f(*x)

    near(torch.export.export(Program(), tuple(x)).module()(*x), f(*x))


@each
def test_shapes_are_known_without_values(name):
    smooth, other = cases("meta")
    f, *x = (smooth | other)[name]
    out, expected = f(*x), EVERY[name][0](*EVERY[name][1:])
    assert out.is_meta
    assert (out.shape, out.dtype) == (expected.shape, expected.dtype)
