"""Simulated phones as documents, with lines in the host log."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from clawperator.device import simulated_phones
from clawperator.device.run.host_log import log_file
from clawperator.device.simulated_phones import list_faults, set_fault, start_simulated, stop_simulated
from clawperator.errors import ClawError
from clawperator.phone.core.faults import FAULTS


@pytest.fixture(autouse=True)
def _log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path))


def logged() -> list[dict[str, Any]]:
    if not Path(log_file()).exists():
        return []
    written = [json.loads(line) for line in Path(log_file()).read_text().splitlines()]
    return [{name: value for name, value in one.items() if name not in ("ts", "message")} for one in written]


def test_a_started_phone_is_described_and_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Any] = []

    def start(serial: str, **options: Any) -> Any:
        started.append((serial, options))
        return SimpleNamespace(pid=77, recovered=True)

    monkeypatch.setattr(simulated_phones, "launch_phone", start)
    monkeypatch.setattr(simulated_phones, "describe_phone", lambda folder: {"serial": folder.serial, "pid": 77})
    assert start_simulated("claw-9", seed=3) == {"serial": "claw-9", "pid": 77, "recovered": True}
    assert started == [("claw-9", {"seed": 3})]
    assert logged() == [{"level": "info", "event": "phone.started", "deviceId": "claw-9", "pid": 77}]


@pytest.mark.parametrize("code", ["PHONE_START_FAILED", "PHONE_NOT_FOUND"])
def test_only_a_failed_start_is_logged_as_one(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    def fail(_: str) -> None:
        raise ClawError(code, "no")

    monkeypatch.setattr(simulated_phones, "launch_phone", fail)
    with pytest.raises(ClawError, match="no"):
        start_simulated("claw-9")
    failed = {"level": "error", "event": "phone.failed", "deviceId": "claw-9", "code": code}
    assert logged() == ([failed] if code == "PHONE_START_FAILED" else [])


@pytest.mark.parametrize(("was_running", "crashed"), [(True, False), (False, True), (False, False)])
def test_only_a_phone_that_ran_is_logged_as_stopped(
    monkeypatch: pytest.MonkeyPatch, *, was_running: bool, crashed: bool
) -> None:
    stopped = SimpleNamespace(was_running=was_running, crashed=crashed)
    monkeypatch.setattr(simulated_phones, "stop_phone", lambda _: stopped)
    assert stop_simulated("claw-9") == {
        "serial": "claw-9",
        "state": "stopped",
        "wasRunning": was_running,
        "crashed": crashed,
    }
    assert logged() == ([{"level": "info", "event": "phone.stopped", "deviceId": "claw-9"}] if was_running else [])


class Control:
    """A running phone whose faults can be set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[Any] = []
        monkeypatch.setattr(simulated_phones, "existing_folder", lambda serial: SimpleNamespace(serial=serial))
        monkeypatch.setattr(simulated_phones, "control_phone", self.control_phone)

    def control_phone(self, *request: str, **arguments: str) -> dict[str, Any]:
        self.asked.append((*request, arguments))
        values: dict[str, float] = dict.fromkeys(FAULTS, 0.0)
        return {"faults": values | {arguments.get("name", "offline"): 2.0}}


def test_every_fault_is_listed_with_its_value(monkeypatch: pytest.MonkeyPatch) -> None:
    control = Control(monkeypatch)
    listed = list_faults("claw-9")
    assert listed["serial"] == "claw-9"
    assert list(listed["faults"]) == list(FAULTS)
    assert listed["faults"]["offline"]["value"] == 2
    assert all(isinstance(row["value"], int) for row in listed["faults"].values())
    assert {row["description"] for row in listed["faults"].values()} == {
        row.description for row in FAULTS.values()
    }
    assert control.asked == [("claw-9", "fault", {})]


def test_a_fault_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    control = Control(monkeypatch)
    assert set_fault("claw-9", "rotation", "2") == {"serial": "claw-9", "fault": "rotation", "value": 2}
    assert control.asked == [("claw-9", "fault", {"name": "rotation", "setting": "2"})]


@pytest.mark.parametrize(("name", "setting"), [("no-such-fault", "on"), ("offline", "perhaps")])
def test_an_invalid_fault_does_not_reach_the_phone(
    monkeypatch: pytest.MonkeyPatch, name: str, setting: str
) -> None:
    control = Control(monkeypatch)
    with pytest.raises(ClawError):
        set_fault("claw-9", name, setting)
    assert control.asked == []
