"""Checks shared by the modules: each names the argument, the rule and the value it got.

A check of values needs values. There are none while a graph is compiled or exported, on the meta
device, and under `torch.vmap`; there a rule about values is trusted (see `seen`), and a rule
about types, dtypes and shapes is checked all the same.
"""

import math
from collections.abc import Iterable

import torch
from torch import Tensor


def seen(x: Tensor):
    """`x.tolist()`, or None where a tensor has no values that Python could look at."""
    if torch.compiler.is_compiling():
        return None
    try:
        return x.tolist()
    except RuntimeError:  # vmap, the meta device and fake tensors have no other way to say so
        return None


def violated(rule: Tensor) -> bool:
    """Whether some entry of a boolean tensor is seen to be False."""
    return seen(rule.all()) is False


def require_even(name: str, value: int) -> None:
    """Raise ValueError unless `value` is a positive even integer."""
    require_positive(name, value)
    if value % 2:
        raise ValueError(f"{name} must be positive and even, got {value}")


def require_positive(name: str, value: int) -> None:
    """Raise TypeError or ValueError unless `value` is a positive integer."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name} must be an int, got {value!r}")
    if value <= 0:
        raise ValueError(f"{name} must be positive, got {value}")


def require_base(base: float) -> None:
    """Raise ValueError unless `base` is a finite number above 1."""
    if not 1 < base < math.inf:  # nor nan
        raise ValueError(f"base must be a finite number above 1, got {base}")


def require_std(std: float) -> None:
    """Raise ValueError unless `std` is a finite number that is not negative."""
    if not 0 <= std < math.inf:  # nor nan
        raise ValueError(f"std must be finite and not negative, got {std}")


def require_tensor(name: str, x: Tensor) -> None:
    """Raise TypeError unless `x` is a tensor."""
    if not isinstance(x, Tensor):
        raise TypeError(f"{name} must be a tensor, got {type(x).__name__}")


def require_positions(name: str, positions: Tensor) -> None:
    """Raise unless `positions` is a non-empty tensor of finite integers, float32 or float64."""
    require_tensor(name, positions)
    if positions.dtype == torch.bool or positions.is_complex():
        raise TypeError(f"{name} must have an integer or float dtype, got {positions.dtype}")
    if positions.numel() == 0:
        raise ValueError(f"{name} must not be empty, got shape {tuple(positions.shape)}")
    if positions.is_floating_point():
        if positions.dtype.itemsize < 4:  # bfloat16 takes 257 for 256, float16 2049 for 2048
            raise TypeError(
                f"{name} must be integers, float32 or float64 to be exact, got {positions.dtype}"
            )
        if violated(positions.isfinite()):
            bad = positions[~positions.isfinite()].flatten()[0].item()
            raise ValueError(f"{name} must be finite, got {bad}")


def require_inv_freq(inv_freq: Tensor) -> None:
    """Raise unless `inv_freq` holds one finite float64 number for each pair of channels."""
    require_tensor("inv_freq", inv_freq)
    if inv_freq.dtype != torch.float64:
        raise TypeError(f"inv_freq must be float64, got {inv_freq.dtype}")
    if inv_freq.ndim != 1 or inv_freq.numel() == 0:
        raise ValueError(f"inv_freq must have shape [dim/2], got {tuple(inv_freq.shape)}")
    if violated(inv_freq.isfinite()):
        raise ValueError(f"inv_freq must be finite, got {inv_freq[~inv_freq.isfinite()][0].item()}")


def require_float(name: str, x: Tensor) -> None:
    """Raise TypeError unless `x` is a tensor of float64, float32, bfloat16 or float16."""
    require_tensor(name, x)
    require_float_dtype(name, x.dtype, "have a floating-point dtype")


def require_float_dtype(name: str, dtype: torch.dtype, rule: str = "be a floating-point dtype"):
    """Raise TypeError unless `dtype` is float64, float32, bfloat16 or float16."""
    if not dtype.is_floating_point:
        raise TypeError(f"{name} must {rule}, got {dtype}")
    if dtype.itemsize < 2:
        raise TypeError(f"{name} must {rule} of at least 16 bits, got {dtype}")


def require_choice(name: str, value: str, choices: Iterable[str]) -> None:
    """Raise ValueError unless `value` is one of `choices`."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {choices}, got {value!r}")
