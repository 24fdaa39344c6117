"""Tables of encodings, one row a position: what they are, from their numbers alone."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from posenc.verify.measure import frequencies
from posenc.verify.names import name, number

Found = tuple[dict, dict, tuple, tuple]  # facts, data, warnings, unknown


def identify_table(table: Tensor) -> Found:
    """Name a table of encodings: [n, dim], one row a position; or a grid, [rows, columns, dim]."""
    table = table.detach().double()
    if table.ndim == 4 and len(table) == 1:
        table = table[0]
    if table.ndim == 3:
        table = table.flatten(0, 1)
    if table.ndim != 2 or table.shape[-1] % 2 or len(table) < 4:
        raise ValueError(
            f"table must be [n, dim], n at least 4, dim even, got {tuple(table.shape)}"
        )
    return _of_positions(table) or _of_grid(table) or _of_columns(table) or _LEARNED


_LEARNED = (
    {"form": "no sines and cosines of a position: learned, perhaps"},
    {"method": "unknown"},
    (),
    ("what was learned",),
)


def _of_positions(table: Tensor) -> Found | None:
    """Pairs of sine and cosine, each turning by one angle from row to row."""
    warnings, facts, data = [], {}, {}
    empty = (table[:4] == 0).all(dim=-1).nonzero().flatten().tolist()
    rows = table[empty[0] + 1 :] if empty else table
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
            "offset": f"{offset:g}"
            + (f"; row {empty[0]} is all zeros, for padding" if empty else ""),
        }
        if offset and not empty:
            warnings.append(
                f"row 0 is position {offset:g}"
                + " (fairseq's, from its first row after padding on)" * (offset == 2)
            )
        data = {
            "method": "sinusoidal",
            "layout": layout,
            "cosine_first": cosine_first,
            "base": named.base,
            "scaling": named.scaling,
            "settings": dict(named.settings),
            "size": scale,
            "offset": offset,
            "padding_row": bool(empty),
        }
        return facts, data, tuple(warnings), ()
    return None


def _of_grid(table: Tensor) -> Found | None:
    """One half of the channels the same along each row of a grid, the other down each column."""
    n, dim = table.shape
    for width in (w for w in range(2, n) if n % w == 0 and n // w > 1):
        halves = table.reshape(n // width, width, 2, dim // 2).unbind(dim=2)
        for first, names in enumerate((("rows", "columns"), ("columns", "rows"))):
            down, along = halves[first], halves[1 - first]
            if torch.equal(down, down[:, :1].expand_as(down)) and torch.equal(
                along, along[:1].expand_as(along)
            ):
                return _axial({"rows": down[:, 0], "columns": along[0]}, names)
    return None


def _axial(tables: dict[str, Tensor], names: tuple[str, str]) -> Found:
    half = tables["rows"].shape[1]
    grid = " by ".join(str(len(tables[axis])) for axis in ("rows", "columns"))
    facts = {
        "form": f"axial: {names[0]} in channels 0 to {half - 1}, {names[1]} in {half} to "
        f"{2 * half - 1}, a grid of {grid}"
    }
    data: dict = {"method": "axial", "first": names[0]}
    warnings, unknown, found = [], [], {}
    for axis, table in tables.items():
        if len(table) < 4 or half % 2:
            unknown.append(f"what {axis} have: they are too few, or of an odd number of channels")
            continue
        found[axis] = _of_axis(table)
        data[axis] = found[axis][1]
    if len(found) == 2 and found["rows"][0] == found["columns"][0]:
        found = {"each axis": found["rows"]}
    for axis, (own_facts, _, own_warnings, own_unknown) in found.items():
        facts |= {f"{axis}: {key}": value for key, value in own_facts.items()}
        warnings += [f"{axis}: {text}" for text in own_warnings]
        unknown += [f"{axis}: {text}" for text in own_unknown]
    return facts, data, tuple(warnings), tuple(unknown)


def _of_axis(table: Tensor) -> Found:
    """One axis of a grid, which may be counted from 1, and in steps that make it of one length."""
    facts, data, warnings, unknown = _of_positions(table) or _of_columns(table) or _LEARNED
    factor = data.get("settings", {}).get("factor")
    if factor:
        full = math.isclose(1 / factor, 2 * math.pi / len(table), rel_tol=1e-3)
        of = f", 2 pi/{len(table)}: normalised" if full else ""
        facts = {**facts, "one step": f"counts as {number(1 / factor)}{of}"}
    return facts, data, tuple(text for text in warnings if "row 0" not in text), unknown


def _of_columns(table: Tensor) -> Found | None:
    """Each column a sine or cosine by itself, but the two of a pair of different frequencies.

    A sampled sine fits x[p+1] + x[p-1] = 2 cos(w) x[p].
    """
    before, here, after = table[:-2], table[1:-1], table[2:]
    cosine = (here * (before + after)).sum(0) / (2 * here.square().sum(0)).clamp(min=1e-30)
    left = (before + after - 2 * cosine * here).abs().amax(dim=0)
    if (left > 1e-4 * table.abs().amax()).any() or table.abs().amax() == 0:
        return None
    speed = cosine.clamp(-1, 1).arccos()
    pairs = {"interleaved": (speed[0::2], speed[1::2]), "half": speed.chunk(2)}
    layout, (one, two) = min(pairs.items(), key=lambda item: (item[1][0] - item[1][1]).abs().max())
    if (one - two).abs().max() < 1e-2:
        return None
    facts = {"form": "sines and cosines, but no pairs", "layout": f"{layout}, perhaps"}
    facts["first frequencies"] = ", ".join(number(round(w, 4)) for w in speed[:4].tolist())
    warning = (
        "the sine and the cosine of a pair have different frequencies: the exponent counts "
        "columns, not pairs"
    )
    return facts, {"method": "unknown", "frequencies": speed.tolist()}, (warning,), ()


def _table_frequencies(angles: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    inv_freq, start, _, sure = frequencies(angles, tuple(range(len(angles))))
    near = min(len(angles), 64)
    at = torch.arange(near, dtype=torch.float64)[:, None]
    left = torch.remainder(angles[:near] - start - at * inv_freq + math.pi, 2 * math.pi) - math.pi
    return inv_freq, start, left, sure
