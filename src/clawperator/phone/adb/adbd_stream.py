"""A stream of the adbd transport: flow control, and the order in which a stream ends."""

import threading
from contextlib import suppress
from typing import Protocol

from clawperator.phone.adb.streams import CORK_BYTES, READER_SECONDS, ServiceStream
from clawperator.phone.adb.wire import CLSE, OKAY, WRTE, PacketWriter, Payload

# The protocol allows one packet, but adb sends all it has left without waiting when its client disconnects.
MAX_WAITING = 16

_PIECE = 128 * 1024  # a write up to this size is never interleaved with another thread's
_PENDING = 64 * 1024  # bytes waiting for the peer before a writer waits too


class AdbdTransport(Protocol):
    """The part of a connection that its streams use."""

    max_payload: int
    writer: PacketWriter

    def stream_closed(self, stream: "AdbdStream") -> None:
        """Called when the stream is closed."""

    def service_ended(self, stream: "AdbdStream") -> None:
        """Called when the service of the stream has ended."""

    def count_unread(self, size: int) -> int:
        """Add to the number of bytes that services have not read yet, and return it."""
        ...


class AdbdStream(ServiceStream):
    """A stream of a connection. At most one packet of ours waits for its acknowledgement."""

    def __init__(self, connection: AdbdTransport, local_id: int, remote_id: int) -> None:
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
