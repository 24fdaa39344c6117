"""Words in a sentence that set a live figure of their page.

    Go on to {set}`99 <fig-odometer position=99>`, or let {set}`both move <fig-pair move=on, p=3>`.

After the words stand the figure's name and its controls with their values, as the control has them:
a number of the slider's axis, an option, `on` or `off`; of a drawing by `explore` what is written
beside the slider. What the figure does not have is a warning. `book.js` hands the state to the
figure; words of a single slider can be pulled, too, and have a knob. Without a script, on paper and
in Colab the words are words.
"""

import json
import re

from bs4 import BeautifulSoup, Tag
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxRole
from sphinx.writers.html5 import HTML5Translator

WRITTEN = re.compile(r"(?P<words>.+) <(?P<figure>[\w-]+) (?P<state>\w+=[^=]+(?:, \w+=[^=]+)*)>")
SHORT = 3  # letters that have room for their underline
log = logging.getLogger(__name__)


class sets(nodes.inline):
    """Words that set a figure."""


class Set(SphinxRole):
    """The role `set`."""

    def run(self) -> tuple[list[nodes.Node], list]:
        """Return the words, with what they ask for."""
        found = WRITTEN.fullmatch(" ".join(self.text.split()))
        if found is None:
            told = "{set} must read `words <figure control=value>`, got %r"
            log.warning(told, self.text, location=self.get_location())
            return [nodes.Text(self.text)], []
        wanted = dict(part.split("=") for part in re.split(r", (?=\w+=)", found["state"]))
        node = sets("", found["words"], figure=found["figure"], wanted=wanted)
        self.set_source_info(node)
        return [node], []


def check(app: Sphinx, doctree: nodes.document) -> None:
    """Work out the state that each asks for, and warn of what its figure does not have."""
    figures = {
        name: BeautifulSoup(raw.astext(), "html.parser").select_one(".live")
        for figure in doctree.findall(nodes.figure)
        for raw in figure.findall(nodes.raw)
        if 'class="live"' in raw.astext()
        for name in figure["ids"]
    }
    for node in doctree.findall(sets):
        try:
            if node["figure"] not in figures:
                raise ValueError(f"no live figure of this page, they are {sorted(figures)}")
            figure, wanted = figures[node["figure"]], node["wanted"]
            node["state"] = {name: state(figure, name, told) for name, told in wanted.items()}
            sliders = {control["name"] for control in figure.select("[type=range]")}
            node["pulls"] = len(wanted) == 1 and sliders >= wanted.keys()
        except ValueError as error:
            log.warning("{set} of %s: %s", node["figure"], error, location=node)


def state(figure: Tag, name: str, told: str) -> float | bool | str:
    """What the control of this name holds when it stands where it is told."""
    controls = {control["name"]: control for control in figure.select("[name]")}
    if name not in controls:
        raise ValueError(f"no control {name!r}, they are {sorted(controls)}")
    control = controls[name]
    data = json.loads(figure.select_one("script[type='application/json']").string)["data"]
    values: dict[str, float | bool | str]
    if control.name == "select":
        values = {option.text: option["value"] for option in control.select("option")}
    elif control["type"] == "checkbox":
        values = {"on": True, "off": False}
    elif figure["data-figure"] == "frames":
        words = data["words"][data["names"].index(name)]
        values = {word: at for at, word in enumerate(words)}
    else:
        low, high = float(control["min"]), float(control["max"])
        value = float(told)
        whole = control["step"] == "1"
        if not low <= value <= high or (whole and value % 1):
            steps = " by whole numbers" * whole
            raise ValueError(f"{name} goes from {low:g} to {high:g}{steps}, got {told}")
        return value
    if told not in values:
        raise ValueError(f"{name} must be one of {list(values)}, got {told!r}")
    return values[told]


def visit_sets(writer: HTML5Translator, node: sets) -> None:
    """Open a button that a script enables."""
    look = "sets" + " short" * (len(node.astext()) < SHORT) + " pulls" * node.get("pulls", False)
    title = "Press, or pull to a side" if node.get("pulls") else "Show this in the figure"
    more = {"data-of": node["figure"], "data-state": json.dumps(node.get("state", {}))}
    more |= {"type": "button", "title": title, "disabled": ""}
    writer.body.append(writer.starttag(node, "button", "", CLASS=look, **more))


def depart_sets(writer: HTML5Translator, node: sets) -> None:
    """Close the button."""
    writer.body.append("</button>")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_node(sets, html=(visit_sets, depart_sets))
    app.add_role("set", Set())
    app.connect("doctree-read", check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
