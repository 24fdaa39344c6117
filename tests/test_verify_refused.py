"""Ports that take one text, one row or three rows of positions alone; and what a refusal says."""

import pytest
import torch

from posenc import inverse_frequencies
from posenc.verify import compare, identify

LLAMA = {"model_type": "llama", "head_dim": 64, "num_hidden_layers": 1}
QWEN = {
    "model_type": "qwen2_vl",
    "rope_theta": 10_000.0,
    "head_dim": 64,
    "hidden_size": 128,
    "num_attention_heads": 2,
    "num_hidden_layers": 1,
    "rope_scaling": {"type": "mrope", "mrope_section": [8, 12, 12]},
}
INV = inverse_frequencies(64).float()


def turned(x, angles):
    angles = torch.cat((angles, angles), dim=-1)
    one, two = x.chunk(2, dim=-1)
    return x * angles.cos() + torch.cat((-two, one), dim=-1) * angles.sin()


def spread(positions):
    return positions[..., None].float() * INV


def one_text(x, positions, late=0):
    texts, *_ = x.shape
    if texts != 1 or x.ndim != 4:
        raise RuntimeError("one text")
    return turned(x, spread(positions + late))


def one_text_rows_first(q, k, positions, late=0):
    if positions.ndim != 2 or len(q) != 1:
        raise RuntimeError("[1, n]")
    return (
        turned(q, spread(positions)[:, :, None]),
        turned(k, spread(positions + late)[:, :, None]),
    )


def one_row(q, k, pos, late=0):  # [h, d] and an int, as in llama2.c
    heads, _ = q.shape
    at = torch.full((heads,), pos)
    return turned(q, spread(at)), turned(k, spread(at + late))


def three_rows(x, positions, late=0, sections=(8, 12, 12)):
    if positions.ndim != 2 or len(positions) != 3:
        raise RuntimeError("[3, n]")
    parts = spread(positions + late).split(sections, dim=-1)
    return turned(x, torch.cat([part[i] for i, part in enumerate(parts)], dim=-1))


def three_rows_and_keys(positions, q, k, late=0):  # [3, n], [n, h d], as in vLLM
    def one(x, late):
        heads = x.view(len(x), -1, 64).transpose(0, 1)
        return three_rows(heads, positions, late).transpose(0, 1).reshape(x.shape)

    return one(q, 0), one(k, late)


def three_rows_of_one_text(x, positions, late=0):
    heads, rows, _ = x.shape
    return three_rows(x.view(heads, rows, 64), positions, late)


PORTS = {
    "one text": (one_text, LLAMA),
    "one text, rows first": (one_text_rows_first, LLAMA),
    "one row": (one_row, LLAMA),
    "three rows": (three_rows, QWEN),
    "three rows and keys": (three_rows_and_keys, QWEN),
    "three rows of one text": (three_rows_of_one_text, QWEN),
}


def late_one(port):
    """The same port, one position late; a function whose arguments are its own."""
    if port is three_rows_and_keys:
        return lambda positions, q, k: port(positions, q, k, 1)
    if port is one_row:
        return lambda q, k, pos: port(q, k, pos, 1)
    if port is one_text_rows_first:
        return lambda q, k, positions: port(q, k, positions, 1)
    return lambda x, positions: port(x, positions, 1)


@pytest.mark.parametrize("name", PORTS)
def test_ports_of_one_form_agree_and_one_late_does_not(name):
    port, config = PORTS[name]
    found = compare(port, config)
    assert found.agrees, found
    assert not any("texts" in text for text in found.not_compared)
    wrong = compare(late_one(port), config)
    assert "one position late" in wrong.mistake


@pytest.mark.parametrize("name", [name for name in PORTS if "three" not in name])
def test_identify_raises_no_alarm_about_them(name):
    assert not identify(PORTS[name][0]).warnings


def test_three_rows_alone_are_read_as_sections():
    found = identify(three_rows)
    assert "sections [8, 12, 12], chunked" in found.facts["axes"]
    assert not found.warnings
    other = compare(lambda x, positions: three_rows(x, positions, 0, (12, 12, 8)), QWEN)
    assert other.mistake == "rows of positions read otherwise"


def fails(*_, **__):
    raise RuntimeError("no")


def test_a_refusal_says_what_to_write():
    with pytest.raises(
        ValueError, match=r"Wrap it as `lambda q, k, positions: ...`, which gives q"
    ):
        identify(lambda q, k, positions: fails())
    with pytest.raises(
        ValueError, match=r"Wrap it as `lambda x, positions: ...`, which gives x \["
    ):
        identify(lambda x, positions: fails())
    with pytest.raises(ValueError, match=r"asks for v: give it, functools.partial\(f, v=...\)"):
        identify(lambda q, k, v, positions: fails())
    with pytest.raises(ValueError, match="Calls have up to 4 texts, 2 heads and 5 rows"):
        identify(lambda q, k, positions: (q.view(3, 32, 64), k))
    with pytest.raises(
        ValueError, match=r"cos and sin must be tensors \[n, columns\], got int and"
    ):
        identify([1, 2])
