"""Run a program in a sandbox of bubblewrap, with limits, and talk with it line by line.

Inside there is the system, the Python that runs this and what it is given by name, all read-only;
a private /tmp; no network, be it its own, of which the kernel counts each packet, for all; and of
/proc, which tells what others do, some files as they were before. There is no home, no other
submission, no master, wherever they lie: what is inside of a folder that is shown, such as
/usr/src, is covered, as are the packages of other Pythons.

Limits, by default: 8 GiB of address space for each process, in no more than 10 000 parts, 4 GiB of
memory for all; 16 MiB for each file, 1 GiB for all in /tmp, and none without a name; 512 open files
for each process; 100 processes and threads; 200 sockets, 16 terminals, 100 000 files, of which each
takes memory of the kernel. The kernel does not hold root to the number of processes, and nobody to
the numbers behind it, to the parts and to a sum of memory: for these the sandbox is looked at
several times a second, before anything else has its turn, if the kernel lets us.
"""

import contextlib
import functools
import itertools
import json
import os
import random
import re
import selectors
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from _ext.repository import ROOT
from grading import kernel
from posenc.check.calls import PATIENCE, starved

GIB = 2**30
FILE = 16 * 2**20
SHARED = 2**20  # bytes in /dev/shm
LINE = 8 * 2**20  # the longest message
READ = 2**16  # what is read at once: between two looks no more lines come than it holds
USER = 64_321  # nobody else's
PYTHON = os.path.abspath(sys.executable)  # inside no ".." of a path leads anywhere
_HOSTS = Path(__file__).with_name("hosts")  # no machine but this one
_INSTALLED = Path(sysconfig.get_path("purelib"), "posenc")  # what is graded with
_OTHERS = frozenset(["posenc", "site-packages", "dist-packages"])
_OWN = ("purelib", "platlib")
_WHEELS = Path(sys.prefix, "wheels")  # of which posenc was installed: whole
_PROC = Path("/proc")
_TOLD = ("cpuinfo", "filesystems", "loadavg", "meminfo", "stat", "uptime", "version")  # of _PROC
_TELLS = (_PROC / "thread-self" / "children").exists()  # the kernel, of a process's children
_WAITED = str(_PROC / "self" / "schedstat")  # how long the first process has waited: itself alone
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64")
_ENVIRONMENT = {
    "PATH": f"{sys.prefix}/bin:/usr/bin:/bin",
    "HOME": "/tmp",
    "USER": "student",
    "LANG": "C.UTF-8",
    "OMP_NUM_THREADS": "1",
    "MPLBACKEND": "agg",  # figures are not looked at
    "TORCHDYNAMO_DISABLE": "1",  # what is compiled runs as it is written
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONBREAKPOINT": "0",  # nobody answers a debugger
    "PIP_RETRIES": "0",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
}
_OPTIONS = (
    "--unshare-all --unshare-user --disable-userns --as-pid-1 --die-with-parent --new-session "
    f"--cap-drop ALL --clearenv --hostname sandbox --dev /dev --size 4096 --tmpfs {_PROC} "
    f"--ro-bind-try {_WAITED} {_WAITED} "
    "--dev-bind /dev/null /dev/zero "  # of which memory could be made
    "--dev-bind /dev/null /dev/tty "  # the machine's node, too: what is written to it sets its time
    f"--size {SHARED} --tmpfs /dev/shm --remount-ro /dev --size {GIB} --tmpfs /tmp --chdir /tmp"
).split()
_FILES = 512
_SOCKETS = 200  # in all
_NAMES = 100_000  # of files, links and folders, in all
_TERMINALS = 16  # in all: there are so many for the machine
_PARTS = 10_000  # of the memory of a process
_LOOKS = 5.0  # a second, on average
_SPARED = 0.75  # of the time by the clock, at most, that others may have taken


class Ended(BaseException):
    """The program in the sandbox is no more; says why. No measurement of an answer catches it."""


class Killed(Ended):
    """It was killed from outside, as where the machine's memory is full; or it says so."""


@dataclass(frozen=True)
class Limits:
    """What a submission may use.

    Args:
        seconds: for all of it; see `Sandbox.seconds`.
        cell_seconds: for a cell of its notebook.
        memory: GiB, for all its processes.
        processes: processes and threads.
        by_user: where bubblewrap cannot be: another user instead, without a network of its own.
        private: folders that no submission may see. They decide about no points.
    """

    seconds: float = 600.0
    cell_seconds: float = 120.0
    memory: float = 4.0
    processes: int = 100
    by_user: bool = False
    private: tuple[Path, ...] = field(default=(), repr=False)


