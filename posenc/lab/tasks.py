"""What the models are trained on: English text, and small tasks where position is all that counts.

A task samples batches of any length. `chance` is the score of a guess (each task says of which),
`goal` the score from which a run counts as converged at its training length. Scores are a loss in
nats for text, lower is better, and a share of right answers else.
"""

import functools
from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Int
from torch import Generator, Tensor

from posenc.lab.text import UNKNOWN, characters, encode

IGNORED = -100  # a target that does not count, as in torch.nn.functional.cross_entropy


@dataclass(frozen=True)
class Batch:
    """Token numbers and what to predict at each of them.

    Args:
        inputs: [b, n].
        targets: [b, n], IGNORED where nothing is to be predicted.
    """

    inputs: Int[Tensor, "b n"]
    targets: Int[Tensor, "b n"]


class Task(ABC):
    """What a task must provide."""

    vocabulary: int
    causal: bool
    measure: str = "accuracy"  # of `evaluate`'s numbers, the one that counts
    train_length: int = 64
    steps: int = 600  # of training; enough for most methods

    @abstractmethod
    def sample(self, generator: Generator, batch: int, length: int, *, held_out: bool) -> Batch:
        """Draw a batch of sequences of this length, for training or held out for tests."""

    @property
    @abstractmethod
    def chance(self) -> float:
        """The score of a guess."""

    @property
    def goal(self) -> float:
        """The score from which a run counts as converged at its training length."""
        return 0.95

    def reached(self, score: float) -> bool:
        """Whether a score is as good as the goal."""
        return score >= self.goal if self.measure == "accuracy" else score <= self.goal


class Text(Task):
    """Predict the next character of Python's own help texts; their last tenth is held out.

    Chance is the loss of the best guess without context (character frequencies), the goal that
    of the best guess from the last character alone.
    """

    vocabulary = UNKNOWN + 1
    causal = True
    measure = "tail_loss"

    def sample(self, generator, batch, length, *, held_out):
        """Windows that end at random places; equal ends for every length of held-out text."""
        text = _halves()[held_out]
        longest = len(text) // 2
        if not 1 <= length < longest:
            raise ValueError(f"length must be at least 1 and below {longest}, got {length}")
        first = longest if held_out else length + 1
        ends = torch.randint(first, len(text) + 1, (batch, 1), generator=generator)
        windows = text[ends + torch.arange(-length - 1, 0)]
        return Batch(windows[:, :-1], windows[:, 1:])

    @property
    def chance(self) -> float:
        """Nats a character from frequencies alone."""
        return _count_losses()[0]

    @property
    def goal(self) -> float:
        """Nats a character from the last character."""
        return _count_losses()[1]


class MaskedText(Text):
    """Fill in characters: an encoder sees both sides of the 15 % that are hidden."""

    vocabulary = UNKNOWN + 2
    causal = False
    hidden = UNKNOWN + 1

    def sample(self, generator, batch, length, *, held_out):
        """Windows of text; targets are the hidden characters."""
        text = super().sample(generator, batch, length, held_out=held_out).targets
        noise = torch.rand((length, batch), generator=generator)
        hide = noise.T.flip(-1) < 0.15  # drawn from the end: the same there for every length
        return Batch(text.masked_fill(hide, self.hidden), text.masked_fill(~hide, IGNORED))


@functools.cache
def _halves() -> tuple[Tensor, Tensor]:
    """The text to train on and the text that is held out."""
    text = torch.tensor(encode(characters()))
    cut = len(text) * 9 // 10
    return text[:cut], text[cut:]


@functools.cache
def _count_losses() -> tuple[float, float]:
    """Loss on the held-out text of counting characters, and of counting pairs of them."""
    train, test = _halves()
    size = Text.vocabulary
    pairs = torch.bincount(train[:-1] * size + train[1:], minlength=size**2).view(size, size)
    singles = (train.bincount(minlength=size) + 1.0) / (len(train) + size)
    given = (pairs + singles) / (pairs.sum(-1, keepdim=True) + 1)  # rare pairs fall back
    return (
        -singles.log()[test[1:]].mean().item(),
        -given.log()[test[:-1], test[1:]].mean().item(),
    )


class Symbols(Task):
    """Tasks on random symbols, drawn in the same way for training and for tests.

    A test sequence has come up in training only where there are few: in `who`, or when tiny.
    """

    symbols = 16
    train_length = 32

    @property
    def vocabulary(self) -> int:
        """The symbols, and two marks."""
        return self.symbols + 2

    @property
    def mark(self) -> int:
        """A token that is no symbol."""
        return self.symbols

    @property
    def filler(self) -> int:
        """Another one."""
        return self.symbols + 1

    @property
    def chance(self) -> float:
        """One symbol in all."""
        return 1 / self.symbols

    def _draw(self, generator: Generator, batch: int, length: int) -> Tensor:
        return torch.randint(self.symbols, (batch, length), generator=generator)


