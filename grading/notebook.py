"""Read what a student handed in: the cells' kinds and texts, and nothing else of the file."""

import json
import re
import unicodedata
from collections.abc import Sequence, Set

_WORD = re.compile(r"[A-Za-z_]\w*")
_COMMENT = re.compile(r"^[ \t]*#[^\n'\"]*$", re.MULTILINE)  # and nothing else on its line
_SHELL = re.compile(r"(?:^[ \t]*|=[ \t]*)(?:!|%{1,2}[a-z])[\x21-\x7e]{0,40}", re.MULTILINE)
_USUAL = {"%matplotlib", "%config", "%time", "%%time", "%timeit", "%%timeit", "%load_ext"}
_USUAL |= {"%autoreload"}
SUSPICIOUS = frozenset(
    """
    ctypes gc inspect importlib builtins globals setattr settrace setprofile atexit subprocess
    threading multiprocessing signal socket _getframe __import__ __code__ __globals__ __closure__
    __builtins__ __subclasses__ f_back f_locals tb_frame get_ipython fork _exit kill popen execv
    environ modules memfd_create mmap user_ns input_transformers_cleanup exec eval compile open
    find_spec meta_path faulthandler runner runpy marshal dill cloudpickle types _without
    getattr vars __dict__ __getattr__ __getattribute__ attrgetter locals import_module
    system spawnv posix_spawn concurrent joblib readlink fcntl fdopen dup dup2
    """.split()  # noqa: SIM905
)


def read(content: bytes) -> list[tuple[str, str]]:
    """Kind and source of each cell, in time proportional to the size of the file.

    Raises:
        ValueError: if there are none.
    """
    try:
        found = json.loads(content)
        cells = found["cells"]
        if not isinstance(cells, list):
            raise TypeError("cells must be a list")
    except (ValueError, RecursionError, KeyError, TypeError):
        raise ValueError("it cannot be read as a notebook") from None
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
    return set(_WORD.findall(_COMMENT.sub("", unicodedata.normalize("NFKC", code))))


def takes(code: str, name: str) -> bool:
    """Whether code names something that it has from elsewhere: does not define it, or has both."""
    code = _COMMENT.sub("", unicodedata.normalize("NFKC", code))
    if not re.search(rf"\b{name}\b", code):
        return False
    own = re.search(rf"^[ \t]*(?:def[ \t]+)?{name}[ \t]*[(=]", code, re.MULTILINE)
    return not own or bool(re.search(rf"(?:\.[ \t]*|\bimport\b[^\n]*\b){name}\b", code))


def suspicious(code: str) -> list[str]:
    """What has no business in an answer, in linear time: a person should look at it."""
    shell = {match[0].strip() for match in _SHELL.finditer(code)}
    return sorted(words(code) & SUSPICIOUS) + sorted(shell - _USUAL)[:5]