def _go_first(first: bool = True) -> None:
    """Let this thread, which mostly sleeps, have the processor before all others, or not."""
    with contextlib.suppress(OSError, AttributeError):  # who may not, or where there is no such way
        policy = os.SCHED_RR | os.SCHED_RESET_ON_FORK if first else os.SCHED_OTHER
        os.sched_setscheduler(0, policy, os.sched_param(int(first)))


def _is_inside(path: Path, folder: Path) -> bool:
    return path == folder or folder in path.parents


def _shown() -> set[Path]:
    """Folders that every sandbox has: the system, and the Python that runs this."""
    system = {Path(name) for name in _SYSTEM if os.path.isdir(name) and not os.path.islink(name)}
    return {*system, Path(sys.base_prefix), Path(sys.prefix)}


def _covered(private: Sequence[Path]) -> set[Path]:
    """Where private folders, and this repository, would be seen in the sandbox."""
    return {
        folder / path.relative_to(folder.resolve())
        for path in (one.resolve() for one in (ROOT, *private))
        for folder in _shown()
        if path.is_dir() and _is_inside(path, folder.resolve())
    }


@functools.cache
def _others(root: Path) -> list[Path]:
    """Folders of packages, and of posenc, below this one: a second or so, once in a run."""
    found = [Path(top, name) for top, names, _ in os.walk(root) for name in _OTHERS & {*names}]
    return [path.resolve() if path.is_symlink() else path for path in found]


def _hidden() -> list[Path]:
    """Folders in which nobody may look: whatever has all of posenc, but for what is graded with.

    And packages of other Pythons, in which anything may be; and psutil, which reads /proc: joblib
    can do without it, and not without /proc.
    """
    found = {path for root in _shown() for path in _others(root)}
    own = {_INSTALLED.resolve(), *(Path(sysconfig.get_path(kind)).resolve() for kind in _OWN)}
    hidden = {*found, _WHEELS, _INSTALLED.with_name("psutil")}
    kept = {path for path in hidden if path.is_dir() and path.resolve() not in own}
    return [path for path in sorted(kept) if kept.isdisjoint(path.parents)]


@functools.cache
def _told() -> dict[str, bytes]:
    """What all sandboxes read of the machine: as it was before the first of them, and no counts."""
    texts = {str(_PROC / name): (_PROC / name).read_bytes() for name in _TOLD}
    lines = texts[f"{_PROC}/stat"].splitlines(keepends=True)
    texts[f"{_PROC}/stat"] = b"".join(line for line in lines if line.startswith((b"cpu", b"btime")))
    return texts


def command(
    program: Sequence[str], files: Mapping[str, int], limits: Limits, rules: int | None = None
) -> list[str]:
    """The command line that runs a program in the sandbox.

    Args:
        program: the program and its arguments.
        files: name inside -> file descriptor of what is to be read there.
        limits: what it may use.
        rules: file descriptor with the rules for calls of the system.
    """
    options = [*_OPTIONS]
    for path in map(Path, _SYSTEM):
        if path.is_symlink():
            options += ["--symlink", str(path.readlink()), str(path)]
    for name in ("/etc/ld.so.cache", "/etc/alternatives", "/etc/fonts"):
        options += ["--ro-bind-try", name, name]
    options += ["--ro-bind", str(_HOSTS), "/etc/hosts"]
    shown, covered = _shown(), {*_covered(limits.private), *_hidden()}
    for path in sorted(shown | covered, key=lambda path: len(path.parts)):  # the inner one counts
        options += ["--ro-bind", str(path), str(path)] if path in shown else []
        options += ["--size", "4096", "--tmpfs", str(path)] if path in covered else []
    for path in sorted(map(str, covered)):
        options += ["--remount-ro", path]
    for name, number in files.items():
        options += ["--ro-bind-data", str(number), name]
    options += ["--remount-ro", str(_PROC)]
    for name, value in _ENVIRONMENT.items():
        options += ["--setenv", name, value]
    if rules is not None:
        options += ["--seccomp", str(rules)]
    return ["bwrap", *options, "--remount-ro", "/", "prlimit", *_kept(limits), "--", *program]


def command_by_user(program: Sequence[str], limits: Limits) -> list[str]:
    """The command line that runs a program as nobody: for a container with one submission."""
    environment = [f"{name}={value}" for name, value in _ENVIRONMENT.items()]
    privileges = (
        f"--reuid {USER} --regid {USER} --clear-groups --no-new-privs --inh-caps=-all "
        "--bounding-set=-all --pdeathsig KILL"
    ).split()
    kept = _kept(limits)
    return ["env", "-i", *environment, "setpriv", *privileges, "prlimit", *kept, "--", *program]


