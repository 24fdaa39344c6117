"""Read what a student handed in: the cells' kinds and texts, and nothing else of the file."""

import json
import re
from collections.abc import Sequence, Set

from grading.names import normal

MOST = 10_000  # cells
_OLD = "it is of an old format (nbformat 3): open it in Jupyter, save it, and hand in what is saved"
_WORD = re.compile(r"[A-Za-z_]\w*")
_COMMENT = re.compile(r"^[ \t]*#[^\n'\"]*$", re.MULTILINE)  # and nothing else on its line
_ASIDE = re.compile(
    r"""
    \#[^\n]*
    | (?:\b(?P<kind>[bBfFrRuU]{1,2}))?  # of a text
      (?: \"""(?:[^\\"]++ | \\. | "(?!""))*+ (?:\"""|\Z)
        | '''(?:[^\\']++ | \\. | '(?!''))*+ (?:'''|\Z)
        | "(?:[^\\"\n]++ | \\.)*+ "?
        | '(?:[^\\'\n]++ | \\.)*+ '? )
    """,
    re.DOTALL | re.VERBOSE,
)


def read(content: bytes) -> list[tuple[str, str]]:
    """Kind and source of each cell, in time proportional to the size of the file.

    Raises:
        ValueError: if there are none, or more than `MOST`.
    """
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        found = None
    known = found if isinstance(found, dict) else {}
    cells = known.get("cells")
    if not isinstance(cells, list):
        raise ValueError(_OLD if "worksheets" in known else "it cannot be read as a notebook")
    if len(cells) > MOST:
        raise ValueError(f"it has more than {MOST} cells")
    return [_text(cell) for cell in cells]


def _text(cell: object) -> tuple[str, str]:
    if not isinstance(cell, dict):
        return "", ""
    source = cell.get("source", "")
    if isinstance(source, list):
        source = "".join(part for part in source if isinstance(part, str))
    kind, source = str(cell.get("cell_type")), source if isinstance(source, str) else ""
    return kind, source.encode(errors="replace").decode()  # no halves of a character


def own(cells: Sequence[tuple[str, str]], given: Set[str]) -> str:
    """The lines of code that were not handed out."""
    lines = (line for kind, text in cells if kind == "code" for line in text.splitlines())
    return "\n".join(line for line in lines if line.strip() not in given)


def pictures(content: bytes, kinds: Sequence[str]) -> list[dict[str, str]]:
    """For each cell the pictures that are in it: name -> data URI; of a file that can be read."""
    found = []
    for cell in json.loads(content)["cells"]:
        attached = cell.get("attachments") if isinstance(cell, dict) else None
        own = {}
        for name, data in attached.items() if isinstance(attached, dict) else ():
            for kind in kinds if isinstance(data, dict) else ():
                if isinstance(data.get(kind), str):
                    own[name] = f"data:{kind};base64,{''.join(data[kind].split())}"
        found.append(own)
    return found


def words(code: str) -> set[str]:
    """Every word that could be a name in Python, which reads wide letters as plain ones."""
    return set(_WORD.findall(_COMMENT.sub("", normal("NFKC", code))))


def bare(code: str) -> str:
    """Code without comments and texts; what stands in an f-string stays, since it runs."""

    def left(match: re.Match) -> str:
        kind = match["kind"] or ""
        is_code = "f" in kind.lower()
        return re.sub("['\"]", " ", match[0].removeprefix(kind)) if is_code else " "

    return normal("NFKC", _ASIDE.sub(left, code))


def told(code: str) -> str:
    """What somebody may have written for a reader: comments, and texts in three quotes."""
    found = (match[0].lstrip("bBfFrRuU") for match in _ASIDE.finditer(code))
    return "\n".join(text for text in found if text.startswith(("#", '"""', "'''")))
