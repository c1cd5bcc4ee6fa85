"""Run a command line of ``claw``: parse it, call the command's handler, print one document or text.

In JSON mode exactly one line goes to stdout, also on errors, and stderr stays empty. The exit code in the document
is that of the process: 0, 1 for errors, 2 when the time limit was exceeded.
"""

import os

from clawperator._base.notes import listening
from clawperator._base.text import encodable
from clawperator.agent.envelope import build_envelope, filesystem_error
from clawperator.cli.claw.command_line import FORMAT_VARIABLE, attempted_command, parse_line, requested_format
from clawperator.cli.claw.response import Response, failure
from clawperator.cli.console import Console, print_bytes
from clawperator.cli.parsing import ParsedArguments
from clawperator.cli.signals import signal_restorer
from clawperator.commands.model import POLICY_VARIABLE, resolve_handler
from clawperator.errors import ClawError


def run(argv: list[str]) -> int:
    """Run a command line of ``claw``, print one answer and return the exit code."""
    restore_signals = signal_restorer()
    default = os.environ.get(FORMAT_VARIABLE) or None
    command = attempted_command(argv)
    is_json = requested_format(argv, default) == "json"
    try:
        arguments = parse_line(argv, default)
        command = arguments.command.name if arguments.command else command
        with listening(None if is_json else _print_note):
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
    if POLICY_VARIABLE in os.environ:  # started by another claw: its policy holds here too
        from clawperator.policy.commands import command_entry
        from clawperator.policy.gate import check_calls

        check_calls([(command_entry(command, command.name, arguments.words, arguments.values, ()), {})])
    response: Response = resolve_handler(command.handler)(arguments)
    return response


def _help(arguments: ParsedArguments) -> Response:
    from clawperator.cli.help import claw_help_text
    from clawperator.commands.claw import CLAW_COMMANDS

    command, text = arguments.command, claw_help_text(arguments.command)
    if command is None:
        listed = [{"name": c.name, "responsibility": c.summary} for c in CLAW_COMMANDS]
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


def _print_note(text: str) -> None:
    _print_error(f"claw: {text}")


def _print_error(text: str) -> None:
    Console("info").write(encodable(text) + "\n")


def _document(response: Response, command: str) -> tuple[bytes, int]:
    """The document of a response and its exit code. A response that cannot be encoded becomes an error."""
    try:
        return _render(response, command), response.exit_code
    except KeyboardInterrupt:  # the work is done, so report it
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
