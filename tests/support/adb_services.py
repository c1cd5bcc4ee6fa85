"""Services of a device that only its tests use: raw output of a command, its input, and files sent to the device."""

import os
from contextlib import suppress
from struct import Struct

from clawperator._base.deadline import Deadline
from clawperator.device.adb.client import Device, ShellStream, open_service
from clawperator.device.adb.sync import TransferError

_HEAD = Struct("<4sI")
_BLOCK = 65_536
_STDIN, _CLOSE_STDIN = 0, 4


def exec_out(device: Device, script: str, *, seconds: float) -> bytes:
    """The raw output of a command."""
    data = b""
    with open_service(device, f"exec:{script}", Deadline(seconds)) as connection:
        while block := connection.read_some():
            data += block
    return data


class InputStream(ShellStream):
    """A running shell command that gets input."""

    def send(self, data: bytes) -> None:
        for start in range(0, len(data), _BLOCK):
            block = data[start : start + _BLOCK]
            self._connection.write(bytes([_STDIN]) + len(block).to_bytes(4, "little") + block)

    def end_input(self) -> None:
        self._connection.write(bytes([_CLOSE_STDIN]) + bytes(4))


def push_file(device: Device, local_path: str, remote: str, *, seconds: float, mode: int = 0o644) -> int:
    """Copy a file to the device. Returns its size; ``TransferError`` with the device's reason for a refusal."""
    name = os.fsencode(remote) + b",%d" % (0o100000 | mode)
    with open(local_path, "rb") as file, open_service(device, "sync:", Deadline(seconds)) as connection:
        # A device that refuses a file closes the connection; its reason can still be read.
        with suppress(ConnectionError):
            connection.write(_HEAD.pack(b"SEND", len(name)) + name)
            while block := file.read(_BLOCK):
                connection.write(_HEAD.pack(b"DATA", len(block)) + block)
            connection.write(_HEAD.pack(b"DONE", int(os.fstat(file.fileno()).st_mtime)))
        kind, length = _HEAD.unpack(connection.read_exactly(_HEAD.size))
        if kind != b"OKAY":
            raise TransferError(connection.read_exactly(length).decode())
        return os.fstat(file.fileno()).st_size
