"""Inside the sandbox: run a student's notebook, then ask its functions what the grader asks.

Lines of JSON come from stdin and go to stdout. Nothing here knows what is right, and whatever a
notebook does to this program, it can only change what its own answers are.

First comes {"cells": [[number, code], ...]}: for each cell {"at": number} is sent when it begins,
{"raised": [number, what]} if it ends with an exception, and {"ready": true} at last. Then come
questions {"id", "ask": name, "way", "arguments", "seconds", "refuses", "seed"}; the reply is
{"id", "values"} or {"id", "fault", "hint", "slow"}.
"""

import contextlib
import json
import os
import sys


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

    settings = Config()
    settings.HistoryManager.enabled = False
    settings.InteractiveShell.colors = "nocolor"
    return InteractiveShell.instance(config=settings)


def _text(error):
    try:
        said = " ".join(str(error).split())[:200]
    except BaseException:  # a student's own exception may fail to print
        said = ""
    return f"{type(error).__name__}: {said}".rstrip(": ")


def run_cells(shell, cells, send):
    """Run the cells one after another; figures are closed, so that they fill no memory."""
    for number, source in cells:
        send({"at": number})
        try:
            result = shell.run_cell(source, store_history=False)
            error = result.error_before_exec or result.error_in_exec
        except BaseException as raised:  # which IPython did not catch
            error = raised
        if error is not None:
            send({"raised": [number, _text(error)]})
        if "matplotlib.pyplot" in sys.modules:
            with contextlib.suppress(BaseException):
                sys.modules["matplotlib.pyplot"].close("all")


def reply(shell, request):
    """What the notebook's function says to one question."""
    from posenc.check.calls import TooSlow, Wrong
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
        slow = isinstance(error, TooSlow)
        return {"fault": str(error)[:400], "hint": error.hint[:400], "slow": slow}
    except BaseException as error:
        return {"fault": f"it raised {_text(error)}", "hint": "", "slow": False}


def main():
    """Run the notebook, then answer until nobody asks."""
    given, said = _channel()

    def send(message):
        said.write(json.dumps(message) + "\n")
        said.flush()

    import posenc.check.ways  # noqa: F401  # it takes its time, which is nobody's cell's

    shell = _shell()
    run_cells(shell, json.loads(given.readline())["cells"], send)
    send({"ready": True})
    for line in iter(given.readline, ""):
        request = json.loads(line)
        send({"id": request["id"], **reply(shell, request)})


if __name__ == "__main__":
    main()
