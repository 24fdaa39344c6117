"""What is handed over as a function of sizes or positions, or adds a table to its vectors."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from posenc import (
    LearnedEncoding,
    alibi_bias,
    alibi_slopes,
    compare,
    identify,
    relative_positions,
    sinusoidal_encoding,
)

BLOOM = {"model_type": "bloom", "n_head": 12, "hidden_size": 768, "n_layer": 2}
FALCON = {
    "model_type": "falcon",
    "alibi": True,
    "num_attention_heads": 16,
    "hidden_size": 1024,
    "num_hidden_layers": 2,
}
LLAMA = {**FALCON, "model_type": "llama", "alibi": False, "rope_theta": 5e5}


def get_slopes(n):
    """As Press et al. write it: a list, by recursion."""

    def power_of_two(n):
        start = 2 ** (-(2 ** -(math.log2(n) - 3)))
        return [start * start**i for i in range(n)]

    if math.log2(n).is_integer():
        return power_of_two(n)
    closest = 2 ** math.floor(math.log2(n))
    return power_of_two(closest) + get_slopes(2 * closest)[0::2][: n - closest]


def naive_slopes(heads):
    return [2 ** (-8 * (h + 1) / heads) for h in range(heads)]


def only_powers(heads):
    assert heads & (heads - 1) == 0
    return torch.tensor(get_slopes(heads))


def build(num_heads, seq_len):
    return torch.tensor(get_slopes(num_heads))[:, None, None] * torch.arange(seq_len)


def build_from_mask(attention_mask):
    places = (attention_mask.cumsum(-1) - 1) * attention_mask
    return torch.tensor(get_slopes(12))[:, None, None] * places[:, None]


def table(max_len, d_model=128):
    """As the tutorials write it, in float32."""
    encoding = torch.zeros(max_len, d_model)
    places = torch.arange(max_len)[:, None]
    speeds = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
    encoding[:, 0::2], encoding[:, 1::2] = torch.sin(places * speeds), torch.cos(places * speeds)
    return encoding


def cos_sin(seq_len, dim=64, base=500000.0):
    speeds = 1.0 / (base ** (torch.arange(0, dim, 2).float() / dim))
    turned = torch.outer(torch.arange(seq_len).float(), speeds)
    both = torch.cat((turned, turned), dim=-1)
    return both.cos(), both.sin()


def precompute_freqs_cis(dim, end, theta=500000.0):
    speeds = 1.0 / (theta ** (torch.arange(0, dim, 2)[: dim // 2].float() / dim))
    turned = torch.outer(torch.arange(end), speeds)
    return torch.polar(torch.ones_like(turned), turned)


class Added(nn.Module):
    """The module of the tutorials: [n, b, d] or [b, n, d], with dropout, as it comes."""

    def __init__(self, *, texts_first=True, first=0, times=1.0, rows=5000):
        super().__init__()
        self.dropout, self.first, self.times = nn.Dropout(0.1), first, times
        self.texts_first = texts_first
        self.register_buffer("pe", table(rows)[None] if texts_first else table(rows)[:, None])

    def forward(self, x):
        rows = slice(self.first, self.first + x.shape[self.texts_first])
        added = self.pe[:, rows] if self.texts_first else self.pe[rows]
        return self.dropout(x * self.times + added)


@pytest.mark.parametrize(
    ("thing", "called"),
    [
        (get_slopes, "f(heads=12)"),
        (only_powers, "f(heads=8)"),
        (build, "f(heads=12, keys=40)"),
        (lambda n, h: build(h, n), "f(keys=40, heads=12)"),
        (build_from_mask, "f(mask=ones [1, 40])"),
    ],
)
def test_makers_of_slopes_and_biases_are_called_with_sizes(thing, called):
    found = identify(thing)
    assert (found.kind, found.facts["called as"]) == ("bias", called)
    assert found.facts["slopes"] == "as published"
    assert not found.warnings


@pytest.mark.parametrize("heads", [8, 12])
@pytest.mark.parametrize("form", [torch.tensor, list, np.array])
def test_slopes_alone_are_named(heads, form):
    assert identify(form(get_slopes(heads))).facts["slopes"] == "as published"
    found = identify(form(get_slopes(heads)[::-1]))
    assert found.warnings == ("slopes are reversed: head 0 has another head's",)
    assert "sign" in found.unknown[0]


def test_slopes_are_held_against_a_configuration_or_others():
    for reference in (BLOOM, get_slopes, alibi_slopes, alibi_slopes(12)):
        agreed = compare(get_slopes, reference)
        assert agreed.agrees
        assert "the sign" in agreed.not_compared[0]
        assert "no power of two" in compare(naive_slopes, reference).mistake
    assert compare(build, BLOOM).agrees
    assert "the sign is wrong" in compare(lambda h, n: -build(h, n), BLOOM).mistake
    with pytest.raises(ValueError, match=r"yours must be slopes of 12 heads, got 8 numbers"):
        compare(alibi_slopes(8), BLOOM)


def test_one_row_of_one_head_is_a_bias_and_no_slopes():
    share = alibi_slopes(12)[:1, None, None] * torch.arange(40)  # a rank's only head
    assert identify(share).facts["form"].startswith("one row a head")
    found = compare(share, BLOOM)
    assert found.agrees
    assert "with heads 0 to 0 of 12" in str(found)


def test_where_falcons_slopes_are_divided_cannot_be_seen_from_them():
    found = compare(get_slopes, FALCON)
    assert not found.agrees
    assert not found.mistake
    assert "sqrt(64)" in found.undecided[0]
    assert compare(alibi_slopes(16) / 8, FALCON).agrees


@pytest.mark.parametrize(
    ("thing", "called"),
    [
        (table, "f(rows=512)"),
        (lambda d, n: table(n, d), "f(dim=64, rows=512)"),
        (lambda positions: table(512, 32)[positions], "f(positions [n])"),
        (Added(), "f(x), x as [b, n, d], to which it is added"),
        (Added(texts_first=False), "f(x), x as [n, b, d], to which it is added"),
        (Added(rows=50), "f(x), x as [b, n, d], to which it is added"),
    ],
)
def test_makers_of_tables_are_called_too(thing, called):
    found = identify(thing)
    assert (found.kind, found.facts["called as"]) == ("table", called)
    assert found.facts["form"] == "sinusoidal"
    assert not found.warnings


def grid(embed_dim, grid_size):
    """As MAE makes it: rows in the second half of the channels, all rows of a grid in one axis."""
    one = table(grid_size, embed_dim // 2)
    rows = one[:, None].expand(-1, grid_size, -1)
    return torch.cat((one.expand(grid_size, -1, -1), rows), dim=-1).reshape(-1, embed_dim).numpy()


def test_a_grid_is_asked_for_with_few_rows():
    found = identify(grid)
    assert (found.kind, found.facts["called as"]) == ("table", "f(dim=64, rows=16)")
    assert found.data["method"] == "axial"
    asked = []

    def refuses(embed_dim, grid_size):
        asked.append(grid_size)
        raise TypeError

    with pytest.raises(ValueError, match="no way of calling it works"):
        identify(refuses)
    assert max(size for size in asked if isinstance(size, int)) <= 64  # its square fits anywhere


def test_what_makes_no_table_is_refused_as_one():
    for kind in ("table", "bias"):
        with pytest.raises(ValueError, match=f"a {kind} is identified as a tensor: call what"):
            identify(lambda height, width, dim: None, kind=kind)


def test_what_is_added_is_told_from_what_is_done_with_the_vectors():
    assert identify(Added(times=8.0)).facts["vectors"] == "multiplied by 8 before"
    late = identify(Added(first=1))
    assert late.warnings == ("row 0 is position 1",)
    learned = LearnedEncoding(512, 64)
    assert "learned" in identify(learned).facts["form"]
    assert "learned" in identify(nn.Embedding(512, 64)).facts["form"]


def test_what_adds_its_input_in_another_way_is_no_table():
    weights = torch.randn(64, 64, generator=torch.Generator().manual_seed(0))
    for thing in (lambda x: x + 0.5, lambda x: x @ weights + 1, lambda x: (x + 0.5) ** 2):
        assert identify(thing).kind == "nothing known"


def test_a_module_is_left_as_it_was():
    module = Added()
    identify(module)
    compare(module, Added())
    assert module.training


@pytest.mark.parametrize("shape", [(1, 512, 128), (512, 1, 128)])
def test_a_table_may_keep_the_axis_of_texts(shape):
    assert identify(table(512).reshape(shape)).facts["form"] == "sinusoidal"
    bias = alibi_bias(alibi_slopes(1), relative_positions(torch.arange(8), torch.arange(8)))
    assert identify(bias).kind == "bias"  # one head


def test_tables_and_what_adds_them_are_compared():
    exact = sinusoidal_encoding(torch.arange(512), 128)
    for reference in (exact, lambda n, d: sinusoidal_encoding(torch.arange(n), d)):
        for yours in (table, Added(), table(512)):
            if callable(yours) or callable(reference):
                assert compare(yours, reference).agrees
    late = compare(Added(first=1), Added())
    assert (late.agrees, late.mistake) == (False, "row 0 is position 1")


def test_rounding_grows_with_the_position_in_tables_of_sines_alone():
    exact = sinusoidal_encoding(torch.arange(512), 128, dtype=torch.float64)
    assert not compare(sinusoidal_encoding(torch.arange(512), 128, base=10010.0), exact).agrees
    near = exact + 2.0**-20 + 2.0**-22 * torch.arange(512, dtype=torch.float64)[:, None] * 0.9
    assert compare(near, exact).agrees
    assert not compare(near + 2.0**-21, exact).agrees
    learned = torch.randn(512, 64, generator=torch.Generator().manual_seed(0)).double()
    assert not compare(learned + 1e-4, learned).agrees


def test_makers_of_cos_and_sin_are_compared_as_far_as_they_are_asked():
    for yours in (cos_sin, precompute_freqs_cis):
        assert identify(yours).data["base"] == pytest.approx(500000.0)
        found = compare(yours, LLAMA)
        assert found.agrees
        assert "how the tables are applied" in found.not_compared[0]
    assert compare(lambda n: cos_sin(n, base=10000.0), LLAMA).mistake == "base 10000"
    assert compare(cos_sin, precompute_freqs_cis).agrees


def test_what_makes_nothing_known_is_refused_as_before():
    for thing in (
        lambda n: [1] * n,
        lambda n: "x" * n,
        lambda n: torch.arange(n),
        lambda a, b, c: 0,
    ):
        with pytest.raises(ValueError, match="no way of calling it works"):
            identify(thing)
