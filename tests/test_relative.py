import math
from functools import partial

import numpy as np
import pytest
import spec
import torch
from helpers import bases, close, counts, qkv, randn, run, same, seeds, some_mask, starts
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import gradcheck
from torch.func import functional_call
from torch.nn import functional as F

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
    relative_positions,
    skew,
    t5_buckets,
    toeplitz,
)
from posenc.relative import blocks_of_queries

# num_buckets, max_distance, bidirectional
T5_SETTINGS = [(32, 128, True), (32, 128, False), (4, 2, True), (7, 50, False), (64, 1000, True)]

# queries, keys, first query, first key
SPANS = {
    "square": (5, 5, 0, 0),
    "far from zero": (6, 6, 1000, 1000),
    "one token and its cache": (1, 9, 8, 0),
    "a chunk and its cache": (4, 9, 5, 0),
    "more queries than keys": (6, 3, 2, 0),
    "keys after every query": (3, 8, 2, 0),
    "keys before zero": (3, 7, 0, -4),
    "a gap between": (3, 4, 20, 0),
}
every_span = pytest.mark.parametrize("span", SPANS.values(), ids=list(SPANS))


def module(kind, *args, seed=0, **options):
    torch.manual_seed(seed)
    return kind(*args, std=1.0, **options).double()


@given(starts, starts, counts, counts)
def test_relative_is_key_minus_query(query_start, key_start, q, k):
    queries, keys = run(query_start, q), run(key_start, k)
    expected = spec.relative_positions(queries.tolist(), keys.tolist())
    same(relative_positions(queries, keys), expected)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16])
def test_small_integers_do_not_wrap_around(dtype):
    first, second = torch.tensor([0, 1], dtype=dtype), torch.tensor([125, 126, 127], dtype=dtype)
    assert relative_positions(second, first).tolist() == [[-125, -124], [-126, -125], [-127, -126]]
    if dtype != torch.uint8:
        assert diagonals(second, -second.flip(0)).tolist() == [-254, -253, -252, -251, -250]


def test_positions_may_be_fractions_without_order_and_differ_in_a_batch():
    queries, keys = torch.tensor([[0.5, -1.0], [9.0, 2.25]]), torch.tensor([[3, 0, -1], [2, 9, 10]])
    relative = relative_positions(queries, keys)
    for b in range(2):
        expected = spec.relative_positions(queries[b].tolist(), keys[b].tolist())
        close(relative[b], expected, atol=0)


@given(starts, starts, counts, counts)
def test_the_matrix_is_constant_along_its_diagonals(query_start, key_start, q, k):
    queries, keys = run(query_start, q), run(key_start, k)
    by_diagonal, matrix = diagonals(queries, keys), relative_positions(queries, keys)
    assert len(by_diagonal) == q + k - 1
    for i in range(q):
        for j in range(k):
            assert matrix[i, j] == by_diagonal[j - i + q - 1]


@given(starts, starts, counts, counts)
def test_toeplitz_spreads_the_diagonals(query_start, key_start, q, k):
    queries, keys = run(query_start, q), run(key_start, k)
    matrix = toeplitz(diagonals(queries, keys).double(), q)
    same(matrix, relative_positions(queries, keys).double())


@pytest.mark.parametrize("lead", [(), (3,), (2, 3)])
@pytest.mark.parametrize("q", [1, 4, 9])
def test_a_row_of_toeplitz_is_a_window(lead, q):
    values = randn(*lead, 9)
    matrix = toeplitz(values, q)
    assert matrix.shape == (*lead, q, 10 - q)
    for i in range(q):
        same(matrix[..., i, :], values[..., q - 1 - i : 9 - i])


@given(counts, counts, seeds)
def test_skew_lines_diagonals_up_with_keys(q, k, seed):
    by_diagonal = randn(2, q, q + k - 1, seed=seed)
    matrix = skew(by_diagonal)
    assert matrix.shape == (2, q, k)
    for i in range(q):
        for j in range(k):
            same(matrix[:, i, j], by_diagonal[:, i, j - i + q - 1])


@pytest.mark.parametrize("q", [1, 2, 5])
@pytest.mark.parametrize("offset", [0, 3])
def test_skew_moves_nothing(q, offset):
    by_diagonal = randn(offset + 2, q, 7)[offset:]
    matrix = skew(by_diagonal)
    assert matrix.data_ptr() == by_diagonal[0, 0, q - 1 :].data_ptr()
    by_diagonal[1, q - 1, 0] = 99
    assert matrix[1, q - 1, 0] == 99


