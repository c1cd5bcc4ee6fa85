"""HTTP/1.1 connections: limits on their number and on the time for a request's head, typed refusals."""

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from clawperator.errors import ClawError
from clawperator.serve.http.errors import encode, error_document, status_of

MAX_CONNECTIONS = 1_024
HEAD_SECONDS = 10.0


class GuardedProtocol(H11Protocol):
    """A connection. One that sends nothing, or half a request, is closed after ``HEAD_SECONDS``."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > MAX_CONNECTIONS:
            self._refuse("SERVER_BUSY", f"the server has {MAX_CONNECTIONS} connections")
            return
        self._start_timer()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._awaits_request():
            self._start_timer()
        else:
            self._stop_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def _awaits_request(self) -> bool:
        """Whether the server waits for more of a request's head, or for the rest of a body that it refused."""
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is None or cycle.response_complete

    def _start_timer(self) -> None:
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(HEAD_SECONDS, self._expire)

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _expire(self) -> None:
        self._head_timer = None
        if not self.transport.is_closing() and self._awaits_request():
            self._refuse("REQUEST_TIMEOUT", f"no request arrived within {HEAD_SECONDS:g} s")

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP."""
        self._refuse("INVALID_HTTP", msg.removesuffix(".").lower())

    def _refuse(self, code: str, message: str) -> None:
        body = encode(error_document(ClawError(code, message, operation="serve")))
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
        ]
        try:
            for event in (
                h11.Response(status_code=status_of(code), headers=headers),
                h11.Data(data=body),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event) or b"")
        except h11.LocalProtocolError:  # a response has begun
            pass
        self.transport.close()
