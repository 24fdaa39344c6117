"""Small faults, planted in functions: the mistakes that no list of mistakes holds."""

import ast
import copy
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterator
from types import FunctionType

import torch

_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv)
_COMPARED = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
_LEFT_OUT = ("abs", "float", "int", "max", "min", "round", "sorted")


def planted(function: Callable) -> Iterator[tuple[str, Callable]]:
    """The function with one small fault after the other: where it is, and what it then does."""
    yield f"{function.__name__}, squeezed", lambda *a: torch.as_tensor(function(*a)).squeeze()
    if not isinstance(function, FunctionType) or function.__name__ == "<lambda>":
        return
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    module = vars(sys.modules[function.__module__])
    for number, node in enumerate(ast.walk(tree)):
        for said, changed in _changes(node):
            faulty = copy.deepcopy(tree)
            for field, value in changed.items():
                setattr(list(ast.walk(faulty))[number], field, value)
            names = {**module, "left_out": lambda first, *_, **__: first}
            exec(compile(ast.fix_missing_locations(faulty), "<faulty>", "exec"), names)
            yield f"{function.__name__}, line {node.lineno}: {said}", names[function.__name__]


def kept(function: Callable, number: int) -> Callable:
    """The function, with one argument as it was when all had these sizes for the first time."""
    known = {}

    def faulty(*arguments: object) -> object:
        first = known.setdefault(tuple(map(_size, arguments)), arguments[number])
        return function(*arguments[:number], first, *arguments[number + 1 :])

    return faulty


def _size(argument: object) -> object:
    """A shape, the length and the sum of a list, a whole number as it is."""
    if isinstance(argument, torch.Tensor):
        return argument.shape
    if isinstance(argument, list):
        return len(argument), sum(argument) if type(argument[0]) is int else 0
    return argument if type(argument) is int else type(argument)


def _changes(node: ast.AST) -> Iterator[tuple[str, dict[str, object]]]:
    """What else could stand in a place: what it is, and the fields of the node that change."""
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        others = dict.fromkeys((node.value + 1, node.value - 1, 0))
        yield from ((f"{n} for {node.value}", {"value": n}) for n in others if n != node.value)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, _ARITHMETIC):
        kinds = [kind for kind in _ARITHMETIC if not isinstance(node.op, kind)]
        yield from ((f"{k.__name__} for {type(node.op).__name__}", {"op": k()}) for k in kinds)
    elif isinstance(node, ast.Compare):
        kinds = [kind for kind in _COMPARED if not isinstance(node.ops[0], kind)]
        yield from ((k.__name__, {"ops": [k(), *node.ops[1:]]}) for k in kinds)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield "no minus", {"op": ast.UAdd()}
    elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in _LEFT_OUT and node.args:
        name = node.func.id
        yield f"no {name}", {"func": ast.Name("left_out", ast.Load())}
        if name in ("max", "min"):
            other = "min" if name == "max" else "max"
            yield f"{other} for {name}", {"func": ast.Name(other, ast.Load())}
