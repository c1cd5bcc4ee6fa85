"""The transport protocol of adbd: one connection, and many streams in it."""

import os
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from clawperator.phone.adb.adbd_stream import AdbdStream
from clawperator.phone.adb.device import Device
from clawperator.phone.adb.listener import STOP_SECONDS, Listener
from clawperator.phone.adb.services import banner, serve
from clawperator.phone.adb.streams import CORK_SECONDS, GRACE_SECONDS
from clawperator.phone.adb.wire import (
    AUTH,
    CLSE,
    CNXN,
    MAX_PAYLOAD,
    MAX_PAYLOAD_OLD,
    MIN_PAYLOAD,
    OKAY,
    OPEN,
    STALL_SECONDS,
    VERSION,
    WRTE,
    Packet,
    PacketReader,
    PacketWriter,
    Payload,
    WireError,
)
from clawperator.phone.adb.workers import Workers

MAX_CONNECTIONS = 64
MAX_STREAMS = 256  # in one connection
MAX_WORKERS = 1024

_GREETING_SECONDS = 10.0
_MAX_UNREAD = 128 * 1024 * 1024  # bytes that no service has taken yet, of all connections together
_TOKEN, _SIGNATURE = 1, 2


class AdbDoor:
    """The port that ``adb connect`` finds. Loopback only."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._workers = Workers(MAX_WORKERS, "adbd-service")
        self._listener = Listener(self._serve, MAX_CONNECTIONS, "adbd", wary=True)
        self._connections: set[Connection] = set()
        self._unread = Unread()

    def start(self, host: str = "127.0.0.1", port: int = 0) -> int:
        """Listen, and give the port. ``OSError`` when it cannot be had."""
        return self._listener.start(host, port)

    def disconnect(self) -> None:
        """End every connection, as a pulled cable does; new ones are welcome."""
        self._listener.disconnect()

    def stop(self, seconds: float = STOP_SECONDS) -> bool:
        """End every connection and wait for all threads; False when some did not end in time."""
        deadline = time.monotonic() + seconds
        for connection in self._connections.copy():
            connection.give_up()
        ended = self._listener.stop(seconds)
        for connection in self._connections.copy():
            connection.give_up()
        return self._workers.stop(max(deadline - time.monotonic(), 0.0)) and ended

    def _serve(self, sock: socket.socket) -> None:
        connection = Connection(sock, self._device, self._workers.submit, self._unread)
        self._connections.add(connection)
        try:
            connection.serve(lambda: self._listener.settle(sock))
        finally:
            self._connections.discard(connection)


class Unread:
    """How many bytes have come that no service has taken yet."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._bytes = 0

    def count(self, size: int) -> int:
        """Add to them, or take from them, and give their sum."""
        with self._lock:
            self._bytes += size
            return self._bytes


