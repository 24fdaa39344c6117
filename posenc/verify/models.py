"""Read a model's configuration: what each layer does with positions, in posenc's words."""

import difflib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import torch
from torch import Tensor

from posenc.axial import mrope_axes
from posenc.frequencies import inverse_frequencies
from posenc.scaling import (
    dynamic_ntk_scaling,
    linear_scaling,
    llama3_scaling,
    longrope_scaling,
    proportional_scaling,
    yarn_gain,
    yarn_scaling,
)
from posenc.verify.families import FAMILIES, Family, rotary_list
from posenc.verify.names import number
from posenc.verify.rope import Rope

COMMON = {"rope_type", "type", "rope_theta", "partial_rotary_factor", "mrope_section"}
COMMON |= {"mrope_interleaved", "max_position_embeddings", "llama_4_scaling_beta"}
READ = {
    "default": set(),
    "mrope": set(),
    "linear": {"factor"},
    "dynamic": {"factor"},
    "yarn": {
        "factor",
        "original_max_position_embeddings",
        "attention_factor",
        "beta_fast",
        "beta_slow",
        "mscale",
        "mscale_all_dim",
        "truncate",
    },
    "llama3": {
        "factor",
        "original_max_position_embeddings",
        "low_freq_factor",
        "high_freq_factor",
    },
    "longrope": {
        "factor",
        "original_max_position_embeddings",
        "attention_factor",
        "short_factor",
        "long_factor",
    },
    "proportional": {"factor"},
}
"""Which keys transformers 5 reads for each rope_type, beside those of COMMON."""

ROPE_KEYS = (
    "rope_theta",
    "rope_scaling",
    "rope_parameters",
    "rope_local_base_freq",
    "local_rope_theta",
    "global_rope_theta",
    "rotary_emb_base",
    "rotary_pct",
    "rotary_dim",
    "partial_rotary_factor",
    "no_rope_layers",
    "no_rope_layer_interval",
    "qk_rope_head_dim",
    "rope_interleave",
)
"""Which keys of a file itself are about rotation, in any family here."""

RECURRENT = {"linear_attention": "linear attention", "conv": "a convolution"}
"""Kinds of layers that are no attention with scores."""

PATTERNS = ("sliding_window_pattern", "global_attn_every_n_layers")
"""Keys that say which layers slide, where layer_types does not."""

SYNONYMS = {
    "hidden_size": ("hidden_size", "n_embd", "d_model"),
    "num_attention_heads": ("num_attention_heads", "n_head", "n_heads", "num_heads"),
    "num_hidden_layers": ("num_hidden_layers", "n_layer", "n_layers", "num_layers"),
    "context": (
        "max_position_embeddings",
        "n_positions",
        "max_seq_len",
        "seq_length",
        "model_max_length",
    ),
}

ONLY_OF = {
    "rope_ratio": ("chatglm",),
    "kv_channels": ("chatglm", "qwen"),
    "original_rope": ("chatglm",),
    "use_dynamic_ntk": ("qwen",),
    "rotary": ("internlm",),
}
"""Keys of one family's own code, and the families that read them; others pass them over."""


@dataclass(frozen=True)
class Layer:
    """What one layer does with positions.

    Args:
        kind: "full_attention", "sliding_attention" or "chunked_attention".
        method: "rope", "none" (NoPE), "learned", "t5", "alibi" or "sinusoidal".
        rope: the rotation, to be called or compared; None without one.
        base: of the frequencies before scaling.
        scaling: its name; "none" without one.
        settings: its parameters, as `posenc.scaling` calls them; those of a bias likewise.
        window: how many positions a query sees, itself included, None if all before it.
        temperature: parameters of `query_gain`, None without one.
        softmax: by what scores are multiplied besides 1/sqrt(d) (DeepSeek's mscale squared).
        at: the rotation for a text of so many positions, if that changes it; None otherwise.
        before: channels of a query's head before those that the rotation sees (qk_nope_head_dim);
            None if the file does not say, or the rotation sees the whole head.
        head_dim: channels of a head in a layer without positions; of others the `Rope` tells.
    """

    kind: str
    method: str
    rope: Rope | None = None
    base: float | None = None
    scaling: str = "none"
    settings: dict = field(default_factory=dict)
    window: int | None = None
    temperature: dict | None = None
    softmax: float = 1.0
    at: Callable[[int], Rope] | None = None
    before: int | None = None
    head_dim: int | None = None

    def signature(self) -> tuple:
        """What makes two layers alike."""
        rotation = (self.rope.pairing, self.rope.head_dim, self.rope.gain) if self.rope else ()
        frequencies = tuple(self.rope.inv_freq.tolist()) if self.rope else ()
        rest = (self.kind, self.method, self.base, self.scaling, self.window)
        return (*rest, str(self.settings), str(self.temperature), rotation, frequencies)

    def as_dict(self) -> dict[str, object]:
        """Everything as JSON can hold it."""
        data = {k: v for k, v in self.__dict__.items() if k not in ("rope", "at")}
        if self.rope is not None:
            data |= {
                "pairing": self.rope.pairing,
                "head_dim": self.rope.head_dim,
                "rotary_dim": self.rope.rotary_dim,
                "gain": self.rope.gain,
                "inv_freq": self.rope.inv_freq.tolist(),
            }
        return data


