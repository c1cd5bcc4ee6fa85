"""The answer on stdout; messages on stderr, filtered by level; progress on a terminal."""

import os
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import IO

LOG_LEVELS = ("debug", "info", "warn", "error")
_INTERVAL_S = 0.1


class Console:
    """Writes lines whose level is not below the threshold. Errors of stderr itself are ignored."""

    def __init__(self, level: str) -> None:
        self._threshold = LOG_LEVELS.index(level)

    def is_enabled(self, level: str) -> bool:
        return LOG_LEVELS.index(level) >= self._threshold

    def lines(self, level: str, texts: Iterable[str]) -> None:
        if self.is_enabled(level):
            self.write("".join(text + "\n" for text in texts))

    def warn(self, text: str) -> None:
        self.lines("warn", [f"clawperator: {text}"])

    def note(self, text: str) -> None:
        self.lines("info", [f"clawperator: {text}"])

    def progress(self, title: str) -> "Progress | None":
        """A progress meter, if stderr is a terminal or the level is debug."""
        is_terminal = sys.stderr is not None and sys.stderr.isatty() and self.is_enabled("info")
        return Progress(self, title, rewrite=is_terminal) if is_terminal or self.is_enabled("debug") else None

    def write(self, text: str) -> None:
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
        self._shown = False

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + _INTERVAL_S
        self._shown = True
        text = f"{self._title}: {done / 1e6:.0f} of {total / 1e6:.0f} MB ({done * 100 // max(total, 1)} %)"
        self._console.write(f"\r\x1b[K{text}" if self._rewrite else text + "\n")

    def done(self) -> None:
        if self._shown and self._rewrite:
            self._console.write("\r\x1b[K")


def read_stdin(max_bytes: int) -> bytes:
    """Up to ``max_bytes`` from stdin; ``USAGE`` when it is closed or cannot be read."""
    try:
        return sys.stdin.buffer.read(max_bytes)
    except (OSError, ValueError, AttributeError) as e:  # it is None when the process was started without it
        from clawperator._files import why
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
    return _print(lambda out: out.write(text), code)


def print_pieces(write_to: Callable[[IO[bytes]], None], code: int) -> int:
    """Print a document that is written in pieces; like ``print_bytes``."""
    return _print(write_to, code)


def _print(write: Callable[[IO[bytes]], object], code: int) -> int:
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
