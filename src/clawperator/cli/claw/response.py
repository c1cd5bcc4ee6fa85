"""What a handler of ``claw`` gives to the door."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from clawperator.agent.envelope import error_object, is_not_found
from clawperator.errors import ClawError

# In prose a usage error and an interrupt have the exit codes that shells expect.
_TEXT_CODES: Mapping[str, int] = {"ARGUMENTS_INVALID": 2, "SESSION_ID_INVALID": 2, "INTERRUPTED": 130}


class Told(Struct, frozen=True):
    """An answer in both forms: the document's own members, and prose.

    In prose an error may have another exit code and goes to stderr. ``command`` is set when it is not the one
    that was typed.
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
) -> Told:
    """An error, with what the command has to say besides. That something does not exist is told on stdout."""
    shown = error_object(error, command, target)
    code = 2 if error.code == "TURN_TIMEOUT" else 1
    told = {**(payload or {}), "error": shown}
    if is_not_found(error):
        return Told(told, f"error: {error.message}", code, warnings)
    text = f"error: {error.message}\n{shown['hint']}"
    return Told(told, text, code, warnings, _TEXT_CODES.get(error.code, code), to_stderr=True)


def absent(error: ClawError, name: str | None) -> dict[str, Any]:
    """What a document says of something that was looked for and is not there."""
    return {"name": name, "found": False} if is_not_found(error) else {}
