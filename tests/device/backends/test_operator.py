"""The Operator backend: parts of a plan, and snapshots whose hierarchies did not arrive."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import pytest
from msgspec import UNSET

from clawperator._base import deadline as _deadline
from clawperator._base.deadline import Deadline
from clawperator.contract.execution import Plan, new_execution, validate
from clawperator.contract.results import ResultEnvelope, StepResult, sum_of
from clawperator.contract.wire import OPERATOR_PACKAGE, TEXT_BYTES, TEXT_SUM
from clawperator.device.adb.client import Device, Endpoint
from clawperator.device.backends import operator
from clawperator.device.backends.backend import RunWatch
from clawperator.device.backends.operator import OperatorBackend, OperatorRun, attach_hierarchies
from clawperator.device.backends.operator_link import Delivered, LoggedTree
from clawperator.device.discovery import resolve_device
from clawperator.device.run.run import run_plan
from clawperator.device.settings import OperatorChoice
from clawperator.device.setup import version_check
from clawperator.errors import CODES, ClawError
from clawperator.policy.gate import approve
from tests.device.phone_servers import running_phone_server

BIG_APP = """package = "com.example.big"
label = "Big"
[[screen]]
name = "home"
  [[screen.view]]
  kind = "scroll"
"""
ROW = """    [[screen.view.view]]
    kind = "text"
    text = "Row {number}"
