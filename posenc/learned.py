"""Learned encodings: a table with one trainable row per position, and nothing beyond it."""

import torch
from jaxtyping import Float, Integer
from torch import Tensor, nn

from posenc._validate import require_positions, require_positive, require_std, seen


class LearnedEncoding(nn.Module):
    """A trainable vector for each of the positions 0 ... num_positions - 1.

    PE[p] = weight[p]

    Args:
        num_positions: rows of the table, positive; no later position can be encoded.
        dim: number of channels, positive.
        std: standard deviation of the normal initialisation, not negative; 0.02 as in GPT-1 and
            BERT.

    Attributes:
        weight: the table, [num_positions, dim].

    Raises:
        TypeError: if num_positions or dim is not an int.
        ValueError: if num_positions or dim is not positive, or std is negative or not
            finite.

    Example:
        >>> LearnedEncoding(512, 64)(torch.arange(10)).shape
        torch.Size([10, 64])

    Papers: Gehring et al. (2017), Convolutional Sequence to Sequence Learning, section 3.1;
    Devlin et al. (2019), BERT.
    """

    def __init__(self, num_positions: int, dim: int, *, std: float = 0.02):
        super().__init__()
        require_positive("num_positions", num_positions)
        require_positive("dim", dim)
        require_std(std)
        self.weight = nn.Parameter(torch.randn(num_positions, dim) * std)

    def extra_repr(self) -> str:
        """What `print` shows of the module."""
        return "num_positions={}, dim={}".format(*self.weight.shape)

    def forward(self, positions: Integer[Tensor, "*n"]) -> Float[Tensor, "*n dim"]:
        """Look up one row a position.

        Args:
            positions: integers in 0 ... num_positions - 1, of any shape.

        Returns:
            The rows, in the dtype of the table.

        Raises:
            TypeError: if positions are not integers.
            IndexError: if a position is negative or not below num_positions.
            ValueError: if positions are empty.
        """
        require_positions("positions", positions)
        if positions.is_floating_point():
            raise TypeError(f"positions must be integers, got {positions.dtype}")
        low, high = seen(torch.stack(positions.aminmax())) or (0, 0)
        if low < 0:
            raise IndexError(f"positions must not be negative, got {low}")
        if high >= len(self.weight):
            raise IndexError(f"positions must be below {len(self.weight)}, got {high}")
        return nn.functional.embedding(positions.long(), self.weight)
