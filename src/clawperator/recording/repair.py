"""repair: what can be saved of a recording that a crash or a bad disk damaged.

Every whole event is kept, byte for byte, in the order of the file; what is dropped is named. The damaged
file is never touched.
"""

from collections.abc import Iterator
from typing import IO

from msgspec import Struct

from clawperator.contract.limits import MAX_RECORDING_LINE_BYTES
from clawperator.errors import ClawError
from clawperator.recording.events import BadLine, Header, decode_event, decode_header, trim_line
from clawperator.recording.reader import open_recording, raw_lines, reading
from clawperator.recording.writing import derived_path, output

_CODE = "RECORDING_PARSE_FAILED"
MAX_REPORTED = 100


class Dropped(Struct, frozen=True):
    """A line that is not in the repaired file."""

    fileLine: int
    bytes: int
    reason: str


class RepairResult(Struct, frozen=True, kw_only=True):
    """What ``repair`` answers. ``dropped`` lists the first hundred."""

    ok: bool = True
    outputFile: str
    sessionId: str
    eventCount: int
    droppedCount: int
    dropped: list[Dropped]


def repair_recording(source: str, out: str | None = None) -> RepairResult:
    """Write every whole event of ``source`` into a new recording."""
    target = out or derived_path(source, ".repaired.ndjson")
    header: Header | None = None
    kept = dropped_count = 0
    dropped: list[Dropped] = []
    with open_recording(source, _CODE) as file, output(target, source, _CODE) as result:
        for number, (line, size) in enumerate(_whole_lines(file, source), 1):
            trimmed = trim_line(line)
            if not trimmed and size <= MAX_RECORDING_LINE_BYTES:
                continue
            try:
                if size > MAX_RECORDING_LINE_BYTES:
                    raise BadLine(f"longer than {MAX_RECORDING_LINE_BYTES} bytes")  # noqa: TRY301 - one way to drop
                if header is None:
                    header = decode_header(trimmed, source)
                else:
                    decode_event(trimmed)
                    kept += 1
            except BadLine as bad:
                dropped_count += 1
                if len(dropped) < MAX_REPORTED:
                    dropped.append(Dropped(number, size, bad.reason))
            else:
                result.file.write(trimmed + b"\n")
        if header is None:
            raise ClawError(
                _CODE,
                "There is no recording header in the file, so nothing can be kept",
                hint="Without its header nobody can tell which session the events belong to.",
                operation="repair",
                target=source,
            )
    return RepairResult(
        outputFile=target,
        sessionId=header.sessionId,
        eventCount=kept,
        droppedCount=dropped_count,
        dropped=dropped,
    )


def _whole_lines(file: IO[bytes], path: str) -> Iterator[tuple[bytes, int]]:
    """Each line with its size; of a line that is too long only the size."""
    size = 0
    with reading(path, _CODE):
        for piece in raw_lines(file):
            size += len(piece)
            if piece.endswith(b"\n") or len(piece) <= MAX_RECORDING_LINE_BYTES:
                yield (piece if size == len(piece) else b""), size
                size = 0
    if size:
        yield b"", size
