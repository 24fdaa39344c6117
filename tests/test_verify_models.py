"""Configurations read by posenc, beside what transformers itself makes of them."""

import importlib
import json
import logging

import pytest
import torch
from helpers import close

from posenc import alibi_slopes
from posenc.verify import compare, identify
from posenc.verify.models import Layer, Model, models

SMALL = {"hidden_size": 256, "num_attention_heads": 4, "num_hidden_layers": 12}
LONG = {"short_factor": [1.0 + i / 32 for i in range(32)], "long_factor": list(range(1, 33))}
LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 1024,
}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 1024}
DEEPSEEK = {**YARN, "factor": 40.0, "mscale": 0.7, "mscale_all_dim": 1.0}


def modeling(model: str):
    return importlib.import_module(f"transformers.models.{model}.modeling_{model}")


def configured(model_type: str, **changes):
    """transformers' configuration, quietly."""
    import transformers

    logging.getLogger("transformers").setLevel(logging.ERROR)
    return transformers.CONFIG_MAPPING[model_type](**{**SMALL, **changes})


def rotary(config, folder: str, name: str):
    return getattr(modeling(folder), name)(config)


def frequencies_of(module, kind: str):
    """inv_freq and gain of a rotary module, for a kind of layer."""
    if hasattr(module, f"{kind}_inv_freq"):
        return getattr(module, f"{kind}_inv_freq"), getattr(module, f"{kind}_attention_scaling")
    return module.inv_freq, getattr(module, "attention_scaling", 1.0)


