"""Running a plan: its checks, the time that it gets on the device, its log, and the hints of its result."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from clawperator._base.deadline import Deadline, limited
from clawperator._base.notes import listening
from clawperator.contract.action_params import TextSource
from clawperator.contract.execution import Plan, new_execution, validate
from clawperator.contract.results import ExecutionResult, ResultEnvelope, StepResult
from clawperator.device.adb.client import Device, Endpoint
from clawperator.device.backends.backend import RunWatch
from clawperator.device.run import run as run_module
from clawperator.device.run.host_log import log_file
from clawperator.device.run.lease import Holder, lease
from clawperator.device.run.run import add_views, reconcile, run_plan
from clawperator.device.settings import OperatorChoice
from clawperator.errors import ClawError, default_hint
from clawperator.policy.gate import PolicyGate, approve, enforcing, policy_environment
from clawperator.policy.rules import Policy, read_rule
from clawperator.testing import ScriptedBackend

DEVICE = Device("claw-1", Endpoint("127.0.0.1", 1, simulated=True))
LOOK = {"id": "look", "type": "snapshot_ui"}
CLICK = {"id": "tap", "type": "click", "params": {"matcher": {"textEquals": "Delete"}}}


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path))


@pytest.fixture
def sleeps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The sleeps of a test, on a clock that only they advance."""
    taken: list[float] = []
    monkeypatch.setattr(time, "sleep", taken.append)
    monkeypatch.setattr(time, "monotonic", lambda: 1_000.0 + sum(taken))
    return taken


def plan_of(*actions: dict[str, Any], timeout_ms: int = 5_000) -> Plan:
    return validate(new_execution(actions, command_id="c", task_id="t", source="test", timeout_ms=timeout_ms))


def run(*actions: dict[str, Any], backend: Any = None, package: str | None = "p") -> ExecutionResult:
    return run_plan(approve(plan_of(*actions)), DEVICE, package=package, backend=backend or ScriptedBackend())


# Time


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
    run_plan(approve(plan), DEVICE, package="p", backend=backend, timeout_ms=command_timeout_ms)
    (sent,) = backend.plans
    assert sent.document["timeoutMs"] == sent.execution.timeoutMs
    return sent.execution.timeoutMs


@pytest.mark.usefixtures("sleeps")
@pytest.mark.parametrize(
    ("seconds", "timeout_ms", "sent"),
    [
        (20.0, 60_000, 19_000),  # the answer still arrives
        (61.0, 60_000, 60_000),
        (5.75, 5_000, 4_750),
        (5.8, 5_000, 5_000),  # not worth a change
        (0.5, 60_000, 1_000),  # the shortest timeout of the contract
    ],
)
def test_a_plan_gets_less_time_than_its_command_has(seconds: float, timeout_ms: int, sent: float) -> None:
    with limited(seconds):
        assert sent_timeout(timeout_ms) == sent


@pytest.mark.usefixtures("sleeps")
def test_a_plan_whose_command_ends_sooner_gets_less_time() -> None:
    assert sent_timeout(60_000, command_timeout_ms=15_000) == 19_000
    assert sent_timeout(15_000, command_timeout_ms=60_000) == 15_000


