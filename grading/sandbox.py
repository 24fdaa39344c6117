"""Run a program in a sandbox of bubblewrap, with limits.

Inside there is the system, the Python that runs this and what it is given by name, all read-only;
a private /tmp; 127.0.0.1 and no other network. There is no home, no other submission, no master.

Limits: the time; 8 GiB of address space for each process, 4 GiB of memory for all; 16 MiB for each
file, 1 GiB for all in /tmp; 200 processes and threads. The kernel does not hold root to the last
one, and to no sum of memory: for these the sandbox is looked at ten times a second, so a fork
bomb may slow the machine down for some seconds before it is stopped.
"""

import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

GIB = 2**30
ADDRESSES = 8 * GIB
MEMORY = 4 * GIB
FILE = 16 * 2**20
PROCESSES = 200
_HOSTS = Path(__file__).with_name("hosts")  # no machine but this one
_ENVIRONMENT = {
    "PATH": f"{sys.prefix}/bin:/usr/bin:/bin",
    "HOME": "/tmp",
    "USER": "student",
    "LANG": "C.UTF-8",
    "OMP_NUM_THREADS": "1",
    "MPLBACKEND": "agg",  # figures are not looked at
    "PIP_RETRIES": "0",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
}
_OPTIONS = (
    "--unshare-all --as-pid-1 --die-with-parent --new-session --cap-drop ALL --clearenv "
    "--hostname sandbox --proc /proc --dev /dev --size 1048576 --tmpfs /dev/shm --remount-ro /dev "
    f"--size {GIB} --tmpfs /tmp --chdir /tmp"
).split()


def _is_inside(path: Path, folder: Path) -> bool:
    return path == folder or folder in path.parents


def command(program: Sequence[str], files: Mapping[str, Path]) -> list[str]:
    """The command line that runs a program in the sandbox.

    Args:
        program: the program and its arguments.
        files: name inside -> file outside, to be read there.
    """
    options = list(_OPTIONS)
    for name in ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64"):
        path = Path(name)
        if path.is_symlink():
            options += ["--symlink", str(path.readlink()), name]
        elif path.exists():
            options += ["--ro-bind", name, name]
    for name in ("/etc/ld.so.cache", "/etc/alternatives"):
        options += ["--ro-bind-try", name, name]
    options += ["--ro-bind", str(_HOSTS), "/etc/hosts"]
    for path in {Path(sys.base_prefix), Path(sys.prefix)}:
        if not _is_inside(path, Path("/usr")):
            options += ["--ro-bind", str(path), str(path)]
    for name, path in files.items():
        options += ["--ro-bind", str(path.resolve()), name]
    for name, value in _ENVIRONMENT.items():
        options += ["--setenv", name, value]
    limits = [f"--as={ADDRESSES}", f"--nproc={PROCESSES}", f"--fsize={FILE}", "--core=0"]
    return ["bwrap", *options, "--remount-ro", "/", "prlimit", *limits, "--", *program]


def require() -> None:
    """Exit with one line if there is no sandbox here."""
    if not shutil.which("bwrap"):
        sys.exit("bwrap is missing, and nothing is graded without a sandbox; type: make grader")
    made = subprocess.run(command(["true"], {}), capture_output=True, check=False, text=True)
    if made.returncode:
        sys.exit(f"bwrap cannot make a sandbox here: {made.stderr.strip()}")


def _excess(process: subprocess.Popen) -> str:
    """Which limit the sandbox as a whole breaks, if any."""
    count, memory = 0, 0
    try:
        for child in psutil.Process(process.pid).children(recursive=True):
            count += child.num_threads()
            memory += child.memory_info().rss
    except psutil.Error:  # one of them has just ended
        return ""
    if count > 2 * PROCESSES:
        return f"it started more than {2 * PROCESSES} processes"
    return f"it used more than {MEMORY // GIB} GiB of memory" if memory > MEMORY else ""


def run(
    program: Sequence[str], files: Mapping[str, Path], output: Path, seconds: float
) -> tuple[int, str]:
    """Run a program in the sandbox.

    Args:
        program: the program and its arguments.
        files: name inside -> file outside, to be read there.
        output: where its stdout goes.
        seconds: time limit.

    Returns:
        The exit status, and the reason if the sandbox was stopped.
    """
    deadline, reason = time.monotonic() + seconds, ""
    with output.open("wb") as out:
        process = subprocess.Popen(
            command(program, files),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.DEVNULL,
        )
        try:
            while process.poll() is None and not reason:
                time.sleep(0.1)
                late = time.monotonic() > deadline
                reason = f"it took longer than {seconds:g} seconds" if late else _excess(process)
        finally:
            process.kill()  # all of them: the sandbox dies with bwrap
    return process.wait(), reason