@dataclass(frozen=True)
class Model:
    """A model's positions, layer by layer; printing it shows everything.

    Args:
        model_type: as in the file.
        context: how many positions it is made for, None if it does not say.
        length: for how long a text frequencies were computed.
        layers: one a layer.
        notes: keys that are ignored, contradict each other or are missing.
        details: what else the method needs, by name.
        dtype: in which it runs, "" if the file does not say.
    """

    model_type: str
    context: int | None
    length: int
    layers: tuple[Layer, ...]
    notes: tuple[str, ...] = ()
    details: dict = field(default_factory=dict)
    dtype: str = ""

    def __str__(self) -> str:
        of = f", {self.dtype}" if self.dtype else ""
        lines = [
            f"{self.model_type}: {len(self.layers)} layers, context {self.context or 'unknown'}{of}"
        ]
        groups: dict[tuple, list[int]] = {}
        for i, layer in enumerate(self.layers):
            groups.setdefault(layer.signature(), []).append(i)
        for members in groups.values():
            lines.append(
                f"  layers {ranges(members)}: {_told(self.layers[members[0]], self.context)}"
            )
        lines += [f"  {key}: {value}" for key, value in self.details.items()]
        return "\n".join(lines + [f"  note: {note}" for note in self.notes])

    __repr__ = __str__

    def as_dict(self) -> dict[str, object]:
        """Everything as JSON can hold it."""
        own = {k: v for k, v in self.__dict__.items() if k != "layers"}
        return {**own, "notes": list(self.notes), "layers": [x.as_dict() for x in self.layers]}


def models(config: object, *, length: int | None = None) -> Model:
    """Read a configuration: what every layer does with positions.

    Old files (rope_theta, rope_scaling), flat rope_parameters and those nested by layer type
    are read as transformers 5 reads them. Keys that are ignored or contradict others are named
    in the notes; what the file does not say and the family does is named, too.

    Args:
        config: a dict, a path of a config.json or of its folder, or a config object of
            transformers.
        length: positions in the text, for frequencies that depend on it; the context, if the
            file tells, otherwise.

    Returns:
        The model, with a `Rope` for each layer that turns.

    Raises:
        ValueError: if the model type is not known, or a number is missing that nothing implies.
        FileNotFoundError: if there is no such file.

    Example:
        >>> llama = {"model_type": "llama", "hidden_size": 128, "num_attention_heads": 2,
        ...          "num_hidden_layers": 2, "max_position_embeddings": 4096}
        >>> print(models(llama))
        llama: 2 layers, context 4096
          layers 0-1: rope, half, 64 of 64 channels, base 10000; 9 of 32 pairs stay below a turn
          note: rope_theta is not given: 10000, the family's default
    """
    raw = _read(config)
    notes: list[str] = []
    runs_in = _dtype(raw)
    raw = _text_part(raw, notes)
    read = _model(raw, length, notes)
    return replace(read, dtype=_dtype(raw) or runs_in)


