"""The book's own study: what is compared, how each method is tuned, and with how many seeds.

Every experiment has three steps. *Tune*: each method is trained with one seed in the settings that
`trials` lists, by one rule for all, and scored on validation. *Choose*: the setting with the best
score at the training length, the one with the best score at twice that length, and the one with
the best rate while all else is left at its default. *Test*: the chosen settings are trained with
new seeds and scored on test. `python -m posenc.lab study --results FOLDER` does what is missing.

After that a reviewer doubted: does another seed of the tuning choose as this one did, is T5 first
with its own factor too, and does a run come back? `second_look` lists what answers it, and
`python -m posenc.lab study --again --results FOLDER` does it.
"""

import inspect
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from posenc.lab.methods import METHODS
from posenc.lab.records import Record, Run
from posenc.lab.tasks import TASKS

COMPARED = ("none", "sinusoidal", "learned", "shaw", "transformer-xl", "t5", "rope", "alibi")
CHOICES = ("at 1x", "at 2x", "defaults")
MULTIPLES = {"at 1x": 1, "at 2x": 2}  # of the training length, at which a choice is made
RATES = (0.002, 0.004, 0.008, 0.016)
_MIDDLE = 0.008  # the rate at which settings other than the rate are compared
_WIDER = 2  # how often a search at the edge of its values may go on beyond it
_TUNING_SEED = 9000  # no test uses it
TUNING_SEEDS = (_TUNING_SEED, 9001, 9002)  # of the second look
LOOK_RATES = (0.008, 0.016)  # at which it tries all settings of RoPE
T5_RATES = (0.004, 0.008, 0.016, 0.032, 0.064)  # and T5 with its own factor
T5_OWN = {"gain": 1.0}
ROPE_LIKE = {"base": 1000.0, "share": 1.0}  # as good as RoPE's defaults at the training length
_SMALL = {"dim": 64, "num_heads": 4, "num_layers": 2}


@dataclass(frozen=True)
class Experiment:
    """One comparison.

    Args:
        task: a name of TASKS.
        train_length: tokens of a training sequence, of the longest if lengths are drawn.
        steps: optimiser steps.
        drawn: whether each batch has a length of its own.
        size: of the model.
        seeds: of CHOICES, those that are tested -> with how many seeds.
        tuned_as: the experiment whose chosen settings this one uses, if it has none of its own.
    """

    task: str
    train_length: int = 32
    steps: int = 300
    drawn: bool = False
    size: Mapping[str, int] = field(default_factory=lambda: _SMALL)
    seeds: Mapping[str, int] = field(default_factory=lambda: {"at 2x": 5})
    tuned_as: str | None = None


EXPERIMENTS = {
    "text": Experiment("text", seeds={"at 1x": 10, "at 2x": 10, "defaults": 5}),
    "text, half as wide": Experiment("text", size={**_SMALL, "dim": 32}, tuned_as="text"),
    "copy": Experiment("copy", steps=800, drawn=True),
    "copy, one length": Experiment("copy", steps=800, tuned_as="copy"),
    "passkey": Experiment("passkey", steps=800, drawn=True, tuned_as="copy"),
    "text, twice as long": Experiment("text", train_length=64, tuned_as="text"),
    "recall": Experiment("recall", steps=1500, drawn=True, tuned_as="copy"),
    "induction": Experiment("induction", steps=800, drawn=True, tuned_as="copy"),
    "last": Experiment("last", steps=800, drawn=True, tuned_as="copy"),
    "addition": Experiment("addition", steps=1500, drawn=True, tuned_as="copy"),
    "addition, hints": Experiment(
        "addition-hints", train_length=62, steps=1500, drawn=True, tuned_as="copy"
    ),
}


