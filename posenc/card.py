"""The report card: six desirable properties of an encoding, each measured by a stated rule."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from posenc._validate import require_positive

_TINY = 1e-12


@dataclass(frozen=True)
class Grade:
    """One line of a report card: what was measured, the rule, and whether it was met."""

    name: str
    value: float
    rule: str
    passed: bool
    note: str = ""


@dataclass(frozen=True)
class ReportCard:
    """The six grades of one encoding; `card["unique"]` is one of them, `print(card)` shows all."""

    grades: tuple[Grade, ...]

    def __getitem__(self, name: str) -> Grade:
        for grade in self.grades:
            if grade.name == name:
                return grade
        raise KeyError(f"name must be one of {[g.name for g in self.grades]}, got {name!r}")

    def __str__(self) -> str:
        rows = [
            f"{g.name:<15} {'yes' if g.passed else 'NO':<4} {g.value:8.3f}   {g.note or g.rule}"
            for g in self.grades
        ]
        return "\n".join(rows)


def report_card(
    encoding: Callable[[Int[Tensor, " n"]], Float[Tensor, "n d"]], *, length: int = 128
) -> ReportCard:
    """Measure the properties that a positional encoding is usually asked for.

    With E = encoding, positions 0 ... length - 1 in range, and spread = the mean distance of
    E(p) and E(q) over all pairs in range:

    unique         smallest |E(p) - E(q)|, p != q, over spread              > 0.001
    bounded        largest |entry| up to 4 length, over the largest in range    <= 1.05
    deterministic  largest |E(p) alone among fewer - E(p) among all|, over spread   < 0.001
    generalizable  share of the positions length ... 4 length - 1 that it encodes by finite
                   vectors (0 if it refuses)                                = 1
    smooth         mean |E(p + 1) - E(p)| over spread                       < 0.5
    relative-aware error of the best affine map E(p) -> E(p + k) on positions it was not
                   fitted to, over spread; the worst of k = 1, 3, 8          < 0.05

    Beyond the range, "generalizable" asks only that vectors exist. Whether a model trained in
    range makes sense of them is a matter of training, not of the encoding alone.

    Args:
        encoding: function or module from positions [n] to vectors [n, d]. Each call's positions
            are a whole sequence, 0 ... n - 1 or a part of it.
        length: size of the range, at least 32.

    Returns:
        Six grades, in the order above. A property that cannot be measured because the encoding
        raises beyond its range is measured in range, and its note says so.

    Raises:
        TypeError: if length is not an int, or the encoding does not return a float tensor.
        ValueError: if length is below 32, or the encoding returns a wrong shape or non-finite
            numbers in range.

    Example:
        >>> from posenc import sinusoidal_encoding
        >>> card = report_card(lambda p: sinusoidal_encoding(p, 32))
        >>> card["bounded"].passed, card["smooth"].passed
        (True, True)
    """
    require_positive("length", length)
    if length < 32:
        raise ValueError(f"length must be at least 32, got {length}")
    with torch.no_grad():
        seen = _encode(encoding, torch.arange(length))
        beyond = _encode_beyond(encoding, length)
        shorter = _encode(encoding, torch.arange(length // 2))
    distance = torch.cdist(seen, seen, compute_mode="donot_use_mm_for_euclid_dist")
    off_diagonal = ~torch.eye(length, dtype=torch.bool)
    spread = distance[off_diagonal].mean().clamp(min=_TINY)

    refused = "" if beyond is not None else "measured in range: it refuses longer sequences"
    finite = beyond is not None and beyond.isfinite().all(dim=-1)[length:]
    everything = seen if beyond is None else beyond
    growth = everything.nan_to_num(torch.inf).abs().max() / seen.abs().max().clamp(min=_TINY)
    changed = (shorter - seen[: length // 2]).abs().max() / spread
    step = seen.diff(dim=0).norm(dim=-1).mean() / spread
    share = finite.double().mean() if beyond is not None else torch.tensor(0.0)
    shift = max(_shift_error(seen, k) for k in (1, 3, 8)) / spread

    def grade(name: str, value: Tensor, rule: str, passed: Tensor, note: str = "") -> Grade:
        return Grade(name, value.item(), rule, bool(passed), note)

    closest = distance[off_diagonal].min() / spread
    return ReportCard(
        (
            grade("unique", closest, "closest pair > 0.001 of the spread", closest > 1e-3),
            grade("bounded", growth, "growth up to 4x the length <= 1.05", growth <= 1.05, refused),
            grade("deterministic", changed, "change in a shorter sequence < 0.001", changed < 1e-3),
            grade("generalizable", share, "share of unseen positions encoded = 1", share == 1),
            grade("smooth", step, "mean step < 0.5 of the spread", step < 0.5),
            grade("relative-aware", shift, "error of an affine shift < 0.05", shift < 0.05),
        )
    )


def _encode(encoding: Callable[[Tensor], Tensor], positions: Tensor) -> Tensor:
    out = _one_row_each(encoding(positions), positions)
    if not out.isfinite().all():
        raise ValueError(
            f"encoding must return finite numbers in range, got {out[~out.isfinite()][0]}"
        )
    return out


def _encode_beyond(encoding: Callable[[Tensor], Tensor], length: int) -> Tensor | None:
    positions = torch.arange(4 * length)
    try:
        out = encoding(positions)
    except (IndexError, ValueError, RuntimeError):
        return None
    return _one_row_each(out, positions)


def _one_row_each(out: Tensor, positions: Tensor) -> Tensor:
    if not isinstance(out, Tensor) or not out.is_floating_point():
        kind = out.dtype if isinstance(out, Tensor) else type(out).__name__
        raise TypeError(f"encoding must return a float tensor, got {kind}")
    if out.ndim != 2 or len(out) != len(positions):
        raise ValueError(
            f"encoding must return one row for each of {len(positions)} positions, "
            f"got shape {tuple(out.shape)}"
        )
    return out.double()


def _shift_error(seen: Tensor, offset: int) -> Tensor:
    """Fit E(p) -> E(p + offset) on two positions of three, and return the error on the third."""
    here = torch.cat((seen[:-offset], torch.ones(len(seen) - offset, 1, dtype=seen.dtype)), dim=-1)
    there = seen[offset:]
    held_out = torch.arange(len(here)) % 3 == 2
    fitted = torch.linalg.lstsq(here[~held_out], there[~held_out], driver="gelsd").solution
    return (here[held_out] @ fitted - there[held_out]).norm(dim=-1).mean()
