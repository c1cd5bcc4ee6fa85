import json
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from clawperator.device.adb.client import Device, Endpoint
from clawperator.device.backends import operator_link as operator
from clawperator.device.backends.operator_link import Delivered, deliver
from clawperator.device.operators import OperatorChoice
from clawperator.device.run import reconcile
from clawperator.errors import ClawError
from clawperator.testing import SimulatedPhone, simulated_phone
from tests.device.adb.scripted_server import OKAY, Pause, packet, refusal, scripted
from tests.support.fast_clock import SkippingClock
from tests.support.hanging import HANG_SECONDS

PACKAGE = "com.clawperator.operator"
HEAD = b"clock 1.5\nsent\nprocess 42\n"


def execution(*actions: dict[str, Any], command_id: str = "c-1") -> dict[str, Any]:
    return {
        "commandId": command_id,
        "taskId": "t-1",
        "source": "test",
        "expectedFormat": "android-ui-automator",
        "timeoutMs": 1000,
        "actions": list(actions) or [{"id": "a1", "type": "sleep", "params": {"durationMs": 0}}],
    }


def envelope(**changes: Any) -> dict[str, Any]:
    step = {"id": "a1", "actionType": "sleep", "success": True, "data": {"duration_ms": "0"}}
    document = {"commandId": "c-1", "taskId": "t-1", "status": "success", "stepResults": [step], "error": None}
    return document | changes


def logged(*messages: str, tid: int = 42) -> bytes:
    return "".join(f"11-15 10:00:00.000    42  {tid:4} I Operator: {message}\n" for message in messages).encode()


def result(document: Any) -> bytes:
    return logged(f"[Clawperator-Result] {json.dumps(document)}")


def delivered(*output: bytes, code: int | None = None) -> Delivered:
    """The delivery of a phone with this output, which then closes the connection, with or without an exit code."""
    stream = b"".join(packet(1, piece) for piece in output)
    if code is not None:
        stream += packet(3, bytes([code]))
    with scripted(OKAY, OKAY, after=stream) as device:
        return deliver(device, PACKAGE, execution())


def lost(*output: bytes, code: int | None = None) -> ClawError:
    with pytest.raises(ClawError) as error:
        delivered(*output, code=code)
    assert error.value.hint
    return error.value


# The simulated phone


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[SimulatedPhone, Device]]:
    with simulated_phone(clock=SkippingClock()) as simulated, simulated.serve() as doors:
        yield simulated, Device("claw-1", Endpoint("127.0.0.1", doors.server_port, simulated=True))


def test_an_execution_comes_back_as_its_envelope(served: tuple[SimulatedPhone, Device]) -> None:
    came = deliver(served[1], PACKAGE, execution({"id": "look", "type": "snapshot_ui"}))
    assert (came.envelope.commandId, came.envelope.status) == ("c-1", "success")
    assert [tree.is_complete for tree in came.hierarchies] == [True]


def test_an_earlier_result_is_not_taken_for_ours(served: tuple[SimulatedPhone, Device]) -> None:
    deliver(served[1], PACKAGE, execution(command_id="earlier"))
    assert deliver(served[1], PACKAGE, execution(command_id="later")).envelope.commandId == "later"


def test_the_log_is_left_as_it_is(served: tuple[SimulatedPhone, Device]) -> None:
    simulated, device = served
    simulated.shell_script("log -t Mine kept")
    deliver(device, PACKAGE, execution())
    assert "kept" in simulated.shell_script("logcat -d -s Mine").text


def test_text_in_a_plan_is_not_run_as_a_command(served: tuple[SimulatedPhone, Device]) -> None:
    simulated, device = served
    hostile = "'; touch /sdcard/pwned; echo '$(touch /sdcard/pwned)`touch /sdcard/pwned`"
    wait = {"id": "a1", "type": "wait_for_node", "params": {"matcher": {"textEquals": hostile}, "timeoutMs": 1}}
    step = deliver(device, PACKAGE, execution(wait)).envelope.stepResults[0]
    assert hostile in json.loads(step.data["message"].removeprefix("no visible node matches ")).values()
    assert simulated.shell_script("ls /sdcard/pwned").code != 0


