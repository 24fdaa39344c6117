"""A figure with controls: widgets with a kernel, self-contained HTML without one."""

import html
import itertools
import math
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from xml.etree import ElementTree

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from posenc.show.drawing import draw_both
from posenc.show.live.figure import LiveFigure, State
from posenc.show.live.marks import choice, controls, h, nearest, slider, switch

MAX_FRAMES = 120
_STYLE = Path(__file__).with_name("drawing.css")


def explore(
    draw: Callable[..., Figure],
    *,
    describe: Callable[..., str],
    labels: dict[str, str] | None = None,
    start: dict[str, object] | None = None,
    **controls: Sequence[object],
) -> "Explorer":
    """Let the reader move the arguments of a figure.

    With a kernel the result shows itself as ipywidgets (7 and 8). In a book build, where the
    environment variable POSENC_BOOK is set, it is a piece of HTML with every frame in it,
    which needs no kernel, no network and no library.

    Args:
        draw: takes one value of each control by name and returns a matplotlib figure.
        describe: takes the same and returns the text alternative of that figure.
        labels: control -> what to call it, with its unit; its name by default.
        start: control -> the value to begin with; its first by default.
        **controls: the values that each control runs through, in order. Numbers become a
            slider, words a list to choose from, False and True a box to tick.

    Returns:
        What a notebook displays.

    Raises:
        ValueError: if there is no control, a control has no values or not the one to start
            with, or there are more than 120 combinations.
        TypeError: if draw does not return a figure (raised when a frame is drawn).

    Example:
        >>> def draw(turns):
        ...     return plt.figure()
        >>> explore(draw, describe="{} turns".format, turns=range(3))
        explore(draw): turns in 3 values
    """
    return Explorer(draw, describe, labels or {}, start or {}, controls)


