"""Questions of chapter 7: trained short, tested long."""

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from posenc.alibi import alibi_bias, alibi_slopes
from posenc.card import report_card
from posenc.check.calls import UNANSWERED, Wrong, call, kind
from posenc.check.question import Case, Comparison, Misconception, Probe, Verdict
from posenc.frequencies import inverse_frequencies
from posenc.lab.config import Config
from posenc.lab.methods import METHODS, Method
from posenc.lab.model import Transformer
from posenc.lab.tasks import TASKS
from posenc.lab.training import Recipe, evaluate, train
from posenc.relative import relative_positions
from posenc.sinusoidal import sinusoidal_encoding, tensor2tensor_encoding


@functools.cache
def _tested(
    method: object, train_length: int, steps: int, lengths: tuple[int, ...], texts: int
) -> dict:
    model = train(method, "text", train_length=train_length, recipe=Recipe(steps=steps))
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


class _Training(Comparison):
    """A comparison of answers that train: other numbers are other trainings, and nan is right."""

    def __call__(self, answer: object, *, cases: Sequence[Case] | None = None) -> Verdict:
        """Try the answer."""
        verdict = super().__call__(answer, cases=cases)
        faults = " ".join(part.fault for part in verdict.parts)
        if verdict.passed or verdict.misconception:
            return verdict
        if "did not finish" in faults:
            hint = "Does it train for `steps` steps? A recipe has 600 unless you say otherwise."
        elif "it gives" in faults:
            hint = (
                "This is another training or another test. Are all other settings left alone: "
                "the seed, the batches, the number of texts?"
            )
        else:
            hint = ""
        return replace(verdict, hint=hint)


compared = _Training(
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
    tolerance=2e-4,
    seconds=15.0,
)


def _ntk_base(base: float, dim: int, factor: float) -> float:
    slowest = inverse_frequencies(dim, base=base)[-1].item()
    return (slowest / factor) ** (-dim / (dim - 2))


