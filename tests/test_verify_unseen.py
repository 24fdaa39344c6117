"""Nothing agrees that was not looked at: known bugs in all forms in which code is handed over."""

import functools

import pytest
import torch
from torch import nn

from posenc import alibi_slopes, compare, identify, inverse_frequencies, models
from posenc.verify import Agreement, Rope

pytestmark = pytest.mark.usefixtures("annotations_off")
LLAMA = {
    "model_type": "llama",
    "hidden_size": 256,
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "max_position_embeddings": (END := 300),  # short tables, which are faster
    "rope_theta": 10_000.0,
}
INV = inverse_frequencies(64).float()


def turned(x, t):
    """x [..., n, h, d], turned by t [n] or [b, n]."""
    if x.shape[-3] > END or (t.numel() and t.max() > END):
        raise IndexError(f"the table has {END} rows")
    turn = (t[..., None] * INV)[..., None, :]
    one, two = x.chunk(2, dim=-1)
    return torch.cat(
        (one * turn.cos() - two * turn.sin(), one * turn.sin() + two * turn.cos()), dim=-1
    )


BUGS = {
    "right": turned,
    "untouched": lambda x, t: x,
    "backwards": lambda x, t: turned(x, -t),
    "late": lambda x, t: turned(x, (t + 1).clamp(max=END)),
    "early": lambda x, t: turned(x, t - 1),
    "twice": lambda x, t: turned(turned(x, t), t),
    "gain": lambda x, t: 2 * turned(x, t),
}
NAMES = {
    "untouched": "are not turned",
    "backwards": ": turned backwards",
    "late": ": one position late",
    "early": ": one position early",
    "twice": ": turned twice",
    "gain": ": gain 2, not 1",
}


def count(x):
    return torch.arange(x.shape[-3]).float()


def two(of_q, of_k):
    """Forms of a function of queries and keys, [b, n, h, d], by what each is told."""

    def none(q, k):
        return of_q(q, count(q)), of_k(k, count(k))

    def ids(q, k, position_ids):
        t = position_ids.float()
        return of_q(q, t), of_k(k, t)

    def leads(positions, query, key):
        t = positions.float()
        return of_q(query, t), of_k(key, t)

    def start(q, k, start_pos=0):
        return of_q(q, count(q) + start_pos), of_k(k, count(k) + start_pos)

    def guessed(q, k, behind=0):
        return of_q(q, count(q) + behind), of_k(k, count(k) + behind)

    def masked(q, k, attention_mask):
        t = (attention_mask.cumsum(-1) - 1).clamp(min=0).float()
        return of_q(q, t), of_k(k, t)

    def heads_first(q, k, positions):
        q, k = ids(q.transpose(1, 2), k.transpose(1, 2), positions)
        return q.transpose(1, 2), k.transpose(1, 2)

    def rows_first(q, k):
        q, k = none(q.transpose(0, 1), k.transpose(0, 1))
        return q.transpose(0, 1), k.transpose(0, 1)

    def axes(q, k, position_ids):
        assert position_ids.ndim == 3
        return ids(q, k, position_ids[0])

    return {
        f.__name__: f for f in (none, ids, leads, start, guessed, masked, heads_first, axes)
    } | {"rows first": rows_first}