FOLDERS = {
    "llama": ("llama", "LlamaRotaryEmbedding"),
    "llama4_text": ("llama4", "Llama4TextRotaryEmbedding"),
    "mistral": ("mistral", "MistralRotaryEmbedding"),
    "mixtral": ("mixtral", "MixtralRotaryEmbedding"),
    "ministral": ("ministral", "MinistralRotaryEmbedding"),
    "ministral3": ("ministral3", "Ministral3RotaryEmbedding"),
    "falcon": ("falcon", "FalconRotaryEmbedding"),
    "gpt_neox": ("gpt_neox", "GPTNeoXRotaryEmbedding"),
    "phi": ("phi", "PhiRotaryEmbedding"),
    "phi3": ("phi3", "Phi3RotaryEmbedding"),
    "stablelm": ("stablelm", "StableLmRotaryEmbedding"),
    "glm": ("glm", "GlmRotaryEmbedding"),
    "glm4": ("glm4", "Glm4RotaryEmbedding"),
    "nemotron": ("nemotron", "NemotronRotaryEmbedding"),
    "persimmon": ("persimmon", "PersimmonRotaryEmbedding"),
    "qwen2": ("qwen2", "Qwen2RotaryEmbedding"),
    "qwen2_moe": ("qwen2_moe", "Qwen2MoeRotaryEmbedding"),
    "qwen3": ("qwen3", "Qwen3RotaryEmbedding"),
    "qwen3_moe": ("qwen3_moe", "Qwen3MoeRotaryEmbedding"),
    "qwen2_vl_text": ("qwen2_vl", "Qwen2VLRotaryEmbedding"),
    "qwen2_5_vl_text": ("qwen2_5_vl", "Qwen2_5_VLRotaryEmbedding"),
    "qwen3_vl_text": ("qwen3_vl", "Qwen3VLTextRotaryEmbedding"),
    "gemma": ("gemma", "GemmaRotaryEmbedding"),
    "gemma2": ("gemma2", "Gemma2RotaryEmbedding"),
    "gemma3_text": ("gemma3", "Gemma3RotaryEmbedding"),
    "gemma4_text": ("gemma4", "Gemma4TextRotaryEmbedding"),
    "deepseek_v2": ("deepseek_v2", "DeepseekV2RotaryEmbedding"),
    "deepseek_v3": ("deepseek_v3", "DeepseekV3RotaryEmbedding"),
    "gpt_oss": ("gpt_oss", "GptOssRotaryEmbedding"),
    "smollm3": ("smollm3", "SmolLM3RotaryEmbedding"),
    "cohere": ("cohere", "CohereRotaryEmbedding"),
    "cohere2": ("cohere2", "Cohere2RotaryEmbedding"),
    "modernbert": ("modernbert", "ModernBertRotaryEmbedding"),
    "olmo2": ("olmo2", "Olmo2RotaryEmbedding"),
    "granite": ("granite", "GraniteRotaryEmbedding"),
    "starcoder2": ("starcoder2", "Starcoder2RotaryEmbedding"),
    "afmoe": ("afmoe", "AfmoeRotaryEmbedding"),
    "apertus": ("apertus", "ApertusRotaryEmbedding"),
    "arcee": ("arcee", "ArceeRotaryEmbedding"),
    "aria_text": ("aria", "AriaTextRotaryEmbedding"),
    "bitnet": ("bitnet", "BitNetRotaryEmbedding"),
    "chameleon": ("chameleon", "ChameleonRotaryEmbedding"),
    "csm": ("csm", "CsmRotaryEmbedding"),
    "cwm": ("cwm", "CwmRotaryEmbedding"),
    "diffllama": ("diffllama", "DiffLlamaRotaryEmbedding"),
    "doge": ("doge", "DogeRotaryEmbedding"),
    "ernie4_5": ("ernie4_5", "Ernie4_5RotaryEmbedding"),
    "ernie4_5_moe": ("ernie4_5_moe", "Ernie4_5_MoeRotaryEmbedding"),
    "eurobert": ("eurobert", "EuroBertRotaryEmbedding"),
    "exaone4": ("exaone4", "Exaone4RotaryEmbedding"),
    "exaone_moe": ("exaone_moe", "ExaoneMoeRotaryEmbedding"),
    "flex_olmo": ("flex_olmo", "FlexOlmoRotaryEmbedding"),
    "gemma3n_text": ("gemma3n", "Gemma3nRotaryEmbedding"),
    "glm4_moe": ("glm4_moe", "Glm4MoeRotaryEmbedding"),
    "granitemoe": ("granitemoe", "GraniteMoeRotaryEmbedding"),
    "granitemoeshared": ("granitemoeshared", "GraniteMoeSharedRotaryEmbedding"),
    "gte": ("gte", "GteRotaryEmbedding"),
    "helium": ("helium", "HeliumRotaryEmbedding"),
    "hyperclovax": ("hyperclovax", "HyperCLOVAXRotaryEmbedding"),
    "jais2": ("jais2", "Jais2RotaryEmbedding"),
    "lfm2": ("lfm2", "Lfm2RotaryEmbedding"),
    "minimax_m2": ("minimax_m2", "MiniMaxM2RotaryEmbedding"),
    "mllama_text_model": ("mllama", "MllamaRotaryEmbedding"),
    "nomic_bert": ("nomic_bert", "NomicBertRotaryEmbedding"),
    "olmo": ("olmo", "OlmoRotaryEmbedding"),
    "olmo3": ("olmo3", "Olmo3RotaryEmbedding"),
    "olmoe": ("olmoe", "OlmoeRotaryEmbedding"),
    "qwen3_next": ("qwen3_next", "Qwen3NextRotaryEmbedding"),
    "seed_oss": ("seed_oss", "SeedOssRotaryEmbedding"),
    "solar_open": ("solar_open", "SolarOpenRotaryEmbedding"),
    "vaultgemma": ("vaultgemma", "VaultGemmaRotaryEmbedding"),
}


def agrees_with_transformers(config, read: Model, model_type: str):
    module = rotary(config, *FOLDERS[model_type])
    kinds = getattr(config, "layer_types", None) or [layer.kind for layer in read.layers]
    for layer, kind in zip(read.layers, kinds, strict=True):
        assert layer.kind == kind
        if layer.rope is None:
            continue
        inv_freq, gain = frequencies_of(module, kind)
        torch.testing.assert_close(
            layer.rope.inv_freq, inv_freq.double(), rtol=1e-6, atol=0, check_dtype=False
        )
        assert layer.rope.gain == pytest.approx(gain, rel=1e-6)


