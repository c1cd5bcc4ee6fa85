"""Screens that never become idle, slow captures, and what is left when the time is over."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clawperator.device.backends.adb import AdbDriver
from clawperator.errors import ClawError
from tests.device.backends.doubles_bench import DoublesBench, doubles_bench, list_screen
from tests.support.command_doubles import Reply
from tests.support.ordinary_phone import HOME_SCREEN, SETTINGS, node, screen

NEVER_IDLE = Reply(stderr="ERROR: could not get idle state.\n")
HANGS = Reply(seconds=30)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[DoublesBench]:
    with doubles_bench(tmp_path) as made:
        yield made


@pytest.fixture
def restless(bench: DoublesBench) -> DoublesBench:
    bench.doubles.answer("uiautomator", NEVER_IDLE, when="dump *")
    return bench


@pytest.mark.parametrize(
    ("kind", "params", "line"),
    [
        ("press_key", {"key": "back"}, "input keyevent 4"),
        ("click", {"coordinate": {"x": 540, "y": 600}}, "input tap 540 600"),
        ("double_tap", {"coordinate": {"x": 540, "y": 600}}, "input tap 540 600"),
        (
            "swipe",
            {"start": {"x": 1, "y": 2}, "end": {"x": 3, "y": 4}, "durationMs": 5},
            "input swipe 1 2 3 4 5",
        ),
        ("swipe", {"direction": "up", "durationMs": 5}, "input swipe 540 1920 540 480 5"),
        ("open_app", {"applicationId": SETTINGS}, None),
        ("open_uri", {"uri": "https://example.com"}, None),
        ("close_app", {"applicationId": SETTINGS}, None),
    ],
)
def test_what_needs_no_screen_is_sent_without_looking(
    bench: DoublesBench, kind: str, params: dict[str, Any], line: str | None
) -> None:
    bench.doubles.answer("uiautomator", HANGS, when="dump *")
    assert bench.data(kind, **params)["effect"] == "unknown"
    assert bench.lines("uiautomator") == []
    assert line is None or line in bench.lines("input")


def test_a_snapshot_of_a_screen_that_never_becomes_idle_fails_once_with_the_cause(restless: DoublesBench) -> None:
    step = restless.step("snapshot_ui")
    assert (step.data["error"], step.data["reason"]) == ("SNAPSHOT_HIERARCHY_UNAVAILABLE", "not_idle")
    assert "could not get idle state" in step.data["message"]
    assert "idle" in step.data["hint"]
    assert len(restless.lines("uiautomator")) == 1


@pytest.mark.parametrize(
    ("kind", "params"),
    [
        ("click", {"matcher": {"textEquals": "Display"}}),
        ("scroll", {"direction": "down"}),
        ("enter_text", {"matcher": {"role": "textfield"}, "text": "x"}),
        ("read_text", {"matcher": {"textEquals": "Display"}}),
        ("wait_for_node", {"matcher": {"textEquals": "Display"}}),
    ],
)
def test_a_target_on_such_a_screen_is_not_looked_for_again(
    restless: DoublesBench, kind: str, params: dict[str, Any]
) -> None:
    step = restless.step(kind, **params)
    assert step.data["error"] == "SNAPSHOT_HIERARCHY_UNAVAILABLE"
    assert len(restless.lines("uiautomator")) == 1
    assert restless.lines("input") == []


def test_a_wait_looks_again_until_the_screen_is_idle(bench: DoublesBench) -> None:
    bench.doubles.answer("uiautomator", NEVER_IDLE, NEVER_IDLE, Reply(written=HOME_SCREEN), when="dump *")
    assert bench.data("wait_for_node", matcher={"textEquals": "Display"}, timeoutMs=20_000)["label"] == "Display"


def test_a_capture_that_is_cut_off_names_what_it_waited_for(bench: DoublesBench) -> None:
    bench.doubles.answer("uiautomator", HANGS, when="dump *")
    driver = AdbDriver(bench.device, seconds=0.05)
    with pytest.raises(ClawError) as caught:
        driver.dump()
    error = caught.value
    assert error.code == "COMMAND_TIMEOUT"
    assert error.details is not None
    assert error.details["last_error"] == "SNAPSHOT_HIERARCHY_UNAVAILABLE"
    assert "waits up to 10 s" in error.message


def test_a_scroll_on_a_screen_that_stops_being_idle_fails_with_the_cause(bench: DoublesBench) -> None:
    bench.doubles.answer("uiautomator", Reply(written=list_screen("A")), NEVER_IDLE, when="dump *")
    step = bench.step("scroll", direction="down", settleDelayMs=0)
    assert (step.data["error"], step.data["dispatched"]) == ("SNAPSHOT_HIERARCHY_UNAVAILABLE", "true")
    assert len(bench.lines("uiautomator")) == 2


def test_an_expectation_on_such_a_screen_says_that_it_cannot_be_read(restless: DoublesBench) -> None:
    step = restless.step("press_key", key="back", expect={"text": "Display", "timeoutMs": 50})
    assert step.data["error"] == "EXPECTATION_FAILED"
    assert "could not get idle state" in step.data["message"]


def test_a_search_by_scrolling_captures_once_after_each_swipe(bench: DoublesBench) -> None:
    bench.shows(list_screen("A"), list_screen("B"), list_screen("C"))
    found = bench.data("scroll_until", direction="down", matcher={"textEquals": "C"}, settleDelayMs=0)
    assert (found["termination_reason"], found["scrolls_executed"]) == ("TARGET_FOUND", "2")
    assert len(bench.lines("uiautomator")) == 3


def test_scrolling_to_a_node_and_clicking_it(bench: DoublesBench) -> None:
    bench.shows(list_screen("A"), list_screen("B"), list_screen("B"), screen(node("Next", bounds="[0,0][9,9]")))
    done = bench.data("scroll_and_click", matcher={"textEquals": "B"}, settleDelayMs=0)
    assert (done["scrolls_executed"], done["effect"]) == ("1", "changed")
    assert len(bench.lines("uiautomator")) == 4
