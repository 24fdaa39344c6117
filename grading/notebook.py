"""Read what a student handed in: the cells' kinds and texts, and nothing else of the file."""

import json
import re
from collections.abc import Sequence, Set

from grading.cells import TEXT
from grading.names import normal

MOST = 10_000  # cells
LARGEST = 10 * 2**20  # characters of what is written in them, without pictures
_PARTS = 10 * 2**20  # of the file: each takes memory
_PICTURE = re.compile(r"(?<![A-Za-z0-9+/=])[A-Za-z0-9+/=]{1000,}+")  # in the text itself
DRAWN = "an output"
_OLD = "it is of an old format (nbformat 3): open it in Jupyter, save it, and hand in what is saved"
_WORD = re.compile(r"[A-Za-z_]\w*")
_SHOWN_CELL = re.compile(r"\s*%%(?:markdown|latex|html)\b", re.IGNORECASE)
_SHOWS = re.compile(r"\b(?:Markdown|Latex|Math|HTML)\s*\(")
_COMMENT = re.compile(r"^[ \t]*#[^\n'\"]*$", re.MULTILINE)  # and nothing else on its line
_ASIDE = re.compile(  # of a text, its kind
    rf"\#[^\n]* | (?:\b(?P<kind>[bBfFrRuU]{{1,2}}))? (?:{TEXT})", re.DOTALL | re.VERBOSE
)


def read(content: bytes) -> list[tuple[str, str]]:
    """Kind and source of each cell, in time proportional to the size of the file.

    Raises:
        ValueError: if there are none, more than `MOST`, or too much is written in them. Outputs and
            pictures do not count.
    """
    if _parts(content) > _PARTS and _beside_texts(content) > _PARTS:
        raise ValueError(f"it has more than {_PARTS // 2**20} million parts; clear its outputs")
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
    read = [_text(cell) for cell in cells]
    if (
        sum(len(text if kind == "code" else _PICTURE.sub("", text)) for kind, text in read)
        > LARGEST
    ):
        raise ValueError(f"what is written in its cells is larger than {LARGEST // 2**20} MiB")
    return read


def _parts(content: bytes) -> int:
    return sum(map(content.count, (b",", b"[", b"{")))


def _beside_texts(content: bytes) -> int:
    """The parts of a file of JSON, but for its texts: a comma that a cell has printed is none."""
    if b"\0" in content:  # several bytes are a letter
        return _parts(content)
    bare = content.replace(rb"\\", b"").replace(rb"\"", b"")
    found, is_text = 0, 0
    for start in range(0, len(bare), 2**20):
        pieces = bare[start : start + 2**20].split(b'"')
        found += _parts(b"".join(pieces[is_text::2]))
        is_text ^= (len(pieces) - 1) % 2
    return found


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
    """For each cell the pictures that are in it: name -> data URI; of a file that can be read.

    Of those that code has drawn it has the names alone.
    """
    found = []
    for cell in json.loads(content)["cells"]:
        attached = cell.get("attachments") if isinstance(cell, dict) else None
        own = {}
        for name, data in attached.items() if isinstance(attached, dict) else ():
            for kind in kinds if isinstance(data, dict) else ():
                if isinstance(data.get(kind), str):
                    own[name] = f"data:{kind};base64,{''.join(data[kind].split())}"
        outputs = cell.get("outputs") if isinstance(cell, dict) else None
        for output in outputs if isinstance(outputs, list) else ():
            data = output.get("data") if isinstance(output, dict) else None
            if isinstance(data, dict) and data.keys() & {*kinds}:
                own[DRAWN] = ""
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
    """What somebody may have written for a reader: comments, texts in three quotes, and what is
    shown as a text with formulas.
    """
    if _SHOWN_CELL.match(code):
        return code.partition("\n")[2]
    found = (match[0].lstrip("bBfFrRuU") for match in _ASIDE.finditer(code))
    signs = ("#", '"', "'") if _SHOWS.search(code) else ("#", '"""', "'''")
    return "\n".join(text for text in found if text.startswith(signs))
