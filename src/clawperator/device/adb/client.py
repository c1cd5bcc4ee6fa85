"""A client of the adb server's protocol: small, and with a deadline on everything.

One socket carries one request. After a transport is chosen it carries one service of the phone: a shell, a file
transfer. The phone in the box speaks the same protocol, so it is reached with no adb installed.
"""

import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from types import TracebackType
from typing import Self

from msgspec import Struct

from clawperator.errors import ClawError

_CONNECT_SECONDS = 5.0
_BLOCK = 65_536
_LONGEST_TEXT = 0xFFFF
# What adb calls a phone that cannot be driven, and what we say of it.
_NOT_READY = {
    "unauthorized": ("DEVICE_UNAUTHORIZED", "Unlock the phone and allow this computer in the dialog it shows."),
    "offline": ("DEVICE_OFFLINE", "Unplug and reconnect the phone, or run 'adb reconnect'."),
}
# Packets of the shell protocol.
_STDIN, _STDOUT, _STDERR, _EXIT, _CLOSE_STDIN = range(5)


class Endpoint(Struct, frozen=True):
    """Where an adb server listens: a real one, or that of a phone in the box."""

    host: str
    port: int
    boxed: bool = False


class Device(Struct, frozen=True):
    """A phone and the server it is reached through."""

    serial: str
    endpoint: Endpoint


class ShellAnswer(Struct, frozen=True):
    code: int
    stdout: bytes
    stderr: bytes

    @property
    def text(self) -> str:
        return self.stdout.decode("utf-8", "replace")

    @property
    def complaint(self) -> str:
        """What it said went wrong, in one line."""
        said = (self.stderr or self.stdout).decode("utf-8", "replace").strip()
        return " ".join(said.split())[:500]


class AdbRefusedError(Exception):
    """The server answered FAIL; the message is its own."""


class Deadline:
    """A moment by which all must be done."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """Seconds that remain. ``TimeoutError`` when none do."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError("the time is up")
        return left

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self._end


class Connection:
    """One socket to an adb server. ``OSError`` when it breaks, ``TimeoutError`` when the deadline passes."""

    def __init__(self, endpoint: Endpoint, deadline: Deadline) -> None:
        self._deadline = deadline
        wait = min(_CONNECT_SECONDS, deadline.left())
        self._socket = _connect(endpoint, wait)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        with suppress(OSError):
            self._socket.close()

    def request(self, text: str) -> None:
        """Ask for something, and insist on OKAY."""
        data = text.encode("utf-8", "surrogateescape")
        if len(data) > _LONGEST_TEXT:
            raise ClawError("PAYLOAD_TOO_LARGE", "the request to the phone is longer than adb can carry")
        self.write(b"%04x" % len(data) + data)
        self.expect_okay()

    def expect_okay(self) -> None:
        status = self.read_exactly(4)
        if status == b"FAIL":
            raise AdbRefusedError(self.read_text())
        if status != b"OKAY":
            raise ConnectionError(f"an adb server says OKAY or FAIL, not {status!r}")

    def read_text(self) -> str:
        """Text that is preceded by its length, in four hex digits."""
        try:
            size = int(self.read_exactly(4), 16)
        except ValueError:
            raise ConnectionError("an adb server says how long a text is") from None
        return self.read_exactly(size).decode("utf-8", "replace")

    def read_exactly(self, size: int) -> bytes:
        while len(self._buffer) < size:
            block = self._receive()
            if not block:
                raise ConnectionError("the connection ended in mid-message")
            self._buffer += block
        data, self._buffer = self._buffer[:size], self._buffer[size:]
        return data

    def read_some(self) -> bytes:
        """What comes next; nothing at the end."""
        if self._buffer:
            data, self._buffer = self._buffer, b""
            return data
        return self._receive()

    def write(self, data: bytes) -> None:
        self._socket.settimeout(self._deadline.left())
        self._socket.sendall(data)

    def _receive(self) -> bytes:
        self._socket.settimeout(self._deadline.left())
        return self._socket.recv(_BLOCK)


def _connect(endpoint: Endpoint, seconds: float) -> socket.socket:
    if not endpoint.host.replace(".", "").isdecimal():
        return socket.create_connection((endpoint.host, endpoint.port), seconds)
    # An address needs no looking up, and looking up costs the start of a command two milliseconds.
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        made.settimeout(seconds)
        made.connect((endpoint.host, endpoint.port))
    except BaseException:
        made.close()
        raise
    return made


