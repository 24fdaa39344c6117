"""The English that the models read: a novel that comes with the package, in three parts.

*Pride and Prejudice* (Jane Austen, 1813; in the public domain), from the text of Project
Gutenberg's e-book 1342 as the Debian package r-cran-janeaustenr 1.0.0-1 carries it. Lines were
joined, so that each paragraph is one line; nothing else was changed, and all of it is ASCII.
"""

import bisect
import bz2
import functools
import itertools
import re
from pathlib import Path

SHA256 = "0cc4b90482db62a5e09931841613b6c06ec73f1e3acf86045711054cd2d80a64"  # of the text
SHARED = 32  # no two parts hold the same so many characters in a row
PRINTABLE = [chr(code) for code in range(32, 127)] + ["\n"]
UNKNOWN = len(PRINTABLE)  # all other characters
_NUMBERS = {character: number for number, character in enumerate(PRINTABLE)}
_FILE = Path(__file__).parent / "pride_and_prejudice.txt.bz2"


def novel() -> str:
    """Return the whole text, one paragraph a line.

    Example:
        >>> len(novel())
        682302
    """
    return bz2.decompress(_FILE.read_bytes()).decode("ascii")


@functools.cache
def parts() -> dict[str, str]:
    """Split the novel: its first 80 % to train on, the next tenth to choose by, the last to test.

    Parts end with a paragraph. The test is whole. Paragraphs of the validation part that share
    32 characters in a row with the test are left out, and so are those of the training part that
    share as much with either.

    Returns:
        "train", "validation" and "test" -> text.

    Example:
        >>> {name: len(text) for name, text in parts().items()}
        {'train': 539313, 'validation': 67092, 'test': 68321}
    """
    paragraphs = novel().split("\n")
    ends = list(itertools.accumulate(len(paragraph) + 1 for paragraph in paragraphs))
    first, second = (bisect.bisect_left(ends, share * ends[-1]) for share in (0.8, 0.9))
    test = "\n".join(paragraphs[second:])
    validation = _without(paragraphs[first:second], strings(test))
    train = _without(paragraphs[:first], strings(test) | strings(validation))
    return {"train": train, "validation": validation, "test": test}


def strings(text: str) -> set[str]:
    """All strings of 32 characters in a text.

    Example:
        >>> len(strings("a" * 40))
        1
    """
    return {text[i : i + SHARED] for i in range(len(text) - SHARED + 1)}


def encode(text: str) -> list[int]:
    """Turn text into token numbers.

    Example:
        >>> encode("a b~é")
        [65, 0, 66, 94, 96]
    """
    return [_NUMBERS.get(character, UNKNOWN) for character in text]


def _without(paragraphs: list[str], known: set[str]) -> str:
    """Join the paragraphs that hold no known string; joining may make one, so look again."""
    while True:
        text = "\n".join(paragraphs)
        starts = [0] + [place.end() for place in re.finditer("\n", text)]
        found = (i for i in range(len(text) - SHARED + 1) if text[i : i + SHARED] in known)
        bad = set()
        for i in found:
            first, last = (bisect.bisect(starts, at) - 1 for at in (i, i + SHARED - 1))
            bad.update(range(first, last + 1))
        if not bad:
            return text
        paragraphs = [paragraphs[i] for i in range(len(paragraphs)) if i not in bad]
