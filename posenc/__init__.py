"""posenc: the positional encodings of the book, short enough to read and exact enough to trust.

`identify`, `compare` and `models` tell what somebody else's code and configurations do.
"""

from posenc.alibi import alibi_bias, alibi_slopes
from posenc.attention import attention, causal_mask
from posenc.axial import axial_angles, axial_frequencies, mrope_axes
from posenc.card import Grade, ReportCard, report_card
from posenc.frequencies import angles, inverse_frequencies, phasors, wavelengths
from posenc.learned import LearnedEncoding
from posenc.relative import diagonals, relative_attention, relative_positions, skew, toeplitz
from posenc.rotary import rotate
from posenc.scaling import (
    dynamic_ntk_scaling,
    linear_scaling,
    llama3_scaling,
    longrope_scaling,
    ntk_scaling,
    parts_scaling,
    proportional_scaling,
    query_gain,
    yarn_gain,
    yarn_scaling,
)
from posenc.shaw import ShawRelative
from posenc.sinusoidal import shift_matrix, sinusoidal_encoding, tensor2tensor_encoding
from posenc.t5 import T5RelativeBias, t5_buckets
from posenc.transformer_xl import TransformerXLRelative

__version__ = "0.2.0"

__all__ = [
    "Grade",
    "LearnedEncoding",
    "ReportCard",
    "ShawRelative",
    "T5RelativeBias",
    "TransformerXLRelative",
    "alibi_bias",
    "alibi_slopes",
    "angles",
    "attention",
    "axial_angles",
    "axial_frequencies",
    "causal_mask",
    "compare",
    "diagonals",
    "dynamic_ntk_scaling",
    "identify",
    "inverse_frequencies",
    "linear_scaling",
    "llama3_scaling",
    "longrope_scaling",
    "models",
    "mrope_axes",
    "ntk_scaling",
    "parts_scaling",
    "phasors",
    "proportional_scaling",
    "query_gain",
    "relative_attention",
    "relative_positions",
    "report_card",
    "rotate",
    "shift_matrix",
    "sinusoidal_encoding",
    "skew",
    "t5_buckets",
    "tensor2tensor_encoding",
    "toeplitz",
    "wavelengths",
    "yarn_gain",
    "yarn_scaling",
]


def __getattr__(name: str):
    """Load what checks models when it is first asked for: most readers never need it."""
    if name in ("compare", "identify", "models"):
        from posenc import verify

        return getattr(verify, name)
    raise AttributeError(f"module 'posenc' has no attribute {name!r}")


def __dir__() -> list[str]:
    """All names, also those that are loaded when they are first asked for."""
    return sorted({*globals(), *__all__})
