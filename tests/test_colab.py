"""The chapters' copies for Colab say what the site says, and run with what Colab has installed."""

import base64
import functools
import http.server
import io
import json
import os
import re
import subprocess
import threading
import warnings
from pathlib import Path

import nbformat
import pytest
import torch
from bs4 import BeautifulSoup
from helpers import lacking
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin
from myst_nb.core.utils import coalesce_streams
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from sphinx.application import Sphinx
from sphinx.errors import SphinxError
from sphinx.util.docutils import docutils_namespace

from _ext import colab, repository, student
from _ext.colab_markdown import Markdown
from _ext.predict import VERDICTS
from _ext.wheel import PACKAGE

ROOT = Path(__file__).parent.parent
PAGES = ROOT / "_build" / "html" / "chapters"
DRAFTS = ROOT / "_build" / colab.DRAFTS
CHAPTERS = sorted(path.stem for path in (ROOT / "chapters").glob("[0-9]*.ipynb"))
COLAB = ROOT / ".venv-colab"
SITE = "https://someone.github.io/where-am-i/"
SHOWN_AS_HTML = ("explore(", "live figure", "to draw", "to place", "to turn")
EACH_CHAPTER = pytest.mark.parametrize("name", CHAPTERS)


# The repository


@pytest.mark.parametrize(
    ("remote", "expected"),
    [
        ("https://github.com/someone/where-am-i", "someone/where-am-i"),
        ("https://github.com/someone/where-am-i.git\n", "someone/where-am-i"),
        ("https://github.com/someone/where-am-i/", "someone/where-am-i"),
        ("https://user:token@github.com/someone/where-am-i.git", "someone/where-am-i"),
        ("git@github.com:someone/where.am.i.git", "someone/where.am.i"),
        ("ssh://git@github.com/someone/where-am-i.git", "someone/where-am-i"),
        ("ssh://git@github.com:22/someone/where-am-i", "someone/where-am-i"),
        ("git://github.com/someone/where-am-i.git", "someone/where-am-i"),
        ("https://gitlab.com/someone/where-am-i.git", None),
        ("https://github.com.example.org/someone/where-am-i", None),
        ("https://example.org/github.com/someone/where-am-i", None),
        ("https://github.com/someone", None),
        ("/srv/github.com/someone/where-am-i", None),
        ("../where-am-i", None),
        ("", None),
    ],
)
def test_a_remote_on_github_has_an_owner_and_a_name(remote, expected):
    assert repository.parse(remote) == expected


def test_ci_knows_the_repository_better_than_git(tmp_path):
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    assert repository.find({}, tmp_path) is None
    remote = ["remote", "add", "origin", "git@github.com:one/book.git"]
    subprocess.run(["git", "-C", tmp_path, *remote], check=True)
    assert repository.find({}, tmp_path) == "one/book"
    assert repository.find({"GITHUB_REPOSITORY": "two/book"}, tmp_path) == "two/book"
    elsewhere = {"GITHUB_REPOSITORY": "two/book", "GITHUB_SERVER_URL": "https://git.example.org"}
    assert repository.find(elsewhere, tmp_path) is None


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("Someone/where-am-i", {}, "https://someone.github.io/where-am-i/"),
        ("Someone/someone.github.io", {}, "https://someone.github.io/"),
        ("Someone/Someone.github.io", {}, "https://someone.github.io/"),
        ("Someone/book", {"SITE_URL": "https://book.example.org"}, "https://book.example.org/"),
        ("Someone/book", {"SITE_URL": "https://example.org/a/"}, "https://example.org/a/"),
    ],
)
def test_the_site_has_an_address(name, given, expected):
    assert repository.site(name, given) == expected


# The translation, one construct at a time: what is written, and what Colab gets

