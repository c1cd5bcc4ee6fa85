"""``serve`` and ``mcp``: run a server in this process until a signal, and configure MCP clients."""

import os
import sys
import threading
from shlex import quote
from typing import TYPE_CHECKING

from clawperator.agent.turns.assembly import AgentOptions, agent_options
from clawperator.cli.command_line import Call, CommandResult, StreamedResult, TextResult
from clawperator.cli.parsing import similar_name, usage
from clawperator.cli.time_limit import paused_limit
from clawperator.device.settings import default_backend
from clawperator.errors import ClawError, extra
from clawperator.operations.call import ApprovedCall, Caller
from clawperator.operations.servers import AccessParams

if TYPE_CHECKING:
    from clawperator.cli.console import Console
    from clawperator.serve.access import ServerAccess
    from clawperator.serve.http.app import MountedApp


def serve(line: Call, approved: ApprovedCall, caller: Caller) -> StreamedResult:
    params, console = approved.params, line.console
    options = _server_options(params, caller)
    with paused_limit(), extra("serve"):  # --timeout counts from when the modules are loaded
        from clawperator.serve.http.server import HttpServer, ServeOptions
    access = _open_access(options, console)
    served = ServeOptions(
        host=params.host, port=params.port, allow_remote=params.allow_remote, token_file=params.token_file or None
    )
    server = HttpServer(access, served, mounts=_mcp(access, console))

    def on_started() -> None:
        console.note(f"listening on {server.address.url}; token file: {server.token_file}")
        if params.open:
            # A browser in a terminal ends only when its user leaves it.
            threading.Thread(target=_open_page, args=(console, server.new_page_url()), daemon=True).start()

    server.run(on_started)
    return StreamedResult()


def _server_options(params: AccessParams, caller: Caller) -> AgentOptions:
    folder = os.path.abspath(params.folder or os.getcwd())
    if not os.path.isdir(folder):
        raise usage(f"--folder {folder} is not a folder", f"Run 'mkdir -p {quote(folder)}' first.")
    return agent_options(
        params,
        folder=folder,
        device=caller.device,
        operator_package=caller.operator_package,
        include_mcp=False,
        backend=caller.backend or default_backend(),
    )


def _open_access(options: AgentOptions, console: "Console") -> "ServerAccess":
    from clawperator.serve.access import open_access

    access = open_access(options)
    for text in access.warnings:
        console.warn(text)
    return access


def _open_page(console: "Console", address: str) -> None:
    """Open the page in a browser. Its address has a code that signs in once, so only a terminal gets it."""
    import webbrowser

    if console.is_terminal:
        console.note(f"opening {address}")
    if not webbrowser.open(address):
        console.warn("no browser was found: open the address of the server and enter the token")


def _mcp(access: "ServerAccess", console: "Console") -> "tuple[MountedApp, ...]":
    """The MCP server, where its extra is installed."""
    try:
        with paused_limit(), extra("mcp"):
            from clawperator.serve.mcp.http import mcp_mount
    except ClawError as e:
        console.note(f"/mcp is not served: {e.message}")
        return ()
    return (mcp_mount(access),)


def serve_mcp(line: Call, approved: ApprovedCall, caller: Caller) -> CommandResult | TextResult | StreamedResult:
    if approved.params.config:
        return _configuration(line, approved.params.client or None)
    if sys.stdin is None or sys.stdout is None:
        raise usage("mcp needs stdin and stdout, and one of them is closed", "Let an MCP client start it.")
    options = _server_options(approved.params, caller)
    with extra("mcp"):
        from clawperator.serve.mcp.server import serve_stdio
    access = _open_access(options, line.console)
    try:
        serve_stdio(access)
    except KeyboardInterrupt:  # the client is gone, and stdout is not ours to write to
        line.console.note("stopped")
    return StreamedResult()


def _configuration(line: Call, name: str | None) -> CommandResult | TextResult:
    from clawperator.serve.mcp.client_config import CLIENTS, client_configuration

    if name is None:
        rows = [{"name": name, "title": known.title, "file": known.file} for name, known in CLIENTS.items()]
        return CommandResult({"clients": rows})
    found = CLIENTS.get(name.casefold())
    if found is None:
        near = similar_name(name.casefold(), CLIENTS)
        hint = f"Did you mean {near}?" if near else f"Use one of {', '.join(CLIENTS)}."
        raise usage(f"unknown MCP client {name!r}", hint)
    configured = client_configuration(found, _arguments(line))
    if line.options.json:
        return CommandResult({"client": name, "file": found.file, "text": configured})
    line.console.note(f"add this to {found.file}")
    return TextResult(configured)


def _arguments(line: Call) -> list[str]:
    """The flags of the server that the configuration starts."""
    made: list[str] = []
    for flag, values in line.arguments.values.items():
        made += [word for value in values for word in (flag, value)] if values else [flag]
    globals_ = {"--device": line.options.device, "--operator-package": line.options.operator_package}
    for flag, value in globals_.items():
        made += [flag, value] if value else []
    return made