def trials(experiment: Experiment, method: str, records: Sequence[Record]) -> list[Run]:
    """The tuning of one method, as far as it can be known from the records.

    The rule, for every method: (a) four rates with the defaults, if these are tested; (b) every
    setting of its knobs at one rate, eight of them for each method that has knobs; (c) four rates
    with the best knobs of that rate, for each length that is chosen by. Where the best value of a
    rate, or of a knob among all its trials, is the first or the last, the next one beyond is tried
    as well, up to twice, unless it is beyond the method's own `bounds`. (d) If the defaults are
    best of all, and one of them is beyond all values of its knob, the search goes on beyond it, at
    their rate.

    Args:
        experiment: what is tuned for.
        method: a name of METHODS.
        records: the trials that are done; others are ignored.

    Returns:
        The runs; once all of them are on record, there are no more.

    Example:
        >>> len(trials(EXPERIMENTS["text"], "rope", []))
        12
    """
    scores = _scores(experiment, records)
    multiples = [MULTIPLES[choice] for choice in experiment.seeds if choice in MULTIPLES]
    runs = [_trial(experiment, method, _MIDDLE, setting) for setting in _settings(method)]
    if all(run.key in scores for run in runs):
        wider = [_knobs(experiment, method, runs, scores, multiple) for multiple in multiples]
        runs += itertools.chain(*wider)
    runs.append(_trial(experiment, method, _MIDDLE, {}))
    if all(run.key in scores for run in runs):
        bests = [(multiple, _best(runs, scores, multiple)) for multiple in multiples]
        for multiple, best in bests:
            runs += _rates(experiment, method, best.knobs, scores, multiple)
    if "defaults" in experiment.seeds:
        runs += _rates(experiment, method, {}, scores)
    if all(run.key in scores for run in runs):
        kept = [multiple for multiple in multiples if not _best(runs, scores, multiple).knobs]
        wider = [_knobs(experiment, method, runs, scores, multiple) for multiple in kept]
        runs += itertools.chain(*wider)
    return list({run.key: run for run in runs}.values())


def chosen(experiment: Experiment, method: str, records: Sequence[Record], choice: str) -> Run:
    """The trial whose settings are used in the tests.

    Args:
        experiment: what was tuned for.
        method: a name of METHODS.
        records: all trials.
        choice: one of CHOICES.

    Raises:
        ValueError: if a trial is missing.
    """
    if experiment.tuned_as:
        experiment = EXPERIMENTS[experiment.tuned_as]
    scores = _scores(experiment, records)
    runs = trials(experiment, method, records)
    missing = [run for run in runs if run.key not in scores]
    if missing:
        raise ValueError(f"records must hold all trials of {method}, {len(missing)} are missing")
    if choice == "defaults":
        runs = [run for run in runs if not run.knobs]
    return _best(runs, scores, MULTIPLES.get(choice, 1))


def tests(experiment: Experiment, method: str, records: Sequence[Record], choice: str) -> list[Run]:
    """The test runs of one method: the chosen settings, with new seeds of weights and of data.

    Raises:
        ValueError: if a trial is missing.
    """
    best = chosen(experiment, method, records, choice)
    return [
        _run(experiment, method, best.rate, best.knobs, seed=seed, data_seed=1000 + seed)
        for seed in range(experiment.seeds.get(choice, 0))
    ]


