"""The ways in which a question asks an answer: call a function, or use a class in a model.

A way turns the answer and the arguments of one case into numbers. The notebook's checks use it,
and so does grading, on the side where a student's code runs: nothing here knows what is right.
"""

import contextlib
import functools
import importlib
import inspect
import itertools
import sys
from collections.abc import Callable, Iterator, Sequence
from types import FunctionType

import torch
from torch import Tensor

from posenc.check.calls import Settings, Wrong, call, kind, limited, require_answer
from posenc.check.plain import Values


def ask(
    answer: object,
    arguments: tuple,
    *,
    way: str = "call",
    seconds: float = 10.0,
    refuses: Sequence[str] = (),
    seed: int | None = None,
) -> Values:
    """The numbers that an answer gives.

    Args:
        answer: anything; it should be a function or a class.
        arguments: those of one case.
        way: a key of `WAYS`.
        seconds: time limit.
        refuses: functions of `posenc` that the answer may not call; "posenc" for all of them.
        seed: of torch's random numbers; by default they go on from where they are.

    Raises:
        Wrong: if there are none.
    """
    require_answer(answer)
    plain = contextlib.nullcontext() if way == "call" else Settings().used()
    with _without(refuses), _seeded(seed), plain:  # models are made as the laboratory makes them
        return WAYS[way](answer, arguments, seconds)


def _called(answer: object, arguments: tuple, seconds: float) -> Values:
    returned = call(answer, arguments, seconds=seconds)
    with limited(seconds):  # reading runs code of its own class
        return Values.read(returned)


def _made(answer: object, num_heads: int, *, causal: bool) -> object:
    """The method for a model; it may derive from another copy of `posenc`'s class."""
    from posenc.lab.config import Config

    if not isinstance(answer, type):
        raise Wrong(f"it must be a class, got {kind(answer)}")
    missing = [hook for hook in ("embed", "turn", "bias", "attend") if not hasattr(answer, hook)]
    if missing:
        raise Wrong(f"it has no {missing[0]}", "Derive the class from `Method`.")
    return call(answer, (_config(Config, num_heads, causal=causal),))


def _config(made: Callable, num_heads: int, *, causal: bool) -> object:
    return made(10, causal, 16, dim=8 * num_heads, num_heads=num_heads, num_layers=2)


def _bias(answer: object, arguments: tuple, seconds: float) -> Values:
    """The bias of a method: arguments are a number of heads and relative positions."""
    num_heads, relative = arguments
    method = _made(answer, num_heads, causal=True)
    try:
        bias = call(method.bias, (relative,), seconds=seconds)
    except Wrong as error:
        if error.hint or "size of tensor" not in str(error):
            raise
        raise Wrong(str(error), "One slope a head: heads come first, [h, 1, 1].") from None
    if not isinstance(bias, Tensor):
        raise Wrong(f"its bias must be a tensor, got {kind(bias)}")
    shape = [num_heads, *relative.shape]
    if list(bias.shape) != shape:
        hint = "One matrix a head is needed. How does the chapter's KERPLE get its first axis?"
        if list(bias.shape[1:]) == shape[1:] and bias.ndim == len(shape):
            hint = "Not every model has that many heads. The configuration knows how many."
        raise Wrong(f"its bias has the shape {list(bias.shape)}, not {shape}", hint)
    if not bias.is_floating_point():
        raise Wrong(f"its bias is {bias.dtype}", "Scores are floating-point numbers.")
    return Values.read(bias)


def _logits(answer: object, arguments: tuple, seconds: float) -> Values:
    """What an untrained transformer with a method says of three lines of tokens."""
    from posenc.lab.config import Config
    from posenc.lab.model import Transformer

    num_heads, causal, tokens = arguments
    _made(answer, num_heads, causal=causal)
    with torch.no_grad():
        model = Transformer(_config(Config, num_heads, causal=causal), answer, seed=0)
        return Values.read(call(functools.partial(model, tokens), (), seconds=seconds))


def _loss(answer: object, arguments: tuple, seconds: float) -> Values:
    """The loss after a short training with a method, on texts twice as long."""
    from posenc.lab import Recipe, evaluate, train

    task, length, steps = arguments
    _made(answer, 4, causal=True)
    recipe = Recipe(steps=steps, batch=4)
    run = functools.partial(train, answer, task, train_length=length, recipe=recipe)
    result = evaluate(call(run, (), seconds=seconds), task, [2 * length], sequences=4)[2 * length]
    if isinstance(result, str):
        raise Wrong(f"it cannot be tested: {result}")
    return Values.read(result["loss"])


WAYS: dict[str, Callable[[object, tuple, float], Values]] = {
    "call": _called,
    "bias": _bias,
    "logits": _logits,
    "loss": _loss,
}


def _refusing(*_: object, **__: object) -> None:
    from posenc.check.calls import Refused

    raise Refused


def _named(name: str) -> Iterator[FunctionType]:
    """A function by its full name; for "posenc" all of its own modules, methods included."""
    module, _, attribute = name.rpartition(".")
    if module:
        things = [vars(importlib.import_module(module))[attribute]]
    else:
        below = [found for key, found in sys.modules.items() if key.rpartition(".")[0] == name]
        modules = [found for found in below if not hasattr(found, "__path__")]  # no room like check
        things = [thing for found in modules for thing in vars(found).values()]
        classes = [thing for thing in things if isinstance(thing, type)]
        things += [method for one in classes for method in vars(one).values()]
        own = {found.__name__ for found in modules}
        things = [thing for thing in things if getattr(thing, "__module__", "") in own]
    functions = filter(inspect.isfunction, map(inspect.unwrap, things))
    yield from (function for function in functions if not function.__closure__)


@contextlib.contextmanager
def _without(names: Sequence[str]) -> Iterator[None]:
    """Functions of `posenc` refuse for a while, under whatever name they were imported."""
    kept = []
    try:
        for function in itertools.chain.from_iterable(map(_named, names)):
            kept.append((function, function.__code__))
            function.__code__ = inspect.unwrap(_refusing).__code__
        yield
    finally:
        for function, code in reversed(kept):
            function.__code__ = code


@contextlib.contextmanager
def _seeded(seed: int | None) -> Iterator[None]:
    if seed is None:
        yield
        return
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield
