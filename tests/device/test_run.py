"""Running a plan: the time that it gets on the device, and the hints of its result."""

from pathlib import Path
from typing import Any

import pytest

from clawperator._deadline import limited
from clawperator._notes import listening
from clawperator.contract import ResultEnvelope, StepResult, new_execution, validate
from clawperator.device import run as run_module
from clawperator.device.adb.client import Device, Endpoint
from clawperator.device.run import reconcile, run_plan
from clawperator.testing import ScriptedBackend

DEVICE = Device("claw-1", Endpoint("127.0.0.1", 1, simulated=True))


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path))


def sent_timeout(timeout_ms: int, *, command_timeout_ms: int | None = None) -> float:
    """The timeout with which a plan of this timeout reaches the backend."""
    plan = validate(
        {
            "commandId": "c",
            "taskId": "t",
            "source": "test",
            "expectedFormat": "android-ui-automator",
            "timeoutMs": timeout_ms,
            "actions": [{"id": "look", "type": "snapshot_ui"}],
        }
    )
    backend = ScriptedBackend()
    run_plan(plan, DEVICE, package="p", backend=backend, timeout_ms=command_timeout_ms)
    (sent,) = backend.plans
    assert sent.document["timeoutMs"] == sent.execution.timeoutMs
    return sent.execution.timeoutMs


def test_a_plan_gets_less_time_than_its_command_has() -> None:
    with limited(20):
        assert 1_000 <= sent_timeout(60_000) <= 19_000, "the answer still arrives"


def test_a_plan_whose_command_ends_sooner_gets_less_time() -> None:
    assert 1_000 <= sent_timeout(60_000, command_timeout_ms=15_000) <= 19_000


def test_a_plan_gets_at_least_the_shortest_time_of_the_contract() -> None:
    with limited(0.5):
        assert sent_timeout(60_000) == 1_000


def test_a_plan_that_ends_before_its_command_is_sent_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_module, "_NOTICEABLE_SECONDS", 4.0)  # any machine is quick enough for that
    with limited(60):
        assert sent_timeout(5_000) == 5_000


def reconciled_step(*, success: bool, **data: str) -> dict[str, str]:
    step = StepResult("a1", "start_recording", success, data)
    envelope = ResultEnvelope("c", "t", "success" if success else "failed", [step], None)
    return reconcile(envelope, "claw 1", "com.op").stepResults[0].data


def test_a_step_that_an_active_recording_refused_has_the_command_that_stops_it() -> None:
    data = reconciled_step(success=False, error="RECORDING_ALREADY_IN_PROGRESS", sessionId="demo")
    command = "clawperator recording stop --session-id demo --device 'claw 1' --operator-package com.op --json"
    assert data["hint"] == f"Run '{command}' before starting a new recording."


@pytest.mark.parametrize(
    ("success", "data"),
    [
        (True, {"sessionId": "demo"}),
        (True, {"error": "RECORDING_ALREADY_IN_PROGRESS", "sessionId": "demo"}),
        (False, {"error": "RECORDING_START_FAILED", "sessionId": "demo"}),
        (False, {"error": "RECORDING_ALREADY_IN_PROGRESS", "sessionId": "a; reboot"}),
        (False, {"error": "RECORDING_ALREADY_IN_PROGRESS"}),
    ],
    ids=["a success", "a success with an error", "another failure", "not a session id", "no session id"],
)
def test_other_steps_are_left_as_they_are(data: dict[str, str], *, success: bool) -> None:
    assert reconciled_step(success=success, **data) == data


def test_a_trace_has_the_outcome_of_each_step() -> None:
    actions: list[dict[str, Any]] = [
        {"id": "look", "type": "snapshot_ui"},
        {"id": "wait", "type": "sleep", "params": {"durationMs": 1}},
    ]
    plan = validate(new_execution(actions, command_id="c", source="test", timeout_ms=5_000))
    lines: list[str] = []
    with listening(None, lines.append):
        run_plan(plan, DEVICE, package="p", backend=ScriptedBackend({}, {"error": "NODE_NOT_FOUND"}))
    assert [line for line in lines if line.startswith("step ")] == [
        "step look (snapshot_ui): success",
        "step wait (sleep): NODE_NOT_FOUND",
    ]
