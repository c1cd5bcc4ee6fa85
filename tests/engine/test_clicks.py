"""Clicks on nodes and points."""

import json
from typing import Any

import pytest

from clawperator.engine.clock import VirtualClock
from clawperator.engine.scripted import FullScriptedDriver, ScriptedDriver, node
from clawperator.errors import ClawError
from clawperator.ui.node import Node
from tests.engine.scripted_plans import run, step

ONCE = {"maxAttempts": 1}


def phone(*roots: Node, **answers: Any) -> FullScriptedDriver:
    return FullScriptedDriver(VirtualClock(), *roots, **answers)


def test_a_clickable_node_is_clicked_by_accessibility() -> None:
    a = phone(node("OK", clickable="true", id="ok", cls="Button", bounds="[10,20][30,40]"))
    data = step(a, "click", matcher={"textEquals": "OK"}).data
    assert data["click_types"] == "click"
    assert data["dispatch_method"] == "accessibility_click"
    assert data["candidate_count"] == "1"
    target = json.loads(data["matched_target"])
    assert target == {"class": "Button", "resourceId": "ok", "label": "OK", "bounds": "[10,20][30,40]"}
    assert a.named("tap") == []


def test_a_text_inside_a_clickable_row_clicks_the_row() -> None:
    a = phone(node("", node("", node("Wi-Fi", id="title")), clickable="true", id="row"))
    step(a, "click", matcher={"textEquals": "Wi-Fi"})
    assert a.named("act") == [("row", "click")]


@pytest.mark.parametrize(("levels", "reached"), [(8, True), (9, False)])
def test_the_row_may_be_eight_levels_above(levels: int, *, reached: bool) -> None:
    inner = node("deep", id="deep")
    for _ in range(levels - 1):
        inner = node("", inner)
    a = phone(node("", inner, clickable="true", id="row"))
    step(a, "click", matcher={"textEquals": "deep"})
    assert (a.named("act") == [("row", "click")]) is reached
    assert bool(a.named("tap")) is not reached


def test_what_takes_no_action_is_tapped_in_its_middle() -> None:
    a = phone(node("plain", bounds="[100,200][300,400]"))
    data = step(a, "click", matcher={"textEquals": "plain"}).data
    assert a.named("tap") == [(200, 300, 120)]
    assert data["dispatch_method"] == "gesture_tap"


def test_a_driver_without_node_actions_taps() -> None:
    a = ScriptedDriver(VirtualClock(), node("OK", clickable="true", bounds="[0,0][100,100]"))
    assert step(a, "click", matcher={"textEquals": "OK"}).data["dispatch_method"] == "gesture_tap"


def test_a_node_that_is_gone_is_not_tapped_where_it_was() -> None:
    a = phone(node("OK", clickable="true", bounds="[0,0][100,100]"), act=False)
    assert step(a, "click", matcher={"textEquals": "OK"}).data["error"] == "NODE_NOT_CLICKABLE"
    assert a.named("tap") == []


def test_a_node_that_is_partly_outside_is_tapped_where_it_shows() -> None:
    a = phone(node("", node("low", bounds="[0,2300][1080,3300]")))
    step(a, "click", matcher={"textEquals": "low"})
    assert a.named("tap") == [(540, 2350, 120)]


@pytest.mark.parametrize("written", ["long_click", "longclick"])
def test_a_long_click_holds(written: str) -> None:
    a = phone(node("OK", long_clickable="true", id="ok"))
    data = step(a, "click", matcher={"textEquals": "OK"}, clickType=written).data
    assert (data["click_types"], data["dispatch_method"]) == ("long_click", "accessibility_long_click")
    a = phone(node("OK", clickable="true"))
    data = step(a, "click", matcher={"textEquals": "OK"}, clickType=written).data
    assert data["dispatch_method"] == "gesture_long_press"
    assert a.named("tap")[0][2] == 650


def test_focus_goes_to_what_can_have_it_and_never_touches() -> None:
    a = phone(node("", node("Name"), focusable="true", id="field"))
    data = step(a, "click", matcher={"textEquals": "Name"}, clickType="focus").data
    assert (data["click_types"], data["dispatch_method"]) == ("focus", "accessibility_focus")
    assert a.named("act") == [("field", "focus")]
    a = phone(node("Name"))
    assert (
        step(a, "click", matcher={"textEquals": "Name"}, clickType="focus")
        .data["dispatch_method"]
        .endswith("select")
    )
    a = phone(node("Name"), act=False)
    failed = step(a, "click", matcher={"textEquals": "Name"}, clickType="focus", retry=ONCE)
    assert failed.data["error"] == "NODE_NOT_CLICKABLE"
    assert a.named("tap") == []


