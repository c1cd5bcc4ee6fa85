"""Errors as HTTP responses: the status of each code, and the one form of an error document."""

from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.responses import Response

from clawperator._base.text import encodable
from clawperator.device.adb.sync import NoSuchFileError
from clawperator.errors import CODES, ClawError, ClawperatorException

INTERNAL = "INTERNAL_SERVER_ERROR"
# Codes whose status does not follow from their kind.
_BY_CODE: Mapping[str, int] = {
    **dict.fromkeys(("UNAUTHORIZED",), 401),
    **dict.fromkeys(
        (
            *("DEVICE_NOT_FOUND", "NO_DEVICES", "EMULATOR_NOT_FOUND", "EMULATOR_NOT_RUNNING", "SKILL_NOT_FOUND"),
            *("SCHEMA_NOT_FOUND", "PHONE_NOT_FOUND", "RECORDING_SESSION_NOT_FOUND", "ROUTE_NOT_FOUND"),
            *("DEVICE_USER_NOT_FOUND", "NODE_NOT_FOUND"),
        ),
        404,
    ),
    "METHOD_NOT_ALLOWED": 405,
    "REQUEST_TIMEOUT": 408,
    **dict.fromkeys(
        (
            *("EMULATOR_UNSUPPORTED", "EMULATOR_ALREADY_RUNNING"),
            *("PHONE_NOT_RUNNING", "PHONE_ALREADY_RUNNING"),
        ),
        409,
    ),
    "PAYLOAD_TOO_LARGE": 413,
    "UNSUPPORTED_MEDIA_TYPE": 415,
    "EXECUTION_CONFLICT_IN_FLIGHT": 423,
    **dict.fromkeys(
        (
            *("SKILL_EXECUTION_FAILED", "SKILL_EXECUTION_TIMEOUT", "SKILL_OUTPUT_ASSERTION_FAILED"),
            "SKILL_VERIFICATION_INDETERMINATE",
        ),
        400,
    ),
    **dict.fromkeys(("SERVER_BUSY", "SERVER_STOPPING", "INTERRUPTED"), 503),
    "RESULT_ENVELOPE_TIMEOUT": 504,
}
# Codes that mean 404 when the recording, or another input that the request names, does not exist.
_INPUT_CODES = frozenset(
    (
        *("RECORDING_EXPORT_FAILED", "RECORDING_PARSE_FAILED", "RECORDING_COMPARE_FAILED"),
        *("RECORDING_PULL_FAILED", "REPORT_FAILED"),
    )
)
_MISSING = 404
_BY_KIND: Mapping[str, int] = {"usage": 400, "parse": 400, "policy": 403}
_OTHERS = 500
# After these the client must not reuse the connection: the rest of its request was not read.
_CLOSING = (408, 413)
_RETRY_SECONDS = 1


class DeviceFailure(ClawperatorException):
    """A failure on a device that was found: its serial is part of the response."""

    def __init__(self, error: ClawError, serial: str) -> None:
        super().__init__(error, serial)
        self.error = error
        self.serial = serial


def status_of(code: str) -> int:
    """The status of an error code."""
    return _BY_CODE.get(code) or _BY_KIND.get(CODES[code].kind, _OTHERS)


def statuses_of(code: str) -> tuple[int, ...]:
    """Every status that an error of this code can have."""
    return (status_of(code), *((_MISSING,) if code in _INPUT_CODES else ()))


def _status(error: ClawError) -> int:
    is_missing = isinstance(error.__cause__, FileNotFoundError | NoSuchFileError) and error.operation != "write"
    return _MISSING if is_missing and error.code in _INPUT_CODES else status_of(error.code)


def error_document(error: ClawError, serial: str | None = None) -> dict[str, Any]:
    """The body of an error response."""
    found = {} if serial is None else {"deviceId": serial}
    return {"ok": False, "error": error.document(), **found}


def error_response(error: ClawError, serial: str | None = None, allow: str = "") -> Response:
    """The response of an error. ``allow`` lists the methods of a path that does not have the requested one."""
    status = _status(error)
    headers: dict[str, str] = {}
    if allow:
        headers["Allow"] = allow
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if status == 503:
        headers["Retry-After"] = str(_RETRY_SECONDS)
    if status in _CLOSING:
        headers["Connection"] = "close"
    return json_response(error_document(error, serial), status, headers)


def json_response(document: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(encode(document), status, headers, "application/json")


def success_response(answer: Any) -> Response:
    """The response of a call that succeeded: ``ok``, then the fields of the answer."""
    body = encode(answer)
    if not body.startswith(b'{"ok":'):
        body = b'{"ok":true' + (b"}" if body == b"{}" else b"," + body[1:])
    return Response(body, media_type="application/json")


def encode(document: Any) -> bytes:
    try:
        return msgspec.json.encode(document)
    except UnicodeEncodeError:  # a file name that is not text
        return msgspec.json.encode(encodable(msgspec.to_builtins(document)))


def internal_error() -> ClawError:
    """The error of a defect. What was wrong is in the log, not in the response."""
    return ClawError(INTERNAL, "internal error of the server", operation="serve")
