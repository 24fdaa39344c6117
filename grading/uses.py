"""What the code of a notebook names that no answer needs: somebody should look at it.

Each cell is read as Python; lines for IPython are put aside first. What cannot be read so (half a
statement, a cell for another program, very much code) is read as text, without comments and texts,
and there every word counts. Words in texts, comments and lines for a shell never do.
"""

import ast
import itertools
import re
import warnings
from collections.abc import Iterator, Sequence, Set

from grading import notebook


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LONGEST = 100_000  # characters of all cells that are parsed
_CELL = 100  # characters that take as long as a cell by itself
_DISORDER = re.compile(r"[^\x00-\x7f]{1000}")  # sorting its marks would take quadratic time
_REST = r"(?:[^\n\\]++|\\[\s\S])*+"  # of a line, and of those that continue it
_LINE = re.compile(r"\r\n?|\n")  # as Python counts them
_MOST, _SHOWN = 1000, 300  # odd lines for IPython that are kept, and characters of each
_MAGIC = re.compile(rf"^([ \t]*)(?:([!%]){_REST}|\?[^\n]*|[\w.]+\?{{1,2}}[ \t]*$)", re.MULTILINE)
_VALUE = re.compile(rf"=[ \t]*([!%])(?=[ \t]*\w){_REST}")
_TIMED = re.compile(r"^([ \t]*)%{1,2}(?:time|timeit|prun|memit)\b(?:[ \t]+-\w[ \t]*\d*)*", re.M)
_CELLS = re.compile(r"\A\s*%%(\w+)[^\n]*\n?")
_NO_PYTHON = _words("html HTML latex markdown javascript js svg bash sh script perl ruby")

_BEFORE_CODE = frozenset(["time", "timeit", "prun"])  # code may stand on the same line
_DEFINITION = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)

_USUAL = _words("""
    alias automagic autoreload autosave capture cd colors config conda debug dhist dirs env history
    html HTML javascript js latex load_ext ls lsmagic magic markdown matplotlib memit mkdir notebook
    pdb pip pinfo precision prun pwd pycat pylab reload_ext reset store svg tb tensorflow_version
    time timeit unload_ext who whos writefile xmode
    """)
_DAILY = re.compile(  # commands of every day, alone or one after another
    r"\s*(?:(?:sudo )?(?:pip3?|conda|nvidia-smi|nvcc|ls|pwd|cd|cat|head|wget|curl|git|apt|apt-get"
    r"|mkdir|unzip|free|lscpu|df|du|uname|which|date|echo|touch|true|false|sleep|whoami|hostname"
    r"|tree|rm|cp|mv|tail|wc|python3? (?:--version|-V)|python3? -m pip)\b)[^;|&$`<()]*"
)
_SKIPPED = re.compile(r"%%script\s+(?:echo|true|false)\b")  # a cell that nobody runs
ODD = _words("""
    ctypes gc importlib setattr settrace setprofile atexit subprocess multiprocessing _getframe
    __import__ __code__ __globals__ __closure__ __builtins__ __subclasses__ f_back f_locals tb_frame
    get_ipython _exit popen execv memfd_create mmap user_ns input_transformers_cleanup find_spec
    meta_path faulthandler runpy dill cloudpickle _without import_module spawnv posix_spawn joblib
    readlink fcntl fdopen dup2 getsource getsourcelines currentframe FunctionType CodeType
    """)
_BUILTIN = _words("compile eval exec globals locals open")
_MODULES = _words("builtins concurrent marshal runner signal socket threading")
_PARTS = {  # of a module, however it is called
    "os": _words("dup environ fork kill open system"),
    "sys": frozenset(["modules"]),
    "io": frozenset(["open"]),
    "builtins": _BUILTIN,
}


