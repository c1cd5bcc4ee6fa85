"""Waiting for nodes, for apps and for time."""

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
