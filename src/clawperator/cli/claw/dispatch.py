"""Run a command line of ``claw``: parse it, call the command's handler, print one document or text.

In JSON mode exactly one line goes to stdout, also on errors, and stderr stays empty. The exit code in the document
is that of the process: 0, 1 for errors, 2 when the time limit was exceeded.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from msgspec import Struct

from clawperator._base.notes import listening
from clawperator._base.text import encodable
from clawperator.agent.envelope import build_envelope, error_object, filesystem_error, is_not_found
from clawperator.cli.claw.command_line import (
    FORMAT_VARIABLE,
    attempted_command,
    parse_line,
    read_params,
    requested_format,
)
from clawperator.cli.console import Console, print_bytes, signal_restorer
from clawperator.cli.parsing import ParsedArguments
from clawperator.contract.commands import resolve_handler
from clawperator.errors import ClawError
from clawperator.policy.gate import check_calls, policy_in_force

# In text mode, usage errors and interrupts have the exit codes that shells expect.
_TEXT_CODES: Mapping[str, int] = {"ARGUMENTS_INVALID": 2, "SESSION_ID_INVALID": 2, "INTERRUPTED": 130}


class Response(Struct, frozen=True):
    """A response in both forms: the document's own members, and text.

    In text mode an error may have another exit code and goes to stderr. ``command`` is set when it differs from
    the command that was typed.
    """

    payload: Mapping[str, Any]
    text: str
    exit_code: int = 0
    warnings: tuple[str, ...] = ()
    text_code: int | None = None
    to_stderr: bool = False
    command: str | None = None


def failure(
    error: ClawError,
    command: str,
    payload: Mapping[str, Any] | None = None,
    *,
    target: str = "",
    warnings: tuple[str, ...] = (),
) -> Response:
    """An error with further members. In text mode, "not found" goes to stdout."""
    shown = error_object(error, command, target)
    code = 2 if error.code == "TURN_TIMEOUT" else 1
    members = {**(payload or {}), "error": shown}
    if is_not_found(error):
        return Response(members, f"error: {error.message}", code, warnings)
    text = f"error: {error.message}\n{shown['hint']}"
    return Response(members, text, code, warnings, _TEXT_CODES.get(error.code, code), to_stderr=True)


def not_found_members(error: ClawError, name: str | None) -> dict[str, Any]:
    """The members of a document about something that does not exist; empty for other errors."""
    return {"name": name, "found": False} if is_not_found(error) else {}


def run(argv: list[str]) -> int:
    """Run a command line of ``claw``, print one answer and return the exit code."""
    restore_signals = signal_restorer()
    default = os.environ.get(FORMAT_VARIABLE) or None
    command = attempted_command(argv)
    is_json = requested_format(argv, default) == "json"
    try:
        arguments = parse_line(argv, default)
        command = arguments.command.name if arguments.command else command
        with listening(None if is_json else lambda text: _print_error(f"claw: {text}")):
            response = respond(arguments)
    except KeyboardInterrupt:
        response = failure(ClawError("INTERRUPTED", "interrupted from the keyboard", operation=command), command)
    except ClawError as e:
        response = failure(e, command)
    except OSError as e:
        response = failure(filesystem_error(e, command, command), command)
    except Exception as e:  # noqa: BLE001 - the outermost frame reports every error as a document
        response = failure(ClawError("UNKNOWN", f"{type(e).__name__}: {e}", operation=command), command)
    command = response.command or command
    text, code = _document(response, command) if is_json else (b"", 0)
    restore_signals()
    return print_bytes(text, code) if is_json else _print_text(response)


def respond(arguments: ParsedArguments) -> Response:
    """The response to a parsed command line."""
    if arguments.has("--version"):
        from clawperator import __version__

        named = None if arguments.command else "version"
        return Response({"version": __version__, "name": "claw"}, __version__, command=named)
    if arguments.has("--help"):
        return _help(arguments)
    command = arguments.command
    assert command is not None
    params = read_params(arguments)
    if policy_in_force():  # of the claw that started this one
        from clawperator.operations.call import CLI, policy_entry
        from clawperator.operations.claw import find_claw_operation

        check_calls([(policy_entry(find_claw_operation(command.name), params, CLI), {})])
    response: Response = resolve_handler(command.handler)(arguments, params)
    return response


def _help(arguments: ParsedArguments) -> Response:
    from clawperator.cli.help import claw_help_text
    from clawperator.operations.claw import claw_commands

    command, text = arguments.command, claw_help_text(arguments.command)
    if command is None:
        listed = [{"name": c.name, "responsibility": c.summary} for c in claw_commands()]
        return Response({"help": text, "commands": listed}, text, command="help")
    payload = {
        "help": text,
        "name": command.name,
        "responsibility": command.summary,
        "arguments": command.usage.split(),
        "flags": [
            {"name": flag.name, "metavar": flag.metavar, "help": flag.help, "repeats": flag.repeats}
            for flag in command.flags
        ],
        "examples": list(command.examples),
    }
    return Response(payload, text)


def _print_text(response: Response) -> int:
    for line in response.warnings:
        _print_error(f"warning: {line}")
    code = response.exit_code if response.text_code is None else response.text_code
    if response.to_stderr:
        _print_error(f"claw: {response.text}")
        return code
    return print_bytes(encodable(response.text).encode(), code)


def _print_error(text: str) -> None:
    Console("info").write(encodable(text) + "\n")


def _document(response: Response, command: str) -> tuple[bytes, int]:
    """The document of a response and its exit code. A response that cannot be encoded becomes an error."""
    try:
        with suppress(KeyboardInterrupt):  # the work is done, so report it
            return _render(response, command), response.exit_code
    except Exception as e:  # noqa: BLE001 - NaN, or a defect
        message = f"cannot encode the response: {type(e).__name__}: {e}"
        response = failure(ClawError("UNKNOWN", message, operation="render"), command)
    return _render(response, command), response.exit_code


def _render(response: Response, command: str) -> bytes:
    """One line of ASCII, with a space after each comma and colon. Values nested beyond 100 levels are left out."""
    import json

    document = build_envelope(
        command, response.exit_code, {**response.payload, "warnings": list(response.warnings)}
    )
    try:
        return json.dumps(encodable(document), allow_nan=False).encode()
    except RecursionError:
        from clawperator.agent.redaction import map_strings

        return json.dumps(map_strings(document, lambda text, _: str(encodable(text))), allow_nan=False).encode()
