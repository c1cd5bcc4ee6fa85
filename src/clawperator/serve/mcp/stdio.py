"""stdin and stdout of the MCP server.

While it serves, descriptor 0 is the null device and descriptor 1 is stderr: what a skill or a library reads and
prints does not reach the client. A small answer is written at once; only what a pipe may not take is written in a
thread, which would cost each answer a part of a millisecond.
"""

import os
import select
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import anyio
import anyio.to_thread

# What a pipe takes without blocking once it can be written to.
_AT_ONCE = select.PIPE_BUF


@contextmanager
def claimed_streams() -> Iterator[tuple["LineReader", "LineWriter"]]:
    """The streams of the client. The descriptors are restored at the end."""
    sys.stdout.flush()
    source, target = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    try:
        os.dup2(nothing, 0)
        os.dup2(2, 1)
        yield LineReader(source), LineWriter(target)
    finally:
        os.dup2(source, 0)
        os.dup2(target, 1)
        os.close(nothing)
        # A thread may still read: the descriptors of the client are not closed and used for something else.


class LineReader:
    """Lines of a descriptor, each read in a thread."""

    def __init__(self, descriptor: int) -> None:
        self._file = os.fdopen(descriptor, "rb", closefd=False)

    async def __aiter__(self) -> AsyncIterator[str]:
        while True:
            line = await anyio.to_thread.run_sync(self._file.readline, abandon_on_cancel=True)
            if not line:
                return
            yield line.decode("utf-8", "replace")


class LineWriter:
    """Writes texts to a descriptor, completely and in order. ``flush`` has nothing to do."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    async def write(self, text: str) -> None:
        data = text.encode("utf-8", "replace")
        if len(data) <= _AT_ONCE and self._is_ready():
            os.write(self._descriptor, data)
            return
        with anyio.CancelScope(shield=True):  # half a message would damage the next one
            await anyio.to_thread.run_sync(self._write_all, data)

    async def flush(self) -> None:
        """Everything is written already."""

    def _is_ready(self) -> bool:
        waiting = select.poll()
        waiting.register(self._descriptor, select.POLLOUT)
        events = waiting.poll(0)
        return bool(events) and events[0][1] == select.POLLOUT

    def _write_all(self, data: bytes) -> None:
        view: Any = memoryview(data)
        while view:
            view = view[os.write(self._descriptor, view) :]
