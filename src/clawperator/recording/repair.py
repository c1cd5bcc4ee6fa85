"""repair: copy the complete events of a damaged recording into a new file.

Every complete event is kept byte for byte and in file order; dropped lines are reported. The damaged file is not
changed.
"""

import os
from collections.abc import Iterator
from typing import IO

from msgspec import Struct

from clawperator.contract.limits import MAX_RECORDING_LINE_BYTES
from clawperator.errors import ClawError
from clawperator.recording.events import Header, InvalidLineError, decode_event, decode_header, trim_line
from clawperator.recording.reader import open_recording, raw_lines, reading
from clawperator.recording.writing import derived_path, open_output

_CODE = "RECORDING_PARSE_FAILED"
MAX_REPORTED = 100


class DroppedLine(Struct, frozen=True):
    """A line that is not in the repaired file."""

    fileLine: int
    bytes: int
    reason: str


class RepairResult(Struct, frozen=True, kw_only=True):
    """The result of ``repair``. ``dropped`` lists the first hundred lines."""

    ok: bool = True
    outputFile: str
    sessionId: str
    eventCount: int
    droppedCount: int
    dropped: list[DroppedLine]


def repair_recording(source: str, out: str | None = None) -> RepairResult:
    """Write every complete event of ``source`` into a new recording."""
    target = out or derived_path(source, ".repaired.ndjson")
    header: Header | None = None
    kept = dropped_count = 0
    dropped: list[DroppedLine] = []
    with open_recording(source, _CODE) as file, open_output(target, source, _CODE) as result:
        for number, (line, size) in enumerate(_sized_lines(file, source), 1):
            trimmed = trim_line(line)
            if not trimmed and size <= MAX_RECORDING_LINE_BYTES:
                continue
            try:
                if size > MAX_RECORDING_LINE_BYTES:
                    raise InvalidLineError(f"longer than {MAX_RECORDING_LINE_BYTES} bytes")  # noqa: TRY301 - dropped like any other line
                if header is None:
                    header = decode_header(trimmed, source)
                else:
                    decode_event(trimmed)
                    kept += 1
            except InvalidLineError as bad:
                dropped_count += 1
                if len(dropped) < MAX_REPORTED:
                    dropped.append(DroppedLine(number, size, bad.reason))
            else:
                result.file.write(trimmed + b"\n")
        if header is None:
            message = "The file has no recording header, so nothing can be kept"
            hint = "The header names the session of the events. Pull the recording again."
            raise ClawError(_CODE, message, hint=hint, operation="repair", target=source)
    return RepairResult(
        outputFile=target, sessionId=header.sessionId, eventCount=kept, droppedCount=dropped_count, dropped=dropped
    )


def _sized_lines(file: IO[bytes], path: str) -> Iterator[tuple[bytes, int]]:
    """Each line with its size; a line that is too long comes empty."""
    size = done = 0
    with reading(path, _CODE):
        end = os.fstat(file.fileno()).st_size  # a file that grows would never end
        for piece in raw_lines(file):
            if done >= end and not size:
                break
            done += len(piece)
            size += len(piece)
            if piece.endswith(b"\n") or len(piece) <= MAX_RECORDING_LINE_BYTES:
                yield (piece if size == len(piece) else b""), size
                size = 0
    if size:
        yield b"", size
