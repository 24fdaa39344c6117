"""Train a model on a task, then test it on longer sequences than it has seen."""

import contextlib
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from tqdm import tqdm

from posenc._validate import require_choice
from posenc.lab.config import Config
from posenc.lab.methods import METHODS, Method
from posenc.lab.model import Transformer
from posenc.lab.tasks import IGNORED, SEEDS, TAIL, TASKS, Task

BLOCK = 8  # positions whose losses are averaged in a result
TEST_SEQUENCES = 128
_TEST_TOKENS = 4096  # handled at a time: what one batch needs stays in the cache


@dataclass(frozen=True)
class Recipe:
    """How a model is trained; the same for every method.

    Args:
        steps: optimiser steps, positive.
        batch: sequences a step, positive.
        rate: peak learning rate of AdamW; it rises over the first tenth and falls as a cosine.

    Raises:
        ValueError: if a number is not positive and finite.
    """

    steps: int = 600
    batch: int = 32
    rate: float = 2e-3

    def __post_init__(self):
        for name in ("steps", "batch", "rate"):
            if not 0 < getattr(self, name) < math.inf:
                raise ValueError(f"{name} must be positive and finite, got {getattr(self, name)}")

    def rate_at(self, step: int) -> float:
        """The learning rate of a step, counted from 0."""
        warm = max(1, self.steps // 10)
        if step < warm:
            return self.rate * (step + 1) / warm
        done = (step - warm) / max(1, self.steps - warm)
        return self.rate * (0.05 + 0.475 * (1 + math.cos(math.pi * done)))


def train(
    method: str | Callable[..., Method],
    task: str | Task,
    *,
    train_length: int = 64,
    seed: int = 0,
    data_seed: int | None = None,
    recipe: Recipe | None = None,
    device: str = "cpu",
    size: Mapping[str, int] | None = None,
    knobs: Mapping[str, float] | None = None,
    drawn: bool = False,
    start: Transformer | None = None,
    progress: bool = False,
) -> Transformer:
    """Train one model.

    Initial weights (but the method's own), data and steps depend on task, length, seeds, recipe
    and size alone. On a GPU the model computes in bfloat16 and is compiled.

    Args:
        method: a name of METHODS, or a class like those: a `posenc.lab.methods.Method`.
        task: a name of TASKS, or a task.
        train_length: tokens of a sequence, or of the longest if lengths are drawn.
        seed: of the weights, below 10 000, where the seeds of the tests begin.
        data_seed: of the batches; by default it is the seed of the weights.
        recipe: steps, batch and learning rate.
        device: "cpu" or "cuda".
        size: dim, num_heads and num_layers, where they should not be `Config`'s.
        knobs: the method's own settings, by name.
        drawn: whether each batch has a length of its own, any from the task's shortest on.
        start: a model of equal size whose weights to go on from; it is left as it is.
        progress: whether to show a bar.

    Returns:
        The trained model, in evaluation mode.

    Raises:
        TypeError: if the method has no such knob.
        ValueError: if there is no such method, task or device, or a number is out of range.

    Example:
        >>> model = train("alibi", "copy", train_length=8, recipe=Recipe(steps=2, batch=4))
        >>> model.training
        False
    """
    task = named("task", task, TASKS)
    data_seed = seed if data_seed is None else data_seed
    require_seed("seed", seed)
    require_seed("data_seed", data_seed)
    require_choice("device", device, ("cpu", "cuda"))
    if device == "cuda" and not torch.cuda.is_available():
        raise ValueError(f"device must be there, got {device!r} without CUDA")
    recipe = recipe or Recipe()
    config = Config(task.vocabulary, task.causal, train_length, **(size or {}))
    method = functools.partial(named("method", method, METHODS), **(knobs or {}))
    model = Transformer(config, method, seed=seed).to(device)
    if start is not None:
        model.load_state_dict(start.state_dict())
    run = _runner(model, device)
    optimiser = torch.optim.AdamW(model.parameters(), betas=(0.9, 0.98), weight_decay=0.01)
    data = torch.Generator().manual_seed(data_seed)
    steps = tqdm(range(recipe.steps), disable=not progress, desc=type(model.method).__name__)
    for step in steps:
        length = train_length
        if drawn:
            length = int(torch.randint(task.shortest, train_length + 1, (), generator=data))
        batch = task.sample(data, recipe.batch, length)
        with _precision(device):
            logits = run(batch.inputs.to(device))
            loss = F.cross_entropy(
                logits.flatten(0, 1), batch.targets.to(device).flatten(), ignore_index=IGNORED
            )
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for group in optimiser.param_groups:
            group["lr"] = recipe.rate_at(step)
        optimiser.step()
        if progress and step % 10 == 0:
            steps.set_postfix(loss=f"{loss.item():.2f}")
    return model.eval()


@torch.no_grad()
def evaluate(
    model: Transformer,
    task: str | Task,
    lengths: Sequence[int],
    *,
    sequences: int = TEST_SEQUENCES,
    part: str = "test",
) -> dict[int, dict[str, object] | str]:
    """Test a model on held-out sequences of several lengths, the same ones for every model.

    Args:
        model: from `train`.
        task: the task that it was trained on.
        lengths: tokens of a sequence.
        sequences: how many sequences of each length.
        part: "test", or "validation" to choose settings by.

    Returns:
        Length -> a reason why the method cannot run at it, or these numbers:
        "loss", in nats, and "accuracy", over all targets;
        "tail_loss", over the last 16 positions: held-out text ends at the same places for every
        length, so the targets are the same and only their context grows;
        "by_block": the loss over positions 0-7, 8-15 and so on, None where nothing is predicted;
        "each": what the task counts ("tail_loss" or "accuracy") of each sequence by itself, nan
        where nothing is asked.

    Raises:
        ValueError: if the task or part has no such name, or sequences is not positive.

    Example:
        >>> model = train("none", "who", train_length=8, recipe=Recipe(steps=1))
        >>> sorted(evaluate(model, "who", [8], sequences=4)[8])
        ['accuracy', 'by_block', 'each', 'loss', 'tail_loss']
    """
    task = named("task", task, TASKS)
    require_choice("part", part, tuple(SEEDS))
    if sequences < 1:
        raise ValueError(f"sequences must be positive, got {sequences}")
    results = {}
    for length in lengths:
        try:
            results[length] = _test(model, task, length, sequences, part)
        except IndexError as error:
            results[length] = str(error)
    return results


def _test(
    model: Transformer, task: Task, length: int, sequences: int, part: str
) -> dict[str, object]:
    device = next(model.parameters()).device
    batch = task.held_out(length, sequences, part=part)
    losses, hits = [], []
    rows = max(1, _TEST_TOKENS // length)
    for inputs, targets in zip(batch.inputs.split(rows), batch.targets.split(rows), strict=True):
        targets = targets.to(device)
        with _precision(device.type):
            logits = model(inputs.to(device)).float()
        loss = F.cross_entropy(
            logits.transpose(1, 2), targets, ignore_index=IGNORED, reduction="none"
        )
        losses.append(loss.double().cpu())
        hits.append((logits.argmax(-1) == targets).cpu())
    asked = batch.targets != IGNORED
    loss, hit = torch.cat(losses), torch.cat(hits).double()
    counted = asked[:, -TAIL:] if task.measure == "tail_loss" else asked
    each = (loss if task.measure == "tail_loss" else hit)[:, -counted.shape[1] :]
    return {
        "loss": _mean(loss, asked),
        "accuracy": _mean(hit, asked),
        "tail_loss": _mean(loss[:, -TAIL:], asked[:, -TAIL:]),
        "by_block": [
            _mean(some, counted)
            for some, counted in zip(loss.split(BLOCK, -1), asked.split(BLOCK, -1), strict=True)
        ],
        "each": (each.where(counted, 0.0).sum(-1) / counted.sum(-1)).tolist(),
    }


def _mean(values: Tensor, counted: Tensor) -> float | None:
    return round(values[counted].mean().item(), 4) if counted.any() else None


def _runner(model: Transformer, device: str) -> nn.Module:
    if device == "cpu":
        return model
    torch.compiler.reset()  # after 8 models of different methods it would compile no more
    return torch.compile(model)


def _precision(device: str) -> contextlib.AbstractContextManager:
    if device == "cpu":
        return contextlib.nullcontext()
    return torch.autocast("cuda", dtype=torch.bfloat16)


def require_seed(name: str, seed: int) -> None:
    """Raise a ValueError if a seed is not one for training."""
    last = min(SEEDS.values()) - 1
    if not 0 <= seed <= last:
        raise ValueError(f"{name} must be from 0 to {last}, got {seed}")


def named(kind: str, name: object, known: dict[str, object]) -> object:
    """Look up a name; anything that is no name is returned as it is.

    Raises:
        ValueError: if there is no such name.
    """
    if not isinstance(name, str):
        return name
    if name not in known:
        raise ValueError(f"{kind} must be one of {', '.join(known)}, got {name!r}")
    return known[name]
