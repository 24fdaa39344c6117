"""What the code of a notebook names that no answer needs: somebody should look at it.

Each cell is read as Python; lines for IPython are put aside first. What cannot be read so (half a
statement, a cell for another program, much code) is read as text, without comments and texts, and
there every word counts. Words in texts, comments and lines for a shell never do. Of too much of
that the rest is not read; it is said that there is more.
"""

import ast
import builtins
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence, Set

from grading import notebook
from grading.cells import (
    CELLS,
    DEFINITION,
    NO_PYTHON,
    SHELLS,
    bound,
    parsed,
    parts,
    short,
    told_apart,
)
from grading.submissions import quoted


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_MOST_TEXT = 1_000_000  # characters of cells that are too long to be parsed
_LINE = re.compile(r"\r\n?|\n")  # as Python counts them
_MOST, _SHOWN = 1000, 300  # odd lines for IPython that are kept, and characters of each
_TOLD = 5  # of them

_BEFORE_CODE = frozenset(["time", "timeit", "prun"])  # code may stand on the same line

_UNSEEN = _words("""
    alias alias_magic bash cmd edit exec julia load loadpy macro perl pypy python python2 python3 R
    recall rerun ruby run sc script sh shell sx system
    """)  # magics that run what is not in the notebook, or no Python
_DAILY = re.compile(  # commands of every day
    r"\s*(?:(?:sudo )?(?:(?:uv )?pip3?|conda|mamba|nvidia-smi|nvcc|ls|pwd|cd|cat|head|wget|curl|git"
    r"|apt|apt-get|mkdir|unzip|tar|free|lscpu|df|du|uname|which|date|echo|export|touch|true|false"
    r"|sleep|whoami|hostname|nproc|tree|rm|cp|mv|ln|tail|wc|grep|sort|uniq|gdown"
    r"|jupyter (?:nbconvert|nbextension)|python3? (?:--version|-V)"
    r"|(?:python3?|\{sys\.executable\}) -m pip)\b)"
    r"(?:[^;|&$`()]|>&\d|\$\w|\$\{\w+\})*|\s*"
)
_BETWEEN = re.compile(r"&&|\|\|?|;")  # commands
_NOTES = re.compile(r"\w[\w-]*\.(?:csv|json|md|tsv|txt)")  # files of the notebook's own folder
_WRITTEN = re.compile(  # to a file that is no note
    r">++(?!\s*(?:&\d|/dev/null\b|=\d[\d.]*(?!\S)|\w[\w-]*\.(?:csv|json|md|tsv|txt)\b))"
)
_QUOTED = re.compile(r"""'[^']*'|"[^"$`\\]*\"""")  # the shell runs nothing in it
_COMPUTED = re.compile(r"\{[^}]*[^\w.}][^}]*\}")  # IPython runs what stands in braces
_SKIPPED = re.compile(r"%%script\s+(?:echo|true|false)\b")  # a cell that nobody runs
ODD = _words("""
    ctypes gc importlib setattr settrace setprofile atexit subprocess multiprocessing _getframe
    __import__ __code__ __globals__ __closure__ __builtins__ __subclasses__ f_back f_locals tb_frame
    get_ipython _exit popen execv memfd_create mmap user_ns input_transformers_cleanup find_spec
    meta_path faulthandler runpy dill cloudpickle _without import_module spawnv posix_spawn joblib
    readlink fcntl fdopen dup2 getsource getsourcelines currentframe FunctionType CodeType
    forkpty openpty _current_frames create_subprocess_exec create_subprocess_shell
    setrlimit prlimit chmod fchmod utime setxattr onnx torchao torchtune ctypeslib load_library
    cpp_extension load_inline run_cell execl execle execlp execve execvp execvpe spawnl spawnlp
    spawnvp killpg abort closerange posix pkgutil gi_frame cr_frame resolve_name
    """)
_BUILTIN = _words("compile eval exec globals locals open")
_MODULES = _words("_thread builtins concurrent marshal pty runner signal socket threading")
_PARTS = {  # of a module, however it is called
    "os": _words("dup environ fork kill open system"),
    "sys": frozenset(["modules"]),
    "inspect": _words("stack trace"),
    "io": frozenset(["open"]),
    "builtins": _BUILTIN,
    "torch": frozenset(["attention"]),  # of torch.nn: it has masks, as torch.onnx has rotations
    "torch.nn": frozenset(["attention"]),
}
_INNER = frozenset(["builtins", "os", "sys"])  # which many modules have
_TOOLS = frozenset(["gc", "importlib", "importlib.metadata"])  # their use tells: see `_idiom`
_TAKEN = {
    ("importlib", "reload"), ("importlib", "metadata"), ("importlib.metadata", "version"),
    ("IPython", "get_ipython"),
}  # fmt: skip
_CALLS = _words("""
    gc.collect importlib.reload importlib.metadata.version os.environ.get os.environ.setdefault
    """)
