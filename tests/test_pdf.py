"""The book as one PDF: all chapters, their formulas and figures, and links that lead somewhere."""

import os
import re
from pathlib import Path

import nbformat
import pypdf
import pytest

ROOT = Path(__file__).parent.parent
PDF = ROOT / "_build" / "where-am-i.pdf"


@pytest.fixture(scope="module")
def book():
    if not PDF.exists():
        (pytest.fail if os.environ.get("CI") else pytest.skip)("no PDF was made; type: make pdf")
    return pypdf.PdfReader(PDF)


@pytest.fixture(scope="module")
def text(book):
    return "\n".join(page.extract_text() for page in book.pages)


def outline(entries):
    for entry in entries:
        if isinstance(entry, list):
            yield from outline(entry)
        else:
            yield entry


def test_every_chapter_is_in_it_and_in_its_outline(book, text):
    titles = [entry.title for entry in outline(book.outline)]
    for number, path in enumerate(sorted((ROOT / "chapters").glob("[0-9]*.ipynb")), start=1):
        heading = nbformat.read(path, as_version=4).cells[0].source.splitlines()[0]
        name = f"{number}. {heading.removeprefix('# ')}"
        assert any(title.startswith(name) for title in titles), name
        assert name in text
    assert any(title.startswith("Glossary") for title in titles)


def test_formulas_are_typeset(text):
    assert not re.findall(r"\\\(|\\\[|\\begin\{|\\frac", text)


def test_answers_can_be_read_and_controls_are_gone(text):
    boxes = len(re.findall(r"\bPredict\b", text))
    assert boxes > 20
    assert len(re.findall(r"\bRight\.\s", text)) >= boxes
    assert "Start reading" not in text
    assert "Ctrl" not in text


def test_every_figure_is_in_it(book, text):
    captions = set(re.findall(r"Figure (\d\.\d+)", text))
    images = sum(len(page.images) for page in book.pages)
    assert len(captions) > 40
    assert images >= len(captions)


def test_links_between_pages_stay_in_the_document(book):
    inside = outside = 0
    for page in book.pages:
        for note in page.get("/Annots", []):
            action = note.get_object().get("/A", {})
            if "/URI" not in action:
                inside += 1
                continue
            outside += 1
            assert action["/URI"].startswith("http"), action["/URI"]
            assert "127.0.0.1" not in action["/URI"]
    assert inside > 200
    assert outside > 20
