"""The one document every ``claw`` command answers with: five common fields, then the command's own.

An error has six fields that are always there, and three of ours: ``class`` is one of ten words to sort by,
``code`` names the very trouble, ``details`` holds what is known beyond the message.
"""

import os
import time
from collections.abc import Mapping
from typing import Any

from clawperator.errors import CODES, ClawError

SCHEMA_VERSION = "1.0"
COMMON = ("timestamp", "command", "exit_code", "output_format", "schema_version")
CLASSES = ("filesystem", "auth", "session", "parse", "runtime", "mcp", "delivery", "usage", "policy", "unknown")

# Where the kind says more than the class. All other errors have their class for a kind.
KINDS: Mapping[str, str] = {
    "COMMAND_NOT_FOUND": "command_not_found",
    "TOOL_NOT_FOUND": "tool_not_found",
    "SESSION_NOT_FOUND": "session_not_found",
    "SESSION_LOAD_FAILED": "session_load_failed",
    "SESSION_DELETE_FAILED": "session_delete_failed",
    "SESSION_EXISTS": "session_exists",
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
# What helps here where the error itself names an option that claw does not have.
_OWN_HINTS: Mapping[str, str] = {
    "RESULT_ENVELOPE_TIMEOUT": "Run 'clawperator doctor' to see whether the phone answers, then try again.",
    "SKILL_EXECUTION_TIMEOUT": "Run it again with a larger --timeout-seconds.",
    "TARGET_NOT_FOUND": "Run 'clawperator snapshot' to see what is on the screen.",
    "INSTRUCTION_CHECK_FAILED": "Run 'claw bootstrap \"what is on the screen\"' to see what is there.",
}
# What to do about an error of a class that says nothing itself. Each names a command that works.
_HINTS: Mapping[str, str] = {
    "filesystem": "Run 'df .' to see whether the disk is full, and 'ls -ld .' to see who may write there.",
    "auth": "Export the key of the model's service, or run without --brain.",
    "session": "Run 'claw list-sessions' for the sessions there are.",
    "parse": "Run 'claw {command} --help' for what it takes.",
    "runtime": "Run 'clawperator doctor' to see what is wrong with the phone.",
    "mcp": "Run 'claw tool-pool --output-format json' to see which servers answer, and how.",
    "delivery": "Run 'clawperator doctor' to see what is wrong with the phone, then try again.",
    "usage": "Run 'claw {command} --help' for what it takes.",
    "policy": "Run it again with --permission-mode full, or with --allow-tool and the name of the tool.",
    "unknown": "Run 'clawperator doctor', then try again; if it happens again, report it with this document.",
}


def envelope(command: str, exit_code: int, payload: Mapping[str, Any]) -> dict[str, Any]:
    """The whole document, of this moment. A member of the payload never takes the place of a common one."""
    taken = [name for name in payload if name in COMMON]
    assert not taken, f"{command} answers with {taken}, which the envelope has"
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
    """What nobody foresaw went wrong while something ran: nobody can do anything with "unknown"."""
    return "runtime" if error.kind == "unknown" else error.kind


def kind_of(error: ClawError) -> str:
    return KINDS.get(error.code, class_of(error))


def error_object(error: ClawError, command: str, target: str = "") -> dict[str, Any]:
    """The error as every document shows it. What it does not know of itself, the command does."""
    out: dict[str, Any] = {
        "kind": kind_of(error),
        "operation": error.operation or command,
        "target": error.target or target or command,
        "retryable": error.retryable,
        "message": error.message,
        "hint": _OWN_HINTS.get(error.code) or error.hint or _HINTS[error.kind].format(command=command),
        "class": class_of(error),
        "code": error.code,
    }
    details = {**(error.details or {}), **error.extra}
    if details:
        out["details"] = details
    return out


def filesystem_error(error: OSError, operation: str, target: str) -> ClawError:
    """An error of the system that no one foresaw more exactly."""
    from clawperator._files import why

    named = error.filename
    target = named if isinstance(named, str) and named else target
    return ClawError(
        "FILESYSTEM_FAILED",
        why(error),
        hint=filesystem_hint(error, target),
        details={"errno": error.errno} if error.errno else None,
        operation=operation,
        target=target,
    )


def filesystem_hint(error: OSError, path: str) -> str | None:
    """What to type about it."""
    import shlex

    folder = os.path.dirname(path) or "."
    if isinstance(error, FileNotFoundError) and not error.filename:
        return "The folder this is run in may have been removed; run 'cd' to another one first."
    if isinstance(error, FileNotFoundError):
        return f"The folder does not exist; run 'mkdir -p {shlex.quote(folder)}'."
    if isinstance(error, PermissionError):
        return f"Run 'chmod u+rwx {shlex.quote(folder)}', or name another folder with --directory."
    return None


def is_not_found(error: ClawError) -> bool:
    """Whether it says that what was asked for does not exist. That is an answer, not a failure."""
    return error.code in ("COMMAND_NOT_FOUND", "TOOL_NOT_FOUND", "SESSION_NOT_FOUND")


assert {row.kind for row in CODES.values()} <= set(CLASSES)
