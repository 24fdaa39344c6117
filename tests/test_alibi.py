import math

import pytest
import spec
import torch
from helpers import close, counts, run, same, seeds, starts
from hypothesis import given
from hypothesis import strategies as st

from posenc import alibi_bias, alibi_slopes, diagonals, relative_positions, toeplitz


@pytest.mark.parametrize("num_heads", [*range(1, 34), 40, 64, 71, 112, 128])
def test_slopes_are_the_authors(num_heads):
    slopes = alibi_slopes(num_heads)
    assert slopes.dtype == torch.float64
    close(slopes, spec.alibi_slopes(num_heads), atol=1e-15)


def test_eight_heads_halve_from_one_half_to_one_256th():
    assert alibi_slopes(8).tolist() == [2.0**-h for h in range(1, 9)]


@given(starts, starts, counts, counts, st.integers(1, 9))
def test_the_bias_is_the_papers(query_start, key_start, q, k, num_heads):
    queries, keys = run(query_start, q), run(key_start, k)
    slopes = alibi_slopes(num_heads)
    bias = alibi_bias(slopes, relative_positions(queries, keys), dtype=torch.float64)
    expected = spec.alibi_bias(spec.alibi_slopes(num_heads), queries.tolist(), keys.tolist())
    close(bias, expected, atol=1e-13)


@given(seeds)
def test_slopes_of_ones_own_and_fractional_distances_work(seed):
    generator = torch.Generator().manual_seed(seed)
    slopes, queries, keys = (torch.rand(n, generator=generator) for n in (2, 3, 4))
    bias = alibi_bias(slopes, relative_positions(queries, keys))
    close(bias, spec.alibi_bias(slopes.tolist(), queries.tolist(), keys.tolist()), atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_the_product_is_rounded_once(dtype):
    relative = torch.tensor([-(2**24) - 1, -1000, 3])
    product = -alibi_slopes(12)[:, None] * relative.abs().double()
    same(alibi_bias(alibi_slopes(12), relative, dtype=dtype), product.to(dtype))


@pytest.mark.parametrize("dtype", [torch.int8, torch.int64])
def test_the_smallest_integer_is_far_away_too(dtype):
    far = torch.iinfo(dtype).min
    bias = alibi_bias(torch.tensor([0.5, 0.25]), torch.tensor([far, 0], dtype=dtype))
    close(bias, [[far * 0.5, 0], [far * 0.25, 0]], atol=0)


@pytest.mark.parametrize("lead", [(), (2,), (2, 3)])
def test_heads_stand_where_scores_have_them(lead):
    relative = torch.arange(-10, 10).repeat(math.prod(lead)).reshape(*lead, 4, 5)
    bias = alibi_bias(alibi_slopes(7), relative)
    assert bias.shape == (*lead, 7, 4, 5)
    for head, slope in enumerate(alibi_slopes(7)):
        same(bias[..., head, :, :], (-slope * relative.abs()).float())


def test_float32_is_the_default():
    assert alibi_bias(alibi_slopes(2), torch.arange(3)).dtype == torch.float32


@given(starts, starts, counts, counts)
def test_diagonals_alone_spread_to_the_same_matrix(query_start, key_start, q, k):
    queries, keys = run(query_start, q), run(key_start, k)
    whole = alibi_bias(alibi_slopes(6), relative_positions(queries, keys))
    same(toeplitz(alibi_bias(alibi_slopes(6), diagonals(queries, keys)), q), whole)


def test_the_causal_softmax_is_that_of_the_papers_row():
    """Press et al. add m(j - i); m j differs by a constant a query, which softmax drops."""
    positions = torch.arange(9)
    slopes = alibi_slopes(4)
    future = relative_positions(positions, positions) > 0
    ours = alibi_bias(slopes, relative_positions(positions, positions), dtype=torch.float64)
    row = (slopes[:, None, None] * positions).expand(4, 9, 9)
    softmax = [x.masked_fill(future, -torch.inf).softmax(-1) for x in (ours, row)]
    close(softmax[0], softmax[1], atol=1e-14)


def test_bfloat16_still_tells_the_nearest_256_keys_apart():
    bias = alibi_bias(torch.tensor([0.5]), torch.arange(-255, 1), dtype=torch.bfloat16)
    assert len(bias.unique()) == 256


def test_a_head_without_slope_has_no_bias():
    same(alibi_bias(torch.tensor([0.0]), torch.arange(-3, 1)), torch.zeros(1, 4))
