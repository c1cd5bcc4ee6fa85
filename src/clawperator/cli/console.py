"""The answer on stdout; messages on stderr, filtered by level; a status line on a terminal."""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import IO

from clawperator._base.text import printable

LOG_LEVELS = ("debug", "info", "warn", "error")
_INTERVAL_S = 0.1
_DEFAULT_WIDTH = 80


class Console:
    """Writes lines whose level is not below the threshold. Errors of stderr itself are ignored.

    On a terminal, and at level info, the last line may be a status. It is replaced by the next one, and erased
    before anything else is written.
    """

    def __init__(self, level: str) -> None:
        self._threshold = LOG_LEVELS.index(level)
        self._has_status = False
        self._next_status = 0.0

    def is_enabled(self, level: str) -> bool:
        return LOG_LEVELS.index(level) >= self._threshold

    def lines(self, level: str, texts: Iterable[str]) -> None:
        if self.is_enabled(level):
            self.write("".join(text + "\n" for text in texts))

    def warn(self, text: str) -> None:
        self.lines("warn", [f"clawperator: {text}"])

    def note(self, text: str) -> None:
        self.lines("info", [f"clawperator: {text}"])

    @contextmanager
    def progress(self, title: str) -> "Iterator[Progress | None]":
        """A progress meter, if stderr is a terminal or the level is debug. It is erased at the end."""
        is_terminal = self.is_terminal
        try:
            yield Progress(self, title, rewrite=is_terminal) if is_terminal or self.is_enabled("debug") else None
        finally:
            self.erase_status()

    @property
    def is_terminal(self) -> bool:
        """Whether a user at a terminal sees what is written at level info."""
        try:
            return self.is_enabled("info") and sys.stderr.isatty()
        except (ValueError, AttributeError):  # closed, or not there at all
            return False

    def show_status(self, text: str, elapsed: str = "") -> bool:
        """Show a text and its time as the last line, at most ten times a second. False without a terminal."""
        if not self.is_terminal:
            return False
        now = time.monotonic()
        if now >= self._next_status:
            self._next_status = now + _INTERVAL_S
            self.erase_status()
            self.write(_one_row(text, elapsed))
            self._has_status = True
        return True

    def erase_status(self) -> None:
        if self._has_status:
            self._has_status = False
            self.write("\r\x1b[K")

    def write(self, text: str) -> None:
        self.erase_status()
        with suppress(OSError, ValueError, AttributeError):  # closed, or not there at all
            sys.stderr.write(text)
            sys.stderr.flush()


class Progress:
    """A callback for bytes done and bytes in total. Prints at most ten times a second."""

    def __init__(self, console: Console, title: str, *, rewrite: bool) -> None:
        self._console = console
        self._title = title
        self._rewrite = rewrite
        self._next = time.monotonic() + _INTERVAL_S

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + _INTERVAL_S
        text = f"{self._title}: {done / 1e6:.0f} of {total / 1e6:.0f} MB ({done * 100 // max(total, 1)} %)"
        if self._rewrite:
            self._console.show_status(text)
        else:
            self._console.write(text + "\n")


def _one_row(text: str, ending: str) -> str:
    """A text and its ending, cut to one row of the terminal: a longer one could not be erased."""
    from clawperator.cli.text.layout import cut

    try:
        width = os.get_terminal_size(sys.stderr.fileno()).columns or _DEFAULT_WIDTH
    except (OSError, ValueError, AttributeError):
        width = _DEFAULT_WIDTH
    return cut(printable(text[: 4 * width]), max(width - len(ending) - 1, 1)) + ending


def read_stdin(max_bytes: int) -> bytes:
    """Up to ``max_bytes`` from stdin; ``USAGE`` when it is closed or cannot be read."""
    try:
        return sys.stdin.buffer.read(max_bytes)
    except (OSError, ValueError, AttributeError) as e:  # it is None when the process was started without it
        from clawperator._base.files import why
        from clawperator.errors import ClawError

        reason = "it is closed" if isinstance(e, AttributeError) else why(e)
        raise ClawError("USAGE", f"cannot read stdin: {reason}", operation="read", target="stdin") from e


def stream_bytes(data: bytes) -> None:
    """Write a part of a stream at once. ``BrokenPipeError`` when its reader is gone, ``USAGE`` without stdout."""
    if sys.stdout is None:
        from clawperator.errors import ClawError

        raise ClawError("USAGE", "stdout is closed", operation="write", target="stdout")
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        _discard_stdout()
        raise


def print_bytes(text: bytes, code: int) -> int:
    """Print a line. Returns the given exit code, or 1 when the line could not be written completely."""
    return print_pieces(lambda out: out.write(text), code)


def print_pieces(write: Callable[[IO[bytes]], object], code: int) -> int:
    """Print a document that is written in pieces; like ``print_bytes``."""
    if sys.stdout is None:
        return code or 1
    try:
        write(sys.stdout.buffer)
        sys.stdout.buffer.write(b"\n")
        sys.stdout.buffer.flush()
    except (OSError, ValueError):
        _discard_stdout()
        return code or 1
    return code


def _discard_stdout() -> None:
    """The reader is gone: keep the interpreter from flushing once more at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def interrupt_on_signals(cancel: Callable[[], object] = lambda: None) -> Iterator[None]:
    """Turn SIGTERM and SIGINT into ``KeyboardInterrupt``, so that what this process started is ended too.

    ``cancel`` is called first: an exception at a bad moment may be lost, a cancelled deadline is not.
    """
    import threading  # most commands do without it

    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        cancel()
        raise KeyboardInterrupt

    handled = [signal.SIGTERM]
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        handled.append(signal.SIGINT)
    before = [(number, signal.signal(number, interrupt)) for number in handled]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)


def ignore_signals() -> None:
    """Ignore SIGINT and SIGTERM: the work is done, and only the answer is left to print.

    ``run`` of ``claw`` restores them once the answer is rendered.
    """
    import threading

    if threading.current_thread() is threading.main_thread():
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_IGN)


def signal_restorer() -> Callable[[], None]:
    """A function that restores the signal handlers of now."""
    before = [(number, signal.getsignal(number)) for number in _SIGNALS]

    def restore() -> None:
        for number, handler in before:
            if handler is not None and signal.getsignal(number) is not handler:
                signal.signal(number, handler)

    return restore
