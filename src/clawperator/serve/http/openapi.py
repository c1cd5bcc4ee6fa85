"""The OpenAPI 3.1 description of the routes, from their types and the table of error codes."""

from collections.abc import Sequence
from typing import Any

import msgspec

from clawperator import __version__
from clawperator.errors import CODES
from clawperator.schemas import schema
from clawperator.serve.http.errors import statuses_of
from clawperator.serve.http.requests import JSON, MAX_BODY_BYTES, HttpRoute

_COMPONENTS = "#/components/schemas/"
_ERROR = "ErrorAnswer"
_STREAM = ("text/event-stream",)
_EVENTS = "heartbeat, clawperator:result, clawperator:execution, clawperator:lost, clawperator:closed"
# Errors that every route can answer with, and those of routes with a body and of routes that need a token.
_ALWAYS = ("HOST_NOT_ALLOWED", "ORIGIN_NOT_ALLOWED", "INTERNAL_SERVER_ERROR", "SERVER_BUSY", "SERVER_STOPPING")
_WITH_BODY = ("INVALID_BODY", "INVALID_JSON", "UNSUPPORTED_MEDIA_TYPE", "PAYLOAD_TOO_LARGE", "REQUEST_TIMEOUT")
_WITH_QUERY = ("INVALID_QUERY",)
_PROTECTED = ("UNAUTHORIZED", "PERMISSION_DENIED")

Document = dict[str, Any]


def describe_routes(routes: Sequence[HttpRoute]) -> Document:
    types = list(dict.fromkeys(kind for route in routes for kind in (route.request, route.answer)))
    _, found = msgspec.json.schema_components(types, ref_template=_COMPONENTS + "{name}")
    # References to its definitions become references to components.
    moved = msgspec.json.encode(schema("execution")).replace(b'"#/$defs/', f'"{_COMPONENTS}'.encode())
    execution = msgspec.json.decode(moved)
    components = {**found, **execution.pop("$defs"), _ERROR: _error()}
    components["ExecutionDocument"] = {"$ref": execution["$ref"], "description": execution["description"]}
    # The server fills in the other fields, and the ids of actions.
    components["ExecutionShape"]["required"] = ["actions"]
    for action in components["ActionShape"]["anyOf"]:
        action["required"].remove("id")
    paths: Document = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, components)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Clawperator",
            "version": __version__,
            "description": f"Android automation for AI agents. A body has at most {MAX_BODY_BYTES} bytes of JSON.",
        },
        "security": [{"token": []}],
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }


def _operation(route: HttpRoute, components: Document) -> Document:
    name = route.path.strip("/").replace("/", "_").replace("{", "").replace("}", "").replace(".", "_") or "page"
    operation: Document = {"summary": route.summary, "operationId": f"{route.method.lower()}_{name}"}
    if parameters := _parameters(route, components):
        operation["parameters"] = parameters
    if route.has_body and (body := _body(route, components)):
        operation["requestBody"] = body
    if route.public:
        operation["security"] = []
    operation["responses"] = {"200": _success(route), **_failures(route)}
    return operation


def _parameters(route: HttpRoute, components: Document) -> list[Document]:
    shape = components[route.request.__name__]
    parameters = []
    for name, kind in shape["properties"].items():
        in_path = name in route.path_fields
        if not in_path and route.has_body:
            continue
        required = in_path or name in shape.get("required", ())
        place = "path" if in_path else "query"
        parameters.append({"name": name, "in": place, "required": required, "schema": kind})
    if route.media_types == _STREAM:
        text = {"type": "string", "maxLength": 64}
        parameters.append({"name": "Last-Event-ID", "in": "header", "required": False, "schema": text})
    return parameters


def _body(route: HttpRoute, components: Document) -> Document:
    """The fields of the body; those of the path are not among them."""
    shape = components[route.request.__name__]
    properties = {name: kind for name, kind in shape["properties"].items() if name not in route.path_fields}
    required = [name for name in shape.get("required", ()) if name in properties]
    if "execution" in properties:
        properties["execution"] = {"$ref": _COMPONENTS + "ExecutionDocument"}
    body = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return {"required": bool(required), "content": {"application/json": {"schema": body}}}


def _success(route: HttpRoute) -> Document:
    ok = {"type": "object", "properties": {"ok": {"const": True}}, "required": ["ok"]}
    answer: Document = {"allOf": [ok, {"$ref": _COMPONENTS + route.answer.__name__}]}
    if route.path == "/openapi.json":
        answer = {"type": "object"}
    elif route.media_types != (JSON,):
        answer = {"type": "string"}
    events = f" Until the client disconnects: {_EVENTS}." if route.media_types == _STREAM else ""
    content = {kind: {"schema": answer} for kind in route.media_types}
    return {"description": route.summary + events, "content": content}


def _failures(route: HttpRoute) -> Document:
    """The error responses, by status, with the codes of each."""
    codes = [*route.errors, *_ALWAYS, *(_WITH_BODY if route.has_body else _WITH_QUERY)]
    if not route.public:
        codes += _PROTECTED
    if route.has_body or route.path_fields:
        codes += _WITH_QUERY
    by_status: dict[int, list[str]] = {}
    for code in dict.fromkeys(codes):
        for status in statuses_of(code):
            by_status.setdefault(status, []).append(code)
    content = {"application/json": {"schema": {"$ref": _COMPONENTS + _ERROR}}}
    failures: Document = {
        str(status): {"description": "; ".join(f"{c}: {CODES[c].meaning}" for c in named), "content": content}
        for status, named in sorted(by_status.items())
    }
    return {**failures, "default": {"description": "Any other error.", "content": content}}


def _error() -> Document:
    found = schema("error")
    error = {name: value for name, value in found.items() if name in ("type", "properties", "required")}
    return {
        "type": "object",
        "properties": {"ok": {"const": False}, "error": error, "deviceId": {"type": "string"}},
        "required": ["ok", "error"],
    }
