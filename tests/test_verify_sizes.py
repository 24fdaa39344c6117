"""Bugs that show in calls of some sizes alone, one row, thousands, many heads; and their names."""

import functools
import math

import pytest
import torch

from posenc import angles, compare, identify, inverse_frequencies, models, rotate
from posenc.verify import Rope
from posenc.verify.layouts import arranged, rearranged
from posenc.verify.turn import NotARotation

pytestmark = pytest.mark.usefixtures("annotations_off")
LLAMA = {
    "model_type": "llama",
    "hidden_size": 256,
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "max_position_embeddings": 8192,
    "rope_theta": 10_000.0,
}
INV = inverse_frequencies(64).float()


def half(x, turn):
    one, two = x.chunk(2, dim=-1)
    cos, sin = turn.cos().to(x.dtype), turn.sin().to(x.dtype)
    return torch.cat((one * cos - two * sin, two * cos + one * sin), dim=-1)


def turns(positions):
    """Positions [b, n] as angles [b, 1, n, 32], for x [b, h, n, d]."""
    return (positions.float()[..., None] * INV)[:, None]


def both(q, k, position_ids):
    turn = turns(position_ids)
    return half(q, turn), half(k, turn)


def heads_of(k, turned, some):
    """The turned keys in some of the heads, the others as they are."""
    return torch.where(some(torch.arange(k.shape[1]))[None, :, None, None], turned, k)


def one_row(wrong):
    def port(q, k, position_ids):
        one = q.shape[2] == 1
        if one and wrong == "first text":
            position_ids = position_ids[:1, :1].expand_as(position_ids)
        if one and wrong == "late":
            position_ids = position_ids + 1
        q, turned = both(q, k, position_ids)
        return q, k if one and wrong == "bare keys" else turned

    return port


def rows(tile):
    def port(q, k, position_ids):
        turn = turns(position_ids)
        turn = turn[:, :, torch.arange(turn.shape[2]) % tile]
        return half(q, turn), half(k, turn)

    return port


def heads(some):
    def port(q, k, position_ids):
        q, turned = both(q, k, position_ids)
        return q, heads_of(k, turned, some)

    return port


def projected(q, k, position_ids, *, wrong=False):
    """Vectors as a projection gives them, [b, n, h d]."""

    def go(x):
        b, n, _ = x.shape
        if wrong:
            return half(x.reshape(b, -1, n, 64), turns(position_ids)).reshape(b, n, -1)
        x = half(x.reshape(b, n, -1, 64).transpose(1, 2), turns(position_ids))
        return x.transpose(1, 2).reshape(b, n, -1)

    return go(q), go(k)


def served(positions, query, key, *, wrong=False):
    """Positions [n] first, vectors [n, h d]."""
    turn = positions.float()[:, None] * INV

    def go(x):
        shaped = x.reshape(-1, len(turn), 64) if wrong else x.reshape(len(turn), -1, 64)
        return half(shaped, turn if wrong else turn[:, None]).reshape(x.shape)

    return go(query), go(key)


def folded(q, k, position_ids, *, wrong=False):
    """Heads among the texts, [b h, n, d]."""
    turn = position_ids.float()[..., None] * INV

    def go(x):
        h = len(x) // len(turn)
        return half(x, turn.repeat(h, 1, 1) if wrong else turn.repeat_interleave(h, dim=0))

    return go(q), go(k)


def offset(qkv, seqlen_offsets=0, *, wrong=False):
    """[b, n, 3, h, d] with a first position for all, or one for each text."""
    b, n = qkv.shape[:2]
    first = torch.as_tensor(seqlen_offsets).reshape(-1).expand(b)
    first = first[:1].expand(b) if wrong else first
    turn = ((first[:, None] + torch.arange(n)).float()[..., None] * INV)[:, :, None]
    q, k, v = qkv.unbind(2)
    return torch.stack((half(q, turn), half(k, turn), v), dim=2)