@pytest.mark.parametrize("model_type", FOLDERS)
def test_the_family_as_it_is(model_type):
    config = configured(model_type)
    agrees_with_transformers(config, models(config), model_type)
    agrees_with_transformers(config, models(json.loads(json.dumps(config.to_dict()))), model_type)


@pytest.mark.parametrize("model_type", FOLDERS)
def test_the_family_as_it_is_when_the_file_says_little(model_type):
    read = models({"model_type": model_type, **SMALL})
    config = configured(model_type)
    agrees_with_transformers(config, read, model_type)
    assert read.notes
    windows = [layer.window for layer in read.layers]
    assert windows == [layer.window for layer in models(config).layers]


SCALED = [
    ("llama", {"rope_parameters": {**LLAMA3, "rope_theta": 5e5}}),
    ("llama", {"rope_parameters": {"rope_type": "linear", "factor": 3.0, "rope_theta": 1e4}}),
    ("llama", {"rope_parameters": {"rope_type": "dynamic", "factor": 3.0, "rope_theta": 1e4}}),
    ("llama", {"rope_parameters": {**YARN, "rope_theta": 1e6, "attention_factor": 1.2}}),
    ("llama4_text", {"rope_parameters": {**LLAMA3, "rope_theta": 5e5}}),
    ("mistral", {"rope_parameters": {**YARN, "rope_theta": 1e6}, "sliding_window": None}),
    ("qwen2", {"rope_parameters": {**YARN, "rope_theta": 1e6}, "max_position_embeddings": 4096}),
    ("qwen3", {"rope_parameters": {**YARN, "beta_fast": 16.0, "rope_theta": 1e6}}),
    ("deepseek_v2", {"rope_parameters": {**DEEPSEEK, "rope_theta": 1e4}}),
    ("deepseek_v3", {"rope_parameters": {**DEEPSEEK, "rope_theta": 1e4}}),
    ("gpt_oss", {"rope_parameters": {**YARN, "truncate": False, "rope_theta": 150000.0}}),
    (
        "phi3",
        {
            "rope_parameters": {"rope_type": "longrope", "rope_theta": 1e4, **LONG},
            "max_position_embeddings": 131072,
            "original_max_position_embeddings": 4096,
        },
    ),
    (
        "gemma3_text",
        {
            "rope_parameters": {
                "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6},
                "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
            }
        },
    ),
    (
        "gpt_neox",
        {
            "rope_parameters": {
                "rope_type": "default",
                "rope_theta": 25_000.0,
                "partial_rotary_factor": 1.0,
            }
        },
    ),
    ("gemma4_text", {"global_head_dim": 128, "head_dim": 64}),
    ("cohere2", {"sliding_window_pattern": 3}),
    ("modernbert", {"global_attn_every_n_layers": 4}),
    ("smollm3", {"no_rope_layer_interval": 3}),
    ("qwen3_next", {"full_attention_interval": 3}),
    ("minimax_m2", {"rotary_dim": 64}),
    ("minimax_m2", {"rotary_dim": 32, "head_dim": 96}),
    ("lfm2", {"full_attn_idxs": [2, 5]}),
    ("olmo3", {"rope_theta": 2e5, "rope_scaling": {**YARN}}),
    ("exaone4", {"sliding_window": None, "layer_types": ["full_attention"] * 12}),
    ("llama4_text", {"no_rope_layers": [1, 0] * 6}),
    ("qwen2", {"use_sliding_window": True, "sliding_window": 99, "max_window_layers": 5}),
]


@pytest.mark.parametrize(("model_type", "changes"), SCALED)
def test_scaled_and_with_other_settings(model_type, changes):
    config = configured(model_type, **changes)
    length = 100 if model_type == "phi3" else None  # its module starts with the short factors
    agrees_with_transformers(config, models(config, length=length), model_type)
    agrees_with_transformers(config, models(config.to_dict(), length=length), model_type)


