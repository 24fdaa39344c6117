"""A live figure: numbers from posenc, marks that follow them, and a module that moves them."""

import copy
import itertools
import json
import math
import random
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from xml.etree import ElementTree

from posenc.show.colours import variables
from posenc.show.live.marks import h, nearest, number, path

HERE = Path(__file__).parent
PLACES, SOME = 24, 150  # along a slider, and states that are tried, to find the longest sentence
# What readers of a style and of a script need, and no browser: a page has many of them.
_SPACE = re.compile(r"/\*.*?\*/|^\s+", re.DOTALL | re.MULTILINE)
_REMARKS = re.compile(r"^ *//.*\n|^( ) +", re.MULTILINE)  # an indent is one blank then
_IMPORT = re.compile(r'^import .* from "\./(\w+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?:const|function) (\w+)", re.MULTILINE)

_BACK = "Back to the first state"
_RESET = {"type": "button", "class_": "reset", "title": _BACK, "aria_label": _BACK}

State = Mapping[str, float | bool | str]


class LiveFigure:
    """What a notebook displays as one piece of HTML that needs nothing else.

    The first state is drawn here, so print and browsers without JavaScript show it. From then on
    the ES module of the figure, `<kind>.js` beside this file, computes the same values in the
    browser: `values` and `describe` are what tests hold it against, in many states.

    Args:
        kind: name of the module.
        label: what a screen reader calls the figure.
        marks: elements that say with `data-set` which values they show; see `runtime.js`.
        data: numbers that do not change, for the module; must be JSON.
        state: what the reader moves, and where it starts.
        values: state -> what the marks show, computed with `posenc`.
        describe: state and values -> the figure in words.
        arrives: part of a state from which the figure comes to its first one before the reader's
            eyes, when it is first seen.
    """

    def __init__(
        self,
        kind: str,
        label: str,
        *marks: ElementTree.Element,
        data: Mapping[str, object],
        state: State,
        values: Callable[[State], dict],
        describe: Callable[[State, dict], str],
        arrives: State | None = None,
    ):
        self.kind, self.label, self.data, self.state = kind, label, dict(data), dict(state)
        self._marks, self._values, self._describe = marks, values, describe
        self._arrives = {} if arrives is None else {"data_arrives": json.dumps(dict(arrives))}

    def __repr__(self) -> str:
        state = ", ".join(f"{name}={_short(value)}" for name, value in self.state.items())
        return f"live figure: {self.kind}, {state}"

    def values(self, state: State) -> dict:
        """What the marks show in a state, and the figure in words as `said`."""
        found = self._values(state)
        return {**found, "said": self._describe(state, found)}

    def html(self) -> str:
        """The figure in its first state, its numbers and its script, as one element."""
        given = json.dumps(
            {"data": self.data, "state": self.state}, allow_nan=False, separators=(",", ":")
        )
        root = h(
            "div",
            h("style", variables() + _SPACE.sub("", (HERE / "live.css").read_text("utf-8"))),
            h("div", *copy.deepcopy(self._marks), class_="marks"),
            h("button", "\N{ANTICLOCKWISE OPEN CIRCLE ARROW}", hidden="", **_RESET),
            h("div", h("p", class_="said", data_set="text:said"), class_="reading", **self._room()),
            h("p", class_="heard", role="status"),
            h("div", class_="tip", aria_hidden="true", hidden=""),
            h("script", given.replace("</", "<\\/"), type="application/json"),
            h("script", _script(self.kind)),
            class_="live",
            data_figure=self.kind,
            role="group",
            aria_label=self.label,
            **self._arrives,
        )
        draw(root, self.state, self.values(self.state))
        return ElementTree.tostring(root, encoding="unicode", method="html")

    def _room(self) -> dict[str, str]:
        """The longest sentences of two kinds, for which room is kept below the figure."""
        kinds: dict[str, str] = {}
        for state in self._states():
            said = self.values(state)["said"]
            kind = re.sub(r"[\W\d]+", " ", said)
            kinds[kind] = max(kinds.get(kind, ""), said, key=len)
        first, *rest = sorted(kinds.values(), key=len, reverse=True)
        return {"data_longer": first, "data_long": rest[0] if rest else ""}

    def _states(self) -> list[dict]:
        """States from all over, the first among them: all, or as many as there is time for."""
        places = {
            control.get("name"): _places(control)
            for mark in self._marks
            for control in mark.iter()
            if control.get("name") in self.state
        }
        if math.prod(map(len, places.values())) <= SOME:
            every = itertools.product(*places.values())
            return [{**self.state, **dict(zip(places, at, strict=True))} for at in every]
        alone = [{**self.state, name: at} for name, there in places.items() for at in there]
        chance = random.Random(0)
        drawn = (
            {name: chance.choice(there) for name, there in places.items()} for _ in range(SOME)
        )
        return [dict(self.state), *alone, *({**self.state, **state} for state in drawn)]

    def _repr_html_(self) -> str:
        return self.html()


def draw(root: ElementTree.Element, state: State, values: Mapping[str, object]) -> None:
    """Show a state: what the browser does with each further one, done once with the first."""
    for mark in root.iter():
        style = [mark.get("style")] if mark.get("style") else []
        for token in mark.get("data-set", "").split():
            name, key = token.split(":")
            value = _look_up(values, key)
            if isinstance(value, list):
                value = path(value)
            shown = number(value) if not isinstance(value, str) else value
            if name == "text":
                mark.text = shown
            elif name == "html":
                mark[:] = [ElementTree.fromstring(shown)]
            elif name.startswith("--"):
                style.append(f"{name}: {shown}")
            else:
                mark.set(name, shown)
        if style:
            mark.set("style", "; ".join(style))
        if mark.get("name") in state:
            _set_control(mark, state[mark.get("name")])


def _look_up(values: object, key: str) -> object:
    for part in key.split("."):
        values = values[int(part) if part.isdigit() else part]
    return values


def _places(control: ElementTree.Element) -> list:
    """Where a control can be put: a list's choices, a box's two, and places along a slider."""
    if control.tag == "select":
        return [option.get("value") for option in control]
    if control.get("type") == "checkbox":
        return [False, True]
    low, high = float(control.get("min")), float(control.get("max"))
    between = [low + (high - low) * part / PLACES for part in range(PLACES + 1)]
    if control.get("step") == "1":
        return sorted({nearest(at) for at in between})
    if "data-rests" in control.attrib:  # at words, and on the way
        return sorted({min(high, nearest(at) + way) for at in between for way in (0, 0.4)})
    return between


def _set_control(control: ElementTree.Element, value: float | bool | str) -> None:
    if control.tag == "select":
        for option in control:
            if option.get("value") == value:
                option.set("selected", "")
    elif isinstance(value, bool):
        if value:
            control.set("checked", "")
    else:
        control.set("value", number(value))


def _script(kind: str) -> str:
    """The module and all that it imports as one classic script, which runs in any notebook.

    It is a function of what the runtime exports, called with that: a page with many figures needs
    the runtime once (`_ext/mend.py`).
    """
    parts: dict[str, str] = {}

    def add(name: str) -> None:
        source = (HERE / f"{name}.js").read_text(encoding="utf-8")
        for imported in _IMPORT.findall(source):
            if imported not in parts:
                add(imported)
        parts[name] = _IMPORT.sub("", source).replace("export default", "const figure =")

    add(kind)
    names = ", ".join(_EXPORT.findall(parts["runtime"]))
    runtime, body = (
        _REMARKS.sub(r"\1", re.sub(r"^export ", "", source, flags=re.MULTILINE))
        for source in (parts.pop("runtime"), "".join(parts.values()))
    )
    return (
        f'"use strict";\n(({{ {names} }}) => {{\n{body}start("{kind}", figure);\n}})'
        f"((() => {{\n{runtime}return {{ {names} }};\n}})());"
    )


def _short(value: float | bool | str) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
