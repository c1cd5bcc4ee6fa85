"""Waits: for a time, a node, an app, a changed label or an idle screen."""

from typing import Any

import pytest

from clawperator.engine.clock import VirtualClock
from clawperator.engine.scripted import FullScriptedDriver, node
from clawperator.errors import ClawError
from clawperator.ui.node import Node
from tests.engine.scripted_plans import run, step

NODE = {"textEquals": "Ready"}


def phone(*roots: Node, **answers: Any) -> FullScriptedDriver:
    return FullScriptedDriver(VirtualClock(), *roots, **answers)


@pytest.mark.parametrize(("duration", "expected"), [(0, "0"), (1500, "1500"), (0.5, "0.5"), (10.0, "10")])
def test_sleep_takes_its_time(duration: float, expected: str) -> None:
    a = phone()
    assert step(a, "sleep", durationMs=duration).data == {"duration_ms": expected}
    assert a.clock.monotonic() == pytest.approx(duration / 1000)


def test_a_node_on_the_screen_is_reported() -> None:
    a = phone(node("Ready", id="app:id/x"))
    assert step(a, "wait_for_node", matcher=NODE).data == {"resource_id": "app:id/x", "label": "Ready"}
    assert a.clock.monotonic() == 0


def test_without_a_timeout_the_preset_decides() -> None:
    a = phone()
    a.show_at(8, node("Ready"))
    assert step(a, "wait_for_node", matcher=NODE).data["error"] == "NODE_NOT_FOUND"


def test_the_timeout_is_honoured_beyond_the_preset() -> None:
    a = phone()
    a.show_at(19.9, node("Ready"))
    data = step(a, "wait_for_node", matcher=NODE, timeoutMs=20_000).data
    assert data == {"resource_id": "", "label": "Ready", "timeout_ms": "20000"}


def test_the_timeout_is_honoured_below_the_preset() -> None:
    a = phone()
    data = step(a, "wait_for_node", matcher=NODE, timeoutMs=450).data
    assert (data["error"], data["timeout_ms"]) == ("NODE_NOT_FOUND", "450")
    assert a.clock.monotonic() == pytest.approx(0.45)


def test_the_last_look_is_at_the_very_end() -> None:
    a = phone()
    a.show_at(0.45, node("Ready"))
    assert step(a, "wait_for_node", matcher=NODE, timeoutMs=450).success


def test_a_window_that_is_missing_for_a_moment_does_not_end_the_wait() -> None:
    a = phone(dump=ClawError("SNAPSHOT_HIERARCHY_UNAVAILABLE", "none"))
    a.clock.call_at(1, a.answers.clear)
    a.show(node("Ready"))
    assert step(a, "wait_for_node", matcher=NODE, timeoutMs=3_000).success


def navigate(a: FullScriptedDriver, timeout: float = 3_000, **params: Any) -> dict[str, str]:
    return step(a, "wait_for_navigation", timeoutMs=timeout, **params).data


def test_an_app_that_is_in_front_already_and_stays_is_enough() -> None:
    a = phone(foreground="com.app")
    assert navigate(a, expectedPackage="com.app") == {"resolved_package": "com.app", "elapsed_ms": "200"}


def test_an_app_that_is_just_leaving_is_not_enough() -> None:
    a = phone()
    a.answers["foreground"] = lambda: "com.app" if a.clock.monotonic() < 0.1 else "com.other"
    assert navigate(a, expectedPackage="com.app")["error"] == "NAVIGATION_TIMEOUT"


def test_an_app_that_comes_is_believed_at_once() -> None:
    a = phone()
    a.answers["foreground"] = lambda: "com.app" if a.clock.monotonic() > 0.3 else "com.old"
    assert navigate(a, expectedPackage="com.app") == {"resolved_package": "com.app", "elapsed_ms": "400"}


def test_an_unreadable_first_package_does_not_spoil_the_wait() -> None:
    a = phone(foreground=None)
    a.clock.call_at(0.3, lambda: a.answers.update(foreground="com.app"))
    assert navigate(a, expectedPackage="com.app")["resolved_package"] == "com.app"


