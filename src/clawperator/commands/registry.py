"""Every command of ``clawperator``: parsing, suggestions, ``--help`` and the command reference derive from it."""

from collections.abc import Iterator

from clawperator.commands.actions import ACTION_COMMANDS
from clawperator.commands.agents import AGENTS, SCHEMA
from clawperator.commands.device_actions import DEVICE_ACTION_COMMANDS
from clawperator.commands.devices import DEVICE_COMMANDS, VERSION
from clawperator.commands.gestures import GESTURE_COMMANDS
from clawperator.commands.model import ALLOW_SCHEME, PLAN, Command, Flag, switch
from clawperator.commands.phones import PHONE
from clawperator.commands.recording import RECORDING, REPORT
from clawperator.commands.servers import SERVER_COMMANDS
from clawperator.commands.skills import SKILLS

GLOBALS = (
    Flag("--device", "device serial", "<serial>", ("--device-id",)),
    Flag("--operator-package", "package of the Operator app", "<package>", ("--receiver-package",)),
    switch("--json", "print JSON (the default)"),
    Flag(
        "--output",
        "json (one line), pretty (indented JSON) or text (for people)",
        "<json|pretty|text>",
        ("--format",),
        choices=("json", "pretty", "text"),
    ),
    Flag(
        "--timeout",
        "timeout in ms; also how long a command looks for its element (default: about 6500)",
        "<ms>",
        ("--timeout-ms",),
    ),
    Flag(
        "--log-level",
        "minimum level printed to stderr: debug, info, warn or error (default: info)",
        "<level>",
        choices=("debug", "info", "warn", "error"),
    ),
    switch("--verbose", "print what happens to stderr and to the host log (--log-level debug)"),
    switch("--help", "print help", "-h"),
    switch("--version", "print the version"),
)

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

COMMANDS: tuple[Command, ...] = (
    *ACTION_COMMANDS,
    *GESTURE_COMMANDS,
    *DEVICE_ACTION_COMMANDS,
    _EXEC,
    RECORDING,
    REPORT,
    SKILLS,
    PHONE,
    *DEVICE_COMMANDS,
    *SERVER_COMMANDS,
    _CONFIG,
    AGENTS,
    SCHEMA,
    _COMPLETION,
    VERSION,
    _HELP,
)


def find_command(name: str, among: tuple[Command, ...] = COMMANDS) -> Command | None:
    """The command of that name or synonym; names come first."""
    for command in among:
        if command.name == name:
            return command
    return next((command for command in among if name in command.synonyms), None)


def find_by_path(path: list[str]) -> Command | None:
    """The command with this full name: ``["recording", "parse"]``."""
    command = find_command(path[0])
    return find_command(path[1], command.subcommands) if command and len(path) > 1 else command


def command_names(path: str) -> tuple[str, ...]:
    """Every other name of the command with this full name, in claw: with synonyms, by spaces and by dashes."""
    family, *verb = path.split()
    command = find_by_path([family])
    if command is None:
        return ()
    families = (command.name, *command.synonyms)
    if not verb:
        return command.synonyms
    found = find_command(verb[0], command.subcommands)
    verbs = (found.name, *found.synonyms) if found else ()
    names = (mark.join((one, two)) for one in families for two in verbs for mark in (" ", "-"))
    return tuple(name for name in names if name != path.replace(" ", "-"))


def replacement(words: list[str]) -> tuple[str, str | None] | None:
    """The removed command that ``words`` begin with, and its replacement if there is one; None for any other."""
    removed = {old: command.name for command in COMMANDS for old in command.replaces}
    old = " ".join(words[:2])
    if old in removed:
        return old, removed[old]
    return (words[0], None) if any(name.split()[0] == words[0] for name in removed) else None


def leaves(commands: tuple[Command, ...] = COMMANDS, prefix: str = "") -> Iterator[tuple[str, Command]]:
    """Every command that can be run, with its full name: ``recording parse``."""
    for command in commands:
        if command.subcommands:
            yield from leaves(command.subcommands, f"{prefix}{command.name} ")
        else:
            yield prefix + command.name, command
