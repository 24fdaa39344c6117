"""Read a cell of code as Python: what it says, and which names it makes."""

import ast
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence

LONGEST = 20_000  # characters of a cell that is parsed: some take quadratic time
_MOST = 100_000  # of all cells of a notebook that are
_DISORDER = re.compile(r"[^\x00-\x7f]{1000}")  # sorting its marks would take quadratic time
_REST = r"(?:[^\n\\]++|\\[\s\S])*+"  # of a line, and of those that continue it
_MAGIC = re.compile(rf"([ \t]*)(?:([!%]){_REST}|\?[^\n]*|[\w.]+\?{{1,2}}[ \t]*$)", re.MULTILINE)
_VALUE = re.compile(rf"=[ \t]*([!%])(?=[ \t]*\w){_REST}")
_OPTION = r"[ \t]+-(?:[slTD][ \t]*\S+|\w+(?:[ \t]*\d+)?+)"
_TIMED = re.compile(rf"([ \t]*)%{{1,2}}(?:time|timeit|prun|memit)\b(?:{_OPTION})*+[ \t]*+")
TEXT = r"""
    \"\""(?:[^\\"]++ | \\. | "(?!""))*+ (?:\"\""|\Z)
    | '''(?:[^\\']++ | \\. | '(?!''))*+ (?:'''|\Z)
    | "(?:[^\\"\n]++ | \\.)*+ "?
    | '(?:[^\\'\n]++ | \\.)*+ '?
"""
_PIECE = re.compile(  # in a comment, a text or brackets, and behind a backslash, no line begins
    rf"""
    \#[^\n]* | {TEXT} | \\\r?\n | \\++(?!\r?\n) | \\
    | (?P<opened>[(\[{{]++) | (?P<closed>[)\]}}]++) | (?P<ended>[\r\n]++)
    | =++ | [^\\\r\n()\[\]{{}}=#'"]++
    """,
    re.DOTALL | re.VERBOSE,
)
CELLS = re.compile(r"\s*%%(\w+)[^\n]*\n?")
NO_PYTHON = frozenset([
    "html", "HTML", "latex", "markdown", "javascript", "js", "svg", "bash", "sh", "script", "perl",
    "ruby",
])  # fmt: skip
SHELLS = re.compile(r"\A\s*%%(?:bash|sh|shell)[ \t]*\n")
_RUNS = re.compile(r"^[ \t]*%(?:run|load)\b[^\n]*", re.MULTILINE)
_DEFINED = re.compile(r"^[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)", re.MULTILINE)

DEFINITION = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_COMPREHENSION = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_SCOPE = (*DEFINITION, ast.Lambda, *_COMPREHENSION)  # what is bound in it is bound in it alone


def short(sources: Iterable[str]) -> Iterator[bool]:
    """Whether each cell of a notebook is one that is parsed; what is long costs others nothing."""
    left = _MOST
    for size in map(len, sources):
        is_short = size <= min(LONGEST, left)
        left -= size * is_short
        yield is_short


def read(sources: Sequence[str]) -> Iterator[tuple[bool, frozenset[str], str]]:
    """Of each cell of a notebook whether it is no Python, its names, and its form.

    The names are those that it makes; of one that is long, or no Python, those of definitions.
    """
    for source, is_short in zip(sources, short(sources), strict=True):
        tree = python(source) if is_short else None
        names = bound(tree.body) if tree else defined(source)
        yield is_short and tree is None, names, _form(source, tree)


def defined(text: str) -> frozenset[str]:
    """The names of functions and classes that a text has, be it Python or not."""
    return frozenset(_DEFINED.findall(text))


def form(source: str) -> str:
    """What a cell says, however it is spelled.

    Comments, blanks, ends of lines and statements that do nothing, such as `pass`, `...` and texts
    that document, tell none from another; nor does the signature of a function without a body.

    Example:
        >>> form("def f(x):\\r\\n    pass  # later") == form("def f():\\n    'One.'\\n    ...")
        True
    """
    return _form(source, python(source))


