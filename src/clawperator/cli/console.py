"""What people see on stderr: lines by level, and progress when somebody is watching."""

import sys
import time
from collections.abc import Iterable
from contextlib import suppress

from clawperator.cli.parsing import LEVELS

_EVERY_S = 0.1


class Console:
    """Writes lines whose level is not below the threshold. A closed or full stderr is nobody's error."""

    def __init__(self, level: str) -> None:
        self._threshold = LEVELS.index(level)

    def wants(self, level: str) -> bool:
        return LEVELS.index(level) >= self._threshold

    def lines(self, level: str, texts: Iterable[str]) -> None:
        if self.wants(level) and sys.stderr is not None:
            self.write("".join(text + "\n" for text in texts))

    def warn(self, text: str) -> None:
        self.lines("warn", [f"clawperator: {text}"])

    def progress(self, what: str) -> "Progress | None":
        """A meter for long work, if stderr is a terminal or everything was asked for."""
        watched = sys.stderr is not None and sys.stderr.isatty() and self.wants("info")
        return Progress(self, what, rewrite=watched) if watched or self.wants("debug") else None

    def write(self, text: str) -> None:
        with suppress(OSError, ValueError):
            sys.stderr.write(text)
            sys.stderr.flush()


class Progress:
    """Called with what is done and what there is; shows it a few times a second."""

    def __init__(self, console: Console, what: str, *, rewrite: bool) -> None:
        self._console = console
        self._what = what
        self._rewrite = rewrite
        self._next = time.monotonic() + _EVERY_S
        self._shown = False

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + _EVERY_S
        self._shown = True
        text = f"{self._what}: {done / 1e6:.0f} of {total / 1e6:.0f} MB ({done * 100 // max(total, 1)} %)"
        self._console.write(f"\r\x1b[K{text}" if self._rewrite else text + "\n")

    def done(self) -> None:
        if self._shown and self._rewrite:
            self._console.write("\r\x1b[K")