def test_skew_takes_any_strides():
    by_diagonal = randn(7, 3, 2).permute(2, 1, 0)
    same(skew(by_diagonal), skew(by_diagonal.contiguous()))


def test_the_gradients_of_toeplitz_and_skew_are_right():
    for lead in ((), (2,), (2, 3)):
        assert gradcheck(partial(toeplitz, num_queries=3), randn(*lead, 6).requires_grad_())
    assert gradcheck(skew, randn(2, 3, 6).requires_grad_())


def is_borderline(distance, num_buckets, max_distance, bidirectional):
    """Whether float64 cannot say on which side of a boundary float32 comes out."""
    per_side = num_buckets // 2 if bidirectional else num_buckets
    exact = per_side // 2
    step = (per_side - exact) * math.log(distance / exact) / math.log(max_distance / exact)
    return abs(step - round(step)) < 1e-5


@pytest.mark.parametrize("settings", T5_SETTINGS)
@given(st.lists(st.integers(-3000, 3000) | st.integers(-20, 20), min_size=1, max_size=30))
def test_buckets_are_the_papers(settings, relative):
    num_buckets, max_distance, bidirectional = settings
    buckets = t5_buckets(
        torch.tensor(relative),
        num_buckets=num_buckets,
        max_distance=max_distance,
        bidirectional=bidirectional,
    )
    assert buckets.dtype == torch.int64
    for r, bucket in zip(relative, buckets.tolist(), strict=True):
        expected = spec.t5_bucket(r, *settings)
        assert bucket == expected or (
            abs(bucket - expected) == 1 and is_borderline(abs(r), *settings)
        )


def test_buckets_of_the_paper_by_hand():
    relative = torch.tensor([-128, -8, -1, 0, 1, 8, 128])
    assert t5_buckets(relative).tolist() == [15, 8, 1, 0, 17, 24, 31]
    assert t5_buckets(relative, bidirectional=False).tolist() == [31, 8, 1, 0, 0, 0, 0]


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.int64])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_buckets_do_not_depend_on_the_dtype_of_integers(dtype, bidirectional):
    extremes = torch.iinfo(dtype)
    relative = [extremes.min, 0, 5, extremes.max]
    buckets = t5_buckets(torch.tensor(relative, dtype=dtype), bidirectional=bidirectional)
    assert buckets.tolist() == [spec.t5_bucket(r, 32, 128, bidirectional) for r in relative]


@pytest.mark.parametrize("lead", [(), (2,), (2, 3)])
def test_heads_of_the_t5_bias_stand_where_scores_have_them(lead):
    relative = torch.arange(-10, 10).repeat(math.prod(lead)).reshape(*lead, 4, 5)
    table = module(T5RelativeBias, 7)
    bias = table(relative)
    assert bias.shape == (*lead, 7, 4, 5)
    for head in range(7):
        same(bias[..., head, :, :], table.weight[:, head][table.buckets(relative)])