OLD = [
    ("llama", {"rope_theta": 5e5, "rope_scaling": dict(LLAMA3)}),
    ("llama", {"rope_theta": 1e4, "rope_scaling": {"type": "linear", "factor": 4.0}}),
    ("llama", {"rope_theta": 2e4, "rope_scaling": None}),
    ("gpt_neox", {"rotary_pct": 0.5, "rope_theta": 1e4}),
    (
        "gemma3_text",
        {
            "rope_theta": 2e6,
            "rope_local_base_freq": 5e4,
            "rope_scaling": {"rope_type": "linear", "factor": 8.0},
        },
    ),
    ("modernbert", {"global_rope_theta": 80_000.0, "local_rope_theta": 9_000.0}),
    (
        "qwen2",
        {
            "rope_theta": 1e6,
            "rope_scaling": {
                "type": "yarn",
                "factor": 4.0,
                "original_max_position_embeddings": 1024,
            },
        },
    ),
    (
        "deepseek_v3",
        {
            "rope_theta": 1e4,
            "rope_scaling": {
                "type": "yarn",
                **{k: v for k, v in DEEPSEEK.items() if k != "rope_type"},
            },
        },
    ),
    (
        "llama",
        {
            "rope_theta": 1e4,
            "rope_scaling": {"type": "dynamic", "factor": 2.0},
            "max_position_embeddings": 1000,
        },
    ),
    ("phi", {"rope_theta": 1e4, "partial_rotary_factor": 0.25}),
]


@pytest.mark.parametrize(("model_type", "changes"), OLD)
def test_files_of_older_versions(model_type, changes):
    raw = {"model_type": model_type, "max_position_embeddings": 4096, **SMALL, **changes}
    config = configured(
        model_type, **{k: v for k, v in json.loads(json.dumps(raw)).items() if k != "model_type"}
    )
    agrees_with_transformers(config, models(raw), model_type)


@pytest.mark.parametrize("length", [100, 5000, 100_000])
@pytest.mark.parametrize(
    ("model_type", "parameters", "more"),
    [
        ("llama", {"rope_type": "dynamic", "factor": 3.0, "rope_theta": 1e4}, {}),
        (
            "phi3",
            {"rope_type": "longrope", "rope_theta": 1e4, **LONG},
            {"max_position_embeddings": 131072, "original_max_position_embeddings": 4096},
        ),
    ],
)
def test_frequencies_that_depend_on_the_length(model_type, parameters, more, length):
    config = configured(model_type, rope_parameters=parameters, **more)
    module = rotary(config, *FOLDERS[model_type])
    module(torch.zeros(1), torch.tensor([[length - 1]]))
    rope = models(config, length=length).layers[0].rope
    torch.testing.assert_close(rope.inv_freq, module.inv_freq.double(), rtol=2e-6, atol=0)


APPLY = {
    "llama": "apply_rotary_pos_emb",
    "gpt_neox": "apply_rotary_pos_emb",
    "cohere": "apply_rotary_pos_emb",
    "cohere2": "apply_rotary_pos_emb",
    "glm": "apply_rotary_pos_emb",
    "qwen3": "apply_rotary_pos_emb",
    "deepseek_v3": "apply_rotary_pos_emb_interleave",
    "smollm3": "apply_rotary_pos_emb",
    "gpt_oss": "apply_rotary_pos_emb",
    "phi": "",
    **dict.fromkeys(
        [
            "arcee",
            "apertus",
            "bitnet",
            "ernie4_5",
            "ernie4_5_moe",
            "exaone4",
            "glm4_moe",
            "helium",
            "minimax_m2",
            "olmoe",
            "qwen3_next",
            "seed_oss",
        ],
        "apply_rotary_pos_emb",
    ),
}


