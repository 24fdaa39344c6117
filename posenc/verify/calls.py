"""How somebody else's rotation wants to be called: tried out, with two heads and five rows."""

import inspect
import re
import textwrap
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from posenc.verify.rope import Rope

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
KEYS = re.compile(r"(x?k|keys?)(_.*)?")  # k, xk, key, keys, key_states, k_pe, k_rot
STARTS = ("offset", "start_pos", "start", "seq_offset", "past_len", "past_length")
WIDTHS = (64, 128, 32, 96, 80, 256, 192, 16, 8)
LAYOUTS = ("b h n d", "b n h d", "b n d", "n h d", "h n d", "n d", "n b h d")
ELEMENTS = 2**24  # how many to hand over at a time, for functions that count rows themselves


@dataclass(frozen=True)
class Turn:
    """A rotation that is called as `turn(x, positions)`, x [m, n, d], whatever it was before.

    Args:
        call: the function of x and positions.
        head_dim: the channels it takes.
        convention: how the original is called, in words.
        explicit: whether it takes positions, or counts rows itself.
        tables: the form of its cos and sin, if that is all it gives, "" otherwise.
        keys: the same for its second result, if it takes and gives queries and keys.
        counted: for one that takes the first position only: the same, called once with all rows.
        first_row: whether positions [b, n] are taken and only their first row is used.
        axes: the same with positions [3, n] that differ, for one that takes [3, b, n] (M-RoPE).
        mixed: how queries and keys get into each other, "" if they do not.
        chunk: for one that takes the first position only: the same, with several rows in a call.
    """

    call: Callable[[Tensor, Tensor], Tensor]
    head_dim: int
    convention: str
    explicit: bool
    tables: str = ""
    keys: "Turn | None" = None
    counted: "Turn | None" = None
    first_row: bool = False
    axes: Callable[[Tensor, Tensor], Tensor] | None = None
    mixed: str = ""
    chunk: Callable[[Tensor, Tensor], Tensor] | None = None

    def __call__(self, x: Tensor, positions: Tensor) -> Tensor:
        """Turn x; without gradients or warnings."""
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.call(x, positions)


class NotARotation(ValueError):
    """It cannot be called as a rotation; the message says what was tried."""


def as_turn(
    thing: object,
    *,
    apply: Callable | None = None,
    dim: int | None = None,
    dtype: torch.dtype = torch.float32,
) -> Turn:
    """Find out how a rotation is called.

    Args:
        thing: a callable; a module of transformers that gives cos and sin; a pair of tables
            (cos, sin), each [n, d] or [n, d/2]; a complex table [n, d/2].
        apply: for what only gives cos and sin: the function (q, k, cos, sin) or (x, cos, sin).
        dim: channels of a head; otherwise some usual widths are tried.
        dtype: of the vectors handed over.

    Returns:
        The rotation in one form.

    Raises:
        NotARotation: if no way of calling it works.
    """
    if isinstance(thing, Turn):
        return thing
    if isinstance(thing, type):
        raise NotARotation(
            f"a rotation is a function or an instance, got the class {thing.__name__}: make one, "
            f"{thing.__name__}(...)"
        )
    if isinstance(thing, Rope):
        axes = None if thing.axis is None else thing.__call__
        called = "f(x, positions=[n]), x as [b, h, n, d]"
        return Turn(thing.__call__, thing.head_dim, called, True, axes=axes)
    if isinstance(thing, Tensor) and thing.is_complex():
        thing = (thing.real, thing.imag)
    if isinstance(thing, tuple | list) and len(thing) == 2:
        return _from_tables(*thing, apply=apply)
    if not callable(thing):
        raise NotARotation(
            f"a rotation is a function, a module or a pair (cos, sin), got {type(thing).__name__}"
        )
    known = dim or getattr(thing, "head_dim", None)  # of posenc.verify's own Rope, for one
    tried: list[str] = []
    for width in [known] if isinstance(known, int) else WIDTHS:
        worked: list[Turn] = []
        for way in _all_ways(thing, apply, width):
            turn = _try(way, width, dtype, tried, fixed=isinstance(known, int))
            if turn is not None and _by_rows(turn, dtype):
                return turn
            if turn is not None:
                worked.append(turn)
        if worked:  # in none of them a row depends on its own position alone: the likeliest
            return worked[0]
    raise NotARotation(
        "no way of calling it works; wrap it as `lambda x, positions: ...` with x [b, h, n, d] "
        f"and positions [n].{_advice(thing, tried, known)} Tried:\n  " + "\n  ".join(_sorted(tried))
    )