@pytest.mark.parametrize("settings", T5_SETTINGS)
def test_every_bucket_is_used_and_none_beyond(settings):
    num_buckets, max_distance, bidirectional = settings
    buckets = T5RelativeBias(
        1, num_buckets=num_buckets, max_distance=max_distance, bidirectional=bidirectional
    ).buckets(torch.arange(-2 * max_distance, 2 * max_distance + 1))
    expected = set(range(num_buckets)) - ({num_buckets // 2} if bidirectional else set())
    assert set(buckets.tolist()) == expected
    assert len(buckets[: max_distance + 1].unique()) == 1


@pytest.mark.parametrize("settings", T5_SETTINGS)
@pytest.mark.parametrize("num_heads", [1, 3])
def test_the_t5_bias_looks_its_bucket_up(settings, num_heads):
    num_buckets, max_distance, bidirectional = settings
    table = module(
        T5RelativeBias,
        num_heads,
        num_buckets=num_buckets,
        max_distance=max_distance,
        bidirectional=bidirectional,
    )
    assert table.weight.shape == (num_buckets, num_heads)
    relative = relative_positions(run(3, 9), run(0, 15))
    bias = table(relative)
    assert bias.shape == (num_heads, 9, 15)
    for i in range(9):
        for j in range(15):
            bucket = spec.t5_bucket(relative[i, j].item(), *settings)
            same(bias[:, i, j], table.weight[bucket])


def test_the_gradient_of_the_t5_bias_counts_the_pairs_of_a_bucket():
    table = T5RelativeBias(2)
    relative = relative_positions(run(0, 40), run(0, 50))
    table(relative).sum().backward()
    counts = t5_buckets(relative).flatten().bincount(minlength=32).float()
    same(table.weight.grad, counts[:, None].expand(32, 2))


@given(counts, counts, st.integers(-9, 9), st.sampled_from([1, 2, 4]), st.booleans(), seeds)
def test_shaw_is_the_papers(q, k, start, max_distance, values, seed):
    shaw = module(ShawRelative, 3, max_distance=max_distance, values=values, seed=seed % 1000)
    x, mask = qkv(q, k, 3, 3, seed=seed), some_mask(q, k, seed=seed)
    positions = run(start, q), run(0, k)
    for visible in (None, mask):
        output, weights = shaw(*x, *positions, mask=visible)
        expected = spec.shaw(
            *(t.numpy() for t in x),
            *(p.tolist() for p in positions),
            max_distance,
            shaw.key_weight.detach().numpy(),
            shaw.value_weight.detach().numpy() if values else None,
            None if visible is None else visible.numpy(),
        )
        close(output, expected[0], atol=1e-12)
        close(weights, expected[1], atol=1e-12)


@pytest.mark.parametrize("head_dim", [2, 5])
@pytest.mark.parametrize("max_distance", [1, 6])
def test_heads_share_the_tables_of_shaw(head_dim, max_distance):
    shaw = module(ShawRelative, head_dim, max_distance=max_distance)
    assert shaw.key_weight.shape == shaw.value_weight.shape == (2 * max_distance + 1, head_dim)
    x, positions = qkv(4, 6, head_dim, head_dim, lead=(2, 3)), (run(2, 4), run(0, 6))
    output, weights = shaw(*x, *positions, mask=causal_mask(*positions))
    for i in np.ndindex(2, 3):
        alone = shaw(*(t[i] for t in x), *positions, mask=causal_mask(*positions))
        close(output[i], alone[0], atol=1e-14)
        close(weights[i], alone[1], atol=1e-14)


def test_the_value_table_of_shaw_is_optional():
    keys_only = module(ShawRelative, 3, max_distance=2, values=False)
    assert keys_only.value_weight is None
    assert list(keys_only.state_dict()) == ["key_weight"]


@given(counts, counts, st.integers(-9, 9), st.sampled_from([2, 6]), bases, seeds)
def test_transformer_xl_is_the_papers(q, k, start, dim, base, seed):
    xl = module(TransformerXLRelative, 2, 3, dim, base=base, seed=seed % 1000)
    x, mask = qkv(q, k, 3, 3, lead=(2,), seed=seed), some_mask(q, k, seed=seed)
    positions = run(start, q), run(0, k)
    for visible in (None, mask):
        output, weights = xl(*x, *positions, mask=visible)
        for h in range(2):
            q_h, k_h, v_h = (t[h].numpy() for t in x)
            u, v, w_r = (t[h].detach().numpy() for t in (xl.u, xl.v, xl.w_r))
            positions_in_python = (p.tolist() for p in positions)
            scores = spec.transformer_xl_scores(q_h, k_h, *positions_in_python, u, v, w_r, base)
            allowed = np.ones((q, k), dtype=bool) if visible is None else visible.numpy()
            expected = spec.softmax(scores, allowed)
            close(weights[h], expected, atol=1e-10)
            close(output[h], spec.weighted_sum(expected, v_h), atol=1e-10)


@pytest.mark.parametrize("distance", [0, 100_000])
def test_transformer_xl_in_bfloat16_keeps_exact_angles(distance):
    xl = TransformerXLRelative(2, 4, 16, std=1.0).to(torch.bfloat16)
    q, k, v = (t.bfloat16() for t in qkv(3, 5, 4, 4, lead=(2,)))
    queries, keys = run(distance, 3), run(0, 5)
    back = (-diagonals(queries, keys)).tolist()
    r = torch.as_tensor(spec.sinusoidal_half(back, 16)).to(torch.bfloat16)
    by_diagonal = (q + xl.v[:, None]) @ (r @ xl.w_r.mT).mT
    rows = torch.arange(3)[:, None]
    position = by_diagonal[:, rows, torch.arange(5) - rows + 2]
    expected = attention(q + xl.u[:, None], k, v, bias=position * 4**-0.5)
    for actual, exact in zip(xl(q, k, v, queries, keys), expected, strict=True):
        same(actual, exact)


@every_span
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("kind", ["shaw", "shaw, keys only", "transformer-xl"])
def test_outputs_in_blocks_are_those_of_the_plain_form(span, causal, kind):
    layer = {
        "shaw": lambda: module(ShawRelative, 4, max_distance=2),
        "shaw, keys only": lambda: module(ShawRelative, 4, max_distance=3, values=False),
        "transformer-xl": lambda: module(TransformerXLRelative, 3, 4, 6),
    }[kind]()
    q, k, query_start, key_start = span
    positions = run(query_start, q), run(key_start, k)
    x = [t.requires_grad_() for t in qkv(q, k, 4, 4, lead=(2, 3))]
    expected, _ = layer(*x, *positions, mask=causal_mask(*positions) if causal else None)
    inputs, upstream = (*x, *layer.parameters()), randn(2, 3, q, 4, seed=7)
    gradients = torch.autograd.grad(expected, inputs, upstream)
    for block_size in (1, 2, 128):
        outputs = layer.outputs(*x, *positions, causal=causal, block_size=block_size)
        close(outputs, expected, atol=1e-13)
        first = layer.outputs(*(t[0] for t in x), *positions, causal=causal, block_size=block_size)
        close(first, expected[0], atol=1e-13)
        for ours, theirs in zip(
            torch.autograd.grad(outputs, inputs, upstream), gradients, strict=True
        ):
            close(ours, theirs, atol=1e-11)


@pytest.mark.parametrize("start", [0, 4])
def test_a_block_of_queries_leaves_out_the_keys_that_are_ahead_of_all_of_it(start):
    positions = run(start, 6), run(0, 10)
    for causal, expected in ((True, [start + 4, start + 6]), (False, [10, 10])):
        blocks = list(blocks_of_queries(*positions, causal=causal, block_size=4))
        assert [rows for rows, *_ in blocks] == [slice(0, 4), slice(4, 6)]
        assert [keys.stop for _, keys, *_ in blocks] == expected


def test_transformer_xl_stores_no_angles():
    xl = TransformerXLRelative(3, 4, 16)
    shapes = {name: tuple(value.shape) for name, value in xl.state_dict().items()}
    assert shapes == {"u": (3, 4), "v": (3, 4), "w_r": (3, 4, 16)}
    assert not list(xl.buffers())


@pytest.mark.parametrize("kind", ["shaw", "shaw, keys only", "transformer-xl"])
def test_the_gradients_of_the_modules_are_right(kind):
    layer = {
        "shaw": lambda: module(ShawRelative, 2, max_distance=2),
        "shaw, keys only": lambda: module(ShawRelative, 2, max_distance=1, values=False),
        "transformer-xl": lambda: module(TransformerXLRelative, 2, 2, 4),
    }[kind]()
    names, weights = zip(*layer.named_parameters(), strict=True)
    positions = run(1, 3), run(0, 4)
    options = {"mask": causal_mask(*positions)}

    def call(q, k, v, *weights):
        parameters = dict(zip(names, weights, strict=True))
        return functional_call(layer, parameters, (q, k, v, *positions), options)

    x = (t.requires_grad_() for t in qkv(3, 4, 2, 2, lead=(2,)))
    assert gradcheck(call, (*x, *weights))


@pytest.mark.parametrize("std", [0.02, 1.5, None])
@pytest.mark.parametrize(
    "make",
    [
        partial(T5RelativeBias, 200, num_buckets=64),
        partial(ShawRelative, 128, max_distance=60),
        partial(TransformerXLRelative, 100, 128, 4),
    ],
)
def test_tables_start_normal_with_the_given_deviation(make, std):
    torch.manual_seed(0)
    module, std = (make(), 0.02) if std is None else (make(std=std), std)
    for weight in module.parameters():
        assert weight.std().item() == pytest.approx(std, rel=0.03)
        assert weight.mean().item() == pytest.approx(0, abs=std / 30)


def biases(num_heads):
    return {
        "alibi": partial(alibi_bias, alibi_slopes(num_heads), dtype=torch.float64),
        "t5": module(T5RelativeBias, num_heads, num_buckets=8, max_distance=6),
        "t5 looking back": module(
            T5RelativeBias, num_heads, num_buckets=7, max_distance=5, bidirectional=False
        ),
    }


def materialised(q, k, v, bias, queries, keys, causal, scale=None):
    return attention(
        q,
        k,
        v,
        bias=bias(relative_positions(queries, keys)),
        mask=causal_mask(queries, keys) if causal else None,
        scale=scale,
    )[0]


@every_span
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("name", biases(3))
@pytest.mark.parametrize("scale", [None, 1.0])
def test_relative_attention_is_attention_with_the_whole_bias(span, causal, name, scale):
    q, k, query_start, key_start = span
    x, positions = qkv(q, k, 4, 5, lead=(2, 3)), (run(query_start, q), run(key_start, k))
    bias = biases(3)[name]
    expected = materialised(*x, bias, *positions, causal, scale)
    for block_size in (1, 2, 3, 256):
        output = relative_attention(
            *x, bias, *positions, causal=causal, scale=scale, block_size=block_size
        )
        close(output, expected, atol=1e-14)


@pytest.mark.parametrize("lead", [(3,), (2, 3), (2, 1, 3)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_relative_attention_keeps_axes_and_dtype(lead, dtype):
    x, p = [t.to(dtype) for t in qkv(4, 4, 2, 5, lead=lead)], run(0, 4)
    output = relative_attention(*x, biases(3)["alibi"], p, p, causal=True)
    assert output.dtype == dtype
    expected = materialised(*(t.double() for t in x), biases(3)["alibi"], p, p, True)
    close(output, expected, atol=1e-6)


def test_relative_attention_asks_for_each_diagonal_once():
    asked = []

    def bias(relative):
        asked.append(relative)
        return alibi_bias(alibi_slopes(2), relative)

    queries, keys = run(3, 5), run(0, 8)
    relative_attention(*qkv(5, 8, 4, 4, lead=(2,)), bias, queries, keys, causal=True, block_size=2)
    (relative,) = asked
    same(relative, diagonals(queries, keys))


@every_span
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("block_size", [2, 256])
def test_gradients_of_relative_attention_reach_inputs_and_bias(span, causal, block_size):
    q, k, query_start, key_start = span
    positions = run(query_start, q), run(key_start, k)
    x = [t.requires_grad_() for t in qkv(q, k, 4, 5, lead=(2, 3))]
    table = biases(3)["t5"]
    upstream = randn(2, 3, q, 5, seed=7)
    outputs = (
        relative_attention(*x, table, *positions, causal=causal, block_size=block_size),
        materialised(*x, table, *positions, causal),
    )
    ours, expected = (torch.autograd.grad(o, (*x, table.weight), upstream) for o in outputs)
    for gradient, truth in zip(ours, expected, strict=True):
        close(gradient, truth, atol=1e-12)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("negligible", [None, 2.0**-25])
@pytest.mark.parametrize(("q", "k", "start"), [(300, 300, 0), (40, 300, 260), (1, 300, 299)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_beyond_the_horizon_is_nothing_that_could_be_seen(causal, negligible, q, k, start, dtype):
    x = [t.to(dtype) for t in qkv(q, k, 8, 5, lead=(2, 4))]
    bias = partial(alibi_bias, torch.tensor([8.0, 1.0, 1.0, 0.01]))
    positions = run(start, q), run(0, k)
    wide = [t.double() for t in x]
    expected = materialised(*wide, bias, *positions, causal)
    rounding = 2e-6 if dtype == torch.float32 else 1e-14
    if negligible and dtype == torch.float64:
        rounding = k * negligible
    for block_size in (7, 256):
        output = relative_attention(
            *x, bias, *positions, causal=causal, negligible=negligible, block_size=block_size
        )
        close(output, expected, atol=rounding)


@pytest.mark.parametrize("slope", [0.5, 8.0])
@pytest.mark.parametrize("negligible", [None, 1e-3])
def test_the_horizon_is_that_of_the_theorem(slope, negligible, monkeypatch):
    q, k, v = qkv(200, 200, 4, 4, lead=(1,))
    looked_at, p = [], run(0, 200)
    monkeypatch.setattr(
        F,
        "scaled_dot_product_attention",
        lambda q, k, v, **_: looked_at.append(k.shape[-2]) or v[..., :1, :],
    )
    relative_attention(
        *(q, k, v, partial(alibi_bias, torch.tensor([slope])), p, p),
        **{"causal": True, "negligible": negligible, "block_size": 1, "scale": 0.3},
    )
    spread = 2 * 0.3 * q.norm(dim=-1).max() * k.norm(dim=-1).max()
    least = 2.0**-1022 if negligible is None else negligible
    horizon = (math.log(1 / least) + spread.item()) / slope
    assert looked_at == [min(i, math.floor(horizon)) + 1 for i in range(200)]


@pytest.mark.parametrize(("q", "start"), [(1, 8), (4, 5)])
def test_no_key_beyond_the_horizon_is_looked_at_behind_a_cache(q, start):
    x, bias = list(qkv(q, 9, 8, 5, lead=(2,))), partial(alibi_bias, torch.tensor([1e3, 1e3]))
    x[2][..., :start, :] = torch.nan
    output = relative_attention(*x, bias, run(start, q), run(0, 9), causal=True, block_size=1)
    close(output, x[2][..., start:, :], atol=0)


@pytest.mark.parametrize("start", [-3, 2, 6])
def test_a_query_without_a_key_at_its_own_position_looks_at_what_is_nearest(start):
    x, bias = qkv(5, 6, 8, 5, lead=(2,)), partial(alibi_bias, torch.tensor([1e3, 0.1]))
    positions = run(start, 5), run(0, 6)
    output = relative_attention(*x, bias, *positions, causal=False, block_size=1)
    close(output, materialised(*x, bias, *positions, False), atol=1e-13)


def test_a_key_on_the_horizon_may_outweigh_the_own_one():
    """The bound is reached: the own key scores -S, the far one S, and only its bias is lower."""
    q, v = torch.ones(1, 40, 1), torch.arange(40.0).reshape(1, 40, 1)
    k = -torch.ones(1, 40, 1)
    k[0, 0] = 1
    bias, p = partial(alibi_bias, torch.tensor([1.0])), run(0, 40)
    options = {"causal": True, "scale": 15.0}
    expected = materialised(q, k, v, bias, p, p, True, 15.0)
    close(relative_attention(q, k, v, bias, p, p, negligible=0.1, **options), expected, atol=9e-3)
    assert expected[0, 25] < 5  # query 25 looks at key 0, far away


@pytest.mark.parametrize("bias", [torch.nan, -torch.inf])
@pytest.mark.parametrize("place", [3, 4])
def test_a_bias_that_is_no_number_hides_no_key(bias, place):
    x, p = qkv(5, 5, 4, 4, lead=(2,)), run(0, 5)
    values = torch.zeros(2, 9)
    values[0, place] = bias
    output = relative_attention(*x, lambda relative: values, p, p, causal=False)
    whole = toeplitz(values, 5).double()
    weights = (x[0] @ x[1].mT / 2 + whole).softmax(-1)
    torch.testing.assert_close(output, weights @ x[2], equal_nan=True)


def test_tokens_decoded_one_by_one_see_what_they_saw_together():
    q, k, v = qkv(6, 6, 4, 4, lead=(3,))
    bias, positions = biases(3)["t5"], run(70, 6)
    whole = relative_attention(q, k, v, bias, positions, positions, causal=True)
    for n in range(6):
        seen, now = slice(0, n + 1), slice(n, n + 1)
        output = relative_attention(
            q[:, now], k[:, seen], v[:, seen], bias, positions[now], positions[seen], causal=True
        )
        close(output, whole[:, now], atol=1e-14)


@pytest.mark.parametrize(("num_queries", "num_values"), [(1, 5), (64, 64), (70, 200), (130, 131)])
def test_toeplitz_sums_its_gradient_along_the_diagonals(num_queries, num_values):
    values = randn(2, num_values).requires_grad_()
    num_keys = num_values - num_queries + 1
    upstream = randn(2, num_queries, num_keys, seed=1)
    windows = values.unfold(-1, num_keys, 1).flip(-2)
    (expected,) = torch.autograd.grad(windows, values, upstream)
    (actual,) = torch.autograd.grad(toeplitz(values, num_queries), values, upstream)
    close(actual, expected, atol=1e-12)
