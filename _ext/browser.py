"""Find the browser that prints and tests the book."""

import os
import shutil

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
OPTIONS = (
    "--no-sandbox",  # containers run as root
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-gpu",  # in software it takes a tenth of the processor's time
    "--disable-software-rasterizer",
)


def find() -> str | None:
    """Path of a Chromium: what the environment variable CHROMIUM says, else one on the PATH."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
