import json
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any, Self

import pytest
from msgspec import UNSET

from clawperator._base import deadline as _deadline
from clawperator._base.notes import listening
from clawperator.contract.limits import HOST_GRACE_MS
from clawperator.contract.wire import OPERATOR_PACKAGES
from clawperator.device.adb.client import Device, Endpoint
from clawperator.device.backends import operator_link as operator
from clawperator.device.backends.operator_link import Delivered, deliver, operator_not_installed
from clawperator.device.run.run import reconcile
from clawperator.device.settings import OperatorChoice
from clawperator.device.setup import version_check
from clawperator.errors import ClawError
from clawperator.testing import SimulatedPhone, simulated_phone
from tests.device.adb.scripted_server import LOCALHOST, OKAY, Pause, answering, packet, refusal, scripted, text
from tests.support.fast_clock import SkippingClock
from tests.support.hanging import HANG_SECONDS

PACKAGE = "com.clawperator.operator"
DEV = OPERATOR_PACKAGES[1]
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


def test_an_error_has_the_first_lines_of_the_log() -> None:
    lines = [f"line {number}" for number in range(400)]
    kept = lost(HEAD + logged(*lines)).extra["lastCorrelatedEvents"]
    assert 10 < len(kept) < 400
    assert kept == lines[: len(kept)]


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
    """Records what was sent, what is known of it, and whether it may still run."""

    def __init__(self) -> None:
        self.sent: tuple[object, ...] = ()
        self.facts: dict[str, str] = {}
        self.has_ended = False

    def sending(self, *sent: object) -> None:
        self.sent = sent

    def noted(self, **facts: str) -> None:
        self.facts |= facts

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


def test_a_lease_gets_what_finds_the_result_again() -> None:
    lease = RecordedLease()
    stream = packet(1, f"operator {DEV}\n".encode() + HEAD + result(envelope()))
    document = execution() | {"timeoutMs": 60_000}
    with scripted(OKAY, OKAY, after=stream) as device:
        deliver(device, OperatorChoice(), document, lease=lease)  # type: ignore[arg-type]
    assert lease.sent == ("c-1", 60.0, PACKAGE, "")
    assert lease.facts == {
        "operator": DEV,
        "device_time": "1.5",
        "operator_pid": "42",
    }


@pytest.mark.parametrize("output", [b"clock now\nsent\nprocess 4x\n", b"clock \nsent\nprocess \n"])
def test_a_clock_or_process_that_makes_no_sense_is_not_noted(output: bytes) -> None:
    lease = RecordedLease()
    with scripted(OKAY, OKAY, after=packet(1, output + result(envelope()))) as device:
        deliver(device, PACKAGE, execution(), lease=lease)  # type: ignore[arg-type]
    assert (lease.facts, lease.has_ended) == ({}, True)


def test_a_malformed_result_is_the_end_of_the_command() -> None:
    lease = RecordedLease()
    stream = packet(1, HEAD + result(envelope(status="done")))
    with scripted(OKAY, OKAY, after=stream) as device, pytest.raises(ClawError):
        deliver(device, PACKAGE, execution(), lease=lease)  # type: ignore[arg-type]
    assert lease.has_ended


def test_a_device_too_old_for_the_script_runs_nothing() -> None:
    def answer(request: str) -> bytes:
        if "features" in request:
            return text("cmd")
        return refusal("closed") if request.startswith("shell") else OKAY

    lease = RecordedLease()
    with answering(answer) as listener:
        device = Device("old", Endpoint(LOCALHOST, listener.getsockname()[1]))
        with pytest.raises(ClawError) as error:
            deliver(device, PACKAGE, execution(), lease=lease)  # type: ignore[arg-type]
    assert error.value.code == "ANDROID_VERSION_UNSUPPORTED"
    assert lease.has_ended


def test_a_plan_that_is_too_large_for_adb_runs_nothing() -> None:
    quotes = {"id": "a1", "type": "enter_text", "params": {"matcher": {"textEquals": "a"}, "text": "'" * 20_000}}
    lease = RecordedLease()
    with scripted(OKAY, OKAY) as device, pytest.raises(ClawError) as error:
        deliver(device, PACKAGE, execution(quotes), lease=lease)  # type: ignore[arg-type]
    assert (error.value.code, error.value.after_effect) == ("PAYLOAD_TOO_LARGE", False)
    assert lease.has_ended


