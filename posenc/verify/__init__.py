"""Is my model's code right? Identify it, compare it, read its configuration."""

from posenc.verify.compare import Agreement, compare
from posenc.verify.identify import Identity, identify
from posenc.verify.known import Mistake, recognise
from posenc.verify.mistakes import rotation_mistakes
from posenc.verify.models import Layer, Model, models
from posenc.verify.rope import Rope

__all__ = [
    "Agreement",
    "Identity",
    "Layer",
    "Mistake",
    "Model",
    "Rope",
    "compare",
    "identify",
    "models",
    "recognise",
    "rotation_mistakes",
]