_TABLES = _words("sys.modules os.environ get_ipython()")  # they tell whether it is Colab
_SAYS = {"run_line_magic": "%", "magic": "%", "system": "!", "getoutput": "!"}  # of get_ipython()


class Uses:
    """What is named in a notebook.

    Args:
        cells: kind and source of each.
        given: lines that were handed out: they name nothing.
    """

    def __init__(self, cells: Sequence[tuple[str, str]], given: Set[str]):
        self.given, left = given, _MOST_TEXT
        self.trees: list[tuple[ast.stmt, list[int]]] = []  # and own lines above each of its cell
        self.texts: list[str] = []
        self.lines: dict[str, None] = {}  # for IPython, and not of every day
        code = [source for kind, source in cells if kind == "code"]
        for source, is_short in zip(code, short(code), strict=True):
            left -= len(source) * (not is_short)
            if is_short or left >= 0:
                self._read(source, is_short=is_short)
        self.is_whole = left >= 0
        self.modules = _modules([node for tree, _ in self.trees for node in ast.walk(tree)])

    def odd(self) -> list[str]:
        """What has no business in an answer: a person should look at it."""
        names = {word for text in self.texts for word in _odd_words(text)}
        freed = _freed([tree for tree, _ in self.trees])
        made: frozenset[str] = frozenset()  # builtins that are the notebook's own so far
        for tree, above in self.trees:
            now = made | _made(tree) - freed
            own = _own(tree, now if isinstance(tree, DEFINITION) else made, freed)
            roots, made = _roots(tree), now
            for node in _handed_in(tree, above):
                names |= self._odd(node, roots, own)
        lines = [quoted(line, most=40) for line in itertools.islice(self.lines, _TOLD)]
        left = len(self.lines) - _TOLD
        lines += [f"{left} more such line{'s' * (left > 1)}"] * (left > 0)
        more = ["more of it than is read"] * (not self.is_whole)
        return sorted(names) + lines + more

    def imported(self) -> set[str]:
        """The modules that are imported, and what is imported from them, with dots."""
        found: set[str] = set()
        for node in itertools.chain.from_iterable(ast.walk(tree) for tree, _ in self.trees):
            if isinstance(node, ast.Import):
                found.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and not node.level:
                found.update(f"{node.module}.{alias.name}" for alias in node.names)
        return found

    # Reading

    def _read(self, source: str, *, is_short: bool) -> None:
        kind = CELLS.match(source)
        if kind:
            if SHELLS.match(source):
                for line in _LINE.split(source.replace("\\\n", " "))[1:]:
                    self._put_aside(f"!{line.partition('#')[0]}")
                return
            self._put_aside(kind[0])
            if kind[1] in NO_PYTHON:
                return
            if kind[1] not in _BEFORE_CODE:
                source = source[kind.end() :]
        tree = parsed(source) if is_short else None
        if tree is None:
            source, lines = told_apart(source)
            for line in dict.fromkeys(lines):
                self._put_aside(line)
            tree = parsed(source) if is_short else None
        lines = _LINE.split(source)
        if tree is not None:
            own = (line.strip() not in self.given for line in lines)
            above = [*itertools.accumulate(own, initial=0)]
            self.trees += [(part, above) for part in tree.body]
            return
        text = "\n".join(line for line in lines if line.strip() not in self.given)
        if text.strip():
            self.texts.append(notebook.bare(text))

    def _put_aside(self, line: str) -> None:
        line = line.strip("= \t\n")[:_SHOWN]
        if len(self.lines) < _MOST and line not in self.given and not _is_usual(line):
            self.lines[line] = None

    def _odd(
        self, node: ast.AST, roots: Mapping[ast.AST, str], own: Mapping[ast.AST, Set[str]]
    ) -> set[str]:
        if isinstance(node, ast.Name):
            is_used = isinstance(node.ctx, ast.Load) and node.id not in own[node]
            return {node.id} & (ODD | _BUILTIN if is_used else ODD)
        if isinstance(node, ast.Attribute):
            module = self.modules.get(roots[node], "")
            return {node.attr} & (ODD | _INNER | _PARTS.get(module, frozenset()))
        if isinstance(node, DEFINITION):
            return {node.name} & ODD
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names if alias.asname or alias.name not in _TOOLS]
            words = {word for name in names for word in name.split(".")}
            first = {alias.name.partition(".")[0] for alias in node.names}
            used = ODD.union(*(_PARTS.get(name, ()) for name in first))
            return words & used | first & _MODULES
        if isinstance(node, ast.ImportFrom):
            pairs = {(node.module, alias.asname or alias.name) for alias in node.names}
            if pairs <= _TAKEN:
                return set()
            words = set((node.module or "").split(".")) | {alias.name for alias in node.names}
            first = (node.module or "").partition(".")[0]
            if "*" in words and node.module in _PARTS and first != "torch":
                return {node.module}
            return words & (ODD | _PARTS.get(first, frozenset())) | {first} & _MODULES
        return set()


