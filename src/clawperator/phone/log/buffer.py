"""The phone's log: a ring buffer of records with many writers and readers, and its injected faults.

A record is truncated to the logger's maximum size, and new records replace the oldest. A reader that starts late
still gets what the buffer holds.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from clawperator._base.text import utf16_length
from clawperator.phone.core.faults import Faults

Priority = Literal["V", "D", "I", "W", "E", "F"]

# The maximum size of a record: priority, tag and message, with a terminating byte after tag and message.
MAX_PAYLOAD = 4_068
_FRAMING = 3
# The memory of a record beside its text, as on a phone.
_OVERHEAD = 200
# Small enough for a hundred phones in one process, large enough for six large hierarchies.
DEFAULT_BYTES = 1024 * 1024
MIN_BYTES = 64 * 1024
MAX_BYTES = 16 * 1024 * 1024

# Timber splits messages of this length or longer.
_TIMBER_LENGTH = 4_000

_SKIPPED = "Skipped 31 frames!  The application may be doing too much work on its main thread."
# Typical lines of other processes, some of them similar to the Operator's.
_NOISE = (
    ("D", "WifiScanner", "scan complete: 12 networks", 1_701),
    ("I", "ActivityManager", "Displayed in +142ms", 1_201),
    ("W", "Choreographer", _SKIPPED, 3_307),
    ("V", "Sensors", "<node /> [TaskScope] nothing to see", 1_702),
    ("E", "SomeApp", "[Clawperator-Result] {not json", 3_308),
    ("I", "chatty", "uid=1000(system) expire 4 lines", 1_201),
)


class LogRecord(Struct, frozen=True, gc=False):
    """One record. ``number`` increases by one with every record of a log and is never reused."""

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

    ``filter`` is for faults: it receives each record before it is stored and yields the records to store instead.
    It is called with the log locked and must not write to it. ``boot_ms`` is when the log was created.
    """

    def __init__(
        self, now_ms: Callable[[], int], capacity: int = 20_000, capacity_bytes: int = DEFAULT_BYTES
    ) -> None:
        self._now_ms = now_ms
        self._capacity = capacity
        self._capacity_bytes = capacity_bytes
        self._records: deque[LogRecord] = deque()
        self._bytes = 0
        self._last = 0
        self._changed = threading.Condition()
        self.boot_ms = now_ms()
        self.filter: Callable[[LogRecord], Iterable[LogRecord]] | None = None

    @property
    def capacity_bytes(self) -> int:
        return self._capacity_bytes

    def write(  # noqa: PLR0913 - the fields of one record
        self,
        priority: Priority,
        tag: str,
        message: str | Iterable[str],
        pid: int,
        tid: int | None = None,
        *,
        uid: int = 1000,
        buffer: str = "main",
    ) -> None:
        """Add a record, truncated to the logger's maximum size at a character boundary.

        Several messages become one record each, without records of other writers between them.
        """
        now = self._now_ms()
        thread = pid if tid is None else tid
        tag = truncate(tag, MAX_PAYLOAD - _FRAMING)
        max_message = MAX_PAYLOAD - _FRAMING - len(tag.encode())
        with self._changed:
            for one in (message,) if isinstance(message, str) else message:
                text = truncate(one, max_message)
                record = LogRecord(self._last + 1, now, priority, tag, text, pid, thread, uid, buffer)
                if self.filter is None:
                    self._add(record)
                else:
                    for kept in self.filter(record):
                        self._add(replace(kept, number=self._last + 1))
            self._drop()
            self._changed.notify_all()

    def read(self, after: int = 0) -> list[LogRecord]:
        """The records in the buffer with a number above ``after``, oldest first."""
        with self._changed:
            return self._newer(after)

    def wait(self, after: int, timeout: float, cancelled: Callable[[], bool] | None = None) -> list[LogRecord]:
        """Like ``read``, but without a new record wait up to ``timeout`` seconds for one.

        ``cancelled`` is checked before the wait and at every new record; when it returns True, the wait ends.
        """

        def ready() -> bool:
            return self._last > after or (cancelled is not None and cancelled())

        with self._changed:
            self._changed.wait_for(ready, timeout)
            return self._newer(after)

    def clear(self, buffers: Sequence[str] | None = None) -> None:
        """Delete the records of these buffers, or all. Numbering continues."""
        with self._changed:
            kept = [e for e in self._records if buffers is not None and e.buffer not in buffers]
            self._records = deque(kept)
            self._bytes = sum(map(_cost, kept))

    def resize(self, capacity_bytes: int) -> None:
        """Change the capacity. A size outside the limits raises ``ValueError``."""
        if not MIN_BYTES <= capacity_bytes <= MAX_BYTES:
            raise ValueError(f"log size must be from {MIN_BYTES} to {MAX_BYTES} bytes")
        with self._changed:
            self._capacity_bytes = capacity_bytes
            self._drop()

    def used_bytes(self, buffer: str) -> int:
        """The size of the records of one buffer."""
        with self._changed:
            return sum(_cost(e) for e in self._records if e.buffer == buffer)

    def _add(self, record: LogRecord) -> None:
        self._last = record.number
        self._records.append(record)
        self._bytes += _cost(record)
        if len(self._records) > self._capacity:
            self._bytes -= _cost(self._records.popleft())

    def _drop(self) -> None:
        while self._bytes > self._capacity_bytes:
            self._bytes -= _cost(self._records.popleft())

    def _newer(self, after: int) -> list[LogRecord]:
        if after >= self._last:
            return []
        newer: list[LogRecord] = []
        for record in reversed(self._records):
            if record.number <= after:
                break
            newer.append(record)
        newer.reverse()
        return newer