def _model(raw: dict, length: int | None, notes: list[str]) -> Model:
    model_type = raw.get("model_type")
    if model_type not in FAMILIES:
        near = difflib.get_close_matches(str(model_type), FAMILIES, n=3, cutoff=0.6)
        like = f"; is {' or '.join(near)} meant?" if near else ""
        raise ValueError(
            f"model_type must be one of those known here, got {model_type!r}{like}. "
            f"{_advice(raw)}. Known: {', '.join(FAMILIES)}"
        )
    family = FAMILIES[model_type]
    raw = _in_usual_words(raw, model_type, notes)
    raw = _with_defaults(_without_unread(raw, family, notes), family, notes)
    method = _method(raw, family)
    context = _size(raw, "context")
    at = length or context or 2048
    if method != "rope":
        return _without_rotation(raw, model_type, method, family, context, at, notes)
    count = _required(raw, "num_hidden_layers")
    kinds = raw.get("layer_types") or (
        family.kinds(raw, count) if family.kinds else ["full_attention"] * count
    )
    pattern = next((key for key in PATTERNS if key in raw), None)
    if raw.get("layer_types") and pattern and family.kinds and kinds != family.kinds(raw, count):
        notes.append(f"{pattern} {raw[pattern]} is ignored: layer_types says otherwise")
    if len(kinds) != count:
        notes.append(f"layer_types lists {len(kinds)} layers, num_hidden_layers says {count}")
    turns = rotary_list(raw, count) if family.listed else [1] * count
    without = {key: value for key, value in raw.items() if key != "no_rope_layers"}
    if family.listed and "no_rope_layer_interval" in raw and turns != rotary_list(without, count):
        notes.append(
            f"no_rope_layer_interval {raw['no_rope_layer_interval']} is ignored: no_rope_layers "
            "says otherwise"
        )
    if not family.listed and "no_rope_layers" in raw:
        notes.append(f"no_rope_layers is ignored: {model_type} does not read it")
    if family.splits and raw.get("head_dim") not in (None, _head(raw)):
        notes.append(
            f"head_dim {raw['head_dim']} is read for the frequencies alone: attention has heads of "
            f"hidden_size/num_attention_heads = {_head(raw)} channels"
        )
    parameters = _parameters(raw, family, model_type, sorted(set(kinds)), notes)
    made: dict[tuple[str, bool], Layer] = {}
    which = [
        (kind, bool(turn) and _turns(raw, family, kind))
        for kind, turn in zip(kinds, turns, strict=False)
    ]
    for kind, turning in dict.fromkeys(which):
        made[kind, turning] = _layer(
            raw, family, kind, turning, parameters[kind], at, context, notes
        )
    layers = tuple(made[each] for each in which)
    _check_windows(raw, layers, model_type, notes)
    details = _sections(family, parameters)
    return Model(model_type, context, at, layers, tuple(dict.fromkeys(notes)), details)


def _turns(raw: dict, family: Family, kind: str) -> bool:
    """Whether layers of this kind turn queries and keys."""
    if family.bare_beside_window and raw.get("sliding_window") is not None:
        return kind == "sliding_attention"
    return family.rotary_kinds is None or kind in family.rotary_kinds


def _read(config: object) -> dict:
    if isinstance(config, Mapping):
        return dict(config)
    if isinstance(config, str | Path):
        path = Path(config)
        path = path / "config.json" if path.is_dir() else path
        return json.loads(path.read_text())
    if hasattr(config, "to_dict"):
        return config.to_dict()
    raise ValueError(
        f"config must be a dict, a path or a config object, got {type(config).__name__}"
    )


def _text_part(raw: dict, notes: list[str]) -> dict:
    """A model of several modalities keeps its text model's configuration inside."""
    inner = raw.get("text_config")
    if not isinstance(inner, Mapping):
        return raw
    outer = raw.get("model_type")
    inner = {**inner, "model_type": inner.get("model_type") or outer}
    doubled = [k for k in ("rope_theta", "rope_scaling", "rope_parameters") if k in raw]
    notes += [f"{key} outside text_config is ignored" for key in doubled]
    notes.append("read: text_config; the vision tower is left out")
    return inner


def _dtype(raw: dict) -> str:
    """In which precision it runs, "" if the file does not say."""
    return str(raw.get("dtype") or raw.get("torch_dtype") or "").removeprefix("torch.")


def _advice(raw: dict) -> str:
    """How to have a family read that is not known, without losing what its file says."""
    own = [key for key in raw if key in ONLY_OF]
    lost = f": {', '.join(own)} would be lost" if own else ""
    return (
        "If its code is that of one of these, write a file in that family's own keys (head_dim, "
        "rope_theta, partial_rotary_factor, rope_scaling, num_hidden_layers); another model_type "
        f"alone does not do{lost}"
    )


