"""Evidence: what was trained and measured, on what, and when.

`train` and `evaluate` run one model, `python -m posenc.lab sweep` many; `Method` is what a
positional method of your own must be. `device_times` times code, `peak_memory` weighs it.
"""

from posenc._extras import need

need("lab", "tqdm", "joblib", "filelock")

from posenc.lab.config import Config
from posenc.lab.counted import counted_losses
from posenc.lab.methods import METHODS, Method
from posenc.lab.model import Transformer
from posenc.lab.paired import Difference, change, difference, differences, farther, gain, order
from posenc.lab.provenance import device_times, peak_memory, provenance
from posenc.lab.records import Record, Run, read, recorded
from posenc.lab.tables import Row, by_position, rows, table
from posenc.lab.tasks import TASKS, Batch, Task
from posenc.lab.training import Recipe, evaluate, train

__all__ = [
    "METHODS",
    "TASKS",
    "Batch",
    "Config",
    "Difference",
    "Method",
    "Recipe",
    "Record",
    "Row",
    "Run",
    "Task",
    "Transformer",
    "by_position",
    "change",
    "counted_losses",
    "device_times",
    "difference",
    "differences",
    "evaluate",
    "farther",
    "gain",
    "order",
    "peak_memory",
    "provenance",
    "read",
    "recorded",
    "rows",
    "table",
    "train",
]