@pytest.mark.parametrize(
    "root",
    [
        node("OK", clickable="true", enabled="false"),
        node("", node("OK"), clickable="true", enabled="false"),
        node("OK", enabled="false"),
    ],
)
def test_a_disabled_node_is_not_clicked(root: Node) -> None:
    a = phone(root)
    result = step(a, "click", matcher={"textEquals": "OK"}, retry=ONCE)
    assert result.data["error"] == "NODE_NOT_CLICKABLE"
    assert result.data["candidate_count"] == "1"
    assert "OK" in result.data["matched_target"]
    assert a.named("act") == a.named("tap") == []


def test_a_button_that_becomes_enabled_is_clicked_once() -> None:
    a = phone(node("OK", clickable="true", enabled="false"))
    a.show_at(1, node("OK", clickable="true", enabled="true", id="ok"))
    assert step(a, "click", matcher={"textEquals": "OK"}).success
    assert a.named("act") == [("ok", "click")]


def test_a_refused_click_is_a_typed_failure() -> None:
    a = phone(node("OK", clickable="true"), act=False, tap=False)
    assert step(a, "click", matcher={"textEquals": "OK"}, retry=ONCE).data["error"] == "NODE_NOT_CLICKABLE"


def test_a_click_that_broke_on_the_way_is_never_tried_again() -> None:
    a = phone(node("OK", clickable="true"), act=ClawError("DEVICE_OFFLINE", "gone"))
    assert step(a, "click", matcher={"textEquals": "OK"}).data["error"] == "DEVICE_OFFLINE"
    assert len(a.named("act")) == 1


def test_the_first_of_several_is_clicked_and_they_are_counted() -> None:
    a = phone(node("", node("Add", clickable="true", id="one"), node("Add", clickable="true", id="two")))
    data = step(a, "click", matcher={"textEquals": "Add"}).data
    assert a.named("act") == [("one", "click")]
    assert data["candidate_count"] == "2"


def test_what_cannot_be_seen_is_not_clicked() -> None:
    a = phone(node("", node("OK", clickable="true", bounds="[0,2400][1080,2500]")))
    assert step(a, "click", matcher={"textEquals": "OK"}, retry=ONCE).data["error"] == "NODE_NOT_FOUND"


def test_a_point_is_tapped_and_the_node_under_it_is_named() -> None:
    a = phone(node("", node("OK", id="ok", bounds="[0,0][100,100]"), id="root"))
    data = step(a, "click", coordinate={"x": 50, "y": 60}).data
    assert (data["click_types"], data["coordinate"]) == ("click", "(50,60)")
    assert a.named("tap") == [(50, 60, 120)]
    assert json.loads(data["matched_target"])["resourceId"] == "ok"
    data = step(a, "click", coordinate={"x": 500, "y": 600}, clickType="long_click").data
    assert a.named("tap")[-1] == (500, 600, 650)
    assert json.loads(data["matched_target"])["resourceId"] == "root"


def test_a_point_needs_no_hierarchy() -> None:
    a = phone(dump=ClawError("SNAPSHOT_HIERARCHY_UNAVAILABLE", "none"))
    data = step(a, "click", coordinate={"x": 5, "y": 6}).data
    assert json.loads(data["matched_target"]) == {"point": "(5,6)"}
    assert data["effect"] == "unknown"


def test_a_refused_touch_is_a_gesture_that_failed() -> None:
    result = run(phone(tap=False), ("click", {"coordinate": {"x": 5, "y": 6}}), ("sleep", {"durationMs": 0}))
    assert result.errorCode == "GESTURE_FAILED"
    assert len(result.stepResults) == 1


def test_control_and_bidi_characters_of_an_app_are_escaped_in_the_target() -> None:
    a = phone(node("a\u202eb\x07" + "c" * 500, clickable="true", id="x"))
    target = json.loads(step(a, "click", matcher={"resourceId": "x"}).data["matched_target"])
    assert target["label"].isprintable()
    assert len(target["label"]) < 150


def test_a_message_that_appears_after_a_click_is_reported() -> None:
    save = node("Save", clickable="true", id="b")
    phone = FullScriptedDriver(VirtualClock(), node("Form"), save)
    error = node("Title is required")
    phone.answers["act"] = lambda *_: phone.show(node("Form"), save, error)
    assert step(phone, "click", matcher={"resourceId": "b"}).data["screen_message"] == "Title is required"
    assert "screen_message" not in step(phone, "click", matcher={"resourceId": "b"}).data
