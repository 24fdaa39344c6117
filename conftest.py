"""What nbval leaves out, which tests `make test` takes, and in which order and parts.

nbval leaves out cells that need CUDA where there is none, and the HTML form of outputs.
"""

import ast
from collections import defaultdict
from pathlib import Path

import pytest
import torch
from xdist.scheduler import LoadScopeScheduling

# The longest first: who begins one of these last lets the other workers wait.
LONGEST = ("grading", "exercises", "site", "sweep", "live", "colab", "transforms")
# What these ask of each page, figure or answer, `--some` asks of the first and of the last.
REPEATING = tuple(
    f"test_{name}" for name in ("borrowed", "colab", "exercises", "live", "site", "verify")
)


def pytest_addoption(parser: pytest.Parser) -> None:
    told = "nothing `long`, and of each page, figure or answer the first and the last"
    parser.addoption("--some", action="store_true", help=told)


def _is_left(item: pytest.Item, asked: list[pytest.Item]) -> bool:
    """Whether `--some` leaves a test to `make test-all`; asked are all that ask the same."""
    if item.get_closest_marker("long"):
        return True
    if item.get_closest_marker("every") or not item.path.stem.startswith(REPEATING):
        return False
    return item not in (asked[0], asked[-1])


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    order = {f"test_{name}": number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(item.path.stem, len(order)))
    for item in items:
        cell = getattr(item, "cell", None)
        if cell is None:
            continue
        item.parent.skip_compare = {*item.parent.skip_compare, "text/html"}  # git holds the text
        if "gpu" in cell.metadata.get("tags", ()) and not torch.cuda.is_available():
            item.add_marker(pytest.mark.skip(reason="needs CUDA"))
    if config.getoption("--some"):
        asked = defaultdict(list)
        for item in items:
            asked[item.nodeid.partition("[")[0]].append(item)
        left = [item for item in items if _is_left(item, asked[item.nodeid.partition("[")[0]])]
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in set(left)]


class Scopes(LoadScopeScheduling):
    """What one worker does: a file or a class, and two parts of the longest file.

    What the graded class is asked is one, for it is graded once; the rest does not wait for it.
    """

    def __init__(self, config: pytest.Config, log: object):
        super().__init__(config, log)
        self._grading = Path(__file__).parent / "tests" / "test_grading.py"
        tree = ast.parse(self._grading.read_text(encoding="utf-8"))
        tests = (node for node in tree.body if isinstance(node, ast.FunctionDef))
        self._of_the_class = {
            test.name for test in tests if "room" in {given.arg for given in test.args.args}
        }

    def _split_scope(self, nodeid: str) -> str:
        file, _, test = nodeid.partition("::")
        if not file.endswith(self._grading.name):
            return super()._split_scope(nodeid)
        return f"{file}::{test.partition('[')[0] in self._of_the_class}"


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> Scopes | None:
    return Scopes(config, log) if config.getvalue("dist") == "loadscope" else None