def _handed_in(tree: ast.AST, above: Sequence[int]) -> Iterator[ast.AST]:
    """The parts of a statement that are no idiom, nor all in lines that were handed out.

    Args:
        tree: the statement.
        above: how many of the student's own lines there are above each line.
    """
    idioms = {part for node in ast.walk(tree) for part in _idiom(node)}
    for node in ast.walk(tree):
        first, last = (getattr(node, name, None) for name in ("lineno", "end_lineno"))
        if node not in idioms and not (first and above[first - 1] == above[last]):
            yield node


def _odd_words(text: str) -> set[str]:
    text = re.sub(r"\\\r?\n", " ", text)
    used = _PARTS["os"] | _PARTS["sys"] | _MODULES
    parts, builtin = "|".join(sorted(used)), "|".join(sorted(_BUILTIN))
    pattern = rf"\b({parts})[ \t]*[(.]|\.[ \t]*({parts})\b|(?<![\w.])({builtin})\b(?![ \t]*=[^=])"
    called = {word for pair in re.findall(pattern, text) for word in pair if word}
    imported = {w for line in re.findall(r"\b(?:import|from)\b[^\n]*", text) for w in line.split()}
    return notebook.words(text) & ODD | called | imported & (used | _BUILTIN)


def _is_usual(line: str) -> bool:
    magic = re.match(r"%{1,2}(\w+)", line)
    if "?" in (line[:1], line[-1:]) and not line.startswith(("!", "%")):  # it asks for help
        return True
    if magic and magic[1] == "config":
        return _is_literal(line.partition("=")[2].strip() or "None")
    if _COMPUTED.search(line):
        return False
    if magic:
        return magic[1] not in _UNSEEN or bool(_SKIPPED.match(line))
    return not line.startswith("!!") and _is_daily(line.lstrip("!"))


def _is_literal(text: str) -> bool:
    try:
        ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


def _is_daily(commands: str) -> bool:
    commands = _QUOTED.sub("x", commands.replace("\\\n", " "))
    parts = _BETWEEN.split(re.sub(r"\s#[^\n]*", "", commands))
    return all(_DAILY.fullmatch(part) and not _WRITTEN.search(part) for part in parts)


