"""The frame of ``claw``: read the line, call the command's handler, tell one document or prose.

In JSON mode everything that happens is one line on stdout, and stderr stays empty. The exit code in the document
is that of the process: 0, 1 for errors of all kinds, 2 when the time ran out.
"""

import os
from collections.abc import Callable

from clawperator._text import encodable
from clawperator.agent.envelope import envelope, filesystem_error
from clawperator.cli.claw.parsing import FORMAT_VARIABLE, Read, attempted, read, wanted_format
from clawperator.cli.claw.response import Told, failure
from clawperator.cli.claw.signals import heard_again
from clawperator.cli.output import print_bytes
from clawperator.commands.handlers import claw_module_of
from clawperator.errors import ClawError


def run(argv: list[str]) -> int:
    """Carry out a command line of ``claw``. Prints one answer and returns the exit code."""
    hear_requests = heard_again()
    default = os.environ.get(FORMAT_VARIABLE) or None
    command = attempted(argv)
    is_json = wanted_format(argv, default) == "json"
    try:
        asked = read(argv, default)
        command = asked.command.name if asked.command else command
        told = answer(asked)
    except KeyboardInterrupt:
        told = failure(ClawError("INTERRUPTED", "stopped by the keyboard", operation=command), command)
    except ClawError as e:
        told = failure(e, command)
    except OSError as e:
        told = failure(filesystem_error(e, command, command), command)
    except Exception as e:  # noqa: BLE001 - the door is where the unforeseen ends
        told = failure(ClawError("UNKNOWN", f"{type(e).__name__}: {e}", operation=command), command)
    command = told.command or command
    text, code = _document(told, command) if is_json else (b"", 0)
    hear_requests()
    return print_bytes(text, code) if is_json else _tell(told)


def answer(asked: Read) -> Told:
    """The answer to a line that was read."""
    if asked.wants_version:
        from clawperator import __version__

        named = None if asked.command else "version"
        return Told({"version": __version__, "name": "claw"}, __version__, command=named)
    if asked.wants_help:
        from clawperator.cli.claw.help import help_for

        return help_for(asked.command)
    assert asked.command is not None
    return _handler(asked.command.name)(asked)


def _handler(name: str) -> Callable[[Read], Told]:
    """The function that answers a command. Nothing is imported before it is wanted."""
    handler: Callable[[Read], Told] = __import__(claw_module_of(name), fromlist=("answer",)).answer
    return handler


def _tell(told: Told) -> int:
    """In prose."""
    for line in told.warnings:
        _say(f"warning: {line}")
    code = told.exit_code if told.text_code is None else told.text_code
    if told.to_stderr:
        _say(f"claw: {told.text}")
        return code
    return print_bytes(encodable(told.text).encode(), code)


def _say(text: str) -> None:
    from clawperator.cli.console import Console

    Console("info").write(encodable(text) + "\n")


def _document(told: Told, command: str) -> tuple[bytes, int]:
    """The document of an answer, and its exit code. What cannot be written is an error, which can."""
    try:
        return _render(told, command), told.exit_code
    except KeyboardInterrupt:  # what was done is done, and is told
        return _render(told, command), told.exit_code
    except Exception as e:  # noqa: BLE001 - a number without end, a fault
        message = f"the answer cannot be written: {type(e).__name__}: {e}"
        told = failure(ClawError("UNKNOWN", message, operation="render"), command)
        return _render(told, command), told.exit_code


def _render(told: Told, command: str) -> bytes:
    """One line of ASCII, with a space after each comma and colon. What is nested past 100 levels is left out."""
    import json

    document = envelope(command, told.exit_code, {**told.payload, "warnings": list(told.warnings)})
    try:
        return json.dumps(encodable(document), allow_nan=False).encode()
    except RecursionError:
        from clawperator.agent.redaction import map_strings

        return json.dumps(map_strings(document, lambda text, _: str(encodable(text))), allow_nan=False).encode()
