import pytest
import torch
from helpers import same
from hypothesis import given
from hypothesis import strategies as st

from posenc import LearnedEncoding


@given(st.lists(st.integers(0, 6), min_size=1, max_size=6), st.sampled_from([1, 5]))
def test_a_position_looks_up_its_row(positions, dim):
    encoding = LearnedEncoding(7, dim)
    expected = torch.stack([encoding.weight[p] for p in positions])
    same(encoding(torch.tensor(positions)), expected)


@pytest.mark.parametrize("num_positions", [3, 512])
@pytest.mark.parametrize("dim", [1, 64])
def test_the_last_position_is_the_last_row(num_positions, dim):
    encoding = LearnedEncoding(num_positions, dim)
    assert encoding.weight.shape == (num_positions, dim)
    same(encoding(torch.tensor([num_positions - 1]))[0], encoding.weight[-1])


@pytest.mark.parametrize("shape", [(), (4,), (2, 1, 3)])
@pytest.mark.parametrize("integer", [torch.int32, torch.int64])
def test_positions_keep_their_shape(shape, integer):
    encoding = LearnedEncoding(9, 5)
    positions = torch.full(shape, 8, dtype=integer)
    same(encoding(positions), encoding.weight[8].expand(*shape, 5))


@pytest.mark.parametrize("std", [0.02, 1.5])
def test_rows_start_normal_with_the_given_deviation(std):
    torch.manual_seed(0)
    weight = LearnedEncoding(400, 100, std=std).weight
    assert weight.std().item() == pytest.approx(std, rel=0.02)
    assert weight.mean().item() == pytest.approx(0, abs=std / 50)


def test_rows_start_small_by_default():
    torch.manual_seed(0)
    assert LearnedEncoding(400, 100).weight.std().item() == pytest.approx(0.02, rel=0.02)


def test_zero_deviation_starts_at_zero():
    same(LearnedEncoding(3, 2, std=0.0).weight.detach(), torch.zeros(3, 2))


def test_only_the_rows_looked_up_learn():
    encoding = LearnedEncoding(4, 3)
    encoding(torch.tensor([[2, 0], [2, 2]])).sum().backward()
    same(encoding.weight.grad, torch.tensor([1.0, 0, 3, 0])[:, None].expand(4, 3))


def test_a_table_of_one_row_is_looked_up_where_positions_have_no_values():
    encoding = LearnedEncoding(1, 3)
    same(torch.func.vmap(encoding)(torch.zeros(2, 4, dtype=int)), encoding.weight.expand(2, 4, 3))


def test_rows_follow_the_dtype_of_the_table():
    encoding = LearnedEncoding(4, 3).to(torch.bfloat16)
    same(encoding(torch.arange(2)), encoding.weight[:2])
