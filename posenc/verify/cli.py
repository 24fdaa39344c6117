"""The command line: python -m posenc identify, compare or models."""

import argparse
import importlib
import json
import os
import sys
from pathlib import Path

import torch

from posenc.verify.compare import compare
from posenc.verify.identify import KINDS, identify
from posenc.verify.models import models

EPILOG = """exit status: 0 if nothing looks wrong (identify), the two agree (compare) or the file
was read (models); 1 if something does or they do not; 2 if it could not be tried"""


DTYPES = ("float32", "bfloat16", "float16", "float64")


def main(arguments: list[str] | None = None) -> int:
    """Run one command; returns its exit status."""
    options = _parser().parse_args(arguments)
    try:
        found, status = options.run(options)
    except Exception as error:  # somebody else's code may raise anything
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 2
    try:
        print(json.dumps(found.as_dict(), indent=2) if options.json else found, flush=True)
    except BrokenPipeError:  # who reads has seen enough, as `head` does: the status is the same
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m posenc", description=__doc__, epilog=EPILOG)
    commands = parser.add_subparsers(required=True, metavar="command")
    target = "package.module:name, a function, a module's instance or a tensor"
    one = commands.add_parser("identify", help="say what a function does", epilog=EPILOG)
    one.add_argument("thing", help=target)
    two = commands.add_parser("compare", help="hold one against another", epilog=EPILOG)
    two.add_argument("yours", help=target)
    two.add_argument("reference", help=f"{target}; or a config.json, or its folder")
    two.add_argument("--layer", type=int, help="of the config.json, from 0; all otherwise")
    two.add_argument(
        "--length", type=int, help="of the text that the config.json's frequencies are for"
    )
    two.add_argument(
        "--first-query", type=int, help="the key at which the first query of a bias stands"
    )
    for command in (one, two):
        command.add_argument("--kind", choices=KINDS)
        command.add_argument("--dim", type=int, help="channels of a head")
        command.add_argument("--dtype", choices=DTYPES, help="of the vectors")
        command.add_argument("--apply", help="what applies cos and sin, package.module:name")
    three = commands.add_parser("models", help="read a config.json", epilog=EPILOG)
    three.add_argument("config", help="path of a config.json or of its folder")
    three.add_argument("--length", type=int, help="positions in the text")
    for command, run in ((one, _identify), (two, _compare), (three, _models)):
        command.add_argument("--json", action="store_true", help="print data, not text")
        command.set_defaults(run=run)
    return parser


def _identify(options: argparse.Namespace):
    found = identify(_load(options.thing), **_options(options))
    return found, int(bool(found.warnings))


def _compare(options: argparse.Namespace):
    reference = options.reference
    reference = reference if Path(reference).exists() else _load(reference)
    chosen = {name: getattr(options, name) for name in ("layer", "length", "first_query")}
    found = compare(_load(options.yours), reference, **chosen, **_options(options))
    return found, int(not found.agrees)


def _models(options: argparse.Namespace):
    return models(options.config, length=options.length), 0


def _options(options: argparse.Namespace) -> dict:
    apply = _load(options.apply) if options.apply else None
    dtype = getattr(torch, options.dtype) if options.dtype else None
    return {"kind": options.kind, "dim": options.dim, "apply": apply, "dtype": dtype}


def _load(name: str) -> object:
    """What package.module:name names; the working directory counts as a place for modules."""
    module, colon, path = name.partition(":")
    if module.endswith(".py"):
        raise ValueError(
            f"write {module.removesuffix('.py').replace('/', '.')}:{path}, got {name!r}"
        )
    if not colon and (name.endswith(".json") or "/" in name):
        raise FileNotFoundError(f"there is no file {name}")
    if not colon or not path:
        raise ValueError(f"the name must be package.module:name, got {name!r}")
    if "" not in sys.path:
        sys.path.insert(0, "")
    thing = importlib.import_module(module)
    for part in path.split("."):
        thing = getattr(thing, part)
    return thing
