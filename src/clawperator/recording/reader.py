"""Reading a recording file line by line, in bounded memory.

Events are ordered by ``seq``, and a phone nearly always writes them in this order. So a file is read once from
start to end; only if an event is out of order, the work starts again with a sorted index of the file.
"""

import marshal
import os
import shlex
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from math import ceil, floor
from typing import IO, NoReturn, Self, TypeVar

from clawperator._base.deadline import Deadline
from clawperator._base.files import open_regular, unusable_file, why
from clawperator._base.secrets import known_secrets
from clawperator.contract.limits import MAX_RECORDING_LINE_BYTES
from clawperator.errors import ClawError, ClawperatorException
from clawperator.recording.events import (
    Event,
    EventFacts,
    Header,
    InvalidLineError,
    decode_event,
    decode_header,
    trim_line,
)
from clawperator.recording.masking import PasswordMasker

# Missing events: a phone numbers events from 0, also those that it could not write, so a number that is missing is
# an event that is missing

E = TypeVar("E", bound=EventFacts)

_MAX_LISTED = 10


class SeqGaps:
    """Collects the missing numbers while the events of a recording come in order."""

    def __init__(self) -> None:
        self.count = 0
        self.next: int | float = 0  # the number that the next event has if none is missing
        self._ranges: list[str] = []
        self._more = 0

    def add(self, seq: int | float) -> None:
        """Count an event. Events of equal numbers are no gap."""
        if seq > self.next:
            first, last = ceil(self.next), floor(seq) - (seq == floor(seq))
            if last >= first:
                self.count += last - first + 1
                if len(self._ranges) < _MAX_LISTED:
                    self._ranges.append(f"{first}-{last}" if last > first else f"{first}")
                else:
                    self._more += 1
        self.next = max(self.next, seq + 1)

    def add_page(self, numbers: list[int | float]) -> None:
        """Count the events of a page."""
        first = self.next
        if isinstance(first, int) and numbers == list(range(first, first + len(numbers))):
            self.next = first + len(numbers)
            return
        for number in numbers:
            self.add(number)

    def watch(self, events: Iterable[E]) -> Iterator[E]:
        """The events, each counted when it passes."""
        for event in events:
            if event.seq != self.next:
                self.add(event.seq)
            else:
                self.next += 1
            yield event

    def warnings(self, what: str = "") -> list[str]:
        """One sentence when events are missing; none otherwise. ``what`` names the recording."""
        if not self.count:
            return []
        more = f" and {self._more} more ranges" if self._more else ""
        where = f" from {what}" if what else ""
        missing = "1 event is missing" if self.count == 1 else f"{self.count} events are missing"
        return [f"{missing}{where}: seq {', '.join(self._ranges)}{more}"]


# Lines

T = TypeVar("T")
# Called at intervals with the number of bytes read and the size of the file.
Progress = Callable[[int, int], None]

_HEADER_HINT = (
    "The first line of a recording has the type recording_header. If the header comes later, run "
    "'clawperator recording repair --input {path}' to keep the events after it."
)
_REPAIR_HINT = "Run 'clawperator recording repair --input {path}' to keep every complete event."
_PROGRESS_EVERY = 4 * 1024 * 1024
_RUN_LENGTH = 50_000  # entries sorted in memory, about 8 MB
_BLOCK_LENGTH = 500  # entries of a run read back at a time

# The seq of a line, its offset and its size.
_IndexEntry = tuple[int | float, int, int]


class _OutOfOrder(ClawperatorException):
    pass