CONSTRUCTS = {
    "text": (
        "Two * stars, a_b, \\<tag>, $x_1 < 2$ and `a*b`.",
        r"Two \* stars, a\_b, &lt;tag>, $x_1 < 2$ and `a*b`.",
    ),
    "emphasis": (
        "*one*, **two** and [three](https://example.org/a_b)",
        "*one*, **two** and [three](https://example.org/a_b)",
    ),
    "list": ("- one\n- two $x$\n  - three", "- one\n\n- two $x$\n\n  - three"),
    "numbers": ("3. one\n4. two", "3. one\n4. two"),
    "not a list": ("1\\. one\n\\- two", "1\\. one - two"),
    "not a heading": ("\\# one", "\\# one"),
    "quote": ("> one\n>\n> two", "> one\n>\n> two"),
    "code": ("```python\na = '{doc}`x`'\n```", "```python\na = '{doc}`x`'\n```"),
    "table": (
        "| a | b |\n|---|---|\n| $\\|x\\|$ | `c` |",
        "| a | b |\n| --- | --- |\n| $\\vert x\\vert$ | `c` |",
    ),
    "comment": ("one\n\n% two\n\nthree", "one\n\nthree"),
    "target": ("(here)=\none", "one"),
    "formula": ("$$\na\n= b\n$$", "$$\na = b\n$$"),
    "numbered formula": ("$$\na = b\n$$ (eq-a)", "$$\na = b \\tag{1.1}\n$$"),
    "lines": (
        "$$\na &= b \\\\\n&= c\n$$ (eq-b)",
        "$$\n\\begin{aligned} a &= b \\\\ &= c \\end{aligned} \\tag{1.2}\n$$",
    ),
    "eq": ("By {eq}`eq-b`.", "By (1.2)."),
    "eq elsewhere": ("By {eq}`eq-other`.", "By [(2.1)](/other.html#equation-eq-other)."),
    "doc": ("See {doc}`other`.", "See [The other](/other.html)."),
    "ref": ("See {ref}`there`.", "See [A place](/other.html#there)."),
    "numref": (
        "See {numref}`fig-one` and {numref}`fig-other`.",
        "See Figure 1.1 and [Figure 2.1](/other.html#fig-other).",
    ),
    "term": (
        "A {term}`token` and {term}`tokens <token>`.",
        "A [token](/other.html#term-token) and [tokens](/other.html#term-token).",
    ),
    "cite p": ("RoPE {cite:p}`su2021roformer`.", "RoPE [[Su *et al.*, 2021](/bib.html#id)]."),
    "cite t": ("By {cite:t}`su2021roformer`.", "By Su *et al.* [[2021](/bib.html#id)]."),
    "admonition": (
        "```{admonition} The *question*\n:class: tip\nWhich one?\n\n- a\n```",
        "> **The *question***\n>\n> Which one?\n>\n> - a",
    ),
    "note": ("```{note}\nMind.\n```", "> **Note**\n>\n> Mind."),
    "margin": ("```{margin}\none $x$\n```", "> one $x$"),
    "trap": (
        "```{trap} Two *wholes*\nThey overflow.\n```",
        "<details><summary><strong>Trap: </strong>Two <em>wholes</em></summary>\n\n"
        "They overflow.\n\n</details>",
    ),
    "detail": (
        "```{detail} Sixteen: the *proof*\nCount.\n```",
        "<details><summary>Sixteen: the <em>proof</em></summary>\n\nCount.\n\n</details>",
    ),
    "predict": (
        "```{predict}\nIs $a < b$?\n\n- [ ] Yes & *no*.\n\n  Look at $a$.\n"
        "- [x] At $b < 1$.\n\n  By {eq}`eq-b`.\n```",
        "> **Predict**\n>\n> Is $a < b$?\n\n"
        "<details><summary>Yes &amp; <em>no</em>.</summary>\n\n"
        f"**{VERDICTS[False]}** Look at $a$.\n\n</details>\n\n"
        "At $b < 1$.\n\n<details><summary>This one</summary>\n\n"
        f"**{VERDICTS[True]}** By (1.2).\n\n</details>",
    ),
}

UNKNOWN = {
    "footnote": "one[^1]\n\n[^1]: two",
    "html": "<b>one</b>",
    "subscript": "x{sub}`1`",
    "definitions": "one\n: two",
    "percent": "$$\na % b\n$$",
    "environment": "\\begin{align}\na &= b\n\\end{align}",
}