def apply_log_faults(faults: Faults, record: LogRecord) -> Iterator[LogRecord]:
    """The records to store in place of one: with lines of other processes, or split, or none when it is lost."""
    if faults.happens("log_noise"):
        priority, tag, message, pid = faults.generator("log_noise").choice(_NOISE)
        yield replace(record, priority=priority, tag=tag, message=message, pid=pid, tid=pid)
    if faults.happens("lost_log"):
        return
    if len(record.message) > 1 and faults.happens("split_log"):
        at = faults.generator("split_log").randrange(1, len(record.message))
        yield replace(record, message=record.message[:at])
        yield replace(record, message=record.message[at:])
    else:
        yield record


def _cost(record: LogRecord) -> int:
    # Characters, not bytes: cheap to compute, and wrong by a factor of four at most.
    return _OVERHEAD + len(record.tag) + len(record.message)


def truncate(text: str, size: int) -> str:
    """The longest prefix that fits ``size`` bytes of UTF-8. A lone surrogate becomes a question mark."""
    if text.isascii():
        return text if len(text) <= size else text[:size]
    raw = text.encode("utf-8", "replace")
    return raw[:size].decode("utf-8", "ignore")


def timber(log: LogBuffer, priority: Priority, tag: str, message: str, pid: int) -> None:
    """Write a message like an app that logs through Timber.

    A message of 4,000 characters or more becomes one record per line, and several for a longer line. A shorter
    message is a single record. Unlike Timber, bytes are counted as well, so that the logger truncates nothing.
    """
    short = utf16_length(message) < _TIMBER_LENGTH and len(message.encode("utf-8", "replace")) <= _TIMBER_LENGTH
    log.write(priority, tag, message if short else _pieces(message), pid)


def _pieces(message: str) -> Iterator[str]:
    for line in message.removesuffix("\n").split("\n"):
        if not line:
            yield line
        begin = 0
        while begin < len(line):
            piece = truncate(line[begin : begin + _TIMBER_LENGTH], _TIMBER_LENGTH)
            yield piece
            begin += len(piece)
