"""The phone's log: a ring of records that many write and many read.

A record is cut at the size the logger takes, old records make room for new ones, and a reader that comes
late still finds what the ring holds.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from clawperator._text import utf16_length

Priority = Literal["V", "D", "I", "W", "E", "F"]

# What the logger takes of one record: its priority, its tag and its message, with a byte behind each of the two.
MAX_PAYLOAD = 4_068
_FRAMING = 3
# What a record costs beside its text, here as on a phone.
_OVERHEAD = 200
# Small enough for a hundred phones in one process; it holds half a dozen large hierarchies.
DEFAULT_BYTES = 1024 * 1024
MIN_BYTES = 64 * 1024
MAX_BYTES = 16 * 1024 * 1024

# From here on Timber writes a message in pieces.
_TIMBER_LENGTH = 4_000


class Entry(Struct, frozen=True, gc=False):
    """One record. ``number`` grows by one with every record of a log and is never used again."""

    number: int
    time_ms: int
    priority: Priority
    tag: str
    message: str
    pid: int
    tid: int
    uid: int
    buffer: str


class LogBuffer:
    """The log of one phone. Every method may be called from any thread.

    ``filter`` is for faults: it sees each record before it is stored and says what is stored instead, nothing
    or several. It is called with the log locked and must not write to it. ``boot_ms`` is when the log began.
    """

    def __init__(
        self, now_ms: Callable[[], int], capacity: int = 20_000, capacity_bytes: int = DEFAULT_BYTES
    ) -> None:
        self._now_ms = now_ms
        self._capacity = capacity
        self._capacity_bytes = capacity_bytes
        self._entries: deque[Entry] = deque()
        self._bytes = 0
        self._last = 0
        self._changed = threading.Condition()
        self.boot_ms = now_ms()
        self.filter: Callable[[Entry], Iterable[Entry]] | None = None

    @property
    def last(self) -> int:
        """The number of the newest record there ever was; 0 before the first."""
        return self._last

    @property
    def capacity_bytes(self) -> int:
        return self._capacity_bytes

    def write(  # noqa: PLR0913 - the fields of one record
        self,
        priority: Priority,
        tag: str,
        message: str,
        pid: int,
        tid: int | None = None,
        *,
        uid: int = 1000,
        buffer: str = "main",
    ) -> None:
        """Add a record. What the logger does not take is cut off, never inside a character."""
        self.write_all(priority, tag, (message,), pid, tid, uid=uid, buffer=buffer)

    def write_all(  # noqa: PLR0913 - the fields of one record
        self,
        priority: Priority,
        tag: str,
        messages: Iterable[str],
        pid: int,
        tid: int | None = None,
        *,
        uid: int = 1000,
        buffer: str = "main",
    ) -> None:
        """Add a record for each message, with none from elsewhere between them."""
        now = self._now_ms()
        thread = pid if tid is None else tid
        tag = cut(tag, MAX_PAYLOAD - _FRAMING)
        room = MAX_PAYLOAD - _FRAMING - len(tag.encode())
        with self._changed:
            for message in messages:
                entry = Entry(self._last + 1, now, priority, tag, cut(message, room), pid, thread, uid, buffer)
                if self.filter is None:
                    self._add(entry)
                else:
                    for kept in self.filter(entry):
                        self._add(replace(kept, number=self._last + 1))
            self._drop()
            self._changed.notify_all()

    def read(self, after: int = 0) -> list[Entry]:
        """The records still here with a number above ``after``, oldest first."""
        with self._changed:
            return self._newer(after)

    def wait(self, after: int, timeout: float, cancelled: Callable[[], bool] | None = None) -> list[Entry]:
        """Like ``read``, and when there is none waits for one: ``timeout`` seconds, or until ``wake``.

        ``cancelled`` is asked before the wait and whenever something wakes it; once it says True nothing
        is waited for.
        """

        def ready() -> bool:
            return self._last > after or (cancelled is not None and cancelled())

        with self._changed:
            self._changed.wait_for(ready, timeout)
            return self._newer(after)

    def wake(self) -> None:
        """Make everyone who waits ask again whether they are cancelled."""
        with self._changed:
            self._changed.notify_all()

    def clear(self, buffers: Sequence[str] | None = None) -> None:
        """Forget the records of these buffers, or all. Numbers go on from where they were."""
        with self._changed:
            kept = [e for e in self._entries if buffers is not None and e.buffer not in buffers]
            self._entries = deque(kept)
            self._bytes = sum(map(_cost, kept))

    def resize(self, capacity_bytes: int) -> None:
        """Hold this much from now on. A size outside the limits is a ``ValueError``."""
        if not MIN_BYTES <= capacity_bytes <= MAX_BYTES:
            raise ValueError(f"a log holds {MIN_BYTES} to {MAX_BYTES} bytes")
        with self._changed:
            self._capacity_bytes = capacity_bytes
            self._drop()

    def used_bytes(self, buffer: str) -> int:
        """What the records of one buffer take up."""
        with self._changed:
            return sum(_cost(e) for e in self._entries if e.buffer == buffer)

    def _add(self, entry: Entry) -> None:
        self._last = entry.number
        self._entries.append(entry)
        self._bytes += _cost(entry)
        if len(self._entries) > self._capacity:
            self._bytes -= _cost(self._entries.popleft())

    def _drop(self) -> None:
        while self._bytes > self._capacity_bytes:
            self._bytes -= _cost(self._entries.popleft())

    def _newer(self, after: int) -> list[Entry]:
        if after >= self._last:
            return []
        newer: list[Entry] = []
        for entry in reversed(self._entries):
            if entry.number <= after:
                break
            newer.append(entry)
        newer.reverse()
        return newer


def _cost(entry: Entry) -> int:
    # Characters, not bytes: it must cost nothing to ask, and stays within four times the truth.
    return _OVERHEAD + len(entry.tag) + len(entry.message)


def cut(text: str, size: int) -> str:
    """As much of the text as fits ``size`` bytes of UTF-8. Half a surrogate pair becomes a question mark."""
    if text.isascii():
        return text if len(text) <= size else text[:size]
    raw = text.encode("utf-8", "replace")
    return raw[:size].decode("utf-8", "ignore")


def timber(  # noqa: PLR0913 - the fields of one record
    log: LogBuffer,
    priority: Priority,
    tag: str,
    message: str,
    pid: int,
    *,
    tid: int | None = None,
    uid: int = 1000,
) -> None:
    """Write a message as apps do that log through Timber.

    One of 4,000 characters or more becomes a record for each line, and several for a line that is longer
    still. A shorter one is a single record, whatever lines it has. Unlike Timber we count bytes as well, so
    that the logger cuts nothing off.
    """
    short = utf16_length(message) < _TIMBER_LENGTH and len(message.encode("utf-8", "replace")) <= _TIMBER_LENGTH
    pieces = [message] if short else _pieces(message)
    log.write_all(priority, tag, pieces, pid, tid, uid=uid)


def _pieces(message: str) -> Iterator[str]:
    lines = message.split("\n")
    if not lines[-1]:
        lines.pop()
    for line in lines:
        if len(line) <= _TIMBER_LENGTH // 4:  # a character is four bytes at most
            yield line
        else:
            yield from _chunks(line)


def _chunks(line: str) -> Iterator[str]:
    begin = 0
    while begin < len(line):
        piece = cut(line[begin : begin + _TIMBER_LENGTH], _TIMBER_LENGTH)
        yield piece
        begin += len(piece)