class Copy(Symbols):
    """Symbols, a mark, and the same symbols again: predict the second half."""

    causal = True
    steps = 1500

    def again(self, symbols: Tensor) -> Tensor:
        """What comes after the mark."""
        return symbols

    def sample(self, generator, batch, length, *, held_out):
        """Half of the length is symbols; odd lengths end with a filler."""
        half = length // 2
        if half < 1:
            raise ValueError(f"length must be at least 2, got {length}")
        symbols = self._draw(generator, batch, half)
        mark = torch.full((batch, 1), self.mark)
        again = self.again(symbols)
        inputs = torch.cat([symbols, mark, again[:, :-1]], dim=-1)
        targets = torch.cat([torch.full((batch, half), IGNORED), again], dim=-1)
        if length % 2:
            end = torch.full((batch, 1), self.filler)
            inputs = torch.cat([inputs, end], dim=-1)
            targets = torch.cat([targets, torch.full((batch, 1), IGNORED)], dim=-1)
        return Batch(inputs, targets)


class Reverse(Copy):
    """Symbols, a mark, and the same symbols backwards."""

    def again(self, symbols):
        """What comes after the mark."""
        return symbols.flip(-1)


class Induction(Symbols):
    """Keys and values in turn: when a key comes back, say the value that followed it before.

    Half of the symbols are keys, half are values; each line has values of its own for its keys.
    """

    causal = True
    steps = 800

    @property
    def chance(self) -> float:
        """One value in all."""
        return 2 / self.symbols

    def sample(self, generator, batch, length, *, held_out):
        """Random keys with their values; the last key is the first one again."""
        if length < 3:
            raise ValueError(f"length must be at least 3, got {length}")
        half = self.symbols // 2
        keys = torch.randint(half, (batch, (length + 1) // 2), generator=generator)
        keys[:, -1] = keys[:, 0]
        values = torch.randint(half, self.symbols, (batch, half), generator=generator)
        answers = values.gather(1, keys)
        seen = F.one_hot(keys, half).cumsum(1).gather(2, keys[..., None])[..., 0] > 1
        line = torch.stack([keys, answers], dim=-1).flatten(1)[:, :length]
        targets = torch.full_like(line, IGNORED)
        targets[:, 0::2] = torch.where(seen, answers, IGNORED)
        return Batch(line, targets)


class First(Symbols):
    """Two marks in a line: say which symbol follows the first of them."""

    causal = True
    at_end = False

    @property
    def chance(self) -> float:
        """A model that cannot tell the two marks apart is right half of the time."""
        return 0.5

    def sample(self, generator, batch, length, *, held_out):
        """Two marks, each before a symbol, at random places; the last token asks."""
        if length < 6:
            raise ValueError(f"length must be at least 6, got {length}")
        line = self._draw(generator, batch, length)
        noise = torch.rand((batch, (length - 1) // 2), generator=generator)
        pair = noise.argsort(-1)[:, :2].sort(-1).values * 2  # two different even places
        answers = line.gather(1, pair + 1)
        same = answers[:, :1] == answers[:, 1:]
        answers[:, 1:] = torch.where(same, (answers[:, 1:] + 1) % self.symbols, answers[:, 1:])
        line.scatter_(1, pair + 1, answers)
        line.scatter_(1, pair, self.mark)
        line[:, -1] = self.filler
        return Batch(line, _only_last(line, answers[:, int(self.at_end)][:, None]))


class Last(First):
    """Two marks in a line: say which symbol follows the last of them."""

    at_end = True


class Who(Symbols):
    """Who bit whom: "dog bites man" among fillers; an encoder names the one who comes first.

    Without positions both orders are the same bag of words, and half of all answers are right.
    """

    causal = False

    @property
    def chance(self) -> float:
        """One of the two names."""
        return 0.5

    def sample(self, generator, batch, length, *, held_out):
        """A name, the verb and another name somewhere in a line of fillers; the verb asks."""
        if length < 3:
            raise ValueError(f"length must be at least 3, got {length}")
        names = torch.rand((batch, self.symbols), generator=generator).argsort(-1)[:, :2]
        start = torch.randint(length - 2, (batch, 1), generator=generator)
        line = torch.full((batch, length), self.filler)
        line.scatter_(1, start, names[:, :1])
        line.scatter_(1, start + 1, self.mark)
        line.scatter_(1, start + 2, names[:, 1:])
        targets = torch.full_like(line, IGNORED).scatter_(1, start + 1, names[:, :1])
        return Batch(line, targets)


def _only_last(line: Tensor, answer: Tensor) -> Tensor:
    targets = torch.full_like(line, IGNORED)
    targets[:, -1:] = answer
    return targets


TASKS: dict[str, Task] = {
    "text": Text(),
    "masked-text": MaskedText(),
    "copy": Copy(),
    "reverse": Reverse(),
    "induction": Induction(),
    "first": First(),
    "last": Last(),
    "who": Who(),
}
