"""The automatic backend: the enabled Operator, or plain adb on a device without one."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET

from clawperator._base.notes import listening
from clawperator.contract.actions import ACTIONS
from clawperator.contract.execution import new_execution, validate
from clawperator.contract.results import ExecutionResult
from clawperator.contract.wire import OPERATOR_PACKAGE, OPERATOR_PACKAGES, accessibility_service
from clawperator.device.adb.client import Device, Endpoint, run_shell
from clawperator.device.run.run import run_plan
from clawperator.device.settings import enabled_operator, find_operator
from clawperator.errors import ClawError
from clawperator.phone.process.server import HOST
from clawperator.policy.gate import approve
from tests.device.phone_servers import running_phone_server
from tests.support.command_doubles import CommandDoubles, Reply, double_server
from tests.support.ordinary_phone import SETTINGS, ordinary_phone
from tests.support.running import clawperator

DEV = OPERATOR_PACKAGES[1]
SERVICES = "get secure enabled_accessibility_services"
SNAPSHOT = {"id": "a1", "type": "snapshot_ui"}
CLOSE = {"id": "c1", "type": "close_app", "params": {"applicationId": SETTINGS}}
RECORD = {"id": "r1", "type": "start_recording"}


@pytest.fixture
def doubles(tmp_path: Path) -> CommandDoubles:
    """A phone without an Operator."""
    return ordinary_phone(tmp_path / "phone")


@pytest.fixture
def device(doubles: CommandDoubles) -> Iterator[Device]:
    with double_server(doubles) as device:
        yield device


def run(device: Device, *actions: dict[str, Any], **options: Any) -> ExecutionResult:
    document = new_execution(list(actions), command_id="c", task_id="t", source="test", timeout_ms=20_000)
    return run_plan(approve(validate(document)), device, **{"package": None, **options})


def refused(device: Device, *actions: dict[str, Any], **options: Any) -> ClawError:
    with pytest.raises(ClawError) as raised:
        run(device, *actions, **options)
    return raised.value


def enable(doubles: CommandDoubles, *packages: str) -> None:
    services = ["com.example/.Reader", *map(accessibility_service, packages)]
    doubles.answer("settings", ":".join(services) + "\n", when=SERVICES)


def answer_broadcasts(doubles: CommandDoubles, package: str, *step_types: str) -> None:
    """An Operator that runs one execution with success."""
    enable(doubles, package)
    steps = [{"id": "a1", "actionType": name, "success": True, "data": {}} for name in step_types]
    result = {"commandId": "c", "taskId": "t", "status": "success", "stepResults": steps, "error": None}
    doubles.answer("am", "Broadcasting: Intent\n", when="broadcast *")
    doubles.answer("pidof", "4711\n", when=package)
    line = f"11-15 10:00:00.000  4711  4711 I Operator: [Clawperator-Result] {json.dumps(result)}\n"
    doubles.answer("logcat", Reply(line))


# A device without an Operator


def test_without_an_operator_plain_adb_runs_the_plan(doubles: CommandDoubles, device: Device) -> None:
    notes: list[str] = []
    with listening(notes.append):
        result = run(device, SNAPSHOT)
    assert (result.backend, result.envelope.status) == ("adb", "success")
    assert "Network" in result.envelope.stepResults[0].data["text"]
    assert notes == [f"no Operator is enabled on {device.serial}; using plain adb"]
    assert ["am", "broadcast"] not in [call[:2] for call in doubles.calls()]


# Each action that only reads, so that it may begin with a look at the screen.
READS: dict[str, dict[str, Any]] = {
    "snapshot_ui": {"settle": True},
    "query": {"matcher": {"role": "button"}},
    "read_text": {"matcher": {"textContains": "Network", "unique": True}},
    "read_key_value_pair": {"labelMatcher": {"textContains": "Network", "unique": True}},
    "sleep": {"durationMs": 1},
    "wait_for_any": {"selectors": [{"textContains": "Network"}]},
    "wait_for_navigation": {"expectedPackage": SETTINGS, "timeoutMs": 5_000},
    "wait_for_node": {"matcher": {"textContains": "Network", "unique": True}},
    "wait_for_text_change": {"matcher": {"textContains": "Network"}, "text": "before"},
    "wait_until_gone": {"matcher": {"textEquals": "Gone"}},
    "wait_until_idle": {"quietMs": 50},
}


def test_every_read_is_tried() -> None:
    assert {name for name, row in ACTIONS.items() if row.read_only} == set(READS)


@pytest.mark.parametrize("kind", READS)
def test_without_an_operator_plain_adb_runs_every_read(device: Device, kind: str) -> None:
    action = {"id": "a1", "type": kind, "params": READS[kind]}
    result, direct = run(device, action), run(device, action, backend="adb")
    (step,), (expected,) = result.envelope.stepResults, direct.envelope.stepResults
    assert (result.backend, step.success) == ("adb", expected.success)
    assert step.data.get("error") == expected.data.get("error")
    assert step.data.get("error") != "WAIT_TIMEOUT"


def test_a_missing_operator_costs_one_question(doubles: CommandDoubles, device: Device) -> None:
    run(device, SNAPSHOT, backend="adb")
    direct = len(doubles.calls())
    run(device, SNAPSHOT)
    assert len(doubles.calls()) == 2 * direct + 1
    assert doubles.calls("settings") == [["settings", *SERVICES.split()]]


def test_an_operator_that_is_installed_but_not_enabled_is_not_used(
    doubles: CommandDoubles, device: Device
) -> None:
    doubles.answer("pm", "package:/data/app/base.apk\n", when=f"path {OPERATOR_PACKAGE}")
    assert run(device, SNAPSHOT).backend == "adb"


def test_actions_before_the_first_delivery_run_once(doubles: CommandDoubles, device: Device) -> None:
    result = run(device, CLOSE, SNAPSHOT)
    assert [step.id for step in result.envelope.stepResults] == ["c1", "a1"]
    assert (result.backend, result.envelope.status) == ("adb", "success")
    assert len([call for call in doubles.calls("am") if call[1] == "force-stop"]) == 1


def test_an_action_that_touches_the_device_first_runs_once(doubles: CommandDoubles, device: Device) -> None:
    rotate = {"id": "r", "type": "rotate", "params": {"orientation": "landscape"}}
    assert run(device, rotate).backend == "adb"
    changed = [call[-2:] for call in doubles.calls("settings") if call[1] == "put"]
    assert changed.count(["user_rotation", "1"]) == 1


def test_a_screenshot_needs_no_operator(doubles: CommandDoubles, device: Device, tmp_path: Path) -> None:
    path = str(tmp_path / "a.png")
    assert run(device, {"id": "a1", "type": "take_screenshot", "params": {"path": path}}).backend == "adb"
    assert doubles.calls("settings") == []


@pytest.mark.parametrize("actions", [(RECORD,), (CLOSE, RECORD), (SNAPSHOT, RECORD)])
def test_a_plan_beyond_adb_is_refused_before_anything_is_touched(
    doubles: CommandDoubles, device: Device, actions: tuple[dict[str, Any], ...]
) -> None:
    error = refused(device, *actions)
    assert error.code == "OPERATOR_NOT_INSTALLED"
    assert "plain adb cannot run start_recording" in error.message
    assert "operator setup" in (error.hint or "")
    assert error.extra["broadcastDispatchStatus"] == "not_sent"
    assert {call[0] for call in doubles.calls()} == {"settings"}


@pytest.mark.parametrize(
    ("action", "code"),
    [
        (RECORD, "RECORDING_UNAVAILABLE"),
        (
            {"id": "t", "type": "enter_text", "params": {"matcher": {"text": "x"}, "text": "two\nlines"}},
            "TEXT_NOT_ACCEPTED",
        ),
    ],
)
def test_with_plain_adb_by_name_too(
    doubles: CommandDoubles, device: Device, action: dict[str, Any], code: str
) -> None:
    error = refused(device, CLOSE, action, backend="adb")
    assert error.code == code
    assert "operator" in (error.hint or "").lower()
    assert doubles.calls() == []


@pytest.mark.parametrize("options", [{"backend": "operator"}, {"package": OPERATOR_PACKAGE}, {"package": "com.x"}])
def test_an_operator_that_was_asked_for_must_be_there(
    doubles: CommandDoubles, device: Device, options: dict[str, Any]
) -> None:
    error = refused(device, SNAPSHOT, **options)
    assert error.code == "OPERATOR_NOT_INSTALLED"
    assert error.extra["broadcastDispatchStatus"] == "not_sent"
    assert error.extra["operatorPackage"] == options.get("package", OPERATOR_PACKAGE)
    assert not error.after_effect
    assert {"checkId", "summary", "detail", "installCommand"} <= set(error.details or {})
    assert {"broadcast", "uiautomator"}.isdisjoint(word for call in doubles.calls() for word in call[:2])


# A device with an Operator


def test_an_enabled_operator_is_used_in_one_round_trip(doubles: CommandDoubles, device: Device) -> None:
    answer_broadcasts(doubles, OPERATOR_PACKAGE, "sleep")
    sleep = {"id": "a1", "type": "sleep", "params": {"durationMs": 0}}
    result = run(device, sleep)
    assert (result.backend, result.envelope.status) == ("operator", "success")
    assert [call[0] for call in doubles.calls()] == ["settings", "pidof", "date", "am", "logcat"]
    broadcast = doubles.calls("am")[0]
    assert broadcast[broadcast.index("-p") + 1] == OPERATOR_PACKAGE


def test_the_only_enabled_variant_is_used_and_named(doubles: CommandDoubles, device: Device) -> None:
    answer_broadcasts(doubles, DEV, "sleep")
    notes: list[str] = []
    with listening(notes.append):
        result = run(device, {"id": "a1", "type": "sleep", "params": {"durationMs": 0}})
    assert (result.backend, result.operatorPackage) == ("operator", DEV)
    assert notes == [f"device {device.serial} has the Operator {DEV} enabled; using it"]


def test_of_two_enabled_variants_the_released_one_is_used(doubles: CommandDoubles, device: Device) -> None:
    enable(doubles, DEV, OPERATOR_PACKAGE)
    assert enabled_operator(device) == OPERATOR_PACKAGE


@pytest.mark.parametrize(
    "listed", ["null\n", "", "com.clawperator.operator.other/.S\n", "xcom.clawperator.operator/.S\n"]
)
def test_other_services_are_no_operator(doubles: CommandDoubles, device: Device, listed: str) -> None:
    doubles.answer("settings", listed, when=SERVICES)
    assert enabled_operator(device) is None
    assert find_operator(device, None) == OPERATOR_PACKAGE


def test_after_a_broadcast_there_is_no_other_backend(doubles: CommandDoubles, device: Device) -> None:
    enable(doubles, OPERATOR_PACKAGE)
    doubles.answer("am", Reply(stderr="java.lang.SecurityException\n", code=255), when="broadcast *")
    error = refused(device, SNAPSHOT)
    assert error.code == "BROADCAST_FAILED"
    assert doubles.calls("uiautomator") == []


def test_the_named_operator_is_found_before_the_broadcast(doubles: CommandDoubles, device: Device) -> None:
    answer_broadcasts(doubles, "com.x", "sleep")
    result = run(device, {"id": "a1", "type": "sleep", "params": {"durationMs": 0}}, package="com.x")
    assert (result.backend, result.operatorPackage) == ("operator", UNSET)
    assert [call[0] for call in doubles.calls()] == ["pidof", "date", "am", "logcat"]


@pytest.mark.parametrize("clock", ["1700000000.%N\n", "1700000000.N\n", "1700000000.\n"])
def test_a_date_without_nanoseconds_is_a_time_that_logcat_reads(
    doubles: CommandDoubles, device: Device, clock: str
) -> None:
    answer_broadcasts(doubles, OPERATOR_PACKAGE, "sleep")
    doubles.answer("date", clock, when="+%s.%N")
    run(device, {"id": "a1", "type": "sleep", "params": {"durationMs": 0}})
    log = doubles.calls("logcat")[0]
    assert log[log.index("-T") + 1] == "1700000000.000"


def test_the_words_of_a_log_that_cannot_be_read_are_reported(doubles: CommandDoubles, device: Device) -> None:
    answer_broadcasts(doubles, OPERATOR_PACKAGE)
    doubles.answer("logcat", Reply(stderr="logcat: Unable to open log device '/dev/log/main'\n", code=1))
    error = refused(device, SNAPSHOT)
    assert error.code == "LOGCAT_UNAVAILABLE"
    assert "Unable to open log device" in error.message


# Commands


def test_every_command_uses_the_variant_of_the_phone(tmp_path: Path) -> None:
    with running_phone_server(operator=DEV):
        ran = clawperator("snapshot")
        assert (ran.code, ran.json["backend"], ran.json["operatorPackage"]) == (0, "operator", DEV)
        assert DEV in ran.err
        assert clawperator("recording", "start", "--session-id", "s1").json["operatorPackage"] == DEV
        assert clawperator("recording", "stop", "--session-id", "s1").code == 0
        assert clawperator("recording", "pull", "--out", str(tmp_path)).json["sessionId"] == "s1"
        report = clawperator("doctor")
        assert (report.code, report.json["operatorPackage"]) == (0, DEV)
        assert clawperator("version", "--check-compat").json["operatorPackage"] == DEV
        assert clawperator("grant-device-permissions").json["operatorPackage"] == DEV


def test_a_phone_without_an_operator_is_driven_and_reported() -> None:
    with running_phone_server() as server:
        device = Device("claw-1", Endpoint(HOST, server.server_port))
        assert run_shell(device, f"pm uninstall {OPERATOR_PACKAGE}", seconds=10).code == 0
        ran = clawperator("open", SETTINGS)
        assert (ran.code, ran.json["backend"]) == (0, "adb")
        assert "no Operator is enabled on claw-1; using plain adb" in ran.err
        assert clawperator("recording", "start").json["code"] == "OPERATOR_NOT_INSTALLED"
        checks = {check["id"]: check for check in clawperator("doctor").json["checks"]}
        assert checks["readiness.apk.presence"]["code"] == "OPERATOR_NOT_INSTALLED"
