import shutil

import pytest
import spec
import torch
from helpers import (
    ROUNDING,
    bases,
    close,
    dims,
    position_tensors,
    randn,
    same,
    seeds,
    starts,
)
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import gradcheck

from posenc import angles, inverse_frequencies, phasors, rotary, rotate

SPEC = {"interleaved": spec.rope_interleaved, "half": spec.rope_half}
both_pairings = pytest.mark.parametrize("pairing", SPEC)
low_precisions = pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])


def turns(n: int, dim: int, *, start: int = 0, base: float = 10_000.0) -> torch.Tensor:
    return angles(torch.arange(start, start + n), inverse_frequencies(dim, base=base))


def bhnd(b=2, h=3, n=5, d=8, dtype=torch.float32) -> torch.Tensor:
    return randn(b, h, n, d, dtype=torch.float64).to(dtype)


def layouts(b=2, h=3, n=5, d=8, dtype=torch.float32) -> dict[str, tuple]:
    """The ways x and its angles arrive: shapes, strides, and positions of their own."""
    own = angles(torch.arange(b * n).reshape(b, n), inverse_frequencies(d))
    return {
        "[b, h, n, d]": (bhnd(b, h, n, d, dtype), turns(n, d)),
        "transposed": (bhnd(b, n, h, d, dtype).transpose(1, 2), turns(n, d)),
        "[b, n, h, d]": (bhnd(b, n, h, d, dtype), turns(n, d)[None, :, None]),
        "[n, d]": (bhnd(b, h, n, d, dtype)[1, 2], turns(n, d)),
        "sliced": (bhnd(b, h, n, d + 4, dtype)[..., 2 : d + 2], turns(n, d)),
        "every other": (bhnd(b, h, 2 * n, 2 * d, dtype)[..., ::2, ::2], turns(n, d)),
        "own positions": (bhnd(b, h, n, d, dtype), own[:, None]),
        "one token": (bhnd(b, h, 1, d, dtype), turns(1, d, start=77)),
    }


@both_pairings
@given(position_tensors(), dims, bases, st.integers(0, 3), seeds)
def test_pairs_turn_as_in_the_paper(pairing, positions, dim, base, rest, seed):
    x = randn(len(positions), dim + rest, seed=seed)
    rotation = angles(positions, inverse_frequencies(dim, base=base))
    expected = SPEC[pairing](x.numpy(), positions.tolist(), dim, base)
    partial = rotate(x, rotation, pairing=pairing, rotary_dim=dim)
    close(partial, expected, atol=1e-10)
    close(rotate(x[:, :dim], rotation, pairing=pairing), expected[:, :dim], atol=1e-10)


@both_pairings
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_each_precision_is_near_the_paper(pairing, dtype):
    x = randn(64, 32).clamp(-0.7, 0.7).to(dtype)
    rotation = turns(64, 32, start=100_000)
    expected = SPEC[pairing](x.double().numpy(), range(100_000, 100_064), 32)
    turned = rotate(x, rotation, pairing=pairing)
    assert turned.dtype == dtype
    close(turned, expected, atol=ROUNDING[dtype] + 3e-7)


@both_pairings
@pytest.mark.parametrize("name", layouts())
def test_every_layout_turns_each_row_by_its_own_angles(pairing, name):
    x, rotation = layouts(dtype=torch.float64)[name]
    rows = zip(
        x.reshape(-1, 1, 8),
        rotation.expand(*x.shape[:-1], 4).reshape(-1, 1, 4),
        strict=True,
    )
    expected = torch.cat([rotate(*row, pairing=pairing) for row in rows]).reshape(x.shape)
    close(rotate(x, rotation, pairing=pairing), expected, atol=1e-15)


