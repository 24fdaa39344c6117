"""Ports by how they are called: starts, state, sides, tables by name; wrong ones and right ones."""

import math

import pytest
import torch
from torch import nn

from posenc import alibi_slopes, inverse_frequencies, rotate
from posenc.verify import Rope, compare, identify, models
from posenc.verify.cli import main

INV = inverse_frequencies(64)
PLAIN = Rope(INV, 64)
LLAMA = {
    "model_type": "llama",
    "hidden_size": 256,
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "max_position_embeddings": 4096,
}
TABLE = torch.arange(4096).double()[:, None] * INV  # it ends, as tables do
COS, SIN = TABLE.cos().float(), TABLE.sin().float()


def turned(x, cos, sin):
    one, two = x.chunk(2, dim=-1)
    return torch.cat((one * cos - two * sin, one * sin + two * cos), dim=-1)


def at(x, positions):  # [..., n, d] and [b, n]
    return turned(x, COS[positions][:, None], SIN[positions][:, None])


def from_start(q, k, start, late=0):  # [b, h, n, d]
    first = max(int(torch.as_tensor(start).flatten()[0]) - late, 0)
    rows = torch.arange(first, first + q.shape[-2])[None]
    return at(q, rows), at(k, rows)


STARTS = {
    "an int of any name": lambda late: (
        lambda q, k, seqlen_offset=0: from_start(q, k, seqlen_offset, late)
    ),
    "after others": lambda late: lambda q, k, base=10_000, seen=0: from_start(q, k, seen, late),
    "None unless given": lambda late: (
        lambda q, k, cache_position=None: from_start(
            q, k, 0 if cache_position is None else cache_position, late
        )
    ),
    "required": lambda late: (
        lambda q, k, cached: from_start(q, k, cached if isinstance(cached, int) else 1 / 0, late)
    ),
}


@pytest.mark.parametrize("form", STARTS)
def test_an_argument_of_any_name_may_say_where_rows_start(form):
    assert compare(STARTS[form](0), LLAMA).agrees
    wrong = compare(STARTS[form](1), LLAMA)
    assert wrong.mistake == "position p turns as p - 1 from 1 on"
    assert "turned as p -1" in " ".join(identify(STARTS[form](1)).warnings)


def test_a_tensor_of_positions_may_have_any_name():
    def mine(late):
        def step(q, k, where=None):
            rows = torch.arange(q.shape[-2])[None] if where is None else where[None] - late
            return at(q, rows.clamp(min=0)), at(k, rows.clamp(min=0))

        return step

    assert "where=[n]" in identify(mine(0)).facts["called as"]
    assert compare(mine(0), LLAMA).agrees
    assert not compare(mine(1), LLAMA).agrees


def test_arguments_that_are_no_positions_are_named_as_not_tried():
    def mine(q, k, attention_mask=None, window=0):
        return from_start(q, k, 0)

    found = compare(mine, LLAMA)
    assert found.agrees
    assert "other values of attention_mask=None, window=0" in found.not_compared
    assert "is given no positions" in found.notes[0]
    assert "called as f(q, k), x as [b, h, n, d]" in found.notes[0]
    assert any("attention_mask=None, window=0" in text for text in identify(mine).unknown)


@pytest.mark.parametrize("name", ["offset", "cached", "positions"])
def test_what_does_nothing_when_told_where_rows_are_is_not_called_without_that(name):
    def mine(x, **given):
        told = given.get(name)
        count = x.shape[-2]
        rows = torch.arange(count) if told is None else torch.zeros(count, dtype=torch.long)
        return at(x, rows[None])

    scope = {"mine": mine}
    exec(f"def named(x, {name}=None): return mine(x, {name}={name})", scope)
    found = compare(scope["named"], LLAMA)
    assert not found.agrees or f"other values of {name}=None" in found.not_compared
    assert found.agrees == (name == "cached")


class Counting(nn.Module):
    def __init__(self, *, back=False):
        super().__init__()
        self.seen, self.back = 0, back

    def forward(self, q, k):
        self.seen = 0 if self.back else self.seen
        start, self.seen = self.seen, self.seen + q.shape[-2]
        return from_start(q, k, start)


def test_a_module_that_counts_on_is_named_and_not_its_keys():
    found = identify(Counting())
    assert any("keeps state" in text for text in found.warnings)
    assert not any("keys" in text for text in found.warnings)
    assert found.data["base"] == 10_000
    verdict = compare(Counting(), LLAMA)
    assert not verdict.agrees
    assert verdict.mistake == "it keeps state"
    assert "order" not in str(verdict)
    assert compare(Counting(back=True), LLAMA).agrees
    assert not identify(Counting(back=True)).warnings


