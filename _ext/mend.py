"""Mend what the writer and the theme leave: wrong roles, repeated styles, unused files."""

import re
import shutil
from pathlib import Path

from sphinx.application import Sphinx

DATED_ROLES = (' role="doc-biblioentry"', ' role="list"')  # written by docutils for citations
TEMPLATES = ("webpack-macros.html", "sbt-webpack-macros.html")  # copied by the themes, not pages


def mend_body(app: Sphinx, pagename: str, templatename: str, context: dict, doctree) -> None:
    """Take deprecated roles out of a page's body, and names that hide what a fold says."""
    for wrong in (*DATED_ROLES, ' aria-label="Toggle hidden content"'):
        context["body"] = context.get("body", "").replace(wrong, "")
    context["body"] = once(context["body"])


def once(body: str) -> str:
    """The same page without style sheets that it already has: each live figure brings its own."""
    known = set()

    def keep(found: re.Match) -> str:
        new = found[0] not in known
        known.add(found[0])
        return found[0] if new else ""

    return re.sub(r"<style>.*?</style>", keep, body, flags=re.DOTALL)


def drop_files(app: Sphinx, exception: Exception | None) -> None:
    """Take the themes' templates and their icons, which no page loads, out of the site."""
    for name in TEMPLATES:
        (Path(app.outdir) / "_static" / name).unlink(missing_ok=True)
    shutil.rmtree(Path(app.outdir) / "_static" / "vendor", ignore_errors=True)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("html-page-context", mend_body)
    app.connect("build-finished", drop_files)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
