"""Answers that leave the work to `posenc`, of several lines: each is right, and refused."""

import importlib
import inspect
import pkgutil
import sys
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from unittest import mock

import numpy as np
import torch

import posenc
from posenc import angles, check, inverse_frequencies
from posenc.check import frequencies
from posenc.check.calls import Refused
from posenc.check.ways import _function, _refused, _refusing, is_gone
from posenc.lab import paired

ASKED = {  # where many answers are right
    "my_encoding": (torch.arange(3), 8),
    "better": ([1.0, 2.0, 4.0], [1.0, 2.0, 3.0]),
}


def behind(scores):
    queries, keys = scores.shape[1:]
    return posenc.relative_positions(torch.arange(keys - queries, keys), torch.arange(keys))


def larger_base(base, dim, factor):
    if factor < 1:
        return base**2 / larger_base(base, dim, 1 / factor)
    slower, _ = posenc.ntk_scaling(inverse_frequencies(dim, base=base), factor=factor)
    return slower[1] ** (-dim / 2)


def by_shaw(table, q):
    theirs = posenc.ShawRelative(q.shape[-1], max_distance=len(table) // 2, values=False)
    theirs.key_weight = torch.nn.Parameter(table)
    return theirs


def shaw_scores(q, k, table, query_positions, key_positions):
    """By ShawRelative, whose attention gives the scores instead of the weights."""
    scores = mock.Mock(wraps=posenc.attention)
    with mock.patch("posenc.shaw.attention", scores):
        by_shaw(table, q)(q, k, k, query_positions, key_positions)
    return q @ k.mT / q.shape[-1] ** 0.5 + scores.call_args.kwargs["bias"]


def shaw_logarithms(q, k, table, query_positions, key_positions):
    """By ShawRelative, whose weights tell the scores, up to that of a key of zeros far behind."""
    more = max(1, int(key_positions[0] - query_positions.min()) + len(table))
    positions = torch.arange(int(key_positions[0]) - more, int(key_positions[-1]) + 1)
    k = torch.cat((torch.zeros(more, k.shape[-1]), k))
    weights = by_shaw(table, q)(q, k, k, query_positions, positions)[1].log()
    known = q @ table[0] / q.shape[-1] ** 0.5
    return (weights - weights[:, :1])[:, more:] + known[:, None]


def by_a_figure(offset, dim, base):
    """By what a live figure shows, with angles of one's own in the place of the package's."""
    figure = importlib.import_module("posenc.show.live.dot_product")
    speeds = base ** (-torch.arange(0, dim, 2, dtype=torch.float64) / dim)
    with (
        mock.patch.object(figure, "inverse_frequencies", return_value=speeds),
        mock.patch.object(figure, "angles", lambda k, w: k[:, None] * w),
    ):
        state = {"k": offset, "pairs": dim // 2, "log_base": 0.0}
        return figure.dot_product().values(state)["height"] * dim / 2


BORROWED = {  # the answer by what `posenc` has
    "sinusoidal": lambda p, dim, base: posenc.sinusoidal_encoding(p, dim, base=base),
    "dot_product": lambda k, dim, base: (
        frequencies.scores(inverse_frequencies(dim, base=base), abs(k) + 1)[abs(k)] * dim / 2
    ),
    "moved": lambda rows, k, base: (
        rows.double() @ posenc.shift_matrix(k, inverse_frequencies(rows.shape[-1], base=base))
    ),
    "mended_sinusoidal": lambda p, dim: posenc.sinusoidal_encoding(p, dim),
    "relative": lambda q, k: posenc.relative_positions(q, k),
    "buckets": lambda r, count, far: posenc.t5_buckets(r, num_buckets=count, max_distance=far),
    "skewed": lambda products: posenc.skew(products),
    "mended_shaw": shaw_scores,
    "rotated": lambda x, p, base: posenc.rotate(
        x, angles(p, inverse_frequencies(x.shape[-1], base=base)), pairing="interleaved"
    ),
    "score_from_offset": lambda q, k, offset, base: (
        q
        @ posenc.rotate(
            k,
            angles(torch.tensor(offset), inverse_frequencies(len(q), base=base)),
            pairing="interleaved",
        )
    ),
    "mended_pairing": lambda weight, heads: posenc.rotary._regroup(
        weight.unflatten(0, (heads, -1)).mT, "interleaved"
    ).mT.flatten(0, 1),
    "mended_precision": lambda p, dim, base: torch.view_as_real(
        posenc.phasors(angles(p, inverse_frequencies(dim, base=base)))
    ).unbind(-1),
    "slopes": lambda heads: posenc.alibi_slopes(heads),
    "biased": lambda scores, slopes: (
        scores + posenc.alibi_bias(slopes, behind(scores), dtype=scores.dtype)
    ).masked_fill(behind(scores) > 0, -torch.inf),
    "ntk_base": larger_base,
    "my_encoding": lambda p, dim: posenc.sinusoidal_encoding(p, dim),
    "better": lambda first, second: (
        paired._interval(np.array([second]) - np.array([first]), 1, 0.95).mean
    ),
    "mended_chunk": lambda new, cached: posenc.causal_mask(
        torch.arange(cached, cached + new), torch.arange(cached + new)
    ),
}


def functions():
    """Every public function of every module, but those of command lines."""
    found = {}
    for info in pkgutil.walk_packages(posenc.__path__, "posenc."):
        if info.name.endswith(("__main__", ".cli")):
            continue
        module = importlib.import_module(info.name)
        for name, thing in vars(module).items():
            is_its_own = getattr(thing, "__module__", "") == info.name
            if is_its_own and not name.startswith("_") and inspect.isroutine(inspect.unwrap(thing)):
                found[f"{info.name}.{name}"] = thing
    return found


def names_in(code):
    """The names that a function's code has, with those of functions in it."""
    inside = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return set(code.co_names).union(*map(names_in, inside))


def used(function):
    """The functions, and the methods of classes, that a function names."""
    names = names_in(function.__code__)
    found = [function.__globals__.get(name) for name in names]
    for module in [thing for thing in found if isinstance(thing, ModuleType)]:
        found += [vars(module).get(name) for name in names]
    for thing in found:
        for part in vars(thing).values() if isinstance(thing, type) else [thing]:
            plain = inspect.unwrap(part) if callable(part) else part
            if isinstance(plain, FunctionType) and plain.__module__.startswith("posenc"):
                yield plain


def dead():
    """The public functions that refuse, or need one that does: here, and as things are now."""
    plain = {name: inspect.unwrap(function) for name, function in functions().items()}
    needs, left = {}, list(plain.values())
    while left:
        one = left.pop()
        if one not in needs:
            needs[one] = set(used(one))
            left += needs[one]
    gone = {f for f in needs if f.__code__.co_names == inspect.unwrap(_refusing).__code__.co_names}
    while more := {one for one, others in needs.items() if others & gone} - gone:
        gone |= more
    return sorted(name for name, function in plain.items() if function in gone)


def needing(refuses):
    """Functions and methods that are left where others are refused, and need one of these."""
    gone = set(_refused(refuses))
    for info in pkgutil.walk_packages(posenc.__path__, "posenc."):
        if info.name.endswith("__main__") or is_gone(info.name, refuses):
            continue
        module = importlib.import_module(info.name)
        for name, thing in vars(module).items():
            if getattr(thing, "__module__", "") != info.name:
                continue
            parts = vars(thing) if isinstance(thing, type) else {}
            named = {name: thing} | {f"{name}.{key}": part for key, part in parts.items()}
            for label, part in named.items():
                for function in _function(part):
                    if function not in gone and gone & set(used(function)):
                        yield f"{info.name}.{label}"


def show():
    """Where `posenc` is, what of it refuses, and what it says of the answers that are named."""
    print(Path(posenc.__file__).parent.parent)
    print(*dead())
    for name in sys.argv[1:]:
        try:
            print(BORROWED[name](*(ASKED.get(name) or check.named(name).cases[0].arguments)))
        except Refused as error:
            print(error)
