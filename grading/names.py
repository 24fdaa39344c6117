"""Names of students and questions: as files, and as what people take them for."""

import hashlib
import re
import unicodedata

_PART = re.compile(r"\S{1,300}")
_NO_NAME = re.compile(r'[<>:"/\\|?*\x00-\x1f]')  # not in a file's name, on some system
_HASHED = re.compile(r"-[0-9a-f]{8}\Z")
UNSEEN = re.compile(  # Unicode's Default_Ignorable_Code_Point, which Python does not tell
    "[\u00ad\u034f\u061c\u115f-\u1160\u17b4-\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


def slug(name: str) -> str:
    """The name as it is, if that is a name for a file; others, and those like them, get a hash."""
    plain = _NO_NAME.sub("_", name)
    fits = len(plain.encode()) <= 180 and plain == name and not name.startswith(".")
    if fits and not _HASHED.search(name):
        return name
    short = plain.encode()[:160].decode(errors="ignore").lstrip(".")
    return f"{short}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def normal(form: str, text: str) -> str:
    """A text's normal form; marks in disorder take quadratic time, so in parts of 300 letters."""
    if text.isascii():
        return text
    return _PART.sub(lambda part: unicodedata.normalize(form, part[0]), text)


def read_as(name: str) -> str:
    """What a name is read as, whatever capitals, dots and blanks it is written with, and on a Mac.

    Letters and marks that nobody sees are none.

    Example:
        >>> read_as("B. O'B") == read_as("b\\u3164ob\\ufe0f") == read_as("bob")
        True
    """
    folded = normal("NFKC", normal("NFKC", UNSEEN.sub("", name)).casefold())
    kept = (c for c in folded if c.isalnum() or unicodedata.category(c).startswith("M"))
    return "".join(kept) or folded or name
