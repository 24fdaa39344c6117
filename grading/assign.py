"""Make an assignment of a solved master: the notebook for students, and Gradescope's autograder.

    python -m grading.assign 02_sinusoidal      into dist/02_sinusoidal

The student notebook is the one that the site serves, made by `_ext.student`, and says which
Python, packages and limits a grader has. The zip holds the master, its questions, this room and
the wheel of `posenc`: keep it to yourself. Nothing is made again if nothing has changed since.
"""

import argparse
import copy
import hashlib
import json
import platform
import secrets
import zipfile
from pathlib import Path

import nbformat
from nbformat.v4 import new_markdown_cell

from _ext.repository import ROOT
from _ext.student import wheel_address
from _ext.wheel import build_wheel
from grading.assignment import RUNS, Assignment
from grading.sandbox import FILE, SHARED, Limits
from grading.submissions import LARGEST

DIST = ROOT / "dist"
ZIP = "autograder.zip"
SEED = "seed.json"
_REQUIREMENTS = Path(__file__).with_name("requirements.txt")
_SETUP = """\
#!/usr/bin/env bash
# Gradescope runs this once, as root, in its image of Ubuntu 24.04.
set -euo pipefail
apt-get update -qq
apt-get install -y -qq --no-install-recommends python3 python3-venv util-linux \\
    bubblewrap libseccomp2
python3 -m venv /autograder/venv
/autograder/venv/bin/pip install --quiet --extra-index-url https://download.pytorch.org/whl/cpu \\
    -r /autograder/source/grading/requirements.txt
/autograder/venv/bin/pip install --quiet --no-deps /autograder/source/{wheel}
chmod -R go-rwx /autograder/source
"""
_RUN = """\
#!/usr/bin/env bash
cd /autograder/source && exec /autograder/venv/bin/python -m grading.gradescope {name}.ipynb
"""


def packages() -> list[str]:
    """What submissions may import, as grading/requirements.txt pins it."""
    _, _, rest = _REQUIREMENTS.read_text().partition("# What submissions may import")
    return [line for line in rest.partition("\n\n")[0].splitlines() if "==" in line]


def handed_out(assignment: Assignment) -> nbformat.NotebookNode:
    """The student notebook, with a last cell that says what the grader has, and its limits."""
    version, limits = ".".join(platform.python_version_tuple()[:2]), Limits()
    made = copy.deepcopy(assignment.handed_out)
    listed = ", ".join(line.replace("==", " ") for line in packages())
    said = f"{RUNS} Python {version}, {listed}. "
    said += 'There is no GPU: `.cuda()` and `device="cuda"` fail there. '
    said += f"A cell has {limits.cell_seconds:g} seconds of processor time, all have "
    said += f"{limits.seconds:g} and {limits.memory:g} GiB of memory; "
    said += f"a file that it writes may have {FILE >> 20} MiB, and `/dev/shm` has {SHARED >> 20}; "
    said += f"the notebook may have {LARGEST // 2**20} MiB.*"
    made.cells.append(new_markdown_cell(said, id="packages"))
    return made


def sources(assignment: Assignment) -> dict[str, bytes]:
    """Name and content of every file in the zip but the wheel."""
    folders = {"grading": ("*.py", "*.j2", "hosts", "requirements.txt"), "_ext": ("*.py",)}
    files = {}
    for folder, patterns in folders.items():
        for pattern in patterns:
            for path in sorted((ROOT / folder).rglob(pattern)):
                files[str(path.relative_to(ROOT))] = path.read_bytes()
    for path in (assignment.path, assignment.path.with_suffix(".py")):
        if path.exists():
            files[path.name] = path.read_bytes()
    files["pyproject.toml"] = (ROOT / "pyproject.toml").read_bytes()
    return files


def make(assignment: Assignment, folder: Path) -> Path:
    """Write the student notebook and the zip into a folder, unless they are current.

    Returns:
        Path of the zip.
    """
    posenc = [p.read_bytes() for p in sorted((ROOT / "posenc").rglob("*")) if p.is_file()]
    notebook = nbformat.writes(handed_out(assignment))
    files = sources(assignment)
    parts = [*(name.encode() + data for name, data in files.items()), *posenc, notebook.encode()]
    facts = {"made of": hashlib.sha256(b"\0".join(parts)).hexdigest()}
    made = folder / ZIP
    try:
        with zipfile.ZipFile(made) as archive:
            kept = json.loads(archive.read(SEED))
        if kept["made of"] == facts["made of"] and (folder / assignment.path.name).exists():
            return made
        facts["seed"] = kept["seed"]
    except (OSError, KeyError, ValueError, zipfile.BadZipFile):
        facts["seed"] = secrets.randbits(128)
    print(f"==> Making {assignment.name}")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / assignment.path.name).write_text(notebook, encoding="utf-8")
    wheel = build_wheel(folder)
    files |= {
        wheel.name: wheel.read_bytes(),
        SEED: json.dumps(facts).encode(),
        "setup.sh": _SETUP.format(wheel=wheel.name).encode(),
        "run_autograder": _RUN.format(name=assignment.name).encode(),
    }
    wheel.unlink()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.external_attr = (0o755 if name in ("setup.sh", "run_autograder") else 0o644) << 16
            archive.writestr(info, data, zipfile.ZIP_DEFLATED)
    return made


def main() -> None:
    """Make one assignment."""
    parser = argparse.ArgumentParser(prog="python -m grading.assign")
    parser.add_argument("name", help="an assignment of the book, or the path of a master")
    parser.add_argument("--dist", type=Path, default=DIST, help="where its folder is made")
    options = parser.parse_args()
    assignment = Assignment.find(options.name)
    made = make(assignment, options.dist / assignment.name)
    print(f"==> {made.parent / assignment.path.name} is for students")
    if not wheel_address():
        print("    It installs nothing, since this book has no repository: they must have posenc")
    print(f"    {made} is for Gradescope, and for nobody else to see")


if __name__ == "__main__":
    main()
