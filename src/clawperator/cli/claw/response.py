"""The response of a ``claw`` handler."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from clawperator.agent.envelope import error_object, is_not_found
from clawperator.errors import ClawError

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
