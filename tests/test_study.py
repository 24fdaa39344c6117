"""The study's rule is the same for every method, and its intervals hold what they promise."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from posenc.lab import (
    METHODS,
    TASKS,
    change,
    difference,
    differences,
    farther,
    gain,
    order,
    recorded,
    study,
)
from posenc.lab.paired import student
from posenc.lab.records import Record, pack, unpack
from posenc.lab.study import CHOICES, COMPARED, EXPERIMENTS, RATES, chosen, missing, trials

TEXT = EXPERIMENTS["text"]


def tried(run, score, twice=None):
    """A record of a trial with these validation losses."""
    length = run.train_length
    parts = {"loss": 1.0, "accuracy": 0.5, "by_block": []}
    results = {
        length: {**parts, "tail_loss": score, "accuracy": -score},
        2 * length: "too far"
        if twice is None
        else {**parts, "tail_loss": twice, "accuracy": -twice},
    }
    return Record(run, results, 3.0, 2.0, score, True, {"commit": "none"})


def finish(method, loss, experiment=TEXT, rounds=9):
    """All trials of a method, where loss(run) -> (at 1x, at 2x)."""
    records = []
    for _ in range(rounds):
        done = {record.run.key for record in records}
        todo = [run for run in trials(experiment, method, records) if run.key not in done]
        if not todo:
            return records
        records += [tried(run, *loss(run)) for run in todo]
    raise AssertionError("the search does not end")


# --- the search ---


@pytest.mark.parametrize("name", COMPARED)
def test_every_method_begins_with_equally_many_trials(name):
    runs = trials(TEXT, name, [])
    assert len({run.key for run in runs}) == len(runs)
    assert all((run.part, run.seed, run.method) == ("validation", 9000, name) for run in runs)
    by_rate = [run.rate for run in runs if not run.knobs]
    assert sorted(by_rate) == sorted(RATES)
    settings = math.prod(map(len, METHODS[name].knobs.values()))
    assert settings == (8 if METHODS[name].knobs else 1)
    own = [run for run in runs if run.knobs]
    assert len(own) == (settings if METHODS[name].knobs else 0)
    assert {run.rate for run in own} <= {0.008}


def test_what_is_best_at_1x_and_at_2x_is_chosen_and_each_rate_is_tried_with_it():
    best, far_best = {"base": 30.0, "share": 1.0}, {"base": 10.0, "share": 0.5}

    def loss(run):
        near = 1 + abs(math.log2(run.rate / 0.004)) / 10 - (run.knobs == best) / 2
        far = 2 + abs(math.log2(run.rate / 0.008)) / 10 - (run.knobs == far_best) / 2
        return near, far

    records = finish("rope", loss)
    at = {choice: chosen(TEXT, "rope", records, choice) for choice in CHOICES}
    assert {choice: (run.rate, run.knobs) for choice, run in at.items()} == {
        "at 1x": (0.004, best),
        "at 2x": (0.008, far_best),
        "defaults": (0.004, {}),
    }
    wider = 2  # beyond base 10 and beyond share 1/2, and neither is better
    assert len(records) == 4 + 8 + 3 + 3 + wider


def test_a_search_that_ends_at_the_edge_of_a_knob_goes_on_beyond_it_but_not_out_of_bounds():
    def tried_knobs(method, **best):
        def loss(run):
            knobs = run.knobs or dict.fromkeys(best, 1e9)  # defaults far off
            off = sum(abs(math.log(knobs[name] / value)) for name, value in best.items())
            return 1 + off + abs(run.rate - 0.008), 1 + off

        runs = [record.run for record in finish(method, loss)]
        assert len({run.key for run in runs}) == len(runs)
        at = chosen(TEXT, method, [tried(run, *loss(run)) for run in runs], "at 1x").knobs
        return at, [sorted({run.knobs[name] for run in runs if run.knobs}) for name in best]

    at, (steep,) = tried_knobs("alibi", steep=1e-9)
    assert steep == [2.0**n for n in range(-6, 4)]  # two beyond 1/16
    assert at == {"steep": 2.0**-6}
    at, (steep,) = tried_knobs("alibi", steep=16.0)
    assert (steep[-2:], at) == ([8.0, 16.0], {"steep": 16.0}) or steep[-1] == 32.0
    at, (steep,) = tried_knobs("alibi", steep=0.5)
    assert (steep, at) == ([2.0**n for n in range(-4, 4)], {"steep": 0.5})
    at, (base, share) = tried_knobs("rope", base=0.01, share=9.0)
    assert share == [0.5, 1.0]
    assert base == pytest.approx([10 / 9, 10 / 3, 10, 30, 100, 1000])
    at, (base, share) = tried_knobs("rope", base=30.0, share=0.001)
    assert (share, at["share"]) == ([0.125, 0.25, 0.5, 1.0], 0.125)
    at, (gain, distance) = tried_knobs("t5", gain=30.0, distance=0.01)
    assert (gain, distance) == ([3.0, 10.0, 30.0, 100.0], [0.5, 1.0])


def test_no_setting_of_a_search_is_out_of_bounds():
    for method in COMPARED:
        for name, (low, high) in METHODS[method].bounds.items():
            values = METHODS[method].knobs[name]
            assert low <= min(values) < max(values) <= high


def test_a_choice_that_nobody_tests_costs_no_trials():
    runs = trials(EXPERIMENTS["copy"], "alibi", [])
    assert [run.rate for run in runs if not run.knobs] == [0.008]
    assert len(runs) == 8 + 1


@pytest.mark.parametrize(("best", "tried_rates"), [(1, 6), (0.0001, 6), (0.016, 5), (0.008, 4)])
def test_a_search_that_ends_at_the_edge_of_the_rates_goes_on_beyond_it(best, tried_rates):
    records = finish("none", lambda run: 2 * (1 + abs(math.log(run.rate / best)),))
    assert len(records) == tried_rates
    rates = sorted(record.run.rate for record in records)
    assert all(b == pytest.approx(2 * a) for a, b in pairwise(rates))


def test_what_cannot_run_at_2x_is_chosen_at_1x():
    records = finish("learned", lambda run: (abs(run.rate - 0.008) + run.knobs.get("std", 1.0),))
    assert chosen(TEXT, "learned", records, "at 2x") == chosen(TEXT, "learned", records, "at 1x")


def test_a_missing_trial_chooses_nothing():
    records = finish("alibi", lambda run: (run.rate, run.rate))
    with pytest.raises(ValueError, match=r"all trials of alibi, 1 are missing"):
        chosen(TEXT, "alibi", records[1:], "at 1x")


def test_more_right_answers_are_better():
    copy = EXPERIMENTS["copy"]
    records = finish("none", lambda run: (0.0, -run.rate), copy)  # accuracy is minus the loss
    best = chosen(copy, "none", records, "at 2x")
    assert best.rate == max(record.run.rate for record in records)
    assert best.drawn


def test_tests_have_seeds_of_weights_and_of_data_that_no_trial_has():
    records = finish("alibi", lambda run: (run.rate + 1, 2.0))
    runs = study.tests(TEXT, "alibi", records, "at 1x")
    assert [(run.seed, run.data_seed, run.part) for run in runs] == [
        (seed, 1000 + seed, "test") for seed in range(10)
    ]
    assert len(study.tests(TEXT, "alibi", records, "defaults")) == 5
    assert study.tests(EXPERIMENTS["text, half as wide"], "alibi", records, "at 1x") == []
    narrow = study.tests(EXPERIMENTS["text, half as wide"], "alibi", records, "at 2x")
    assert [run.size["dim"] for run in narrow] == [32] * 5
    far = chosen(TEXT, "alibi", records, "at 2x")
    assert (narrow[0].rate, narrow[0].knobs) == (far.rate, far.knobs)


def test_the_study_ends_and_asks_for_nothing_twice():
    records, counts = [], []
    while todo := missing(records, ["text", "text, half as wide"]):
        counts.append(len(todo))
        assert not {run.key for run in todo} & {record.run.key for record in records}
        for run in todo:
            twice = None if run.method == "learned" else 1.0
            records.append(tried(run, 1 + abs(run.rate - 0.008), twice))
        assert len(counts) < 9
    seeds = {run.seed for run in (record.run for record in records) if run.part == "test"}
    assert seeds == set(range(10))
    assert {name for name in EXPERIMENTS if EXPERIMENTS[name].task not in TASKS} == set()


def test_tests_are_found_by_method_and_none_is_left_out():
    records = []
    while todo := missing(records, ["text, half as wide"]):
        for run in todo:
            records.append(tried(run, 1 + abs(run.rate - 0.008), 1.0))
    found = study.tested("text, half as wide", "at 2x", records)
    assert list(found) == list(COMPARED)
    for method, some in found.items():
        assert [record.run.seed for record in some] == list(range(5))
        assert {record.run.method for record in some} == {method}
        assert all(record.run.size["dim"] == 32 for record in some)
    with pytest.raises(ValueError, match=r"all tests of text, half as wide, 1 are missing"):
        study.tested("text, half as wide", "at 2x", records[:-1])
    with pytest.raises(ValueError, match=r"choice must be one of \['at 2x'\], got 'at 1x'"):
        study.tested("text, half as wide", "at 1x", records)


def test_a_choice_at_the_edge_is_named_and_one_at_a_bound_is_not():
    def edges(method, choice, **best):
        def loss(run):
            off = sum(abs(math.log(run.knobs.get(n, 1e6) / v)) for n, v in best.items())
            return 1 + off + abs(math.log(run.rate / 0.008)), 1 + abs(math.log(run.rate))

        return study.at_edge("text", method, choice, finish(method, loss))

    assert edges("alibi", "at 1x", steep=1e-9) == ["steep"]
    assert edges("alibi", "at 1x", steep=0.5) == []
    assert edges("rope", "at 1x", base=30.0, share=1.0) == []  # no more than all pairs can turn
    # where one knob went beyond, no other value of the other was tried beside it
    assert edges("rope", "at 1x", base=30.0, share=0.01) == ["base", "share"]
    assert edges("rope", "at 1x", base=1e9, share=1.0) == ["base", "share"]
    assert edges("transformer-xl", "at 1x", base=1000.0, std=0.5) == ["base"]
    assert edges("transformer-xl", "at 1x", base=1000.0, std=0.05) == []
    assert edges("alibi", "at 2x", steep=0.5)[0] == "rate"


@pytest.mark.parametrize(
    ("best", "edges"),
    [(1e4, ["share"]), (1e5, ["rate", "share"]), (1e9, ["rate", "base", "share"])],
)
def test_a_search_that_the_defaults_win_goes_on_beyond_them_at_their_rate(best, edges):
    def loss(run):  # away from the rate of 0.008 the defaults are better than all of the grid
        base = run.knobs.get("base", 1e4)
        off = abs(math.log10(base / best)) if base >= 1e4 else 9
        return (20 + off + abs(math.log(run.rate / 0.016)),) * 2

    records = finish("rope", loss)
    beyond = [r.run for r in records if r.run.knobs.get("base", 0) > 1e4]
    assert [run.knobs["base"] for run in beyond] == pytest.approx([1e5, 1e6][: 1 + (best > 1e4)])
    assert {(run.rate, run.knobs["share"]) for run in beyond} == {(0.016, 1.0)}
    at = chosen(TEXT, "rope", records, "at 1x")
    assert at.knobs.get("base", 1e4) == pytest.approx(min(best, 1e6))
    assert study.at_edge("text", "rope", "at 1x", records) == edges


def test_defaults_inside_of_the_search_are_not_at_its_edge():
    def loss(run):  # the defaults are best, at one rate within the search
        return (1 + len(run.knobs) + abs(math.log(run.rate / 0.008)),) * 2

    def edges(method):
        return study.at_edge("text", method, "at 1x", finish(method, loss))

    assert edges("t5") == []
    assert edges("shaw") == ["std"]  # the search tried a smaller one, but with another clip
    assert edges("rope") == ["share"]  # with the default base it tried no other
    assert study.at_edge("text", "rope", "defaults", finish("rope", loss)) == []


# --- scores of sequences ---


# --- the second look ---


def test_three_seeds_try_every_setting_of_rope_at_two_rates_and_no_positions_beside():
    runs = [run for run in study.second_look(recorded()) if run.part == "validation"]
    for seed in (9000, 9001, 9002):
        of_seed = [run for run in runs if run.seed == seed and run.method != "t5"]
        tried = {(r.method, r.rate, *r.knobs.values()) for r in of_seed}
        assert len(tried) == len(of_seed) == 20
        for rate in (0.008, 0.016):
            assert {("none", rate), ("rope", rate), ("rope", rate, 1000.0, 1.0)} <= tried
    rates = [run.rate for run in runs if run.method == "t5"]
    assert rates == [0.004, 0.008, 0.016, 0.032, 0.064]
    assert {tuple(run.knobs.items()) for run in runs if run.method == "t5"} == {(("gain", 1.0),)}


def test_the_second_look_is_on_record_and_no_key_is_twice():
    look = [run.key for run in study.second_look(recorded())]
    again = [record.run.key for record in recorded("again")]
    assert sorted(look) == sorted(again)
    assert len(set(look)) == len(look)


def test_a_test_of_each_method_is_run_once_more_and_comes_back_but_for_rope():
    before = {record.run.key: record for record in recorded()}
    pairs = [(before[r.run.key], r) for r in recorded("again") if r.run.key in before]
    tests = [(old, new) for old, new in pairs if (new.run.part, new.run.seed) == ("test", 0)]
    assert {new.run.method for _, new in tests} == set(COMPARED)
    for old, new in tests:
        assert old.provenance["commit"] != new.provenance["commit"]
        assert (old.results == new.results) == (new.run.method != "rope")


def test_scores_survive_packing_to_a_thousandth():
    scores = [0.0, 1 / 3, 1.0, 12.3456, 65.0, math.nan]
    assert unpack(pack(scores)) == pytest.approx(scores, abs=5.1e-4, nan_ok=True)
    for bad in (-0.1, 65.1, math.inf):
        with pytest.raises(ValueError, match="scores must be from 0 to 65"):
            pack([bad])


# --- intervals ---


def sampled(method, scores, task="copy"):
    """Records with the scores [seeds, sequences] at 32 tokens."""
    run = replace(trials(TEXT, "none", [])[0], method=method, task=task)
    made = []
    for seed, each in enumerate(scores):
        result = {
            "loss": 1.0,
            "accuracy": 0.5,
            "tail_loss": 1.0,
            "by_block": [],
            "each": pack(each),
        }
        one = replace(run, seed=seed, data_seed=seed)
        made.append(Record(one, {32: result, 64: "too far"}, 0.1, 0.9, 0.5, True, {}))
    return made


def drawn(rng, by_seed, seeds=5, n=200, shift=0.0):
    noise = by_seed * rng.standard_normal((seeds, 1)) + 0.1 * rng.standard_normal((seeds, n))
    return (20 + shift + noise).tolist()


def test_the_interval_holds_zero_about_as_often_as_it_says():
    rng = np.random.default_rng(1)
    for by_seed in (0.0, 0.3):
        held = sum(
            difference(
                sampled("rope", drawn(rng, by_seed)), sampled("t5", drawn(rng, 0.0)), 32
            ).verdict
            == "tie"
            for _ in range(120)
        )
        assert held >= 108  # of 120, at a level of 95 %


def test_a_difference_is_found_signed_and_corrected():
    rng = np.random.default_rng(2)
    good, bad = sampled("rope", drawn(rng, 0.01, shift=0.1)), sampled("t5", drawn(rng, 0.01))
    one = difference(good, bad, 32)
    assert one.verdict == "better"
    assert one.mean == pytest.approx(0.1, abs=0.05)
    other = difference(bad, good, 32)
    assert (other.mean, other.low, other.high) == pytest.approx((-one.mean, -one.high, -one.low))
    assert other.verdict == "worse"
    as_loss = [
        [replace(record, run=replace(record.run, task="text")) for record in some]
        for some in (good, bad)
    ]
    assert difference(*as_loss, 32).verdict == "worse"
    wide = difference(good, bad, 32, pairs=28)
    ratio = (wide.high - wide.low) / (one.high - one.low)
    assert ratio == pytest.approx(student(1 - 0.025 / 28, 4) / student(0.975, 4), rel=1e-6)


def test_what_seeds_and_sequences_share_cancels():
    rng = np.random.default_rng(6)
    seeds, sequences = rng.standard_normal((5, 1)), 3 * rng.standard_normal(200)
    both = 20 + seeds + sequences  # far more than what sets the two apart
    noise = 0.01 * rng.standard_normal((2, 5, 200))
    one, other = (
        sampled(name, (both + shift + some).tolist())
        for name, shift, some in zip(("rope", "t5"), (0.05, 0.0), noise, strict=True)
    )
    found = difference(one, other[::-1], 32)
    assert found.mean == pytest.approx(0.05, abs=0.002)
    assert 0 < found.high - found.low < 0.01
    apart = difference(sampled("rope", (both + 0.05).tolist()), sampled("t5", both.tolist()), 32)
    assert apart.high - apart.low == pytest.approx(0, abs=1e-3)  # nothing but rounding


@pytest.mark.parametrize("seeds", [3, 8])
def test_the_error_is_that_of_seeds_and_of_sequences_together(seeds):
    rng = np.random.default_rng(7)
    by_seed, by_sequence = rng.standard_normal((seeds, 1)), rng.standard_normal(400)
    flat = sampled("t5", np.full((seeds, 400), 20.0).tolist())
    for means in (by_seed, by_sequence):
        some = np.broadcast_to(means, (seeds, 400))
        found = difference(sampled("rope", (20 + some).tolist()), flat, 32)
        error = means.std() / math.sqrt(means.size) * math.sqrt(seeds / (seeds - 1))
        reach = student(0.975, seeds - 1) * error
        assert (found.high - found.low) / 2 == pytest.approx(reach, rel=0.05)


def test_a_gain_is_what_more_context_takes_from_the_same_losses():
    rng = np.random.default_rng(8)
    short = np.array(drawn(rng, 0.5))
    records = sampled("rope", short.tolist(), task="text")
    longer = sampled("rope", (short - 0.25 + 0.01 * rng.standard_normal(200)).tolist())
    for record, other in zip(records, longer, strict=True):
        record.results[64] = other.results[32]
    found = gain(records, 32, 64)
    assert found.verdict == "better"
    assert found.mean == pytest.approx(0.25, abs=0.005)
    assert gain(records, 64, 32).mean == pytest.approx(-found.mean)
    with pytest.raises(ValueError, match="records must be of a text, got copy"):
        gain(sampled("rope", short.tolist()), 32, 32)


def test_who_reads_beyond_the_last_tokens_is_ahead_of_a_reader_of_them():
    task = TASKS["passkey"]
    seen = np.array(task.within(32, 20, sequences=200))
    assert 0 < seen.mean() < 1
    for share, verdict in ((1.0, "better"), (0.0, "worse")):
        found = farther(sampled("rope", np.full((5, 200), share).tolist(), task="passkey"), 32, 20)
        assert found.verdict == verdict
        assert found.mean == pytest.approx(share - seen.mean())
    as_far = farther(sampled("rope", [seen.tolist()] * 5, task="passkey"), 32, 20)
    assert as_far.mean == pytest.approx(0, abs=6e-4)  # scores are kept to a thousandth
    for name in ("text", "who"):
        with pytest.raises(ValueError, match="task must say what it needs"):
            farther(sampled("rope", np.ones((5, 9)).tolist(), task=name), 32, 20)


def test_a_change_is_that_of_the_lead_and_not_of_its_sign():
    rng = np.random.default_rng(9)
    common = rng.standard_normal((5, 1))  # what makes each lead uncertain, and both alike

    def lead(shift):
        noise = 0.01 * rng.standard_normal((2, 5, 200))
        return (
            sampled("rope", (20 + shift + common + noise[0]).tolist()),
            sampled("none", (20 + noise[1]).tolist()),
            32,
        )

    before, after = lead(0.1), lead(-0.2)
    for first, second, length in (before, after):
        assert difference(first, second, length).verdict == "tie"
    found = change(before, after)
    assert found.verdict == "worse"
    assert found.mean == pytest.approx(-0.3, abs=0.01)
    assert (found.seeds, change(after, before).mean) == (5, pytest.approx(-found.mean))
    assert change(before, after[:1] + before[1:], pairs=9).mean == pytest.approx(-0.3, abs=0.01)
    with pytest.raises(ValueError, match="records must have the same seeds"):
        change(before, (after[0][1:], after[1][1:], 32))
    with pytest.raises(ValueError, match="lengths must be equal but on a text, got 32 and 64"):
        change(before, (*after[:2], 64))


def test_a_lead_on_a_text_is_compared_across_lengths():
    rng = np.random.default_rng(10)
    first, second = (sampled(name, drawn(rng, 0.1), task="text") for name in ("rope", "t5"))
    for record, other in zip(first + second, second + second, strict=True):
        record.results[64] = other.results[32]  # at 64 both are as good as the second
    lead = difference(first, second, 32)
    assert change((first, second, 32), (first, second, 64)).mean == pytest.approx(-lead.mean)


def test_a_reader_of_the_last_tokens_is_met_on_chosen_sequences_alone():
    seen = np.array(TASKS["passkey"].within(32, 20, sequences=200))
    records = sampled("rope", [(1 - seen).round(3).tolist()] * 5, task="passkey")
    for in_view, verdict in ((True, "worse"), (False, "better")):
        among = ((seen == 1) == in_view).tolist()
        assert 0 < sum(among) < 200
        assert farther(records, 32, 20, among=among).verdict == verdict
    for among in ([True] * 199, [False] * 200):
        with pytest.raises(ValueError, match="among must hold 200 truths, one True at least"):
            farther(records, 32, 20, among=among)


def test_all_pairs_are_corrected_for_their_number_and_the_unable_left_out():
    rng = np.random.default_rng(3)
    methods = {name: sampled(name, drawn(rng, 0.1)) for name in ("none", "rope", "t5")}
    found = differences(methods, 32)
    assert list(found) == [("none", "rope"), ("none", "t5"), ("rope", "t5")]
    assert found["none", "t5"] == difference(methods["none"], methods["t5"], 32, pairs=3)
    assert differences(methods, 64) == {}


def test_the_order_is_that_of_the_means_and_ties_are_told():
    rng = np.random.default_rng(5)
    shifts = {"none": 0.0, "rope": 0.5, "t5": 0.5001, "alibi": 1.0}
    methods = {name: sampled(name, drawn(rng, 0.01, shift=shift)) for name, shift in shifts.items()}
    text = order(methods, 32)
    assert text in ("alibi > t5 ≈ rope > none", "alibi > rope ≈ t5 > none")
    losses = {
        name: [replace(record, run=replace(record.run, task="text")) for record in some]
        for name, some in methods.items()
    }
    assert order(losses, 32) in ("none > t5 ≈ rope > alibi", "none > rope ≈ t5 > alibi")


@pytest.mark.parametrize(
    ("share", "degrees", "value"),
    [(0.975, 1, 12.706), (0.975, 4, 2.776), (0.9995, 9, 4.781), (0.95, 30, 1.697)],
)
def test_students_quantiles_are_those_of_the_tables(share, degrees, value):
    assert student(share, degrees) == pytest.approx(value, abs=6e-4)


def test_what_cannot_be_compared_is_refused():
    rng = np.random.default_rng(4)
    some = sampled("rope", drawn(rng, 0.1, n=9))
    with pytest.raises(ValueError, match="same seeds"):
        difference(some, some[1:], 32)
    with pytest.raises(ValueError, match="two seeds or more, got 1"):
        difference(some[:1], some[:1], 32)
    with pytest.raises(ValueError, match=r"of one task, got \['copy', 'text'\]"):
        difference(some, sampled("t5", drawn(rng, 0.1, n=9), task="text"), 32)
    with pytest.raises(ValueError, match="must hold sequences of 64"):
        difference(some, some, 64)
    with pytest.raises(ValueError, match="pairs must be positive, got 0"):
        difference(some, some, 32, pairs=0)
    for level in (0, 1):
        with pytest.raises(ValueError, match=f"level must be between 0 and 1, got {level}"):
            difference(some, some, 32, level=level)
    with pytest.raises(ValueError, match="different seeds"):
        difference(some + some, some, 32)
