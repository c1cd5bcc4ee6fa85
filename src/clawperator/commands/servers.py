"""Commands that start a server."""

from clawperator.commands.model import ALLOW_SCHEME, BACKEND, PASS_ENV, POLICY, RAISED_BY, Command, Flag, switch

_FOLDER = Flag("--folder", "folder for the files of clients (default: the working folder)", "<folder>", path="out")
# What the clients of a server may do, and where.
_ACCESS = (_FOLDER, *POLICY, BACKEND, ALLOW_SCHEME, PASS_ENV)

OPEN_PAGE = "clawperator serve --open"
"""The command that opens the page."""

SERVE = Command(
    "serve",
    "Serve the page for browsers, and the HTTP API for other programs.",
    flags=(
        switch("--open", "open the page in the browser of this computer"),
        Flag("--host", "address to listen on (default: 127.0.0.1)", "<address>", ("--bind",)),
        Flag("--port", "port to listen on; 0 means any free port (default: 3000)", "<port>"),
        switch("--allow-remote", "accept connections of other computers"),
        Flag(
            "--token-file",
            "file with the token that clients send; created if missing (default: in the product home)",
            "<file>",
            path="in",
        ),
        *_ACCESS,
    ),
    examples=("clawperator serve", OPEN_PAGE, "clawperator serve --port 0 --permission-mode read-only"),
    notes=(
        "Needs the extra 'serve'. Prints the address and the token file to stderr. With --open a terminal also\n"
        "gets the address that signs a browser in, once and within a minute.\n"
        "Clients read and write files only inside --folder. Ctrl-C stops it."
    ),
    handler="clawperator.cli.handlers.serve:serve",
    level="full",
    raised_by=RAISED_BY,
    for_users=True,
)
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
COMMANDS = (SERVE, MCP)
