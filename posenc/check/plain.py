"""Plain data: what an answer is given and what it returns, as JSON has it; nothing executable."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from posenc.check.calls import DEEPEST, LARGEST, Wrong, kind

_DTYPES = {name: getattr(torch, name) for name in ("bool", "int32", "int64", "float32", "float64")}
_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def encode(argument: object) -> object:
    """What JSON makes of an argument; `decode` makes the argument of it.

    Raises:
        TypeError: if it is no number, text, list, tensor or method of the laboratory.

    Example:
        >>> encode([2, torch.tensor([0.5])])
        [2, {'tensor': 'float32', 'shape': [1], 'numbers': [0.5]}]
    """
    if isinstance(argument, Tensor):
        dtype = str(argument.dtype).removeprefix("torch.")
        if dtype not in _DTYPES:
            raise TypeError(f"a tensor must have one of the dtypes {list(_DTYPES)}, got {dtype}")
        made = {"tensor": dtype, "shape": list(argument.shape), "numbers": _numbers(argument)}
        if argument.ndim == 2 and not argument.is_contiguous() and argument.T.is_contiguous():
            made["columns"] = True  # they lie one after another in memory, not the rows
        return made
    if isinstance(argument, list | tuple):
        return [encode(part) for part in argument]
    if isinstance(argument, type):
        return {"method": argument.__name__}
    if isinstance(argument, float) and not math.isfinite(argument):
        return {"number": str(argument)}
    if isinstance(argument, bool | int | float | str):
        return argument
    raise TypeError(f"an argument must be plain data, got {kind(argument)}")


def decode(data: object) -> object:
    """The argument that `encode` made the data of."""
    if isinstance(data, list):
        return [decode(part) for part in data]
    if not isinstance(data, dict):
        return data
    if "number" in data:
        return _NOT_FINITE[data["number"]]
    if "method" in data:
        from posenc.lab.methods import METHODS

        return next(m for m in METHODS.values() if m.__name__ == data["method"])
    numbers = [_NOT_FINITE.get(x, x) for x in data["numbers"]]
    dtype = _DTYPES[data["tensor"]]
    made = torch.tensor(numbers, dtype=dtype, device="cpu").reshape(data["shape"])
    return made.T.contiguous().T if data.get("columns") else made


@dataclass(frozen=True)
class Values:
    """Numbers as plain Python floats: nothing that a student can redefine compares them."""

    shape: tuple[int, ...]
    flat: tuple[float, ...]

    @classmethod
    def read(cls, returned: object) -> "Values":
        """The numbers in what a student's function returned.

        Raises:
            Wrong: if there is anything but real numbers in it, or too many.
        """
        try:
            many = isinstance(returned, Tensor | np.ndarray) and math.prod(returned.shape)
            values = returned if many > LARGEST else _as_tensor(returned)  # no copy of too many
            flat = values.flatten().tolist() if math.prod(values.shape) <= LARGEST else []
        except (Exception, SystemExit):
            raise Wrong(
                f"it must return real numbers, as a tensor, an array or lists, got {kind(returned)}"
            ) from None
        if math.prod(values.shape) > LARGEST:
            raise Wrong(f"its result has the shape {list(values.shape)}: far too many numbers")
        return cls(tuple(values.shape), tuple(flat))

    def encode(self, digits: int = 17) -> dict:
        """Return the values as JSON has them, rounded to so many significant digits."""
        rounded = [float(f"{x:.{digits}g}") if math.isfinite(x) else x for x in self.flat]
        numbers = [_plain(x) for x in rounded]
        if len(numbers) > 1 and len(set(numbers)) == 1:
            numbers = numbers[:1]  # of a constant, one is enough
        return {"shape": list(self.shape), "numbers": numbers}

    @classmethod
    def decode(cls, data: object) -> "Values":
        """Read values as JSON has them, strictly.

        Raises:
            ValueError: if they are anything else.
        """
        try:
            shape, numbers = data["shape"], data["numbers"]
        except (TypeError, KeyError, IndexError):
            raise ValueError("values must have a shape and numbers") from None
        if not (isinstance(shape, list) and len(shape) <= DEEPEST and isinstance(numbers, list)):
            raise ValueError("a shape and numbers must be lists")
        if not all(type(size) is int and 0 <= size <= LARGEST for size in shape):
            raise ValueError(f"sizes must be from 0 to {LARGEST}")
        size = math.prod(shape)
        if size > LARGEST or len(numbers) not in (size, 1):
            raise ValueError(f"there must be {size} numbers, got {len(numbers)}")
        flat = tuple(map(_number, numbers))
        return cls(tuple(shape), flat * size if len(flat) == 1 else flat)

    def close(self, other: "Values", tolerance: float) -> bool:
        """Whether both have one shape and the same numbers."""
        return self.shape == other.shape and self.first_difference(other, tolerance) is None

    def unsigned_infinities(self) -> "Values":
        """Which infinity a division by zero gives depends on how it was written."""
        return Values(self.shape, tuple(abs(x) if math.isinf(x) else x for x in self.flat))

    def first_difference(self, other: "Values", tolerance: float) -> int | None:
        """Index of the first number that is not that of the other, which has the same shape."""
        for index, (one, two) in enumerate(zip(self.flat, other.flat, strict=True)):
            near = math.isfinite(two) and abs(one - two) <= tolerance * max(1.0, abs(two))
            if not (near or one == two or (math.isnan(one) and math.isnan(two))):
                return index
        return None

    def place(self, index: int) -> list[int]:
        """Indices of a number, one an axis."""
        return [int(part) for part in np.unravel_index(index, self.shape)]

    def tensor(self) -> Tensor:
        """As a tensor, in float64."""
        return torch.tensor(self.flat, dtype=torch.float64, device="cpu").reshape(self.shape)

    def rows(self) -> list[tuple[float, ...]]:
        """The numbers at each index of the first axis; none if there is no axis."""
        size = math.prod(self.shape[1:])
        count = self.shape[0] if self.shape else 0
        return [self.flat[size * i : size * (i + 1)] for i in range(count)]


def _number(data: object) -> float:
    if isinstance(data, str) and data in _NOT_FINITE:
        return _NOT_FINITE[data]
    if type(data) not in (int, float) or not -1.7e308 < data < 1.7e308:
        raise ValueError("numbers must be numbers")
    return float(data)


def _plain(number: float) -> object:
    """The shortest form: 2 for 2.0."""
    if not math.isfinite(number):
        return str(number)
    whole = number.is_integer() and abs(number) < 1e15 and math.copysign(1, number) > 0
    return int(number) if whole else number


def _numbers(tensor: Tensor) -> list:
    """Every number, a float32 one as short as it can be written."""
    if tensor.dtype == torch.float32:
        return [_plain(float(str(x))) for x in tensor.detach().numpy().flatten()]
    flat = tensor.flatten().tolist()
    return [_plain(x) for x in flat] if tensor.dtype == torch.float64 else flat


def _as_tensor(returned: object) -> Tensor:
    nested = Tensor | list | tuple
    if isinstance(returned, list | tuple) and any(isinstance(x, nested) for x in returned):
        return torch.stack([_as_tensor(x) for x in returned])
    if isinstance(returned, Tensor):
        values = returned.detach().cpu().to_dense()
    else:
        numbers = np.asarray(returned).tolist()
        values = torch.tensor(numbers, dtype=torch.float64, device="cpu")
    if values.is_complex():
        raise TypeError("the numbers must be real")
    return values.double()
