"""Questions of chapter 7: trained short, tested long."""

import functools
import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from grading.questions.master import Case, Comparison, Draw, Judged, Misconception, Test
from posenc.alibi import alibi_bias, alibi_slopes
from posenc.check import luck
from posenc.check.encodings import NOT_THERE, card_parts, learning_parts
from posenc.check.reading import parts as reading_parts
from posenc.check.ways import WAYS
from posenc.frequencies import inverse_frequencies
from posenc.lab.methods import METHODS, Method
from posenc.lab.training import Recipe, evaluate, train
from posenc.relative import relative_positions


@functools.cache
def _trained(method: object, length: int, steps: int) -> object:
    return train(method, "text", train_length=length, recipe=Recipe(steps=steps))


@functools.cache
def _tested(
    method: object, train_length: int, steps: int, lengths: tuple[int, ...], texts: int
) -> dict:
    model = _trained(method, train_length, steps)
    return evaluate(model, "text", lengths, sequences=texts)


def _score(result: dict | str, key: str = "tail_loss") -> float:
    """One number of a test, nan for a refusal."""
    if isinstance(result, str):
        return math.nan
    return result[key] if key != "by_block" else result[key][-1]


def _compared(
    methods: Sequence[object],
    train_length: int,
    test_length: int,
    steps: int,
    *,
    trained_at: int | None = None,
    tested_at: tuple[int, int] | None = None,
    key: str = "tail_loss",
    texts: int = 128,
) -> Tensor:
    lengths = tested_at or (train_length, test_length)
    rows = []
    for method in methods:
        results = _tested(method, trained_at or train_length, steps, lengths, texts)
        rows.append([_score(results[length], key) for length in lengths])
    return torch.tensor(rows, dtype=torch.float64)


def _twice_trained(methods: Sequence[object], short: int, long: int, steps: int) -> Tensor:
    parts = [_compared(methods, n, n, steps, tested_at=(n, n)) for n in (short, long)]
    return torch.stack((parts[0][:, 0], parts[1][:, 0]), dim=-1)


def _unless_refused(*arguments: object) -> Tensor:
    """The right result; there is none of someone who does not expect a refusal."""
    result = _compared(*arguments)
    if result.isnan().any():
        raise TypeError("a reason is no number")
    return result


def _with_refusal(number: float) -> Callable[..., Tensor]:
    return lambda *arguments: _compared(*arguments).nan_to_num(nan=number, posinf=math.inf)


def _refused_altogether(*arguments: object) -> Tensor:
    result = _compared(*arguments)
    return result.masked_fill(result.isnan().any(dim=-1, keepdim=True), math.nan)


def _without_refused(*arguments: object) -> Tensor:
    result = _compared(*arguments)
    return result[~result.isnan().any(dim=-1)]


def _two_other_methods(draw: Draw) -> list[Case]:
    length = draw.integer(20, 28)
    methods = [draw.choice(["sinusoidal", "rope", "alibi"]), METHODS["t5"]]
    longer, steps = length + draw.integer(12, 20), draw.integer(5, 7)  # no steps of a visible case
    return [Case("a drawn method, and a class", methods, length, longer, steps)]


def _one_that_refuses(draw: Draw) -> list[Case]:
    length = draw.integer(17, 22)
    methods = ["none", METHODS["learned"]]  # a class: who looks at the name is wrong
    return [Case("learned, after another", methods, length, length + 12, 2)]


