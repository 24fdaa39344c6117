import mpmath
import numpy as np
import pytest
import spec
import torch
from helpers import ROUNDING, bases, close, dims, dtypes, position_tensors, randn, same, starts
from hypothesis import example, given
from hypothesis import strategies as st

from posenc import (
    inverse_frequencies,
    shift_matrix,
    sinusoidal,
    sinusoidal_encoding,
    tensor2tensor_encoding,
)

mpmath.mp.dps = 40
FAR = torch.cat((torch.arange(2048), torch.arange(0, 1_000_001, 997), torch.tensor([-999_999])))
SPEC = {"interleaved": spec.sinusoidal_interleaved, "half": spec.sinusoidal_half}


@pytest.mark.parametrize("layout", SPEC)
@given(position_tensors(), dims, bases, dtypes)
@example(torch.tensor([300]), 2, 10_000.0, torch.float16)  # beside a tie: rounded twice
def test_entries_are_the_papers(layout, positions, dim, base, dtype):
    table = sinusoidal_encoding(positions, dim, base=base, layout=layout, dtype=dtype)
    assert table.dtype == dtype
    close(table, SPEC[layout](positions.tolist(), dim, base), atol=ROUNDING[dtype] + 1e-10)


@given(position_tensors(), dims, bases, dtypes)
@example(torch.tensor([300]), 2, 10_000.0, torch.float16)  # beside a tie: rounded twice
@example(torch.tensor([6985]), 10, 10_000.0, torch.bfloat16)
def test_tensor2tensor_entries_are_the_codes(positions, dim, base, dtype):
    table = tensor2tensor_encoding(positions, dim, base=base, dtype=dtype)
    assert table.dtype == dtype
    close(table, spec.tensor2tensor(positions.tolist(), dim, base), atol=ROUNDING[dtype] + 1e-10)


def test_the_default_is_float32_interleaved_with_base_10000():
    table = sinusoidal_encoding(torch.arange(9), 6)
    assert table.dtype == torch.float32
    close(table, spec.sinusoidal_interleaved(range(9), 6), atol=ROUNDING[torch.float32])


@pytest.mark.parametrize("dim", [32, 128])
@pytest.mark.parametrize("base", [10_000.0, 500_000.0])
def test_every_float32_entry_is_the_float64_formula_rounded_once(dim, base):
    turns = FAR.numpy()[:, None] * inverse_frequencies(dim, base=base).numpy()
    table = sinusoidal_encoding(FAR, dim, base=base)
    same(table[:, 0::2], np.float32(np.sin(turns)))
    same(table[:, 1::2], np.float32(np.cos(turns)))


@pytest.mark.parametrize("dim", [32, 128])
def test_every_float32_entry_of_tensor2tensor_is_rounded_once(dim):
    turns = FAR.numpy()[:, None] * inverse_frequencies(dim, endpoint=True).numpy()
    expected = np.concatenate((np.sin(turns), np.cos(turns)), axis=1)
    same(tensor2tensor_encoding(FAR, dim), np.float32(expected))


@pytest.mark.parametrize("dim", [16, 64])
@pytest.mark.parametrize("base", [10_000.0, 500_000.0])
def test_entries_at_a_million_agree_with_forty_digits(dim, base):
    positions = [0, 1, 4097, 131_071, 999_983, 1_000_000]
    table = sinusoidal_encoding(torch.tensor(positions), dim, base=base).numpy()
    for row, p in zip(table, positions, strict=True):
        for c, entry in enumerate(row):
            turn = p * mpmath.mpf(base) ** (-mpmath.mpf(c // 2 * 2) / dim)
            truth = mpmath.cos(turn) if c % 2 else mpmath.sin(turn)
            assert abs(float(entry) - truth) <= np.spacing(abs(entry)) / 2 + 2e-10


@given(position_tensors(), dims)
def test_layouts_hold_the_same_numbers(positions, dim):
    interleaved = sinusoidal_encoding(positions, dim)
    grouped = sinusoidal_encoding(positions, dim, layout="half")
    same(grouped, torch.cat((interleaved[:, 0::2], interleaved[:, 1::2]), dim=1))


@pytest.mark.parametrize("encode", [sinusoidal_encoding, tensor2tensor_encoding])
@pytest.mark.parametrize("shape", [(), (4,), (2, 1, 3)])
def test_positions_keep_their_shape(encode, shape):
    positions = randn(*shape).mul(100).round().long()
    rows = [encode(p.reshape(1), 6) for p in positions.flatten()]
    same(encode(positions, 6), torch.cat(rows).reshape(*shape, 6))


@pytest.mark.parametrize("layout", SPEC)
def test_blocks_leave_no_trace(layout, monkeypatch):
    whole = sinusoidal_encoding(torch.arange(257), 6, layout=layout)
    for block in (1, 6, 18, 6 * 256):
        monkeypatch.setattr(sinusoidal, "_BLOCK", block)
        same(sinusoidal_encoding(torch.arange(257), 6, layout=layout), whole)


@given(starts, dims, bases)
def test_every_row_has_the_same_length(start, dim, base):
    row = sinusoidal_encoding(torch.tensor([start]), dim, base=base, dtype=torch.float64)
    assert row.norm().item() == pytest.approx((dim / 2) ** 0.5, rel=1e-14)


@given(st.floats(-1000, 1000), dims, bases)
def test_the_shift_matrix_is_the_rotation(offset, dim, base):
    matrix = shift_matrix(offset, inverse_frequencies(dim, base=base))
    close(matrix, spec.shift_matrix(offset, dim, base), atol=1e-12)


@given(starts, st.floats(-1000, 1000), dims, bases)
def test_a_shift_is_linear_for_every_position(start, offset, dim, base):
    positions = torch.tensor([start, start + 0.5, start + 9], dtype=torch.float64)
    here, there = (
        sinusoidal_encoding(p, dim, base=base, dtype=torch.float64)
        for p in (positions, positions + offset)
    )
    close(here @ shift_matrix(offset, inverse_frequencies(dim, base=base)), there, atol=1e-11)


@given(st.floats(-100, 100), st.floats(-100, 100), dims)
def test_shifts_add_up(a, b, dim):
    inv_freq = inverse_frequencies(dim)
    product = shift_matrix(a, inv_freq) @ shift_matrix(b, inv_freq)
    close(product, shift_matrix(a + b, inv_freq), atol=1e-12)


def test_tensor2tensor_is_not_the_papers_table_regrouped():
    paper = sinusoidal_encoding(torch.arange(64), 16, layout="half")
    gap = (tensor2tensor_encoding(torch.arange(64), 16) - paper).abs().max().item()
    assert gap > 0.5
