"""RoPE trained on short texts, then stretched: as it is, and after a little more training.

Each class turns queries and keys by frequencies of `posenc.scaling`. They have no weights, so one
trained model can be given any of them. `python -m posenc.lab stretch --results FOLDER` trains one
model a seed, stretches it in every way, and tests each before and after `FURTHER`.
"""

import functools
import time
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor
from tqdm import tqdm

from posenc.frequencies import angles, inverse_frequencies
from posenc.lab import outside, records
from posenc.lab.config import Config
from posenc.lab.methods import Method
from posenc.lab.model import Transformer
from posenc.lab.records import Record, Run
from posenc.lab.sweep import one_thread, record_of
from posenc.lab.tasks import TASKS
from posenc.lab.training import Recipe, evaluate, train
from posenc.rotary import phasors, rotate
from posenc.scaling import (
    dynamic_ntk_scaling,
    linear_scaling,
    llama3_scaling,
    ntk_scaling,
    yarn_scaling,
)

TASK = TASKS["text"]
TRAINED = 64  # tokens; with base 100 and 32 channels a head, 7 of 16 pairs turn less than once
LENGTHS = (64, 128, 256, 512)
SEEDS = tuple(range(10))
SIZE = {"dim": 64, "num_heads": 2, "num_layers": 2}
PAIRS = SIZE["dim"] // SIZE["num_heads"] // 2  # of a head
RECIPE = Recipe(steps=400, batch=32, rate=8e-3)
FURTHER = Recipe(steps=40, batch=8, rate=1e-3)  # on texts of 256 tokens: a tenth of the tokens
SEQUENCES = 1024  # of the tests: those on which the guess is scored, too
RESULTS = records.SHIPPED / "stretch"


class Unscaled(Method):
    """RoPE as it was trained; the others change its frequencies.

    Args:
        config: the model that the method is for.
        base: as in `inverse_frequencies`.
        factor: longest length over trained length.
        trained: tokens of a training text, before any stretching.
    """

    def __init__(
        self, config: Config, *, base: float = 100.0, factor: float = 4.0, trained: int = TRAINED
    ):
        super().__init__(config)
        self.inv_freq = inverse_frequencies(config.head_dim, base=base)
        self.factor = factor
        self.trained = trained

    def scaled(self, length: int) -> tuple[Tensor, float]:
        """Frequencies and gain for a text of so many tokens."""
        return self.inv_freq, 1.0

    def turn(self, x, positions):
        """Rotate by the scaled frequencies."""
        inv_freq, gain = self.scaled(len(positions))
        return rotate(x, phasors(angles(positions, inv_freq), gain=gain), pairing="half")


class Linear(Unscaled):
    """Position interpolation."""

    def scaled(self, length):
        """Divide all frequencies."""
        return linear_scaling(self.inv_freq, factor=self.factor)


class Ntk(Unscaled):
    """NTK-aware: a larger base."""

    def scaled(self, length):
        """Divide the last frequency, leave the first."""
        return ntk_scaling(self.inv_freq, factor=self.factor)


class DynamicNtk(Unscaled):
    """NTK-aware by the length of each text; short ones are left alone."""

    def scaled(self, length):
        """Scale by the ratio of lengths itself."""
        lengths = {"length": length, "trained_length": self.trained}
        return dynamic_ntk_scaling(self.inv_freq, factor=1.0, **lengths)


class Parts(Unscaled):
    """By parts, between one and four turns, as Llama 3.1 does."""

    def scaled(self, length):
        """Divide what turned less than once, leave what turned four times."""
        return llama3_scaling(self.inv_freq, factor=self.factor, trained_length=self.trained)


class Yarn(Unscaled):
    """By parts, and a gain."""

    def scaled(self, length):
        """As `Parts`, with YaRN's gain."""
        options = {"trained_length": self.trained, "slow": 1.0, "fast": 4.0, "ramp": "rotations"}
        return yarn_scaling(self.inv_freq, factor=self.factor, **options)


class Cut(Unscaled):
    """The pairs from one on are divided, those before are left alone; no ramp.

    Args:
        config: the model that the method is for.
        cut: index of the first pair that is divided.
        **options: as in `Unscaled`.
    """

    def __init__(self, config: Config, *, cut: float, **options):
        super().__init__(config, **options)
        self.cut = cut

    def scaled(self, length):
        """Divide all frequencies from the cut on."""
        kept = torch.arange(len(self.inv_freq)) < self.cut
        return torch.where(kept, self.inv_freq, self.inv_freq / self.factor), 1.0