compared = Comparison(
    "compared",
    _compared,
    [
        Case("two methods, 4 steps", ["alibi", "none"], 24, 40, 4),
        Case("a learned table, 3 steps", ["learned", "rope"], 20, 36, 3),
        Case("a class, 2 steps", [METHODS["shaw"]], 20, 32, 2),
    ],
    [
        Misconception(
            "refusal not expected",
            "One of the methods cannot run beyond its training length. What does `evaluate` give "
            "for such a length?",
            _unless_refused,
        ),
        Misconception(
            "refusal as 0",
            "A loss of 0 is a perfect model. What cannot run has no loss: nan.",
            _with_refusal(0.0),
        ),
        Misconception(
            "refusal as infinity",
            "What cannot run has no loss, not an infinite one: nan.",
            _with_refusal(math.inf),
        ),
        Misconception(
            "refused at both lengths",
            "The method that cannot run at the test length does run at the training length.",
            _refused_altogether,
        ),
        Misconception(
            "refused method left out",
            "There should be one pair a method, also for one that cannot run at the test length.",
            _without_refused,
        ),
        Misconception(
            "mean over all positions",
            "These are losses over all positions. Which targets are the same at every length?",
            lambda *given: _compared(*given, key="loss"),
        ),
        Misconception(
            "half as many test texts",
            "How many test texts? The chapter's own cell takes fewer than are asked for here.",
            lambda *given: _compared(*given, texts=64),
        ),
        Misconception(
            "last block",
            "These are losses over the last 8 positions. The chapter scores the last 16.",
            lambda *given: _compared(*given, key="by_block"),
        ),
        Misconception(
            "accuracy",
            "These are shares of right answers. On text the score is a loss.",
            lambda *given: _compared(*given, key="accuracy"),
        ),
        Misconception(
            "perplexity",
            "These are perplexities, exponentials of the loss.",
            lambda *given: _compared(*given).exp(),
        ),
        Misconception(
            "columns exchanged",
            "The right losses, but the pair begins with the training length.",
            lambda *given: _compared(*given).flip(-1),
        ),
        Misconception(
            "tested at the training length only",
            "Both losses of a pair are those at the training length.",
            lambda *given: _compared(*given)[:, :1].expand(-1, 2),
        ),
        Misconception(
            "tested at the test length only",
            "Both losses of a pair are those at the test length.",
            lambda *given: _compared(*given)[:, 1:].expand(-1, 2),
        ),
        Misconception(
            "trained at the test length",
            "At which length is it trained? To extrapolate is to be tested beyond that.",
            lambda m, short, long, steps: _compared(m, short, long, steps, trained_at=long),
        ),
        Misconception(
            "training length ignored",
            "It is trained at 64 characters, whatever length is given.",
            lambda *given: _compared(*given, trained_at=64),
        ),
        Misconception(
            "lengths exchanged",
            "The two lengths have changed places, in the training and in the pairs.",
            lambda m, short, long, steps: _compared(m, long, short, steps),
        ),
        Misconception(
            "trained at each length",
            "Each model meets only the length that it was trained at. One model, two tests.",
            _twice_trained,
        ),
        Misconception(
            "rows and columns exchanged",
            "One pair a method is asked for, not one list a length.",
            lambda *given: _compared(*given).T,
        ),
        Misconception(
            "difference",
            "This is how much is lost. Both losses are asked for.",
            lambda *given: _compared(*given).diff(dim=-1)[:, 0],
        ),
    ],
    tests=[
        Test(2, "two other methods", _two_other_methods),
        Test(2, "one that refuses", _one_that_refuses),
    ],
    tolerance=2e-4,
    seconds=30.0,
    hints={
        "slow": "Does it train for `steps` steps? A recipe has 600 unless you say otherwise.",
        "numbers": "This is another training or another test. Are all other settings left alone: "
        "the seed, the batches, the number of texts?",
    },
)


def _ntk_base(base: float, dim: int, factor: float) -> float:
    slowest = inverse_frequencies(dim, base=base)[-1].item()
    return (slowest / factor) ** (-dim / (dim - 2))


def _not_round(draw: Draw, dim: int, low: float, high: float) -> tuple[float, int, float]:
    """Arguments for which the new base is far enough from a number with one decimal."""
    while True:
        base, factor = draw.base(30, 90), round(draw.uniform(low, high), 2)
        if abs(10 * _ntk_base(base, dim, factor) % 1 - 0.5) < 0.2:
            return base, dim, factor


