"""The transport protocol of adbd: connections, each with many streams.

A stream has flow control, and an order in which it ends.
"""

import os
import socket
import threading
import time
from collections import deque
from contextlib import suppress

from clawperator.phone.adb.device import PhoneDevice
from clawperator.phone.adb.listener import STOP_SECONDS, Listener, WorkerPool
from clawperator.phone.adb.services import banner, serve
from clawperator.phone.adb.streams import CORK_BYTES, CORK_SECONDS, GRACE_SECONDS, READER_SECONDS, ServiceStream
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

# Streams


# The protocol allows one packet, but adb sends all it has left without waiting when its client disconnects.
MAX_WAITING = 16

_PIECE = 128 * 1024  # a write up to this size is never interleaved with another thread's
_PENDING = 64 * 1024  # bytes waiting for the peer before a writer waits too


class AdbdStream(ServiceStream):
    """A stream of a connection. At most one packet of ours waits for its acknowledgement."""

    def __init__(self, connection: "AdbdConnection", local_id: int, remote_id: int) -> None:
        super().__init__()
        self._connection = connection
        self._writer = connection.writer
        self.local_id = local_id
        self.remote_id = remote_id
        self._pending = bytearray()
        self._in_flight = False
        self._closed = False
        self._accepted = False
        self.finished = threading.Event()

    def accept(self) -> None:
        with self._changed:
            self._accepted = True
            if not self._corked:
                self._writer.send(OKAY, self.local_id, self.remote_id)

    def refuse(self, reason: str) -> None:  # noqa: ARG002 - the protocol has no field for a reason
        with self._changed:
            self._closed = True
            self._connection.stream_closed(self)
            with suppress(BrokenPipeError):
                self._writer.send(CLSE, 0, self.remote_id)

    def write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            self._write_piece(view[:_PIECE])
            view = view[_PIECE:]

    def finish(self) -> None:
        with self._changed:
            self.finished.set()
            self._connection.service_ended(self)
            while self._inbox:  # acknowledge unread packets: the peer must not wait for them
                self._consumed(len(self._inbox.popleft()))
            with suppress(BrokenPipeError):
                self._send_more()

    def acknowledge(self) -> None:
        """The peer has taken our packet: the next one may go."""
        with self._changed:
            self._in_flight = False
            self._send_more()
            self._changed.notify_all()

    def deliver(self, payload: Payload) -> bool:
        """Put a packet's payload into the inbox; False when too many wait there already."""
        with self._changed:
            if self.finished.is_set():
                self._consumed(len(payload))
            elif len(self._inbox) >= MAX_WAITING:
                return False
            else:
                self._inbox.append(payload)
                self._changed.notify_all()
            return True

    def close(self) -> None:
        """The peer has closed the stream or disconnected."""
        with self._changed:
            if not self._closed:
                self._closed = True
                self._pending.clear()
                self._connection.stream_closed(self)
                with suppress(BrokenPipeError):
                    self._writer.send(CLSE, self.local_id, self.remote_id)
        self.end_input()

    def abandon(self) -> None:
        super().abandon()
        self.close()

    def _write_piece(self, piece: memoryview) -> None:
        with self._changed:
            while len(self._pending) >= _PENDING and not self._closed:
                if not self._changed.wait(READER_SECONDS):
                    break
            else:
                if self._closed:
                    raise BrokenPipeError
                if self._corked or self._in_flight or len(piece) > self._connection.max_payload:
                    self._pending += piece
                    if not self._corked or len(self._pending) > CORK_BYTES:
                        self._send_more()
                else:
                    self._in_flight = True
                    self._writer.send(WRTE, self.local_id, self.remote_id, piece)
                return
        self.close()
        raise BrokenPipeError

    def uncork(self) -> None:
        with self._changed, suppress(BrokenPipeError):
            if self._corked:
                self._send_more()

    def _send_more(self) -> None:
        """Send, in one write, what may be sent now: the acceptance, pending data, and the end of the stream."""
        if self._closed:
            return
        ids = self.local_id, self.remote_id
        packets = b""
        if self._corked:
            self._corked = False
            if self._accepted:
                packets = self._writer.head(OKAY, *ids)
        if self._pending and not self._in_flight:
            limit = self._connection.max_payload
            data = bytes(self._pending[:limit])
            del self._pending[:limit]
            self._in_flight = True
            packets += self._writer.head(WRTE, *ids, data) + data
        # The close need not wait until the last packet is acknowledged: it cannot overtake it.
        if self.finished.is_set() and not self._pending:
            self._closed = True
            self._connection.stream_closed(self)
            packets += self._writer.head(CLSE, *ids)
        if packets:
            self._writer.send_packed(packets)

    def _consumed(self, size: int) -> None:
        self._connection.count_unread(-size)
        if not self._closed:
            with suppress(BrokenPipeError):
                self._writer.send(OKAY, self.local_id, self.remote_id)


