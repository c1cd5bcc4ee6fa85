"""The time that a plan gets on the device: no more than the host has."""

from pathlib import Path

import pytest

from clawperator._deadline import limited
from clawperator.contract import validate
from clawperator.device import run as run_module
from clawperator.device.adb.client import Device, Endpoint
from clawperator.device.run import run_plan
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
