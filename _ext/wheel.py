"""Build the wheel of `posenc` that the Colab copies and the graders install.

python -m _ext.wheel FOLDER      write it there
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from sphinx.errors import SphinxError

from _ext.repository import ROOT

PACKAGE = ("posenc", "pyproject.toml", "README.md", "LICENSE")


def build_wheel(folder: Path, root: Path = ROOT) -> Path:
    """Build the wheel of `posenc` without a trace; the same sources give the same bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        source, out = Path(temporary, "source"), Path(temporary, "out")
        source.mkdir()
        for name in PACKAGE:
            if (root / name).is_dir():
                shutil.copytree(
                    root / name, source / name, ignore=shutil.ignore_patterns("__pycache__")
                )
            else:
                shutil.copy(root / name, source)
        command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
        command += ["--no-build-isolation", "--no-index", "--wheel-dir", str(out), str(source)]
        environment = {**os.environ, "SOURCE_DATE_EPOCH": "315532800"}  # 1980, where zip begins
        made = subprocess.run(
            command, env=environment, umask=0o022, capture_output=True, check=False, text=True
        )
        if made.returncode:
            raise SphinxError(f"the wheel of posenc cannot be built:\n{made.stdout}{made.stderr}")
        (wheel,) = out.glob("*.whl")
        return Path(shutil.copy(wheel, folder))


if __name__ == "__main__":
    print(build_wheel(Path(sys.argv[1])))
