"""Methods from elsewhere: found by "module:Class", carried to workers, known by their source."""

import hashlib
import importlib
import inspect
import pickle
import sys
from collections.abc import Callable
from pathlib import Path

from posenc.lab.methods import METHODS, Method


def name_of(method: str | type[Method]) -> str:
    """What a run calls a method: its name in METHODS, or "module:Class".

    Raises:
        TypeError: if it is neither a name nor a class of `Method`.
        ValueError: if the class is defined inside a function, where nobody else can find it.

    Example:
        >>> name_of(METHODS["rope"]), name_of("alibi")
        ('rope', 'alibi')
    """
    if isinstance(method, str):
        return method
    if not (isinstance(method, type) and issubclass(method, Method)):
        raise TypeError(f"method must be a name or a class of Method, got {method!r}")
    for name, known in METHODS.items():
        if method is known:
            return name
    if "<locals>" in method.__qualname__:
        raise ValueError(f"method must be a class of a module, got {method.__qualname__}")
    return f"{method.__module__}:{method.__qualname__}"


def find(name: str) -> Callable[..., Method]:
    """The class that a name stands for.

    Args:
        name: a name of METHODS, or "module:Class" of a module that Python finds.

    Raises:
        ValueError: if there is no such method.

    Example:
        >>> find("posenc.lab.methods:Rope") is find("rope")
        True
    """
    if name in METHODS:
        return METHODS[name]
    module, colon, path = name.partition(":")
    if not colon:
        known = ", ".join(METHODS)
        raise ValueError(f"method must be one of {known}, or module:Class, got {name!r}")
    try:
        found = importlib.import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(f"method must be found, got {name!r}: {error}") from None
    if not (isinstance(found, type) and issubclass(found, Method)):
        raise ValueError(f"method must be a class of posenc.lab.Method, got {name!r}")
    return found


def source_of(name: str) -> str:
    """A hash of the file that defines a method from elsewhere; "" for a name of METHODS.

    In a notebook, where there is no file, it is that of the class's functions.

    Example:
        >>> source_of("rope"), len(source_of("posenc.lab.methods:Rope"))
        ('', 16)
    """
    if name in METHODS:
        return ""
    method = find(name)
    file = getattr(sys.modules[method.__module__], "__file__", None)
    if file and Path(file).exists():
        source = Path(file).read_bytes()
    else:
        functions = [part for part in vars(method).values() if inspect.isfunction(part)]
        source = "".join(map(inspect.getsource, functions)).encode()
    return hashlib.sha256(source).hexdigest()[:16]


def packed(name: str) -> bytes:
    """A method from elsewhere as bytes, which a worker turns into the class with `unpacked`.

    The class travels by value: a worker needs posenc and not the module. What that module
    imports, the worker must have.

    Example:
        >>> packed("rope")
        b''
    """
    if name in METHODS:
        return b""
    import cloudpickle

    method = find(name)
    module = sys.modules[method.__module__]
    cloudpickle.register_pickle_by_value(module)
    try:
        return cloudpickle.dumps(method)
    finally:
        cloudpickle.unregister_pickle_by_value(module)


def unpacked(name: str, method: bytes) -> Callable[..., Method]:
    """The class again.

    Example:
        >>> unpacked("rope", packed("rope")) is METHODS["rope"]
        True
    """
    return pickle.loads(method) if method else METHODS[name]