def _longer(draw: Draw) -> list[Case]:
    factor = round(draw.uniform(5, 12), 1)
    return [
        Case(f"{factor:g} times, 128 channels", 500_000.0, 128, factor),
        Case("6 channels", *_not_round(draw, 6, 1.2, 1.9)),
        Case("4 channels", draw.base(30, 90), 4, round(draw.uniform(2, 4), 2)),
    ]


def _shorter(draw: Draw) -> list[Case]:
    return [
        Case("shorter than before", *_not_round(draw, 32, 0.3, 0.8)),
        Case("as long as before", draw.base(), 20, 1.0),
    ]


ntk_base = Comparison(
    "ntk_base",
    _ntk_base,
    [
        Case("4 times as long, 64 channels", 10_000.0, 64, 4.0),
        Case("twice, 8 channels, base 500", 500.0, 8, 2.0),
        Case("3 times, 4 channels, base 100", 100.0, 4, 3.0),
        Case("no longer at all", 10_000.0, 16, 1.0),
        Case("1.5 times, 6 channels, base 20", 20.0, 6, 1.5),
        Case("half as long", 1000.0, 10, 0.5),
    ],
    [
        Misconception(
            "rounded",
            "Near, but rounded. A base need not be a whole number: look at the small ones.",
            lambda b, d, f: round(_ntk_base(b, d, f)),
        ),
        Misconception(
            "longer only",
            "Right for longer texts. Half as long is asked as well: a factor below 1 makes the "
            "base smaller.",
            lambda b, d, f: _ntk_base(b, d, max(f, 1.0)),
        ),
        Misconception(
            "base times factor",
            "This slows the slowest pair by too little. What is its exponent, exactly?",
            lambda b, d, f: b * f,
        ),
        Misconception(
            "exponent upside down",
            "The condition is right, but solved the wrong way: the exponent is upside down.",
            lambda b, d, f: b * f ** ((d - 2) / d),
        ),
        Misconception(
            "last channel for last pair",
            "Is the last exponent that of a channel? Pairs are counted from 0 to dim/2 - 1.",
            lambda b, d, f: b * f ** (d / (d - 1)),
        ),
        Misconception(
            "pairs counted from 1",
            "Pair 0 turns by 1 radian whatever the base. Here it is the second pair that you slow.",
            lambda b, d, f: b * f ** (d / 2),
        ),
        Misconception(
            "power 2/dim",
            "This slows the slowest pair far too little. Which power of the base is its frequency?",
            lambda b, d, f: b * f ** (2 / d),
        ),
        Misconception(
            "base divided",
            "With a smaller base the slow pairs turn faster.",
            lambda b, d, f: b / f ** (d / (d - 2)),
        ),
        Misconception(
            "base raised as well",
            "Without any factor the base should stay as it is. Is it raised to a power, too?",
            lambda b, d, f: (b * f) ** (d / (d - 2)),
        ),
        Misconception(
            "base to the factor",
            "The base should grow by a multiple, not to a power of itself.",
            lambda b, d, f: b**f,
        ),
        *(
            Misconception(
                name,
                "Write the slowest pair's frequency with both bases, divide, and set it equal to "
                "1/factor.",
                lambda b, d, f, power=power: b * f ** power(d),
            )
            for name, power in (
                ("exponent doubled", lambda d: 2 * d / (d - 2)),
                ("last pair but one", lambda d: d / (d - 4)),
                ("number of the last pair", lambda d: d / 2 - 1),
                ("exponent halved", lambda d: d / (2 * d - 4)),
            )
        ),
        Misconception(
            "the frequency",
            "This is the new frequency of the slowest pair. Which base has it?",
            lambda b, d, f: inverse_frequencies(d, base=b)[-1] / f,
        ),
        Misconception(
            "the old base",
            "Nothing has changed: with the old base no pair is slowed.",
            lambda b, d, f: b,
        ),
        Misconception(
            "for base 10000 only",
            "Right for one base only. Is there a 10000 in your code?",
            lambda b, d, f: _ntk_base(10_000.0, d, f),
        ),
    ],
    tests=[Test(2, "longer", _longer), Test(1, "shorter", _shorter)],
    refuses=NOT_THERE,
)


