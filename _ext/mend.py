"""Mend what the writer and the theme leave: wrong roles, needless elements and files, a measure.

When a page has loaded, the theme measures every piece of code and every output, and so has all of
the page laid out before anything can be touched. `book.js` looks after wide places when they come
into view, so the theme's own measure is taken out of its script.

Sphinx copies styles and scripts only when a page has changed; here they are copied always, without
their comments, which each page would load.
"""

import re
import shutil
from pathlib import Path

import pydata_sphinx_theme
from sphinx.application import Sphinx
from sphinx.errors import SphinxError

DATED_ROLES = (' role="doc-biblioentry"', ' role="list"')  # written by docutils for citations
OWN = Path(__file__).parent / "static"
TEMPLATES = ("webpack-macros.html", "sbt-webpack-macros.html")  # copied by the themes, not pages

STATIC = Path(pydata_sphinx_theme.__file__).parent / "theme" / "pydata_sphinx_theme" / "static"
HERE = (
    "(document.currentScript.parentElement);</script>"  # what a question's function is called with
)
# what the function of a live figure is called with
RUNTIME = r"(?<=\n}\))\((\(\(\) => {(?:(?!</script>).)*\n}\)\(\))\);</script>"
SCRIPT = Path("scripts", "pydata-sphinx-theme.js")
MEASURE = '"complete"===document.readyState?T():window.addEventListener("load",T)'


def mend_body(app: Sphinx, pagename: str, templatename: str, context: dict, doctree) -> None:
    """Take deprecated roles out of a page's body, and names that hide what a fold says."""
    for wrong in (*DATED_ROLES, ' aria-label="Toggle hidden content"'):
        context["body"] = context.get("body", "").replace(wrong, "")
    context["body"] = plain(once(context["body"]))


def once(body: str) -> str:
    """The same page without what it already has: a figure brings its style, a question its script.

    The first question keeps the function that it calls, as `question`; the others call that. So do
    live figures with what they share, their `runtime`.
    """
    known = set()

    def keep(found: re.Match) -> str:
        new = found[0] not in known
        known.add(found[0])
        return found[0] if new else ""

    def call(found: re.Match) -> str:
        function = found["function"]
        new = function not in known
        known.add(function)
        return f"<script>({f'window.question = {function}' if new else 'question'}){HERE}"

    body = re.sub(r"<style>.*?</style>", keep, body, flags=re.DOTALL)
    written = rf"<script>\((?P<function>(?:(?!</script>).)*?)\){re.escape(HERE)}"
    body = re.sub(written, call, body, flags=re.DOTALL)

    def share(found: re.Match) -> str:
        new = found[1] not in known
        known.add(found[1])
        return f"(window.runtime = {found[1]});</script>" if new else "(window.runtime);</script>"

    return re.sub(RUNTIME, share, body, flags=re.DOTALL)


def plain(body: str) -> str:
    """The same page without elements around words of code that look like the code around them.

    They would be half of all elements of a chapter. (A sign such as = needs no colour of its own.)
    """

    def bare(code: re.Match) -> str:
        return re.sub(r'<span class="(?:n|nn|o|p|w)">([^<]*)</span>', r"\1", code[0])

    return re.sub(r"<pre>.*?</pre>", bare, body, flags=re.DOTALL)


def drop_files(app: Sphinx, exception: Exception | None) -> None:
    """Take the themes' templates and their icons, which no page loads, out of the site."""
    for name in TEMPLATES:
        (Path(app.outdir) / "_static" / name).unlink(missing_ok=True)
    shutil.rmtree(Path(app.outdir) / "_static" / "vendor", ignore_errors=True)


def refresh(app: Sphinx, exception: Exception | None) -> None:
    """Copy the book's own styles and scripts into the site."""
    if exception is None and app.builder.format == "html":
        static = Path(app.outdir) / "_static"
        shutil.copytree(OWN, static, dirs_exist_ok=True)
        for kind, shorten in (("*.css", terse), ("*.js", unremarked)):
            for file in OWN.glob(kind):
                (static / file.name).write_text(shorten(file.read_text("utf-8")), "utf-8")


def terse(style: str) -> str:
    """A style sheet without comments and indents."""
    return re.sub(r"\n\s+", "\n", re.sub(r"[ \t]*/\*.*?\*/", "", style, flags=re.DOTALL))


def unremarked(script: str) -> str:
    """A script without the lines that are remarks."""
    return re.sub(r"^ *//.*\n", "", script, flags=re.MULTILINE)


def unmeasured(script: str) -> str:
    """The theme's script without its measure; SphinxError if it reads otherwise."""
    if script.count(MEASURE) != 1:
        raise SphinxError(f"{SCRIPT.name} is not the one that _ext/mend.py knows: {MEASURE!r}")
    return script.replace(MEASURE, "0")


def quicken(app: Sphinx, exception: Exception | None) -> None:
    """Put the theme's script without its measure in the site, however often that is built."""
    file = Path(app.outdir) / "_static" / SCRIPT
    if exception is None and file.exists():
        file.write_text(unmeasured((STATIC / SCRIPT).read_text("utf-8")), "utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("html-page-context", mend_body)
    app.connect("build-finished", drop_files)
    app.connect("build-finished", refresh)
    app.connect("build-finished", quicken)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
