"""Many runs: on all cores or a cluster, resumable, each result on disk as soon as it is there."""

import contextlib
import datetime
import functools
import os
import platform
import threading
import time
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path

import torch
from tqdm import tqdm

from posenc.lab import outside, records
from posenc.lab.config import Config
from posenc.lab.methods import Method
from posenc.lab.model import Transformer
from posenc.lab.provenance import commit, device_name
from posenc.lab.records import Record, Run
from posenc.lab.tasks import TASKS
from posenc.lab.training import Recipe, evaluate, named, require_seed, train

MULTIPLES = {"test": (1, 2, 4, 8), "validation": (1, 2)}  # of the training length, to test at
SEQUENCES = {"test": 1024, "validation": 512}
_PATIENCE = 10  # seconds in which a scheduler must answer


def execute(run: Run, *, command: str = "", method: bytes = b"", parent: int = 0) -> Record:
    """Train and test one run, on one thread.

    Args:
        run: what to do.
        command: what the reader could type to do it again.
        method: the class, packed, if it is not one of METHODS.
        parent: the process without which nobody waits for the result; 0: never mind.

    Returns:
        The record.

    Raises:
        ValueError: as in `train`.

    Example:
        >>> record = execute(Run("alibi", "who", 8, seed=0, steps=2))
        >>> list(record.results)
        [8, 16, 32, 64]
    """
    if parent:
        _end_with(parent)
    start = time.perf_counter()
    task = named("task", run.task, TASKS)
    if not method:
        method = outside.packed(run.method)
    with one_thread():
        model = train(
            outside.unpacked(run.method, method),
            task,
            train_length=run.train_length,
            seed=run.seed,
            data_seed=run.data_seed,
            recipe=Recipe(run.steps, run.batch, run.rate),
            device=run.device,
            size=run.size,
            knobs=run.knobs,
            drawn=run.drawn,
        )
        lengths = [run.train_length * multiple for multiple in MULTIPLES[run.part]]
        results = evaluate(model, task, lengths, sequences=SEQUENCES[run.part], part=run.part)
    return record_of(run, results, command=command, start=start)


def record_of(run: Run, results: dict, *, command: str, start: float) -> Record:
    """Pack what `evaluate` says of a run, with where it comes from.

    Args:
        run: what was run.
        results: of `evaluate`.
        command: what the reader could type to do it again.
        start: `time.perf_counter` when it began.
    """
    task = TASKS[run.task]
    score = results[run.train_length][task.measure]
    for result in results.values():
        if isinstance(result, dict):
            each = result.pop("each")
            if run.part == "test":  # what is only chosen by needs no intervals
                result["each"] = records.pack(each)
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
        TypeError, ValueError: if a run is impossible: an unknown method or task, a seed, size,
            length, knob or recipe out of range, no CUDA. Nothing is run then.
    """
    from joblib import Parallel, delayed

    todo = list({run.key: run for run in runs}.values())
    for run in todo:
        _require_possible(run, here=scheduler is None)
    with alone(path), _workers(scheduler):
        known, problems = records.read(path)
        for problem in problems:
            warnings.warn(problem, stacklevel=2)
        done = {record.run.key for record in known}
        todo = [run for run in todo if run.key not in done]
        parallel = Parallel(n_jobs=jobs or os.cpu_count(), return_as="generator_unordered")
        classes = {name: outside.packed(name) for name in {run.method for run in todo}}
        parent = 0 if scheduler else os.getpid()
        finished = parallel(
            delayed(execute)(run, command=command, method=classes[run.method], parent=parent)
            for run in todo
        )
        bar = tqdm(finished, total=len(todo), desc="runs", unit="run")
        for record in bar:
            records.append(path, record)
            bar.set_postfix_str(record.run.name)
    return len(todo)


def grid(
    methods: Sequence[str | type[Method]],
    tasks: Sequence[str],
    lengths: Sequence[int] | None,
    seeds: Sequence[int],
    **options,
) -> list[Run]:
    """All combinations, seeds outermost, so that an interrupted sweep has whole seeds.

    Args:
        methods: names of METHODS, "module:Class", or classes of `Method`.
        tasks: names of TASKS.
        lengths: training lengths; each task's own by default.
        seeds: seeds.
        **options: as in `Run`; steps are the task's own by default.

    Returns:
        The runs.

    Raises:
        TypeError, ValueError: if there is no such task, or no such method.

    Example:
        >>> len(grid(["none", "rope"], ["text"], [64], [0, 1]))
        4
    """
    names = [outside.name_of(method) for method in methods]
    sources = {name: outside.source_of(name) for name in names}
    known = {task: named("task", task, TASKS) for task in tasks}
    return [
        Run(name, task, length, seed, **{"steps": own.steps, "source": sources[name], **options})
        for seed in seeds
        for task, own in known.items()
        for length in lengths or [own.train_length]
        for name in names
    ]


def _require_possible(run: Run, *, here: bool) -> None:
    """Refuse now what would fail in a worker, perhaps hours from now."""
    require_seed("seed", run.seed)
    if run.data_seed is not None:
        require_seed("data_seed", run.data_seed)
    Recipe(run.steps, run.batch, run.rate)
    named("part", run.part, MULTIPLES)
    if run.device == "cuda" and here and not torch.cuda.is_available():
        raise ValueError("device must be there, got 'cuda' without CUDA")
    if run.source != outside.source_of(run.method):
        raise ValueError(f"source must be that of {run.method}, got {run.source!r}")
    _rehearse(
        run.method,
        run.source,
        run.task,
        run.train_length,
        tuple(run.size.items()),
        tuple(run.knobs.items()),
        MULTIPLES[run.part],
    )


@functools.cache
def _rehearse(
    method: str, source: str, task: str, train_length: int, size, knobs, multiples
) -> None:
    """Draw a line of each length and run the untrained model; the runs of all seeds share this."""
    task = named("task", task, TASKS)
    config = Config(task.vocabulary, task.causal, train_length, **dict(size))
    lines = [
        task.sample(torch.Generator(), 1, train_length * multiple, part="test").inputs
        for multiple in multiples
    ]
    model = Transformer(config, functools.partial(outside.find(method), **dict(knobs)), seed=0)
    try:
        model(lines[0])
    except RuntimeError as error:
        raise ValueError(f"method must run, got {method} with {error}") from None


@functools.cache
def _end_with(parent: int) -> None:
    """End this worker when its parent is gone: killed, it could not tell its workers to stop."""
    if os.getpid() == parent:
        return

    def watch():
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextlib.contextmanager
def alone(path: Path):
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
def one_thread():
    """Compute on one thread, without tiny numbers, and put both back after."""
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
