"""Read what a student handed in: the cells' kinds and texts, and nothing else of the file."""

import json
import re
import unicodedata
from collections.abc import Sequence, Set

_WORD = re.compile(r"[A-Za-z_]\w*")
_PART = re.compile(r"\S{1,100}")
_COMMENT = re.compile(r"^[ \t]*#[^\n'\"]*$", re.MULTILINE)  # and nothing else on its line
_MAGIC = r"(?:!|%{1,2}[a-z])[\x21-\x7e]{0,40}"
_LINE, _VALUE = re.compile(rf"^[ \t]*{_MAGIC}", re.MULTILINE), re.compile(rf"=[ \t]*{_MAGIC}")
_PIP = re.compile(r"^[ \t]*[!%]pip (?:install|list|show)[\w \t.=<>~\[\],-]*$", re.MULTILINE)
# A line that IPython may read in its own way, and that may end within a text
_HALF = re.compile(r"^[ \t]*[!%?,;/][^\n]*(?:'''|\"\"\"|\\$)", re.MULTILINE)
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
_IMPORT = re.compile(r"\b(?:from|import)\b[^\n;(]*(?:\([^)]*)?")
_LONGEST = 500  # characters of a line in which a parameter is looked for
_USUAL = {"%matplotlib", "%config", "%time", "%%time", "%timeit", "%%timeit", "%load_ext"}
_USUAL |= {"%autoreload", "%reload_ext", "%%capture", "%precision"}
SUSPICIOUS = frozenset(
    """
    ctypes gc importlib setattr settrace setprofile atexit subprocess multiprocessing _getframe
    __import__ __code__ __globals__ __closure__ __builtins__ __subclasses__ f_back f_locals tb_frame
    get_ipython _exit popen execv memfd_create mmap user_ns input_transformers_cleanup find_spec
    meta_path faulthandler runpy dill cloudpickle _without getattr __dict__ __getattr__
    __getattribute__ attrgetter import_module spawnv posix_spawn joblib readlink fcntl fdopen dup2
    """.split()  # noqa: SIM905
)
# Words of English, and names that anybody may choose: they count where they are used
_BUILTIN = frozenset("compile eval exec globals locals open vars".split())  # noqa: SIM905
_PLAIN = _BUILTIN | frozenset(
    """
    builtins concurrent dup environ fork inspect kill marshal modules runner signal socket system
    threading types
    """.split()  # noqa: SIM905
)
_USED = re.compile(rf"\.\s*({'|'.join(_PLAIN)})\b|\b({'|'.join(_PLAIN)})[ \t]*\(")
_PASSED = re.compile(rf"[=(,\[:][ \t]*({'|'.join(_BUILTIN)})[ \t]*(?=[;,\n)\]]|\Z)")


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
    return set(_WORD.findall(_COMMENT.sub("", _plain(code))))


def bare(code: str) -> str:
    """Code without comments and texts; what stands in an f-string stays, since it runs."""

    def left(match: re.Match) -> str:
        kind = match["kind"] or ""
        is_code = "f" in kind.lower()
        return re.sub("['\"]", " ", match[0].removeprefix(kind)) if is_code else " "

    return _plain(_ASIDE.sub(left, code))


def told(code: str) -> str:
    """What somebody may have written for a reader: comments, and texts in three quotes."""
    found = (match[0].lstrip("bBfFrRuU") for match in _ASIDE.finditer(code))
    return "\n".join(text for text in found if text.startswith(("#", '"""', "'''")))


def _plain(code: str) -> str:
    """Wide letters as plain ones; NFKC takes quadratic time for marks in disorder, so in parts."""
    if code.isascii():
        return code
    return _PART.sub(lambda part: unicodedata.normalize("NFKC", part[0]), code)


def takes(code: str, name: str) -> bool:
    """Whether bare code names what it has from elsewhere: an attribute, an import, no own name."""
    if not re.search(rf"\b{name}\b", code):
        return False
    return (
        bool(re.search(rf"\.[ \t]*{name}\b", code))
        or any(name in _WORD.findall(part) for part in _IMPORT.findall(code))
        or not _is_own(code, name)
    )


def _is_own(code: str, name: str) -> bool:
    """Whether it is defined, assigned, a parameter or the variable of a loop."""
    made = rf"^[ \t]*(?:(?:def|class)[ \t]+)?{name}[ \t]*[(:,=]|,[ \t]*{name}[ \t]*=[^=]"
    if re.search(made, code, re.MULTILINE):
        return True
    given = re.compile(rf"\b(?:def|for|lambda)\b[^\n]*\b{name}\b")
    return any(given.search(line[:_LONGEST]) for line in code.splitlines() if name in line)


def suspicious(code: str) -> list[str]:
    """What has no business in an answer, in linear time: a person should look at it."""
    code = _PIP.sub("", code)
    shown = bare(code)
    plain = {word for pair in _USED.findall(shown) for word in pair if word}
    plain |= {word for part in _IMPORT.findall(shown) for word in _WORD.findall(part)} & _PLAIN
    plain |= {word for word in _PASSED.findall(shown) if not _is_own(shown, word)}
    plain -= {word for word in plain if f"def {word}" in shown and not takes(shown, word)}
    shell = {match.strip() for match in _LINE.findall(code)}
    shell |= {match.strip() for match in _VALUE.findall(shown)}
    half = {match.strip()[:40] for match in _HALF.findall(code)}
    return sorted(words(code) & SUSPICIOUS | plain) + sorted((shell - _USUAL) | half)[:5]
