"""What the book's own Sphinx extensions make of a page, on a small book of one or two pages."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import bs4
import matplotlib.pyplot as plt
import nbformat
import pytest
from docutils import nodes
from docutils.utils import new_document
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from small_book import sphinx
from sphinx.errors import SphinxError

from _ext import about, cover, formulas, mend, seal, search, sets, signs, tables
from _ext.fold import fold
from _ext.predict import predict
from posenc.show import explore, guess_angle, live, table

ROOT = Path(__file__).parent.parent
CONF = """
import sys
sys.path.insert(0, {root!r})
extensions = ["myst_nb", {extensions}]
myst_enable_extensions = ["dollarmath"]
nb_execution_mode = "off"
root_doc = "chapters/index"
exclude_patterns = ["out", "jupyter_execute"]
{settings}
"""
MATHML = "html_math_renderer = 'mathml'"
PYTHON = {"language_info": {"name": "python", "pygments_lexer": "ipython3"}}
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


def build(folder, *extensions, settings="", **pages):
    """Build a book of these pages as HTML; return Sphinx's run and the pages' soup."""
    (folder / "chapters").mkdir(exist_ok=True)
    names = ", ".join(map(repr, extensions))
    (folder / "conf.py").write_text(
        CONF.format(root=str(ROOT), extensions=names, settings=settings)
    )
    for name, page in pages.items():
        if isinstance(page, str):
            (folder / "chapters" / f"{name}.md").write_text(page)
        else:
            nbformat.write(
                new_notebook(cells=page, metadata=PYTHON), folder / "chapters" / f"{name}.ipynb"
            )
    run = sphinx(folder)
    found = (folder / "out" / "chapters").glob("*.html")
    return run, {p.stem: bs4.BeautifulSoup(p.read_text(), "html.parser") for p in found}


def cell(source, *tags, printed=None, page=None):
    """A code cell that was executed."""
    outputs = [new_output("stream", text=printed)] if printed is not None else []
    if page is not None:
        outputs.append(new_output("display_data", data={"text/html": page}))
    return new_code_cell(source, metadata={"tags": list(tags)}, outputs=outputs)


SEAL = "x = 2\nassert x < 3\nprint('x is small')"


class TestSeal:
    def test_is_one_line_that_opens_to_its_cell(self, tmp_path):
        sealed = cell(SEAL, "seal", printed="x is small (2)\n")
        run, pages = build(tmp_path, "_ext.seal", index=[new_markdown_cell("# T"), sealed])
        assert run.returncode == 0, run.stderr
        fold = pages["index"].select_one("details.seal")
        assert "open" not in fold.attrs
        assert fold.summary.text == "✓ x is small (2)"
        assert "assert x < 3" in fold.select_one(".cell .cell_input").text
        assert fold.text.count("x is small") == 2  # in the line, and where the code prints it

    @pytest.mark.parametrize(
        ("claim", "letters"),
        [
            ("f(PX) = P f(X), but -m(N - 1 - j)", ["f", "PX", "P", "f", "X", "m", "N", "j"]),
            ("all but (a) change; (b) and T5's stay, I hope, at d/2", ["d"]),
        ],
    )
    def test_its_letters_are_set_as_those_of_formulas(self, tmp_path, claim, letters):
        sealed = cell(SEAL, "seal", printed=f"{claim}\n")
        run, pages = build(tmp_path, "_ext.seal", index=[new_markdown_cell("# T"), sealed])
        assert run.returncode == 0, run.stderr
        line = pages["index"].select_one("details.seal").summary
        assert [letter.text for letter in line.select("em")] == letters
        assert line.text == f"✓ {claim}"

    @pytest.mark.parametrize(("many", "lines"), [(2, 0), (3, 1), (4, 1)])
    def test_many_in_a_row_are_one_line_that_opens_to_them(self, tmp_path, many, lines):
        sealed = [cell(SEAL, "seal", printed="x is small\n") for _ in range(many + 2)]
        between = new_markdown_cell("text")
        page = [new_markdown_cell("# T"), *sealed[:many], between, *sealed[many:]]
        run, pages = build(tmp_path, "_ext.seal", index=page)
        assert run.returncode == 0, run.stderr
        found = pages["index"].select("details.seals")
        assert [one.summary.text for one in found] == [f"✓ {many} claims checked"] * lines
        assert [len(one.select(":scope > .seal .cell")) for one in found] == [many] * lines
        assert len(pages["index"].select(".seal")) == many + 2

    def test_code_that_stands_before_one_is_in_it_and_is_not_judged_with_it(self, tmp_path):
        page = [new_markdown_cell("# T")]
        for is_seal in (1, 0, 0, 1, 0, 1, 0):
            sealed = cell(SEAL, "seal", printed="x is small\n")
            page.append(sealed if is_seal else cell("assert y", "hide-input"))
        run, pages = build(tmp_path, "_ext.seal", index=page)
        assert run.returncode == 0, run.stderr
        assert pages["index"].select_one(".seals > summary").text == "✓ 3 claims checked"
        seals = pages["index"].select(".seals > .seal")
        code = [[block.text.strip() for block in seal.select("pre")] for seal in seals]
        assert code == [[SEAL], ["assert y", "assert y", SEAL], ["assert y", SEAL]]
        assert len(pages["index"].select("details.hide")) == 1  # what stands before none is alone
        false = cell("print(1)", "seal", printed="1\n")
        run, _ = build(tmp_path, "_ext.seal", index=[*page[:1], page[2], false])
        assert "a seal must assert" in run.stderr

    @pytest.mark.parametrize(
        ("source", "printed", "message"),
        [
            ("print(1)", ["1"], "must assert"),
            ("assert True\nprint(1)", ["1"], "must assert"),
            ("assert (x, 'always true')\nprint(1)", ["1"], "must assert"),
            ("assert x", [""], "print its claim last"),
            ("assert x\nprint(1)\ny = 2", ["1"], "print its claim last"),
            ("print(1)\nassert x", ["1"], "print its claim last"),
            (SEAL, [], "one line and nothing else"),
            (SEAL, ["\n"], "one line and nothing else"),
            (SEAL, ["x\ny\n"], "one line and nothing else"),
            (SEAL, ["x\n", "<Figure>"], "one line and nothing else"),
        ],
    )
    def test_what_checks_nothing_or_says_nothing_is_no_seal(self, source, printed, message):
        assert message in "; ".join(seal.problems(source, printed))

    @pytest.mark.parametrize(
        "source",
        [
            SEAL,
            "torch.testing.assert_close(a, b)\nprint('a is b')",
            f"if x:\n  {'assert x'}\nprint(1)",
        ],
    )
    def test_what_checks_and_says_it_is_one(self, source):
        assert not seal.problems(source, ["said\n"])

    def test_a_page_with_a_false_seal_is_not_built(self, tmp_path):
        for false in (cell("print(1)", "seal", printed="1\n"), cell(SEAL, "seal")):
            run, _ = build(tmp_path, "_ext.seal", index=[new_markdown_cell("# T"), false])
            assert run.returncode != 0
            assert "a seal must" in run.stderr


class TestJoin:
    def test_folded_code_that_shows_nothing_stands_in_the_next_fold(self, tmp_path):
        page = [new_markdown_cell("# T")]
        for letter in "abcabcdacatae":  # c shows something, d and e are not folded, t is a trap
            shown, tags = (letter if letter == "c" else None), ["hide-input"][letter in "de" :]
            is_trap, trap = letter == "t", new_markdown_cell("```{trap} One\nText.\n```")
            page.append(trap if is_trap else cell(letter, *tags, printed=shown))
        run, pages = build(tmp_path, "_ext.fold", index=page)
        assert run.returncode == 0, run.stderr
        folds = pages["index"].select("details.hide")
        code = ["".join(block.text.strip() for block in fold.select("pre")) for fold in folds]
        assert code == ["abc", "abc", "ac", "a", "a"]
        cells = [one for one in pages["index"].select(".cell") if not one.details]
        assert [one.pre.text.strip() for one in cells] == ["d", "e"]


@pytest.mark.parametrize(("kind", "label"), [("trap", "Trap: "), ("detail", "")])
class TestAside:
    def test_is_a_fold_that_takes_in_its_cells(self, tmp_path, kind, label):
        text = f"# T\n\n```{{{kind}}} Two *wholes*\nThey overflow.\n```\n"
        cells = [cell("1", kind), cell(SEAL, kind, "seal", printed="said\n"), cell("2")]
        page = [new_markdown_cell(text), *cells]
        run, pages = build(tmp_path, "_ext.fold", "_ext.seal", index=page)
        assert run.returncode == 0, run.stderr
        aside = pages["index"].select_one(f"details.{kind}")
        assert aside.summary.text == f"{label}Two wholes"
        assert aside.p.text == "They overflow."
        assert len(aside.select(".cell")) == 2
        assert len(aside.select("details.seal .cell")) == 1
        assert len(pages["index"].select(".cell")) == 3

    @pytest.mark.parametrize(
        "before", ["", "```{{{kind}}} x\ny\n```\n\nbetween", "```{{{other}}} x\ny\n```"]
    )
    def test_a_cell_without_it_is_a_mistake(self, tmp_path, kind, label, before):
        other = {"trap": "detail", "detail": "trap"}[kind]
        text = "# T\n\n" + before.format(kind=kind, other=other)
        run, _ = build(tmp_path, "_ext.fold", index=[new_markdown_cell(text), cell("1", kind)])
        assert run.returncode != 0
        assert f"no {kind} stands before" in run.stderr


class TestPredict:
    def test_a_choice_opens_to_its_explanation(self, tmp_path):
        run, pages = build(tmp_path, "_ext.predict", index="# T\n" + QUESTION)
        assert run.returncode == 0, run.stderr
        box = pages["index"].select_one(".admonition.predict")
        assert box.select_one(".admonition-title").text == "Predict"
        wrong, right = box.select("details")
        assert (wrong["class"], right["class"]) == (["choice", "wrong"], ["choice", "right"])
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
            ("Is *one* half of $x = 2$?\n", "", "a question before its choices"),
        ],
    )
    def test_mistakes_are_named(self, tmp_path, old, new, message):
        assert old in QUESTION
        run, _ = build(tmp_path, "_ext.predict", index="# T\n" + QUESTION.replace(old, new))
        assert run.returncode != 0
        assert message in run.stderr

    by_hand = "# T\n\n```{predict}\nDraw $x$.\n```\n"

    def test_a_box_without_choices_takes_in_the_cell_that_answers(self, tmp_path):
        page = [
            new_markdown_cell(self.by_hand),
            cell("draw()", "predict", page="<i>draw</i>"),
            cell("print('answer')", printed="answer"),
        ]
        run, pages = build(tmp_path, "_ext.predict", index=page)
        assert run.returncode == 0, run.stderr
        assert pages["index"].select_one(".predict .cell i").text == "draw"
        assert [c.pre.text for c in pages["index"].select(".covered .cell")] == [
            "print('answer')\n"
        ]

    def test_a_box_without_choices_or_cell_is_a_mistake(self, tmp_path):
        run, _ = build(tmp_path, "_ext.predict", index=self.by_hand)
        assert run.returncode != 0
        assert "needs choices, or one cell tagged predict" in run.stderr

    def test_a_cell_that_answers_no_question_is_a_mistake(self, tmp_path):
        page = [new_markdown_cell("# T"), cell("draw()", "predict")]
        run, _ = build(tmp_path, "_ext.predict", index=page)
        assert run.returncode != 0
        assert "no question stands before" in run.stderr

    def test_all_up_to_the_next_heading_is_covered(self, tmp_path):
        page = [
            new_markdown_cell(f"# T\n\nbefore\n{QUESTION}\nprose\n"),
            cell("print(1)", printed="output"),
            new_markdown_cell("more\n\n## Next\n\nlater"),
        ]
        _, pages = build(tmp_path, "_ext.predict", index=page)
        (covered,) = pages["index"].select(".covered")
        assert covered.text.split() == ["prose", "print(1)", "output", "more"]
        box, cover = covered.find_previous_siblings()[1::-1]
        assert "predict" in box["class"]
        assert "cover" in cover["class"]

    def test_a_cover_ends_where_it_is_told_to(self, tmp_path):
        end = "\n```{predict-end}\n```\n"
        other = QUESTION.replace("one", "two")
        text = f"# T\n{QUESTION}\na\n{end}\nb\n{other}\nc\n{end}\nd"
        _, pages = build(tmp_path, "_ext.predict", index=text)
        assert [c.text.strip() for c in pages["index"].select(".covered")] == ["a", "c"]
        first, later = (c.text for c in pages["index"].select(".cover"))
        assert later in first  # which says why
        assert later != first
        text = f"# T\n{QUESTION}\na\n{other}\nb\n{end}\nc"
        _, pages = build(tmp_path, "_ext.predict", index=text)
        (inner,) = pages["index"].select(".covered .covered")
        assert inner.text.strip() == "b"
        assert "c" not in pages["index"].select_one(".covered").text.split()

    def test_what_sums_up_the_answers_is_covered(self, tmp_path):
        text = "# T\n{}\n## What to remember\n\na\n\nb\n\n## Next\n\nc"
        _, pages = build(tmp_path, "_ext.predict", index=text.format(QUESTION))
        (covered,) = pages["index"].select("h2 + .cover + .covered")
        assert covered.text.split() == ["a", "b"]
        _, pages = build(tmp_path, "_ext.predict", index=text.format("no question"))
        assert not pages["index"].select(".covered")

    def test_an_end_without_a_cover_is_a_mistake(self, tmp_path):
        run, _ = build(tmp_path, "_ext.predict", index="# T\n\na\n\n```{predict-end}\n```\n")
        assert "predict-end ends no cover" in run.stderr

    def test_a_question_has_a_name_that_only_its_words_change(self, tmp_path):
        def name(text):
            return build(tmp_path, "_ext.predict", index=text)[1]["index"].select_one(".predict")[
                "id"
            ]

        assert name(f"# T\n{QUESTION}") == name(f"# U\n\nother\n{QUESTION}")
        assert name(f"# T\n{QUESTION}") != name(f"# T\n{QUESTION.replace('one', 'two')}")

    def test_the_same_question_twice_is_a_mistake(self, tmp_path):
        run, _ = build(tmp_path, "_ext.predict", index=f"# T\n{QUESTION}\na\n{QUESTION}")
        assert "the same question is asked twice" in run.stderr


@pytest.mark.usefixtures("annotations_off")
class TestSets:
    def page(self, text):
        """A page with this text, and two live figures."""
        cells = [new_markdown_cell(f"# T\n\n{text}")]
        bars = explore(
            lambda height: plt.subplots()[0],
            describe="{height} high".format,
            height=[1, 50],
        ).live()
        for name, figure in {"fig-grid": live.relative_grid(), "fig-bars": bars}.items():
            cells.append(cell("x = 1", page=figure.html()))
            cells[-1].metadata["mystnb"] = {"figure": {"name": name, "caption": "C."}}
        return cells

    @pytest.mark.parametrize(
        ("written", "state"),
        [
            ("`2 <fig-grid clip=2>`", {"clip": 2}),
            ("`a longer one <fig-grid i=3.5, j=0>`", {"i": 3.5, "j": 0}),
            ("`50 <fig-bars height=50>`", {"height": 1}),
        ],
    )
    def test_is_a_button_that_holds_the_state_of_its_figure(self, tmp_path, written, state):
        text = f"Go on to {{set}}{written}."
        run, pages = build(tmp_path, "_ext.sets", index=self.page(text))
        assert run.returncode == 0, run.stderr
        button = pages["index"].select_one("p button.sets")
        assert button.text == written[1:].partition(" <")[0]
        assert button.has_attr("disabled")  # until there is a script
        figure = pages["index"].select_one(f"#{button['data-of']} .live")
        assert json.loads(button["data-state"]) == state
        assert all(figure.select(f"[name={name}]") for name in state)

    def test_keeps_the_mark_after_it(self, tmp_path):
        text = "Pull it ({set}`to 2 <fig-grid clip=2>`): so, {set}`3 <fig-grid clip=3>` or."
        run, pages = build(tmp_path, "_ext.sets", "_ext.unbroken", index=self.page(text))
        assert run.returncode == 0, run.stderr
        held = pages["index"].select(".unbroken:has(> button.sets)")
        assert [each.text for each in held] == ["(to 2):"]
        assert pages["index"].p.text == "Pull it (to 2): so, 3 or."

    @pytest.mark.parametrize(
        ("written", "complaint"),
        [
            ("`2`", "must read `words <figure control=value>`, got '2'"),
            ("`2 <fig-none clip=2>`", "no live figure of this page, they are ['fig-bars'"),
            ("`2 <fig-grid cut=2>`", "no control 'cut', they are ['clip', 'i', 'j']"),
            ("`2 <fig-grid clip=12>`", "clip goes from 1 to 11, got 12"),
            ("`2 <fig-grid clip=two>`", "could not convert string to float: 'two'"),
            ("`2 <fig-bars height=2>`", "height must be one of ['1', '50'], got '2'"),
        ],
    )
    def test_what_its_figure_does_not_have_is_a_warning(self, tmp_path, written, complaint):
        run, _ = build(tmp_path, "_ext.sets", index=self.page(f"To {{set}}{written}."))
        assert run.returncode != 0
        assert complaint in run.stderr

    def test_what_its_controls_hold(self):
        turned = bs4.BeautifulSoup(live.rotated_pair().html(), "html.parser").select_one(".live")
        assert sets.state(turned, "together", "on") is True
        assert sets.state(turned, "together", "off") is False
        with pytest.raises(ValueError, match=re.escape("one of ['on', 'off'], got 'yes'")):
            sets.state(turned, "together", "yes")
        buckets = bs4.BeautifulSoup(live.buckets().html(), "html.parser").select_one(".live")
        assert sets.state(buckets, "num_buckets", "16") == "16"
        with pytest.raises(ValueError, match="0 to 160 by whole numbers, got 2"):
            sets.state(buckets, "d", "2.5")


PREVIEWS = """# T