def wrongly(port):
    def wrong(*given, **named):
        return port(*given, **named, wrong=True)

    functools.update_wrapper(wrong, port)
    return wrong


OWN = "9 texts with positions of their own"
BUGS = {
    "a single row (decoding): keys are not turned": one_row("bare keys"),
    "a single row (decoding): queries and keys are turned as one position later": one_row("late"),
    f"{OWN} (a decode step): queries and keys in texts 1 and on are turned by the first text's "
    "positions": one_row("first text"),
    "300 rows: queries and keys from row 256 on are turned by the positions of the first rows "
    "again": rows(256),
    "4097 rows: queries and keys from row 2048 on are turned by the positions of the first rows "
    "again": rows(2048),
    "40 heads: keys in heads 8 and on are not turned": heads(lambda h: h < 8),
    "40 heads: keys in heads 1 and on are not turned": heads(lambda h: h < 1),
    "40 heads: keys in head 39 are not turned": heads(lambda h: h != 39),
}
RIGHT = {
    "one call for all": both,
    "keys of any number of heads": heads(lambda h: h >= 0),
    "projected": projected,
    "served": served,
    "folded": folded,
    "offset": offset,
    "tiles that are counted": rows(10_000),
}


@pytest.mark.parametrize("told", BUGS)
def test_a_bug_of_one_size_is_found_and_named(told):
    found = compare(BUGS[told], LLAMA)
    assert not found.agrees
    assert found.mistake == told
    assert "calls of a few rows are right: look " in found.hint
    assert any(text.startswith(told) for text in identify(BUGS[told]).warnings)


@pytest.mark.parametrize(
    ("port", "told"),
    [
        (projected, "5 heads as [b n (h d)]: queries and keys are turned by other positions"),
        (served, "5 heads as ["),
        (folded, "3 texts with positions of their own (several rows) as [(b h) n d]: "),
        (offset, f"{OWN} (several rows): queries and keys in texts 1 and on are turned by the fir"),
    ],
)
def test_heads_and_texts_that_are_mixed_are_found(port, told):
    found = compare(wrongly(port), LLAMA)
    assert not found.agrees
    assert found.mistake.startswith(told)
    assert any(text.startswith(told) for text in identify(wrongly(port)).warnings)


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_raises_no_alarm(name):
    found = compare(RIGHT[name], LLAMA)
    assert found.agrees, found
    assert str(found).splitlines()[0] == "agree"
    assert not identify(RIGHT[name]).warnings
    assert "a single row (decoding), 300 rows, 4097 rows" in found.compared[-1]


def test_sizes_that_are_refused_are_listed():
    def port(q, k, position_ids):
        if q.shape[2] == 1:
            raise ValueError("the prompt only")
        if q.shape[1] > 12 or q.shape[2] > 1000:
            raise ValueError("too large")
        assert len(position_ids) == 1
        return both(q, k, position_ids)

    found = compare(port, LLAMA)
    assert found.agrees
    assert found.compared[-1] == (
        "calls of 300 rows, 2 rows, views that are not contiguous, 12 heads, 12 heads and 4 of "
        "keys, 12 heads and 1 of keys"
    )
    told = "\n".join(found.not_compared)
    assert "a single row (decoding): yours refuses that, ValueError: the prompt only" in told
    assert "4097 rows: yours refuses that, ValueError: too large" in told
    assert f"{OWN} (a decode step): yours refuses that" in told


@pytest.mark.parametrize("share", [1.0, 0.5])
def test_a_head_of_any_width_is_not_taken_for_flattened_heads(share):
    def port(x, positions):  # [b, n, d], of any width d; or its first channels, whatever follows
        width = x.shape[-1] if share == 1 else 32
        turn = positions.float()[..., None] * inverse_frequencies(width).float()
        return torch.cat((half(x[..., :width], turn), x[..., width:]), dim=-1)

    reference = Rope(inverse_frequencies(int(64 * share)), 64)
    found = compare(port, reference)
    assert found.agrees, found
    assert not any("(h d)" in text for text in (*found.compared, *found.not_compared))


