"""The document that every ``claw`` command prints: five common fields, then the command's own.

An error has the six fields of the contract and three of ours: ``class`` is one of ten general kinds, ``code`` the
exact error, ``details`` further facts.
"""

import os
import time
from collections.abc import Mapping
from typing import Any

from clawperator.errors import CODES, ClawError

SCHEMA_VERSION = "1.0"
COMMON = ("timestamp", "command", "exit_code", "output_format", "schema_version")
CLASSES = ("filesystem", "auth", "session", "parse", "runtime", "mcp", "delivery", "usage", "policy", "unknown")

# Kinds that are more specific than the class. For all other errors both are the same.
KINDS: Mapping[str, str] = {
    **{code: code.lower() for code in ("COMMAND_NOT_FOUND", "TOOL_NOT_FOUND", "SESSION_NOT_FOUND")},
    **{code: code.lower() for code in ("SESSION_LOAD_FAILED", "SESSION_DELETE_FAILED", "SESSION_EXISTS")},
    "SESSION_BUSY": "session_busy",
    "EXECUTION_CONFLICT_IN_FLIGHT": "device_busy",
    "NO_DEVICES": "device_not_found",
    "DEVICE_NOT_FOUND": "device_not_found",
    "ADB_NOT_FOUND": "device_not_found",
    "MULTIPLE_DEVICES_DEVICE_ID_REQUIRED": "device_not_chosen",
    "INSTRUCTION_NOT_UNDERSTOOD": "not_understood",
    "INSTRUCTION_AMBIGUOUS": "ambiguous",
    "TURN_TIMEOUT": "timeout",
    "INTERRUPTED": "interrupted",
}
# Hints in place of those that name options claw does not have.
_CLAW_HINTS: Mapping[str, str] = {
    "RESULT_ENVELOPE_TIMEOUT": "Run 'clawperator doctor' to check the phone, then try again.",
    "SKILL_EXECUTION_TIMEOUT": "Run the command with a larger --timeout-seconds.",
    "TURN_TIMEOUT": "Run it again with a larger --timeout-seconds.",
    "TARGET_NOT_FOUND": "Run 'clawperator snapshot' to see what is on the screen.",
    "INSTRUCTION_CHECK_FAILED": "Run 'claw bootstrap \"what is on the screen\"' to see what is there.",
}
# Hints for errors without one, by code and by class. Each names a command that works.
_DEFAULT_HINTS: Mapping[str, str] = {
    "INTERRUPTED": "Run it again, or run 'claw list-sessions' to see what was saved.",
    "filesystem": "Run 'df .' to check disk space and 'ls -ld .' to check permissions.",
    "auth": "Export the key of the model service, or run without --brain.",
    "session": "Run 'claw list-sessions' to list sessions.",
    "parse": "Run 'claw {command} --help' for usage.",
    "runtime": "Run 'clawperator doctor' to check the phone.",
    "mcp": "Run 'claw tool-pool --output-format json' to see the status of the servers.",
    "delivery": "Run 'clawperator doctor' to check the phone, then try again.",
    "usage": "Run 'claw {command} --help' for usage.",
    "policy": "Run the command with '--permission-mode full', or with '--allow-tool NAME'.",
    "unknown": "Run 'clawperator doctor', then try again; if it repeats, report it with this document.",
}
# In place of a hint to repeat a call that may have done something.
_CHECK_FIRST = "Run 'claw bootstrap \"what is on the screen\"' to see what was done before you repeat it."


def build_envelope(command: str, exit_code: int, payload: Mapping[str, Any]) -> dict[str, Any]:
    """Build the document. The payload must not contain common fields."""
    reserved = [name for name in payload if name in COMMON]
    assert not reserved, f"the payload of {command} contains common fields: {reserved}"
    return {
        "timestamp": timestamp(),
        "command": command,
        "exit_code": exit_code,
        "output_format": "json",
        "schema_version": SCHEMA_VERSION,
        **payload,
    }


def timestamp(now: float | None = None) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now))


def class_of(error: ClawError) -> str:
    """The class of an error; an internal error is "runtime", because callers cannot act on "unknown"."""
    return "runtime" if error.kind == "unknown" else error.kind


def error_object(error: ClawError, command: str, target: str = "") -> dict[str, Any]:
    """Render an error. Operation and target default to those of the command."""
    out: dict[str, Any] = {
        "kind": KINDS.get(error.code, class_of(error)),
        "operation": error.operation or command,
        "target": error.target or target or command,
        "retryable": error.retryable,
        "message": error.message,
        "hint": _hint(error, command),
        "class": class_of(error),
        "code": error.code,
    }
    details = {**(error.details or {}), **error.extra}
    if details:
        out["details"] = details
    return out


def _hint(error: ClawError, command: str) -> str:
    default = _DEFAULT_HINTS.get(error.code) or _DEFAULT_HINTS[error.kind].format(command=command)
    hint = _CLAW_HINTS.get(error.code) or error.own_hint or default
    return _CHECK_FIRST if error.after_effect and "again" in hint else hint


def filesystem_error(error: OSError, operation: str, target: str) -> ClawError:
    """The error for an ``OSError`` without a more specific code."""
    from clawperator._base.files import why

    path = error.filename
    target = path if isinstance(path, str) and path else target
    hint, details = filesystem_hint(error, target), {"errno": error.errno} if error.errno else None
    return ClawError(
        "FILESYSTEM_FAILED", why(error), hint=hint, details=details, operation=operation, target=target
    )


def filesystem_hint(error: OSError, path: str) -> str | None:
    import shlex

    folder = os.path.dirname(path) or "."
    if isinstance(error, FileNotFoundError) and not error.filename:
        return "The current folder may have been removed; run 'cd' to change to another one."
    if isinstance(error, FileNotFoundError):
        return f"The folder does not exist; run 'mkdir -p {shlex.quote(folder)}'."
    if isinstance(error, PermissionError):
        return f"Run 'chmod u+rwx {shlex.quote(folder)}', or pass another folder with --directory."
    return None


def is_not_found(error: ClawError) -> bool:
    """Whether the requested entity does not exist, which is an answer and not a failure."""
    return error.code in ("COMMAND_NOT_FOUND", "TOOL_NOT_FOUND", "SESSION_NOT_FOUND")


assert {row.kind for row in CODES.values()} <= set(CLASSES)
