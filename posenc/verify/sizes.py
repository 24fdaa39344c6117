"""Other sizes: what agreed in small calls is called again with one row, with thousands, many heads.

A rotation turns each row by its position, however many rows, heads and texts come with it. So one
rule stands here for all sizes: each row must come out as in a call of a few rows, in the form in
which the rotation was looked at. Sizes come alone first, so that what is wrong has a name, and
together at last; positions leave gaps, start again and go far, wherever that is taken. What is
wrong is named in `faults`.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from posenc.verify.faults import INTERLEAVE, fault_of, latest
from posenc.verify.turn import OtherShape, Turn, said
from posenc.verify.ways import Way

FEW = 15
"""Rows of a small call, beside the last one of the text."""
DECODE = "look at what is done for a single row, as in decoding"
MIXED = "heads and rows are mixed, as by reshape where transpose is meant"
REPEATED = f"positions are repeated in another order than heads: {INTERLEAVE}"
VIEW = "memory is read as if it were contiguous: heed the strides, or call .contiguous()"
TEXTS = 9
NEAR, LATER = 5, 70
"""Where a single row stands that cannot be far; and where some hundred rows in order begin."""


@dataclass(frozen=True)
class Size:
    """One size of call, [texts, heads, rows]; all vectors in it differ.

    Args:
        texts: how many.
        heads: of queries.
        of_keys: heads of keys.
        rows: of each text.
        own: whether each text has positions of its own.
        layout: another one than that in which the rotation was looked at.
        hint: where to look if rows come out otherwise.
        far: whether a row is far, and many do not follow each other; not so if that is refused.
        three: whether three rows of positions are given, which differ (M-RoPE).
        view: whether vectors are views that are not contiguous, as after a transpose.
    """

    texts: int = 1
    heads: int = 2
    of_keys: int = 2
    rows: int = 7
    own: bool = False
    layout: str = ""
    hint: str = ""
    far: bool = False
    three: bool = False
    view: bool = False

    def __str__(self) -> str:
        found = []
        if self.own:
            rows = "a decode step" if self.rows == 1 else "several rows"
            found.append(f"{self.texts} texts with positions of their own ({rows})")
        elif self.rows != 7:
            found.append("a single row (decoding)" if self.rows == 1 else f"{self.rows} rows")
        if self.view:
            found.append("views that are not contiguous")
        elif self.fewer or not found:
            of_keys = f" and {self.of_keys} of keys" if self.fewer else ""
            found.append(f"{self.heads} heads{of_keys}")
        found += ["three rows of positions that differ"] * self.three
        text = " with ".join(found[:1] + [" and ".join(found[1:])] * (len(found) > 1))
        return text + (f" as [{self.layout}]" if self.layout else "")

    @property
    def fewer(self) -> bool:
        """Whether many heads of queries come with fewer of keys."""
        return self.heads > max(2, self.of_keys)

    def easier(self) -> list["Size"]:
        """The same, and with less of what may be refused."""
        found = [self]
        if self.three:
            found.append(replace(self, three=False))
        if self.far:
            found.append(replace(found[-1], far=False))
        return found


@dataclass(frozen=True)
class Tried:
    """What became of other sizes.

    Args:
        wrong: a name and a hint, of the first size in which rows come out otherwise.
        taken: the sizes that were taken, in words.
        refused: those that were not, and with what words.
        undecided: those that give something of another shape, which cannot be compared.
    """

    wrong: tuple[str, str] | None
    taken: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    undecided: tuple[str, ...] = ()


def by_few(turn: Turn) -> Callable[[Tensor, Tensor], Tensor]:
    """The same rows in small calls; the last position is in each, as some heed the length.

    Positions are [n], or three rows [3, n].
    """

    def call(x: Tensor, positions: Tensor) -> Tensor:
        last, parts = latest(positions), []
        call = turn if positions.ndim == 1 else turn.axes
        for rows in torch.arange(x.shape[1]).split(FEW):
            filled = [*rows.tolist(), *[last] * max(1, 4 - len(rows))]
            parts.append(call(x[:, filled], positions[..., filled])[:, : len(rows)])
        return torch.cat(parts, dim=1)

    return call


def other_sizes(
    turn: Turn,
    right: list[Callable[[Tensor, Tensor], Tensor]],
    allowed: Callable[[Tensor], Tensor],
    *,
    far: int,
    long: bool = True,
    three: bool = False,
    dtype: torch.dtype = torch.float32,
) -> Tried:
    """Call it in other sizes, and hold each row against the same row in a small call.

    Args:
        turn: the rotation.
        right: what queries [m, n, d] come out as at positions [n], and keys, if they are known.
        allowed: what rounding explains at positions [n], for vectors whose entries are within 1.
        far: the farthest position that it takes.
        long: whether calls of hundreds of rows are made, too.
        three: whether three rows of positions that differ are known to be read as they should be.
        dtype: of the vectors handed over.
    """
    taken, refused, undecided = [], [], []
    equal = False  # whether it takes no fewer heads of keys
    for options in _sizes(turn, far, long=long, three=three):
        if equal and options[0].fewer:
            continue
        why, shapes = "", ""
        for size in [size for option in options for size in option.easier()]:
            vectors, positions = _vectors(turn, size, dtype), _positions(turn, size, far)
            try:
                if size.layout and _takes_any_width(turn, vectors, positions, size):
                    break  # it takes all that as one wide head
                seen = _called(turn, vectors, positions, size)
            except Exception as error:  # whatever somebody else's code does with other sizes
                why = said(error)
                if isinstance(error, OtherShape) and not size.own:  # it may take one start alone
                    shapes = shapes or f"{size}: {why}"
                continue
            fault = fault_of(vectors, seen, positions, right, allowed)
            if fault:
                named = f"{size}: {fault}", f"calls of a few rows are right: {size.hint}"
                return Tried(named, tuple(taken), tuple(refused))
            taken.append(str(size))
            break
        else:
            if options[0].layout:
                continue
            equal = equal or options[0].fewer
            if shapes:
                undecided.append(shapes)
            else:
                refused.append(f"{options[-1].easier()[-1]}: yours refuses that, {why}")
    return Tried(None, tuple(taken), tuple(refused), tuple(undecided))


def _sizes(turn: Turn, far: int, *, long: bool, three: bool) -> list[list[Size]]:
    """What is to be tried; of each list, the first size that is taken."""
    way = turn.way
    axes = way.layout.split() if way is not None else ["h"]
    narrow = way is not None and way.narrow is not None
    heads = way.heads if way is not None and "h" in axes else 1
    usual = Size(heads=heads, of_keys=1 if narrow else heads)
    decode = replace(usual, rows=1, far=True, hint=DECODE)
    found = [decode]
    if three:
        found.append(replace(decode, three=True))
    if long:
        blocks = "look for blocks, tiles or a cache of so many rows"
        counts = not turn.explicit or turn.counted is not None  # then no position comes again
        lengths = [min(n, far + 1) if counts else n for n in (300, 4097, 4096)]
        found += [
            replace(usual, rows=n, far=True, three=three and n == 4096, hint=blocks)
            for n in dict.fromkeys(lengths)
            if n > 20
        ]
    found.append(replace(usual, rows=2, hint="look at what is done for so few rows"))
    if way is None:
        return [[size] for size in found]
    found.append(replace(usual, view=True, hint=VIEW))
    own = way.form is not None and way.explicit and "b" in axes and "[3, n]" not in way.words
    if own:
        texts = replace(usual, texts=TEXTS, own=True, hint="look at whose positions are taken")
        step = replace(texts, rows=1, far=True, hint=f"{texts.hint}, and {DECODE}")
        found += [texts, step]
    many = _many_heads(way, step if own else decode, three=three) if "h" in axes else []
    if narrow or ("h" in axes and not way.words.startswith("f([")):  # not flattened, by its form
        return [*([size] for size in found), *many]
    flat = Size(1, 5, 5, layout="b n (h d)" if "b" in axes else "n (h d)", hint=MIXED)
    found.append(flat)
    if "b" in axes and "h" in axes:
        found.append(replace(flat, layout="n (h d)"))
    if way.values is None and "q, k" in way.words:
        found.append(replace(flat, heads=6, of_keys=2))
    if own and "h" not in axes:
        found.append(replace(flat, texts=3, own=True))
        found.append(replace(flat, texts=3, own=True, layout="(b h) n d", hint=REPEATED))
    return [*([size] for size in found), *many]


def _many_heads(way: Way, decode: Size, *, three: bool) -> list[list[Size]]:
    """As many heads of keys as of queries, fewer, and one; less of both if that is refused.

    Fewer come once more in a decode step, with all that a served model has at once.
    """
    hint = f"look at how heads are counted, and cut out; or {MIXED}"
    one = way.narrow is not None and (way.narrow[1] == 0 or way.narrow[2] < way.narrow[0])
    single = [(40, 1), (12, 1), (6, 1)]
    pairs = [] if one else [[(40, 40), (12, 12), (6, 6)]]
    fewer = single if one else [(40, 8), (12, 4), (6, 3)]
    if way.values is not None or "q, k" not in way.words:
        return [[Size(1, q, k, hint=hint) for q, k in each] for each in pairs]
    pairs += [fewer] if one else [fewer, single]
    found = [[Size(1, q, k, hint=hint) for q, k in each] for each in pairs]
    three = three and (decode.texts == 1 or "[3, 1, n]" in way.words)
    steps = [replace(decode, heads=q, of_keys=k, three=three) for q, k in fewer]
    alone = [replace(step, texts=1, own=False) for step in steps] if decode.own else []
    return [*found, [*steps, *alone]]


def _vectors(turn: Turn, size: Size, dtype: torch.dtype) -> list[Tensor]:
    """Queries and keys [b, h, n, d], within 1."""
    width = turn.keys.head_dim if turn.keys is not None else turn.head_dim
    noise = torch.Generator().manual_seed(10)
    shapes = ((size.heads, turn.head_dim), (size.of_keys, width))
    made = (torch.rand(size.texts, h, size.rows, d, generator=noise) for h, d in shapes)
    return [(2 * x - 1).to(dtype) for x in made]


def _positions(turn: Turn, size: Size, far: int) -> Tensor:
    """[n], [b, n] if each text has its own, or [3, b, n]: no two follow, where that may be."""
    n, texts = size.rows, size.texts
    rows = torch.arange(n)
    if not turn.explicit:
        return rows
    if n == 1:
        spots = far - far * torch.arange(texts)[:, None] // TEXTS if size.far else _steps(size)
    elif turn.counted is not None and size.own:
        spots = _steps(size) + rows
    elif turn.counted is not None:
        end = far + 1 - n
        spots = (0 if not size.far else end if n > 300 else min(LATER, end)) + rows[None]
    elif n > 20 and not size.far:
        spots = rows[None] % (far + 1)
    elif n == 4097:  # texts in one row that rise, but start again, and leave a gap
        spots = torch.cat((rows[:1500], rows[:1500] + 7, far - rows[: n - 3000].flip(0)))
        spots = (spots % (far + 1))[None]
    else:
        noise = torch.Generator().manual_seed(size.heads + size.of_keys)
        most = far if n > 300 else min(far, 20 + 2 * n)
        spots = torch.randint(1, most + 1, (texts, n), generator=noise)
        spots[:, -1] = 3  # the last one alone must not tell which call it is
        spots[:, 0] = most
    if size.three:
        return torch.stack([spots, spots // 2, spots // 5])
    return spots if size.own else spots[0]


def _steps(size: Size) -> Tensor:
    """Near positions [b, 1], each text's its own."""
    return NEAR + 3 * torch.arange(size.texts)[:, None]


def _called(turn: Turn, vectors: list[Tensor], positions: Tensor, size: Size) -> list[Tensor]:
    """What comes out of one call, [b, h, n, d]; queries, and keys if there are any."""
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if turn.way is not None:
            if size.three and size.texts == 1:
                positions = positions.reshape(turn.three)
            return turn.way.sized(
                *vectors, positions, size.layout, three=size.three, view=size.view
            )
        each = zip((turn, turn.keys), vectors, strict=True)
        if size.three:
            return [one.axes(x[0], positions[:, 0])[None] for one, x in each if one is not None]
        return [one(x[0], positions)[None] for one, x in each if one is not None]


def _takes_any_width(turn: Turn, vectors: list[Tensor], positions: Tensor, size: Size) -> bool:
    """Whether half a head more is taken, too: then nothing says that these are several heads."""
    if "(h d)" not in size.layout:
        return False
    wide = int((size.heads + 0.5) * turn.head_dim)
    odd = [x.new_ones(size.texts, 1, size.rows, wide) for x in vectors]
    try:
        _called(turn, odd, positions, size)
    except Exception:  # whatever somebody else's code does with another width
        return False
    return True
