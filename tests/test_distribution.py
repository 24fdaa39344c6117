"""What is shipped: a source distribution whose tests run, a wheel with all that posenc needs."""

import email
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.metadata import Metadata

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
SOURCES = ("posenc", "tests", "pyproject.toml", "MANIFEST.in")
TEXTS = ("README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff")
BUILD = "import sys; from setuptools import build_meta; build_meta.build_{}(sys.argv[1])"


def build(kind, source, out):
    command = [sys.executable, "-c", BUILD.format(kind), str(out)]
    subprocess.run(command, cwd=source, check=True, capture_output=True, text=True)


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    """The unpacked source distribution of what is in the working tree."""
    folder = tmp_path_factory.mktemp("sdist")
    source = folder / "source"
    skip = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for name in (*SOURCES, *TEXTS):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        source.mkdir(exist_ok=True)
        copy(ROOT / name, source / name, **({"ignore": skip} if (ROOT / name).is_dir() else {}))
    build("sdist", source, folder)
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    return folder / archive.name.removesuffix(".tar.gz")


@pytest.fixture(scope="module")
def wheel(sdist):
    """The wheel that is built from the source distribution, as an installer would."""
    build("wheel", sdist, sdist.parent)
    (archive,) = sdist.parent.glob("*.whl")
    with zipfile.ZipFile(archive) as packed:
        yield packed


def test_the_source_distribution_holds_its_tests_and_texts(sdist):
    tests = {path.name for path in (sdist / "tests").iterdir()}
    modules = {f"test_{path.stem}.py" for path in (ROOT / "posenc").glob("*.py")}
    modules |= {path.name for path in (ROOT / "tests").glob("test_verify_*.py")}
    asked = modules & {path.name for path in (ROOT / "tests").iterdir()}
    assert {"test_axial.py", "test_rotary.py", "test_verify_models.py"} <= asked
    assert {"conftest.py", "helpers.py", "spec.py", "test_refusals.py"} | asked <= tests
    assert not {"test_site.py", "test_grading.py"} & tests
    assert all((sdist / name).read_bytes() == (ROOT / name).read_bytes() for name in TEXTS)


def test_the_mutants_are_measured_by_the_cores_own_tests():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mutmut"]
    modules = {f"tests/test_{path.stem}.py" for path in (ROOT / "posenc").glob("*.py")}
    own = {path for path in modules if (ROOT / path).exists()}
    assert own <= set(settings["pytest_add_cli_args_test_selection"])


@pytest.mark.long
def test_the_tests_of_the_source_distribution_run(sdist):
    pytest_ = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    options = {"cwd": sdist, "capture_output": True, "text": True, "check": False}
    found = subprocess.run([*pytest_, "--collect-only"], **options)
    assert found.returncode == 0, found.stdout
    ran = subprocess.run([*pytest_, "tests/test_alibi.py", "tests/test_refusals.py"], **options)
    assert ran.returncode == 0, ran.stdout


def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    files = (path for path in (ROOT / "posenc").rglob("*") if path.is_file())
    assert names == {
        str(path.relative_to(ROOT)) for path in files if "__pycache__" not in path.parts
    }
    assert "posenc/py.typed" in names


def test_the_metadata_are_valid(sdist, wheel):
    (name,) = (n for n in wheel.namelist() if n.endswith("/METADATA"))
    for raw in (wheel.read(name), (sdist / "PKG-INFO").read_bytes()):
        metadata = Metadata.from_email(raw, validate=True)
        assert (metadata.name, str(metadata.version)) == ("posenc", PROJECT["version"])
        assert metadata.description_content_type == "text/markdown"
        assert "Where Am I?" in email.message_from_bytes(raw).get_payload()
        assert set(metadata.provides_extra) == {"show", "lab", "cluster"}
        assert metadata.classifiers == PROJECT["classifiers"]
