"""Times that can be trusted: interleaved rounds, medians, and what they were measured on."""

import datetime
import random
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import torch


def device_times(
    functions: Mapping[str, Callable[[], object]], *, device: str = "cuda", rounds: int = 20
) -> dict[str, float]:
    """Median time of each function, all of them interleaved in one run.

    Every round calls each function once, in a shuffled order; the first two rounds warm up and
    do not count. Only ratios of the results mean anything.

    Args:
        functions: name -> function of no arguments.
        device: "cuda", timed by CUDA events, or "cpu", timed by the clock.
        rounds: counted rounds, positive.

    Returns:
        Name -> milliseconds.

    Raises:
        ValueError: if rounds is not positive, or no function is given.

    Example:
        >>> times = device_times({"add": lambda: torch.ones(9) + 1}, device="cpu", rounds=3)
        >>> times["add"] > 0
        True
    """
    if rounds < 1:
        raise ValueError(f"rounds must be positive, got {rounds}")
    if not functions:
        raise ValueError(f"functions must not be empty, got {functions}")
    times: dict[str, list[float]] = {name: [] for name in functions}
    order = random.Random(0)
    for round_ in range(rounds + 2):
        for name in order.sample(list(functions), len(functions)):
            elapsed = _elapsed(functions[name], device)
            if round_ >= 2:
                times[name].append(elapsed)
    return {name: statistics.median(values) for name, values in times.items()}


def peak_memory(function: Callable[[], object]) -> int:
    """The most memory that a call takes on the GPU, beyond what is held before it.

    Args:
        function: of no arguments; it is called once.

    Returns:
        Bytes.

    Raises:
        ValueError: if there is no GPU.

    Example:
        >>> if torch.cuda.is_available():
        ...     assert peak_memory(lambda: torch.ones(1024, device="cuda")) >= 4096
    """
    if not torch.cuda.is_available():
        raise ValueError("device must be there, got 'cuda' without CUDA")
    torch.cuda.reset_peak_memory_stats()
    held = torch.cuda.memory_allocated()
    function()
    return torch.cuda.max_memory_allocated() - held


def _elapsed(function: Callable[[], object], device: str) -> float:
    if device == "cpu":
        start = time.perf_counter()
        function()
        return 1e3 * (time.perf_counter() - start)
    start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    function()
    stop.record()
    stop.synchronize()
    return start.elapsed_time(stop)


def provenance() -> str:
    """One line that says what a result was measured on: device, versions, commit and date.

    Returns:
        The line. Outside a git checkout the commit is "not in git".

    Example:
        >>> "torch" in provenance()
        True
    """
    device = device_name("cuda" if torch.cuda.is_available() else "cpu")
    today = datetime.date.today().isoformat()
    return f"{device}, torch {torch.__version__}, commit {commit()}, {today}"


def device_name(device: str) -> str:
    """What a device is called: the name of the GPU, or "CPU".

    Example:
        >>> device_name("cpu")
        'CPU'
    """
    return "CPU" if device == "cpu" else torch.cuda.get_device_name(device)


def commit() -> str:
    """The commit that is checked out, "not in git" outside a checkout or without git.

    Example:
        >>> len(commit()) > 6
        True
    """
    command = ["git", "-C", Path(__file__).parent, "rev-parse", "--short", "HEAD"]
    try:
        found = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:  # a worker without git
        return "not in git"
    return found.stdout.strip() or "not in git"
