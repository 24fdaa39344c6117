"""Many runs: on all cores or a cluster, resumable, each result on disk as soon as it is there."""

import contextlib
import datetime
import os
import platform
import time
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path

import torch
from tqdm import tqdm

from posenc.lab import records
from posenc.lab.methods import Config
from posenc.lab.records import Record, Run
from posenc.lab.tasks import TASKS
from posenc.lab.timing import commit, device_name
from posenc.lab.training import Recipe, evaluate, named, require_seed, train

MULTIPLES = (1, 2, 4, 8, 16)  # of the training length, to test at
_PATIENCE = 10  # seconds in which a scheduler must answer


def execute(run: Run, *, command: str = "") -> Record:
    """Train and test one run, on one thread.

    Args:
        run: what to do.
        command: what the reader could type to do it again.

    Returns:
        The record.

    Raises:
        ValueError: as in `train`.

    Example:
        >>> record = execute(Run("alibi", "who", 8, seed=0, steps=2))
        >>> list(record.results)
        [8, 16, 32, 64, 128]
    """
    start = time.perf_counter()
    task = named("task", run.task, TASKS)
    with _one_thread():
        model = train(
            run.method,
            task,
            train_length=run.train_length,
            seed=run.seed,
            recipe=Recipe(run.steps, run.batch, run.rate),
            device=run.device,
            size=run.size,
        )
        results = evaluate(model, task, [run.train_length * multiple for multiple in MULTIPLES])
    score = results[run.train_length][task.measure]
    return Record(
        run,
        results,
        round(task.chance, 4),
        round(task.goal, 4),
        score,
        task.reached(score),
        {
            "command": command,
            "commit": commit(),
            "device": device_name(run.device),
            "versions": f"torch {torch.__version__}, Python {platform.python_version()}",
            "date": datetime.date.today().isoformat(),
            "seconds": round(time.perf_counter() - start, 1),
        },
    )


def sweep(
    runs: Iterable[Run],
    path: Path,
    *,
    jobs: int | None = None,
    scheduler: str | None = None,
    command: str = "",
) -> int:
    """Execute the runs that the file does not hold yet; append each as soon as it is done.

    Interrupted or killed, it loses the runs in flight and no others; call it again to go on.

    Args:
        runs: what should be in the file at the end.
        path: file of records.
        jobs: processes; one a core by default.
        scheduler: the address of a Dask scheduler whose workers should do it instead.
        command: for the provenance.

    Returns:
        How many runs were executed.

    Raises:
        OSError: if the file cannot be written, another sweep writes to it, or the scheduler does
            not answer.
        ValueError: if a run's seed, sizes or recipe are out of range; nothing is run then.
    """
    from joblib import Parallel, delayed

    todo = list({run.key: run for run in runs}.values())
    for run in todo:
        _require_valid(run)
    with _alone(path), _workers(scheduler):
        known, problems = records.read(path)
        for problem in problems:
            warnings.warn(problem, stacklevel=2)
        done = {record.run.key for record in known}
        todo = [run for run in todo if run.key not in done]
        parallel = Parallel(n_jobs=jobs or os.cpu_count(), return_as="generator_unordered")
        finished = parallel(delayed(execute)(run, command=command) for run in todo)
        bar = tqdm(finished, total=len(todo), desc="runs", unit="run")
        for record in bar:
            records.append(path, record)
            bar.set_postfix_str(record.run.name)
    return len(todo)


def grid(
    methods: Sequence[str],
    tasks: Sequence[str],
    lengths: Sequence[int] | None,
    seeds: Sequence[int],
    **options,
) -> list[Run]:
    """All combinations, seeds outermost, so that an interrupted sweep has whole seeds.

    Args:
        methods: names of METHODS.
        tasks: names of TASKS.
        lengths: training lengths; each task's own by default.
        seeds: seeds.
        **options: as in `Run`; steps are the task's own by default.

    Returns:
        The runs.

    Example:
        >>> len(grid(["none", "rope"], ["text"], [64], [0, 1]))
        4
    """
    return [
        Run(method, task, length, seed, **{"steps": TASKS[task].steps, **options})
        for seed in seeds
        for task in tasks
        for length in lengths or [TASKS[task].train_length]
        for method in methods
    ]


def _require_valid(run: Run) -> None:
    require_seed(run.seed)
    Recipe(run.steps, run.batch, run.rate)
    task = named("task", run.task, TASKS)
    Config(task.vocabulary, task.causal, run.train_length, **run.size)


@contextlib.contextmanager
def _alone(path: Path):
    """Hold a lock beside the file, which must be writable; the system drops it with the process."""
    from filelock import FileLock, Timeout

    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab"):
        pass
    try:
        with FileLock(path.with_suffix(".lock"), blocking=False):
            yield
    except Timeout:
        raise OSError(f"another sweep writes to {path}") from None


@contextlib.contextmanager
def _one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)  # tiny attention weights would make the tests crawl
    try:
        yield
    finally:
        torch.set_flush_denormal(False)
        torch.set_num_threads(threads)


@contextlib.contextmanager
def _workers(scheduler: str | None):
    if scheduler is None:
        yield
        return
    import joblib
    from distributed import Client

    with Client(scheduler, timeout=_PATIENCE), joblib.parallel_config(backend="dask"):
        yield
