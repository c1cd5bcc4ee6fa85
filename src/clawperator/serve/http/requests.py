"""Read the request of a route: path, query and body into its type, with a typed error for everything else."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Literal, TypeVar
from urllib.parse import parse_qsl

import msgspec
from msgspec import Struct
from starlette.types import ASGIApp, Message, Receive, Scope

from clawperator._base.typed import convert, decode
from clawperator.contract.fields import ParamField, fields_of
from clawperator.contract.issues import struct_issues
from clawperator.errors import ClawError
from clawperator.serve.http.auth import Guard
from clawperator.serve.http.calls import HttpCall, Services
from clawperator.serve.http.documents import NoFields, Nothing
from clawperator.serve.http.sse import wait_for_disconnect

Method = Literal["GET", "POST", "DELETE"]
# Answers a request in the event loop.
Endpoint = Callable[[Any, Scope, Guard, Services], ASGIApp]
JSON = "application/json"

# How long a call may take before its deadlines end. An execution takes 120 seconds at most.
SHORT_SECONDS, EXECUTION_SECONDS = 60.0, 130.0


class HttpRoute(Struct, frozen=True, kw_only=True):
    """One route. ``answer`` is the type of a successful answer, without its ``ok``; ``errors`` are typical codes.

    ``work`` runs in a thread, for at most ``seconds``, and passes the gate. A route with an ``endpoint`` has none.
    A ``public`` route needs no token. ``read_seconds`` returns how long a request that only reads a device may
    wait for its turn, or None for one that acts. An answer of other ``media_types`` than JSON has no ``answer``.
    """

    method: Method
    path: str
    summary: str
    request: type[Struct] = NoFields
    answer: type[Struct] = Nothing
    work: Callable[[Any, HttpCall], Any] | None = None
    errors: tuple[str, ...] = ()
    seconds: float = SHORT_SECONDS
    read_seconds: Callable[[Any], float | None] = lambda _: None
    endpoint: Endpoint | None = None
    media_types: tuple[str, ...] = (JSON,)
    public: bool = False

    @property
    def path_fields(self) -> tuple[str, ...]:
        """The fields of the request that are in the path."""
        return tuple(part[1:-1] for part in self.path.split("/") if part.startswith("{"))

    @property
    def has_body(self) -> bool:
        return self.method == "POST"


T = TypeVar("T")

MAX_BODY_BYTES = 102_400
BODY_SECONDS = 15.0
_MAX_FIELDS = 32
_MAX_DIGITS = 15
# The codes of fields that have one of their own.
_FIELD_CODES: Mapping[str, str] = {
    "deviceId": "INVALID_DEVICE_ID",
    "operatorPackage": "INVALID_OPERATOR_PACKAGE",
    "path": "INVALID_PATH",
    "args": "INVALID_ARGS",
    "timeoutMs": "INVALID_TIMEOUT_MS",
    "expectContains": "INVALID_EXPECT_CONTAINS",
}


async def read_request(route: HttpRoute, scope: Scope, receive: Receive, seconds: float = BODY_SECONDS) -> Struct:
    """The request, or an error with the code of the field that is wrong."""
    fields = _query(scope)
    if route.has_body:
        if fields:
            raise _invalid(route, "INVALID_QUERY", f"{route.path} takes its fields in the body")
        body = await read_body(headers_of(scope), receive, seconds)
        fields = _document(route, body)
    else:
        kinds = {field.name: field for field in fields_of(route.request)}
        fields = {name: _read_text(value, kinds.get(name)) for name, value in fields.items()}
    in_path = scope.get("path_params", {})
    if twice := next((name for name in in_path if name in fields), None):
        raise _invalid(route, _general(route), f"unknown key: {twice}")
    return _typed(route, {**fields, **in_path})


def _read_text(text: str, field: ParamField | None) -> Any:
    """A value of a query: numbers and switches are text there."""
    if field is not None and field.takes_number and text.isascii() and text.isdecimal():
        return int(text) if len(text) <= _MAX_DIGITS else text
    return {"true": True, "false": False}.get(text, text) if field is not None and field.is_switch else text


def headers_of(scope: Scope) -> dict[bytes, bytes]:
    """The headers by name. A header that is repeated has its values joined, as HTTP defines it."""
    headers: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        headers[name] = headers[name] + b", " + value if name in headers else value
    return headers


def _query(scope: Scope) -> dict[str, Any]:
    text = scope["query_string"]
    if not text:
        return {}
    try:
        pairs = parse_qsl(
            text.decode("ascii"), keep_blank_values=True, max_num_fields=_MAX_FIELDS, errors="strict"
        )
    except ValueError:
        raise ClawError("INVALID_QUERY", "the query is not valid", operation="serve") from None
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ClawError("INVALID_QUERY", "a field is twice in the query", operation="serve")
    return fields


async def read_body(headers: Mapping[bytes, bytes], receive: Receive, seconds: float) -> bytes:
    """The body. ``PAYLOAD_TOO_LARGE``, or ``REQUEST_TIMEOUT`` when it does not arrive in time.

    A body that is too large is read to its end within the time, and dropped, so that its sender gets the response.
    """
    kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(seconds):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ClawError("REQUEST_TIMEOUT", "the client disconnected", operation="serve")
                size += len(message.get("body", b""))
                if size <= MAX_BODY_BYTES:
                    parts.append(message.get("body", b""))
                if not message.get("more_body"):
                    break
    except TimeoutError:
        if size <= MAX_BODY_BYTES:
            problem = f"the body did not arrive within {seconds:g} s"
            raise ClawError("REQUEST_TIMEOUT", problem, operation="serve") from None
    if size > MAX_BODY_BYTES:
        problem, limit = f"the body is larger than {MAX_BODY_BYTES} bytes", {"limit": MAX_BODY_BYTES}
        raise ClawError("PAYLOAD_TOO_LARGE", problem, details=limit, operation="serve")
    if size and kind and kind != b"application/json" and not kind.endswith(b"+json"):
        shown = kind.decode("latin-1")[:80]
        raise ClawError("UNSUPPORTED_MEDIA_TYPE", f"the body is {shown!r}, not JSON", operation="serve")
    return b"".join(parts)


def replayed(body: bytes, receive: Receive) -> Receive:
    """A ``receive`` for an application that reads the body again."""
    unread: list[Message] = [{"type": "http.request", "body": body}]

    async def next_message() -> Message:
        return unread.pop() if unread else await receive()

    return next_message


async def while_connected(receive: Receive, waiting: Coroutine[Any, Any, T]) -> T:
    """The result of a wait, which ends when the client disconnects. The request must have been read."""
    result = asyncio.ensure_future(waiting)
    disconnect = asyncio.ensure_future(wait_for_disconnect(receive))
    try:
        await asyncio.wait((result, disconnect), return_when=asyncio.FIRST_COMPLETED)
        if not result.done():
            raise ClawError("REQUEST_TIMEOUT", "the client disconnected", operation="serve")
        return result.result()
    finally:
        result.cancel()
        disconnect.cancel()


def _document(route: HttpRoute, body: bytes) -> dict[str, Any]:
    if not body.strip():
        return {}
    try:
        document = decode(body)
    except ValueError as e:
        raise ClawError("INVALID_JSON", f"the body is not valid JSON: {e}", operation="serve") from None
    if not isinstance(document, dict):
        raise _invalid(route, "INVALID_BODY", "the body is not a JSON object")
    return document


def _typed(route: HttpRoute, fields: dict[str, Any]) -> Struct:
    try:
        return convert(fields, route.request)
    except (msgspec.ValidationError, RecursionError):
        pass
    issues = struct_issues(route.request, fields, "")
    first = issues[0] if issues else None
    name = first.path.partition(".")[0] if first else ""
    if name == "execution":
        raise ClawError("MISSING_EXECUTION", "the body has no execution", operation="execute")
    message = f"{first.path}: {first.message}".removeprefix(": ") if first else "the request is invalid"
    details = {"issues": [{"path": issue.path, "message": issue.message} for issue in issues]}
    raise _invalid(route, _FIELD_CODES.get(name, _general(route)), message, details)


def _general(route: HttpRoute) -> str:
    return "INVALID_BODY" if route.has_body else "INVALID_QUERY"


def _invalid(route: HttpRoute, code: str, message: str, details: Mapping[str, Any] | None = None) -> ClawError:
    return ClawError(code, message, details=details, operation="serve", target=f"{route.method} {route.path}")