def test_the_node_alone_is_enough() -> None:
    a = phone(foreground=None)
    a.show_at(0.5, node("Ready"))
    assert navigate(a, expectedNode=NODE) == {"elapsed_ms": "600"}


def test_the_node_may_come_before_the_app() -> None:
    a = phone(node("Ready"), foreground="com.other")
    data = navigate(a, expectedNode=NODE, expectedPackage="com.app")
    assert data == {"resolved_package": "com.other", "elapsed_ms": "0"}


def test_a_missing_navigation_reports_the_last_app_and_the_next_action_runs() -> None:
    a = phone(foreground="com.old")
    result = run(
        a, ("wait_for_navigation", {"expectedPackage": "com.app", "timeoutMs": 500}), ("sleep", {"durationMs": 0})
    )
    data = result.stepResults[0].data
    assert (data["error"], data["last_package"]) == ("NAVIGATION_TIMEOUT", "com.old")
    assert a.clock.monotonic() == pytest.approx(0.5)
    assert len(result.stepResults) == 2


def test_without_a_foreground_package_none_is_reported() -> None:
    assert "last_package" not in navigate(phone(foreground=None), expectedPackage="com.app")


def test_a_missing_window_is_not_the_end_of_a_navigation_but_a_lost_phone_is() -> None:
    a = phone(dump=ClawError("SNAPSHOT_HIERARCHY_UNAVAILABLE", "none"))
    assert navigate(a, expectedNode=NODE)["error"] == "NAVIGATION_TIMEOUT"
    a = phone(dump=ClawError("DEVICE_OFFLINE", "none"))
    assert navigate(a, expectedNode=NODE)["error"] == "DEVICE_OFFLINE"


SAVING = {"textEquals": "Saving"}


def saving_phone(text: str = "Saving", **answers: Any) -> FullScriptedDriver:
    return FullScriptedDriver(VirtualClock(), node(text, id="app:id/state"), **answers)


def test_a_wait_ends_when_the_node_is_gone() -> None:
    a = saving_phone()
    a.show_at(3.0, node("Saved"))
    data = step(a, "wait_until_gone", matcher=SAVING).data
    assert 3_000 <= int(data["elapsed_ms"]) <= 3_200


def test_a_node_that_stays_is_reported_with_the_time_waited() -> None:
    a = saving_phone()
    data = step(a, "wait_until_gone", matcher=SAVING, timeoutMs=2_000).data
    assert (data["error"], data["timeout_ms"]) == ("WAIT_TIMEOUT", "2000")
    assert "Saving" in data["matched_target"]
    assert a.clock.monotonic() == pytest.approx(2.0)


def test_a_changed_label_ends_the_wait_and_is_reported() -> None:
    a = saving_phone("1 file")
    a.show_at(1.0, node("2 files", id="app:id/state"))
    data = step(a, "wait_for_text_change", matcher={"resourceId": "app:id/state"}).data
    assert (data["old_text"], data["text"]) == ("1 file", "2 files")


def test_a_label_that_differs_from_the_given_one_ends_the_wait_at_once() -> None:
    data = step(
        saving_phone("2 files"), "wait_for_text_change", matcher={"resourceId": "app:id/state"}, text="1 file"
    ).data
    assert (data["text"], data["elapsed_ms"]) == ("2 files", "0")


@pytest.mark.parametrize(("matcher", "code"), [(SAVING, "WAIT_TIMEOUT"), ({"textEquals": "No"}, "NODE_NOT_FOUND")])
def test_a_label_that_does_not_change_is_told_from_a_missing_node(matcher: dict[str, str], code: str) -> None:
    assert step(saving_phone(), "wait_for_text_change", matcher=matcher, timeoutMs=500).data["error"] == code


def test_an_idle_screen_is_one_without_a_change_for_the_given_time() -> None:
    a = saving_phone("0")
    for number in range(1, 8):
        a.show_at(number / 10, node(str(number)))
    step(a, "wait_until_idle", quietMs=400)
    assert 1.1 <= a.clock.monotonic() <= 1.3


def test_a_screen_that_never_rests_ends_the_wait() -> None:
    a = saving_phone()
    ticks = iter(range(10_000))
    a.answers["dump"] = lambda: a.show(node(str(next(ticks))))
    assert step(a, "wait_until_idle", timeoutMs=1_000).data["error"] == "WAIT_TIMEOUT"