class Connection:
    """One peer. A single thread reads what it sends; services answer from threads of their own."""

    def __init__(
        self, sock: socket.socket, device: Device, submit: Callable[[Callable[[], None]], bool], unread: Unread
    ) -> None:
        self._sock = sock
        self._device = device
        self._submit = submit
        self._reader = PacketReader(sock)
        self.writer = PacketWriter(sock)
        self._streams: dict[int, AdbdStream] = {}  # only the reading thread adds to it
        self._running: set[AdbdStream] = set()  # those whose service has not ended, open or not
        self._last_id = 0
        self._lingering: list[tuple[float, AdbdStream]] = []
        self._fresh: deque[tuple[float, AdbdStream]] = deque()  # may keep something back until the time is up
        self.count_unread = unread.count
        self._given_up = False
        self.max_payload = MAX_PAYLOAD

    def serve(self, greeted: Callable[[], None]) -> None:
        """Talk with the peer until one of the two has enough. ``greeted`` is called when it has greeted us."""
        with suppress(WireError, OSError):
            self._sock.settimeout(_GREETING_SECONDS)
            if self._greet(greeted):
                self._sock.settimeout(STALL_SECONDS)
                # A socket that is shut down still gives what the peer goes on sending.
                while not self.writer.closed and (packet := self._next()) and self._handle(packet):
                    pass
        self._end()

    def give_up(self) -> None:
        """The phone stops: whatever still runs for this peer must end now."""
        self._given_up = True
        self.writer.close()
        for stream in self._running.copy():
            stream.give_up()

    def forget(self, stream: AdbdStream) -> None:
        """The stream is closed."""
        self._streams.pop(stream.local_id, None)

    def retire(self, stream: AdbdStream) -> None:
        """The service of the stream has ended."""
        self._running.discard(stream)

    def _next(self) -> Packet | None:
        while True:
            if self._lingering:
                self._part_with_the_lingering(time.monotonic())
            if self._fresh:
                self._uncork_the_fresh()
            try:
                return self._reader.read()
            except TimeoutError:
                continue  # an idle peer is welcome

    def _greet(self, greeted: Callable[[], None]) -> bool:
        """Learn what the peer is and tell what we are; False when there is nothing to talk about."""
        packet = self._reader.read()
        if packet is None or packet.command != CNXN or packet.arg1 < MIN_PAYLOAD:
            return False
        if self._device.state() == "unauthorized" and not self._wait_for_permission():
            return False
        if self._device.state() != "device":
            return False
        old = packet.arg0 < VERSION
        ours = MAX_PAYLOAD_OLD if old else MAX_PAYLOAD
        self.max_payload = min(packet.arg1, ours)
        greeted()
        self.writer.send(CNXN, min(packet.arg0, VERSION), ours, banner(self._device).encode())
        self._reader.limit = ours
        self._reader.checks = self.writer.checks = old
        return True

    def _wait_for_permission(self) -> bool:
        """Ask the peer for its key until the phone is told to trust it. No key is ever good enough by itself."""
        self._sock.settimeout(STALL_SECONDS)
        self.writer.send(AUTH, _TOKEN, 0, os.urandom(20))
        while self._device.state() == "unauthorized":
            try:
                packet = self._reader.read()
            except TimeoutError:
                continue
            if packet is None or packet.command != AUTH:
                return False
            if packet.arg0 == _SIGNATURE:
                self.writer.send(AUTH, _TOKEN, 0, os.urandom(20))
        return True

    def _handle(self, packet: Packet) -> bool:
        if packet.command == OPEN:
            return self._open(packet)
        if packet.command in {OKAY, WRTE, CLSE}:
            stream = self._streams.get(packet.arg1)
            # A stream we have closed may still be spoken to: those words crossed ours on the way.
            if stream is not None and stream.remote_id == packet.arg0:
                self._tell(stream, packet)
        return packet.command != CNXN  # a peer that begins anew must connect anew

    def _tell(self, stream: AdbdStream, packet: Packet) -> None:
        if packet.command == OKAY:
            stream.acknowledge()
        elif packet.command == WRTE:
            if packet.payload:
                self._deliver(stream, packet.payload)
            else:
                self.writer.send(OKAY, stream.local_id, stream.remote_id)
        else:
            stream.close()
            if not stream.finished.is_set():
                self._lingering.append((time.monotonic() + GRACE_SECONDS, stream))

    def _deliver(self, stream: AdbdStream, payload: Payload) -> None:
        too_much = self.count_unread(len(payload)) > _MAX_UNREAD
        if too_much or not stream.deliver(payload):
            self.count_unread(-len(payload))
            raise WireError("more unread data than agreed")

    def _open(self, packet: Packet) -> bool:
        if self._device.state() != "device":
            return False
        if not packet.arg0:
            return True  # nobody to answer
        # A closed stream whose command goes on counts too, and so does an ended one that is not closed yet.
        if len(self._streams) < MAX_STREAMS and len(self._running) < MAX_STREAMS:
            stream = AdbdStream(self, self._new_id(), packet.arg0)
            self._streams[stream.local_id] = stream
            self._running.add(stream)
            name = bytes(packet.payload).removesuffix(b"\0")
            if self._submit(lambda: serve(name, stream, self._device)):
                self._fresh.append((time.monotonic() + CORK_SECONDS, stream))
                return True
            self.forget(stream)
            self.retire(stream)
        self.writer.send(CLSE, 0, packet.arg0)
        return True

    def _new_id(self) -> int:
        while True:
            self._last_id = self._last_id % 0xFFFFFFFF + 1
            if self._last_id not in self._streams:
                return self._last_id

    def _part_with_the_lingering(self, now: float) -> None:
        self._lingering = [(when, stream) for when, stream in self._lingering if not stream.finished.is_set()]
        while self._lingering and self._lingering[0][0] <= now:
            self._lingering.pop(0)[1].give_up()

    def _uncork_the_fresh(self) -> None:
        """Wait for the peer as long as a new stream may keep back what it says, but no longer."""
        while self._fresh:
            left = self._fresh[0][0] - time.monotonic()
            if left > 0 and self._reader.has_more(left):
                return
            self._fresh.popleft()[1].uncork()

    def _end(self) -> None:
        self.writer.close()
        left = self._running.copy()
        for stream in left:
            stream.close()
        deadline = time.monotonic() + GRACE_SECONDS
        for stream in left:
            if self._given_up or not stream.finished.wait(max(deadline - time.monotonic(), 0.0)):
                stream.give_up()
