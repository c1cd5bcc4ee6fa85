"""The connection to a model's service: a socket that waits in short slices, so that a cancellation is seen."""

import io
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from msgspec import Struct

from clawperator.agent.cancellation import TurnDeadline
from clawperator.agent.models.config import BaseUrl
from clawperator.errors import ClawError

_SLICE = 0.1
_BLOCK = 65_536


class ModelTimeouts(Struct, frozen=True):
    """Seconds to wait: for a connection, for the next bytes, for a whole reply; and before each further try."""

    connect: float = 10.0
    idle: float = 60.0
    reply: float = 600.0
    pauses: tuple[float, ...] = (0.5, 1.5)


class CancellableSocket:
    """As much of a socket as HTTP needs. ``TimeoutError`` when nothing moves, or ``end`` has come."""

    def __init__(self, opened: socket.socket, deadline: TurnDeadline, timeouts: ModelTimeouts, end: float) -> None:
        self._socket = opened
        self._deadline = deadline
        self._idle = timeouts.idle
        self._end = end

    def sendall(self, data: Any) -> None:
        left = memoryview(data)
        while left:
            left = left[self._wait_for(partial(self._socket.send, left[:_BLOCK])) :]

    def makefile(self, mode: str) -> io.BufferedReader:
        assert mode == "rb"
        return io.BufferedReader(_Incoming(self))

    def receive(self, buffer: Any) -> int:
        return self._wait_for(partial(self._socket.recv_into, buffer))

    def close(self) -> None:
        """Nothing yet: HTTP lets go of its connection while the reply is still to be read."""

    def hang_up(self) -> None:
        with suppress(OSError):
            self._socket.close()

    def _wait_for(self, work: Callable[[], int]) -> int:
        end = min(self._end, time.monotonic() + self._idle)
        while True:
            self._deadline.check()
            left = end - time.monotonic()
            if left <= 0:
                raise TimeoutError
            self._socket.settimeout(min(left, _SLICE))
            with suppress(TimeoutError):
                return work()


class _Incoming(io.RawIOBase):
    """What comes over a wire, as a file."""

    def __init__(self, wire: CancellableSocket) -> None:
        super().__init__()
        self._wire = wire

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._wire.receive(buffer)


def connect(base_url: BaseUrl, deadline: TurnDeadline, timeouts: ModelTimeouts) -> socket.socket:
    """A connection, with TLS if the base_url says so. ``OSError`` when it cannot be made."""
    deadline.check()
    opened = socket.create_connection(
        (base_url.host, base_url.port), max(deadline.within(timeouts.connect), 0.001)
    )
    try:
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return _secured(opened, base_url) if base_url.secure else opened
    except BaseException:
        opened.close()
        raise


def _secured(opened: socket.socket, base_url: BaseUrl) -> socket.socket:
    import ssl

    try:
        return ssl.create_default_context().wrap_socket(opened, server_hostname=base_url.host)
    except ssl.SSLCertVerificationError as e:
        raise ClawError(
            "BRAIN_UNAVAILABLE",
            f"the certificate of {base_url} is not trusted: {e.verify_message}",
            hint="Name the file of your own authority with 'export SSL_CERT_FILE=FILE'.",
            operation="connect",
            target=str(base_url),
        ) from e