def _advice(thing: Callable, tried: list[str], dim: int | None) -> str:
    """What the failures have in common, if it is something that a wrapper cures."""
    advice = ""
    if any("ndarray" in text for text in tried):
        advice += " It gives NumPy arrays: put torch.from_numpy around them."
    if any("it gives NoneType" in text for text in tried):
        advice += " It gives nothing: if it works in place, let the wrapper return x."
    if dim is None:
        widths = ", ".join(map(str, sorted(WIDTHS)))
        advice += f" Heads of {widths} channels were tried: dim= tells another width."
    kinds = [name for name in _parameters(thing)[0] if name in ("layer_type", "layer_idx", "layer")]
    if kinds:
        advice += f" It asks for {kinds[0]}: give it, functools.partial(f, {kinds[0]}=...)."
    return advice


def _sorted(tried: list[str], most: int = 8) -> list[str]:
    """The failures, each kind once with the ways that end so, those of the usual layouts first."""
    ways: dict[str, list[str]] = {}
    for text in dict.fromkeys(tried):
        way, _, why = text.partition(": ")
        ways.setdefault(why, []).append(way)
    lines = [
        f"{several[0]}{f' (and {len(several) - 1} more)' * (len(several) > 1)}: {why}"
        for why, several in ways.items()
    ]
    return [*lines[:most], *([f"and {len(lines) - most} other failures"] * (len(lines) > most))]


