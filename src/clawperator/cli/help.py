"""Help texts of ``clawperator`` and ``claw``, rendered from the command rows."""

from collections.abc import Iterable

from clawperator import __version__
from clawperator.cli.command_line import Call, TextResult
from clawperator.commands import Command, Flag

_WIDTH = 34


def print_help(call: Call) -> TextResult:
    return TextResult(help_text(list(call.arguments.words)))


def help_text(words: list[str]) -> str:
    """Help for the ``clawperator`` command that ``words`` begin with; for all commands when they name none."""
    from clawperator.commands import COMMANDS, GLOBALS, find_command

    command = find_command(words[0]) if words else None
    if command is None:
        title = f"clawperator {__version__}: Android automation for AI agents, with verified results"
        lines = [
            "Prints one JSON document to stdout and messages to stderr.",
            "Run 'clawperator <command> --help' for the flags and examples of a command.",
        ]
        return _overview(title, COMMANDS, "Options for every command:", GLOBALS, lines)
    subcommand = find_command(words[1], command.subcommands) if len(words) > 1 else None
    title = f"{command.name} {subcommand.name}" if subcommand else command.name
    return (
        command_help(subcommand or command, "clawperator", title)
        + "\n\nRun 'clawperator help' for the options of every command."
    )


def claw_help_text(command: Command | None) -> str:
    """Help for one command of ``claw``, or for all."""
    from clawperator.commands import CLAW_COMMANDS, CLAW_GLOBALS

    if command is not None:
        return command_help(command, "claw", command.name)
    lines = [
        "With --output-format json, or CLAW_OUTPUT_FORMAT=json, every command prints exactly one line of JSON to",
        "stdout, also on errors. Run 'claw help <command>' for a command.",
        "",
        "Examples:",
        "  clawperator phone start",
        *(f"  {example}" for example in CLAW_COMMANDS[0].examples[:2]),
    ]
    title = f"claw {__version__}: agent shell for Android automation: inventory, tools, turns and sessions"
    return _overview(title, CLAW_COMMANDS, "Options:", CLAW_GLOBALS, lines)


def _overview(
    title: str,
    commands: Iterable[Command],
    options: str,
    flags: Iterable[Flag],
    closing: list[str],
) -> str:
    lines = [
        title,
        "",
        f"Usage: {title.partition(' ')[0]} <command> [options]",
        "",
        "Commands:",
        *(f"  {c.name:<26} {c.summary}" for c in commands),
        "",
        options,
        *_flag_lines(flags),
        "",
        *closing,
    ]
    return "\n".join(lines)


def command_help(command: Command, program: str, title: str) -> str:
    """The summary, usage, flags, notes and examples of a command."""
    words = [title, command.usage or ("<subcommand>" if command.subcommands else ""), "[options]"]
    lines = [command.summary, "", f"Usage: {program} " + " ".join(filter(None, words))]
    if command.synonyms:
        lines += ["Also: " + ", ".join(command.synonyms)]
    if command.subcommands:
        lines += ["", "Subcommands:", *(f"  {c.name:<26} {c.summary}" for c in command.subcommands)]
    if command.flags:
        lines += ["", "Options:", *_flag_lines(command.flags)]
    if command.notes:
        lines += ["", command.notes]
    if command.examples:
        lines += ["", "Examples:", *(f"  {example}" for example in command.examples)]
    return "\n".join(lines)


def _flag_lines(flags: Iterable[Flag]) -> list[str]:
    lines = []
    for flag in flags:
        left = f"  {flag.name} {flag.metavar}".rstrip()
        gap = "\n" + " " * _WIDTH if len(left) >= _WIDTH else " " * (_WIDTH - len(left))
        also = f" (also {', '.join(flag.aliases)})" if flag.aliases else ""
        lines.append(f"{left}{gap}{flag.help}{also}")
    return lines
