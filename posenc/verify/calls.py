"""How somebody else's rotation wants to be called: tried out, with two heads and five rows."""

import copy
import functools
import inspect
import warnings
from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from posenc.verify.cos_sin import applied, form_of, is_pairs, tables_of, takes_keys
from posenc.verify.makers import made
from posenc.verify.rope import Rope
from posenc.verify.turn import ELEMENTS, NotARotation, Turn, said
from posenc.verify.ways import (
    POSITIONS,
    WIDTHS,
    Way,
    all_ways,
    parameters_of,
    queries_and_keys,
    signature_of,
    takes_keys_at,
)

MADE_ROWS = 8192
"""How many rows of cos and sin are asked of a function that makes them."""


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
    if isinstance(thing, Tensor) and is_pairs(thing):
        thing = thing.unbind(-1)
    if isinstance(thing, tuple | list) and len(thing) == 2:
        return _from_tables(*thing, apply=apply)
    if not callable(thing):
        raise NotARotation(
            f"a rotation is a function, a module or a pair (cos, sin), got {type(thing).__name__}"
        )
    width = dim or getattr(thing, "head_dim", None)
    probed, put_back = _to_be_probed(thing)
    try:
        found = _called(probed, apply, width, dtype)
    except NotARotation:
        tables = made(thing, rows=MADE_ROWS, dim=dim)
        if tables is None or tables.kind != "rotation":
            raise
        turn = _from_tables(*tables.thing, apply=apply)
        return replace(turn, convention=f"{tables.words}, {turn.convention}")
    if not found.state:
        return replace(found, put_back=put_back)
    if put_back is None:  # what it gives cannot be told apart from what it has been given
        return replace(found, broken=found.state)
    return replace(_called(_anew(thing), apply, width, dtype), state=found.state)


def _to_be_probed(thing: Callable) -> tuple[Callable, Callable[[], None] | None]:
    """A copy of an instance, or of that of a method, and what makes it as it was at first.

    The instance itself is never called, so that no table in it grows. A function, or what cannot
    be copied, is handed back as it is.
    """
    if isinstance(thing, functools.partial):
        probed, put_back = _to_be_probed(thing.func)
        return functools.partial(probed, *thing.args, **thing.keywords), put_back
    if inspect.isroutine(thing) and not inspect.ismethod(thing):
        return thing, None
    try:
        copies, signature = [copy.deepcopy(thing)], signature_of(thing)
    except Exception:  # whatever it holds
        return thing, None

    def probed(*given, **named):
        return copies[0](*given, **named)

    def put_back() -> None:
        copies[0] = copy.deepcopy(thing)

    probed.__signature__ = signature
    return probed, put_back


def _anew(thing: Callable) -> Callable:
    """The same, but each call finds the instance as it was at first."""

    def anew(*given, **named):
        return copy.deepcopy(thing)(*given, **named)

    anew.__signature__ = signature_of(thing)
    return anew


def _called(thing: Callable, apply: Callable | None, dim: int | None, dtype: torch.dtype) -> Turn:
    """Try all ways of calling it."""
    tried: list[str] = []
    still: Turn | None = None
    worked: tuple[Turn, str] | None = None
    for width in [dim] if isinstance(dim, int) else WIDTHS:
        for way in all_ways(thing, apply, width):
            if worked is not None and way.fewest:
                continue  # it takes several texts and rows, and gets them wrong
            turn = _try(way, width, dtype, tried, fixed=isinstance(dim, int))
            if turn is None and way.explicit and not way.narrow and HEADS in "".join(tried[-1:]):
                turn = _with_one_head(way, width, dtype)
            if turn is None:
                continue
            by_rows = _by_rows(turn, dtype)
            if turn.state or (by_rows and _turns(turn, dtype)):
                return turn if isinstance(dim, int) else _with_guess(turn, way, dtype)
            if by_rows:  # heads of another width may be turned; not so if called in another way
                still = still or turn
                break
            worked = worked or (turn, way.layout)
    if still is not None:  # it does not turn anything, however it is called
        return still
    if worked is not None:  # in none of them a row depends on its own position alone
        turn, layout = worked  # the likeliest
        return replace(turn, broken=_broken(turn, layout, dtype, tried))
    advice = f"{_cures(tried)} {_wrapper(thing)}{_advice(thing, tried, dim)}"
    failures = "\n  ".join(_sorted(tried))
    raise NotARotation(f"no way of calling it works.{advice} Tried:\n  {failures}")