"""


def failed_step(data: dict[str, str], orphaned: int = 0) -> dict[str, str]:
    step = StepResult("snap", "snapshot_ui", True, {"actual_format": "hierarchy_xml"} | data)
    envelope = ResultEnvelope("c", "t", "success", [step], None)
    (made,) = attach_hierarchies(Delivered(envelope, (), orphaned))
    assert not made.success
    return made.data


def test_a_large_hierarchy_that_did_not_arrive_is_too_large() -> None:
    data = failed_step({TEXT_BYTES: "1400000", TEXT_SUM: "1"})

    assert data["error"] == "SNAPSHOT_TOO_LARGE"
    assert data["hint"] == "Use the backend adb: run 'clawperator snapshot --backend adb'."
    assert not CODES["SNAPSHOT_TOO_LARGE"].retryable


def test_a_hierarchy_that_lost_its_beginning_is_too_large_also_without_a_declared_size() -> None:
    assert failed_step({}, orphaned=250_000)["error"] == "SNAPSHOT_TOO_LARGE"


def test_a_small_hierarchy_that_did_not_arrive_may_arrive_the_next_time() -> None:
    data = failed_step({TEXT_BYTES: "26000", TEXT_SUM: "1"}, orphaned=500)

    assert data["error"] == "SNAPSHOT_EXTRACTION_FAILED"
    assert CODES["SNAPSHOT_EXTRACTION_FAILED"].retryable


def test_a_hierarchy_without_a_checksum_is_marked() -> None:
    lines = ("<?xml version='1.0' ?>", '<hierarchy rotation="0">', '<node index="0" class="a" />', "</hierarchy>")
    tree = LoggedTree(lines, True)
    step = StepResult("snap", "snapshot_ui", True, {})
    (made,) = attach_hierarchies(Delivered(ResultEnvelope("c", "t", "success", [step], None), (tree,)))
    assert (made.success, made.data["complete"]) == (True, "unverified")
    text = "\n".join(lines)
    length, checksum = sum_of(text)
    summed = StepResult("snap", "snapshot_ui", True, {TEXT_BYTES: str(length), TEXT_SUM: str(checksum)})
    (proved,) = attach_hierarchies(Delivered(ResultEnvelope("c", "t", "success", [summed], None), (tree,)))
    assert proved.data == {"text": text}


def test_a_screen_beyond_the_log_names_the_command_that_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path / "home"))
    app = tmp_path / "big.toml"
    app.write_text(BIG_APP + "".join(ROW.format(number=number) for number in range(3_600)))
    look = {"type": "snapshot_ui", "params": {"retry": {"maxAttempts": 1}, "view": "outline"}}
    plan = validate(new_execution([look], command_id="c", source="test", timeout_ms=60_000))
    with running_phone_server(apps=(str(app),)) as server:
        server.phone.launch("com.example.big")
        device = resolve_device("claw-1")
        too_large = run_plan(approve(plan), device, package="com.clawperator.operator").envelope
        arrived = run_plan(approve(plan), device, package="com.clawperator.operator", backend="adb").envelope

    assert too_large.errorCode == "SNAPSHOT_TOO_LARGE"
    assert too_large.hint == "Use the backend adb: run 'clawperator snapshot --backend adb'."
    assert arrived.status == "success"
    assert '"Row 0"' in arrived.stepResults[0].data["text"]


@pytest.mark.parametrize(("seconds_left", "timeout_ms"), [(12.5, 12_500), (0.2, 1_000), (0.0, 1_000)])
def test_a_part_of_a_plan_gets_the_time_that_is_left(seconds_left: float, timeout_ms: int) -> None:
    look = {"id": "look", "type": "snapshot_ui"}
    plan = validate(new_execution([look], command_id="c", source="test", timeout_ms=60_000))
    run = OperatorRun(Device("claw-1", Endpoint("127.0.0.1", 1)), OperatorChoice("p"), plan, RunWatch())
    run._deadline = Deadline(seconds_left, lambda: 100.0)
    part = run._part([look])
    assert (part["commandId"], part["timeoutMs"]) == ("c.1", timeout_ms)
    assert run._part([look])["commandId"] == "c.2"


# Plans in parts

SCREEN = """<hierarchy rotation="0"><node class="a" package="p" bounds="[0,0][100,200]">
<node class="android.widget.Button" package="p" text="Save" clickable="true" enabled="true" bounds="[0,0][50,50]" />
</node></hierarchy>"""
DEVICE = Device("claw-1", Endpoint("127.0.0.1", 1))
SLEEP: dict[str, Any] = {"id": "nap", "type": "sleep", "params": {"durationMs": 0}}
CLICK: dict[str, Any] = {"id": "tap", "type": "click", "params": {"matcher": {"textEquals": "Save"}}}
CLOSE: dict[str, Any] = {"id": "close", "type": "close_app", "params": {"applicationId": "com.a"}}
LOOK: dict[str, Any] = {"id": "look", "type": "snapshot_ui"}
QUERY: dict[str, Any] = {"id": "ask", "type": "query", "params": {"matcher": {"textEquals": "Save"}}}
ROTATE: dict[str, Any] = {"id": "turn", "type": "rotate", "params": {"orientation": "auto"}}
NOT_FOUND = {"error": "NODE_NOT_FOUND", "message": "no visible node matches"}
LOST = ClawError("LOGCAT_UNAVAILABLE", "lost the connection")


def expecting(action: dict[str, Any], text: str) -> dict[str, Any]:
    return {**action, "params": {**action["params"], "expect": {"text": text, "timeoutMs": 1}}}


def step(action: dict[str, Any], **failure: str) -> StepResult:
    data = {"text": SCREEN} if action["type"] == "snapshot_ui" and not failure else failure
    return StepResult(action["id"], action["type"], not failure, data)


class ScriptedOperator:
    """In place of deliveries: each gets the next answer, its steps, an envelope or an error. Then all succeed."""

    def __init__(self, *answers: list[StepResult] | ResultEnvelope | ClawError | None) -> None:
        self.answers = list(answers)
        self.documents: list[dict[str, Any]] = []

    def deliver(
        self, _: Device, choice: OperatorChoice, document: dict[str, Any], **_options: object
    ) -> Delivered:
        choice.package = choice.package or OPERATOR_PACKAGE
        self.documents.append(document)
        answer = self.answers.pop(0) if self.answers else None
        if isinstance(answer, ClawError):
            raise answer
        if isinstance(answer, ResultEnvelope):
            return Delivered(answer, ())
        steps = [step(action) for action in document["actions"]] if answer is None else answer
        status: Literal["success", "failed"] = "success" if all(one.success for one in steps) else "failed"
        return Delivered(ResultEnvelope(document["commandId"], "t", status, steps, None), ())

    @property
    def sent(self) -> list[list[str]]:
        """The ids of the actions of each delivery."""
        return [[action["id"] for action in document["actions"]] for document in self.documents]


Deliveries = Callable[..., ScriptedOperator]


@pytest.fixture
def deliveries(monkeypatch: pytest.MonkeyPatch) -> Deliveries:
    def use(*answers: list[StepResult] | ResultEnvelope | ClawError | None) -> ScriptedOperator:
        made = ScriptedOperator(*answers)
        monkeypatch.setattr(operator, "deliver", made.deliver)
        return made

    return use


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The apps that the host closes, in place of a device."""
    apps: list[str] = []

    def run(_: Device, action: dict[str, Any], command_id: str) -> StepResult:
        apps.append(f"{action['params']['applicationId']} for {command_id}")
        return step(action)

    monkeypatch.setattr(operator, "run_host_action", run)
    return apps


def plan_of(*actions: dict[str, Any], command_id: str = "c") -> Plan:
    return validate(
        new_execution(list(actions), command_id=command_id, task_id="t", source="test", timeout_ms=60_000)
    )


def run(*actions: dict[str, Any], watch: RunWatch | None = None) -> ResultEnvelope:
    return OperatorBackend(DEVICE, OPERATOR_PACKAGE, watch).run(plan_of(*actions))


def raised(*actions: dict[str, Any], watch: RunWatch | None = None) -> ClawError:
    with pytest.raises(ClawError) as error:
        run(*actions, watch=watch)
    return error.value


def ids(envelope: ResultEnvelope) -> list[str]:
    return [one.id for one in envelope.stepResults]


def test_a_plan_for_the_operator_is_sent_as_it_is(deliveries: Deliveries) -> None:
    phone = deliveries()
    envelope = run(SLEEP, CLICK)
    (document,) = phone.documents
    assert document == plan_of(SLEEP, CLICK).document
    assert (envelope.commandId, envelope.taskId, envelope.status) == ("c", "t", "success")
    assert ids(envelope) == ["nap", "tap"]


def test_the_actions_of_the_host_run_between_the_parts(deliveries: Deliveries, closed: list[str]) -> None:
    phone = deliveries()
    envelope = run(SLEEP, CLOSE, CLOSE | {"id": "again"}, CLICK, LOOK)
    assert phone.sent == [["nap", "goes-on"], ["tap", "look"]]
    assert [document["commandId"] for document in phone.documents] == ["c.1", "c.2"]
    assert phone.documents[0]["actions"][-1] == {"id": "goes-on", "type": "sleep", "params": {"durationMs": 0}}
    assert closed == ["com.a for c", "com.a for c"]
    assert (ids(envelope), envelope.status) == (["nap", "close", "again", "tap", "look"], "success")


def test_the_last_part_of_a_plan_has_an_id_of_its_own_and_the_time_that_is_left(
    deliveries: Deliveries, closed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_deadline, "time", SimpleNamespace(monotonic=lambda: 100.0))
    phone = deliveries()
    run(CLOSE, SLEEP)
    (document,) = phone.documents
    assert (phone.sent, document["commandId"], document["timeoutMs"]) == ([["nap"]], "c.1", 60_000)
    assert len(closed) == 1


def test_the_id_of_a_part_is_no_longer_than_an_id_may_be(deliveries: Deliveries, closed: list[str]) -> None:
    phone = deliveries()
    OperatorBackend(DEVICE, OPERATOR_PACKAGE).run(plan_of(CLOSE, SLEEP, command_id="x" * 128))
    assert phone.documents[0]["commandId"] == "x" * 120 + ".1"
    assert closed


@pytest.mark.parametrize(
    ("used", "marker"), [(["goes-on"], "goes-on-"), (["goes-on-", "goes-on"], "goes-on--"), (["go"], "goes-on")]
)
def test_the_marker_of_a_part_is_no_action_of_the_plan(
    deliveries: Deliveries, closed: list[str], used: list[str], marker: str
) -> None:
    phone = deliveries()
    envelope = run(*(SLEEP | {"id": name} for name in used), CLOSE)
    assert phone.sent == [[*used, marker]]
    assert ids(envelope) == [*used, "close"]
    assert closed


@pytest.mark.parametrize("marker", [[], [StepResult("goes-on", "sleep", False, {})]])
def test_a_part_that_the_operator_ended_early_is_the_last_one(
    deliveries: Deliveries, closed: list[str], marker: list[StepResult]
) -> None:
    phone = deliveries([step(SLEEP), *marker])
    envelope = run(SLEEP, CLOSE, SLEEP | {"id": "later"})
    assert (ids(envelope), closed, len(phone.sent)) == (["nap"], [], 1)


def test_a_failure_that_does_not_end_the_plan_makes_it_fail(deliveries: Deliveries, closed: list[str]) -> None:
    marker = StepResult("goes-on", "sleep", True, {})
    deliveries([step(CLICK, error="NODE_NOT_CLICKABLE"), marker])
    envelope = run(CLICK, CLOSE, SLEEP)
    assert (envelope.status, ids(envelope), len(closed)) == ("failed", ["tap", "close", "nap"], 1)