def _idiom(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of an idiom that notebooks of every day have, such as asking whether it is Colab.

    The arguments of a call are no part of it.
    """
    parts: list[ast.AST] = []
    if isinstance(node, ast.Compare):
        parts = [part for part in (node.left, *node.comparators) if _dotted(part) in _TABLES]
    elif isinstance(node, ast.Subscript):
        parts = [node.value] if _dotted(node.value) == "os.environ" else []
    elif isinstance(node, ast.Attribute):
        parts = [node.value] if _dotted(node) == "get_ipython().__class__" else []
    elif isinstance(node, ast.Call):
        name = _dotted(node.func)
        if name == "open" and node.args and isinstance(node.args[0], ast.Constant):
            file = node.args[0].value
            is_note = isinstance(file, str) and _NOTES.fullmatch(file[:99])
            parts = [node.func] if is_note else []
        if name in ("str", "type"):
            parts = [part for part in node.args if _dotted(part) == "get_ipython()"]
        texts = [part.value for part in node.args if isinstance(part, ast.Constant)]
        said = " ".join(text for text in texts if isinstance(text, str))[:_SHOWN].strip()
        is_plain = bool(said) and len(texts) == len(node.args)
        sign = "!" if name == "os.system" else _SAYS.get(name.removeprefix("get_ipython()."), "")
        if name in _CALLS or (sign and is_plain and _is_usual(sign + said)):
            parts = [node.func]
    for part in parts:
        yield from itertools.islice(ast.walk(part), 9)  # a name with dots has no more


def _dotted(node: ast.AST) -> str:
    """A name with its attributes, as a.b; perhaps of what get_ipython() returns."""
    parts = []
    while isinstance(node, ast.Attribute) and len(parts) < 4:
        parts.append(node.attr)
        node = node.value
    is_call = isinstance(node, ast.Call) and not node.args
    name = node.func if is_call else node
    first = name.id if isinstance(name, ast.Name) else ""
    return ".".join([first + "()" * is_call, *reversed(parts)])


def _modules(nodes: Sequence[ast.AST]) -> dict[str, str]:
    """Name in the notebook -> module, of the modules of `_PARTS`."""
    found = {name: name for name in _PARTS}
    for node in nodes:
        around = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
        is_name = isinstance(node, ast.Assign) and isinstance(node.value, ast.Name)
        if is_name and (module := found.get(node.value.id)):
            names = (part.id for part in node.targets if isinstance(part, ast.Name))
            found |= dict.fromkeys(names, module)
        for alias in node.names if isinstance(node, ast.Import | ast.ImportFrom) else ():
            if around + alias.name in _PARTS and (around or alias.asname):
                found[alias.asname or alias.name] = around + alias.name
    return found


def _roots(tree: ast.AST) -> dict[ast.AST, str]:
    """The name with which each expression begins, "" if it begins with none."""
    found: dict[ast.AST, str] = {}
    for node in reversed(list(ast.walk(tree))):  # what is inside comes first
        inner = getattr(node, "value", None) or getattr(node, "func", None)
        found[node] = node.id if isinstance(node, ast.Name) else found.get(inner, "")
    return found


def _made(tree: ast.stmt) -> frozenset[str]:
    """The builtins that a statement of the notebook makes its own, whatever happens.

    What stands in an `if` may never run, what a builtin is assigned to may be that builtin, and
    what raises makes nothing.
    """
    if isinstance(tree, ast.FunctionDef | ast.AsyncFunctionDef):
        given = tree.args
        every = (*given.posonlyargs, *given.args, given.vararg, *given.kwonlyargs, given.kwarg)
        noted = [part.annotation for part in every if part]
        asked = (*tree.decorator_list, *given.defaults, *given.kw_defaults, *noted, tree.returns)
        return frozenset() if any(asked) else frozenset([tree.name]) & _BUILTIN
    if isinstance(tree, ast.Assign) and all(isinstance(part, ast.Name) for part in tree.targets):
        return bound(tree.targets) & _BUILTIN if _is_safe(tree.value) else frozenset()
    if isinstance(tree, ast.ImportFrom) and tree.module in ("re", "torch") and not tree.level:
        only = [alias.name for alias in tree.names] == ["compile"]
        return bound([tree]) & _BUILTIN if only else frozenset()
    return frozenset()


def _is_safe(value: ast.expr) -> bool:
    """Whether a value cannot fail, and is no builtin that counts."""
    if isinstance(value, ast.Lambda):
        return not any((*value.args.defaults, *value.args.kw_defaults))
    name = _dotted(value) if isinstance(value, ast.Name | ast.Attribute) else ""
    is_other = name in vars(builtins) and name not in _BUILTIN
    return isinstance(value, ast.Constant) or is_other or name in ("re.compile", "torch.compile")


def _freed(trees: Sequence[ast.AST]) -> frozenset[str]:
    """The names that are deleted somewhere, or that a function takes from outside of it."""
    found: set[str] = set()
    for node in itertools.chain.from_iterable(map(ast.walk, trees)):
        if isinstance(node, ast.Global | ast.Nonlocal):
            found.update(node.names)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Del):
            found.add(node.id)
    return frozenset(found)


def _own(
    tree: ast.AST, names: frozenset[str], freed: frozenset[str]
) -> dict[ast.AST, frozenset[str]]:
    """For each node the builtins that are bound in its scope or in one around it: no other name
    counts, and all of them for every scope would fill the memory. What is freed is nobody's own,
    and the names of a class are known in none of its functions.
    """
    todo, found = [(tree, names)], {}
    while todo:
        node, own = todo.pop()
        found[node] = own
        outside, inside = parts(node)
        todo += [(part, own) for part in outside]
        is_open = inside and not isinstance(node, ast.ClassDef)
        local = own | (bound(inside) & _BUILTIN) - freed if is_open else own
        todo += [(part, local) for part in inside]
    return found
