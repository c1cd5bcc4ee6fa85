"""The ASGI application: checks in front of everything, then routes, then other applications such as MCP."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any

from msgspec import Struct
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from clawperator._base.deadline import Deadline
from clawperator._base.notes import trace
from clawperator._base.typed import given
from clawperator.device.run.host_log import log_event
from clawperator.errors import ClawError
from clawperator.serve.access import ServerAccess
from clawperator.serve.http.auth import Guard
from clawperator.serve.http.calls import Services, Workers, perform
from clawperator.serve.http.documents import OnDevice, RanExecution
from clawperator.serve.http.errors import INTERNAL, DeviceFailure, error_response, success_response
from clawperator.serve.http.executions import naming_requests
from clawperator.serve.http.requests import (
    BODY_SECONDS,
    HttpRoute,
    headers_of,
    read_body,
    read_request,
    replayed,
    while_connected,
)
from clawperator.serve.http.routes import ROUTES
from clawperator.serve.http.sse import EventHub, EventLimits
from clawperator.serve.page.files import ASSET_FOLDER, ASSET_PATH, FileAnswer
from clawperator.serve.page.handlers import WaitForState
from clawperator.serve.page.live_recordings import LiveRecordings
from clawperator.serve.page.watched_screens import WatchedScreens, encode_state

_MOST_WAITING = 16
# Where the path of the route is kept for the log: a path as it was sent may hold anything.
_ROUTE_PATH = "clawperator.path"
_HEADERS = (
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
)
Lifespan = Callable[[], AbstractAsyncContextManager[None]]


class ReadTurns:
    """One turn at a time for each device, in the order of the requests. Used by the event loop only.

    Requests wait here and not in threads, which other devices need. A client that disconnects while it waits
    leaves the queue; one whose turn has come keeps it, as every call goes on without its client.
    """

    def __init__(self) -> None:
        self._locks: dict[str, asyncio.Lock] = {}
        self._requests: Counter[str] = Counter()

    def waiting(self, device: str) -> int:
        return max(0, self._requests[device] - 1)

    @asynccontextmanager
    async def turn(self, device: str, seconds: float, receive: Receive) -> AsyncIterator[bool]:
        """Wait for the turn while the client is connected. False when it does not come, or too many wait."""
        if self.waiting(device) >= _MOST_WAITING:
            yield False
            return
        lock = self._locks.setdefault(device, asyncio.Lock())
        self._requests[device] += 1
        has_turn = False
        try:
            has_turn = await while_connected(receive, _acquire(lock, seconds))
            yield has_turn
        finally:
            if has_turn:
                lock.release()
            self._requests[device] -= 1
            if not self._requests[device]:
                del self._requests[device], self._locks[device]


async def _acquire(lock: asyncio.Lock, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            return await lock.acquire()
    except TimeoutError:
        return False


class MountedApp(Struct, frozen=True):
    """Another ASGI application, behind the same checks: it gets every request of the path and of those below.

    It sees the whole path, and a body within the limits of a route. ``lifespan`` is open while the server runs.
    """

    path: str
    app: ASGIApp
    lifespan: Lifespan | None = None


class HttpApp:
    """The application of a server. ``stop`` refuses new requests and ends the streams of events."""

    def __init__(
        self,
        access: ServerAccess,
        guard: Guard,
        *,
        mounts: Sequence[MountedApp] = (),
        limits: EventLimits | None = None,
    ) -> None:
        self.guard = guard
        self.services = Services(
            access, EventHub(limits), Workers(), WatchedScreens(access.policy), LiveRecordings()
        )
        self.turns = ReadTurns()
        self.is_stopping = False
        self._body_seconds = BODY_SECONDS
        self._public = frozenset((route.method, route.path) for route in ROUTES if route.public)
        self._mounts = mounts
        self._router = Router(
            self._routes(), redirect_slashes=False, default=_no_route, lifespan=lambda _: self._running()
        )

    def stop(self) -> None:
        self.is_stopping = True
        self.services.events.close()
        self.services.screens.close()

    def _routes(self) -> list[Route]:
        by_path: dict[str, dict[str, HttpRoute]] = {}
        for route in ROUTES:
            by_path.setdefault(route.path, {})[route.method] = route
        # A path without parameters comes first: 'running' is not the name of an emulator.
        paths = sorted(by_path, key=lambda path: "{" in path)
        return [Route(path, _PathApp(self, by_path[path])) for path in paths]

    async def _dispatch(self, scope: Scope, receive: Receive, send: Send) -> None:
        for mounted in self._mounts:
            if scope["path"] == mounted.path or scope["path"].startswith(f"{mounted.path}/"):
                scope[_ROUTE_PATH] = mounted.path
                body = await read_body(headers_of(scope), receive, self._body_seconds)
                await mounted.app(scope, replayed(body, receive), send)
                return
        await self._router(scope, receive, send)

    @asynccontextmanager
    async def _running(self) -> AsyncIterator[None]:
        self.services.events.bind()
        self.services.screens.bind()
        async with AsyncExitStack() as stack:
            for mounted in self._mounts:
                if mounted.lifespan is not None:
                    await stack.enter_async_context(mounted.lifespan())
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._router(scope, receive, send)
            return
        exchange = _Exchange(scope, send)
        try:
            self._check(scope)
            await self._dispatch(scope, receive, exchange.send)
        except ClawError as e:
            await exchange.fail(error_response(e, for_page=self._is_page(scope)), receive)
        except DeviceFailure as e:
            await exchange.fail(error_response(e.error, e.serial, for_page=self._is_page(scope)), receive)
        except asyncio.CancelledError:  # the server stops, and the call did not end in time
            await exchange.fail(error_response(_cut_off()), receive)
            raise
        except Exception as e:  # noqa: BLE001 - a defect must not end the server, nor reach the client
            import traceback

            log_event("serve.http.error", type(e).__name__, level="error", status="500")
            trace("".join(traceback.format_exception(e)))  # with --verbose
            # What was wrong is in the log, not in the response.
            unknown = ClawError(INTERNAL, "internal error of the server", operation="serve")
            await exchange.fail(error_response(unknown), receive)
        finally:
            exchange.log()

    def _check(self, scope: Scope) -> None:
        headers = headers_of(scope)
        self.guard.check_source(headers)
        # The files of the page have no secrets, and are loaded before the user signs in.
        path = ASSET_PATH if scope["path"].startswith(ASSET_FOLDER) else scope["path"]
        if (scope["method"], path) not in self._public:
            self.guard.check_client(headers)
        if self.is_stopping:
            raise ClawError("SERVER_STOPPING", "the server is stopping", operation="serve")

    def _is_page(self, scope: Scope) -> bool:
        """Whether a browser sent the request: its user reads hints, and has a command line."""
        return self.guard.cookie_of(headers_of(scope)) is not None

    async def answer(self, route: HttpRoute, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request that has passed the checks."""
        request = await read_request(route, scope, receive, self._body_seconds)
        if route.endpoint is not None:
            response = route.endpoint(request, scope, self.guard, self.services)
        else:
            response = await self._perform(route, request, receive, for_page=self._is_page(scope))
        await response(scope, receive, send)

    async def _perform(self, route: HttpRoute, request: Struct, receive: Receive, *, for_page: bool) -> Response:
        assert route.work is not None
        work = partial(perform, self.services, request, route.work, route.seconds)
        seconds = route.read_seconds(request)
        if seconds is None:
            found = await self.services.workers.run(lambda: _prepared(work(), for_page=for_page))
        else:
            assert isinstance(request, OnDevice)
            device = given(request.deviceId) or self.services.access.options.device or ""
            turn = Deadline(seconds)
            async with self.turns.turn(device, seconds, receive) as has_turn:
                own = partial(work, turn=turn if has_turn else None)
                found = await self.services.workers.run(lambda: _prepared(own(), for_page=for_page))
        if isinstance(found, WaitForState):
            waiting = self.services.screens.wait(found.live, found.since, found.seconds)
            return success_response(encode_state(await while_connected(receive, waiting), found.since))
        return found


