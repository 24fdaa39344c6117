"""Tables of encodings, one row a position: what they are, from their numbers alone."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from posenc.verify.measure import frequencies
from posenc.verify.names import name, number

Found = tuple[dict, dict, tuple, tuple]  # facts, data, warnings, unknown


def identify_table(table: Tensor) -> Found:
    """Name a table of encodings [n, dim], row p for position p."""
    table = table.detach().double()
    if table.ndim != 2 or table.shape[-1] % 2 or len(table) < 4:
        raise ValueError(
            f"table must be [n, dim], n at least 4, dim even, got {tuple(table.shape)}"
        )
    warnings, facts, data = [], {}, {}
    padded = bool((table[0] == 0).all())
    rows = table[1:] if padded else table
    for layout, cosine_first in (
        ("interleaved", False),
        ("half", False),
        ("interleaved", True),
        ("half", True),
    ):
        one, two = (rows[:, 0::2], rows[:, 1::2]) if layout == "interleaved" else rows.chunk(2, -1)
        sin, cos = (two, one) if cosine_first else (one, two)
        size = torch.hypot(sin, cos)
        scale = size.mean().item()
        fits = bool((size - scale).abs().max() <= 1e-2 * scale)
        if not fits:
            continue
        inv_freq, start, left, sure = _table_frequencies(torch.atan2(sin, cos))
        if left.abs().max() > 0.05 or not (inv_freq > 0).all():
            continue
        named = name(inv_freq, sure, head_dim=table.shape[-1])
        offset = round((start[0] / inv_freq[0]).item(), 3) + 0.0
        facts = {
            "form": "sinusoidal",
            "layout": f"{layout}, {'cosine' if cosine_first else 'sine'} first",
            "frequencies": str(named),
            "size": number(round(scale, 6)),
            "offset": f"{offset:g}" + ("; row 0 is all zeros, for padding" * padded),
        }
        if offset and not padded:
            warnings.append(f"row 0 is position {offset:g}")
        data = {
            "method": "sinusoidal",
            "layout": layout,
            "cosine_first": cosine_first,
            "base": named.base,
            "scaling": named.scaling,
            "size": scale,
            "offset": offset,
            "padding_row": padded,
        }
        return facts, data, tuple(warnings), ()
    facts = {"form": "no sines and cosines of a position: learned, perhaps"}
    return facts, {"method": "unknown"}, (), ("what was learned",)


def _table_frequencies(angles: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    inv_freq, start, _, sure = frequencies(angles, tuple(range(len(angles))))
    near = min(len(angles), 64)
    at = torch.arange(near, dtype=torch.float64)[:, None]
    left = torch.remainder(angles[:near] - start - at * inv_freq + math.pi, 2 * math.pi) - math.pi
    return inv_freq, start, left, sure
