"""Several axes: beside a loop, and beside transformers' models of images and video."""

import importlib
import math

import pytest
import spec
import torch
from helpers import bases, close, randn, same
from hypothesis import given
from hypothesis import strategies as st

from posenc import (
    angles,
    axial_angles,
    axial_frequencies,
    inverse_frequencies,
    mrope_axes,
    phasors,
    rotate,
)


def modeling(model: str):
    return importlib.import_module(f"transformers.models.{model}.modeling_{model}")


def grid(rows: int, columns: int) -> torch.Tensor:
    return torch.cartesian_prod(torch.arange(rows), torch.arange(columns))


@given(st.integers(1, 3), st.integers(1, 5), bases, st.booleans(), st.integers(1, 4))
def test_angles_are_a_coordinate_times_a_frequency(axes, pairs, base, dealt, n):
    inv_freq, axis = axial_frequencies(2 * axes * pairs, axes=axes, base=base, dealt=dealt)
    positions = torch.arange(n * axes).reshape(n, axes) * 3 - 4
    expected = spec.axial_angles(positions.tolist(), inv_freq.tolist(), axis.tolist())
    close(axial_angles(positions, inv_freq, axis), expected, atol=1e-12)
    assert axis.bincount().tolist() == [pairs] * axes


@pytest.mark.parametrize("shape", [(), (3,), (2, 3)])
def test_positions_have_any_shape_before_their_coordinates(shape):
    inv_freq, axis = axial_frequencies(12, axes=3)
    positions = torch.arange(3 * math.prod(shape)).reshape(*shape, 3) - 4
    flat = axial_angles(positions.reshape(-1, 3), inv_freq, axis)
    same(axial_angles(positions, inv_freq, axis), flat.reshape(*shape, 6))


@pytest.mark.parametrize("dim", [8, 24])
def test_one_axis_is_the_ordinary_rotation(dim):
    inv_freq, axis = axial_frequencies(dim, axes=1)
    same(inv_freq, inverse_frequencies(dim))
    positions = torch.arange(5)
    same(axial_angles(positions[:, None], inv_freq, axis), angles(positions, inv_freq))


@pytest.mark.parametrize("interleaved", [False, True])
def test_text_is_ordinary_rope_whatever_the_sections(interleaved):
    inv_freq = inverse_frequencies(16)
    positions = torch.arange(7)
    same_everywhere = positions[:, None].expand(-1, 3)
    axis = mrope_axes([4, 2, 2], interleaved=interleaved)
    same(axial_angles(same_everywhere, inv_freq, axis), angles(positions, inv_freq))


@pytest.mark.parametrize(
    ("model", "prefix", "sections", "interleaved"),
    [
        ("qwen2_vl", "Qwen2VL", [16, 24, 24], False),
        ("qwen2_vl", "Qwen2VL", [32, 16, 16], False),
        ("qwen3_vl", "Qwen3VLText", [24, 20, 20], True),
        ("qwen3_vl", "Qwen3VLText", [40, 12, 12], True),
    ],
)
@pytest.mark.parametrize("base", [10_000.0, 1_000_000.0])
def test_qwen_follows_the_same_axes(model, prefix, sections, interleaved, base):
    import transformers

    config = getattr(transformers, f"{prefix.removesuffix('Text')}TextConfig")(
        hidden_size=256,
        num_attention_heads=2,
        head_dim=128,
        rope_parameters={"rope_type": "default", "rope_theta": base, "mrope_section": sections},
    )
    q, k = randn(1, 2, 6, 128).float(), randn(1, 2, 6, 128, seed=1).float()
    positions = torch.tensor([[0, 1, 2, 2, 2, 5], [0, 1, 3, 3, 4, 5], [0, 1, 2, 3, 3, 5]])
    module = getattr(modeling(model), f"{prefix}RotaryEmbedding")(config)
    cos, sin = module(q, positions[:, None])
    theirs = modeling(model).apply_rotary_pos_emb(q, k, cos, sin)
    axis = mrope_axes(sections, interleaved=interleaved)
    rotation = phasors(axial_angles(positions.T, inverse_frequencies(128, base=base), axis))
    for x, expected in zip((q, k), theirs, strict=True):
        close(rotate(x, rotation, pairing="half"), expected, atol=5e-6)


@pytest.mark.parametrize("size", [4, 6])
@pytest.mark.parametrize("base", [10_000.0, 100.0])
def test_pixtral_deals_the_frequencies_out(size, base):
    from transformers import PixtralVisionConfig

    config = PixtralVisionConfig(
        hidden_size=64,
        num_attention_heads=2,
        image_size=16 * size,
        patch_size=16,
        rope_parameters={"rope_type": "axial", "rope_theta": base},
    )
    q = randn(1, 2, size**2, 32).float()
    module = modeling("pixtral").PixtralVisionRotaryEmbedding(config)
    cos, sin = module(q, grid(size, size))
    theirs = modeling("pixtral").apply_rotary_pos_emb(q, q, cos, sin, unsqueeze_dim=0)[0]
    rotation = axial_angles(grid(size, size), *axial_frequencies(32, base=base, dealt=True))
    close(rotate(q, rotation, pairing="half"), theirs, atol=5e-6)


@pytest.mark.parametrize("size", [3, 5])
@pytest.mark.parametrize("base", [10_000.0, 100.0])
def test_llama4_sees_in_two_axes_counted_from_1(size, base):
    from transformers import Llama4VisionConfig

    config = Llama4VisionConfig(
        hidden_size=64,
        num_attention_heads=2,
        image_size=14 * size,
        patch_size=14,
        rope_parameters={"rope_type": "default", "rope_theta": base},
    )
    theirs = modeling("llama4").Llama4VisionRotaryEmbedding(config).freqs_ci[:-1, 0]
    x_then_y = grid(size, size).flip(-1) + 1
    ours = phasors(axial_angles(x_then_y, *axial_frequencies(32, base=base)))
    close(torch.view_as_real(ours), torch.view_as_real(theirs), atol=1e-6)


W = inverse_frequencies(8)