def packed(of_q, of_k, step=1):
    """The forms of a function of queries, keys and values in one tensor; offsets in steps."""

    def stacked(qkv):
        q, k, v = qkv.unbind(2)
        return torch.stack((of_q(q, count(q)), of_k(k, count(k)), v), dim=2)

    def offset(qkv, seqlen_offset=0):
        q, k, v = qkv.unbind(2)
        t = count(q) + seqlen_offset // step * step
        return torch.stack((of_q(q, t), of_k(k, t), v), dim=2)

    def required(qkv, seqlen_offset):
        return offset(qkv, seqlen_offset)

    def ids(qkv, position_ids):
        q, k, v = qkv.unbind(2)
        t = position_ids.float()
        return torch.stack((of_q(q, t), of_k(k, t), v), dim=2)

    def apart(qkv):
        q, k, v = qkv.unbind(2)
        return of_q(q, count(q)), of_k(k, count(k)), v

    def flat(qkv):
        assert qkv.ndim == 3
        return stacked(qkv.unflatten(2, (3, -1, 64))).flatten(2)

    class Module(nn.Module):
        def forward(self, qkv, seqlen_offset=0, max_seqlen=None):
            return offset(qkv, seqlen_offset)

    def beside(q, kv, seqlen_offset=0):
        k, v = kv.unbind(2)
        t = count(q) + seqlen_offset // step * step
        return of_q(q, t), torch.stack((of_k(k, t), v), dim=2)

    forms = {f"qkv, {f.__name__}": f for f in (stacked, offset, required, ids, apart, flat)}
    return forms | {"qkv, module": Module(), "q, kv": beside}


FORMS = tuple(two(turned, turned) | packed(turned, turned))


@functools.cache
def verdict(form, of_q, of_k):
    pair = BUGS[of_q], BUGS[of_k]
    return compare((two(*pair) | packed(*pair))[form], LLAMA)


@pytest.mark.parametrize("form", FORMS)
def test_right_code_agrees_in_every_form(form):
    found = verdict(form, "right", "right")
    assert found.agrees, found
    assert "queries and keys at" in found.compared[0]
    assert not found.undecided


@pytest.mark.every
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("bug", NAMES)
def test_a_bug_of_keys_alone_is_seen_and_named_in_every_form(form, bug):
    found = verdict(form, "right", bug)
    assert not found.agrees, found
    assert found.mistake == f"keys{NAMES[bug] if NAMES[bug][0] == ':' else ' ' + NAMES[bug]}"
    assert any("queries agree, keys do not" in note for note in found.notes)


@pytest.mark.every
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("bug", ["backwards", "gain"])
def test_a_bug_of_queries_alone_is_said_of_them(form, bug):
    found = verdict(form, bug, "right")
    assert not found.agrees
    assert found.mistake == f"queries{NAMES[bug]}"


@pytest.mark.parametrize("form", ["qkv, offset", "qkv, required", "qkv, module", "q, kv"])
def test_the_offset_of_packed_vectors_is_heeded(form):
    right = verdict(form, "right", "right")
    assert "seqlen_offset=int" in right.compared[1]
    assert not any("positions" in note for note in right.notes)
    left = any("other values of max_seqlen=None" in text for text in right.not_compared)
    assert left == (form == "qkv, module")
    wrong = compare(packed(turned, turned, step=2)[form], LLAMA)
    assert not wrong.agrees
    assert "1 as 0, 3 as 2" in wrong.hint


def test_each_side_has_its_own_mistake():
    found = verdict("none", "late", "untouched")
    assert found.mistake == "queries: one position late; keys are not turned"
    same = verdict("none", "late", "late")
    assert same.mistake == "one position late"


def test_a_slice_that_takes_values_for_keys_is_named():
    def every_second(qkv):
        out = qkv.clone()
        out[:, :, ::2] = turned(qkv[:, :, ::2].flatten(2, 3), count(qkv[:, :, 0])).unflatten(
            2, (2, -1)
        )
        return out

    found = compare(every_second, LLAMA)
    assert found.mistake == "keys are not turned, values are"
    told = identify(every_second).warnings
    assert any("values" in text for text in told)
    assert any("keys are not rotated" in text for text in told)


def test_keys_that_do_not_come_back_leave_it_undecided():
    def one(q, k, positions):
        return turned(q, positions.float())

    found = compare(one, LLAMA)
    assert not found.agrees
    assert not found.mistake
    assert str(found).startswith("undecided")
    assert "gives one result" in found.undecided[0]
    assert "no mistake that is known" not in str(found)


def test_keys_of_a_width_that_the_reference_does_not_take_leave_it_undecided():
    def latent(q, k, positions):  # keys have one head of 32
        assert k.shape[-1] == 32
        return wide(q, positions), narrow(k, positions)

    wide = Rope(inverse_frequencies(64), 64)
    narrow = Rope(inverse_frequencies(32), 32)
    found = compare(latent, lambda x, positions: wide(x, positions))
    assert not found.agrees
    assert "keys: yours have 32 channels" in found.undecided[0]


