"""The notebooks in git are executed, tidy, and compared by ways that can fail.

`make test` compares the chapters with what the book has just executed, and the exercises by nbval;
`make test-all` has nbval run them all once more.
"""

import ast
import copy
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from unittest.mock import Mock

import nbformat
import pytest
from helpers import lacking
from jupyter_cache import get_cache
from myst_nb.core.utils import coalesce_streams

from _ext import posenc_cache, seal
from _ext.notebooks import NOT_RUN, is_gpu, tidy

ROOT = Path(__file__).parent.parent
CHAPTERS = sorted((ROOT / "chapters").glob("[0-9]*.ipynb"))
PAGES = [*CHAPTERS, ROOT / "chapters" / "index.ipynb"]
EXCUSES = {"nbval-ignore-output", "nbval-skip", "skip-execution", "raises-exception"}


def read(path):
    return nbformat.read(path, as_version=4)


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def tags(cell):
    return set(cell.metadata.get("tags", ()))


def unexecuted(notebook):
    return [c for c in code_cells(notebook) if not is_gpu(c) and c.execution_count is None]


def unlike(notebook, executed):
    """The code of the cells whose outputs, once executed, are not those in the notebook."""
    both = zip(code_cells(notebook), code_cells(tidy(executed)), strict=True)
    compared = [(one, other) for one, other in both if "nbval-ignore-output" not in tags(one)]
    return [one.source for one, other in compared if one.outputs != other.outputs]


def letters(formula):
    """The letters of a formula: a bold one is another letter, words and function names are none."""
    formula = re.sub(r"\\(text|operatorname|begin|end|mathrm)\*?\{[^{}]*\}", " ", formula)
    bold = re.findall(r"\\mathbf\{?([A-Za-z])", formula)
    formula = re.sub(r"\\mathbf\{?[A-Za-z]\}?", " ", formula)
    greek = {"theta", "varphi", "omega"} & {*re.findall(r"\\([A-Za-z]+)", formula)}
    plain = re.findall(r"[A-Za-z]", re.sub(r"\\[A-Za-z]+", " ", formula))
    return {*plain, *greek, *(f"bold {letter}" for letter in bold)}


def formulas(notebook):
    """The letters of a chapter's numbered formulas, and those of all its formulas."""
    texts = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    numbered, others = [], []
    for text in texts:
        prose, *shown = re.split(r"\$\$", text)
        for formula, after in zip(shown[::2], shown[1::2], strict=True):
            (numbered if after.startswith(" (eq-") else others).append(formula)
            prose += after
        others += re.findall(r"\$([^$]+)\$", prose)
    return [{letter for one in many for letter in letters(one)} for many in (numbered, others)]


def run_nbval(notebook, path):
    nbformat.write(notebook, path)
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "conftest", "--nbval", str(path)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("path", sorted(CHAPTERS[0].parent.glob("*.ipynb")), ids=lambda p: p.stem)
def test_what_the_book_executed_is_what_is_in_git(path):
    cache = get_cache(ROOT / "_build" / "executed" / posenc_cache.fingerprint())
    try:
        _, executed = cache.merge_match_into_notebook(read(path))
    except KeyError:
        lacking("the book has not executed it as it is now; type: make book")
    assert unlike(read(path), executed) == []


def test_a_wrong_number_is_unlike_what_was_executed():
    notebook = read(CHAPTERS[0])
    printing = next(c for c in code_cells(notebook) if "def causal_layers(" in c.source)
    for spoil in (
        lambda output: output.update(text=output.text.replace("by 0.3", "by 0.4")),
        lambda output: output.update(text=output.text + "\n"),
        lambda output: output.update(name="stderr"),
    ):
        spoiled = copy.deepcopy(notebook)
        cell = spoiled.cells[notebook.cells.index(printing)]
        spoil(cell.outputs[0])
        assert unlike(spoiled, notebook) == unlike(notebook, spoiled) == [printing.source]
        cell.outputs = []
        assert unlike(spoiled, notebook) == unlike(notebook, spoiled) == [printing.source]
    assert unlike(notebook, notebook) == []


def test_the_chapters_are_numbered_without_a_gap_and_listed_in_that_order():
    assert [path.stem[:2] for path in CHAPTERS] == [f"{n:02}" for n in range(1, len(CHAPTERS) + 1)]
    listed = re.findall(r"file: chapters/(\d\w+)", (ROOT / "_toc.yml").read_text())
    assert listed == [path.stem for path in CHAPTERS] != []


@pytest.fixture(scope="module")
def used():
    return {int(path.stem[:2]): formulas(read(path)) for path in CHAPTERS}


