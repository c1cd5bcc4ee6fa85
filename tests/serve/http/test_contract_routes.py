"""The routes of the contract: the same status codes and documents, key by key.

Golden documents are in ``tests/fixtures/json/http``; ``…`` in them matches any text.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clawperator.device import emulators as emulator_module
from clawperator.device.emulators import DEFAULT_NAME
from clawperator.device.run.lease import lease
from clawperator.serve.http.errors import status_of
from tests.device.emulators.test_emulator import SERIAL as EMULATOR
from tests.device.emulators.test_emulator import SOON, Sdk, sdk
from tests.skills.sample_skills import ID, write_skill
from tests.support.golden import differences
from tests.support.http_client import Client, Reply, running_server
from tests.support.routes import Route

__all__ = ["sdk"]  # a fixture
SKILL_ENTRY = ("id", "applicationId", "intent", "summary", "path", "skillFile", "scripts", "artifacts")


def execution(*actions: dict[str, Any], command: str = "demo-1", timeout: int = 5_000) -> dict[str, Any]:
    return {
        "commandId": command,
        "taskId": command,
        "source": "test",
        "expectedFormat": "android-ui-automator",
        "timeoutMs": timeout,
        "actions": list(actions),
    }


HOME = {"id": "home", "type": "press_key", "params": {"key": "home"}}
SNAP = {"id": "snap", "type": "snapshot_ui"}


def assert_golden(reply: Reply, status: int, name: str, **known: str) -> None:
    assert reply.status == status, reply.body
    assert reply.headers["content-type"] == "application/json"
    assert differences(f"http/{name}", reply.document, **known) == []


# Devices


def test_devices(phone_client: Client) -> None:
    assert_golden(phone_client.get("/devices"), 200, "devices")


def test_devices_without_adb_is_a_typed_error(client: Client) -> None:
    assert_golden(client.get("/devices"), 500, "devices.no-adb")


# Executions


def test_execute(phone_client: Client) -> None:
    body = {
        "execution": execution(HOME, SNAP),
        "deviceId": "claw-1",
        "operatorPackage": "com.clawperator.operator",
    }
    assert_golden(phone_client.post("/execute", body), 200, "execute")


def test_a_failed_envelope_is_a_successful_call(phone_client: Client) -> None:
    click = {
        "id": "tap",
        "type": "click",
        "params": {"matcher": {"textEquals": "nothing"}, "retry": {"maxAttempts": 1, "initialDelayMs": 0}},
    }
    assert_golden(phone_client.post("/execute", {"execution": execution(click)}), 200, "execute.failed")


def test_snapshot(phone_client: Client) -> None:
    assert_golden(phone_client.post("/snapshot"), 200, "snapshot")


def test_snapshot_without_a_body_uses_the_only_device(phone_client: Client) -> None:
    reply = phone_client.send("POST", "/snapshot", headers={"Content-Type": ""})
    assert (reply.status, reply.document["deviceId"]) == (200, "claw-1")


def step_of(reply: Reply) -> Any:
    assert reply.status == 200, reply.body
    (step,) = reply.document["envelope"]["stepResults"]
    return step


def test_a_snapshot_has_the_views_of_its_action(phone_client: Client) -> None:
    outline = step_of(phone_client.post("/snapshot", {"view": "outline", "settle": True}))["data"]
    assert outline["actual_format"] == "outline"
    cut = step_of(phone_client.post("/snapshot", {"maxTokens": 20}))["data"]
    assert len(cut["text"]) < len(outline["text"])
    changes = step_of(phone_client.post("/snapshot", {"since": outline["snapshot_id"]}))["data"]
    assert changes["actual_format"] == "outline_changes"
    assert step_of(phone_client.post("/snapshot", {"view": "json"}))["data"]["actual_format"] == "json"
    assert step_of(phone_client.post("/snapshot"))["data"]["actual_format"] == "hierarchy_xml"


def test_a_screenshot_has_the_marks_of_its_action(phone_client: Client) -> None:
    plain, marked = (step_of(phone_client.post("/screenshot", body))["data"] for body in ({}, {"marks": True}))
    assert set(marked) > set(plain)


@pytest.mark.parametrize(
    "short",
    [
        {"actions": [{"type": "press_key", "params": {"key": "home"}}]},
        {"actions": [{"type": "press_key", "params": {"key": "home"}}], "timeoutMs": 5_000, "source": "test"},
        {"actions": [HOME], "commandId": "mine"},
    ],
)
def test_a_short_execution_is_completed(phone_client: Client, short: dict[str, Any]) -> None:
    reply = phone_client.post("/execute", {"execution": short})
    assert (step_of(reply)["id"], step_of(reply)["success"]) == (short["actions"][0].get("id", "a1"), True)
    envelope = reply.document["envelope"]
    assert envelope["taskId"] == envelope["commandId"]
    assert envelope["commandId"] == short.get("commandId", envelope["commandId"]) != ""


@pytest.mark.parametrize(
    "wrong",
    [
        *({"timeoutMs": 1}, {"commandId": 7}, {"source": ""}, {"expectedFormat": "html"}, {"taskID": "a"}),
        *({"actions": []}, {"actions": None}, {"actions": ["click"]}, {"actions": {"type": "sleep"}}),
    ],
)
def test_what_a_short_execution_has_is_validated(phone_client: Client, wrong: dict[str, Any]) -> None:
    reply = phone_client.post("/execute", {"execution": {"actions": [HOME], **wrong}})
    assert (reply.status, reply.code) == (400, "EXECUTION_VALIDATION_FAILED")


@pytest.mark.parametrize("short", [{}, {"actions": None}, {"actions": "home"}, {"timeoutMs": 5_000}])
def test_only_the_actions_of_a_short_execution_are_missed(phone_client: Client, short: dict[str, Any]) -> None:
    reply = phone_client.post("/execute", {"execution": short})
    assert (reply.status, reply.code) == (400, "EXECUTION_VALIDATION_FAILED")
    assert str(reply.document).count("commandId") == 0


def test_screenshot_writes_a_file_of_the_folder(phone_client: Client, folder: Path) -> None:
    reply = phone_client.post("/screenshot", {"path": "shot.png"})
    assert_golden(reply, 200, "screenshot", folder=str(folder))
    assert (folder / "shot.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("path", "body", "code"),
    [
        ("/execute", {}, "MISSING_EXECUTION"),
        ("/execute", {"execution": None}, "MISSING_EXECUTION"),
        ("/execute", [], "INVALID_BODY"),
        ("/execute", {"execution": {}, "deviceId": 1}, "INVALID_DEVICE_ID"),
        ("/execute", {"execution": {}, "deviceId": ""}, "INVALID_DEVICE_ID"),
        ("/snapshot", {"deviceId": "a\nb"}, "INVALID_DEVICE_ID"),
        ("/snapshot", {"deviceId": "x" * 129}, "INVALID_DEVICE_ID"),
        ("/execute", {"execution": {}, "operatorPackage": []}, "INVALID_OPERATOR_PACKAGE"),
        ("/execute", {"execution": {}, "operatorPackage": " "}, "INVALID_OPERATOR_PACKAGE"),
        ("/execute", {"execution": {}}, "EXECUTION_VALIDATION_FAILED"),
        ("/execute", {"execution": "click"}, "EXECUTION_VALIDATION_FAILED"),
        ("/snapshot", "text", "INVALID_BODY"),
        ("/snapshot", {"deviceId": None}, "INVALID_DEVICE_ID"),
        ("/snapshot", {"deviceID": "claw-1"}, "INVALID_BODY"),
        ("/snapshot", {"view": "html"}, "INVALID_BODY"),
        ("/snapshot", {"settle": 1}, "INVALID_BODY"),
        ("/snapshot", {"maxTokens": "9"}, "INVALID_BODY"),
        ("/screenshot", {"path": 7}, "INVALID_PATH"),
        ("/screenshot", {"path": ""}, "INVALID_PATH"),
        (f"/skills/{ID}/run", [1], "INVALID_BODY"),
        (f"/skills/{ID}/run", {"deviceId": 1}, "INVALID_DEVICE_ID"),
        (f"/skills/{ID}/run", {"args": "a"}, "INVALID_ARGS"),
        (f"/skills/{ID}/run", {"args": [1]}, "INVALID_ARGS"),
        (f"/skills/{ID}/run", {"timeoutMs": 0}, "INVALID_TIMEOUT_MS"),
        (f"/skills/{ID}/run", {"timeoutMs": 1.5}, "INVALID_TIMEOUT_MS"),
        (f"/skills/{ID}/run", {"timeoutMs": "9"}, "INVALID_TIMEOUT_MS"),
        (f"/skills/{ID}/run", {"expectContains": 1}, "INVALID_EXPECT_CONTAINS"),
    ],
)
def test_an_invalid_body_has_the_code_of_its_field(client: Client, path: str, body: Any, code: str) -> None:
    reply = client.send("POST", path, data=json.dumps(body).encode())
    assert (reply.status, reply.code) == (400, code)
    assert reply.document["error"]["message"]
    assert reply.document["error"]["hint"]


def test_an_invalid_execution_lists_its_issues(client: Client) -> None:
    assert_golden(
        client.post("/execute", {"execution": execution({"id": "x", "type": "clik"})}), 400, "execute.invalid"
    )


def test_a_payload_over_its_limit_is_413(client: Client) -> None:
    long = "x" * 500
    matcher = {"textEquals": long, "resourceId": long, "contentDescEquals": long}
    typing = {"type": "enter_text", "params": {"text": long, "matcher": matcher}}
    reply = client.post("/execute", {"execution": execution(*({"id": f"a{n}", **typing} for n in range(35)))})
    assert (reply.status, reply.code) == (413, "PAYLOAD_TOO_LARGE")


def test_an_unknown_device_is_404(phone_client: Client) -> None:
    assert_golden(phone_client.post("/snapshot", {"deviceId": "claw-9"}), 404, "snapshot.unknown-device")


@pytest.mark.parametrize(
    ("status", "codes"),
    [
        (423, "EXECUTION_CONFLICT_IN_FLIGHT"),
        (404, "DEVICE_NOT_FOUND NO_DEVICES EMULATOR_NOT_FOUND EMULATOR_NOT_RUNNING SKILL_NOT_FOUND"),
        (400, "MULTIPLE_DEVICES_DEVICE_ID_REQUIRED EXECUTION_VALIDATION_FAILED SKILL_EXECUTION_TIMEOUT"),
        (413, "PAYLOAD_TOO_LARGE"),
        (504, "RESULT_ENVELOPE_TIMEOUT"),
        (409, "EMULATOR_UNSUPPORTED EMULATOR_ALREADY_RUNNING"),
        (500, "OPERATOR_NOT_INSTALLED ADB_NOT_FOUND EMULATOR_START_FAILED RESULT_ENVELOPE_MALFORMED UNKNOWN"),
        (403, "PERMISSION_DENIED URI_SCHEME_NOT_ALLOWED"),
    ],
)
def test_the_status_of_codes(status: int, codes: str) -> None:
    assert {status_of(code) for code in codes.split()} == {status}


def test_a_device_in_use_is_423_with_its_holder(phone_client: Client, route: Route) -> None:
    with lease(route.serial, "other-command", 5, action="sleep"):
        reply = phone_client.post("/execute", {"execution": execution(HOME)})
    assert_golden(reply, 423, "snapshot.busy")
    assert phone_client.post("/snapshot").status == 200


def test_a_result_that_does_not_arrive_is_504(phone_client: Client, route: Route) -> None:
    route.phone_server.phone.set_fault("lost_log", 1)
    reply = phone_client.post("/execute", {"execution": execution(HOME, timeout=1_000)})
    assert (reply.status, reply.code) == (504, "RESULT_ENVELOPE_TIMEOUT")
    assert reply.document["deviceId"] == "claw-1"


# Skills


@pytest.fixture
def skill_client(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    """A client of a server with one skill, which prints its arguments or fails."""
    script = "import sys\nprint('got', *sys.argv[1:])\nsys.exit('fail' in sys.argv)\n"
    monkeypatch.setenv("CLAWPERATOR_SKILLS_REGISTRY", str(write_skill(tmp_path / "skills", script)))
    with running_server(folder) as running:
        yield running.client


def test_skills(skill_client: Client) -> None:
    reply = skill_client.get("/skills")
    assert list(reply.document) == ["ok", "skills", "count"]
    assert ID in [skill["id"] for skill in reply.document["skills"]]
    assert set(SKILL_ENTRY) <= set(reply.document["skills"][0])
    assert reply.document["count"] == len(reply.document["skills"])


def test_skills_are_searched(skill_client: Client) -> None:
    assert skill_client.get("/skills?app=com.none").document == {"ok": True, "skills": [], "count": 0}
    assert [skill["id"] for skill in skill_client.get(f"/skills?keyword={ID}").document["skills"]] == [ID]


def test_one_skill(skill_client: Client) -> None:
    reply = skill_client.get(f"/skills/{ID}")
    assert list(reply.document) == ["ok", "skill"]
    assert reply.document["skill"]["id"] == ID
    assert_golden(skill_client.get("/skills/no.such.skill"), 404, "skill.not-found")


def test_a_skill_runs(skill_client: Client) -> None:
    body = {"args": ["a", "b c"], "timeoutMs": 20_000, "expectContains": "got"}
    assert_golden(skill_client.post(f"/skills/{ID}/run", body), 200, "skill.run", id=ID)


def test_a_skill_that_fails_is_400_with_its_output(skill_client: Client) -> None:
    assert_golden(skill_client.post(f"/skills/{ID}/run", {"args": ["fail"]}), 400, "skill.failed", id=ID)


def test_a_skill_without_the_expected_text_is_400(skill_client: Client) -> None:
    reply = skill_client.post(f"/skills/{ID}/run", {"expectContains": "other"})
    assert (reply.status, reply.code) == (400, "SKILL_OUTPUT_ASSERTION_FAILED")


def test_a_registry_that_cannot_be_read_is_500(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAWPERATOR_SKILLS_REGISTRY", str(tmp_path / "none.json"))
    with running_server(folder) as running:
        reply = running.client.get("/skills")
        assert (reply.status, reply.code) == (500, "REGISTRY_READ_FAILED")


# Emulators


@pytest.fixture
def emulators(sdk: Sdk, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    monkeypatch.setattr(emulator_module, "EmulatorTimeouts", lambda **_: SOON)
    sdk.make_avd("one")
    with running_server(folder, mode="full") as running:
        yield running.client


def test_emulators(emulators: Client) -> None:
    assert_golden(emulators.get("/android/emulators"), 200, "emulators")
    assert_golden(emulators.get("/android/emulators/one"), 200, "emulator")
    assert_golden(emulators.get("/android/emulators/none"), 200, "emulator.none")


def test_an_emulator_starts_and_stops(emulators: Client) -> None:
    assert emulators.get("/android/emulators/running").document == {"ok": True, "devices": []}
    started = {"ok": True, "type": "emulator", "avdName": "one", "serial": EMULATOR, "booted": True}
    assert emulators.post("/android/emulators/one/start").document == started
    running = emulators.get("/android/emulators/running").document["devices"]
    assert [(device["avdName"], device["serial"]) for device in running] == [("one", EMULATOR)]
    again = emulators.post("/android/emulators/one/start")
    assert (again.status, again.code) == (409, "EMULATOR_ALREADY_RUNNING")
    assert emulators.post("/android/emulators/one/stop").document == {
        "ok": True,
        "avdName": "one",
        "stopped": True,
    }
    stopped = emulators.post("/android/emulators/one/stop")
    assert (stopped.status, stopped.code) == (404, "EMULATOR_NOT_RUNNING")


def test_an_emulator_is_created_and_deleted(emulators: Client) -> None:
    reply = emulators.post("/android/emulators/create", {"name": "two", "apiLevel": 35, "playStore": True})
    assert (reply.status, reply.document["name"], reply.document["exists"]) == (200, "two", True)
    refused = emulators.post("/android/emulators/create", {"name": "three", "apiLevel": 30})
    assert (refused.status, refused.code) == (409, "EMULATOR_UNSUPPORTED")
    deleted = emulators.send("DELETE", "/android/emulators/two")
    assert deleted.document == {"ok": True, "avdName": "two", "deleted": True}


def test_an_emulator_is_provisioned(emulators: Client) -> None:
    reply = emulators.post("/android/provision/emulator")
    keys = ["ok", "type", "avdName", "serial", "booted", "created", "started", "reused"]
    assert list(reply.document) == keys
    assert reply.document["avdName"] in ("one", DEFAULT_NAME)
