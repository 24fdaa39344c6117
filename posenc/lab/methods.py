"""The positional methods of the laboratory: what each changes in the transformer, and no more."""

import math
from collections.abc import Callable
from typing import ClassVar

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from posenc.alibi import alibi_bias, alibi_slopes
from posenc.frequencies import angles, inverse_frequencies
from posenc.lab.config import Config
from posenc.learned import LearnedEncoding
from posenc.relative import relative_positions
from posenc.rotary import rotate
from posenc.shaw import ShawRelative
from posenc.sinusoidal import sinusoidal_encoding
from posenc.t5 import T5RelativeBias
from posenc.transformer_xl import TransformerXLRelative


class Method(nn.Module):
    """No positions at all; a method overrides one of four hooks and is complete.

    The model calls `embed` once and, in every layer, `attend`, which by default calls `turn`
    on the queries and on the keys and adds `bias` to the scores.

    `knobs` names the settings that a fair comparison must choose for this method, with the values
    that `posenc.lab.study` tries; each is a keyword argument. (Defaults are those of the first
    design: the paper's, but for T5's gain.) `bounds` says between which values a knob makes sense,
    where it is not all from 0 on: the study may go on beyond the values of `knobs`.

    Args:
        config: the model that the method is for.

    Example:
        >>> class Nearest(Method):  # each head prefers the keys nearby
        ...     def bias(self, relative):
        ...         return -0.5 * relative.abs().expand(self.config.num_heads, -1, -1)
        >>> positions = torch.arange(3)
        >>> Nearest(Config(10, True, 64)).bias(relative_positions(positions, positions)).shape
        torch.Size([4, 3, 3])
    """

    knobs: ClassVar[dict[str, tuple[float, ...]]] = {}
    bounds: ClassVar[dict[str, tuple[float, float]]] = {}

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
    """Vaswani et al.: the sinusoids are added to embeddings of the same mean square.

    Args:
        config: the model that the method is for.
        base: as in `sinusoidal_encoding`.
        scale: root mean square of what is added, in units of that of the embeddings.
    """

    knobs: ClassVar = {"base": (30.0, 100.0, 1000.0, 10_000.0), "scale": (0.3, 1.0)}
    bounds: ClassVar = {"base": (1.01, math.inf)}

    def __init__(self, config: Config, *, base: float = 10_000.0, scale: float = 1.0):
        super().__init__(config)
        self.base = base
        self.scale = scale

    def embed(self, x, positions):
        """Add the encoding."""
        encoding = sinusoidal_encoding(positions, self.config.dim, base=self.base, dtype=x.dtype)
        return x + self.scale * 2**0.5 * encoding


class Learned(Method):
    """A learned row for each position of the training length, and none beyond.

    Args:
        config: the model that the method is for.
        std: standard deviation of the rows at the start; that of the embeddings is 1.
    """

    knobs: ClassVar = {"std": (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)}

    def __init__(self, config: Config, *, std: float = 1.0):
        super().__init__(config)
        self.table = LearnedEncoding(config.train_length, config.dim, std=std)

    def embed(self, x, positions):
        """Add the rows; raises IndexError beyond the table."""
        return x + self.table(positions)


class Shaw(Method):
    """Shaw et al.: learned vectors for relative positions, clipped.

    Args:
        config: the model that the method is for.
        clip: where distances are clipped, in units of the training length.
        std: standard deviation of the vectors at the start.
    """

    knobs: ClassVar = {"clip": (1 / 16, 1 / 8, 1 / 4, 1 / 2), "std": (0.02, 0.2)}
    bounds: ClassVar = {"clip": (1 / 32, 1.0)}  # from one row a side to one for each distance

    def __init__(self, config: Config, *, clip: float = 0.25, std: float = 0.02):
        super().__init__(config)
        distance = max(1, int(clip * config.train_length))
        layers = (
            ShawRelative(config.head_dim, max_distance=distance, std=std)
            for _ in range(config.num_layers)
        )
        self.layers = nn.ModuleList(layers)

    def attend(self, layer, q, k, v, positions, mask):
        """Attend with the layer's own tables."""
        return self.layers[layer].outputs(q, k, v, positions, positions, causal=mask is not None)


