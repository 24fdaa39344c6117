"""A rotation in full: what `identify` finds, `models` reads and `compare` compares."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from posenc.axial import axial_angles
from posenc.frequencies import angles, phasors
from posenc.rotary import rotate
from posenc.scaling import query_gain

PAIRINGS = ("half", "interleaved", "interleaved in, half out")


@dataclass(frozen=True, eq=False)
class Rope:
    """A rotary embedding with all its choices, to be called with vectors and positions.

    Args:
        inv_freq: radians per position, float64, one a pair; a pair of frequency 0 stays.
        head_dim: channels of a head, of which 2 len(inv_freq) turn.
        pairing: "half" and "interleaved" as in `rotate`; "interleaved in, half out" pairs
            channels 2i and 2i + 1 and writes them to i and i + rotary_dim/2 (DeepSeek-V3).
        gain: what cos and sin are multiplied by.
        first: the first channel that turns; 0 but where a head's last channels turn.
        plain: the frequencies before they were scaled, if they were.
        axis: which of three rows of positions each pair follows (M-RoPE), if they are three.
        temperature: parameters of `query_gain`, by which each row is multiplied besides; queries
            alone have it.

    Example:
        >>> from posenc import inverse_frequencies
        >>> rope = Rope(inverse_frequencies(2), head_dim=3, pairing="half")
        >>> rope(torch.eye(3)[:1], torch.tensor([0]))
        tensor([[1., 0., 0.]])
    """

    inv_freq: Tensor
    head_dim: int
    pairing: str = "half"
    gain: float = 1.0
    first: int = 0
    plain: Tensor | None = None
    axis: Tensor | None = None
    temperature: dict | None = None

    def __post_init__(self):
        if self.pairing not in PAIRINGS:
            raise ValueError(f"pairing must be one of {PAIRINGS}, got {self.pairing!r}")
        if self.first + self.rotary_dim > self.head_dim:
            raise ValueError(
                f"first + rotary_dim must not exceed head_dim = {self.head_dim}, "
                f"got {self.first} + {self.rotary_dim}"
            )

    @property
    def rotary_dim(self) -> int:
        """How many channels turn."""
        return 2 * len(self.inv_freq)

    def but(self, **changes) -> "Rope":
        """The same rotation with other choices."""
        return replace(self, **changes)

    def __call__(
        self, x: Float[Tensor, "*batch n d"], positions: Shaped[Tensor, "*axes n"]
    ) -> Float[Tensor, "*batch n d"]:
        """Rotate the rows of x, row r by positions[r], or by positions[:, r] with several axes."""
        if x.shape[-1] != self.head_dim:
            raise ValueError(f"x must have {self.head_dim} channels, got {x.shape[-1]}")
        wanted = torch.complex128 if x.dtype == torch.float64 else torch.complex64
        if positions.ndim == 1:
            turned_by = angles(positions, self.inv_freq)
        elif self.axis is not None:
            turned_by = axial_angles(positions.T, self.inv_freq, self.axis)
        else:
            raise ValueError(f"positions must be [n], got shape {tuple(positions.shape)}")
        turn = phasors(turned_by, dtype=wanted, gain=self.gain)
        before, turning, after = x.tensor_split((self.first, self.first + self.rotary_dim), dim=-1)
        pairing, _, out = self.pairing.partition(" in, ")
        out = out.removesuffix(" out") or pairing
        turning = rotate(turning, turn, pairing=pairing, pairing_out=out)
        turned = torch.cat((before, turning, after), dim=-1)
        if self.temperature is None:
            return turned
        gain = query_gain(positions, **self.temperature)[:, None]
        return (turned * gain).to(turned.dtype)
