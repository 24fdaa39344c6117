"""The built site, a server that shows it below a sub-path, and pages that note what went wrong."""

import functools
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote, urlsplit

from helpers import lacking
from playwright.sync_api import Browser, ConsoleMessage, Page, Playwright, Request, Response

from _ext import browser as chromium

SITE = Path(os.environ.get("SITE_DIR", Path(__file__).parent.parent / "_build" / "html"))
PREFIX = "/some/where/"  # nobody knows below which address the site will be put
OFFLINE = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"  # for all but this machine


def pages(site: Path) -> list[str]:
    """All pages of a site, as paths from its top, without the one that only leads to another."""
    files = [file for file in sorted(site.rglob("*.html")) if "_static" not in file.parts]
    names = [file.relative_to(site).as_posix() for file in files if not _leads_on(file)]
    return names or ["nothing is built"]


def _leads_on(file: Path) -> bool:
    return 'http-equiv="refresh"' in file.read_text(encoding="utf-8")[:1000].lower()


def launch(playwright: Playwright) -> Browser:
    """Start a Chromium without a window."""
    program = chromium.find()
    if program is None:
        lacking("No Chromium was found; type: make browser")
    return playwright.chromium.launch(executable_path=program, args=[*chromium.OPTIONS, OFFLINE])


class Handler(SimpleHTTPRequestHandler):
    """Serves a folder below PREFIX, and nothing elsewhere.

    What is asked for with `?until=` arrives in two pieces: its first so many bytes, the rest.
    """

    def do_GET(self) -> None:
        if not self.path.startswith(PREFIX):
            self.send_error(404)
            return
        self.path = self.path.removeprefix(PREFIX[:-1])
        super().do_GET()

    def copyfile(self, source: BinaryIO, outputfile: BinaryIO) -> None:
        _, _, until = self.path.partition("?until=")
        if until:
            outputfile.write(source.read(int(until)))
            time.sleep(0.2)  # long enough for a browser to draw what is there
        super().copyfile(source, outputfile)

    def log_message(self, *args) -> None:
        """Say nothing."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder and give its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=folder))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}{PREFIX}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


# The theme that a page has when all of it is there, and the theme's own script has not run.
FIRST = """document.addEventListener("readystatechange", () => {
  window.first ??= document.documentElement.dataset.theme;
});"""


# Resolves once no frame of a few has changed, moved or scrolled anything: however slow they come.
SETTLED = """() => new Promise((done) => {
  let [quiet, top] = [0, null];
  const watch = new MutationObserver(() => (quiet = 0));
  const all = { subtree: true, childList: true, attributes: true, characterData: true };
  watch.observe(document, all);
  const look = () => {
    const moves = document.getAnimations().some(({ playState }) => playState === "running");
    quiet = moves || scrollY !== top ? 0 : quiet + 1;
    top = scrollY;
    if (quiet < 6) return requestAnimationFrame(look);
    watch.disconnect();
    done();
  };
  requestAnimationFrame(look);
})"""


def settle(page: Page) -> None:
    """Wait until a page that was touched has done what it does."""
    page.evaluate(SETTLED)


class Visit:
    """A page of the site that is open, and what it did that it should not."""

    def __init__(self, page: Page):
        self.page = page
        self.home = self.path = ""
        self.requested: list[str] = []  # files of the site, as paths from its top
        self.problems: list[str] = []
        page.add_init_script(FIRST)
        page.on("request", self._request)
        page.on("requestfailed", self._failed)
        page.on("response", self._response)
        page.on("console", self._console)
        page.on("pageerror", lambda error: self._add("error", str(error)))

    def open(self) -> None:
        """Open the page and wait until its scripts and fonts are there."""
        self.page.goto(self.home + self.path)
        self.page.evaluate("document.fonts.ready.then(() => {})")

    def forget(self, options: dict) -> None:
        """Leave the page, and let its window be as it was when it was new."""
        page = self.page
        page.goto(f"{self.home}_static/pygments.css")  # where no script runs
        page.evaluate("localStorage.clear(), sessionStorage.clear()")
        page.mouse.move(0, 0)
        looks = ("color_scheme", "reduced_motion", "forced_colors")
        page.emulate_media(media="null", **{look: options.get(look, "null") for look in looks})
        page.set_viewport_size(options.get("viewport", {"width": 1280, "height": 720}))
        self.requested, self.problems = [], []

    def _add(self, kind: str, what: str) -> None:
        self.problems.append(f"{kind}: {what}")

    def _request(self, request: Request) -> None:
        if request.url.startswith(self.home):
            path = urlsplit(request.url.removeprefix(self.home)).path
            self.requested.append(unquote(path))
        else:
            self._add("asks for what is not of the site", request.url)

    def _failed(self, request: Request) -> None:
        if request.failure != "net::ERR_ABORTED":  # the page was left before this could arrive
            self._add("did not arrive", request.url)

    def _response(self, response: Response) -> None:
        if response.status >= 400:
            self._add(f"status {response.status}", response.url)

    def _console(self, message: ConsoleMessage) -> None:
        if message.location["url"].endswith("/favicon.ico"):
            return  # the browser asks for one where `forget` waits; each page has its own
        if message.type in ("error", "warning"):
            self._add(f"console {message.type}", message.text)


_KEPT: list[tuple[object, Visit]] = []  # windows that wait to be used again, the last four


@contextmanager
def visit(browser: Browser, home: str, path: str, *, alone=False, **options) -> Iterator[Visit]:
    """Open a page of the site as a first-time reader would; options are of Browser.new_context.

    A window is used again, for a new one costs more than a page does, unless it was `alone`: who
    changes more than `Visit.forget` mends says so.
    """
    kind = browser, repr(sorted(options.items()))
    kept = next((pair for pair in _KEPT if pair[0] == kind and not alone), None)
    if kept:
        _KEPT.remove(kept)
    opened = kept[1] if kept else Visit(browser.new_context(**options).new_page())
    opened.home, opened.path = home, path
    closed = opened
    try:
        opened.open()
        yield opened
        if not alone:
            opened.forget(options)
            _KEPT.append((kind, opened))
            closed = _KEPT.pop(0)[1] if len(_KEPT) > 4 else None
    finally:
        if closed:
            closed.page.context.close()
