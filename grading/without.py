"""`posenc` for a sandbox in which a question is graded: without the functions that it asks for.

Whatever a notebook does, it cannot call, copy or read what is not there: the bodies of the refused
functions are taken out of the package's files, and so are the private helpers beside them, and
`posenc.verify`, which has all of them once more. Where a question is to be answered without
`posenc`, only checks and drawings are left. Compiled copies of these files are empty.
"""

import ast
import functools
import importlib.util
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

import posenc
from posenc.check.calls import Refused

INSTALLED = Path(sysconfig.get_path("purelib"))  # the one that a sandbox has
SAID = str(Refused())
_INSTEAD = ast.parse("from posenc.check.calls import Refused\nraise Refused").body
ALL = "posenc"  # refused: the whole package
_LEFT = ("check", "show", "_extras.py", "__init__.py")  # of it: what computes no encoding
_TWICE = "verify"  # the room that holds everything against everything
_RULES = "__post_init__"  # which is called at import, too
_TABLE = "families.py"  # which is made at import, and has no encoding in it


def require_current() -> None:
    """Exit with one line if a sandbox has another `posenc` than the process that judges."""
    mine, theirs = map(_contents, (Path(posenc.__file__).parent, INSTALLED / "posenc"))
    if odd := sorted(str(name) for name, _ in mine.items() ^ theirs.items()):
        sys.exit(f"what grades has another posenc ({odd[0]} differs); type: make -B grader")


def _contents(package: Path) -> dict[Path, bytes]:
    paths = (path for path in package.rglob("*") if path.is_file() and path.suffix != ".pyc")
    return {path.relative_to(package): path.read_bytes() for path in paths}


@functools.cache
def files(refused: tuple[str, ...]) -> dict[str, bytes]:
    """Path and content of each file of the package that is another one in the sandbox.

    Args:
        refused: functions, as `posenc.sinusoidal.sinusoidal_encoding`, or `ALL`.
    """
    names: dict[Path, set[str]] = {}
    for name in set(refused) - {ALL}:
        module, _, function = name.rpartition(".")
        path = INSTALLED.joinpath(*module.split(".")).with_suffix(".py")
        names.setdefault(path, set()).add(function)
    made = {path: _emptied(path, own) for path, own in names.items()}
    package = INSTALLED / "posenc"
    made |= {p: _emptied(p, None) for p in package.rglob("*.py") if is_empty(p, package, refused)}
    found = {}
    for path, source in made.items():
        found[str(path)] = source.encode()
        compiled = Path(importlib.util.cache_from_source(str(path)))
        if compiled.exists():
            found[str(compiled)] = b""
    return found


def is_empty(path: Path, package: Path, refused: Sequence[str]) -> bool:
    """Whether nothing is left of a file where these are refused."""
    room = path.relative_to(package).parts[0]
    gone = room not in _LEFT if ALL in refused else bool(refused) and room == _TWICE
    return gone and path.name != _TABLE


def _emptied(path: Path, names: set[str] | None) -> str:
    """The source of a module without the bodies of these functions; of all functions for None."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for thing in tree.body:
        private = isinstance(thing, ast.ClassDef | ast.FunctionDef) and thing.name.startswith("_")
        for part in ast.walk(thing):
            if not isinstance(part, ast.FunctionDef) or part.name == _RULES:
                continue
            if names is None or private or (part is thing and part.name in names):
                part.body = _INSTEAD
    return ast.unparse(tree)