class Explorer:
    """A figure and the values of its controls; see `explore`."""

    def __init__(
        self,
        draw: Callable[..., Figure],
        describe: Callable[..., str],
        labels: dict[str, str],
        start: dict[str, object],
        controls: dict[str, Sequence[object]],
    ):
        self.draw, self.describe = draw, describe
        self.controls = {name: _ordered(values) for name, values in controls.items()}
        self.labels = {name: labels.get(name, name.replace("_", " ")) for name in controls}
        if not controls:
            raise ValueError("controls must not be empty, got none")
        for name, values in self.controls.items():
            if not values:
                raise ValueError(f"{name} must have at least one value, got {values}")
        for name in {**labels, **start}:
            if name not in controls:
                raise ValueError(f"labels and start must name controls, got {name!r}")
        self.start = {name: start.get(name, values[0]) for name, values in self.controls.items()}
        for name, value in self.start.items():
            if value not in self.controls[name]:
                raise ValueError(f"start of {name} must be one of its values, got {value!r}")
        frames = math.prod(len(values) for values in self.controls.values())
        if frames > MAX_FRAMES:
            raise ValueError(
                f"controls must have at most {MAX_FRAMES} combinations, got {frames}: "
                "give some control fewer values"
            )

    def __repr__(self) -> str:
        ranges = ", ".join(f"{name} in {len(v)} values" for name, v in self.controls.items())
        return f"explore({self.draw.__name__}): {ranges}"

    def frame(self, values: dict[str, object]) -> tuple[str, str]:
        """Draw one combination of values, for a screen and for a phone."""
        figure = self.draw(**values)
        if not isinstance(figure, Figure):
            kind = type(figure).__name__
            raise TypeError(f"draw must return a matplotlib figure, got {kind}")
        drawn = draw_both(figure)
        plt.close(figure)
        return drawn

    def live(self) -> LiveFigure:
        """All frames in one live figure, whose script picks the one that the controls ask for.

        Frames have most of their lines in common, and each line is there once.
        """
        names = list(self.controls)
        combinations = [
            dict(zip(names, values, strict=True))
            for values in itertools.product(*self.controls.values())
        ]
        frames = _as_high([self.frame(values) for values in combinations])
        lines: dict[str, int] = {}
        for text in itertools.chain.from_iterable(frames):
            for line in text.split("\n"):
                lines.setdefault(line, len(lines))
        data = {
            "names": names,
            "words": [[_text(value) for value in values] for values in self.controls.values()],
            "texts": [self.describe(**values) for values in combinations],
            "lines": list(lines),
            "frames": [
                [[lines[line] for line in text.split("\n")] for text in both] for both in frames
            ],
        }

        def values(state: State) -> dict:
            at = [nearest(float(state[name])) for name in names]
            frame = 0
            for index, words in zip(at, data["words"], strict=True):
                frame = frame * len(words) + index
            wide, phone = frames[frame]
            named = {f"{n}_said": w[i] for n, w, i in zip(names, data["words"], at, strict=True)}
            return {"frame": frame, "wide": wide, "phone": phone, **named}

        return LiveFigure(
            "frames",
            "a drawing with controls",
            h("style", _STYLE.read_text(encoding="utf-8")),
            h(
                "div",
                h("div", data_set="html:wide", class_="wide"),
                h("div", data_set="html:phone", class_="phone"),
                class_="drawing",
                aria_hidden="true",
            ),
            controls(*(self._control(n, w) for n, w in zip(names, data["words"], strict=True))),
            data=data,
            state={name: self._state(name) for name in names},
            values=values,
            describe=lambda state, found: data["texts"][found["frame"]],
        )

    def _state(self, name: str) -> int | bool | str:
        values = self.controls[name]
        if _is_switch(values):
            return self.start[name]
        start = values.index(self.start[name])
        return str(start) if _is_choice(values) else start

    def _control(self, name: str, words: list[str]) -> ElementTree.Element:
        values, label = self.controls[name], self.labels[name]
        if _is_switch(values):
            return switch(name, label)
        if _is_choice(values):
            return choice(name, label, {str(i): word for i, word in enumerate(words)})
        return slider(name, label, 0, len(values) - 1, said=f"{name}_said", whole=True)

    def widget(self):
        """The same as ipywidgets: a widget a control, and an image that follows them."""
        import ipywidgets

        widgets = {}
        for name, values in self.controls.items():
            options = {
                "description": self.labels[name],
                "value": self.start[name],
                "style": {"description_width": "initial"},
            }
            if _is_switch(values):
                widgets[name] = ipywidgets.Checkbox(**options)
                continue
            options["options"] = [(_text(value), value) for value in values]
            if _is_choice(values):
                widgets[name] = ipywidgets.Dropdown(**options)
            else:
                widgets[name] = ipywidgets.SelectionSlider(**options, continuous_update=False)
        picture, text = ipywidgets.HTML(), ipywidgets.HTML()
        style = f"<style>{_STYLE.read_text(encoding='utf-8')}</style>"

        def show(_=None) -> None:
            values = {name: widget.value for name, widget in widgets.items()}
            wide, phone = self.frame(values)
            picture.value = (
                f'<div class="drawing">{style}<div class="wide">{wide}</div>'
                f'<div class="phone">{phone}</div></div>'
            )
            text.value = html.escape(self.describe(**values))

        for widget in widgets.values():
            widget.observe(show, names="value")
        show()
        return ipywidgets.VBox([picture, *widgets.values(), text])

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, object]:
        if os.environ.get("POSENC_BOOK"):
            return {"text/html": self.live().html(), "text/plain": repr(self)}
        self._shown = self.widget()  # kept, or its observers would go
        view = {"version_major": 2, "version_minor": 0, "model_id": self._shown.model_id}
        return {"application/vnd.jupyter.widget-view+json": view, "text/plain": repr(self)}


def _ordered(values: Sequence[object]) -> list[object]:
    values = list(values)
    return [False, True] if _is_switch(values) else values


def _as_high(frames: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The same drawings, each as high as the highest of its kind: none pushes what stands below."""
    return list(zip(*map(_evened, zip(*frames, strict=True)), strict=True))


def _evened(drawings: Sequence[str]) -> list[str]:
    boxes = [re.search(r'viewBox="0 0 (\S+) (\S+)"', text) for text in drawings]
    highest = max(float(box[2]) / float(box[1]) for box in boxes)
    return [
        text.replace(box[0], f'viewBox="0 0 {box[1]} {round(highest * float(box[1]), 2):g}"', 1)
        for text, box in zip(drawings, boxes, strict=True)
    ]


def _is_switch(values: Sequence[object]) -> bool:
    return len(values) == 2 and all(isinstance(value, bool) for value in values)


def _is_choice(values: Sequence[object]) -> bool:
    return any(isinstance(value, str) for value in values)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:g}" if isinstance(value, float) else str(value)
