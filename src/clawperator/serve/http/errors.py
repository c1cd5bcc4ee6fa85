"""Errors as HTTP responses: the status of each code, and the one form of an error document."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from starlette.responses import Response

from clawperator._base.typed import encode_document
from clawperator.device.adb.sync import NoSuchFileError
from clawperator.errors import CODES, ClawError, ClawperatorException
from clawperator.operations.hints import Next, ask_user, translate

INTERNAL = "INTERNAL_SERVER_ERROR"
# Codes whose status does not follow from their kind.
_BY_STATUS: Mapping[int, tuple[str, ...]] = {
    400: (
        *("SKILL_EXECUTION_FAILED", "SKILL_EXECUTION_TIMEOUT", "SKILL_OUTPUT_ASSERTION_FAILED"),
        "SKILL_VERIFICATION_INDETERMINATE",
    ),
    401: ("UNAUTHORIZED",),
    404: (
        *("DEVICE_NOT_FOUND", "NO_DEVICES", "EMULATOR_NOT_FOUND", "EMULATOR_NOT_RUNNING", "SKILL_NOT_FOUND"),
        *("SCHEMA_NOT_FOUND", "PHONE_NOT_FOUND", "RECORDING_SESSION_NOT_FOUND", "ROUTE_NOT_FOUND"),
        *("DEVICE_USER_NOT_FOUND", "NODE_NOT_FOUND"),
    ),
    405: ("METHOD_NOT_ALLOWED",),
    408: ("REQUEST_TIMEOUT",),
    409: ("EMULATOR_UNSUPPORTED", "EMULATOR_ALREADY_RUNNING", "PHONE_NOT_RUNNING", "PHONE_ALREADY_RUNNING"),
    413: ("PAYLOAD_TOO_LARGE",),
    415: ("UNSUPPORTED_MEDIA_TYPE",),
    423: ("EXECUTION_CONFLICT_IN_FLIGHT",),
    503: ("SERVER_BUSY", "SERVER_STOPPING", "INTERRUPTED"),
    504: ("RESULT_ENVELOPE_TIMEOUT",),
}
_BY_CODE = {code: status for status, codes in _BY_STATUS.items() for code in codes}
# Codes that mean 404 when the recording, or another input that the request names, does not exist.
_INPUT_CODES = (
    *("RECORDING_EXPORT_FAILED", "RECORDING_PARSE_FAILED", "RECORDING_COMPARE_FAILED"),
    *("RECORDING_PULL_FAILED", "REPORT_FAILED"),
)
_MISSING = 404
_BY_KIND: Mapping[str, int] = {"usage": 400, "parse": 400, "policy": 403}
_OTHERS = 500
# After these the client must not reuse the connection: the rest of its request was not read.
_CLOSING = (408, 413)
_RETRY_SECONDS = 1
# The routes of calls in hints that are not in the row of an operation. Other actions are executions.
_ROUTES: Mapping[str, str] = {
    "snapshot_ui": "POST /snapshot",
    "take_screenshot": "POST /screenshot",
    "start_recording": "POST /recordings/start",
    "stop_recording": "POST /recordings/stop",
    "schema": "GET /schemas/{name}",
}


class DeviceFailure(ClawperatorException):
    """A failure on a device that was found: its serial is part of the response."""

    def __init__(self, error: ClawError, serial: str) -> None:
        super().__init__(error, serial)
        self.error = error
        self.serial = serial


def status_of(code: str) -> int:
    return _BY_CODE.get(code) or _BY_KIND.get(CODES[code].kind, _OTHERS)


def statuses_of(code: str) -> tuple[int, ...]:
    """Every status that an error of this code can have."""
    return (status_of(code), *((_MISSING,) if code in _INPUT_CODES else ()))


def _status(error: ClawError) -> int:
    is_missing = isinstance(error.__cause__, FileNotFoundError | NoSuchFileError) and error.operation != "write"
    return _MISSING if is_missing and error.code in _INPUT_CODES else status_of(error.code)


def error_document(error: ClawError, serial: str | None = None, *, for_page: bool = False) -> dict[str, Any]:
    """The body of an error response. Hints for clients other than the page name requests."""
    found = {} if serial is None else {"deviceId": serial}
    hint = error.hint if for_page else translate(error.hint, describe_request)
    return {"ok": False, "error": {**error.document(), "hint": hint}, **found}


def describe_request(call: Next) -> str:
    """The call of a hint as a request: ``send POST /snapshot {"view":"outline"}``."""
    operation, params = call.operation, {**call.params, **call.caller}
    route = _ROUTES.get(call.action) if operation is None else _ROUTES.get(operation.name, operation.route)
    if call.action and route is None:
        action = {"type": call.action, "params": call.params}
        route, params = "POST /execute", {"execution": {"actions": [action]}, **call.caller}
    if not route:
        return ask_user(call)
    method, path = route.split()
    if path.endswith("}") and path.rpartition("{")[2][:-1] not in params:
        path = path.rpartition("/")[0]  # without a name it lists them
    for name in [part[1:-1] for part in path.split("/") if part.startswith("{")]:
        path = path.replace(f"{{{name}}}", quote(str(params.pop(name, f"<{name}>")), "<>"))
    if method != "POST":
        texts = {
            name: value if isinstance(value, str) else encode_document(value) for name, value in params.items()
        }
        return f"send {method} {path}{'?' if texts else ''}{urlencode(texts)}"
    return f"send {method} {path} {encode_document(params).decode()}" if params else f"send {method} {path}"


def error_response(
    error: ClawError, serial: str | None = None, allow: str = "", *, for_page: bool = False
) -> Response:
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
    return json_response(error_document(error, serial, for_page=for_page), status, headers)


def json_response(document: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(encode_document(document), status, headers, "application/json")


def success_response(answer: Any) -> Response:
    """The response of a call that succeeded: ``ok``, then the fields of the answer."""
    body = encode_document(answer)
    if not body.startswith(b'{"ok":'):
        body = b'{"ok":true' + (b"}" if body == b"{}" else b"," + body[1:])
    return Response(body, media_type="application/json")
