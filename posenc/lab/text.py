"""English that every Python brings along: the help texts of the language reference."""

from pydoc_data.topics import topics

PRINTABLE = [chr(code) for code in range(32, 127)] + ["\n"]
UNKNOWN = len(PRINTABLE)  # all other characters, so that every Python version has one vocabulary
_NUMBERS = {character: number for number, character in enumerate(PRINTABLE)}


def characters() -> str:
    """Return all topics in alphabetical order: about 465 000 characters; versions differ a little.

    Example:
        >>> len(characters()) > 300_000
        True
    """
    return "\n".join(topics[name] for name in sorted(topics))


def encode(text: str) -> list[int]:
    """Turn text into token numbers.

    Example:
        >>> encode("a b~é")
        [65, 0, 66, 94, 96]
    """
    return [_NUMBERS.get(character, UNKNOWN) for character in text]