def _kept(limits: Limits) -> list[str]:
    files = [f"--fsize={FILE}", f"--nofile={_FILES}", "--core=0", "--memlock=0"]
    return ["--as=8589934592", f"--nproc={limits.processes}", *files]


def _place(process: psutil.Process) -> str:
    """Where the kernel tells of a process: at its first thread that has not ended.

    Once that of its number has, the kernel tells nothing there of what the others go on to use.
    """
    own = f"/proc/{process.pid}"
    with contextlib.suppress(OSError):  # it has just ended
        for thread in sorted(os.listdir(f"{own}/task"), key=int):
            with contextlib.suppress(OSError):
                text = Path(f"{own}/task/{thread}/status").read_text(errors="replace")
                if not re.search(r"^State:\s*[ZX]", text, re.MULTILINE):
                    return f"{own}/task/{thread}"
    return own


def _status(process: psutil.Process, field: str) -> int:
    """A number that the kernel tells of a process; 0 if it has just ended.

    Only at the beginning of a line: the first one is the process's name, and it can call itself
    "Threads: 0", which psutil believes.
    """
    with contextlib.suppress(OSError, TypeError):
        text = Path(_place(process), "status").read_text(errors="replace")
        return int(re.search(rf"^{field}:\s*(\d+)", text, re.MULTILINE)[1])
    return 0


def _tables(process: psutil.Process) -> int:
    """Bytes in which the kernel keeps where each page of a process lies, be it one of zeros."""
    return _status(process, "VmPTE") * 1024


def _memory(process: psutil.Process) -> int:
    """Bytes that a process has, and its part of those that it shares, as workers do."""
    try:
        text = Path(_place(process), "smaps_rollup").read_text()
        return int(re.search(r"^Pss:\s*(\d+)", text, re.MULTILINE)[1]) * 1024 + _tables(process)
    except (OSError, TypeError):  # it has just ended, or lets nobody look
        return _status(process, "VmRSS") * 1024


def _alone(process: psutil.Process) -> int:
    """Bytes that a process keeps and that are in no file, whoever shares them."""
    kept = _status(process, "RssAnon") + _status(process, "RssShmem")
    return kept * 1024 + _tables(process)


def _sockets(process: psutil.Process) -> int:
    """The sockets of the whole network that a process is in."""
    with contextlib.suppress(OSError):  # it has just ended
        text = Path(_place(process), "net", "sockstat").read_text()
        return int(re.search(r"used (\d+)", text)[1])
    return 0


def _children(process: int) -> set[str]:
    """The numbers of its children, read at once: psutil misses who ends while it looks."""
    found: set[str] = set()
    with contextlib.suppress(OSError):  # it has just ended
        for thread in os.listdir(f"/proc/{process}/task"):
            path = f"/proc/{process}/task/{thread}/children"
            with contextlib.suppress(OSError), open(path) as file:
                found.update(file.read().split())
    return found


def _names(process: psutil.Process) -> int:
    """The files, links and folders in what a sandbox may write to."""
    root, count = f"{_place(process)}/root", 0
    with contextlib.suppress(OSError):  # it has just ended, or just begun
        for place in ("/tmp", "/dev/shm") if not os.path.samefile(root, "/") else ():
            kept = os.statvfs(root + place)
            count += kept.f_files - kept.f_ffree
    return count


def _terminals(process: psutil.Process) -> int:
    """The terminals of its sandbox."""
    root = f"{_place(process)}/root"
    with contextlib.suppress(OSError):  # as above
        if not os.path.samefile(root, "/"):
            return sum(map(str.isdigit, os.listdir(f"{root}/dev/pts")))
    return 0


def _parts(process: psutil.Process) -> int:
    """The parts of its memory, of which the kernel keeps a record each; no more than are told."""
    with contextlib.suppress(OSError), open(f"{_place(process)}/maps", "rb") as file:
        return sum(1 for _ in itertools.islice(file, _PARTS + 1))
    return 0


def _tried(limits: Limits) -> str:
    """Why there can be no sandbox here, "" if there can."""
    if not shutil.which("bwrap"):
        return "bwrap is missing"
    if both := _covered(limits.private) & _shown():
        return f"{min(both)} is in every sandbox, and what is private lies in it, not below"
    try:
        kernel.rules()
    except RuntimeError as error:
        return f"libseccomp is missing ({error})"
    program = command([PYTHON, "-S", "-c", ""], {}, limits)
    made = subprocess.run(program, capture_output=True, check=False, text=True)
    return f"bwrap cannot make a sandbox here: {made.stderr.strip()}" if made.returncode else ""