@pytest.mark.parametrize("package", ["com.example.none", "$(reboot)", "a;b"])
def test_an_operator_that_is_not_there_is_named(package: str, served: tuple[SimulatedPhone, Device]) -> None:
    with pytest.raises(ClawError) as error:
        deliver(served[1], package, execution())
    assert error.value.code == "OPERATOR_NOT_INSTALLED"
    assert package in error.value.message


# A phone with arbitrary output


def test_the_result_of_another_command_is_passed_over() -> None:
    came = delivered(HEAD + result(envelope(commandId="other")) + result(envelope(taskId="mine")))
    assert came.envelope.taskId == "mine"


def test_nonsense_in_the_log_is_passed_over() -> None:
    noise = logged("[Clawperator-Result] {nonsense}", "[Clawperator-Result]", "}") + b"\xff\xfe\n\n----- main\n"
    assert delivered(HEAD + noise + result(envelope())).envelope.status == "success"


def test_a_result_comes_through_however_it_is_cut() -> None:
    stream = HEAD + result(envelope())
    for size in (1, 7, 100):
        pieces = [stream[i : i + size] for i in range(0, len(stream), size)]
        assert delivered(*pieces).envelope.status == "success"


def test_data_that_are_no_strings_are_made_strings() -> None:
    step = {"id": "a1", "actionType": "sleep", "success": True, "data": {"n": 1, "b": True, "l": [1], "z": None}}
    steps = delivered(HEAD + result(envelope(stepResults=[step]))).envelope.stepResults
    assert steps[0].data == {"n": "1", "b": "true", "l": "[1]", "z": "null"}


@pytest.mark.parametrize("data", [None, [], "text", 1])
def test_data_that_are_no_object_are_none(data: Any) -> None:
    step = {"id": "a1", "actionType": "sleep", "success": True, "data": data}
    assert delivered(HEAD + result(envelope(stepResults=[step]))).envelope.stepResults[0].data == {}


@pytest.mark.parametrize(
    "changes",
    [
        {"taskId": 1},
        {"status": "done"},
        {"stepResults": {}},
        {"stepResults": [1]},
        {"stepResults": [{"id": 1, "actionType": "x", "success": True}]},
        {"stepResults": [{"id": "a", "actionType": "x", "success": "yes"}]},
        {"stepResults": [{"id": "a"}]},
        {"error": 1},
        {"errorCode": 1},
    ],
)
def test_our_own_result_must_keep_the_contract(changes: dict[str, Any]) -> None:
    error = lost(HEAD + result(envelope(**changes)))
    assert error.code == "RESULT_ENVELOPE_MALFORMED"
    assert not error.retryable


def _step(action_id: str = "a1", action_type: str = "sleep", *, success: bool = True) -> dict[str, Any]:
    return {"id": action_id, "actionType": action_type, "success": success, "data": {}}


@pytest.mark.parametrize(
    "steps",
    [
        [],
        [_step(), _step("a2")],
        [_step(), _step()],
        [_step("a2")],
        [_step("")],
        [_step(action_type="click")],
    ],
    ids=["fewer steps", "more steps", "a step twice", "another id", "an empty id", "another type"],
)
def test_a_success_needs_one_step_per_action(steps: list[dict[str, Any]]) -> None:
    error = lost(HEAD + result(envelope(stepResults=steps)))
    assert (error.code, error.retryable) == ("RESULT_ENVELOPE_MALFORMED", False)
    assert error.message.startswith("the Operator's result is malformed: ")


def test_a_success_with_swapped_steps_is_malformed() -> None:
    actions = [{"id": name, "type": "sleep", "params": {"durationMs": 0}} for name in ("a1", "a2")]
    stream = packet(1, HEAD + result(envelope(stepResults=[_step("a2"), _step("a1")])))
    with scripted(OKAY, OKAY, after=stream) as device, pytest.raises(ClawError, match="'a2' in place of 'a1'"):
        deliver(device, PACKAGE, execution(*actions))


