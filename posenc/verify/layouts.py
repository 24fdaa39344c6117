"""Where texts, heads, rows and channels stand in the tensors that a rotation takes.

A layout names its axes in order, "b h n d"; "1" is an axis of one text, where more are refused.
"""

import math
import re

import torch
from torch import Tensor

from posenc.verify.turn import NotARotation, OtherShape

LAYOUTS = ("b h n d", "b n h d", "b n d", "n h d", "h n d", "n d", "n b h d")
LAYOUTS += ("1 h n d", "1 n h d", "1 n d")


def arranged(x: Tensor, layout: str) -> Tensor:
    """Texts, heads, rows and channels [b, h, n, d] in a layout; axes in brackets become one.

    Of texts or heads that the layout has no axis for, the first is taken. Always a copy: somebody
    else's code may write into it.
    """
    names, groups = _axes(layout)
    x = x[tuple(slice(None) if name in names else 0 for name in "bhnd")]
    kept = [name for name in "bhnd" if name in names]
    x = x.permute([kept.index(name) for name in names])
    sizes = iter(x.shape)
    shape = [math.prod(next(sizes) for _ in group) for group in groups]
    return x.clone(memory_format=torch.contiguous_format).reshape(shape)


def not_contiguous(x: Tensor) -> Tensor:
    """The same as a view: of a transpose, or of what is wider, as a part of a projection."""
    if x.ndim > 2:
        return x.transpose(-3, -2).contiguous().transpose(-3, -2)
    return torch.cat((x, x), dim=-1)[..., : x.shape[-1]]


def rearranged(result: object, x: Tensor, layout: str) -> Tensor:
    """What came back for x [b, h, n, d] in a layout, as [b, h, n, d]; one where it has no axis."""
    wanted = arranged(x, layout).shape
    if not isinstance(result, Tensor) or result.shape != wanted:
        shape = tuple(result.shape) if isinstance(result, Tensor) else type(result).__name__
        raise OtherShape(f"it gives {shape} for {tuple(wanted)}")
    if result.numel() and not all(t.isfinite() for t in result.aminmax()):
        raise NotARotation("it gives numbers that are not finite")
    names, _ = _axes(layout)
    result = result.reshape([x.shape["bhnd".index(name)] for name in names])
    kept = [name for name in "bhnd" if name in names]
    result = result.permute([names.index(name) for name in kept])
    for axis, name in enumerate("bhnd"):
        result = result if name in kept else result.unsqueeze(axis)
    return result


def _axes(layout: str) -> tuple[list[str], list[list[str]]]:
    """The axes by name, and those that are one together."""
    groups = re.findall(r"\(.*?\)|\w+", "b n d" if layout == "tables" else layout)
    split = [group.strip("()1").split() for group in groups]
    return [name for group in split for name in group], split


def laid_out(x: Tensor, layout: str, heads: int = 2) -> Tensor:
    """[m, n, d] in a layout, with equal heads where it has heads; one set without a batch."""
    return arranged(x[:, None].expand(-1, max(heads, 1), -1, -1), layout)


def read(result: object, x: Tensor, layout: str, heads: int) -> Tensor:
    """What came back in a layout, as [m, n, d]."""
    result, *others = rearranged(result, x[:, None].expand(-1, heads, -1, -1), layout).unbind(1)
    if not all(torch.equal(result, other) for other in others):
        raise NotARotation("equal heads come out different: these are not its axes")
    return result
