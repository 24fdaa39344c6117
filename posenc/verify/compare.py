"""Do two implementations agree, up to rounding? And if not, which known mistake is it?"""

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from posenc.verify.agreement import Agreement
from posenc.verify.biases import is_slopes, slopes_of
from posenc.verify.calls import as_turn
from posenc.verify.entries import OTHER, compare_biases, compare_buckets, compare_tables
from posenc.verify.identify import KINDS, as_numbers, identify, kind_of
from posenc.verify.makers import adds, made
from posenc.verify.measure import FAR, NEAR
from posenc.verify.models import Layer, Model, models
from posenc.verify.references import Reference, bias_rule, of_layer, references
from posenc.verify.rope import Rope
from posenc.verify.rotations import TURNS, compare_rotations
from posenc.verify.standing import relative_in
from posenc.verify.temperature import FORGOTTEN, edges, grows, rule_told
from posenc.verify.turn import NotARotation, Turn, said


def compare(
    yours: object,
    reference: object,
    *,
    kind: str | None = None,
    layer: int | None = None,
    length: int | None = None,
    apply: Callable | None = None,
    dim: int | None = None,
    dtype: torch.dtype | None = None,
    tolerance: float = 1.0,
    first_query: int | None = None,
) -> Agreement:
    """Hold an implementation against another one, or against a configuration.

    Rotations are tried at positions from 0 to 100 003, out of order and with gaps, as far as
    both go, near ones alone and with far ones, with keys that are not the queries. A difference
    counts if rounding does not explain it: at position p, float32 angles explain 2^-22 (1 + p) of
    the largest entry, about 2.4e-7 per position.

    A configuration whose layers differ is tried layer by layer: the first line names those that
    yours agrees with. What agrees in float32 is tried once more in the low precision that the
    configuration names (dtype, torch_dtype), or in bfloat16: positions or angles that are made in
    the vectors' dtype are right up to 256 only. Frequencies that depend on the length (dynamic
    NTK, LongRoPE) are those for the length of each call.

    These calls are small: 4 to 20 rows, and equal heads. What agrees in them is called again with
    one row, two, hundreds and thousands, with many heads and as many, fewer or one of keys, with
    texts that have positions of their own, with views that are not contiguous and with flattened
    heads, as far as its form allows; each row must come out as in a small call. Which sizes were
    compared, and what was not, is said at the end.

    Both are tried as far as they go. If yours refuses a position within the context that a
    configuration names, or gives numbers that are not finite there, nothing agrees.

    An instance is probed in a copy, and stays as it is: the order of calls changes no verdict.

    Args:
        yours: what `identify` takes.
        reference: likewise; or a `Rope`, as `identify(...).rope` has one; or a configuration:
            what `models` takes or gives, or one of its layers. It may stand for a rotation, for
            ALiBi's bias (yours: a tensor [h, q, k], of all heads or of one rank's share of them) or
            T5's buckets (yours: as in `identify`).
        kind: as in `identify`; biases, buckets and tables are compared entry by entry.
        layer: which layer of a configuration, from 0; all that differ are tried otherwise.
        length: how long a text the frequencies of a configuration are for, whatever the call.
        apply: as in `identify`, for both.
        dim: as in `identify`; may be wider than the reference's head, as in DeepSeek's latent
            attention: then the channels of yours that turn are compared, and their place in the
            head if a configuration tells it (qk_nope_head_dim).
        dtype: of the vectors handed over; float32 and then a low precision if None.
        tolerance: multiplies what rounding explains.
        first_query: the key at which the first query of a bias or of buckets [q, k] stands; the
            last query stands at the last key if None, as in a decode step.

    Returns:
        The verdict, with the position where it begins and the known mistake it looks like.

    Raises:
        ValueError: if kind is unknown, first_query is no key's, the two take heads of different
            widths, tensors have different shapes, or one cannot be called.

    Example:
        >>> from posenc import angles, inverse_frequencies, rotate
        >>> def rope(pairing):
        ...     w = inverse_frequencies(64)
        ...     return lambda x, positions: rotate(x, angles(positions, w), pairing=pairing)
        >>> found = compare(rope("interleaved"), rope("half"))
        >>> found.agrees, found.begins, found.mistake
        (False, 1, 'pairing exchanged')
    """
    if kind is not None and kind not in KINDS:
        raise ValueError(f"kind must be one of {KINDS}, got {kind!r}")
    options = {
        "apply": apply,
        "dim": dim,
        "dtype": dtype or torch.float32,
        "low": dtype is None,
        "tolerance": tolerance,
        "first_query": first_query,
    }
    yours, reference = as_numbers(yours), as_numbers(reference)
    if isinstance(yours, Layer):
        if yours.rope is None:
            raise ValueError(f"yours must be a layer that rotates, got one with {yours.method}")
        yours = yours.rope
    if isinstance(reference, Layer):
        return _against(yours, of_layer(reference), kind, options)
    if isinstance(reference, Mapping | str | Path | Model) or hasattr(reference, "model_type"):
        whole = isinstance(reference, Model)
        model = reference if whole else models(reference, length=length)
        told = references(model, layer)
        if length is not None:
            told = [
                replace(t, thing=t.at(length), at=None, lengths=()) if t.at else t for t in told
            ]
        verdict = _against(yours, told, kind, options)
        if verdict.agrees or layer is None:
            return verdict
        return _of_another_layer(verdict, yours, told, references(model), kind, options)
    for name, value in (("layer", layer), ("length", length)):
        if value is not None:
            raise ValueError(f"{name} is of a configuration; the reference is none, got {value}")
    tensors = all(isinstance(t, Tensor) and not t.is_complex() for t in (yours, reference))
    kind = kind or (kind_of(reference) if tensors else "rotation")
    if kind == "buckets":
        return compare_buckets(yours, reference, first_query=first_query)
    both = None
    if kind == "rotation" and adds(yours, dim=dim) is None:
        try:
            return _rotation(yours, Reference("", kind, reference), options)
        except NotARotation:
            both = _made_alike(yours, reference, dim)
            if both is None:
                raise
    elif not tensors:
        both = _made_alike(yours, reference, dim)
    if both is not None:
        return compare(*both, tolerance=tolerance, first_query=first_query)
    for thing in (yours, reference):
        if not isinstance(thing, Tensor):
            raise ValueError(f"a {kind} is compared as a tensor, got {type(thing).__name__}")
    if kind == "bias":
        if is_slopes(yours) and is_slopes(reference):
            return _slopes(yours, reference, tolerance)
        return compare_biases(yours, reference, tolerance=tolerance, first_query=first_query)
    return compare_tables(yours, reference, kind, tolerance)