@pytest.mark.parametrize("counted", ["positions", "rows"])
def test_frequencies_that_depend_on_the_length_are_no_alarm_in_long_calls(counted):
    scaling = {"rope_type": "dynamic", "factor": 4.0}
    config = LLAMA | {"max_position_embeddings": 2048, "rope_scaling": scaling}

    def port(q, k, position_ids):
        n = int(position_ids.max()) + 1 if counted == "positions" else q.shape[2]
        base = 10_000.0 * max(1.0, 4 * n / 2048 - 3) ** (64 / 62)
        turn = (position_ids.float()[..., None] * inverse_frequencies(64, base=base).float())[
            :, None
        ]
        return half(q, turn), half(k, turn)

    assert compare(port, config).agrees == (counted == "positions")
    warned = any("4097 rows" in text for text in identify(port).warnings)
    assert warned == (counted == "rows")


@pytest.mark.parametrize("layout", ["b h n d", "n b h d", "b n (h d)", "(b h) n d", "n h d", "d n"])
def test_a_layout_goes_there_and_back(layout):
    sizes = {"b": 2, "h": 3, "n": 5, "d": 4}
    sizes = {name: size if name in layout else 1 for name, size in sizes.items()}
    x = torch.arange(math.prod(sizes.values())).reshape(*sizes.values()).float()
    assert torch.equal(rearranged(arranged(x, layout), x, layout), x)
    with pytest.raises(NotARotation, match="it gives"):
        rearranged(arranged(x, layout)[:-1], x, layout)


# Sizes that come together, and positions that do not follow each other


def fewer_in_a_step(q, k, position_ids, *, wrong=False):
    a, b = both(q, k, position_ids)
    if wrong and q.shape[2] == 1 and k.shape[1] < q.shape[1]:
        b = heads_of(k, b, lambda h: h < 1)
    return a, b


def fewer_of_several_texts(q, k, position_ids, *, wrong=False):
    a, b = both(q, k, position_ids)
    if wrong and len(q) > 1 and k.shape[1] < q.shape[1]:
        b = half(k, turns(position_ids[:1]))
    return a, b


def one_of_keys(q, k, position_ids, *, wrong=False):
    a, b = both(q, k, position_ids)
    return a, k if wrong and k.shape[1] == 1 < q.shape[1] else b


def two_at_once(q, k, position_ids, *, wrong=False):
    if wrong and q.shape[2] == 2:
        position_ids = position_ids[:, :1].expand_as(position_ids)
    return both(q, k, position_ids)


def tiled(q, k, position_ids, *, wrong=False):
    a, b = both(q, k, position_ids)
    end = q.shape[2] - (wrong and q.shape[2] % 64 == 0)
    return (
        torch.cat((a[:, :, :end], q[:, :, end:]), 2),
        torch.cat((b[:, :, :end], k[:, :, end:]), 2),
    )


def in_memory(q, k, position_ids, *, wrong=False):
    def raw(x):
        steps = torch.empty(x.shape).stride() if wrong else x.stride()
        return torch.as_strided(x, x.shape, steps, x.storage_offset())

    return both(raw(q), raw(k), position_ids)


def four_texts(q, k, position_ids, *, wrong=False):
    a, b = both(q, k, position_ids)
    return torch.cat((a[:4], q[4:])) if wrong else a, b


def far_step(q, k, position_ids, *, wrong=False):
    return both(q, k, position_ids % 4096 if wrong and q.shape[2] == 1 else position_ids)


def chunked(q, k, position_ids, *, wrong=False):
    if wrong:
        first = position_ids[:, :512]
        starts = range(0, q.shape[2], 512)
        position_ids = torch.cat([first + at for at in starts], 1)[:, : q.shape[2]]
    return both(q, k, position_ids)


