"""Mend what the writer and the theme leave that accessibility checkers rightly complain of."""

from pathlib import Path

from sphinx.application import Sphinx

DATED_ROLES = (' role="doc-biblioentry"', ' role="list"')  # written by docutils for citations
TEMPLATES = ("webpack-macros.html", "sbt-webpack-macros.html")  # copied by the themes, not pages


def drop_roles(app: Sphinx, pagename: str, templatename: str, context: dict, doctree) -> None:
    """Take deprecated roles out of a page's body."""
    for role in DATED_ROLES:
        context["body"] = context.get("body", "").replace(role, "")


def drop_templates(app: Sphinx, exception: Exception | None) -> None:
    """Take the themes' templates out of the site."""
    for name in TEMPLATES:
        (Path(app.outdir) / "_static" / name).unlink(missing_ok=True)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("html-page-context", drop_roles)
    app.connect("build-finished", drop_templates)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