@pytest.mark.parametrize("model_type", [name for name in APPLY if APPLY[name]])
def test_the_rotation_that_it_reads_is_the_one_that_the_model_does(model_type):
    config = configured(model_type)
    layer = next(layer for layer in models(config).layers if layer.rope)
    module = rotary(config, *FOLDERS[model_type])
    apply = getattr(modeling(FOLDERS[model_type][0]), APPLY[model_type])
    found = compare(module, layer.rope, apply=apply, dim=layer.rope.head_dim)
    assert found.agrees, found
    told = identify(module, apply=apply, dim=layer.rope.head_dim)
    assert told.rope.pairing == layer.rope.pairing
    assert told.data["rotary_dim"] == layer.rope.rotary_dim


def test_llama4_turns_neighbours_as_complex_numbers():
    config = configured("llama4_text")
    llama4 = modeling("llama4")
    module = llama4.Llama4TextRotaryEmbedding(config)

    def theirs(x, positions):  # [b, n, h, d]
        return llama4.apply_rotary_emb(x, x, module(x, positions[None]))[0]

    found = compare(theirs, models(config).layers[0].rope)
    assert found.agrees, found


def test_deepseek_v2_turns_neighbours_where_v3_reorders_them():
    config = configured("deepseek_v2", qk_rope_head_dim=32)
    deepseek = modeling("deepseek_v2")
    module = deepseek.DeepseekV2RotaryEmbedding(config)

    def theirs(q, k, positions):  # [b, h, n, d]
        return deepseek.apply_rotary_emb(q, k, module(q, positions[None]))

    found = compare(theirs, models(config))
    assert found.agrees, found
    reordered = configured("deepseek_v3", qk_rope_head_dim=32)
    assert str(compare(theirs, models(reordered))).startswith("agree in scores q.k")


@pytest.mark.parametrize("rotary_dim", [16, 64])
def test_gptj_turns_its_rotary_dim(rotary_dim):
    gptj = modeling("gptj")
    sizes = {"n_embd": 256, "n_head": 4, "n_layer": 2}
    raw = {"model_type": "gptj", "rotary_dim": rotary_dim, **sizes}
    table = gptj.create_sinusoidal_positions(200_000, rotary_dim)

    def theirs(x, positions):  # [b, n, h, d]
        sin, cos = table[positions][None].chunk(2, dim=-1)
        turned = gptj.apply_rotary_pos_emb(x[..., :rotary_dim], sin, cos)
        return torch.cat((turned, x[..., rotary_dim:]), dim=-1)

    layer = models(raw).layers[0]
    assert layer.rope.head_dim == 64
    assert compare(theirs, layer.rope).agrees


def test_windows_and_layers_without_positions():
    def windows(config):
        return [layer.window for layer in models(config).layers]

    def methods(config):
        return [layer.method for layer in models(config).layers]

    assert windows(configured("gpt_oss")) == [128, None] * 6
    assert windows(configured("gemma2", sliding_window=77)) == [77, None] * 6
    assert windows(configured("mistral", sliding_window=None)) == [None] * 12
    assert windows(configured("mistral", sliding_window=50)) == [50] * 12
    assert windows(configured("modernbert")) == [None, 128, 128] * 4
    assert windows(configured("llama4_text")) == [8192, 8192, 8192, None] * 3
    assert methods(configured("cohere2")) == ["rope", "rope", "rope", "none"] * 3
    assert methods(configured("smollm3")) == ["rope", "rope", "rope", "none"] * 3
    assert methods(configured("llama4_text")) == ["rope", "rope", "rope", "none"] * 3


@pytest.mark.parametrize(("scale", "floor"), [(0.1, 8192), (0.3, 100)])
def test_llama4s_temperature(scale, floor):
    layers = models(configured("llama4_text", attn_scale=scale, floor_scale=floor)).layers
    assert layers[0].temperature is None
    assert layers[3].temperature == {"scale": scale, "length": floor, "first": 1}
    off = models(configured("llama4_text", attn_temperature_tuning=False)).layers
    assert off[3].temperature is None