def rebuilt(q, k, position_ids, *, wrong=False):
    if wrong and q.shape[2] > 64:
        position_ids = position_ids[:, :1] + torch.arange(q.shape[2])
    return both(q, k, position_ids)


def from_offset(q, k, offset=0, *, wrong=False):
    rows = torch.arange(q.shape[2])[None]
    return both(q, k, rows + (0 if wrong and q.shape[2] > 256 else offset))


def flattened(q, k, position_ids, *, wrong=False):
    def go(x):
        b, n, _ = x.shape
        if wrong and k.shape != q.shape and x is k:
            x = x.view(b, n, 64, -1).permute(0, 3, 1, 2)
            return half(x, turns(position_ids)).permute(0, 2, 3, 1).flatten(2)
        x = x.view(b, n, -1, 64).transpose(1, 2)
        return half(x, turns(position_ids)).transpose(1, 2).flatten(2)

    return go(q), go(k)


def repeating(q, k, position_ids, *, wrong=False):
    a, b = both(q, k, position_ids)
    times = q.shape[1] // k.shape[1]
    return a, b.repeat(1, times, 1, 1) if wrong else b.repeat_interleave(times, dim=1)


TOGETHER = {
    fewer_in_a_step: f"{OWN} (a decode step) with 40 heads and 8 of keys: keys in heads 1 and on "
    "are not turned",
    fewer_of_several_texts: f"{OWN} (a decode step) with 40 heads and 8 of keys: keys in texts 1 "
    "and on are turned by the first text's positions",
    one_of_keys: "40 heads and 1 of keys: keys are not turned",
    two_at_once: "2 rows: queries and keys are turned by the positions of the first rows again",
    tiled: "4096 rows: queries and keys from row 4095 on are not turned",
    in_memory: "views that are not contiguous: ",
    four_texts: f"{OWN} (several rows): queries in texts 4 and on are not turned",
    far_step: "a single row (decoding): queries and keys are turned by other positions",
    chunked: "4097 rows: queries and keys from row 2047 on are turned by ",
    rebuilt: "300 rows: queries and keys from row 1 on are turned by other positions",
    from_offset: "300 rows: queries and keys are turned by their place in the call, not by their",
    flattened: "6 heads and 2 of keys as [b n (h d)]: keys are turned by other positions",
    repeating: "40 heads and 8 of keys: keys are repeated in another order than the queries' "
    "heads: repeat_interleave, not repeat",
}


@pytest.mark.parametrize("port", TOGETHER)
def test_sizes_that_come_together_are_tried(port):
    right = compare(port, LLAMA)
    assert right.agrees, right
    assert not right.undecided
    assert not any("yours refuses that" in text for text in right.not_compared)
    found = compare(wrongly(port), LLAMA)
    assert not found.agrees
    assert found.mistake.startswith(TOGETHER[port])


@pytest.mark.parametrize("right", [True, False])
def test_tables_kept_for_the_same_last_position_are_found(right):
    kept = {}

    def port(q, k, position_ids):
        key = (tuple(position_ids.shape), int(position_ids[0, -1]))
        if right or kept.get("key") != key:
            kept.update(key=key, turn=turns(position_ids))
        return half(q, kept["turn"]), half(k, kept["turn"])

    assert compare(port, LLAMA).agrees == right


QWEN2_VL = LLAMA | {
    "model_type": "qwen2_vl",
    "rope_scaling": {"type": "mrope", "mrope_section": [8, 12, 12]},
}


