"""Which notebooks resemble each other: advice for a person, never a verdict.

copydetect compares fingerprints of the code in which all names are alike. Lines that everybody was
given are left out before. Answers of ten lines resemble each other by nature: only a large share
of much code is told.
"""

import io
import itertools
from collections.abc import Set
from dataclasses import dataclass

from tqdm import tqdm

from grading import notebook
from grading.marks import Graded
from posenc.check.calls import Wrong, call

_LENGTH, _WINDOW = 30, 1  # characters that must agree; how many places for each fingerprint
_INSIDE = 0.9  # a copy with more code around it
LEAST = 0.7  # the share from which on a pair is worth a look
SHORTEST = 300  # characters of own code; below that everything is alike
LONGEST = 100_000
_SECONDS = 20.0  # for one notebook


@dataclass(frozen=True)
class Alike:
    """What the comparison found.

    Args:
        pairs: the share of the code that two have in common, and whose it is; most alike first.
        uncompared: who has too much code.
    """

    pairs: list[tuple[float, str, str]]
    uncompared: list[str]


def compare(marked: list[Graded], given: Set[str]) -> Alike:
    """Compare every notebook with every other.

    Args:
        marked: the submissions.
        given: the lines of code that were handed out.
    """
    from copydetect import CodeFingerprint  # and matplotlib: not in each process of the pool

    def fingerprint(code: str) -> frozenset[int]:
        file = io.StringIO(code)
        made = CodeFingerprint("answer.py", _LENGTH, _WINDOW, fp=file, language="python")
        return frozenset(map(int, made.hashes))

    prints, uncompared = {}, []
    for one in marked:
        own = notebook.own(one.cells, given)
        if len(own) < SHORTEST:
            continue
        try:
            if len(own) > LONGEST:
                raise Wrong("there is too much of it")
            prints[one.student] = call(fingerprint, (own,), seconds=_SECONDS)
        except Wrong:
            uncompared.append(one.student)
    pairs = list(itertools.combinations(prints, 2))
    found = [
        (share, *pair)
        for pair in tqdm(pairs, "comparing", unit="pair", delay=5)
        if (share := _share(*(prints[student] for student in pair))) >= LEAST
    ]
    return Alike(sorted(found, key=lambda row: (-row[0], row[1:])), uncompared)


def _share(one: frozenset[int], other: frozenset[int]) -> float:
    """How much of the longer one they have in common; of the shorter one if that is nearly all."""
    common, (short, long) = len(one & other), sorted((len(one), len(other)))
    return common / max(short if common > _INSIDE * short else long, 1)
