import numpy as np
import pytest
import spec
import torch
from helpers import close, counts, qkv, randn, run, same, seeds, some_mask, starts
from hypothesis import given
from hypothesis import strategies as st

from posenc import attention, causal_mask


@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("scale", [None, 1.0, 0.3])
@given(counts, counts, counts, counts, seeds)
def test_it_is_the_papers(biased, masked, scale, q, k, d, e, seed):
    x = qkv(q, k, d, e, seed=seed)
    bias = randn(q, k, seed=seed + 3) if biased else None
    mask = some_mask(q, k, seed=seed) if masked else None
    output, weights = attention(*x, bias=bias, mask=mask, scale=scale)
    options = [None if t is None else t.numpy() for t in (bias, mask)]
    expected = spec.attention(*(t.numpy() for t in x), *options, scale)
    close(output, expected[0], atol=1e-13)
    close(weights, expected[1], atol=1e-13)


@pytest.mark.parametrize(
    ("lead", "shape"),
    [
        ((2,), (4, 5)),
        ((2,), (2, 4, 5)),
        ((2, 3), (4, 5)),
        ((2, 3), (3, 4, 5)),
        ((2, 3), (2, 1, 4, 5)),
        ((2, 3), (2, 3, 4, 5)),
    ],
)
def test_leading_axes_are_apart_and_bias_and_mask_broadcast(lead, shape):
    q, k, v = qkv(4, 5, 6, 7, lead=lead)
    bias, mask = randn(*shape, seed=9), some_mask(*shape, seed=8)
    output, weights = attention(q, k, v, bias=bias, mask=mask)
    bias, mask = bias.expand(*lead, 4, 5), mask.expand(*lead, 4, 5)
    for i in np.ndindex(lead):
        alone = attention(q[i], k[i], v[i], bias=bias[i], mask=mask[i])
        close(output[i], alone[0], atol=1e-14)
        close(weights[i], alone[1], atol=1e-14)


@given(counts, counts, seeds, st.sampled_from([torch.float32, torch.float64]))
def test_weights_are_a_distribution_over_allowed_keys(q, k, seed, dtype):
    mask = some_mask(q, k, seed=seed)
    x = (t.to(dtype) for t in qkv(q, k, 3, 2, seed=seed))
    output, weights = attention(*x, mask=mask)
    assert output.dtype == weights.dtype == dtype
    assert (weights[~mask] == 0).all()
    assert (weights >= 0).all()
    close(weights.sum(-1), torch.ones(q), atol=1e-6)


@given(starts, starts, counts, counts)
def test_the_causal_mask_compares_positions(query_start, key_start, q, k):
    queries, keys = run(query_start, q), run(key_start, k)
    same(causal_mask(queries, keys), spec.causal_mask(queries.tolist(), keys.tolist()))


def test_positions_need_no_order_and_may_differ_in_a_batch():
    queries = torch.tensor([[0.5, -1.0], [9.0, 2.0]])
    keys = torch.tensor([[3, 0, -1], [2, 9, 10]])
    expected = [spec.causal_mask(queries[b].tolist(), keys[b].tolist()) for b in range(2)]
    same(causal_mask(queries, keys), np.stack(expected))


@pytest.mark.parametrize("cached", [1, 6])
def test_a_decoded_token_sees_what_it_saw_in_the_whole_sequence(cached):
    q, k, v = qkv(cached + 1, cached + 1, 4, 3)
    positions = run(40, cached + 1)
    whole, _ = attention(q, k, v, mask=causal_mask(positions, positions))
    last, _ = attention(q[-1:], k, v, mask=causal_mask(positions[-1:], positions))
    close(last, whole[-1:], atol=1e-14)


def test_without_positions_or_mask_tokens_have_no_order():
    q, k, v = qkv(6, 6, 4, 3)
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    shuffled, weights = attention(q[order], k[order], v[order])
    output, unshuffled = attention(q, k, v)
    close(shuffled, output[order], atol=1e-14)
    close(weights, unshuffled[order][:, order], atol=1e-14)


def test_the_gradient_passes_through_bias_and_mask():
    bias, mask = randn(3, 4, seed=3).requires_grad_(), some_mask(3, 4)
    x = [t.requires_grad_() for t in qkv(3, 4, 2, 2)]
    assert torch.autograd.gradcheck(lambda *t: attention(*t[:3], bias=t[3], mask=mask), (*x, bias))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_low_precision_is_float32_arithmetic_rounded_once(dtype):
    q, k, v = (8 * x.to(dtype) for x in qkv(5, 7, 64, 3))
    bias = randn(5, 7, seed=9).to(dtype)
    expected = attention(q.float(), k.float(), v.float(), bias=bias)
    for low, wide in zip(attention(q, k, v, bias=bias), expected, strict=True):
        same(low, wide.to(dtype))


def test_large_scores_do_not_overflow_in_float16():
    q = k = v = torch.full((3, 64), 40.0, dtype=torch.float16)
    same(attention(q, k, v)[0], v)


def test_scores_are_scaled_before_they_are_summed():
    q = k = torch.full((2, 4), 1e19)
    assert attention(q, k, torch.ones(2, 1), scale=1e-19)[0].isfinite().all()


def test_heads_of_a_group_share_keys_as_the_refusal_says():
    q, k, v = qkv(3, 4, 5, 2, lead=(6,))
    shared = [x[:2].repeat_interleave(3, dim=-3) for x in (k, v)]
    output, _ = attention(q, *shared)
    for h in range(6):
        close(output[h], attention(q[h], k[h // 3], v[h // 3])[0], atol=1e-14)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_a_bias_of_another_dtype_keeps_its_precision(dtype):
    q, k, v = qkv(3, 4, 8, 5)
    bias = 1000 + randn(3, 4, seed=9)
    low = tuple(x.to(dtype) for x in (q, k, v))
    output, weights = attention(*low, bias=bias.float())
    _, expected = attention(*(x.double() for x in low), bias=bias.float().double())
    assert output.dtype == weights.dtype == dtype
    close(weights, expected, atol=2e-2 if dtype == torch.bfloat16 else 1e-3)