def by_three(form, wrong):
    """Positions [n] or [3, n] first, as served; or [3, b, n]; `wrong` of q, k: only time counts."""

    def turned_by(positions, bad):
        turn = positions.float()[..., None] * INV
        if turn.shape[0] != 3 or positions.ndim == 1:
            return turn
        if bad:
            return turn[0]
        parts = turn.split([8, 12, 12], dim=-1)
        return torch.cat([part[i] for i, part in enumerate(parts)], dim=-1)

    def served(positions, query, key):
        n = positions.shape[-1]

        def go(x, bad):
            turn = turned_by(positions, bad)[:, None]
            return half(x.view(n, -1, 64), turn).reshape(x.shape)

        return [go(x, wrong(n, query, key) and bad) for x, bad in ((query, True), (key, True))]

    def batched(q, k, position_ids):
        assert position_ids.ndim == 3
        turn = turned_by(position_ids, wrong(q.shape[2], q, k))[:, None]
        return half(q, turn), half(k, turn)

    return served if form == "served" else batched


@pytest.mark.parametrize("form", ["served", "batched"])
@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (lambda n, q, k: False, ""),
        (lambda n, q, k: n == 1, "a single row (decoding) with three rows of positions that diff"),
        (lambda n, q, k: n > 2048, "4096 rows with three rows of positions that differ: "),
        (lambda n, q, k: q.shape != k.shape, "with 40 heads and 8 of keys and three rows of pos"),
    ],
)
def test_three_rows_that_differ_come_in_other_sizes(form, wrong, told):
    found = compare(by_three(form, wrong), QWEN2_VL)
    assert found.agrees == (told == ""), found
    assert told in found.mistake
    assert any(told in text for text in identify(by_three(form, wrong)).warnings) == (told != "")
    if told:
        assert "follow the first row of positions" in found.mistake


def test_keys_of_another_shape_leave_it_undecided():
    def port(q, k, position_ids):
        q, k = both(q, k, position_ids)
        return q, k if k.shape[1] == q.shape[1] else k.flatten(2)

    found = compare(port, LLAMA)
    assert not found.agrees
    assert not found.mistake
    assert found.undecided[0].startswith("40 heads and 8 of keys: it gives (1, 8, 448) for ")


def test_views_that_are_refused_are_no_alarm():
    def port(q, k, position_ids):
        for x in (q, k):
            x.view(-1)
        return both(q, k, position_ids)

    found = compare(port, LLAMA)
    assert found.agrees
    assert any(
        text.startswith("views that are not contiguous: yours refuses that")
        for text in found.not_compared
    )


@pytest.mark.parametrize("limit", ["consecutive", "near"])
def test_positions_that_are_refused_are_no_alarm(limit):
    def port(q, k, position_ids):
        rises = (position_ids.diff() == 1).all()
        if limit == "consecutive" and q.shape[2] > 100 and not rises:
            raise ValueError("a prompt rises")
        if limit == "near" and q.shape[2] == 1 and position_ids.max() > 1000:
            raise ValueError("too far")
        return both(q, k, position_ids)

    found = compare(port, LLAMA)
    assert found.agrees
    assert "a single row (decoding), 300 rows, 4097 rows, 4096 rows" in found.compared[-1]


def test_gradients_and_other_starts_are_named_as_not_compared():
    told = "\n".join(compare(from_offset, LLAMA).not_compared)
    assert "several texts in one row, whose positions start again" in told
    told = "\n".join(compare(both, LLAMA).not_compared)
    assert "masks, gradients and the scale of scores" in told
    assert "start again" not in told


def test_other_sizes_cost_few_calls():
    rows = []

    def port(q, k, position_ids):
        rows.append(q.shape[2])
        return both(q, k, position_ids)

    compare(port, LLAMA)
    assert max(rows) == 4097
    assert rows.count(4097) == 1
    assert len(rows) < 100


# Names for what is seen


class Stale(torch.nn.Module):
    """Angles are made anew only when the number of rows changes."""

    def __init__(self, right):
        super().__init__()
        self.rows, self.turn, self.right = None, None, right

    def forward(self, q, k, position_ids):
        if self.right or self.rows != position_ids.shape[-1]:
            self.rows, self.turn = position_ids.shape[-1], turns(position_ids)
        return half(q, self.turn), half(k, self.turn)


