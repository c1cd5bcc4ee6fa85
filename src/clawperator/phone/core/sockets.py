"""Sockets on the phone, for ``adb forward``.

Code in the same process listens under a name such as ``localabstract:my_service`` or ``tcp:8080``. The socket
``localabstract:echo`` always exists; it returns what it receives.
"""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress

ECHO = "localabstract:echo"
_MAX_OPEN = 64
_IDLE_SECONDS = 600.0

Serve = Callable[[socket.socket], None]


class SocketChannel:
    """One end of a connection."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end

    def read(self, size: int, /) -> bytes:
        try:
            return self._end.recv(size)
        except OSError:
            return b""

    def write(self, data: bytes, /) -> None:
        self._end.sendall(data)

    def close(self) -> None:
        with suppress(OSError):
            self._end.shutdown(socket.SHUT_RDWR)
        self._end.close()


class Sockets:
    """The listening sockets of one phone."""

    def __init__(self) -> None:
        self._listeners: dict[str, Serve] = {ECHO: _echo}
        self._lock = threading.Lock()
        self._open = 0

    def listen(self, name: str, serve: Serve) -> None:
        """Listen under a name. ``serve`` runs in its own thread for each connection."""
        with self._lock:
            self._listeners[name] = serve

    def connect(self, name: str) -> SocketChannel | None:
        """Connect to a name. None when nothing listens there or too many connections are open."""
        with self._lock:
            serve = self._listeners.get(name)
            if serve is None or self._open >= _MAX_OPEN:
                return None
            self._open += 1
        near, far = socket.socketpair()
        far.settimeout(_IDLE_SECONDS)

        def run() -> None:
            with suppress(OSError), far:
                serve(far)
            with self._lock:
                self._open -= 1

        threading.Thread(target=run, name="device socket", daemon=True).start()
        return SocketChannel(near)


def _echo(end: socket.socket) -> None:
    while data := end.recv(65_536):
        end.sendall(data)