@pytest.mark.parametrize("beta", [0.1, 0.5])
def test_ministral3s_temperature(beta):
    from posenc import query_gain

    parameters = {**YARN, "rope_theta": 1e6, "llama_4_scaling_beta": beta}
    config = configured("ministral3", rope_parameters=parameters)
    found = models(config).layers[0].temperature
    positions = torch.tensor([0, 1023, 1024, 50_000])
    theirs = modeling("ministral3").get_llama_4_attn_scale(positions[None], beta, 1024)
    close(query_gain(positions, **found), theirs.flatten(), atol=1e-6)


@pytest.mark.parametrize("mscale_all_dim", [0.5, 1.0])
def test_deepseek_scales_its_softmax_too(mscale_all_dim):
    parameters = {**DEEPSEEK, "rope_theta": 1e4, "mscale_all_dim": mscale_all_dim}
    config = configured("deepseek_v3", rope_parameters=parameters)
    layer = models(config).layers[0]
    theirs = modeling("deepseek_v3").yarn_apply_mscale(config.rope_parameters, 1.0)
    assert layer.softmax == pytest.approx(theirs)


@pytest.mark.parametrize(
    ("raw", "method", "detail"),
    [
        ({"model_type": "gpt2", "n_layer": 2, "n_positions": 77}, "learned", "77 positions"),
        ({"model_type": "bert", "max_position_embeddings": 512}, "learned", "512 positions"),
        ({"model_type": "opt", "num_hidden_layers": 2}, "learned", "row p + 2"),
        ({"model_type": "t5", "num_layers": 2}, "t5", "32 up to distance 128"),
        (
            {"model_type": "t5", "num_layers": 2, "relative_attention_max_distance": 50},
            "t5",
            "32 up to distance 50",
        ),
        (
            {"model_type": "bloom", "n_layer": 2, "n_head": 8},
            "alibi",
            "of 8 heads, the last one 2^-8",
        ),
        (
            {
                "model_type": "mpt",
                "n_layers": 2,
                "n_heads": 4,
                "attn_config": {"alibi_bias_max": 16},
            },
            "alibi",
            "of 4 heads, the last one 2^-16",
        ),
        (
            {
                "model_type": "falcon",
                "num_hidden_layers": 2,
                "num_attention_heads": 8,
                "alibi": True,
            },
            "alibi",
            "sqrt",
        ),
    ],
)
def test_models_without_rotation(raw, method, detail):
    read = models(raw)
    assert {layer.method for layer in read.layers} == {method}
    assert detail in str(read)


@pytest.mark.parametrize(("heads", "most"), [(8, 8), (16, 4)])
def test_the_slopes_that_mpt_builds_are_those_that_are_told(heads, most):
    bias = modeling("mpt").build_mpt_alibi_tensor(heads, 20, alibi_bias_max=most)
    found = identify(bias)
    assert found.data["order"] == "as published"
    assert found.data["slopes"][-1] == pytest.approx(2.0**-most)
    if most == 8:
        close(torch.tensor(found.data["slopes"]), alibi_slopes(heads), atol=1e-7)