def test_the_wait_for_a_busy_device_counts(sleeps: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    with lease("claw-1", "first", 0) as held:
        held.sending("first", 2.5, "com.operator")
    monkeypatch.setattr(run_module, "_has_finished", lambda _device, _holder, seconds: sleeps.append(seconds))
    assert sent_timeout(10_000) == 7_500


class TimedBackend(ScriptedBackend):
    """Keeps the time that the host has left while it runs."""

    left: float | None = None

    def run(self, plan: Plan) -> ResultEnvelope:
        self.left = Deadline(None).remaining
        return super().run(plan)


@pytest.mark.usefixtures("sleeps")
@pytest.mark.parametrize(("timeout_ms", "left"), [(None, 10.0), (2_000, 7.0), (60_000, 10.0)])
def test_the_host_ends_five_seconds_after_the_timeout(timeout_ms: float | None, left: float) -> None:
    backend = TimedBackend()
    run_plan(approve(plan_of(LOOK)), DEVICE, package="p", backend=backend, timeout_ms=timeout_ms)
    assert backend.left == left


@pytest.mark.parametrize(("lease_seconds", "waited"), [(None, 5.0), (1.0, 1.0), (60.0, 5.0)])
def test_a_busy_device_is_waited_for(lease_seconds: float | None, waited: float, sleeps: list[float]) -> None:
    backend = ScriptedBackend()
    with lease("claw-1", "first", 0), pytest.raises(ClawError) as error:
        run_plan(approve(plan_of(LOOK)), DEVICE, package="p", backend=backend, lease_seconds=lease_seconds)
    assert error.value.code == "EXECUTION_CONFLICT_IN_FLIGHT"
    assert sum(sleeps) == pytest.approx(waited, abs=0.01)
    assert backend.plans == []


def test_a_wait_for_a_busy_device_can_be_stopped() -> None:
    with lease("claw-1", "first", 0), pytest.raises(ClawError) as error:
        run_plan(approve(plan_of(LOOK)), DEVICE, package="p", backend=ScriptedBackend(), stop=lambda: True)
    assert error.value.code == "INTERRUPTED"


def test_the_device_is_asked_whether_an_abandoned_command_has_ended() -> None:
    with lease("claw-1", "first", 0) as held:
        held.sending("first", 60, "com.operator", "127.0.0.1:2")  # before a restart of the phone
    run(LOOK)
    holder = Holder(1, "first", 0, endpoint=DEVICE.endpoint.address, sent="first", operator="com.operator")
    assert not run_module._has_finished(DEVICE, holder, 1.0), "nothing answers"


@pytest.mark.parametrize(
    ("actions", "words"),
    [
        ((LOOK,), "snapshot_ui"),
        ((CLICK, LOOK, {"type": "press_key", "params": {"key": "back"}}), "click and 2 more"),
    ],
)
def test_a_lease_has_the_actions_in_a_few_words(actions: tuple[dict[str, Any], ...], words: str) -> None:
    class Busy(ScriptedBackend):
        def run(self, plan: Plan) -> ResultEnvelope:
            with pytest.raises(ClawError) as error, lease("claw-1", "second", 0):
                pass
            found.append((error.value.details or {})["action"])
            return super().run(plan)

    found: list[str] = []
    run(*actions, backend=Busy())
    assert found == [words]


# Checks before anything is sent


def test_an_action_that_the_policy_denies_is_not_sent() -> None:
    backend = ScriptedBackend()
    gate = PolicyGate(Policy("full", deny=(read_rule("click(*)", "test"),)))
    with enforcing(gate), pytest.raises(ClawError) as error:
        run(LOOK, CLICK, backend=backend)
    assert (error.value.code, backend.plans) == ("PERMISSION_DENIED", [])


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> list[RunWatch]:
    """What the backends of runs consult."""
    watches: list[RunWatch] = []

    def choose(backend: Any, _device: Device, _package: str | None, watch: RunWatch) -> Any:
        watches.append(watch)
        return backend

    monkeypatch.setattr(run_module, "choose_backend", choose)
    return watches


def click(**matcher: Any) -> dict[str, Any]:
    return {"id": "tap", "type": "click", "params": {"matcher": matcher}}


@pytest.mark.parametrize(
    ("action", "needed"),
    [
        (LOOK, False),
        (CLICK, False),
        (click(ref="e1"), True),
        ({"id": "q", "type": "query", "params": {}}, True),
        ({"id": "q", "type": "wait_for_any", "params": {"selectors": [{"textEquals": "a"}, {"ref": "e1"}]}}, True),
    ],
)
def test_references_are_loaded_for_plans_that_have_them(
    action: dict[str, Any], watched: list[RunWatch], *, needed: bool
) -> None:
    run(action)
    assert (watched[0].references is not None) == needed
    assert watched[0].secrets is None


@pytest.mark.parametrize(
    ("action", "checked"), [(CLICK, False), (click(textEquals="Delete", index=1), True), (LOOK, False)]
)
def test_a_policy_checks_the_nodes_that_the_host_chooses(
    action: dict[str, Any], watched: list[RunWatch], *, checked: bool
) -> None:
    with enforcing(PolicyGate(Policy("full"))):
        run(action)
    assert (watched[0].check_target is not None) == checked


@pytest.mark.parametrize("inherited", [True, False])
def test_a_policy_may_come_from_the_process_that_started_this_one(
    watched: list[RunWatch], monkeypatch: pytest.MonkeyPatch, *, inherited: bool
) -> None:
    with enforcing(PolicyGate(Policy("full", deny=(read_rule("click(*)", "test"),)))):
        variables = policy_environment()
    if not inherited:
        run(click(textEquals="Delete", index=1))
        assert watched[0].check_target is None
        return
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ClawError) as error:
        run(CLICK)
    assert error.value.code == "PERMISSION_DENIED"
    run({"id": "q", "type": "query", "params": {}})
    assert watched[0].check_target is not None