def _made_alike(yours: object, reference: object, dim: int | None) -> tuple[Tensor, Tensor] | None:
    """Both as tensors, one made with the sizes of the other; None if one of them makes none."""
    sizes, found = {"dim": dim}, [None, None]
    given = [(yours, 0), (reference, 1)]
    for each, i in sorted(given, key=lambda pair: not isinstance(pair[0], Tensor)):
        if isinstance(each, Tensor):
            found[i] = each.squeeze() if kind_of(each) == "table" else each
        else:
            rows = {key: value for key, value in sizes.items() if key in ("rows", "dim")}
            one = adds(each, **rows) or made(each, **sizes)
            if one is None or one.kind == "rotation":
                return None
            found[i] = one.thing
        sizes = _sizes(found[i])
    if callable(yours) and callable(reference) and kind_of(found[0]) == "table":
        rows = min(map(len, found))  # one of both may go no farther
        found = [table[:rows] for table in found]
    return found[0], found[1]


def _sizes(tensor: Tensor) -> dict[str, int]:
    """With which sizes something is to be made that has its shape."""
    if is_slopes(tensor):
        return {"heads": tensor.numel()}
    if kind_of(tensor) == "table":
        return dict(zip(("rows", "dim"), tensor.squeeze().shape[-2:], strict=True))
    return {"heads": tensor.shape[-3], "keys": tensor.shape[-1]} if tensor.ndim > 2 else {}


def _against(yours: object, told: list[Reference], kind: str | None, options: dict) -> Agreement:
    """Hold it against everything a configuration stands for; the best of it is the verdict."""
    wanted = told[0].kind
    if kind not in (None, wanted):
        raise ValueError(f"kind must be what the configuration has, {wanted!r}, got {kind!r}")
    found = [(each, _or_of_another_width(yours, each, options, told)) for each in told]
    best = next((pair for pair in found if pair[1].agrees), None)
    best = best or max(found, key=lambda pair: _near_agreement(pair[1]))
    each, verdict = best
    if not verdict.agrees:
        held = f"held against {each.name}"
        held += "; yours agrees with no other" * (len(told) > 1 and not verdict.unseen)
        return replace(verdict, notes=(*((held,) if each.name else ()), *verdict.notes))
    agreed = [other.name for other, one in found if one.agrees]
    not_compared = tuple(
        f"{other.name}, which differ from these" for other, one in found if not one.agrees
    )
    return replace(
        verdict,
        limit=(f" with {' and '.join(agreed)}" if each.name else "") + verdict.limit,
        not_compared=(*not_compared, *each.beside, *verdict.not_compared),
    )


