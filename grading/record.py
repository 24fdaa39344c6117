"""Put the visible cases of all questions on record, as numbers, in `posenc/check/questions`.

    python -m grading.record            # all of them
    python -m grading.record doubled    # one, while it is written

Run it when a question in `grading/questions` has changed, or something that it computes with.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from grading.questions.master import Comparison, masters
from posenc.check import QUESTIONS


def write(folder: Path = QUESTIONS, names: Sequence[str] = ()) -> list[Path]:
    """Write a file for each question, or for those named. Returns the files.

    Files of questions that there are no more are removed.
    """
    folder.mkdir(exist_ok=True)
    compared = {name: m for name, m in masters().items() if isinstance(m, Comparison)}
    if unknown := set(names) - set(compared):
        raise ValueError(f"names must be among {sorted(compared)}, got {sorted(unknown)}")
    for path in folder.glob("*.json"):
        if path.stem not in compared:
            path.unlink()
    made = {name: folder / f"{name}.json" for name in names or compared}
    for name, path in made.items():
        compared[name].question().save(path)
    return list(made.values())


if __name__ == "__main__":
    print(f"recorded in {QUESTIONS}: {len(write(names=sys.argv[1:]))}")
