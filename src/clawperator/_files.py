"""Atomic files, and lists that spill to disk."""

import os
import stat
from contextlib import suppress
from types import TracebackType
from typing import IO, Self

_BUFFER = 256 * 1024
_SPILL_BYTES = 1024 * 1024


class AtomicFile:
    """A file that appears under its name only when the ``with`` block ends well.

    Until then, and after a failure or a crash, an older file of that name stays as it was. A symbolic link is
    followed, and the mode of a replaced file is kept. A device or pipe is written directly. There is no fsync: our
    files can be made again from their source.
    """

    def __init__(self, path: str) -> None:
        self._target = os.path.realpath(path)
        self._mode = _mode(self._target)
        self._part: str | None = None
        if self._mode is None or stat.S_ISREG(self._mode):
            name = f".clawperator-{os.getpid()}-{os.urandom(6).hex()}.part"
            self._part = os.path.join(os.path.dirname(self._target), name)
        self._file: IO[bytes] | None = None

    @property
    def file(self) -> IO[bytes]:
        """The file to write to, inside the ``with`` block."""
        assert self._file is not None
        return self._file

    def restart(self) -> None:
        """Discard what was written so far."""
        self.file.flush()
        if self._part:
            self.file.seek(0)
            self.file.truncate()

    def __enter__(self) -> Self:
        try:
            # An exclusive new file with the default mode.
            self._file = open(self._part, "xb", buffering=_BUFFER) if self._part else open(self._target, "wb")
        except BaseException:  # an interrupt may come after the file was created
            self._discard()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._discard()
            return
        try:
            self.file.flush()
            if self._part and self._mode is not None:
                os.fchmod(self.file.fileno(), stat.S_IMODE(self._mode))
            self.file.close()
            if self._part:
                os.replace(self._part, self._target)
        except BaseException:
            self._discard()
            raise

    def _discard(self) -> None:
        with suppress(OSError):  # the disk may be full; buffered data are discarded anyway
            if self._file:
                self._file.close()
        if self._part:
            with suppress(FileNotFoundError):
                os.unlink(self._part)


def _mode(path: str) -> int | None:
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        return None


class Spill:
    """A list of byte strings that moves to a temporary file when it grows past a megabyte."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0
        self._file: IO[bytes] | None = None
        self.count = 0

    def __del__(self) -> None:
        if self._file is not None:
            self._file.close()

    def append(self, piece: bytes) -> None:
        self._parts.append(piece)
        self._size += len(piece)
        self.count += 1
        if self._size > _SPILL_BYTES:
            if self._file is None:
                import tempfile

                self._file = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the list
            self._file.write(b"".join(self._parts))
            self._parts.clear()
            self._size = 0

    def copy_to(self, out: IO[bytes], skip: int = 0) -> None:
        """Write every piece, in order, without the first ``skip`` bytes. The list can still grow afterwards."""
        if self._file is not None:
            self._file.seek(skip)
            skip = 0
            while block := self._file.read(_BUFFER):
                out.write(block)
            self._file.seek(0, os.SEEK_END)
        out.write(b"".join(self._parts)[skip:])


def why(error: OSError | ValueError) -> str:
    """The system's message without errno and path. A path with a NUL is a ValueError."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__


def is_same_file(a: str, b: str) -> bool:
    try:
        return os.path.samefile(a, b)
    except (OSError, ValueError):
        return False
