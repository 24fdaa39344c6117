"""Heat maps of signed numbers, in the colours of the theme."""

import base64
import io
from xml.etree.ElementTree import Element

from PIL import Image
from torch import Tensor

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
        picture, packed = Image.fromarray(strength.numpy(), mode="L"), io.BytesIO()
        mask = Image.new("LA", picture.size)
        mask.putalpha(picture)
        mask.save(packed, "png", optimize=True)
        url = "data:image/png;base64," + base64.b64encode(packed.getvalue()).decode()
        layers.append(
            h("i", class_=f"first {kind}", style=f"--mask:url({url})", aria_hidden="true")
        )
    return [*layers, h("canvas", aria_hidden="true", **attributes)]
