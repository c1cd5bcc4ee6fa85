"""An adb server that sends scripted answers, valid or not."""

import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress

from clawperator.device.adb.client import Device, Endpoint
from tests.support.hanging import HANG_SECONDS, NEVER_SECONDS

LOCALHOST = "127.0.0.1"
SECONDS = HANG_SECONDS
OKAY = b"OKAY"


class Pause:
    """In place of an answer: say nothing more, and keep the connection."""


def text(answer: str) -> bytes:
    return b"OKAY%04x" % len(answer.encode()) + answer.encode()


def refusal(reason: str) -> bytes:
    return b"FAIL%04x" % len(reason.encode()) + reason.encode()


def packet(kind: int, data: bytes) -> bytes:
    """A piece of the shell protocol: 1 is output, 2 the output of errors, 3 the exit code."""
    return bytes([kind]) + len(data).to_bytes(4, "little") + data


@contextmanager
def scripted(*answers: bytes | Pause, after: bytes = b"") -> Iterator[Device]:
    """A phone whose server takes requests, gives each its answer, and then hangs up. Each connection is the same.

    ``after`` follows the last answer at once.
    """
    with socket.create_server((LOCALHOST, 0)) as listener:
        listener.settimeout(SECONDS)
        over = threading.Event()
        thread = threading.Thread(target=_serve, args=(listener, answers, after, over), daemon=True)
        thread.start()
        try:
            yield Device("scripted", Endpoint(LOCALHOST, listener.getsockname()[1]))
        finally:
            over.set()
            with suppress(OSError):
                socket.create_connection(listener.getsockname(), 1).close()
            thread.join(SECONDS)


def _serve(listener: socket.socket, answers: Iterable[bytes | Pause], after: bytes, over: threading.Event) -> None:
    while not over.is_set():
        with suppress(OSError, ValueError), listener.accept()[0] as peer:
            peer.settimeout(SECONDS)
            for answer in answers:
                if isinstance(answer, Pause):
                    over.wait(NEVER_SECONDS)
                    break
                read_exactly(peer, int(read_exactly(peer, 4), 16))
                peer.sendall(answer)
            else:
                peer.sendall(after)
                _hang_up(peer)


@contextmanager
def answering(
    answer: Callable[[str], bytes | Pause], address: tuple[str, int] | str = (LOCALHOST, 0)
) -> Iterator[socket.socket]:
    """A server that answers each request by its text, on the loopback or on a unix socket. Yields its listener."""
    unix = isinstance(address, str)
    family = socket.AF_UNIX if unix else socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    with socket.socket(family) as listener:
        listener.bind(address)
        listener.listen()
        listener.settimeout(SECONDS)
        over = threading.Event()
        thread = threading.Thread(target=_answer, args=(listener, answer, over), daemon=True)
        thread.start()
        try:
            yield listener
        finally:
            over.set()
            with suppress(OSError), socket.socket(family) as last:
                last.connect(listener.getsockname())
            thread.join(SECONDS)


def _answer(listener: socket.socket, answer: Callable[[str], bytes | Pause], over: threading.Event) -> None:
    while not over.is_set():
        with suppress(OSError, ValueError), listener.accept()[0] as peer:
            peer.settimeout(SECONDS)
            while not over.is_set():
                given = answer(read_exactly(peer, int(read_exactly(peer, 4), 16)).decode())
                if isinstance(given, Pause):
                    over.wait(NEVER_SECONDS)
                    break
                peer.sendall(given)


def _hang_up(peer: socket.socket) -> None:
    """Close gracefully: closing with unread input would reset the connection and discard the last answer."""
    peer.shutdown(socket.SHUT_WR)
    peer.settimeout(0.2)
    while peer.recv(65_536):
        pass


def read_exactly(peer: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        block = peer.recv(size - len(data))
        if not block:
            raise ConnectionError
        data += block
    return data