def _in_usual_words(raw: dict, model_type: str, notes: list[str]) -> dict:
    """The file with keys of families' own code told in those that all others have."""
    for key in ONLY_OF:
        if raw.get(key) is not None and model_type not in ONLY_OF[key]:
            more = ""
            if key == "rope_ratio":
                base = number(10_000.0 * raw[key])
                more = f"; chatglm multiplies its base by it: rope_theta {base} is meant, perhaps"
            if key == "kv_channels":
                more = "; head_dim is meant, perhaps"
            notes.append(f"{key} {raw[key]} is ignored: {model_type} does not read it{more}")
    full = dict(raw)
    if raw.get("kv_channels") is not None and model_type in ONLY_OF["kv_channels"]:
        full["head_dim"] = raw["kv_channels"]
    if model_type == "chatglm":
        if raw.get("position_encoding_2d") or "inner_hidden_size" in raw:
            raise ValueError(
                "model_type chatglm must be ChatGLM2 or later, got the first ChatGLM, which has "
                "two rows of positions (position_encoding_2d)"
            )
        full["rope_theta"] = 10_000.0 * raw.get("rope_ratio", 1)
        if raw.get("rope_ratio", 1) != 1:
            notes.append(
                f"rope_ratio {raw['rope_ratio']} multiplies the base, as in ChatGLM3 and GLM-4; "
                "the code of the 32k ChatGLM2 divides positions by it"
            )
    if model_type == "internlm" and raw.get("rotary"):
        rotary = raw["rotary"]
        full["rope_theta"] = rotary.get("base", 10_000)
        if rotary.get("type") == "dynamic":
            factor = rotary.get("scaling_factor", 1.0)
            full["rope_scaling"] = {"rope_type": "dynamic", "factor": factor}
    if model_type == "qwen" and raw.get("use_dynamic_ntk"):
        notes.append(
            f"use_dynamic_ntk: for texts beyond seq_length {raw.get('seq_length')} the code takes "
            "a larger base; these frequencies are for shorter ones"
        )
    if model_type == "qwen" and raw.get("use_logn_attn"):
        notes.append("use_logn_attn: queries beyond seq_length grow with log n: not read here")
    return full


def _without_unread(raw: dict, family: Family, notes: list[str]) -> dict:
    """The file without keys that this family's reader passes over, and those that nobody knows."""
    for key in family.unread:
        if raw.get(key) is not None:
            reads = family.global_ if key == "rope_theta" else family.share_key
            notes.append(f"{key} is ignored: {raw['model_type']} reads {reads}")
    for key in raw:
        near = difflib.get_close_matches(key, ROPE_KEYS, n=1, cutoff=0.6)
        if near and key not in (*ROPE_KEYS, *ONLY_OF) and ("rope" in key or "rotary" in key):
            notes.append(f"{key} is ignored: is {near[0]} meant?")
    return {key: value for key, value in raw.items() if key not in family.unread}


def _with_defaults(raw: dict, family: Family, notes: list[str]) -> dict:
    """The file, with the sizes that its family has where it says nothing; null says none."""
    full = dict(raw)
    for key, value in family.defaults:
        if key not in raw and not (key == "global_head_dim" and "per_layer_config" in raw):
            full[key] = value
            notes.append(f"{key} is not given: {value}, the family's default")
    return {key: value for key, value in full.items() if value is not None}


def _method(raw: dict, family: Family) -> str:
    if raw.get("model_type") == "falcon" and raw.get("alibi"):
        return "alibi"
    if raw.get("model_type") == "baichuan" and _required(raw, "hidden_size") != 4096:
        return "alibi"
    return family.method


def _size(raw: dict, what: str) -> int | None:
    return next((raw[key] for key in SYNONYMS[what] if raw.get(key)), None)


def _required(raw: dict, what: str) -> int:
    value = _size(raw, what)
    if value is None:
        raise ValueError(f"the configuration must say {what}, got none of {SYNONYMS[what]}")
    return value


