"""The MCP server over HTTP, at one path of the HTTP server and behind its checks."""

from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from starlette.types import ASGIApp, Receive, Scope, Send

from clawperator.errors import ClawError
from clawperator.serve.access import ServerAccess
from clawperator.serve.http.app import MountedApp
from clawperator.serve.mcp.server import make_server

MCP_PATH = "/mcp"
_MOST_SESSIONS = 256
_MOST_BODY_BYTES = 1_000_000


def mcp_mount(access: ServerAccess) -> MountedApp:
    """The application to mount. Its clients have the same access as those of the HTTP API.

    It opens no stream of its own: messages of the server are part of the answer to a request.
    """
    # The HTTP server checks token, host and origin before.
    sessions = StreamableHTTPSessionManager(
        make_server(access), max_sessions=_MOST_SESSIONS, max_request_body_size=_MOST_BODY_BYTES
    )
    return MountedApp(MCP_PATH, _without_stream(StreamableHTTPASGIApp(sessions)), sessions.run)


def _without_stream(app: ASGIApp) -> ASGIApp:
    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] != MCP_PATH:
            raise ClawError("ROUTE_NOT_FOUND", f"there is no path {scope['path'][:80]!r}", operation="serve")
        if scope["method"] not in ("POST", "DELETE"):
            raise ClawError(
                "METHOD_NOT_ALLOWED",
                f"{MCP_PATH} does not have the method {scope['method'][:16]}",
                operation="serve",
                target=MCP_PATH,
            )
        await app(scope, receive, send)

    return answer