@pytest.fixture(scope="module")
def listed():
    text = (ROOT / "chapters" / "glossary.md").read_text()
    rows = re.findall(r"^\| (\$.*?\$) \| ([\d, ]+) \|", text, re.MULTILINE)
    assert len(rows) > 30
    pairs = [(names, int(n)) for names, chapters in rows for n in chapters.split(",")]
    return {(letter, chapter) for names, chapter in pairs for letter in letters(names)}


class TestLetters:
    """The glossary's table of letters holds what it says it holds."""

    def test_letters_of_numbered_formulas_of_two_chapters_are_there(self, used, listed):
        numbered = [(x, chapter) for chapter, (found, _) in used.items() for x in found]
        counts = Counter(letter for letter, _ in numbered)
        needed = {(letter, chapter) for letter, chapter in numbered if counts[letter] > 1}
        assert len(needed) > 50
        assert sorted(needed - listed) == []

    def test_every_chapter_of_a_row_has_its_letters(self, used, listed):
        have = {(x, chapter) for chapter, found in used.items() for x in set.union(*found)}
        assert sorted(listed - have) == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
class TestNotebook:
    def test_every_cell_was_executed_in_order(self, path):
        notebook = read(path)
        assert not unexecuted(notebook)
        counts = [c.execution_count for c in code_cells(notebook) if not is_gpu(c)]
        assert counts == sorted(counts)

    def test_no_line_of_an_output_ends_in_blanks(self, path):
        """Merging the parts of an output may strip them, on some days and not on others."""
        for cell in code_cells(read(path)):
            for output in cell.outputs:
                assert not re.search(r"[ \t]$", output.get("text", ""), re.MULTILINE)

    def test_is_tidy(self, path):
        notebook = read(path)
        assert tidy(notebook) == notebook

    def test_prints_no_warning(self, path):
        outputs = [o for c in code_cells(read(path)) for o in c.outputs]
        assert not [o for o in outputs if o.get("name") == "stderr" or o.output_type == "error"]

    def test_at_most_a_tenth_is_excused_and_says_why(self, path):
        cells = code_cells(read(path))
        excused = [cell for cell in cells if tags(cell) & EXCUSES]
        assert len(excused) <= 0.1 * len(cells)
        assert all("# not compared: " in cell.source for cell in excused)

    def test_cells_are_short(self, path):
        for cell in code_cells(read(path)):
            tree = ast.parse(cell.source)
            body = [node for node in tree.body if not isinstance(node, ast.Import | ast.ImportFrom)]
            lines = {n for node in body for n in range(node.lineno, node.end_lineno + 1)}
            assert len([n for n in lines if cell.source.splitlines()[n - 1].strip()]) <= 25


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
class TestChapter:
    def test_every_figure_has_a_text_alternative_and_a_caption(self, path):
        for cell in code_cells(read(path)):
            shown = "".join(o.get("data", {}).get("text/plain", "") for o in cell.outputs)
            if "<Figure" in shown:
                assert len(cell.metadata.mystnb.image.alt) > 40
            if "<Figure" in shown or shown.startswith(("explore(", "live figure")):
                assert len(cell.metadata.mystnb.figure.caption) > 20
                assert cell.metadata.mystnb.figure.name.startswith("fig-")
                # which is rust on a light page, and a pale magenta is plum on a dark one
                assert not re.search("(?i)amber|pink", cell.metadata.mystnb.figure.caption)

    def test_every_seal_checks_and_says_what_it_checked(self, path):
        for cell in code_cells(read(path)):
            if seal.TAG in tags(cell):
                printed = [output.get("text", str(output)) for output in cell.outputs]
                assert not seal.problems(cell.source, printed), cell.source

    def test_lines_are_named_on_the_axes_that_they_are_drawn_on(self, path):
        """`plot_curves` puts names at the ends of lines: who changes the axes names them anew."""
        axes = {"xscale", "yscale", "xlim", "ylim"}
        for cell in code_cells(read(path)):
            calls = [
                node for node in ast.walk(ast.parse(cell.source)) if isinstance(node, ast.Call)
            ]
            names = [getattr(call.func, "attr", getattr(call.func, "id", "")) for call in calls]
            if "plot_curves" in names and "name_lines" not in names:
                for name, call in zip(names, calls, strict=True):
                    told = {keyword.arg for keyword in call.keywords} | {name.removeprefix("set_")}
                    assert name == "plot_curves" or not told & axes, cell.source

    def test_asks_before_it_tells(self, path):
        text = "\n".join(cell.source for cell in read(path).cells)
        assert text.count("```{predict}") >= 3
        assert text.count("{admonition} The question") == 1

    def test_a_gpu_section_shows_a_record_or_says_that_there_is_none(self, path):
        cells = [cell for cell in code_cells(read(path)) if is_gpu(cell)]
        shown = ["".join(output.get("text", "") for output in cell.outputs) for cell in cells]
        none = all("needs CUDA" in text for text in shown)
        assert none or re.search(r"torch \S+, commit \S+, \d{4}-", shown[-1])
        assert none or not any("needs CUDA" in text for text in shown)


