"""Names of files for names of students and questions."""

import hashlib
import re

_HASHED = re.compile(r"-[0-9a-f]{8}\Z")


def slug(name: str) -> str:
    """The name as it is, if that is a name for a file; others, and those like them, get a hash."""
    plain = name.replace("/", "_").replace("\0", "_")
    fits = len(plain.encode()) <= 180 and plain == name and not name.startswith(".")
    if fits and not _HASHED.search(name):
        return name
    short = plain.encode()[:160].decode(errors="ignore").lstrip(".")
    return f"{short}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