def _prepared(answer: Any, *, for_page: bool) -> Response | WaitForState:
    """The response of a finished call; a call that waits is finished in the event loop."""
    if isinstance(answer, WaitForState):
        return answer
    if isinstance(answer, FileAnswer):
        return Response(answer.data, media_type=answer.media_type, headers=answer.headers)
    names_requests = isinstance(answer, RanExecution) and not for_page
    return success_response(naming_requests(answer) if names_requests else answer)


class _PathApp:
    """The routes of one path, by method."""

    def __init__(self, app: HttpApp, routes: dict[str, HttpRoute]) -> None:
        self._app = app
        self._routes = routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope[_ROUTE_PATH] = next(iter(self._routes.values())).path
        route = self._routes.get(scope["method"])
        if route is not None:
            await self._app.answer(route, scope, receive, send)
            return
        message = f"{scope['path'][:80]} does not have the method {scope['method'][:16]}"
        error = ClawError("METHOD_NOT_ALLOWED", message, operation="serve")
        await error_response(error, allow=", ".join(self._routes))(scope, receive, send)


async def _no_route(scope: Scope, _: Receive, __: Send) -> None:
    if scope["type"] == "http":
        raise ClawError("ROUTE_NOT_FOUND", f"there is no path {scope['path'][:80]!r}", operation="serve")


class _Exchange:
    """One request and its response: adds headers to the response, and writes the line of the log."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self._scope = scope
        self._send = send
        self._started = time.monotonic()
        self._status = 0

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            headers = message.setdefault("headers", [])
            present = {name.lower() for name, _ in headers}
            message["headers"] = [*headers, *(pair for pair in _HEADERS if pair[0] not in present)]
        await self._send(message)

    async def fail(self, response: Response, receive: Receive) -> None:
        """Send an error, unless the response has begun: then the connection is closed without its end."""
        if not self._status:
            await response(self._scope, receive, self.send)

    def log(self) -> None:
        log_event(
            "serve.http.request" if self._status < 400 else "serve.http.error",
            f"{self._scope['method'][:16]} {self._scope.get(_ROUTE_PATH, '(no route)')}",
            level="info" if self._status < 500 else "warn",
            status=str(self._status or "closed"),
            durationMs=round((time.monotonic() - self._started) * 1000),
        )


def _cut_off() -> ClawError:
    message = "the server stopped before the call ended; what it began may continue"
    hint = "Look at the device before you retry."
    return ClawError("SERVER_STOPPING", message, hint=hint, operation="serve", after_effect=True)