def _wrapper(thing: Callable) -> str:
    """What to write, in one sentence."""
    names = [name for name in parameters_of(thing)[0] if name not in POSITIONS]
    if takes_keys_at(names):
        return (
            "Wrap it as `lambda q, k, positions: ...`, which gives q and k turned, both [b, h, n, "
            "d], at positions [n]."
        )
    return (
        "Wrap it as `lambda x, positions: ...`, which gives x [b, h, n, d] turned at positions [n]."
    )


def _with_guess(turn: Turn, way: Way, dtype: torch.dtype) -> Turn:
    """The same; with a remark if heads of twice its width turn no more channels."""
    wide = (
        None if way.narrow or turn.tables else _try(way, 2 * turn.head_dim, dtype, [], fixed=True)
    )
    if wide is None:
        return turn
    x = torch.randn(1, 5, wide.head_dim, generator=torch.Generator().manual_seed(0)).to(dtype)
    try:
        rest = (wide(x, torch.arange(5)) == x)[..., turn.head_dim :]
    except Exception:  # whatever somebody else's code does
        return turn
    return replace(turn, guess=bool(rest.all()))


HEADS = "equal heads come out different"


def _with_one_head(way: Way, width: int, dtype: torch.dtype) -> Turn | None:
    """The same with one head, if other heads stay as they are: calls of other sizes will show it.

    Otherwise these were not its axes.
    """
    noise = torch.Generator().manual_seed(0)
    given = [torch.randn(1, 2, 5, width, generator=noise).to(dtype) for _ in range(2)]
    try:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            both = zip(given, way.sized(*given, torch.tensor(_SPOTS)), strict=False)
    except Exception:  # whatever somebody else's code does with other vectors
        return None
    if not any((x == out).all(dim=-1).all(dim=-1)[0].sum() == 1 for x, out in both):
        return None
    turn = _try(replace(way, heads=1), width, dtype, [], fixed=True)
    one = turn is not None and not turn.state and _by_rows(turn, dtype) and _turns(turn, dtype)
    return turn if one else None


def _broken(turn: Turn, layout: str, dtype: torch.dtype, tried: list[str]) -> str:
    """What is seen of equal heads and equal texts, if they come out different."""
    if "h" not in layout.split() and any(HEADS in text for text in tried):
        return (
            f"{HEADS}: only some of them are turned, or heads and rows are mixed, as by reshape "
            "where transpose is meant"
        )
    x = torch.randn(1, 5, turn.head_dim, generator=torch.Generator().manual_seed(0)).to(dtype)
    try:
        alike = turn(x.expand(4, -1, -1).contiguous(), torch.arange(5))
    except Exception:  # whatever somebody else's code does
        return ""
    if torch.equal(alike[0], alike[-1]):
        return ""
    return "equal texts of a batch come out different: only some of them are turned"


def _cures(tried: list[str]) -> str:
    """What one line in a wrapper cures."""
    advice = ""
    if any("ndarray" in text for text in tried):
        advice += " It gives NumPy arrays: put torch.from_numpy around them."
    if any("it gives NoneType" in text for text in tried):
        advice += " It gives nothing: if it works in place, let the wrapper return x."
    return advice


def _advice(thing: Callable, tried: list[str], dim: int | None) -> str:
    """What the failures have in common besides."""
    advice = ""
    if any(HEADS in text for text in tried):
        advice += (
            " Equal heads come out different in some: in the right layout that means that heads "
            "and rows are mixed, as by reshape where transpose is meant."
        )
    if dim is None:
        widths = ", ".join(map(str, sorted(WIDTHS)))
        advice += f" Heads of {widths} channels were tried: dim= tells another width."
    tables = [name for name in parameters_of(thing)[1] if name in ("cos", "sin") or "freqs" in name]
    if tables:
        advice += f" It applies tables ({tables[0]}): give those, and it as apply=."
    names, required = parameters_of(thing)
    others = [name for name in required if name not in POSITIONS]
    others = others[1 + takes_keys_at(others) :]
    if others and not tables and (len(others) > 1 or set(names) & {*POSITIONS}):
        advice += (
            f" It asks for {', '.join(others)}: give it, functools.partial(f, {others[0]}=...)."
        )
    if any("shape" in text or "size" in text for text in tried):
        advice += (
            " Calls have up to 4 texts, 2 heads and 5 rows: what is set up for other numbers is to "
            "be made with these."
        )
    return advice