OTHER = """# The other

$$
c = d
$$ (eq-other)

```{figure} one.png
:name: fig-other
Other
```

(there)=
## A place

```{glossary}
token
  A piece of text.
```
"""

CONFIG = {
    "extensions": [
        "myst_nb",
        "sphinxcontrib.bibtex",
        "sphinx_book_theme",
        "_ext.predict",
        "_ext.seal",
    ],
    "bibtex_bibfiles": ["references.bib"],
    "bibtex_reference_style": "author_year",
    "html_secnumber_suffix": ". ",
    "math_eqref_format": "({number})",
    "math_numfig": True,
    "myst_enable_extensions": ["amsmath", "colon_fence", "deflist", "dollarmath"],
    "nb_execution_mode": "off",
    "numfig": True,
    "numfig_format": {"figure": "Figure %s"},
}

FOLDED = ["trap", "hide-input"]
SEAL = "assert x < 1\nprint('x is small')"
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="


def small_chapter():
    """A notebook with each construct in a section of its own, and cells of each kind."""
    text = "\n\n".join(f"## {name}\n\n{myst}" for name, (myst, _) in CONSTRUCTS.items())
    figure = {"caption": "By {cite:t}`su2021roformer`, $x$.", "name": "fig-one"}
    shown = nbformat.v4.new_output("display_data", {"image/png": PNG, "text/plain": "<Figure>"})
    said = nbformat.v4.new_output("stream", text="not run\n")
    claim = nbformat.v4.new_output("stream", text="x is small\n")
    cells = [
        nbformat.v4.new_markdown_cell(f"# The chapter\n\n{text}"),
        nbformat.v4.new_code_cell("1 + 1"),
        nbformat.v4.new_code_cell("draw()", outputs=[shown], metadata={
            "mystnb": {"figure": figure, "image": {"alt": "A dot."}}, "tags": ["hide-input"],
        }),
        nbformat.v4.new_code_cell("gpu()", outputs=[said], metadata={"tags": ["gpu"]}),
        nbformat.v4.new_markdown_cell("## Folds\n\n```{predict}\nDraw $x$.\n```"),
        nbformat.v4.new_code_cell("guess()", metadata={"tags": ["predict", "hide-input"]}),
        nbformat.v4.new_markdown_cell("covered\n\n```{trap} Stop\nHere.\n```"),
        nbformat.v4.new_code_cell("import a\nfrom b import c", metadata={"tags": FOLDED}),
        nbformat.v4.new_code_cell(SEAL, outputs=[claim], metadata={"tags": ["seal"]}),
        nbformat.v4.new_code_cell("1 / 0", metadata={"tags": ["raises-exception"]}),
    ]  # fmt: skip
    language = {"name": "python", "pygments_lexer": "ipython3"}
    return nbformat.v4.new_notebook(cells=cells, metadata={"language_info": language})


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    """A Sphinx build of a small book; what it registers is gone for who builds another later."""
    folder = tmp_path_factory.mktemp("book")
    pages = ["page", "other", "bib", *(f"unknown_{name}" for name in UNKNOWN)]
    index = "# Index\n\n```{toctree}\n:numbered:\n" + "\n".join(pages) + "\n```\n"
    nbformat.write(small_chapter(), folder / "page.ipynb")
    (folder / "one.png").write_bytes(base64.b64decode(PNG))
    (folder / "index.md").write_text(index)
    (folder / "other.md").write_text(OTHER)
    (folder / "bib.md").write_text("# Bibliography\n\n```{bibliography}\n```\n")
    for name, myst in UNKNOWN.items():
        (folder / f"unknown_{name}.md").write_text(f"# Unknown\n\n{myst}\n")
    bib = (ROOT / "chapters" / "references.bib").read_text()
    (folder / "references.bib").write_text(bib)
    out, said = folder / "_build" / "html", io.StringIO()
    with docutils_namespace():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            app = Sphinx(folder, None, out, out / ".doctrees", "html", CONFIG, None, said)
            app.build()
        yield app


