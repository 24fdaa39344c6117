"""What the book's own Sphinx extensions make of a page, on a small book of one or two pages."""

import re
import subprocess
import sys
from pathlib import Path

import bs4
import pytest

ROOT = Path(__file__).parent.parent
CONF = """
import sys
sys.path.insert(0, {root!r})
extensions = ["myst_parser", {extensions}]
myst_enable_extensions = ["dollarmath"]
root_doc = "chapters/index"
"""
QUESTION = """
```{predict}
Is *one* half of $x = 2$?

- [ ] No.

  It is.
- [x] **Yes.**

  Twice one is two.

  And nothing else is.
```
"""
GLOSSARY = """
# Words

```{glossary}
pair
  Two channels, $a$ and $b$, of a {term}`vector`.

  More about pairs.

vector
  A row of numbers.
```
"""


def build(folder, *extensions, **pages):
    """Build a book of these pages as HTML; return Sphinx's run and the pages' soup."""
    (folder / "chapters").mkdir(exist_ok=True)
    names = ", ".join(map(repr, extensions))
    (folder / "conf.py").write_text(CONF.format(root=str(ROOT), extensions=names))
    for name, text in pages.items():
        (folder / "chapters" / f"{name}.md").write_text(text)
    command = [sys.executable, "-m", "sphinx", "-q", "-W", str(folder), str(folder / "out")]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    found = (folder / "out" / "chapters").glob("*.html")
    return run, {p.stem: bs4.BeautifulSoup(p.read_text(), "html.parser") for p in found}


class TestPredict:
    def test_a_choice_opens_to_its_explanation(self, tmp_path):
        run, pages = build(tmp_path, "_ext.predict", index="# T\n" + QUESTION)
        assert run.returncode == 0, run.stderr
        box = pages["index"].select_one(".admonition.predict")
        assert box.select_one(".admonition-title").text == "Predict"
        wrong, right = box.select("details")
        assert (wrong["class"], right["class"]) == (["wrong"], ["right"])
        assert "open" not in wrong.attrs
        assert wrong.summary.text == "No."
        assert right.summary.strong.text == "Yes."
        assert wrong.p.text == "No. It is."
        assert [p.text for p in right("p")] == ["Right. Twice one is two.", "And nothing else is."]
        assert "[x]" not in box.text
        assert box.select_one(".math")

    @pytest.mark.parametrize(
        ("old", "new", "message"),
        [
            ("[x]", "[ ]", "exactly one right choice"),
            ("[ ]", "[x]", "exactly one right choice"),
            ("[ ] No.", "No.", "a choice needs"),
            ("  It is.\n", "", "a choice needs"),
            ("Is *one* half of $x = 2$?\n", "", "a question and then a list"),
        ],
    )
    def test_mistakes_are_named(self, tmp_path, old, new, message):
        assert old in QUESTION
        run, _ = build(tmp_path, "_ext.predict", index="# T\n" + QUESTION.replace(old, new))
        assert run.returncode != 0
        assert message in run.stderr

    def test_a_box_without_choices_is_a_mistake(self, tmp_path):
        run, _ = build(tmp_path, "_ext.predict", index="# T\n\n```{predict}\nWhy?\n```\n")
        assert "a question and then a list" in run.stderr


class TestGlossary:
    index = "# T\n\nTwo {term}`pairs <pair>`.\n\n```{toctree}\nglossary\n```\n"

    def test_a_term_carries_its_definition(self, tmp_path):
        run, pages = build(tmp_path, "_ext.glossary", index=self.index, glossary=GLOSSARY)
        assert run.returncode == 0, run.stderr
        link = pages["index"].select_one(".has-definition > a")
        assert link["href"] == "glossary.html#term-pair"
        assert link.text == "pairs"
        tip = pages["index"].find(id=link["aria-describedby"])
        assert tip["role"] == "tooltip"
        assert tip.select_one(".math")
        assert re.fullmatch(r"Two channels, .* and .*, of a vector\.", tip.text)
        assert not tip("a")
        assert not pages["glossary"].select(".has-definition")

    def test_a_changed_definition_reaches_the_pages_that_use_it(self, tmp_path):
        build(tmp_path, "_ext.glossary", index=self.index, glossary=GLOSSARY)
        changed = GLOSSARY.replace("Two channels", "Both channels")
        _, pages = build(tmp_path, "_ext.glossary", index=self.index, glossary=changed)
        assert "Both channels" in pages["index"].text


def test_deprecated_roles_are_taken_out(tmp_path):
    raw = '# T\n\n<div role="list"><div role="doc-biblioentry">x</div></div>\n'
    _, before = build(tmp_path, index=raw)
    _, after = build(tmp_path, "_ext.mend", index=raw)
    assert len(before["index"].select('.body [role="list"], .body [role="doc-biblioentry"]')) == 2
    assert not after["index"].select('.body [role="list"], .body [role="doc-biblioentry"]')


class TestExercises:
    def test_without_a_repository_the_notebooks_can_be_downloaded(self, tmp_path, monkeypatch):
        monkeypatch.setenv("GITHUB_REPOSITORY", "x/y")
        monkeypatch.setenv("GITHUB_SERVER_URL", "https://git.example.org")
        run, pages = build(tmp_path, "_ext.exercises", index="# E\n\n```{exercises}\n```\n")
        assert run.returncode == 0, run.stderr
        links = [a for p in pages["index"].select("p.copies") for a in p("a")]
        assert {a.text for a in links} == {"Download the notebook"}
        for link in links:
            copy = tmp_path / "out" / "chapters" / link["href"]
            assert "pip install" not in copy.read_text()

    def test_with_one_they_open_in_colab_and_install_the_sites_wheel(self, tmp_path, monkeypatch):
        monkeypatch.setenv("GITHUB_REPOSITORY", "someone/book")
        monkeypatch.delenv("GITHUB_SERVER_URL", raising=False)
        run, pages = build(tmp_path, "_ext.exercises", index="# E\n\n```{exercises}\n```\n")
        assert run.returncode == 0, run.stderr
        first = pages["index"].select_one("p.copies a")
        assert first.text == "Open in Colab"
        assert first["href"] == (
            "https://colab.research.google.com/github/someone/book/blob/gh-pages/"
            "student/01_position_problem.ipynb"
        )
        site, out = "https://someone.github.io/book/", tmp_path / "out"
        for copy in (out / "student").glob("*.ipynb"):
            wheel = re.search(rf"{site}(wheels/[\w.-]+\.whl)", copy.read_text())[1]
            assert (out / wheel).exists()
