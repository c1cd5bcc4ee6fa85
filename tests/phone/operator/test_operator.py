"""The Operator: receives broadcasts, logs results and hierarchies, runs one execution at a time."""

import json
import threading
import time
from typing import Any

import pytest

from clawperator.contract.wire import RESULT_PREFIX, SNAPSHOT_MARKER
from clawperator.engine.clock import SystemClock
from clawperator.phone.core.phone import Phone
from clawperator.phone.log.buffer import MAX_PAYLOAD
from clawperator.testing import SimulatedPhone, simulated_phone
from tests.support.fast_clock import FastClock
from tests.support.hanging import HANG_SECONDS

SNAPSHOT = {"id": "snap", "type": "snapshot_ui"}


def payload(*actions: dict[str, Any], command: str = "c1", timeout: int = 30_000) -> str:
    return json.dumps(
        {
            "commandId": command,
            "taskId": "t1",
            "source": "test",
            "expectedFormat": "android-ui-automator",
            "timeoutMs": timeout,
            "actions": list(actions),
        }
    )


def log_lines(phone: Phone) -> list[str]:
    """What the Operator wrote to the log, in this life and in earlier ones."""
    return [entry.message for entry in phone.log.read() if entry.tag == "a"]


def results(phone: Phone) -> list[dict[str, Any]]:
    """The envelopes in the log. A long one comes in pieces: they are joined until they are whole."""
    found: list[dict[str, Any]] = []
    part: str | None = None
    for message in log_lines(phone):
        if message.startswith(RESULT_PREFIX):
            part = message.removeprefix(RESULT_PREFIX)
        elif part is not None:
            part += message
        if part is not None:
            try:
                found.append(json.loads(part))
            except json.JSONDecodeError:
                continue
            part = None
    return found


def test_an_execution_logs_its_hierarchy_and_then_one_result_line(phone: SimulatedPhone) -> None:
    phone.phone.operator.receive(
        payload({"id": "open", "type": "open_app", "params": {"applicationId": "com.android.settings"}}, SNAPSHOT)
    )
    (envelope,) = results(phone.phone)
    assert envelope["status"] == "success"
    assert [step["id"] for step in envelope["stepResults"]] == ["open", "snap"]
    assert "text" not in envelope["stepResults"][1]["data"]
    lines = "\n".join(log_lines(phone.phone))
    xml = lines[lines.index(SNAPSHOT_MARKER) + len(SNAPSHOT_MARKER) : lines.index("</hierarchy>")] + "</hierarchy>"
    assert xml.strip() == phone.xml().strip()


def test_no_record_exceeds_the_loggers_limit_and_nothing_is_lost(phone: SimulatedPhone) -> None:
    words = "漢字とかな🙂" * 60
    actions = [
        {"id": f"漢{i}", "type": "click", "params": {"matcher": {"textEquals": words[:300]}, "retry": {}}}
        for i in range(1)
    ]
    phone.phone.operator.receive(
        payload(
            *actions,
            *({"id": f"r{i}" + words[:100], "type": "sleep", "params": {"durationMs": 1}} for i in range(30)),
        )
    )
    assert all(len(message.encode()) <= MAX_PAYLOAD for message in log_lines(phone.phone))
    assert len(results(phone.phone)) == 1


def test_an_invalid_payload_is_logged_and_gets_no_result(phone: SimulatedPhone) -> None:
    for text in (
        None,
        "",
        "   ",
        "{",
        "[]",
        "{}",
        payload({"id": "a", "type": "nonsense"}),
        "x" * 70_000,
        '"\\ud800"',
    ):
        phone.phone.operator.receive(text)
    assert results(phone.phone) == []
    assert sum("[Operator-Receiver]" in line for line in log_lines(phone.phone)) == 9


def test_without_its_accessibility_service_the_result_is_service_unavailable(phone: SimulatedPhone) -> None:
    phone.fault("accessibility_off")
    phone.phone.operator.receive(payload(SNAPSHOT))
    (envelope,) = results(phone.phone)
    assert (envelope["status"], envelope["errorCode"], envelope["stepResults"]) == (
        "failed",
        "SERVICE_UNAVAILABLE",
        [],
    )


