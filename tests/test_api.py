"""The reference page: every public name once, readable signatures, links that lead somewhere."""

import pydoc
import re
from pathlib import Path

import bs4
import pytest
import yaml
from small_book import sphinx
from sphinx.util.inventory import InventoryFile

import posenc

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "chapters" / "api.md"
SETTINGS = yaml.safe_load((ROOT / "_config.yml").read_text())["sphinx"]["config"]
OURS = ("add_module_names", "autodoc_", "default_role", "napoleon_", "nitpick_")
CONF = """
import sys
sys.path.insert(0, {root!r})
extensions = ["myst_nb", "_ext.api"]
nitpicky = True
root_doc = "index"
suppress_warnings = ["myst.xref_missing"]
"""


def build(folder, page):
    """Sphinx's run over the reference and a page, with the book's own settings."""
    chosen = {k: v for k, v in SETTINGS.items() if k.startswith(OURS)}
    lines = [f"{name} = {value!r}" for name, value in chosen.items()]
    (folder / "conf.py").write_text("\n".join((CONF.format(root=str(ROOT)), *lines)))
    reference = REFERENCE.read_text()
    (folder / "api.md").write_text(reference.replace("{doc}", ""))  # chapters are not here
    (folder / "index.md").write_text(f"# Page\n\n{page}\n\n```{{toctree}}\napi\n```\n")
    return sphinx(folder)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("api")
    run = build(folder, "See {py:func}`posenc.rotate` and {py:class}`posenc.LearnedEncoding`.")
    assert run.returncode == 0, run.stderr
    return folder / "out"


@pytest.fixture(scope="module")
def page(site):
    return bs4.BeautifulSoup((site / "api.html").read_text(), "html.parser")


def signature(page, name):
    """What is read of a signature, without the spaces between its parts."""
    return "".join(page.find("dt", id=f"posenc.{name}").text.split()).rstrip("¶#")


def test_every_public_name_stands_on_the_page_once():
    names = re.findall(r"^\.\. auto\w+:: (\w+)$", REFERENCE.read_text(), re.MULTILINE)
    assert sorted(names) == posenc.__all__


def test_the_page_shows_every_public_name(page):
    names = [dt["id"] for dt in page.select("dl.py > dt[id]") if dt["id"].count(".") == 1]
    assert sorted(names) == [f"posenc.{name}" for name in posenc.__all__]


def test_other_projects_can_link_to_every_name(site):
    with (site / "objects.inv").open("rb") as file:
        inventory = InventoryFile.load(file, "", lambda base, path: path)
    known = inventory["py:function"] | inventory["py:class"]
    assert {f"posenc.{name}" for name in posenc.__all__} <= set(known)


def test_signatures_are_written_as_in_the_sources(page):
    assert signature(page, "rotate").startswith("rotate(x:Float[Tensor,'*axesd'],")
    assert "pairing:Literal['interleaved','half']" in signature(page, "rotate")
    assert signature(page, "inverse_frequencies").endswith("→Float64[Tensor,'half']")
    assert "bias:Callable[[Tensor],Tensor]" in signature(page, "relative_attention")
    assert not any("jaxtyping." in dt.text or "typing." in dt.text for dt in page.find_all("dt"))


def test_formulas_keep_their_lines(page):
    body = page.find("dt", id="posenc.sinusoidal_encoding").find_next_sibling("dd")
    formula = body.find("pre").text.splitlines()
    assert formula[0].startswith("PE[p, 2i]     = sin(p / base^(2i/dim))")
    assert formula[1].startswith("PE[p, 2i + 1] = cos")


def test_a_word_in_backticks_is_code_and_a_link_where_it_can_be(page):
    body = page.find("dt", id="posenc.t5_buckets").find_parent("section")
    links = {a.text: a["href"] for a in body.select("p a.reference.internal")}
    assert links["t5_buckets"] == "#posenc.t5_buckets"


def test_chapters_link_to_the_page(site):
    index = bs4.BeautifulSoup((site / "index.html").read_text(), "html.parser")
    links = [a["href"] for a in index.select("p > a.reference.internal")]
    assert links == ["api.html#posenc.rotate", "api.html#posenc.LearnedEncoding"]


def test_a_link_to_a_name_that_is_not_there_fails(tmp_path):
    run = build(tmp_path, "See {py:func}`posenc.rotat`.")
    assert run.returncode != 0
    assert "posenc.rotat" in run.stderr


def test_what_is_loaded_late_is_found_by_completion_and_by_help():
    late = {"identify", "compare", "models"}
    assert late <= set(dir(posenc))
    shown = pydoc.plain(pydoc.render_doc(posenc))
    for name in late:
        assert f"    {name}(" in shown
        assert f"`{name}`" in posenc.__doc__