def test_the_first_selector_that_matches_is_reported_by_its_index() -> None:
    a = saving_phone()
    a.show_at(0.5, node("Error"))
    data = step(a, "wait_for_any", selectors=[{"textEquals": "Done"}, {"textEquals": "Error"}]).data
    assert (data["matched_index"], data["label"]) == ("1", "Error")


def test_no_selector_that_matches_is_a_node_not_found() -> None:
    data = step(saving_phone(), "wait_for_any", selectors=[{"textEquals": "Done"}], timeoutMs=400).data
    assert (data["error"], data["timeout_ms"]) == ("NODE_NOT_FOUND", "400")


def test_a_screen_that_cannot_be_captured_for_a_moment_is_captured_again() -> None:
    a = saving_phone()
    errors = [ClawError("SNAPSHOT_HIERARCHY_UNAVAILABLE", "no window")] * 2

    def dump() -> None:
        if errors:
            raise errors.pop()
        a.show(node("Saved"))

    a.answers["dump"] = dump
    assert step(a, "wait_until_gone", matcher=SAVING).success


def test_the_deadline_of_the_execution_ends_a_wait_with_its_cause() -> None:
    result = run(saving_phone(), ("wait_until_gone", {"matcher": SAVING}), timeout_ms=1_000)
    data = result.stepResults[0].data
    assert data["error"] == "COMMAND_TIMEOUT"
    assert "still on the screen" in data["message"]


def test_an_expectation_waits_for_its_label_and_reports_the_time() -> None:
    a = saving_phone()
    a.show_at(2.0, node("Saved"))
    data = step(a, "press_key", key="back", expect={"text": "Saved", "gone": "Saving"}).data
    assert data["expectation"] == "met"
    assert int(data["expected_after_ms"]) <= 2_000


@pytest.mark.parametrize(
    ("expect", "words"),
    [
        ({"text": "Savd"}, ["'Savd' on the screen", "nearest labels", "'Saving'"]),
        ({"gone": "Saving"}, ["'Saving' gone"]),
        ({"app": "com.other"}, ["com.other in the foreground", "com.example is in the foreground"]),
    ],
)
def test_a_failed_expectation_names_what_is_there_and_ends_the_execution(
    expect: dict[str, str], words: list[str]
) -> None:
    result = run(saving_phone(), ("press_key", {"key": "back", "expect": expect}), ("sleep", {"durationMs": 0}))
    (only,) = result.stepResults
    assert (only.data["error"], only.data["dispatched"]) == ("EXPECTATION_FAILED", "true")
    assert (only.data["key"], only.data["effect"]) == ("back", "unchanged")
    for word in words:
        assert word in only.data["message"]


def test_an_expected_idle_screen_is_waited_for() -> None:
    a = saving_phone("0")
    for number in range(1, 20):
        a.show_at(number / 5, node(str(number)))
    assert step(a, "open_app", applicationId="com.example", expect={"app": "com.example", "idle": True}).success
    assert a.clock.monotonic() >= 3.8


def test_a_failed_action_is_not_checked_for_its_expectation() -> None:
    data = step(saving_phone(key=False), "press_key", key="back", expect={"text": "Saved"}).data
    assert (data["error"], "expectation" in data) == ("GLOBAL_ACTION_FAILED", False)


def test_an_error_of_the_device_ends_a_wait_for_an_idle_screen_at_once() -> None:
    a = saving_phone()
    a.answers["dump"] = ClawError("DEVICE_OFFLINE", "gone")
    assert step(a, "wait_until_idle", timeoutMs=10_000).data["error"] == "DEVICE_OFFLINE"
    assert len(a.named("dump")) == 1


def test_a_screen_that_cannot_be_captured_for_a_moment_is_waited_for() -> None:
    a = saving_phone()
    failures = iter([ClawError("SNAPSHOT_HIERARCHY_UNAVAILABLE", "moving")] * 3)

    def dump() -> None:
        if (error := next(failures, None)) is not None:
            raise error

    a.answers["dump"] = dump
    assert "error" not in step(a, "wait_until_idle", quietMs=100, timeoutMs=10_000).data
