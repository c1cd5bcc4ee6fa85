"""A stream of the transport protocol: flow control, and the order in which a stream ends."""

import threading
from contextlib import suppress
from typing import Protocol

from clawperator.phone.adb.streams import CORK_BYTES, PATIENCE_SECONDS, Stream
from clawperator.phone.adb.wire import CLSE, OKAY, WRTE, PacketWriter, Payload

# One packet is allowed, but adb sends what it has left without waiting when its client hangs up.
MAX_WAITING = 16

_PIECE = 128 * 1024  # a write up to this size is never torn apart by another thread's
_PENDING = 64 * 1024  # bytes that wait for the peer before a writer does


class Connection(Protocol):
    """What a stream needs of the connection it is part of."""

    max_payload: int
    writer: PacketWriter

    def forget(self, stream: "AdbdStream") -> None:
        """The stream is closed."""

    def retire(self, stream: "AdbdStream") -> None:
        """The service of the stream has ended."""

    def count_unread(self, size: int) -> int:
        """Add to the bytes that no service has taken yet, and give their sum."""
        ...


class AdbdStream(Stream):
    """A stream of a connection. At most one packet of ours waits for its acknowledgement."""

    def __init__(self, connection: Connection, local_id: int, remote_id: int) -> None:
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

    def refuse(self, reason: str) -> None:  # noqa: ARG002 - the protocol has no place for a reason
        with self._changed:
            self._closed = True
            self._connection.forget(self)
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
            self._connection.retire(self)
            while self._inbox:  # nobody will read it, and the peer must not wait
                self._taken(len(self._inbox.popleft()))
            with suppress(BrokenPipeError):
                self._send_more()

    def acknowledge(self) -> None:
        """The peer has taken our packet: the next one may go."""
        with self._changed:
            self._in_flight = False
            self._send_more()
            self._changed.notify_all()

    def deliver(self, payload: Payload) -> bool:
        """Take what the peer has sent; False when too much of it waits already."""
        with self._changed:
            if self.finished.is_set():
                self._taken(len(payload))
            elif len(self._inbox) >= MAX_WAITING:
                return False
            else:
                self._inbox.append(payload)
                self._changed.notify_all()
            return True

    def close(self) -> None:
        """The peer has closed the stream, or is gone."""
        with self._changed:
            if not self._closed:
                self._closed = True
                self._pending.clear()
                self._connection.forget(self)
                with suppress(BrokenPipeError):
                    self._writer.send(CLSE, self.local_id, self.remote_id)
        self.hang_up()

    def give_up(self) -> None:
        super().give_up()
        self.close()

    def _write_piece(self, piece: memoryview) -> None:
        with self._changed:
            while len(self._pending) >= _PENDING and not self._closed:
                if not self._changed.wait(PATIENCE_SECONDS):
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
        """Send what may be sent now, in one go: the acceptance, what is pending, and the end of the stream."""
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
        # The last packet need not be acknowledged before the stream is closed: nothing can overtake it.
        if self.finished.is_set() and not self._pending:
            self._closed = True
            self._connection.forget(self)
            packets += self._writer.head(CLSE, *ids)
        if packets:
            self._writer.send_packed(packets)

    def _taken(self, size: int) -> None:
        self._connection.count_unread(-size)
        if not self._closed:
            with suppress(BrokenPipeError):
                self._writer.send(OKAY, self.local_id, self.remote_id)
