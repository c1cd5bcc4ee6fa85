"""The command line of ``claw``: one command with its parameters, and the output format."""

import os
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from clawperator._base.text import printable
from clawperator._base.typed import given
from clawperator.agent.sessions.records import DEFAULT_DIRECTORY
from clawperator.cli.console import read_stdin
from clawperator.cli.parsing import (
    HELP_HINT,
    MISSING,
    ArgvParser,
    ParsedArguments,
    chosen_backend,
    cut_word,
    is_word,
    parse_error,
    similar_name,
)
from clawperator.contract.commands import Command
from clawperator.contract.fields import ParamField, read_field
from clawperator.errors import ClawError
from clawperator.operations.claw import CLAW, CLAW_GLOBALS, claw_command, find_claw_operation

if TYPE_CHECKING:
    from clawperator.agent.turns.assembly import AgentOptions
    from clawperator.operations.sessions import FlushParams
    from clawperator.operations.turns import AgentParams, TurnParams
    from clawperator.policy.rules import PolicyEntry

FORMAT_FLAG = "--output-format"
FORMAT_VARIABLE = "CLAW_OUTPUT_FORMAT"
FORMATS = ("text", "json")
HELP = "help"

_LONGEST_QUOTED = 200
_LONGEST_TEXT = 1024 * 1024
# Limits of numbers: what a clock can wait for, and what JSON readers can hold.
_MOST_SECONDS = 1_000_000_000
_MOST_WHOLE = 2**63 - 1


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
    command = claw_command(named) if named in CLAW else None
    arguments = ArgvParser(command, argv, title=named, strict=True, shared=CLAW_GLOBALS).run(place)
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
        message = f"{FORMAT_VARIABLE}: invalid choice: {default!r} (choose from text, json)"
        raise parse_error(message, named, f"Run 'export {FORMAT_VARIABLE}=json', or unset it.")


def _require(command: Command | None, named: str) -> Command:
    if command is not None:
        return command
    if named == MISSING:
        raise parse_error("the following arguments are required: command", MISSING, HELP_HINT)
    known = [HELP, *CLAW]
    near = similar_name(named, known)
    message = f"argument command: invalid choice: {named!r} (choose from {', '.join(map(repr, known))})"
    hint = f"Did you mean {near!r}? Run 'claw {near} --help'." if near else HELP_HINT
    raise parse_error(message, named, hint)


def _check_words(command: Command, words: tuple[str, ...]) -> None:
    wanted = command.usage.split()
    missing = [word.strip("<>") for word in wanted[len(words) :] if not word.startswith("[")]
    if missing:
        raise parse_error(f"the following arguments are required: {', '.join(missing)}", command.name)
    if len(words) > len(wanted):
        surplus = " ".join(words[len(wanted) :])[:_LONGEST_QUOTED]
        hint = "Put quotes around an argument that contains spaces." if wanted else None
        raise parse_error(f"unrecognized arguments: {surplus}", command.name, hint)


# Parameters


def read_params(arguments: ParsedArguments) -> Any:
    """The parameters of a command, by its row."""
    row = find_claw_operation(arguments.name)
    words = list(arguments.words)
    values: dict[str, Any] = {}
    for field in row.fields:
        value = read_field(field, arguments.values.get(field.flag) if field.has_flag else None, words)
        if value is not UNSET:
            values[field.attribute] = _number(field, value, arguments) if field.takes_number else value
    return row.params(**values)


def _number(field: ParamField, number: Any, arguments: ParsedArguments) -> float:
    if field.type is int:
        is_valid = isinstance(number, int) and abs(number) <= _MOST_WHOLE
        expected = "a whole number" + ("" if field.least is None else f" from {field.least} up")
    else:
        is_valid = isinstance(number, int | float) and abs(number) <= _MOST_SECONDS
        expected = f"a number of seconds, {_MOST_SECONDS} at most"
    if not is_valid or (field.least is not None and number < field.least):
        text = cut_word(arguments.get(field.flag) or "")
        raise parse_error(f"argument {field.flag}: it must be {expected}, not {text!r}", arguments.name)
    value: float = field.type(number)
    return value


def text_of(argument: str) -> str:
    """The argument itself, or stdin for ``-``. Invalid UTF-8 is replaced."""
    if argument == "-":
        argument = read_stdin(_LONGEST_TEXT + 1).decode("utf-8", "replace").removesuffix("\n")
    if len(argument) > _LONGEST_TEXT:
        message = f"the argument is longer than {_LONGEST_TEXT} characters"
        raise ClawError("PAYLOAD_TOO_LARGE", message, hint="Shorten it.", operation="read")
    return argument


def directory(params: Any, command: str) -> str:
    """The session folder."""
    if params.directory is UNSET:
        return DEFAULT_DIRECTORY
    if not params.directory.strip():
        raise parse_error("argument --directory: it must not be empty", command)
    return str(params.directory)


def chosen_session(params: "TurnParams | FlushParams", command: str) -> tuple[str | None, bool]:
    """The session to use, and whether it must already exist."""
    resumed, fresh = params.resume, params.session_id
    if resumed is not UNSET and fresh is not UNSET:
        raise parse_error("argument --resume: not allowed with argument --session-id", command)
    return (given(fresh), False) if resumed is UNSET else (resumed, True)


def prints_text(arguments: ParsedArguments) -> bool:
    """Whether the command prints text, not a document."""
    given = arguments.get(FORMAT_FLAG) or os.environ.get(FORMAT_VARIABLE) or "text"
    return given.casefold() != "json"


def acting_options(arguments: ParsedArguments, params: "AgentParams") -> "AgentOptions":
    """The options of a command that acts: device, backend, policy and confirmation."""
    from clawperator.agent.turns.assembly import agent_options

    is_terminal = all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))
    can_confirm = is_terminal and prints_text(arguments) and "-" not in arguments.words
    return agent_options(
        params,
        device=given(params.device),
        operator_package=given(params.operator_package),
        include_mcp=not arguments.has("--no-mcp"),
        asker=_confirm if can_confirm else None,
        backend=chosen_backend(arguments),
        sessions=arguments.get("--directory") or DEFAULT_DIRECTORY,
    )


def _confirm(tool: "PolicyEntry", params: Mapping[str, Any], reason: str) -> bool:
    import json

    shown = printable(json.dumps(dict(params), default=str))[:500]
    sys.stderr.write(f"claw: {reason}\nRun {tool.name} {shown}? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().casefold() in ("y", "yes")
