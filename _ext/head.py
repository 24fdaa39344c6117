"""What others show of a page: its title, a description, and a card when it is shared.

The address of the site itself leads to the cover, with the cover's tags: it is what people share.
"""

import html
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

from _ext.cover import question

CARD = "_static/share.png"
TOP = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8" />
<meta name="viewport" content="width=device-width, initial-scale=1" />
<meta http-equiv="Refresh" content="0; url={cover}" />
<link rel="canonical" href="{cover}" />
<title>{title}</title>
{tags}
</head>
<body><main><h1>{title}</h1><p><a href="{cover}">Open the book</a></p></main></body>
</html>
"""


def description(doctree: nodes.document) -> str:
    """A chapter's question, or else the first paragraph of the page."""
    found = question(doctree) or next(doctree.findall(nodes.paragraph), None)
    return " ".join(found.astext().split()) if found else ""


def describe(app: Sphinx, pagename: str, templatename: str, context: dict, doctree) -> None:
    """Write the page's tags."""
    if app.builder.name != "html" or doctree is None:
        return
    title = html.unescape(nodes.Text(app.env.titles[pagename].astext()))
    is_cover = pagename == app.config.root_doc
    if is_cover:
        context["docstitle"] = ""  # or the book's name would stand there twice
    said = {"description": description(doctree)}
    shared = {"og:type": "article", "og:site_name": app.config.html_title, "og:title": title}
    shared["og:description"] = said["description"]
    if site := app.config.book_site:
        shared |= {"og:url": site + app.builder.get_target_uri(pagename), "og:image": site + CARD}
        said["twitter:card"] = "summary_large_image"
    tags = [f'<meta name="{k}" content="{html.escape(v)}" />' for k, v in said.items() if v]
    tags += [f'<meta property="{k}" content="{html.escape(v)}" />' for k, v in shared.items() if v]
    context["metatags"] = context.get("metatags", "") + "\n".join(tags)
    if is_cover:
        cover = app.builder.get_target_uri(pagename)
        top = TOP.format(cover=cover, title=html.escape(title), tags="\n".join(tags))
        (Path(app.outdir) / "index.html").write_text(top, "utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.setup_extension("_ext.repository")
    app.connect("html-page-context", describe)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