WITH_GPU = [path for path in CHAPTERS if any(map(is_gpu, code_cells(read(path))))]


def test_the_chapters_on_attention_have_gpu_sections():
    assert [path.stem[:2] for path in WITH_GPU] == ["04", "05", "06"]


# What a GPU section asks of CUDA, answered by the processor: memory is not measured there.
STAND_IN = """
import torch, posenc.lab
torch.cuda.synchronize = lambda: None
posenc.lab.peak_memory = lambda function: (function(), 0)[1]
timed = posenc.lab.device_times
posenc.lab.device_times = lambda functions, device=None: timed(functions, device="cpu", rounds=1)
"""
SMALLER = {
    '"cuda"': '"cpu"',
    "8192": "512",
    "256": "32",
}


@pytest.mark.long
@pytest.mark.skipif(
    not any(map(shutil.which, ("g++", "clang++"))), reason="torch.compile needs a C++ compiler"
)
@pytest.mark.parametrize("path", WITH_GPU, ids=lambda path: path.stem)
def test_gpu_sections_run_on_the_processor_when_made_small(path):
    imports, *others = code_cells(read(path))
    section = "\n".join(cell.source for cell in filter(is_gpu, others))
    for large, small in SMALLER.items():
        section = section.replace(large, small)
    assert "cuda" not in re.sub(r"needs CUDA|torch\.cuda\.", "", section)
    program = "\n".join([STAND_IN, imports.source, section])
    command = [sys.executable, "-c", program]
    result = subprocess.run(
        command, cwd=path.parent, capture_output=True, text=True, check=False, timeout=300
    )
    assert result.returncode == 0, result.stderr
    assert "CPU, torch" in result.stdout


@pytest.mark.long
def test_nbval_fails_on_a_wrong_number(tmp_path):
    notebook = read(ROOT / "chapters" / "01_position_problem.ipynb")
    printing = next(i for i, c in enumerate(notebook.cells) if "def causal_layers(" in c.source)
    notebook.cells = notebook.cells[: printing + 1]
    assert run_nbval(notebook, tmp_path / "right.ipynb").returncode == 0
    output = notebook.cells[printing].outputs[0]
    output.text, planted = re.subn(r"by 0\.3", "by 0.4", output.text)
    assert planted == 1
    result = run_nbval(notebook, tmp_path / "wrong.ipynb")
    assert result.returncode == 1
    assert "1 failed" in result.stdout


@pytest.mark.long
def test_nbval_compares_the_text_of_what_shows_as_html(tmp_path):
    table = "from posenc.show import table\ntable([['a', {}]], columns=['', 'b'], caption='c')"
    notebook = nbformat.v4.new_notebook(metadata=read(CHAPTERS[0]).metadata)
    for value, code in ((1, 0), (2, 1)):
        shown = nbformat.v4.new_output(
            "execute_result", {"text/plain": f"c\n   b\na  {value}"}, execution_count=1
        )
        cell = nbformat.v4.new_code_cell(table.format(1), execution_count=1, outputs=[shown])
        notebook.cells = [cell]
        assert run_nbval(notebook, tmp_path / f"{value}.ipynb").returncode == code


def test_a_stripped_cell_is_noticed():
    notebook = read(CHAPTERS[0])
    code_cells(notebook)[3].execution_count = None
    assert len(unexecuted(notebook)) == 1


def test_an_image_or_volatile_metadata_is_not_tidy():
    notebook = read(CHAPTERS[0])
    for spoil in (
        lambda nb: nb.metadata.update(widgets={}),
        lambda nb: code_cells(nb)[0].metadata.update(execution={"iopub.status.busy": "now"}),
        lambda nb: next(o for c in code_cells(nb) for o in c.outputs if "data" in o).data.update(
            {"image/png": "AAAA"}
        ),
        lambda nb: next(o for c in code_cells(nb) for o in c.outputs if "data" in o).data.update(
            {"text/html": "<b>A</b>"}
        ),
    ):
        spoiled = copy.deepcopy(notebook)
        spoil(spoiled)
        assert tidy(spoiled) != spoiled
        assert tidy(spoiled) == notebook