def test_a_function_that_counts_on_is_named_too():
    counter = Counting()

    def mine(q, k):
        return counter(q, k)

    assert "keeps state" in identify(mine).warnings[0]
    assert compare(mine, LLAMA).mistake == "it keeps state"


@pytest.mark.parametrize("width", [128, 96])
def test_flat_code_of_one_width_is_called_with_heads_of_that_width(width):
    inv_freq = inverse_frequencies(width)

    def flat(positions, query, key):  # as in vLLM: any shape is taken
        turn = (positions.flatten()[:, None] * inv_freq).float()[:, None]
        shaped = (t.view(positions.numel(), -1, width) for t in (query, key))
        return tuple(
            turned(t, turn.cos(), turn.sin()).reshape(o.shape)
            for t, o in zip(shaped, (query, key), strict=True)
        )

    found = identify(flat)
    assert not found.warnings
    assert found.data["head_dim"] == width


LATENT = {
    "model_type": "deepseek_v3",
    "hidden_size": 7168,
    "num_attention_heads": 128,
    "num_hidden_layers": 2,
    "max_position_embeddings": 4096,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
}


def test_the_channels_that_turn_are_those_that_the_configuration_names():
    rope = models(LATENT).layers[0].rope
    last, first = (rope.but(head_dim=192, first=place) for place in (128, 0))
    assert compare(lambda x, positions: last(x, positions), LATENT, dim=192).agrees
    wrong = compare(lambda x, positions: first(x, positions), LATENT, dim=192)
    assert wrong.mistake == "the other end of the head rotated"
    unknown = compare(lambda x, positions: first(x, positions), rope, dim=192)
    assert unknown.agrees
    assert unknown.not_compared[0] == "which channels turn: 0 to 63 of 192 in yours"


def gptj(x, sin, cos):  # [b, n, h, d], tables [b, n, pairs]
    sin, cos = (t[:, :, None, :].repeat_interleave(2, -1) for t in (sin, cos))
    crossed = torch.stack((-x[..., 1::2], x[..., ::2]), dim=-1).flatten(-2)
    return x * cos + crossed * sin


