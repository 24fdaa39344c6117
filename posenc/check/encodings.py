"""The question of chapter 7 that has many right answers: an encoding of the reader's own.

What an encoding returns is measured: nothing here is an encoding.
"""

import functools
from collections.abc import Callable

import torch
from torch import Tensor

from posenc.card import report_card
from posenc.check.again import AskedByRows
from posenc.check.calls import UNANSWERED, Settings, Wrong
from posenc.check.plain import Values
from posenc.check.question import LATER, Probe, asking
from posenc.sinusoidal import sinusoidal_encoding, tensor2tensor_encoding

Numbers = Callable[..., Values]  # of arguments, and perhaps a seed

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
IN_THE_SPAN_NEAR = 0.1  # where positions are graded
BENT = 0.98  # the share of a column that a rising function of one sinusoid explains
MOST = 0.75  # of the columns
SYMBOLS = 12  # the length of a line of the task


def _vectors(numbers: Numbers, positions: Tensor, dim: int, seed: int | None = None) -> Tensor:
    values = numbers((positions, dim), seed=seed)
    if values.shape != (len(positions), dim):
        raise Wrong(f"its result has the shape {list(values.shape)}, not {[len(positions), dim]}")
    return values.tensor()


def _close(one: Tensor, other: Tensor) -> bool:
    return torch.allclose(one, other, rtol=1e-4, atol=1e-4)


def _require_rows(numbers: Numbers, dim: int, length: int) -> None:
    """A row depends on its position alone."""
    table = _vectors(numbers, torch.arange(length), dim)
    if not table.isfinite().all():
        raise Wrong("there are infinite numbers or NaNs in its result")
    if not _close(_vectors(numbers, torch.arange(length), dim, seed=length), table):
        raise Wrong("the same call, made again, gives other numbers", "Chance needs a fixed seed.")
    some = torch.tensor([5, 3, length - 1, 3])
    if not _close(_vectors(numbers, some, dim), table[some]):
        raise Wrong(
            f"the rows of positions {some.tolist()} are not those that these have among others",
            "A row should depend on its own position alone: on no other, and not on their number.",
        )


def _require_grade(name: str, numbers: Numbers, dim: int, length: int) -> None:
    def encoding(positions: Tensor) -> Tensor:
        try:
            return _vectors(numbers, positions, dim)
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


def _require_another(numbers: Numbers, dim: int, length: int) -> None:
    """Not one of the package's tables: in other words, mixed, bent or nearly."""
    far = 7 * torch.arange(16 * dim)  # so far that smooth tables do not look alike
    for positions in (torch.arange(4 * length), far):
        try:
            table = _vectors(numbers, positions, dim)
        except Wrong as error:
            if str(error) == UNANSWERED:
                raise
            positions = torch.arange(length)
            table = _vectors(numbers, positions, dim)
        _require_no_sinusoids(table, positions, dim, near=positions is not far)


def _require_no_sinusoids(table: Tensor, positions: Tensor, dim: int, *, near: bool) -> None:
    """Not the package's columns, nor nearly these.

    What is slow is nearly a slow sinusoid where positions are near. So only what the tables have
    much of counts there, and of the columns only those that rise and fall.
    """
    if not table.isfinite().all():
        raise Wrong("there are infinite numbers or NaNs in its result")
    table = table / table.abs().max().clamp(min=1e-300)  # so that no square is too large
    table = table - table.mean(dim=0)
    one = sinusoidal_encoding(positions, dim, dtype=torch.float64)
    other = tensor2tensor_encoding(positions, dim, dtype=torch.float64)
    other = other.unflatten(1, (2, -1)).mT.flatten(1)  # pair by pair
    given = torch.cat((one, other), dim=1)
    given = given - given.mean(dim=0)
    rest = _outside_the_span(table, given)
    nearly = rest
    if near:
        nearly = min(_outside_the_span(table, t - t.mean(dim=0), least=0.1) for t in (one, other))
    least = IN_THE_SPAN_NEAR if near else IN_THE_SPAN
    if not (rest >= 1e-5 and nearly >= least):  # nor does it pass if one is no number
        hint = (
            "Another scale or order of the columns makes no other encoding, nor does a constant, "
            "a shift or a sum."
            if rest < (1e-5 if near else 1e-3)
            else "These are the sinusoids, but for a little rounding or bending."
        )
        raise Wrong("its columns are those of the chapter on sinusoids", hint)
    columns = [column for column in table.T if not (near and _is_steady(column))]
    bent = sum(_is_bent(column, given) for column in columns)
    if bent > MOST * len(columns):
        raise Wrong(
            "most of its columns are those of the chapter on sinusoids, bent",
            "A function that only rises or falls, applied to a known encoding, makes no other one: "
            "what is large stays large. Try waves of other lengths, or no waves.",
        )


def _outside_the_span(table: Tensor, given: Tensor, least: float = 1e-9) -> float:
    """The share of a table that no sum of the given columns makes, without what they lack."""
    directions, sizes, _ = torch.linalg.svd(given, full_matrices=False)
    directions = directions[:, sizes > least * sizes[0]]
    size = table.norm().clamp(min=1e-300)
    return ((table - directions @ (directions.T @ table)).norm() / size).item()


