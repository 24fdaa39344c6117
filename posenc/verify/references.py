"""What a configuration stands for: the rotations, biases or buckets that its layers have."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from posenc.t5 import t5_buckets
from posenc.verify.biases import slopes_of
from posenc.verify.models import Layer, Model, ranges
from posenc.verify.names import number
from posenc.verify.rope import Rope

KINDS = {"rope": "rotation", "alibi": "bias", "t5": "buckets"}


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
    """

    name: str
    kind: str
    thing: Rope | Tensor | Callable[[Tensor], Tensor]
    at: Callable[[int], Rope] | None = None
    beside: tuple[str, ...] = ()
    before: int | None = None
    softmax: float = 1.0
    free: bool = False


def references(model: Model, layer: int | None = None) -> list[Reference]:
    """All that differ among a model's layers, or that of one layer.

    Raises:
        ValueError: if there is no such layer, or none that can be compared.
    """
    if layer is not None and not 0 <= layer < len(model.layers):
        raise ValueError(f"layer must be within 0 ... {len(model.layers) - 1}, got {layer}")
    chosen = range(len(model.layers)) if layer is None else [layer]
    groups: dict[object, list[int]] = {}
    for i in chosen:
        if model.layers[i].method in KINDS:
            groups.setdefault(_what(model.layers[i]), []).append(i)
    if not groups:
        methods = ", ".join(sorted({model.layers[i].method for i in chosen}))
        raise ValueError(
            "reference must have a layer that rotates, or a bias that a rule gives, "
            f"got {model.model_type} with {methods}"
        )
    found = []
    for members in groups.values():
        first = model.layers[members[0]]
        kinds = dict.fromkeys(model.layers[i].kind for i in members)
        few = len(members) < len(model.layers)
        word = "layer" if len(members) == 1 else "layers"
        name = f"{word} {ranges(members)} ({', '.join(kinds)})" if few else ""
        found += _of_layer(first, name)
    return found


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
    return [
        Reference(
            name,
            "rotation",
            layer.rope,
            layer.at,
            _beside(layer),
            layer.before,
            layer.softmax,
            free=True,
        )
    ]


def _bucketed(settings: dict, *, bidirectional: bool) -> Callable[[Tensor], Tensor]:
    return lambda relative: t5_buckets(relative, bidirectional=bidirectional, **settings)


def _beside(layer: Layer) -> tuple[str, ...]:
    found = []
    if layer.softmax != 1:
        found.append(
            f"that all scores are multiplied by {number(layer.softmax)} besides 1/sqrt(d) "
            "(mscale_all_dim)"
        )
    if layer.temperature:
        told = ", ".join(f"{k} {number(v)}" for k, v in layer.temperature.items())
        found.append(f"that queries grow with their position ({told})")
    if layer.window:
        found.append(f"the window of {layer.window} positions")
    return tuple(found)


def bias_for(slopes: Tensor, shape: tuple[int, ...]) -> Tensor:
    """-slope times distance, [h, q, k], with the last query at the last key."""
    *_, q, k = shape
    relative = torch.arange(k) - torch.arange(k - q, k)[:, None]
    return slopes[:, None, None] * relative