def test_once_a_gpu_has_run_a_section_no_cell_of_it_says_not_run():
    notebook = read(CHAPTERS[3])
    preparing, measuring = filter(is_gpu, code_cells(notebook))
    preparing.outputs, measuring.outputs = [], [nbformat.v4.new_output("stream", text="3 ms")]
    spoiled = copy.deepcopy(notebook)
    spoiled_cell = next(filter(is_gpu, code_cells(spoiled)))
    spoiled_cell.outputs = [nbformat.v4.new_output("stream", text=NOT_RUN)]
    assert tidy(notebook) == tidy(spoiled) == notebook
    measuring.outputs = []
    said = [cell.outputs[0].text for cell in filter(is_gpu, code_cells(tidy(notebook)))]
    assert said == [NOT_RUN, NOT_RUN]


def test_gpu_cells_are_reported_as_skipped(tmp_path):
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("here they run")
    cell = nbformat.v4.new_code_cell("1 / 0", metadata={"tags": ["gpu"]}, execution_count=1)
    notebook = read(CHAPTERS[0])
    notebook.cells = [cell]
    result = run_nbval(notebook, tmp_path / "gpu.ipynb")
    assert "1 skipped" in result.stdout
    assert "needs CUDA" in result.stdout


def test_the_book_prints_a_line_that_arrives_in_parts_as_one(monkeypatch, tmp_path):
    monkeypatch.setattr(posenc_cache.executor, "executenb", posenc_cache.executor.executenb)
    posenc_cache.setup(Mock())
    parts = 'import time\nprint("one", end="", flush=True)\ntime.sleep(0.5)\nprint(" two")'
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(parts)])
    posenc_cache.executor.single_nb_execution(
        notebook, cwd=str(tmp_path), timeout=60, allow_errors=False
    )
    assert coalesce_streams(notebook.cells[0].outputs)[0].text == "one two\n"


def test_the_book_executes_notebooks_beside_one_another(monkeypatch, tmp_path):
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    names = ["one", "other"]
    for mine, other in (names, names[::-1]):  # who does not meet the other fails
        meet = "import pathlib, time\nend = time.monotonic() + 60\n"
        meet += f"pathlib.Path('{mine}.here').touch()\nother = pathlib.Path('{other}.here')\n"
        meet += "while not other.exists():\n    assert time.monotonic() < end\n    time.sleep(0.1)"
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(meet)])
        nbformat.write(notebook, tmp_path / f"{mine}.ipynb")
    app, env = Mock(), Mock()
    app.config.nb_execution_cache_path, app.config.nb_execution_timeout = str(tmp_path / "c"), 90
    env.doc2path = lambda name: str(tmp_path / name)
    posenc_cache.execute(app, env, ["one.ipynb", "other.ipynb", "a_page.md"])
    cache = get_cache(tmp_path / "c")
    for name in names:
        assert cache.match_cache_notebook(read(tmp_path / f"{name}.ipynb"))


@pytest.mark.parametrize(
    "changed", ["posenc/alibi.py", "posenc/show/book.mplstyle", "requirements.txt"]
)
def test_the_execution_cache_knows_what_chapters_import(tmp_path, monkeypatch, changed):
    shutil.copytree(ROOT / "posenc", tmp_path / "posenc")
    shutil.copy(ROOT / "requirements.txt", tmp_path)
    monkeypatch.setattr(posenc_cache, "ROOT", tmp_path)
    before = posenc_cache.fingerprint()
    assert before == posenc_cache.fingerprint()
    with (tmp_path / changed).open("a") as file:
        file.write("\n# changed\n")
    assert posenc_cache.fingerprint() != before


def test_the_execution_cache_knows_what_a_gpu_has_recorded(tmp_path, monkeypatch):
    shutil.copy(ROOT / "requirements.txt", tmp_path)
    (tmp_path / "chapters").mkdir()
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [nbformat.v4.new_code_cell("run()", metadata={"tags": ["gpu"]})]
    monkeypatch.setattr(posenc_cache, "ROOT", tmp_path)
    states = set()
    for text in ("not run", "3 ms", "4 ms"):
        notebook.cells[0].outputs = [nbformat.v4.new_output("stream", text=text)]
        nbformat.write(notebook, tmp_path / "chapters" / "01_x.ipynb")
        states.add(posenc_cache.fingerprint())
    assert len(states) == 3
