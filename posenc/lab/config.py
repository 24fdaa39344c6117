"""The size of a model, and what it is trained for."""

from dataclasses import dataclass

from posenc._validate import require_positive


@dataclass(frozen=True)
class Config:
    """The size of a model and what it is trained for.

    Args:
        vocabulary: number of different tokens.
        causal: whether a token sees only itself and earlier ones (a decoder).
        train_length: tokens of the longest training sequence.
        dim: channels of the residual stream.
        num_heads: heads of a layer; each has dim / num_heads channels.
        num_layers: layers.

    Raises:
        TypeError: if a number is not an int.
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
            require_positive(name, getattr(self, name))
        if self.dim % (2 * self.num_heads):
            unit = 2 * self.num_heads
            raise ValueError(f"dim must be a multiple of 2 num_heads = {unit}, got {self.dim}")

    @property
    def head_dim(self) -> int:
        """Channels of one head."""
        return self.dim // self.num_heads
