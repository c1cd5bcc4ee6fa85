"""Print the answer to stdout; fail when it could not be written completely."""

import os
import sys
from contextlib import suppress


def print_bytes(text: bytes, code: int) -> int:
    """Print a line. Returns the given exit code, or 1 when the line could not be written completely."""
    if sys.stdout is None:
        return code or 1
    try:
        sys.stdout.buffer.write(text + b"\n")
        sys.stdout.buffer.flush()
    except (OSError, ValueError):
        _discard_stdout()
        return code or 1
    return code


def _discard_stdout() -> None:
    """The reader is gone: keep the interpreter from flushing once more at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
