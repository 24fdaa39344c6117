"""Who uses what: asked of the model classes, not of tables."""

import warnings

import pytest
import torch

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import transformers


def tensors(model, config, **options):
    """Names and shapes of a small model's parameters, without memory for them."""
    with torch.device("meta"):
        made = getattr(transformers, model)(getattr(transformers, config)(**options))
    return {name: tuple(value.shape) for name, value in made.named_parameters()}


@pytest.mark.parametrize(
    ("model", "config", "name", "shape"),
    [
        ("OpenAIGPTModel", "OpenAIGPTConfig", "positions_embed.weight", (512, 768)),
        ("BertModel", "BertConfig", "embeddings.position_embeddings.weight", (512, 768)),
        ("GPT2Model", "GPT2Config", "wpe.weight", (1024, 768)),
    ],
)
def test_gpt_and_bert_have_a_table_of_positions(model, config, name, shape):
    assert tensors(model, config)[name] == shape


def test_t5_has_one_table_of_buckets_a_stack():
    found = {n: s for n, s in tensors("T5Model", "T5Config").items() if "relative" in n}
    assert list(found.values()) == [(32, 8), (32, 8)]
    assert {name.partition(".")[0] for name in found} == {"encoder", "decoder"}


@pytest.mark.parametrize(
    ("model", "config"),
    [
        ("LlamaModel", "LlamaConfig"),
        ("MistralModel", "MistralConfig"),
        ("BloomModel", "BloomConfig"),
    ],
)
def test_rotary_and_alibi_models_have_no_parameters_for_positions(model, config):
    names = tensors(model, config, num_hidden_layers=1)
    assert not [
        name for name in names if any(word in name for word in ("position", "relative", "rotary"))
    ]


def test_mistral_slides_a_window_and_mixtral_does_not():
    assert transformers.MistralConfig().sliding_window == 4096
    assert transformers.MixtralConfig().sliding_window is None


@pytest.mark.parametrize(
    ("config", "attention"),
    [
        ("SmolLM3Config", transformers.models.smollm3.modeling_smollm3.SmolLM3Attention),
        ("Llama4TextConfig", transformers.models.llama4.modeling_llama4.Llama4TextAttention),
    ],
)
def test_every_fourth_layer_of_some_models_gets_no_positions(config, attention):
    config = getattr(transformers, config)()
    assert config.no_rope_layers[:8] == [1, 1, 1, 0, 1, 1, 1, 0]
    with torch.device("meta"):
        rotates = [bool(attention(config, layer).use_rope) for layer in range(4)]
    assert rotates == [True, True, True, False]  # so a 1 in `no_rope_layers` means: it rotates


def test_the_global_layers_of_command_a_get_no_positions():
    config = transformers.Cohere2Config()
    attention = transformers.models.cohere2.modeling_cohere2.Cohere2Attention
    with torch.device("meta"):
        windows = [attention(config, layer).sliding_window for layer in range(4)]
    assert windows == [4096, 4096, 4096, None]  # those with a window rotate


@pytest.mark.parametrize(
    ("model", "config", "name", "rows"),
    [
        ("SiglipVisionModel", "SiglipVisionConfig", "position_embedding.weight", 196),
        ("Siglip2VisionModel", "Siglip2VisionConfig", "position_embedding.weight", 256),
        ("Qwen3VLVisionModel", "Qwen3VLVisionConfig", "pos_embed.weight", 2304),
        ("WhisperModel", "WhisperConfig", "decoder.embed_positions.weight", 448),
    ],
)
def test_eyes_and_a_decoder_have_a_table_of_positions(model, config, name, rows):
    (shape,) = {s for n, s in tensors(model, config).items() if n.endswith(name)}
    assert shape[0] == rows


def test_gemma_3_and_paligemma_see_through_siglip():
    for config in (transformers.Gemma3Config(), transformers.PaliGemmaConfig()):
        assert config.vision_config.model_type == "siglip_vision_model"


def test_opt_and_roberta_keep_two_rows_for_padding():
    rows = tensors("OPTModel", "OPTConfig", num_hidden_layers=1)
    assert rows["decoder.embed_positions.weight"] == (2048 + 2, 768)
    embeddings = transformers.models.roberta.modeling_roberta.RobertaEmbeddings
    ids = embeddings.create_position_ids_from_input_ids(torch.tensor([[5, 6, 1]]), padding_idx=1)
    assert ids.tolist() == [[2, 3, 1]]