MISCALLED = ("required positional argument", "unexpected keyword")
"""What tells least: that it was not called with the arguments it takes."""


def _sorted(tried: list[str], most: int = 8) -> list[str]:
    """The failures, each kind once with the ways that end so, those of the usual layouts first."""
    ways: dict[str, list[str]] = {}
    for text in dict.fromkeys(tried):
        way, _, why = text.partition(": ")
        ways.setdefault(why, []).append(way)
    told = sorted(ways.items(), key=lambda pair: any(text in pair[0] for text in MISCALLED))
    lines = [
        f"{several[0]}{f' (and {len(several) - 1} more)' * (len(several) > 1)}: {why}"
        for why, several in told
    ]
    return [*lines[:most], *([f"and {len(lines) - most} other failures"] * (len(lines) > most))]


def _try(way: Way, width: int, dtype: torch.dtype, tried: list[str], *, fixed: bool) -> Turn | None:
    """Call it that way with five rows and two equal heads; the heads must come out equal."""
    x = torch.randn(4, 5, width, generator=torch.Generator().manual_seed(0)).to(dtype)
    spots = torch.arange(5) if way.consecutive or not way.explicit else torch.tensor(_SPOTS)
    words = f"{way.words}, x as [{', '.join(way.layout.split())}]"
    try:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result, again = (way.call(way.inputs(x), spots) for _ in range(2))
            tables = tables_of(result, 5)
            if tables is not None:
                same = all(map(torch.equal, tables, tables_of(again, 5)))
                turn = _tabled(way, width if fixed else None, words, tables)
                turn(torch.ones(1, len(spots), turn.head_dim, dtype=dtype), spots)
                return replace(turn, left=way.left, state="" if same else STATE)
            state = "" if torch.equal(way.read(result, x), way.read(again, x)) else STATE
            state = state or (STALE if _is_stale(way, x) else "")
            if way.guessed and not _moves(way, x):
                raise NotARotation(f"{way.guessed} does not say where the rows start")
            keys, mixed = None, ""
            if isinstance(result, tuple | list) and len(result) > 1 and "q, k" in way.words:
                channels = way.narrow[2] if way.narrow else width
                keys = _turn(replace(way, of_keys=True), channels, words)
                keys(x[..., :channels], spots)
                if keys.chunk is not None:  # several rows at once tell more than one by one
                    keys.chunk(x[..., :channels], spots)
                keys = _beside(keys, replace(way, of_keys=True), x[..., :channels], spots)
                mixed = "" if state else _mixed(way, x, spots)
    except Exception as error:  # whatever somebody else's code does with a wrong call
        tried.append(f"{words}: {said(error)}")
        return None
    found = replace(
        _turn(way, width, words),
        keys=keys,
        mixed=mixed,
        left=way.left,
        state=state,
        values=way.values is not None,
        way=way,
    )
    return _beside(found, way, x, spots)


def _beside(turn: Turn, way: Way, x: Tensor, spots: Tensor) -> Turn:
    """The same, of queries or of keys, with what it does besides turning rows one by one."""
    if way.sides:
        return replace(turn, apart=lambda x, first: _apart(way, x, first))
    if way.form is None or way.consecutive:
        return turn
    own = torch.stack([spots + 5 * i for i in range(len(x))])
    if _first_row(way, x, own):
        return replace(turn, first_row=True)

    def formed(x: Tensor, positions: Tensor) -> Tensor:
        return _formed(way, x, positions)

    return _with_axes(turn, formed)


STATE = (
    "it keeps state: the same call, made again, turns otherwise; positions are counted on from "
    "call to call, perhaps, and never start again"
)


STALE = (
    "it keeps state: angles of the last call are used again for one of as many rows, whatever its "
    "positions: a cache that is made anew only when the length changes"
)


def _is_stale(way: Way, x: Tensor) -> bool:
    """Whether other positions change nothing, until a call of fewer rows has come between."""
    if not way.explicit or way.consecutive:
        return False
    spots, fewer = torch.tensor(_SPOTS).flip(0) + 2, torch.arange(3)
    before = way.read(way.call(way.inputs(x), spots), x)
    try:
        way.call(way.inputs(x[:, :3]), fewer)
    except Exception:  # it takes no other number of rows
        return False
    return not torch.allclose(before, way.read(way.call(way.inputs(x), spots), x), atol=1e-3)


