"""Scrolling once, until a node is on the screen, and to a click."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.clock import VirtualClock
from clawperator.engine.scripted import FRAME, FullScriptedDriver, node
from clawperator.engine.scrolls import NodePosition, has_moved, swipe_line
from clawperator.errors import ClawError
from clawperator.ui.node import Bounds, Hierarchy, Node
from tests.engine.scripted_plans import ListDriver, run, step

AFTER = ("sleep", {"durationMs": 0})
ROWS = [f"Row {i}" for i in range(40)]


def listing(rows: list[str] = ROWS, **answers: Any) -> ListDriver:
    return ListDriver(VirtualClock(), rows, **answers)


def still(*roots: Node, **answers: Any) -> FullScriptedDriver:
    return FullScriptedDriver(VirtualClock(), *roots, **answers)


@pytest.mark.parametrize(
    ("direction", "start", "end"),
    [
        ("down", (500, 520), (500, 240)),
        ("up", (500, 480), (500, 760)),
        ("right", (520, 500), (240, 500)),
        ("left", (480, 500), (760, 500)),
    ],
)
def test_the_finger_goes_against_the_content(direction: str, start: tuple[int, int], end: tuple[int, int]) -> None:
    assert swipe_line(Bounds(0, 0, 1_000, 1_000), direction, 0.7) == (start, end)


@pytest.mark.random
@given(st.sampled_from(["down", "up", "left", "right"]), st.floats(0, 1))
def test_the_finger_stays_inside(direction: str, ratio: float) -> None:
    area = Bounds(100, 200, 400, 900)
    for x, y in swipe_line(area, direction, ratio):
        assert area.left <= x <= area.right
        assert area.top <= y <= area.bottom


def test_a_scroll_that_moved_reports_moved() -> None:
    a = listing()
    data = step(a, "scroll").data
    assert data["scroll_outcome"] == "moved"
    assert (data["direction"], data["distance_ratio"], data["settle_delay_ms"]) == ("down", "0.7", "250")
    assert data["resolved_container"] == "app:id/list"
    assert (data["dispatch_method"], data["effect"], data["candidate_count"]) == ("gesture_swipe", "changed", "1")
    assert json.loads(data["matched_target"])["resourceId"] == "app:id/list"
    assert a.named("swipe")[0][2] == 250


def test_a_scroll_at_the_edge_reports_edge_reached() -> None:
    data = step(listing(), "scroll", direction="up").data
    assert (data["scroll_outcome"], data["effect"]) == ("edge_reached", "unchanged")


def test_the_settle_delay_is_waited() -> None:
    a = listing()
    step(a, "scroll", settleDelayMs=2_000)
    assert 2 <= a.clock.monotonic() < 2.2


def test_a_list_scrolled_by_whole_rows_has_moved() -> None:
    a = listing()
    step(a, "scroll", distanceRatio=0.625)
    assert a.offset % a.ROW == 0
    assert a.offset > 0
    assert step(a, "scroll", distanceRatio=0.625).data["scroll_outcome"] == "moved"


def test_a_changing_clock_in_a_list_is_not_movement() -> None:
    before = [NodePosition("/0", 0, "12:00"), NodePosition("/1", 10, "a"), NodePosition("/2", 20, "b")]
    after = [NodePosition("/0", 0, "12:01"), NodePosition("/1", 10, "a"), NodePosition("/2", 20, "b")]
    assert not has_moved(before, after)
    assert not has_moved([], before)
    assert has_moved(before, [NodePosition("/0", -5, "12:00")])


def test_a_rejected_swipe_is_reported_and_the_next_action_runs() -> None:
    result = run(listing(swipe=False), ("scroll", {}), AFTER)
    data = result.stepResults[0].data
    assert (data["scroll_outcome"], data["error"]) == ("gesture_failed", "GESTURE_FAILED")
    assert (data["direction"], data["distance_ratio"]) == ("down", "0.7")
    assert len(result.stepResults) == 2


def test_a_container_that_is_gone_after_the_swipe_is_an_edge() -> None:
    a = listing()
    a.answers["swipe"] = lambda *_: a.show(node("other"))
    assert step(a, "scroll").data["scroll_outcome"] == "edge_reached"


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({}, "CONTAINER_NOT_FOUND"),
        ({"container": {"resourceId": "nope"}}, "CONTAINER_NOT_FOUND"),
        ({"container": {"textEquals": "plain"}}, "CONTAINER_NOT_SCROLLABLE"),
    ],
)
def test_a_missing_or_fixed_container_is_reported(params: dict[str, Any], code: str) -> None:
    result = run(still(node("plain")), ("scroll", params), AFTER)
    data = result.stepResults[0].data
    assert (data["error"], data["direction"], data["settle_delay_ms"]) == (code, "down", "250")
    assert len(result.stepResults) == 2


def test_a_part_of_the_container_scrolls_for_it_unless_that_is_forbidden() -> None:
    params: dict[str, Any] = {"container": {"resourceId": "app:id/root"}}
    assert step(listing(), "scroll", **params).data["resolved_container"] == "app:id/list"
    data = step(listing(), "scroll", **params, findFirstScrollableChild=False).data
    assert data["error"] == "CONTAINER_NOT_SCROLLABLE"


def test_a_container_without_an_id_is_reported_by_its_class() -> None:
    a = still(node("", node("x"), scrollable="true", cls="ScrollView"))
    assert step(a, "scroll").data["resolved_container"] == "ScrollView"


def test_a_container_that_comes_late_is_scrolled_if_asked_for() -> None:
    a = still()
    a.show_at(1, node("", node("x"), scrollable="true"))
    assert step(a, "scroll", retry={"maxAttempts": 5, "initialDelayMs": 500}).success


def test_a_swipe_stays_within_what_the_display_shows() -> None:
    a = still(node("", node("", node("x"), scrollable="true", bounds="[0,2000][1080,9000]")))
    step(a, "scroll")
    start, end, _ = a.named("swipe")[0]
    assert FRAME.contains(*start)
    assert FRAME.contains(*end)


def until(a: FullScriptedDriver, **params: Any) -> dict[str, str]:
    return step(a, "scroll_until", **{"timeout_ms": 120_000, **params}).data


def test_a_target_that_is_there_needs_no_scroll() -> None:
    data = until(listing(), matcher={"textEquals": "Row 1"})
    assert (data["termination_reason"], data["scrolls_executed"]) == ("TARGET_FOUND", "0")
    assert (data["dispatch_method"], data["effect"]) == ("none", "unchanged")
    assert json.loads(data["matched_target"])["label"] == "Row 1"


def test_scrolling_goes_on_until_the_target_is_there() -> None:
    a = listing()
    data = until(a, matcher={"textEquals": "Row 20"})
    assert data["termination_reason"] == "TARGET_FOUND"
    assert data["scrolls_executed"] == str(len(a.named("swipe"))) != "0"
    assert (data["direction"], data["click_after"], data["click_types"]) == ("down", "false", "click")
    assert (data["resolved_container"], data["effect"]) == ("app:id/list", "changed")
    assert json.loads(data["matched_target"])["label"] == "Row 20"


def test_the_edge_ends_a_search_and_the_next_action_runs() -> None:
    params = {"matcher": {"textEquals": "Row 99"}, "maxDurationMs": 60_000}
    result = run(listing(), ("scroll_until", params), AFTER, timeout_ms=120_000)
    data = result.stepResults[0].data
    assert (data["termination_reason"], data["error"]) == ("EDGE_REACHED", "TARGET_NOT_FOUND")
    assert len(result.stepResults) == 2


def test_without_a_target_the_edge_is_the_aim() -> None:
    a = listing()
    data = until(a, maxDurationMs=60_000)
    assert data["termination_reason"] == "EDGE_REACHED"
    assert "error" not in data
    assert a.offset == len(ROWS) * a.ROW - FRAME.height


@pytest.mark.parametrize(
    ("params", "reason"),
    [({"maxScrolls": 2}, "MAX_SCROLLS_REACHED"), ({"maxDurationMs": 600}, "MAX_DURATION_REACHED")],
)
def test_limits_end_the_scrolling(params: dict[str, Any], reason: str) -> None:
    data = until(listing(), **params)
    assert data["termination_reason"] == reason
    assert data["scrolls_executed"] == "2"


def test_refused_swipes_end_the_scrolling_after_the_threshold() -> None:
    a = listing(swipe=False)
    data = until(a, noPositionChangeThreshold=4)
    assert (data["termination_reason"], data["scrolls_executed"]) == ("NO_POSITION_CHANGE", "0")
    assert len(a.named("swipe")) == 4
    assert "error" not in data


def test_a_target_that_is_loaded_late_is_found_after_the_loop() -> None:
    a = listing()
    a.clock.call_at(5, lambda: a.show(node("Late")))
    data = until(a, matcher={"textEquals": "Late"}, maxScrolls=1)
    assert data["termination_reason"] == "TARGET_FOUND"


@pytest.mark.parametrize(
    ("params", "reason"),
    [({}, "CONTAINER_NOT_FOUND"), ({"container": {"textEquals": "plain"}}, "CONTAINER_NOT_SCROLLABLE")],
)
def test_a_search_without_a_container_is_reported(params: dict[str, Any], reason: str) -> None:
    data = until(still(node("plain")), matcher={"textEquals": "x"}, **params)
    assert (data["termination_reason"], data["error"]) == (reason, reason)


@pytest.mark.parametrize("how", ["screen", "window"])
def test_a_container_that_vanishes_is_lost(how: str) -> None:
    a = listing()

    def vanish(*_: object) -> None:
        a.show(node("other"))
        if how == "window":
            a.answers["dump"] = ClawError("SNAPSHOT_HIERARCHY_UNAVAILABLE", "none")

    a.answers["swipe"] = vanish
    data = until(a, matcher={"textEquals": "x"})
    assert (data["termination_reason"], data["error"]) == ("CONTAINER_LOST", "CONTAINER_LOST")


@pytest.mark.parametrize("method", ["swipe", "frame"])
@pytest.mark.parametrize("when", [0, 1])
def test_a_lost_phone_ends_a_search(method: str, when: int) -> None:
    a = listing()
    a.clock.call_at(when, lambda: a.answers.update({method: ClawError("DEVICE_OFFLINE", "gone")}))
    a.clock.sleep(0)
    assert until(a, matcher={"textEquals": "x"})["error"] == "DEVICE_OFFLINE"


def test_a_phone_that_is_lost_in_a_swipe_ends_the_execution() -> None:
    a = listing()
    a.answers["swipe"] = lambda *_: a.answers.update(frame=ClawError("DEVICE_OFFLINE", "gone"))
    assert step(a, "scroll").data["error"] == "DEVICE_OFFLINE"


def test_a_search_ends_when_the_time_of_the_execution_does() -> None:
    a = listing()
    data = step(a, "scroll_until", timeout_ms=2_000, matcher={"textEquals": "x"}, maxScrolls=1).data
    assert data["error"] == "COMMAND_TIMEOUT"
    assert a.clock.monotonic() == pytest.approx(2)


def test_what_was_scrolled_to_is_clicked_if_asked_for() -> None:
    a = listing()
    data = until(a, matcher={"textEquals": "Row 20"}, clickAfter=True, clickType="long_click")
    assert (data["click_after"], data["click_types"]) == ("true", "long_click")
    assert data["dispatch_method"] == "gesture_swipe+gesture_long_press"
    assert (
        until(listing(), matcher={"textEquals": "Row 0"}, clickAfter=True)["dispatch_method"]
        == "accessibility_click"
    )


def test_a_target_outside_the_container_does_not_count() -> None:
    outside = node("Row 5", bounds="[0,0][1080,100]")
    inside = node(
        "", node("Row 1", bounds="[0,100][1080,200]"), id="list", scrollable="true", bounds="[0,100][1080,900]"
    )
    a = still(node("", outside, inside))
    data = until(a, matcher={"textEquals": "Row 5"}, container={"resourceId": "list"})
    assert data["error"] == "TARGET_NOT_FOUND"


def to_click(a: FullScriptedDriver, **params: Any) -> dict[str, str]:
    return step(a, "scroll_and_click", **{"timeout_ms": 120_000, **params}).data


def test_a_row_far_down_is_scrolled_to_and_clicked() -> None:
    a = listing()
    data = to_click(a, matcher={"textEquals": "Row 20"})
    assert (data["max_swipes"], data["direction"]) == ("10", "Down")
    assert (data["click_types"], data["click_after"]) == ("click", "true")
    assert data["dispatch_method"] == "gesture_swipe+accessibility_click"
    assert json.loads(data["matched_target"])["label"] == "Row 20"
    assert a.named("act") == [("app:id/row", "click")]


def test_a_row_that_is_there_is_clicked_without_a_swipe() -> None:
    a = listing()
    assert to_click(a, matcher={"textEquals": "Row 0"})["scrolls_executed"] == "0"
    assert a.named("swipe") == []


def test_without_the_click_it_only_scrolls() -> None:
    a = listing()
    data = to_click(a, matcher={"textEquals": "Row 20"}, clickAfter=False)
    assert (data["click_after"], data["dispatch_method"], data["effect"]) == ("false", "gesture_swipe", "changed")
    assert a.named("act") == []


def test_two_swipes_that_move_nothing_are_the_end() -> None:
    a = listing(ROWS[:3])
    result = run(
        a, ("scroll_and_click", {"matcher": {"textEquals": "x"}, "scrollRetry": {"maxAttempts": 1}}), AFTER
    )
    assert result.errorCode == "TARGET_NOT_FOUND"
    assert len(result.stepResults) == 1
    assert result.stepResults[0].data["scrolls_executed"] == "2"


def test_the_swipes_are_counted_over_all_tries() -> None:
    a = listing(ROWS[:3])
    assert to_click(a, matcher={"textEquals": "x"}, maxSwipes=5)["error"] == "TARGET_NOT_FOUND"
    assert len(a.named("swipe")) == 5


def test_no_container_and_no_target_is_a_typed_failure() -> None:
    assert to_click(still(node("plain")), matcher={"textEquals": "x"})["error"] == "CONTAINER_NOT_FOUND"


def test_a_row_that_takes_no_click_is_a_typed_failure() -> None:
    a = listing(act=False, tap=False)
    assert to_click(a, matcher={"textEquals": "Row 0"})["error"] == "NODE_NOT_CLICKABLE"


@pytest.mark.random
@given(st.integers(1, 60), st.integers(0, 59), st.sampled_from([0.1, 0.35, 0.625, 0.7, 1.0]))
def test_any_row_of_any_list_is_found(rows: int, wanted: int, ratio: float) -> None:
    a = listing([f"Row {i}" for i in range(rows)])
    data = until(
        a, matcher={"textEquals": f"Row {wanted}"}, maxScrolls=200, maxDurationMs=119_000, distanceRatio=ratio
    )
    assert (data["termination_reason"] == "TARGET_FOUND") is (wanted < rows)
    assert ("error" not in data) is (wanted < rows)


def test_a_screen_that_cannot_be_seen_after_the_swipe_is_not_called_an_edge() -> None:
    a = listing()

    def blind(*_: object) -> None:
        a.answers["dump"] = ClawError("SNAPSHOT_HIERARCHY_UNAVAILABLE", "none")

    a.answers["swipe"] = blind
    assert step(a, "scroll").data["error"] == "SNAPSHOT_HIERARCHY_UNAVAILABLE"


def test_equal_screens_made_anew_are_an_edge() -> None:
    a = still()

    def fresh() -> Hierarchy:
        root = node("", node("x", id="row"), scrollable="true")
        return Hierarchy({}, [root], list(root.walk()))

    a.answers["dump"] = fresh
    assert step(a, "scroll").data["scroll_outcome"] == "edge_reached"