LLAMA = {"model_type": "llama", "max_position_embeddings": 4096, "rope_theta": 1e4, **SMALL}
NOTES = [
    ({"rope_theta": None}, "rope_theta is not given: 10000, the family's default"),
    (
        {"rope_parameters": {"rope_type": "default", "rope_theta": 5e5}},
        "rope_theta 10000 is ignored: rope_parameters says 500000",
    ),
    ({"rope_scaling": {"rope_type": "default", "factor": 4.0}}, "factor is ignored: rope_type"),
    (
        {"rope_scaling": {**YARN, "attention_factor": 1.2, "mscale": 0.5}},
        "mscale is not read for the gain: attention_factor says it",
    ),
    (
        {"rope_scaling": {**YARN, "mscale": 1.0}},
        "mscale and mscale_all_dim are read together only",
    ),
    ({"rope_scaling": {**YARN, "factor": 8.0}}, "factor 8 is used, but context over"),
    (
        {"rope_scaling": {"type": "linear", "rope_type": "llama3", **{**LLAMA3}}},
        "type 'linear' is ignored: rope_type says 'llama3'",
    ),
    ({"rope_scaling": {**YARN, "attn_factor": 1.2}}, "attn_factor is ignored"),
    ({"partial_rotary_factor": 0.5}, "partial_rotary_factor is ignored: llama turns whole heads"),
    ({"no_rope_layers": [1, 0] * 6}, "no_rope_layers is ignored"),
    ({"sliding_window": 99}, "sliding_window 99 is ignored: no layer slides"),
    (
        {"rope_scaling": YARN, "rope_parameters": {"rope_type": "default", "rope_theta": 1e4}},
        "rope_parameters is ignored",
    ),
    ({"rope_scaling": {"type": "dynamic", "factor": 2.0}}, "change with the length"),
    (
        {"rope_scaling": {k: v for k, v in YARN.items() if not k.startswith("original")}},
        "original_max_position_embeddings is not given: 4096",
    ),
    (
        {"original_max_position_embeddings": 2048, "rope_scaling": YARN},
        "the configuration says 2048",
    ),
]


@pytest.mark.parametrize(("changes", "note"), NOTES)
def test_what_is_ignored_contradicted_or_missing_is_named(changes, note):
    read = models({**LLAMA, **changes})
    assert any(note in text for text in read.notes), read.notes


def test_a_plain_file_has_nothing_to_note():
    assert models(LLAMA).notes == ()


@pytest.mark.parametrize("scaling", [None, YARN, {"rope_type": "linear", "factor": 4.0}])
@pytest.mark.parametrize("model_type", ["qwen2", "olmo3"])
def test_a_share_that_a_family_does_not_read_is_told_as_transformers_takes_it(model_type, scaling):
    given = {"partial_rotary_factor": 0.5, "rope_theta": 1e4}
    given["rope_scaling"] = scaling and dict(scaling)  # transformers adds to it
    given["max_position_embeddings"] = 16_384
    read = models({"model_type": model_type, **SMALL, **given})
    config = configured(model_type, **given)
    frequencies = frequencies_of(rotary(config, *FOLDERS[model_type]), "full_attention")[0]
    whole = len(frequencies) == len(read.layers[-1].rope.inv_freq)
    assert whole == (scaling is None)
    told = [note for note in read.notes if note.startswith("partial_rotary_factor")]
    assert told
    assert any("makes frequencies for a part" in note for note in told) == (not whole)


def test_nested_truncate_is_read_as_transformers_reads_it():
    kinds = ("full_attention", "sliding_attention")
    nested = {kind: {**YARN, "truncate": False, "rope_theta": 1e6} for kind in kinds}
    config = configured("gemma3_text", rope_parameters=nested)
    read = models(config)
    assert any("truncate: false is ignored" in note for note in read.notes)
    agrees_with_transformers(config, read, "gemma3_text")


@pytest.mark.parametrize("name", ["su", "yarn"])
def test_early_names_of_longrope_are_read(name):
    lengths = {"max_position_embeddings": 131072, "original_max_position_embeddings": 4096}
    raw = {**LLAMA, **lengths, "model_type": "phi3", "rope_scaling": {"type": name, **LONG}}
    read = models(raw)
    assert any("is read as 'longrope'" in note for note in read.notes)
    assert read.layers[0].scaling == "longrope"
    assert read.layers[0].rope.gain == pytest.approx((1 + 5 / 12) ** 0.5)


def test_text_models_inside_others_are_found():
    config = configured("qwen3_vl")
    read = models(config)
    assert "M-RoPE" in read.details
    assert read.model_type == "qwen3_vl_text"
    raw = {**config.to_dict(), "rope_theta": 1.0}
    assert "rope_theta outside text_config is ignored" in models(raw).notes


