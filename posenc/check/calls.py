"""Call a function that may do anything, and say in words what it did."""

import contextlib
import copy
import io
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator, MappingView
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import no_type_check

import torch

PATIENCE = 3.0  # seconds of the clock for one of the processor, for who sleeps
LARGEST = 200_000  # numbers in one result
DEEPEST = 8  # axes of it
UNANSWERED = "not answered yet"
LOOP_HINT = "Is there a loop without an end?"
COPY_HINT = "Whoever calls it does not expect that. Work on a copy."
DTYPE_HINT = "Two tensors differ in their dtype. Make yours with the dtype of what you are given."


class Wrong(Exception):
    """An answer is wrong: a message for the student, and perhaps a hint.

    Args:
        message: what was seen.
        hint: where to look; no solution.
    """

    def __init__(self, message: str, hint: str = ""):
        super().__init__(message)
        self.hint = hint


class TooSlow(Wrong):
    """It took longer than it may."""


class Refused(Wrong):
    """It calls a function that is not there for this question."""

    def __init__(self):
        super().__init__(
            "it calls a function of `posenc` that this question does without",
            "The point is to write it yourself.",
        )


class TimeLimit(BaseException):
    """Raised in the student's code; no `except Exception` catches it."""


def call(function: object, arguments: tuple, *, seconds: float = 10.0) -> object:
    """Call a student's function, with copies of the arguments and what it prints left out.

    Args:
        function: anything.
        arguments: what to call it with.
        seconds: time limit, of the processor's time, or three times as much by the clock, without
            the time in which others had the processor, where the system tells it (`starved`);
            without effect outside the main thread and on Windows.

    Returns:
        What the function returns; lists, where it yields its values one by one.

    Raises:
        Wrong: if it cannot be called, raises, stops the program, runs too long, changes its
            arguments, or returns nothing.

    Example:
        >>> call(lambda x: 2 * x, (21,))
        42
        >>> call(lambda x: x / 0, (21,))
        Traceback (most recent call last):
            ...
        posenc.check.calls.Wrong: it raised ZeroDivisionError: division by zero (its line 1)
    """
    require_answer(function)
    if not callable(function):
        raise Wrong(f"it must be a function, got {kind(function)}")
    given = _where_tensors_are_made(copy.deepcopy(arguments))
    try:
        with _undisturbed(), limited(seconds):
            result = _listed(function(*given), iter(range(2 * LARGEST)))
    except (KeyboardInterrupt, Refused, TooSlow):
        raise
    except BaseException as error:  # whatever it is, it costs the answer only
        hint = DTYPE_HINT if "dtype" in _describe(error) else ""
        raise Wrong(f"it raised {_describe(error)}{_line(error, function)}", hint) from None
    if not _same(given, arguments):
        raise Wrong("it changes what it is given", COPY_HINT)
    if result is None or result is ...:
        raise Wrong(UNANSWERED)
    return result


def _listed(thing: object, most: Iterator, depth: int = DEEPEST) -> object:
    """Lists of what a generator, or a view of a dict, yields, wherever it stands in lists.

    Args:
        thing: what a function returned.
        most: as long as all that may be yielded: it may have no end.
        depth: of the lists that are looked into.
    """
    if isinstance(thing, Iterator | MappingView):
        thing = [part for _, part in zip(most, thing, strict=False)]
    if not isinstance(thing, list | tuple) or depth == 0:
        return thing
    if not any(isinstance(part, Iterator | MappingView | list | tuple) for part in thing):
        return thing
    return [_listed(part, most, depth - 1) for part in thing]


def require_answer(answer: object) -> None:
    """Raise `Wrong` if a stub was left as it is."""
    if answer is None or answer is ...:
        raise Wrong(UNANSWERED)


_CPU = torch.device("cpu")


@dataclass(frozen=True)
class Settings:
    """What a notebook may set in torch for all that follows; by default as nobody has set it."""

    dtype: torch.dtype = torch.float32
    device: torch.device = _CPU
    grad: bool = True
    inference: bool = False
    deterministic: bool = False
    warn_only: bool = False

    @classmethod
    def now(cls) -> "Settings":
        """Those in force."""
        return cls(
            torch.get_default_dtype(),
            torch.get_default_device(),
            torch.is_grad_enabled(),
            torch.is_inference_mode_enabled(),
            torch.are_deterministic_algorithms_enabled(),
            torch.is_deterministic_algorithms_warn_only_enabled(),
        )

    @contextlib.contextmanager
    def used(self) -> Iterator[None]:
        """These for a while, then again those that were in force."""
        before = Settings.now()
        try:
            with torch.inference_mode(self.inference):
                self._set()
                yield
        finally:
            before._set()

    def _set(self) -> None:
        torch.set_default_dtype(self.dtype)
        if torch.get_default_device() != self.device:
            torch.set_default_device(None if self.device.type == "cpu" else self.device)
        torch.set_grad_enabled(self.grad)
        now = Settings.now()
        if (now.deterministic, now.warn_only) != (self.deterministic, self.warn_only):  # a second
            torch.use_deterministic_algorithms(self.deterministic, warn_only=self.warn_only)