@pytest.mark.parametrize("status", ["success", "failed"])
def test_a_failed_step_makes_the_execution_fail_whatever_its_status(status: str) -> None:
    failed = delivered(HEAD + result(envelope(status=status, stepResults=[_step(success=False)]))).envelope
    assert reconcile(failed, "claw-1", PACKAGE).status == "failed"


def test_a_failed_execution_may_have_fewer_steps() -> None:
    assert delivered(HEAD + result(envelope(status="failed", stepResults=[], error="e"))).envelope.error == "e"


@pytest.mark.parametrize(
    ("action", "output", "changed"),
    [
        ({"id": "a1", "type": "press_key", "params": {"key": "home"}}, b"", True),
        ({"id": "a1", "type": "press_key", "params": {"key": "home"}}, b"clock 1\n", True),
        ({"id": "a1", "type": "press_key", "params": {"key": "home"}}, HEAD, True),
        ({"id": "a1", "type": "snapshot_ui"}, HEAD, False),
    ],
)
def test_a_lost_plan_that_acts_is_not_retryable_once_it_may_have_been_sent(
    action: dict[str, Any],
    output: bytes,
    changed: bool,  # noqa: FBT001 - the expected result
) -> None:
    after = packet(1, output)
    with scripted(OKAY, OKAY, after=after) as device, pytest.raises(ClawError) as error:
        deliver(device, PACKAGE, execution(action))
    assert (error.value.after_effect, error.value.retryable) == (changed, not changed)


def test_a_result_without_the_word_error_breaks_the_contract() -> None:
    document = envelope()
    del document["error"]
    assert lost(HEAD + result(document)).code == "RESULT_ENVELOPE_MALFORMED"


@pytest.mark.parametrize(
    ("output", "code", "status"),
    [
        (b"", "LOGCAT_UNAVAILABLE", "unknown"),
        (b"clock 1\n", "LOGCAT_UNAVAILABLE", "unknown"),
        (b"clock 1\nsent\n", "LOGCAT_UNAVAILABLE", "sent"),
        (HEAD, "LOGCAT_UNAVAILABLE", "sent"),
        (HEAD + logged("[Clawperator-Result] {"), "LOGCAT_UNAVAILABLE", "sent"),
    ],
    ids=["at once", "before it was sent", "after it was sent", "while waiting", "in the result"],
)
def test_a_broken_connection_reports_how_far_the_delivery_got(output: bytes, code: str, status: str) -> None:
    error = lost(output)
    assert (error.code, error.extra["broadcastDispatchStatus"]) == (code, status)
    assert "the plan may have run" in error.hint


def test_a_connection_that_breaks_before_the_script_is_sent_sent_nothing() -> None:
    with scripted(b"") as device, pytest.raises(ClawError) as error:
        deliver(device, PACKAGE, execution())
    assert (error.value.code, error.value.extra["broadcastDispatchStatus"]) == ("BROADCAST_FAILED", "not_sent")
    assert error.value.hint == "Nothing was sent: run the command again."


def test_a_connection_that_breaks_before_the_script_is_accepted_may_have_sent_it() -> None:
    with scripted(OKAY, b"") as device, pytest.raises(ClawError) as error:
        deliver(device, PACKAGE, execution())
    assert (error.value.code, error.value.extra["broadcastDispatchStatus"]) == ("LOGCAT_UNAVAILABLE", "unknown")


def test_a_script_that_is_refused_was_not_sent() -> None:
    with scripted(OKAY, refusal("closed")) as device, pytest.raises(ClawError) as error:
        deliver(device, PACKAGE, execution())
    assert (error.value.code, error.value.extra["broadcastDispatchStatus"]) == ("BROADCAST_FAILED", "not_sent")