def _form(source: str, tree: ast.Module | None) -> str:
    """The same of what is parsed; the tree is changed."""
    for node in ast.walk(tree) if tree else ():
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [part for part in body if not _does_nothing(part)]
        if isinstance(node, ast.FunctionDef) and not node.body:
            node.args, node.returns = [], None
    runs = "".join(_RUNS.findall(source))  # which may make a name, and is no Python
    try:
        return ast.dump(tree) + runs if tree else _by_lines(source)
    except (RecursionError, ValueError):  # too deep, or a number too long to be written
        return _by_lines(source)


def _by_lines(source: str) -> str:
    return "\n".join(line.rstrip() for line in source.strip().splitlines())


def _does_nothing(part: ast.stmt) -> bool:
    is_said = isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant)
    return is_said or isinstance(part, ast.Pass)


def python(source: str) -> ast.Module | None:
    """A cell as Python, without what is for IPython; None if it is none."""
    kind = CELLS.match(source)
    if SHELLS.match(source) or (kind and kind[1] in NO_PYTHON):
        return None
    return parsed(source) or parsed(plain(source))


def plain(source: str) -> str:
    """The code without lines for IPython."""
    return told_apart(source)[0]


def told_apart(source: str) -> tuple[str, list[str]]:
    """The code without lines for IPython, and these; of what is timed, the code.

    A line is for IPython only where Python would begin one: not in a text or in brackets, nor where
    the line above ends with a backslash.

    Example:
        >>> told_apart("%cd /\\nx = (5\\n%y)")
        ('pass\\nx = (5\\n%y)', ['%cd /'])
    """
    code, lines, at, depth, begins = [], [], 0, 0, True
    while at < len(source):
        timed = _TIMED.match(source, at) if begins else None
        magic = _MAGIC.match(source, at) if begins and not timed else None
        value = None if magic or timed else _VALUE.match(source, at)
        begins = bool(timed)  # a line for a shell may be timed, too
        if match := timed or magic or value:
            code.append("= None" if value else match[1] + "pass" * bool(magic))
            lines += [match[0]] * (not timed)
        else:
            match = _PIECE.match(source, at)
            code.append(match[0])
            if match["opened"]:
                depth += len(match[0])
            elif match["closed"]:
                depth = max(0, depth - len(match[0]))
            begins = bool(match["ended"]) and depth == 0
        at = match.end()
    return "".join(code), lines


def parsed(source: str) -> ast.Module | None:
    """The code as Python, None if it is none."""
    if _DISORDER.search(source):
        return None
    try:
        with warnings.catch_warnings(action="ignore"):
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def parts(node: ast.AST) -> tuple[list[ast.AST], list[ast.AST]]:
    """What stands in a node: what belongs to the scope around it, and what to one of its own."""
    inner = list(ast.iter_child_nodes(node))
    if not isinstance(node, _SCOPE):
        return inner, []
    if isinstance(node, _COMPREHENSION):
        first = node.generators[0]  # its iterable is read outside, before the scope begins
        within = [part for part in inner if part is not first]
        return [first.iter], [*within, first.target, *first.ifs]
    inside = [node.body] if isinstance(node, ast.Lambda) else node.body
    given = getattr(node, "args", None)
    outside = [*(set(inner) - {given, *inside})]
    if given:
        outside += [part for part in (*given.defaults, *given.kw_defaults) if part]
        taken = (*given.posonlyargs, *given.args, given.vararg, *given.kwonlyargs, given.kwarg)
        inside = [*filter(None, taken), *inside]
    return outside, inside


def bound(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """The names that these bind in the scope in which they stand."""
    todo, found = list(nodes), set()
    while todo:
        node = todo.pop()
        found.update(_made(node))
        todo += parts(node)[0]
    return frozenset(found)


def _made(node: ast.AST) -> Iterator[str]:
    """The names that a node makes."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, (*DEFINITION, ast.ExceptHandler, ast.MatchAs)) and node.name:
        yield node.name
