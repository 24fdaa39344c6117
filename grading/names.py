"""Names of files for names of students and questions."""

import hashlib


def slug(name: str) -> str:
    """The name as it is, if that is a name for a file."""
    plain = name.replace("/", "_").replace("\0", "_")
    if len(plain.encode()) <= 180 and plain == name and not name.startswith("."):
        return name
    short = plain.encode()[:160].decode(errors="ignore").lstrip(".")
    return f"{short}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
