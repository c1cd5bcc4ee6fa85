"""File transfer with adb's sync service, and streamed installation of an APK, with hints for refusals."""

import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from struct import Struct
from typing import NoReturn

from clawperator._base.deadline import Deadline
from clawperator._base.files import AtomicFile, open_regular, why
from clawperator._base.notes import note, trace
from clawperator._base.text import one_line
from clawperator.contract.action_params import UserChoice
from clawperator.device.adb.client import Connection, Device, command_line, open_service
from clawperator.device.users import user_line
from clawperator.device.vendors import vendor_hint
from clawperator.errors import ClawError, ClawperatorException, RefusedError

_HEAD = Struct("<4sI")
_BLOCK = 64 * 1024
_MAX_PATH = 1024
_MAX_REASON = 64 * 1024
_MAX_PULLED = 4 * 1024**3
_SMALL_FILE_SECONDS = 10.0
# Between two notes about an installation.
_NOTE_SECONDS = 2.0
_CODE = re.compile(r"INSTALL_(?:PARSE_)?FAILED_([A-Z_]{1,60})")
_OTHERS = "Check that the APK fits the device's ABI and Android version, and that it has free storage."
# The user or a switch of the vendor refused the installation.
_REFUSED: Mapping[str, str] = {
    "USER_RESTRICTED": "Unlock the device and accept the installation on it. A policy may also forbid it.",
    "ABORTED": "Unlock the device and accept the installation on it.",
    "VERIFICATION_FAILURE": "Turn off 'Verify apps over USB' in the developer options, or accept the app.",
}
_HINTS: Mapping[str, str] = {
    **dict.fromkeys(
        ("UPDATE_INCOMPATIBLE", "INCONSISTENT_CERTIFICATES", "SHARED_USER_INCOMPATIBLE"),
        "Uninstall the installed app first, with its data: it is signed with another key.",
    ),
    "VERSION_DOWNGRADE": "Uninstall the newer version first, with its data, or install one that is not older.",
    "ALREADY_EXISTS": "Uninstall the installed app first.",
    "DUPLICATE_PERMISSION": "Uninstall the other app that declares this permission.",
    "CONFLICTING_PROVIDER": "Uninstall the other app that has the same content provider.",
    **dict.fromkeys(
        ("INSUFFICIENT_STORAGE", "MEDIA_UNAVAILABLE"), "Free storage on the device, then install again."
    ),
    **dict.fromkeys(
        ("NO_MATCHING_ABIS", "CPU_ABI_INCOMPATIBLE"),
        "Get an APK for the device's processor: 'adb shell getprop ro.product.cpu.abilist' lists its ABIs.",
    ),
    "OLDER_SDK": "Get an APK for the Android version of the device: this one needs a newer Android.",
    "NEWER_SDK": "Get a newer APK: this one is only for older versions of Android.",
    "DEPRECATED_SDK_VERSION": "Get a newer APK: the device refuses apps for so old a version of Android.",
    "TEST_ONLY": "Build the APK for release: this one is marked as test-only.",
    "MISSING_SHARED_LIBRARY": "Get another APK: this one needs a library that the device does not have.",
    "MISSING_FEATURE": "Get another APK: this one needs hardware that the device does not have.",
    "MISSING_SPLIT": "Get an APK without splits: this one is a part of an app bundle.",
    **dict.fromkeys(
        ("INVALID_APK", "NOT_APK", "BAD_MANIFEST", "BAD_SIGNATURE", "NO_CERTIFICATES"),
        "Check that the APK is complete and signed: copy or build it again.",
    ),
}


class TransferError(ClawperatorException):
    """A transfer failed: the device refused, the connection broke, or the deadline passed.

    A local file that cannot be opened or written is an ``OSError`` instead.
    """


class NoSuchFileError(TransferError):
    """The device has no such file."""


def pull_file(
    device: Device, remote: str, local_path: str, *, seconds: float, max_bytes: int = _MAX_PULLED
) -> int:
    """Copy a file from the device into a private file, completely or not at all. Returns its size."""
    size = 0
    with AtomicFile(local_path, private=True, follow_links=False) as out:
        for block in _received(device, remote, seconds, max_bytes):
            out.file.write(block)
            size += len(block)
    return size


def read_file(device: Device, remote: str, max_bytes: int, *, seconds: float = _SMALL_FILE_SECONDS) -> bytes:
    """The content of a small file on the device."""
    return b"".join(_received(device, remote, seconds, max_bytes))


def install_apk(
    device: Device, path: str, *, seconds: float = 120, replace: bool = True, user: UserChoice | None = None
) -> int:
    """Stream and install an APK; returns its size. ``ANDROID_INSTALL_FAILED`` when the device refuses it.

    Without a ``user`` it is installed for every user. An installed app is kept unless ``replace``. Notes report
    how much has been sent.
    """
    try:
        size, verdict = _stream_install(device, path, seconds, replace=replace, user=user)
    except (OSError, RefusedError) as e:
        raise _install_failed(device, path, _reason(e)) from e
    if not verdict.startswith("Success"):
        raise _install_failed(device, path, verdict or "no output")
    return size


