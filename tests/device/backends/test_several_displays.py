"""Foldables, a second display, and the size of the one in use."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from clawperator.device.backends.adb import AdbDriver
from tests.device.backends.doubles_bench import DoublesBench, doubles_bench
from tests.support.command_doubles import Reply
from tests.support.ordinary_phone import HOME_SCREEN, SETTINGS, display_state, focus_line, node, screen

FOCUS = focus_line(f"{SETTINGS}/{SETTINGS}.Settings")
NO_FOCUS = "  mCurrentFocus=null\n"
UNFOLDED = screen(node("Wide", bounds="[1200,0][1400,200]", more='clickable="true"')).replace(
    "[0,0][1080,2400]", "[0,0][1840,2208]"
)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[DoublesBench]:
    with doubles_bench(tmp_path) as made:
        yield made


def test_a_phone_that_is_unfolded_in_a_plan_is_touched_where_things_are(bench: DoublesBench) -> None:
    bench.shows(HOME_SCREEN, HOME_SCREEN, UNFOLDED)
    states = [Reply(display_state(FOCUS)), Reply(display_state(FOCUS, size="1840x2208"))]
    bench.doubles.answer("dumpsys", *states, when="window displays")
    first = {"id": "a", "type": "click", "params": {"matcher": {"textEquals": "Display"}}}
    second = {"id": "b", "type": "click", "params": {"matcher": {"textEquals": "Wide"}}}
    assert bench.run(first, second).status == "success"
    assert bench.lines("input") == ["input tap 540 600", "input tap 1300 100"]


def test_a_look_that_shows_more_than_the_display_corrects_its_size(bench: DoublesBench) -> None:
    driver = AdbDriver(bench.device)
    bench.shows(HOME_SCREEN, UNFOLDED)
    driver.dump()
    assert str(driver.frame()) == "[0,0][1080,2400]"
    driver.look_again()
    assert str(driver.frame()) == "[0,0][1840,2208]"


def test_a_point_beyond_the_last_capture_is_checked_against_the_display_as_it_is_now(bench: DoublesBench) -> None:
    unfolded = display_state(FOCUS, size="1840x2208")
    bench.doubles.answer("dumpsys", display_state(FOCUS), unfolded, when="window displays")
    bench.doubles.answer("wm", "Physical size: 1840x2208\n", when="size")
    point = {"id": "b", "type": "click", "params": {"coordinate": {"x": 1800, "y": 9}}}
    assert bench.run({"id": "a", "type": "query"}, point).status == "success"
    assert bench.step("click", coordinate={"x": 1841, "y": 9}).data["error"] == "GESTURE_FAILED"
    assert bench.lines("input") == ["input tap 1800 9"]


def test_a_dialog_does_not_change_the_size_of_the_display(bench: DoublesBench) -> None:
    driver = AdbDriver(bench.device)
    bench.shows(screen().replace("[0,0][1080,2400]", "[100,800][980,1600]"))
    driver.dump()
    assert str(driver.frame()) == "[0,0][1080,2400]"


@pytest.mark.parametrize(
    ("kind", "params", "line"),
    [
        ("click", {"matcher": {"textEquals": "Display"}}, "input -d 2 tap 540 600"),
        ("click", {"coordinate": {"x": 5, "y": 6}}, "input -d 2 tap 5 6"),
        (
            "swipe",
            {"start": {"x": 1, "y": 2}, "end": {"x": 3, "y": 4}, "durationMs": 5},
            "input -d 2 swipe 1 2 3 4 5",
        ),
        ("press_key", {"key": "back"}, "input keyevent 4"),
    ],
)
def test_touches_go_to_the_focused_display(
    bench: DoublesBench, kind: str, params: dict[str, object], line: str
) -> None:
    state = display_state(NO_FOCUS) + display_state(FOCUS, number=2)
    bench.doubles.answer("dumpsys", state, when="window*")
    assert bench.step(kind, **params).success  # type: ignore[arg-type]
    assert bench.lines("input") == [line]


def test_of_several_displays_with_a_focused_window_the_focused_one_is_asked_for(bench: DoublesBench) -> None:
    both = display_state(focus_line("com.a/com.a.B")) + display_state(FOCUS, number=3)
    bench.doubles.answer("dumpsys", both, when="window displays")
    bench.doubles.answer("dumpsys", f"{both}WINDOW MANAGER WINDOWS\n  mTopFocusedDisplayId=3\n", when="window")
    bench.doubles.answer("dumpsys", "WINDOW MANAGER WINDOWS\n  mTopFocusedDisplayId=3\n", when="window windows")
    bench.data("click", matcher={"textEquals": "Display"})
    assert bench.lines("input") == ["input -d 3 tap 540 600"]
    driver = AdbDriver(bench.device)
    assert driver.foreground() == SETTINGS
    assert driver.windows().foreground_package == SETTINGS


@pytest.mark.parametrize("state", ["", "dumpsys: not found\n", FOCUS])
def test_without_a_reported_size_the_window_gives_it(bench: DoublesBench, state: str) -> None:
    bench.doubles.answer("dumpsys", state, when="window displays")
    driver = AdbDriver(bench.device)
    driver.dump()
    assert str(driver.frame()) == "[0,0][1080,2400]"


def test_a_point_is_checked_against_wm_size_when_nothing_else_reports_it(bench: DoublesBench) -> None:
    bench.doubles.answer("dumpsys", FOCUS, when="window displays")
    bench.doubles.answer("wm", "Physical size: 1440x3200\nOverride size: 1080x2400\n", when="size")
    assert bench.step("click", coordinate={"x": 1079, "y": 2399}).success
    assert bench.step("click", coordinate={"x": 1080, "y": 1}).data["error"] == "GESTURE_FAILED"
