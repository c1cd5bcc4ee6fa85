"""Swipes, drags and double taps."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.clock import VirtualClock
from clawperator.engine.gestures import direction_stroke
from clawperator.engine.scripted import FRAME, FullScriptedDriver, ScriptedDriver, node
from clawperator.ui.node import Bounds
from tests.engine.scripted_plans import step

ROW = node("Row", id="app:id/row", bounds="[0,400][1080,600]")
BIN = node("Bin", id="app:id/bin", bounds="[0,1000][1080,1200]")
ONCE = {"maxAttempts": 1}


def phone(**answers: Any) -> FullScriptedDriver:
    return FullScriptedDriver(VirtualClock(), node("", ROW, BIN), **answers)


@pytest.mark.parametrize(
    ("direction", "start", "end"),
    [
        ("up", (540, 560), (540, 440)),
        ("down", (540, 440), (540, 560)),
        ("left", (864, 500), (216, 500)),
        ("right", (216, 500), (864, 500)),
    ],
)
def test_a_finger_moves_in_the_direction_on_the_node(
    direction: str, start: tuple[int, int], end: tuple[int, int]
) -> None:
    a = phone()
    data = step(a, "swipe", matcher={"textEquals": "Row"}, direction=direction, durationMs=120).data
    assert a.named("swipe") == [(start, end, 120)]
    assert json.loads(data["matched_target"])["label"] == "Row"
    assert (data["dispatch_method"], data["effect"]) == ("gesture_swipe", "unchanged")


@pytest.mark.parametrize(
    ("direction", "dx", "dy"), [("up", 0, -1), ("down", 0, 1), ("left", -1, 0), ("right", 1, 0)]
)
def test_a_swipe_over_a_small_node_is_no_tap_on_it(direction: str, dx: int, dy: int) -> None:
    small = node("Small", bounds="[500,1000][520,1015]", clickable="true")
    a = FullScriptedDriver(VirtualClock(), node("", small))
    step(a, "swipe", matcher={"textEquals": "Small"}, direction=direction)
    (((x, y), (to_x, to_y), _),) = a.named("swipe")
    assert small.bounds.contains(x, y)
    assert (to_x - x) * dx + (to_y - y) * dy >= 100


def test_a_swipe_without_a_node_is_on_the_screen_between_the_given_points() -> None:
    a = phone()
    step(a, "swipe", start={"x": 1, "y": 2}, end={"x": 3, "y": 4})
    step(a, "swipe", direction="up", distanceRatio=0.5)
    assert a.named("swipe") == [((1, 2), (3, 4), 300), ((540, 1800), (540, 600), 300)]


@given(
    st.tuples(*[st.integers(0, 500)] * 2, *[st.integers(1, 2_000)] * 2),
    st.sampled_from(["up", "down", "left", "right"]),
    st.floats(0.01, 1),
)
def test_a_stroke_stays_in_its_area(box: tuple[int, int, int, int], direction: str, ratio: float) -> None:
    left, top, width, height = box
    area = Bounds(left, top, left + width, top + height)
    for x, y in direction_stroke(area, direction, ratio):
        assert area.left <= x <= area.right
        assert area.top <= y <= area.bottom


def test_a_node_is_dragged_to_another_node_or_point() -> None:
    a = phone()
    step(a, "drag", matcher={"textEquals": "Row"}, toMatcher={"textEquals": "Bin"})
    step(a, "drag", start={"x": 1, "y": 2}, end={"x": 3, "y": 4}, durationMs=50)
    assert a.named("drag") == [((540, 500), (540, 1100), 1000), ((1, 2), (3, 4), 50)]


def test_nothing_is_touched_when_the_place_to_drag_to_is_missing() -> None:
    a = phone()
    data = step(a, "drag", matcher={"textEquals": "Row"}, toMatcher={"textEquals": "No"}, retry=ONCE).data
    assert data["error"] == "NODE_NOT_FOUND"
    assert a.named("drag") == []


def test_a_double_tap_hits_the_centre_of_the_visible_part() -> None:
    a = phone()
    data = step(a, "double_tap", matcher={"textEquals": "Row"}).data
    assert a.named("double_tap") == [(540, 500)]
    assert data["coordinate"] == "(540,500)"


def test_a_double_tap_on_an_element_that_moves_at_that_moment_is_not_a_success() -> None:
    a = phone()
    moved = node("Row", id="app:id/row", bounds="[0,600][1080,800]")
    a.answers["double_tap"] = lambda *_: a.show(node("", moved))
    data = step(a, "double_tap", matcher={"textEquals": "Row"}, retry=ONCE).data
    assert (data["error"], data["dispatched"]) == ("TARGET_CHANGED", "true")


def test_a_double_tap_whose_element_is_gone_afterwards_is_not_verified() -> None:
    a = phone()
    a.answers["double_tap"] = lambda *_: a.show(node("", BIN))
    data = step(a, "double_tap", matcher={"textEquals": "Row"}, retry=ONCE).data
    assert data["target_verified"] == "false"


@pytest.mark.parametrize("kind", ["drag", "double_tap"])
def test_a_driver_without_the_gesture_is_named_as_unsupported(kind: str) -> None:
    places: dict[str, Any] = {"coordinate": {"x": 1, "y": 1}}
    if kind == "drag":
        places = {"start": {"x": 1, "y": 1}, "end": {"x": 2, "y": 2}}
    driver = ScriptedDriver(VirtualClock(), node("", ROW))
    data = step(driver, kind, **places).data
    assert data["error"] == "EXECUTION_ACTION_UNSUPPORTED"
    assert "hint" in data


@pytest.mark.parametrize(
    ("kind", "places"),
    [
        ("swipe", {"direction": "up"}),
        ("drag", {"start": {"x": 1, "y": 1}, "end": {"x": 2, "y": 2}}),
        ("double_tap", {"coordinate": {"x": 1, "y": 1}}),
    ],
)
def test_a_rejected_gesture_fails_the_step(kind: str, places: dict[str, Any]) -> None:
    data = step(phone(**{kind: False}), kind, **places, retry=ONCE).data
    assert (data["error"], data.get("dispatched")) == ("GESTURE_FAILED", None)


def test_a_held_click_touches_instead_of_an_accessibility_action() -> None:
    held = node("Hold", bounds="[0,0][100,100]", long_clickable="true")
    a = FullScriptedDriver(VirtualClock(), held)
    step(a, "click", matcher={"textEquals": "Hold"}, clickType="long_click", durationMs=1_500)
    assert (a.named("tap"), a.named("act")) == ([(50, 50, 1500)], [])
    assert FRAME.contains(50, 50)