def test_a_failed_broadcast_reports_the_reason() -> None:
    stream = packet(1, b"clock 1\n") + packet(2, b"Security exception: not allowed\n") + packet(3, b"\x04")
    with scripted(OKAY, OKAY, after=stream) as device, pytest.raises(ClawError, match="not allowed") as error:
        deliver(device, PACKAGE, execution())
    assert error.value.code == "BROADCAST_FAILED"


def test_a_log_that_ends_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operator, "GRACE_SECONDS", 0.1)
    assert lost(HEAD + logged("working"), code=1).code == "LOGCAT_UNAVAILABLE"


def test_an_unreachable_device_is_reported_by_its_state() -> None:
    with scripted(refusal("device offline")) as device, pytest.raises(ClawError) as error:
        deliver(device, PACKAGE, execution())
    assert error.value.code == "DEVICE_OFFLINE"


def test_silence_ends_at_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operator, "GRACE_SECONDS", -0.8)
    start = time.monotonic()
    with scripted(OKAY, OKAY, Pause()) as device, pytest.raises(ClawError) as error:
        deliver(device, PACKAGE, execution())
    assert time.monotonic() - start < HANG_SECONDS
    assert error.value.code == "RESULT_ENVELOPE_TIMEOUT"
    assert error.value.extra["broadcastDispatchStatus"] == "unknown"
    assert (error.value.details or {})["lastActionId"] == "a1"


def test_an_error_has_the_first_thirty_lines_of_the_log() -> None:
    lines = [f"line {number}" for number in range(40)]
    assert lost(HEAD + logged(*lines)).extra["lastCorrelatedEvents"] == lines[:30]


@pytest.mark.parametrize(
    ("dispatched", "events", "hint"),
    [
        ("sent", ["working"], "The Operator is still running the plan."),
        ("sent", [], "Run 'clawperator doctor --device claw-1' to check the Operator. The plan may have run"),
        ("unknown", ["working"], "Run 'clawperator doctor --device claw-1' to check the Operator. The plan may"),
        ("not_sent", [], "Run 'clawperator doctor --device claw-1' to check the Operator."),
    ],
)
def test_the_hint_of_a_timeout_depends_on_how_far_the_delivery_got(
    dispatched: str, events: list[str], hint: str
) -> None:
    delivery = operator._Delivery(
        Device("claw-1", Endpoint("127.0.0.1", 1)), OperatorChoice(PACKAGE), execution(), None
    )
    delivery._dispatched, delivery._events = dispatched, events
    delivery._seconds = 2.5
    error = delivery._timeout_error()
    assert error.hint.startswith(hint)
    assert ("may have run" in error.hint) is ("may" in hint)
    assert error.message.startswith("no result within 2500 ms; ")
    assert (error.details or {})["elapsedMs"] == 2_500


class RecordedLease:
    """Records whether something may still run."""

    def __init__(self) -> None:
        self.has_ended = False

    def sending(self, *_: object) -> None: ...

    def noted(self, **_: str) -> None: ...

    def ended(self) -> None:
        self.has_ended = True


@pytest.mark.parametrize(
    ("output", "code", "has_ended"),
    [
        (b"", 3, True),  # not installed
        (b"clock 1.5\n", 4, True),  # the broadcast failed
        (b"clock 1.5\nsent\n", 5, True),  # no process
        (HEAD, 1, False),  # the log ended, and the plan may go on
        (HEAD, None, False),
        (HEAD + result(envelope()), None, True),
    ],
)
def test_a_lease_is_told_when_nothing_runs_any_more(output: bytes, code: int | None, *, has_ended: bool) -> None:
    lease = RecordedLease()
    stream = packet(1, output) + (b"" if code is None else packet(3, bytes([code])))
    with scripted(OKAY, OKAY, after=stream) as device, suppress(ClawError):
        deliver(device, PACKAGE, execution(), lease=lease)  # type: ignore[arg-type]
    assert lease.has_ended is has_ended