ntk_base = Comparison(
    "ntk_base",
    _ntk_base,
    [
        Case("4 times as long, 64 channels", 10_000.0, 64, 4.0),
        Case("twice, 8 channels, base 500", 500.0, 8, 2.0),
        Case("3 times, 4 channels, base 100", 100.0, 4, 3.0),
        Case("no longer at all", 10_000.0, 16, 1.0),
    ],
    [
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


def _square(num_heads: int, relative: Tensor) -> Tensor:
    return -_alibi(num_heads, relative).square()


def _from_shape(relative: Tensor) -> Tensor:
    """Relative positions of someone who looks at the shape alone."""
    return relative_positions(*(torch.arange(size) for size in relative.shape))


ROOT_WRONG = (
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


def _config(num_heads: int, *, causal: bool) -> Config:
    return Config(10, causal, 16, dim=8 * num_heads, num_heads=num_heads, num_layers=2)


def _made(answer: object, config: Config) -> object:
    """The method for a model; it may derive from another copy of `posenc`'s class."""
    if not isinstance(answer, type):
        raise Wrong(f"it must be a class, got {kind(answer)}")
    missing = [hook for hook in ("embed", "turn", "bias", "attend") if not hasattr(answer, hook)]
    if missing:
        raise Wrong(f"it has no {missing[0]}", "Derive the class from `Method`.")
    return call(answer, (config,))


def _require_bias(answer: object, num_heads: int, relative: Tensor) -> None:
    method = _made(answer, _config(num_heads, causal=True))
    try:
        bias = call(method.bias, (relative,))
    except Wrong as error:
        if error.hint or "size of tensor" not in str(error):
            raise
        raise Wrong(str(error), "One slope a head: heads come first, [h, 1, 1].") from None
    if not isinstance(bias, Tensor):
        raise Wrong(f"its bias must be a tensor, got {kind(bias)}")
    right = _root(num_heads, relative)
    if bias.shape != right.shape:
        hint = "One matrix a head is needed. How does the chapter's KERPLE get its first axis?"
        if bias.ndim == 3 and bias.shape[1:] == right.shape[1:]:
            hint = "Not every model has that many heads. The configuration knows how many."
        message = f"its bias has the shape {list(bias.shape)}, not {list(right.shape)}"
        raise Wrong(message, hint)
    if not bias.is_floating_point():
        raise Wrong(f"its bias is {bias.dtype}", "Scores are floating-point numbers.")
    if bias.isnan().any():
        hint = "`relative` has both signs, a root has not."
        if relative.max() > 0 and bias[:, relative != 0].isnan().all():
            hint = "A root of a negative number is NaN: where does the minus sign stand?"
        raise Wrong("there is a NaN in its bias", hint)
    values = bias.detach().double()
    if _close(values, right):
        return
    for known in ROOT_WRONG:
        if _close(values, known.wrong(num_heads, relative)):
            raise Wrong("its bias is not right", known.hint)
    place = (values - right).abs().argmax()
    got, expected = values.flatten()[place], right.flatten()[place]
    raise Wrong(f"its bias has {got:.5g} where {expected:.5g} is right")


def _require_first(required: Callable[..., None], *arguments: object) -> None:
    """A part that says nothing new while this is not met."""
    try:
        required(*arguments)
    except Wrong as error:
        unanswered = str(error) == UNANSWERED
        raise Wrong(str(error) if unanswered else "tried when the other parts are right") from None


def _close(one: Tensor, other: Tensor) -> bool:
    return torch.allclose(one, other.double(), rtol=1e-4, atol=1e-4)


def _require_nothing_else(answer: object, num_heads: int, *, causal: bool) -> None:
    """In a transformer it must do what the right bias does, and no more."""
    positions = torch.arange(6)
    _require_first(_require_bias, answer, num_heads, relative_positions(positions, positions))
    config = _config(num_heads, causal=causal)
    tokens = torch.arange(18).view(3, 6) * 7 % 10
    models = [Transformer(config, method, seed=0) for method in (answer, _Root)]
    with torch.no_grad():
        one, other = (call(functools.partial(model, tokens), ()) for model in models)
    if not torch.allclose(one, other, atol=1e-4):
        raise Wrong(
            "its bias is right, but the model's results are not",
            "Something else is changed as well. Override one hook, and no other.",
        )


def _require_training(answer: object) -> None:
    _require_first(_require_bias, answer, 4, torch.arange(-5, 1)[None])
    recipe = Recipe(steps=2, batch=4)
    model = call(functools.partial(train, answer, "text", train_length=16, recipe=recipe), ())
    if not math.isfinite(_score(evaluate(model, "text", [32], sequences=4)[32])):
        raise Wrong(
            "after two steps of training its loss is no number",
            "Is something learned? Nothing should be: at 0 a root has no slope to learn from.",
        )


def root_parts(settings: Mapping[str, tuple[int, Tensor]]) -> dict[str, Callable[[object], None]]:
    """What `Root` must do.

    Args:
        settings: label -> number of heads, and relative positions to try the bias on.
    """
    heads = next(iter(settings.values()))[0]
    parts = {
        label: lambda answer, setting=setting: _require_bias(answer, *setting)
        for label, setting in settings.items()
    }
    return parts | {
        "nothing else changes in a decoder": functools.partial(
            _require_nothing_else, num_heads=heads, causal=True
        ),
        "nothing else changes in an encoder": functools.partial(
            _require_nothing_else, num_heads=heads, causal=False
        ),
        "it trains": _require_training,
    }


Root = Probe(
    "Root",
    root_parts(
        {
            "4 heads, 6 tokens": (4, _from_shape(torch.zeros(6, 6))),
            "2 heads, the last of 7 tokens": (2, torch.arange(-6, 1)[None]),
        }
    ),
)

ASKED = {
    "unique": "Two positions have nearly the same vector. Which channel tells them apart?",
    "bounded": "Some entry grows beyond the range. What becomes of it at 4 times the length?",
    "deterministic": "The vector of a position depends on how many positions there are.",
    "generalizable": "Every whole number from 0 on needs a finite vector, however large.",
    "smooth": "From one position to the next too much changes. Which channels change fastest?",
}
NEARLY = (
    "Among more rows the largest entry is a little larger. Entries can be bounded by force: tanh, "
    "or rows of one length."
)
ENOUGH = 0.75
IN_THE_SPAN = 0.05  # the share that the sinusoids leave over; other encodings are above 0.2
SYMBOLS = 12  # the length of a line of the task


def _vectors(answer: object, positions: Tensor, dim: int) -> Tensor:
    returned = call(answer, (positions, dim))
    try:
        values = torch.as_tensor(returned).detach().cpu()
    except (TypeError, ValueError, RuntimeError):
        raise Wrong(f"it must return a tensor [n, dim], got {kind(returned)}") from None
    if values.is_complex():
        raise Wrong("it must return real numbers")
    if values.shape != (len(positions), dim):
        raise Wrong(f"its result has the shape {list(values.shape)}, not {[len(positions), dim]}")
    return values.double()


def _require_rows(answer: object, dim: int, length: int) -> None:
    """A row depends on its position alone."""
    table = _vectors(answer, torch.arange(length), dim)
    if not table.isfinite().all():
        raise Wrong("there are infinite numbers or NaNs in its result")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(length)
        again = _vectors(answer, torch.arange(length), dim)
    if not _close(again, table):
        raise Wrong("the same call, made again, gives other numbers", "Chance needs a fixed seed.")
    some = torch.tensor([5, 3, length - 1, 3])
    if not _close(_vectors(answer, some, dim), table[some]):
        raise Wrong(
            f"the rows of positions {some.tolist()} are not those that these have among others",
            "A row should depend on its own position alone: on no other, and not on their number.",
        )


def _require_grade(name: str, answer: object, dim: int, length: int) -> None:
    def encoding(positions: Tensor) -> Tensor:
        try:
            return _vectors(answer, positions, dim)
        except Wrong as error:
            if str(error) == UNANSWERED or positions.max() < length:
                raise
            raise ValueError(str(error)) from None  # it refuses

    try:
        grade = report_card(encoding, length=length)[name]
    except ValueError as error:
        raise Wrong(str(error)) from None
    if not grade.passed:
        nearly = name == "bounded" and grade.value < 1.3
        fault = f"{grade.value:.3f} with {dim} channels, but the rule is: {grade.rule}"
        raise Wrong(fault, NEARLY if nearly else ASKED[name])


def _require_another(answer: object, dim: int, length: int) -> None:
    """Not what a matrix and a constant make of the package's tables, nor nearly that."""
    positions = 7 * torch.arange(16 * dim)  # so far that smooth tables do not look alike
    try:
        table = _vectors(answer, positions, dim)
    except Wrong as error:
        if str(error) == UNANSWERED:
            raise
        positions = torch.arange(length)
        table = _vectors(answer, positions, dim)
    table = table - table.mean(dim=0)
    known = (sinusoidal_encoding, tensor2tensor_encoding)
    given = torch.cat([make(positions, dim, dtype=torch.float64) for make in known], dim=1)
    directions, sizes, _ = torch.linalg.svd(given - given.mean(dim=0), full_matrices=False)
    directions = directions[:, sizes > 1e-9 * sizes[0]]
    rest = (table - directions @ (directions.T @ table)).norm() / table.norm()
    if rest < IN_THE_SPAN:
        hint = (
            "Another scale or order of the columns makes no other encoding, nor does a constant, "
            "a shift or a sum."
            if rest < 1e-3
            else "These are the sinusoids, but for a little rounding or bending."
        )
        raise Wrong("its columns are those of the chapter on sinusoids", hint)


def _require_learning(answer: object, dim: int, seed: int) -> None:
    """Who bit whom: without positions one half of the answers is right."""
    for name in ASKED:
        _require_first(_require_grade, name, answer, dim, 64)
    right = who_accuracy(answer, dim, seed)
    if right < ENOUGH:
        raise Wrong(
            f"after training {right:.2f} of the answers are right, not {ENOUGH}; "
            f"without positions it is {TASKS['who'].chance}",
            "The model cannot tell a place from the next one. Neighbours may be too much alike.",
        )


def who_accuracy(answer: object, dim: int = 32, seed: int = 0) -> float:
    """The share of right answers to *who* after a training with these vectors."""
    table = _vectors(answer, torch.arange(64), dim)
    table = (table / table.square().mean().sqrt()).float()
    return _who_accuracy(tuple(map(tuple, table.tolist())), seed)


@functools.lru_cache(maxsize=8)
def _who_accuracy(rows: tuple[tuple[float, ...], ...], seed: int) -> float:
    table = torch.tensor(rows)

    class Added(Method):
        def embed(self, x, positions):
            return x + table[positions]

    size = {"dim": table.shape[1], "num_heads": 2, "num_layers": 2}
    recipe = Recipe(steps=300, rate=5e-3)
    model = train(Added, "who", train_length=SYMBOLS, seed=seed, recipe=recipe, size=size)
    return evaluate(model, "who", [SYMBOLS], sequences=512)[SYMBOLS]["accuracy"]


def card_parts(*settings: tuple[int, int]) -> dict[str, Callable[[object], None]]:
    """What `my_encoding` must do untrained.

    Args:
        settings: numbers of channels and of positions; all are tried in each part.
    """
    required = {"a row depends on its position": _require_rows}
    for name in ASKED:
        required[name] = functools.partial(_require_grade, name)
    required["another encoding"] = _require_another

    def part(require: Callable[[object, int, int], None]) -> Callable[[object], None]:
        def in_all(answer: object) -> None:
            for dim, length in settings:
                require(answer, dim, length)

        return in_all

    return {label: part(require) for label, require in required.items()}


def learning_parts(dim: int, seed: int) -> dict[str, Callable[[object], None]]:
    """What a model must learn with `my_encoding`."""
    return {"who bit whom": lambda answer: _require_learning(answer, dim, seed)}


my_encoding = Probe("my_encoding", card_parts((32, 64), (48, 96)) | learning_parts(32, 0))
