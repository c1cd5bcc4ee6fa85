"""What the Operator says in the phone's log, put together: results, and hierarchies whole or not at all.

A long message comes in several records, and records of others lie between. Only records of the Operator's own
process are looked at, and a message is put together from records of one thread.
"""

import re
from collections.abc import Iterator

import msgspec
from msgspec import Struct

from clawperator.contract.wire import RESULT_PREFIX, SNAPSHOT_MARKER, sum_of

# date time pid tid priority tag: message
_RECORD = re.compile(rb"\S+ +\S+ +(\d+) +(\d+) ([VDIWEF]) (.*?) *: ?(.*)", re.DOTALL)
_END = "</hierarchy>"
_LONGEST_MESSAGE = 16 * 1024 * 1024


class Record(Struct, frozen=True):
    """One line of ``logcat -v threadtime``."""

    pid: int
    tid: int
    tag: str
    message: str


class LoggedTree(Struct, frozen=True):
    """A hierarchy as it came through the log: its lines, and whether its end was among them."""

    lines: tuple[str, ...]
    is_whole: bool


def read_record(line: bytes) -> Record | None:
    """A line of the log; None for what is none, such as the headers of buffers."""
    found = _RECORD.fullmatch(line)
    if found is None:
        return None
    pid, tid, _, tag, message = found.groups()
    return Record(int(pid), int(tid), tag.decode("utf-8", "replace"), message.decode("utf-8", "replace"))


class Answers:
    """Takes records one by one. Keeps the hierarchies, and gives each result as soon as it is whole."""

    def __init__(self) -> None:
        self.hierarchies: list[LoggedTree] = []
        self._lines: list[str] | None = None
        self._result: str | None = None
        self._source: tuple[int, str] | None = None

    def take(self, record: Record) -> dict[str, object] | None:
        """The document of a result that this record completes."""
        message = record.message
        if message.startswith(RESULT_PREFIX):
            self._close(whole=False)
            self._source = (record.tid, record.tag)
            return self._grow(message.removeprefix(RESULT_PREFIX).strip(), fresh=True)
        if SNAPSHOT_MARKER in message:
            self._close(whole=False)
            self._result = None
            self._source = (record.tid, record.tag)
            rest = message.partition(SNAPSHOT_MARKER)[2].strip()
            self._lines = [rest] if rest else []
        elif (record.tid, record.tag) != self._source:
            return None
        elif self._lines is not None:
            self._take_line(message)
        elif self._result is not None:
            return self._grow(message, fresh=False)
        return None

    def _take_line(self, message: str) -> None:
        assert self._lines is not None
        if message.startswith("["):
            self._close(whole=False)
            return
        self._lines.append(message)
        if message.strip() == _END or message.endswith(_END):
            self._close(whole=True)

    def _close(self, *, whole: bool) -> None:
        if self._lines is not None:
            self.hierarchies.append(LoggedTree(tuple(self._lines), whole))
            self._lines = None

    def _grow(self, piece: str, *, fresh: bool) -> dict[str, object] | None:
        """Add to a result that has begun. What can never become one is forgotten."""
        text = piece if fresh else (self._result or "") + piece
        self._result = text if len(text) <= _LONGEST_MESSAGE else None
        if not text.endswith("}"):
            return None
        try:
            document = msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError):
            return None
        self._result = None
        return document if isinstance(document, dict) else None


def proved_text(tree: LoggedTree, told: tuple[int, int]) -> str | None:
    """The XML of a hierarchy of which length and sum were told; None when it is not that one, or not whole."""
    return next((text for text in _readings(tree.lines) if sum_of(text) == told), None) if tree.is_whole else None


def plausible_text(tree: LoggedTree) -> str | None:
    """The XML of a hierarchy of which nothing was told: it must have its end and be well-formed."""
    return _well_formed("\n".join(tree.lines)) if tree.is_whole else None


def _readings(lines: tuple[str, ...]) -> Iterator[str]:
    """What the lines may have been before the log cut some of them in two."""
    yield "\n".join(lines)
    text = ""
    for line in lines:
        # Every line of ours ends an element. What does not is a piece, and the next one goes on where it ended.
        text += f"\n{line}" if text.endswith(">") else line
    yield text


def _well_formed(text: str) -> str | None:
    from clawperator.errors import ClawError
    from clawperator.ui.parse import parse_hierarchy

    try:
        parse_hierarchy(text)
    except ClawError:
        return None
    return text.strip()
