"""The adb server protocol, so that a client reaches the phone where no adb is installed.

A request is four hex digits of length and a text; the answer begins with ``OKAY`` or ``FAIL``. The server answers
host services itself, and opens the ports of ``adb forward``.
"""

import os
import re
import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

import msgspec

from clawperator.errors import ClawperatorException
from clawperator.phone.adb.device import PhoneDevice
from clawperator.phone.adb.listener import STOP_SECONDS, Listener, WorkerPool, shut_down
from clawperator.phone.adb.services import FEATURES, relay, serve
from clawperator.phone.adb.streams import SocketStream
from clawperator.phone.adb.wire import STALL_SECONDS, send_all

# Limits and names

MAX_REQUEST = 0xFFFF
REQUEST_SECONDS = 60.0  # a request must be complete by then

_UNAUTHORIZED = (
    "device unauthorized.\nThis adb server's $ADB_VENDOR_KEYS is not set\n"
    "Try 'adb kill-server' if that seems wrong.\n"
    "Otherwise check for a confirmation dialog on your device."
)
# host:port, or anything without a colon.
_SERIAL = re.compile(r"((?:\[[^\]]*\]|[^:\[\]]*)(?::\d+)?):(.*)", re.DOTALL)


class AdbFailure(ClawperatorException):
    """The request is answered with FAIL and this text."""


class DeviceNotFound(AdbFailure):
    """No device matches the selector."""


# Framing


def read_request(sock: socket.socket) -> bytes | None:
    """The next request; None when the client closed the connection. ``AdbFailure`` when it is malformed."""
    deadline = time.monotonic() + REQUEST_SECONDS
    length = _read(sock, 4, deadline)
    if not length:
        return None
    try:
        size = int(length, 16) if length.isalnum() else -1
    except ValueError:
        size = -1
    if size < 0 or len(length) < 4:
        raise AdbFailure("not a request")
    request = _read(sock, size, deadline)
    return request if len(request) == size else None


def _read(sock: socket.socket, size: int, deadline: float) -> bytes:
    data = b""
    while len(data) < size:
        sock.settimeout(max(deadline - time.monotonic(), 0.001))
        more = sock.recv(size - len(data))
        if not more:
            break
        data += more
    return data


def text(value: str | bytes) -> bytes:
    """A text with its length before it, cut to the longest that four digits can express."""
    data = (value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value)[:MAX_REQUEST]
    return b"%04x%s" % (len(data), data)


def okay(value: str) -> bytes:
    return b"OKAY" + text(value)


def fail(reason: str) -> bytes:
    return b"FAIL" + text(reason)


# Devices


class DeviceSelector(msgspec.Struct, frozen=True):
    """Which device a client means: any, any on ``usb`` or ``local``, or the one with a serial or transport id."""

    kind: str = "any"
    value: str = ""


def _by_serial(serial: str) -> DeviceSelector:
    return DeviceSelector("serial", serial)


class _DeviceList:
    """The devices of a server, each with a transport id that it keeps."""

    def __init__(self, devices: Callable[[], Sequence[PhoneDevice]]) -> None:
        self._devices = devices
        self._lock = threading.Lock()
        self._ids: dict[str, int] = {}

    def transport_id(self, device: PhoneDevice) -> int:
        with self._lock:
            return self._ids.setdefault(device.serial, len(self._ids) + 1)

    def find(self, selector: DeviceSelector) -> PhoneDevice:
        """The one device that matches, in any state. ``AdbFailure`` when there is none, or more than one."""
        devices = list(self._devices())
        if selector.kind == "usb":
            raise DeviceNotFound("no devices found")
        if selector.kind == "serial":
            found = [device for device in devices if device.serial == selector.value]
            missing = f"device '{selector.value}' not found"
        elif selector.kind == "id":
            found = [device for device in devices if str(self.transport_id(device)) == selector.value]
            missing = f"no device with transport id '{selector.value}'"
        else:
            found = devices
            missing = "no emulators found" if selector.kind == "local" else "no devices/emulators found"
        if not found:
            raise DeviceNotFound(missing)
        if len(found) > 1:
            kind = "emulator" if selector.kind == "local" else "device/emulator"
            raise AdbFailure(f"more than one {kind}")
        return found[0]

    def find_ready(self, selector: DeviceSelector) -> PhoneDevice:
        """The one device that matches. ``AdbFailure`` also when it is offline or unauthorized."""
        device = self.find(selector)
        state = device.state()
        if state != "device":
            raise AdbFailure(_UNAUTHORIZED if state == "unauthorized" else "device offline")
        return device

    def split_serial(self, rest: str) -> tuple[str, str]:
        """A serial and what follows it. Serials may hold colons, so known serials are tried first."""
        for device in self._devices():
            if rest.startswith(device.serial + ":"):
                return device.serial, rest[len(device.serial) + 1 :]
        match = _SERIAL.fullmatch(rest)
        if match is None:
            raise AdbFailure("malformed serial")
        return match[1], match[2]

    def listing(self, *, long: bool) -> str:
        """The text of ``adb devices``, or of ``adb devices -l``."""
        return "".join(self._line(device, long=long) for device in self._devices())

    def _line(self, device: PhoneDevice, *, long: bool) -> str:
        state = device.state()
        if not long:
            return f"{device.serial}\t{state}\n"
        facts = []
        if state == "device":
            properties = dict(part.partition("=")[::2] for part in device.banner().rpartition("::")[2].split(";"))
            for label, name in (("product", "name"), ("model", "model"), ("device", "device")):
                value = re.sub(r"[^A-Za-z0-9]", "_", properties.get(f"ro.product.{name}", ""))
                facts.append(f"{label}:{value}")
        return " ".join([f"{device.serial:<22} {state}", *facts, f"transport_id:{self.transport_id(device)}\n"])