class TransformerXL(Method):
    """Transformer-XL's four terms; its recurrence over segments is not part of this.

    Args:
        config: the model that the method is for.
        base: as in `sinusoidal_encoding`, of the distances.
        std: standard deviation of u, v and W_R at the start.
    """

    knobs: ClassVar = {"base": (30.0, 100.0, 1000.0, 10_000.0), "std": (0.02, 0.1)}
    bounds: ClassVar = {"base": (1.01, math.inf)}

    def __init__(self, config: Config, *, base: float = 10_000.0, std: float = 0.05):
        super().__init__(config)
        self.layers = nn.ModuleList(
            TransformerXLRelative(config.num_heads, config.head_dim, config.dim, base=base, std=std)
            for _ in range(config.num_layers)
        )

    def attend(self, layer, q, k, v, positions, mask):
        """Attend with the layer's own u, v and W_R."""
        return self.layers[layer].outputs(q, k, v, positions, positions, causal=mask is not None)


class T5(Method):
    """T5's bias by buckets.

    Adam moves a number by about one learning rate a step, which in a short training is little
    for a bias. The table may therefore be multiplied by a gain; T5's own is 1.

    Args:
        config: the model that the method is for.
        gain: what the table is multiplied by.
        distance: where the last bucket begins, in units of the training length, and at 16 at
            the least; up to 1 all buckets are trained.
    """

    knobs: ClassVar = {"gain": (3.0, 10.0, 30.0, 100.0), "distance": (0.5, 1.0)}
    bounds: ClassVar = {"distance": (0.5, 1.0)}  # less is 16 tokens; beyond, buckets never train

    def __init__(self, config: Config, *, gain: float = 30.0, distance: float = 0.5):
        super().__init__(config)
        self.gain = gain
        self.table = T5RelativeBias(
            config.num_heads,
            num_buckets=16 if config.causal else 32,
            max_distance=max(16, int(distance * config.train_length)),
            bidirectional=not config.causal,
        )

    def bias(self, relative):
        """One learned number a bucket and head, shared by all layers."""
        return self.gain * self.table(relative)


class T5Beyond(T5):
    """T5's bias with its last bucket at twice the training length: the last ones never train."""

    knobs: ClassVar = {"gain": (3.0, 10.0, 30.0, 100.0)}

    def __init__(self, config: Config, *, gain: float = 30.0):
        super().__init__(config, gain=gain, distance=2.0)


class Rope(Method):
    """RoPE over all channels of a head, or over its fast pairs alone.

    Args:
        config: the model that the method is for.
        base: as in `inverse_frequencies`.
        share: the share of pairs that turn, the fastest ones; the slow rest stands still.
    """

    knobs: ClassVar = {"base": (10.0, 30.0, 100.0, 1000.0), "share": (0.5, 1.0)}
    bounds: ClassVar = {"base": (1.01, math.inf), "share": (0.0, 1.0)}

    def __init__(self, config: Config, *, base: float = 10_000.0, share: float = 1.0):
        super().__init__(config)
        self.base = base
        self.share = share

    def turn(self, x, positions):
        """Rotate each pair of channels by its angle."""
        inv_freq = inverse_frequencies(self.config.head_dim, base=self.base)
        inv_freq[torch.arange(len(inv_freq)) >= self.share * len(inv_freq)] = 0.0
        return rotate(x, angles(positions, inv_freq), pairing="half")


class Alibi(Method):
    """ALiBi; in an encoder the distance counts both ways.

    Args:
        config: the model that the method is for.
        steep: what the paper's slopes are multiplied by.
    """

    knobs: ClassVar = {"steep": (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0, 2.0, 4.0, 8.0)}

    def __init__(self, config: Config, *, steep: float = 1.0):
        super().__init__(config)
        self.steep = steep

    def bias(self, relative):
        """Minus slope times distance."""
        return alibi_bias(self.steep * alibi_slopes(self.config.num_heads), relative)


class Hybrid(T5):
    """Sinusoids on the embeddings and T5's bias on the scores, both at once."""

    def embed(self, x, positions):
        """Add the encoding, scaled to a mean square of 1 like the embeddings."""
        return x + 2**0.5 * sinusoidal_encoding(positions, self.config.dim, dtype=x.dtype)


METHODS: dict[str, Callable[..., Method]] = {
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