def parts(app, docname):
    doctree = app.env.get_and_resolve_doctree(docname, app.builder)
    return list(Markdown(app.builder, docname, f"{SITE}{docname}.html").parts(doctree))


def short(text):
    """The text with the site's address and the numbers of the bibliography left out."""
    return re.sub(r"#id\d+", "#id", text.replace(SITE, "/"))


@pytest.fixture(scope="module")
def sections(book):
    """Title -> number and text of each section of the small chapter."""
    text = "\n\n".join(part for part in parts(book, "page") if isinstance(part, str))
    found = re.findall(r"^## (\S+) (.*)\n\n((?:(?!^## ).*\n?)*)", text, re.MULTILINE)
    return {name: (number, body.strip()) for number, name, body in found}


@pytest.mark.parametrize("name", CONSTRUCTS)
def test_a_construct_becomes_what_colab_shows(name, sections):
    number, text = sections[name]
    assert short(text) == CONSTRUCTS[name][1]
    assert number == f"1.{list(CONSTRUCTS).index(name) + 1}."


@pytest.mark.parametrize("name", UNKNOWN)
def test_an_unknown_construct_is_an_error(name, book):
    with pytest.raises(SphinxError, match=f"unknown_{name}: "):
        parts(book, f"unknown_{name}")


def test_code_cells_keep_what_colab_can_show(book):
    cells = small_chapter().cells
    container = next(
        p for p in parts(book, "page") if not isinstance(p, str) and p["cell_index"] == 2
    )
    caption = Markdown(book.builder, "page", f"{SITE}page.html").caption(container)
    assert short(caption) == "*Figure 1.1.* By Su *et al.* [[2021](/bib.html#id)], $x$."
    plain, figure, gpu = (colab.code_cell(cell, caption, "page") for cell in cells[1:4])
    assert (plain.source, plain.metadata, plain.id) == ("1 + 1", {}, cells[1].id)
    assert figure.source == "# @title Figure 1.1: its code\ndraw()"
    assert figure.metadata == {"cellView": "form"}
    assert figure.outputs[0].metadata == {"image/png": {"alt": "A dot."}}
    assert "A dot." in colab.in_words(figure)
    assert gpu.source == "%%gpu\ngpu()"
    assert gpu.outputs[0].text == "not run\n"
    with pytest.raises(SphinxError, match="raises-exception"):
        colab.code_cell(cells[-1], None, "page")


def test_folded_cells_are_forms_in_the_order_of_the_page(book):
    cells = {n: cell for n, cell in enumerate(small_chapter().cells) if cell.cell_type == "code"}
    found = parts(book, "page")
    at = found.index("> **Predict**\n>\n> Draw $x$.")
    written = [
        part if isinstance(part, str) else colab.code_cell(cells[part["cell_index"]], None, "page")
        for part in found[at : at + 6]
    ]
    assert written[1].source == "# @title Answer here\nguess()"
    assert written[2] == "covered"
    assert written[3].startswith("<details><summary><strong>Trap: </strong>Stop</summary>")
    assert written[4].source == "# @title Imports\nimport a\nfrom b import c"
    assert written[5].source == f"# @title ✓ x is small\n{SEAL}"
    assert all(
        cell.metadata == {"cellView": "form"} for cell in written if not isinstance(cell, str)
    )


# The wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return colab.build_wheel(tmp_path_factory.mktemp("wheel"))


def sources(folder):
    """A copy of what the wheel is built from."""
    folder.mkdir()
    for name in PACKAGE:
        subprocess.run(["cp", "-r", ROOT / name, folder], check=True)
    return folder


