"""The positional methods of the laboratory: what each changes in the transformer, and no more."""

from collections.abc import Callable
from dataclasses import dataclass

import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from posenc.alibi import alibi_bias, alibi_slopes
from posenc.frequencies import angles, inverse_frequencies
from posenc.learned import LearnedEncoding
from posenc.relative import relative_positions
from posenc.rotary import rotate
from posenc.shaw import ShawRelative
from posenc.sinusoidal import sinusoidal_encoding
from posenc.t5 import T5RelativeBias
from posenc.transformer_xl import TransformerXLRelative


@dataclass(frozen=True)
class Config:
    """The size of a model and what it is trained for.

    Args:
        vocabulary: number of different tokens.
        causal: whether a token sees only itself and earlier ones (a decoder).
        train_length: tokens of a training sequence.
        dim: channels of the residual stream.
        num_heads: heads of a layer; each has dim / num_heads channels.
        num_layers: layers.

    Raises:
        ValueError: if a number is not positive, or dim is no multiple of 2 num_heads.

    Example:
        >>> Config(vocabulary=10, causal=True, train_length=64).head_dim
        24
    """

    vocabulary: int
    causal: bool
    train_length: int
    dim: int = 96
    num_heads: int = 4
    num_layers: int = 3

    def __post_init__(self):
        for name in ("vocabulary", "train_length", "dim", "num_heads", "num_layers"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be positive, got {getattr(self, name)}")
        if self.dim % (2 * self.num_heads):
            unit = 2 * self.num_heads
            raise ValueError(f"dim must be a multiple of 2 num_heads = {unit}, got {self.dim}")

    @property
    def head_dim(self) -> int:
        """Channels of one head."""
        return self.dim // self.num_heads


class Method(nn.Module):
    """No positions at all; a method overrides one of four hooks and is complete.

    The model calls `embed` once and, in every layer, `attend`, which by default calls `turn`
    on the queries and on the keys and adds `bias` to the scores.

    Args:
        config: the model that the method is for.

    Example:
        >>> import torch
        >>> class Nearest(Method):  # each head prefers the keys nearby
        ...     def bias(self, relative):
        ...         return -0.5 * relative.abs().expand(self.config.num_heads, -1, -1)
        >>> positions = torch.arange(3)
        >>> Nearest(Config(10, True, 64)).bias(relative_positions(positions, positions)).shape
        torch.Size([4, 3, 3])
    """

    def __init__(self, config: Config):
        super().__init__()
        self.config = config

    def embed(self, x: Float[Tensor, "b n dim"], positions: Int[Tensor, " n"]) -> Tensor:
        """Change the embedded tokens, before the first layer."""
        return x

    def turn(self, x: Float[Tensor, "b h n d"], positions: Int[Tensor, " n"]) -> Tensor:
        """Change queries and keys, in the same way, in every layer."""
        return x

    def bias(self, relative: Int[Tensor, "q k"]) -> Float[Tensor, "h q k"] | None:
        """What to add to the scores of each head, from key position - query position."""
        return None

    def attend(
        self,
        layer: int,
        q: Float[Tensor, "b h n d"],
        k: Float[Tensor, "b h n d"],
        v: Float[Tensor, "b h n d"],
        positions: Int[Tensor, " n"],
        mask: Bool[Tensor, "n n"] | None,
    ) -> Float[Tensor, "b h n d"]:
        """Attend; for methods that fit none of the other hooks. mask: True where one may look."""
        q, k = self.turn(q, positions), self.turn(k, positions)
        bias = self.bias(relative_positions(positions, positions))
        if bias is None:
            return F.scaled_dot_product_attention(q, k, v, is_causal=mask is not None)
        bias = bias.to(q.dtype)
        if mask is not None:
            bias = bias.masked_fill(~mask, float("-inf"))
        return F.scaled_dot_product_attention(q, k, v, attn_mask=bias[None])


class Sinusoidal(Method):
    """Vaswani et al.: the sinusoids are added to embeddings of the same mean square."""

    def embed(self, x, positions):
        """Add the encoding, scaled to a mean square of 1 like the embeddings."""
        encoding = sinusoidal_encoding(positions, self.config.dim, dtype=x.dtype)
        return x + 2**0.5 * encoding


class Learned(Method):
    """A learned row for each position of the training length, and none beyond."""

    def __init__(self, config: Config):
        super().__init__(config)
        self.table = LearnedEncoding(config.train_length, config.dim, std=1.0)

    def embed(self, x, positions):
        """Add the rows; raises IndexError beyond the table."""
        return x + self.table(positions)


class Shaw(Method):
    """Shaw et al.: learned vectors for relative positions clipped at a quarter of the length."""

    def __init__(self, config: Config):
        super().__init__(config)
        clip = max(1, config.train_length // 4)
        layers = (
            ShawRelative(config.head_dim, max_distance=clip) for _ in range(config.num_layers)
        )
        self.layers = nn.ModuleList(layers)

    def attend(self, layer, q, k, v, positions, mask):
        """Attend with the layer's own tables."""
        return self.layers[layer](q, k, v, positions, positions, mask=mask)[0]


class TransformerXL(Method):
    """Transformer-XL's four terms; its recurrence over segments is not part of this."""

    def __init__(self, config: Config):
        super().__init__(config)
        self.layers = nn.ModuleList(
            TransformerXLRelative(config.num_heads, config.head_dim, config.dim, std=0.05)
            for _ in range(config.num_layers)
        )

    def attend(self, layer, q, k, v, positions, mask):
        """Attend with the layer's own u, v and W_R."""
        return self.layers[layer](q, k, v, positions, positions, mask=mask)[0]


class T5(Method):
    """T5's bias by buckets; max_distance is half the training length, so all buckets train.

    Adam moves a number by about one learning rate a step, which in a short training is little
    for a bias. The table is therefore multiplied by `gain`: of 1, 10 and 30 the one with the
    lowest loss on text at the training length.
    """

    gain = 30.0

    def __init__(self, config: Config, *, max_distance: int | None = None):
        super().__init__(config)
        self.table = T5RelativeBias(
            config.num_heads,
            num_buckets=16 if config.causal else 32,
            max_distance=max_distance or max(16, config.train_length // 2),
            bidirectional=not config.causal,
        )

    def bias(self, relative):
        """One learned number a bucket and head, shared by all layers."""
        return self.gain * self.table(relative)


class T5Beyond(T5):
    """T5's bias with max_distance at twice the training length: the last buckets never train."""

    def __init__(self, config: Config):
        super().__init__(config, max_distance=max(16, 2 * config.train_length))


class Rope(Method):
    """RoPE with base 10000 over all channels of a head."""

    def turn(self, x, positions):
        """Rotate each pair of channels by its angle."""
        turns = angles(positions, inverse_frequencies(self.config.head_dim))
        return rotate(x, turns, pairing="half")


class Alibi(Method):
    """ALiBi with the paper's slopes; in an encoder the distance counts both ways."""

    def bias(self, relative):
        """Minus slope times distance."""
        return alibi_bias(alibi_slopes(self.config.num_heads), relative)


class Hybrid(T5):
    """Sinusoids on the embeddings and T5's bias on the scores, both at once."""

    embed = Sinusoidal.embed


METHODS: dict[str, Callable[[Config], Method]] = {
    "none": Method,
    "sinusoidal": Sinusoidal,
    "learned": Learned,
    "shaw": Shaw,
    "transformer-xl": TransformerXL,
    "t5": T5,
    "t5-beyond": T5Beyond,
    "rope": Rope,
    "alibi": Alibi,
    "hybrid": Hybrid,
}