_PLAIN = frozenset({bool, int, float, str})


def _is_plain(parts: list | tuple) -> bool:
    """Whether a list holds nothing but numbers and words, which need no look one by one."""
    return _PLAIN.issuperset(map(type, parts))


def _where_tensors_are_made(thing: object) -> object:
    """Tensors on the device on which the notebook's own are made."""
    if isinstance(thing, torch.Tensor):
        return thing.to(torch.get_default_device())
    if isinstance(thing, list | tuple) and not _is_plain(thing):
        return type(thing)(map(_where_tensors_are_made, thing))
    return thing


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Swallow prints, and bring back torch's settings and random state."""
    state, settings = torch.get_rng_state(), Settings.now()
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            yield
    finally:
        torch.set_rng_state(state)
        settings._set()


def starved(process: int | str = "self") -> float:
    """Seconds in which a process could run, and others had the processor; 0 if nobody tells.

    Of several threads it is the first.
    """
    try:  # Linux
        return int(Path(f"/proc/{process}/schedstat").read_text().split()[1]) * 1e-9
    except (OSError, ValueError, IndexError):
        return 0.0


@no_type_check  # a frame of a check of types would hide where it rings
class limited:
    """The time limit of `call`, for what comes after it; raises `TooSlow`.

    It rings again and again, for who is limited may catch what it raises, but not while it is set
    or put away: what it raised there would leave it ringing in whatever comes next.
    """

    def __init__(self, seconds: float):
        self.seconds, self.is_over = seconds, False
        on_main = threading.current_thread() is threading.main_thread()
        self.is_usable = on_main and hasattr(signal, "SIGALRM")

    def __enter__(self) -> None:
        if not self.is_usable:
            return
        self.start, self.used, self.lost = time.monotonic(), time.process_time(), starved()
        self.handler = signal.signal(signal.SIGALRM, self._ring)
        again = min(0.1, self.seconds)
        self.rest, self.interval = signal.setitimer(signal.ITIMER_REAL, self.seconds, again)

    def __exit__(self, kind: type | None, error: BaseException | None, trace: object) -> None:
        if not self.is_usable:
            return
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self.handler)
        if self.rest:  # of the call that this one is a part of
            rest = max(self.rest - (time.monotonic() - self.start), 1e-3)
            signal.setitimer(signal.ITIMER_REAL, rest, self.interval)
        if self.is_over and (error is None or isinstance(error, TimeLimit)):
            said = f"it did not finish within {self.seconds:g} seconds"
            raise TooSlow(said, LOOP_HINT) from None

    def _ring(self, number: int, frame: FrameType | None) -> None:
        while frame is not None:
            if frame.f_code in (limited.__enter__.__code__, limited.__exit__.__code__):
                return
            frame = frame.f_back
        busy, waited = time.process_time() - self.used, time.monotonic() - self.start
        waited -= starved() - self.lost
        if busy >= 0.99 * self.seconds or waited >= PATIENCE * self.seconds:
            self.is_over = True
            raise TimeLimit


def _same(one: object, other: object) -> bool:
    if isinstance(one, torch.Tensor):
        return (
            isinstance(other, torch.Tensor)
            and one.shape == other.shape
            and bool(torch.equal(one.cpu().nan_to_num(), other.cpu().nan_to_num()))
        )
    if isinstance(one, list | tuple):
        if _is_plain(one) and _is_plain(other):
            return list(one) == list(other)
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    return not isinstance(one, int | float | str | bool) or one == other


def _describe(error: BaseException) -> str:
    try:
        text = " ".join(str(error).split())
    except BaseException:  # a student's own exception may fail to print
        text = "(no message)"
    return f"{type(error).__name__}: {text[:300]}" if text else type(error).__name__


def _line(error: BaseException, function: Callable) -> str:
    """Where in the student's function it happened, counted from its first line."""
    code = getattr(function, "__code__", None)
    if code and Path(code.co_filename).parent == Path(__file__).parent:  # a part of a probe
        return ""
    for frame, number in traceback.walk_tb(error.__traceback__):
        if frame.f_code is code:
            return f" (its line {number - code.co_firstlineno + 1})"
    return ""


def kind(thing: object) -> str:
    """What something is, with an article.

    Example:
        >>> kind(3), kind("x")
        ('an int', 'a str')
    """
    name = type(thing).__name__
    return f"{'an' if name[0] in 'aeioAEIO' else 'a'} {name}"
