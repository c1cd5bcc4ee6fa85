"""Client of the adb server protocol, with a deadline on every operation.

One socket carries one request, then, once a transport is chosen, one service of the device: a shell or a file
transfer. The simulated phone speaks the same protocol, so it needs no adb. Command lines and serials
are quoted here.
"""

import re
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Self

from msgspec import Struct

from clawperator._base.deadline import Deadline
from clawperator._base.notes import trace
from clawperator._base.text import one_line
from clawperator.contract.wire import OPERATOR_PACKAGE
from clawperator.errors import ClawError, RefusedError

# The host of a server on this computer, by IPv4 or IPv6.
LOOPBACK = "localhost"
_CONNECT_SECONDS = 5.0
_VERSION_SECONDS = 3.0
_SHELL_FEATURE = "shell_v2"
_RUN_SERVICES = ("shell,v2", "exec:")
_BLOCK = 65_536
_MAX_REQUEST = 0xFFFF
_MAX_COMPLAINT = 4_096
# Packet types of the shell protocol.
_STDOUT, _STDERR, _EXIT = 1, 2, 3
MAX_SERIAL_BYTES = 128
NO_SERIAL = "(no serial number)"
_MAX_HEX_BYTES = 100
_LONG = "-"
# What a shell reads as it is written.
_PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./-]+")


class Endpoint(Struct, frozen=True):
    """The address of an adb server: a real one, or that of a simulated phone.

    ``path`` is that of a unix socket, which has no host and no port. An abstract one begins with NUL.
    """

    host: str
    port: int
    simulated: bool = False
    path: str = ""

    @property
    def address(self) -> str:
        """The address as users write it."""
        if self.path:
            kind = "localabstract:" if self.path.startswith("\0") else "localfilesystem:"
            return kind + self.path.removeprefix("\0")
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Device(Struct, frozen=True):
    """A device and the adb server it is reached through."""

    serial: str
    endpoint: Endpoint


def simulated_address(device: Device) -> str:
    """The address of a simulated phone; empty for other devices, which share an adb server."""
    return device.endpoint.address if device.endpoint.simulated else ""


class ShellAnswer(Struct, frozen=True):
    """The exit code and output of a shell command."""

    code: int
    stdout: bytes
    stderr: bytes

    def __repr__(self) -> str:
        return f"<ShellAnswer {self.code}: {one_line(self.stdout[:_MAX_COMPLAINT].decode('utf-8', 'replace'))!r}>"

    @property
    def text(self) -> str:
        return self.stdout.decode("utf-8", "replace")

    @property
    def complaint(self) -> str:
        """The beginning of its stderr, or else of its stdout, in one line."""
        return one_line((self.stderr or self.stdout)[:_MAX_COMPLAINT].decode("utf-8", "replace"), 500)


class Connection:
    """One socket to an adb server. ``OSError`` when it breaks, ``TimeoutError`` when the deadline passes."""

    def __init__(self, endpoint: Endpoint, deadline: Deadline) -> None:
        self._deadline = deadline
        wait = min(_CONNECT_SECONDS, deadline.left())
        self._socket = _connect(endpoint, wait)
        if not endpoint.path:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        with suppress(OSError):
            self._socket.close()

    def request(self, text: str) -> None:
        """Send a request and expect OKAY. ``RefusedError`` with the server's message for FAIL."""
        data = text.encode("utf-8", "surrogateescape")
        if len(data) > _MAX_REQUEST:
            raise ClawError("PAYLOAD_TOO_LARGE", f"the request has {len(data)} bytes; adb allows {_MAX_REQUEST}")
        self.write(b"%04x" % len(data) + data)
        if (status := self._read_status()) != b"OKAY":
            raise ConnectionError(f"expected OKAY or FAIL from the adb server, got {status!r}")

    def read_answer(self) -> str:
        """Read the text after OKAY. Some services send a status of their own first; ``RefusedError`` for FAIL."""
        head = self._read_status()
        return self.read_text(b"" if head == b"OKAY" else head)

    def _read_status(self) -> bytes:
        status = self.read_exactly(4)
        if status == b"FAIL":
            raise RefusedError(one_line(self.read_text(), 500))
        return status

    def read_text(self, head: bytes = b"") -> str:
        """Read a text that is preceded by its length in four hex digits: ``head``, if they were read already."""
        try:
            size = int(head or self.read_exactly(4), 16)
        except ValueError:
            raise ConnectionError("the adb server sent no text length") from None
        return self.read_exactly(size).decode("utf-8", "replace")

    def read_exactly(self, size: int) -> bytes:
        while len(self._buffer) < size:
            block = self._receive()
            if not block:
                raise ConnectionError("the connection was closed in the middle of a message")
            self._buffer += block
        data, self._buffer = self._buffer[:size], self._buffer[size:]
        return data

    def read_part(self, most: int) -> bytes:
        """The next bytes of a message that has ``most`` left: at least one, unless there are none left."""
        if most and not self._buffer:
            self._buffer = self._receive()
            if not self._buffer:
                raise ConnectionError("the connection was closed in the middle of a message")
        data, self._buffer = self._buffer[:most], self._buffer[most:]
        return data

    def read_some(self) -> bytes:
        """The next bytes; none at the end."""
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
    if endpoint.path:
        return _open(socket.AF_UNIX, endpoint.path, seconds)
    if endpoint.host == LOOPBACK:  # adb tries both, in this order
        try:
            return _open(socket.AF_INET, ("127.0.0.1", endpoint.port), seconds)
        except ConnectionRefusedError:
            with suppress(OSError):
                return _open(socket.AF_INET6, ("::1", endpoint.port), seconds)
            raise
    if endpoint.host.replace(".", "").isdecimal():
        # Name resolution costs two milliseconds at start-up, and an address needs none.
        return _open(socket.AF_INET, (endpoint.host, endpoint.port), seconds)
    return socket.create_connection((endpoint.host, endpoint.port), seconds)