def _near_agreement(verdict: Agreement) -> tuple:
    """How little is wrong: it begins late, and has a name."""
    begins = float("inf") if verdict.begins is None else verdict.begins
    tried = bool(verdict.positions) or bool(verdict.mistake)
    other = FORGOTTEN in verdict.mistake or TURNS in verdict.mistake  # of another kind of layer
    size = max(verdict.differences, default=0.0)
    named = bool(verdict.mistake) + (not verdict.mistake.startswith(OTHER))
    return verdict.unseen, tried and not other, begins, named, -size


def _of_another_layer(
    verdict: Agreement,
    yours: object,
    wanted: list[Reference],
    told: list[Reference],
    kind: str | None,
    options: dict,
) -> Agreement:
    """The same verdict, but with the layers that it agrees with, if there are any."""
    other = _against(yours, told, kind, options)
    if not other.agrees:
        return verdict
    thing = wanted[0].thing
    if isinstance(thing, Rope) and not thing.inv_freq.any():
        hint = (
            f"this layer has no positions (NoPE): nothing is to turn in it. It agrees{other.limit}"
        )
    else:
        hint = f"it agrees{other.limit}: the kinds of layers are exchanged, perhaps"
    return replace(verdict, mistake="another layer's", hint=hint)


def _or_of_another_width(
    yours: object, reference: Reference, options: dict, told: list[Reference]
) -> Agreement:
    """The verdict; "differ" if heads of these layers are of another width, but not of all."""
    try:
        return _one(yours, reference, options)
    except ValueError as error:
        widths = {each.thing.head_dim for each in told if isinstance(each.thing, Rope)}
        if len(widths) < 2:
            raise
        return Agreement(False, hint=f"{reference.name}: {error}")


def _one(yours: object, reference: Reference, options: dict) -> Agreement:
    first_query = options["first_query"]
    if reference.kind == "buckets":
        return compare_buckets(yours, reference.thing, first_query=first_query)
    if reference.kind == "bias":
        tolerance = options["tolerance"]
        return _bias(yours, reference.thing, tolerance=tolerance, first_query=first_query)
    return _rotation(yours, reference, options)


def _bias(yours: object, slopes: Tensor, *, tolerance: float, first_query: int | None) -> Agreement:
    if not isinstance(yours, Tensor):
        found = made(yours, heads=len(slopes))
        if found is not None and found.kind == "bias":
            yours = found.thing
    if isinstance(yours, Tensor) and is_slopes(yours):
        return _slopes(yours, slopes, tolerance)
    if not isinstance(yours, Tensor):
        raise ValueError(
            "a bias is compared as a tensor [h, q, k]: call it and give what it returns, "
            f"got {type(yours).__name__}"
        )
    if yours.ndim >= 3 and 0 < yours.shape[-3] < len(slopes):
        return _bias_of_a_rank(yours, slopes, tolerance=tolerance, first_query=first_query)
    if yours.ndim < 3 or yours.shape[-3] != len(slopes):
        raise ValueError(
            f"yours must be [h, q, k] with {len(slopes)} heads, got {tuple(yours.shape)}"
        )
    verdict = compare_biases(yours, bias_rule(slopes), tolerance=tolerance, first_query=first_query)
    if not verdict.agrees:
        return verdict
    left_out = ["keys after the query"]
    if first_query is None:
        left_out.append(
            "whether queries stand where they are taken to: the last one at the last key"
        )
    return replace(verdict, not_compared=(*left_out, *verdict.not_compared))


def _slopes(yours: Tensor, reference: Tensor, tolerance: float) -> Agreement:
    """Hold slopes [h] against others, by the bias that each makes."""
    if yours.numel() != reference.numel():
        raise ValueError(
            f"yours must be slopes of {reference.numel()} heads, got {yours.numel()} numbers"
        )
    relative = relative_in(8, 8)
    both = [bias_rule(slopes.double().flatten().abs())(relative) for slopes in (yours, reference)]
    verdict = compare_biases(*both, tolerance=tolerance)
    if verdict.mistake.startswith("slopes not divided by the root"):
        seen = (f"slopes of {reference.numel()} heads, but for one factor",)
        told = (f"where slopes are divided: {verdict.hint}",)
        return Agreement(False, compared=seen, undecided=told)
    if not verdict.agrees:
        return verdict
    seen = (f"slopes of {reference.numel()} heads",)
    left_out = ("what is made of the slopes: the sign, and from where distances count",)
    return replace(verdict, compared=seen, not_compared=left_out)


