"""Sphinx on a small book, in this process: it is loaded once, and not for each book anew."""

import contextlib
import io
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace

from sphinx.cmd.build import main


def sphinx(folder: Path, builder: str = "html") -> SimpleNamespace:
    """Build the book of a folder, warnings being errors: its `returncode` and `stderr`."""
    said, places = io.StringIO(), [*sys.path]
    with (
        contextlib.redirect_stdout(said),
        contextlib.redirect_stderr(said),
        warnings.catch_warnings(),
    ):
        returncode = main(["-q", "-W", "-b", builder, str(folder), str(folder / "out")])
    sys.path[:] = places  # its conf.py may have added some
    return SimpleNamespace(returncode=returncode, stderr=said.getvalue())