@pytest.mark.parametrize("right", [True, False])
def test_a_cache_that_heeds_the_length_alone_keeps_state(right):
    found = compare(Stale(right), LLAMA)
    assert found.agrees == right
    assert ("a cache that is made anew only when the length changes" in found.hint) != right
    assert any("it keeps state" in text for text in identify(Stale(right)).warnings) != right


@pytest.mark.parametrize("first", [-1, 0, 1])
def test_exponents_that_begin_elsewhere_are_seen(first):
    inv_freq = 1e6 ** (-2 * (torch.arange(64) + first) / 128)
    found = identify(lambda x, positions: half(x, positions[:, None].float() * inv_freq), dim=128)
    told = {-1: "-2(i - 1)/128", 0: "", 1: "-2(i + 1)/128"}[first]
    assert any(f"exponents are {told} with i from 0 on" in text for text in found.warnings) == (
        first != 0
    )
    assert found.data["base"] == 1e6


@pytest.mark.parametrize("end", [4096, 32_767])
def test_moved_positions_do_not_spoil_the_frequencies(end):
    found = identify(lambda x, p: half(x, p.clamp(max=end)[:, None].float() * INV))
    assert found.data["scaling"] == "none"
    assert found.data["base"] == 10_000
    assert found.warnings


def xpos(q, k, position_ids, *, wrong=False):
    p = position_ids.float()[..., None]
    shrink = (((torch.arange(0, 64, 2) + 25.6) / 89.6) ** (p / 512))[:, None]
    turn = turns(position_ids)

    def go(x, scale):
        return half(x, turn) * torch.cat((scale, scale), dim=-1)

    return go(q, shrink), go(k, shrink if wrong else 1 / shrink)


def test_xpos_is_no_false_alarm_and_what_overflows_is_told():
    found = identify(xpos)
    assert not found.warnings
    assert found.data["base"] == 10_000
    assert any("as with xPos" in text for text in found.unknown)
    assert "smaller than float32's numbers" in found.facts["positions"]
    told = compare(wrongly(xpos), xpos)
    assert not told.agrees
    assert any(
        text.startswith("the reference refuses keys at position 100003: it gives numbers that are")
        for text in told.notes
    )


@pytest.mark.parametrize("counted", ["rows", "positions"])
def test_the_length_of_the_call_is_told_from_that_of_the_text(counted):
    factors = {"short_factor": [1.0] * 32, "long_factor": [4.0] * 32}
    scaling = {"type": "longrope", **factors}
    config = LLAMA | {"model_type": "phi3", "original_max_position_embeddings": 4096}
    config |= {"max_position_embeddings": 131_072, "rope_scaling": scaling}
    gain = math.sqrt(1 + math.log(32) / math.log(4096))

    def port(q, k, position_ids):
        n = position_ids.shape[-1] if counted == "rows" else int(position_ids.max()) + 1
        turn = turns(position_ids) / (4.0 if n > 4096 else 1.0)
        return half(q, turn) * gain, half(k, turn) * gain

    found = compare(port, config)
    assert found.agrees == (counted == "positions")
    assert (found.mistake == "the rows of the call taken for the length of the text") == (
        counted == "rows"
    )


@pytest.mark.parametrize("side", ["queries", "keys"])
def test_whose_positions_are_the_first_texts_is_told(side):
    def port(q, k, position_ids):
        turn = turns(position_ids)
        first = turn[:1]
        return half(q, first if side == "queries" else turn), half(
            k, first if side == "keys" else turn
        )

    assert compare(port, LLAMA).mistake == f"{side}: one row of positions for the whole batch"


def test_a_layer_without_positions_is_named():
    smollm3 = LLAMA | {"model_type": "smollm3", "num_hidden_layers": 8}
    found = compare(both, smollm3, layer=3)
    assert found.hint.startswith("this layer has no positions (NoPE): nothing is to turn")


