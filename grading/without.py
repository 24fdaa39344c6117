"""`posenc` for a sandbox in which a question is graded: without the functions that it asks for.

Whatever a notebook does, it cannot call, copy or read what is not there: the bodies of the refused
functions are taken out of the package's files, and so are the private helpers beside them, and
`posenc.verify`, which has all of them once more. Compiled copies of these files are empty.
"""

import ast
import functools
import importlib.util
import sysconfig
from pathlib import Path

from posenc.check.calls import Refused

INSTALLED = Path(sysconfig.get_path("purelib"))  # the one that a sandbox has
SAID = str(Refused())
_INSTEAD = ast.parse("from posenc.check.calls import Refused\nraise Refused").body
_TWICE = "verify"  # the room that holds everything against everything
_TABLE = "families.py"  # which is made at import, and has no encoding in it


@functools.cache
def files(refused: tuple[str, ...]) -> dict[str, bytes]:
    """Path and content of each file of the package that is another one in the sandbox.

    Args:
        refused: functions, as `posenc.sinusoidal.sinusoidal_encoding`.
    """
    names: dict[Path, set[str]] = {}
    for name in refused:
        module, _, function = name.rpartition(".")
        path = INSTALLED.joinpath(*module.split(".")).with_suffix(".py")
        names.setdefault(path, set()).add(function)
    made = {path: _emptied(path, own) for path, own in names.items()}
    for path in (INSTALLED / "posenc" / _TWICE).rglob("*.py") if refused else ():
        if path.name != _TABLE:
            made[path] = _emptied(path, None)
    found = {}
    for path, source in made.items():
        found[str(path)] = source.encode()
        compiled = Path(importlib.util.cache_from_source(str(path)))
        if compiled.exists():
            found[str(compiled)] = b""
    return found


def _emptied(path: Path, names: set[str] | None) -> str:
    """The source of a module without the bodies of these functions; of all functions for None."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for thing in tree.body:
        private = isinstance(thing, ast.ClassDef | ast.FunctionDef) and thing.name.startswith("_")
        for part in ast.walk(thing):
            if isinstance(part, ast.FunctionDef) and (
                names is None or private or (part is thing and part.name in names)
            ):
                part.body = _INSTEAD
    return ast.unparse(tree)
