"""Is one method better than another? Intervals over seeds and test sequences, paired.

Two methods are tested on the same sequences, and the k-th seeds of both share batches and initial
weights. So differences are taken sequence by sequence and seed by seed, and both are resampled.
In the same way a method is compared with itself at another length (`gain`), a lead with the same
lead in another experiment (`change`), and a method with a reader who sees only the last tokens
(`farther`).
"""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np

from posenc.lab.records import Record
from posenc.lab.tasks import TASKS, Symbols, Task

RESAMPLES = 2000
Lead = tuple[Sequence[Record], Sequence[Record], int]  # of the first over the second at a length


@dataclass(frozen=True)
class Difference:
    """How much better the first of two is.

    Args:
        mean: of the differences: positive where the first is better, in nats or in shares.
        low: of the interval.
        high: of the interval.
        seeds: how many differences there are of each sequence, one a seed.
    """

    mean: float
    low: float
    high: float
    seeds: int

    @property
    def verdict(self) -> str:
        """Whether the first is "better" or "worse", or it is a "tie": the interval holds zero."""
        return "better" if self.low > 0 else "worse" if self.high < 0 else "tie"


def difference(
    first: Sequence[Record],
    second: Sequence[Record],
    length: int,
    *,
    pairs: int = 1,
    level: float = 0.95,
) -> Difference:
    """Compare two methods at one length.

    The standard error s is that of a bootstrap which resamples seeds and, independently,
    sequences, times sqrt(n / (n - 1)) for n seeds. The interval is

        mean +- t s,     t: the quantile 1 - (1 - level) / (2 pairs) of Student's t, n - 1 degrees

    The division by `pairs` is Bonferroni's: if none of so many pairs differed, all intervals
    together would hold zero with the probability `level` at the least. Student's t, because an
    interval of percentiles is too short for a handful of seeds.

    Args:
        first, second: records of one task each, of the same seeds, with every sequence's score.
        length: tokens of a test sequence.
        pairs: how many pairs of methods are compared in all.
        level: from 0 to 1, both excluded.

    Raises:
        ValueError: if tasks or seeds differ, there is one seed alone, a score is missing, or
            pairs or level is out of range.
    """
    better = _better(first, second, length)
    return _interval(np.array(list(better.values())), pairs, level)


def change(before: Lead, after: Lead, *, pairs: int = 1, level: float = 0.95) -> Difference:
    """How a lead changes from one experiment to another, or from one length to another.

    Two leads on two sides of zero do not show that they differ, nor does one that is a tie beside
    one that is not. Their difference is taken seed by seed and sequence by sequence, on the same
    texts, and the interval is that of `difference`. It is "better" if the lead has grown.

    Args:
        before, after: (first, second, length) each, as in `difference`; of the same seeds.
        pairs, level: as in `difference`.

    Raises:
        ValueError: as in `difference`, or if lengths differ on a task whose sequences do then.
    """
    short, long = before[2], after[2]
    task = _task([*before[0], *before[1], *after[0], *after[1]])
    if short != long and task.measure != "tail_loss":
        raise ValueError(f"lengths must be equal but on a text, got {short} and {long}")
    one, other = _better(*before), _better(*after)
    _require_same_seeds(one, other)
    return _interval(np.array([other[seed] - one[seed] for seed in one]), pairs, level)


def gain(
    records: Sequence[Record], short: int, long: int, *, pairs: int = 1, level: float = 0.95
) -> Difference:
    """How much better a method is for more context: the same characters, scored at two lengths.

    At the shorter length it sees less: the scored ones, the last 16 of 32 positions, see 17 to 32
    characters. The interval is that of `difference`.

    Args:
        records: of a method on text, one a seed, with every sequence's score.
        short, long: tokens of a test sequence.
        pairs, level: as in `difference`.

    Raises:
        ValueError: as in `difference`, or if the targets are others at another length.
    """
    if _task(records).measure != "tail_loss":
        raise ValueError(f"records must be of a text, got {records[0].run.task}")
    before, after = (_by_seed(records, length) for length in (short, long))
    return _interval(np.array([before[seed] - after[seed] for seed in before]), pairs, level)


def farther(
    records: Sequence[Record],
    length: int,
    tokens: int,
    *,
    among: Sequence[bool] | None = None,
    pairs: int = 1,
    level: float = 0.95,
) -> Difference:
    """How far a method is ahead of one who sees only the last tokens, on the same sequences.

    "better" says that it reads farther back than that. The interval is that of `difference`.

    Args:
        records: of a method on a task that says what it needs, one a seed.
        length: tokens of a test sequence.
        tokens: how many of the last ones the other sees, as in `Symbols.within`.
        among: which sequences count; all by default.
        pairs, level: as in `difference`.

    Raises:
        ValueError: as in `difference`, if the task does not say what an answer needs, or among
            is not one truth a sequence or leaves none.
    """
    task = _task(records)
    if not isinstance(task, Symbols):
        raise ValueError(f"task must say what it needs, got {records[0].run.task}")
    found = _by_seed(records, length)
    sequences = len(next(iter(found.values())))
    seen = np.array(task.within(length, tokens, sequences=sequences))
    counts = np.full(sequences, True) if among is None else np.asarray(among)
    if counts.shape != seen.shape or counts.dtype != bool or not counts.any():
        raise ValueError(f"among must hold {sequences} truths, one True at least, got {among}")
    ahead = np.array([each - seen for each in found.values()])[:, counts]
    return _interval(ahead, pairs, level)


