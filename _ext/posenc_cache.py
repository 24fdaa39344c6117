"""Tell the execution cache about `posenc`: a changed package re-executes the chapters.

The cache of executed notebooks is keyed on their code alone. Here it gets one folder for each
state of what that code imports: the package `posenc` and the pinned requirements. The results of
cells that only a GPU can run come from git and are not executed here; they count as well.

What a cell prints may arrive in parts that break within a line. They are put together while the
cell runs; the page's own way of merging them would end a line at each break.
"""

import hashlib
import json
import logging
from functools import partial
from pathlib import Path

import nbclient
import nbformat
from jupyter_cache import get_cache
from jupyter_cache.executors import load_executor
from jupyter_cache.executors import utils as executor
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment

from _ext.notebooks import is_gpu

ROOT = Path(__file__).parent.parent


def fingerprint() -> str:
    """Hash the names and contents of all that a chapter's result depends on but its own code."""
    files = (path for path in (ROOT / "posenc").rglob("*") if path.is_file())
    sources = sorted(path for path in files if "__pycache__" not in path.parts)
    digest = hashlib.sha256()
    for path in [*sources, ROOT / "requirements.txt"]:
        digest.update(str(path.relative_to(ROOT)).encode())
        digest.update(path.read_bytes())
    for path in sorted((ROOT / "chapters").glob("*.ipynb")):
        cells = nbformat.read(path, nbformat.NO_CONVERT).cells
        recorded = [cell.outputs for cell in cells if is_gpu(cell) and cell.outputs]
        digest.update(json.dumps(recorded, sort_keys=True).encode())
    return digest.hexdigest()[:16]


def use_own_folder(app: Sphinx, config: Config) -> None:
    """Point the execution cache at this state's folder."""
    config.posenc_fingerprint = fingerprint()
    config.nb_execution_cache_path = str(ROOT / "_build" / "executed" / config.posenc_fingerprint)


def execute(app: Sphinx, env: BuildEnvironment, names: list[str]) -> None:
    """Execute beside one another what is not in the cache.

    A notebook that fails here is executed once more when its page is read, which says why.
    """
    cache = get_cache(app.config.nb_execution_cache_path)
    files = [path for path in map(env.doc2path, names) if Path(path).suffix == ".ipynb"]
    keys = [cache.add_nb_to_project(str(path)).pk for path in files]
    if keys and cache.list_unexecuted(filter_pks=keys):
        log = logging.getLogger(__name__)
        log.setLevel(logging.INFO)  # a line as each begins
        beside = load_executor("local-parallel", cache, log)
        beside.run_and_cache(filter_pks=keys, timeout=app.config.nb_execution_timeout)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx; a changed fingerprint makes it read all pages again."""
    app.add_config_value("posenc_fingerprint", "", "env")
    app.connect("config-inited", use_own_folder, priority=10)
    app.connect("env-before-read-docs", execute)
    executor.executenb = partial(nbclient.execute, coalesce_streams=True)
    return {"parallel_read_safe": True}