class Recording:
    """A recording file. Opening it reads and checks the header.

    ``code`` is the error code for a file that cannot be read, which depends on the command.
    """

    def __init__(
        self, path: str, *, code: str = "RECORDING_PARSE_FAILED", progress: Progress | None = None
    ) -> None:
        self.path = path
        self.out_of_order = False
        self.gaps = SeqGaps()  # of the events that were read in order
        self._code = code
        self._progress = progress
        self._file = open_recording(path, code)
        self._size = os.fstat(self._file.fileno()).st_size
        self._file_line = 0
        self._offset = self._line_size = 0  # of the current line
        try:
            self.header = self._read_header()
        except BaseException:
            self._file.close()
            raise
        self._start = (self._file.tell(), self._file_line)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def in_order(self, build: Callable[[Iterator[Event]], T]) -> T:
        """Call ``build`` with the events in ``seq`` order; those of equal ``seq`` in file order.

        It may be called a second time, and must then start again.
        """
        try:
            self.gaps = SeqGaps()
            return build(self.in_file_order(in_order_only=True))
        except _OutOfOrder:
            self.out_of_order = True
        index = _SeqIndex()
        for event in self.in_file_order():
            index.add(event.seq, self._offset, self._line_size)
        self.gaps = SeqGaps()
        return build(self.gaps.watch(self._read_at(index.lines())))

    def in_file_order(self, *, in_order_only: bool = False) -> Iterator[Event]:
        """Every event in file order, validated. With ``in_order_only`` stop at the first event out of order."""
        self._offset, self._file_line = self._start
        number = 1  # of the line, without blank ones; the header is the first
        last = float("-inf")
        gaps = self.gaps
        report_at = self._offset + _PROGRESS_EVERY
        with reading(self.path, self._code):
            self._file.seek(self._offset)
            for line in raw_lines(self._file):
                if self._offset >= self._size:
                    break  # written after the file was opened: a file that grows would never end
                self._file_line += 1
                try:
                    event = decode_event(line)
                except InvalidLineError as bad:
                    retried = self._decode_trimmed(line, number + 1, bad)
                    if retried is None:
                        self._offset += len(line)
                        continue
                    event = retried
                number += 1
                if in_order_only:
                    if event.seq < last:
                        raise _OutOfOrder
                    last = event.seq
                    if last == gaps.next:
                        gaps.next += 1
                    else:
                        gaps.add(last)
                self._line_size = len(line)
                yield event
                self._offset += len(line)
                if self._offset >= report_at and self._progress:
                    report_at = self._offset + _PROGRESS_EVERY
                    self._progress(self._offset, self._size)

    def _decode_trimmed(self, line: bytes, number: int, bad: InvalidLineError) -> Event | None:
        """Decode a line again without the Unicode white space around it; None if it is blank."""
        trimmed = trim_line(line)
        if not trimmed:
            return None
        try:
            if bad.malformed and len(trimmed) < len(line):
                return decode_event(trimmed)
        except InvalidLineError as e:
            bad = e
        return self._refuse(line, number, bad)

    def _read_at(self, lines: Iterator[tuple[int, int]]) -> Iterator[Event]:
        with reading(self.path, self._code):
            for offset, size in lines:
                # Unbuffered: the buffer would be filled again at every jump.
                line = os.pread(self._file.fileno(), size, offset)
                try:
                    yield decode_event(trim_line(line))
                except InvalidLineError:
                    hint = "Wait until the file is complete, then try again."
                    raise self._error("The recording changed while it was being read", hint, "read") from None

    def _read_header(self) -> Header:
        with reading(self.path, self._code):
            for line in raw_lines(self._file):
                self._file_line += 1
                if not trim_line(line):
                    continue
                try:
                    return decode_header(line, self.path)
                except InvalidLineError as bad:
                    self._refuse(line, 1, bad)
        raise self._error("The recording is empty", _HEADER_HINT)

    def _refuse(self, line: bytes, number: int, bad: InvalidLineError) -> NoReturn:
        is_header = number == 1
        message = f"Invalid {'header' if is_header else 'event'} at line {number}: {bad.reason}"
        reason = bad.reason
        if bad.malformed:
            message = f"Malformed NDJSON at line {number}"
            if line.startswith(b"{") and not line.endswith(b"\n") and len(line) <= MAX_RECORDING_LINE_BYTES:
                reason = "the file ends in the middle of this line"
        details = {"line": number, "fileLine": self._file_line, "reason": reason}
        raise self._error(message, _HEADER_HINT if is_header else _REPAIR_HINT).with_(details=details)

    def _error(self, message: str, hint: str, operation: str = "parse") -> ClawError:
        hint = hint.replace("{path}", shlex.quote(self.path))
        return ClawError("RECORDING_PARSE_FAILED", message, hint=hint, operation=operation, target=self.path)


