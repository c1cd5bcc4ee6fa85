"""Help texts of ``clawperator`` and ``claw``, rendered from the command rows."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import takewhile
from textwrap import wrap
from typing import TYPE_CHECKING

from clawperator import __version__
from clawperator.cli.command_line import Call, TextResult, find_named
from clawperator.contract.commands import Command, Flag

if TYPE_CHECKING:
    from clawperator.operations.call import ApprovedCall, Caller

# Columns of a line, and of the flags and the commands before their descriptions.
_LINE = 100
_FLAGS = 34
_NAMES = 29
# The commands in the order in which a user meets them.
GROUPS = {
    "Devices": "phone devices pair doctor setup",
    "See the screen": "snapshot screenshot read read-value query wait wait-for-nav watch",
    "Use the screen": (
        "click double-tap type submit press back scroll scroll-until scroll-and-click swipe drag rotate sleep"
    ),
    "Apps": "open close start-activity packages install-apk uninstall-app clear-data grant revoke logcat",
    "Plans, recordings and skills": "exec recording report skills",
    "Agents and other programs": "mcp serve agents schema",
    "Operator and emulators": "operator grant-device-permissions emulator provision",
    "This command line": "config completion logs version help",
}
_START = ["", "Start with 'clawperator phone start', then 'clawperator open Settings' and 'clawperator snapshot'."]
_MORE = [
    "Prints one JSON document to stdout and messages to stderr; --output text is for people.",
    "Run 'clawperator <command> --help' for the flags and examples of a command. The examples work on the",
    "first screen of Settings unless the help says what they need.",
]


def print_help(_: Call, approved: "ApprovedCall", __: "Caller") -> TextResult:
    return TextResult(help_text(approved.params.command))


def help_text(words: list[str]) -> str:
    """Help for the ``clawperator`` command that ``words`` begin with; for all commands without any.

    ``UNKNOWN_COMMAND`` or ``USAGE`` when there is no command of that name.
    """
    from clawperator.contract.commands import GLOBALS, find_by_path

    named = list(takewhile(lambda word: not word.startswith("-"), words))
    if not named:
        title = f"clawperator {__version__}: Android automation for AI agents, with verified results"
        groups = {
            name: [command for one in names.split() if (command := find_by_path([one]))]
            for name, names in GROUPS.items()
        }
        return _overview(title, groups, ("Options for every command", GLOBALS), _START, _MORE)
    command, subcommand = find_named(named)
    title = f"{command.name} {subcommand.name}" if subcommand else command.name
    return (
        command_help(subcommand or command, "clawperator", title)
        + "\n\nRun 'clawperator help' for the options of every command."
    )


def claw_help_text(command: Command | None) -> str:
    """Help for one command of ``claw``, or for all."""
    from clawperator.operations.claw import CLAW_GLOBALS, claw_commands

    if command is not None:
        return command_help(command, "claw", command.name)
    lines = [
        "With --output-format json, or CLAW_OUTPUT_FORMAT=json, every command prints exactly one line of JSON to",
        "stdout, also on errors. Run 'claw help <command>' for a command.",
        "",
        "Examples:",
        "  clawperator phone start",
        *(f"  {example}" for example in claw_commands()[0].examples[:2]),
    ]
    title = f"claw {__version__}: agent shell for Android automation: inventory, tools, turns and sessions"
    return _overview(title, {"Commands": claw_commands()}, ("Options", CLAW_GLOBALS), [], lines)


def _overview(
    title: str,
    groups: Mapping[str, Iterable[Command]],
    options: tuple[str, Iterable[Flag]],
    opening: list[str],
    closing: list[str],
) -> str:
    lines = [title, "", f"Usage: {title.partition(' ')[0]} <command> [options]", *opening]
    for name, commands in groups.items():
        lines += ["", f"{name}:", *_command_lines(commands)]
    name, flags = options
    return "\n".join([*lines, "", f"{name}:", *_flag_lines(flags), "", *closing])


def command_help(command: Command, program: str, title: str) -> str:
    """The summary, usage, flags, notes and examples of a command."""
    words = [title, command.usage or ("<subcommand>" if command.subcommands else ""), "[options]"]
    lines = [command.summary, "", f"Usage: {program} " + " ".join(filter(None, words))]
    if command.synonyms:
        lines += ["Also: " + ", ".join(command.synonyms)]
    if command.subcommands:
        lines += ["", "Subcommands:", *_command_lines(command.subcommands)]
    if command.flags:
        lines += ["", "Options:", *_flag_lines(command.flags)]
    if command.notes:
        lines += ["", *(part for line in command.notes.splitlines() for part in wrap(line, _LINE) or [""])]
    if command.examples:
        lines += ["", "Examples:", *(f"  {example}" for example in command.examples)]
    return "\n".join(lines)


def _command_lines(commands: Iterable[Command]) -> list[str]:
    return [_entry(f"  {command.name}", command.summary, _NAMES) for command in commands]


def _flag_lines(flags: Iterable[Flag]) -> Iterator[str]:
    for flag in flags:
        also = f" (also {', '.join(flag.aliases)})" if flag.aliases else ""
        yield _entry(f"  {flag.name} {flag.metavar}".rstrip(), f"{flag.help}{also}", _FLAGS)


def _entry(left: str, right: str, column: int) -> str:
    """A name and its description in a column of its own, which begins on the next line after a long name."""
    described = wrap(right, _LINE - column, break_long_words=False, break_on_hyphens=False)
    if len(left) >= column:
        described = ["", *described]
    return left.ljust(column) + f"\n{' ' * column}".join(described)