def _moves(way: Way, x: Tensor) -> bool:
    """Whether two rows from 3 on turn as two neighbours, but the first, of a text from 0 on."""
    x = x[:, :1].repeat(1, 16, 1)
    text, later = (way.read(way.call(way.inputs(x), torch.arange(i, i + 16)), x) for i in (0, 3))
    same = [torch.allclose(later[:, :2], text[:, i : i + 2], atol=1e-3) for i in range(15)]
    return any(same) and not same[0]


def _apart(way: Way, x: Tensor, first: int) -> Tensor:
    """The rows after the first few, which are hidden or a text of their own."""
    shown = torch.arange(x.shape[1] - first)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return way.read(way.call(way.inputs(x), shown), x)[:, first:]


def _mixed(way: Way, x: Tensor, spots: Tensor) -> str:
    """Whether keys come out otherwise when only queries change, or the other way round."""
    given = way.inputs(x)
    queries, keys = queries_and_keys(given)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        as_they_are = way.call((queries, keys), spots)
        if way.values and way.values[0]:
            return "values are turned, too: only queries and keys are to be"
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


def _turns(turn: Turn, dtype: torch.dtype) -> bool:
    """Whether anything comes out otherwise than it went in."""
    x = torch.randn(1, 5, turn.head_dim, generator=torch.Generator().manual_seed(0)).to(dtype)
    return not torch.equal((turn.counted or turn)(x, torch.arange(5)), x)


def _first_row(way: Way, x: Tensor, own: Tensor) -> bool:
    """Whether it takes positions [b, n], and turns all rows of the batch by the first of them."""
    if not way.layout.startswith("b"):
        return False
    try:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            together = _formed(way, x, own)
            alone = _all(way, x, own[-1])[-1]
            by_first = _all(way, x, own[0])[-1]
    except Exception:  # it does not take them
        return False
    return torch.equal(together[-1], by_first) and not torch.allclose(by_first, alone, atol=1e-4)


def _turn(way: Way, width: int, words: str) -> Turn:
    if way.consecutive:
        whole = Turn(lambda x, p: _counted(way, x, p), width, words, False)
        chunk = Turn(lambda x, p: _all(way, x, p), width, words, True)
        one_by_one = Turn(lambda x, p: _one_by_one(way, x, p), width, words, True)
        return replace(one_by_one, counted=whole, chunk=chunk)
    if way.explicit:
        return Turn(lambda x, p: _all(way, x, p), width, words, True)
    return Turn(lambda x, p: _counted(way, x, p), width, words, False)


def _all(way: Way, x: Tensor, positions: Tensor) -> Tensor:
    if "b" in way.layout.split():
        return way.read(way.call(way.inputs(x), positions), x)
    rows = [row[None] for row in x]
    return torch.cat([way.read(way.call(way.inputs(r), positions), r) for r in rows])


def _formed(way: Way, x: Tensor, positions: Tensor) -> Tensor:
    """Called with positions as they are: of several texts, or three rows of one."""
    if "b" not in way.layout.split() and len(x) > 1:
        return torch.cat([_formed(way, row[None], positions) for row in x])
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return way.read(way.form(way.inputs(x), positions), x)


def _one_by_one(way: Way, x: Tensor, positions: Tensor) -> Tensor:
    """For a function that takes the first position only: one row a call."""
    rows = [_all(way, x[:, i : i + 1], positions[i : i + 1]) for i in range(len(positions))]
    return torch.cat(rows, dim=1)


LONG = 1024
"""Up to how many rows a text is short."""


