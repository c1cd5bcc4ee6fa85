"""A conversation between a peer and one service of the phone, whichever door it came through."""

import select
import socket
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from clawperator.phone.adb.wire import Payload, send_all

# A reader may pause: a log in a pager stands still for minutes. After this it has forgotten us.
PATIENCE_SECONDS = 600.0
# How long a command may go on by itself when its peer has gone.
GRACE_SECONDS = 30.0

# Until a service reads, ends, or has taken this long, what it says is kept back: what belongs together then
# travels together, and a short command costs its peer one wake-up instead of four.
CORK_SECONDS = 0.002
CORK_BYTES = 16 * 1024

_RECEIVE = 64 * 1024
_INBOX = 256 * 1024
# The peer has closed its end, even while there is more of it to read.
_HUNG_UP = getattr(select, "POLLRDHUP", select.POLLHUP)


class Stream(ABC):
    """Bytes both ways. One thread reads, any thread writes, and a door tells it what comes from the peer.

    ``gone`` is set when the peer has hung up, ``given_up`` some time later, or at once when the phone stops:
    a command that may finish its work without a peer watches the second.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition(threading.Lock())
        self._inbox: deque[Payload] = deque()
        self._piece = memoryview(b"")
        self._ended = False
        self._corked = True
        self.gone = threading.Event()
        self.given_up = threading.Event()

    def read(self, size: int) -> bytes:
        """Up to ``size`` bytes, as soon as there are any; empty when the peer has hung up."""
        if not self._piece:
            if self._corked and not self._inbox:
                self.uncork()
            with self._changed:
                while not self._inbox:
                    if self._ended:
                        return b""
                    self._changed.wait()  # a door hangs up for every peer it loses
                self._piece = memoryview(self._inbox.popleft())
                self._taken(len(self._piece))
        data = bytes(self._piece[:size])
        self._piece = self._piece[size:]
        return data

    def read_exactly(self, size: int) -> bytes:
        """``size`` bytes, or ``EOFError``."""
        data = self.read(size) if size else b""
        if len(data) == size:
            return data
        parts = [data]
        missing = size - len(data)
        while missing:
            if not (data := self.read(missing)):
                raise EOFError
            parts.append(data)
            missing -= len(data)
        return b"".join(parts)

    def hang_up(self) -> None:
        """The peer says no more."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        self.gone.set()

    def give_up(self) -> None:
        self.hang_up()
        self.given_up.set()

    @abstractmethod
    def accept(self) -> None:
        """The service is there."""

    @abstractmethod
    def refuse(self, reason: str) -> None:
        """There is no such service. Nothing follows."""

    @abstractmethod
    def write(self, data: bytes) -> None:
        """Send all of ``data``, or raise ``BrokenPipeError``."""

    @abstractmethod
    def finish(self) -> None:
        """The service has said all it had to say."""

    @abstractmethod
    def uncork(self) -> None:
        """Send what was kept back, and keep nothing back from now on."""

    @abstractmethod
    def _taken(self, size: int) -> None:
        """A piece of the inbox was taken; called with the lock held."""


class SocketStream(Stream):
    """A service over a plain socket, as clients of an adb server see it. ``pump`` must run in a second thread."""

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
            self.hang_up()
            raise BrokenPipeError

    def uncork(self) -> None:
        with self._writing:
            if self._corked and not self._finished.is_set():
                self._send(b"")

    def finish(self) -> None:
        with self._writing:
            self._send(b"")
            # Only our half: closing while the peer still sends would take from it what it has not read yet.
            with suppress(OSError):
                self._sock.shutdown(socket.SHUT_WR)
            self._finished.set()
        with self._changed:
            self._changed.notify_all()

    def pump(self) -> None:
        """Hand the service what the peer sends, until both are done. The socket may be closed afterwards."""
        deadline = 0.0
        if not _has(self._sock, select.POLLIN, CORK_SECONDS):
            self.uncork()
        while data := self._receive():
            if not self._offer(data):
                deadline = deadline or time.monotonic() + GRACE_SECONDS
                if time.monotonic() > deadline:
                    break
        self.hang_up()
        if not self._finished.wait(GRACE_SECONDS):
            self.give_up()
            self._finished.wait(GRACE_SECONDS)
        with suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)  # ends a write that still waits
        with self._writing:
            self._finished.set()

    def _send(self, data: bytes) -> bool:
        """Send what was kept back, and ``data`` after it."""
        self._corked = False
        if self._held:
            data = bytes(self._held) + data
            self._held.clear()
        try:
            send_all(self._sock, data, PATIENCE_SECONDS)
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

    def _offer(self, data: bytes) -> bool:
        """Put what came where the service finds it; False when nobody wants it any more."""
        with self._changed:
            while self._unread > _INBOX and not self._finished.is_set():
                if not self._changed.wait(GRACE_SECONDS) and _has(self._sock, _HUNG_UP):
                    break
            else:
                if self._finished.is_set():
                    return False
                self._inbox.append(data)
                self._unread += len(data)
                self._changed.notify_all()
                return True
        self.give_up()
        return False

    def _taken(self, size: int) -> None:
        self._unread -= size
        self._changed.notify_all()


def _has(sock: socket.socket, event: int, seconds: float = 0.0) -> bool:
    """Whether one of these things has happened to a socket, or does so soon."""
    poll = select.poll()
    poll.register(sock, event)
    return bool(poll.poll(seconds * 1000))
