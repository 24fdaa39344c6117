"""Inside the sandbox: run a student's notebook, then ask its functions what the grader asks.

Lines of JSON come from stdin and go to stdout. Nothing here knows what is right, and whatever a
notebook does to this program, it can only change what its own answers are.

First comes {"cells": [[number, code, given], ...], "names": [...], "refusal": text, "late": bool},
where `given` says that it is a cell as it was handed out. For each {"next": number} is sent, then
{"at": number} as it begins, and for both {"go": number} awaited, so that what a cell does, be it to
this line, is not taken for another's; then {"refused": number} if it met an exception with that
text, {"raised": [number, what]} if it lacked a module or a magic, or met another exception alone.
At last there are {"next": null}, likewise, and {"ready": true, "changed": names, "checked":
numbers}. Then come questions {"id", "ask": name, "way", "arguments", "seconds", "refuses", "seed"};
{"taken": id} says that one was read, and the reply is {"id", "values"} or {"id", "fault"}. A
function is asked as it was when the last cell that made or checked it had run, or when its check,
in that cell, had called it right, or, if "late", as it is at the end; "changed" names those that
may differ, and "checked" has, for each that its check called right, the number of the last cell
that did. What was a builtin then, such as `sum`, is one again, whatever further cells call so.
"""

import ast
import builtins
import contextlib
import gc
import itertools
import json
import os
import re
import sys
import textwrap
import types

# Below these a cell's statements are run one by one; nobody answers a debugger.
_TIMED = re.compile(r"\A\s*%%(?:time|capture|debug)\b.*\n")
_MAGIC = re.compile(r"\A\s*%%(\w+)[^\n]*\n?")
_OF_IPYTHON = re.compile(r"_+|_i+|_[iod]h|_i?\d+|_exit_code|__\w+__")  # its names
_WITH = ast.With | ast.AsyncWith


def _channel():
    """The two ends of the line; what the notebook prints or reads goes nowhere."""
    given, said = os.dup(0), os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    return open(given, encoding="utf-8"), open(said, "w", encoding="utf-8", errors="replace")


def _shell():
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    class Shell(InteractiveShell):
        def enable_gui(self, gui=None):  # what %matplotlib asks for; there is no window
            pass

        def showtraceback(self, *args, **kwargs):  # nobody would see it
            pass

    settings = Config()
    settings.HistoryManager.enabled = False
    settings.InteractiveShell.colors = "nocolor"
    sys.path.insert(0, "")  # as a notebook has it: what a cell writes, another may import
    return Shell.instance(config=settings)


def _on_the_processor():
    """What a notebook sets for a GPU does nothing where there is none: tensors are made here."""
    import torch

    if not torch.cuda.is_available():
        torch.set_default_device = lambda device=None: None


def _share_in_tmp():
    """Where processes share memory, Python asks how full /dev/shm is, which nothing tells here."""
    from multiprocessing import heap

    heap.Arena._dir_candidates = []  # but for /tmp, of which it does not ask


def _without_a_debugger():
    """What would stop for a debugger goes on, as at `breakpoint()`: nobody answers."""
    import bdb

    bdb.Bdb.set_trace = lambda self, *args, **settings: None


def _text(error):
    try:
        said = " ".join(str(error).split())[:200]
    except BaseException:  # a student's own exception may fail to print
        said = ""
    return f"{type(error).__name__}: {said}".rstrip(": ")


def _without_magics(shell, source):
    """The code below the magics that a cell begins with, where they need not run or are not here.

    Returns it, and an exception for each that is not here. Where no Python is below one, it stays.
    """
    from IPython.core.error import UsageError

    lacking = []
    while True:
        source = _TIMED.sub("", source)
        magic = _MAGIC.match(source)
        if not magic or shell.find_cell_magic(magic[1]):
            return source, lacking
        below = source[magic.end() :]
        try:
            ast.parse(shell.transform_cell(below))
        except Exception:
            return source, lacking
        lacking.append(UsageError(f"Cell magic `%%{magic[1]}` not found."))
        source = below


def _run(shell, source, is_cell):
    """Run code; returns the exception that ended it, if one did. A cell counts, as at home."""
    try:
        result = shell.run_cell(source, store_history=is_cell)
        return result.error_before_exec or result.error_in_exec
    except BaseException as raised:  # which IPython did not catch
        return raised


def _is_lack(error):
    """Whether a module or a magic is not here."""
    from IPython.core.error import UsageError

    return isinstance(error, ModuleNotFoundError | UsageError)


