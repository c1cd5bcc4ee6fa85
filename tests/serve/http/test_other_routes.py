"""Simulated phones, recordings, the doctor and schemas over HTTP."""

import json
import subprocess
from pathlib import Path

import pytest

from clawperator.phone.core.faults import FAULTS
from clawperator.schemas import SCHEMAS, schema
from tests.recording.compare.test_compare import FLOW, FOUR, run_of
from tests.recording.samples import click, window, write
from tests.support.http_client import Client, running_server


def test_a_simulated_phone_is_started_used_and_stopped(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path / "home"))
    assert client.get("/phones").document == {"ok": True, "phones": []}
    started = client.post("/phones/one/start", {"seed": 7, "faults": {"latency": "1"}})
    try:
        assert (started.status, started.document["serial"], started.document["seed"]) == (200, "one", 7)
        again = client.post("/phones/one/start")
        assert (again.status, again.code) == (409, "PHONE_ALREADY_RUNNING")
        (phone,) = client.get("/phones").document["phones"]
        assert (phone["serial"], phone["state"]) == ("one", "running")
        assert client.get("/devices").document["devices"] == [
            {"serial": "one", "state": "device", "model": "Simulated phone"}
        ]
        faults = client.get("/phones/one/faults").document
        assert list(faults["faults"]) == list(FAULTS)
        assert faults["faults"]["latency"]["value"] == 1
        fault = {"name": "latency", "setting": "off"}
        assert client.post("/phones/one/faults", fault).document == {
            "ok": True,
            "serial": "one",
            "fault": "latency",
            "value": 0,
        }
        assert client.post("/phones/one/faults", {**fault, "name": "gravity"}).code == "PHONE_FAULT_INVALID"
        assert client.post("/snapshot", {"deviceId": "one"}).status == 200
    finally:
        stopped = client.post("/phones/one/stop")
    assert stopped.document == {
        "ok": True,
        "serial": "one",
        "state": "stopped",
        "wasRunning": True,
        "crashed": False,
    }
    faults = client.get("/phones/one/faults")
    assert (faults.status, faults.code) == (409, "PHONE_NOT_RUNNING")


def test_an_unknown_phone_is_404(client: Client) -> None:
    for reply in (client.post("/phones/none/stop"), client.get("/phones/none/faults")):
        assert (reply.status, reply.code) == (404, "PHONE_NOT_FOUND")


def test_a_recording_is_made_pulled_listed_described_and_exported(phone_client: Client, folder: Path) -> None:
    client = phone_client
    assert client.get("/recordings").document == {"ok": True, "recordings": [], "count": 0}
    started = client.post("/recordings/start", {"sessionId": "demo"}).document
    assert started["envelope"]["stepResults"][0]["data"]["sessionId"] == "demo"
    again = client.post("/recordings/start", {"sessionId": "demo2"})
    assert (again.status, again.document["envelope"]["errorCode"]) == (200, "RECORDING_ALREADY_IN_PROGRESS")
    assert client.post("/recordings/stop").document["envelope"]["status"] == "success"
    pulled = client.post("/recordings/pull", {"sessionId": "demo"}).document
    path = str(folder / "recordings" / "demo.ndjson")
    assert pulled == {"ok": True, "localPath": path, "sessionId": "demo", "deviceId": "claw-1"}
    listed = client.get("/recordings").document
    assert listed["count"] == 1
    assert listed["recordings"][0]["sessionId"] == "demo"
    assert listed["recordings"][0]["path"] == path
    missing = client.post("/recordings/pull", {"sessionId": "never"})
    assert (missing.status, missing.code) == (404, "RECORDING_PULL_FAILED")


def test_recordings_of_the_folder_are_described_exported_and_compared(client: Client, folder: Path) -> None:
    write(folder / "demo.ndjson", [window(0), click(1)])
    described = client.post("/recordings/describe", {"input": "demo.ndjson"}).document
    assert (described["ok"], described["stepCount"]) == (True, len(described["steps"]))
    exported = client.post("/recordings/export", {"input": "demo.ndjson"}).document
    assert exported["outputFile"] == str(folder / "demo.export.json")
    assert exported["eventCount"] == 2
    assert json.loads((folder / "demo.export.json").read_text())
    same = {"baseline": "demo.export.json", "result": "demo.export.json"}
    compared = client.post("/recordings/compare", same).document
    assert list(compared)[:4] == ["ok", "compareMode", "outcome", "summary"]
    (folder / "broken.ndjson").write_text("no recording")
    broken = client.post("/recordings/describe", {"input": "broken.ndjson"})
    assert (broken.status, broken.code) == (400, "RECORDING_PARSE_FAILED")