def test_without_the_operator_a_plan_has_no_error(closed: list[str]) -> None:
    envelope = run(CLOSE)
    assert (envelope.status, envelope.error, envelope.errorCode) == ("success", None, UNSET)
    assert closed


def test_the_error_of_the_operator_is_that_of_the_plan(deliveries: Deliveries) -> None:
    deliveries(ResultEnvelope("c", "t", "failed", [], "no service", "SERVICE_UNAVAILABLE"))
    envelope = run(SLEEP)
    assert (envelope.status, envelope.error, envelope.errorCode) == ("failed", "no service", "SERVICE_UNAVAILABLE")


def test_a_plan_that_is_stopped_between_its_parts_may_have_changed_the_device(
    deliveries: Deliveries, closed: list[str]
) -> None:
    stops = iter([False])
    deliveries()
    error = raised(CLICK, CLOSE, watch=RunWatch(stop=lambda: next(stops, True)))
    assert (error.code, error.after_effect, closed) == ("INTERRUPTED", True, [])
    error = raised(CLICK, watch=RunWatch(stop=lambda: True))
    assert (error.code, error.after_effect) == ("INTERRUPTED", False)


# Expectations


def test_a_part_ends_after_an_action_with_an_expectation(deliveries: Deliveries) -> None:
    phone = deliveries()
    envelope = run(SLEEP, expecting(CLICK, "Save"), LOOK)
    assert phone.sent == [["nap", "tap", "goes-on"], ["a1"], ["look"]]
    assert (ids(envelope), envelope.status) == (["nap", "tap", "look"], "success")


def test_an_expectation_that_fails_ends_the_plan(deliveries: Deliveries) -> None:
    phone = deliveries()
    envelope = run(SLEEP, expecting(CLICK, "Saved"), LOOK)
    assert (ids(envelope), envelope.status) == (["nap", "tap"], "failed")
    assert envelope.stepResults[1].data["error"] == "EXPECTATION_FAILED"
    assert envelope.stepResults[0].success
    assert ["look"] not in phone.sent


def test_what_the_last_action_expects_is_checked_too(deliveries: Deliveries) -> None:
    deliveries()
    assert run(SLEEP, expecting(CLICK, "Saved")).status == "failed"
    deliveries()
    assert run(expecting(CLICK, "Save")).status == "success"


@pytest.mark.parametrize(
    "steps",
    [
        [],
        [step(SLEEP)],
        [step(SLEEP), step(CLICK, error="NODE_NOT_CLICKABLE")],
        [step(SLEEP, error="UNKNOWN")],
    ],
    ids=["no step", "not reached", "failed", "failed before"],
)
def test_nothing_is_expected_of_an_action_that_did_not_succeed(
    deliveries: Deliveries, steps: list[StepResult]
) -> None:
    phone = deliveries(steps)
    assert ids(run(SLEEP, expecting(CLICK, "Saved"))) == [one.id for one in steps]
    assert len(phone.sent) == 1


def test_a_plan_goes_on_after_a_failed_step_whose_expectation_does_not_count(deliveries: Deliveries) -> None:
    marker = StepResult("goes-on", "sleep", True, {})
    phone = deliveries([step(CLICK, error="NODE_NOT_CLICKABLE"), marker])
    envelope = run(expecting(CLICK, "Saved"), SLEEP)
    assert (phone.sent, ids(envelope)) == ([["tap", "goes-on"], ["nap"]], ["tap", "nap"])


def test_a_delivery_that_fails_while_an_expectation_is_checked_is_the_error(deliveries: Deliveries) -> None:
    deliveries(None, LOST, LOST)
    error = raised(CLICK | {"params": {**CLICK["params"], "expect": {"app": "com.a", "timeoutMs": 1}}}, LOOK)
    assert (error.code, error.after_effect) == ("LOGCAT_UNAVAILABLE", True)
    assert [one.id for one in error.extra["stepResults"]] == ["tap"]


def test_the_host_checks_what_its_own_action_expects(deliveries: Deliveries, closed: list[str]) -> None:
    deliveries()
    envelope = run(expecting(CLOSE, "Saved"), SLEEP)
    assert (ids(envelope), envelope.status, len(closed)) == (["close"], "failed", 1)
    assert ids(run(expecting(CLOSE, "Save"), SLEEP)) == ["close", "nap"]