def _open(family: int, address: tuple[str, int] | str, seconds: float) -> socket.socket:
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.settimeout(seconds)
        made.connect(address)
    except BaseException:
        made.close()
        raise
    return made


def open_service(
    device: Device, service: str, deadline: Deadline, *, before_request: Callable[[], None] | None = None
) -> Connection:
    """Connect to a service of the device. ``DEVICE_...`` errors when the device cannot be reached.

    ``RefusedError`` when the device refuses the service, ``ANDROID_VERSION_UNSUPPORTED`` when it is too old to run
    commands by it.
    ``before_request`` is called when the device is reached, before it receives the service's name: a connection
    that breaks after that may have started the service.
    """
    connection = Connection(device.endpoint, deadline)
    try:
        try:
            connection.request(f"host:transport:{device.serial}")
        except RefusedError as e:
            from clawperator.device.device_states import unreachable  # only errors need it

            raise unreachable(device.serial, str(e)) from e
        if before_request is not None:
            before_request()
        connection.request(service)
    except RefusedError:
        connection.close()
        if service.startswith(_RUN_SERVICES):
            _require_supported_android(device)
        raise
    except BaseException:
        connection.close()
        raise
    return connection


class ShellStream:
    """A running shell command: its output as it arrives, and its exit code at the end."""

    def __init__(
        self, device: Device, script: str, deadline: Deadline, *, before_request: Callable[[], None] | None = None
    ) -> None:
        service = f"shell,v2,raw:{script}"
        self._connection = open_service(device, service, deadline, before_request=before_request)
        self.code: int | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def packets(self) -> Iterator[tuple[bool, bytes]]:
        """Pieces of output, each with whether it is stderr, until the command ends.

        A packet comes in several pieces, so that none needs as much memory as its length claims.
        ``ConnectionError`` when the stream ends without an exit code.
        """
        while True:
            try:
                head = self._connection.read_exactly(5)
            except ConnectionError:
                if self.code is None:
                    raise
                return
            kind, size = head[0], int.from_bytes(head[1:], "little")
            while size or kind == _EXIT:
                data = self._connection.read_part(size)
                if kind == _EXIT:
                    self.code = data[0] if data else 255
                    return
                size -= len(data)
                if kind in (_STDOUT, _STDERR):
                    yield kind == _STDERR, data


def _require_supported_android(device: Device) -> None:
    """``ANDROID_VERSION_UNSUPPORTED`` for a device that does not know the shell protocol with exit codes."""
    from clawperator.device.device_states import read_api, require_supported, unsupported_version

    output, features = b"", _SHELL_FEATURE
    with suppress(OSError, RefusedError), Connection(device.endpoint, Deadline(_VERSION_SECONDS)) as connection:
        connection.request(f"host-serial:{device.serial}:features")
        features = connection.read_text()
    # The shell of old versions gives an answer without an exit code.
    service, deadline = "shell:getprop ro.build.version.sdk", Deadline(_VERSION_SECONDS)
    with suppress(OSError, RefusedError), open_service(device, service, deadline) as connection:
        while b"\n" not in output and (block := connection.read_some()):
            output += block
    api = read_api(output[:_MAX_COMPLAINT].decode("utf-8", "replace"))
    if api is not None:
        require_supported(api, device.serial)
    elif _SHELL_FEATURE not in features.split(","):
        raise unsupported_version(None, device.serial)


