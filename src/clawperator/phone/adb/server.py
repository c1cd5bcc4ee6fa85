"""The protocol of the adb server, so that a client reaches the phone where no adb is installed."""

import socket
import time
from collections.abc import Callable, Sequence

from clawperator.phone.adb.device import Device
from clawperator.phone.adb.forward import Forwards
from clawperator.phone.adb.host_services import Host
from clawperator.phone.adb.listener import STOP_SECONDS, Listener
from clawperator.phone.adb.roster import Missing, Roster, Wish
from clawperator.phone.adb.services import serve
from clawperator.phone.adb.smart_socket import Failure, fail, read_request, text
from clawperator.phone.adb.streams import SocketStream
from clawperator.phone.adb.wire import STALL_SECONDS, send_all
from clawperator.phone.adb.workers import Workers

MAX_CONNECTIONS = 256

_LOOK_SECONDS = 0.2  # how often a client that waits for a change is looked after
_WAIT_SECONDS = 24 * 3600.0
_STATES = ("device", "any", "disconnect", "recovery", "rescue", "sideload", "bootloader")
_TRANSPORTS = ("any", "usb", "local")


class AdbServer:
    """The port a client of adb asks for phones. Loopback only."""

    def __init__(self, devices: Callable[[], Sequence[Device]]) -> None:
        self._roster = Roster(devices)
        self._forwards = Forwards()
        self._host = Host(self._roster, self._forwards)
        self._workers = Workers(MAX_CONNECTIONS, "adb-server-service")
        self._listener = Listener(self._serve, MAX_CONNECTIONS, "adb-server", wary=True)
        self._streams: set[SocketStream] = set()

    def start(self, host: str = "127.0.0.1", port: int = 0) -> int:
        """Listen, and give the port. ``OSError`` when it cannot be had."""
        return self._listener.start(host, port)

    def stop(self, seconds: float = STOP_SECONDS) -> bool:
        """End every connection and wait for all threads; False when some did not end in time."""
        deadline = time.monotonic() + seconds
        ended = self._forwards.remove_all(seconds)
        for stream in self._streams.copy():
            stream.give_up()
        ended &= self._listener.stop(max(deadline - time.monotonic(), 0.0))
        return self._workers.stop(max(deadline - time.monotonic(), 0.0)) and ended

    def _serve(self, sock: socket.socket) -> None:
        device: Device | None = None
        try:
            while (request := read_request(sock)) is not None:
                sock.settimeout(STALL_SECONDS)
                if not request.startswith(b"host"):
                    self._listener.settle(sock)
                    self._serve_device(sock, device, request)
                    return
                wish, verb = self._understand(request.decode("utf-8", "surrogateescape"))
                if verb.startswith(("transport", "tport:")):
                    device = self._choose(sock, wish, verb)
                    continue
                if wish.kind == "any" and device is not None:
                    wish = Wish("serial", device.serial)
                self._listener.settle(sock)
                self._answer(sock, wish, verb)
                return
        except Failure as e:
            sock.sendall(fail(str(e)))

    def _understand(self, request: str) -> tuple[Wish, str]:
        """Which phone is meant, and what is asked."""
        prefix, _, rest = request.partition(":")
        if prefix == "host":
            return Wish(), rest
        if prefix == "host-serial":
            serial, verb = self._roster.split_serial(rest)
            return Wish("serial", serial), verb
        if prefix == "host-transport-id":
            number, _, verb = rest.partition(":")
            return Wish("id", number), verb
        if prefix in {"host-usb", "host-local"}:
            return Wish(prefix.removeprefix("host-")), rest
        raise Failure("unknown host service")

    def _choose(self, sock: socket.socket, wish: Wish, verb: str) -> Device:
        """``transport:SERIAL`` and its relatives. ``tport`` is told the number of what it got."""
        device = self._roster.find_ready(_wished(verb, wish))
        number = self._roster.number(device).to_bytes(8, "little") if verb.startswith("tport:") else b""
        sock.sendall(b"OKAY" + number)
        return device

    def _serve_device(self, sock: socket.socket, device: Device | None, name: bytes) -> None:
        if device is None:
            raise Failure("device offline (no transport)")
        stream = SocketStream(sock, fail)
        self._streams.add(stream)
        try:
            if not self._workers.submit(lambda: serve(name, stream, device)):
                raise Failure("too many services")
            stream.pump()
        finally:
            self._streams.discard(stream)

    def _answer(self, sock: socket.socket, wish: Wish, verb: str) -> None:
        if verb in {"track-devices", "track-devices-l"}:
            self._track(sock, long=verb.endswith("-l"))
        elif verb.startswith("wait-for-"):
            self._wait(sock, wish, verb.removeprefix("wait-for-"))
        else:
            sock.sendall(self._host.reply(wish, verb))

    def _track(self, sock: socket.socket, *, long: bool) -> None:
        """Tell the list of phones, and again whenever it changes, for as long as the client listens."""
        sock.sendall(b"OKAY")
        told: str | None = None
        while True:
            now = self._roster.listing(long=long)
            if now != told:
                send_all(sock, text(now), STALL_SECONDS)
                told = now
            if _has_left(sock):
                return

    def _wait(self, sock: socket.socket, wish: Wish, what: str) -> None:
        """Say OKAY once for the request, and again when the phone is in the wished state."""
        transport, dash, state = what.partition("-")
        if not dash:
            transport, state = "any", transport
        if transport not in _TRANSPORTS or state not in _STATES:
            raise Failure(f"unknown transport or state in 'wait-for-{what}'")
        wish = Wish(transport) if wish.kind == "any" else wish
        sock.sendall(b"OKAY")
        deadline = time.monotonic() + _WAIT_SECONDS
        while not self._is_in(wish, state):
            if time.monotonic() > deadline or _has_left(sock):
                return
        sock.sendall(b"OKAY")

    def _is_in(self, wish: Wish, state: str) -> bool:
        try:
            found = self._roster.find(wish)
        except Missing:
            return state == "disconnect"
        return state == "any" or found.state() == state


def _wished(verb: str, wish: Wish) -> Wish:
    """The phone a ``transport`` or ``tport`` request names."""
    head, _, value = verb.partition(":")
    if head == "tport":
        head, _, value = value.partition(":")
    elif head == "transport":
        head = "serial"
    else:
        head = head.removeprefix("transport-")
    if head in {"serial", "id"} and value:
        return Wish(head, value)
    if head in _TRANSPORTS and not value:
        return wish if head == "any" else Wish(head)
    raise Failure("unknown host service")


def _has_left(sock: socket.socket) -> bool:
    """Give a client a moment to hang up. What it says meanwhile is not heard."""
    sock.settimeout(_LOOK_SECONDS)
    try:
        return not sock.recv(1024)
    except TimeoutError:
        return False