# Near matches


def nearest(envelope: ResultEnvelope) -> list[str]:
    return [one.data.get("nearest", "") for one in envelope.stepResults]


def test_a_search_that_fails_names_what_is_on_the_screen(deliveries: Deliveries) -> None:
    phone = deliveries([step(SLEEP), step(CLICK, **NOT_FOUND)])
    envelope = run(SLEEP, CLICK | {"params": {"matcher": {"textEquals": "Safe"}}})
    assert phone.documents[1]["actions"] == [{"id": "near", "type": "snapshot_ui", "params": {"retry": {}}}]
    assert nearest(envelope)[0] == ""
    assert "Save" in nearest(envelope)[1]


@pytest.mark.parametrize(
    "failed",
    [step(CLICK, error="NODE_NOT_CLICKABLE"), step(CLICK | {"id": "other"}, **NOT_FOUND), step(CLICK)],
    ids=["another failure", "another step", "a success"],
)
def test_other_steps_have_no_near_matches(deliveries: Deliveries, failed: StepResult) -> None:
    phone = deliveries([failed])
    assert nearest(run(CLICK)) == [""]
    assert len(phone.sent) == 1


@pytest.mark.parametrize(
    "answer",
    [
        LOST,
        [StepResult("near", "snapshot_ui", False, {})],
        [StepResult("near", "snapshot_ui", True, {"text": "<"})],
    ],
)
def test_without_a_capture_the_failure_is_reported_as_it_is(
    deliveries: Deliveries, answer: list[StepResult] | ClawError
) -> None:
    deliveries([step(CLICK, **NOT_FOUND)], answer)
    assert run(CLICK).stepResults == [step(CLICK, **NOT_FOUND)]


@pytest.mark.parametrize(("seconds", "captures"), [(1.0, 1), (0.9, 0)])
def test_near_matches_need_a_second(
    deliveries: Deliveries, seconds: float, captures: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_deadline, "time", SimpleNamespace(monotonic=lambda: 100.0))
    phone = deliveries([step(CLICK, **NOT_FOUND)])
    with _deadline.limited(seconds):
        run(CLICK)
    assert len(phone.sent) == 1 + captures


# The choice of an Operator


def automatic(*actions: dict[str, Any], package: str | None = None, may_be_absent: bool = True) -> OperatorRun:
    choice = OperatorChoice(package, may_be_absent=may_be_absent)
    return OperatorRun(DEVICE, choice, plan_of(*actions), RunWatch())


@pytest.fixture
def enabled(monkeypatch: pytest.MonkeyPatch) -> list[str | None]:
    """The Operators that the device reports when it is asked; none is left when it was."""
    answers: list[str | None] = [None]
    monkeypatch.setattr(operator, "enabled_operator", lambda _: answers.pop())
    monkeypatch.setattr(version_check, "list_packages", lambda _: pytest.fail("the device was asked for its apps"))
    return answers


@pytest.mark.parametrize("action", [ROTATE, expecting(CLOSE, "Save")])
def test_before_the_host_touches_a_device_its_operator_must_be_known(
    enabled: list[str | None], deliveries: Deliveries, closed: list[str], action: dict[str, Any]
) -> None:
    phone = deliveries()
    plan = automatic(action)
    with pytest.raises(ClawError) as error:
        plan.run()
    assert (error.value.code, plan._operator.is_absent) == ("OPERATOR_NOT_INSTALLED", True)
    assert error.value.extra == {
        "broadcastDispatchStatus": "not_sent",
        "deviceId": "claw-1",
        "operatorPackage": OPERATOR_PACKAGE,
    }
    assert (enabled, phone.sent, closed) == ([], [], [])


def test_the_steps_before_a_missing_operator_are_in_the_error(
    enabled: list[str | None], closed: list[str]
) -> None:
    with pytest.raises(ClawError) as error:
        automatic(CLOSE, ROTATE).run()
    assert ([one.id for one in error.value.extra["stepResults"]], error.value.after_effect) == (["close"], True)
    assert (enabled, len(closed)) == ([], 1)


FIND: dict[str, Any] = {"id": "find", "type": "click", "params": {"matcher": {"textMatches": "Sa.*"}}}


