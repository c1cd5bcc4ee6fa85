"""Listening on loopback: each connection is served in a thread, and a bounded number of them at once."""

import errno
import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from clawperator.phone.adb.workers import Workers

STOP_SECONDS = 5.0

_BACKLOG = 128
_FULL_SECONDS = 0.05  # how long to wait when the system is out of descriptors
_PASSING = (errno.ECONNABORTED, errno.EINTR)
# Where shutting down a listening socket does not end a waiting accept, this does.
_LOOK_UP_SECONDS = 2.0


class Listener:
    """A loopback port. ``serve`` gets each connection, owns it until it returns, and need not close it.

    A peer must ``settle`` where the listener is ``wary``: while it has not said what it wants, it is sent away
    as soon as its place is needed, those who came first before the others.
    """

    def __init__(
        self, serve: Callable[[socket.socket], None], limit: int, name: str, *, wary: bool = False
    ) -> None:
        self._serve = serve
        self._limit = limit
        self._name = name
        # One that is sent away leaves soon, but not before the next comes in.
        self._workers = Workers(2 * limit if wary else limit, name)
        self._lock = threading.Lock()
        self._wary = wary
        self._live: set[socket.socket] = set()
        self._silent: dict[socket.socket, None] = {}  # the oldest first
        self._socket: socket.socket | None = None
        self._thread: threading.Thread | None = None
        self._stopped = threading.Event()

    def start(self, host: str, port: int) -> int:
        """Listen, and give the port; 0 asks for any free one. ``OSError`` when it cannot be had."""
        if not _is_loopback(host):
            # Nobody is asked for a key here, so nobody but this machine may come in.
            raise OSError(errno.EADDRNOTAVAIL, f"{os.strerror(errno.EADDRNOTAVAIL)}: {host} is not loopback")
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.create_server((host, port), family=family, backlog=_BACKLOG)
        listening.settimeout(_LOOK_UP_SECONDS)
        self._socket = listening
        self._thread = threading.Thread(target=self._accept, args=(listening,), name=self._name, daemon=True)
        self._thread.start()
        bound: int = listening.getsockname()[1]
        return bound

    def settle(self, sock: socket.socket) -> None:
        """The peer has said what it wants, and is not sent away any more."""
        with self._lock:
            self._silent.pop(sock, None)

    def disconnect(self) -> None:
        """End every connection; new ones are welcome."""
        with self._lock:
            for sock in self._live:
                _shut(sock)

    def stop(self, seconds: float = STOP_SECONDS) -> bool:
        """Stop listening, end every connection and wait for their threads; False when some did not end in time."""
        deadline = time.monotonic() + seconds
        self._stopped.set()
        if self._socket is not None and self._thread is not None:
            _shut(self._socket)
            self._thread.join(seconds)
            self._socket.close()
        self.disconnect()
        return self._workers.stop(max(deadline - time.monotonic(), 0.0))

    def _accept(self, listening: socket.socket) -> None:
        while not self._stopped.is_set():
            try:
                sock, _ = listening.accept()
            except TimeoutError:
                continue
            except OSError as e:
                if not self._stopped.is_set() and e.errno not in _PASSING:
                    time.sleep(_FULL_SECONDS)
                continue
            with self._lock:
                if len(self._live) >= self._limit:
                    self._make_room()
                welcome = not self._stopped.is_set() and len(self._live) < self._limit
                if welcome:
                    self._live.add(sock)
                    if self._wary:
                        self._silent[sock] = None
            if not welcome or not self._workers.submit(lambda sock=sock: self._run(sock)):  # type: ignore[misc]
                self._forget(sock)

    def _make_room(self) -> None:
        """Send away who has been silent for longest."""
        for sock in list(self._silent)[:1]:
            _shut(sock)
            del self._silent[sock]
            self._live.discard(sock)

    def _run(self, sock: socket.socket) -> None:
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            self._serve(sock)
        except OSError:
            pass  # the peer is gone, and with it all that could be told it
        finally:
            self._forget(sock)

    def _forget(self, sock: socket.socket) -> None:
        with self._lock:
            self._live.discard(sock)
            self._silent.pop(sock, None)
            sock.close()


def _is_loopback(host: str) -> bool:
    if host in {"localhost", "::1"}:
        return True
    try:
        return socket.inet_pton(socket.AF_INET, host)[0] == 127
    except OSError:
        return False


def _shut(sock: socket.socket) -> None:
    with suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)
