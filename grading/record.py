"""Put the visible cases of all questions on record, as numbers, in `posenc/check/questions`.

    python -m grading.record

Run it when a question in `grading/questions` has changed, or something that it computes with.
"""

from pathlib import Path

from grading.questions.master import Comparison, masters
from posenc.check import QUESTIONS


def write(folder: Path = QUESTIONS) -> list[Path]:
    """Write a file for each question; others are removed. Returns the files."""
    folder.mkdir(exist_ok=True)
    made = []
    for name, master in masters().items():
        if isinstance(master, Comparison):
            made.append(folder / f"{name}.json")
            master.question().save(made[-1])
    for path in set(folder.glob("*.json")) - set(made):
        path.unlink()
    return made


if __name__ == "__main__":
    print(f"{len(write())} questions are on record in {QUESTIONS}")
