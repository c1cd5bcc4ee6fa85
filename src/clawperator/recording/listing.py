"""The recordings in a folder."""

import os

from msgspec import Struct

from clawperator._base.files import file_error

_MOST = 1_000
_SUFFIX = ".ndjson"


class ListedRecording(Struct, frozen=True):
    """A recording file. ``modifiedAt`` is in epoch milliseconds."""

    sessionId: str
    path: str
    bytes: int
    modifiedAt: int


class RecordingList(Struct, frozen=True):
    recordings: list[ListedRecording]
    count: int


def list_recordings(folder: str) -> RecordingList:
    """The recordings of a folder, the newest first, at most a thousand; none when there is no folder."""
    try:
        with os.scandir(folder) as entries:
            found = [
                ListedRecording(
                    entry.name.removesuffix(_SUFFIX), entry.path, about.st_size, about.st_mtime_ns // 1_000_000
                )
                for entry in entries
                if entry.name.endswith(_SUFFIX)
                and entry.is_file(follow_symlinks=False)
                and (about := entry.stat())
            ]
    except FileNotFoundError:
        return RecordingList([], 0)
    except (OSError, ValueError) as e:
        raise file_error("FILESYSTEM_FAILED", "list", folder, e, hint="Name a readable folder.") from e
    newest = sorted(found, key=lambda one: (-one.modifiedAt, one.sessionId))[:_MOST]
    return RecordingList(newest, len(newest))