# Connections

MAX_CONNECTIONS = 64
MAX_STREAMS = 256  # in one connection
MAX_WORKERS = 1024

_GREETING_SECONDS = 10.0
_MAX_UNREAD = 128 * 1024 * 1024  # bytes that services have not read yet, in all connections together
_TOKEN, _SIGNATURE = 1, 2


class AdbdServer:
    """The loopback port that ``adb connect`` connects to."""

    def __init__(self, device: PhoneDevice) -> None:
        self.device = device
        self.workers = WorkerPool(MAX_WORKERS, "adbd-service")
        self.listener = Listener(self._serve, MAX_CONNECTIONS, "adbd", evict_silent=True)
        self._connections: set[AdbdConnection] = set()
        # The bytes that services have not read yet, in all connections together.
        self._unread_lock = threading.Lock()
        self._unread = 0

    def start(self, host: str = "127.0.0.1", port: int = 0) -> int:
        """Listen and return the port. ``OSError`` when it cannot be bound."""
        return self.listener.start(host, port)

    def disconnect(self) -> None:
        """End every connection, as a pulled cable does; new ones are accepted."""
        self.listener.disconnect()

    def stop(self, seconds: float = STOP_SECONDS) -> bool:
        """End every connection and wait for all threads; False when some did not end in time."""
        deadline = time.monotonic() + seconds
        for connection in self._connections.copy():
            connection.abandon()
        ended = self.listener.stop(seconds)
        for connection in self._connections.copy():
            connection.abandon()
        return self.workers.stop(max(deadline - time.monotonic(), 0.0)) and ended

    def _serve(self, sock: socket.socket) -> None:
        connection = AdbdConnection(sock, self)
        self._connections.add(connection)
        try:
            connection.serve()
        finally:
            self._connections.discard(connection)

    def count_unread(self, size: int) -> int:
        """Add to the number of unread bytes, or subtract from it, and return it."""
        with self._unread_lock:
            self._unread += size
            return self._unread


class AdbdConnection:
    """One peer. A single thread reads its packets; services write from threads of their own."""

    def __init__(self, sock: socket.socket, server: AdbdServer) -> None:
        self._sock = sock
        self._device = server.device
        self._server = server
        self._reader = PacketReader(sock)
        self.writer = PacketWriter(sock)
        self._streams: dict[int, AdbdStream] = {}  # only the reading thread adds to it
        self._running: set[AdbdStream] = set()  # streams whose service has not ended, open or not
        self._last_id = 0
        self._closed_streams: list[tuple[float, AdbdStream]] = []  # closed, but their service has not ended
        self._new_streams: deque[tuple[float, AdbdStream]] = deque()  # to be uncorked at the time
        self.count_unread = server.count_unread
        self._abandoned = False
        self.max_payload = MAX_PAYLOAD

    def serve(self) -> None:
        """Serve the peer until one side closes the connection."""
        with suppress(WireError, OSError):
            self._sock.settimeout(_GREETING_SECONDS)
            if self._greet():
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

    def _greet(self) -> bool:
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
        self._server.listener.mark_active(self._sock)
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
            size = len(packet.payload)
            if not size:
                self.writer.send(OKAY, stream.local_id, stream.remote_id)
            elif self.count_unread(size) > _MAX_UNREAD or not stream.deliver(packet.payload):
                self.count_unread(-size)
                raise WireError("more unread data than agreed")
        else:
            stream.close()
            if not stream.finished.is_set():
                self._closed_streams.append((time.monotonic() + GRACE_SECONDS, stream))

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
            if self._server.workers.submit(lambda: serve(name, stream, self._device)):
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
