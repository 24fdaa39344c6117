"""Some rows of a bias or of buckets, as of a decode step: where their queries stand."""

import pytest
import torch

from posenc import alibi_slopes, t5_buckets
from posenc.verify import compare, identify

T5 = {"model_type": "t5", "num_heads": 8, "d_model": 512, "d_kv": 64, "num_layers": 6}
BLOOM = {"model_type": "bloom", "n_head": 8, "hidden_size": 512, "n_layer": 2}
KEYS = torch.arange(40)
LAST, FIRST, MIDDLE, STEP = range(36, 40), range(4), range(8, 12), [39]


def relative(queries):
    return KEYS - torch.tensor(list(queries))[:, None]


def buckets(queries, *, both):
    return t5_buckets(relative(queries), bidirectional=both)


def bias(queries, rule=lambda r: -r.abs(), dtype=torch.int64):
    return alibi_slopes(8).float()[:, None, None] * rule(relative(queries).to(dtype))


@pytest.mark.parametrize("both", [True, False])
@pytest.mark.parametrize("queries", [LAST, STEP])
def test_the_last_rows_of_buckets_agree(queries, both):
    mine = buckets(queries, both=both)
    for reference in (T5, buckets(KEYS.tolist(), both=both)):
        assert compare(mine, reference, kind="buckets").agrees
    found = identify(mine)
    assert found.data["first_query"] == queries[0]
    if len(queries) > 1:
        assert (found.data["num_buckets"], found.data["bidirectional"]) == (32, both)


def test_a_decode_step_shows_one_side_only():
    found = identify(buckets(STEP, both=False))
    assert not found.data["bidirectional"]
    assert "twice as many" in found.unknown[0]


@pytest.mark.parametrize("both", [True, False])
@pytest.mark.parametrize("queries", [FIRST, MIDDLE, [0], [38]])
def test_buckets_of_other_queries_are_not_those_of_the_last(queries, both):
    mine, end = buckets(queries, both=both), 40 - len(queries)
    found = compare(mine, T5)
    assert not found.agrees
    assert f"first_query={queries[0]} or first_query={end} tells" in found.undecided[0]
    assert compare(mine, T5, first_query=queries[0]).agrees
    wrong = compare(mine, T5, first_query=end)
    nothing_seen = queries == [0] and not both  # bucket 0 everywhere, as with the sign exchanged
    assert nothing_seen or wrong.mistake.startswith(f"queries at {queries[0]}")
    assert wrong.mistake
    assert not wrong.undecided


@pytest.mark.parametrize("queries", [LAST, STEP])
def test_wrong_buckets_of_the_last_rows_are_named(queries):
    found = compare(t5_buckets(-relative(queries)), T5)
    assert found.mistake in ("the sign is exchanged", "one side for an encoder")
    exact = compare(t5_buckets(relative(queries), max_distance=64), T5)
    assert not exact.agrees
    assert not exact.undecided


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
@pytest.mark.parametrize("rule", [lambda r: -r.abs(), lambda r: r.clamp(max=0)])
def test_chunks_of_rows_of_alibi(rule, dtype):
    assert compare(bias(LAST, rule, dtype), BLOOM).agrees
    mine = bias(MIDDLE, rule, dtype)
    assert "queries at 8 to 11" in compare(mine, BLOOM).undecided[0]
    assert compare(mine, BLOOM, first_query=8).agrees
    assert "queries at 8 to 11, not 36 to 39" in compare(mine, BLOOM, first_query=36).mistake
    found = identify(mine)
    assert found.facts["slopes"] == "as published"
    assert found.facts["queries"].startswith("at 8 to 11")


def test_a_wrong_chunk_of_alibi_is_named():
    assert "the sign is wrong" in compare(-bias(MIDDLE), BLOOM).mistake
    assert compare(bias(MIDDLE) / 2, BLOOM, first_query=8).mistake == "slopes times 0.5"


def test_what_shows_too_little_is_not_named():
    assert identify(buckets([0], both=False)).data["method"] == "unknown"
    nothing = identify(torch.zeros(8, 1, 40))
    assert (nothing.kind, nothing.facts["form"]) == ("bias", "0 everywhere")
    assert not compare(torch.zeros(8, 1, 40), BLOOM).agrees


def test_the_place_of_queries_must_be_among_the_keys():
    with pytest.raises(ValueError, match=r"first_query must be within 0 ... 36"):
        compare(buckets(LAST, both=True), T5, first_query=37)
    with pytest.raises(ValueError, match=r"first_query must be within 0 ... 36"):
        compare(bias(LAST), BLOOM, first_query=-1)
    llama = {"model_type": "llama", "head_dim": 64, "num_hidden_layers": 1}
    with pytest.raises(ValueError, match="first_query is of a bias"):
        compare(lambda x, positions: x, llama, first_query=3)
    with pytest.raises(ValueError, match="buckets must be integers"):
        compare(torch.randn(40, 40), T5)
