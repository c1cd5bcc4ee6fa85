"""Commands that start a server."""

from clawperator.commands.model import ALLOW_SCHEME, BACKEND, PASS_ENV, POLICY, RAISED_BY, Command, Flag

_FOLDER = Flag("--folder", "folder for the files of clients (default: the working folder)", "<folder>", path="out")
# What the clients of a server may do, and where.
_ACCESS = (_FOLDER, *POLICY, BACKEND, ALLOW_SCHEME, PASS_ENV)

MCP = Command(
    "mcp",
    "Serve the tools to an MCP client over stdin and stdout.",
    "[config] [<client>]",
    flags=_ACCESS,
    examples=(
        "clawperator mcp",
        "clawperator mcp --permission-mode read-only --device claw-1",
        "clawperator mcp config cursor",
    ),
    notes="Needs the extra 'mcp'. 'mcp config' lists clients; 'mcp config <client>' prints the configuration of "
    "one, with the flags that are given.\n"
    "Clients read and write files only inside --folder.",
    handler="clawperator.cli.handlers.mcp:serve",
    level="full",
    raised_by=RAISED_BY,
    for_users=True,
)
SERVER_COMMANDS = (MCP,)