def works() -> bool:
    """Whether there can be a sandbox here."""
    return not _tried(Limits())


def require(limits: Limits) -> None:
    """Exit with one line if there can be no sandbox here, or none without what is private."""
    if why := _tried(limits):
        sys.exit(f"{why}, and nothing is graded without a sandbox; type: make grader")


class Sandbox:
    """A program in the sandbox that is sent lines of JSON and answers with lines of JSON.

    Whatever it sends is data from a stranger: `receive` reads one value of JSON, no longer than
    `LINE`, and promises nothing about it.
    """

    def __init__(self, program: Sequence[str], files: Mapping[str, bytes], limits: Limits):
        self.limits = limits
        with contextlib.ExitStack() as stack:

            def held(content: bytes) -> int:
                file = stack.enter_context(tempfile.TemporaryFile())
                file.write(content)
                file.seek(0)
                return file.fileno()

            rules = None if limits.by_user else held(kernel.rules())
            numbers = {name: held(content) for name, content in (files | _told()).items()}
            made = (
                command_by_user(program, limits)
                if limits.by_user
                else command(program, numbers, limits, rules)
            )
            self._process = subprocess.Popen(
                made,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd="/tmp" if limits.by_user else None,
                pass_fds=[*numbers.values(), *([rules] if rules is not None else [])],
            )
        self._lines, self._rest = deque(), bytearray()  # what was received: whole lines, and a part
        _go_first()  # who forks without end would leave no time for a look; it has been started
        self._start, self._used = time.monotonic(), 0.0
        self._starved, self._waited = 0.0, 0.0  # what counts of it, and what was told of it
        self._search = 0.0  # when all of the machine's processes are searched for its own
        self._inside: set[str] = set()  # the processes that were there at the last look
        self._own: dict[tuple[int, float], float] = {}  # time of each process that was ever seen
        os.set_blocking(self._process.stdin.fileno(), False)
        self._selector = selectors.PollSelector()  # which nobody else can use up
        self._selector.register(self._process.stdout, selectors.EVENT_READ)

    def __enter__(self) -> "Sandbox":
        return self

    def __exit__(self, *_: object) -> None:
        for number in _children(self._process.pid):  # the first inside: all of them die with it
            with contextlib.suppress(OSError):  # and not with bwrap, if it has seen to that
                os.kill(int(number), signal.SIGKILL)
        self._process.kill()
        self._process.wait()
        if self.limits.by_user:
            for process in psutil.process_iter(["uids"]):
                if process.info["uids"] and process.info["uids"].real == USER:
                    process.kill()
        _go_first(False)
        self._selector.close()
        self._process.stdin.close()
        self._process.stdout.close()

    @property
    def seconds(self) -> float:
        """How long the program has run, as far as one can hold it against it.

        That is the processor time of all that it started, so that a busy machine costs nobody a
        point; or, for who sleeps, a third of the time by the clock, if that is more, without that
        in which one of its processes could run, and others had the processor. They may be its own,
        and too short for any look: where a look finds one that was not there at the last, the time
        between the two is not taken off, and never more than `_SPARED` of all.
        """
        passed = time.monotonic() - self._start
        return max(self._used, (passed - min(self._starved, _SPARED * passed)) / PATIENCE)

    def send(self, message: object, deadline: float) -> None:
        """Send a message.

        Args:
            message: anything that JSON can say.
            deadline: what `seconds` may be when it is taken.

        Raises:
            Ended: if nobody takes it.
        """
        waiting = memoryview(json.dumps(message).encode() + b"\n")
        while waiting:
            try:
                waiting = waiting[os.write(self._process.stdin.fileno(), waiting) :]
            except BlockingIOError:
                self._look(deadline)
                time.sleep(0.01)
            except OSError:
                raise self._gone() from None

    def receive(self, deadline: float) -> object:
        """The next message; None if it is not JSON.

        Raises:
            Ended: if there is none until the deadline, or the sandbox breaks a limit.
        """
        while not self._lines:
            if self._selector.select(random.expovariate(_LOOKS)):  # at a time that nobody knows
                new = os.read(self._process.stdout.fileno(), READ)
                if not new:
                    raise self._gone()
                self._rest += new
                if b"\n" in new:
                    *lines, self._rest = self._rest.split(b"\n")
                    self._lines.extend(lines)
                if len(self._rest) > LINE:
                    raise Ended("it returned too much")
            else:
                self._search = 0.0
            self._look(deadline)
        try:
            return json.loads(self._lines.popleft())
        except (ValueError, RecursionError):
            return None

    def _gone(self) -> Ended:
        """Why nobody answers. Inside nobody can kill the first process, but exit with the sign."""
        with contextlib.suppress(subprocess.TimeoutExpired):  # it may have closed the line alone
            code = self._process.wait(2)
            if code in (-signal.SIGKILL, 128 + signal.SIGKILL):
                return Killed("it ended Python")
            if code == 128 + signal.SIGBUS:
                return Ended(f"it ended Python, as where /dev/shm is full ({SHARED >> 20} MiB)")
        return Ended("it ended Python")

    def _below(self) -> list[psutil.Process]:
        """The processes in it.

        To search all of the machine's takes milliseconds, and some programs send thousands of
        lines. So each look asks the processes for their children, of whom one may be missed while
        another ends; and `_LOOKS` times a second, at a time that nobody knows, all are searched.
        """
        found: dict[int, psutil.Process] = {}
        if not _TELLS or time.monotonic() >= self._search:
            with contextlib.suppress(psutil.Error):
                own = psutil.Process(self._process.pid).children(recursive=True)
                found = {child.pid: child for child in own}
            self._search = time.monotonic() + random.expovariate(_LOOKS)
        waiting = [self._process.pid, *found]
        while waiting:
            for number in map(int, _children(waiting.pop())):
                if number not in found:
                    with contextlib.suppress(psutil.Error):  # it has just ended
                        found[number] = psutil.Process(number)
                        waiting.append(number)
            self._hold(len(found))  # before there are more
        return list(found.values())

    def _shared_out(self, inside: Sequence[psutil.Process]) -> int:
        """The memory of processes. To ask one waits until it has done forking: they are counted."""
        memory, counted = 0, time.monotonic()
        for child in inside:
            memory += _memory(child)
            if time.monotonic() > counted + 0.1:
                self._below()
                counted = time.monotonic()
        return memory

    def _hold(self, count: int) -> None:
        """Hold the program to its number of processes."""
        if count > 2 * self.limits.processes:
            raise Ended(f"it started more than {2 * self.limits.processes} processes")

    def _look(self, deadline: float) -> None:
        """Hold the program to its limits.

        Processor time is what those that run have used and waited for, or, if that is more, what
        was seen of all that ever ran: of a child that nobody waits for, nobody else knows.

        Raises:
            Ended: if it breaks one, or has used more than `deadline` seconds.
        """
        count, memory, sockets, names, terminals = 0, 0, 0, 0, 0
        used, waited = 0.0, self._waited
        before, self._inside = self._inside, set()
        inside, limit = self._below(), self.limits.memory * GIB
        for child in inside:
            with contextlib.suppress(psutil.Error):  # it has just ended
                count += max(1, _status(child, "Threads"))
                memory += _status(child, "VmRSS") * 1024 + _tables(child)
                times = child.cpu_times()
                used += sum(times[:4])  # its own, and that of those it waited for
                self._own[child.pid, child.create_time()] = times.user + times.system
                sockets = sockets or _sockets(child)
                names = names or _names(child)
                terminals = terminals or _terminals(child)
                waited = max(waited, starved(child.pid))
                self._inside |= {str(child.pid), *_children(child.pid)}
        if memory > limit:  # which counts what they share several times
            with contextlib.suppress(psutil.Error):
                # at least what one alone has: of what it shares, a part goes with each that ends
                memory = max(self._shared_out(inside), max(map(_alone, inside), default=0))
        self._used = max(self._used, used, sum(self._own.values()))
        self._starved += waited - self._waited if self._inside <= before else 0.0
        self._waited = waited
        if self.seconds > deadline:
            raise Ended("it took too long")
        self._hold(count)
        if sockets > _SOCKETS and not self.limits.by_user:
            raise Ended(f"it opened more than {_SOCKETS} sockets")
        if names > _NAMES:
            raise Ended(f"it made more than {_NAMES} files")
        if terminals > _TERMINALS:
            raise Ended(f"it opened more than {_TERMINALS} terminals")
        if inside and _parts(random.choice(inside)) > _PARTS:  # of one at a time: it takes long
            raise Ended(f"it cut its memory into more than {_PARTS} parts")
        if memory > limit:
            raise Ended(f"it used more than {self.limits.memory:g} GiB of memory")