class _Root(Method):
    """The right answer."""

    def bias(self, relative):
        """Minus the root of slope times distance."""
        return _root(self.config.num_heads, relative)


def _root(num_heads: int, relative: Tensor) -> Tensor:
    return -(-_alibi(num_heads, relative)).sqrt()


def _alibi(num_heads: int, relative: Tensor) -> Tensor:
    return alibi_bias(alibi_slopes(num_heads), relative, dtype=torch.float64)


def _slopes(num_heads: int) -> Tensor:
    return alibi_slopes(num_heads)[:, None, None].double()


def _square(num_heads: int, relative: Tensor) -> Tensor:
    return -_alibi(num_heads, relative).square()


def _from_shape(relative: Tensor) -> Tensor:
    """Relative positions of someone who looks at the shape alone."""
    return relative_positions(*(torch.arange(size) for size in relative.shape))


ROOT_WRONG = (
    Misconception(
        "root of signed numbers",
        "`relative` has both signs, a root has not.",
        lambda h, r: -(_slopes(h) * r).sqrt(),
    ),
    Misconception(
        "root of signed numbers, turned",
        "`relative` has both signs, a root has not.",
        lambda h, r: -(_slopes(h) * -r).sqrt(),
    ),
    Misconception(
        "root of negative numbers",
        "A root of a negative number is NaN: where does the minus sign stand?",
        lambda h, r: (-(_slopes(h) * r.abs())).sqrt(),
    ),
    Misconception("sign", "Here far keys gain. A penalty is negative.", lambda h, r: -_root(h, r)),
    Misconception("ALiBi", "This is ALiBi. Where is the root?", _alibi),
    Misconception(
        "slope outside the root",
        "The root is taken of the distance alone. The slope belongs under it.",
        lambda h, r: _alibi(h, r.sign()) * r.abs().double().sqrt(),
    ),
    Misconception(
        "distance outside the root",
        "The root is taken of the slope alone. The distance belongs under it.",
        lambda h, r: _root(h, r.sign()) * r.abs(),
    ),
    Misconception(
        "logarithm",
        "This is a logarithm, as KERPLE has it. Here the penalty is a root.",
        lambda h, r: -torch.log1p(-_alibi(h, r)),
    ),
    Misconception(
        "no slopes",
        "All heads have slope 1. Each should have its own.",
        lambda h, r: -r.abs().double().sqrt().expand(h, -1, -1),
    ),
    Misconception(
        "one slope for all",
        "All heads have the slope of the first.",
        lambda h, r: _root(h, r)[:1].expand(h, -1, -1),
    ),
    Misconception(
        "slopes reversed",
        "The slopes are in the wrong order: the first head of 4 is the steepest.",
        lambda h, r: _root(h, r).flip(0),
    ),
    Misconception(
        "one side only",
        "In an encoder some keys come after the query. They are at a distance, too.",
        lambda h, r: _root(h, r.clamp(max=0)),
    ),
    Misconception(
        "the other side only",
        "Keys before the query cost nothing here. `relative` is key minus query.",
        lambda h, r: _root(h, r.clamp(min=0)),
    ),
    Misconception(
        "masked",
        "Later keys are masked by the model where they must be. An encoder needs them.",
        lambda h, r: _root(h, r).masked_fill(r > 0, -math.inf),
    ),
    Misconception(
        "square", "This is a square. Far keys should pay less than in ALiBi, not more.", _square
    ),
    Misconception(
        "positions from the shape",
        "`relative` says how far each key lies from each query. Its rows and columns may start "
        "anywhere.",
        lambda h, r: _root(h, _from_shape(r)),
    ),
)


