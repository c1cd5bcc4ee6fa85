"""What runs between the commands of a script: pipes, captured output, and the word to stop."""

import threading
from collections.abc import Callable

_PIPE_BYTES = 64 * 1024
_POLL_SECONDS = 0.05


class Cancel(threading.Event):
    """An event that is also set when one of others is, or when a moment has come."""

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
    """A bounded queue of bytes between two threads: one writes, one reads, either may leave."""

    def __init__(self, cancelled: threading.Event) -> None:
        self._data = bytearray()
        self._changed = threading.Condition()
        self._cancelled = cancelled
        self._written = False
        self.abandoned = threading.Event()

    def read(self, n: int) -> bytes:
        with self._changed:
            while not self._data and not self._written and not self._cancelled.is_set():
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
                if self.abandoned.is_set() or self._cancelled.is_set():
                    raise BrokenPipeError
                if room := _PIPE_BYTES - len(self._data):
                    block = view[done : done + room]
                    self._data += block
                    done += len(block)
                    self._changed.notify_all()
                else:
                    self._changed.wait(_POLL_SECONDS)
        return done

    def end(self) -> None:
        """The writer has nothing more to say."""
        with self._changed:
            self._written = True
            self._changed.notify_all()

    def abandon(self) -> None:
        """The reader wants no more."""
        with self._changed:
            self.abandoned.set()
            self._data.clear()
            self._changed.notify_all()


class Capture:
    """Output kept in memory, up to a limit; whoever writes past it is told to stop."""

    def __init__(self, limit: int) -> None:
        self.data = bytearray()
        self._limit = limit

    def write(self, data: bytes) -> int:
        self.data += data[: self._limit - len(self.data)]
        if len(self.data) >= self._limit:
            raise BrokenPipeError
        return len(data)


class Nothing:
    """A stream that was closed: nothing to read, no one to write to."""

    def read(self, n: int) -> bytes:  # noqa: ARG002 - a source
        return b""

    def write(self, data: bytes) -> int:
        return len(data)


class Text:
    """A stream of known bytes, for a here-document."""

    def __init__(self, data: bytes) -> None:
        self._data = memoryview(data)

    def read(self, n: int) -> bytes:
        block = bytes(self._data[:n])
        self._data = self._data[n:]
        return block
