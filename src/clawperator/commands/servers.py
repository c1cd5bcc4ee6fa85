"""Commands that start a server."""

from clawperator.commands.model import ALLOW_SCHEME, BACKEND, PASS_ENV, POLICY, RAISED_BY, Command, Flag, switch

SERVE = Command(
    "serve",
    "Serve the HTTP API for other programs and languages.",
    flags=(
        Flag("--host", "address to listen on (default: 127.0.0.1)", "<address>", ("--bind",)),
        Flag("--port", "port to listen on; 0 means any free port (default: 3000)", "<port>"),
        switch("--allow-remote", "accept connections of other computers"),
        Flag(
            "--token-file",
            "file with the token that clients send; created if missing (default: in the product home)",
            "<file>",
            path="in",
        ),
        *POLICY,
        BACKEND,
        ALLOW_SCHEME,
        PASS_ENV,
    ),
    examples=("clawperator serve", "clawperator serve --port 0 --permission-mode read-only"),
    notes=(
        "Needs the extra 'serve'. Prints the address and the token file to stderr.\n"
        "Clients write files only inside the folder in which the server was started. Ctrl-C stops it."
    ),
    handler="clawperator.cli.handlers.serve:serve",
    level="full",
    raised_by=RAISED_BY,
    for_users=True,
)
SERVER_COMMANDS = (SERVE,)
