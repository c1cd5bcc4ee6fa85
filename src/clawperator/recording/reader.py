"""A recording on disk, read line by line in bounded memory.

``seq`` is the order of a recording, and a phone nearly always writes it in order. So a file is read
straight through, and only when a step back is met is the work begun again on a sorted index of it.
"""

import os
import shlex
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import IO, NoReturn, Self, TypeVar

from clawperator._files import why
from clawperator.contract.limits import MAX_RECORDING_LINE_BYTES
from clawperator.errors import ClawError, ClawperatorException
from clawperator.recording.events import BadLine, Event, Header, decode_event, decode_header, trim_line
from clawperator.recording.external_sort import SeqIndex

T = TypeVar("T")
# Called now and then with the bytes read so far and the bytes there are.
Progress = Callable[[int, int], None]

_HEADER_HINT = (
    "A recording begins with a line of type recording_header. If one stands further down, "
    "'clawperator recording repair' keeps what follows it."
)
_BUFFER = 1024 * 1024
_PROGRESS_EVERY = 4 * 1024 * 1024


class _OutOfOrder(ClawperatorException):
    pass


class Recording:
    """A recording file. Opening it reads and checks the header.

    ``code`` is the error code of a file that cannot be read at all; the commands differ in it.
    """

    def __init__(
        self, path: str, *, code: str = "RECORDING_PARSE_FAILED", progress: Progress | None = None
    ) -> None:
        self.path = path
        self.out_of_order = False
        self._code = code
        self._progress = progress
        self._file = open_recording(path, code)
        self._size = os.fstat(self._file.fileno()).st_size
        self._file_line = 0
        self._offset = self._line_size = 0  # of the line in hand
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
        """``build`` of the events in ``seq`` order, those of equal ``seq`` as they stand in the file.

        It may be called a second time, and must then begin afresh.
        """
        try:
            return build(self._events(straight=True))
        except _OutOfOrder:
            self.out_of_order = True
        index = SeqIndex()
        for event in self._events():
            index.add(event.seq, self._offset, self._line_size)
        return build(self._at(index.places()))

    def in_file_order(self) -> Iterator[Event]:
        return self._events()

    def _events(self, *, straight: bool = False) -> Iterator[Event]:
        """Every event in the order of the file, checked. A ``straight`` pass ends at the first step back."""
        self._offset, self._file_line = self._start
        number = 1  # of the line, blank ones not counted; the header was the first
        last = float("-inf")
        report_at = self._offset + _PROGRESS_EVERY
        with reading(self.path, self._code):
            self._file.seek(self._offset)
            for line in raw_lines(self._file):
                self._file_line += 1
                try:
                    event = decode_event(line)
                except BadLine as bad:
                    looked = self._look_again(line, number + 1, bad)
                    if looked is None:
                        self._offset += len(line)
                        continue
                    event = looked
                number += 1
                if straight:
                    if event.seq < last:
                        raise _OutOfOrder
                    last = event.seq
                self._line_size = len(line)
                yield event
                self._offset += len(line)
                if self._offset >= report_at and self._progress:
                    report_at = self._offset + _PROGRESS_EVERY
                    self._progress(self._offset, self._size)

    def _look_again(self, line: bytes, number: int, bad: BadLine) -> Event | None:
        """A line the decoder refused may be blank, or have odd white space around its event."""
        trimmed = trim_line(line)
        if not trimmed:
            return None
        try:
            if bad.malformed and len(trimmed) < len(line):
                return decode_event(trimmed)
        except BadLine as e:
            bad = e
        return self._refuse(line, number, bad)

    def _at(self, places: Iterator[tuple[int, int]]) -> Iterator[Event]:
        with reading(self.path, self._code):
            for offset, size in places:
                # Past the file's buffer, which would be filled anew at every jump.
                line = os.pread(self._file.fileno(), size, offset)
                try:
                    yield decode_event(trim_line(line))
                except BadLine:
                    raise ClawError(
                        "RECORDING_PARSE_FAILED",
                        "The recording changed while it was read",
                        hint="Wait until the file is complete, then try again.",
                        operation="read",
                        target=self.path,
                    ) from None

    def _read_header(self) -> Header:
        with reading(self.path, self._code):
            for line in raw_lines(self._file):
                self._file_line += 1
                if not trim_line(line):
                    continue
                try:
                    return decode_header(line, self.path)
                except BadLine as bad:
                    self._refuse(line, 1, bad)
        raise ClawError(
            "RECORDING_PARSE_FAILED",
            "The recording is empty",
            hint=_HEADER_HINT,
            operation="parse",
            target=self.path,
        )

    def _refuse(self, line: bytes, number: int, bad: BadLine) -> NoReturn:
        is_header = number == 1
        message = (
            f"Malformed NDJSON at line {number}"
            if bad.malformed
            else f"Invalid {'header' if is_header else 'event'} at line {number}: {bad.reason}"
        )
        ended = not line.endswith(b"\n") and len(line) <= MAX_RECORDING_LINE_BYTES
        cut = bad.malformed and ended and line.startswith(b"{")
        mend = f"To keep every whole event: clawperator recording repair --input {shlex.quote(self.path)}"
        raise ClawError(
            "RECORDING_PARSE_FAILED",
            message,
            hint=_HEADER_HINT if is_header else mend,
            details={
                "line": number,
                "fileLine": self._file_line,
                "reason": "the file ends in the middle of this line" if cut else bad.reason,
            },
            operation="parse",
            target=self.path,
        )


@contextmanager
def reading(path: str, code: str) -> Iterator[None]:
    """Turns a failing disk into the typed error."""
    try:
        yield
    except OSError as e:
        raise unreadable(path, why(e), code) from e


def raw_lines(file: IO[bytes]) -> Iterator[bytes]:
    """The lines with their ends. One that is too long comes in pieces, each longer than allowed but the last."""
    return iter(partial(file.readline, MAX_RECORDING_LINE_BYTES + 1), b"")


def open_recording(path: str, code: str) -> IO[bytes]:
    """A regular file, opened for reading; anything else could block or cannot be read twice."""
    try:
        mode = os.stat(path).st_mode
        if not stat.S_ISREG(mode):
            folder = "it is a folder; only export takes one"
            raise unreadable(path, folder if stat.S_ISDIR(mode) else "it is not a regular file", code)
        return open(path, "rb", buffering=_BUFFER)
    except (OSError, ValueError) as e:
        raise unreadable(path, why(e), code) from e


def unreadable(path: str, reason: str, code: str) -> ClawError:
    return ClawError(
        code,
        f"Cannot read {path}: {reason}",
        hint="Check that --input names a recording file that exists and may be read.",
        details={"path": path, "reason": reason},
        operation="read",
        target=path,
    )
