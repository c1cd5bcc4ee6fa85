"""Files to and from a phone: adb's sync service, and installing an APK as it is sent."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from struct import Struct
from typing import NoReturn

from clawperator._deadline import Deadline
from clawperator._files import AtomicFile, why
from clawperator.device.adb.client import Connection, Device, open_service
from clawperator.device.adb.quoting import command_line
from clawperator.errors import ClawError, ClawperatorException, RefusedError

_HEAD = Struct("<4sI")
_BLOCK = 64 * 1024
_LONGEST_PATH = 1024
_LONGEST_REASON = 64 * 1024
_MOST_PULLED = 4 * 1024**3
_SMALL_FILE_SECONDS = 10.0
_FILE_MODE = 0o644
_REGULAR = 0o100000


class TransferError(ClawperatorException):
    """A file did not come through: the phone refused, the connection broke, or the time was up.

    A file of this computer that cannot be opened or written is an ``OSError`` instead.
    """


class NoSuchFileError(TransferError):
    """The phone has no such file."""


def pull_file(device: Device, remote: str, local_path: str, *, seconds: float, most: int = _MOST_PULLED) -> int:
    """Copy a file of the phone to this computer, whole or not at all. Gives its size."""
    size = 0
    with AtomicFile(local_path) as out:
        for block in _received(device, remote, seconds, most):
            out.file.write(block)
            size += len(block)
    return size


def read_file(device: Device, remote: str, most: int, *, seconds: float = _SMALL_FILE_SECONDS) -> bytes:
    """What a small file of the phone holds."""
    return b"".join(_received(device, remote, seconds, most))


def push_file(device: Device, local_path: str, remote: str, *, seconds: float, mode: int = _FILE_MODE) -> int:
    """Copy a file of this computer to the phone. Gives its size."""
    size = 0
    with open(local_path, "rb") as file, _sync(device, seconds) as connection:
        with _told_if_broken(connection):
            _ask(connection, b"SEND", _path(remote) + b",%d" % (_REGULAR | mode & 0o777))
            while block := file.read(_BLOCK):
                connection.write(_HEAD.pack(b"DATA", len(block)) + block)
                size += len(block)
            connection.write(_HEAD.pack(b"DONE", int(os.fstat(file.fileno()).st_mtime) & 0xFFFFFFFF))
        kind, length = _HEAD.unpack(connection.read_exactly(_HEAD.size))
        if kind != b"OKAY":
            _refuse(connection, kind, length)
    return size


def install_apk(device: Device, path: str, *, seconds: float = 120, replace: bool = True) -> None:
    """Install an APK as it is sent. ``ANDROID_INSTALL_FAILED`` with the reason when the phone does not take it.

    An app that is there already is kept unless ``replace``.
    """
    try:
        said = _stream_install(device, path, seconds, replace=replace)
    except (OSError, RefusedError) as e:
        raise _install_failed(device, path, _reason(e)) from e
    if not said.startswith("Success"):
        raise _install_failed(device, path, said or "the phone said nothing")


# The sync service


def _received(device: Device, remote: str, seconds: float, most: int) -> Iterator[bytes]:
    size = 0
    with _sync(device, seconds) as connection:
        _ask(connection, b"RECV", _path(remote))
        while True:
            kind, length = _HEAD.unpack(connection.read_exactly(_HEAD.size))
            if kind == b"DONE":
                return
            if kind != b"DATA" or length > _BLOCK:
                _refuse(connection, kind, length)
            size += length
            if size > most:
                raise TransferError(f"it is larger than {most} bytes")
            block = connection.read_exactly(length)
            yield block


@contextmanager
def _sync(device: Device, seconds: float) -> Iterator[Connection]:
    """A conversation about files. Whatever breaks it is a ``TransferError``."""
    try:
        connection = open_service(device, "sync:", Deadline(seconds))
    except (OSError, RefusedError) as e:
        raise TransferError(_reason(e)) from e
    with connection:
        try:
            yield connection
        except OSError as e:
            raise TransferError(_reason(e)) from e


@contextmanager
def _told_if_broken(connection: Connection) -> Iterator[None]:
    """A phone that refuses a file may hang up at once. What it said before is the better reason."""
    try:
        yield
    except ConnectionError:
        with suppress(OSError):
            kind, length = _HEAD.unpack(connection.read_exactly(_HEAD.size))
            _refuse(connection, kind, length)
        raise


def _ask(connection: Connection, kind: bytes, argument: bytes) -> None:
    connection.write(_HEAD.pack(kind, len(argument)) + argument)


def _path(remote: str) -> bytes:
    path = remote.encode("utf-8", "surrogateescape")
    if len(path) > _LONGEST_PATH or b"\0" in path:
        raise TransferError("no file on a phone has such a name")
    return path


def _refuse(connection: Connection, kind: bytes, length: int) -> NoReturn:
    if kind != b"FAIL" or length > _LONGEST_REASON:
        raise TransferError(f"the phone broke the protocol with {kind!r}")
    reason = connection.read_exactly(length).decode("utf-8", "replace")
    if "no such file" in reason.lower():
        raise NoSuchFileError(reason)
    raise TransferError(reason)


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "it took too long"
    return why(error) if isinstance(error, OSError) else str(error)


# Installing


def _stream_install(device: Device, path: str, seconds: float, *, replace: bool) -> str:
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        words = ["cmd", "package", "install", "-r" if replace else "-R", "-S", str(size)]
        with open_service(device, f"exec:{command_line(*words)}", Deadline(seconds)) as connection:
            # A phone that wants no more of it hangs up; its reason is still there to be read.
            with suppress(ConnectionError):
                left = size
                while left and (block := file.read(min(_BLOCK, left))):
                    connection.write(block)
                    left -= len(block)
                if left:
                    raise OSError("the file became shorter while it was sent")
            return _read_verdict(connection)


def _read_verdict(connection: Connection) -> str:
    """The first line that says how it went, or all there was."""
    said = b""
    while len(said) < _LONGEST_REASON and (block := connection.read_some()):
        said += block
        for line in said.split(b"\n")[:-1]:
            if line.startswith((b"Success", b"Failure")):
                return line.decode("utf-8", "replace").strip()
    return " ".join(said.decode("utf-8", "replace").split())[:500]


def _install_failed(device: Device, path: str, reason: str) -> ClawError:
    return ClawError(
        "ANDROID_INSTALL_FAILED",
        f"the phone {device.serial} did not install {path}: {reason}",
        hint="Check that it is an APK for this phone, and that the phone has room for it.",
        details={"path": path, "reason": reason},
        operation="install",
        target=device.serial,
    )
