"""A figure with controls: widgets with a kernel, self-contained HTML without one."""

import base64
import html
import io
import itertools
import json
import math
import os
from collections.abc import Callable, Sequence

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from PIL import Image

MAX_FRAMES = 120
_DPI = 130  # of the frames; the page shows them at 100 to the inch

# Without a kernel all frames are in the page; moving a control picks one of them.
_SCRIPT = """
(() => {
  const figure = document.currentScript.parentElement;
  const data = JSON.parse(figure.querySelector("script[type='application/json']").textContent);
  const controls = [...figure.querySelectorAll("input, select")];
  const image = figure.querySelector("img");
  const said = figure.querySelector("[aria-live]");
  const index = (c) => (c.type === "checkbox" ? +c.checked : +c.value);
  const show = () => {
    const state = controls.reduce((at, c, i) => at * data.values[i].length + index(c), 0);
    image.src = "data:image/webp;base64," + data.frames[data.frame_of[state]];
    image.alt = said.textContent = data.texts[state];
    controls.forEach((c, i) => {
      if (c.type !== "range") return;
      c.setAttribute("aria-valuetext", data.values[i][index(c)]);
      c.nextElementSibling.textContent = data.values[i][index(c)];
    });
  };
  controls.forEach((c) => c.addEventListener("input", show));
  show();
})();
"""


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

    def frame(self, values: dict[str, object]) -> bytes:
        """Draw one combination of values as a lossless WebP of 128 colours."""
        figure = self.draw(**values)
        if not isinstance(figure, Figure):
            kind = type(figure).__name__
            raise TypeError(f"draw must return a matplotlib figure, got {kind}")
        raw, small = io.BytesIO(), io.BytesIO()
        figure.savefig(raw, dpi=_DPI)
        plt.close(figure)
        few_colours = Image.open(raw).convert("RGB").quantize(128).convert("RGB")
        few_colours.save(small, "webp", lossless=True)
        return small.getvalue()

    def html(self) -> str:
        """All frames, the controls and the script that joins them, as one HTML figure."""
        names = list(self.controls)
        combinations = [
            dict(zip(names, values, strict=True))
            for values in itertools.product(*self.controls.values())
        ]
        pictures = [base64.b64encode(self.frame(c)).decode() for c in combinations]
        different = list(dict.fromkeys(pictures))  # controls may have no effect in some states
        data = {
            "values": [[_text(value) for value in values] for values in self.controls.values()],
            "frames": different,
            "frame_of": [different.index(picture) for picture in pictures],
            "texts": [self.describe(**c) for c in combinations],
        }
        first = Image.open(io.BytesIO(base64.b64decode(different[0])))
        width = round(100 / _DPI * first.width)
        packed = json.dumps(data).replace("</", "<\\/")
        controls = "".join(
            self._control(name, said) for name, said in zip(names, data["values"], strict=True)
        )
        return (
            '<div class="explore">'
            '<img alt="" style="display:block;max-width:100%;height:auto;border-radius:.25rem" '
            f'width="{width}">'
            '<p aria-live="polite" style="margin:.3em 0;font-size:.9em"></p>'
            f'<div class="controls" style="max-width:34em">{controls}</div>'
            f'<script type="application/json">{packed}</script>'
            f"<script>{_SCRIPT}</script></div>"
        )

    def _control(self, name: str, said: list[str]) -> str:
        values, label = self.controls[name], html.escape(self.labels[name])
        start = values.index(self.start[name])
        if _is_switch(values):
            checked = " checked" if start else ""
            control = f'<input type="checkbox"{checked}>'
        elif _is_choice(values):
            options = [f'<option value="{i}">{html.escape(word)}' for i, word in enumerate(said)]
            options[start] = options[start].replace(">", " selected>", 1)
            control = f'<select style="min-width:0">{"".join(options)}</select>'
        else:
            control = (
                f'<input type="range" min="0" max="{len(values) - 1}" step="1" value="{start}" '
                'style="flex:1 1 12em;min-width:0"><output style="flex:0 0 5.5em"></output>'
            )
        return (
            '<label style="display:flex;flex-wrap:wrap;gap:0 .6em;align-items:center">'
            f'<span style="flex:0 1 9em">{label}</span>{control}</label>'
        )

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
        image, text = ipywidgets.Image(format="webp"), ipywidgets.HTML()

        def show(_=None) -> None:
            values = {name: widget.value for name, widget in widgets.items()}
            image.value = self.frame(values)
            text.value = html.escape(self.describe(**values))

        for widget in widgets.values():
            widget.observe(show, names="value")
        show()
        return ipywidgets.VBox([image, *widgets.values(), text])

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, object]:
        if os.environ.get("POSENC_BOOK"):
            return {"text/html": self.html(), "text/plain": repr(self)}
        self._shown = self.widget()  # kept, or its observers would go
        view = {"version_major": 2, "version_minor": 0, "model_id": self._shown.model_id}
        return {"application/vnd.jupyter.widget-view+json": view, "text/plain": repr(self)}


def _ordered(values: Sequence[object]) -> list[object]:
    values = list(values)
    return [False, True] if _is_switch(values) else values


def _is_switch(values: Sequence[object]) -> bool:
    return len(values) == 2 and all(isinstance(value, bool) for value in values)


def _is_choice(values: Sequence[object]) -> bool:
    return any(isinstance(value, str) for value in values)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:g}" if isinstance(value, float) else str(value)
