"""Touches of elements that others cover: at a free point of the element, or not at all."""

from typing import Any

import pytest

from clawperator.engine.clock import VirtualClock
from clawperator.engine.scripted import FullScriptedDriver, ScriptedDriver, node
from clawperator.ui.node import Node
from tests.engine.scripted_plans import step

ONCE = {"maxAttempts": 1}
CARD = {"textEquals": "Card"}
BOX = "[0,400][1000,600]"
FLAGS = {"clickable": "true", "long_clickable": "true"}
TOUCHES: dict[str, tuple[str, dict[str, Any]]] = {
    "click": ("click", {"matcher": CARD}),
    "long press": ("click", {"matcher": CARD, "clickType": "long_click"}),
    "held press": ("click", {"matcher": CARD, "clickType": "long_click", "durationMs": 900}),
    "double tap": ("double_tap", {"matcher": CARD}),
    "drag": ("drag", {"matcher": CARD, "end": {"x": 5, "y": 5}}),
    "swipe": ("swipe", {"matcher": CARD, "direction": "left"}),
    "drop": ("drag", {"start": {"x": 5, "y": 5}, "toMatcher": CARD}),
}
CALLS = ("tap", "double_tap", "drag", "swipe", "act", "set_text")


class TouchDriver(FullScriptedDriver):
    """Has gestures and no accessibility actions, as plain adb."""

    act = None  # type: ignore[assignment]


def phone(*roots: Node) -> TouchDriver:
    return TouchDriver(VirtualClock(), node("", *roots))


def touched(driver: ScriptedDriver) -> list[tuple[Any, ...]]:
    return [call for call in driver.calls if call[0] in CALLS]


@pytest.mark.parametrize("touch", TOUCHES)
def test_an_element_below_another_one_is_not_touched(touch: str) -> None:
    kind, params = TOUCHES[touch]
    driver = phone(node("Card", bounds=BOX, **FLAGS), node("Bar", bounds="[0,300][1080,700]", **FLAGS))
    data = step(driver, kind, **params, retry=ONCE).data
    assert data["error"] == "NODE_COVERED"
    assert '"label":"Bar"' in data["message"]
    assert '"label":"Bar"' in data["covered_by"]
    assert "nothing was touched" in data["message"]
    assert '"label":"Card"' in data["matched_target"]
    assert touched(driver) == []


@pytest.mark.parametrize("touch", [name for name in TOUCHES if name not in ("swipe", "drop")])
def test_an_element_with_another_one_in_its_centre_is_touched_beside_it(touch: str) -> None:
    kind, params = TOUCHES[touch]
    driver = phone(node("Card", node("Rate", bounds="[300,400][700,600]", **FLAGS), bounds=BOX, **FLAGS))
    data = step(driver, kind, **params, retry=ONCE).data
    assert "error" not in data
    ((_, *arguments),) = touched(driver)
    x, y = arguments[:2] if isinstance(arguments[0], int) else arguments[0]
    assert 0 <= x < 1000
    assert 400 <= y < 600
    assert not 300 <= x < 700


def test_a_swipe_begins_beside_what_covers_its_start() -> None:
    driver = phone(node("Card", bounds=BOX), node("Button", bounds="[700,450][1000,550]", **FLAGS))
    step(driver, "swipe", matcher=CARD, direction="left", retry=ONCE)
    ((_, start, end, _),) = touched(driver)
    assert start[1] == end[1]
    assert not 450 <= start[1] < 550


def test_a_list_is_scrolled_beside_what_covers_the_start() -> None:
    rows = [node(f"Row {n}", bounds=f"[0,{n * 200}][1080,{n * 200 + 200}]", **FLAGS) for n in range(12)]
    listed = node("", *rows, scrollable="true")
    driver = phone(listed, node("New", bounds="[400,800][700,2300]", **FLAGS))
    step(driver, "scroll", direction="down", retry=ONCE)
    starts = {start for _, start, _, _ in touched(driver)}
    assert starts
    assert all(not 400 <= x < 700 for x, _ in starts)


def test_a_list_below_a_dialog_is_not_scrolled() -> None:
    driver = phone(node("", node("Row"), scrollable="true"), node("Scrim", **FLAGS))
    data = step(driver, "scroll", direction="down", retry=ONCE).data
    assert data["error"] == "NODE_COVERED"
    assert touched(driver) == []


def test_a_field_below_another_element_is_not_tapped_to_type() -> None:
    field = node("", bounds=BOX, cls="android.widget.EditText", id="field")
    driver = phone(field, node("Bar", bounds="[0,300][1080,700]", **FLAGS))
    data = step(driver, "enter_text", matcher={"resourceId": "field"}, text="x", retry=ONCE).data
    assert data["error"] == "NODE_COVERED"
    assert touched(driver) == []


def test_an_accessibility_click_needs_no_free_point() -> None:
    driver = FullScriptedDriver(
        VirtualClock(), node("", node("Card", bounds=BOX, **FLAGS), node("Bar", bounds=BOX, **FLAGS))
    )
    assert step(driver, "click", matcher=CARD).data["dispatch_method"] == "accessibility_click"


def test_a_given_point_is_touched_whatever_is_there() -> None:
    driver = phone(node("Card", bounds=BOX, **FLAGS), node("Bar", bounds="[0,300][1080,700]", **FLAGS))
    step(driver, "click", coordinate={"x": 500, "y": 500})
    assert touched(driver) == [("tap", 500, 500, 120)]


def test_an_element_that_is_free_a_moment_later_is_clicked() -> None:
    card, bar = node("Card", bounds=BOX, **FLAGS), node("Bar", bounds="[0,300][1080,700]", **FLAGS)
    driver = phone(card, bar)
    driver.show_at(0.7, node("", node("Card", bounds=BOX, **FLAGS)))
    data = step(driver, "click", matcher=CARD).data
    assert "error" not in data
    assert touched(driver) == [("tap", 500, 500, 120)]


def test_a_row_that_is_scrolled_out_below_a_bar_is_not_swiped() -> None:
    row = node("Card", bounds="[0,0][1000,400]", **FLAGS)
    listed = node("", row, bounds="[300,350][1000,2000]", scrollable="true")
    driver = phone(listed, node("Bar", bounds="[0,0][1080,350]", **FLAGS))
    data = step(driver, "swipe", matcher=CARD, direction="up", distanceRatio=0.1, retry=ONCE).data
    assert data["error"] == "NODE_COVERED"
    assert '"label":"Bar"' in data["covered_by"]
    assert touched(driver) == []