def test_a_file_and_its_folder_are_read(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    read = models(tmp_path)
    assert str(read) == str(models(tmp_path / "config.json")) == str(models(LLAMA))
    assert json.loads(json.dumps(read.as_dict()))["layers"][0]["pairing"] == "half"
    assert isinstance(read.layers[0], Layer)


@pytest.mark.usefixtures("annotations_off")
@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"model_type": "nobody"}, "model_type must be one of those known here, got 'nobody'"),
        ({}, "got None"),
        (7, "config must be a dict, a path or a config object, got int"),
        ({"model_type": "llama"}, "must say num_hidden_layers"),
        ({**LLAMA, "rope_scaling": {"type": "magic"}}, "rope_type must be one of .* got 'magic'"),
        ({**LLAMA, "rope_scaling": {"type": "linear"}}, "must have a factor, got none"),
    ],
)
def test_what_cannot_be_read_is_refused(config, message):
    with pytest.raises(ValueError, match=message):
        models(config)


@pytest.mark.parametrize(("context", "window"), [(4096, 128), (1000, 64)])
def test_the_figure_has_a_line_for_each_kind_of_layer(context, window):
    import matplotlib

    matplotlib.use("agg")
    from posenc.show import plot_model

    config = {"model_type": "gemma3_text", "head_dim": 32, "max_position_embeddings": context}
    read = models({**SMALL, **config, "sliding_window": window})
    ax = plot_model(read)
    curves = {line.get_label(): line for line in ax.get_lines()}
    assert {"sliding, 10 layers", "full, 2 layers", "context"} <= set(curves)
    close(
        torch.as_tensor(curves["full, 2 layers"].get_ydata()),
        2 * torch.pi / read.layers[5].rope.inv_freq,
        atol=1e-6,
    )
    levels = {line.get_ydata()[0] for line in ax.get_lines() if len(set(line.get_ydata())) == 1}
    assert levels == {context, window}
    matplotlib.pyplot.close(ax.figure)


def test_pairs_that_do_not_turn_have_no_wavelength():
    from posenc.show import plot_model

    gemma4 = {
        "model_type": "gemma4",
        "num_hidden_layers": 6,
        **{k: v for k, v in SMALL.items() if k[:3] != "num"},
    }
    ax = plot_model(models({**gemma4, "num_attention_heads": 4, "max_position_embeddings": 4096}))
    full = next(line for line in ax.get_lines() if line.get_label().startswith("full"))
    assert len(full.get_xdata()) == 64
    with pytest.raises(ValueError, match="model must have layers that rotate, got gpt2"):
        plot_model(models({"model_type": "gpt2", "n_layer": 1}))


@pytest.mark.parametrize(
    ("model_type", "keys", "width", "note"),
    [
        ("gpt_neox", {"rotary_pct": 0.5}, 32, ""),
        ("gpt_neox", {"rotary_pct": 0.25, "inner": 0.25}, 16, ""),
        (
            "gpt_neox",
            {"rotary_pct": 0.5, "inner": 0.25},
            16,
            "rotary_pct 0.5 is ignored: rope_parameters says 0.25 (partial_rotary_factor)",
        ),
        (
            "phi",
            {"partial_rotary_factor": 0.5, "inner": 0.25},
            16,
            "partial_rotary_factor 0.5 is ignored: rope_parameters says 0.25",
        ),
        (
            "phi",
            {"partial_rotary_factor": 0.25, "rotary_pct": 0.5},
            16,
            "rotary_pct 0.5 is ignored: partial_rotary_factor says 0.25",
        ),
    ],
)
def test_shares_that_contradict_each_other_are_noted(model_type, keys, width, note):
    keys = dict(keys)
    inner = keys.pop("inner", None)
    config = {"model_type": model_type, "hidden_size": 512, "num_attention_heads": 8, **keys}
    config |= {"num_hidden_layers": 2}
    if inner is not None:
        config["rope_parameters"] = {"rope_theta": 1e4, "partial_rotary_factor": inner}
    read = models(config)
    assert read.layers[0].rope.rotary_dim == width
    found = [text for text in read.notes if "is ignored" in text]
    assert len(found) == bool(note)
    assert not note or found[0].startswith(note)
