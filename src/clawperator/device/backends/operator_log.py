"""Decoding of the Operator's log lines: result documents, and complete hierarchies.

Logcat splits a long message over several records, with records of other threads in between. A message is
reassembled from records of one thread of the Operator's process.
"""

import re
from collections.abc import Iterator

import msgspec
from msgspec import Struct

from clawperator.contract.wire import RESULT_PREFIX, SNAPSHOT_MARKER, sum_of

# date time pid tid priority tag: message
_RECORD = re.compile(rb"\S+ +\S+ +(\d+) +(\d+) ([VDIWEF]) (.*?) *: ?(.*)", re.DOTALL)
_END = "</hierarchy>"
_MAX_MESSAGE = 16 * 1024 * 1024


class Record(Struct, frozen=True):
    """One line of ``logcat -v threadtime``."""

    pid: int
    tid: int
    tag: str
    message: str


class LoggedTree(Struct, frozen=True):
    """The lines of a logged hierarchy, and whether its end is among them."""

    lines: tuple[str, ...]
    is_complete: bool


def read_record(line: bytes) -> Record | None:
    """Parse a line of the log; None for other lines, such as buffer headers."""
    found = _RECORD.fullmatch(line)
    if found is None:
        return None
    pid, tid, _, tag, message = found.groups()
    return Record(int(pid), int(tid), tag.decode("utf-8", "replace"), message.decode("utf-8", "replace"))


class OperatorLogReader:
    """Reassembles messages from records. Collects hierarchies and returns each result when it is complete."""

    def __init__(self) -> None:
        self.hierarchies: list[LoggedTree] = []
        self._lines: list[str] | None = None
        self._result: str | None = None
        self._source: tuple[int, str] | None = None

    def feed(self, record: Record) -> dict[str, object] | None:
        """The result document that this record completes, if any."""
        message = record.message
        if message.startswith(RESULT_PREFIX):
            self._close(complete=False)
            self._source = (record.tid, record.tag)
            return self._extend(message.removeprefix(RESULT_PREFIX).strip(), first=True)
        if SNAPSHOT_MARKER in message:
            self._close(complete=False)
            self._result = None
            self._source = (record.tid, record.tag)
            rest = message.partition(SNAPSHOT_MARKER)[2].strip()
            self._lines = [rest] if rest else []
        elif (record.tid, record.tag) != self._source:
            return None
        elif self._lines is not None:
            self._add_line(message)
        elif self._result is not None:
            return self._extend(message, first=False)
        return None

    def _add_line(self, message: str) -> None:
        assert self._lines is not None
        if message.startswith("["):
            self._close(complete=False)
            return
        self._lines.append(message)
        if message.strip() == _END or message.endswith(_END):
            self._close(complete=True)

    def _close(self, *, complete: bool) -> None:
        if self._lines is not None:
            self.hierarchies.append(LoggedTree(tuple(self._lines), complete))
            self._lines = None

    def _extend(self, piece: str, *, first: bool) -> dict[str, object] | None:
        """Add a piece to the current result. A result that exceeds the size limit is dropped."""
        text = piece if first else (self._result or "") + piece
        self._result = text if len(text) <= _MAX_MESSAGE else None
        if not text.endswith("}"):
            return None
        try:
            document = msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError):
            return None
        self._result = None
        return document if isinstance(document, dict) else None


def verified_text(tree: LoggedTree, expected: tuple[int, int]) -> str | None:
    """The XML of a hierarchy whose length and checksum are known; None when it differs or is incomplete."""
    if not tree.is_complete:
        return None
    return next((text for text in _readings(tree.lines) if sum_of(text) == expected), None)


def plausible_text(tree: LoggedTree) -> str | None:
    """The XML of a hierarchy without a checksum: it must be complete and well-formed."""
    return _well_formed("\n".join(tree.lines)) if tree.is_complete else None


def _readings(lines: tuple[str, ...]) -> Iterator[str]:
    """The possible texts before the log split some lines."""
    yield "\n".join(lines)
    text = ""
    for line in lines:
        # Each line we write ends an element. A line that does not is a piece, continued by the next line.
        text += f"\n{line}" if text.endswith(">") else line
    yield text


def _well_formed(text: str) -> str | None:
    from clawperator.errors import ClawError
    from clawperator.ui import parse_hierarchy

    try:
        parse_hierarchy(text)
    except ClawError:
        return None
    return text.strip()