class _SeqIndex:
    """The lines of a file of any size, sorted by ``seq`` and then by offset: an external merge sort."""

    def __init__(self) -> None:
        self._run: list[_IndexEntry] = []
        self._spilled: IO[bytes] | None = None
        self._blocks: list[list[int]] = []  # the offsets of the blocks of each run

    def __del__(self) -> None:
        if self._spilled is not None:
            self._spilled.close()

    def add(self, seq: int | float, offset: int, size: int) -> None:
        self._run.append((seq, offset, size))
        if len(self._run) >= _RUN_LENGTH:
            self._spill()

    def lines(self) -> Iterator[tuple[int, int]]:
        """The offset and size of every line, in order."""
        self._run.sort()
        import heapq

        runs = [self._read_run(blocks) for blocks in self._blocks]
        for _, offset, size in heapq.merge(*runs, self._run):
            yield offset, size

    def _spill(self) -> None:
        if self._spilled is None:
            import tempfile

            self._spilled = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the index
        self._run.sort()
        blocks: list[int] = []
        for i in range(0, len(self._run), _BLOCK_LENGTH):
            blocks.append(self._spilled.tell())
            marshal.dump(self._run[i : i + _BLOCK_LENGTH], self._spilled)
        self._blocks.append(blocks)
        self._run = []

    def _read_run(self, blocks: list[int]) -> Iterator[_IndexEntry]:
        assert self._spilled is not None
        for offset in blocks:
            self._spilled.seek(offset)
            yield from marshal.load(self._spilled)  # noqa: S302 - our own temporary file


@contextmanager
def reading(path: str, code: str) -> Iterator[None]:
    """Raise the typed error when reading fails."""
    try:
        yield
    except OSError as e:
        raise unreadable(path, why(e), code) from e


def raw_lines(file: IO[bytes]) -> Iterator[bytes]:
    """The lines with their line ends. A line that is too long comes in pieces; all but the last are too long."""
    return iter(partial(file.readline, MAX_RECORDING_LINE_BYTES + 1), b"")


def open_recording(path: str, code: str) -> IO[bytes]:
    """Open a regular file; others could block, or cannot be read twice."""
    try:
        return open_regular(path)
    except IsADirectoryError as e:
        raise unreadable(path, "it is a folder; only export accepts one", code) from e
    except (OSError, ValueError) as e:
        raise unreadable(path, why(e), code) from e


def unreadable(path: str, reason: str, code: str) -> ClawError:
    hint = "Check that the file exists and is readable: run 'clawperator recording list' to list recordings."
    return unusable_file(code, "read", path, reason, hint=hint)


# What to know of a recording before it is used


class _Stopped(ClawperatorException):
    pass


def recording_warnings(path: str, deadline: Deadline) -> list[str]:
    """Missing events, and passwords and declared secrets that are not masked; none for an unreadable recording."""

    def stop_in_time(_done: int, _size: int) -> None:
        if deadline.is_over:
            raise _Stopped

    secrets = known_secrets()
    masker = PasswordMasker()

    def build(events: Iterator[Event]) -> None:
        nonlocal masker
        masker = PasswordMasker(secrets)
        for event in events:
            masker.mask(event)
            masker.mask_snapshot(event)

    try:
        with Recording(path, progress=stop_in_time) as recording:
            recording.in_order(build)
            warnings = recording.gaps.warnings()
    except _Stopped:
        return ["the recording was not checked to its end: no time was left"]
    except ClawError:
        return []
    if masker.count:
        what = "password fields and declared secrets" if secrets else "password fields"
        warnings.append(
            f"{masker.count} texts of {what} are not masked in this file; keep it private. "
            "parse, export, describe and replay mask them."
        )
    return warnings