See {eq}`eq-a`, {eq}`eq-b`, {numref}`fig-a`, {numref}`fig-b` and {doc}`other`.

$$ a = b $$ (eq-a)

```{figure} a.svg
:name: fig-a

A figure, *drawn*, of {eq}`eq-a`.
```

```{toctree}
other
```
"""
OTHER = """# O

$$ c = d $$ (eq-b)

```{figure} a.svg
:name: fig-b

Elsewhere.
```
"""


def test_a_link_carries_what_it_leads_to(tmp_path):
    (tmp_path / "chapters").mkdir()
    (tmp_path / "chapters" / "a.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')
    settings = f"{MATHML}\nnumfig = True"
    extensions = ("_ext.formulas", "_ext.previews")
    run, pages = build(tmp_path, *extensions, settings=settings, index=PREVIEWS, other=OTHER)
    assert run.returncode == 0, run.stderr
    links = pages["index"].select(".body p")[0].select(".has-definition > a")
    tips = [pages["index"].find(id=link["aria-describedby"]) for link in links]
    assert [tip["role"] for tip in tips] == ["tooltip"] * 4
    assert [tip.math and tip.math["data-tex"] for tip in tips] == ["a = b", "c = d", None, None]
    assert [tip.text for tip in tips[2:]] == [
        "Fig. 1 A figure, drawn, of (1).",
        "Fig. 2, O. Elsewhere.",
    ]
    assert [tip.select_one(".source").text for tip in tips[:2]] == ["(1) ", "(2), O. "]
    assert not any(tip("a") for tip in tips)


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


def test_a_style_sheet_that_figures_bring_stands_once_on_a_page(tmp_path):
    raw = "# T\n\n" + "<style>.a { color: red }</style><p>x</p>\n\n" * 2 + "<style>b {}</style>\n"
    _, pages = build(tmp_path, "_ext.mend", index=raw)
    styles = [style.text for style in pages["index"].select(".body style")]
    assert styles == [".a { color: red }", "b {}"]


def test_a_changed_style_sheet_is_copied_though_no_page_has_changed(tmp_path):
    own = ROOT / "_ext" / "static"
    settings = f"html_static_path = [{str(own)!r}]"
    build(tmp_path, "_ext.mend", settings=settings, index="# T")
    copied = tmp_path / "out" / "_static" / "book.css"
    copied.write_text("/* of an earlier build */")
    assert sphinx(tmp_path).returncode == 0
    assert copied.read_text("utf-8") == mend.terse((own / "book.css").read_text("utf-8"))


def test_code_has_no_elements_that_look_like_the_code_around_them(tmp_path):
    code = "from math import pi\nx = [pi, 2]  # two\n"
    _, before = build(tmp_path, index=f"# T\n\n```python\n{code}```\n")
    _, after = build(tmp_path, "_ext.mend", index=f"# T\n\n```python\n{code}```\n")
    assert before["index"].pre.text == after["index"].pre.text == code
    assert {"n", "nn", "o", "p", "w"} <= {
        e["class"][0] for e in before["index"].pre.select("[class]")
    }
    kinds = {e["class"][0] for e in after["index"].pre.select("[class]")}
    assert kinds == {"kn", "mi", "c1"}


def test_a_figure_keeps_the_elements_that_code_can_do_without():
    key = '<div class="legend"><span class="p">sine</span></div>'
    assert mend.plain(f'{key}<pre><span class="p">[</span></pre>{key}') == f"{key}<pre>[</pre>{key}"


def test_questions_share_a_script_on_a_page():
    bodies = [guess_angle(at, within=0.1, says="")._repr_html_() for at in (0.5, 1.0)]
    function = bodies[0].split("<script>(")[1].split(f"){mend.HERE}")[0]
    assert all(body.count(function) == 1 for body in bodies)
    one, other = mend.once(bodies[0]), mend.once("".join(bodies)).removeprefix(mend.once(bodies[0]))
    assert one.count(f"<script>(window.question = {function}){mend.HERE}") == 1
    assert function not in other
    assert other.count(f"<script>(question){mend.HERE}") == 1


def test_live_figures_share_their_runtime_on_a_page(annotations_off):
    wave, clocks = (figure().html() for figure in (live.wave, live.clocks))
    assert all(html.count("function start(kind") == 1 for html in (wave, clocks))
    both = mend.once(wave + clocks)
    assert both.count("function start(kind") == 1
    assert both.count("(window.runtime = (() => {") == both.count("(window.runtime);") == 1
    assert both.index("window.runtime = ") < both.index("(window.runtime);")


def test_the_theme_does_not_measure_the_whole_page_when_it_has_loaded(tmp_path):
    script = (mend.STATIC / mend.SCRIPT).read_text("utf-8")
    assert "scrollWidth>e.clientWidth" in script
    assert 'addEventListener("load",T)' not in mend.unmeasured(script)
    for other in ("", script.replace("T()", "t()"), script * 2):
        with pytest.raises(SphinxError, match="is not the one that"):
            mend.unmeasured(other)
    file = tmp_path / "_static" / mend.SCRIPT
    file.parent.mkdir(parents=True)
    file.write_text(script, "utf-8")
    for _ in range(2):  # a site that is built again keeps its scripts
        mend.quicken(SimpleNamespace(outdir=tmp_path), None)
        assert file.read_text("utf-8") == mend.unmeasured(script)


def test_styles_reach_the_site_without_their_comments(tmp_path):
    app = SimpleNamespace(outdir=tmp_path, builder=SimpleNamespace(format="html"))
    mend.refresh(app, None)
    for file in mend.OWN.glob("*.css"):
        own, sent = file.read_text("utf-8"), (tmp_path / "_static" / file.name).read_text("utf-8")
        assert sent.count("{") == own.count("{") - "".join(re.findall(r"/\*.*?\*/", own)).count("{")
        assert "/*" not in sent
    assert mend.terse("a { b: c; } /* d */\n/* e\n*/ f { }") == "a { b: c; }\nf { }"
    assert mend.unremarked("a(); // b\n  // c\n  d('//');\n") == "a(); // b\n  d('//');\n"


def test_a_drawing_has_its_cells_text_alternative(tmp_path):
    html = '<div class="drawing"><svg></svg></div>'
    data = {"text/html": html, "image/png": "AAAA", "text/plain": "<Figure>"}
    named, plain = (
        new_code_cell("plt.plot()", execution_count=1, outputs=[new_output("display_data", data)])
        for _ in range(2)
    )
    alt = 'A line, "rising" & falling'
    named.metadata = {"mystnb": {"image": {"alt": alt}, "figure": {"caption": "It.", "name": "x"}}}
    cells = [new_markdown_cell("# T"), named, plain]
    run, pages = build(tmp_path, "_ext.drawings", index=cells)
    assert run.returncode == 0, run.stderr
    first, second = pages["index"].select(".drawing")
    assert (first["role"], first["aria-label"]) == ("img", alt)
    assert first.find_parent("figure").select_one("figcaption")
    assert not second.has_attr("role")
    assert not pages["index"].select("img[src*=png]")
    assert (tmp_path / "out" / "_static" / "drawing.css").exists()


class TestFormulas:
    text = "# T\n\nLet $a < b_i$ be.\n\n$$\na &= b \\\\\n&= c\n$$ (eq-a)\n\nBy {eq}`eq-a`.\n"

    def test_they_are_set_when_the_book_is_built(self, tmp_path):
        formulas = ("_ext.formulas", "sphinx.ext.mathjax")
        run, pages = build(tmp_path, *formulas, settings=MATHML, index=self.text)
        assert run.returncode == 0, run.stderr
        inline, block = pages["index"].select("math")
        assert inline["data-tex"] == "a < b_i"
        assert [e.text for e in inline.select("msub > *")] == ["b", "i"]
        assert block.parent.parent["id"] == "equation-eq-a"
        assert len(block.select("mtr")) == 2
        assert pages["index"].select_one(".eqno").text.startswith("(1)")
        assert not [s for s in pages["index"]("script") if "mathjax" in s.get("src", "").lower()]

    @pytest.mark.parametrize(
        ("latex", "thin", "tight"),
        [
            (r"x_a\cos(p)", 1, ""),
            (r"-\cos(p) + (\cos(p))", 0, ""),
            (r"(a)\sin^2(p)\operatorname{re}(q)", 2, ""),
            (r"x_{n - m,\dots} = n - m", 0, "-,…"),
            (r"0, \dots, d", 0, "…"),
        ],
    )
    def test_they_have_the_spaces_of_tex(self, latex, thin, tight):
        found = bs4.BeautifulSoup(formulas.mathml(latex), "html.parser")
        assert len(found.select("mspace")) == thin
        bare = found.select("mo[lspace='0em'][rspace='0em']")
        assert "".join(sign.text for sign in bare) == tight.replace("-", signs.MINUS)

    def test_a_power_stands_at_its_bracket(self):
        assert "mpadded" in formulas.mathml(r"(x + y)^\top")
        assert "mpadded" not in formulas.mathml(r"W^\top \left(x\right)^\top")

    def test_one_that_cannot_be_set_is_an_error(self, tmp_path):
        run, _ = build(tmp_path, "_ext.formulas", settings=MATHML, index="# T\n\n$\\nothing$\n")
        assert run.returncode != 0
        assert "a formula cannot be set" in run.stderr


def test_a_box_of_the_class_dropdown_is_a_fold(tmp_path):
    box = "```{{admonition}} More of *it*\n{}\nInside.\n```\n\n"
    text = "# T\n\n" + box.format(":class: dropdown\n") + box.format("")
    run, pages = build(tmp_path, "_ext.fold", index=text)
    assert run.returncode == 0, run.stderr
    (folded,), (plain,) = (pages["index"].select(kind) for kind in ("details", ".admonition"))
    assert folded.summary.text == plain.select_one(".admonition-title").text == "More of it"
    assert folded.select_one("p").text == "Inside."
    assert not folded.has_attr("open")


class TestTime:
    def page(self, *parts):
        return nodes.section("", *parts)

    def words(self, count):
        return nodes.paragraph("", "word " * count)

    def test_it_is_that_of_the_text(self):
        assert about.minutes(self.page(self.words(900))) == 5
        assert about.minutes(self.page(*[self.words(90)] * 4)) == 2
        assert about.minutes(self.page(*[nodes.math_block("", "x") for _ in range(90)])) == 5

    def test_what_is_folded_takes_none_and_a_figures_caption_does(self):
        folded = fold("", self.words(9000), classes=["trap"])
        caption = nodes.caption("", "word " * 360)
        code = nodes.literal_block("", "word " * 9000)
        cell = nodes.container("", code, nodes.figure("", caption), nb_element="cell_code")
        assert about.minutes(self.page(self.words(900), folded)) == 5
        assert about.minutes(self.page(self.words(810), cell)) == 7

    def test_a_question_takes_two_minutes_besides_its_text_and_its_answers(self):
        answer = fold("", self.words(180), classes=["choice", "right"])
        question = predict("", self.words(180), answer)
        assert about.minutes(self.page(self.words(540), question)) == 7

    def test_exercises_take_none(self):
        for title, minutes in (("Exercises", 5), ("Examples", 10)):
            section = nodes.section("", nodes.title("", title), self.words(900))
            assert about.minutes(self.page(self.words(900), section)) == minutes

    @pytest.mark.parametrize(
        ("questions", "says"),
        [
            (0, "5 minutes to read"),
            (7, "19 minutes to read, with 7 questions to answer on the way"),
        ],
    )
    def test_an_executed_page_says_it_and_links_its_notebook(self, questions, says):
        title = nodes.title("", "T")
        page = new_document("")
        page += nodes.section("", title, self.words(900))
        page[0].extend(predict("") for _ in range(questions))
        env = SimpleNamespace(
            docname="chapters/05_x",
            metadata={"chapters/05_x": {}},
            nb_metadata={"chapters/05_x": {"exec_data": {"runtime": 20.4}}},
            doc2path=lambda name: f"{name}.ipynb",
        )
        config = SimpleNamespace(root_doc="chapters/index", html_copy_source=True)
        about.add(SimpleNamespace(env=env, config=config), page)
        line = title.next_node(nodes.paragraph, siblings=True)
        assert line[0].astext() == says
        assert "ran in 20 seconds" in page[0][-1].astext()
        assert env.metadata["chapters/05_x"]["minutes"] == 5 + 2 * questions
        link = bs4.BeautifulSoup(line[-1].astext(), "html.parser").a
        assert link["href"] == "../_sources/chapters/05_x.ipynb"
        assert link.has_attr("download")


class TestCover:
    cover = "# T\n\n```{facts}\n{chapters} and {hours}\n```\n\n```{chapters}\n```\n"

    @pytest.mark.parametrize(
        ("minutes", "said"),
        [(60, "1 hour"), (165, "2¾ hours"), (52, "¾ hour"), (75, "1¼ hours"), (182, "3 hours")],
    )
    def test_time_is_told_in_quarters(self, minutes, said):
        assert cover.hours(minutes) == said

    def test_a_chapter_is_on_the_cover_by_itself(self, tmp_path):
        chapter = "# About $x$\n\n```{admonition} The question\nDoes {doc}`two` *help*?\n```\n"
        words = "\n\n" + "word " * 4000
        for number in (1, 2):
            names = ["one", "two"][:number]
            index = self.cover + "\n```{toctree}\n:numbered:\n" + "\n".join(names) + "\n```\n"
            books = {
                name: [new_markdown_cell(chapter.replace("two", names[-1]) + words)]
                for name in names
            }
            run, pages = build(
                tmp_path, "_ext.cover", "_ext.formulas", settings=MATHML, index=index, **books
            )
            assert run.returncode == 0, run.stderr
            cards = pages["index"].select("a.chapter-card")
            to = [*names, names[0]]  # at the end, where to begin
            assert [card["href"] for card in cards] == [f"{name}.html" for name in to]
            assert all(card.svg for card in cards)
            assert cards[0].select_one(".card-title").text.startswith("1. About ")
            assert cards[0].select_one(".card-question").text == "Does About x help?"
            assert cards[0].select_one(".card-time").text == "22 minutes"
            assert pages["index"].select_one("section.front > h1")
            assert not pages["one"].select_one(".front")
            sheet = "link[rel=stylesheet][href*='cover.css']"
            assert pages["index"].select_one(sheet)
            assert not pages["one"].select(sheet)
            assert (
                pages["index"].select_one(".facts").text
                == f"{number} and {['', '¼ hour', '¾ hour'][number]}"
            )

    def test_a_chapter_opens_with_its_picture_and_ends_with_the_next_ones_card(self, tmp_path):
        asks = "# {}\n\n```{{admonition}} The question\nWhy {}?\n```\n\n## More\n\ntext\n"
        index = self.cover + "\n```{toctree}\n:numbered:\none\ntwo\n```\n"
        books = {name: [new_markdown_cell(asks.format(name, name))] for name in ("one", "two")}
        run, pages = build(tmp_path, "_ext.cover", index=index, **books)
        assert run.returncode == 0, run.stderr
        for name in books:
            assert pages[name].select_one(".admonition > svg.thumb + p").text == f"Why {name}?"
        (card,) = pages["one"].select(".next-chapter a.chapter-card")
        assert card["href"] == "two.html"
        assert card.select_one(".card-question").text == "Why two?"
        assert not card.find_all_next("h2")
        assert not pages["two"].select(".next-chapter")

        (tmp_path / "chapters").mkdir(exist_ok=True)
        books["two"] = [new_markdown_cell(asks.format("two", "not"))]
        _, pages = build(tmp_path, "_ext.cover", index=index, **books)
        assert pages["one"].select_one(".next-chapter .card-question").text == "Why not?"


class TestHead:
    def test_a_page_says_what_it_is(self, tmp_path, monkeypatch):
        monkeypatch.setenv("GITHUB_REPOSITORY", "someone/book")
        monkeypatch.delenv("GITHUB_SERVER_URL", raising=False)
        index = "# T\n\nFirst \\<words>\nhere.\n\nOthers.\n"
        run, pages = build(tmp_path, "_ext.repository", "_ext.head", index=index)
        assert run.returncode == 0, run.stderr
        tags = {
            tag.get("name") or tag.get("property"): tag["content"]
            for tag in pages["index"].select("meta[content]")
        }
        assert tags["description"] == tags["og:description"] == "First <words> here."
        assert tags["og:title"] == "T"
        assert tags["og:image"] == "https://someone.github.io/book/_static/share.png"
        assert pages["index"].title.text.strip() == "T"


class TestGPU:
    said = "Not run here: this cell needs CUDA. `make gpu` runs it and keeps its result.\n"

    def shown(self, tmp_path, *printed):
        cells = [cell(f"{n}", "gpu", printed=text) for n, text in enumerate(printed)]
        texts = ["# T\n\n(there)=\n## On a GPU\n\nIt is fast.", "## After"]
        page = [new_markdown_cell(texts[0]), *cells, new_markdown_cell(texts[1])]
        run, pages = build(tmp_path, "_ext.gpu", index=page)
        assert run.returncode == 0, run.stderr
        assert len(pages["index"].select(".cell_input")) == len(cells)
        assert pages["index"].select_one("#there")
        return pages["index"]

    def test_a_section_that_was_not_run_is_one_line(self, tmp_path):
        page = self.shown(tmp_path, self.said, self.said)
        (fold,) = page.select("details")
        assert fold.summary.text.strip().startswith("On a GPU: not run here. make gpu runs it")
        assert "It is fast." in fold.text
        assert [h.text.strip("#¶") for h in page.select("h2")] == ["After"]
        assert not page.select(".cell_output")

    @pytest.mark.parametrize("first", ["1 ms\n", said])
    def test_what_was_recorded_is_shown(self, tmp_path, first):
        page = self.shown(tmp_path, first, "2 ms\n")
        assert [e.text.strip() for e in page.select(".cell_output")] == [first.strip(), "2 ms"]
        assert [h.text.strip("#¶") for h in page.select("h2")] == ["On a GPU", "After"]


class TestLines:
    @pytest.mark.parametrize(("columns", "long"), [(71, False), (72, True)])
    def test_code_that_would_not_fit_is_long(self, tmp_path, columns, long):
        page = [new_markdown_cell("# T"), cell("1\n" + "x" * columns, printed="y" * 99)]
        run, pages = build(tmp_path, "_ext.lines", index=page)
        assert run.returncode == 0, run.stderr
        assert [bool(p.select(".long pre")) for p in pages.values()] == [long]
        assert pages["index"].select_one(".cell_input.long" if long else ".cell_input")

    def test_code_that_another_cell_takes_in_makes_that_long(self, tmp_path):
        first, second = cell("x" * 77, "hide-input"), cell("1", "hide-input", printed="y")
        run, pages = build(
            tmp_path, "_ext.lines", "_ext.fold", index=[new_markdown_cell("# T"), first, second]
        )
        assert run.returncode == 0, run.stderr
        (code,) = pages["index"].select(".cell_input")
        assert "long" in code["class"]

    @pytest.mark.parametrize(
        ("printed", "aligned"),
        [
            ("base  10: 58\nbase 100: 544", False),
            ("base   10:    58\nbase  100:   544", True),
            ("what is\n  set in\n  a little", False),
        ],
    )
    def test_columns_are_seen(self, tmp_path, printed, aligned):
        page = [new_markdown_cell("# T"), cell("1", printed=printed)]
        run, pages = build(tmp_path, "_ext.lines", index=page)
        assert run.returncode == 0, run.stderr
        assert bool(pages["index"].select(".cell_output .aligned pre")) == aligned


class TestTables:
    @pytest.mark.parametrize(("letters", "wide"), [(28, False), (29, True)])
    def test_one_whose_rows_do_not_fit_reaches_into_the_margin(self, tmp_path, letters, wide):
        rows = [["a method", *[f"{9:0{letters}}"] * 3], ["b " * 99, 1, 2, 3]]
        shown = table(rows, columns=["", "x", "y", "z"], caption="C.")._repr_html_()
        assert tables.is_wide(shown) == wide
        page = [new_markdown_cell("# T"), cell("1", page=shown), cell("2", page="<p>2</p>")]
        run, pages = build(tmp_path, "_ext.tables", index=page)
        assert run.returncode == 0, run.stderr
        assert bool(pages["index"].select("table.results.popout")) == wide
        assert pages["index"].select_one("table.results caption").text == "C."  # no chapter

    @pytest.mark.parametrize("builder", ["html", "singlehtml"])
    def test_those_of_a_chapter_have_numbers_and_links(self, tmp_path, builder):
        shown = table([["a", 1]], columns=["", "x"], caption="C & D.", note="N.")._repr_html_()
        drawn = table([["a", "+1 ± 2"]], columns=["", "x"], caption="E.")._repr_html_()
        listed = new_markdown_cell("# T\n\n```{toctree}\n:numbered:\none\ntwo\n```")
        chapter = [new_markdown_cell("# C"), cell("1", page=shown), cell("2", page=drawn)]
        pages = {"index": [listed], "one": chapter, "two": chapter[:2]}
        run, found = build(tmp_path, "_ext.tables", **pages)
        assert run.returncode == 0, run.stderr
        if builder == "singlehtml":
            run = sphinx(tmp_path, builder)
            assert run.returncode == 0, run.stderr
            whole = (tmp_path / "out" / "chapters" / "index.html").read_text()
            found = {"one": bs4.BeautifulSoup(whole, "html.parser")}
        parts = [found[name] for name in ("one", "two") if name in found]
        captions = [one.caption for page in parts for one in page.select("table.results")]
        assert [caption.text for caption in captions] == [
            "Table 1.1 C & D. #", "Table 1.2 E. #", "Table 2.1 C & D. #",
        ]  # fmt: skip
        for caption in captions:
            assert caption.a["href"] == f"#{caption.parent['id']}"
        assert found["one"].select_one("#table-1-1 + .note").text == "N."


def test_the_bibliography_stands_as_the_text_cites(tmp_path):
    papers = {
        "z": "{Zed, Ann and Why, Bo}, year={2001}",
        "a": "{Aye, C. and Bee, D. and Cee, E.}, year={2019}",
    }
    (tmp_path / "x.bib").write_text(
        "".join(
            f"@article{{{k}, title={{T}}, journal={{J}}, author={v}}}\n" for k, v in papers.items()
        )
    )
    text = "# T\n\n{cite:t}`z` and {cite:p}`a`.\n\n```{bibliography}\n:style: author_year\n```\n"
    settings = "bibtex_bibfiles = ['x.bib']"
    run, pages = build(
        tmp_path, "sphinxcontrib.bibtex", "_ext.bibliography", settings=settings, index=text
    )
    assert run.returncode == 0, run.stderr
    labels = [label.text for label in pages["index"].select(".citation .label")]
    assert [label.strip("[]") for label in labels] == ["Aye et al., 2019", "Zed and Why, 2001"]


class TestSearchTexts:
    def test_they_are_what_a_reader_reads(self):
        page = (
            "<article class='bd-article'><section id='a'><h1>A<a class='headerlink'>#</a></h1>"
            "<p class='about-page'>9 minutes to read</p>"
            "<p>One <a>term</a><span role='tooltip'>what it is</span> and <math data-tex='\\x'>"
            "<mi>x</mi></math>, <math><msub><mi>x</mi><mi>i</mi></msub></math>.</p>"
            "<div class='cell'>code</div><section id='b'><h2>B</h2><p>Two.</p>"
            "<dl class='py'><dt class='sig' id='m.f'>f(x)</dt><dd>Does it.</dd></dl>"
            "<table><tr><th>a</th><th>b</th></tr><tr><td><p>1</p></td><td>2</td></tr></table><p>Three.</p>"
            "<dl><dt id='t'>term</dt><dd>It is.</dd></dl></section></section></article>"
        )
        assert search.texts(page) == {
            "": ["A", "One term and x, …."],
            "b": ["B", "Two.\na · b\n1 · 2\nThree."],
            "m.f": ["m.f", "Does it."],
            "t": ["term", "It is."],
        }


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


class TestUnbroken:
    text = "# T\n\nBy GPT-J ($a$), not `GPT-J` and re-use, $b$. $c$ alone, **$d$**, “$e$”, 1e-8.\n"

    def test_a_formula_keeps_its_punctuation_and_a_name_its_tail(self, tmp_path):
        run, pages = build(
            tmp_path, "_ext.unbroken", "_ext.formulas", settings=MATHML, index=self.text
        )
        assert run.returncode == 0, run.stderr
        held = pages["index"].select(".unbroken")
        assert [each.text for each in held] == ["GPT-J", "(a),", "b.", "“e”,", "1e-8"]
        assert pages["index"].p.text == self.text[5:].strip().replace("$", "").replace(
            "`", ""
        ).replace("**", "")

    @pytest.mark.parametrize(
        ("caption", "end"),
        [
            ("Fast bars jump, slow ones creep.", "slow~ones~creep."),
            ("If they are random, *its typical size* stays.", "~stays."),
            ("Its step is `a b c`", "a b c"),
        ],
    )
    def test_a_caption_does_not_end_with_one_short_word(self, tmp_path, caption, end):
        text = f"# T\n\n```{{code-block}} python\n:caption: {caption}\n\nx = 1\n```\n"
        run, pages = build(tmp_path, "_ext.unbroken", index=text)
        assert run.returncode == 0, run.stderr
        found = pages["index"].select_one(".caption-text")
        assert found.text.endswith(end.replace("~", "\N{NO-BREAK SPACE}"))
        assert found.text.replace("\N{NO-BREAK SPACE}", " ") == re.sub("[*`]", "", caption)


DATA = '<script type="application/json">{"says": "it is %s", "at": [%s, "M 0 -1"]}</script>'


class TestSigns:
    @pytest.mark.parametrize(
        ("written", "shown"),
        [
            ("-0.5 (-1,000 to +2)", "~0.5 (~1,000 to +2)"),
            ("-0.00 (-0.03 to 0.03)", "0.00 (~0.03 to 0.03)"),
            ("e to the -1/2, and -0.", "e to the ~1/2, and 0."),
            ("1e-5, n-3, 2022-01-03, GPT-2", "1e-5, n-3, 2022-01-03, GPT-2"),
        ],
    )
    def test_numbers_below_zero_have_a_minus_sign(self, written, shown):
        assert signs.minus(written) == shown.replace("~", signs.MINUS)

    @pytest.mark.parametrize(
        ("written", "shown"),
        [
            ("up to 4x &lt;= 1.05 or >= 0x1f", "up to 4× ≤ 1.05 or ≥ 0x1f"),  # noqa: RUF001
            ("80 % of 3 x 4", "80% of 3 x 4"),
            (
                "From 'the' to (the) 'dog': it isn't the models' own",
                "From ‘the’ to (the) ‘dog’: it isn’t the models’ own",  # noqa: RUF001
            ),
            ("'s rows, 0's and 'cat's", "’s rows, 0’s and ‘cat’s"),  # noqa: RUF001
            ('&quot;512 rows&quot; ("so") isn&#x27;t', "“512 rows” (“so”) isn’t"),  # noqa: RUF001
        ],
    )
    def test_signs_are_those_of_a_printer(self, written, shown):
        assert signs.set_signs(f"<p>{written}</p>") == f"<p>{shown}</p>"
        assert signs.set_signs(f"<pre>{written}</pre>") == f"<pre>{written}</pre>"

    @pytest.mark.parametrize(
        ("page", "shown"),
        [
            ('<td style="top:-1px">-0.5</td>', '<td style="top:-1px">~0.5</td>'),
            ("<pre>x = <b>-1</b></pre> -1", "<pre>x = <b>-1</b></pre> ~1"),
            ("<p><code>f( -1)</code> is -1</p>", "<p><code>f( -1)</code> is ~1</p>"),
            ("<script>a = 'it is -1'</script>", "<script>a = 'it is -1'</script>"),
            (DATA % ("-1", "-1"), DATA % ("~1", "-1")),
            (
                "<p><code>a'b</code> isn't</p>",
                "<p><code>a'b</code> isn\N{RIGHT SINGLE QUOTATION MARK}t</p>",
            ),
            (DATA % ("4x", "4"), DATA % ("4\N{MULTIPLICATION SIGN}", "4")),
        ],
    )
    def test_what_is_code_stays(self, page, shown):
        assert signs.set_signs(page) == shown.replace("~", signs.MINUS)

    def test_a_seal_and_a_table_have_them_and_what_was_printed_does_not(self, tmp_path):
        results = '<table class="results"><tr><td>-0.50</td></tr></table>'
        sealed = cell(SEAL, "seal", printed="x is at least -3\n")
        shown = cell("print(-3)", printed="-3\n")
        page = [new_markdown_cell("# T"), sealed, shown, cell("table()", page=results)]
        run, pages = build(tmp_path, "_ext.seal", "_ext.signs", index=page)
        assert run.returncode == 0, run.stderr
        assert pages["index"].select_one(".seal summary").text == f"✓ x is at least {signs.MINUS}3"
        assert "-3" in pages["index"].select_one(".cell_output").text
        assert pages["index"].td.text == f"{signs.MINUS}0.50"
