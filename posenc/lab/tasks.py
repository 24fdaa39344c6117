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

from posenc._validate import require_choice
from posenc.lab import corpus

IGNORED = -100  # a target that does not count, as in torch.nn.functional.cross_entropy
PARTS = ("train", "validation", "test")
TAIL = 16  # the last positions of a sequence, which have the most context
LONGEST = 4096  # of a test on text
SEEDS = {"test": 10_000, "validation": 10_001}  # no seed of a training run may be as large


@dataclass(frozen=True)
class Batch:
    """Token numbers and what to predict at each of them.

    Args:
        inputs: [b, n].
        targets: [b, n], IGNORED where nothing is to be predicted.
        needs: [b, n], how many of the last tokens one must see to read the answer off, the token
            at the place itself included; None where there is no such number.
    """

    inputs: Int[Tensor, "b n"]
    targets: Int[Tensor, "b n"]
    needs: Int[Tensor, "b n"] | None = None


class Task(ABC):
    """What a task must provide."""

    vocabulary: int
    causal: bool
    measure: str = "accuracy"  # of `evaluate`'s numbers, the one that counts
    train_length: int = 64
    steps: int = 600  # of training; enough for most methods
    shortest: int = 1  # length

    @abstractmethod
    def sample(
        self, generator: Generator, batch: int, length: int, *, part: str = "train"
    ) -> Batch:
        """Draw a batch of sequences of this length, from one of PARTS."""

    def held_out(self, length: int, sequences: int, *, part: str = "test") -> Batch:
        """The very sequences that all models are scored on."""
        return self.sample(Generator().manual_seed(SEEDS[part]), sequences, length, part=part)

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

    def require_length(self, length: int) -> None:
        """Raise ValueError if there are no sequences of this length."""
        if length < self.shortest:
            raise ValueError(f"length must be at least {self.shortest}, got {length}")


class Text(Task):
    """Predict the next character of a novel.

    Chance is the loss of the best guess without context (character frequencies), the goal that
    of the best guess from the last character alone: both counted in the training part, and scored
    on the very characters that the models are scored on, the last 16 of 1024 test windows.
    """

    vocabulary = corpus.UNKNOWN + 1
    causal = True
    measure = "tail_loss"

    def sample(self, generator, batch, length, *, part="train"):
        """Windows that end at random places in training, at evenly spread ones else.

        The ends are the same for every length, so that the same characters are scored.
        """
        require_choice("part", part, PARTS)
        self.require_length(length)
        if length >= LONGEST:
            raise ValueError(f"length must be below {LONGEST}, got {length}")
        text = _numbers()[part]
        if part == "train":
            ends = torch.randint(length + 1, len(text) + 1, (batch, 1), generator=generator)
        else:
            ends = torch.linspace(LONGEST, len(text), batch, dtype=torch.float64).long()[:, None]
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

    vocabulary = corpus.UNKNOWN + 2
    causal = False
    hidden = corpus.UNKNOWN + 1

    def sample(self, generator, batch, length, *, part="train"):
        """Windows of text; targets are the hidden characters."""
        text = super().sample(generator, batch, length, part=part).targets
        noise = torch.rand((length, batch), generator=generator)
        hide = noise.T.flip(-1) < 0.15  # drawn from the end: the same there for every length
        return Batch(text.masked_fill(hide, self.hidden), text.masked_fill(~hide, IGNORED))


@functools.cache
def _numbers() -> dict[str, Tensor]:
    return {part: torch.tensor(corpus.encode(text)) for part, text in corpus.parts().items()}


