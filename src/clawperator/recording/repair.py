"""check, which warns of what a reader should know of a recording, and repair of a damaged one.

A repair copies the complete events into a new file, byte for byte and in file order; dropped lines are reported.
The damaged file is not changed.
"""

import os
from collections.abc import Iterator
from typing import IO

from msgspec import Struct

from clawperator._base.deadline import Deadline
from clawperator.contract.limits import MAX_RECORDING_LINE_BYTES
from clawperator.errors import ClawError, ClawperatorException
from clawperator.recording.events import Event, Header, InvalidLineError, decode_event, decode_header, trim_line
from clawperator.recording.masking import PasswordMasker
from clawperator.recording.reader import Recording, open_recording, raw_lines, reading
from clawperator.recording.writing import derived_path, open_output


class _Stopped(ClawperatorException):
    pass


def recording_warnings(path: str, deadline: Deadline) -> list[str]:
    """Missing events, and passwords that are not masked; none for a file that is no readable recording."""

    def stop_in_time(_done: int, _size: int) -> None:
        if deadline.is_over:
            raise _Stopped

    masker = PasswordMasker()

    def build(events: Iterator[Event]) -> None:
        nonlocal masker
        masker = PasswordMasker()
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
        warnings.append(
            f"{masker.count} texts of password fields are not masked in this file; keep it private. "
            "parse, export, describe and replay mask them."
        )
    return warnings


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
            raise ClawError(
                _CODE,
                "The file has no recording header, so nothing can be kept",
                hint="The header names the session of the events. Pull the recording again.",
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
