"""Run a command with its output on a pseudo-terminal."""

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

BINARY = str(Path(sys.executable).with_name("clawperator"))
_SECONDS = 120


class Seen(NamedTuple):
    """What a terminal received, and the exit code. A line ends with a line feed, as the program wrote it."""

    code: int
    out: str
    err: str


def run_on_terminal(
    *argv: str,
    columns: int = 80,
    out: bool = True,
    err: bool = True,
    environment: Mapping[str, str] | None = None,
) -> Seen:
    """Run a program with stdout and stderr on terminals of their own, or on pipes."""
    streams = [_open(columns) if is_terminal else os.pipe() for is_terminal in (out, err)]
    child = subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=streams[0][1],
        stderr=streams[1][1],
        env={**os.environ, "TERM": "xterm", **(environment or {})},
    )
    for _, theirs in streams:
        os.close(theirs)
    try:
        # Both at once: a program waits when one of them is full.
        with ThreadPoolExecutor(2) as readers:
            texts = [text.decode() for text in readers.map(_read, [ours for ours, _ in streams])]
        code = child.wait(_SECONDS)
    finally:
        child.kill()
        child.wait()
        for ours, _ in streams:
            os.close(ours)
    return Seen(code, *texts)


def _open(columns: int) -> tuple[int, int]:
    """A terminal: our side and theirs. It passes line ends as they are."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    modes = termios.tcgetattr(theirs)
    modes[1] &= ~termios.OPOST
    termios.tcsetattr(theirs, termios.TCSANOW, modes)
    return ours, theirs


def _read(descriptor: int) -> bytes:
    seen = b""
    with suppress(OSError):  # Linux reports the end of a terminal as an error
        while data := os.read(descriptor, 65_536):
            seen += data
    return seen
