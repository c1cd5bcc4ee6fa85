"""A demonstration in memory, whether it is kept as a recording or as its export."""

import os

from clawperator._files import why
from clawperator.errors import ClawError
from clawperator.recording.export import Export, SnapshotMode, export_recording, read_export
from clawperator.recording.reader import unreadable

_EXPORT_MARK = b'"exportVersion"'
_HEAD_BYTES = 4_096


def load_demonstration(path: str, *, snapshots: SnapshotMode = "omit") -> Export:
    """The export in ``path``, or the one of the recording there, with its snapshots when they are included."""
    try:
        with open(path, "rb") as file:
            data = file.read(_HEAD_BYTES)
            if is_export(data):
                data += file.read()
    except (OSError, ValueError) as e:
        raise unreadable(path, why(e), "RECORDING_PARSE_FAILED") from e
    if not is_export(data):
        import tempfile

        with tempfile.TemporaryDirectory(prefix="clawperator-") as folder:
            out = os.path.join(folder, "export.json")
            export_recording(path, out, snapshots=snapshots)
            with open(out, "rb") as file:
                data = file.read()
    try:
        return read_export(data)
    except ValueError as e:
        raise ClawError(
            "RECORDING_PARSE_FAILED",
            f"{path} is not a valid recording export: {e}",
            hint="--input takes a recording, or what 'clawperator recording export' wrote.",
            details={"path": path, "reason": str(e)},
            operation="read",
            target=path,
        ) from None


def is_export(head: bytes) -> bool:
    """Whether a document that begins like this is an export; it says so early, where a recording has a header."""
    head = head[:_HEAD_BYTES]
    return _EXPORT_MARK in head and b'"recording_header"' not in head.lstrip().partition(b"\n")[0]