def test_a_dead_operator_reports_nothing_until_it_is_restarted(phone: SimulatedPhone) -> None:
    phone.fault("operator_killed")
    phone.phone.operator.receive(payload(SNAPSHOT))
    assert results(phone.phone) == []
    phone.fault("operator_killed", "off")
    phone.phone.operator.receive(payload(SNAPSHOT))
    assert len(results(phone.phone)) == 1


def test_a_stopped_operator_has_lost_its_service_and_its_recording(phone: SimulatedPhone) -> None:
    phone.start_recording("demo")
    phone.phone.stop_app(phone.phone.operator.package)
    assert phone.phone.operator.recorder.session_id is None
    phone.phone.operator.receive(payload(SNAPSHOT))
    assert results(phone.phone)[0]["errorCode"] == "SERVICE_UNAVAILABLE"


def test_executions_run_one_after_the_other_by_a_real_clock() -> None:
    with simulated_phone(clock=SystemClock()) as phone:
        for name in ("first", "second", "third"):
            phone.phone.operator.receive(
                payload({"id": "nap", "type": "sleep", "params": {"durationMs": 60}}, command=name)
            )
        deadline = time.monotonic() + HANG_SECONDS
        while len(results(phone.phone)) < 3 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert [envelope["commandId"] for envelope in results(phone.phone)] == ["first", "second", "third"]


def test_a_command_whose_time_ran_out_in_the_queue_is_refused() -> None:
    with simulated_phone(clock=FastClock()) as phone:
        phone.phone.operator.receive(
            payload({"id": "nap", "type": "sleep", "params": {"durationMs": 20_000}}, command="long")
        )
        phone.phone.operator.receive(payload(SNAPSHOT, command="late", timeout=1_000))
        deadline = time.monotonic() + HANG_SECONDS
        while len(results(phone.phone)) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert [envelope.get("errorCode") for envelope in results(phone.phone)] == [None, "COMMAND_TIMEOUT"]


def test_closing_a_phone_ends_its_threads() -> None:
    with simulated_phone(clock=SystemClock()) as phone:
        phone.phone.operator.receive(payload(SNAPSHOT))
    left = [thread.name for thread in threading.enumerate() if thread.name in ("operator", "timers")]
    assert left == []


@pytest.mark.parametrize(
    "action",
    [
        {"id": "s", "type": "sleep", "params": {"durationMs": 110_000}},
        {"id": "w", "type": "wait_for_node", "params": {"matcher": {"textEquals": "Never"}, "timeoutMs": 110_000}},
    ],
    ids=["sleep", "wait"],
)
def test_closing_a_phone_ends_the_execution_that_is_running(action: dict[str, Any]) -> None:
    with simulated_phone(clock=SystemClock()) as phone:
        for number in range(3):
            phone.phone.operator.receive(payload(action, command=f"c{number}", timeout=120_000))
        deadline = time.monotonic() + HANG_SECONDS
        while not any("start commandId=c0" in line for line in log_lines(phone.phone)):
            assert time.monotonic() < deadline
            time.sleep(0.01)
    assert [thread.name for thread in threading.enumerate() if thread.name == "operator"] == []
    assert results(phone.phone) == [], "neither it nor the queued ones report a result"


@pytest.mark.parametrize("package", ["com.clawperator.operator", "com.clawperator.operator.dev"])
def test_its_own_screens_and_clicks_are_not_recorded(package: str) -> None:
    phone = SimulatedPhone(Phone(operator_package=package))
    phone.start_recording("demo")
    phone.open_app(package)
    phone.open_app("com.android.settings")
    phone.stop_recording()
    lines = phone.read_recording().decode().splitlines()
    assert json.loads(lines[0])["operatorPackage"] == package
    assert [json.loads(line)["packageName"] for line in lines[1:]] == ["com.android.settings"]
    phone.phone.close()
