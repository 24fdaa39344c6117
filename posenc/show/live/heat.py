"""Heat maps, in the colours of the theme: of signed numbers, and of weights."""

import base64
import io
from xml.etree.ElementTree import Element

from PIL import Image
from torch import Tensor

from posenc.show.colours import DARK_WEIGHTS, WEIGHTS
from posenc.show.live.marks import h


def painted(table: Tensor, **attributes: object) -> list[Element]:
    """What fills the frame of a plot: a canvas for `paint` of `heat.js`, and the map until then.

    Args:
        table: [rows, columns] from -1 to 1, row 0 on top; shown before any script runs.
        **attributes: of the canvas.
    """
    layers = []
    for sign, kind in ((1, "pos"), (-1, "neg")):
        strength = (255 * (sign * table).clamp(min=0)).round().byte()
        picture = Image.fromarray(strength.numpy(), mode="L")
        mask = Image.new("LA", picture.size)
        mask.putalpha(picture)
        look = f"--mask:url({_packed(mask)})"
        layers.append(h("i", class_=f"first {kind}", style=look, aria_hidden="true"))
    return [*layers, h("canvas", aria_hidden="true", **attributes)]


def weighed(shares: Tensor) -> list[Element]:
    """The same for weights, from 0 to 1 on the colours that weights have in every drawing."""
    layers = []
    for ramp, kind in ((WEIGHTS, "day"), (DARK_WEIGHTS, "night")):
        picture = Image.fromarray(ramp(shares.numpy(), bytes=True)[..., :3])
        look = f"--map:url({_packed(picture)})"
        layers.append(h("i", class_=f"first {kind}", style=look, aria_hidden="true"))
    return [*layers, h("canvas", aria_hidden="true")]


def colour_key(text: str, low: str, high: str, *, ramp: str = "signs") -> Element:
    """What the colours of a map mean, from one end to the other: `signs`, or `weights`."""
    parts = h("span", text), h("span", low), h("i", class_=ramp), h("span", high)
    return h("div", *parts, class_="ramp", aria_hidden="true")


def _packed(picture: Image.Image) -> str:
    """A picture as a PNG, in an address."""
    packed = io.BytesIO()
    picture.save(packed, "png", optimize=True)
    return "data:image/png;base64," + base64.b64encode(packed.getvalue()).decode()