@pytest.mark.parametrize("listed", [[0, 0, 0, 1] * 2, [1, 1, 1, 0] * 2])
def test_two_rules_for_layers_without_positions_are_held_against_each_other(listed):
    smollm3 = LLAMA | {"model_type": "smollm3", "num_hidden_layers": 8}
    told = models(smollm3 | {"no_rope_layers": listed, "no_rope_layer_interval": 4}).notes
    assert any("no_rope_layer_interval 4 is ignored" in note for note in told) == (not listed[0])


def test_slopes_that_forget_the_odd_powers_are_named():
    n, m = 8, 2 ** (-8 / 16)
    slopes = torch.tensor([2.0 ** -(h + 1) if h < n else m ** (h - n + 1) for h in range(12)])
    rows = torch.arange(40)
    bias = -slopes[:, None, None] * (rows[:, None] - rows)
    told = " ".join(identify(bias).warnings)
    assert "heads from 8 on have every slope of 16 heads, not every second one" in told


def test_what_a_wrapper_cures_comes_first():
    def in_place(positions, query, key):
        query.add_(positions.sum()), key.add_(1)

    with pytest.raises(ValueError, match=r"calling it works. It gives nothing: if it works in pl"):
        identify(in_place)


@pytest.mark.parametrize("rows", [300, 1500])
def test_a_table_that_ends_is_called_as_far_as_it_goes(rows):
    def port(q, k, start_pos):
        if start_pos + q.shape[2] > rows:
            raise IndexError("the table ends")
        turn = turns(torch.arange(start_pos, start_pos + q.shape[2])[None])
        return half(q, turn), half(k, turn)

    found = compare(port, LLAMA)
    assert found.unseen  # the model is made for more
    assert "within the context of" in found.undecided[0]
    found = compare(port, {**LLAMA, "max_position_embeddings": rows})
    assert found.agrees, found
    assert ("300 rows, 1010 rows" if rows == 1500 else "258 rows") in found.compared[-1]


@pytest.mark.parametrize("rows", [0, 1, 7])
def test_tables_of_the_first_text_for_all_are_seen(rows):
    class Rotary(torch.nn.Module):
        def forward(self, x, position_ids):
            if position_ids.shape[1] == rows:
                position_ids = position_ids[:1].expand_as(position_ids)
            turn = torch.cat([turns(position_ids)[:, 0]] * 2, dim=-1)
            return turn.cos(), turn.sin()

    found = compare(Rotary(), LLAMA)
    assert found.agrees == (rows == 0)
    assert found.mistake == ("one row of positions for the whole batch" if rows else "")


class Cached(torch.nn.Module):
    """Cos and sin for so many positions, as engines keep them."""

    def __init__(self, rows, broken=None):
        super().__init__()
        turns = angles(torch.arange(rows), inverse_frequencies(64)).float()
        if broken is not None:
            turns[broken] = torch.nan
        self.register_buffer("turns", turns)

    def forward(self, positions, query, key):
        turn = self.turns[positions][:, None]
        return tuple(
            rotate(x, torch.polar(torch.ones_like(turn), turn), pairing="half")
            for x in (query, key)
        )


@pytest.mark.parametrize(
    ("rows", "broken", "context", "agrees"),
    [
        (2048, None, 2048, True),
        (2048, None, 32_768, False),
        (131_072, None, 32_768, True),
        (131_072, 2048, 2048, True),
        (131_072, 2048, 4096, False),
    ],
)
def test_what_ends_within_the_context_does_not_agree(rows, broken, context, agrees):
    llama = {"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8}
    llama |= {"num_hidden_layers": 2, "rope_theta": 10_000, "max_position_embeddings": context}
    found = compare(Cached(rows, broken), llama)
    assert found.agrees == agrees
    assert not found.mistake
    if not agrees:
        assert f"positions from 2048 on, within the context of {context}" in found.undecided[0]
