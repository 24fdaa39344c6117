"""Where the book's repository and its site are, found at build time.

The repository is what CI says, else what the remote `origin` says, and must be on GitHub.
Without one nothing may point to it: there is no address rather than a wrong one.
"""

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # grading needs the root alone
    from sphinx.application import Sphinx
    from sphinx.config import Config

ROOT = Path(__file__).parent.parent
GITHUB = "https://github.com"
_REMOTE = re.compile(
    r"(?:(?:https?|ssh|git)://(?:[^@/]+@)?github\.com(?::\d+)?/|(?:[^@/:]+@)?github\.com:)"
    r"(?P<owner>[\w-]+)/(?P<name>[\w.-]+?)(?:\.git)?/?"
)


def parse(remote: str) -> str | None:
    """Return owner/name of a remote's address, None if it is not on GitHub."""
    match = _REMOTE.fullmatch(remote.strip())
    return f"{match['owner']}/{match['name']}" if match else None


def find(environment: Mapping[str, str] = os.environ, root: Path = ROOT) -> str | None:
    """Return owner/name of the repository, None if it has no place on GitHub."""
    if name := environment.get("GITHUB_REPOSITORY"):
        server = environment.get("GITHUB_SERVER_URL", GITHUB)
        return parse(f"{server}/{name}")
    command = ["git", "-C", str(root), "remote", "get-url", "origin"]
    try:
        found = subprocess.run(command, capture_output=True, check=False, text=True)
    except FileNotFoundError:  # git is not installed
        return None
    return parse(found.stdout)


def site(repository: str, environment: Mapping[str, str] = os.environ) -> str:
    """Return the address of the published book, with a slash at its end."""
    if given := environment.get("SITE_URL"):
        return given.rstrip("/") + "/"
    owner, name = repository.split("/")
    host = f"{owner.lower()}.github.io"
    return f"https://{host}/" if name.lower() == host else f"https://{host}/{name}/"


def remember(app: "Sphinx", config: "Config") -> None:
    """Find the addresses once for all extensions."""
    config.book_repository = find() or ""
    config.book_site = site(config.book_repository) if config.book_repository else ""
    if config.book_repository:
        app.tags.add("published")  # what only a published book can say stands in {only}


def setup(app: "Sphinx") -> dict[str, bool]:
    """Register with Sphinx; a changed address makes it write all pages again."""
    app.add_config_value("book_repository", "", "html")
    app.add_config_value("book_site", "", "html")
    app.connect("config-inited", remember, priority=10)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