@pytest.mark.usefixtures("watched")
def test_a_secret_is_masked_in_steps_and_errors(watched: list[RunWatch], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", "correct horse 7")
    typing = {
        "type": "enter_text",
        "params": {"matcher": {"role": "textfield"}, "textFrom": {"env": "SHOP_PASSWORD"}},
    }

    class Reader(ScriptedBackend):
        def run(self, plan: Plan) -> ResultEnvelope:
            assert watched[-1].secrets is not None
            text = watched[-1].secrets.read(TextSource(env="SHOP_PASSWORD"))
            if fails:
                raise ClawError("RESULT_ENVELOPE_TIMEOUT", f"no result after {text}") from ZeroDivisionError()
            return super().run(plan)

    fails = False
    result = run(LOOK, typing, backend=Reader({"text": "is correct horse 7"}))
    assert result.envelope.stepResults[0].data["text"] == "is ••••"
    fails = True
    with pytest.raises(ClawError) as error:
        run(typing, backend=Reader())
    assert error.value.message == "no result after ••••"
    assert isinstance(error.value.__cause__, ZeroDivisionError)


# The log and the trace


def logged() -> Iterator[dict[str, Any]]:
    for line in Path(log_file()).read_text().splitlines():
        entry = json.loads(line)
        del entry["ts"], entry["message"]
        yield entry


IDS = {"commandId": "c", "taskId": "t", "deviceId": "claw-1"}


class SlowBackend(ScriptedBackend):
    """Takes 750 ms, and may fail."""

    error: BaseException | None = None

    def run(self, plan: Plan) -> ResultEnvelope:
        time.sleep(0.75)
        if self.error is not None:
            raise self.error
        return super().run(plan)


@pytest.mark.usefixtures("sleeps")
def test_the_log_has_the_ids_and_the_status_of_a_run() -> None:
    run(LOOK, backend=SlowBackend({"text": "secret"}))
    run(LOOK, backend=SlowBackend({"error": "NODE_NOT_FOUND"}))
    started = {"level": "info", "event": "execution.started", **IDS}
    ended = {"event": "execution.finished", "durationMs": 750, **IDS}
    assert list(logged()) == [
        started,
        {"level": "info", "status": "success", **ended},
        started,
        {"level": "warn", "status": "failed", "code": "NODE_NOT_FOUND", **ended},
    ]


@pytest.mark.usefixtures("sleeps")
@pytest.mark.parametrize(
    ("error", "entry"),
    [
        (
            ClawError("DEVICE_OFFLINE", "offline"),
            {"event": "execution.failed", "level": "error", "code": "DEVICE_OFFLINE"},
        ),
        (KeyboardInterrupt(), {"event": "execution.interrupted", "level": "warn"}),
    ],
)
def test_the_log_has_the_end_of_a_run_without_a_result(error: BaseException, entry: dict[str, Any]) -> None:
    backend = SlowBackend()
    backend.error = error
    with pytest.raises(type(error)):
        run(LOOK, backend=backend)
    assert list(logged())[1:] == [{**entry, "durationMs": 750, **IDS}]


def test_a_trace_has_the_lease_the_backend_and_the_times(
    sleeps: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    with lease("claw-1", "first", 0) as held:
        held.sending("first", 0.75, "com.operator")
    monkeypatch.setattr(run_module, "_has_finished", lambda _device, _holder, seconds: sleeps.append(seconds))
    lines: list[str] = []
    with listening(None, lines.append):
        run(LOOK, CLICK, backend=SlowBackend())
    assert lines == [
        "lease of claw-1 after 750 ms; backend SlowBackend",
        "run c: snapshot_ui and 1 more, timeout 4250 ms",
        "step look (snapshot_ui): success",
        "step tap (click): success",
        "success after 1500 ms by SlowBackend",
    ]


# The result


class NamedBackend(ScriptedBackend):
    """A backend that reports its name and the Operator that it used."""

    name = "operator"

    def __init__(self, package: str | None, *results: dict[str, str]) -> None:
        super().__init__(*results)
        self.operator = OperatorChoice(package)


@pytest.mark.parametrize(
    ("package", "chosen", "reported"),
    [
        (None, "com.clawperator.operator.dev", "com.clawperator.operator.dev"),
        (None, "com.clawperator.operator", UNSET),
        (None, None, UNSET),
        ("com.clawperator.operator.dev", "com.clawperator.operator.dev", UNSET),
    ],
)
def test_a_result_names_the_operator_that_the_device_chose(
    package: str | None, chosen: str | None, reported: Any
) -> None:
    result = run(LOOK, backend=NamedBackend(chosen), package=package)
    assert (result.backend, result.operatorPackage, result.deviceId) == ("operator", reported, "claw-1")


def test_a_backend_without_a_name_is_called_by_its_class() -> None:
    assert run(LOOK).backend == "ScriptedBackend"


@pytest.mark.parametrize(
    ("package", "chosen", "named"),
    [
        ("com.named", "com.chosen", "com.named"),
        (None, "com.chosen", "com.chosen"),
        (None, None, "com.clawperator.operator"),
    ],
)
def test_the_command_that_stops_a_recording_names_the_operator(
    package: str | None, chosen: str | None, named: str
) -> None:
    backend = NamedBackend(chosen, {"error": "RECORDING_ALREADY_IN_PROGRESS", "sessionId": "demo"})
    result = run({"type": "start_recording", "params": {"sessionId": "new"}}, backend=backend, package=package)
    assert f"--operator-package {named} " in result.envelope.stepResults[0].data["hint"]


def test_a_recording_is_noted_for_later_secrets(tmp_path: Path) -> None:
    def files() -> int:
        return sum(path.is_file() and path.read_bytes() == b"demo" for path in tmp_path.rglob("*"))

    start = {"type": "start_recording", "params": {"sessionId": "demo"}}
    run(LOOK, backend=ScriptedBackend({"sessionId": "demo"}))
    assert files() == 0
    run(start, backend=ScriptedBackend({"sessionId": "demo"}))
    assert files() == 1


class WrongBackend(ScriptedBackend):
    """Leaves out the steps, and claims this status."""

    status = "success"

    def run(self, plan: Plan) -> ResultEnvelope:
        error = None if self.status == "success" else "NODE_NOT_FOUND"
        return replace(super().run(plan), stepResults=[], status=self.status, error=error)


def test_a_success_without_its_steps_is_malformed() -> None:
    with pytest.raises(ClawError) as error:
        run(LOOK, backend=WrongBackend())
    assert error.value.code == "RESULT_ENVELOPE_MALFORMED"
    assert error.value.message == "the result of the execution is malformed: it has 0 steps for 1 actions"
    assert (error.value.details, error.value.after_effect) == ({"commandId": "c"}, True)


def test_a_failure_may_have_fewer_steps() -> None:
    backend = WrongBackend()
    backend.status = "failed"
    assert run(LOOK, backend=backend).envelope.status == "failed"


def test_each_snapshot_has_an_id() -> None:
    result = run(LOOK, CLICK, LOOK | {"id": "b"}, backend=ScriptedBackend({"text": "<a/>"}, {"text": "<a/>"}, {}))
    first, tap, last = (step.data for step in result.envelope.stepResults)
    assert first.keys() == {"text", "snapshot_id"}
    assert (tap, last) == ({"text": "<a/>"}, {})


def envelope(status: Any, *steps: StepResult, code: str | None = None) -> ResultEnvelope:
    return ResultEnvelope(
        "c", "t", status, list(steps), None if status == "success" else "it failed", code or UNSET
    )


def test_a_plain_snapshot_needs_no_references() -> None:
    result = envelope("success", StepResult("look", "snapshot_ui", True, {"text": "<a/>"}))
    viewed = add_views(plan_of(LOOK), result, lambda: pytest.fail("no view was asked for"))
    assert viewed.stepResults[0].data["text"] == "<a/>"


def test_a_failed_step_is_the_outcome_whatever_the_device_reports() -> None:
    step = StepResult("tap", "click", False, {"error": "NODE_NOT_FOUND"})
    for status in ("success", "failed"):
        found = reconcile(envelope(status, step), "claw-1", "p")
        assert (found.status, found.errorCode) == ("failed", "NODE_NOT_FOUND")
        assert found.error == "step tap (click) failed: NODE_NOT_FOUND"
        assert found.hint == default_hint("NODE_NOT_FOUND")


@pytest.mark.parametrize(
    ("data", "hint"),
    [
        ({"error": "NODE_NOT_FOUND", "hint": "Scroll."}, "Scroll."),
        ({"error": "SOMETHING_NEW"}, UNSET),
    ],
)
def test_a_failure_has_the_hint_of_its_step_or_of_a_known_code(data: dict[str, str], hint: Any) -> None:
    assert reconcile(envelope("failed", StepResult("tap", "click", False, data)), "claw-1", "p").hint == hint


def test_a_failure_between_steps_is_left_as_it_is() -> None:
    failed = envelope("failed", StepResult("tap", "click", True, {}), code="COMMAND_TIMEOUT")
    assert reconcile(failed, "claw-1", "p") == failed


def test_a_service_that_is_off_has_the_command_that_turns_it_on() -> None:
    found = reconcile(envelope("failed", code="SERVICE_UNAVAILABLE"), "claw 1", "p")
    assert found.hint == (
        "Run 'clawperator doctor --fix --device 'claw 1'' to turn the Operator's accessibility service on."
    )


@pytest.mark.parametrize(("code", "named"), [("RECORDING_NOT_IN_PROGRESS", "demo"), ("NODE_NOT_FOUND", UNSET)])
def test_a_failure_by_an_active_recording_names_it(code: str, named: Any) -> None:
    data = {"error": code, "sessionId": "demo", "filePath": "/sdcard/demo"}
    steps = (
        StepResult("a", "snapshot_ui", True, {"sessionId": "no"}),
        StepResult("b", "stop_recording", False, data),
    )
    found = reconcile(envelope("failed", *steps), "claw-1", "p")
    assert (found.sessionId, found.filePath) == (named, UNSET if named is UNSET else "/sdcard/demo")


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
        run_plan(approve(plan), DEVICE, package="p", backend=ScriptedBackend({}, {"error": "NODE_NOT_FOUND"}))
    assert [line for line in lines if line.startswith("step ")] == [
        "step look (snapshot_ui): success",
        "step wait (sleep): NODE_NOT_FOUND",
    ]


# Secrets


def test_nothing_is_sent_while_it_is_unknown_which_secrets_are_declared(tmp_path: Path) -> None:
    (tmp_path / "clawperator.toml").write_text("secrets = 1\n")
    backend = ScriptedBackend()
    with pytest.raises(ClawError) as refused:
        run(LOOK, backend=backend)
    assert (refused.value.code, backend.plans) == ("CONFIG_INVALID", [])
