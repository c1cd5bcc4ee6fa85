"""Which backend runs a plan, what plain adb cannot run, and requests to stop."""

from typing import Any

import pytest

from clawperator.contract.execution import Plan, new_execution, validate
from clawperator.contract.results import ResultEnvelope, StepResult
from clawperator.device.backends import operator
from clawperator.device.backends.adb import AdbBackend
from clawperator.device.backends.backend import Backend, RunWatch, beyond_adb
from clawperator.device.backends.operator import AutoBackend, OperatorBackend
from clawperator.device.run.run import choose_backend
from clawperator.errors import ClawError
from tests.device.backends.scripted_shell import DEVICE

RECORD = {"id": "r1", "type": "start_recording"}
NAP = {"id": "n1", "type": "sleep", "params": {"durationMs": 0}}
MATCHER = {"textEquals": "Name"}


def plan_of(*actions: dict[str, Any]) -> Plan:
    return validate(new_execution(list(actions), command_id="c", source="test", timeout_ms=1_000))


@pytest.mark.parametrize(
    ("name", "package", "kind"),
    [
        ("adb", None, AdbBackend),
        ("adb", "com.x", AdbBackend),
        ("auto", None, AutoBackend),
        ("auto", "com.x", OperatorBackend),
        ("operator", None, OperatorBackend),
        ("operator", "com.x", OperatorBackend),
    ],
)
def test_a_backend_is_chosen_by_its_name_and_the_operator(name: Any, package: str | None, kind: type) -> None:
    chosen = choose_backend(name, DEVICE, package, RunWatch())
    assert type(chosen) is kind
    if isinstance(chosen, OperatorBackend):
        assert chosen.operator.package == package


def test_a_given_backend_is_used_as_it_is() -> None:
    class Mine:
        def run(self, plan: Plan) -> ResultEnvelope:
            raise NotImplementedError

    mine: Backend = Mine()
    assert choose_backend(mine, DEVICE, None) is mine


@pytest.mark.parametrize(("stop", "is_stopped"), [(None, False), (lambda: False, False), (lambda: True, True)])
def test_a_plan_stops_only_when_it_is_asked_to(stop: Any, *, is_stopped: bool) -> None:
    watch = RunWatch(stop=stop)
    if not is_stopped:
        watch.check_stop(after_effect=True)
        return
    with pytest.raises(ClawError) as error:
        watch.check_stop(after_effect=True)
    assert (error.value.code, error.value.after_effect) == ("INTERRUPTED", True)


@pytest.mark.parametrize("name", ["auto", "operator"])
def test_a_plan_that_is_stopped_is_not_sent(name: Any) -> None:
    with pytest.raises(ClawError) as error:
        choose_backend(name, DEVICE, None, RunWatch(stop=lambda: True)).run(plan_of(NAP))
    assert error.value.code == "INTERRUPTED"


# What plain adb cannot run


@pytest.mark.parametrize(
    ("action", "code"),
    [
        (RECORD, "RECORDING_UNAVAILABLE"),
        (NAP, None),
        ({"id": "t1", "type": "enter_text", "params": {"matcher": MATCHER, "text": "a\nb"}}, "TEXT_NOT_ACCEPTED"),
        ({"id": "t1", "type": "enter_text", "params": {"matcher": MATCHER, "text": "a b"}}, None),
        ({"id": "t1", "type": "enter_text", "params": {"matcher": MATCHER, "textFrom": {"env": "A"}}}, None),
    ],
)
def test_the_first_action_that_plain_adb_cannot_run_is_named(action: dict[str, Any], code: str | None) -> None:
    refusal = beyond_adb(plan_of(NAP, action | {"id": "x"}).execution.actions)
    assert (None if refusal is None else refusal.code) == code
    if refusal is not None:
        assert refusal.details == {"actionId": "x", "actionType": action["type"]}


# The automatic backend


class AbsentRun:
    """A run on a device without an Operator, after these steps."""

    def __init__(self, steps: list[StepResult], error: ClawError) -> None:
        self.steps = steps
        self._error = error
        self.is_required = False

    def __call__(self, _: object, choice: Any, *__: object) -> "AbsentRun":
        choice.is_absent = True
        return self

    def require_operator(self) -> None:
        self.is_required = True

    def run(self) -> ResultEnvelope:
        raise self._error


INSTALL = "clawperator operator setup --apk <operator.apk> --device x"


@pytest.mark.parametrize(("actions", "is_required"), [((RECORD, NAP), False), ((NAP, RECORD), False)])
def test_a_plan_beyond_adb_is_refused_with_both_reasons(
    monkeypatch: pytest.MonkeyPatch, actions: tuple[dict[str, Any], ...], *, is_required: bool
) -> None:
    missing = ClawError("OPERATOR_NOT_INSTALLED", "it is missing", details={"installCommand": INSTALL}, target="x")
    run = AbsentRun([], missing)
    monkeypatch.setattr(operator, "OperatorRun", run)
    with pytest.raises(ClawError) as error:
        AutoBackend(DEVICE).run(plan_of(*actions))
    assert error.value.message == "plain adb cannot run start_recording (action r1), and it is missing"
    assert error.value.hint == f"Install an Operator with '{INSTALL}'."
    assert error.value.details == {
        "actionId": "r1",
        "actionType": "start_recording",
        "installCommand": INSTALL,
    }
    assert (error.value.target, run.is_required) == ("x", is_required)


def test_the_steps_before_plain_adb_took_over_count(monkeypatch: pytest.MonkeyPatch) -> None:
    first = StepResult("n1", "sleep", False, {"error": "UNKNOWN"})
    monkeypatch.setattr(
        operator, "OperatorRun", AbsentRun([first], ClawError("OPERATOR_NOT_INSTALLED", "missing"))
    )
    backend = AutoBackend(DEVICE)
    envelope = backend.run(plan_of(NAP, NAP | {"id": "n2"}))
    assert [step.id for step in envelope.stepResults] == ["n1", "n2"]
    assert (envelope.status, backend.name) == ("failed", "adb")
