"""Test doubles for the adb endpoints: a device with a handful of commands, and raw clients that may misbehave."""

import queue
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple, Self

from clawperator.phone.adb.adbd import AdbdServer
from clawperator.phone.adb.device import DeviceState, PhoneDevice
from clawperator.phone.adb.server import AdbServer
from clawperator.phone.core.kernel import SocketChannel
from clawperator.phone.shell.pipes import InputStream, OutputStream
from clawperator.phone.storage.filesystem import Storage
from tests.support.hanging import HANG_SECONDS, NEVER_SECONDS

SECONDS = HANG_SECONDS
NEW, OLD = 0x01000001, 0x01000000


class Echo(SocketChannel):
    """A socket on the phone that echoes its input."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def read(self, _: int, /) -> bytes:
        return self._queue.get(timeout=SECONDS)

    def write(self, data: bytes, /) -> None:
        self._queue.put(data)

    def close(self) -> None:
        self._queue.put(b"")


class FakeDevice(PhoneDevice):
    """A device with real files and a handful of commands, chosen by the first word."""

    def __init__(self, root: str, serial: str = "fake-1") -> None:
        self._serial = serial
        self._storage = Storage(root)
        self.now: DeviceState = "device"
        self.ended: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.delayed = threading.Event()
        self.go_on = threading.Event()
        self.go_on.set()

    @property
    def serial(self) -> str:
        return self._serial

    @property
    def storage(self) -> Storage:
        return self._storage

    def state(self) -> DeviceState:
        return self.now

    def banner(self) -> str:
        return "device::ro.product.name=fake;ro.product.model=Fake Phone;ro.product.device=fake;"

    def delay(self) -> None:
        go_on = self.go_on  # a test may put another in its place
        if not go_on.is_set():
            self.delayed.set()
            go_on.wait(SECONDS)

    def open_socket(self, name: str) -> SocketChannel | None:
        if name == "tcp:9":
            raise ConnectionRefusedError
        return Echo() if name in {"tcp:7", "localabstract:echo", "localfilesystem:/data/local/tmp/echo"} else None

    def run_shell(
        self,
        script: bytes,
        stdin: InputStream,
        stdout: OutputStream,
        stderr: OutputStream,
        cancelled: threading.Event,
    ) -> int:
        name, _, rest = script.partition(b" ")
        try:
            known = COMMANDS.get(name)
            if known is not None:
                return known(Call(rest, stdin, stdout, stderr, cancelled, self.storage)) or 0
            stderr.write(b"/system/bin/sh: %s: inaccessible or not found\n" % name)
            return 127
        finally:
            self.ended.put(name.decode())


class Call(NamedTuple):
    rest: bytes
    stdin: InputStream
    stdout: OutputStream
    stderr: OutputStream
    cancelled: threading.Event
    storage: Storage


def echo(call: Call) -> None:
    call.stdout.write(call.rest + b"\n")


def run_cmd(call: Call) -> None:
    """``package install -S SIZE`` takes its bytes; anything else is echoed."""
    words = call.rest.split()
    if words[:3] == [b"package", b"install", b"-S"]:
        take(call._replace(rest=words[3]))
    else:
        echo(call)


def cat(call: Call) -> None:
    while data := call.stdin.read(1000):
        call.stdout.write(data)


def warn(call: Call) -> int:
    call.stdout.write(b"out\n")
    call.stderr.write(b"err\n")
    return 3


def sleep(call: Call) -> int:
    call.cancelled.wait(NEVER_SECONDS)
    return 130 if call.cancelled.is_set() else 0


def greet_and_sleep(call: Call) -> int:
    call.stdout.write(b"hello\n")
    return sleep(call)


def flood(call: Call) -> None:
    while not call.cancelled.is_set():
        call.stdout.write(b"x" * 10_000)


def take(call: Call) -> None:
    left = int(call.rest)
    while left and (data := call.stdin.read(left)):
        left -= len(data)
    call.stdout.write(b"Failure [short]\n" if left else b"Success\n")


def keep(call: Call) -> None:
    content = b""
    while data := call.stdin.read(70_000):
        content += data
    call.storage.write(call.rest.decode().strip("'"), content)  # adb exec-in quotes it


def fail_badly(_: Call) -> None:
    raise RuntimeError("a bug")


def login(call: Call) -> None:
    while line := call.stdin.read(1000):
        call.stdout.write(b"ran " + line)


def write_zeros(call: Call) -> None:
    call.stdout.write(bytes(int(call.rest)))


COMMANDS: Mapping[bytes, Callable[[Call], int | None]] = {
    b"echo": echo,
    b"cmd": run_cmd,
    b"cat": cat,
    b"exit": lambda call: int(call.rest),
    b"warn": warn,
    b"sleep": sleep,
    b"greet": greet_and_sleep,
    b"flood": flood,
    b"big": write_zeros,
    b"take": take,
    b"keep": keep,
    b"boom": fail_badly,
    b"sh": login,
}


class Peer:
    """One connection to adbd: raw packets, no automatic answers."""

    def __init__(self, port: int, *, version: int = NEW, maxdata: int = 1 << 20, greet: bool = True) -> None:
        self.sock = socket.create_connection(("127.0.0.1", port), SECONDS)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.version = version
        self.banner = b""
        self._last = 100
        if greet:
            try:
                self._greet(maxdata)
            except BaseException:
                self.sock.close()
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.sock.close()

    def _greet(self, maxdata: int) -> None:
        self.send(b"CNXN", self.version, maxdata, b"host::\0")
        kind, self.their_version, self.their_maxdata, self.banner = self.read()
        assert kind == b"CNXN", kind

    def send(self, kind: bytes, arg0: int, arg1: int, payload: bytes = b"", check: int | None = None) -> None:
        self.sock.sendall(packet(kind, arg0, arg1, payload, check))

    def read(self) -> tuple[bytes, int, int, bytes]:
        """The next packet. ``EOFError`` when the phone has closed the connection."""
        kind, arg0, arg1, size, check, magic = struct.unpack("<4s5I", self._exactly(24))
        assert int.from_bytes(kind, "little") ^ 0xFFFFFFFF == magic
        payload = self._exactly(size)
        if self.version < NEW:
            assert check == sum(payload)
        return kind, arg0, arg1, payload

    def is_closed(self) -> bool:
        try:
            while True:
                self.read()
        except (EOFError, ConnectionError):
            return True

    def open(self, name: bytes) -> tuple[int, int]:
        """Our id and theirs. ``ConnectionRefusedError`` when the phone answers CLSE(0, id)."""
        self._last += 1
        self.send(b"OPEN", self._last, 0, name + b"\0")
        kind, theirs, ours, _ = self.read()
        assert ours == self._last
        if kind == b"CLSE":
            assert theirs == 0
            raise ConnectionRefusedError
        assert kind == b"OKAY"
        return ours, theirs

    def write(self, stream: tuple[int, int], data: bytes) -> None:
        """Send, and wait until it is taken."""
        self.send(b"WRTE", *stream, data)
        assert self.read()[0] == b"OKAY"

    def read_all(self, stream: tuple[int, int]) -> bytes:
        """The output of a stream until the phone closes it."""
        output = bytearray()
        while True:
            kind, theirs, ours, payload = self.read()
            assert (ours, theirs) == stream
            if kind == b"CLSE":
                self.send(b"CLSE", *stream)
                return bytes(output)
            if kind == b"WRTE":
                output += payload
                self.send(b"OKAY", *stream)

    def run(self, name: bytes) -> bytes:
        return self.read_all(self.open(name))

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = self.sock.recv(size - len(data))
            if not more:
                raise EOFError
            data += more
        return data


def packet(kind: bytes, arg0: int, arg1: int, payload: bytes = b"", check: int | None = None) -> bytes:
    word = int.from_bytes(kind, "little")
    total = sum(payload) & 0xFFFFFFFF if check is None else check
    return struct.pack("<6I", word, arg0, arg1, len(payload), total, word ^ 0xFFFFFFFF) + payload


class Client:
    """One connection to the adb server."""

    def __init__(self, port: int) -> None:
        self.sock = socket.create_connection(("127.0.0.1", port), SECONDS)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.sock.close()

    def ask(self, request: bytes) -> None:
        """Send a request and expect OKAY. ``RuntimeError`` with the text of a FAIL."""
        self.sock.sendall(b"%04x%s" % (len(request), request))
        status = self.read(4)
        if status == b"FAIL":
            raise RuntimeError(self.text())
        assert status == b"OKAY", status

    def text(self) -> str:
        return self.read(int(self.read(4), 16)).decode()

    def read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = self.sock.recv(size - len(data))
            if not more:
                raise EOFError
            data += more
        return data

    def rest(self) -> bytes:
        data = b""
        while more := self.sock.recv(65536):
            data += more
        return data


def shell_packets(data: bytes) -> list[tuple[int, bytes]]:
    """The packets of a v2 shell."""
    found = []
    while data:
        kind, size = struct.unpack_from("<BI", data)
        found.append((kind, data[5 : 5 + size]))
        data = data[5 + size :]
    return found


@contextmanager
def open_adbd(device: FakeDevice) -> Iterator[tuple[AdbdServer, int]]:
    server = AdbdServer(device)
    port = server.start()
    try:
        yield server, port
    finally:
        assert server.stop(), "a thread did not end"


@contextmanager
def open_server(*devices: FakeDevice) -> Iterator[tuple[AdbServer, int]]:
    server = AdbServer(lambda: devices)
    port = server.start()
    try:
        yield server, port
    finally:
        assert server.stop(), "a thread did not end"
