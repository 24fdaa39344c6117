"""What a configuration stands for: the rotations, biases or buckets that its layers have."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from posenc.t5 import t5_buckets
from posenc.verify.biases import slopes_of
from posenc.verify.models import Layer, Model, ranges
from posenc.verify.names import number
from posenc.verify.rope import Rope

LOW = {"bfloat16": torch.bfloat16, "float16": torch.float16}
KINDS = {"rope": "rotation", "none": "rotation", "alibi": "bias", "t5": "buckets"}


@dataclass(frozen=True)
class Reference:
    """One of the things that a configuration stands for.

    Args:
        name: of the layers that have it, in words; "" if all have.
        kind: "rotation", "bias" or "buckets".
        thing: a `Rope`; the slopes of a bias, one a head; or a function of relative positions.
        at: the `Rope` for a text of so many positions, if that changes it.
        beside: what these layers do besides, which no comparison sees.
        before: channels of a query's head before those that turn, if that is known.
        softmax: by what scores are multiplied besides 1/sqrt(d).
        free: whether channels may come out in another order: a configuration names none.
        dtype: the low precision in which the model runs, if a configuration names one.
        temperature: by what queries grow with their position, if they do.
        lengths: of texts around which frequencies change, if they depend on the length.
        context: how many positions the model is made for, if a configuration says so.
    """

    name: str
    kind: str
    thing: Rope | Tensor | Callable[[Tensor], Tensor]
    at: Callable[[int], Rope] | None = None
    beside: tuple[str, ...] = ()
    before: int | None = None
    softmax: float = 1.0
    free: bool = False
    dtype: torch.dtype | None = None
    temperature: dict | None = None
    lengths: tuple[int, ...] = ()
    context: int | None = None


def references(model: Model, layer: int | None = None) -> list[Reference]:
    """All that differ among a model's layers, or that of one layer.

    Layers without positions whose queries do not grow either are a reference only if they are
    asked for: whoever forgets to rotate would agree with them.

    Raises:
        ValueError: if there is no such layer, or none that can be compared.
    """
    if layer is not None and not 0 <= layer < len(model.layers):
        raise ValueError(f"layer must be within 0 ... {len(model.layers) - 1}, got {layer}")
    chosen = range(len(model.layers)) if layer is None else [layer]
    groups: dict[object, list[int]] = {}
    empty = []
    for i in chosen:
        each = model.layers[i]
        if each.method == "none" and not each.temperature and layer is None:
            empty.append(i)
        elif each.method in KINDS:
            groups.setdefault(_what(each), []).append(i)
    if not groups:
        methods = ", ".join(sorted({model.layers[i].method for i in chosen}))
        raise ValueError(
            "reference must have a layer that rotates, or a bias that a rule gives, "
            f"got {model.model_type} with {methods}"
        )
    found = []
    for members in groups.values():
        found += _of_layer(model.layers[members[0]], _layers_named(model, members))
    if empty:
        first = f"{_layers_named(model, empty)}, which have no positions: layer= compares one"
        found = [replace(each, beside=(first, *each.beside)) for each in found]
    low = LOW.get(model.dtype)
    return [replace(each, dtype=low, context=model.context) for each in found]


def _layers_named(model: Model, members: list[int]) -> str:
    """These layers in words, "" if they are all."""
    if len(members) == len(model.layers):
        return ""
    kinds = dict.fromkeys(model.layers[i].kind for i in members)
    word = "layer" if len(members) == 1 else "layers"
    return f"{word} {ranges(members)} ({', '.join(kinds)})"


def of_layer(layer: Layer) -> list[Reference]:
    """What one layer stands for.

    Raises:
        ValueError: if it neither rotates nor adds a bias that a rule gives.
    """
    if layer.method not in KINDS:
        raise ValueError(
            "reference must be a layer that rotates, or has a bias that a rule gives, "
            f"got one with {layer.method}"
        )
    return _of_layer(layer, "")


def _what(layer: Layer) -> tuple:
    """What makes two layers one reference: not their windows."""
    rope = layer.rope
    if rope is None:
        return (layer.method,)
    frequencies = tuple(rope.inv_freq.tolist())
    return (rope.pairing, rope.head_dim, rope.gain, rope.first, frequencies)


def _of_layer(layer: Layer, name: str) -> list[Reference]:
    if layer.method == "alibi":
        slopes = slopes_of(layer.settings["num_heads"], layer.settings["bias_max"])
        return [Reference(name, "bias", slopes / layer.settings["divided_by"])]
    if layer.method == "t5":
        return [
            Reference(side, "buckets", _bucketed(layer.settings, bidirectional=both))
            for side, both in (("the encoder's", True), ("the decoder's", False))
        ]
    rope = layer.rope
    if rope is None:  # no positions: all pairs stay as they are
        still = torch.zeros(layer.head_dim // 2, dtype=torch.float64)
        rope = Rope(still, layer.head_dim, temperature=layer.temperature)
    return [
        Reference(
            name,
            "rotation",
            rope,
            layer.at,
            _beside(layer),
            layer.before,
            layer.softmax,
            free=layer.rope is not None,
            temperature=layer.temperature,
            lengths=_lengths(layer),
        )
    ]


def _lengths(layer: Layer) -> tuple[int, ...]:
    """The longest text before frequencies change, the next one, and one that is twice as long."""
    trained = layer.settings.get("trained_length")
    return () if layer.at is None or not trained else (trained, trained + 1, 2 * trained)


def _bucketed(settings: dict, *, bidirectional: bool) -> Callable[[Tensor], Tensor]:
    return lambda relative: t5_buckets(relative, bidirectional=bidirectional, **settings)


def _beside(layer: Layer) -> tuple[str, ...]:
    found = []
    if layer.softmax != 1:
        found.append(
            f"that all scores are multiplied by {number(layer.softmax)} besides 1/sqrt(d) "
            "(mscale_all_dim)"
        )
    if layer.window:
        found.append(f"the window of {layer.window} positions")
    return tuple(found)


def bias_rule(slopes: Tensor) -> Callable[[Tensor], Tensor]:
    """-slope times distance, [h, q, k] of key - query [q, k]; keys after the query are left out."""
    return lambda relative: slopes[:, None, None] * relative
