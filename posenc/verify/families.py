"""What each model family does with its configuration: a table, and nothing that computes."""

from collections.abc import Callable
from dataclasses import dataclass

Kinds = Callable[[dict, int], list[str]]


@dataclass(frozen=True)
class Family:
    """How a model type reads its config.json.

    Args:
        method: "rope", "learned", "t5", "alibi" or "sinusoidal".
        theta: base of full-attention layers if the file gives none.
        local_theta: base of sliding layers if the file gives none; None if they have the same.
        pairing: of the channels.
        share: part of the head that turns if the file gives none.
        reads_share: whether a partial share in the file is heeded.
        width: the key of the head's rotary width, if the family has one.
        kinds: the kind of each layer, if the file does not list layer_types.
        rotary_kinds: kinds of layers that turn; others have no positions. None: all.
        bare_beside_window: whether full layers have no positions in a file with a sliding_window.
        listed: whether no_rope_layers (0: no positions) is heeded.
        temperature: "llama4" or "ministral3", if queries grow with position.
        local: the key of theta for sliding layers in older files.
        global_: the key of theta for full layers in older files.
        scales_local: whether an old rope_scaling changes sliding layers, too.
        offset: what is added to positions before the learned table is read.
        defaults: sizes that the family has when the file leaves them out.
        missing: the rope parameters that the family has when the file has none.
        share_key: the key of the rotary share in older files.
        unread: keys of other families that this one's reader passes over.
        sections: pairs for time, rows and columns (M-RoPE) if the file gives none.
        dealt: whether these axes are dealt out pair by pair, not in three chunks.
        splits: whether attention cuts hidden_size into heads, whatever head_dim says.
        divides: whether the bias is divided by sqrt(head_dim), as the scores are.
        note: a peculiarity, in words.
    """

    method: str = "rope"
    theta: float = 10_000.0
    local_theta: float | None = None
    pairing: str = "half"
    share: float = 1.0
    reads_share: bool = False
    width: str = ""
    kinds: Kinds | None = None
    rotary_kinds: tuple[str, ...] | None = None
    bare_beside_window: bool = False
    listed: bool = False
    temperature: str = ""
    local: str = "rope_local_base_freq"
    global_: str = "rope_theta"
    scales_local: bool = False
    offset: int = 0
    defaults: tuple[tuple[str, object], ...] = ()
    missing: tuple[tuple[str, object], ...] = ()
    share_key: str = "rotary_pct"
    unread: tuple[str, ...] = ()
    sections: tuple[int, ...] = ()
    dealt: bool = False
    splits: bool = False
    divides: bool = False
    note: str = ""


def every(period: int, *, first: bool = False) -> Kinds:
    """One full layer in each period, at its end or its beginning; the others slide."""

    def kinds(config: dict, layers: int) -> list[str]:
        at = config.get("sliding_window_pattern") or config.get("global_attn_every_n_layers")
        n = at if isinstance(at, int) else period
        full = 0 if first else n - 1
        return ["full_attention" if i % n == full else "sliding_attention" for i in range(layers)]

    return kinds


def _hybrid(config: dict, layers: int) -> list[str]:
    """One layer of attention in each interval, at its end; the others are recurrent."""
    n = config.get("full_attention_interval", 4)
    return ["linear_attention" if (i + 1) % n else "full_attention" for i in range(layers)]


def _convolved(config: dict, layers: int) -> list[str]:
    attends = config.get("full_attn_idxs")
    return ["full_attention" if attends is None or i in attends else "conv" for i in range(layers)]


def _qwen(config: dict, layers: int) -> list[str]:
    slides = config.get("use_sliding_window") and config.get("sliding_window") is not None
    after = config.get("max_window_layers", 28)
    return [
        "sliding_attention" if slides and i >= after else "full_attention" for i in range(layers)
    ]


