"""posenc beside implementations that other people wrote."""

import importlib
import warnings
from types import ModuleType

import pytest
import torch
from helpers import close, qkv, randn, run, same, some_mask
from torch.nn import functional as F

from posenc import (
    ShawRelative,
    T5RelativeBias,
    TransformerXLRelative,
    alibi_bias,
    alibi_slopes,
    angles,
    attention,
    causal_mask,
    inverse_frequencies,
    phasors,
    relative_positions,
    rotate,
    sinusoidal_encoding,
    skew,
    t5_buckets,
    tensor2tensor_encoding,
)

HEADS = [1, 3, 6, 8, 12, 16, 71]


def load(name: str) -> ModuleType:
    """Import when first needed, silencing what other packages warn of at import."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module(name)


def transformers(model: str) -> ModuleType:
    return load(f"transformers.models.{model}.modeling_{model}")


def float32_angles(last: int) -> float:
    """How far an entry may be off when its angle, at most `last` radians, is a float32."""
    return 2**-24 + last * 2**-22


# Sinusoidal


@pytest.mark.parametrize(("n", "dim"), [(7, 4), (300, 64)])
def test_distilbert_interleaves_the_same_table(n, dim):
    theirs = transformers("distilbert").create_sinusoidal_embeddings(n, dim, torch.empty(n, dim))
    same(sinusoidal_encoding(torch.arange(n), dim), theirs)


@pytest.mark.parametrize(("n", "dim"), [(7, 4), (300, 64)])
def test_roformer_halves_the_same_table(n, dim):
    theirs = transformers("roformer").RoFormerSinusoidalPositionalEmbedding(n, dim)
    same(sinusoidal_encoding(torch.arange(n), dim, layout="half"), theirs.create_weight())


@pytest.mark.parametrize(("n", "dim"), [(7, 4), (100, 64)])
def test_positional_encodings_interleaves_the_same_table(n, dim):
    package = load("positional_encodings.torch_encodings")
    theirs = package.PositionalEncoding1D(dim)(torch.zeros(1, n, dim))[0]
    close(sinusoidal_encoding(torch.arange(n), dim), theirs, atol=float32_angles(n))


@pytest.mark.parametrize(("n", "dim"), [(7, 4), (100, 64)])
@pytest.mark.parametrize("base", [10_000.0, 300.0])
def test_whisper_has_tensor2tensors_table(n, dim, base):
    theirs = transformers("whisper").sinusoids(n, dim, max_timescale=base)
    ours = tensor2tensor_encoding(torch.arange(n), dim, base=base)
    close(ours, theirs, atol=float32_angles(n))


@pytest.mark.parametrize(("n", "dim"), [(7, 4), (100, 64)])
def test_m2m100_has_tensor2tensors_table(n, dim):
    embedding = transformers("m2m_100").M2M100SinusoidalPositionalEmbedding
    ours = tensor2tensor_encoding(torch.arange(n), dim)
    close(ours, embedding.get_embedding(n, dim), atol=float32_angles(n))


# Rotary


def llama_rope(head_dim: int, base: float):
    config = load("transformers").LlamaConfig(
        head_dim=head_dim, rope_parameters={"rope_type": "default", "rope_theta": base}
    )
    return transformers("llama").LlamaRotaryEmbedding(config)


@pytest.mark.parametrize("dim", [8, 64, 128])
@pytest.mark.parametrize("base", [10_000.0, 500_000.0])
def test_llama_has_the_same_frequencies(dim, base):
    ours, theirs = inverse_frequencies(dim, base=base), llama_rope(dim, base).inv_freq
    torch.testing.assert_close(ours, theirs.double(), rtol=3e-7, atol=0)


@pytest.mark.parametrize("dim", [8, 64])
@pytest.mark.parametrize("base", [10_000.0, 500_000.0])
@pytest.mark.parametrize("start", [0, 90])
def test_llama_rotates_halves(dim, base, start):
    q, k = randn(2, 4, 9, dim, dtype=torch.float32), randn(2, 2, 9, dim, dtype=torch.float32)
    positions = run(start, 9)
    cos, sin = llama_rope(dim, base)(q, positions[None])
    theirs = transformers("llama").apply_rotary_pos_emb(q, k, cos, sin)
    rotation = phasors(angles(positions, inverse_frequencies(dim, base=base)))
    for x, expected in zip((q, k), theirs, strict=True):
        close(rotate(x, rotation, pairing="half"), expected, atol=8 * float32_angles(start + 9))


@pytest.mark.parametrize("start", [0, 100_000])
def test_llama_rotates_halves_by_exact_angles(start):
    q, k, _ = (x.float() for x in qkv(9, 9, 16, 16, lead=(2, 3)))
    z = phasors(angles(run(start, 9), inverse_frequencies(16)))
    cos, sin = (torch.cat((x, x), dim=-1)[None] for x in (z.real, z.imag))
    theirs = transformers("llama").apply_rotary_pos_emb(q, k, cos, sin)
    for x, expected in zip((q, k), theirs, strict=True):
        close(rotate(x, z, pairing="half"), expected, atol=5e-7)


@pytest.mark.parametrize("dim", [8, 64])
@pytest.mark.parametrize("start", [0, 90])
def test_gptj_rotates_neighbours(dim, start):
    gptj = transformers("gptj")
    x = randn(2, 9, 3, dim, dtype=torch.float32)
    sin, cos = gptj.create_sinusoidal_positions(start + 9, dim)[None, start:].chunk(2, dim=-1)
    rotation = angles(run(start, 9), inverse_frequencies(dim))
    ours = rotate(x.transpose(1, 2), rotation, pairing="interleaved").transpose(1, 2)
    theirs = gptj.apply_rotary_pos_emb(x, sin, cos)
    close(ours, theirs, atol=8 * float32_angles(start + 9))


@pytest.mark.parametrize(("dim", "rotary_dim"), [(8, 8), (8, 4), (64, 64), (64, 16)])
@pytest.mark.parametrize("base", [10_000.0, 500_000.0])
@pytest.mark.parametrize("start", [0, 90])
@pytest.mark.parametrize("package", ["rotary-embedding-torch", "x-transformers"])
def test_lucidrains_rotates_the_first_neighbours(dim, rotary_dim, base, start, package):
    x = randn(2, 3, 9, dim, dtype=torch.float32)
    if package == "rotary-embedding-torch":
        rope = load("rotary_embedding_torch").RotaryEmbedding(rotary_dim, theta=base)
        theirs = rope.rotate_queries_or_keys(x, offset=start)
    else:
        x_transformers = load("x_transformers.x_transformers")
        freqs, scale = x_transformers.RotaryEmbedding(rotary_dim, base=base)(run(start, 9))
        theirs = x_transformers.apply_rotary_pos_emb(x, freqs, scale)
    rotation = angles(run(start, 9), inverse_frequencies(rotary_dim, base=base))
    ours = rotate(x, rotation, pairing="interleaved", rotary_dim=rotary_dim)
    close(ours, theirs, atol=8 * float32_angles(start + 9))


@pytest.mark.parametrize("share", [0.25, 0.5])
@pytest.mark.parametrize("base", [10_000.0, 500_000.0])
@pytest.mark.parametrize("start", [0, 90])
def test_gpt_neox_rotates_the_first_halves(share, base, start):
    neox = transformers("gpt_neox")
    parameters = {"rope_type": "default", "rope_theta": base, "partial_rotary_factor": share}
    config = load("transformers").GPTNeoXConfig(
        hidden_size=64, num_attention_heads=2, rope_parameters=parameters
    )
    q, k, _ = (x.float() for x in qkv(9, 9, 32, 32, lead=(2, 2)))
    positions, rotary_dim = run(start, 9), int(32 * share)
    theirs = neox.apply_rotary_pos_emb(
        q, k, *neox.GPTNeoXRotaryEmbedding(config)(q, positions[None])
    )
    rotation = angles(positions, inverse_frequencies(rotary_dim, base=base))
    for x, expected in zip((q, k), theirs, strict=True):
        ours = rotate(x, rotation, pairing="half", rotary_dim=rotary_dim)
        close(ours, expected, atol=8 * float32_angles(start + 9))


# T5

# With the last setting, distances 14 and 98 lie where float32 and float64 logarithms disagree.
t5_settings = pytest.mark.parametrize(
    ("num_buckets", "max_distance"), [(32, 128), (32, 32), (16, 500), (64, 1000), (4, 3), (10, 686)]
)


@t5_settings
@pytest.mark.parametrize("bidirectional", [False, True])
def test_t5_has_the_same_buckets(num_buckets, max_distance, bidirectional):
    relative = torch.arange(-2000, 2001)
    theirs = transformers("t5").T5Attention._relative_position_bucket(
        relative, bidirectional, num_buckets, max_distance
    )
    options = {"num_buckets": num_buckets, "max_distance": max_distance}
    same(t5_buckets(relative, bidirectional=bidirectional, **options), theirs)


@t5_settings
@pytest.mark.parametrize("decoder", [False, True])
@pytest.mark.parametrize(("q", "k", "past"), [(5, 5, 0), (300, 300, 0), (2, 40, 38)])
def test_t5_has_the_same_bias(num_buckets, max_distance, decoder, q, k, past):
    config = load("transformers").T5Config(
        d_model=8,
        d_kv=2,
        num_heads=4,
        relative_attention_num_buckets=num_buckets,
        relative_attention_max_distance=max_distance,
        is_decoder=decoder,
    )
    theirs = transformers("t5").T5Attention(config, has_relative_attention_bias=True, layer_idx=0)
    ours = T5RelativeBias(
        4, num_buckets=num_buckets, max_distance=max_distance, bidirectional=not decoder
    )
    ours.weight.data = theirs.relative_attention_bias.weight.data
    bias = ours(relative_positions(run(past, q), run(0, k)))
    same(bias[None], theirs.compute_bias(q, k, past_seen_tokens=past))


@pytest.mark.parametrize("scale", [1.0, None])
def test_t5_attends_with_the_same_bias(scale):
    t5 = transformers("t5")
    q, k, v = qkv(5, 7, 4, 3, lead=(2, 3))
    bias = T5RelativeBias(3, std=1.0).double()(relative_positions(run(2, 5), run(0, 7)))
    theirs = t5.eager_attention_forward(
        torch.nn.Module(), q, k, v, None, scaling=scale, position_bias=bias[None]
    )
    output, weights = attention(q, k, v, bias=bias, scale=scale)
    close(output.transpose(1, 2), theirs[0], atol=1e-14)
    close(weights, theirs[1], atol=1e-14)


# ALiBi


def causal_softmax(bias: torch.Tensor, n: int) -> torch.Tensor:
    mask = causal_mask(torch.arange(n), torch.arange(n))
    return bias.double().expand(-1, n, n).masked_fill(~mask, -torch.inf).softmax(dim=-1)


def our_alibi(num_heads: int, n: int) -> torch.Tensor:
    relative = relative_positions(torch.arange(n), torch.arange(n))
    return alibi_bias(alibi_slopes(num_heads), relative)


@pytest.mark.parametrize("num_heads", HEADS)
@pytest.mark.parametrize("n", [5, 64])
def test_bloom_has_the_same_causal_alibi(num_heads, n):
    bloom = transformers("bloom")
    theirs = bloom.build_alibi_tensor(torch.ones(1, n), num_heads, torch.float32)
    close(causal_softmax(our_alibi(num_heads, n), n), causal_softmax(theirs, n), atol=2e-6)


@pytest.mark.parametrize("num_heads", HEADS)
@pytest.mark.parametrize("n", [5, 64])
def test_mpt_has_the_same_causal_alibi(num_heads, n):
    theirs = transformers("mpt").build_mpt_alibi_tensor(num_heads, n)
    close(causal_softmax(our_alibi(num_heads, n), n), causal_softmax(theirs, n), atol=2e-6)
    close(our_alibi(num_heads, n)[:, -1:], theirs, atol=1e-5)


@pytest.mark.parametrize("num_heads", HEADS)
@pytest.mark.parametrize(("q", "k"), [(5, 5), (3, 64)])
def test_x_transformers_has_the_same_symmetric_alibi(num_heads, q, k):
    package = load("x_transformers.x_transformers")
    relative = relative_positions(run(k - q, q), run(0, k))
    ours = alibi_bias(alibi_slopes(num_heads), relative)
    close(ours, package.AlibiPositionalBias(num_heads)(q, k), atol=1e-5)


@pytest.mark.parametrize("num_heads", HEADS)
def test_bloom_has_the_same_slopes(num_heads):
    alibi = transformers("bloom").build_alibi_tensor(torch.ones(1, 2), num_heads, torch.float32)
    close(alibi_slopes(num_heads), alibi[:, 0, 1], atol=1e-7)


# Shaw and Transformer-XL


@pytest.mark.parametrize(
    ("max_distance", "max_ahead"), [(1, None), (3, None), (20, None), (3, 1), (1, 4), (4, 0)]
)
@pytest.mark.parametrize(("q", "k"), [(6, 6), (3, 9)])
def test_wav2vec2_bert_has_shaws_keys(max_distance, max_ahead, q, k):
    bert = transformers("wav2vec2_bert")
    config = load("transformers").Wav2Vec2BertConfig(
        hidden_size=8,
        num_attention_heads=2,
        position_embeddings_type="relative_key",
        left_max_position_embeddings=max_distance,
        right_max_position_embeddings=max_distance if max_ahead is None else max_ahead,
    )
    theirs = bert.Wav2Vec2BertSelfAttention(config)
    ours = ShawRelative(4, max_distance=max_distance, max_ahead=max_ahead, values=False)
    ours.key_weight.data = theirs.distance_embedding.weight.data
    x = [t.float() for t in qkv(q, k, 4, 4, lead=(2, 2))]
    _, bias = bert._apply_relative_key_position_encoding(theirs, *x[:2])
    expected = bert.eager_attention_forward(
        theirs.eval(), *x, None, scaling=theirs.scaling, position_bias=bias
    )
    output, weights = ours(*x, run(0, q), run(0, k))
    close(output.transpose(1, 2), expected[0].detach(), atol=1e-6)
    close(weights, expected[1].detach(), atol=1e-6)


@pytest.mark.parametrize(("q", "k"), [(1, 1), (5, 5), (3, 9), (1, 6)])
def test_xlnet_shifts_as_skew_does(q, k):
    """XLNet's table has one more distance, k, which no pair of tokens has."""
    by_diagonal = randn(2, 3, q, q + k)
    theirs = transformers("xlnet").XLNetRelativeAttention.rel_shift_bnij(by_diagonal, klen=k)
    same(skew(by_diagonal[..., 1:]), theirs)