@pytest.mark.parametrize(
    ("path", "fields", "code"),
    [
        ("export", ("input",), "RECORDING_EXPORT_FAILED"),
        ("describe", ("input",), "RECORDING_PARSE_FAILED"),
        ("parse", ("input",), "RECORDING_PARSE_FAILED"),
        ("repair", ("input",), "RECORDING_PARSE_FAILED"),
        ("compare", ("baseline", "result"), "RECORDING_COMPARE_FAILED"),
        ("replay", ("input",), "RECORDING_PARSE_FAILED"),
        ("report", ("input",), "REPORT_FAILED"),
    ],
)
def test_a_recording_that_does_not_exist_is_404(
    phone_client: Client, path: str, fields: tuple[str, ...], code: str
) -> None:
    reply = phone_client.post(f"/recordings/{path}", dict.fromkeys(fields, "missing.ndjson"))
    assert (reply.status, reply.code) == (404, code)
    described = phone_client.get("/openapi.json").document["paths"][f"/recordings/{path}"]["post"]["responses"]
    assert code in described["404"]["description"]


MISSING = {
    "ROUTE_NOT_FOUND": ("GET /nothing", "GET /snapshot/", "GET /skills/a/b", "GET /page/none.js", "GET //"),
    "PHONE_NOT_FOUND": (
        *("GET /phones/none/faults", "POST /phones/none/faults", "POST /phones/none/stop"),
        *("POST /phones/none/reset", "POST /phones/none/screenshot", "DELETE /phones/none"),
    ),
    "EMULATOR_NOT_FOUND": ("POST /android/emulators/none/start", "POST /android/emulators/none/stop"),
    "SKILL_NOT_FOUND": ("GET /skills/none", "POST /skills/none/run"),
    "SCHEMA_NOT_FOUND": ("GET /schemas/none",),
    "RECORDING_SESSION_NOT_FOUND": ("GET /recordings/events?sessionId=none",),
    "NODE_NOT_FOUND": ("GET /screen/element?screenId=none&node=1",),
    "DEVICE_NOT_FOUND": (
        *("GET /screen?deviceId=none", "GET /screen/picture?deviceId=none"),
        "GET /recordings/events?deviceId=none&sessionId=a",
    ),
}


@pytest.mark.usefixtures("route")
@pytest.mark.parametrize("code", MISSING)
def test_what_does_not_exist_is_404(folder: Path, code: str) -> None:
    with running_server(folder, mode="full") as running:
        for request in MISSING[code]:
            method, path = request.split()
            reply = running.client.send(method, path)
            assert (reply.status, reply.code) == (404, code), request


def test_an_output_that_cannot_be_written_is_not_404(client: Client, folder: Path) -> None:
    write(folder / "demo.ndjson", [window(1)])
    (folder / "file").touch()
    reply = client.post("/recordings/export", {"input": "demo.ndjson", "out": "file/missing/demo.json"})
    assert (reply.status, reply.code) == (500, "RECORDING_EXPORT_FAILED")


def test_an_output_in_very_many_folders_is_written_or_a_typed_error(client: Client, folder: Path) -> None:
    write(folder / "demo.ndjson", [window(1)])
    try:
        reply = client.post("/recordings/export", {"input": "demo.ndjson", "out": "d/" * 1500 + "demo.json"})
        assert reply.status == 200
        reply = client.post("/recordings/export", {"input": "demo.ndjson", "out": "d/" * 2100 + "demo.json"})
        assert (reply.status, reply.code) == (400, "INVALID_BODY")
    finally:
        subprocess.run(["rm", "-rf", str(folder / "d")], check=True)  # shutil fails for such a depth


def test_a_run_is_compared_with_a_demonstration(client: Client, folder: Path) -> None:
    write(folder / "flow.ndjson", FLOW)
    client.post("/recordings/export", {"input": "flow.ndjson"})
    (folder / "run.json").write_text(json.dumps(run_of(FOUR)))
    report = client.post("/recordings/compare", {"baseline": "flow.export.json", "result": "run.json"}).document
    assert (report["ok"], report["outcome"]) == (True, "semantic_match")


def test_the_doctor_reports_whatever_it_finds(phone_client: Client) -> None:
    ready = phone_client.get("/doctor").document
    assert (ready["ok"], ready["report"]["criticalOk"], ready["report"]["deviceId"]) == (True, True, "claw-1")
    missing = phone_client.get("/doctor?deviceId=none").document
    assert (missing["ok"], missing["report"]["criticalOk"]) == (True, False)


def test_schemas_are_listed_and_printed(client: Client) -> None:
    listed = client.get("/schemas").document
    assert [row["name"] for row in listed["schemas"]] == list(SCHEMAS)
    assert client.get("/schemas/execution").document == {
        "ok": True,
        "schema": json.loads(json.dumps(schema("execution"))),
    }
    unknown = client.get("/schemas/executoin")
    assert (unknown.status, unknown.code) == (404, "SCHEMA_NOT_FOUND")
    assert "did you mean 'execution'" in unknown.document["error"]["message"]


def test_health_names_the_version(client: Client) -> None:
    from clawperator import __version__

    assert client.get("/health").document == {"ok": True, "version": __version__}