def chatglm(x, cache):  # [n, b, h, d] and [n, pairs, 2]
    cache = cache[: len(x)].view(len(x), -1, 1, x.shape[-1] // 2, 2)
    one, two = x.unflatten(-1, (-1, 2)).unbind(-1)
    cos, sin = cache.unbind(-1)
    return torch.stack((one * cos - two * sin, two * cos + one * sin), dim=-1).flatten(-2)


def test_tables_are_given_by_the_names_and_in_the_shapes_that_apply_takes():
    neighbours = Rope(INV, 64, "interleaved")
    assert compare((COS, SIN), neighbours, apply=gptj).agrees
    assert compare(torch.stack((COS, SIN), -1), neighbours, apply=chatglm).agrees
    assert compare((COS, SIN), PLAIN, apply=lambda x, sin, cos: turned(x, cos, sin)).agrees
    exchanged = compare((COS, SIN), PLAIN, apply=lambda x, cos, sin: turned(x, sin, cos))
    assert exchanged.mistake == "sine and cosine exchanged"


def test_an_apply_that_takes_no_shape_is_told_in_a_sentence():
    with pytest.raises(ValueError, match="apply= cannot be called with x and tables"):
        identify((COS, SIN), apply=lambda x, cos, sin: (x * cos[:, :3]).view(2, 7))


def by_positions(of_query, of_key=None):
    of_key = of_key or of_query

    def step(q, k, position_ids):
        def turn(x, rule):
            rows, gain = rule(position_ids)
            angle = (rows[..., None] * INV).float()[:, None]
            return gain * turned(x, angle.cos(), angle.sin())

        return turn(q, of_query), turn(k, of_key)

    return step


def right(p):
    return p, 1.0


@pytest.mark.parametrize("length", [512, 4096, 8192])
def test_identify_tries_keys_at_far_positions(length):
    ring = by_positions(right, lambda p: (p % length, 1.0))
    assert "but not at" in identify(ring).warnings[0]
    assert not identify(by_positions(right)).warnings


def test_a_gain_on_one_side_alone_is_told():
    gained = by_positions(right, lambda p: (p, 1.2))
    assert "keys come out 1.2 times as long" in identify(gained).warnings[0]
    scaled = by_positions(lambda p: (p, 1 / 8))
    assert not any("sqrt" in text for text in identify(scaled).warnings)  # both, as by any gain
    once = by_positions(lambda p: (p, 1 / 8), right)
    assert "divided by sqrt(64)" in identify(once).warnings[0]
    verdict = compare(once, LLAMA)
    assert verdict.mistake == "queries: divided by sqrt(head_dim)"
    assert "keys agree, queries do not: all of this is said of the queries" in verdict.notes


@pytest.mark.parametrize("which", ["second", "first"])
def test_writing_in_place_is_named(which):
    def mine(x, positions):
        angle = (positions[:, None] * INV).float()
        cos, sin = angle.cos(), angle.sin()
        x = x.clone()
        one, two = x.chunk(2, dim=-1)
        if which == "second":
            one.copy_(one * cos - two * sin)
            two.copy_(two * cos + one * sin)
        else:
            two.copy_(two * cos + one * sin)
            one.copy_(one * cos - two * sin)
        return x

    assert f"the {which} channel of each pair" in identify(mine).warnings[0]
    verdict = compare(mine, PLAIN)
    assert "written in place" in verdict.hint
    assert not verdict.mistake.startswith("no rotation")


def test_writing_in_place_as_one_should_is_no_state():
    def mine(x, positions):  # [n, d] alone
        (n, _), angle = x.shape, (positions[:, None] * INV).float()
        assert positions.shape == (n,)
        x.copy_(turned(x, angle.cos(), angle.sin()))
        return x

    found = identify(mine)
    assert "[n, d]" in found.facts["called as"]
    assert not found.warnings
    assert compare(mine, PLAIN).agrees


@pytest.mark.parametrize("seam", [512, 8192])
def test_a_seam_far_away_is_no_lack_of_precision(seam):
    def mine(x, positions):
        return PLAIN(x, positions - 300 * (positions >= 10 * seam))

    found = identify(mine)
    assert "positions are changed on the way" in found.warnings[0]
    assert not any("precision" in text or "float32 explains" in text for text in found.warnings)
    hint = compare(mine, PLAIN).hint
    assert "p - 300" in hint


def test_frequencies_that_are_off_are_still_a_lack_of_precision():
    found = identify(lambda x, positions: PLAIN.but(inv_freq=INV * (1 + 3e-6))(x, positions))
    assert not any("seam" in text for text in found.warnings)


BLOOM = {"model_type": "bloom", "hidden_size": 512, "n_head": 8, "n_layer": 2}


def test_a_bias_whose_near_keys_become_one_number_does_not_agree():
    exact = (alibi_slopes(8)[:, None, None] * torch.arange(600)).float()
    found = compare(exact, BLOOM)
    assert found.agrees
    largest = next(note for note in found.notes if "largest" in note)
    assert float(largest.split()[2]) < 1e-6
    wrong = compare(exact.bfloat16(), BLOOM)
    assert not wrong.agrees
    assert wrong.mistake == "near keys get one number"
    assert identify(exact.bfloat16()).warnings  # both say so
    short = (alibi_slopes(8)[:, None, None] * torch.arange(60)).bfloat16()
    assert compare(short, BLOOM).agrees
    from_query = (exact - exact[..., -1:]).bfloat16()  # 0 at the query: near keys are exact
    assert compare(from_query, BLOOM).agrees


def test_a_function_that_gives_buckets_is_seen_to():
    def mine(relative_position):
        return (relative_position.abs().clamp(max=15) + 16 * (relative_position > 0)).long()

    assert identify(mine).kind == "buckets"
    assert identify(lambda x: x).kind == "nothing known"


def test_a_changing_gain_is_not_told_as_a_number():
    grown = by_positions(lambda p: (p, 1.001 ** p[:, None, :, None].double().clamp(max=2e4)))
    assert identify(grown).facts["gain"] == "changes with pair or position"


def test_vectors_of_another_precision_can_be_asked_for_on_the_command_line(tmp_path, monkeypatch):
    (tmp_path / "low_precision_port.py").write_text(
        "import torch\n"
        "from posenc import inverse_frequencies, rotate\n"
        "W = inverse_frequencies(64)\n"
        "def mine(x, positions):\n"
        "    angle = positions.to(x.dtype).double()[:, None] * W\n"
        "    return rotate(x.double(), angle, pairing='half').to(x.dtype)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    given = ["identify", "low_precision_port:mine"]
    assert main([*given, "--dtype", "float32"]) == 0
    assert main(given) == 1  # bfloat16 is tried, too
    assert main([*given, "--dtype", "bfloat16"]) == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {
                "rope_scaling": {
                    "rope_type": "llama3",
                    "factor": 8.0,
                    "low_freq_factor": 1.0,
                    "high_freq_factor": 4.0,
                    "original_max_position_embeddings": 8192,
                }
            },
            "is above the context, 4096",
        ),
        ({"model_type": "gpt_neox", "head_dim": 96}, "heads of hidden_size/num_attention_heads"),
        (
            {
                "model_type": "gemma3_text",
                "sliding_window_pattern": 6,
                "layer_types": ["full_attention"] * 2,
            },
            "layer_types says otherwise",
        ),
        (
            {"model_type": "mpt", "attn_config": {"alibi": True, "rope": True}},
            "attn_config.rope is ignored",
        ),
    ],
)
def test_keys_that_contradict_each_other_are_named(change, said):
    assert any(said in note for note in models({**LLAMA, **change}).notes)
    assert not any(said in note for note in models(LLAMA).notes)


