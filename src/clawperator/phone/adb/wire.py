"""Packets of the adbd transport, between an adb server and a phone."""

import select
import socket
import threading
import time
from contextlib import suppress
from struct import Struct

import msgspec

from clawperator.errors import ClawperatorException

CNXN = int.from_bytes(b"CNXN", "little")
AUTH = int.from_bytes(b"AUTH", "little")
OPEN = int.from_bytes(b"OPEN", "little")
OKAY = int.from_bytes(b"OKAY", "little")
WRTE = int.from_bytes(b"WRTE", "little")
CLSE = int.from_bytes(b"CLSE", "little")

VERSION = 0x01000001  # from this version on, checksums are not used
MAX_PAYLOAD = 1024 * 1024
MAX_PAYLOAD_OLD = 256 * 1024  # for peers that use checksums
MIN_PAYLOAD = 4096  # every adb accepts at least this

STALL_SECONDS = 30.0  # a peer that reads no byte for so long is disconnected
PACKET_SECONDS = 60.0  # a packet must be complete by then

_HEADER = Struct("<6I")
_BUFFER = 64 * 1024
_JOIN_BELOW = 16 * 1024  # a smaller payload is cheaper to copy than to pass separately
_ALL = 0xFFFFFFFF
# Some peers send half a message and wait for its acknowledgement, which the system delays by up to 40 ms.
_ACKNOWLEDGE_NOW = getattr(socket, "TCP_QUICKACK", None)

Payload = bytes | bytearray


class WireError(ClawperatorException):
    """The peer violates the protocol; nothing after this can be parsed."""


class Packet(msgspec.Struct, frozen=True):
    command: int
    arg0: int
    arg1: int
    payload: Payload


def checksum(payload: Payload | memoryview) -> int:
    return sum(payload) & _ALL


class PacketReader:
    """Reads a peer's packets. ``limit`` and ``checks`` are set after the handshake."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._buffer = bytearray(_BUFFER)
        self._view = memoryview(self._buffer)
        self._start = self._end = 0
        self._deadline = 0.0  # for the packet being read; zero between packets
        self.limit = MAX_PAYLOAD_OLD
        self.checks = False

    def read(self) -> Packet | None:
        """The next packet; None when the peer has closed the connection.

        ``TimeoutError`` when nothing came within the socket's timeout; the next call may succeed.
        ``WireError`` when the data is not a packet, or only the beginning of one.
        """
        if not self._fill():
            return None
        command, arg0, arg1, size, check, magic = _HEADER.unpack_from(self._buffer, self._start)
        if command ^ magic != _ALL:
            raise WireError("not a packet")
        if size > self.limit:
            raise WireError("a packet larger than agreed")
        self._start += _HEADER.size
        payload = self._payload(size) if size else b""
        if self.checks and check != checksum(payload):
            raise WireError("a packet with a wrong checksum")
        return Packet(command, arg0, arg1, payload)

    def has_more(self, seconds: float) -> bool:
        """Whether data is there, or arrives within the time."""
        return self._end > self._start or has_event(self._sock, select.POLLIN, seconds)

    def _fill(self) -> bool:
        """Read a whole header into the buffer; False when the peer closes before its first byte."""
        held = self._end - self._start
        if held >= _HEADER.size:
            self._deadline = 0.0
            return True
        self._view[:held] = self._view[self._start : self._end]
        self._start, self._end = 0, held
        self._deadline = time.monotonic() + PACKET_SECONDS if held else 0.0
        while self._end < _HEADER.size:
            got = self._receive(self._view[self._end :])
            if not got and not self._end:
                return False
            self._end += self._nonzero(got)
        return True

    def _payload(self, size: int) -> Payload:
        held = min(size, self._end - self._start)
        begun = self._buffer[self._start : self._start + held]
        self._start += held
        if held == size:
            return begun
        self._deadline = self._deadline or time.monotonic() + PACKET_SECONDS
        whole = bytearray(size)
        whole[:held] = begun
        with memoryview(whole) as view:
            while held < size:
                held += self._nonzero(self._receive(view[held:]))
        return whole

    def _receive(self, into: memoryview) -> int:
        if self._deadline and time.monotonic() > self._deadline:
            raise WireError("half a packet")
        try:
            got = self._sock.recv_into(into)
        except TimeoutError:
            if self._deadline:
                raise WireError("half a packet") from None
            raise
        if not self._deadline:
            self._deadline = time.monotonic() + PACKET_SECONDS
        if got and _ACKNOWLEDGE_NOW is not None:
            self._sock.setsockopt(socket.IPPROTO_TCP, _ACKNOWLEDGE_NOW, 1)
        return got

    @staticmethod
    def _nonzero(got: int) -> int:
        if not got:
            raise WireError("half a packet")
        return got


class PacketWriter:
    """Writes packets to a peer from any thread, each whole. A peer that stops reading is disconnected."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._lock = threading.Lock()
        self.closed = False
        self.checks = True  # until the handshake shows that the peer needs none

    def send(self, command: int, arg0: int, arg1: int, payload: Payload | memoryview = b"") -> None:
        """Send one packet. ``BrokenPipeError`` when the connection is closed."""
        header = self.head(command, arg0, arg1, payload)
        if len(payload) < _JOIN_BELOW:
            self.send_packed(header + payload)
        else:
            self.send_packed(header, payload)

    def head(self, command: int, arg0: int, arg1: int, payload: Payload | memoryview = b"") -> bytes:
        """The header of a packet."""
        check = checksum(payload) if self.checks and payload else 0
        return _HEADER.pack(command, arg0, arg1, len(payload), check, command ^ _ALL)

    def send_packed(self, packets: bytes, payload: Payload | memoryview = b"") -> None:
        """Send whole packets; the payload of the last may be passed separately."""
        with self._lock:
            if self.closed:
                raise BrokenPipeError
            try:
                sent = self._sock.sendmsg((packets, payload)) if payload else 0
                send_all(self._sock, packets[sent:])
                send_all(self._sock, memoryview(payload)[max(sent - len(packets), 0) :])
            except OSError:
                self.closed = True
                with suppress(OSError):
                    self._sock.shutdown(socket.SHUT_RDWR)
                raise BrokenPipeError from None

    def close(self) -> None:
        """Send nothing more. A waiting send is ended."""
        with suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)
        with self._lock:
            self.closed = True


def has_event(sock: socket.socket, event: int, seconds: float = 0.0) -> bool:
    """Whether a poll event has occurred on a socket, or occurs within the time."""
    poll = select.poll()
    poll.register(sock, event)
    return bool(poll.poll(seconds * 1000))


def send_all(sock: socket.socket, data: bytes | bytearray | memoryview, stall_seconds: float = 0.0) -> None:
    """Like ``sendall``, but the timeout restarts with each piece that the peer takes.

    The timeout is that of the socket, or ``stall_seconds`` where that is longer.
    """
    view = memoryview(data)
    while view:
        began = time.monotonic()
        while True:
            try:
                view = view[sock.send(view) :]
                break
            except TimeoutError:
                if time.monotonic() - began >= stall_seconds:
                    raise
