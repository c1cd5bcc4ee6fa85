"""The MCP server over HTTP, at one path of the HTTP server and behind its checks."""

from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp_types import INVALID_REQUEST
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from clawperator.errors import ClawError
from clawperator.serve.access import ServerAccess
from clawperator.serve.http.app import MountedApp
from clawperator.serve.http.errors import json_response
from clawperator.serve.http.requests import headers_of
from clawperator.serve.mcp.server import make_server

MCP_PATH = "/mcp"
_MOST_SESSIONS = 256
_IDLE_SECONDS = 30 * 60.0
_SESSION_HEADER = b"mcp-session-id"
_ENDED = {
    "jsonrpc": "2.0",
    "id": None,
    "error": {
        "code": INVALID_REQUEST,
        "message": "this session has ended; send initialize without Mcp-Session-Id to open a new one",
    },
}


def mcp_mount(
    access: ServerAccess, *, most_sessions: int = _MOST_SESSIONS, idle_seconds: float = _IDLE_SECONDS
) -> MountedApp:
    """The application to mount. Its clients have the same access as those of the HTTP API.

    It opens no stream of its own: messages of the server are part of the answer to a request.
    """
    # The HTTP server checks token, host, origin and body before.
    manager = StreamableHTTPSessionManager(
        make_server(access), max_sessions=None, session_idle_timeout=idle_seconds
    )
    return MountedApp(MCP_PATH, _LimitedSessions(StreamableHTTPASGIApp(manager), most_sessions), manager.run)


class _LimitedSessions:
    """Ends the least recently used session when there are too many; the SDK would refuse the new one.

    A session that answers a request is not ended, so connections limit how many there are beyond ``most``.
    """

    def __init__(self, app: ASGIApp, most: int) -> None:
        self._app = app
        self._most = most
        self._requests: dict[bytes, int] = {}  # running ones by session, the least recently used session first

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] != MCP_PATH:
            raise ClawError("ROUTE_NOT_FOUND", f"there is no path {scope['path'][:80]!r}", operation="serve")
        if scope["method"] not in ("POST", "DELETE"):
            message = f"{MCP_PATH} does not have the method {scope['method'][:16]}"
            raise ClawError("METHOD_NOT_ALLOWED", message, operation="serve", target=MCP_PATH)
        given = headers_of(scope).get(_SESSION_HEADER)
        session, status = given, 0

        async def relay(message: Message) -> None:
            nonlocal session, status
            if message["type"] == "http.response.start":
                status = message["status"]
                if given is None and status < 400:
                    session = dict(message["headers"]).get(_SESSION_HEADER)
                    self._count(session, 1, is_new=True)
            if given is None or status != 404:
                await send(message)

        self._count(given, 1)
        try:
            await self._app(scope, receive, relay)
            await self._end_least_recently_used()
        finally:
            self._count(session, -1)
        if given is not None and (status == 404 or scope["method"] == "DELETE"):
            self._requests.pop(given, None)
        if given is not None and status == 404:
            await json_response(_ENDED, 404)(scope, receive, send)

    def _count(self, session: bytes | None, change: int, *, is_new: bool = False) -> None:
        """Count a request of a known session, which is now the most recently used one."""
        if session is not None and (is_new or session in self._requests):
            self._requests[session] = self._requests.pop(session, 0) + change

    async def _end_least_recently_used(self) -> None:
        unused = [session for session, running in self._requests.items() if not running]
        for session in unused[: max(0, len(self._requests) - self._most)]:
            del self._requests[session]
            scope = {"type": "http", "method": "DELETE", "path": MCP_PATH, "headers": [(_SESSION_HEADER, session)]}
            await self._app(scope, _no_body, _ignore)


async def _no_body() -> Message:
    return {"type": "http.request"}


async def _ignore(_: Message) -> None:
    """Drop the answer to a request of our own."""