def _parameters(
    raw: dict, family: Family, model_type: str, kinds: list[str], notes: list[str]
) -> dict[str, dict]:
    """One dictionary of rope parameters for each kind of layer."""
    old, new = raw.get("rope_scaling"), raw.get("rope_parameters")
    if old and new and old != new:
        notes.append("rope_scaling and rope_parameters are both given: rope_parameters is ignored")
    given = dict(old or new or {})
    if not given and family.missing:
        given = dict(family.missing)
        notes.append("rope_parameters is not given: the family's own are taken")
    nested = {k: dict(v) for k, v in given.items() if isinstance(v, Mapping) and k not in READ}
    found = {}
    for kind in kinds:
        local = family.local_theta is not None and kind == "sliding_attention"
        if nested:
            own = dict(nested.get(kind, {}))
            if kind not in nested:
                notes.append(f"rope_parameters has no {kind}: unscaled, with the family's base")
        elif local and not family.scales_local:
            own = {}
        else:
            own = dict(given)
        key = family.local if local else family.global_
        default = family.local_theta if local else family.theta
        if raw.get(key) is not None:
            if own.get("rope_theta") is None:
                own["rope_theta"] = raw[key]
            elif own["rope_theta"] != raw[key]:
                notes.append(
                    f"{key} {number(raw[key])} is ignored: rope_parameters says "
                    f"{number(own['rope_theta'])}"
                )
        if own.get("rope_theta") is None:
            own["rope_theta"] = default
            notes.append(f"{key} is not given: {number(default)}, the family's default")
        found[kind] = _checked(own, raw, family, model_type, bool(nested), notes)
    return found


def _checked(
    own: dict, raw: dict, family: Family, model_type: str, nested: bool, notes: list[str]
) -> dict:
    """Settle the type, and name keys that nothing reads."""
    if own.get("type") and own.get("rope_type") and own["type"] != own["rope_type"]:
        notes.append(f"type {own['type']!r} is ignored: rope_type says {own['rope_type']!r}")
    kind = own.get("rope_type") or own.get("type") or "default"
    if model_type == "phi3" and kind in ("su", "yarn"):
        notes.append(f"rope type {kind!r} is read as 'longrope' in phi3")
        kind = "longrope"
    if kind == "mrope":
        kind = "default"
    if kind not in READ:
        raise ValueError(f"rope_type must be one of {tuple(READ)}, got {kind!r}")
    own["rope_type"] = kind
    for key in sorted(set(own) - COMMON - READ[kind]):
        notes.append(f"{key} is ignored: rope_type {kind!r} does not read it")
    shares = {key: raw.get(key) for key in ("partial_rotary_factor", family.share_key)}
    says = {"rope_parameters": own.get("partial_rotary_factor"), **shares}
    source, share = next(((k, v) for k, v in says.items() if v is not None), ("", None))
    if share is not None:
        own["partial_rotary_factor"] = share
    for key, other in shares.items():
        if other not in (None, share):
            within = " (partial_rotary_factor)" * (source == "rope_parameters")
            notes.append(f"{key} {number(other)} is ignored: {source} says {number(share)}{within}")
    if own.get("partial_rotary_factor") not in (None, 1.0) and not (
        family.reads_share or kind == "proportional"
    ):
        if kind == "default":
            notes.append(f"partial_rotary_factor is ignored: {model_type} turns whole heads")
        else:
            notes.append(
                f"partial_rotary_factor {number(share)} is left out here: {model_type} turns whole "
                f"heads, but transformers 5.23 makes frequencies for a part of them when rope_type "
                f"is {kind!r}, and fails in attention"
            )
        own["partial_rotary_factor"] = None
    if kind == "yarn":
        if bool(own.get("mscale")) != bool(own.get("mscale_all_dim")) and not own.get(
            "attention_factor"
        ):
            notes.append(
                "mscale and mscale_all_dim are read together only: the gain is the default"
            )
        scales = [key for key in ("mscale", "mscale_all_dim") if own.get(key)]
        if scales and own.get("attention_factor"):
            notes.append(
                f"{' and '.join(scales)} {'is' if len(scales) == 1 else 'are'} not read for the "
                "gain: attention_factor says it"
            )
        if nested and own.get("truncate") is False:
            notes.append(
                "truncate: false is ignored: transformers 5.23 reads it outside nested "
                "rope_parameters only"
            )
            own["truncate"] = True
    return own