def _one_window(config: dict, layers: int) -> list[str]:
    slides = config.get("sliding_window") is not None
    return ["sliding_attention" if slides else "full_attention"] * layers


def _llama4(config: dict, layers: int) -> list[str]:
    return [
        "chunked_attention" if turns else "full_attention" for turns in rotary_list(config, layers)
    ]


def _smollm3(config: dict, layers: int) -> list[str]:
    slides = config.get("use_sliding_window") and config.get("sliding_window") is not None
    return [
        "sliding_attention" if slides and not turns else "full_attention"
        for turns in rotary_list(config, layers)
    ]


def _gemma4(config: dict, layers: int) -> list[str]:
    return [*every(6)(config, layers)[:-1], "full_attention"]


def rotary_list(config: dict, layers: int) -> list[int]:
    """no_rope_layers, where 0 means no positions; every fourth layer if it is left out."""
    interval = config.get("no_rope_layer_interval", 4)
    return config.get("no_rope_layers") or [int((i + 1) % interval != 0) for i in range(layers)]


_GEMMA4 = Family(
    theta=1_000_000.0,
    local_theta=10_000.0,
    kinds=_gemma4,
    defaults=(("head_dim", 256), ("sliding_window", 512), ("global_head_dim", 512)),
    missing=(
        ("sliding_attention", {"rope_type": "default", "rope_theta": 10_000.0}),
        (
            "full_attention",
            {
                "rope_type": "proportional",
                "partial_rotary_factor": 0.25,
                "rope_theta": 1_000_000.0,
            },
        ),
    ),
)
_YARN_OF_GPT_OSS = (
    ("rope_type", "yarn"),
    ("factor", 32.0),
    ("beta_fast", 32.0),
    ("beta_slow", 1.0),
    ("truncate", False),
    ("original_max_position_embeddings", 4096),
)
_YARN_OF_MINISTRAL3 = (
    ("rope_type", "yarn"),
    ("rope_theta", 1_000_000.0),
    ("factor", 16.0),
    ("original_max_position_embeddings", 16384),
    ("beta_fast", 32.0),
    ("beta_slow", 1.0),
    ("mscale_all_dim", 1.0),
    ("mscale", 1.0),
    ("llama_4_scaling_beta", 0.1),
)
_GLM = Family(pairing="interleaved", share=0.5, reads_share=True, defaults=(("head_dim", 128),))
_LLAMA3_OF_APERTUS = (
    ("rope_type", "llama3"),
    ("rope_theta", 12_000_000.0),
    ("factor", 8.0),
    ("original_max_position_embeddings", 8192),
    ("low_freq_factor", 1.0),
    ("high_freq_factor", 4.0),
)
_LLAMA3_OF_CWM = (
    ("rope_type", "llama3"),
    ("rope_theta", 1_000_000.0),
    ("factor", 16.0),
    ("original_max_position_embeddings", 8192),
    ("low_freq_factor", 1.0),
    ("high_freq_factor", 4.0),
)
_ATTENTION = ("full_attention",)
_EXAONE = Family(kinds=every(4), bare_beside_window=True, defaults=(("sliding_window", 4096),))
_GEMMA3N = Family(
    theta=1_000_000.0,
    local_theta=10_000.0,
    kinds=every(5),
    defaults=(("head_dim", 256), ("sliding_window", 512)),
)
_LFM2 = Family(theta=1_000_000.0, kinds=_convolved, rotary_kinds=_ATTENTION)
_QWEN = Family(kinds=_qwen)
_QWEN_VL = Family(theta=1_000_000.0, kinds=_qwen, sections=(16, 24, 24))
_QWEN3_VL = Family(
    theta=500_000.0, defaults=(("head_dim", 128),), sections=(24, 20, 20), dealt=True
)
_LLAMA4 = Family(
    theta=500_000.0,
    pairing="interleaved",
    kinds=_llama4,
    listed=True,
    temperature="llama4",
    defaults=(("head_dim", 128),),
)
_SIZES_GPT = (("hidden_size", 768), ("num_attention_heads", 12), ("num_hidden_layers", 12))

