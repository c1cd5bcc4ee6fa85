"""``mcp``: the MCP server over stdio, and the configuration of its clients."""

import sys

from clawperator.cli.command_line import Call, CommandResult, StreamedResult, TextResult
from clawperator.cli.handlers.server_options import server_options
from clawperator.cli.parsing import usage
from clawperator.errors import extra


def serve(call: Call) -> CommandResult | TextResult | StreamedResult:
    words = call.arguments.words
    if words[:1] == ("config",):
        return _configuration(call, words[1:])
    if words:
        raise usage(f"unexpected argument {words[0]!r} for mcp", "Run 'clawperator mcp --help'.")
    if sys.stdin is None or sys.stdout is None:
        raise usage("mcp needs stdin and stdout, and one of them is closed", "Let an MCP client start it.")
    options = server_options(call)
    with extra("mcp"):
        from clawperator.serve.access import open_access
        from clawperator.serve.mcp.server import serve_stdio
    access = open_access(options)
    for warning in access.warnings:
        call.console.warn(warning)
    try:
        serve_stdio(access)
    except KeyboardInterrupt:  # the client is gone, and stdout is not ours to write to
        call.console.note("stopped")
    return StreamedResult()


def _configuration(call: Call, names: tuple[str, ...]) -> CommandResult | TextResult:
    from clawperator.serve.mcp.client_config import CLIENTS, client_configuration

    if not names:
        rows = [{"name": name, "title": known.title, "file": known.file} for name, known in CLIENTS.items()]
        return CommandResult({"clients": rows})
    found = CLIENTS.get(names[0].casefold())
    if found is None:
        raise usage(f"unknown MCP client {names[0]!r}", f"Use one of {', '.join(CLIENTS)}.")
    configured = client_configuration(found, _arguments(call))
    if call.options.json:
        return CommandResult({"client": names[0], "file": found.file, "text": configured})
    call.console.note(f"add this to {found.file}")
    return TextResult(configured)


def _arguments(call: Call) -> list[str]:
    """The flags of the server that the configuration starts."""
    made: list[str] = []
    for flag, values in call.arguments.values.items():
        made += [word for value in values for word in (flag, value)] if values else [flag]
    globals_ = {"--device": call.options.device, "--operator-package": call.options.operator_package}
    for flag, value in globals_.items():
        made += [flag, value] if value else []
    return made
