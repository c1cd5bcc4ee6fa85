"""Properties of every execution: results are kept, failures are typed, timeouts apply."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from clawperator._base.deadline import command_timeout
from clawperator.contract.actions import ACTIONS, SleepParams
from clawperator.contract.execution import Action, Execution
from clawperator.engine.clock import VirtualClock
from clawperator.engine.run import RUNNERS, Engine
from clawperator.engine.scripted import FullScriptedDriver, node
from clawperator.errors import CODES, ClawError
from tests.engine.scripted_plans import plan, run

SLEEP = ("sleep", {"durationMs": 100})
MISSING = ("click", {"matcher": {"textEquals": "nowhere"}, "retry": {"maxAttempts": 1}})


def phone(**answers: Any) -> FullScriptedDriver:
    return FullScriptedDriver(VirtualClock(), node("Settings"), **answers)


def test_every_action_type_has_a_runner() -> None:
    assert RUNNERS.keys() == ACTIONS.keys()


def test_a_good_execution_has_no_error() -> None:
    result = run(phone(), SLEEP, ("press_key", {"key": "back"}))
    assert (result.commandId, result.taskId, result.status) == ("c", "t", "success")
    assert (result.error, result.errorCode, result.hint) == (None, UNSET, UNSET)
    assert [(s.id, s.actionType, s.success) for s in result.stepResults] == [
        ("a0", "sleep", True),
        ("a1", "press_key", True),
    ]


def test_a_thrown_failure_keeps_the_steps_before_it_and_ends_the_execution() -> None:
    result = run(phone(), SLEEP, MISSING, SLEEP)
    assert [s.success for s in result.stepResults] == [True, False]
    failed = result.stepResults[1].data
    assert failed["error"] == "NODE_NOT_FOUND"
    assert '{"textEquals":"nowhere"}' in failed["message"]
    assert result.status == "failed"
    assert result.errorCode == "NODE_NOT_FOUND"
    assert result.error is not None
    assert all(part in result.error for part in ("a1", "click", "NODE_NOT_FOUND"))
    assert result.hint == failed["hint"]


def test_a_returned_failure_lets_the_next_action_run() -> None:
    result = run(phone(key=False), ("press_key", {"key": "home"}), SLEEP)
    assert [s.success for s in result.stepResults] == [False, True]
    assert result.status == "failed"
    assert result.errorCode == "GLOBAL_ACTION_FAILED"
    assert result.hint is UNSET


def test_the_first_of_two_failures_names_the_error() -> None:
    result = run(phone(key=False), ("press_key", {"key": "home"}), MISSING)
    assert result.errorCode == "GLOBAL_ACTION_FAILED"


@pytest.mark.parametrize("code", ["SERVICE_UNAVAILABLE", "DEVICE_OFFLINE"])
def test_an_error_of_the_driver_becomes_the_code_of_the_step(code: str) -> None:
    result = run(phone(launch=ClawError(code, "gone", hint="look")), SLEEP, ("open_app", {"applicationId": "a.b"}))
    unsure = {"dispatched": "true"} if code == "DEVICE_OFFLINE" else {}
    assert result.stepResults[1].data == {"error": code, "message": "gone", "hint": "look", **unsure}
    assert (result.errorCode, result.hint) == (code, "look")


def test_a_defect_of_the_driver_becomes_a_failed_step_and_costs_no_other() -> None:
    result = run(phone(dump=ZeroDivisionError("oh\u202e")), SLEEP, ("snapshot_ui", {}), SLEEP)
    assert [s.success for s in result.stepResults] == [True, False]
    assert result.stepResults[1].data == {"error": "UNKNOWN", "message": "ZeroDivisionError: oh\\u202e"}


def test_a_result_that_is_not_text_becomes_a_failed_step() -> None:
    def save(_path: str | None, _png: bytes) -> Any:
        return 7

    result = run(phone(), SLEEP, ("take_screenshot", {}), save=save)
    assert result.stepResults[1].data["error"] == "UNKNOWN"


def test_an_interrupt_is_not_swallowed() -> None:
    with pytest.raises(KeyboardInterrupt):
        run(phone(key=KeyboardInterrupt()), ("press_key", {"key": "home"}))


def test_an_unknown_action_type_is_a_typed_failure() -> None:
    execution = Execution("c", "t", "s", 1_000, (Action("x", "dance", SleepParams(1)),), None)
    result = Engine(phone(), VirtualClock()).run(execution)
    assert result.errorCode == "EXECUTION_ACTION_UNSUPPORTED"


def test_only_plain_details_of_an_error_reach_the_step() -> None:
    error = ClawError(
        "DEVICE_OFFLINE", "m", details={"n": 3, "yes": True, "list": [1], "error": "x", "message": "y"}
    )
    data = run(phone(view=error), ("open_uri", {"uri": "https://a.b"})).stepResults[0].data
    assert data.pop("dispatched") == "true"
    assert data == {"n": "3", "yes": "true", "error": "DEVICE_OFFLINE", "message": "m"}


def test_a_failed_step_reports_whether_the_device_accepted_a_part_of_it() -> None:
    click = ("click", {"matcher": {"textEquals": "Settings"}, "retry": {"maxAttempts": 1}})
    unsure = phone(tap=ClawError("DEVICE_OFFLINE", "gone"))
    steps = [run(phone(), MISSING), run(unsure, click), run(phone(tap=False), click)]
    assert [result.stepResults[0].data.get("dispatched") for result in steps] == [None, "true", None]


def test_a_later_attempt_does_not_forget_what_an_earlier_one_did() -> None:
    driver = phone()
    driver.show(node("list", scrollable="true"))
    search = {"matcher": {"textEquals": "nowhere"}, "maxSwipes": 1, "scrollRetry": {"maxAttempts": 2}}
    data = run(driver, ("scroll_and_click", search)).stepResults[0].data
    assert (data["error"], data["dispatched"]) == ("TARGET_NOT_FOUND", "true")


def test_when_time_is_over_the_running_step_fails_and_earlier_ones_survive() -> None:
    a = phone()
    result = run(a, SLEEP, ("sleep", {"durationMs": 5_000}), SLEEP, timeout_ms=1_000)
    assert [s.success for s in result.stepResults] == [True, False]
    assert result.stepResults[1].data["error"] == "COMMAND_TIMEOUT"
    assert result.errorCode == "COMMAND_TIMEOUT"
    assert a.clock.monotonic() == pytest.approx(1)


def test_a_search_that_times_out_reports_the_last_error() -> None:
    a = phone()
    result = run(a, ("click", {"matcher": {"textEquals": "nowhere"}}), timeout_ms=1_000)
    assert result.stepResults[0].data["error"] == "COMMAND_TIMEOUT"
    assert result.stepResults[0].data["last_error"] == "NODE_NOT_FOUND"
    cause = json.loads(result.stepResults[0].data["cause"])
    assert cause["code"] == "NODE_NOT_FOUND"
    assert cause["message"] in result.stepResults[0].data["message"]
    assert "snapshot" in result.stepResults[0].data["hint"], "the hint is that of the cause"
    assert a.clock.monotonic() == pytest.approx(1)


def test_a_search_whose_capture_takes_the_rest_of_the_time_reports_the_last_error() -> None:
    a = phone()
    captures = iter((0.0, 2.0))

    def slow() -> None:
        a.clock.sleep(next(captures, 0.0))
        if a.clock.monotonic() > 1:
            raise command_timeout()

    a.answers["dump"] = slow
    result = run(a, ("click", {"matcher": {"textEquals": "nowhere"}}), timeout_ms=1_000)
    assert result.stepResults[0].data["error"] == "COMMAND_TIMEOUT"
    assert result.stepResults[0].data["last_error"] == "NODE_NOT_FOUND"


def test_a_driver_that_takes_all_the_time_costs_the_next_step_not_its_own() -> None:
    a = phone()
    a.answers["force_stop"] = lambda _: a.clock.sleep(9)
    result = run(a, ("close_app", {"applicationId": "a.b"}), SLEEP, timeout_ms=1_000)
    assert [s.success for s in result.stepResults] == [True, False]
    assert result.stepResults[0].data["effect"] == "unknown"
    assert result.stepResults[1].data["error"] == "COMMAND_TIMEOUT"


@pytest.mark.parametrize(
    "action",
    [
        ("click", {"matcher": {"textEquals": "Settings"}}),
        ("click", {"coordinate": {"x": 1, "y": 2}}),
        ("enter_text", {"matcher": {"textEquals": "Settings"}, "text": "x"}),
        ("press_key", {"key": "home"}),
        ("open_app", {"applicationId": "a.b"}),
        ("open_uri", {"uri": "https://a.b"}),
        ("close_app", {"applicationId": "a.b"}),
        ("scroll", {}),
    ],
)
def test_nothing_is_done_to_the_phone_after_the_deadline(action: tuple[str, dict[str, Any]]) -> None:
    a = FullScriptedDriver(VirtualClock(), node("Settings", scrollable="true"))

    def slow() -> None:
        a.clock.sleep(5)

    a.answers["dump"] = slow
    assert run(a, action, timeout_ms=1_000).errorCode == "COMMAND_TIMEOUT"
    assert {call[0] for call in a.calls} <= {"dump", "frame"}


def test_half_a_surrogate_pair_never_leaves_the_engine() -> None:
    result = run(
        FullScriptedDriver(VirtualClock(), node("a\ud800b", id="x")),
        ("read_text", {"matcher": {"resourceId": "x"}}),
    )
    assert result.stepResults[0].data["text"] == "a\ufffdb"


ANY_ACTION = st.sampled_from(
    [
        SLEEP,
        MISSING,
        ("sleep", {"durationMs": 900}),
        ("press_key", {"key": "back"}),
        ("open_app", {"applicationId": "a.b"}),
        ("open_uri", {"uri": "ftp://x"}),
        ("close_app", {"applicationId": "a.b"}),
        ("click", {"matcher": {"textEquals": "Settings"}}),
        ("click", {"coordinate": {"x": 1, "y": 2}}),
        ("wait_for_node", {"matcher": {"textEquals": "gone"}, "timeoutMs": 700}),
        ("wait_for_navigation", {"expectedPackage": "com.other", "timeoutMs": 700}),
        ("read_text", {"matcher": {"textContains": "t"}, "all": True}),
        ("read_key_value_pair", {"labelMatcher": {"textEquals": "Settings"}}),
        ("enter_text", {"matcher": {"textEquals": "Settings"}, "text": "x"}),
        ("scroll", {}),
        ("scroll_until", {"matcher": {"textEquals": "gone"}}),
        ("scroll_and_click", {"matcher": {"textEquals": "gone"}}),
        ("snapshot_ui", {}),
        ("take_screenshot", {}),
        ("start_recording", {}),
        ("stop_recording", {}),
    ]
)
TROUBLE = st.sampled_from([True, False, ClawError("DEVICE_OFFLINE", "gone"), ValueError("x")])
METHODS = ("act", "tap", "set_text", "submit", "swipe", "key", "launch", "view", "force_stop")


@pytest.mark.random
@given(st.lists(ANY_ACTION, min_size=1, max_size=8), st.fixed_dictionaries(dict.fromkeys(METHODS, TROUBLE)))
def test_whatever_the_phone_does_steps_are_in_order_typed_and_in_time(
    actions: list[tuple[str, dict[str, Any]]], answers: dict[str, Any]
) -> None:
    a = phone(**answers)
    result = run(a, *actions, timeout_ms=2_000)
    steps = result.stepResults
    assert 1 <= len(steps) <= len(actions)
    assert [(s.id, s.actionType) for s in steps] == [(f"a{i}", actions[i][0]) for i in range(len(steps))]
    assert all(s.success == ("error" not in s.data) for s in steps)
    assert all(s.data["error"] in CODES and s.data["message"] for s in steps if not s.success)
    assert (result.status == "success") == all(s.success for s in steps) == (result.error is None)
    if all(s.success for s in steps):
        assert len(steps) == len(actions)
    assert a.clock.monotonic() <= 2 + 1e-6


@pytest.mark.random
@given(st.integers(0, 2**32))
def test_a_seeded_run_is_the_same_each_time(seed: int) -> None:
    from random import Random

    def took() -> float:
        a = phone()
        Engine(a, a.clock, random=Random(seed)).run(plan(("click", {"matcher": {"textEquals": "nowhere"}})))
        return a.clock.monotonic()

    assert took() == took()
