"""Help for ``claw``, from its registry: prose, and the same as a document."""

from typing import Any

import msgspec

from clawperator import __version__
from clawperator.cli.claw.response import Told
from clawperator.cli.help import describe_command, flag_lines
from clawperator.commands.claw import CLAW_COMMANDS, CLAW_GLOBALS
from clawperator.commands.model import Command


def help_for(command: Command | None) -> Told:
    """Of one command, or of all."""
    if command is None:
        text = _overview()
        listed = [{"name": c.name, "responsibility": c.summary} for c in CLAW_COMMANDS]
        return Told({"help": text, "commands": listed}, text, command="help")
    text = command_help(command)
    return Told({"help": text, **_described(command)}, text)


def _described(command: Command) -> dict[str, Any]:
    return {
        "name": command.name,
        "responsibility": command.summary,
        "arguments": command.usage.split(),
        "flags": [
            {"name": flag.name, "metavar": flag.metavar, "help": flag.help, "repeats": flag.repeats}
            for flag in command.flags
        ],
        "examples": msgspec.to_builtins(command.examples),
    }


def _overview() -> str:
    lines = [
        f"claw {__version__}: what can be done on a phone, having it done, and keeping the session.",
        "",
        "Usage: claw <command> [options]",
        "",
        "Commands:",
        *(f"  {c.name:<26} {c.summary}" for c in CLAW_COMMANDS),
        "",
        "Options:",
        *flag_lines(CLAW_GLOBALS),
        "",
        "With --output-format json, or CLAW_OUTPUT_FORMAT=json, every answer is one JSON document on one line of",
        "stdout, whatever happens, and nothing else is printed. Run 'claw <command> --help' for a command.",
    ]
    return "\n".join(lines)


def command_help(command: Command) -> str:
    return describe_command(command, "claw", command.name)
