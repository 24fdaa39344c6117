"""The conventions by which rotations are called, the likeliest first."""

import functools
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from posenc.verify.layouts import LAYOUTS, arranged, laid_out, not_contiguous, read, rearranged

POSITIONS = (
    "positions",
    "position_ids",
    "pos_ids",
    "positions_ids",
    "token_positions",
    "input_pos",
    "pos",
    "position",
    "p",
    "seq_pos",
)
KEYS = re.compile(r"(x_?k|(qkv_)?k|keys?|kv_pe|kv_rope|kpe)(_.*)?")  # as k, xk, key_states, k_rot
STARTS = ("offset", "start_pos", "start", "seq_offset", "past_len", "past_length")
PACKED = ("[b, n, 3, h, d]", "[b, n, 3 h d]")
BESIDE = ("[b, n, 2, h, d]",)
"""Forms of queries, keys and values in one tensor; and of keys and values beside queries."""
ROW = ", a row a call"
WIDTHS = (64, 128, 32, 96, 80, 256, 192, 16, 8)


@dataclass(frozen=True)
class Way:
    """One way to call it: of x in its layout and positions; explicit or not; in words."""

    call: Callable[[Tensor, Tensor], object]
    layout: str
    explicit: bool
    words: str
    apply: Callable | None = None
    consecutive: bool = False
    of_keys: bool = False  # whether the second result is meant, and x are keys
    form: Callable[[Tensor, Tensor], object] | None = None  # of x and positions as they are
    values: list[bool] | None = None  # whether the last call turned values, if it takes them
    sides: tuple[str, ...] = ()  # what it asks for besides
    narrow: tuple[int, int, int] | None = None  # channels of queries, heads and channels of keys
    guessed: str = ""  # an argument that is taken for the first position, if it moves the rows
    left: tuple[str, ...] = ()  # arguments that keep their defaults, as `name=default`
    heads: int = 2  # equal ones that it is given

    def inputs(self, x: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        """What it is given: these vectors in their layout, and others for the other argument."""
        if self.narrow is None:
            x = laid_out(x, self.layout, self.heads)
            return (other(x), x) if self.of_keys else x
        width, heads, channels = self.narrow
        if self.of_keys:
            queries = other(x).repeat(1, 1, -(-width // channels))[..., :width]
            return laid_out(queries, self.layout), laid_out(x, self.layout_of_keys, heads)
        keys = other(x)[..., :channels]
        return laid_out(x, self.layout), laid_out(keys, self.layout_of_keys, heads)

    def read(self, result: object, x: Tensor) -> Tensor:
        """The result that is meant, as [m, n, d]."""
        if isinstance(result, tuple | list):
            result = result[self.of_keys]
        heads = self.narrow[1] if self.narrow and self.of_keys else self.heads
        if heads == 0 and isinstance(result, Tensor):  # they may come back with an axis of heads
            axis = self.layout.split().index("h")
            return read(result.squeeze(axis), x, self.layout_of_keys, 1)
        return read(result, x, self.layout, heads)

    def sized(
        self,
        q: Tensor,
        k: Tensor,
        positions: Tensor,
        layout: str = "",
        *,
        three: bool = False,
        view: bool = False,
    ) -> list[Tensor]:
        """Called once with vectors [b, h, n, d] that differ in everything; what came of them.

        Positions are [n], of all texts, or [b, n]; `three` rows are handed over as they are. Keys
        may come back repeated for the heads of queries. A `view` is not contiguous.
        """
        layouts = [layout or self.layout, layout or self.layout_of_keys]
        given = [arranged(x, axes) for x, axes in zip((q, k), layouts, strict=True)]
        given = [not_contiguous(x) for x in given] if view else given
        given = tuple(given) if "q, k" in self.words else given[0]
        if three:
            result = self.form(given, positions)
        elif positions.ndim == 1:
            result = self.call(given, positions)
        else:
            positions = positions[:, 0] if self.consecutive else positions
            if "[3, 1, n]" in self.words:
                positions = positions.expand(3, -1, -1)
            result = self.form(given, positions)
        results = list(result[:2]) if isinstance(result, tuple | list) else [result]
        if self.narrow and self.narrow[1] == 0 and len(results) > 1 and results[1].ndim == q.ndim:
            results[1] = results[1].squeeze(self.layout.split().index("h"))
        repeated = k.repeat_interleave(q.shape[1] // k.shape[1], dim=1)
        if len(results) > 1 and getattr(results[1], "shape", None) == (
            arranged(repeated, layouts[1]).shape
        ):
            k = repeated
        both = zip(results, (q, k), layouts, strict=False)
        return [rearranged(one, x, axes) for one, x, axes in both]

    @property
    def fewest(self) -> bool:
        """Whether a call has one text or one row alone, for code that refuses more."""
        return self.layout.startswith("1") or self.words.endswith(ROW)

    @property
    def layout_of_keys(self) -> str:
        """That of the queries, but without an axis of heads if keys have none."""
        bare = self.narrow is not None and self.narrow[1] == 0
        return self.layout.replace(" h", "") if bare else self.layout


def all_ways(thing: Callable, apply: Callable | None, width: int) -> Iterator[Way]:
    """First with keys as queries are; then with one head of keys, and one that is narrower.

    Keys of that one head may come without an axis of heads, as in DeepSeek's own code.
    """
    names = parameters_of(thing)[0]
    packed = BESIDE if names[1:2] == ["kv"] else ()
    if names and "qkv" in names[0] and not takes_keys_at(names):  # not qkv_q, qkv_k
        packed = PACKED
    for form in packed:
        parted = _parted(thing, form)
        given = f"{names[0]}={form}" if packed == PACKED else f"{names[0]}, kv={form}"
        for way in _ways(parted, apply):
            if way.layout == "b n h d":
                words = way.words.replace("f(q, k", f"f({given}")
                yield replace(way, words=f"{words} as q, k", values=parted.values)
    if packed:
        return
    yield from _ways(thing, apply)
    for way in _ways(_row_by_row(thing), apply) if {*names} & {*POSITIONS} else ():
        if way.layout in ("h n d", "n d") and "[n]" in way.words and way.explicit:
            yield replace(way, words=way.words.replace("[n]", "int") + ROW)
    if takes_keys_at([name for name in names if name not in POSITIONS]):
        for channels in (width, *(w for w in WIDTHS if w < width)):
            for way in _ways(thing, apply):
                if way.layout != "tables":
                    words = f"{way.words} with one head of {channels} channels for keys"
                    yield replace(way, narrow=(width, 1, channels), words=words)
                if way.layout in ("b n h d", "n h d"):
                    words = f"{way.words} with keys of {channels} channels and no axis of heads"
                    yield replace(way, narrow=(width, 0, channels), words=words)


def _row_by_row(thing: Callable) -> Callable:
    """A function of one row at an int, [h, d] or [d], as one of rows [h, n, d] or [n, d]."""

    def rows(*given, **named):
        spots = next(t for t in (*given, *named.values()) if t.ndim == 1).tolist()

        def at(t: Tensor, row: int) -> Tensor | int:
            return spots[row] if t.ndim == 1 else t[..., row, :].clone()

        made = [
            thing(*(at(t, i) for t in given), **{name: at(t, i) for name, t in named.items()})
            for i in range(len(spots))
        ]
        if isinstance(made[0], tuple | list):
            return tuple(torch.stack(each, dim=-2) for each in zip(*made, strict=True))
        return torch.stack(made, dim=-2)

    rows.__signature__ = signature_of(thing)
    return rows


def _parted(thing: Callable, form: str) -> Callable:
    """A function of keys and values in one tensor, and queries in it or before it, as of q and k.

    `values` is a list that holds True when the last call changed the values.
    """
    values, beside = [False], form in BESIDE

    def parted(q: Tensor, k: Tensor, *rest, **options) -> tuple[Tensor, Tensor]:
        v = q.roll(1, -1)
        given = torch.stack((k, v) if beside else (q, k, v), dim=2)  # [b, n, 3, h, d]
        shape = given.shape
        given = given if ", h" in form else given.flatten(2)
        result = thing(*((q, given) if beside else (given,)), *rest, **options)
        if beside:
            result = (result[0], *result[1].reshape(shape).unbind(2))
        elif isinstance(result, Tensor):
            result = result.reshape(shape).unbind(2)
        q, k, *more = (part.reshape(q.shape) for part in result)
        values[0] = bool(more) and not torch.equal(more[0], v)
        return q, k

    own = list(signature_of(thing).parameters.values())[1 + beside :]
    both = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in "qk"]
    parted.__signature__ = inspect.Signature([*both, *own])
    parted.values = values
    return parted


def _ways(thing: Callable, apply: Callable | None) -> Iterator[Way]:
    """All conventions worth a try, the likeliest first."""
    names, required = parameters_of(thing)
    leads = len(names) > 1 and names[0] in POSITIONS  # positions first, as in vLLM
    if leads:
        names, required = names[1:], [name for name in required if name != names[0]]
    twice = takes_keys_at(names)
    given = queries_and_keys if twice else (lambda x: (x,))
    head = "q, k" if twice else "x"
    spot = None if leads else next((name for name in names if name in POSITIONS), None)
    start = next((name for name in names if name in STARTS), None)
    left = _defaults(thing)
    blind = spot is None and start is None and len(required) == 1 + twice
    sides = {name: side for name in required for key, side in SIDES.items() if key in name}
    for layout in LAYOUTS:
        if sides and not (leads or spot or start):  # one text, all of it seen: rows count from 0
            yield Way(
                lambda x, p, layout=layout: thing(
                    *given(x),
                    **{name: make(x, layout, len(p)) for name, (_, make) in sides.items()},
                ),
                layout,
                False,
                f"f({head}, {', '.join(f'{name}={said}' for name, (said, _) in sides.items())})",
                apply,
                sides=tuple(sides),
            )
            continue
        if leads or spot or not blind:
            for rows in ("[n]", "[1, n]", "[3, 1, n]", "[b, n]", "[3, n]"):
                form = _position_form(rows)
                if leads:
                    yield Way(
                        lambda x, p, form=form: thing(form(x, p), *given(x)),
                        layout,
                        True,
                        f"f({rows}, {head})",
                        apply,
                        form=lambda x, p: thing(p, *given(x)),
                    )
                elif spot and names.index(spot) > 0:
                    yield Way(
                        lambda x, p, form=form: thing(*given(x), **{spot: form(x, p)}),
                        layout,
                        True,
                        f"f({head}, {spot}={rows})",
                        apply,
                        form=lambda x, p: thing(*given(x), **{spot: p}),
                    )
                elif not spot and not start and len(required) >= 2 + twice:
                    yield Way(
                        lambda x, p, form=form: thing(*given(x), form(x, p)),
                        layout,
                        True,
                        f"f({head}, {rows})",
                        apply,
                        form=lambda x, p: thing(*given(x), p),
                    )
        if start:
            yield _from_start(thing, given, start, layout, f"f({head}, {start}=int)", apply)
        elif not (leads or spot):  # no name says it: an argument that moves the rows does
            unnamed = [name for name in names[1 + twice :] if name in required]
            for name in unnamed if len(unnamed) == 1 else () if unnamed else left:
                kept = tuple(f"{other}={value!r}" for other, value in left.items() if other != name)
                way = _from_start(thing, given, name, layout, f"f({head}, {name}=int)", apply)
                yield replace(way, guessed=name, left=kept)
                for rows in ("[n]", "[b, n]") if left.get(name, 0) is None else ():
                    way = _at_each(thing, given, name, layout, f"f({head}, {name}={rows})", apply)
                    yield replace(way, guessed=name, left=kept)
        if len(required) <= 1 + twice and not leads:
            told = tuple(f"{name}={value!r}" for name, value in left.items())
            yield Way(lambda x, p: thing(*given(x)), layout, False, f"f({head})", apply, left=told)
    if "seq_len" in names:  # transformers before 4.38: tables of so many rows
        yield Way(
            lambda x, p: _looked_up(thing(x, seq_len=int(p.max()) + 1), p),
            "b h n d",
            True,
            "f(x, seq_len=int)",
            apply,
        )
    yield Way(lambda x, p: thing(p), "tables", True, "f([n])", apply, form=lambda x, p: thing(p))


def _from_start(
    thing: Callable, given: Callable, name: str, layout: str, words: str, apply: Callable | None
) -> Way:
    """For a function that is told the position of the first row.

    A name in the plural, as seqlen_offsets, may hold that of each text, too.
    """
    return Way(
        lambda x, p: thing(*given(x), **{name: int(p[0])}),
        layout,
        True,
        words,
        apply,
        consecutive=True,
        form=(lambda x, p: thing(*given(x), **{name: p})) if name.endswith("s") else None,
    )


def _at_each(
    thing: Callable, given: Callable, name: str, layout: str, words: str, apply: Callable | None
) -> Way:
    """For a function that is told the position of each row."""
    form = _position_form("[b, n]" if "[b, n]" in words else "[n]")
    return Way(
        lambda x, p: thing(*given(x), **{name: form(x, p)}),
        layout,
        True,
        words,
        apply,
        form=lambda x, p: thing(*given(x), **{name: p}),
    )


def _defaults(thing: Callable) -> dict[str, int | None]:
    """Arguments that are a number or nothing when they are left out: one may be a position."""
    try:
        own = signature_of(thing).parameters.values()
    except (TypeError, ValueError):  # written in C
        return {}
    return {p.name: p.default for p in own if p.default is None or type(p.default) is int}


def signature_of(thing: Callable) -> inspect.Signature:
    """What it may be called with."""
    return inspect.signature(thing.forward if isinstance(thing, nn.Module) else thing)


def takes_keys_at(names: list[str]) -> bool:
    """Whether the second argument is keys, by its name."""
    return len(names) > 1 and bool(KEYS.fullmatch(names[1]))


def queries_and_keys(x: Tensor | tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    """Both, if both are given; otherwise these queries with keys that are others."""
    return x if isinstance(x, tuple) else (x, other(x))


def other(x: Tensor) -> Tensor:
    """Keys for these queries, or queries for these keys: others, so that none passes for both."""
    return x.flip(-1)


def _mask(x: Tensor | tuple[Tensor, Tensor], layout: str, seen: int) -> Tensor:
    """1 for rows that are seen, the last ones."""
    texts, rows = _rows(x, layout)
    mask = torch.ones(texts, rows, dtype=torch.long)
    mask[:, : rows - seen] = 0
    return mask


def _ends(x: Tensor | tuple[Tensor, Tensor], layout: str, seen: int) -> Tensor:
    """Where texts begin and end: one text, or the rows before it as another."""
    _, rows = _rows(x, layout)
    return torch.tensor(sorted({0, rows - seen, rows}), dtype=torch.int32)


def _longest(x: Tensor | tuple[Tensor, Tensor], layout: str, seen: int) -> int:
    """The rows of the longest text, at most."""
    return _rows(x, layout)[1]


def _rows(x: Tensor | tuple[Tensor, Tensor], layout: str) -> tuple[int, int]:
    """How many texts and rows there are."""
    x = x[0] if isinstance(x, tuple) else x
    axes = layout.split()
    return (x.shape[axes.index("b")] if "b" in axes else 1), x.shape[axes.index("n")]


SIDES = {
    "mask": ("ones [b, n]", _mask),
    "cu_seq": ("[0, n]", _ends),
    "max_seqlen": ("n", _longest),
}
"""What else a function may ask for, by a part of its name: in words; and made of the vectors, their
layout and how many of the last rows are seen, or are the last text."""


def _looked_up(tables: tuple[Tensor, Tensor], positions: Tensor) -> tuple[Tensor, ...]:
    """The rows of the positions."""
    return tuple(t.reshape(-1, t.shape[-1])[positions] for t in tables)


def parameters_of(thing: Callable) -> tuple[list[str], list[str]]:
    """Names of the arguments, and of those without a default."""
    given: tuple[int, set[str]] = 0, set()
    if isinstance(thing, functools.partial):
        thing, given = thing.func, (len(thing.args), set(thing.keywords))
    try:
        signature = signature_of(thing)
    except (TypeError, ValueError):  # written in C
        return ["x", "positions"], ["x", "positions"]
    left = [p for p in list(signature.parameters.values())[given[0] :] if p.name not in given[1]]
    usual = [p for p in left if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    only = [p for p in left if p.kind == p.KEYWORD_ONLY and p.name in POSITIONS + STARTS]
    return [p.name for p in usual + only], [p.name for p in usual if p.default is p.empty]


def _position_form(rows: str) -> Callable[[Tensor, Tensor], Tensor]:
    if rows == "[n]":
        return lambda x, p: p
    if rows.startswith("[3"):  # time, rows and columns, which are one number in a text
        return lambda x, p: p.expand(3, 1, -1) if "1" in rows else p.expand(3, -1)
    return lambda x, p: p.expand(_texts(x) if rows == "[b, n]" else 1, -1)


def _texts(x: Tensor | tuple[Tensor, Tensor]) -> int:
    x = x[0] if isinstance(x, tuple) else x
    return len(x) if x.ndim > 2 else 1
