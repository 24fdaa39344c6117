"""The book as one PDF: all chapters, their formulas and figures, and links that lead somewhere."""

import ctypes
import os
import re
from pathlib import Path

import nbformat
import pypdfium2
import pytest
from pypdfium2 import raw

ROOT = Path(__file__).parent.parent
PDF = ROOT / "_build" / "where-am-i.pdf"


@pytest.fixture(scope="module")
def book():
    if not PDF.exists():
        (pytest.fail if os.environ.get("CI") else pytest.skip)("no PDF was made; type: make pdf")
    return pypdfium2.PdfDocument(PDF)


@pytest.fixture(scope="module")
def text(book):
    return "\n".join(page.get_textpage().get_text_range() for page in book)


def links(page):
    """The address that each link of a page leads to; "" for one to another page."""
    place, link = ctypes.c_int(0), raw.FPDF_LINK()
    while raw.FPDFLink_Enumerate(page, place, link):
        action, address = raw.FPDFLink_GetAction(link), ""
        if action and raw.FPDFAction_GetType(action) == raw.PDFACTION_URI:
            found = ctypes.create_string_buffer(2048)
            assert raw.FPDFAction_GetURIPath(page.pdf, action, found, len(found)) <= len(found)
            address = found.value.decode()
        yield address


def test_every_chapter_is_in_it_and_in_its_outline(book, text):
    titles = [entry.get_title() for entry in book.get_toc()]
    for number, path in enumerate(sorted((ROOT / "chapters").glob("[0-9]*.ipynb")), start=1):
        heading = nbformat.read(path, as_version=4).cells[0].source.splitlines()[0]
        name = f"{number}. {heading.removeprefix('# ')}"
        assert any(title.startswith(name) for title in titles), name
        assert name in text
    assert any(title.startswith("Glossary") for title in titles)


def test_formulas_are_typeset(text):
    assert not re.findall(r"\\\(|\\\[|\\begin\{|\\frac", text)


def chapters():
    return [nbformat.read(path, 4) for path in sorted((ROOT / "chapters").glob("[0-9]*.ipynb"))]


def test_answers_can_be_read_and_controls_are_gone(text):
    source = "\n".join(cell.source for book in chapters() for cell in book.cells)
    boxes = source.count("```{predict}\n")
    assert boxes > 20
    assert len(re.findall(r"\bPredict\b", text)) >= boxes
    assert len(re.findall(r"\bRight\.\s", text)) >= source.count("- [x] ") > 10
    for control in ("Start reading", "Ctrl", "Compare\n", "Play\n", "Forget my answers"):
        assert control not in text


def test_every_figure_is_in_it(text):
    figures = [
        sum("figure" in cell.metadata.get("mystnb", {}) for cell in chapter.cells)
        for chapter in chapters()
    ]
    captions = set(re.findall(r"Figure (\d+\.\d+) ", text))
    expected = {f"{n}.{k}" for n, of in enumerate(figures, 1) for k in range(1, of + 1)}
    assert len(expected) > 40
    assert not expected - captions


def test_links_between_pages_stay_in_the_document(book):
    found = [address for page in book for address in links(page)]
    outside = [address for address in found if address]
    for address in outside:
        assert address.startswith("http"), address
        assert "127.0.0.1" not in address
    assert len(found) - len(outside) > 200
    assert len(outside) > 20
