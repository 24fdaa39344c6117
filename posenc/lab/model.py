"""One small transformer, decoder or encoder, in which only the positional method changes."""

import threading
from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from posenc.attention import causal_mask
from posenc.lab.config import Config
from posenc.lab.methods import Method

_DRAWING = threading.Lock()  # torch has one random state for all threads of a Dask worker


class Transformer(nn.Module):
    """Pre-norm layers of attention and a perceptron; the positions are the method's business.

    All weights but the method's own are drawn from the seed alone, before the method draws its
    own: two models with equal config and seed share them exactly, whatever their methods.

    Args:
        config: sizes.
        method: makes the positional method from the config, as the classes of
            `posenc.lab.methods` do.
        seed: of the initial weights.

    Raises:
        ValueError: as in `Config`.

    Example:
        >>> model = Transformer(Config(10, True, 64), Method, seed=0)
        >>> model(torch.zeros(1, 5, dtype=torch.long)).shape
        torch.Size([1, 5, 10])
    """

    def __init__(self, config: Config, method: Callable[[Config], Method], *, seed: int):
        super().__init__()
        self.config = config
        with _DRAWING, torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.tokens = nn.Embedding(config.vocabulary, config.dim)
            self.layers = nn.ModuleList(Layer(config) for _ in range(config.num_layers))
            self.norm = nn.LayerNorm(config.dim)
            self.out = nn.Linear(config.dim, config.vocabulary)
            torch.manual_seed(seed)
            self.method = method(config)

    def forward(self, tokens: Int[Tensor, "b n"]) -> Float[Tensor, "b n vocabulary"]:
        """Score every token of the vocabulary at every position.

        Args:
            tokens: numbers below config.vocabulary.

        Returns:
            Logits.

        Raises:
            IndexError: if the method knows no such position, as a learned table may.
        """
        positions = torch.arange(tokens.shape[-1], device=tokens.device)
        mask = causal_mask(positions, positions) if self.config.causal else None
        x = self.method.embed(self.tokens(tokens), positions)
        for number, layer in enumerate(self.layers):
            x = layer(x, number, self.method, positions, mask)
        return self.out(self.norm(x))


class Layer(nn.Module):
    """x + attention(norm(x)), then x + perceptron(norm(x))."""

    def __init__(self, config: Config):
        super().__init__()
        self.heads = config.num_heads
        self.norm_attention = nn.LayerNorm(config.dim)
        self.qkv = nn.Linear(config.dim, 3 * config.dim, bias=False)
        self.join = nn.Linear(config.dim, config.dim, bias=False)
        self.norm_perceptron = nn.LayerNorm(config.dim)
        self.perceptron = nn.Sequential(
            nn.Linear(config.dim, 4 * config.dim), nn.GELU(), nn.Linear(4 * config.dim, config.dim)
        )

    def forward(
        self,
        x: Float[Tensor, "b n dim"],
        number: int,
        method: Method,
        positions: Int[Tensor, " n"],
        mask: Tensor | None,
    ) -> Float[Tensor, "b n dim"]:
        """Apply the layer; number counts from 0."""
        q, k, v = self.qkv(self.norm_attention(x)).unflatten(-1, (3, self.heads, -1)).unbind(-3)
        q, k, v = (part.transpose(-2, -3) for part in (q, k, v))  # [b, h, n, d]
        seen = method.attend(number, q, k, v, positions, mask)
        x = x + self.join(seen.transpose(-2, -3).flatten(-2))
        return x + self.perceptron(self.norm_perceptron(x))