FAMILIES = {
    "gpt2": Family("learned"),
    "bert": Family("learned", defaults=_SIZES_GPT),
    "roberta": Family("learned", offset=2, defaults=_SIZES_GPT),
    "opt": Family("learned", offset=2),
    "distilbert": Family("learned"),
    "t5": Family("t5"),
    "mt5": Family("t5"),
    "umt5": Family("t5", note="each layer has its own table of buckets"),
    "bloom": Family("alibi", note="one row m j a head, which softmax takes as -m (i - j)"),
    "mpt": Family("alibi"),
    "falcon": Family(
        splits=True,
        divides=True,
        defaults=(("hidden_size", 4544), ("num_attention_heads", 71)),
        note="with alibi: true the bias is divided by sqrt(head_dim)",
    ),
    "gptj": Family(pairing="interleaved", width="rotary_dim"),
    "codegen": Family(pairing="interleaved", width="rotary_dim"),
    "roformer": Family(pairing="interleaved"),
    "gpt_neox": Family(
        splits=True,
        share=0.25,
        reads_share=True,
        global_="rotary_emb_base",
        unread=("rope_theta", "partial_rotary_factor"),
    ),
    "phi": Family(share=0.5, reads_share=True),
    "phi3": Family(reads_share=True, kinds=_one_window),
    "stablelm": Family(share=0.25, reads_share=True, splits=True),
    "persimmon": Family(share=0.5, reads_share=True, splits=True),
    "nemotron": Family(share=0.5, reads_share=True),
    "glm": _GLM,
    "glm4": _GLM,
    "llama": Family(),
    "llama4": _LLAMA4,
    "llama4_text": _LLAMA4,
    "mistral": Family(kinds=_one_window, defaults=(("sliding_window", 4096),)),
    "mixtral": Family(theta=1_000_000.0, kinds=_one_window),
    "ministral": Family(kinds=_one_window, defaults=(("sliding_window", 4096),)),
    "ministral3": Family(
        theta=1_000_000.0,
        kinds=_one_window,
        temperature="ministral3",
        defaults=(("head_dim", 128),),
        missing=_YARN_OF_MINISTRAL3,
    ),
    "qwen2": _QWEN,
    "qwen2_moe": _QWEN,
    "qwen3": Family(kinds=_qwen, defaults=(("head_dim", 128),)),
    "qwen3_moe": _QWEN,
    "qwen2_vl": _QWEN_VL,
    "qwen2_vl_text": _QWEN_VL,
    "qwen2_5_vl": _QWEN_VL,
    "qwen2_5_vl_text": _QWEN_VL,
    "qwen3_vl": _QWEN3_VL,
    "qwen3_vl_text": _QWEN3_VL,
    "gemma": Family(defaults=(("head_dim", 256),)),
    "gemma2": Family(kinds=every(2), defaults=(("head_dim", 256), ("sliding_window", 4096))),
    "gemma3": Family(
        theta=1_000_000.0,
        local_theta=10_000.0,
        kinds=every(6),
        defaults=(("head_dim", 256), ("sliding_window", 4096)),
    ),
    "gemma3_text": Family(
        theta=1_000_000.0,
        local_theta=10_000.0,
        kinds=every(6),
        defaults=(("head_dim", 256), ("sliding_window", 4096)),
    ),
    "gemma4": _GEMMA4,
    "gemma4_text": _GEMMA4,
    "deepseek_v2": Family(pairing="interleaved", width="qk_rope_head_dim"),
    "deepseek_v3": Family(pairing="interleaved in, half out", width="qk_rope_head_dim"),
    "gpt_oss": Family(
        theta=150_000.0,
        kinds=every(2),
        defaults=(("head_dim", 64), ("sliding_window", 128)),
        missing=_YARN_OF_GPT_OSS,
    ),
    "smollm3": Family(theta=2_000_000.0, kinds=_smollm3, listed=True),
    "cohere": Family(theta=500_000.0, pairing="interleaved"),
    "cohere2": Family(
        pairing="interleaved",
        kinds=every(4),
        rotary_kinds=("sliding_attention",),
        defaults=(("sliding_window", 4096),),
    ),
    "modernbert": Family(
        theta=160_000.0,
        local_theta=10_000.0,
        kinds=every(3, first=True),
        local="local_rope_theta",
        global_="global_rope_theta",
        scales_local=True,
        defaults=(("local_attention", 128),),
    ),
    "chatglm": Family(pairing="interleaved", share=0.5),
    "baichuan": Family(note="rope with a hidden_size of 4096 (7B), ALiBi otherwise (13B)"),
    "qwen": Family(reads_share=True, global_="rotary_emb_base"),
    "internlm": Family(),
    "internlm2": Family(),
    "internlm3": Family(),
    "xverse": Family(),
    "deci": Family(),
    "Yi": Family(),
    "aquila": Family(),
    "orion": Family(),
    "olmo2": Family(),
    "granite": Family(),
    "starcoder2": Family(kinds=_one_window),
    "afmoe": Family(
        kinds=every(4),
        rotary_kinds=("sliding_attention",),
        defaults=(("head_dim", 128), ("sliding_window", 1024)),
    ),
    "apertus": Family(theta=12_000_000.0, missing=_LLAMA3_OF_APERTUS),
    "arcee": Family(),
    "aria_text": Family(),
    "bitnet": Family(theta=500_000.0),
    "chameleon": Family(),
    "csm": Family(theta=500_000.0),
    "cwm": Family(
        theta=1_000_000.0,
        kinds=every(4, first=True),
        defaults=(("head_dim", 128), ("sliding_window", 8192)),
        missing=_LLAMA3_OF_CWM,
    ),
    "diffllama": Family(),
    "doge": Family(),
    "ernie4_5": Family(theta=500_000.0, pairing="interleaved", defaults=(("head_dim", 128),)),
    "ernie4_5_moe": Family(theta=500_000.0, pairing="interleaved"),
    "eurobert": Family(),
    "exaone4": _EXAONE,
    "exaone_moe": _EXAONE,
    "flex_olmo": Family(theta=500_000.0),
    "gemma3n": _GEMMA3N,
    "gemma3n_text": _GEMMA3N,
    "glm4_moe": Family(share=0.5, reads_share=True),
    "granitemoe": Family(),
    "granitemoeshared": Family(),
    "gte": Family(theta=160_000.0),
    "helium": Family(theta=100_000.0, pairing="interleaved", defaults=(("head_dim", 128),)),
    "hyperclovax": Family(),
    "jais2": Family(),
    "lfm2": _LFM2,
    "lfm2_moe": _LFM2,
    "minimax_m2": Family(
        theta=5_000_000.0, width="rotary_dim", reads_share=True, defaults=(("head_dim", 128),)
    ),
    "mllama_text_model": Family(theta=500_000.0),
    "nomic_bert": Family(theta=1_000.0),
    "olmo": Family(),
    "olmo3": Family(
        theta=500_000.0,
        local_theta=500_000.0,
        kinds=every(4),
        defaults=(("sliding_window", 4096),),
    ),
    "olmoe": Family(),
    "qwen3_next": Family(
        share=0.25,
        reads_share=True,
        kinds=_hybrid,
        rotary_kinds=_ATTENTION,
        defaults=(("head_dim", 256),),
    ),
    "seed_oss": Family(defaults=(("head_dim", 128),)),
    "solar_open": Family(theta=1_000_000.0, defaults=(("head_dim", 128),)),
    "vaultgemma": Family(kinds=every(2), defaults=(("head_dim", 256), ("sliding_window", 4096))),
}