STRETCHES: dict[str, type[Unscaled]] = {
    "unscaled": Unscaled,
    "linear": Linear,
    "ntk": Ntk,
    "dynamic ntk": DynamicNtk,
    "by parts": Parts,
    "yarn": Yarn,
}


def runs(seeds: Sequence[int]) -> list[Run]:
    """All runs: each stretching as it is, and all but dynamic NTK with `FURTHER` training.

    Dynamic NTK is meant for models that nobody trains further. Then `Cut` at every pair.

    Example:
        >>> len(runs([0]))
        28
    """
    source = outside.source_of(_name(Unscaled))
    wanted = [
        (method, {"further": float(further)})
        for further in (0, FURTHER.steps)
        for method in STRETCHES.values()
        if not (method is DynamicNtk and further)
    ]
    wanted += [(Cut, {"further": 0.0, "cut": float(cut)}) for cut in range(PAIRS + 1)]
    return [
        Run(
            _name(method),
            "text",
            TRAINED,
            seed,
            RECIPE.steps,
            batch=RECIPE.batch,
            rate=RECIPE.rate,
            size=SIZE,
            data_seed=1000 + seed,
            knobs=knobs,
            source=source,
        )
        for seed in seeds
        for method, knobs in wanted
    ]


def stretch(path: Path, *, command: str = "") -> int:
    """Do the runs that the file does not hold, each on record as soon as it is done.

    Args:
        path: file of records.
        command: for the provenance.

    Returns:
        How many runs were done.

    Raises:
        ValueError: if a line of the file is no record.
        OSError: if the file cannot be written.
    """
    known, problems = records.read(path)
    if problems:
        raise ValueError(f"every line must be a record, got {problems[0]}")
    done = {record.run.key for record in known}
    todo = [run for run in runs(SEEDS) if run.key not in done]
    trained: dict[int, Transformer] = {}
    with one_thread():
        for run in tqdm(todo, desc="stretch", unit="run"):
            start = time.perf_counter()
            if run.seed not in trained:
                trained = {run.seed: _trained(run)}
            model = _stretched(trained[run.seed], run)
            lengths = LENGTHS[::2] if "cut" in run.knobs else LENGTHS
            results = evaluate(model, TASK, lengths, sequences=SEQUENCES)
            records.append(path, record_of(run, results, command=command, start=start))
    return len(todo)


def recorded() -> list[Record]:
    """What comes with the package.

    Raises:
        ValueError: if a line of it is no record.

    Example:
        >>> {record.run.train_length for record in recorded()} <= {TRAINED}
        True
    """
    found, problems = records.read(RESULTS)
    if problems:
        raise ValueError(f"every shipped line must be a record, got {problems[0]}")
    return found


def by_stretch(found: Sequence[Record], *, further: bool) -> dict[str, list[Record]]:
    """The records of each name of STRETCHES, of models trained further or of those that were not.

    Example:
        >>> list(by_stretch([], further=False))
        ['unscaled', 'linear', 'ntk', 'dynamic ntk', 'by parts', 'yarn']
    """
    chosen = [record for record in found if (record.run.knobs["further"] > 0) == further]
    return {
        name: [record for record in chosen if record.run.method == _name(method)]
        for name, method in STRETCHES.items()
    }


def by_cut(found: Sequence[Record]) -> dict[int, list[Record]]:
    """The records of each `Cut`, by the first pair that was divided.

    Example:
        >>> len(by_cut([])) == PAIRS + 1
        True
    """
    return {
        cut: [record for record in found if record.run.knobs.get("cut") == cut]
        for cut in range(PAIRS + 1)
    }


def _name(method: type[Unscaled]) -> str:
    return f"{__name__}:{method.__name__}"


def _trained(run: Run) -> Transformer:
    options = {"train_length": TRAINED, "recipe": RECIPE, "size": run.size}
    return train(Unscaled, TASK, seed=run.seed, data_seed=run.data_seed, **options)


def _stretched(model: Transformer, run: Run) -> Transformer:
    """The same weights under other frequencies, trained further or not."""
    method = outside.find(run.method)
    if run.knobs["further"]:
        options = {"train_length": LENGTHS[2], "recipe": FURTHER, "size": run.size}
        seed = run.data_seed + 1000  # texts that the first training did not draw
        return train(method, TASK, seed=run.seed, data_seed=seed, start=model, **options)
    knobs = {name: value for name, value in run.knobs.items() if name != "further"}
    other = Transformer(model.config, functools.partial(method, **knobs), seed=run.seed)
    other.load_state_dict(model.state_dict())
    return other.eval()