def second_look(records: Sequence[Record]) -> list[Run]:
    """What was run after the study had been read, all of it on text.

    Three seeds tune RoPE, with every setting at two rates, and no positions at the same; T5 with
    its own factor 1 is tuned over five rates and tested at the three highest; RoPE is tested
    with its defaults and with a setting that equals them at the training length; and the first
    test of every method, judged at the training length, is run once more.

    Args:
        records: those of the study.

    Returns:
        The runs, the most useful first.

    Raises:
        ValueError: if a trial is missing.
    """
    text = EXPERIMENTS["text"]

    def test(method: str, rate: float, knobs: dict, seed: int) -> Run:
        return _run(text, method, rate, knobs, seed=seed, data_seed=1000 + seed)

    runs = [_trial(text, "t5", rate, T5_OWN) for rate in T5_RATES]
    runs += [test("t5", rate, T5_OWN, seed) for seed in range(5) for rate in T5_RATES[2:]]
    for seed in TUNING_SEEDS:
        tried = [("none", {}), ("rope", {}), *(("rope", knobs) for knobs in _settings("rope"))]
        for (method, knobs), rate in itertools.product(tried, LOOK_RATES):
            runs.append(replace(_trial(text, method, rate, knobs), seed=seed))
    runs += [tests(text, method, records, "at 1x")[0] for method in COMPARED]
    for seed in range(10):
        runs += [test("rope", 0.016, knobs, seed) for knobs in ({}, ROPE_LIKE)]
    return list({run.key: run for run in runs}.values())


def tested(name: str, choice: str, records: Sequence[Record]) -> dict[str, list[Record]]:
    """What came of the tests of an experiment.

    Args:
        name: of EXPERIMENTS.
        choice: one of CHOICES.
        records: all of them.

    Returns:
        Method -> one record a seed.

    Raises:
        ValueError: if the experiment does not test this choice, or a record is missing.
    """
    experiment = EXPERIMENTS[name]
    if choice not in experiment.seeds:
        raise ValueError(f"choice must be one of {list(experiment.seeds)}, got {choice!r}")
    found = {record.run.key: record for record in records}
    runs = {method: tests(experiment, method, records, choice) for method in COMPARED}
    lacking = [run.name for some in runs.values() for run in some if run.key not in found]
    if lacking:
        raise ValueError(f"records must hold all tests of {name}, {len(lacking)} are missing")
    return {method: [found[run.key] for run in some] for method, some in runs.items()}


def at_edge(name: str, method: str, choice: str, records: Sequence[Record]) -> list[str]:
    """Say which of the chosen values are the first or last tried, so that others may be better.

    A value is held against those tried with all other knobs as they were chosen. That is stricter
    than the rule by which the search goes on, which holds it against all trials of the knob: with
    the others as chosen a knob may have one value alone.

    Args:
        name: of EXPERIMENTS, one that has a search of its own.
        method: a name of METHODS.
        choice: one of CHOICES.
        records: all trials.

    Returns:
        "rate" and names of knobs. A knob at its method's own bound is not among them, if values
        on the other side were tried.
    """
    best = chosen(EXPERIMENTS[name], method, records, choice)
    runs = trials(EXPERIMENTS[name], method, records)
    rates = sorted({run.rate for run in runs if run.knobs == best.knobs})
    edges = ["rate"] if best.rate in (rates[0], rates[-1]) else []
    if choice == "defaults":
        return edges
    best = _spelled_out(best)
    settings = [_spelled_out(run) for run in runs]
    for knob, value in best.knobs.items():
        beside = [run for run in settings if {**run.knobs, knob: value} == best.knobs]
        alone = all(run.knobs[knob] == value for run in beside)
        if alone or _beyond(method, knob, best, beside) is not None:
            edges.append(knob)
    return edges


def missing(records: Sequence[Record], names: Sequence[str] = tuple(EXPERIMENTS)) -> list[Run]:
    """What to run next, the most useful first: trials, then one seed of all methods at a time.

    Args:
        records: what is done.
        names: experiments, in the order in which they are wanted.

    Returns:
        Runs of the first experiment that is not complete; none if all are.
    """
    done = {record.run.key for record in records}
    for name in names:
        todo = [run for run in _wanted(EXPERIMENTS[name], records) if run.key not in done]
        if todo:
            return todo
    return []


def _wanted(experiment: Experiment, records: Sequence[Record]) -> Iterator[Run]:
    tuned = EXPERIMENTS[experiment.tuned_as] if experiment.tuned_as else experiment
    done = {record.run.key for record in records}
    wanted = [run for method in COMPARED for run in trials(tuned, method, records)]
    yield from wanted
    if all(run.key in done for run in wanted):
        by_method = [
            tests(experiment, method, records, choice)
            for choice in experiment.seeds
            for method in COMPARED
        ]
        for one_seed in itertools.zip_longest(*by_method):
            yield from {run.key: run for run in one_seed if run}.values()