def _bias_of_a_rank(yours: Tensor, slopes: Tensor, **options) -> Agreement:
    """Hold some of the heads, as one rank of several has them, against each of the shares."""
    own, heads = yours.shape[-3], len(slopes)
    if heads % own:
        raise ValueError(
            f"yours must be [h, q, k] with {heads} heads, or an equal share of them as one rank "
            f"has, got {tuple(yours.shape)}"
        )
    for first in range(0, heads, own):
        verdict = _bias(yours, slopes[first : first + own], **options)
        if verdict.agrees:
            share = f" with heads {first} to {first + own - 1} of {heads}"
            others = "the other heads, which other ranks have"
            return replace(
                verdict,
                limit=share + verdict.limit,
                not_compared=(others, *verdict.not_compared),
            )
    if not _bias(yours, slopes_of(own), **options).agrees:
        text = f"yours has {own} of {heads} heads, and is no share of these"
        return replace(verdict, notes=(text, *verdict.notes))
    return Agreement(
        False,
        mistake=f"those of {own} heads, not {own} of {heads}",
        hint=(
            f"slopes are as published for a model of {own} heads: each rank counts its own. Make "
            f"those of {heads} heads and cut out the rank's, slopes[{own} * rank : {own} * (rank "
            "+ 1)]"
        ),
    )


def _rotation(yours: object, reference: Reference, options: dict) -> Agreement:
    if options["first_query"] is not None:
        raise ValueError(
            "first_query is of a bias or of buckets; the reference rotates, "
            f"got {options['first_query']}"
        )
    dtype, tolerance = options["dtype"], options["tolerance"]
    given = {"apply": options["apply"], "dtype": dtype}
    dim, thing = options["dim"], reference.thing
    rope = thing if isinstance(thing, Rope) else None
    place = ""
    if rope is not None:
        mine = _taking(yours, dim or rope.head_dim, given, wider=dim is None)
        if mine.head_dim > rope.head_dim:
            rope, reference = _widened(mine, rope, reference, dtype)
            last = rope.first + rope.rotary_dim - 1
            if reference.before != rope.first:
                place = f"which channels turn: {rope.first} to {last} of {mine.head_dim} in yours"
        theirs = _turn_of(rope, reference.at)
    else:
        theirs = as_turn(thing, dim=dim, **given)
        mine = _taking(yours, dim or theirs.head_dim, given)
    apart = ""
    if reference.temperature is not None:
        if rope.temperature or grows(mine):
            rope = rope.but(temperature=reference.temperature)
            theirs = _turn_of(rope, reference.at)
        else:
            apart = f"that queries grow with their position: {rule_told(reference.temperature)}"
    if mine.head_dim != theirs.head_dim:
        raise ValueError(
            f"yours must take heads of {theirs.head_dim} channels, as the reference does, "
            f"got {mine.head_dim}"
        )
    low = options["low"]
    options = {"dtype": dtype, "tolerance": tolerance, "softmax": reference.softmax}
    steps = edges(rope.temperature) if rope is not None else ()
    options["positions"] = (*NEAR, *sorted({*FAR, *steps}))
    options["lengths"] = reference.lengths
    held = partial(_held, mine, reference=reference, options=options, low=low)
    verdict = held(theirs, rope, reference.at)
    if rope is not None and not verdict.agrees and not verdict.mistake:
        verdict = _in_another_order(verdict, held, rope, reference)
    if verdict.agrees and reference.context is not None and not mine.tables:
        verdict = _as_far_as_the_context(verdict, reference.context, options["positions"])
    if verdict.agrees:
        others = tuple(text for text in (place, apart) if text)
        verdict = replace(verdict, not_compared=(*others, *verdict.not_compared))
    if reference.at is None:
        return verdict
    each = "frequencies change with the length: each call is held against those for its own"
    return replace(verdict, notes=(*verdict.notes, each))


def _as_far_as_the_context(
    verdict: Agreement, context: int, positions: tuple[int, ...]
) -> Agreement:
    """The verdict; undecided if yours refuses positions that the model is made for."""
    words = next((text for text in verdict.notes if text.startswith("yours refuses pos")), None)
    never = [p for p in positions if max(verdict.positions) < p < context]
    if words is None or not never:
        return verdict
    told = f"positions from {never[0]} on, within the context of {context}: {words}"
    return replace(verdict, undecided=(*verdict.undecided, told))


