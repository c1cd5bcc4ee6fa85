"""Resources of the MCP server: the current screen, and recordings and exports in the working folder."""

import os
from collections.abc import Iterator
from urllib.parse import quote, unquote

from msgspec import Struct

from clawperator._base.files import file_error, open_regular
from clawperator.agent.confinement import WorkingFolder, confine
from clawperator.errors import ClawError
from clawperator.policy.gate import check_call

SCREEN_URI = "clawperator://screen"
FILE_URI = "clawperator://files/"
# Folders of the working folder that are searched, and the endings of the files in them.
_FOLDERS = ("recordings", ".")
_ENDINGS = {".ndjson": ("recording", "application/x-ndjson"), ".export.json": ("export", "application/json")}
_MOST_FILES = 200
_MOST_BYTES = 1_000_000


class FoundFile(Struct, frozen=True):
    """A recording or an export. ``path`` is relative to the working folder."""

    path: str
    kind: str
    media_type: str
    bytes: int

    @property
    def uri(self) -> str:
        return FILE_URI + quote(self.path)


def find_files(folder: WorkingFolder) -> list[FoundFile]:
    """The recordings and exports, the newest first."""
    found = sorted(_files(folder.root), key=lambda entry: entry[0], reverse=True)
    return [file for _, file in found[:_MOST_FILES]]


def _files(root: str) -> Iterator[tuple[float, FoundFile]]:
    for name in _FOLDERS:
        try:
            entries = list(os.scandir(os.path.join(root, name)))
        except OSError:
            continue
        for entry in entries:
            kind = next((kind for ending, kind in _ENDINGS.items() if entry.name.endswith(ending)), None)
            try:
                if kind is None or not entry.is_file(follow_symlinks=False):
                    continue
                status = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            path = os.path.normpath(os.path.join(name, entry.name))
            yield status.st_mtime, FoundFile(path, *kind, status.st_size)


def read_file(uri: str, folder: WorkingFolder) -> tuple[str, str]:
    """The media type and the text of a recording or an export in the working folder."""
    path = unquote(uri.removeprefix(FILE_URI))
    kind = next((kind for ending, kind in _ENDINGS.items() if path.endswith(ending)), None)
    if not uri.startswith(FILE_URI) or kind is None or "\0" in path:
        raise ClawError(
            "RESOURCE_NOT_FOUND",
            f"unknown resource {uri[:200]!r}",
            hint=f"List the resources. The screen is {SCREEN_URI}.",
            operation="read",
            target=uri[:200],
        )
    check_call("recording_describe", "read-only", path)
    whole = confine(folder, path, "resources", "read")
    try:
        with open_regular(whole) as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as e:
        raise file_error("FILESYSTEM_FAILED", "read", path, e) from e
    if len(data) > _MOST_BYTES:
        raise ClawError(
            "PAYLOAD_TOO_LARGE",
            f"{path} is larger than {_MOST_BYTES} bytes",
            hint=f'Call recording with {{"do": "recording_describe", "input": "{path}"}}.',
            operation="read",
            target=path,
        )
    return kind[1], data.decode("utf-8", "replace")
