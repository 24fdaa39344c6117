"""Mend what the writer and the theme leave: wrong roles, unused files, heavy pictures."""

import shutil
from pathlib import Path

from PIL import Image
from sphinx.application import Sphinx

DATED_ROLES = (' role="doc-biblioentry"', ' role="list"')  # written by docutils for citations
TEMPLATES = ("webpack-macros.html", "sbt-webpack-macros.html")  # copied by the themes, not pages


def mend_body(app: Sphinx, pagename: str, templatename: str, context: dict, doctree) -> None:
    """Take deprecated roles out of a page's body, and names that hide what a fold says."""
    for wrong in (*DATED_ROLES, ' aria-label="Toggle hidden content"'):
        context["body"] = context.get("body", "").replace(wrong, "")


def drop_files(app: Sphinx, exception: Exception | None) -> None:
    """Take the themes' templates and their icons, which no page loads, out of the site."""
    for name in TEMPLATES:
        (Path(app.outdir) / "_static" / name).unlink(missing_ok=True)
    shutil.rmtree(Path(app.outdir) / "_static" / "vendor", ignore_errors=True)


def lighten(app: Sphinx, exception: Exception | None) -> None:
    """Write the drawn pictures with 256 colours, which is a third of the bytes."""
    for path in (Path(app.outdir) / "_images").glob("*.png"):
        with Image.open(path) as picture:
            if picture.mode == "P":
                continue
            few = picture.convert("RGB").quantize(256, dither=Image.Dither.NONE)
        few.save(path, optimize=True)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("html-page-context", mend_body)
    app.connect("build-finished", drop_files)
    app.connect("build-finished", lighten)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
