"""Decoding of the Operator's log lines: result documents, and complete hierarchies.

Logcat splits a long message over several records, with records of other threads in between. A message is
reassembled from records of one thread of the Operator's process.
"""

import re
from collections.abc import Iterator

import msgspec
from msgspec import Struct

from clawperator._base.deadline import Deadline
from clawperator._base.notes import trace
from clawperator.contract.limits import MAX_HIERARCHY_BYTES
from clawperator.contract.wire import RESULT_PREFIX, SNAPSHOT_MARKER, sum_of
from clawperator.device.adb.client import Device, ShellStream, simulated_address
from clawperator.device.adb.quoting import quote
from clawperator.device.run.lease import Holder
from clawperator.errors import RefusedError

# date time pid tid priority, then "tag: message"
_HEAD = re.compile(rb"\S{1,32} {1,16}\S{1,32} {1,16}(\d{1,10}) {1,16}(\d{1,10}) [VDIWEF] ")
_END = "</hierarchy>"
# The beginning of each line of a hierarchy.
_ELEMENT = ("<node ", "</node>", _END)
# Tags of records that replace lines which the log dropped.
_DROP_TAGS = ("chatty", "liblog")
# Logcat splits messages at about 4,000 characters, so a longer line is not a record.
MAX_LINE_BYTES = 64 * 1024
_MAX_RESULT = 4 * 1024 * 1024
# A result in more pieces than this is not one of an Operator. Each piece may be tried as the last one.
_MAX_PIECES = 1_000
_MAX_HIERARCHIES_BYTES = 32 * 1024 * 1024
_NOT_RUNNING = 5


class Record(Struct, frozen=True):
    """One line of ``logcat -v threadtime``."""

    pid: int
    tid: int
    tag: str
    message: str


class LoggedTree(Struct, frozen=True):
    """The lines of a logged hierarchy, and whether its end is among them.

    ``has_drops`` when the log reported dropped lines between them, which may be those of another thread.
    """

    lines: tuple[str, ...]
    is_complete: bool
    has_drops: bool = False

    @property
    def size(self) -> int:
        return sum(map(len, self.lines))


class LogLines:
    """Splits a stream into lines. What a line has beyond ``MAX_LINE_BYTES`` is dropped."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The lines that these bytes complete."""
        first, newline, more = data.partition(b"\n")
        self._rest += first[: max(0, MAX_LINE_BYTES - len(self._rest))]
        if not newline:
            return
        yield self._rest
        *lines, rest = more.split(b"\n")
        self._rest = rest[:MAX_LINE_BYTES]
        for line in lines:
            yield line[:MAX_LINE_BYTES]


def read_record(line: bytes) -> Record | None:
    """Parse a line of the log; None for other lines, such as buffer headers."""
    line = line[:MAX_LINE_BYTES]
    found = _HEAD.match(line)
    if found is None:
        return None
    tag, colon, message = line[found.end() :].partition(b":")
    if not colon:
        return None
    return Record(
        int(found[1]),
        int(found[2]),
        tag.rstrip(b" ").decode("utf-8", "replace"),
        message.removeprefix(b" ").decode("utf-8", "replace"),
    )


