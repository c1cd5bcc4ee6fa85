"""The command line of ``claw``: one command with its options, and the output format."""

from collections.abc import Iterable

from clawperator.cli.parsing import HELP_HINT, MISSING, ParsedArguments, is_word, parse, parse_error, similar_name
from clawperator.commands.claw import CLAW_COMMANDS, CLAW_GLOBALS
from clawperator.commands.model import Command

FORMAT_FLAG = "--output-format"
FORMAT_VARIABLE = "CLAW_OUTPUT_FORMAT"
FORMATS = ("text", "json")
HELP = "help"

_LONGEST_QUOTED = 200


def attempted_command(argv: list[str]) -> str:
    """The name of the command to report, even when the line cannot be parsed."""
    return argv[0] if argv and not argv[0].startswith("-") else MISSING


def requested_format(argv: list[str], default: str | None) -> str:
    """The output format, even when the line cannot be parsed: the last one named, JSON when in doubt."""
    given = [text.casefold() for text in _formats(argv)]
    known = [text for text in given if text in FORMATS]
    if given and len(known) < len(given):
        return "json" if "json" in known else _default(default)
    return known[-1] if known else _default(default)


def _default(text: str | None) -> str:
    return "json" if text and text.casefold() == "json" else "text"


def _formats(argv: list[str]) -> Iterable[str]:
    for place, token in enumerate(argv):
        if token == "--":
            return
        name, equals, inline = token.partition("=")
        if name == FORMAT_FLAG:
            yield inline if equals else (argv[place + 1] if place + 1 < len(argv) else "")


def parse_line(argv: list[str], default_format: str | None = None) -> ParsedArguments:
    """Parse a command line. Options may stand before or after the command, up to a bare ``--``.

    ``help <command>`` is ``<command> --help``, and ``help`` alone is ``--help``.
    """
    place = _command_place(argv)
    if place >= 0 and argv[place] == HELP:
        argv = [*argv[:place], "--help", *argv[place + 1 :]]
        place = _command_place(argv)
    named = argv[place] if place >= 0 else MISSING
    command = next((command for command in CLAW_COMMANDS if command.name == named), None)
    arguments = parse(command, argv, title=named, strict=True, shared=CLAW_GLOBALS, skip=place)
    _check_default_format(arguments, default_format, named)
    only_asks = arguments.has("--help") or arguments.has("--version")
    if named != MISSING or not only_asks:
        command = _require(command, named)
        if not only_asks:
            _check_words(command, arguments.words)
    return arguments


def _command_place(argv: list[str]) -> int:
    """The place of the command: the first word that is not the value of an option; -1 when there is none."""
    i = 0
    while i < len(argv) and argv[i] != "--":
        if is_word(argv[i]):
            return i
        name, equals, _ = argv[i].partition("=")
        i += 2 if name == FORMAT_FLAG and not equals else 1
    return -1


def _check_default_format(arguments: ParsedArguments, default: str | None, named: str) -> None:
    if not arguments.has(FORMAT_FLAG) and default and default.casefold() not in FORMATS:
        raise parse_error(
            f"{FORMAT_VARIABLE}: invalid choice: {default!r} (choose from text, json)",
            named,
            f"Run 'export {FORMAT_VARIABLE}=json', or unset it.",
        )


def _require(command: Command | None, named: str) -> Command:
    if command is not None:
        return command
    if named == MISSING:
        raise parse_error("the following arguments are required: command", MISSING, HELP_HINT)
    known = [HELP, *(command.name for command in CLAW_COMMANDS)]
    near = similar_name(named, known)
    raise parse_error(
        f"argument command: invalid choice: {named!r} (choose from {', '.join(map(repr, known))})",
        named,
        f"Did you mean {near!r}? Run 'claw {near} --help'." if near else HELP_HINT,
    )


def _check_words(command: Command, words: tuple[str, ...]) -> None:
    wanted = command.usage.split()
    missing = [word.strip("<>") for word in wanted[len(words) :] if not word.startswith("[")]
    if missing:
        raise parse_error(f"the following arguments are required: {', '.join(missing)}", command.name)
    if len(words) > len(wanted):
        surplus = " ".join(words[len(wanted) :])[:_LONGEST_QUOTED]
        hint = "Put quotes around an argument that contains spaces." if wanted else None
        raise parse_error(f"unrecognized arguments: {surplus}", command.name, hint)