def _with_root(way: str) -> Callable[..., Tensor]:
    return lambda *arguments: WAYS[way](_Root, arguments, 60.0).tensor()


def _in_models(num_heads: int) -> list[Case]:
    """In a transformer it must do what the right bias does, and no more."""
    tokens = torch.arange(18).view(3, 6) * 7 % 10
    changed = "Something else is changed as well. Override one hook, and no other."
    learned = "Is something learned? Nothing should be: at 0 a root has no slope to learn from."
    models = {"decoder": True, "encoder": False}
    return [
        *(
            Case(
                f"nothing else changes in {'an' if name[0] == 'e' else 'a'} {name}",
                num_heads,
                causal,
                tokens,
                way="logits",
                alone=changed,
            )
            for name, causal in models.items()
        ),
        Case("it trains", "text", 16, 2, way="loss", alone=learned),
    ]


def _other_distances(draw: Draw) -> list[Case]:
    first, keys = draw.integer(4, 7), torch.arange(9)
    ahead = torch.arange(-draw.integer(2, 5), draw.integer(30, 60))[None]
    return [
        Case(f"8 heads, queries from {first}", 8, keys - keys[first:, None], way="bias"),
        Case("3 heads, keys after the query", 3, ahead, way="bias"),
        *_in_models(8),
    ]


def _one_head(draw: Draw) -> list[Case]:
    far = draw.integer(80, 300)
    relative = torch.tensor([[0, far], [-far, 0]])
    return [Case("1 head", 1, relative, way="bias"), *_in_models(1)]


Root = Comparison(
    "Root",
    {"bias": _root, "logits": _with_root("logits"), "loss": _with_root("loss")},
    [
        Case("4 heads, 6 tokens", 4, _from_shape(torch.zeros(6, 6)), way="bias"),
        Case("2 heads, the last of 7 tokens", 2, torch.arange(-6, 1)[None], way="bias"),
        *_in_models(4),
    ],
    ROOT_WRONG,
    tests=[Test(2, "other distances", _other_distances), Test(1, "one head", _one_head)],
    seconds=60.0,
)


def _card_elsewhere(draw: Draw) -> dict[str, Callable[[object], None]]:
    return card_parts((draw.choice([40, 48, 56]), draw.choice([90, 96, 100])))


def _another_training(draw: Draw) -> dict[str, Callable[[object], None]]:
    return learning_parts(dim=48, seed=draw.choice([1, 2, 3]))


my_encoding = Judged(
    "my_encoding",
    [
        Test(3, "the card with other widths", _card_elsewhere),
        Test(4, "another training", _another_training),
    ],
)


def _other_readers(draw: Draw) -> dict[str, Callable[[object], None]]:
    lengths = [*sorted(draw.sample(range(20, 300), 4)), draw.integer(320, 600)]
    readers = {round(draw.uniform(low, high), 1): lengths for low, high in ((9, 19), (60, 280))}
    return reading_parts(readers, 1 / draw.integer(5, 30))


def _two_lengths(draw: Draw) -> dict[str, Callable[[object], None]]:
    lengths = [draw.integer(30, 60), draw.integer(100, 900)]
    return reading_parts({round(draw.uniform(31, 95), 1): lengths}, 1 / draw.integer(2, 4))


reach = Judged(
    "reach",
    [Test(2, "other readers", _other_readers), Test(2, "two lengths, lucky guesses", _two_lengths)],
)


def _other_seeds(*counts: tuple[int, int]) -> Callable[[Draw], dict]:
    return lambda draw: luck.parts(
        draw.integer(1, 2**62), *(draw.integer(low, high) for low, high in counts)
    )


better = Judged(
    "better",
    [Test(2, "a few seeds", _other_seeds((5, 7))), Test(2, "more seeds", _other_seeds((12, 16)))],
)