@pytest.mark.parametrize("made", [{}, {"compared": ()}, {"compared": ("x",), "undecided": ("y",)}])
def test_the_rule_stands_in_one_place(made):
    assert not Agreement(True, **made).agrees
    assert str(Agreement(True, **made)).startswith("undecided")
    assert Agreement(True, compared=("queries",)).agrees


def test_tables_agree_as_tables():
    def tables(x, position_ids):
        turn = position_ids[..., None] * torch.cat((INV, INV))
        return turn.cos(), turn.sin()

    found = compare(tables, LLAMA)
    assert found.agrees
    assert str(found).startswith("agree in tables of cos and sin")
    assert any("give that function" in text for text in found.not_compared)


@pytest.mark.parametrize("first", [True, False])
def test_padding_and_batches_are_looked_at_in_keys_too(first):
    def keys(q, k, position_ids):
        assert position_ids.ndim == 2
        own, of_first = position_ids.float(), position_ids[:1].float()
        return turned(q, own), turned(k, of_first if first else own)

    found = compare(keys, LLAMA)
    assert found.agrees != first
    assert found.mistake == ("keys: one row of positions for the whole batch" if first else "")


# Biases and buckets


def bias(n, heads=8):
    distance = (torch.arange(n)[:, None] - torch.arange(n)).float()
    return -alibi_slopes(heads)[:, None, None] * distance


BLOOM = {"model_type": "bloom", "n_head": 8, "n_layer": 2}


def test_a_bias_that_shows_nothing_does_not_agree():
    assert compare(bias(12), BLOOM).agrees
    hidden = torch.full((8, 12, 12), -torch.inf)
    assert not compare(hidden, BLOOM).agrees
    alone = torch.where(torch.eye(12, dtype=torch.bool), 0.0, -torch.inf).expand(8, -1, -1)
    assert "no query shows two keys" in compare(alone, BLOOM).undecided[0]
    half = bias(12)
    half[3] = -torch.inf
    assert "heads 3:" in compare(half, BLOOM).undecided[0]
    cut = bias(12)
    cut[:, :, :4] = -torch.inf
    seen = compare(cut, BLOOM)
    assert seen.agrees
    assert any("which one hides and one shows" in text for text in seen.not_compared)


def test_what_is_no_number_is_not_hidden():
    wrong = bias(12)
    wrong[2, 8, 4] = torch.nan
    assert not compare(wrong, BLOOM).agrees

    def broken(x, positions):
        out = Rope(inverse_frequencies(64), 64)(x, positions)
        return torch.where((positions == 1009)[:, None], torch.nan, out)

    found = compare(broken, LLAMA)
    assert 1009 not in found.positions or not found.agrees


def test_no_buckets_do_not_agree():
    none = torch.zeros(0, 0, dtype=torch.long)
    assert not compare(none, none, kind="buckets").agrees


# What was called by a wrong name, or by none


PHI = {
    "model_type": "phi",
    "hidden_size": 2560,
    "num_attention_heads": 32,
    "num_hidden_layers": 2,
    "partial_rotary_factor": 0.4,
}


@pytest.mark.parametrize("rotary", [32, 80])
def test_tables_padded_to_the_head_are_named(rotary):
    inv = inverse_frequencies(rotary).float()

    def padded(q, k, position_ids):  # [b, h, n, d]
        turn = (position_ids[..., None] * torch.cat((inv, inv)))[:, None]
        rest = (0, 80 - rotary)
        cos = torch.nn.functional.pad(turn.cos(), rest, value=1.0)
        sin = torch.nn.functional.pad(turn.sin(), rest)
        return tuple(x * cos + torch.cat((-x[..., 40:], x[..., :40]), dim=-1) * sin for x in (q, k))

    found = compare(padded, PHI | {"partial_rotary_factor": rotary / 80})
    assert found.agrees == (rotary == 80)
    told = identify(padded, dim=80)
    if rotary == 32:
        assert found.mistake == "rotate_half over the whole head"
        assert "beyond the channels that turn" in told.warnings[0]
        assert str(told).count("beyond the channels") == 1


