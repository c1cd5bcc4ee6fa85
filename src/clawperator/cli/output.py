"""Printing the answer, and failing when nobody got it all."""

import os
import sys
from contextlib import suppress


def print_bytes(text: bytes, code: int) -> int:
    """Print a line. The exit code is the one given, or 1 when the line could not be printed whole."""
    if sys.stdout is None:
        return code or 1
    try:
        sys.stdout.buffer.write(text + b"\n")
        sys.stdout.buffer.flush()
    except (OSError, ValueError):
        _forget_stdout()
        return code or 1
    return code


def _forget_stdout() -> None:
    """Nobody reads any more: the interpreter must not try to flush once again."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
