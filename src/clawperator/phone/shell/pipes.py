"""Byte streams between commands: the two stream protocols, pipes, captured output and cancellation."""

import threading
from collections.abc import Callable
from typing import Protocol

from msgspec import Struct

_PIPE_BYTES = 64 * 1024
_POLL_SECONDS = 0.05


class InputStream(Protocol):
    """Bytes to read."""

    def read(self, n: int, /) -> bytes:
        """Up to ``n`` bytes, as soon as there are any; ``b""`` at the end."""
        ...


class OutputStream(Protocol):
    """A destination of bytes."""

    def write(self, data: bytes, /) -> object:
        """Write all of ``data``. ``BrokenPipeError`` when the reader is gone."""
        ...


class CancelEvent(threading.Event):
    """An event that is also set when a parent is, or once ``expired`` returns True."""

    def __init__(self, *parents: threading.Event, expired: Callable[[], bool] | None = None) -> None:
        super().__init__()
        self._parents = parents
        self._expired = expired

    def is_set(self) -> bool:
        return (
            super().is_set()
            or any(parent.is_set() for parent in self._parents)
            or (self._expired is not None and self._expired())
        )

    def wait(self, timeout: float | None = None) -> bool:
        left = float("inf") if timeout is None else timeout
        while not self.is_set() and left > 0:
            super().wait(min(left, _POLL_SECONDS))
            left -= _POLL_SECONDS
        return self.is_set()


class Pipe:
    """A bounded byte queue between two threads. Either side may close it; the other then stops waiting."""

    def __init__(self, cancelled: threading.Event) -> None:
        self._data = bytearray()
        self._changed = threading.Condition()
        self._cancelled = cancelled
        self._writer_closed = False
        self.reader_closed = threading.Event()

    def read(self, n: int) -> bytes:
        with self._changed:
            while not self._data and not self._writer_closed and not self._cancelled.is_set():
                self._changed.wait(_POLL_SECONDS)
            block = bytes(self._data[:n])
            del self._data[:n]
            self._changed.notify_all()
            return block

    def write(self, data: bytes) -> int:
        view = memoryview(data)
        done = 0
        with self._changed:
            while done < len(view):
                if self.reader_closed.is_set() or self._cancelled.is_set():
                    raise BrokenPipeError
                if free := _PIPE_BYTES - len(self._data):
                    block = view[done : done + free]
                    self._data += block
                    done += len(block)
                    self._changed.notify_all()
                else:
                    self._changed.wait(_POLL_SECONDS)
        return done

    def close_writer(self) -> None:
        """The writer has finished: the reader gets what is left, then the end."""
        with self._changed:
            self._writer_closed = True
            self._changed.notify_all()

    def close_reader(self) -> None:
        """The reader has finished: further writes raise ``BrokenPipeError``."""
        with self._changed:
            self.reader_closed.set()
            self._data.clear()
            self._changed.notify_all()


class CapturedOutput(Struct):
    """Output kept in memory, up to a limit. A write beyond it raises ``BrokenPipeError``."""

    _limit: int
    data: bytearray = bytearray()

    def write(self, data: bytes) -> int:
        self.data += data[: self._limit - len(self.data)]
        if len(self.data) >= self._limit:
            raise BrokenPipeError
        return len(data)


class ClosedStream:
    """A closed stream: reads give nothing, writes are discarded."""

    def read(self, n: int) -> bytes:  # noqa: ARG002 - an InputStream
        return b""

    def write(self, data: bytes) -> int:
        return len(data)
