"""For hidden tests: `posenc.check` anew, whatever a submission did to it."""

import sys

for name in [
    name
    for name in sys.modules
    if name == "posenc" or name.startswith("posenc.")
]:
    del sys.modules[name]

from posenc import check  # noqa: E402

__all__ = ["check"]
