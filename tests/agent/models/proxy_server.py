"""A proxy on loopback that opens tunnels to one port, or refuses to."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tests.support.hanging import HANG_SECONDS


class ProxyServer:
    def __init__(self, target: int, answer: bytes) -> None:
        self._target = target
        self._answer = answer
        self.heads: list[bytes] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._threads: list[threading.Thread] = []
        self._start(self._accept)

    def _start(self, work: object, *args: object) -> None:
        thread = threading.Thread(target=work, args=args, daemon=True)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self._start(self._serve, client)

    def _serve(self, client: socket.socket) -> None:
        with suppress(OSError), client:
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                byte = client.recv(1)
                if not byte:
                    return
                head += byte
            self.heads.append(head)
            client.sendall(self._answer)
            if b" 200 " not in self._answer:
                return
            with socket.create_connection(("127.0.0.1", self._target)) as server:
                back = threading.Thread(target=_copy, args=(server, client), daemon=True)
                back.start()
                _copy(client, server)
                back.join(HANG_SECONDS)

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(HANG_SECONDS)


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while block := source.recv(65_536):
            target.sendall(block)
        target.shutdown(socket.SHUT_WR)


@contextmanager
def proxy_server(
    target: int, answer: bytes = b"HTTP/1.1 200 Connection established\r\n\r\n"
) -> Iterator[ProxyServer]:
    proxy = ProxyServer(target, answer)
    try:
        yield proxy
    finally:
        proxy.close()