DEEPSEEK = {
    "model_type": "deepseek_v3",
    "hidden_size": 7168,
    "num_attention_heads": 128,
    "num_hidden_layers": 2,
    "qk_rope_head_dim": 64,
    "max_position_embeddings": 163_840,
    "rope_theta": 10_000,
    "rope_scaling": {
        "type": "yarn",
        "factor": 40,
        "original_max_position_embeddings": 4096,
        "mscale": 1.0,
        "mscale_all_dim": 1.0,
    },
}


@pytest.mark.parametrize("out", ["interleaved", "interleaved in, half out"])
@pytest.mark.parametrize("gain", [1.0, 1.3688879])
def test_deepseeks_own_order_and_a_gain_that_is_applied_twice(out, gain):
    own = models(DEEPSEEK).layers[0].rope.but(pairing=out, gain=gain)
    found = compare(lambda q, k, positions: [own(x, positions) for x in (q, k)], DEEPSEEK)
    assert found.agrees == (gain == 1)
    other = "channels come out in another order: interleaved, not half" in str(found)
    assert other == (out == "interleaved")
    if found.agrees:
        assert str(found).startswith("agree in scores q.k" if other else "agree\n")
    else:
        assert found.mistake == "gain 1.36889, not 1"
        assert "applied twice" in found.hint
        assert "mscale_all_dim" in found.hint


@pytest.mark.parametrize(("factor", "word"), [(1.5, ""), (1.2, "applied twice")])
def test_a_gain_alone_is_always_named(factor, word):
    rope = Rope(inverse_frequencies(64), 64, gain=1.2)
    mine = rope.but(gain=1.2 * factor)
    found = compare(lambda q, k, positions: (mine(q, positions), mine(k, positions)), rope)
    assert "gain" in found.mistake
    assert word in found.mistake


def test_another_base_is_named_by_both_numbers():
    other = Rope(inverse_frequencies(64, base=5_000_000), 64)
    assert compare(lambda x, p: other(x, p), LLAMA).mistake == "base 5000000, not 10000"