def quote(argument: str) -> str:
    """A POSIX shell word for exactly this text. ``ValueError`` for text with a NUL."""
    if "\0" in argument:
        raise ValueError("a device argument cannot contain a NUL character")
    if _PLAIN.fullmatch(argument):
        return argument
    return "'" + argument.replace("'", "'\"'\"'") + "'"


def command_line(*arguments: str) -> str:
    """A command line whose argv on the device is exactly these arguments. There is no other way to build one."""
    return " ".join(quote(argument) for argument in arguments)


def run_shell(device: Device, script: str, *, seconds: float, max_bytes: int = 16 * 1024 * 1024) -> ShellAnswer:
    """Run a command line on the device. Build it with ``command_line``.

    ``DEVICE_SHELL_UNAVAILABLE`` when it did not complete in time and within ``max_bytes`` of output.
    """
    out, err = bytearray(), bytearray()
    began = time.monotonic()
    try:
        with ShellStream(device, script, Deadline(seconds)) as stream:
            for is_error, data in stream.packets():
                (err if is_error else out).extend(data)
                if len(out) + len(err) > max_bytes:
                    raise ConnectionError(f"more than {max_bytes} bytes of output")
            code = stream.code
    except (OSError, RefusedError) as e:
        message = f"did not complete a shell command: {'timeout' if isinstance(e, TimeoutError) else e}"
        details = {"command": _program(script)}
        raise shell_error(device, f"device {device.serial} {message}", operation="shell", details=details) from e
    trace(f"shell {_program(script)}: exit code {code} after {(time.monotonic() - began) * 1000:.0f} ms")
    assert code is not None, "packets end with the exit code"
    return ShellAnswer(code, bytes(out), bytes(err))


def _program(script: str) -> str:
    """The program of a command line, without its arguments: they may be secret."""
    return script.partition(" ")[0]


def shell_error(
    device: Device, message: str, *, hint: str = "", operation: str = "", details: Mapping[str, Any] | None = None
) -> ClawError:
    """``DEVICE_SHELL_UNAVAILABLE``. Without a hint the advice is to check the device."""
    hint = hint or f"Run 'clawperator doctor {device_flag(device.serial)}' to check the device."
    code, serial = "DEVICE_SHELL_UNAVAILABLE", device.serial
    return ClawError(code, message, hint=hint, details=details, operation=operation, target=serial)


# Serials, as adb passes on what a device or the network reports: USB serials, ``emulator-5554``, ``host:port``,
# the names of mDNS services. They may have characters that mean something to a shell or a file system.


def is_serial(text: str) -> bool:
    """Whether this can be a serial: printable, and not too long. U+FFFD is in place of bytes that are not text."""
    return (
        text.isprintable()
        and bool(text.strip())
        and "\N{REPLACEMENT CHARACTER}" not in text
        and len(text.encode()) <= MAX_SERIAL_BYTES
    )


def shell_word(serial: str) -> str:
    """The serial as a shell reads it: ``R58M1234``, ``'a b'``."""
    from shlex import quote  # only errors need it

    return quote(serial)


def device_flag(serial: str) -> str:
    """The flag that chooses this device, for the user to copy: ``--device R58M1234``, ``--device 'a b'``."""
    return f"--device{'=' if serial.startswith('-') else ' '}{shell_word(serial)}"


def target_flags(serial: str, package: str) -> str:
    """The flags that choose this device and this Operator. The released Operator needs none."""
    return device_flag(serial) + ("" if package == OPERATOR_PACKAGE else f" --operator-package {package}")


def adb_flag(serial: str) -> str:
    """The same for the adb program: ``-s R58M1234``."""
    return f"-s {shell_word(serial)}"


def file_name(serial: str) -> str:
    """A file name for this serial alone, without characters that mean something to a file system."""
    data = serial.encode()
    if len(data) <= _MAX_HEX_BYTES:
        return data.hex()
    import base64

    # In hex it could be longer than a file name may be.
    return _LONG + base64.urlsafe_b64encode(data).decode().rstrip("=")


def serial_of(name: str) -> str:
    """The serial that a ``file_name`` is of. ``ValueError`` for any other name."""
    if not name.startswith(_LONG):
        return bytes.fromhex(name).decode()
    import base64

    text = name.removeprefix(_LONG)
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True).decode()