def differences(
    methods: dict[str, Sequence[Record]], length: int, *, level: float = 0.95
) -> dict[tuple[str, str], Difference]:
    """Compare all pairs of methods at one length, corrected for their number.

    Args:
        methods: name -> records, as in `difference`; those that cannot run at it are left out.
        length: tokens of a test sequence.
        level: of all intervals together.

    Returns:
        Pair of names, in the order given -> difference.
    """
    able = {
        name: records
        for name, records in methods.items()
        if all(isinstance(record.results[length], dict) for record in records)
    }
    pairs = list(combinations(able, 2))
    return {
        pair: difference(*(able[name] for name in pair), length, pairs=len(pairs), level=level)
        for pair in pairs
    }


def order(methods: dict[str, Sequence[Record]], length: int, *, level: float = 0.95) -> str:
    """Put methods in the order of their means, and say which neighbours are apart.

    Args:
        methods, length, level: as in `differences`.

    Returns:
        The names, the best first. ">" stands between two neighbours of which the first is better,
        "≈" between two that tie. (With ties, methods that are no neighbours may be apart or not.)
    """
    found = differences(methods, length, level=level)
    names = list(dict.fromkeys(name for pair in found for name in pair))
    means = {name: np.nanmean([record.each(length) for record in methods[name]]) for name in names}
    lower = TASKS[methods[names[0]][0].run.task].measure == "tail_loss"
    names.sort(key=lambda name: means[name], reverse=not lower)
    text = names[0]
    for pair in pairwise(names):
        one = found.get(pair) or found[pair[::-1]]
        text += f" {'≈' if one.verdict == 'tie' else '>'} {pair[1]}"
    return text


@functools.lru_cache(maxsize=64)
def student(share: float, degrees: int) -> float:
    """Quantile of Student's t: the number that t exceeds with the probability 1 - share.

    Args:
        share: above one half, below 1.
        degrees: of freedom, positive.

    Returns:
        The quantile, to about four digits.

    Example:
        >>> round(student(0.975, 9), 3), round(student(0.9995, 4), 3)
        (2.262, 8.61)
    """
    constant = math.exp(math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2))
    constant /= math.sqrt(degrees * math.pi)
    # With t = sqrt(degrees) tan(a) the density is constant * sqrt(degrees) * cos(a)^(degrees - 1).
    angle = (np.arange(200_000) + 0.5) * (math.pi / 2 / 200_000)
    step = constant * math.sqrt(degrees) * np.cos(angle) ** (degrees - 1) * (angle[1] - angle[0])
    place = np.interp(share - 0.5, np.cumsum(step), angle + (angle[1] - angle[0]) / 2)
    return math.sqrt(degrees) * math.tan(place)


@functools.lru_cache(maxsize=4)
def _resamples(shape: tuple[int, int]) -> list[np.ndarray]:
    """How much each seed, and each sequence, weighs in each resample; the same for all pairs."""
    rng = np.random.default_rng(0)
    return [rng.multinomial(many, np.full(many, 1 / many), RESAMPLES) / many for many in shape]


def _interval(better: np.ndarray, pairs: int, level: float) -> Difference:
    """The mean of differences [seeds, sequences], and its interval; nan: nothing was asked."""
    if pairs < 1:
        raise ValueError(f"pairs must be positive, got {pairs}")
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, got {level}")
    seeds = len(better)
    if seeds < 2:
        raise ValueError(f"records must have two seeds or more, got {seeds}")
    better = better[:, ~np.isnan(better).any(0)]
    by_seed, by_sequence = _resamples(better.shape)
    means = (by_seed * (by_sequence @ better.T)).sum(-1)
    error = means.std() * math.sqrt(seeds / (seeds - 1))
    reach = student(1 - (1 - level) / (2 * pairs), seeds - 1) * error
    mean = better.mean()
    return Difference(float(mean), float(mean - reach), float(mean + reach), seeds)


def _better(first: Sequence[Record], second: Sequence[Record], length: int) -> dict:
    """Seed -> how much better the first is in each sequence."""
    sign = -1 if _task([*first, *second]).measure == "tail_loss" else 1
    one, other = (_by_seed(records, length) for records in (first, second))
    _require_same_seeds(one, other)
    return {seed: sign * (one[seed] - other[seed]) for seed in sorted(one)}


def _require_same_seeds(one: dict, other: dict) -> None:
    if one.keys() != other.keys():
        raise ValueError(f"records must have the same seeds, got {sorted(one)} and {sorted(other)}")


def _task(records: Sequence[Record]) -> Task:
    tasks = {record.run.task for record in records}
    if len(tasks) != 1:
        raise ValueError(f"records must be of one task, got {sorted(tasks)}")
    return TASKS[tasks.pop()]


def _by_seed(records: Sequence[Record], length: int) -> dict[tuple, np.ndarray]:
    found = {
        (record.run.seed, record.run.data_seed): np.array(record.each(length)) for record in records
    }
    if len(found) < len(records):
        raise ValueError(f"records must have different seeds, got {sorted(found)}")
    return found
