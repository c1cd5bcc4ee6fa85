"""The table of routes: routing, validation, policy and the OpenAPI description derive from it."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import msgspec
from msgspec import Struct, UnsetType
from msgspec.structs import replace
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from clawperator import __version__, schemas
from clawperator.agent.tools.builtin import agent_caller, run_with_device
from clawperator.contract.commands import resolve_handler
from clawperator.operations.call import HTTP, check_operation
from clawperator.operations.model import HOUR_SECONDS, Operation, all_operations, copied_fields, shape_of
from clawperator.serve.http import documents as d
from clawperator.serve.http import executions
from clawperator.serve.http.auth import Guard
from clawperator.serve.http.calls import HttpCall, Services
from clawperator.serve.http.errors import success_response
from clawperator.serve.http.openapi import describe_routes
from clawperator.serve.http.requests import EXECUTION_SECONDS, JSON, Endpoint, HttpRoute, Method, headers_of
from clawperator.serve.page import handlers as page
from clawperator.serve.page.files import ASSET_PATH, MEDIA_TYPES, asset_response, page_response

_DEVICE = (
    *("INVALID_DEVICE_ID", "INVALID_OPERATOR_PACKAGE"),
    *("DEVICE_NOT_FOUND", "NO_DEVICES", "MULTIPLE_DEVICES_DEVICE_ID_REQUIRED"),
)
_RUN = (
    *_DEVICE,
    "EXECUTION_CONFLICT_IN_FLIGHT",
    "EXECUTION_VALIDATION_FAILED",
    "OPERATOR_NOT_INSTALLED",
    "RESULT_ENVELOPE_TIMEOUT",
)

# Endpoints


@cache
def _description() -> bytes:
    return msgspec.json.encode(describe_routes(ROUTES))


def _open_session(request: d.SessionRequest, _: Scope, guard: Guard, __: Services) -> ASGIApp:
    if not guard.may_open_session(request.token):
        raise guard.unauthorized("this is not the token of the server, or the code has expired or was used")
    response = success_response(d.Nothing())
    response.headers["Set-Cookie"] = guard.set_cookie(guard.sessions.issue(), guard.sessions.seconds)
    return response


def _close_session(_: d.NoFields, scope: Scope, guard: Guard, __: Services) -> ASGIApp:
    cookie = guard.cookie_of(headers_of(scope))
    if cookie is not None:
        guard.sessions.end(cookie)
    response = success_response(d.Nothing())
    response.headers["Set-Cookie"] = guard.set_cookie("", 0)
    return response


def _events(_: d.NoFields, scope: Scope, __: Guard, services: Services) -> ASGIApp:
    last_id = headers_of(scope).get(b"last-event-id")
    client = services.events.subscribe(None if last_id is None else last_id.decode("latin-1"))

    async def stream(_: Scope, receive: Receive, send: Send) -> None:
        await services.events.stream(client, receive, send)

    return stream


# Work


def _get_schemas(_: d.NoFields, __: HttpCall) -> d.SchemaList:
    check_operation("schema", HTTP)
    return d.SchemaList([d.SchemaName(row["name"], row["description"]) for row in schemas.list_schemas()])


def _get_schema(request: d.SchemaRequest, _: HttpCall) -> d.OneSchema:
    check_operation("schema", HTTP, name=request.name)
    return d.OneSchema(schemas.schema(request.name))


# The routes of operations: one for each row that has one


def operation_routes() -> tuple[HttpRoute, ...]:
    return tuple(_operation_route(row) for row in all_operations() if row.route)


def _operation_route(operation: Operation) -> HttpRoute:
    return _row(
        operation.route,
        operation.summary,
        request=_request_of(operation),
        answer=_answer_of(operation),
        work=partial(_run_operation, operation),
        errors=(*(_DEVICE if operation.on_device else ()), *operation.errors),
        seconds=operation.seconds,
    )


def _request_of(operation: Operation) -> type[Struct]:
    """The parameters; those of an operation on a device with the device and its Operator."""
    shape = shape_of(operation)
    if not operation.on_device:
        return shape
    name = shape.__name__.removesuffix("Params") + "Request"
    return msgspec.defstruct(
        name, copied_fields(shape), bases=(d.OnDevice,), frozen=True, kw_only=True, rename="camel"
    )


def _answer_of(operation: Operation) -> type[Struct]:
    """The result, or an object that has it as one member."""
    result: type[Struct] = resolve_handler(operation.result)
    if not operation.answer_as:
        return result
    name = operation.params.__name__.removesuffix("Params") + "Answer"
    return msgspec.defstruct(name, [(operation.answer_as, result)], frozen=True)


def _run_operation(operation: Operation, request: Any, http: HttpCall) -> Any:
    caller = agent_caller(http.access.context(http.deadline))
    caller = replace(caller, entry=HTTP, is_stopping=http.is_stopping)
    if operation.on_device:
        package = http.package(request.operatorPackage)
        caller = replace(caller, device=http.serial(request.deviceId), operator_package=package)
    names = shape_of(operation).__struct_fields__
    params = operation.params(**{name: getattr(request, name) for name in names})
    document = run_with_device(operation, params, caller)[1]
    return {operation.answer_as: document} if operation.answer_as else document


# The table


def _row(route: str, summary: str, **columns: Any) -> HttpRoute:
    method, path = route.split()
    return HttpRoute(method=msgspec.convert(method, Method), path=path, summary=summary, **columns)


def _endpoint(route: str, summary: str, endpoint: Endpoint, **columns: Any) -> HttpRoute:
    """A route that is answered in the event loop."""
    return _row(route, summary, endpoint=endpoint, **columns)


def _route(route: str, summary: str, work: Callable[[Any, HttpCall], Any], **columns: Any) -> HttpRoute:
    """A route whose work runs in a thread. The annotations of the work are the request and the answer."""
    if "request" not in columns:
        shapes = list(work.__annotations__.values())
        columns = {"request": shapes[0], "answer": shapes[-1], **columns}
    return _row(route, summary, work=work, **columns)


def _run_route(route: str, summary: str, work: Callable[[Any, HttpCall], Any], **columns: Any) -> HttpRoute:
    return _route(route, summary, work, **{"errors": _RUN, "seconds": EXECUTION_SECONDS, **columns})


def _action_route(
    route: str, summary: str, action: str, request: str, errors: tuple[str, ...] = _RUN, **types: Any
) -> HttpRoute:
    """A route that runs one action: its fields are the parameters of the action."""
    return _run_route(
        route,
        summary,
        partial(executions.run_action, action),
        request=executions.action_request(request, action, **types),
        answer=d.RanExecution,
        errors=errors,
        read_seconds=partial(executions.action_seconds, action),
    )


def _touch_route(route: str, summary: str, work: Callable[[Any, HttpCall], Any]) -> HttpRoute:
    return _run_route(route, summary, work, errors=(*_RUN, "PHONE_NOT_RUNNING"))


ROUTES: tuple[HttpRoute, ...] = (
    _endpoint(
        "GET /", "The page for browsers.", lambda *_: page_response(), public=True, media_types=("text/html",)
    ),
    _endpoint(
        f"GET {ASSET_PATH}",
        "A style, script or picture of the page.",
        lambda request, *_: asset_response(request.name),
        request=d.FileNameRequest,
        errors=("ROUTE_NOT_FOUND",),
        public=True,
        media_types=tuple(sorted(MEDIA_TYPES.values())),
    ),
    _endpoint(
        "GET /health",
        "Whether the server runs.",
        lambda *_: success_response(d.Health(__version__)),
        answer=d.Health,
        public=True,
    ),
    _endpoint("GET /openapi.json", "This description.", lambda *_: Response(_description(), media_type=JSON)),
    _endpoint(
        "POST /session",
        "Exchange the token, or a code of --open, for the cookie of a browser session.",
        _open_session,
        request=d.SessionRequest,
        errors=("UNAUTHORIZED",),
        public=True,
    ),
    _endpoint("DELETE /session", "End the browser session.", _close_session),
    _endpoint("GET /events", "Executions as server-sent events.", _events, media_types=("text/event-stream",)),
    # Executions
    _run_route(
        "POST /execute",
        "Run an execution. A failed envelope is a successful call.",
        executions.execute,
        errors=("MISSING_EXECUTION", *_RUN),
        read_seconds=executions.execution_seconds,
    ),
    _action_route("POST /snapshot", "Capture the UI hierarchy.", "snapshot_ui", "SnapshotRequest"),
    _action_route(
        "POST /screenshot",
        "Save the screen as a PNG file.",
        "take_screenshot",
        "ScreenshotRequest",
        errors=("INVALID_PATH", *_RUN),
        path=d.FilePath | UnsetType,
    ),
    # The live screen
    _route(
        "GET /screen",
        "The screen of a device, or the next change of it.",
        page.wait_for_screen,
        answer=d.LiveAnswer,
        errors=_DEVICE,
    ),
    _route(
        "GET /screen/picture",
        "The screen of a device as PNG.",
        page.get_picture,
        answer=d.Nothing,
        media_types=("image/png",),
        errors=(*_DEVICE, "PHONE_NOT_RUNNING"),
    ),
    _route(
        "GET /screen/element",
        "The attributes and the selectors of an element on the screen.",
        page.get_element,
        errors=("NODE_NOT_FOUND", *_DEVICE),
    ),
    _touch_route("POST /touch", "Touch the screen as a user.", page.touch),
    _touch_route("POST /press", "Press a key as a user.", page.press),
    _touch_route("POST /type", "Type text as a user.", page.type_text),
    _touch_route("POST /close", "Close an app. Its data is kept.", page.close_app),
    # Recordings
    _action_route(
        "POST /recordings/start",
        "Start recording on the device.",
        "start_recording",
        "RecordingStartRequest",
        sessionId=d.SessionId | UnsetType,
    ),
    _action_route(
        "POST /recordings/stop",
        "Stop the running recording.",
        "stop_recording",
        "RecordingStopRequest",
        sessionId=d.SessionId | UnsetType,
    ),
    _route(
        "GET /recordings/events",
        "The events of a recording that is being made.",
        page.get_events,
        errors=(*_DEVICE, "RECORDING_SESSION_NOT_FOUND"),
    ),
    _route(
        "POST /recordings/replay",
        "Replay a recording on a device, and save the result beside it.",
        page.replay,
        errors=(*_DEVICE, "RECORDING_PARSE_FAILED"),
        seconds=HOUR_SECONDS,
    ),
    _route(
        "GET /recordings/report",
        "Open a report that was written.",
        page.open_report,
        answer=d.Nothing,
        media_types=("text/html",),
        errors=("INVALID_PATH", "REPORT_FAILED"),
    ),
    # Schemas
    _route("GET /schemas", "List the documents that have a JSON Schema.", _get_schemas),
    _route("GET /schemas/{name}", "The JSON Schema of a document.", _get_schema, errors=("SCHEMA_NOT_FOUND",)),
    *operation_routes(),
)
