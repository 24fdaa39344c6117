"""`posenc` for a sandbox in which a question is graded: without the functions that it asks for.

Whatever a notebook does, it cannot call, copy or read what is not there: the bodies of the refused
functions and classes are taken out of the package's files, with the private helpers that these
alone need, and every module that `posenc.check.ways.is_gone` names. So what raises here is what the
check at home refuses, and what `torch` has of the kind; nothing else. Compiled copies of these
files are empty; so are the scripts of the figures that readers touch, which say the same formulas
in another language.
"""

import ast
import functools
import glob
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import posenc
from posenc.check.calls import Refused
from posenc.check.ways import ALL, RULES, is_gone

INSTALLED = Path(sysconfig.get_path("purelib"))  # the one that a sandbox has
SAID = str(Refused())
_TORCH = {
    "torch.onnx.ops._impl": {"rotary_embedding_23"},
    "torch.nn.attention.bias": {"CausalBias", "causal_lower_right", "causal_upper_left"},
}
_INSTEAD = "from posenc.check.calls import Refused\nraise Refused"
_NOT_THERE = "raise NotImplementedError('what torch has of the kind is not there in grading')"


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
        refused: functions and classes, as `posenc.sinusoidal.sinusoidal_encoding`, or `ALL`.
    """
    names: dict[Path, set[str]] = {}
    for name in set(refused) - {ALL}:
        module, _, function = name.rpartition(".")
        path = INSTALLED.joinpath(*module.split(".")).with_suffix(".py")
        names.setdefault(path, set()).add(function)
    made = {path: _emptied(path, own) for path, own in names.items()}
    package = INSTALLED / "posenc"
    made |= {p: _emptied(p, None) for p in package.rglob("*.py") if is_gone(_module(p), refused)}
    return _alone(made) | {str(path): b"" for path in package.rglob("*.js") if refused}


@functools.cache
def files_of_torch() -> dict[str, bytes]:
    """The same of torch, which has a rotation and masks of its own."""
    paths = {INSTALLED.joinpath(*name.split(".")).with_suffix(".py"): own
             for name, own in _TORCH.items()}  # fmt: skip
    return _alone({path: _emptied(path, own, _NOT_THERE) for path, own in paths.items()})


def _alone(made: dict[Path, str]) -> dict[str, bytes]:
    """These sources, and no compiled copies of them."""
    found = {}
    for path, source in made.items():
        found[str(path)] = source.encode()
        found |= {str(compiled): b"" for compiled in _compiled(path)}
    return found


def _compiled(path: Path) -> Iterator[Path]:
    """The compiled copies of a file, by whatever Python and with whatever settings."""
    stem = glob.escape(path.stem)
    for pattern in (f"__pycache__/{stem}.*.pyc", f"{stem}.pyc"):
        yield from path.parent.glob(pattern)


def _module(path: Path) -> str:
    parts = path.relative_to(INSTALLED).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _emptied(path: Path, names: set[str] | None, instead: str = _INSTEAD) -> str:
    """The source of a module without the bodies of these functions; of all functions for None."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    gone = None if names is None else names | _needed_by(tree, names)
    for thing in tree.body:
        if gone is not None and getattr(thing, "name", None) not in gone:
            continue
        for part in ast.walk(thing):
            if isinstance(part, ast.FunctionDef) and part.name != RULES:
                part.body = ast.parse(instead).body
    return ast.unparse(tree)


def _needed_by(tree: ast.Module, names: set[str]) -> set[str]:
    """The private helpers in a module that nothing but these functions needs."""
    helpers = {
        thing.name: thing
        for thing in tree.body
        if isinstance(thing, ast.ClassDef | ast.FunctionDef)
        and thing.name.startswith("_")
        and thing.name not in names
    }
    others = [t for t in tree.body if getattr(t, "name", None) not in {*names, *helpers}]
    found = set().union(*map(_named_in, others))
    while more := set().union(*(_named_in(helpers[n]) for n in found & helpers.keys())) - found:
        found |= more
    return helpers.keys() - found


def _named_in(thing: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(thing) if isinstance(part, ast.Name)}