def _settings(method: str) -> list[dict[str, float]]:
    """All combinations of a method's knobs."""
    knobs = METHODS[method].knobs
    return [dict(zip(knobs, values, strict=True)) for values in itertools.product(*knobs.values())]


def _run(experiment: Experiment, method: str, rate: float, knobs: dict, **settings) -> Run:
    return Run(
        method,
        experiment.task,
        experiment.train_length,
        steps=experiment.steps,
        rate=rate,
        size=dict(experiment.size),
        knobs=dict(knobs),
        drawn=experiment.drawn,
        **settings,
    )


def _trial(experiment: Experiment, method: str, rate: float, knobs: dict) -> Run:
    return _run(experiment, method, rate, knobs, seed=_TUNING_SEED, part="validation")


def _knobs(experiment, method, runs, scores, multiple) -> list[Run]:
    """Settings beyond those tried, while a value of the best one is the first or the last."""
    runs = list(runs)
    for _ in range(_WIDER):
        best = _spelled_out(_best(runs, scores, multiple))
        settings = [_spelled_out(run) for run in runs]
        more = [
            _trial(experiment, method, best.rate, {**best.knobs, name: value})
            for name in best.knobs
            if (value := _beyond(method, name, best, settings)) is not None
        ]
        runs += more
        if not all(run.key in scores for run in more):
            break
    return runs


def _beyond(method: str, name: str, best: Run, runs: Sequence[Run]) -> float | None:
    """The next value of a knob in the row of those tried, or None if it needs no next one."""
    values = sorted({run.knobs[name] for run in runs})
    low, high = METHODS[method].bounds.get(name, (0.0, math.inf))
    if best.knobs[name] == values[0]:
        value = values[0] * values[0] / values[1]
    elif best.knobs[name] == values[-1]:
        value = values[-1] * values[-1] / values[-2]
    else:
        return None
    return value if low <= value <= high else None


def _spelled_out(run: Run) -> Run:
    """The same run with its defaults among its knobs."""
    method = METHODS[run.method]
    given = inspect.signature(method).parameters
    return replace(run, knobs={name: given[name].default for name in method.knobs} | run.knobs)


def _rates(experiment, method, knobs, scores, multiple=1) -> list[Run]:
    """Four rates, and those beyond while the best is at an edge."""
    rates = list(RATES)
    for _ in range(_WIDER):
        runs = [_trial(experiment, method, rate, knobs) for rate in rates]
        if not all(run.key in scores for run in runs):
            break
        best = _best(runs, scores, multiple)
        if best.rate == rates[0]:
            rates.insert(0, rates[0] / 2)
        elif best.rate == rates[-1]:
            rates.append(rates[-1] * 2)
        else:
            break
    return [_trial(experiment, method, rate, knobs) for rate in rates]


def _scores(experiment: Experiment, records: Sequence[Record]) -> dict[str, dict[int, float]]:
    """Key of a trial -> multiple -> what to make small; the first multiple where it cannot run."""
    task = TASKS[experiment.task]
    sign = -1 if task.measure == "accuracy" else 1
    found = {}
    for record in records:
        if record.run.part == "validation" and record.run.task == experiment.task:
            at_1, at_2 = (record.results[m * record.run.train_length] for m in (1, 2))
            first = sign * at_1[task.measure]
            second = first if isinstance(at_2, str) else sign * at_2[task.measure]
            found[record.run.key] = {1: first, 2: second}
    return found


def _best(runs: Sequence[Run], scores: dict[str, dict[int, float]], multiple: int) -> Run:
    return min(runs, key=lambda run: scores[run.key][multiple])