@both_pairings
@pytest.mark.parametrize("name", layouts())
@pytest.mark.parametrize("rotary_dim", [None, 6])
def test_the_real_formula_agrees_with_the_complex_product(pairing, name, rotary_dim):
    x, rotation = layouts()[name]
    rotation, width = rotation[..., : (rotary_dim or 8) // 2], rotary_dim or 8
    real = rotary._turn_real(x[..., :width], phasors(rotation), pairing)
    turned = rotate(x, rotation, pairing=pairing, rotary_dim=rotary_dim)
    close(turned[..., :width], real, atol=5e-7)
    same(turned[..., width:], x[..., width:])
    low = rotary._turn_real(x[..., :width].bfloat16(), phasors(rotation), pairing)
    assert low.dtype == torch.bfloat16
    close(low, real, atol=16 * ROUNDING[torch.bfloat16])


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", layouts())
@pytest.mark.parametrize("rotary_dim", [None, 6])
@pytest.mark.parametrize("train", [False, True])
def test_halves_in_real_numbers_agree_with_the_complex_product(
    dtype, name, rotary_dim, train, monkeypatch
):
    x, rotation = layouts(dtype=dtype)[name]
    rotation, options = rotation[..., : (rotary_dim or 8) // 2], {"pairing": "half"}
    complex_product = rotate(x, rotation, rotary_dim=rotary_dim, **options)
    bound = 1e-15 if dtype == torch.float64 else 5e-7 + 8 * ROUNDING[dtype]
    for few, block in ((0, x.numel()), (0, 1), (0, 40)):
        monkeypatch.setattr(rotary, "_FEW", few)
        monkeypatch.setattr(rotary, "_BLOCK", block)
        leaf = x.clone().requires_grad_(train)
        turned = rotate(leaf, rotation, rotary_dim=rotary_dim, **options)
        assert turned.dtype == dtype
        close(turned, complex_product, atol=bound)
        if train:
            upstream = randn(*x.shape, seed=5).to(dtype)
            (grad,) = torch.autograd.grad(turned, leaf, upstream)
            back = rotate(upstream, -rotation, rotary_dim=rotary_dim, **options)
            close(grad, back, atol=bound)


@both_pairings
@low_precisions
@pytest.mark.parametrize("name", layouts())
def test_low_precision_is_float32_arithmetic_rounded_once(pairing, dtype, name):
    x, rotation = layouts(dtype=dtype)[name]
    expected = rotate(x.float(), rotation, pairing=pairing).to(dtype)
    same(rotate(x, rotation, pairing=pairing), expected)


@both_pairings
@low_precisions
@pytest.mark.parametrize("name", layouts())
@pytest.mark.parametrize("rotary_dim", [None, 4])
def test_a_low_precision_gradient_is_the_turn_back_rounded_once(pairing, dtype, name, rotary_dim):
    x, rotation = layouts(dtype=dtype)[name]
    rotation = rotation[..., : (rotary_dim or 8) // 2]
    grad = randn(*x.shape, seed=5).to(dtype)
    gradients = []
    for wide in (x, x.float()):
        leaf = wide.detach().requires_grad_()
        turned = rotate(leaf, rotation, pairing=pairing, rotary_dim=rotary_dim)
        turned.backward(grad.to(leaf.dtype))
        gradients.append(leaf.grad)
    same(gradients[0], gradients[1].to(dtype))


@both_pairings
@low_precisions
@pytest.mark.parametrize("name", layouts())
@pytest.mark.parametrize("rotary_dim", [None, 4])
def test_blocks_leave_no_trace(pairing, dtype, name, rotary_dim, monkeypatch):
    monkeypatch.setattr(rotary, "_FEW", 0)
    x, rotation = layouts(dtype=dtype)[name]
    rotation = rotation[..., : (rotary_dim or 8) // 2]
    whole = rotate(x, rotation, pairing=pairing, rotary_dim=rotary_dim)
    for block in (1, 7, 8, 24, 40, 100):
        monkeypatch.setattr(rotary, "_BLOCK", block)
        same(rotate(x, rotation, pairing=pairing, rotary_dim=rotary_dim), whole)


@both_pairings
@low_precisions
@pytest.mark.parametrize("name", layouts())
def test_real_blocks_leave_no_trace(pairing, dtype, name, monkeypatch):
    x, rotation = layouts(2, 3, 1500, 64, dtype)[name]
    blocked = rotate(x, rotation, pairing=pairing)
    monkeypatch.setattr(rotary, "_BLOCK", x.numel())
    same(rotate(x, rotation, pairing=pairing), blocked)


@both_pairings
def test_a_long_vector_of_one_row_is_one_block(pairing, monkeypatch):
    monkeypatch.setattr(rotary, "_BLOCK", 4)
    x = randn(1, 64).to(torch.bfloat16)
    same(rotate(x, turns(1, 64), pairing=pairing), x)


@both_pairings
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_angles_and_their_phasors_are_the_same_rotation(pairing, dtype):
    x, exact = bhnd(dtype=dtype), phasors(turns(5, 8), dtype=torch.complex128)
    rotations = [turns(5, 8), exact] + [exact.to(torch.complex64)] * (dtype != torch.float64)
    first, *others = (rotate(x, r, pairing=pairing) for r in rotations)
    for other in others:
        same(other, first)


@both_pairings
@given(starts, starts, st.integers(-100_000, 100_000), dims, bases, seeds)
def test_scores_depend_on_relative_position_alone(pairing, p, s, shift, dim, base, seed):
    q, k = randn(2, 1, dim, seed=seed)
    inv_freq = inverse_frequencies(dim, base=base)

    def score(query_position: int, key_position: int) -> torch.Tensor:
        here, there = (angles(torch.tensor([x]), inv_freq) for x in (query_position, key_position))
        return rotate(q, here, pairing=pairing) @ rotate(k, there, pairing=pairing).T

    close(score(p, s), score(p + shift, s + shift), atol=1e-9)
    if dim > 2 and p != s:
        assert not torch.allclose(score(p, s), score(s, p), atol=1e-9)


@both_pairings
@given(position_tensors(), dims, seeds)
def test_turning_keeps_lengths_and_turning_back_undoes_it(pairing, positions, dim, seed):
    x = randn(len(positions), dim, seed=seed)
    rotation = angles(positions, inverse_frequencies(dim))
    turned = rotate(x, rotation, pairing=pairing)
    close(turned.norm(dim=-1), x.norm(dim=-1), atol=1e-13)
    close(rotate(turned, -rotation, pairing=pairing), x, atol=1e-13)


@both_pairings
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("gain", [0.5, 1.25])
def test_a_gain_lengthens_what_turns_and_nothing_else(pairing, dtype, gain):
    x, exact = bhnd(dtype=dtype), {"dtype": torch.complex128}
    plain = rotate(x.double(), phasors(turns(5, 6), **exact), pairing=pairing, rotary_dim=6)
    longer = rotate(x, phasors(turns(5, 6), gain=gain, **exact), pairing=pairing, rotary_dim=6)
    close(
        longer[..., :6], gain * plain[..., :6], atol=3 * ROUNDING[dtype] * plain.abs().max() + 1e-14
    )
    same(longer[..., 6:], x[..., 6:])


@pytest.mark.parametrize("rotary_dim", [None, 4])
@pytest.mark.parametrize(("pairing", "out"), [("interleaved", "half"), ("half", "interleaved")])
def test_pairs_may_be_read_from_one_place_and_written_to_another(pairing, out, rotary_dim):
    x, width = bhnd(dtype=torch.float64), rotary_dim or 8
    options = {"pairing": pairing, "rotary_dim": rotary_dim}
    moved = rotate(x, turns(5, width), pairing_out=out, **options)
    stayed = rotate(x, turns(5, width), **options)
    pairs = torch.arange(width).reshape(*((-1, 2) if pairing == "interleaved" else (2, -1)))
    same(moved[..., :width], stayed[..., pairs.T.flatten()])
    same(moved[..., width:], x[..., width:])


@both_pairings
@pytest.mark.parametrize("axis", [-3, 1])
def test_positions_run_along_the_axis_that_is_named(pairing, axis):
    square = bhnd(2, 4, 4, 8)
    expected = rotate(square.transpose(1, 2), turns(4, 8), pairing=pairing).transpose(1, 2)
    close(rotate(square, turns(4, 8), pairing=pairing, axis=axis), expected, atol=1e-6)
    assert not torch.allclose(rotate(square, turns(4, 8), pairing=pairing), expected, atol=1e-3)


@both_pairings
def test_position_zero_stays(pairing):
    x = bhnd(n=1)
    same(rotate(x, turns(1, 8), pairing=pairing), x)


@given(position_tensors(), dims, seeds)
def test_pairings_differ_by_an_order_of_channels(positions, dim, seed):
    x = randn(len(positions), dim, seed=seed)
    rotation = angles(positions, inverse_frequencies(dim))
    grouped = torch.cat((torch.arange(0, dim, 2), torch.arange(1, dim, 2)))
    turned = rotate(x[:, grouped], rotation, pairing="half")
    close(turned, rotate(x, rotation, pairing="interleaved")[:, grouped], atol=1e-14)


@both_pairings
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_input_stays_as_it_was(pairing, dtype):
    x = bhnd(dtype=dtype)
    before = x.clone()
    rotate(x, turns(5, 8), pairing=pairing).zero_()
    same(x, before)


@both_pairings
@pytest.mark.parametrize("rotary_dim", [None, 4])
@pytest.mark.parametrize("lead", [(), (2,)])
def test_the_gradient_is_right(pairing, rotary_dim, lead):
    x = randn(*lead, 3, 6).requires_grad_()
    rotation = turns(3, rotary_dim or 6, start=2).requires_grad_()
    options = {"pairing": pairing, "rotary_dim": rotary_dim}
    assert gradcheck(lambda x, rotation: rotate(x, rotation, **options), (x, rotation))


@both_pairings
def test_the_low_precision_gradient_can_be_differentiated_again(pairing):
    x = bhnd(dtype=torch.bfloat16).requires_grad_()
    loss = rotate(x, turns(5, 8), pairing=pairing).float().square().sum()
    (grad,) = torch.autograd.grad(loss, x, create_graph=True)
    (curvature,) = torch.autograd.grad(grad.float().sum(), x)
    close(curvature, torch.full_like(x, 2), atol=0.02)


@pytest.mark.skipif(
    not any(map(shutil.which, ("g++", "clang++"))), reason="torch.compile needs a C++ compiler"
)
@pytest.mark.usefixtures("annotations_off")
@pytest.mark.filterwarnings("ignore:`torch.jit.script_method` is deprecated:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:Torchinductor does not support code generation for complex")
@pytest.mark.parametrize("pairing", SPEC)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_compiled_it_agrees(pairing, dtype):
    x, z = bhnd(dtype=dtype), phasors(turns(5, 8))
    compiled = torch.compile(rotate, fullgraph=True)
    close(compiled(x, z, pairing=pairing), rotate(x, z, pairing=pairing), atol=5e-7)


@both_pairings
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_an_empty_batch_stays_empty(pairing, dtype):
    x = torch.ones(0, 2, 5, 8, dtype=dtype)
    same(rotate(x, turns(5, 8), pairing=pairing), x)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
@pytest.mark.parametrize("pairing", ["half", "interleaved"])
def test_the_rotation_can_be_learned_whatever_the_dtype_of_x(pairing, dtype):
    x = randn(3, 4).to(dtype)
    turn = randn(3, 2, seed=1).requires_grad_()
    rotate(x, turn, pairing=pairing)[..., 0].sum().backward()
    other = 2 if pairing == "half" else 1
    a, b = x[:, 0].double(), x[:, other].double()
    expected = -a * turn[:, 0].detach().sin() - b * turn[:, 0].detach().cos()
    close(turn.grad[:, 0], expected, atol=1e-6)
    assert turn.grad[:, 1].abs().max() == 0
