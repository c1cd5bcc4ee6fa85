"""The adb server protocol, so that a client reaches the phone where no adb is installed."""

import socket
import time
from collections.abc import Callable, Sequence

from clawperator.phone.adb.device import AdbDevice
from clawperator.phone.adb.host_services import Forwards, HostServices
from clawperator.phone.adb.listener import STOP_SECONDS, Listener, WorkerPool
from clawperator.phone.adb.services import serve
from clawperator.phone.adb.smart_socket import (
    AdbFailure,
    DeviceList,
    DeviceNotFound,
    DeviceSelector,
    fail,
    read_request,
    text,
)
from clawperator.phone.adb.streams import SocketStream
from clawperator.phone.adb.wire import STALL_SECONDS, send_all

MAX_CONNECTIONS = 256

_POLL_SECONDS = 0.2  # how often a tracking or waiting client's device list is checked
_WAIT_SECONDS = 24 * 3600.0
_STATES = ("device", "any", "disconnect", "recovery", "rescue", "sideload", "bootloader")
_TRANSPORTS = ("any", "usb", "local")


class AdbServer:
    """An adb server on a loopback port."""

    def __init__(self, devices: Callable[[], Sequence[AdbDevice]]) -> None:
        self._devices = DeviceList(devices)
        self._forwards = Forwards()
        self._host_services = HostServices(self._devices, self._forwards)
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
        device: AdbDevice | None = None
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
                    selector = DeviceSelector("serial", device.serial)
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
            return DeviceSelector("serial", serial), verb
        if prefix == "host-transport-id":
            number, _, verb = rest.partition(":")
            return DeviceSelector("id", number), verb
        if prefix in {"host-usb", "host-local"}:
            return DeviceSelector(prefix.removeprefix("host-")), rest
        raise AdbFailure("unknown host service")

    def _select(self, sock: socket.socket, selector: DeviceSelector, verb: str) -> AdbDevice:
        """``transport:SERIAL`` and its variants. ``tport`` also gets the transport id."""
        device = self._devices.find_ready(_selected(verb, selector))
        number = self._devices.transport_id(device).to_bytes(8, "little") if verb.startswith("tport:") else b""
        sock.sendall(b"OKAY" + number)
        return device

    def _serve_device(self, sock: socket.socket, device: AdbDevice | None, name: bytes) -> None:
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
            sock.sendall(self._host_services.reply(selector, verb))

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
