"""What is this? Probe a rotation, a bias, buckets or a table, and say what it does."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from posenc.scaling import query_gain
from posenc.verify.besides import (
    APART,
    CHUNKS,
    FIRST_ROW,
    RENUMBERED,
    TORN,
    XPOS,
    axes_of,
    chunks_differ,
    first_after_others,
    keys_slips,
    renumbers,
)
from posenc.verify.biases import identify_bias, is_slopes
from posenc.verify.buckets import identify_buckets
from posenc.verify.calls import as_turn
from posenc.verify.cos_sin import is_pairs
from posenc.verify.makers import Made, adds, made
from posenc.verify.measure import (
    ANGLE,
    RESULT,
    STILL,
    Measured,
    dtypes_differ,
    frequencies,
    measure,
    wrap,
)
from posenc.verify.names import Named, gain_name, name
from posenc.verify.rope import Rope
from posenc.verify.rules import near_rule
from posenc.verify.sizes import by_few, other_sizes
from posenc.verify.tables import identify_table
from posenc.verify.temperature import gains_told, grows, growth_of, rule_told
from posenc.verify.turn import NotARotation, Turn, said
from posenc.verify.ways import parameters_of

KINDS = ("rotation", "bias", "buckets", "table")


@dataclass(frozen=True)
class Identity:
    """What `identify` found; printing it shows everything.

    Args:
        kind: "rotation", "bias", "buckets" or "table"; "temperature" for queries that grow with
            their position and do not turn; "nothing known" if it is none of these.
        facts: what it does, by name, in words.
        data: the same as numbers, lists and words, for JSON.
        warnings: what looks like a mistake.
        unknown: what cannot be told from outside.
        rope: the rotation that behaves like it, to be called or compared; None for other kinds.
    """

    kind: str
    facts: dict[str, str]
    data: dict[str, object]
    warnings: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    rope: Rope | None = None

    def __str__(self) -> str:
        width = max((len(key) for key in self.facts), default=0)
        lines = [f"{self.kind}"]
        lines += [f"  {key:<{width}}  {value}" for key, value in self.facts.items()]
        told = self.facts.get("rotation", "").removeprefix("no: ")  # why it is none: said above
        lines += [
            f"  looks wrong: {text}"
            for text in self.warnings
            if not told or text.removeprefix("no rotation: ") != told
        ]
        lines += [f"  cannot tell: {text}" for text in self.unknown]
        return "\n".join(lines)

    __repr__ = __str__

    def as_dict(self) -> dict[str, object]:
        """Everything as JSON can hold it."""
        return {
            "kind": self.kind,
            **self.data,
            "warnings": list(self.warnings),
            "unknown": list(self.unknown),
        }


def identify(
    thing: object,
    *,
    kind: str | None = None,
    apply: Callable | None = None,
    dim: int | None = None,
    dtype: torch.dtype | None = None,
) -> Identity:
    """Say what somebody's positional code does, by probing it.

    A rotation gets unit vectors at positions from 0 to 100 003; the answer names pairing,
    direction, width, frequencies with base and scaling, gain, offset and precision, and says
    whether it heeds the positions it is given and whether angles depend on the length, or on the
    vectors' dtype. An instance is probed in a copy, and stays as it is.

    Args:
        thing: a rotation: any function of queries, in [b, h, n, d], [b, n, h, d] or fewer axes,
            with positions or without, or of queries and keys, or of `qkv`; a rotary module of
            transformers; a pair (cos, sin); a complex table. Or a tensor: a bias [h, q, k],
            scores' units; buckets [q, k], integers; a table of encodings [n, dim], or of a grid
            [rows, columns, dim]. Or a function that gives the buckets of relative positions
            (key - query), a tensor or one number at a time; or one that makes slopes, a bias, a
            table or cos and sin of sizes (heads, keys, rows, channels) or positions; or one that
            adds a table to vectors. A tensor or list [h] is taken for ALiBi's slopes.
        kind: "rotation", "bias", "buckets" or "table", if it cannot be seen from the thing.
        apply: the function that applies cos and sin, (q, k, cos, sin) or (x, cos, sin), for a
            module or tables that give only these.
        dim: channels of a head, if the function takes one width only that is not a usual one.
        dtype: of the vectors handed over; float32 and then bfloat16 if None.

    Returns:
        What was found, as text when printed, as data with `as_dict()`.

    Raises:
        ValueError: if kind is unknown, or no way of calling the thing works.

    Example:
        >>> from posenc import angles, inverse_frequencies, rotate
        >>> def mine(x, positions):
        ...     return rotate(x, angles(positions, inverse_frequencies(64)), pairing="half")
        >>> print(identify(mine).facts["pairing"])
        half: channel i turns with channel i + 32
    """
    if kind is not None and kind not in KINDS:
        raise ValueError(f"kind must be one of {KINDS}, got {kind!r}")
    thing = as_numbers(thing)
    kind = kind or kind_of(thing)
    if isinstance(thing, Tensor) or kind == "buckets":
        found = None
    elif kind == "rotation":
        found = adds(thing, dim=dim)
    else:
        found = adds(thing, dim=dim) or made(thing, dim=dim)
        if found is None or found.kind != kind:
            raise ValueError(
                f"a {kind} is identified as a tensor: call what makes it and give what it returns, "
                f"got {type(thing).__name__}"
            )
    if kind == "rotation" and found is None:
        first = dtype or torch.float32
        try:
            turn = as_turn(thing, apply=apply, dim=dim, dtype=first)
        except NotARotation:
            found = made(thing, dim=dim)
            if found is None:
                raise
        else:
            return _rotation(turn, first, low=torch.bfloat16 if dtype is None else None)
    if found is not None:
        return _of_made(found, identify(found.thing, kind=found.kind))
    function = {"bias": identify_bias, "buckets": identify_buckets, "table": identify_table}[kind]
    return Identity(kind, *function(thing))


def as_numbers(thing: object) -> object:
    """A list or an array of floating-point numbers as a tensor; anything else as it is."""
    if hasattr(thing, "__array__") and not isinstance(thing, Tensor):
        return torch.as_tensor(thing)
    if isinstance(thing, list | tuple) and len(thing) > 1:
        return torch.tensor(thing) if all(isinstance(x, float) for x in thing) else thing
    return thing


def _of_made(found: Made, identity: Identity) -> Identity:
    """The same, and how it was made."""
    facts = {"called as": found.words, **identity.facts}
    if found.times != 1:
        facts["vectors"] = f"multiplied by {found.times:g} before"
    return replace(identity, facts=facts)


def kind_of(thing: object) -> str:
    """Which of `KINDS` it is, from what it gives and its shape."""
    if callable(thing) and not isinstance(thing, Rope | Turn) and _gives_integers(thing):
        return "buckets"
    if not isinstance(thing, Tensor) or thing.is_complex() or is_pairs(thing):
        return "rotation"
    if not thing.is_floating_point():
        return "buckets"
    return "table" if thing.ndim == 2 or _is_grid(thing) or _is_of_one_text(thing) else "bias"


def _is_of_one_text(thing: Tensor) -> bool:
    """Whether [1, n, dim] or [n, 1, dim], as modules keep it, is a table of sines."""
    if thing.ndim != 3 or 1 not in thing.shape[:2] or thing.shape[-1] % 2 or is_slopes(thing):
        return False
    try:
        return identify_table(thing)[1]["method"] == "sinusoidal"
    except ValueError:  # it has no such shape
        return False


def _gives_integers(thing: Callable) -> bool:
    """Whether it makes an integer of each integer, as buckets do, and not the same one."""
    given = torch.arange(-9, 10)
    if len(parameters_of(thing)[1]) != 1:
        return _gives_an_integer_of_two(thing)
    try:
        made = thing(given)
    except Exception:  # it wants something else: one number, perhaps
        return _gives_integers_one_by_one(thing)
    if not isinstance(made, Tensor) or made.is_floating_point() or made.is_complex():
        return False
    return made.shape == given.shape and not torch.equal(made, given)


def _gives_an_integer_of_two(rule: Callable) -> bool:
    """Whether it is a rule of two positions: what is to be done with it, `by_distance` says."""
    given = range(-9, 10)
    try:
        made = [rule(r, 0) for r in given]
    except Exception:  # it wants something else
        return False
    return all(isinstance(one, int) for one in made) and len(set(made)) > 2 and made != list(given)


def _gives_integers_one_by_one(rule: Callable) -> bool:
    given = range(-9, 10)
    try:
        made = [rule(r) for r in given]
    except Exception:  # it wants something else
        return False
    return all(isinstance(one, int) for one in made) and made != list(given)


def _is_grid(thing: Tensor) -> bool:
    """Whether [rows, columns, dim] or [1, rows, columns, dim] is a table of sines of both."""
    if thing.ndim not in (3, 4) or thing.shape[-1] % 2 or not 0 < thing.abs().max() <= 1 + 1e-3:
        return False
    try:
        return identify_table(thing)[1]["method"] == "axial"
    except ValueError:  # it has no such shape
        return False


def _rotation(turn: Turn, dtype: torch.dtype, *, low: torch.dtype | None) -> Identity:
    if turn.broken:
        return _no_rotation(turn, turn.broken)
    seen = measure(turn, dtype=dtype)
    if isinstance(seen, str):
        grown = seen == STILL and not turn.mixed and grows(turn)
        return _grown(turn) if grown else _no_rotation(turn, turn.mixed or seen)
    if seen.bent:
        return _no_rotation(turn, turn.mixed or f"no rotation: {seen.bent}")
    rope, more = describe(seen, turn.head_dim)
    if low is not None and not turn.state:
        _say_of_low_precision(more, turn, low)
        turn.start_anew()
    facts, unknown, whole = more.facts, more.unknown, turn
    if UNEVEN in more.warnings and _spread(seen.gains) < 1e-3:
        rope, turn = _with_growth(more, rope, turn)
    more.data["keeps_state"] |= bool(turn.state)
    if turn.state:
        more.warnings.append(turn.state)
    if turn.keys is not None:
        told = keys_slips(turn)
        (unknown if told == XPOS else more.warnings).extend(told)
        if told == XPOS and UNEVEN in more.warnings:
            more.warnings.remove(UNEVEN)  # keys shrink as queries grow
    more.data["first_row_for_all"] = turn.first_row
    if turn.first_row:
        facts["positions"] += "; but only the first row of [b, n]"
        more.warnings.append(FIRST_ROW)
    if turn.axes is not None:
        more.data["axis"], told = axes_of(turn, rope)
        if told.startswith(TORN):
            more.warnings.append(told)
        else:
            facts["axes"] = told
    if turn.chunk is not None and not seen.ignores and chunks_differ(turn):
        more.warnings.append(CHUNKS)
    elif not seen.ignores and renumbers(turn):
        more.warnings.append(RENUMBERED)
    elif not (seen.ignores or turn.state or turn.first_row) and (
        told := _sizes_differ(whole, seen)
    ):
        more.warnings.append(told)
    if turn.apart is not None:
        what = "texts" if "seq" in turn.convention else "padding"
        more.data[what] = first = first_after_others(turn)
        if first is None:
            more.warnings.append(APART)
        else:
            facts[what] = "rows after it count from " + ("0" if first == 0 else "their own place")
    if turn.tables:
        unknown.append(_TABLES[turn.tables])
    if turn.guess:
        unknown.append(
            f"how wide a head is: {turn.head_dim} channels were tried, and wider heads keep the "
            "rest as it is; dim= tells the width"
        )
    if not turn.explicit and not seen.ignores:
        facts["positions"] = facts["positions"].replace("heeded", "rows count as 0, 1, 2, ...")
        given = f"{', '.join(turn.left)} left as they are" if turn.left else "it takes none"
        unknown.append(f"what happens at other positions than 0, 1, 2, ...: {given}")
    facts = {"called as": turn.convention, **facts}
    return Identity("rotation", facts, more.data, tuple(more.warnings), tuple(unknown), rope)


def _spread(gains: Tensor) -> float:
    """By how much gains differ among the pairs of one position."""
    return (gains - gains[:, :1]).abs().max().item()


def _with_growth(report: "_Report", rope: Rope | None, turn: Turn) -> tuple[Rope | None, Turn]:
    """Say by which rule vectors grow with their position; the rotation with it, and without."""
    growth = growth_of(turn)
    report.data["temperature"] = growth
    report.warnings.remove(UNEVEN)
    report.data["gain"] = None
    if growth is None:
        report.facts["gain"] = f"changes with the position: {gains_told(turn)}"
        report.warnings.append(GROWS)
        return rope, turn
    report.facts["gain"] = f"{rule_told(growth)}, attention temperature"

    def without(turned: Turn) -> Turn:
        def call(x: Tensor, positions: Tensor) -> Tensor:
            return (turned(x, positions) / query_gain(positions, **growth)[:, None]).to(x.dtype)

        return replace(turned, call=call)

    keys = turn.keys
    if keys is not None and grows(keys):
        report.warnings.append("keys grow with their position as queries do: only queries are to")
        keys = without(keys)
    rope = None if rope is None else rope.but(gain=1.0, temperature=growth)
    return rope, replace(without(turn), keys=keys)


def _grown(turn: Turn) -> Identity:
    """A layer without positions, whose queries grow with their position."""
    report = _Report({}, {"rotation": False}, [UNEVEN], [])
    still = Rope(torch.zeros(turn.head_dim // 2, dtype=torch.float64), turn.head_dim)
    rope, bare = _with_growth(report, still, turn)
    facts = {"called as": turn.convention, "rotation": "none: no positions (NoPE)", **report.facts}
    if turn.keys is not None:
        report.warnings += keys_slips(bare)
        facts["keys"] = "changed, too" if report.warnings else "come out as they went in"
    found = report.data, tuple(report.warnings), tuple(report.unknown)
    return Identity("temperature", facts, *found, rope)


def _sizes_differ(turn: Turn, seen: Measured) -> str:
    """What is wrong in calls of other sizes, "" if nothing is."""
    sides = [side for side in (turn, turn.keys) if side is not None]
    wrong = other_sizes(
        turn,
        [by_few(side) for side in sides],
        lambda positions: RESULT[torch.float32] + ANGLE * positions,
        far=seen.positions[-1],
        long=turn.counted is None,  # with a length that is heeded, rows one by one are no guide
        three=all(side.axes is not None for side in sides),
    ).wrong
    return "" if wrong is None else f"{wrong[0]}; {wrong[1]}"


def _say_of_low_precision(report: "_Report", turn: Turn, low: torch.dtype) -> None:
    """Whether vectors of a low precision are turned otherwise than those in float32."""
    name = str(low).removeprefix("torch.")
    report.data["depends_on_dtype"] = False
    try:
        first = dtypes_differ(turn, low)
        if first is None:
            return
        seen = measure(turn, dtype=low)
    except Exception as error:  # whatever somebody else's code does with other vectors
        report.unknown.append(f"what it does with vectors in {name}: {said(error)}")
        return
    fresh = [seen] if isinstance(seen, str) else describe(seen, turn.head_dim)[1].warnings
    why = next((text for text in fresh if text not in report.warnings), "")
    report.data["depends_on_dtype"] = True
    report.warnings.append(
        f"vectors in {name} are turned otherwise than those in float32, from position {first} on"
        + (f": {why}" if why else ", by more than rounding explains")
    )


def _no_rotation(turn: Turn, why: str) -> Identity:
    facts = {"called as": turn.convention, "rotation": f"no: {why.removeprefix('no rotation: ')}"}
    return Identity("nothing known", facts, {"rotation": False, "reason": why}, (why,))


GROWS = "vectors grow or shrink with their position, by a rule that is not known here"
UNEVEN = "the gain is not the same for all pairs and positions"
_TABLES = {
    "half": "the pairing in the model: the tables are laid out for halves, give `apply` to see",
    "interleaved": "the pairing in the model: the tables are laid out for neighbours, give `apply`",
    "one column a pair": "the pairing: tables with one column a pair fit any, give `apply` to see",
}


@dataclass
class _Report:
    """Facts, data, warnings and unknowns as they are gathered."""

    facts: dict
    data: dict
    warnings: list
    unknown: list


def describe(seen: Measured, head_dim: int) -> tuple[Rope | None, _Report]:
    """Turn what was measured into a description of it."""
    report = _Report({}, {"rotation": True, "head_dim": head_dim}, [], [])
    pairing, first = _pairing(seen, head_dim, report)
    rounded = _positions_rounded(seen)
    changing = (wrap(seen.angles[: seen.near] - seen.short).abs() > 1e-4).any().item()
    angles = seen.short if changing else seen.angles
    positions = seen.positions[: seen.near] if changing else seen.positions
    counted = _rounded(positions, rounded)
    fit = _frequencies if rounded is None else frequencies
    inv_freq, start, left, sure = fit(angles, counted, seen.noise)
    swapped = bool(((start - math.pi / 2).abs() < 1e-3).all())
    if swapped:
        report.warnings.append(
            "sin and cos are exchanged: at position 0 every pair is turned by 90°"
        )
        inv_freq, start = -inv_freq, torch.zeros_like(start)
    backwards = bool((inv_freq < 0).float().mean() > 0.5)
    inv_freq, start = (-inv_freq, -start) if backwards else (inv_freq, start)
    rough = left[: seen.near].abs().max().item() > 1e-3 + seen.noise
    jump = _jump_after_first(angles, positions, seen) if rough else None
    if jump:
        angles, by = jump
        inv_freq, start, left, sure = frequencies(angles, positions, seen.noise)
        rough = False
        report.warnings.append(
            f"position 0 is right, every later position p is turned as p {by:+d}: look at how the "
            "length of the cache is added"
        )
    if rough:  # not a frequency times a position: name what is near
        sure = sure.maximum(2.0**-8 * inv_freq.abs())
        spots = torch.tensor(positions[: seen.near], dtype=torch.float64)[:, None]
        explained = (left[: seen.near].abs() <= 1e-3 + seen.noise + 2.0**-7 * spots).all()
        rounding = "they were rounded to a low precision, or " if explained else ""
        if not (seen.representable and explained):  # it is said below
            report.warnings.append(
                f"angles are not position times frequency: {rounding}positions are changed on the "
                "way"
            )
    order = torch.argsort(inv_freq, descending=True, stable=True)
    widened, sure = _with_still_pairs(inv_freq, sure, seen, head_dim, pairing)
    sorted_already = bool((widened[:-1] >= widened[1:] - 1e-9).all())
    named = name(widened if sorted_already else inv_freq[order], sure, head_dim=head_dim)
    gain = seen.gains.mean().item()
    gain = 1.0 if abs(gain - 1) < seen.noise else gain
    _say_direction(report, backwards)
    _say_width(report, widened, seen, first, head_dim)
    _say_frequencies(report, named, widened, sorted_already)
    _say_gain(report, gain, seen, named)
    _say_offset(report, inv_freq, start)
    _say_positions(report, seen)
    turned = -angles if backwards or swapped else angles
    _say_precision(report, seen, named, widened, turned, left, positions, rounded)
    _say_length(report, changing, seen, head_dim)
    report.data["inv_freq"] = widened.tolist()
    if pairing is None:
        return None, report
    exact = named.exact if named.exact is not None and sorted_already else widened
    rope = Rope(exact, head_dim, pairing, gain if abs(gain - 1) > 1e-5 else 1.0, first, named.plain)
    return rope, report


def _frequencies(
    angles: Tensor, positions: tuple[int, ...], noise: float
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """As `frequencies`, from positions up to the one from which on they are wrong, if one is."""
    inv_freq, start, left, sure = frequencies(angles, positions, noise)
    jump = _jump(left, {p: row for row, p in enumerate(positions)})
    if jump is None:
        return inv_freq, start, left, sure
    right = tuple(p for p in positions if p <= jump[0])
    inv_freq, start, _, sure = frequencies(angles[: len(right)], right, noise)
    at = torch.tensor(positions, dtype=torch.float64)[:, None]
    return inv_freq, start, wrap(angles - start - at * inv_freq), sure


def _jump_after_first(
    angles: Tensor, positions: tuple[int, ...], seen: Measured
) -> tuple[Tensor, int] | None:
    """Whether all but position 0 count as p + c; the angles without that, and c."""
    near, later = seen.near, tuple(p - 1 for p in positions[1:])
    inv_freq, start, left, _ = frequencies(angles[1:], later, seen.noise)
    if left[: near - 1].abs().max() > 1e-3 + seen.noise or not inv_freq.abs().max():
        return None
    for by in (c for size in range(1, 9) for c in (size, -size)):
        if (wrap(start - angles[0] - (1 + by) * inv_freq).abs() < 1e-3).all():
            return torch.cat((angles[:1], wrap(angles[1:] - by * inv_freq))), by
    return None


def _pairing(seen: Measured, head_dim: int, report: _Report) -> tuple[str | None, int]:
    """Name the pairs of channels, in and out."""
    channels = sorted(c for pair in seen.pairs for c in pair[:2])
    first, count = channels[0], len(seen.pairs)
    known = {
        "half": [(i, i + count) * 2 for i in range(count)],
        "interleaved": [(2 * i, 2 * i + 1) * 2 for i in range(count)],
        "interleaved in, half out": [(2 * i, 2 * i + 1, i, i + count) for i in range(count)],
        "half in, interleaved out": [(i, i + count, 2 * i, 2 * i + 1) for i in range(count)],
    }
    pairs = sorted(tuple(c - first for c in pair) for pair in seen.pairs)
    wide = [(i, i + head_dim // 2) * 2 for i in range(count)]
    words = {
        "half": f"half: channel i turns with channel i + {count}",
        "interleaved": "interleaved: channels 2i and 2i + 1 turn together",
    }
    for pairing, expected in known.items():
        if pairs == expected:
            report.facts["pairing"] = words.get(pairing, pairing)
            report.data["pairing"] = pairing
            return (pairing if pairing != "half in, interleaved out" else None), first
    if pairs == wide and first == 0:
        report.facts["pairing"] = f"half: channel i turns with channel i + {head_dim // 2}"
        report.data["pairing"] = "half"
        return "half", 0
    shown = ", ".join(f"{a} with {b}" for a, b, *_ in sorted(seen.pairs)[:4])
    report.facts["pairing"] = f"unusual: channels {shown}, ..."
    report.data["pairing"] = [list(pair) for pair in seen.pairs]
    report.warnings.append("channels are paired in a way that no known model uses")
    return None, first


def _with_still_pairs(
    inv_freq: Tensor, sure: Tensor, seen: Measured, head_dim: int, pairing: str | None
) -> tuple[Tensor, Tensor]:
    """Frequencies 0 for pairs of the whole head that stay: proportional rotation."""
    count, whole = len(inv_freq), head_dim // 2
    a, b, *_ = min(seen.pairs)
    if pairing == "half" and count < whole and b - a == whole:
        rest = torch.zeros(whole - count, dtype=torch.float64)
        return torch.cat((inv_freq, rest)), torch.cat((sure, rest + 2.0**-22))
    return inv_freq, sure


def _say_direction(report: _Report, backwards: bool) -> None:
    report.facts["direction"] = "backwards (by minus the angle)" if backwards else "forwards"
    report.data["direction"] = -1 if backwards else 1
    if backwards:
        report.warnings.append(
            "it turns backwards: scores are right only if queries and keys both do, and weights "
            "were trained so"
        )


def _say_width(
    report: _Report, inv_freq: Tensor, seen: Measured, first: int, head_dim: int
) -> None:
    width = 2 * len(seen.pairs)
    which = "all" if width == head_dim else f"channels {first} to {first + width - 1}"
    if len(inv_freq) > len(seen.pairs):
        which = f"the first {len(seen.pairs)} of {len(inv_freq)} pairs (proportional)"
    report.facts["rotated"] = f"{width} of {head_dim} channels ({which})"
    report.data["rotary_dim"] = width
    report.data["first_channel"] = first
    if seen.still and (seen.still_gain is None or abs(seen.still_gain - 1) > 1e-3):
        report.warnings.append("channels that are not rotated do not come out as they went in")


def _say_frequencies(report: _Report, named: Named, inv_freq: Tensor, ordered: bool) -> None:
    report.facts["frequencies"] = str(named)
    if not ordered:
        report.facts["frequencies"] += "; the pairs are not in the order of their frequencies"
    data = {"base": named.base, "denominator": named.denominator, "scaling": named.scaling}
    report.data |= {**data, "settings": dict(named.settings), "frequencies_rounded": named.rounded}
    if named.rounded:
        report.warnings.append(
            f"the frequencies were rounded to {named.rounded}, as `.to()` of a whole model does"
        )
    told = _counted_from(named)
    if told:
        report.facts["frequencies"] += f"; {told}"
        report.warnings.append(f"{told}: the first frequency is to be 1")
    near = near_rule(inv_freq) if named.scaling == "unknown" else None
    if near:
        report.facts["frequencies"] = near[0]
        report.warnings.append(near[1])
    elif named.scaling == "unknown":
        report.unknown.append("which rule the frequencies follow")
        if not ordered:
            report.unknown.append("whether the order of pairs is meant: several axes, perhaps")


def _counted_from(named: Named) -> str:
    """Whether exponents begin one pair early or late, in words; "" if they begin at 0."""
    if named.scaling not in ("geometric", "linear") or named.exact is None or not named.base:
        return ""
    first = named.exact[0].log().item() / -math.log(named.base) * named.denominator / 2
    if abs(abs(first) - 1) > 1e-3:
        return ""
    sign = "-" if first < 0 else "+"
    return (
        f"exponents are -2(i {sign} 1)/{named.denominator} with i from 0 on, so that the first "
        f"frequency is {named.exact[0]:.4g}"
    )


def _say_gain(report: _Report, gain: float, seen: Measured, named: Named) -> None:
    report.facts["gain"] = gain_name(gain, named)
    report.data["gain"] = gain
    if (seen.gains - gain).abs().max() > 0.02 * gain:
        report.facts["gain"], report.data["gain"] = "changes with pair or position", None
        report.warnings.append(UNEVEN)


def _say_offset(report: _Report, inv_freq: Tensor, start: Tensor) -> None:
    offset = _offset(inv_freq, start)
    if not (wrap(start - offset * inv_freq).abs() < 1e-3).all():
        report.facts["offset"] = "position 0 turns in a way that no offset explains"
        report.warnings.append(report.facts["offset"])
        report.data["offset"] = None
        return
    offset = round(offset, 3) + 0.0
    report.data["offset"] = offset
    if not offset:
        report.facts["offset"] = "0"
        return
    counted = f"position p counts as p {'-' if offset < 0 else '+'} {abs(offset):g}"
    report.facts["offset"] = f"{offset:g}: {counted}"
    report.warnings.append(
        f"positions are counted from {offset:g}: {counted}; scores are right if queries and keys "
        "both do so, in every call, and wrong beside others that count from 0"
    )


def _offset(inv_freq: Tensor, start: Tensor) -> float:
    """The position as which 0 turns: roughly from the slowest pair, and finer from each faster."""
    found = 0.0
    turning = [i for i in inv_freq.argsort().tolist() if inv_freq[i] > 0]
    for i in turning:
        found += (wrap(start[i] - found * inv_freq[i]) / inv_freq[i]).item()
    return found


def _say_positions(report: _Report, seen: Measured) -> None:
    report.data["ignores_positions"] = seen.ignores
    report.facts["positions"] = "heeded"
    if seen.ignores:
        report.facts["positions"] = "ignored: rows count as 0, 1, 2, ... whatever is given"
        report.warnings.append(
            "it ignores the positions it is given: wrong with a cache, padding or packing"
        )
    report.data["refused"] = list(seen.refused) if seen.refused else None
    if seen.refused:
        report.facts["positions"] += f"; refuses {seen.refused[0]}: {seen.refused[1]}"


def _alike(seen: Measured, one: int, two: int) -> bool:
    """Whether two positions were tried and turn alike."""
    both = one in seen.positions and two in seen.positions
    rows = (seen.positions.index(p) for p in (one, two)) if both else ()
    return both and torch.equal(*(seen.angles[row] for row in rows))


def _positions_rounded(seen: Measured) -> torch.dtype | None:
    """The low precision whose first two neighbours that are one number turn alike."""
    if _alike(seen, 2048, 4095):  # a table that ends
        return None
    known = ((torch.bfloat16, 256), (torch.float16, 2048))
    return next((low for low, p in known if _alike(seen, p, p + 1)), None)


def _rounded(positions: tuple[int, ...], low: torch.dtype | None) -> tuple[float, ...]:
    """The positions by which it turns, if they are rounded."""
    if low is None:
        return positions
    most = torch.finfo(low).max
    return tuple(torch.tensor(positions).double().clamp(max=most).to(low).tolist())


def _say_precision(
    report: _Report,
    seen: Measured,
    named: Named,
    inv_freq: Tensor,
    angles: Tensor,
    left: Tensor,
    positions: tuple[int, ...],
    rounded: torch.dtype | None,
) -> None:
    """Errors of the angles against the named frequencies, exactly; and what they look like."""
    where = {p: row for row, p in enumerate(positions)}
    ends = _alike(seen, 2048, 2049) and _alike(seen, 2048, 4095)
    if ends:
        report.warnings.append(
            "all positions from 2048 on, or from an earlier one, turn alike: a table that ends"
        )
    collapsed = str(rounded).removeprefix("torch.") if rounded else ""
    report.data["positions_rounded"] = collapsed
    if collapsed:
        report.warnings.append(
            f"positions are rounded to {collapsed}: two neighbours turn alike; make them integers, "
            "or float32, not the vectors' dtype"
        )
    low = seen.representable
    report.data["results_rounded"] = str(low).removeprefix("torch.") if low else ""
    error = left
    if named.exact is not None and len(named.exact) == len(inv_freq):
        at = torch.tensor(positions, dtype=torch.float64)[:, None]
        exact = named.exact[: left.shape[1]]
        error = wrap(angles - angles[where[0]] - at * exact)
    report.data["angle_errors"] = {
        str(p): error[row].abs().max().item()
        for p, row in where.items()
        if p in (0, 1, 127, 1009, 8000, 100_003)
    }
    far = max(where)
    worst = error[where[far]].abs().max().item()
    per_position = worst / far
    kind = "float64" if worst < 3e-6 and far > 4000 else "float32"
    if seen.noise:
        kind = "no finer than the vectors' own, which blurs angles"
    if low is not None:
        kind = f"cos and sin rounded to {low}".replace("torch.", "")
        report.warnings.append(
            f"{kind}: errors of 1 in {500 if low == torch.bfloat16 else 4000}, at every position"
        )
    elif collapsed or named.rounded:
        kind = f"less than float32: {collapsed or named.rounded}"
    elif not ends and (jump := _jump(error, where)):
        kind = f"float32 up to position {jump[0]}"
        report.warnings.append(
            f"position {jump[1]} is turned as another one, those up to {jump[0]} are right: "
            "positions are changed on the way, by a seam, a window or a modulus"
        )
    elif named.scaling == "unknown":
        kind = "cannot be told without exact frequencies"
    elif per_position > 2e-6 and worst > 1e-3 + seen.noise:
        kind = "less than float32"
        report.warnings.append(
            f"angles are off by {worst:.2g} at position {far}: more than float32 explains"
        )
    known = named.scaling != "unknown" and not kind.startswith("float32 up to")
    off = f"; angles off by up to {worst:.1g} at position {far}" if known else ""
    report.facts["precision"] = kind + off


def _jump(error: Tensor, where: dict[int, int]) -> tuple[int, int] | None:
    """The last right and the first wrong position, if an error begins at once; rounding grows."""
    before, small = 0, 0.0
    for p in sorted(where):
        size = error[where[p]].abs().max().item()
        if size > 0.3:
            sudden = before and small / before < 0.1 * size / p
            return (before, p) if sudden else None
        before, small = p, size
    return None


def _say_length(report: _Report, changing: bool, seen: Measured, head_dim: int) -> None:
    report.data["depends_on_length"] = changing
    report.data["keeps_state"] = not seen.again
    text = "angles do not depend on the length"
    if changing:
        near = seen.positions[: seen.near]
        inv_freq, _, _, sure = frequencies(seen.angles[: seen.near], near, seen.noise)
        longer = name(inv_freq.abs(), sure, head_dim=head_dim)
        text = (
            f"with position {seen.positions[-1]} in the call: {longer}; keys cached before do not "
            "fit later ones, as with dynamic NTK and LongRoPE"
        )
        report.data["at_length"] = {
            "length": seen.positions[-1] + 1,
            "base": longer.base,
            "scaling": longer.scaling,
            "settings": dict(longer.settings),
        }
    if not seen.again:
        text += "; a short call, made again after a long one, gives something else"
        report.warnings.append(
            "it keeps state: a short text gets other angles when it comes again, after a long one"
        )
    report.facts["length"] = text
