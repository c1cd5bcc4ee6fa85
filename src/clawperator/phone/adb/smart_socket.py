"""The words of the adb server protocol: four hex digits of length and a text, ``OKAY`` and ``FAIL``."""

import socket
import time

MAX_REQUEST = 0xFFFF
REQUEST_SECONDS = 60.0  # a request must be whole by then


class Failure(Exception):  # noqa: N818 - the protocol's own word
    """The answer is FAIL, with this text."""


def read_request(sock: socket.socket) -> bytes | None:
    """What a client asks; None when it says no more. ``Failure`` when it is no request."""
    deadline = time.monotonic() + REQUEST_SECONDS
    length = _read(sock, 4, deadline)
    if not length:
        return None
    try:
        size = int(length, 16) if length.isalnum() else -1
    except ValueError:
        size = -1
    if size < 0 or len(length) < 4:
        raise Failure("not a request")
    request = _read(sock, size, deadline)
    return request if len(request) == size else None


def _read(sock: socket.socket, size: int, deadline: float) -> bytes:
    data = b""
    while len(data) < size:
        sock.settimeout(max(deadline - time.monotonic(), 0.001))
        more = sock.recv(size - len(data))
        if not more:
            break
        data += more
    return data


def text(value: str | bytes) -> bytes:
    """A text with its length, cut where the length has no more digits."""
    data = (value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value)[:MAX_REQUEST]
    return b"%04x%s" % (len(data), data)


def okay(value: str) -> bytes:
    return b"OKAY" + text(value)


def fail(reason: str) -> bytes:
    return b"FAIL" + text(reason)