def _layer(
    raw: dict,
    family: Family,
    kind: str,
    turning: bool,
    own: dict,
    length: int,
    context: int | None,
    notes: list[str],
) -> Layer:
    window = _window(raw, kind)
    temperature = _temperature(raw, family, own, turning)
    if not turning:
        width = _widths(raw, family, kind, own)[0]
        return Layer(kind, "none", window=window, temperature=temperature, head_dim=width)
    width, rotary = _widths(raw, family, kind, own)
    if family.width != "rotary_dim" and raw.get("rotary_dim") is not None:
        notes.append(
            f"rotary_dim {raw['rotary_dim']} is ignored: {raw['model_type']} reads its share, "
            f"partial_rotary_factor, {rotary} of {width} channels"
        )
    plain = inverse_frequencies(rotary, base=float(own["rope_theta"]))
    inv_freq, gain, scaling, settings = scaled(plain, own, raw, length, context, notes)
    softmax = 1.0
    if raw["model_type"].startswith("deepseek") and own.get("mscale_all_dim") and scaling == "yarn":
        softmax = yarn_gain(settings["factor"], mscale=own["mscale_all_dim"]) ** 2
    pairing = family.pairing
    if raw["model_type"] == "deepseek_v3" and raw.get("rope_interleave") is False:
        pairing = "half"
    if raw["model_type"] == "chatglm" and raw.get("original_rope") is False:
        pairing = "half"
    axis = _axes(raw, family, own, rotary // 2, notes)
    unscaled = plain if scaling != "none" else None
    rope = Rope(inv_freq, width, pairing, gain, plain=unscaled, axis=axis)

    def at(length: int) -> Rope:
        inv_freq, gain, *_ = scaled(plain, own, raw, length, context, [])
        return rope.but(inv_freq=inv_freq, gain=gain)

    return Layer(
        kind,
        "rope",
        rope,
        float(own["rope_theta"]),
        scaling,
        settings,
        window,
        temperature,
        softmax,
        at if scaling in ("dynamic", "longrope") else None,
        raw.get("qk_nope_head_dim") if family.width == "qk_rope_head_dim" else None,
    )


def _head(raw: dict) -> int:
    """Channels of a head, if the hidden size is cut into heads."""
    return _required(raw, "hidden_size") // _required(raw, "num_attention_heads")


def _widths(raw: dict, family: Family, kind: str, own: dict) -> tuple[int, int]:
    """Channels of a head that the rotation sees, and how many of them turn."""
    if family.width == "qk_rope_head_dim":
        width = raw.get(family.width, 64)
        return width, width
    width = raw.get("head_dim") or _head(raw)
    whole = _head(raw) if family.splits else width
    if raw["model_type"].startswith("gemma4") and kind == "full_attention":
        overrides = [v.get("head_dim") for v in (raw.get("per_layer_config") or {}).values()]
        width = next((v for v in overrides if v), raw.get("global_head_dim", 512))
    if family.width and raw.get(family.width):
        return width, raw[family.width]
    if own["rope_type"] == "proportional":
        return width, width
    rotary = int(width * _share(family, own))
    return whole, rotary


def _share(family: Family, own: dict) -> float:
    """Which part of the head turns."""
    share = own.get("partial_rotary_factor")
    return family.share if share is None else share


def scaled(
    plain: Tensor, own: dict, raw: dict, length: int, context: int | None, notes: list[str]
) -> tuple[Tensor, float, str, dict]:
    """Scale frequencies as a dictionary of rope parameters says; also name and settings."""
    kind, settings = own["rope_type"], {}
    original = own.get("original_max_position_embeddings")
    if raw.get("original_max_position_embeddings") is not None:
        if original not in (None, raw["original_max_position_embeddings"]):
            notes.append(
                f"original_max_position_embeddings {original} of the rope parameters is ignored: "
                f"the configuration says {raw['original_max_position_embeddings']}"
            )
        original = raw["original_max_position_embeddings"]
    if kind in ("yarn", "llama3", "longrope") and original is None:
        original = context
        notes.append(f"original_max_position_embeddings is not given: {context}, the context")
    if kind in ("yarn", "llama3", "longrope") and context and original > context:
        notes.append(
            f"original_max_position_embeddings {original} is above the context, {context}: it is "
            "the shorter length, that of the texts before stretching"
        )
    factor = own.get("factor")
    if kind in ("yarn", "longrope") and factor is None:
        factor = context / original
    if kind == "yarn" and own.get("factor") and context and abs(context / original - factor) > 1e-6:
        notes.append(
            f"factor {number(factor)} is used, but context over original length is "
            f"{number(context / original)}"
        )
    if kind == "default":
        return plain, 1.0, "none", {}
    if kind == "proportional":
        share = own.get("partial_rotary_factor")
        settings = {"share": 1.0 if share is None else share}
        inv_freq, gain = proportional_scaling(plain, **settings)
        if factor not in (None, 1.0):
            inv_freq, settings = inv_freq / factor, {**settings, "factor": factor}
        return inv_freq, gain, kind, settings
    if factor is None:
        raise ValueError(f"rope parameters of type {kind!r} must have a factor, got none")
    settings = {"factor": float(factor)}
    if kind == "linear":
        return *linear_scaling(plain, **settings), kind, settings
    if kind == "dynamic":
        settings |= {"length": length, "trained_length": context}
        notes.append(f"frequencies change with the length: these are for {length} positions")
        return *dynamic_ntk_scaling(plain, **settings), kind, settings
    settings["trained_length"] = int(original)
    if kind == "llama3":
        for key in ("low_freq_factor", "high_freq_factor"):
            if key not in own:
                raise ValueError(f"rope parameters of type 'llama3' must have {key}, got none")
        if not 0 <= own["low_freq_factor"] < own["high_freq_factor"]:
            raise ValueError(
                "low_freq_factor must be below high_freq_factor and not negative, got "
                f"{number(own['low_freq_factor'])} and {number(own['high_freq_factor'])}"
            )
        settings |= {"slow": own["low_freq_factor"], "fast": own["high_freq_factor"]}
        return *llama3_scaling(plain, **settings), kind, settings
    if kind == "yarn":
        settings |= {"slow": own.get("beta_slow") or 1.0, "fast": own.get("beta_fast") or 32.0}
        settings |= {"ramp": "dimensions", "truncate": own.get("truncate", True)}
        gain = own.get("attention_factor")
        if gain is None and own.get("mscale") and own.get("mscale_all_dim"):
            gain = yarn_gain(factor, mscale=own["mscale"], mscale_all_dim=own["mscale_all_dim"])
        return *yarn_scaling(plain, **settings, gain=gain), kind, settings
    settings["length"] = length
    notes.append(f"frequencies change with the length: these are for {length} positions")
    for which in ("short", "long"):
        listed = own.get(f"{which}_factor")
        if listed is None or len(listed) != len(plain):
            raise ValueError(
                f"{which}_factor must list {len(plain)} factors, one a pair of channels, "
                f"got {'none' if listed is None else len(listed)}"
            )
    factors = {
        f"{which}_factors": torch.tensor(own[f"{which}_factor"], dtype=torch.float64)
        for which in ("short", "long")
    }
    inv_freq, gain = longrope_scaling(
        plain, **settings, **factors, gain=own.get("attention_factor")
    )
    return inv_freq, gain, kind, settings


def _window(raw: dict, kind: str) -> int | None:
    if kind == "chunked_attention":
        return raw.get("attention_chunk_size", 8192)
    if kind != "sliding_attention":
        return None
    if raw["model_type"] == "modernbert":
        return raw.get("local_attention", 128)
    return raw.get("sliding_window")


def _temperature(raw: dict, family: Family, own: dict, turning: bool) -> dict | None:
    if family.temperature == "llama4" and not turning and raw.get("attn_temperature_tuning", True):
        return {
            "scale": raw.get("attn_scale", 0.1),
            "length": raw.get("floor_scale", 8192),
            "first": 1,
        }
    if family.temperature == "ministral3" and own.get("llama_4_scaling_beta"):
        length = own.get("original_max_position_embeddings")
        return {"scale": own["llama_4_scaling_beta"], "length": length, "first": 0}
    return None


def _check_windows(raw: dict, layers: tuple[Layer, ...], model_type: str, notes: list[str]) -> None:
    if raw.get("sliding_window") and not any(layer.window for layer in layers):
        why = (
            "use_sliding_window is false"
            if raw.get("use_sliding_window") is False
            else "no layer slides"
        )
        notes.append(f"sliding_window {raw['sliding_window']} is ignored: {why}")


def _axes(raw: dict, family: Family, own: dict, pairs: int, notes: list[str]) -> Tensor | None:
    """Which of time, row and column each pair follows, in families with M-RoPE."""
    if not family.sections:
        return None
    sections = list(own.get("mrope_section") or family.sections)
    if sum(sections) != pairs and own.get("mrope_section"):
        raise ValueError(
            f"mrope_section must sum up to the {pairs} pairs that turn, got {sections}, which are "
            f"{sum(sections)}"
        )
    if sum(sections) != pairs:
        notes.append(f"mrope_section {sections} is of {sum(sections)} pairs, the head has {pairs}")
        return None
    try:
        return mrope_axes(sections, interleaved=family.dealt)
    except (TypeError, ValueError) as error:
        notes.append(f"mrope_section: {error}")
        return None


def _sections(family: Family, parameters: dict[str, dict]) -> dict:
    if not family.sections:
        return {}
    own = next(iter(parameters.values()))
    sections = list(own.get("mrope_section") or family.sections)
    form = "interleaved" if family.dealt else "chunked"
    return {"M-RoPE": f"pairs for time, rows, columns {sections}, {form}; text: ordinary rope"}


def _without_rotation(
    raw: dict,
    model_type: str,
    method: str,
    family: Family,
    context: int | None,
    at: int,
    notes: list[str],
) -> Model:
    for key in ("rope_theta", "rope_scaling", "rope_parameters"):
        if raw.get(key):
            notes.append(f"{key} is ignored: {model_type} does not rotate")
    count = _required(raw, "num_hidden_layers")
    details: dict[str, object] = {}
    settings: dict[str, object] = {}
    if method == "learned":
        details["table"] = f"{context} positions" + (
            f", row p + {family.offset}" if family.offset else ""
        )
        if raw.get("position_embedding_type", "absolute") != "absolute":
            notes.append("position_embedding_type is ignored: transformers 5 has absolute only")
    elif method == "t5":
        settings = {
            "num_buckets": raw.get("relative_attention_num_buckets", 32),
            "max_distance": raw.get("relative_attention_max_distance", 128),
        }
        details["buckets"] = (
            f"{settings['num_buckets']} up to distance {settings['max_distance']}; "
            "scores are not scaled"
        )
        context = None
    elif method == "alibi":
        attention = raw.get("attn_config") or {}
        heads = _required(raw, "num_attention_heads")
        most = attention.get("alibi_bias_max", 8)
        settings = {"num_heads": heads, "bias_max": most, "divided_by": 1.0}
        if attention.get("rope"):
            notes.append("attn_config.rope is ignored: transformers' MPT builds the bias alone")
        if family.divides:
            settings["divided_by"] = math.sqrt(_required(raw, "hidden_size") // heads)
        details["slopes"] = f"of {heads} heads, the last one 2^-{most} for a power of two"
        if family.divides:
            details["slopes"] += f", divided by {number(settings['divided_by'])}"
        if model_type == "mpt" and attention.get("alibi") is False:
            notes.append(
                "attn_config.alibi is false: transformers' MPT builds the bias all the same"
            )
    if family.note:
        details["note"] = family.note
    layers = tuple(Layer("full_attention", method, settings=settings) for _ in range(count))
    return Model(model_type, context, at, layers, tuple(dict.fromkeys(notes)), details)


def _told(layer: Layer, context: int | None) -> str:
    parts = []
    if layer.rope is None:
        parts.append("no positions (NoPE)" if layer.method == "none" else layer.method)
    else:
        rope = layer.rope
        parts.append(f"rope, {rope.pairing}, {rope.rotary_dim} of {rope.head_dim} channels")
        parts.append(f"base {number(layer.base)}")
        if layer.scaling != "none":
            told = ", ".join(
                f"{k} {number(v) if isinstance(v, float) else v}" for k, v in layer.settings.items()
            )
            parts.append(f"{layer.scaling} ({told})")
        if rope.gain != 1:
            parts.append(f"gain {number(rope.gain)}, scores times {number(rope.gain**2)}")
        if layer.softmax != 1:
            parts.append(f"all scores times {number(layer.softmax)} more")
    if layer.kind in RECURRENT:
        parts = [f"{RECURRENT[layer.kind]}, no positions"]
    elif layer.kind != "full_attention":
        parts.append(f"{layer.kind.split('_')[0]} window {layer.window}")
    if layer.temperature:
        parts.append(
            "queries grow: " + ", ".join(f"{k} {number(v)}" for k, v in layer.temperature.items())
        )
    text = ", ".join(parts)
    if layer.rope is not None and context:
        seen = min(context, layer.window or context)
        slow = int((layer.rope.inv_freq * seen < 2 * math.pi).sum())
        text += f"; {slow} of {len(layer.rope.inv_freq)} pairs stay below a turn"
    return text


def ranges(members: list[int]) -> str:
    """0-3, 5, 7-8 for a rising list; a long one is cut."""
    runs: list[list[int]] = []
    for i in members:
        if runs and i == runs[-1][-1] + 1:
            runs[-1].append(i)
        else:
            runs.append([i])
    text = [f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs]
    return ", ".join(text[:6]) + (f", ... ({len(members)})" if len(text) > 6 else "")
