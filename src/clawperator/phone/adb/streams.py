"""The stream between a peer and one service of the phone, for both adb endpoints."""

import select
import socket
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from clawperator.phone.adb.wire import Payload, has_event, send_all

# A reader may pause for minutes, for example in a pager. After this time the stream is closed.
READER_SECONDS = 600.0
# How long a command may continue after its peer has disconnected.
GRACE_SECONDS = 30.0

# Output is held back until the service reads, ends, or this much time or data has accumulated, so that a short
# command costs its peer one wake-up instead of four.
CORK_SECONDS = 0.002
CORK_BYTES = 16 * 1024

_RECEIVE = 64 * 1024
_INBOX = 256 * 1024
# The peer has closed its end, even while unread data is left.
_PEER_CLOSED = getattr(select, "POLLRDHUP", select.POLLHUP)


class ServiceStream(ABC):
    """Bytes both ways. One thread reads, any thread writes, and the endpoint delivers what the peer sends.

    ``disconnected`` is set when the peer has closed the stream, ``abandoned`` some time later, or at once when
    the phone stops: a command that may finish its work without a peer watches the second.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition(threading.Lock())
        self._inbox: deque[Payload] = deque()
        self._piece = memoryview(b"")
        self._ended = False
        self._corked = True
        self.disconnected = threading.Event()
        self.abandoned = threading.Event()

    def read(self, size: int) -> bytes:
        """Up to ``size`` bytes, as soon as there are any; empty at the end."""
        if not self._piece:
            if self._corked and not self._inbox:
                self.uncork()
            with self._changed:
                while not self._inbox:
                    if self._ended:
                        return b""
                    self._changed.wait()  # end_input() is called for every lost peer
                self._piece = memoryview(self._inbox.popleft())
                self._consumed(len(self._piece))
        data = bytes(self._piece[:size])
        self._piece = self._piece[size:]
        return data

    def read_exactly(self, size: int) -> bytes:
        """``size`` bytes, or ``EOFError``."""
        parts = []
        while size:
            if not (data := self.read(size)):
                raise EOFError
            parts.append(data)
            size -= len(data)
        return b"".join(parts)

    def end_input(self) -> None:
        """The peer sends nothing more."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        self.disconnected.set()

    def abandon(self) -> None:
        """The service must end now."""
        self.end_input()
        self.abandoned.set()

    @abstractmethod
    def accept(self) -> None:
        """Report to the peer that the service is open."""

    @abstractmethod
    def refuse(self, reason: str) -> None:
        """Report to the peer that there is no such service. Nothing follows."""

    @abstractmethod
    def write(self, data: bytes) -> None:
        """Send all of ``data``, or raise ``BrokenPipeError``."""

    @abstractmethod
    def finish(self) -> None:
        """The service has ended: send what is left and close the stream."""

    @abstractmethod
    def uncork(self) -> None:
        """Send the output held back, and hold nothing back from now on."""

    @abstractmethod
    def _consumed(self, size: int) -> None:
        """A piece of the inbox was taken; called with the lock held."""


class SocketStream(ServiceStream):
    """A service over a plain socket, for clients of the adb server. ``pump`` must run in a second thread."""

    def __init__(self, sock: socket.socket, fail: Callable[[str], bytes]) -> None:
        super().__init__()
        self._sock = sock
        self._fail = fail
        self._unread = 0
        self._finished = threading.Event()
        self._writing = threading.Lock()
        self._held = bytearray()
        sock.settimeout(GRACE_SECONDS)

    def accept(self) -> None:
        self.write(b"OKAY")

    def refuse(self, reason: str) -> None:
        with suppress(BrokenPipeError):
            self.write(self._fail(reason))

    def write(self, data: bytes) -> None:
        with self._writing:
            if self._finished.is_set():
                raise BrokenPipeError
            if self._corked and len(self._held) + len(data) <= CORK_BYTES:
                self._held += data
                return
            sent = self._send(data)
        if not sent:
            self.end_input()
            raise BrokenPipeError

    def uncork(self) -> None:
        with self._writing:
            if self._corked and not self._finished.is_set():
                self._send(b"")

    def finish(self) -> None:
        with self._writing:
            self._send(b"")
            # Close only our half: a full close while the peer sends would discard what it has not read yet.
            with suppress(OSError):
                self._sock.shutdown(socket.SHUT_WR)
            self._finished.set()
        with self._changed:
            self._changed.notify_all()

    def pump(self) -> None:
        """Deliver what the peer sends until both sides have finished. The socket may be closed afterwards."""
        deadline = 0.0
        if not has_event(self._sock, select.POLLIN, CORK_SECONDS):
            self.uncork()
        while data := self._receive():
            if not self._deliver(data):
                deadline = deadline or time.monotonic() + GRACE_SECONDS
                if time.monotonic() > deadline:
                    break
        self.end_input()
        if not self._finished.wait(GRACE_SECONDS):
            self.abandon()
            self._finished.wait(GRACE_SECONDS)
        with suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)  # ends a waiting write
        with self._writing:
            self._finished.set()

    def _send(self, data: bytes) -> bool:
        """Send the output held back, then ``data``."""
        self._corked = False
        if self._held:
            data = bytes(self._held) + data
            self._held.clear()
        try:
            send_all(self._sock, data, READER_SECONDS)
        except OSError:
            return False
        return True

    def _receive(self) -> bytes:
        while True:
            try:
                return self._sock.recv(_RECEIVE)
            except TimeoutError:
                if self._finished.is_set():
                    return b""
            except OSError:
                return b""

    def _deliver(self, data: bytes) -> bool:
        """Put data into the inbox; False when the service does not read any more."""
        with self._changed:
            while self._unread > _INBOX and not self._finished.is_set():
                if not self._changed.wait(GRACE_SECONDS) and has_event(self._sock, _PEER_CLOSED):
                    break
            else:
                if self._finished.is_set():
                    return False
                self._inbox.append(data)
                self._unread += len(data)
                self._changed.notify_all()
                return True
        self.abandon()
        return False

    def _consumed(self, size: int) -> None:
        self._unread -= size
        self._changed.notify_all()
