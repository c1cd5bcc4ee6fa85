"""Servers: MCP for agents, HTTP for services. Both offer the agent's tools under its policy."""

# Type checkers know this name; importing it from typing would cost every command some milliseconds.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from clawperator.serve.access import ServerAccess, open_access
    from clawperator.serve.http.app import HttpApp, MountedApp
    from clawperator.serve.http.server import HttpServer, ServeOptions
else:
    from clawperator._lazy import lazy_exports

    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "access": "ServerAccess open_access",
            "http.app": "HttpApp MountedApp",
            "http.server": "HttpServer ServeOptions",
        },
    )

__all__ = ["HttpApp", "HttpServer", "MountedApp", "ServeOptions", "ServerAccess", "open_access"]