class OperatorLogReader:
    """Reassembles messages from records. Collects hierarchies and returns each result when it is complete.

    Only the last hierarchies are kept, up to a limit of memory. ``orphaned`` counts the characters of lines whose
    hierarchy has lost its beginning: a log that is too small drops its oldest lines.
    """

    def __init__(self) -> None:
        self.hierarchies: list[LoggedTree] = []
        self.orphaned = 0
        self._sizes: list[int] = []
        self._lines: list[str] | None = None
        self._has_drops = False
        self._size = 0
        self._result: list[str] | None = None
        self._result_size = 0
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
            self._has_drops = False
            self._size = len(rest)
        elif record.tag in _DROP_TAGS:
            self._has_drops = True
        elif (record.tid, record.tag) != self._source:
            if message.lstrip(" ").startswith(_ELEMENT):
                self.orphaned += len(message)
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
        self._size += len(message)
        if self._size > MAX_HIERARCHY_BYTES:
            self._lines = None
        elif message.strip() == _END or message.endswith(_END):
            self._close(complete=True)

    def _close(self, *, complete: bool) -> None:
        if self._lines is None:
            return
        end = "complete" if complete else "incomplete"
        trace(f"{SNAPSHOT_MARKER} {len(self._lines)} log lines, {self._size} characters, {end}")
        self.hierarchies.append(LoggedTree(tuple(self._lines), complete, self._has_drops))
        self._sizes.append(self._size)
        self._lines = None
        while sum(self._sizes) > _MAX_HIERARCHIES_BYTES:
            del self._sizes[0], self.hierarchies[0]

    def _extend(self, piece: str, *, first: bool) -> dict[str, object] | None:
        """Add a piece to the current result. A result that exceeds the limits is dropped."""
        if first or self._result is None:
            self._result, self._result_size = [], 0
        self._result.append(piece)
        self._result_size += len(piece)
        if self._result_size > _MAX_RESULT or len(self._result) > _MAX_PIECES:
            self._result = None
            return None
        if not piece.endswith("}"):
            return None
        try:
            document = msgspec.json.decode("".join(self._result))
        except (msgspec.DecodeError, RecursionError, UnicodeError):
            return None
        self._result = None
        return document if isinstance(document, dict) else None


def verified_text(tree: LoggedTree, expected: tuple[int, int]) -> str | None:
    """The XML of a hierarchy whose length and checksum are known; None when it differs or is incomplete."""
    if not tree.is_complete:
        return None
    return next((text for text in _readings(tree.lines) if sum_of(text) == expected), None)


def plausible_text(tree: LoggedTree) -> str | None:
    """The XML of a hierarchy without a checksum. It must show no sign of a lost line.

    Then it has its end, it is well-formed, and the children of each node have the indexes from 0 on. A loss at the
    end of a list of children has no sign.
    """
    return _without_gaps("\n".join(tree.lines)) if tree.is_complete and not tree.has_drops else None


def _readings(lines: tuple[str, ...]) -> Iterator[str]:
    """The possible texts before the log split some lines."""
    yield "\n".join(lines)
    text = ""
    for line in lines:
        # Each line we write ends an element. A line that does not is a piece, continued by the next line.
        text += f"\n{line}" if text.endswith(">") else line
    yield text


def _without_gaps(text: str) -> str | None:
    from clawperator.errors import ClawError
    from clawperator.ui.parse import parse_hierarchy

    try:
        tree = parse_hierarchy(text)
    except ClawError:
        return None
    has_gaps = any(_has_gap([child.attributes.get("index", "") for child in node.children]) for node in tree.nodes)
    return None if has_gaps else text.strip()


def _has_gap(indexes: list[str]) -> bool:
    """Whether indexes are not those from 0 on. Nodes without an index have none to miss."""
    return any(indexes) and indexes != [str(i) for i in range(len(indexes))]


def has_finished(device: Device, holder: Holder, seconds: float) -> bool:
    """Whether the command has ended on the device: its result is in the log, or its Operator's process is gone.

    A simulated phone that was restarted has another address. Waits for the result no longer than these seconds.
    ``DEVICE_...`` errors when the device cannot be reached.
    """
    if holder.endpoint != simulated_address(device):
        return True
    try:
        with ShellStream(device, _script(holder), Deadline(seconds)) as stream:
            return _follow(stream, holder)
    except (OSError, RefusedError):
        return False


def _script(holder: Holder) -> str:
    since = f"-T {quote(holder.deviceTime)} " if holder.deviceTime else ""
    return (
        f"P=$(pidof {quote(holder.operator)}) || exit {_NOT_RUNNING}; echo process $P; "
        f'exec logcat -b main -v threadtime {since}--pid="${{P%% *}}"'
    )


def _follow(stream: ShellStream, holder: Holder) -> bool:
    reader = OperatorLogReader()
    lines = LogLines()
    for is_error, data in stream.packets():
        if is_error:
            continue
        for line in lines.feed(data):
            if line.startswith(b"process "):
                if holder.operatorPid and line.split()[1:2] != [holder.operatorPid.encode()]:
                    return True
                continue
            record = read_record(line)
            document = None if record is None else reader.feed(record)
            if document is not None and document.get("commandId") == holder.sent:
                return True
    return stream.code == _NOT_RUNNING