def test_a_head_width_that_attention_does_not_read_gives_the_frequencies_alone():
    rope = models({**LLAMA, "model_type": "gpt_neox", "head_dim": 96}).layers[0].rope
    assert (rope.head_dim, rope.rotary_dim) == (64, 24)


def test_rotate_and_its_tables_are_one():  # the tables above are right
    x = torch.randn(1, 4096, 64)
    expected = rotate(x.double(), TABLE, pairing="half")
    assert torch.allclose(turned(x, COS, SIN).double(), expected, atol=1e-5)
    assert math.isclose(INV[-1].item(), 10_000 ** (-62 / 64))


class Grows(nn.Module):
    """Tables that grow with the text, and keep the dtype of the call that made them."""

    def __init__(self, *, angles_in_dtype=False):
        super().__init__()
        self.angles_in_dtype, self.rows = angles_in_dtype, 0
        self.make(4096, torch.float32)

    def make(self, rows, dtype):
        self.rows = rows
        angles = torch.arange(rows).float()[:, None] * INV.float()
        angles = angles.to(dtype) if self.angles_in_dtype else angles
        self.cos, self.sin = angles.cos().to(dtype), angles.sin().to(dtype)

    def forward(self, x, position_ids):
        if position_ids.max() >= self.rows:
            self.make(int(position_ids.max()) + 1, x.dtype)
        spots = position_ids[:, None]
        return turned(x, self.cos[spots].to(x.dtype), self.sin[spots].to(x.dtype))


class Stretches(nn.Module):
    """Frequencies of a long text that are never put back."""

    def __init__(self):
        super().__init__()
        self.inv_freq, self.longest = INV.float(), 4096

    def forward(self, x, position_ids):
        if position_ids.max() >= self.longest:
            self.longest = int(position_ids.max()) + 1
            base = 10_000 * (self.longest / 4096) ** (64 / 62)
            self.inv_freq = inverse_frequencies(64, base=base).float()
        angles = position_ids[:, None, :, None] * self.inv_freq
        return turned(x, angles.cos(), angles.sin())


def told(thing):
    """What identify and compare say."""
    return str(identify(thing)), str(compare(thing, LLAMA))


@pytest.mark.parametrize(
    "form",
    [
        lambda made: made,
        lambda made: made.forward,
        lambda made: lambda x, position_ids: made(x, position_ids),
    ],
    ids=["an instance", "a method", "a function"],
)
def test_tables_that_grow_are_not_accused_whatever_was_called_before(form):
    thing = form(Grows())
    assert compare(thing, LLAMA).agrees
    assert not identify(thing).warnings
    assert told(thing) == told(thing)
    assert compare(thing, LLAMA).agrees
    thing = form(Grows())
    assert not identify(thing).warnings
    assert compare(thing, LLAMA).agrees


@pytest.mark.parametrize("make", [lambda: Grows(angles_in_dtype=True), Stretches])
def test_a_mistake_that_stays_in_an_instance_is_named_each_time(make):
    thing = make()
    first = compare(thing, LLAMA)
    assert not first.agrees
    assert first.mistake
    before = identify(thing)
    assert before.warnings
    assert str(compare(thing, LLAMA)) == str(first) == str(compare(make(), LLAMA))
    assert str(identify(thing)) == str(before)
    assert thing.cos.shape[0] == 4096 if isinstance(thing, Grows) else thing.longest == 4096
