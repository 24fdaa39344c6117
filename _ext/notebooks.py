"""Execute the chapters in place and keep of them what git should hold.

    python -m _ext.notebooks run chapters/*.ipynb          execute, then tidy
    python -m _ext.notebooks run --gpu chapters/*.ipynb    with the cells that need CUDA
    python -m _ext.notebooks check chapters/*.ipynb        fail if a notebook is not tidy

A tidy notebook has its execution counts and text outputs, which nbval compares. It has no
images, no HTML (what shows as HTML has a text form too), no widget state and no metadata that
changes from run to run. A cell tagged `gpu` keeps
the output that was recorded on a GPU; where none was, all such cells say that they were not run.
"""

import argparse
import copy
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode
from tqdm import tqdm

KEPT_CELL_METADATA = ("mystnb", "tags")
NOT_RUN = "Not run here: this cell needs CUDA. `make gpu` runs it and keeps its result.\n"


def is_gpu(cell: NotebookNode) -> bool:
    """Whether the cell is tagged `gpu`."""
    return "gpu" in cell.metadata.get("tags", ())


def execute(notebook: NotebookNode, folder: Path, *, gpu: bool) -> None:
    """Run all cells in order, those tagged `gpu` only if asked to, and store their outputs."""
    resources = {"metadata": {"path": str(folder)}}
    skipped = "never" if gpu else "gpu"
    NotebookClient(
        notebook,
        timeout=600,
        resources=resources,
        skip_cells_with_tag=skipped,
        coalesce_streams=True,
    ).execute()


def _was_run(cell: NotebookNode) -> bool:
    return any(output.get("text") != NOT_RUN for output in cell.outputs)


def tidy(notebook: NotebookNode) -> NotebookNode:
    """Return the notebook as git should hold it; tidying twice changes nothing."""
    notebook = copy.deepcopy(notebook)
    notebook.metadata = NotebookNode(
        kernelspec=NotebookNode(display_name="Python 3", language="python", name="python3"),
        language_info=NotebookNode(name="python"),
    )
    on_gpu = [cell for cell in notebook.cells if is_gpu(cell)]
    note = nbformat.v4.new_output("stream", name="stdout", text=NOT_RUN)
    nothing = [] if any(map(_was_run, on_gpu)) else [note]
    for cell in notebook.cells:
        kept = {k: v for k, v in cell.metadata.items() if k in KEPT_CELL_METADATA}
        cell.metadata = NotebookNode(kept)
        if cell.cell_type != "code":
            continue
        if is_gpu(cell) and not _was_run(cell):
            cell.outputs = list(nothing)
        for output in cell.outputs:
            if "data" in output:
                output.data = {k: v for k, v in output.data.items() if _is_kept(k)}
                output.metadata = {}
    return notebook


def _is_kept(mime: str) -> bool:
    return mime.startswith("text/") and mime != "text/html"


def main() -> int:
    """Run the command line; the exit status says whether all went well."""
    parser = argparse.ArgumentParser(prog="python -m _ext.notebooks")
    parser.add_argument("command", choices=("run", "check"))
    parser.add_argument("--gpu", action="store_true", help="also run the cells that need CUDA")
    parser.add_argument("notebooks", nargs="+", type=Path)
    args = parser.parse_args()
    untidy = []
    for path in tqdm(args.notebooks, disable=args.command == "check"):
        notebook = nbformat.read(path, as_version=4)
        if args.command == "run":
            execute(notebook, path.parent, gpu=args.gpu)
            nbformat.write(tidy(notebook), path)
        elif tidy(notebook) != notebook:
            untidy.append(str(path))
    for path in untidy:
        print(f"{path} is not tidy; run: make notebooks", file=sys.stderr)
    return 1 if untidy else 0


if __name__ == "__main__":
    sys.exit(main())