@dataclass(frozen=True)
class _Way:
    """One way to call it: of x in its layout and positions; explicit or not; in words."""

    call: Callable[[Tensor, Tensor], object]
    layout: str
    explicit: bool
    words: str
    apply: Callable | None = None
    consecutive: bool = False
    of_keys: bool = False  # whether the second result is meant, and x are keys
    form: Callable[[Tensor, Tensor], object] | None = None  # of x and positions as they are
    narrow: tuple[int, int, int] | None = None  # channels of queries, heads and channels of keys

    def inputs(self, x: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        """What it is given: these vectors in their layout, and others for the other argument."""
        if self.narrow is None:
            x = _laid_out(x, self.layout)
            return (_other(x), x) if self.of_keys else x
        width, heads, channels = self.narrow
        if self.of_keys:
            queries = _other(x).repeat(1, 1, -(-width // channels))[..., :width]
            return _laid_out(queries, self.layout), _laid_out(x, self.layout, heads)
        keys = _other(x)[..., :channels]
        return _laid_out(x, self.layout), _laid_out(keys, self.layout, heads)

    def read(self, result: object, x: Tensor) -> Tensor:
        """The result that is meant, as [m, n, d]."""
        if isinstance(result, tuple | list):
            result = result[self.of_keys]
        return _read(result, x, self.layout, self.narrow[1] if self.narrow and self.of_keys else 2)


def _all_ways(thing: Callable, apply: Callable | None, width: int) -> Iterator["_Way"]:
    """First with keys as queries are; then with one head of keys, and one that is narrower."""
    yield from _ways(thing, apply)
    if _takes_keys_at([name for name in _parameters(thing)[0] if name not in POSITIONS]):
        for channels in (width, *(w for w in WIDTHS if w < width)):
            for way in _ways(thing, apply):
                if way.layout != "tables":
                    words = f"{way.words} with one head of {channels} channels for keys"
                    yield replace(way, narrow=(width, 1, channels), words=words)


def _ways(thing: Callable, apply: Callable | None) -> Iterator["_Way"]:
    """All conventions worth a try, the likeliest first."""
    names, required = _parameters(thing)
    leads = len(names) > 1 and names[0] in POSITIONS  # positions first, as in vLLM
    if leads:
        names, required = names[1:], [name for name in required if name != names[0]]
    twice = _takes_keys_at(names)
    given = _queries_and_keys if twice else (lambda x: (x,))
    head = "q, k" if twice else "x"
    spot = None if leads else next((name for name in names if name in POSITIONS), None)
    start = next((name for name in names if name in STARTS), None)
    blind = spot is None and start is None and len(required) == 1 + twice
    mask = next((name for name in required if "mask" in name), None)
    for layout in LAYOUTS:
        if mask and not (leads or spot or start):  # a mask that hides nothing: rows count from 0
            yield _Way(
                lambda x, p, layout=layout: thing(*given(x), **{mask: _all_seen(x, layout)}),
                layout,
                False,
                f"f({head}, {mask}=ones [b, n])",
                apply,
            )
            continue
        if leads or spot or not blind:
            for rows in ("[n]", "[1, n]", "[3, 1, n]", "[b, n]"):
                form = _position_form(rows)
                if leads:
                    yield _Way(
                        lambda x, p, form=form: thing(form(x, p), *given(x)),
                        layout,
                        True,
                        f"f({rows}, {head})",
                        apply,
                        form=lambda x, p: thing(p, *given(x)),
                    )
                elif spot and names.index(spot) > 0:
                    yield _Way(
                        lambda x, p, form=form: thing(*given(x), **{spot: form(x, p)}),
                        layout,
                        True,
                        f"f({head}, {spot}={rows})",
                        apply,
                        form=lambda x, p: thing(*given(x), **{spot: p}),
                    )
                elif not spot and not start and len(required) >= 2 + twice:
                    yield _Way(
                        lambda x, p, form=form: thing(*given(x), form(x, p)),
                        layout,
                        True,
                        f"f({head}, {rows})",
                        apply,
                        form=lambda x, p: thing(*given(x), p),
                    )
        if start:
            yield _Way(
                lambda x, p: thing(*given(x), **{start: int(p[0])}),
                layout,
                True,
                f"f({head}, {start}=int)",
                apply,
                consecutive=True,
            )
        if len(required) <= 1 + twice and not leads:
            yield _Way(lambda x, p: thing(*given(x)), layout, False, f"f({head})", apply)
    if "seq_len" in names:  # transformers before 4.38: tables of so many rows
        yield _Way(
            lambda x, p: _looked_up(thing(x, seq_len=int(p.max()) + 1), p),
            "b h n d",
            True,
            "f(x, seq_len=int)",
            apply,
        )
    yield _Way(lambda x, p: thing(p), "tables", True, "f([n])", apply)


def _takes_keys_at(names: list[str]) -> bool:
    return len(names) > 1 and bool(KEYS.fullmatch(names[1]))


def _queries_and_keys(x: Tensor | tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    """Both, if both are given; otherwise these queries with keys that are others."""
    return x if isinstance(x, tuple) else (x, _other(x))


def _other(x: Tensor) -> Tensor:
    """Keys for these queries, or queries for these keys: others, so that none passes for both."""
    return x.flip(-1)


def _all_seen(x: Tensor | tuple[Tensor, Tensor], layout: str) -> Tensor:
    """A mask [b, n] of ones."""
    x = x[0] if isinstance(x, tuple) else x
    axes = layout.split()
    batch = x.shape[axes.index("b")] if "b" in axes else 1
    return torch.ones(batch, x.shape[axes.index("n")], dtype=torch.long)


def _looked_up(tables: tuple[Tensor, Tensor], positions: Tensor) -> tuple[Tensor, ...]:
    """The rows of the positions."""
    return tuple(t.reshape(-1, t.shape[-1])[positions] for t in tables)


def _parameters(thing: Callable) -> tuple[list[str], list[str]]:
    try:
        parameters = inspect.signature(
            thing.forward if isinstance(thing, nn.Module) else thing
        ).parameters.values()
    except (TypeError, ValueError):  # written in C
        return ["x", "positions"], ["x", "positions"]
    usual = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    only = [p for p in parameters if p.kind == p.KEYWORD_ONLY and p.name in POSITIONS + STARTS]
    return [p.name for p in usual + only], [p.name for p in usual if p.default is p.empty]


def _position_form(rows: str) -> Callable[[Tensor, Tensor], Tensor]:
    if rows == "[n]":
        return lambda x, p: p
    if rows == "[3, 1, n]":  # time, rows and columns, which are one number in a text
        return lambda x, p: p.expand(3, 1, -1)
    return lambda x, p: p.expand(_texts(x) if rows == "[b, n]" else 1, -1)


def _texts(x: Tensor | tuple[Tensor, Tensor]) -> int:
    x = x[0] if isinstance(x, tuple) else x
    return len(x) if x.ndim > 2 else 1


def _try(
    way: _Way, width: int, dtype: torch.dtype, tried: list[str], *, fixed: bool
) -> Turn | None:
    """Call it that way with five rows and two equal heads; the heads must come out equal."""
    x = torch.randn(4, 5, width, generator=torch.Generator().manual_seed(0)).to(dtype)
    spots = torch.arange(5) if way.consecutive or not way.explicit else torch.tensor(_SPOTS)
    words = f"{way.words}, x as [{', '.join(way.layout.split())}]"
    try:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = way.call(way.inputs(x), spots)
            tables = _tables_of(result, 5)
            if tables is not None:
                return _tabled(way, width if fixed else None, words, tables)
            way.read(result, x)
            three = "[3, 1, n]" in way.words
            keys, mixed = None, ""
            if isinstance(result, tuple | list) and len(result) > 1 and "q, k" in way.words:
                channels = way.narrow[2] if way.narrow else width
                keys = _turn(replace(way, of_keys=True), channels, words)
                keys(x[..., :channels], spots)
                mixed = _mixed(way, x, spots)
    except Exception as error:  # whatever somebody else's code does with a wrong call
        tried.append(f"{words}: {said(error)}")
        return None
    found = replace(
        _turn(way, width, words), keys=keys, first_row=_first_row(way, x, spots), mixed=mixed
    )
    return replace(found, axes=lambda x, p: _by_axes(way, x, p)) if three else found


def _mixed(way: _Way, x: Tensor, spots: Tensor) -> str:
    """Whether keys come out otherwise when only queries change, or the other way round."""
    given = way.inputs(x)
    queries, keys = _queries_and_keys(given)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        as_they_are = way.call((queries, keys), spots)
        if not torch.equal(as_they_are[1], way.call((queries / 2, keys), spots)[1]):
            return "keys are made of queries: where keys are turned, a line uses the queries"
        if not torch.equal(as_they_are[0], way.call((queries, keys / 2), spots)[0]):
            return "queries are made of keys: where queries are turned, a line uses the keys"
    return ""


_SPOTS = [0, 3, 1, 4, 9]


def _by_rows(turn: Turn, dtype: torch.dtype) -> bool:
    """Whether each row is turned by its own position, in all of a batch alike: else, wrong axes.

    Code that reshapes takes many shapes, and turns some of them by the wrong positions.
    """
    x = torch.randn(4, 5, turn.head_dim, generator=torch.Generator().manual_seed(0)).to(dtype)
    spots, moved = torch.tensor(_SPOTS), torch.tensor([4, 2, 0, 3, 1])
    counts = not turn.explicit or turn.counted is not None
    try:
        alike = turn(x[:1].expand(4, -1, -1).contiguous(), torch.arange(5) if counts else spots)
        if not torch.equal(alike[0], alike[-1]):
            return False
        if counts:
            return True
        one, two = turn(x, spots), turn(x[:, moved], spots[moved])
    except Exception:  # whatever somebody else's code does
        return False
    return torch.allclose(one[:, moved].float(), two.float(), atol=1e-2)


def _first_row(way: _Way, x: Tensor, spots: Tensor) -> bool:
    """Whether it takes positions [b, n], and turns all rows of the batch by the first of them."""
    if not way.explicit or way.consecutive or way.form is None or not way.layout.startswith("b"):
        return False
    own = torch.stack([spots + 5 * i for i in range(len(x))])
    try:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            together = way.read(way.form(way.inputs(x), own), x)
            alone = _all(way, x, own[-1])[-1]
            by_first = _all(way, x, own[0])[-1]
    except Exception:  # it does not take them
        return False
    return torch.equal(together[-1], by_first) and not torch.allclose(by_first, alone, atol=1e-4)


def _turn(way: _Way, width: int, words: str) -> Turn:
    if way.consecutive:
        whole = Turn(lambda x, p: _counted(way, x, p), width, words, False)
        chunk = Turn(lambda x, p: _all(way, x, p), width, words, True)
        one_by_one = Turn(lambda x, p: _one_by_one(way, x, p), width, words, True)
        return replace(one_by_one, counted=whole, chunk=chunk)
    if way.explicit:
        return Turn(lambda x, p: _all(way, x, p), width, words, True)
    return Turn(lambda x, p: _counted(way, x, p), width, words, False)


def said(error: Exception) -> str:
    """An error in one short line."""
    kind = "" if isinstance(error, NotARotation) else f"{type(error).__name__}: "
    return kind + textwrap.shorten(str(error).partition(chr(10))[0], 140, placeholder=" ...")


def _laid_out(x: Tensor, layout: str, heads: int = 2) -> Tensor:
    """[m, n, d] in a layout, with equal heads where it has heads; one set without a batch."""
    match layout:
        case "b h n d":
            return x[:, None].repeat(1, heads, 1, 1)
        case "b n h d":
            return x[:, :, None].repeat(1, 1, heads, 1)
        case "b n d" | "tables":
            return x
        case "n b h d":
            return x.transpose(0, 1)[:, :, None].repeat(1, 1, heads, 1)
        case "n h d":
            return x[0][:, None].repeat(1, heads, 1)
        case "h n d":
            return x[0][None].repeat(heads, 1, 1)
        case _:
            return x[0]


_HEADS = {"b h n d": 1, "b n h d": 2, "n h d": 1, "h n d": 0, "n b h d": 2}


def _read(result: object, x: Tensor, layout: str, heads: int) -> Tensor:
    """What came back in a layout, as [m, n, d]."""
    wanted = _laid_out(x, layout, heads)
    if not isinstance(result, Tensor) or result.shape != wanted.shape:
        shape = tuple(result.shape) if isinstance(result, Tensor) else type(result).__name__
        raise NotARotation(f"it gives {shape} for {tuple(wanted.shape)}")
    if not result.isfinite().all():
        raise NotARotation("it gives numbers that are not finite")
    if layout in _HEADS:
        result, *others = result.unbind(_HEADS[layout])
        if not all(torch.equal(result, other) for other in others):
            raise NotARotation("equal heads come out different: these are not its axes")
    if layout == "n b h d":
        return result.transpose(0, 1)
    return result if layout.startswith("b") else result[None]


def _all(way: _Way, x: Tensor, positions: Tensor) -> Tensor:
    if "b" in way.layout.split():
        return way.read(way.call(way.inputs(x), positions), x)
    rows = [row[None] for row in x]
    return torch.cat([way.read(way.call(way.inputs(r), positions), r) for r in rows])


def _by_axes(way: _Way, x: Tensor, positions: Tensor) -> Tensor:
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return way.read(way.form(way.inputs(x), positions[:, None]), x)


def _one_by_one(way: _Way, x: Tensor, positions: Tensor) -> Tensor:
    """For a function that takes the first position only: one row a call."""
    rows = [_all(way, x[:, i : i + 1], positions[i : i + 1]) for i in range(len(positions))]
    return torch.cat(rows, dim=1)


def _counted(way: _Way, x: Tensor, positions: Tensor) -> Tensor:
    """For a function that counts rows from 0: put each vector into its row, among zeros."""
    if (positions < 0).any():
        raise NotARotation("it counts its rows, so no position is negative")
    length = int(positions.max()) + 1
    step = max(1, ELEMENTS // (length * x.shape[-1]))
    parts = []
    for part in x.split(step):
        whole = part.new_zeros(len(part), length, part.shape[-1])
        whole[:, positions] = part
        parts.append(_all(way, whole, torch.arange(length))[:, positions])
    return torch.cat(parts)


def _tables_of(result: object, n: int) -> tuple[Tensor, Tensor] | None:
    """Cos and sin, if that is what came back: two tables of n rows, or angles, or phasors."""
    if isinstance(result, Tensor) and result.is_complex() and n in result.shape:
        return result.real, result.imag
    if not (isinstance(result, tuple | list) and len(result) == 2):
        return None
    one, two = result
    if isinstance(one, Tensor) and isinstance(two, int | float) and one.shape[-2:-1] == (n,):
        return one.cos() * two, one.sin() * two  # x-transformers: angles and a scale
    if not all(isinstance(t, Tensor) and t.ndim >= 2 for t in (one, two)):
        return None
    if one.shape != two.shape or one.shape[-2] != n or one.numel() != n * one.shape[-1]:
        return None
    return one, two


def _tabled(way: _Way, width: int | None, words: str, sample) -> Turn:
    columns = sample[0].shape[-1]
    form = _form(*(t.reshape(-1, columns) for t in sample))

    def call(x: Tensor, positions: Tensor, *, of_keys: bool = False) -> Tensor:
        cos, sin = _tables_of(way.call(x[:1, None], positions), len(positions))
        return _applied(x, cos, sin, way.apply, form, of_keys=of_keys)

    dim = columns if form != "one column a pair" else 2 * columns
    dim = width if way.apply and width else dim  # a head may be wider than what turns
    words = f"{words}, giving cos and sin"
    keys = _keys_of(call, dim, words) if _takes_keys(way.apply) else None
    return Turn(call, dim, words, True, "" if way.apply else form, keys)


def _from_tables(cos: Tensor, sin: Tensor, *, apply: Callable | None) -> Turn:
    cos, sin = (t.squeeze() for t in (cos, sin))
    if cos.ndim != 2 or cos.shape != sin.shape:
        raise NotARotation(
            f"cos and sin must be tables of one shape [n, columns], got {tuple(cos.shape)} "
            f"and {tuple(sin.shape)}"
        )
    form = _form(cos, sin)
    dim = cos.shape[-1] * (2 if form == "one column a pair" else 1)

    def call(x: Tensor, positions: Tensor, *, of_keys: bool = False) -> Tensor:
        if positions.max() >= len(cos):
            raise IndexError(f"the tables have {len(cos)} rows")
        return _applied(x, cos[positions], sin[positions], apply, form, of_keys=of_keys)

    keys = _keys_of(call, dim, "tables cos and sin") if _takes_keys(apply) else None
    return Turn(call, dim, "tables cos and sin", True, "" if apply else form, keys)


def _keys_of(call: Callable, dim: int, words: str) -> Turn:
    return Turn(lambda x, p: call(x, p, of_keys=True), dim, words, True)


def _form(cos: Tensor, sin: Tensor) -> str:
    """How a table repeats its columns: that tells for which pairing it was made."""
    columns = cos.shape[-1]
    if columns % 2 == 0 and columns > 2:
        if all(torch.equal(*t.chunk(2, -1)) for t in (cos, sin)):
            return "half"
        if all(torch.equal(t[:, 0::2], t[:, 1::2]) for t in (cos, sin)):
            return "interleaved"
    return "one column a pair"


def _takes_keys(apply: Callable | None) -> bool:
    names = _parameters(apply)[0] if apply is not None else []
    return _takes_keys_at(names)


def _applied(
    x: Tensor, cos: Tensor, sin: Tensor, apply: Callable | None, form: str, *, of_keys: bool = False
) -> Tensor:
    """Rotate by tables: with the given function, or else in the way the tables are made for."""
    if apply is not None:
        names, _ = _parameters(apply)
        tables = [t.reshape(-1, t.shape[-1]).to(x.dtype) for t in (cos, sin)]
        inputs = [x[:, None]]
        if _takes_keys(apply):
            inputs = (
                [_other(x)[:, None], x[:, None]] if of_keys else [x[:, None], _other(x)[:, None]]
            )
        if len(names) == len(inputs) + 1:  # Meta's: one complex table, x [b, n, h, d]
            result = apply(*(t.transpose(1, 2) for t in inputs), torch.complex(*map(_f32, tables)))
            result = result[of_keys] if isinstance(result, tuple | list) else result
            return result.reshape(x.shape)
        if any(name in POSITIONS for name in names):  # it looks up the rows itself
            rows = torch.arange(len(tables[0]))[None]
            try:
                result = apply(*inputs, *(t[None, None] for t in tables), rows)
            except Exception:
                result = apply(*inputs, *tables, rows)
            return (result[of_keys] if isinstance(result, tuple | list) else result).reshape(
                x.shape
            )
        try:
            result = apply(*inputs, *(t[None] for t in tables))
        except Exception:
            result = apply(*inputs, *tables)
        result = result[of_keys] if isinstance(result, tuple | list) else result
        return result.reshape(x.shape)
    cos, sin = (t.reshape(-1, t.shape[-1]).to(x.dtype) for t in (cos, sin))
    if form == "interleaved":
        cos, sin = cos[:, 0::2], sin[:, 0::2]
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)
    if form == "half":
        cos, sin = cos.chunk(2, -1)[0], sin.chunk(2, -1)[0]
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)


def _f32(table: Tensor) -> Tensor:
    return table.float()