class Uses:
    """What is named in a notebook.

    Args:
        cells: kind and source of each.
        given: lines that were handed out: they name nothing.
    """

    def __init__(self, cells: Sequence[tuple[str, str]], given: Set[str]):
        self.given, left = given, _LONGEST
        self.trees: list[tuple[ast.stmt, list[str]]] = []  # and the lines of the cell
        self.texts: list[str] = []
        self.lines: dict[str, None] = {}  # for IPython, and not of every day
        for kind, source in cells:
            if kind == "code":
                left -= len(source) + _CELL
                self._read(source, is_short=left >= 0)
        nodes = [node for tree, _ in self.trees for node in ast.walk(tree)]
        self.own = {name for node in nodes for name in _made(node)}
        self.modules = _modules(nodes)

    def odd(self) -> list[str]:
        """What has no business in an answer: a person should look at it."""
        names = {word for text in self.texts for word in _odd_words(text)}
        for tree, lines in self.trees:
            for node in self._handed_in(tree, lines):
                names |= self._odd(node)
        return sorted(names) + [line[:40] for line in self.lines][:5]

    # Reading

    def _read(self, source: str, *, is_short: bool) -> None:
        kind = _CELLS.match(source)
        if kind:
            self._put_aside(kind[0])
            if kind[1] in _NO_PYTHON:
                return
            if kind[1] not in _BEFORE_CODE:
                source = source[kind.end() :]
        tree = _parsed(source) if is_short else None
        if tree is None:
            for match in itertools.chain(_MAGIC.finditer(source), _VALUE.finditer(source)):
                self._put_aside(match[0])
            source = _VALUE.sub("= None", _MAGIC.sub(r"\1pass", _TIMED.sub(r"\1", source)))
            tree = _parsed(source) if is_short else None
        lines = _LINE.split(source)
        if tree is not None:
            self.trees += [(part, lines) for part in tree.body]
            return
        text = "\n".join(line for line in lines if line.strip() not in self.given)
        if text.strip():
            self.texts.append(notebook.bare(text))

    def _put_aside(self, line: str) -> None:
        line = line.strip("= \t\n")[:_SHOWN]
        if len(self.lines) < _MOST and line not in self.given and not _is_usual(line):
            self.lines[line] = None

    def _handed_in(self, tree: ast.AST, lines: Sequence[str]) -> Iterator[ast.AST]:
        """The parts of a statement that do not end in a line that was handed out."""
        for node in ast.walk(tree):
            last = getattr(node, "end_lineno", None) or 1
            if last > len(lines) or lines[last - 1].strip() not in self.given:
                yield node

    def _odd(self, node: ast.AST) -> set[str]:
        if isinstance(node, ast.Name):
            is_used = isinstance(node.ctx, ast.Load) and node.id not in self.own
            return {node.id} & (ODD | _BUILTIN if is_used else ODD)
        if isinstance(node, ast.Attribute):
            module = self.modules.get(_root(node), "")
            return {node.attr} & (ODD | _PARTS.get(module, frozenset()))
        if isinstance(node, _DEFINITION):
            return {node.name} & ODD
        if isinstance(node, ast.Import):
            words = {word for alias in node.names for word in alias.name.split(".")}
            first = {alias.name.partition(".")[0] for alias in node.names}
            return words & ODD | first & _MODULES
        if isinstance(node, ast.ImportFrom):
            words = set((node.module or "").split(".")) | {alias.name for alias in node.names}
            first = (node.module or "").partition(".")[0]
            return words & (ODD | _PARTS.get(first, frozenset())) | {first} & _MODULES
        return set()


def _parsed(source: str) -> ast.Module | None:
    """The code as Python, None if it is none."""
    if _DISORDER.search(source):
        return None
    try:
        with warnings.catch_warnings(action="ignore"):
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _odd_words(text: str) -> set[str]:
    used = _PARTS["os"] | _PARTS["sys"] | _BUILTIN | _MODULES
    pattern = rf"\b({'|'.join(sorted(used))})[ \t]*[(.]|\.[ \t]*({'|'.join(sorted(used))})\b"
    called = {word for pair in re.findall(pattern, text) for word in pair if word}
    imported = {w for line in re.findall(r"\b(?:import|from)\b[^\n]*", text) for w in line.split()}
    return notebook.words(text) & ODD | called | imported & (used | _MODULES)


def _is_usual(line: str) -> bool:
    magic = re.match(r"%{1,2}(\w+)", line)
    if "?" in (line[:1], line[-1:]) and not line.startswith(("!", "%")):  # it asks for help
        return True
    if magic:
        return magic[1] in _USUAL or bool(_SKIPPED.match(line))
    commands = line.lstrip("!").replace("\\\n", " ").split("&&")
    return all(map(_DAILY.fullmatch, commands))


def _modules(nodes: Sequence[ast.AST]) -> dict[str, str]:
    """Name in the notebook -> module, of the modules of `_PARTS`."""
    found = {name: name for name in _PARTS}
    for node in nodes:
        for alias in node.names if isinstance(node, ast.Import) else ():
            if alias.name in _PARTS and alias.asname:
                found[alias.asname] = alias.name
    return found


def _root(node: ast.AST) -> str:
    """The name with which an expression begins."""
    while not isinstance(node, ast.Name):
        node = getattr(node, "value", None) or getattr(node, "func", None)
        if not isinstance(node, ast.AST):
            return ""
    return node.id


def _made(node: ast.AST) -> Iterator[str]:
    """The names that a node makes."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, (*_DEFINITION, ast.ExceptHandler, ast.MatchAs)) and node.name:
        yield node.name