# Host services

SERVER_VERSION = 41  # adb replaces a server of another version by its own

MAX_FORWARDS = 64
MAX_FORWARD_CONNECTIONS = 64  # through one port

_LOCAL = re.compile(r"tcp:(\d{1,5})")
_REMOTE = re.compile(r"(?:tcp:\d{1,5}|(?:localabstract|localreserved|localfilesystem|local):[^;]{1,1024})")


class _Forward(msgspec.Struct, frozen=True, eq=False):
    local: str
    remote: str
    device: PhoneDevice
    listener: Listener


class Forwards:
    """The forwarded ports of a server, for all its devices."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._forwards: dict[str, _Forward] = {}

    def add(self, device: PhoneDevice, local: str, remote: str, *, rebind: bool) -> str | None:
        """Listen on a port. Returns its number as text when the client asked for any free port."""
        match = _LOCAL.fullmatch(local)
        if match is None or int(match[1]) > 0xFFFF:
            raise AdbFailure(f"cannot bind listener: unsupported local socket '{local}'")
        if not _REMOTE.fullmatch(remote):
            raise AdbFailure(f"unsupported remote socket '{remote}'")
        with self._lock:
            old = self._forwards.pop(local, None) if rebind else None
            if local in self._forwards:
                raise AdbFailure("cannot rebind existing socket")
            if len(self._forwards) >= MAX_FORWARDS:
                raise AdbFailure("too many forwarded ports")
            if old is not None:
                old.listener.stop(STOP_SECONDS)
            listener = Listener(lambda sock: _serve(sock, device, remote), MAX_FORWARD_CONNECTIONS, "adb-forward")
            wanted = int(match[1])
            try:
                port = listener.start("127.0.0.1", wanted)
            except OSError as e:
                raise AdbFailure(f"cannot bind listener: {os.strerror(e.errno or 0)}") from None
            local = f"tcp:{port}"
            self._forwards[local] = _Forward(local, remote, device, listener)
        return None if wanted else str(port)

    def remove(self, local: str) -> None:
        with self._lock:
            forward = self._forwards.pop(local, None)
        if forward is None:
            raise AdbFailure(f"listener '{local}' not found")
        forward.listener.stop(STOP_SECONDS)

    def remove_all(self, seconds: float = STOP_SECONDS) -> bool:
        """Close all ports. False when a connection through one did not end in time."""
        deadline = time.monotonic() + seconds
        with self._lock:
            forwards = list(self._forwards.values())
            self._forwards.clear()
        ended = True
        for forward in forwards:
            ended &= forward.listener.stop(max(deadline - time.monotonic(), 0.0))
        return ended

    def listing(self) -> str:
        with self._lock:
            return "".join(f"{f.device.serial} {f.local} {f.remote}\n" for f in self._forwards.values())


def _serve(sock: socket.socket, device: PhoneDevice, remote: str) -> None:
    """Connect a client to a socket on the phone."""
    device.delay()
    channel = device.open_socket(remote) if device.state() == "device" else None
    if channel is None:
        return
    sock.settimeout(STALL_SECONDS)

    def read(size: int) -> bytes:
        while True:
            with suppress(TimeoutError):  # idle clients stay connected
                return sock.recv(size)

    relay(channel, read, lambda data: send_all(sock, data), lambda: shut_down(sock))


# The server

MAX_CONNECTIONS = 256

_POLL_SECONDS = 0.2  # how often a tracking or waiting client's device list is checked
_WAIT_SECONDS = 24 * 3600.0
_STATES = ("device", "any", "disconnect", "recovery", "rescue", "sideload", "bootloader")
_TRANSPORTS = ("any", "usb", "local")


class AdbServer:
    """An adb server on a loopback port."""

    def __init__(self, devices: Callable[[], Sequence[PhoneDevice]]) -> None:
        self._devices = _DeviceList(devices)
        self._forwards = Forwards()
        self._workers = WorkerPool(MAX_CONNECTIONS, "adb-server-service")
        self._listener = Listener(self._serve, MAX_CONNECTIONS, "adb-server", evict_silent=True)
        self._streams: set[SocketStream] = set()

    def start(self, host: str = "127.0.0.1", port: int = 0) -> int:
        """Listen and return the port. ``OSError`` when it cannot be bound."""
        return self._listener.start(host, port)

    def stop(self, seconds: float = STOP_SECONDS) -> bool:
        """End every connection and wait for all threads; False when some did not end in time."""
        deadline = time.monotonic() + seconds
        ended = self._forwards.remove_all(seconds)
        for stream in self._streams.copy():
            stream.abandon()
        ended &= self._listener.stop(max(deadline - time.monotonic(), 0.0))
        return self._workers.stop(max(deadline - time.monotonic(), 0.0)) and ended

    def _serve(self, sock: socket.socket) -> None:
        device: PhoneDevice | None = None
        try:
            while (request := read_request(sock)) is not None:
                sock.settimeout(STALL_SECONDS)
                if not request.startswith(b"host"):
                    self._listener.mark_active(sock)
                    self._serve_device(sock, device, request)
                    return
                selector, verb = self._parse(request.decode("utf-8", "surrogateescape"))
                if verb.startswith(("transport", "tport:")):
                    device = self._select(sock, selector, verb)
                    continue
                if selector.kind == "any" and device is not None:
                    selector = _by_serial(device.serial)
                self._listener.mark_active(sock)
                self._answer(sock, selector, verb)
                return
        except AdbFailure as e:
            sock.sendall(fail(str(e)))

    def _parse(self, request: str) -> tuple[DeviceSelector, str]:
        """The device a request means, and its verb."""
        prefix, _, rest = request.partition(":")
        if prefix == "host":
            return DeviceSelector(), rest
        if prefix == "host-serial":
            serial, verb = self._devices.split_serial(rest)
            return _by_serial(serial), verb
        if prefix == "host-transport-id":
            number, _, verb = rest.partition(":")
            return DeviceSelector("id", number), verb
        if prefix in {"host-usb", "host-local"}:
            return DeviceSelector(prefix.removeprefix("host-")), rest
        raise AdbFailure("unknown host service")

    def _select(self, sock: socket.socket, selector: DeviceSelector, verb: str) -> PhoneDevice:
        """``transport:SERIAL`` and its variants. ``tport`` also gets the transport id."""
        device = self._devices.find_ready(_selected(verb, selector))
        number = self._devices.transport_id(device).to_bytes(8, "little") if verb.startswith("tport:") else b""
        sock.sendall(b"OKAY" + number)
        return device

    def _serve_device(self, sock: socket.socket, device: PhoneDevice | None, name: bytes) -> None:
        if device is None:
            raise AdbFailure("device offline (no transport)")
        stream = SocketStream(sock, fail)
        self._streams.add(stream)
        try:
            if not self._workers.submit(lambda: serve(name, stream, device)):
                raise AdbFailure("too many services")
            stream.pump()
        finally:
            self._streams.discard(stream)

    def _answer(self, sock: socket.socket, selector: DeviceSelector, verb: str) -> None:
        if verb in {"track-devices", "track-devices-l"}:
            self._track(sock, long=verb.endswith("-l"))
        elif verb.startswith("wait-for-"):
            self._wait(sock, selector, verb.removeprefix("wait-for-"))
        else:
            sock.sendall(self._reply(selector, verb))

    def _reply(self, selector: DeviceSelector, request: str) -> bytes:  # noqa: C901, PLR0912 - one case per service
        """The whole answer to ``VERB[:ARGUMENT]``. ``AdbFailure`` for an error."""
        verb, _, argument = request.partition(":")
        match verb:
            case "version":
                return okay(f"{SERVER_VERSION:04x}")
            case "devices" | "devices-l":
                return okay(self._devices.listing(long=verb.endswith("-l")))
            case "features" | "host-features":
                if verb == "features":
                    self._devices.find(selector)
                return okay(",".join(FEATURES))
            case "get-state":
                return okay(self._devices.find(selector).state())
            case "get-serialno":
                return okay(self._devices.find(selector).serial)
            case "get-devpath":
                self._devices.find(selector)
                return okay("unknown")
            case "forward":
                return self._forward(selector, argument)
            case "killforward":
                self._forwards.remove(argument)
                return b"OKAYOKAY"
            case "killforward-all":
                self._forwards.remove_all()
                return b"OKAYOKAY"
            case "list-forward":
                return okay(self._forwards.listing())
            case "connect":
                try:
                    return okay(f"already connected to {self._devices.find(_by_serial(argument)).serial}")
                except DeviceNotFound:
                    return okay(f"failed to connect to {argument}: this server serves only its own phones")
            case "disconnect":
                if not argument:  # this server has no connections made with `adb connect`
                    return okay("disconnected everything")
                self._devices.find(_by_serial(argument))
                raise AdbFailure(f"'{argument}' belongs to this server and cannot be disconnected")
            case "kill":
                raise AdbFailure("this server belongs to a simulated phone and stops with it")
            case _:
                raise AdbFailure("unknown host service")

    def _forward(self, selector: DeviceSelector, argument: str) -> bytes:
        rebind = not argument.startswith("norebind:")
        local, semicolon, remote = argument.removeprefix("norebind:").partition(";")
        if not semicolon:
            raise AdbFailure("bad forward: LOCAL;REMOTE is expected")
        port = self._forwards.add(self._devices.find_ready(selector), local, remote, rebind=rebind)
        # The first OKAY is for the request, the second for its success.
        return b"OKAYOKAY" + (text(port) if port else b"")

    def _track(self, sock: socket.socket, *, long: bool) -> None:
        """Send the device list now and after every change, until the client disconnects."""
        sock.sendall(b"OKAY")
        sent: str | None = None
        while True:
            now = self._devices.listing(long=long)
            if now != sent:
                send_all(sock, text(now), STALL_SECONDS)
                sent = now
            if _has_disconnected(sock):
                return

    def _wait(self, sock: socket.socket, selector: DeviceSelector, condition: str) -> None:
        """Send OKAY for the request, and again when the device reaches the state."""
        transport, dash, state = condition.partition("-")
        if not dash:
            transport, state = "any", transport
        if transport not in _TRANSPORTS or state not in _STATES:
            raise AdbFailure(f"unknown transport or state in 'wait-for-{condition}'")
        selector = DeviceSelector(transport) if selector.kind == "any" else selector
        sock.sendall(b"OKAY")
        deadline = time.monotonic() + _WAIT_SECONDS
        while not self._is_in(selector, state):
            if time.monotonic() > deadline or _has_disconnected(sock):
                return
        sock.sendall(b"OKAY")

    def _is_in(self, selector: DeviceSelector, state: str) -> bool:
        try:
            found = self._devices.find(selector)
        except DeviceNotFound:
            return state == "disconnect"
        return state == "any" or found.state() == state


def _selected(verb: str, selector: DeviceSelector) -> DeviceSelector:
    """The device that a ``transport`` or ``tport`` request names."""
    head, _, value = verb.partition(":")
    if head == "tport":
        head, _, value = value.partition(":")
    elif head == "transport":
        head = "serial"
    else:
        head = head.removeprefix("transport-")
    if head in {"serial", "id"} and value:
        return DeviceSelector(head, value)
    if head in _TRANSPORTS and not value:
        return selector if head == "any" else DeviceSelector(head)
    raise AdbFailure("unknown host service")


def _has_disconnected(sock: socket.socket) -> bool:
    """Wait briefly for the client to disconnect. What it sends is discarded."""
    sock.settimeout(_POLL_SECONDS)
    try:
        return not sock.recv(1024)
    except TimeoutError:
        return False