def open_service(device: Device, service: str, deadline: Deadline) -> Connection:
    """A connection to a service of the phone. ``DEVICE_...`` errors when the phone cannot be reached."""
    connection = Connection(device.endpoint, deadline)
    try:
        try:
            connection.request(f"host:transport:{device.serial}")
        except AdbRefusedError as e:
            raise _unreachable(device.serial, str(e)) from e
        connection.request(service)
    except BaseException:
        connection.close()
        raise
    return connection


def _unreachable(serial: str, said: str) -> ClawError:
    state = next((state for state in _NOT_READY if state in said.lower()), None)
    if state is not None:
        return not_ready(serial, state)
    return ClawError(
        "DEVICE_NOT_FOUND",
        f"the phone {serial} is not connected: {said}",
        hint="Run 'clawperator devices' for those that are.",
        target=serial,
    )


def not_ready(serial: str, state: str) -> ClawError:
    """A phone that is there, in a state in which it cannot be driven."""
    code, hint = _NOT_READY.get(state, ("DEVICE_NOT_FOUND", "Run 'clawperator doctor' to see what is wrong."))
    return ClawError(
        code,
        f"the phone {serial} is {state}",
        hint=hint,
        details={"serial": serial, "state": state, "connected": []},
        operation="connect",
        target=serial,
    )


class ShellStream:
    """A shell command on the phone while it runs: its output as it comes, and its exit code at the end."""

    def __init__(self, device: Device, script: str, deadline: Deadline) -> None:
        self._connection = open_service(device, f"shell,v2,raw:{script}", deadline)
        self.code: int | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def packets(self) -> Iterator[tuple[bool, bytes]]:
        """Each piece of output: whether it is of stderr, and the bytes. Ends with the command.

        A stream that ends without an exit code was cut off: ``ConnectionError``.
        """
        while True:
            try:
                head = self._connection.read_exactly(5)
            except ConnectionError:
                if self.code is None:
                    raise
                return
            kind, size = head[0], int.from_bytes(head[1:], "little")
            data = self._connection.read_exactly(size)
            if kind == _EXIT:
                self.code = data[0] if data else 255
                return
            if kind in (_STDOUT, _STDERR):
                yield kind == _STDERR, data

    def send(self, data: bytes) -> None:
        """Give it input."""
        for start in range(0, len(data), _BLOCK):
            block = data[start : start + _BLOCK]
            self._connection.write(bytes([_STDIN]) + len(block).to_bytes(4, "little") + block)

    def end_input(self) -> None:
        self._connection.write(bytes([_CLOSE_STDIN]) + bytes(4))


def shell(device: Device, script: str, *, seconds: float, most: int = 16 * 1024 * 1024) -> ShellAnswer:
    """Run a command line on the phone. Build it with ``quoting.command_line``.

    ``DEVICE_SHELL_UNAVAILABLE`` when the phone did not run it to its end, in time and within ``most`` bytes.
    """
    out, err = bytearray(), bytearray()
    try:
        with ShellStream(device, script, Deadline(seconds)) as stream:
            for is_error, data in stream.packets():
                (err if is_error else out).extend(data)
                if len(out) + len(err) > most:
                    raise ConnectionError(f"it said more than {most} bytes")
            code = stream.code
    except (OSError, AdbRefusedError) as e:
        raise _not_run(device, script, e) from e
    return ShellAnswer(255 if code is None else code, bytes(out), bytes(err))


def exec_out(device: Device, script: str, *, seconds: float, most: int = 64 * 1024 * 1024) -> bytes:
    """The raw output of a command, binary as it is."""
    data = bytearray()
    try:
        with open_service(device, f"exec:{script}", Deadline(seconds)) as connection:
            while block := connection.read_some():
                data += block
                if len(data) > most:
                    raise ConnectionError(f"it said more than {most} bytes")
    except (OSError, AdbRefusedError) as e:
        raise _not_run(device, script, e) from e
    return bytes(data)


def _not_run(device: Device, script: str, error: Exception) -> ClawError:
    reason = "it took too long" if isinstance(error, TimeoutError) else str(error)
    return ClawError(
        "DEVICE_SHELL_UNAVAILABLE",
        f"the phone {device.serial} did not run a command: {reason}",
        hint="Run 'clawperator doctor' to see what is wrong with the phone.",
        details={"command": script.split(" ", 1)[0]},
        operation="shell",
        target=device.serial,
    )