def _is_bent(column: Tensor, given: Tensor) -> bool:
    """Whether a column is a rising function of one of the given waves, with any phase."""
    pairs = given.unflatten(1, (-1, 2)).transpose(0, 1)  # [waves, positions, sine and cosine]
    waves = torch.cat((pairs, torch.ones_like(pairs[..., :1])), dim=-1)
    weights = torch.linalg.lstsq(waves, column.expand(len(waves), -1)[..., None]).solution
    fitted = (waves @ weights)[..., 0]
    wave = fitted[(fitted - column).square().sum(-1).argmin()]
    return _explained(column[wave.argsort(stable=True)]) > BENT


def _is_steady(column: Tensor) -> bool:
    """Whether a column only rises, or only falls."""
    return max(_explained(column), _explained(-column)) > BENT


def _explained(values: Tensor) -> float:
    """The share of a sequence, without its mean, that one that never falls explains."""
    size = values.square().sum().clamp(min=1e-300)
    return (1 - (values - _rising(values)).square().sum() / size).item()


def _rising(values: Tensor) -> Tensor:
    """The nearest values that never fall: neighbours that do are replaced by their mean."""
    blocks: list[list[float]] = []
    for value in values.tolist():
        blocks.append([value, 1])
        while len(blocks) > 1 and blocks[-2][0] >= blocks[-1][0]:
            (mean, size), (last, other) = blocks[-2:]
            blocks[-2:] = [[(mean * size + last * other) / (size + other), size + other]]
    return torch.tensor([mean for mean, size in blocks for _ in range(size)], dtype=values.dtype)


def _require_learning(numbers: Numbers, dim: int, seed: int) -> None:
    """Who bit whom: without positions one half of the answers is right."""
    for required in _untrained().values():
        try:
            required(numbers, dim, 64)
        except Wrong as error:  # this part says nothing new while another is not met
            raise Wrong(UNANSWERED if str(error) == UNANSWERED else LATER) from None
    right = _accuracy(numbers, dim, seed)
    from posenc.lab.tasks import TASKS  # what trains is loaded where something is trained

    if right < ENOUGH:
        raise Wrong(
            f"after training {right:.2f} of the answers are right, not {ENOUGH}; "
            f"without positions it is {TASKS['who'].chance}",
            "The model cannot tell a place from the next one. Neighbours may be too much alike.",
        )


def who_accuracy(answer: object, dim: int = 32, seed: int = 0) -> float:
    """The share of right answers to *who* after a training with these vectors."""
    numbers = asking(answer)
    with Settings().used():
        return _accuracy(numbers, dim, seed)


def _accuracy(numbers: Numbers, dim: int, seed: int) -> float:
    table = _vectors(numbers, torch.arange(64), dim)
    table = (table / table.square().mean().sqrt()).float()
    return _trained(tuple(map(tuple, table.tolist())), seed)


@functools.lru_cache(maxsize=8)
def _trained(rows: tuple[tuple[float, ...], ...], seed: int) -> float:
    from posenc.lab.methods import Method
    from posenc.lab.training import Recipe, evaluate, train

    table = torch.tensor(rows)

    class Added(Method):
        def embed(self, x, positions):
            return x + table[positions]

    size = {"dim": table.shape[1], "num_heads": 2, "num_layers": 2}
    recipe = Recipe(steps=300, rate=5e-3)
    model = train(Added, "who", train_length=SYMBOLS, seed=seed, recipe=recipe, size=size)
    return evaluate(model, "who", [SYMBOLS], sequences=512)[SYMBOLS]["accuracy"]


def _untrained() -> dict[str, Callable[[Numbers, int, int], None]]:
    required = {"a row depends on its position": _require_rows}
    for name in ASKED:
        required[name] = functools.partial(_require_grade, name)
    return required | {"another encoding": _require_another}


def card_parts(*settings: tuple[int, int]) -> dict[str, Callable[[Numbers], None]]:
    """What `my_encoding` must do untrained.

    Args:
        settings: numbers of channels and of positions; all are tried in each part.
    """

    def part(require: Callable[[Numbers, int, int], None]) -> Callable[[Numbers], None]:
        def in_all(numbers: Numbers) -> None:
            for dim, length in settings:
                require(numbers, dim, length)

        return in_all

    return {label: part(require) for label, require in _untrained().items()}


def learning_parts(dim: int, seed: int) -> dict[str, Callable[[Numbers], None]]:
    """What a model must learn with `my_encoding`."""
    return {"who bit whom": lambda numbers: _require_learning(numbers, dim, seed)}


NOT_THERE = tuple(  # one list for three questions of the chapter: one sandbox has them all
    f"posenc.{name}"
    for name in (
        "sinusoidal.sinusoidal_encoding",
        "sinusoidal.tensor2tensor_encoding",
        "sinusoidal.shift_matrix",
        "rotary.rotate",
        "lab.paired._interval",
        "scaling.ntk_scaling",
        "scaling.dynamic_ntk_scaling",
    )
)
my_encoding = Probe(
    "my_encoding",
    card_parts((32, 64), (48, 96)) | learning_parts(32, 0),
    refuses=NOT_THERE,
    asked=AskedByRows,
)