def test_xpos_is_named_and_its_growth_is_no_difference():
    def xpos(q, k):
        t = count(q)
        grow = 1.01 ** (t - len(t) // 2)[:, None, None]
        return turned(q, t) * grow, turned(k, t) / grow

    found = compare(xpos, LLAMA)
    assert found.mistake == "xPos"
    assert max(found.differences) < 10
    assert "heeded" not in identify(xpos).facts["positions"]


def test_keys_at_other_places_are_no_xpos():
    def later(q, k):
        return turned(q, count(q)), turned(k, (count(k) + 2).clamp(max=END))

    assert any("other positions than queries" in text for text in identify(later).warnings)


@pytest.mark.parametrize("fixed", [True, False])
def test_a_guessed_width_is_said(fixed):
    def mine(x, positions):
        width = 64 if fixed else x.shape[-1]
        rope = Rope(inverse_frequencies(width), width)
        return torch.cat((rope(x[..., :width], positions), x[..., width:]), dim=-1)

    told = "how wide a head is"
    assert any(told in text for text in identify(mine).unknown) == fixed
    assert not any(told in text for text in identify(mine, dim=128).unknown)
    held = compare(mine, lambda x, positions: mine(x, positions))
    assert held.agrees
    assert any("wider heads" in text for text in held.not_compared) == fixed


# Configurations of code that is not transformers' own


GLM = {
    "model_type": "chatglm",
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "kv_channels": 128,
    "num_layers": 2,
    "rope_ratio": 500,
    "seq_length": 131_072,
    "original_rope": True,
}


@pytest.mark.parametrize("ratio", [1, 500])
@pytest.mark.parametrize("own", [True, False])
def test_chatglm_multiplies_its_base(ratio, own):
    read = models(GLM | {"rope_ratio": ratio, "original_rope": own})
    layer = read.layers[0]
    assert (layer.base, layer.rope.head_dim, layer.rope.rotary_dim) == (10_000 * ratio, 128, 64)
    assert layer.rope.pairing == ("interleaved" if own else "half")
    assert (len(read.layers), read.context) == (2, 131_072)
    assert any("rope_ratio 500" in note for note in read.notes) == (ratio == 500)


def test_keys_of_another_familys_code_are_not_lost_silently():
    notes = " ".join(models(GLM | {"model_type": "glm4"}).notes)
    assert "rope_ratio 500 is ignored" in notes
    assert "rope_theta 5000000 is meant" in notes
    assert "kv_channels 128 is ignored" in notes
    assert "rope_parameters meant" not in notes
    with pytest.raises(ValueError, match="rope_ratio would be lost"):
        models({"model_type": "nobody", "rope_ratio": 500})
    with pytest.raises(ValueError, match="two rows of positions"):
        models(GLM | {"position_encoding_2d": True})


@pytest.mark.parametrize(("size", "method"), [(4096, "rope"), (5120, "alibi")])
def test_baichuan_rotates_or_adds_a_bias_by_its_size(size, method):
    raw = {"model_type": "baichuan", "hidden_size": size, "num_attention_heads": size // 128}
    read = models(raw | {"num_hidden_layers": 2, "model_max_length": 4096})
    assert {layer.method for layer in read.layers} == {method}


@pytest.mark.parametrize("base", [10_000, 1_000_000])
@pytest.mark.parametrize(
    "model_type", ["qwen", "internlm", "internlm2", "xverse", "deci", "Yi", "aquila", "orion"]
)
def test_llamas_relatives(model_type, base):
    keys = {"qwen": {"rotary_emb_base": base}, "internlm": {"rotary": {"base": base}}}
    own = keys.get(model_type, {"rope_theta": base})
    rope = models({**LLAMA, "model_type": model_type, "rope_theta": 10_000, **own}).layers[0].rope
    assert torch.allclose(rope.inv_freq, inverse_frequencies(64, base=base))
    assert (rope.pairing, rope.rotary_dim) == ("half", 64)


@pytest.mark.parametrize("scaled", [True, False])
def test_qwens_and_internlms_own_scaling_is_said(scaled):
    old = {**LLAMA, "model_type": "qwen", "use_dynamic_ntk": scaled, "use_logn_attn": scaled}
    notes = " ".join(models(old).notes)
    assert ("larger base" in notes) == scaled
    assert ("log n" in notes) == scaled
    rotary = {"base": 10_000, "type": "dynamic" if scaled else "origin"}
    layer = models({**LLAMA, "model_type": "internlm", "rotary": rotary}).layers[0]
    assert layer.scaling == ("dynamic" if scaled else "none")


@pytest.mark.parametrize("given", [True, False])
def test_a_rotary_dim_that_is_not_read_is_noted(given):
    notes = " ".join(models(PHI | ({"rotary_dim": 64} if given else {})).notes)
    assert ("rotary_dim 64 is ignored: phi reads" in notes) == given


def test_code_that_counts_on_is_named_though_its_scores_are_right():
    seen = [0]

    def counting(q, k):
        t = count(q) + seen[0] % 97
        seen[0] += 5
        return wide(q, t), wide(k, t)

    def wide(x, t):
        return Rope(inverse_frequencies(64), 64)(x.transpose(1, 2), t).transpose(1, 2)

    found = compare(counting, LLAMA)
    assert not found.agrees
    assert "it keeps state" in found.mistake


@pytest.mark.parametrize("channels", [1, 16])
def test_one_channel_that_turns_is_no_padded_table(channels):
    rope = Rope(inverse_frequencies(64), 64)

    def part(x, positions):
        return torch.cat((rope(x, positions)[..., :channels], x[..., channels:]), dim=-1)

    told = identify(part, dim=64).warnings[0]
    assert ("beyond the channels that turn" in told) == (channels > 1)