def _left(shell, source, error):
    """The statements behind the one that raised, see `_below`."""
    trace = error.__traceback__
    while trace and trace.tb_frame.f_globals is not shell.user_ns:
        trace = trace.tb_next
    if trace is None:  # it never ran
        return []
    positions = trace.tb_frame.f_code.co_positions()
    *before, place = [(line, column) for line, _, column, _ in positions][: trace.tb_lasti // 2 + 1]
    source = shell.transform_cell(source)
    lines, tree = source.split("\n"), ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, _WITH | ast.ClassDef) and _start(node) <= place < _body(node):
            has_run = any(_body(node) <= at < _end(node) for at in before if None not in at)
            place = _end(node) if has_run else place
    return [_written(node, lines) for node in _below(tree.body, place)]


def _written(node, lines):
    """A statement as code: as it stands where `ast` cannot write it, for its signs or its depth."""
    stands = hasattr(node, "lineno")  # and was not made here
    try:
        return ast.unparse(ast.fix_missing_locations(node))
    except (ValueError, RecursionError):
        return textwrap.dedent("\n".join(lines[_start(node)[0] - 1 : node.end_lineno] * stands))


def _below(body, place):
    """What is left of these statements where one raised at a place, up to a `raise`, which ends
    them: what is left in that one, then those behind it.
    """
    left = [node for node in body if _end(node) > place]
    ran = [*itertools.takewhile(lambda node: not isinstance(node, ast.Raise), left)]
    return [*_inside(ran[0], place), *ran[1:]] if ran and _start(ran[0]) <= place else ran


def _inside(node, place):
    """What is left in a statement that raised: in a block, what stands below the place.

    Of a loop it is one round, of `with` whose own line raised all of its block, of a definition
    whose decorator raised the definition without any; of a block or a class that has run, nothing.
    Where one `import` of several names raised, each of these comes, alone.
    """
    if isinstance(node, ast.Import):
        return [ast.Import([name]) for name in node.names] if len(node.names) > 1 else []
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        if not node.decorator_list or place >= _body(node):
            return []
        node.decorator_list = []
        return [node]
    if isinstance(node, _WITH) and place < _body(node):
        return node.body
    parts = [node, *getattr(node, "handlers", ()), *getattr(node, "cases", ())]
    blocks = [getattr(part, name, ()) for part in parts for name in ("body", "orelse", "finalbody")]
    block = next((b for b in blocks if b and _start(b[0]) <= place <= _end(b[-1])), [])
    left = _below(block, place)
    if not left and block is getattr(node, "body", None) and getattr(node, "handlers", ()):
        return node.orelse
    if not left or block is not getattr(node, "body", None):
        return left
    if isinstance(node, ast.For | ast.AsyncFor | ast.While):
        return [ast.For(ast.Name("_", ast.Store()), ast.Constant("1"), left, [])]
    if getattr(node, "handlers", ()):
        return [type(node)(left, node.handlers, node.orelse, [])]
    return left


def _start(node):
    first = (getattr(node, "decorator_list", None) or [node])[0]
    return first.lineno, first.col_offset


def _body(node):
    """Where what it does begins: the block of `with`; a class, and its block, below decorators."""
    return _start(node.body[0]) if isinstance(node, _WITH) else (node.lineno, node.col_offset)


def _end(node):
    return node.end_lineno, node.end_col_offset


def _overheard(shell):
    """What checks have said, from now on: all names of the notebook when one called its answer
    right, none if that was another function than the one of its name, None if it was wrong.

    However a check is called, and wherever its verdict goes. It decides on no point, but on which
    version of an answer is asked: a notebook that has it lie chooses among its own.
    """
    from posenc.check import Probe, Question

    heard = {}

    def hear(kind, call):
        def called(question, answer):
            verdict, name = call(question, answer), question.name
            now = dict(shell.user_ns) if shell.user_ns.get(name) is answer else {}
            heard[name] = now if verdict.passed else heard.get(name)
            return verdict

        kind.__call__ = called

    for kind in (Probe, Question):
        hear(kind, kind.__call__)
    return heard


