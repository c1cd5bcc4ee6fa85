"""Every route passes the policy check, by the command that it equals."""

from pathlib import Path
from typing import Any

import pytest

from clawperator.serve.http.routes import ROUTES
from tests.serve.http.test_contract_routes import HOME, SNAP, execution
from tests.support.http_client import Client, running_server

# Routes that act, with a valid body.
ACTING: dict[str, Any] = {
    "POST /execute": {"execution": execution(HOME)},
    "POST /screenshot": {},
    "POST /skills/{skill}/run": {},
    "POST /android/emulators/create": {},
    "DELETE /android/emulators/{name}": None,
    "POST /android/emulators/{name}/start": {},
    "POST /android/emulators/{name}/stop": {},
    "POST /android/provision/emulator": {},
    "POST /phones/{serial}/start": {},
    "POST /phones/{serial}/stop": {},
    "POST /phones/{serial}/reset": {},
    "DELETE /phones/{serial}": None,
    "POST /phones/{serial}/screenshot": {},
    "POST /phones/{serial}/faults": {"name": "latency", "setting": "on"},
    "POST /touch": {"kind": "tap", "x": 1, "y": 1},
    "POST /press": {"key": "home"},
    "POST /type": {"text": "a"},
    "POST /close": {"applicationId": "com.android.settings"},
    "POST /recordings/start": {},
    "POST /recordings/stop": {},
    "POST /recordings/pull": {},
    "POST /recordings/export": {"input": "x.ndjson"},
    "POST /recordings/parse": {"input": "x.ndjson"},
    "POST /recordings/repair": {"input": "x.ndjson"},
    "POST /recordings/replay": {"input": "x.ndjson"},
    "POST /recordings/report": {"input": "x.ndjson"},
}
READING = {
    *(
        "GET /devices",
        "GET /packages",
        "POST /snapshot",
        "GET /doctor",
        "GET /skills",
        "GET /skills/{skill}",
        "GET /android/emulators",
    ),
    *("GET /android/emulators/running", "GET /android/emulators/{name}", "GET /phones", "GET /recordings"),
    "GET /phones/{serial}/faults",
    *(
        "GET /screen",
        "GET /screen/picture",
        "GET /screen/element",
        "GET /recordings/events",
        "GET /recordings/report",
    ),
    *("POST /recordings/describe", "POST /recordings/compare", "GET /schemas", "GET /schemas/{name}"),
}


def filled(path: str) -> str:
    return path.replace("{skill}", "a.b.c").replace("{name}", "one").replace("{serial}", "one")


def test_every_route_is_either_reading_or_acting() -> None:
    known = {f"{route.method} {route.path}" for route in ROUTES if route.endpoint is None}
    assert known == {*ACTING, *READING}


def test_what_acts_is_denied_in_read_only_mode(folder: Path) -> None:
    with running_server(folder, mode="read-only") as running:
        for name, body in ACTING.items():
            method, _, path = name.partition(" ")
            reply = running.client.send(method, filled(path), body)
            assert (reply.status, reply.code) == (403, "PERMISSION_DENIED"), name
            assert reply.document["error"]["hint"]


@pytest.mark.usefixtures("route")
def test_what_reads_is_allowed_in_read_only_mode(folder: Path) -> None:
    with running_server(folder, mode="read-only") as running:
        for name in READING:
            method, _, path = name.partition(" ")
            reply = running.client.send(method, filled(path), {} if method == "POST" else None)
            assert reply.status != 403, name


def test_what_installs_and_deletes_needs_the_mode_full(folder: Path) -> None:
    (folder / "app.py").write_text("")
    with running_server(folder) as running:
        for method, path, body in (
            ("POST", "/android/emulators/create", {}),
            ("DELETE", "/android/emulators/one", None),
            ("POST", "/phones/one/reset", {}),
            ("POST", "/phones/one/start", {"apps": ["app.py"]}),
        ):
            reply = running.client.send(method, path, body)
            assert (reply.status, reply.code) == (403, "PERMISSION_DENIED"), path


@pytest.mark.usefixtures("route")
def test_each_action_of_a_plan_is_checked(folder: Path) -> None:
    with running_server(folder, deny_tools=("press_key",)) as running:
        denied = running.client.post("/execute", {"execution": execution(SNAP, HOME)})
        assert (denied.status, denied.code) == (403, "PERMISSION_DENIED")
        assert running.client.post("/execute", {"execution": execution(SNAP)}).status == 200


@pytest.mark.usefixtures("route")
def test_a_denied_tool_denies_the_route_that_equals_it(folder: Path) -> None:
    with running_server(
        folder, deny_tools=("snapshot_ui", "doctor", "list_devices", "recording_compare")
    ) as running:
        client: Client = running.client
        assert client.post("/snapshot").code == "PERMISSION_DENIED"
        assert client.get("/doctor").code == "PERMISSION_DENIED"
        assert client.get("/devices").code == "PERMISSION_DENIED"
        assert client.post("/recordings/compare", {"baseline": "a", "result": "b"}).code == "PERMISSION_DENIED"


@pytest.mark.usefixtures("route")
@pytest.mark.parametrize(
    ("rule", "method", "path", "body"),
    [
        ("snapshot", "GET", "/screen", None),
        ("capture_screenshot", "GET", "/screen/picture", None),
        ("record-describe", "POST", "/recordings/describe", {"input": "x"}),
        ("submit_text", "POST", "/type", {"text": "dogs\n"}),
    ],
)
def test_a_rule_by_any_name_denies_a_route(
    folder: Path, rule: str, method: str, path: str, body: dict[str, object] | None
) -> None:
    with running_server(folder, deny_tools=(rule,)) as running:
        reply = running.client.send(method, path, body)
        assert (reply.status, reply.code) == (403, "PERMISSION_DENIED")


@pytest.mark.usefixtures("route")
def test_other_uri_schemes_need_the_flag_of_the_server(folder: Path) -> None:
    opening = {"id": "u", "type": "open_uri", "params": {"uri": "market://details?id=x"}}
    with running_server(folder) as running:
        reply = running.client.post("/execute", {"execution": execution(opening, timeout=1_000)})
        assert (reply.status, reply.code) == (403, "URI_SCHEME_NOT_ALLOWED")
    with running_server(folder, allow_schemes=("market",)) as running:
        assert running.client.post("/execute", {"execution": execution(opening, timeout=1_000)}).status == 200
