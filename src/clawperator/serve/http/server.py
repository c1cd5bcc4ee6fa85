"""Bind an address, serve the application within limits of connections, and stop gracefully."""

import asyncio
import contextlib
import errno
import logging
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Any

import h11
import uvicorn
from msgspec import Struct
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from clawperator._base.deadline import Deadline
from clawperator._base.files import why
from clawperator._base.typed import encode_document
from clawperator.contract.limits import HOST_GRACE_MS
from clawperator.device.run.host_log import log_event
from clawperator.errors import ClawError
from clawperator.serve.access import ServerAccess
from clawperator.serve.http.app import HttpApp, MountedApp
from clawperator.serve.http.auth import Address, Guard, default_token_file, is_loopback, load_token
from clawperator.serve.http.errors import error_document, status_of
from clawperator.serve.http.sse import EventLimits

MAX_CONNECTIONS = 1_024
HEAD_SECONDS = 10.0
# How long running executions may finish after a request to stop, and then how long they may take to end.
GRACE_SECONDS = 10.0
_END_SECONDS = 2
_KEEP_ALIVE_SECONDS = 75
# How long data may wait for a client that does not read, before the system closes the connection.
_UNREAD_MS = 30_000


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
        body = encode_document(error_document(ClawError(code, message, operation="serve")))
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
        ]
        try:
            response = h11.Response(status_code=status_of(code), headers=headers)
            for event in (response, h11.Data(data=body), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        except h11.LocalProtocolError:  # a response has begun
            pass
        self.transport.close()


class ServeOptions(Struct, frozen=True, kw_only=True):
    host: str = "127.0.0.1"
    port: int = 3000
    allow_remote: bool = False
    token_file: str | None = None
    grace_seconds: float = GRACE_SECONDS


class HttpServer:
    """A bound server. ``run`` serves until ``stop``, SIGINT or SIGTERM, and returns after a graceful stop."""

    def __init__(
        self,
        access: ServerAccess,
        options: ServeOptions,
        *,
        mounts: Sequence[MountedApp] = (),
        limits: EventLimits | None = None,
    ) -> None:
        self.token_file = options.token_file or default_token_file()
        if not is_loopback(options.host) and not options.allow_remote:
            message = f"the host {options.host} can be reached from other computers"
            hint = "Add --allow-remote to serve them, or leave --host out."
            raise ClawError("USAGE", message, hint=hint, operation="serve", target=options.host)
        token = load_token(self.token_file)
        self._socket = _bind(options.host, options.port)
        names = () if is_loopback(options.host) else (socket.gethostname().lower(),)
        self.address = Address(options.host, self._socket.getsockname()[1], names)
        self.app = HttpApp(
            access, Guard(token, self.address, os.path.abspath(self.token_file)), mounts=mounts, limits=limits
        )
        self._server = _GracefulServer(self.app, options.grace_seconds)

    def new_page_url(self) -> str:
        """Return an address that signs one browser in, once and within a minute, by the code in its fragment."""
        return f"{self.address.url}#{self.app.guard.codes.issue()}"

    def run(self, on_started: Callable[[], None] = lambda: None) -> None:
        """Serve until the server is stopped. ``on_started`` is called when connections are accepted."""
        log_event("serve.server.started", port=self.address.port, host=self.address.host)
        self._server.on_started = on_started
        try:
            self._server.run(sockets=[self._socket])
        finally:
            self._socket.close()

    def stop(self) -> None:
        """Stop gracefully. May be called from any thread."""
        self._server.should_exit = True


def _bind(host: str, port: int) -> socket.socket:
    with contextlib.ExitStack() as stack:
        try:
            family, kind, protocol, _, where = socket.getaddrinfo(
                host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )[0]
            bound = stack.enter_context(socket.socket(family, kind, protocol))
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if hasattr(socket, "TCP_USER_TIMEOUT"):
                bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _UNREAD_MS)
            bound.bind(where)
            bound.listen(256)
        except (OSError, ValueError) as e:
            raise _not_bound(host, port, e) from e
        stack.pop_all()  # it stays open
        return bound


def _not_bound(host: str, port: int, error: OSError | ValueError) -> ClawError:
    number = error.errno if isinstance(error, OSError) else None
    message = f"cannot listen on port {port} of {host}: {why(error)}"
    if number == errno.EADDRINUSE:
        message = f"port {port} of {host} is in use"
    hint = "Check the address of --host."
    if number in (errno.EADDRINUSE, errno.EACCES):
        hint = "Choose another port: run 'clawperator serve --port 0' to use any free one."
    details, target = {"host": host, "port": port}, f"{host}:{port}"
    return ClawError("SERVER_START_FAILED", message, hint=hint, details=details, operation="serve", target=target)


class _GracefulServer(uvicorn.Server):
    """uvicorn, with our signal handling: a signal ends the server, not the process that runs it."""

    def __init__(self, app: HttpApp, grace_seconds: float) -> None:
        config = uvicorn.Config(
            app,
            http=GuardedProtocol,
            ws="none",
            loop="asyncio",
            lifespan="on",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=_KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=int(grace_seconds) + _END_SECONDS,
        )
        super().__init__(config)
        # What matters is in the host log; uvicorn would write to stderr.
        for name in ("uvicorn", "uvicorn.error", "uvicorn.access", "uvicorn.asgi"):
            logger = logging.getLogger(name)
            logger.addHandler(logging.NullHandler())
            logger.propagate = False
        self.on_started: Callable[[], None] = lambda: None
        self._app = app
        self._grace_seconds = grace_seconds

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        remaining = Deadline(None).remaining  # --timeout and its grace, in which the server stops
        if remaining is not None:
            asyncio.get_running_loop().call_later(remaining - HOST_GRACE_MS / 1000, self.handle_exit, 0, None)
        self.on_started()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Refuse requests, end streams, let executions finish, then end those that still run."""
        self._app.stop()
        workers = self._app.services.workers
        timer = asyncio.get_running_loop().call_later(self._grace_seconds, workers.stopping.set)
        try:
            await super().shutdown(sockets)
        finally:
            timer.cancel()
        workers.stopping.set()
        await workers.drain(_END_SECONDS)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        handled = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, self.handle_exit) for number in handled}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 - uvicorn's interface
        """The first signal stops gracefully, the next one at once."""
        if self.should_exit:
            self.force_exit = True
            self._app.services.workers.stopping.set()
        self.should_exit = True