def run_cells(shell, cells, names, begin, send, refusal):
    """Run the cells one after another; figures are closed, so that they fill no memory.

    Returns what all names of the notebook stood for when the last cell that made the function, or
    checked it, had run, or when the check had called it right there, for each of `names`: the check
    saw these, whatever is called by them below; and the number of the last cell where it did. A
    cell that was handed out takes no name from a function, be it for a picture or a stub: students
    do not look what such a cell calls its own. What it imports, it imports.

    A statement that raises costs itself alone, be it a magic, an import or a call of what is not
    there while grading: those below it in its cell, and in its block, run nevertheless, and earn
    what they earn. So does what stands below a magic for the whole cell that is not here.
    """
    kept, checked, heard = {}, {}, _overheard(shell)
    for number, source, is_given in cells:
        begin("next", number)
        begin("at", number)
        heard.clear()
        made = {name: thing for name, thing in shell.user_ns.items() if callable(thing)}
        source, errors = _without_magics(shell, source)
        left, is_cell = [source], True
        while left:
            statement = left.pop(0)
            error, is_cell = _run(shell, statement, is_cell), False
            if error is not None:
                errors.append(error)
                left[:0] = _left(shell, statement, error)
        refused = any(refusal in _text(error) for error in errors)
        missing = [error for error in errors if _is_lack(error)]
        if refused:
            send({"refused": number})
        for error in (missing if refused else missing or errors)[:1]:
            send({"raised": [number, _text(error)]})
        if "matplotlib.pyplot" in sys.modules:
            with contextlib.suppress(BaseException):
                sys.modules["matplotlib.pyplot"].close("all")
        if is_given:
            made = {n: thing for n, thing in made.items() if not _is_imported(shell.user_ns.get(n))}
            shell.user_ns.update(made)
        for name in names:
            answer, then = shell.user_ns.get(name), heard.get(name)
            is_new = name in heard or answer is not kept.get(name, {}).get(name)
            if then:
                kept[name] = then | made if is_given else then
            elif callable(answer) and is_new:
                kept[name] = dict(shell.user_ns)
            if then is not None:
                checked[name] = number
    return kept, checked


def _is_imported(thing):
    is_made_there = getattr(thing, "__module__", None) != "__main__"
    kinds = types.FunctionType, types.BuiltinFunctionType, type
    return isinstance(thing, types.ModuleType) or (isinstance(thing, kinds) and is_made_there)


def _is_changed(then, now):
    """Whether any name, be it a builtin's, has come to stand for something else since then."""
    before, after = vars(builtins) | then, vars(builtins) | now
    names = (name for name in before if not _OF_IPYTHON.fullmatch(name))
    return any(after.get(name) is not before[name] for name in names)


def _bring_back(names, then):
    """All names as they were then: what was a builtin is one again; what is new else stays."""
    for name in vars(builtins).keys() - then.keys():
        names.pop(name, None)
    names.update(then)


def _replies():
    """The function that puts a question; all that it needs is loaded now, before a cell has run."""
    from posenc.check import encodings, frequencies, luck, reading  # noqa: F401
    from posenc.check.calls import Wrong
    from posenc.check.plain import decode
    from posenc.check.ways import ask

    def reply(answers, request, kept):
        """What the notebook's function says to one question."""
        try:
            if request["ask"] in kept:  # once: what it changes stays changed
                _bring_back(answers, kept.pop(request["ask"]))
            values = ask(
                answers.get(request["ask"]),
                tuple(decode(request["arguments"])),
                way=request["way"],
                seconds=request["seconds"],
                refuses=request["refuses"],
                seed=request["seed"],
            )
            return {"values": values.encode()}
        except Wrong as error:
            return {"fault": str(error)[:400]}
        except BaseException as error:
            return {"fault": f"it raised {_text(error)}"}

    settings = {"arguments": [], "way": "call", "seconds": 10.0, "refuses": [], "seed": 0}
    reply({"one": lambda: 1.0}, {"ask": "one", **settings}, {})  # some is loaded when it is used
    return reply


def main():
    """Run the notebook, then answer until nobody asks."""
    given, said = _channel()

    def send(message):
        said.write(json.dumps(message) + "\n")
        said.flush()

    early = []

    def begin(what, number):
        send({what: number})
        for line in iter(given.readline, ""):
            if json.loads(line).get("go", "") == number:
                return
            if "ask" in json.loads(line):  # a cell has said that all have run
                early.append(line)
                return

    gc.disable()  # while what takes its time is loaded, which is nobody's cell's
    reply = _replies()
    _on_the_processor()
    _share_in_tmp()
    _without_a_debugger()
    shell = _shell()
    gc.freeze()  # and no cell's time goes into looking through it
    gc.enable()
    modules, places = dict(sys.modules), list(sys.path)
    told = json.loads(given.readline())
    kept, checked = run_cells(shell, told["cells"], told["names"], begin, send, told["refusal"])
    begin("next", None)
    sys.modules.update(modules | sys.modules)  # those that a cell took away are there again
    sys.path.extend(place for place in places if place not in sys.path)
    changed = [name for name, then in kept.items() if _is_changed(then, shell.user_ns)]
    send({"ready": True, "changed": changed, "checked": checked})
    kept = {} if told["late"] else kept
    for line in itertools.chain(early, iter(given.readline, "")):
        request = json.loads(line)
        if "ask" in request:
            send({"taken": request["id"]})
            send({"id": request["id"], **reply(shell.user_ns, request, kept)})


if __name__ == "__main__":
    main()