# The sync service


def _received(device: Device, remote: str, seconds: float, max_bytes: int) -> Iterator[bytes]:
    size = 0
    with _sync(device, seconds) as connection:
        path = _path(remote)
        connection.write(_HEAD.pack(b"RECV", len(path)) + path)
        while True:
            kind, length = _HEAD.unpack(connection.read_exactly(_HEAD.size))
            if kind == b"DONE":
                return
            if kind != b"DATA" or length > _BLOCK:
                _refuse(connection, kind, length)
            size += length
            if size > max_bytes:
                raise TransferError(f"larger than {max_bytes} bytes")
            block = connection.read_exactly(length)
            yield block


@contextmanager
def _sync(device: Device, seconds: float) -> Iterator[Connection]:
    """A connection to the sync service. Its failures are ``TransferError``."""
    try:
        connection = open_service(device, "sync:", Deadline(seconds))
    except (OSError, RefusedError) as e:
        raise TransferError(_reason(e)) from e
    with connection:
        try:
            yield connection
        except OSError as e:
            raise TransferError(_reason(e)) from e


def _path(remote: str) -> bytes:
    path = remote.encode("utf-8", "surrogateescape")
    if len(path) > _MAX_PATH or b"\0" in path:
        raise TransferError(f"invalid device path {remote[:80]!r}")
    return path


def _refuse(connection: Connection, kind: bytes, length: int) -> NoReturn:
    if kind != b"FAIL" or length > _MAX_REASON:
        raise TransferError(f"unexpected message {kind!r} from the device")
    reason = one_line(connection.read_exactly(length).decode("utf-8", "replace"), 500)
    if "no such file" in reason.lower():
        raise NoSuchFileError(reason)
    raise TransferError(reason)


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "timeout"
    return why(error) if isinstance(error, OSError) else str(error)


# Installing


def _stream_install(
    device: Device, path: str, seconds: float, *, replace: bool, user: UserChoice | None
) -> tuple[int, str]:
    """Returns the size of the file and the device's answer."""
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        command, rest = ("cmd", "package", "install"), ("-r" if replace else "-R", "-S", str(size))
        script = command_line(*command, *rest) if user is None else user_line(*command, user=user, rest=rest)
        with open_service(device, f"exec:{script}", Deadline(seconds)) as connection:
            trace(f"install: sending {size} bytes to {device.serial}")
            progress = _InstallNotes(device.serial, size)
            # A device that refuses the rest closes the connection; its reason can still be read.
            with suppress(ConnectionError):
                left = size
                while left and (block := file.read(min(_BLOCK, left))):
                    connection.write(block)
                    left -= len(block)
                    progress.sent(size - left)
                if left:
                    raise OSError("the file was truncated while it was sent")
            return size, _read_verdict(connection)


class _InstallNotes:
    """Notes while a large APK is sent, and one when the device begins to check it."""

    def __init__(self, serial: str, size: int) -> None:
        self._serial = serial
        self._size = size
        self._next = time.monotonic() + _NOTE_SECONDS
        self._noted = False

    def sent(self, count: int) -> None:
        now = time.monotonic()
        if count == self._size and self._noted:
            note(f"sent {self._size / 1e6:.1f} MB; {self._serial} installs the app")
        elif now >= self._next:
            self._next = now + _NOTE_SECONDS
            self._noted = True
            note(f"installing on {self._serial}: {count / 1e6:.1f} of {self._size / 1e6:.1f} MB sent")


def _read_verdict(connection: Connection) -> str:
    """The first line with the result, or all output."""
    output = bytearray()
    read = 0
    while len(output) < _MAX_REASON and (block := connection.read_some()):
        output += block
        end = output.rfind(b"\n", read) + 1
        for line in output[read:end].split(b"\n"):
            if line.startswith((b"Success", b"Failure")):
                return one_line(line.decode("utf-8", "replace"), 500)
        read = max(read, end)
    return one_line(output.decode("utf-8", "replace"), 500)


def _install_failed(device: Device, path: str, reason: str) -> ClawError:
    code, message = "ANDROID_INSTALL_FAILED", f"cannot install {path} on {device.serial}: {reason}"
    hint, details = install_hint(device, reason), {"path": path, "reason": reason}
    return ClawError(code, message, hint=hint, details=details, operation="install", target=device.serial)


def install_hint(device: Device, reason: str) -> str:
    """The hint for a refused installation. ``reason`` is what the device answered."""
    found = _CODE.search(reason)
    code = found[1] if found is not None else ""
    if code in _REFUSED:
        return vendor_hint(device, "install", otherwise=_REFUSED[code])
    return _HINTS.get(code, _OTHERS)
