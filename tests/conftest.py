"""Every test runs type-checked, on one thread, on examples that the code alone decides.

Only `posenc.check` is not type-checked: no shapes stand in it, and grading calls it by thousands.

Hypothesis draws some from numbers that stand in the modules loaded so far: two runs of the same
files agree, and a change anywhere may bring new ones.
"""

import pkgutil
import sys
from pathlib import Path

import jaxtyping
import pytest
import torch
from hypothesis import settings

PACKAGE = Path(__file__).parent.parent / "posenc"
ROOMS = [f"posenc.{room.name}" for room in pkgutil.iter_modules([str(PACKAGE)])]
jaxtyping.install_import_hook(
    [room for room in ROOMS if room != "posenc.check"],
    "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))",
)
torch.set_num_threads(1)
settings.register_profile("same", derandomize=True, deadline=None, max_examples=25)
settings.load_profile("same")


@pytest.fixture(autouse=True)
def figures_closed():
    """Close what a test drew, and undo its style: matplotlib warns of the 21st open figure."""
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")
        pyplot.rcdefaults()


@pytest.fixture
def annotations_off():
    """Let a call reach the package's own checks, or a compiler."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture(scope="session")
def browser():
    """One Chromium for all tests of a process: two would not start beside each other."""
    from browser import launch  # here, for the package's own tests need neither
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        program = launch(playwright)
        yield program
        program.close()
