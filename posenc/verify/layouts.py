"""Where texts, heads, rows and channels stand in the tensors that a rotation takes."""

import torch
from torch import Tensor

from posenc.verify.turn import NotARotation

LAYOUTS = ("b h n d", "b n h d", "b n d", "n h d", "h n d", "n d", "n b h d")
_HEADS = {"b h n d": 1, "b n h d": 2, "n h d": 1, "h n d": 0, "n b h d": 2}


def laid_out(x: Tensor, layout: str, heads: int = 2) -> Tensor:
    """[m, n, d] in a layout, with equal heads where it has heads; one set without a batch.

    Always a copy: somebody else's code may write into it.
    """
    match layout:
        case "b h n d":
            return x[:, None].repeat(1, heads, 1, 1)
        case "b n h d":
            return x[:, :, None].repeat(1, 1, heads, 1)
        case "b n d" | "tables":
            return x.clone()
        case "n b h d":
            return x.transpose(0, 1)[:, :, None].repeat(1, 1, heads, 1)
        case "n h d":
            return x[0][:, None].repeat(1, heads, 1)
        case "h n d":
            return x[0][None].repeat(heads, 1, 1)
        case _:
            return x[0].clone()


def read(result: object, x: Tensor, layout: str, heads: int) -> Tensor:
    """What came back in a layout, as [m, n, d]."""
    wanted = laid_out(x, layout, heads)
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