def _counted(way: Way, x: Tensor, positions: Tensor) -> Tensor:
    """For a function that counts rows from 0: put each vector into its row, among zeros.

    A long text comes with one head: two take twice as long, and were seen to be equal before.
    """
    if (positions < 0).any():
        raise NotARotation("it counts its rows, so no position is negative")
    length = int(positions.max()) + 1
    if length > LONG and "h" in way.layout.split():
        way = replace(way, heads=1)
    step = max(1, ELEMENTS // (length * x.shape[-1] * way.heads))
    parts = []
    for part in x.split(step):
        whole = part.new_zeros(len(part), length, part.shape[-1])
        whole[:, positions] = part
        parts.append(_all(way, whole, torch.arange(length))[:, positions])
    return torch.cat(parts)


def _tabled(way: Way, width: int | None, words: str, sample) -> Turn:
    columns = sample[0].shape[-1]
    form = form_of(*(t.reshape(-1, columns) for t in sample))

    def call(x: Tensor, positions: Tensor, *, of_keys: bool = False) -> Tensor:
        cos, sin = tables_of(way.call(x[:1, None], positions), len(positions))
        return applied(x, cos, sin, way.apply, form, of_keys=of_keys)

    dim = columns if form != "one column a pair" else 2 * columns
    dim = width if way.apply and width else dim  # a head may be wider than what turns
    words = f"{words}, giving cos and sin"

    def by_axes(x: Tensor, positions: Tensor, *, of_keys: bool = False) -> Tensor:
        given = way.form(x[:1, None], positions)
        cos, sin = tables_of(given, positions.shape[-1])
        return applied(x, cos, sin, way.apply, form, of_keys=of_keys)

    keys = _keys_of(call, dim, words) if takes_keys(way.apply) else None
    if keys is not None:
        keys = _with_axes(keys, functools.partial(by_axes, of_keys=True))
    found = Turn(call, dim, words, True, "" if way.apply else form, keys)
    return _with_axes(replace(found, first_row=_first_tables(way, dim)), by_axes)


def _first_tables(way: Way, dim: int) -> bool:
    """Whether tables for positions [b, n] are the first text's for all, of a few rows or of one."""
    if way.form is None or "[3, 1, n]" in way.words:
        return False
    for n in (7, 1):
        own = torch.tensor([5, 0, 9])[:, None] + torch.arange(n)
        try:
            cos, _ = way.form(torch.ones(3, 1, n, dim), own)
            alone, _ = way.form(torch.ones(1, 1, n, dim), own[1:2])
            shared = cos.shape[:2] == (3, n) and torch.equal(cos[1], cos[0])
            if shared and not torch.allclose(alone[0], cos[0], atol=1e-4):
                return True
        except Exception:  # it does not take them, or gives no two tables
            continue
    return False


def _with_axes(turn: Turn, formed: Callable[[Tensor, Tensor], Tensor]) -> Turn:
    """The same, with three rows of positions, if it takes them: equal ones must be as one."""
    x = torch.randn(1, 5, turn.head_dim, generator=torch.Generator().manual_seed(0))
    spots = torch.tensor(_SPOTS)
    for shape in ((3, 1, -1), (3, -1)):

        def axes(x: Tensor, positions: Tensor, shape: tuple = shape) -> Tensor:
            return formed(x, positions.reshape(shape))

        try:
            if torch.allclose(axes(x, spots.expand(3, -1)), turn(x, spots), atol=1e-4):
                return replace(turn, axes=axes, three=shape)
        except Exception:  # it does not take them
            continue
    return turn


def _from_tables(cos: object, sin: object, *, apply: Callable | None) -> Turn:
    if not (isinstance(cos, Tensor) and isinstance(sin, Tensor)):
        kinds = " and ".join(type(t).__name__ for t in (cos, sin))
        raise NotARotation(f"cos and sin must be tensors [n, columns], got {kinds}")
    cos, sin = (t.squeeze() for t in (cos, sin))
    if cos.ndim != 2 or cos.shape != sin.shape:
        raise NotARotation(
            f"cos and sin must be tables of one shape [n, columns], got {tuple(cos.shape)} "
            f"and {tuple(sin.shape)}"
        )
    form = form_of(cos, sin)
    dim = cos.shape[-1] * (2 if form == "one column a pair" else 1)

    def call(x: Tensor, positions: Tensor, *, of_keys: bool = False) -> Tensor:
        if positions.max() >= len(cos):
            raise IndexError(f"the tables have {len(cos)} rows")
        return applied(x, cos[positions], sin[positions], apply, form, of_keys=of_keys)

    keys = _keys_of(call, dim, "tables cos and sin") if takes_keys(apply) else None
    return Turn(call, dim, "tables cos and sin", True, "" if apply else form, keys)


def _keys_of(call: Callable, dim: int, words: str) -> Turn:
    return Turn(lambda x, p: call(x, p, of_keys=True), dim, words, True)
