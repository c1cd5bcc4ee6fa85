"""The OpenAPI description: complete, consistent, and true for every answer of the contract's tests.

``tests/soak`` sends requests that schemathesis draws from it.
"""

import json
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from clawperator.errors import CODES
from clawperator.serve.http.errors import status_of
from clawperator.serve.http.openapi import describe_routes
from clawperator.serve.http.routes import ROUTES
from tests.support.http_client import Client
from tests.support.paths import GOLDEN

DOCUMENT = json.loads(json.dumps(describe_routes(ROUTES)))
SCHEMAS = DOCUMENT["components"]["schemas"]


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, below in value.items():
            if name == "$ref":
                yield below
            yield from references(below)
    elif isinstance(value, list):
        for below in value:
            yield from references(below)


def operations() -> Iterator[tuple[str, Any]]:
    for path, methods in DOCUMENT["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def test_every_route_is_described() -> None:
    assert [name for name, _ in operations()] == sorted(
        (f"{route.method} {route.path}" for route in ROUTES),
        key=[name for name, _ in operations()].index,
    )


def test_references_lead_to_schemas_that_are_valid() -> None:
    assert {reference.rpartition("/")[2] for reference in references(DOCUMENT)} <= set(SCHEMAS)
    for schema in SCHEMAS.values():
        jsonschema.Draft202012Validator.check_schema(schema)


def test_operations_have_different_ids() -> None:
    ids = [operation["operationId"] for _, operation in operations()]
    assert len(set(ids)) == len(ids)


def test_each_error_is_described_under_its_status() -> None:
    for route in ROUTES:
        responses = DOCUMENT["paths"][route.path][route.method.lower()]["responses"]
        for code in route.errors:
            assert code in CODES
            assert code in responses[str(status_of(code))]["description"]
        assert ("401" in responses) != (route.public and "UNAUTHORIZED" not in route.errors)


def test_every_field_of_a_request_is_in_the_path_the_query_or_the_body() -> None:
    for route in ROUTES:
        operation = DOCUMENT["paths"][route.path][route.method.lower()]
        parameters = {(one["in"], one["name"]) for one in operation.get("parameters", ()) if one["in"] != "header"}
        body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
        in_path = {("path", name) for name in route.path_fields}
        rest = set(route.request.__struct_encode_fields__) - set(route.path_fields)
        assert in_path <= parameters
        assert rest == (
            set(body.get("properties", ())) if route.has_body else {name for _, name in parameters - in_path}
        )


# The golden answers, and the operation of each.
ANSWERS = {
    "devices": ("/devices", "get"),
    "execute": ("/execute", "post"),
    "execute.failed": ("/execute", "post"),
    "snapshot": ("/snapshot", "post"),
    "screenshot": ("/screenshot", "post"),
    "skill.run": ("/skills/{skill}/run", "post"),
    "emulators": ("/android/emulators", "get"),
    "emulator": ("/android/emulators/{name}", "get"),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_golden_answers_fit_the_description(name: str) -> None:
    path, method = ANSWERS[name]
    content = DOCUMENT["paths"][path][method]["responses"]["200"]["content"]
    answer = json.loads(
        (GOLDEN / "http" / f"{name}.json").read_text().replace('"durationMs": "…"', '"durationMs": 1')
    )
    schema = {**content["application/json"]["schema"], "components": DOCUMENT["components"]}
    jsonschema.Draft202012Validator(schema).validate(answer)


def test_errors_fit_the_description() -> None:
    schema = {"$ref": "#/components/schemas/ErrorAnswer", "components": DOCUMENT["components"]}
    for path in (GOLDEN / "http").glob("*.json"):
        document = json.loads(path.read_text())
        if not document["ok"]:
            jsonschema.Draft202012Validator(schema).validate(document)


def test_the_server_sends_its_description(client: Client) -> None:
    assert client.get("/openapi.json").document == DOCUMENT