@pytest.mark.parametrize(
    ("output", "code", "status"),
    [(b"", 3, "not_sent"), (b"", 6, "not_sent"), (b"clock 1\n", 3, "unknown"), (b"", 4, "unknown")],
)
def test_nothing_was_sent_when_the_script_ended_before_the_broadcast(
    output: bytes, code: int, status: str
) -> None:
    assert lost(output, code=code).extra["broadcastDispatchStatus"] == status


@pytest.mark.parametrize(
    ("choice", "start", "end"),
    [
        (OperatorChoice("com.x"), "O=com.x; P=$(pidof ", "|| exit 3"),
        (OperatorChoice(), "case ", "|| exit 3"),
        (OperatorChoice(may_be_absent=True), "case ", 'echo operator $O; P=$(pidof "$O")'),
    ],
)
def test_the_script_finds_the_operator_before_anything_else(
    choice: OperatorChoice, start: str, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripts: list[str] = []

    def stream(_: Device, script: str, *__: object, **___: object) -> object:
        scripts.append(script)
        raise TimeoutError

    monkeypatch.setattr(operator, "ShellStream", stream)
    with pytest.raises(ClawError):
        deliver(Device("claw-1", Endpoint(LOCALHOST, 1)), choice, execution())
    found, clock, _ = scripts[0].partition("; T=$(date")
    assert found.startswith(start)
    assert found.endswith(end)
    assert clock
    assert ("exit 6" in found) is choice.may_be_absent
    assert ("echo operator $O" in found) is (choice.package is None)


# Traces


@pytest.mark.parametrize(
    ("choice", "found", "traced"),
    [
        (OperatorChoice(PACKAGE), b"", [f"connected to scripted: broadcast to {PACKAGE}"]),
        (
            OperatorChoice(),
            f"operator {DEV}\n".encode(),
            [
                "connected to scripted: broadcast to its Operator",
                f"Operator {DEV} on scripted",
            ],
        ),
    ],
)
def test_a_delivery_is_traced(choice: OperatorChoice, found: bytes, traced: list[str]) -> None:
    traces: list[str] = []
    stream = packet(1, found + HEAD + logged("working") + b"no record\n" + result(envelope()))
    with scripted(OKAY, OKAY, after=stream) as device, listening(None, traces.append):
        deliver(device, choice, execution())
    assert traces == [
        *traced,
        "broadcast sent; waiting for the Operator's process",
        "reading the log of process 42, waiting for the result",
        "result of c-1 after 2 log lines",
    ]


# Time


class FakeStream:
    """A shell stream that runs ``during`` before each packet."""

    def __init__(self, packets: list[bytes], during: Callable[[], None]) -> None:
        self.code = None
        self._packets = packets
        self._during = during

    def __call__(self, *_: object, before_request: Callable[[], None], **__: object) -> "FakeStream":
        before_request()
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def packets(self) -> Iterator[tuple[bool, bytes]]:
        for data in self._packets:
            self._during()
            yield False, data
        raise TimeoutError


def timed_out(
    monkeypatch: pytest.MonkeyPatch, packets: list[bytes], *actions: dict[str, Any], each: float = 0.0
) -> ClawError:
    """The error of a delivery of 30 seconds whose packets each take so many seconds."""
    now = [100.0]

    def wait() -> None:
        now[0] += each

    monkeypatch.setattr(_deadline, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(operator, "ShellStream", FakeStream(packets, wait))
    with pytest.raises(ClawError) as error:
        deliver(Device("claw-1", Endpoint(LOCALHOST, 1)), PACKAGE, execution(*actions) | {"timeoutMs": 30_000})
    assert error.value.code == "RESULT_ENVELOPE_TIMEOUT"
    return error.value


def test_a_result_may_come_until_the_timeout_and_the_grace_are_over(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [{"id": name, "type": "sleep", "params": {"durationMs": 0}} for name in ("a1", "a2", "a3")]
    error = timed_out(monkeypatch, [HEAD], *steps)
    seconds = 30_000 + HOST_GRACE_MS
    assert error.message == f"no result within {seconds} ms; the command was sent"
    assert error.details == {
        "commandId": "c-1",
        "taskId": "t-1",
        "lastActionId": "a3",
        "lastActionType": "sleep",
        "lastActionCaveat": "the last action of the plan, not the one that was running",
        "phase": "waiting",
        "elapsedMs": seconds,
        "timeoutMs": 30_000,
    }


def test_a_result_after_the_deadline_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    late = (30_000 + HOST_GRACE_MS) / 1000
    error = timed_out(monkeypatch, [HEAD + result(envelope())], each=late)
    assert error.message.endswith("delivery unknown")


# Errors


def test_a_long_line_of_the_log_is_cut_in_an_error() -> None:
    events = lost(HEAD + logged("x" * 500)).extra["lastCorrelatedEvents"]
    assert events == ["x" * 200]


@pytest.mark.parametrize(("code", "shown"), [(None, UNSET), ("NODE_NOT_FOUND", "NODE_NOT_FOUND")])
def test_an_error_code_is_optional(code: str | None, shown: object) -> None:
    changes = {"status": "failed", "error": "e", "stepResults": []} | ({} if code is None else {"errorCode": code})
    assert delivered(HEAD + result(envelope(**changes))).envelope.errorCode == shown


def failed_script(stderr: str, code: int) -> ClawError:
    stream = packet(1, b"clock 1\n") + packet(2, stderr.encode()) + packet(3, bytes([code]))
    with scripted(OKAY, OKAY, after=stream) as device, pytest.raises(ClawError) as error:
        deliver(device, "com.x", execution())
    return error.value


@pytest.mark.parametrize(
    ("stderr", "code", "message"),
    [
        ("x" * 301, 4, f"the broadcast to com.x failed: {'x' * 299}…"),
        (
            "logcat: bad",
            1,
            "lost the connection to scripted while dispatching: logcat exited with code 1: logcat: bad",
        ),
        ("", 1, "lost the connection to scripted while dispatching: logcat exited with code 1"),
        ("", 5, "Operator com.x is installed on scripted but not running"),
        ("Error: com.x does not exist", 4, "Operator com.x is not installed on scripted"),
        ("", 3, "Operator com.x is not installed on scripted"),
    ],
)
def test_an_error_of_the_script_is_named(stderr: str, code: int, message: str) -> None:
    assert failed_script(stderr, code).message == message


def test_an_error_of_the_script_has_the_diagnostics_of_the_delivery() -> None:
    for code in (3, 4, 5):
        assert failed_script("", code).extra == {
            "broadcastDispatchStatus": "unknown",
            "lastCorrelatedEvents": [],
            "deviceId": "scripted",
            "operatorPackage": "com.x",
        }


@pytest.mark.parametrize(
    ("package", "options", "questions"),
    [(PACKAGE, {}, 1), (PACKAGE, {"variants": False}, 0), ("com.x", {}, 0)],
)
def test_another_variant_is_looked_for_only_where_it_helps(
    package: str, options: dict[str, Any], questions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def installed(device: Device) -> list[str]:
        asked.append(device.serial)
        return [DEV]

    monkeypatch.setattr(version_check, "list_packages", installed)
    error = operator_not_installed(package, Device("claw-1", Endpoint(LOCALHOST, 1)), **options)
    assert len(asked) == questions
    assert (f"but {DEV} is" in error.message, f"Operator package {DEV}" in error.hint) == (bool(questions),) * 2
    assert (error.details or {}).get("installed") == ([DEV] if questions else None)
    assert error.extra == {
        "broadcastDispatchStatus": "not_sent",
        "deviceId": "claw-1",
        "operatorPackage": package,
    }


def test_a_device_without_an_enabled_operator_is_not_asked_for_its_apps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(version_check, "list_packages", lambda _: pytest.fail("the device was asked"))
    choice = OperatorChoice(may_be_absent=True)
    with scripted(OKAY, OKAY, after=packet(3, b"\x06")) as device, pytest.raises(ClawError) as error:
        deliver(device, choice, execution())
    assert (error.value.code, choice.is_absent) == ("OPERATOR_NOT_INSTALLED", True)


def test_without_another_variant_the_install_command_is_the_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(version_check, "list_packages", lambda _: [])
    error = operator_not_installed(PACKAGE, Device("claw-1", Endpoint(LOCALHOST, 1)))
    command = "clawperator operator setup --apk <operator.apk> --device claw-1"
    assert error.hint == f"Run '{command}' to install it, or use the backend adb."
    assert error.details == {
        "checkId": "readiness.apk.presence",
        "summary": f"Operator {PACKAGE} is not installed on claw-1",
        "detail": error.hint,
        "installCommand": command,
    }
