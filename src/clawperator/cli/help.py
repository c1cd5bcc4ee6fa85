"""Help, from the registry."""

from collections.abc import Iterable

from clawperator import __version__
from clawperator.commands.actions import COMMANDS, GLOBALS, find
from clawperator.commands.model import Command, Flag

_WIDTH = 34


def help_text(words: list[str]) -> str:
    """The text for the command ``words`` begin with; for all commands when they name none."""
    command = find(words[0]) if words else None
    if command is None:
        return _overview()
    if command.subcommands:
        verb = find(words[1], command.subcommands) if len(words) > 1 else None
        if verb is not None:
            return command_help(verb, f"{command.name} {verb.name}")
    return command_help(command, command.name)


def _overview() -> str:
    lines = [
        f"clawperator {__version__}: a hand on Android phones that tells what happened.",
        "",
        "Usage: clawperator <command> [options]",
        "",
        "Commands:",
        *(f"  {c.name:<26} {c.summary}" for c in COMMANDS),
        "",
        "Options for every command:",
        *flag_lines(GLOBALS),
        "",
        "One JSON document goes to stdout, everything for people to stderr.",
        "Run 'clawperator <command> --help' for a command's own flags and examples.",
    ]
    return "\n".join(lines)


def command_help(command: Command, title: str) -> str:
    text = describe_command(command, "clawperator", title)
    return text + "\n\nRun 'clawperator help' for the options every command takes."


def describe_command(command: Command, program: str, title: str) -> str:
    """What it does, how it is called, its flags, notes and examples: the same for both programs."""
    words = [title, command.usage or ("<subcommand>" if command.subcommands else ""), "[options]"]
    lines = [command.summary, "", f"Usage: {program} " + " ".join(filter(None, words))]
    if command.synonyms:
        lines += ["Also: " + ", ".join(command.synonyms)]
    if command.subcommands:
        lines += ["", "Subcommands:", *(f"  {c.name:<26} {c.summary}" for c in command.subcommands)]
    if command.flags:
        lines += ["", "Options:", *flag_lines(command.flags)]
    if command.notes:
        lines += ["", command.notes]
    if command.examples:
        lines += ["", "Examples:", *(f"  {example}" for example in command.examples)]
    return "\n".join(lines)


def flag_lines(flags: Iterable[Flag]) -> list[str]:
    lines = []
    for flag in flags:
        left = f"  {flag.name} {flag.metavar}".rstrip()
        gap = "\n" + " " * _WIDTH if len(left) >= _WIDTH else " " * (_WIDTH - len(left))
        also = f" (also {', '.join(flag.aliases)})" if flag.aliases else ""
        lines.append(f"{left}{gap}{flag.help}{also}")
    return lines