@pytest.mark.parametrize("action", [CLOSE, QUERY, FIND])
def test_the_operator_is_not_looked_for_before_an_action_that_does_not_need_to_know(
    enabled: list[str | None], deliveries: Deliveries, closed: list[str], action: dict[str, Any]
) -> None:
    deliveries()
    assert automatic(action).run().status == "success"
    assert enabled == [None]
    assert len(closed) == (action is CLOSE)


@pytest.mark.parametrize("options", [{"package": "com.x"}, {"may_be_absent": False}])
def test_an_operator_that_is_known_is_not_looked_for(enabled: list[str | None], options: dict[str, Any]) -> None:
    automatic(ROTATE, **options).require_operator()
    assert enabled == [None]


def test_the_operator_that_the_device_reports_is_used(enabled: list[str | None]) -> None:
    enabled[:] = ["com.clawperator.operator.dev"]
    plan = automatic(ROTATE)
    plan.require_operator()
    assert (plan._operator.package, plan._operator.is_absent) == ("com.clawperator.operator.dev", False)


# Deliveries for actions of the host


def test_the_host_reads_the_screen_by_deliveries_of_its_own(deliveries: Deliveries) -> None:
    phone = deliveries()
    envelope = run(QUERY, QUERY | {"id": "again"})
    assert (envelope.status, [one.data["count"] for one in envelope.stepResults]) == ("success", ["1", "1"])
    assert phone.sent == [["a1"], ["a1"]]


@pytest.mark.parametrize(
    ("error", "code", "data"),
    [
        ("no service", "SERVICE_UNAVAILABLE", ("SERVICE_UNAVAILABLE", "no service")),
        (None, UNSET, ("UNKNOWN", "the Operator failed")),
        ("why", "FROM_THE_FUTURE", ("UNKNOWN", "why")),
    ],
)
def test_an_operator_that_fails_as_a_whole_is_the_error_of_the_host(
    deliveries: Deliveries, error: str | None, code: Any, data: tuple[str, str]
) -> None:
    deliveries(ResultEnvelope("c", "t", "failed", [], error, code))
    failed = raised(QUERY)
    assert (failed.code, failed.message) == data


def test_a_step_that_fails_is_a_step_of_the_host(deliveries: Deliveries) -> None:
    deliveries([StepResult("a1", "snapshot_ui", False, {"error": "SERVICE_UNAVAILABLE", "message": "gone"})])
    envelope = run(QUERY | {"params": {**QUERY["params"], "retry": {"maxAttempts": 1}}})
    assert (envelope.status, envelope.stepResults[0].data["error"]) == ("failed", "SERVICE_UNAVAILABLE")


def test_an_error_of_the_connection_has_the_steps_before_it(deliveries: Deliveries, closed: list[str]) -> None:
    deliveries(LOST)
    error = raised(CLOSE, QUERY)
    assert (error.code, error.after_effect) == ("LOGCAT_UNAVAILABLE", True)
    assert [one.id for one in error.extra["stepResults"]] == ["close"]
    assert closed
    deliveries(LOST)
    alone = raised(SLEEP)
    assert ("stepResults" in alone.extra, alone.after_effect) == (False, False)


def test_an_error_that_may_have_changed_the_device_stays_one(deliveries: Deliveries) -> None:
    deliveries(None, LOST.with_(after_effect=True))
    error = raised(QUERY, CLICK)
    assert (error.after_effect, len(error.extra["stepResults"])) == (True, 1)
    deliveries(None, LOST)
    assert not raised(QUERY, CLICK).after_effect


# Snapshots

WARNED = "snapshot captured without a preceding sleep step"


@pytest.mark.parametrize(
    ("actions", "is_warned"),
    [
        ((CLICK, LOOK), True),
        ((CLICK, LOOK | {"params": {"settle": True}}), False),
        ((SLEEP, LOOK), False),
        ((CLICK, SLEEP, LOOK), False),
        ((LOOK,), False),
    ],
)
def test_a_snapshot_right_after_a_click_has_a_warning(
    deliveries: Deliveries,
    actions: tuple[dict[str, Any], ...],
    is_warned: bool,  # noqa: FBT001 - the expected result
) -> None:
    deliveries()
    *before, snapshot = run(*actions).stepResults
    assert snapshot.data.get("warn", "").startswith(WARNED) is is_warned
    assert not [one for one in before if "warn" in one.data]


