"""Somebody else's rotation in one form: called with vectors [m, n, d] and positions [n]."""

import textwrap
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from posenc.verify.ways import Way

ELEMENTS = 2**25  # how many to hand over at a time, to functions that count rows themselves


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
        axes: the same with positions [3, n] that differ, for one that takes three rows (M-RoPE).
        three: the shape in which it takes these rows.
        way: how the original is called, if it is a function of vectors: `posenc.verify.ways.Way`.
        mixed: how queries, keys and values get into each other, "" if they do not.
        broken: why no way of calling it turns rows by their own positions, "" if one does.
        apart: for one that asks for a mask or the ends of texts: the same, with x [m, n, d] and
            how many of the first rows are hidden, or are a text of their own.
        chunk: for one that takes the first position only: the same, with several rows in a call.
        left: arguments that keep their defaults and may be positions, as `name=default`.
        guess: whether wider heads are taken, too, of which no more channels turn.
        values: whether values are given, and looked at.
        put_back: for an instance, which is probed in a copy: makes that as it was at first.
        state: what is seen if the same call, made again, gives something else, "" otherwise.
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
    way: "Way | None" = None
    mixed: str = ""
    broken: str = ""
    apart: Callable[[Tensor, int], Tensor] | None = None
    chunk: Callable[[Tensor, Tensor], Tensor] | None = None
    left: tuple[str, ...] = ()
    state: str = ""
    guess: bool = False
    values: bool = False
    three: tuple[int, ...] = ()
    put_back: Callable[[], None] | None = None

    def __call__(self, x: Tensor, positions: Tensor) -> Tensor:
        """Turn x; without gradients or warnings."""
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.call(x, positions)

    def start_anew(self) -> None:
        """Forget what calls have left in the instance, as tables that grow, if it was copied."""
        if self.put_back is not None:
            self.put_back()


class NotARotation(ValueError):
    """It cannot be called as a rotation; the message says what was tried."""


class OtherShape(NotARotation):
    """What comes back has not the shape of what was handed over."""


def said(error: Exception) -> str:
    """An error in one short line."""
    kind = "" if isinstance(error, NotARotation) else f"{type(error).__name__}: "
    return kind + textwrap.shorten(str(error).partition(chr(10))[0], 140, placeholder=" ...")
