"""Streaming JSON output in the reference's format: indented by two spaces, no newline at the end."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import msgspec

from clawperator._base.files import AtomicFile, is_same_file, make_folder, unusable_file, why
from clawperator.errors import ClawError


def pretty_json(value: Any, depth: int = 0) -> bytes:
    """``value`` as it appears ``depth`` levels deep in an indented document, without its first indent."""
    text = msgspec.json.format(msgspec.json.encode(value), indent=2)
    return text.replace(b"\n", b"\n" + b"  " * depth) if depth else text


class ListWriter:
    """Writes the elements of a list that is a field of the top-level object.

    Elements are encoded a hundred at a time, in a third of the time that single ones take.
    """

    _BATCH = 100
    _OPENING, _CLOSING = b'{\n  "": [', b"\n  ]\n}"

    def __init__(self, out: IO[bytes]) -> None:
        self._out = out
        self._waiting: list[Any] = []
        self.count = 0

    def add(self, element: Any) -> None:
        self._waiting.append(element)
        if len(self._waiting) == self._BATCH:
            self._flush()

    def add_text(self, *pieces: Any) -> None:
        """Add an element that is already JSON, in pieces, with its final indent."""
        self._flush()
        self._separate()
        self._out.writelines((b"\n    ", *pieces))
        self.count += 1

    @staticmethod
    def text_of(element: Any) -> bytes:
        return pretty_json(element, 2)

    def end(self) -> None:
        self._flush()
        self._out.write(b"\n  ]" if self.count else b"[]")

    def _flush(self) -> None:
        if self._waiting:
            self._separate()
            # As a member of an object the elements come out with the indent they need.
            text = msgspec.json.format(msgspec.json.encode({"": self._waiting}), indent=2)
            self._out.write(text[len(self._OPENING) : -len(self._CLOSING)])
            self.count += len(self._waiting)
            self._waiting.clear()

    def _separate(self) -> None:
        self._out.write(b"," if self.count else b"[")


@contextmanager
def open_output(path: str, source: str, code: str, *, make_folders: bool = False) -> Iterator[AtomicFile]:
    """A private output file that is written completely or not at all. Its errors have the given code."""
    if is_same_file(path, source):
        message = f"The output file {path} is the input file"
        hint = "Choose another output file: the recording must not be overwritten."
        raise ClawError(code, message, hint=hint, operation="write", target=path)
    try:
        if make_folders and (folder := os.path.dirname(path)):
            make_folder(folder)
        target = AtomicFile(path, private=True)
    except (OSError, ValueError) as e:
        raise _unwritable(path, why(e), code) from e
    try:
        with target:
            yield target
    except OSError as e:
        raise _unwritable(path, why(e), code) from e


def _unwritable(path: str, reason: str, code: str) -> ClawError:
    hint = "Check that the folder of the output file exists, is writable and has free space."
    if os.path.exists(path) and not os.path.isfile(path):
        hint = "Choose a new or a regular output file."
    return unusable_file(code, "write", path, reason, hint=hint, operation="write").with_(retryable=True)


def derived_path(source: str, ending: str) -> str:
    """The default path of a document made from ``source``."""
    return source.removesuffix(".ndjson") + ending