def test_the_same_sources_give_the_same_wheel_and_leave_no_trace(tmp_path, wheel):
    root = sources(tmp_path / "root")
    (root / "posenc" / "alibi.py").chmod(0o600)
    before = set(root.rglob("*"))
    umask = os.umask(0o077)
    try:
        again = colab.build_wheel(tmp_path / "again", root)
    finally:
        os.umask(umask)
    assert set(root.rglob("*")) == before
    assert again.read_bytes() == wheel.read_bytes()
    with (root / "posenc" / "alibi.py").open("a") as file:
        file.write("# changed\n")
    other = colab.build_wheel(tmp_path / "other", root)
    assert other.name == wheel.name
    assert other.read_bytes() != wheel.read_bytes()


# The copies of the last build


def own_source(cell):
    """What a cell of a copy holds but for the lines that the copy added."""
    return re.sub(r"\A(?:%%gpu\n)?(?:# @title .*\n)?", "", cell.source)


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


@functools.cache
def drafted(name):
    """The draft of a chapter, if the last build made it of the chapter as it is now."""
    chapter = nbformat.read(ROOT / "chapters" / f"{name}.ipynb", as_version=4)
    path = DRAFTS / f"{name}.ipynb"
    if not path.exists():
        return None
    draft = nbformat.read(path, as_version=4)
    same = [c.source for c in code_cells(chapter)] == [own_source(c) for c in code_cells(draft)]
    return draft if same else None


@pytest.fixture
def draft(name):
    return drafted(name) or lacking(f"{name} was not built as it is now; type: make book")


@pytest.fixture
def page(name, draft):
    """What the site shows between header and footer, and no code or output but captions."""
    html = (PAGES / f"{name}.html").read_text(encoding="utf-8")
    article = BeautifulSoup(html, "html.parser").select_one("article.bd-article")
    for formula in article.select("[data-tex]"):
        formula.replace_with(formula["data-tex"])
    for cell in article.select("div.cell"):
        captions = [caption.extract() for caption in cell.select("figcaption")]
        cell.replace_with(*captions)
    only_here = ".cover, .predict-score, .next-chapter, .about-page .d-print-none"
    only_here += ", .seal > summary, .seals > summary"  # a seal's line is its form's title
    for node in article.select(f".headerlink, [role=tooltip], script, style, {only_here}"):
        node.decompose()
    return article


def rendered(notebook):
    """The text cells as HTML."""
    reader = MarkdownIt("commonmark", {"html": True}).enable("table").use(dollarmath_plugin)
    texts = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    return BeautifulSoup("\n".join(map(reader.render, texts)), "html.parser")


def words(soup):
    """The words and formulas; how a formula is numbered and its lines are grouped is left out."""
    text = re.sub(r"\\(?:begin|end)\{(?:split|aligned|equation\*?)\}", " ", soup.get_text(" "))
    text = re.sub(r"\\tag\{.*?\}", " ", text).replace(r"\vert", " ").replace(r"\Vert", " ")
    return re.findall(r"\w+", text)