@functools.cache
def _count_losses() -> tuple[float, float]:
    """Loss of counting characters, and of counting pairs of them, on the characters scored."""
    train, size = _numbers()["train"], Text.vocabulary
    pairs = torch.bincount(train[:-1] * size + train[1:], minlength=size**2).view(size, size)
    singles = (train.bincount(minlength=size) + 1.0) / (len(train) + size)
    given = (pairs + singles) / (pairs.sum(-1, keepdim=True) + 1)  # rare pairs fall back
    scored = Text().sample(Generator(), 1024, TAIL, part="test")
    return (
        -singles.log()[scored.targets].mean().item(),
        -given.log()[scored.inputs, scored.targets].mean().item(),
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

    def sample(self, generator, batch, length, *, part="train"):
        """Draw lines; the parts differ in nothing but the generator that is given."""
        require_choice("part", part, PARTS)
        self.require_length(length)
        return self.lines(generator, batch, length)

    @abstractmethod
    def lines(self, generator: Generator, batch: int, length: int) -> Batch:
        """Draw the lines; the length is long enough."""

    @property
    def blind(self) -> float:
        """What a guess is worth to one who has not seen what the answer needs."""
        return self.chance

    def within(self, length: int, tokens: int, *, sequences: int = 1024) -> list[float]:
        """Score one who sees only the last so many tokens, on the sequences of the test.

        It is right where they hold all that the answer needs, and guesses blindly elsewhere.
        (A clever guess adds less than 1 / (length - tokens) to that in *passkey*: the first symbol
        in view may stand right behind a mark that is out of view.)

        Args:
            length: of the sequences.
            tokens: how many of the last ones are seen, the one at the place itself included.
            sequences: how many there are in the test.

        Returns:
            The expected share of right answers in each sequence.

        Raises:
            ValueError: if the task does not say what an answer needs.
        """
        batch = self.held_out(length, sequences)
        if batch.needs is None:
            raise ValueError(f"task must say what it needs, got {type(self).__name__}")
        asked = batch.targets != IGNORED
        right = torch.where(batch.needs <= tokens, 1.0, self.blind).double()
        return (right.where(asked, 0.0).sum(-1) / asked.sum(-1)).tolist()

    def _draw(self, generator: Generator, batch: int, length: int) -> Tensor:
        return torch.randint(self.symbols, (batch, length), generator=generator)


class Copy(Symbols):
    """Symbols, a mark, and the same symbols again: predict the second half."""

    causal = True
    steps = 1500
    shortest = 2

    def again(self, symbols: Tensor) -> Tensor:
        """What comes after the mark."""
        return symbols

    def lines(self, generator, batch, length):
        """Half of the length is symbols; odd lengths end with a filler."""
        half = length // 2
        symbols = self._draw(generator, batch, half)
        mark = torch.full((batch, 1), self.mark)
        again = self.again(symbols)
        inputs = torch.cat([symbols, mark, again[:, :-1]], dim=-1)
        targets = torch.cat([torch.full((batch, half), IGNORED), again], dim=-1)
        if length % 2:
            end = torch.full((batch, 1), self.filler)
            inputs = torch.cat([inputs, end], dim=-1)
            targets = torch.cat([targets, torch.full((batch, 1), IGNORED)], dim=-1)
        source = self.again(torch.arange(half)[None])[0]
        back = torch.cat([torch.zeros(half), half + torch.arange(half) - source + 1])
        needs = F.pad(back.long(), (0, length % 2)).expand(batch, -1)
        return Batch(inputs, targets, needs)


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
    shortest = 3

    @property
    def chance(self) -> float:
        """One value in all."""
        return 2 / self.symbols

    def lines(self, generator, batch, length):
        """Random keys with their values; the last key is the first one again."""
        half = self.symbols // 2
        keys = torch.randint(half, (batch, (length + 1) // 2), generator=generator)
        keys[:, -1] = keys[:, 0]
        values = torch.randint(half, self.symbols, (batch, half), generator=generator)
        answers = values.gather(1, keys)
        seen = F.one_hot(keys, half).cumsum(1).gather(2, keys[..., None])[..., 0] > 1
        line = torch.stack([keys, answers], dim=-1).flatten(1)[:, :length]
        targets = torch.full_like(line, IGNORED)
        targets[:, 0::2] = torch.where(seen, answers, IGNORED)
        place = torch.arange(keys.shape[1])
        ago = (keys[:, :, None] == keys[:, None, :]) & (place[:, None] > place)  # [b, now, before]
        last = torch.where(ago, place, -1).amax(-1)
        needs = torch.zeros_like(line)
        needs[:, 0::2] = torch.where(seen, 2 * (place - last) + 1, 0)
        return Batch(line, targets, needs)


class First(Symbols):
    """Two marks in a line: say which symbol follows the first of them."""

    causal = True
    at_end = False
    shortest = 6

    @property
    def chance(self) -> float:
        """A model that cannot tell the two marks apart is right half of the time."""
        return 0.5

    @property
    def blind(self) -> float:
        """Chance sees both marks; who has not seen the right one knows nothing."""
        return 1 / self.symbols

    def lines(self, generator, batch, length):
        """Two marks, each before a symbol, at random places; the last token asks."""
        line = self._draw(generator, batch, length)
        noise = torch.rand((batch, (length - 1) // 2), generator=generator)
        pair = noise.argsort(-1)[:, :2].sort(-1).values * 2  # two different even places
        answers = line.gather(1, pair + 1)
        same = answers[:, :1] == answers[:, 1:]
        answers[:, 1:] = torch.where(same, (answers[:, 1:] + 1) % self.symbols, answers[:, 1:])
        line.scatter_(1, pair + 1, answers)
        line.scatter_(1, pair, self.mark)
        line[:, -1] = self.filler
        chosen = int(self.at_end)
        needs = _only_last(line, length - pair[:, chosen, None], other=0)
        return Batch(line, _only_last(line, answers[:, chosen, None]), needs)


class Last(First):
    """Two marks in a line: say which symbol follows the last of them."""

    at_end = True


class Who(Symbols):
    """Who bit whom: "dog bites man" among fillers; an encoder names the one who comes first.

    Without positions both orders are the same bag of words, and half of all answers are right.
    """

    causal = False
    shortest = 3

    @property
    def chance(self) -> float:
        """One of the two names."""
        return 0.5

    def lines(self, generator, batch, length):
        """A name, the verb and another name somewhere in a line of fillers; the verb asks."""
        names = torch.rand((batch, self.symbols), generator=generator).argsort(-1)[:, :2]
        start = torch.randint(length - 2, (batch, 1), generator=generator)
        line = torch.full((batch, length), self.filler)
        line.scatter_(1, start, names[:, :1])
        line.scatter_(1, start + 1, self.mark)
        line.scatter_(1, start + 2, names[:, 1:])
        targets = torch.full_like(line, IGNORED).scatter_(1, start + 1, names[:, :1])
        return Batch(line, targets)


class Passkey(Symbols):
    """One mark in a line of symbols: say at the end which symbol follows it, however far back."""

    causal = True
    steps = 800
    shortest = 4

    def lines(self, generator, batch, length):
        """The mark at a random place; the last token asks."""
        line = self._draw(generator, batch, length)
        at = torch.randint(length - 2, (batch, 1), generator=generator)
        line.scatter_(1, at, self.mark)
        line[:, -1] = self.filler
        return Batch(
            line, _only_last(line, line.gather(1, at + 1)), _only_last(line, length - at, other=0)
        )


class Recall(Symbols):
    """Four keys with their values, then fillers, then the keys again: say their values.

    The longer the line, the farther back are the values: keys recede with the length.
    """

    causal = True
    steps = 800
    count = 4
    shortest = 12

    @property
    def chance(self) -> float:
        """One of the line's four values, if they are found at all."""
        return 1 / self.count

    @property
    def blind(self) -> float:
        """Chance knows the line's four values; who has not seen them guesses among all eight."""
        return 2 / self.symbols

    def lines(self, generator, batch, length):
        """Half of the symbols are keys, half are values; no value is there twice."""
        half, count = self.symbols // 2, self.count
        keys, values, order = (
            torch.rand((batch, many), generator=generator).argsort(-1)[:, :count]
            for many in (half, half, count)
        )
        line = torch.full((batch, length), self.filler)
        line[:, : 2 * count] = torch.stack([keys, values + half], dim=-1).flatten(1)
        line[:, -count:] = keys.gather(1, order)
        targets = torch.full_like(line, IGNORED)
        targets[:, -count:] = values.gather(1, order) + half
        needs = torch.zeros_like(line)
        needs[:, -count:] = torch.arange(length - count, length) - 2 * order + 1
        return Batch(line, targets, needs)


class Addition(Symbols):
    """Two numbers, units first, and their sum without the last carry: predict its digits."""

    symbols = 10
    causal = True
    steps = 1500
    shortest = 4
    hints = 0  # tokens that count the places; 0: none

    @property
    def vocabulary(self) -> int:
        """Ten digits, two marks and the hints."""
        return self.symbols + 2 + self.hints

    def lines(self, generator, batch, length):
        """Numbers as long as fit; what is left over is fillers at the end."""
        wide = 2 if self.hints else 1  # tokens a digit
        digits = (length - 1) // (3 * wide)
        a, b = (self._draw(generator, batch, digits) for _ in range(2))
        total = torch.zeros_like(a)
        carry = torch.zeros(batch, dtype=torch.long)
        for i in range(digits):
            carry = a[:, i] + b[:, i] + carry
            total[:, i], carry = carry % 10, carry // 10
        mark = torch.full((batch, 1), self.mark)
        answers = torch.full_like(a, IGNORED)
        if self.hints:
            first = torch.randint(self.hints - digits + 1, (batch, 1), generator=generator)
            places = self.symbols + 2 + first + torch.arange(digits)
            a, b, told = (torch.stack([places, x], -1).flatten(1) for x in (a, b, total))
            asked = torch.stack([total, answers], -1).flatten(1)[:, :-1]
            inputs = torch.cat([a, mark, b, mark, told[:, :-1]], dim=-1)
        else:
            asked = total
            inputs = torch.cat([a, mark, b, mark, total[:, :-1]], dim=-1)
        targets = torch.full_like(inputs, IGNORED)
        targets[:, -asked.shape[1] :] = asked
        needs = torch.where(targets == IGNORED, 0, 2 * wide * digits + 2)
        left = length - inputs.shape[1]
        return Batch(
            F.pad(inputs, (0, left), value=self.filler),
            F.pad(targets, (0, left), value=IGNORED),
            F.pad(needs, (0, left)),
        )


class HintedAddition(Addition):
    """Addition in which a token before each digit counts its place, from a random start."""

    shortest = 7
    hints = 128

    def require_length(self, length):
        """Raise ValueError if there are no sequences of this length, or too few hints for it."""
        super().require_length(length)
        if length > 6 * self.hints:
            raise ValueError(f"length must be at most {6 * self.hints}, got {length}")


def _only_last(line: Tensor, answer: Tensor, *, other: int = IGNORED) -> Tensor:
    targets = torch.full_like(line, other)
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
    "passkey": Passkey(),
    "recall": Recall(),
    "addition": Addition(),
    "addition-hints": HintedAddition(),
}