@pytest.mark.parametrize(("q", "k"), [(5, 5), (3, 9), (1, 6)])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("dim", [4, 16])
def test_xlnet_attends_as_transformer_xl(q, k, masked, dim):
    xlnet = transformers("xlnet")
    config = load("transformers").XLNetConfig(d_model=6, n_head=2, dropout=0.0)
    theirs = xlnet.XLNetRelativeAttention(config)
    ours = TransformerXLRelative(2, 3, dim, std=1.0)
    theirs.r_w_bias.data, theirs.r_r_bias.data = ours.u.data, ours.v.data
    back = torch.arange(k, -q, -1.0)
    table = xlnet.XLNetModel.positional_embedding(
        back, 1 / 10_000 ** (torch.arange(0, dim, 2.0) / dim), bsz=2
    )
    r = torch.einsum("ibc,ndc->ibnd", table, ours.w_r)
    x, positions = [t.float() for t in qkv(q, k, 3, 3, lead=(2, 2))], (run(k - q, q), run(0, k))
    mask = causal_mask(*positions) if masked else None
    hidden = None if mask is None else (~mask).float()[:, :, None, None]
    ibnd = [t.permute(2, 0, 1, 3) for t in x]
    expected = theirs.rel_attn_core(*ibnd, r, attn_mask=hidden, output_attentions=True)
    output, weights = ours(*x, *positions, mask=mask)
    close(output.permute(2, 0, 1, 3), expected[0].detach(), atol=1e-5)
    close(weights.permute(2, 3, 0, 1), expected[1].detach(), atol=1e-5)


# Attention


@pytest.mark.parametrize("scale", [None, 1.0])
@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(("q", "k"), [(5, 5), (1, 6)])
def test_torch_attends_likewise(scale, biased, masked, q, k):
    x = qkv(q, k, 4, 7, lead=(2, 3))
    bias = randn(3, q, k, seed=4) if biased else None
    mask = some_mask(2, 1, q, k) if masked else None
    both = torch.zeros(2, 3, q, k, dtype=torch.float64)
    both = both if bias is None else both + bias
    both = both if mask is None else both.masked_fill(~mask, -torch.inf)
    theirs = F.scaled_dot_product_attention(*x, attn_mask=both, scale=scale)
    close(attention(*x, bias=bias, mask=mask, scale=scale)[0], theirs, atol=1e-14)


@pytest.mark.parametrize("n", [1, 7])
def test_torch_has_the_same_causal_mask_for_a_square(n):
    x, p = qkv(n, n, 4, 4, lead=(2,)), torch.arange(n)
    theirs = F.scaled_dot_product_attention(*x, is_causal=True)
    close(attention(*x, mask=causal_mask(p, p))[0], theirs, atol=1e-14)
