"""Inside the sandbox: run a student's notebook, then ask its functions what the grader asks.

Lines of JSON come from stdin and go to stdout. Nothing here knows what is right, and whatever a
notebook does to this program, it can only change what its own answers are.

First comes {"cells": [[number, code], ...], "refusal": text}: for each cell {"at": number} is sent
when it begins, {"refused": number} if it met an exception with that text, or {"raised": [number,
what]} if it ends with another one, and {"ready": true} at last. Then come questions {"id", "ask":
name, "way", "arguments", "seconds", "refuses", "seed"}; the reply is {"id", "values"} or {"id",
"fault"}.
"""

import ast
import contextlib
import gc
import json
import os
import re
import sys
import traceback

_TIMED = re.compile(r"\A\s*%%(?:time|capture)\b.*\n")  # its statements are run one by one
_MAGIC = re.compile(r"(?:\w+ *= *)?get_ipython\(\)\.")  # what IPython makes of one


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

    settings = Config()
    settings.HistoryManager.enabled = False
    settings.InteractiveShell.colors = "nocolor"
    return Shell.instance(config=settings)


def _text(error):
    try:
        said = " ".join(str(error).split())[:200]
    except BaseException:  # a student's own exception may fail to print
        said = ""
    return f"{type(error).__name__}: {said}".rstrip(": ")


def _run(shell, source):
    """Run code; returns the exception that ended it, if one did."""
    try:
        result = shell.run_cell(source, store_history=False)
        return result.error_before_exec or result.error_in_exec
    except BaseException as raised:  # which IPython did not catch
        return raised


def _left(shell, source, error):
    """The statement that raised and those after it, each with those that share its lines."""
    frames = traceback.walk_tb(error.__traceback__)
    at = next((line for frame, line in frames if frame.f_globals is shell.user_ns), None)
    if at is None:  # it never ran
        return []
    made = shell.transform_cell(source)
    lines, spans = made.splitlines(keepends=True), []
    for node in ast.parse(made).body:
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
        if spans and first <= spans[-1][1]:
            spans[-1][1] = node.end_lineno
        else:
            spans.append([first, node.end_lineno])
    return ["".join(lines[first - 1 : last]) for first, last in spans if last >= at]


def run_cells(shell, cells, send, refusal):
    """Run the cells one after another; figures are closed, so that they fill no memory.

    A magic that cannot be done here costs itself alone. So does a statement that calls what is not
    there while grading, and, from then on, one that lacks what it would have made.
    """
    forgiving = False
    for number, source in cells:
        send({"at": number})
        source = _TIMED.sub("", source)
        error = _run(shell, source)
        errors = [error] if error is not None else []
        forgiving = forgiving or any(refusal in _text(error) for error in errors)
        left = _left(shell, source, errors[0]) if errors else []
        if left and (forgiving or _MAGIC.match(left[0])):
            ran = [_run(shell, chunk) for chunk in left[1:]]
            errors += [error for error in ran if error is not None]
        if any(refusal in _text(error) for error in errors):
            send({"refused": number})
        elif errors:
            send({"raised": [number, _text(errors[0])]})
        if "matplotlib.pyplot" in sys.modules:
            with contextlib.suppress(BaseException):
                sys.modules["matplotlib.pyplot"].close("all")


def reply(shell, request):
    """What the notebook's function says to one question."""
    from posenc.check.calls import Wrong
    from posenc.check.plain import decode
    from posenc.check.ways import ask

    try:
        values = ask(
            shell.user_ns.get(request["ask"]),
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


def main():
    """Run the notebook, then answer until nobody asks."""
    given, said = _channel()

    def send(message):
        said.write(json.dumps(message) + "\n")
        said.flush()

    gc.disable()  # while what takes its time is loaded, which is nobody's cell's
    import posenc.check.ways  # noqa: F401

    shell = _shell()
    gc.enable()
    told = json.loads(given.readline())
    run_cells(shell, told["cells"], send, told["refusal"])
    send({"ready": True})
    for line in iter(given.readline, ""):
        request = json.loads(line)
        send({"id": request["id"], **reply(shell, request)})


if __name__ == "__main__":
    main()
