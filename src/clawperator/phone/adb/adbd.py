"""The transport protocol of adbd: connections, each with many streams."""

import os
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from clawperator.phone.adb.adbd_stream import AdbdStream
from clawperator.phone.adb.device import AdbDevice
from clawperator.phone.adb.listener import STOP_SECONDS, Listener, WorkerPool
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

MAX_CONNECTIONS = 64
MAX_STREAMS = 256  # in one connection
MAX_WORKERS = 1024

_GREETING_SECONDS = 10.0
_MAX_UNREAD = 128 * 1024 * 1024  # bytes that services have not read yet, in all connections together
_TOKEN, _SIGNATURE = 1, 2


class AdbdServer:
    """The loopback port that ``adb connect`` connects to."""

    def __init__(self, device: AdbDevice) -> None:
        self._device = device
        self._workers = WorkerPool(MAX_WORKERS, "adbd-service")
        self._listener = Listener(self._serve, MAX_CONNECTIONS, "adbd", evict_silent=True)
        self._connections: set[AdbdConnection] = set()
        self._unread = UnreadBytes()

    def start(self, host: str = "127.0.0.1", port: int = 0) -> int:
        """Listen and return the port. ``OSError`` when it cannot be bound."""
        return self._listener.start(host, port)

    def disconnect(self) -> None:
        """End every connection, as a pulled cable does; new ones are accepted."""
        self._listener.disconnect()

    def stop(self, seconds: float = STOP_SECONDS) -> bool:
        """End every connection and wait for all threads; False when some did not end in time."""
        deadline = time.monotonic() + seconds
        for connection in self._connections.copy():
            connection.abandon()
        ended = self._listener.stop(seconds)
        for connection in self._connections.copy():
            connection.abandon()
        return self._workers.stop(max(deadline - time.monotonic(), 0.0)) and ended

    def _serve(self, sock: socket.socket) -> None:
        connection = AdbdConnection(sock, self._device, self._workers.submit, self._unread)
        self._connections.add(connection)
        try:
            connection.serve(lambda: self._listener.mark_active(sock))
        finally:
            self._connections.discard(connection)


class UnreadBytes:
    """The number of received bytes that services have not read yet."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._bytes = 0

    def count(self, size: int) -> int:
        """Add to the number, or subtract from it, and return it."""
        with self._lock:
            self._bytes += size
            return self._bytes


class AdbdConnection:
    """One peer. A single thread reads its packets; services write from threads of their own."""

    def __init__(
        self,
        sock: socket.socket,
        device: AdbDevice,
        submit: Callable[[Callable[[], None]], bool],
        unread: UnreadBytes,
    ) -> None:
        self._sock = sock
        self._device = device
        self._submit = submit
        self._reader = PacketReader(sock)
        self.writer = PacketWriter(sock)
        self._streams: dict[int, AdbdStream] = {}  # only the reading thread adds to it
        self._running: set[AdbdStream] = set()  # streams whose service has not ended, open or not
        self._last_id = 0
        self._closed_streams: list[tuple[float, AdbdStream]] = []  # closed, but their service has not ended
        self._new_streams: deque[tuple[float, AdbdStream]] = deque()  # to be uncorked at the time
        self.count_unread = unread.count
        self._abandoned = False
        self.max_payload = MAX_PAYLOAD

    def serve(self, greeted: Callable[[], None]) -> None:
        """Serve the peer until one side closes the connection. ``greeted`` is called after the handshake."""
        with suppress(WireError, OSError):
            self._sock.settimeout(_GREETING_SECONDS)
            if self._greet(greeted):
                self._sock.settimeout(STALL_SECONDS)
                # A socket that we have shut down still delivers what the peer sends.
                while not self.writer.closed and (packet := self._next()) and self._handle(packet):
                    pass
        self._end()

    def abandon(self) -> None:
        """The phone stops: end every service of this peer now."""
        self._abandoned = True
        self.writer.close()
        for stream in self._running.copy():
            stream.abandon()

    def stream_closed(self, stream: AdbdStream) -> None:
        """Called when the stream is closed."""
        self._streams.pop(stream.local_id, None)

    def service_ended(self, stream: AdbdStream) -> None:
        """Called when the service of the stream has ended."""
        self._running.discard(stream)

    def _next(self) -> Packet | None:
        while True:
            if self._closed_streams:
                self._abandon_expired(time.monotonic())
            if self._new_streams:
                self._uncork_new_streams()
            try:
                return self._reader.read()
            except TimeoutError:
                continue  # idle peers stay connected

    def _greet(self, greeted: Callable[[], None]) -> bool:
        """Exchange CNXN packets; False when the peer is refused."""
        packet = self._reader.read()
        if packet is None or packet.command != CNXN or packet.arg1 < MIN_PAYLOAD:
            return False
        if self._device.state() == "unauthorized" and not self._wait_for_authorization():
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

    def _wait_for_authorization(self) -> bool:
        """Ask the peer for its key until the fault ``unauthorized`` is off. No key is accepted by itself."""
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
            # Packets for a stream that we have closed may still arrive; they are ignored.
            if stream is not None and stream.remote_id == packet.arg0:
                self._dispatch(stream, packet)
        return packet.command != CNXN  # a second CNXN ends the connection

    def _dispatch(self, stream: AdbdStream, packet: Packet) -> None:
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
                self._closed_streams.append((time.monotonic() + GRACE_SECONDS, stream))

    def _deliver(self, stream: AdbdStream, payload: Payload) -> None:
        too_much = self.count_unread(len(payload)) > _MAX_UNREAD
        if too_much or not stream.deliver(payload):
            self.count_unread(-len(payload))
            raise WireError("more unread data than agreed")

    def _open(self, packet: Packet) -> bool:
        if self._device.state() != "device":
            return False
        if not packet.arg0:
            return True  # without an id there is no stream to answer
        # Closed streams whose service still runs count too, and ended ones that are not closed yet.
        if len(self._streams) < MAX_STREAMS and len(self._running) < MAX_STREAMS:
            stream = AdbdStream(self, self._new_id(), packet.arg0)
            self._streams[stream.local_id] = stream
            self._running.add(stream)
            name = bytes(packet.payload).removesuffix(b"\0")
            if self._submit(lambda: serve(name, stream, self._device)):
                self._new_streams.append((time.monotonic() + CORK_SECONDS, stream))
                return True
            self.stream_closed(stream)
            self.service_ended(stream)
        self.writer.send(CLSE, 0, packet.arg0)
        return True

    def _new_id(self) -> int:
        while True:
            self._last_id = self._last_id % 0xFFFFFFFF + 1
            if self._last_id not in self._streams:
                return self._last_id

    def _abandon_expired(self, now: float) -> None:
        self._closed_streams = [
            (when, stream) for when, stream in self._closed_streams if not stream.finished.is_set()
        ]
        while self._closed_streams and self._closed_streams[0][0] <= now:
            self._closed_streams.pop(0)[1].abandon()

    def _uncork_new_streams(self) -> None:
        """Uncork new streams in time; wait for the peer no longer than they may hold output back."""
        while self._new_streams:
            left = self._new_streams[0][0] - time.monotonic()
            if left > 0 and self._reader.has_more(left):
                return
            self._new_streams.popleft()[1].uncork()

    def _end(self) -> None:
        self.writer.close()
        left = self._running.copy()
        for stream in left:
            stream.close()
        deadline = time.monotonic() + GRACE_SECONDS
        for stream in left:
            if self._abandoned or not stream.finished.wait(max(deadline - time.monotonic(), 0.0)):
                stream.abandon()
