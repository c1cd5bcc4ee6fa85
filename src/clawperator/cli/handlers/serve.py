"""``serve``: run the HTTP server in this process until a signal."""

import threading
from typing import TYPE_CHECKING

from clawperator._base.text import read_number
from clawperator.cli.command_line import Call, StreamedResult
from clawperator.cli.handlers.server_options import server_options
from clawperator.cli.parsing import usage
from clawperator.cli.time_limit import paused_limit
from clawperator.errors import ClawError, extra

if TYPE_CHECKING:
    from clawperator.cli.console import Console
    from clawperator.serve.access import ServerAccess
    from clawperator.serve.http.app import MountedApp

_DEFAULT_PORT = 3000
_MAX_PORT = 65_535


def serve(call: Call) -> StreamedResult:
    arguments = call.arguments
    options = server_options(call)
    host, port = arguments.get("--host") or "127.0.0.1", _port(call)
    with paused_limit(), extra("serve"):  # --timeout counts from when the modules are loaded
        from clawperator.serve.access import open_access
        from clawperator.serve.http.server import HttpServer, ServeOptions
    access = open_access(options)
    for text in access.warnings:
        call.console.warn(text)
    server = HttpServer(
        access,
        ServeOptions(
            host=host,
            port=port,
            allow_remote=arguments.has("--allow-remote"),
            token_file=arguments.get("--token-file"),
        ),
        mounts=_mcp(access, call),
    )

    def on_started() -> None:
        call.console.note(f"listening on {server.address.url}; token file: {server.token_file}")
        if arguments.has("--open"):
            # A browser in a terminal ends only when its user leaves it.
            threading.Thread(target=_open_page, args=(call.console, server.new_page_url()), daemon=True).start()

    server.run(on_started)
    return StreamedResult()


def _open_page(console: "Console", address: str) -> None:
    """Open the page in a browser. Its address has a code that signs in once, so only a terminal gets it."""
    import webbrowser

    if console.is_terminal:
        console.note(f"opening {address}")
    if not webbrowser.open(address):
        console.warn("no browser was found: open the address of the server and enter the token")


def _mcp(access: "ServerAccess", call: Call) -> "tuple[MountedApp, ...]":
    """The MCP server, where its extra is installed."""
    try:
        with paused_limit(), extra("mcp"):
            from clawperator.serve.mcp.http import mcp_mount
    except ClawError as e:
        call.console.note(f"/mcp is not served: {e.message}")
        return ()
    return (mcp_mount(access),)


def _port(call: Call) -> int:
    given = call.arguments.get("--port")
    if given is None:
        return _DEFAULT_PORT
    number = read_number(given)
    if not isinstance(number, int) or not 0 <= number <= _MAX_PORT:
        raise usage(f"--port must be a whole number from 0 to {_MAX_PORT}, not {given!r}", "Write --port 3000.")
    return number
