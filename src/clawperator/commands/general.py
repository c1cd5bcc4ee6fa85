"""The command that runs an execution."""

from clawperator.commands.model import ALLOW_SCHEME, PLAN, Command, Flag

_EXEC = Command(
    "exec",
    "Run an execution: explicit actions as JSON.",
    "<json|file|->",
    ("execute",),
    (
        Flag(
            "--payload",
            "JSON, a file, or - for stdin",
            "<json|file|->",
            ("--execution", "--input", "--file"),
            path="payload",
        ),
        Flag("--goal", "reserved (best-effort is not implemented)", "<text>"),
        ALLOW_SCHEME,
        *PLAN,
    ),
    (
        "clawperator exec plan.json",
        "clawperator exec plan.json --validate-only",
        "clawperator exec - --dry-run < plan.json",
    ),
    handler="clawperator.cli.handlers.execution:run_command",
    execution="clawperator.cli.handlers.execution:read_execution",
    level="act",
    raised_by={"--allow-scheme": "full"},
    tools=("run_execution",),
    subject="--payload",
    word_path="payload",
)
COMMANDS = (_EXEC,)
