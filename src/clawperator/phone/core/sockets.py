"""Sockets on the phone, for ``adb forward``: ``localabstract:echo`` returns what it receives."""

import socket
import threading
from contextlib import suppress

ECHO = "localabstract:echo"
_MAX_OPEN = 64
_IDLE_SECONDS = 600.0


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
        self._lock = threading.Lock()
        self._open = 0

    def connect(self, name: str) -> SocketChannel | None:
        """Connect to a socket by name. None when there is none or too many connections are open."""
        with self._lock:
            if name != ECHO or self._open >= _MAX_OPEN:
                return None
            self._open += 1
        near, far = socket.socketpair()
        far.settimeout(_IDLE_SECONDS)

        def run() -> None:
            with suppress(OSError), far:
                _echo(far)
            with self._lock:
                self._open -= 1

        threading.Thread(target=run, name="device socket", daemon=True).start()
        return SocketChannel(near)


def _echo(end: socket.socket) -> None:
    while data := end.recv(65_536):
        end.sendall(data)
