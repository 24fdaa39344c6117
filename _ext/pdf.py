"""Print the book, built as a single page, into one PDF.

python -m _ext.pdf _build/singlehtml/chapters/index.html _build/where-am-i.pdf
"""

import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from _ext import browser

FOOTER = (
    '<div style="width:100%;font-size:8pt;text-align:center"><span class="pageNumber"></span></div>'
)


def print_to(pdf: Path, page_file: Path, chromium: str) -> None:
    """Open the page, wait for its fonts, and print it."""
    # Sphinx puts the single page where the root document is, but writes its links as if it were
    # on top, and those within the page by its full name.
    top = page_file.parent.parent / "book.html"
    top.write_text(
        page_file.read_text("utf-8").replace('href="chapters/index.html#', 'href="#'), "utf-8"
    )
    with sync_playwright() as playwright:
        program = playwright.chromium.launch(executable_path=chromium, args=browser.OPTIONS)
        page = program.new_page()
        page.goto(top.as_uri())
        page.evaluate("document.fonts.ready.then(() => {})")
        page.pdf(
            path=pdf,
            format="A4",
            scale=0.8,
            margin=dict.fromkeys(("top", "right", "bottom", "left"), "18mm"),
            print_background=True,
            display_header_footer=True,
            header_template="<span></span>",
            footer_template=FOOTER,
            outline=True,
            tagged=True,
        )
        program.close()


if __name__ == "__main__":
    chromium = browser.find()
    if chromium is None:
        sys.exit("No Chromium was found; type: make browser")
    print_to(Path(sys.argv[2]).resolve(), Path(sys.argv[1]).resolve(), chromium)
