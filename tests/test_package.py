import doctest
import importlib
import inspect
import json
import pkgutil
import statistics
import subprocess
import sys
import tomllib
from dataclasses import is_dataclass
from pathlib import Path
from typing import get_args

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

import posenc

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
MODULES = [m.name for m in pkgutil.walk_packages(posenc.__path__, "posenc.")]

# What Google Colab has installed, as of August 2026.
COLAB = {
    "torch": "2.11.0",
    "numpy": "2.1.3",
    "matplotlib": "3.10.0",
    "ipywidgets": "7.7.1",
    "pillow": "11.3.0",
    "tqdm": "4.67.3",
    "joblib": "1.5.3",
    "cloudpickle": "3.1.2",
    "filelock": "3.32.3",
    "pydantic": "2.13.4",
}
COLAB_PYTHON = "3.13"

IMPORT = """
import json, sys, time
start = time.process_time()
import torch
middle, before = time.process_time(), set(sys.modules)
import posenc
share = (time.process_time() - middle) / (middle - start)
print(json.dumps([share, sorted(set(sys.modules) - before)]))
"""


def imported():
    """An import after torch, in a process of its own: its time, in torch's, and new modules."""
    command = [sys.executable, "-c", IMPORT]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    return json.loads(done.stdout)


def test_importing_posenc_leaves_heavy_packages_out():
    modules = set(imported()[1])
    assert "posenc.rotary" in modules
    heavy = {"matplotlib", "ipywidgets", "IPython", "transformers", "scipy", "posenc.show"}
    assert not heavy & modules


@pytest.mark.alone
def test_importing_posenc_adds_little_to_torch():
    """A thirtieth: 50 ms where torch takes 1.5 s."""
    assert statistics.median(imported()[0] for _ in range(5)) <= 1 / 30


def test_the_public_names_exist_once_and_in_order():
    assert posenc.__all__ == sorted(set(posenc.__all__))
    assert all(hasattr(posenc, name) for name in posenc.__all__)


@pytest.mark.parametrize("name", posenc.__all__)
def test_a_public_name_says_what_it_is_takes_and_returns(name):
    thing = getattr(posenc, name)
    text = inspect.getdoc(thing)
    assert text.partition("\n")[0].endswith(".")
    if is_dataclass(thing):  # only ever returned, by report_card
        return
    assert "Example:\n    >>> " in text
    assert "Args:\n" in text
    assert inspect.isclass(thing) or "Returns:\n" in text
    for argument in inspect.signature(thing).parameters:
        assert f"{argument}:" in text or f"{argument}, " in text


@pytest.mark.parametrize("name", ["posenc", *MODULES])
def test_the_examples_in_docstrings_run(name):
    module = importlib.import_module(name)
    assert inspect.getdoc(module)
    assert doctest.testmod(module).failed == 0


def test_every_public_function_has_an_example_that_runs():
    finder = doctest.DocTestFinder()
    tested = {
        test.name.rpartition(".")[2]
        for name in MODULES
        for test in finder.find(importlib.import_module(name))
        if test.examples
    }
    assert {name for name in posenc.__all__ if not is_dataclass(getattr(posenc, name))} <= tested


def test_colab_satisfies_the_requirements():
    assert COLAB_PYTHON in SpecifierSet(PROJECT["requires-python"])
    extras = PROJECT["optional-dependencies"]
    lines = PROJECT["dependencies"] + extras["show"] + extras["lab"]
    ranges = {r.name: r.specifier for r in map(Requirement, lines)}
    assert set(COLAB) <= set(ranges)
    for name, version in COLAB.items():
        assert version in ranges[name], f"{name} {version}"


def test_the_version_is_that_of_the_project():
    assert posenc.__version__ == PROJECT["version"]


def test_the_version_stands_in_the_changelog_and_the_citation():
    root = Path(__file__).parents[1]
    version = PROJECT["version"]
    assert f"\nversion: {version}\n" in (root / "CITATION.cff").read_text()
    assert f"\n## {version} (" in (root / "CHANGELOG.md").read_text()


@pytest.mark.parametrize(
    ("module", "text"),
    [
        (posenc.LearnedEncoding(8, 4), "LearnedEncoding(num_positions=8, dim=4)"),
        (
            posenc.T5RelativeBias(3, num_buckets=8, max_distance=9, bidirectional=False),
            "T5RelativeBias(num_heads=3, num_buckets=8, max_distance=9, bidirectional=False)",
        ),
        (
            posenc.ShawRelative(4, max_distance=7, values=False),
            "ShawRelative(head_dim=4, max_distance=7, values=False)",
        ),
        (
            posenc.ShawRelative(4, max_distance=7, max_ahead=2),
            "ShawRelative(head_dim=4, max_distance=7, max_ahead=2, values=True)",
        ),
        (
            posenc.TransformerXLRelative(2, 4, 6, base=500.0),
            "TransformerXLRelative(num_heads=2, head_dim=4, dim=6, base=500)",
        ),
    ],
)
def test_a_module_prints_its_settings(module, text):
    assert repr(module) == text


@pytest.mark.parametrize(
    ("function", "argument"),
    [
        (posenc.rotate, "pairing"),
        (posenc.rotate, "pairing_out"),
        (posenc.sinusoidal_encoding, "layout"),
    ],
)
def test_a_type_checker_knows_the_choices(function, argument):
    annotation = inspect.signature(function).parameters[argument].annotation
    choices = {c for part in (annotation, *get_args(annotation)) for c in get_args(part)}
    assert {"interleaved", "half"} <= choices


NEEDS = ["show matplotlib", "show ipywidgets", "lab tqdm", "lab joblib"]
HIDDEN = """
import importlib, sys
for room, package in map(str.split, sys.argv[1:]):
    sys.modules[package] = None
    try:
        importlib.import_module(f"posenc.{room}")
    except ModuleNotFoundError as error:
        print(error)
    del sys.modules[package]
"""


def test_a_missing_extra_is_named():
    command = [sys.executable, "-c", HIDDEN, *NEEDS]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    assert done.stdout.splitlines() == [
        f"posenc.{room} needs {package}: pip install 'posenc[{room}]'"
        for room, package in map(str.split, NEEDS)
    ]