@EACH_CHAPTER
class TestCopy:
    def test_holds_every_cell_and_output(self, name, draft):
        chapter = nbformat.read(ROOT / "chapters" / f"{name}.ipynb", as_version=4)
        for own, copied in zip(code_cells(chapter), code_cells(draft), strict=True):
            assert copied.id == own.id
            assert len(copied.outputs) == len(own.outputs)
            for output in copied.outputs:
                data = output.get("data", {})
                drawn = data.get("text/plain", "").startswith("<Figure")
                moved = data.get("text/plain", "").startswith(SHOWN_AS_HTML)
                assert ("image/png" in data) == drawn
                assert not moved or "text/html" in data

    def test_is_a_valid_notebook_for_colab(self, name, draft, tmp_path, wheel, monkeypatch):
        monkeypatch.setattr(colab, "build_wheel", lambda folder: wheel)
        one = tmp_path / "drafts"
        one.mkdir()
        nbformat.write(draft, one / f"{name}.ipynb")
        (path,) = colab.publish(one, SITE, tmp_path)
        text = path.read_text(encoding="utf-8")
        copy = nbformat.reads(text, as_version=4)
        nbformat.validate(copy)
        assert colab.SITE not in text
        assert f"{SITE}chapters/{name}.html" in copy.cells[0].source
        assert f'WHEEL = "{SITE}wheels/{wheel.name}"' in copy.cells[1].source
        assert copy.metadata.colab.name == path.name
        assert copy.metadata.kernelspec.name == "python3"
        assert len({cell.id for cell in copy.cells}) == len(copy.cells)

    def test_holds_no_myst(self, name, draft):
        for cell in draft.cells:
            if cell.cell_type == "markdown":
                text = re.sub(r"(?<!\})`[^`{}\n]*`", "", cell.source)
                assert not re.search(r"\{[\w:-]+\}`|`{3}\{|:{3}|^\(\S+\)=|^%|^:\w+:", text, re.M)

    def test_says_what_the_site_says(self, name, draft, page):
        copy = rendered(draft)
        for summary in copy.find_all("summary"):
            if summary.get_text() == "In words":
                summary.parent.decompose()
            elif summary.get_text() == "This one":
                summary.decompose()
        for number in page.select(".eqno"):
            number.decompose()
        assert words(copy) == words(page)

    def test_numbers_formulas_and_figures_as_the_site_does(self, name, draft, page):
        text = "\n".join(cell.source for cell in draft.cells if cell.cell_type == "markdown")
        formulas = [node.get_text().strip(" ()¶#") for node in page.select(".eqno")]
        assert re.findall(r"\\tag\{(.*?)\}", text) == formulas
        figures = [node.get_text().strip() for node in page.select(".caption-number")]
        assert re.findall(r"^\*(Figure \d+\.\d+)\.\*", text, re.M) == figures
        assert formulas
        assert figures

    def test_links_lead_to_places_on_the_site(self, name, draft):
        links = [link["href"] for link in rendered(draft).select("a[href]")]
        inner = [link.removeprefix(colab.SITE) for link in links if link.startswith(colab.SITE)]
        assert inner
        assert not [link for link in links if not link.startswith(("https://", "http://"))]
        for path, _, anchor in (link.partition("#") for link in inner):
            html = (ROOT / "_build" / "html" / path).read_text(encoding="utf-8")
            assert not anchor or f'id="{anchor}"' in html

    def test_says_in_words_what_an_image_shows(self, name, draft):
        chapter = nbformat.read(ROOT / "chapters" / f"{name}.ipynb", as_version=4)
        alts = [c.metadata.get("mystnb", {}).get("image", {}).get("alt") for c in chapter.cells]
        said = [
            summary.parent.get_text().split(maxsplit=2)[2]
            for summary in rendered(draft).find_all("summary")
            if summary.get_text() == "In words"
        ]
        assert [alt.split() for alt in alts if alt] == [text.split() for text in said]
        held = [o.metadata for cell in code_cells(draft) for o in cell.outputs if "metadata" in o]
        assert [m["image/png"]["alt"] for m in held if m] == [alt for alt in alts if alt]

    def test_the_page_has_a_button_only_where_there_is_a_repository(self, name, draft):
        html = (PAGES / f"{name}.html").read_text(encoding="utf-8")
        links = re.findall(rf'href="{colab.COLAB}/[\w.-]+/[\w.-]+/blob/gh-pages/(\S*)"', html)
        published = (PAGES.parent / "colab" / f"{name}.ipynb").exists()
        assert links == [f"colab/{name}.ipynb"] * published


# The copies at work


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A local site with the wheel and the copies of all chapters: its address and its folder."""
    folder = tmp_path_factory.mktemp("site")
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/"
        if DRAFTS.exists():
            colab.publish(DRAFTS, address, folder)
            (wheel,) = (folder / "wheels").glob("*.whl")
            student.write(folder / "student", f"{address}wheels/{wheel.name}")
        yield address, folder
        server.shutdown()


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A fresh machine with Colab's packages, where a test may install more: its Python."""
    if not (COLAB / ".ready").exists():
        lacking("there is no environment with Colab's packages; type: make .venv-colab/.ready")
    python = tmp_path / "machine" / "bin" / "python"
    command = [COLAB / "bin" / "python", "-m", "venv", "--without-pip", tmp_path / "machine"]
    subprocess.run(command, check=True)
    ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
    has, gets = (
        subprocess.run([p, "-c", ask], capture_output=True, check=True, text=True).stdout.strip()
        for p in (COLAB / "bin" / "python", python)
    )
    Path(gets, "colab.pth").write_text(has + "\n")
    spec = tmp_path / "jupyter" / "kernels" / "colab" / "kernel.json"
    spec.parent.mkdir(parents=True)
    argv = [str(python), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    spec.write_text(json.dumps({"argv": argv, "display_name": "Colab", "language": "python"}))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "jupyter"))
    return python


