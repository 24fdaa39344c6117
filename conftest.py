"""What nbval leaves out: cells that need CUDA where there is none, and the HTML form of outputs."""

import pytest
import torch


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        cell = getattr(item, "cell", None)
        if cell is None:
            continue
        item.parent.skip_compare = {*item.parent.skip_compare, "text/html"}  # git holds the text
        if "gpu" in cell.metadata.get("tags", ()) and not torch.cuda.is_available():
            item.add_marker(pytest.mark.skip(reason="needs CUDA"))