def test_only_a_snapshot_without_a_warning_gets_one(deliveries: Deliveries) -> None:
    deliveries([step(CLICK), StepResult("look", "snapshot_ui", True, {"text": SCREEN, "warn": "still loading"})])
    assert run(CLICK, LOOK).stepResults[1].data["warn"] == "still loading"
    deliveries([step(CLICK), step(LOOK, error="UNKNOWN")])
    assert "warn" not in run(CLICK, LOOK).stepResults[1].data
    deliveries()
    assert "warn" not in run(CLICK, SLEEP).stepResults[1].data


def attached(*steps: StepResult, trees: tuple[LoggedTree, ...] = (), orphaned: int = 0) -> list[StepResult]:
    return attach_hierarchies(Delivered(ResultEnvelope("c", "t", "success", list(steps), None), trees, orphaned))


def tree_of(text: str) -> LoggedTree:
    lines = (
        "<?xml version='1.0' ?>",
        '<hierarchy rotation="0">',
        f'<node text="{text}" class="a" />',
        "</hierarchy>",
    )
    return LoggedTree(lines, True)


def unread(**data: str) -> StepResult:
    """A snapshot whose hierarchy is only in the log."""
    return StepResult("look", "snapshot_ui", True, data)


def test_hierarchies_without_checksums_belong_to_the_last_snapshots() -> None:
    trees = tuple(tree_of(name) for name in ("one", "two", "three"))
    first, nap, second = attached(unread(), step(SLEEP), unread(), trees=trees)
    assert ("two" in first.data["text"], "three" in second.data["text"]) == (True, True)
    assert nap == step(SLEEP)


def test_of_two_snapshots_and_one_hierarchy_the_first_one_is_lost() -> None:
    first, second = attached(unread(), unread(), trees=(tree_of("one"),))
    assert (first.success, first.data["error"]) == (False, "SNAPSHOT_EXTRACTION_FAILED")
    assert ("complete" in first.data, "one" in second.data["text"]) == (False, True)


def test_a_snapshot_that_has_its_text_or_failed_takes_no_hierarchy() -> None:
    steps = [step(LOOK), step(LOOK, error="UNKNOWN")]
    assert attached(*steps, trees=(tree_of("one"),)) == steps


@pytest.mark.parametrize(
    "declared",
    [{TEXT_BYTES: "12"}, {TEXT_SUM: "12"}, {TEXT_BYTES: "12", TEXT_SUM: "x"}, {TEXT_BYTES: "x", TEXT_SUM: "1"}],
)
def test_half_a_checksum_is_none(declared: dict[str, str]) -> None:
    (snapshot,) = attached(unread(**declared), trees=(tree_of("one"),))
    assert (snapshot.success, snapshot.data["complete"]) == (True, "unverified")
    assert set(snapshot.data) == {"text", "complete"}


def test_a_hierarchy_is_found_by_its_checksum_wherever_it_is() -> None:
    trees = (LoggedTree(("<hierarchy>",), False), tree_of("one"), tree_of("two"))
    length, checksum = sum_of("\n".join(trees[1].lines))
    (snapshot,) = attached(unread(**{TEXT_BYTES: str(length), TEXT_SUM: str(checksum)}), trees=trees)
    assert "one" in snapshot.data["text"]


@pytest.mark.parametrize(
    ("size", "orphaned", "tree", "error"),
    [
        ("200000", 0, None, "SNAPSHOT_TOO_LARGE"),
        ("199999", 0, None, "SNAPSHOT_EXTRACTION_FAILED"),
        ("", 200_000, None, "SNAPSHOT_TOO_LARGE"),
        ("x", 199_999, None, "SNAPSHOT_EXTRACTION_FAILED"),
        ("", 0, LoggedTree(("x" * 200_000,), False), "SNAPSHOT_TOO_LARGE"),
        ("", 200_000, LoggedTree(("x" * 10,), False), "SNAPSHOT_EXTRACTION_FAILED"),
    ],
)
def test_a_lost_hierarchy_of_200_kilobytes_is_too_large_for_the_log(
    size: str, orphaned: int, tree: LoggedTree | None, error: str
) -> None:
    trees = () if tree is None else (tree,)
    (lost,) = attached(unread(**{TEXT_BYTES: size, TEXT_SUM: "1"}), trees=trees, orphaned=orphaned)
    assert (lost.success, lost.data["error"]) == (False, error)
    assert ("200 kB" in lost.data["message"]) is (error == "SNAPSHOT_TOO_LARGE")