def packages(python):
    command = [python, "-m", "pip", "list", "--format=json", "--disable-pip-version-check"]
    listed = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    return {p["name"].lower().replace("_", "-"): p["version"] for p in json.loads(listed)}


def run(notebook, folder):
    """Run all cells as a kernel of that machine, which knows nothing of a book build."""
    hidden = {"POSENC_BOOK", "PYTHONPATH"}
    environment = {key: value for key, value in os.environ.items() if key not in hidden}
    client = NotebookClient(
        notebook,
        timeout=600,
        kernel_name="colab",
        resources={"metadata": {"path": str(folder)}},
        coalesce_streams=True,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # jupyter-client's, on its own event loop
        client.execute(env=environment)


def printed(cell):
    return "".join(o.text for o in cell.outputs if o.get("name") == "stdout")


def plain(cell):
    return [o.data.get("text/plain") for o in cell.outputs if "data" in o]


@EACH_CHAPTER
def test_a_copy_runs_in_colab_and_changes_nothing_there(name, draft, site, machine, tmp_path):
    copy = nbformat.read(site[1] / "colab" / f"{name}.ipynb", as_version=4)
    stored = [cell.copy() for cell in copy.cells]
    again = copy.cells[1].copy()
    again.id = "again"
    copy.cells.append(again)
    before = packages(machine)
    run(copy, tmp_path)
    after = packages(machine)
    assert {package: after.get(package) for package in before} == before
    assert set(after) - set(before) == {"posenc", "jaxtyping", "wadler-lindig"}
    assert not again.outputs
    for old, new in zip(stored[2:], copy.cells[2:-1], strict=True):
        if old.cell_type == "code":
            compare(old, new)


@pytest.mark.parametrize("name", [path.stem for path in student.masters()])
def test_an_unanswered_exercise_runs_in_colab_and_can_be_solved(name, site, machine, tmp_path):
    if not DRAFTS.exists():
        lacking(f"no copies in {DRAFTS}; type: make book")
    copy = nbformat.read(site[1] / "student" / f"{name}.ipynb", as_version=4)
    solved = nbformat.read(student.EXERCISES / f"{name}.ipynb", as_version=4)
    for _, _, cell in student.blocks(solved):
        if cell.cell_type == "code":
            copy.cells.append(nbformat.v4.new_code_cell(cell.source))
    before = packages(machine)
    run(copy, tmp_path)
    after = packages(machine)
    assert {package: after.get(package) for package in before} == before
    assert set(after) - set(before) == {"posenc", "jaxtyping", "wadler-lindig"}
    verdicts = [text for cell in code_cells(copy) for text in plain(cell) if text]
    for question in student.exercises(solved):
        if not question.written:
            first, second = (text for text in verdicts if text.startswith(f"{question.name}: "))
            given = question.level == "Debugging"  # its code is there, and wrong
            assert ("wrong" if given else "not answered yet") in first
            assert second.startswith(f"{question.name}: right")


def compare(stored, ran):
    """A cell prints and shows in Colab what it does on the site; figures are widgets there."""
    ran.outputs = coalesce_streams(ran.outputs)
    assert not [o for o in ran.outputs if o.output_type == "error" or o.get("name") == "stderr"]
    if ran.source.startswith(colab.GPU_LINE):
        assert printed(ran).startswith("Not run: this cell needs a GPU") or "commit" in printed(ran)
        return
    assert printed(ran) == printed(stored)
    assert plain(ran) == plain(stored)
    for old, new in zip(stored.outputs, ran.outputs, strict=True):
        data = new.get("data", {})
        assert ("image/png" in data) == ("image/png" in old.get("data", {}))
        page = "".join(old.get("data", {}).get("text/html", ""))
        drawn_by_python = (
            'data-figure="frames"' in page
        )  # what the page draws itself stays as it is
        assert ("application/vnd.jupyter.widget-view+json" in data) == drawn_by_python
        assert ("text/html" in data) == (bool(page) and not drawn_by_python)


def installation(address, wheel, sha256=None, *, gpu=False):
    """A notebook of the cells that a copy begins with, and one that imports posenc."""
    book = {"title": "Book", "page": "page.html"}
    cells = colab.setup_cells(book, address, wheel, gpu=gpu)
    if sha256:
        cells[1].source = re.sub(r'SHA256 = "\w+"', f'SHA256 = "{sha256}"', cells[1].source)
    cells.append(nbformat.v4.new_code_cell("import posenc; print(posenc.__file__)"))
    return nbformat.v4.new_notebook(cells=cells)


@pytest.fixture
def served(site, machine):
    """The wheel that the local site serves, beside a machine that may install it."""
    wheels = list((site[1] / "wheels").glob("*.whl"))
    return wheels[0] if wheels else colab.build_wheel(site[1] / "wheels")


def test_a_wheel_that_is_not_the_pages_is_refused(site, served, tmp_path):
    notebook = installation(site[0], served, sha256="0" * 64)
    with pytest.raises(CellExecutionError, match="posenc was not installed, so the cells below"):
        run(notebook, tmp_path)
    assert "DO NOT MATCH THE HASHES" in printed(notebook.cells[1])
    assert not notebook.cells[2].outputs


def test_a_missing_wheel_is_noticed(site, served, tmp_path):
    with pytest.raises(CellExecutionError, match="posenc was not installed"):
        run(installation(f"{site[0]}nowhere/", served), tmp_path)


@pytest.mark.long
def test_another_wheel_of_the_same_version_is_replaced(site, served, machine, tmp_path):
    source = sources(tmp_path / "source")
    with (source / "posenc" / "alibi.py").open("a") as file:
        file.write("# an older page's\n")
    older = colab.build_wheel(site[1] / "older" / "wheels", source)
    run(installation(f"{site[0]}older/", older), tmp_path)
    alibi = next((tmp_path / "machine").glob("lib/*/site-packages/posenc/alibi.py"))
    assert "an older page's" in alibi.read_text()
    run(installation(site[0], served), tmp_path)
    assert "an older page's" not in alibi.read_text()


def test_a_repeated_installation_is_quick(site, served, tmp_path):
    notebook = installation(site[0], served)
    clock = "import time; print(time.time())"
    notebook.cells[3:] = [
        nbformat.v4.new_code_cell(clock),
        notebook.cells[1].copy(),
        nbformat.v4.new_code_cell(clock),
    ]
    notebook.cells[4].id = "again"
    run(notebook, tmp_path)
    start, _, end = notebook.cells[3:]
    assert float(printed(end)) - float(printed(start)) < 1


def test_cells_for_a_gpu_say_so_without_one(site, served, tmp_path):
    notebook = installation(site[0], served, gpu=True)
    notebook.cells[2].source = "%%gpu\nx = 1"
    notebook.cells.append(nbformat.v4.new_code_cell("print('x' in globals())"))
    run(notebook, tmp_path)
    said, known = map(printed, notebook.cells[2:])
    runs = torch.cuda.is_available() and torch.cuda.get_device_capability() >= (8, 0)
    assert known == f"{runs}\n"
    assert runs or said.startswith("Not run: this cell needs a GPU")


def test_colab_has_the_versions_that_the_package_is_held_against():
    from test_package import COLAB as claimed

    text = (ROOT / "tests" / "colab-requirements.txt").read_text()
    pinned = dict(line.split("==") for line in text.splitlines() if "==" in line)
    for package, version in claimed.items():
        assert package == "torch" or pinned[package] == version
