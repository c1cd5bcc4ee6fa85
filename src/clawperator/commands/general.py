"""Commands of no family: run an execution, print settings, completion and help."""

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
_CONFIG = Command(
    "config",
    "Print the settings in force, and where each comes from.",
    examples=("clawperator config", "CLAWPERATOR_BACKEND=adb clawperator config --output text"),
    handler="clawperator.cli.handlers.config:print_settings",
    level="read-only",
)
_SHELLS = ("bash", "zsh", "fish")
_COMPLETION = Command(
    "completion",
    "Print the completion script of a shell, for clawperator and claw.",
    "<bash|zsh|fish>",
    examples=("clawperator completion bash", "clawperator completion zsh > _clawperator"),
    notes=(
        "Load it in the running shell:\n"
        "  bash, zsh: source <(clawperator completion bash)\n"
        "  fish: clawperator completion fish | source\n"
        "The script runs the command for each completion. After --device it lists the connected devices."
    ),
    handler="clawperator.cli.handlers.completion:print_script",
    level="read-only",
    word_choices=_SHELLS,
)
_HELP = Command(
    "help",
    "Print help for all commands, or for one.",
    "[<command>...]",
    examples=("clawperator help click",),
    handler="clawperator.cli.help:print_help",
    level="read-only",
)
COMMANDS = (_EXEC, _CONFIG, _COMPLETION, _HELP)
