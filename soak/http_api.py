"""The HTTP API by its own description: valid and invalid requests of every operation, drawn by schemathesis.

Every response has a status, a media type and a document that the description names, and no request causes an
internal error. Requests that the description does not allow are refused.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import FailureGroup
from schemathesis.specs.openapi.checks import (
    negative_data_rejection,
    positive_data_acceptance,
    unsupported_method,
)

from soak.runner import OracleError, Run, require
from tests.support.http_client import RunningServer, running_server
from tests.support.routes import SERIAL, open_route

EXAMPLES = 200
# A stream of events does not end, and has tests of its own.
_SKIPPED = ("/events",)
# Errors of the machine are documented answers with a status of 5xx, and some rules of an execution are not in its
# schema. Methods are sent to paths with generated names, which may be those of other routes.
_NOT_CHECKED = [not_a_server_error, positive_data_acceptance, unsupported_method]
_ANSWER_SECONDS = 60
_INTERNAL = b'"code":"INTERNAL_SERVER_ERROR"'


def run_http(run: Run) -> None:
    """All operations, each with 200 requests, until the time is over; with a limit of inputs, with fewer."""
    with served(run.folder) as running:
        examples = EXAMPLES if run.most is None else run.most // (2 * len(operations(running))) + 1
        while run.goes_on():
            for operation in operations(running):
                for mode in schemathesis.GenerationMode:
                    send_examples(run, running, operation, mode, examples)


@contextmanager
def served(folder: Path) -> Iterator[RunningServer]:
    """A server that finds one simulated phone."""
    work = folder / "served"
    work.mkdir()
    with (
        open_route("no adb", folder) as route,
        patch.dict(os.environ, route.environment),
        running_server(work) as one,
    ):
        yield one


def operations(running: RunningServer) -> Sequence[Any]:
    document = running.client.get("/openapi.json").document
    schema = schemathesis.openapi.from_dict(document)
    found: list[Any] = list(schema.get_all_operations())
    return [operation for operation in (result.ok() for result in found) if operation.path not in _SKIPPED]


def send_examples(run: Run, running: RunningServer, operation: Any, mode: Any, examples: int) -> None:
    url = f"http://127.0.0.1:{running.client.port}"
    headers = {"Authorization": f"Bearer {running.client.token}"}

    def validate(case: Any) -> None:
        response = case.call(base_url=url, headers=headers, timeout=_ANSWER_SECONDS)
        require(response.status_code != 500 or _INTERNAL not in response.content, "an internal error")
        # schemathesis does not know 413 as a refusal, and a field of a query without values is not sent.
        is_sent = all(value not in (None, [], {}) for value in (case.query or {}).values())
        more = [] if is_sent and response.status_code != 413 else [negative_data_rejection]
        try:
            case.validate_response(response, headers=headers, excluded_checks=[*_NOT_CHECKED, *more])
        except FailureGroup as e:  # not an Exception
            raise OracleError("; ".join(f"{type(one).__name__}: {one}" for one in e.exceptions)) from None

    @seed(run.seed)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=(Phase.explicit, Phase.generate),
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def send(case: Any) -> None:
        _restrict(case)
        label = f"{mode.value} {operation.label}"
        run.check(label, case.as_curl_command().encode(), lambda _: validate(case), may_refuse=False)

    try:
        send()
    except Exception as e:
        # An operation without fields has no invalid requests.
        if mode is not schemathesis.GenerationMode.NEGATIVE or "Unsatisfiable" not in type(e).__name__:
            raise


def _restrict(case: Any) -> None:
    """Keep executions short and on the phone, and start no other phones."""
    body = case.body
    if isinstance(body, dict):
        if isinstance(execution := body.get("execution"), dict) and "timeoutMs" in execution:
            number = execution["timeoutMs"]
            valid = isinstance(number, int | float) and not isinstance(number, bool) and 1_000 <= number <= 120_000
            execution["timeoutMs"] = 1_000 if valid else number
        if body.get("all") is True:  # the phone is in this process
            body["all"] = False
        if isinstance(body.get("deviceId"), str) and body["deviceId"][:1] in tuple("ABCDEFGH01234"):
            body["deviceId"] = SERIAL
    if case.path.endswith("/start") and case.path.startswith("/phones"):
        case.path_parameters = {"serial": SERIAL}  # it runs already
