"""Servers: MCP for agents, HTTP for services. Both offer the agent's tools under its policy."""

# Type checkers know this name; importing it from typing would cost every command some milliseconds.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from clawperator.serve.access import ServerAccess, open_access
    from clawperator.serve.http.app import HttpApp, MountedApp
    from clawperator.serve.http.server import HttpServer, ServeOptions
    from clawperator.serve.mcp.client_config import CLIENTS, client_configuration
    from clawperator.serve.mcp.http import mcp_mount
    from clawperator.serve.mcp.server import make_server, serve_stdio
else:
    from clawperator._lazy import lazy_exports

    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "access": "ServerAccess open_access",
            "http.app": "HttpApp MountedApp",
            "http.server": "HttpServer ServeOptions",
            "mcp.client_config": "CLIENTS client_configuration",
            "mcp.http": "mcp_mount",
            "mcp.server": "make_server serve_stdio",
        },
    )

__all__ = [
    "CLIENTS",
    "HttpApp",
    "HttpServer",
    "MountedApp",
    "ServeOptions",
    "ServerAccess",
    "client_configuration",
    "make_server",
    "mcp_mount",
    "open_access",
    "serve_stdio",
]