def _held(
    mine: Turn,
    theirs: Turn,
    rope: Rope | None,
    at: Callable[[int], Rope] | None,
    *,
    reference: Reference,
    options: dict,
    low: bool,
) -> Agreement:
    """The verdict, if it agrees after a look at vectors of the dtype in which the model runs, too.

    No text is longer then, so that tables kept by a function do not stay in that dtype.
    """
    verdict = compare_rotations(mine, theirs, rope=rope, at=at, **options)
    if not low or not verdict.agrees:
        return verdict
    low = reference.dtype or torch.bfloat16
    name = str(low).removeprefix("torch.")
    why = "the configuration's dtype" if reference.dtype else "in which most models run"
    options = {**options, "dtype": low, "sizes": False}
    try:
        again = compare_rotations(mine, theirs, rope=rope, at=at, **options)
    except Exception as error:  # whatever somebody else's code does with other vectors
        refused = f"vectors in {name}, {why}: {said(error)}"
        if reference.dtype is None:
            return replace(verdict, not_compared=(*verdict.not_compared, refused))
        refused += "; dtype=torch.float32 (--dtype float32) asks for these alone"
        return replace(verdict, undecided=(*verdict.undecided, refused))
    if again.agrees:
        first, *more = verdict.compared
        return replace(verdict, compared=(f"{first} and in {name}", *more))
    note = f"with vectors in float32 it agrees; this is said of vectors in {name}, {why}"
    return replace(again, notes=(note, *again.notes))


ORDERS = {"interleaved": "half", "interleaved in, half out": "interleaved"}
"""In which other order the same pairs may come out."""


def _in_another_order(
    verdict: Agreement, held: Callable[..., Agreement], rope: Rope, reference: Reference
) -> Agreement:
    """The verdict on the same pairs, written to other channels, if that tells more."""
    if rope.pairing not in ORDERS:
        return verdict
    out = ORDERS[rope.pairing]
    pairing = "interleaved in, half out" if out == "half" else "interleaved"
    at = reference.at and (lambda length: reference.at(length).but(pairing=pairing))
    rope = rope.but(pairing=pairing)
    again = held(_turn_of(rope, at), rope, at)
    if not again.agrees and not again.mistake:
        return verdict
    usual = ORDERS[pairing]
    order = (
        f"channels come out in another order: {out}, not {usual}; scores q.k are the same, if keys "
        "do as queries"
    )
    if not again.agrees:
        return replace(again, notes=(order, *again.notes))
    if not reference.free:  # it names the order
        return replace(verdict, notes=(order, *verdict.notes))
    return replace(
        again,
        scores_agree=True,
        limit=f" in scores q.k{again.limit}",
        notes=(order, *again.notes),
        not_compared=(
            "the order of channels: it matters if one of both is cached",
            *again.not_compared,
        ),
    )


def _taking(yours: object, dim: int, given: dict, *, wider: bool = False) -> Turn:
    """It, called with heads of so many channels; or of more, if it takes no others."""
    try:
        return as_turn(yours, dim=dim, **given)
    except NotARotation as error:
        if wider:
            with contextlib.suppress(NotARotation):
                found = as_turn(yours, **given)
                if found.head_dim > dim:
                    return found
        raise NotARotation(
            f"yours must take heads of {dim} channels, as the reference does (dim= tells another "
            f"width): {error}"
        ) from None


def _turn_of(rope: Rope, at: Callable[[int], Rope] | None) -> Turn:
    """A description as something to call, each text with the frequencies for its length."""
    turn = as_turn(rope)
    if rope.temperature is not None:  # queries alone grow
        turn = replace(turn, keys=_turn_of(rope.but(temperature=None), at))
    if at is None:
        return turn
    grown = rope.temperature
    return replace(turn, call=lambda x, p: at(int(p.max()) + 1).but(temperature=grown)(x, p))


def _widened(
    mine: Turn, rope: Rope, reference: Reference, dtype: torch.dtype
) -> tuple[Rope, Reference]:
    """The reference in a wider head, where yours turns: latent attention's queries."""
    found = identify(mine, dtype=dtype).data
    if found.get("rotary_dim", 0) > rope.head_dim:
        raise ValueError(
            f"yours must take heads of {rope.head_dim} channels, as the reference does, "
            f"got {mine.head_dim}, of which {found['rotary_dim']} turn"
        )
    first = min(found.get("first_channel", 0), mine.head_dim - rope.head_dim)
    if reference.before is not None and reference.before + rope.head_dim == mine.head_dim:
        first = reference.before
    at = reference.at
    wide = {"head_dim": mine.head_dim, "first": first}
    then = None if at is None else (lambda length: at(length).but(**wide))
    return rope.but(**wide), replace(reference, at=then)
