"""The ways in which a question asks an answer: call a function, or use a class in a model.

A way turns the answer and the arguments of one case into numbers. The notebook's checks use it,
and so does grading, on the side where a student's code runs: nothing here knows what is right.
"""

import contextlib
import functools
import importlib
import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from types import FunctionType, ModuleType

import torch
from torch import Tensor

from posenc.check.calls import Settings, Wrong, call, kind, limited, require_answer
from posenc.check.plain import Values

ALL = "posenc"  # refused: the whole package
RULES = "__post_init__"  # of what is made at import, too
_LEFT = ("", "__init__", "_extras", "check", "show")  # of the package: what computes no encoding
_TWICE = ("verify", "show.live")  # rooms that have every formula once more
_TOOLS = ("families", "figure", "marks")  # of these rooms: they have no formula of an encoding


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
        refuses: functions and classes of `posenc` that the answer may not use, see `is_gone`.
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


def is_gone(module: str, refused: Sequence[str]) -> bool:
    """Whether an answer may call nothing in a module, where functions, or `ALL`, are refused.

    With the whole package only checks and drawings are left. `posenc.verify` and `posenc.show.live`
    are gone with any of them: the one has every function once more, and the figures of the other
    compute what they show, be it from angles that a student puts in the place of `posenc`'s.

    Example:
        >>> is_gone("posenc.alibi", ["posenc"]), is_gone("posenc.show.cards", ["posenc"])
        (True, False)
    """
    package, _, inside = module.partition(".")
    is_twice = f"{inside}.".startswith(tuple(f"{room}." for room in _TWICE))
    gone = bool(refused) and is_twice
    gone |= ALL in refused and inside.partition(".")[0] not in _LEFT
    return package == ALL and gone and module.rpartition(".")[2] not in _TOOLS


def _refused(names: Sequence[str]) -> tuple[FunctionType, ...]:
    """The functions of these full names, and all of the modules that are gone, with methods."""
    ours = _ours(tuple(sys.modules))
    return _found(tuple(names), ours, *map(sys.modules.get, ours))


@functools.lru_cache  # a question asks a thousand times, and modules are seldom loaded
def _ours(modules: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in modules if name.startswith(ALL))


@functools.lru_cache
def _found(
    refused: tuple[str, ...], names: tuple[str, ...], *modules: ModuleType
) -> tuple[FunctionType, ...]:
    parts = []
    for module, _, attribute in (name.rpartition(".") for name in refused if name != ALL):
        parts += _with_methods(vars(importlib.import_module(module))[attribute])
    for name, module in zip(names, modules, strict=True):
        for thing in list(vars(module).values()) if is_gone(name, refused) else ():
            if getattr(thing, "__module__", "") == name:
                parts += _with_methods(thing)
    return tuple(function for part in parts for function in _function(part))


def _with_methods(thing: object) -> list[object]:
    """A function; or a class, and all that is in it."""
    methods = vars(thing) if isinstance(thing, type) else {}
    return [thing, *(methods[key] for key in methods if key != RULES)]


def _function(thing: object) -> Iterator[FunctionType]:
    """The function that is written in a file for a thing, whatever decorators made of it."""
    for key in ("__func__", "fget", "func"):
        thing = getattr(thing, key, thing)
    function = inspect.unwrap(thing) if callable(thing) else thing
    is_written = inspect.isfunction(function) and function.__code__.co_filename != "<string>"
    if is_written and not function.__closure__:
        yield function


@contextlib.contextmanager
def _without(names: Sequence[str]) -> Iterator[None]:
    """Functions of `posenc` refuse for a while, under whatever name they were imported."""
    kept = []
    refusing = inspect.unwrap(_refusing).__code__
    try:
        for function in _refused(names):
            kept.append((function, function.__code__))
            function.__code__ = refusing
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
