"""The one conversion of events to user actions: the rules that every view of a recording shares."""

from typing import Any

import pytest
from hypothesis import given

from clawperator.recording.actions import (
    CAUSED_WITHIN_MS,
    FILLED_WITHIN_MS,
    ActionReader,
    UserAction,
    UserKey,
    UserScroll,
    UserTap,
    UserText,
    WindowShown,
    read_actions,
)
from tests.recording.demonstrations import LAUNCHER, NOTES, NOWHERE, activity, exported, tapped
from tests.recording.samples import back, click, event_lists, scroll, typed, window

HOME = window(0, LAUNCHER, className="a.Launcher", title="Home screen")
RECENTS = window(0, LAUNCHER, className="a.Launcher", title="Recent apps")
GESTURE = window(0, "com.android.systemui", className="android.view.View", title=None)
KEYBOARD = "com.google.android.inputmethod.latin"


def after(milliseconds: int, event: dict[str, Any]) -> dict[str, Any]:
    return {**event, "ts": event["ts"] + milliseconds}


def entered(text: str, field: str | None = None) -> dict[str, Any]:
    return {**typed(0, text, NOTES), "resourceId": field}


def actions(*events: dict[str, Any]) -> list[UserAction]:
    return read_actions(exported(events).events)


def keys(*events: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(a.key, a.source, a.confidence) for a in actions(*events) if isinstance(a, UserKey)]


def texts(*events: dict[str, Any]) -> list[UserText]:
    return [a for a in actions(*events) if isinstance(a, UserText)]


# Causes


@pytest.mark.parametrize(("late_ms", "inferred"), [(CAUSED_WITHIN_MS, False), (CAUSED_WITHIN_MS + 1, True)])
def test_a_second_window_has_the_tap_as_its_cause_for_one_second(late_ms: int, *, inferred: bool) -> None:
    flow = [activity("List"), activity("Edit"), tapped("Save"), activity("Wait"), after(late_ms, activity("Edit"))]
    assert (keys(*flow) == [("back", "window", "medium")]) is inferred


def test_the_first_window_after_a_tap_has_it_as_its_cause_however_late() -> None:
    flow = [activity("List"), activity("Edit"), tapped("Save"), after(60_000, activity("List"))]
    assert keys(*flow) == []


def test_a_window_before_any_action_has_no_cause() -> None:
    flow = [activity("List"), activity("Edit"), activity("List")]
    assert keys(*flow) == [("back", "window", "medium")]
    assert keys(activity("List"), HOME) == [("home", "window", "medium")]


# Keys


def test_a_finished_back_gesture_is_back_and_an_unfinished_one_is_nothing() -> None:
    flow = [activity("List"), tapped("Add"), activity("Edit"), GESTURE]
    assert keys(*flow) == []
    assert keys(*flow, activity("List")) == [("back", "gesture", "high")]
    assert keys(*flow, tapped("Save"), activity("List")) == []


def test_a_gesture_that_leaves_the_app_is_back_and_not_home() -> None:
    assert keys(activity("List"), GESTURE, after(5_000, HOME)) == [("back", "gesture", "high")]


def test_recent_apps_on_the_way_home_are_part_of_going_home() -> None:
    swipe = [activity("List"), after(9_000, RECENTS), after(9_300, HOME)]
    assert keys(*swipe) == [("home", "window", "medium")]
    opened = [activity("List"), after(9_000, RECENTS), after(20_000, HOME)]
    assert keys(*opened) == [("recents", "window", "medium")]


def test_a_key_event_is_recorded_and_a_click_on_the_navigation_bar_is_certain() -> None:
    bar = click(0, "Overview", "com.android.systemui", resourceId=None)
    assert keys(activity("List"), back(0), bar) == [
        ("back", "key", "recorded"),
        ("recents", "navigation_bar", "high"),
    ]


def test_back_hides_a_keyboard_that_is_up() -> None:
    shown = window(0, KEYBOARD, className=None, title=None)
    found = actions(activity("List"), shown, back(0), back(0))
    assert [a.hides_keyboard for a in found if isinstance(a, UserKey)] == [True, False]


# Texts


def test_texts_of_two_fields_are_two_actions_without_a_tap_between() -> None:
    found = texts(activity("Edit"), entered("a", "n:id/one"), entered("ab", "n:id/one"), entered("c", "n:id/two"))
    assert [(t.first_text, t.second_text, t.text, t.field) for t in found] == [
        ("a", "ab", "ab", "n:id/one"),
        ("c", None, "c", "n:id/two"),
    ]


def test_a_window_that_is_announced_again_does_not_end_a_text_and_another_one_does() -> None:
    again = texts(activity("Edit"), entered("a"), activity("Edit"), entered("ab"))
    assert [t.text for t in again] == ["ab"]
    other = texts(activity("Edit"), entered("a"), activity("Found"), entered("ab"))
    assert [t.text for t in other] == ["a", "ab"]


def test_a_click_without_bounds_separates_texts_but_not_the_step_they_are() -> None:
    found = texts(activity("Edit"), entered("a"), tapped("ON", bounds=NOWHERE), entered("ab"))
    assert [(t.text, t.merged, t.events) for t in found] == [("a", True, 1), ("ab", False, 2)]


def test_a_password_that_is_shown_later_stays_masked_and_typed_asterisks_do_not() -> None:
    assert [t.is_masked for t in texts(entered("•"), entered("••"), entered("ab"))] == [True]
    assert [t.is_masked for t in texts(entered("*"), entered("**"), entered("**61"))] == [False]


@pytest.mark.parametrize(
    ("label", "text", "late_ms", "filled"),
    [
        ("linkin park", "linkin park live", FILLED_WITHIN_MS, True),
        ("linkin park", "linkin park live", FILLED_WITHIN_MS + 1, False),
        ("Clear", "", 100, True),
        ("OK", "look", 100, False),
    ],
)
def test_a_text_soon_after_a_tap_on_something_like_it_was_put_there_by_the_tap(
    label: str, text: str, late_ms: int, *, filled: bool
) -> None:
    found = actions(activity("Search"), tapped(label), after(late_ms, entered(text)))
    assert [a.filled == text for a in found if isinstance(a, UserTap)] == [filled]
    assert any(isinstance(a, UserText) for a in found) is not filled


def test_a_tap_on_a_text_field_fills_nothing() -> None:
    events = exported([activity("Edit"), tapped("Anna"), after(100, entered("Annab"))]).events
    found = list(ActionReader(lambda _: True).read(events))
    assert [type(a) for a in found[-2:]] == [UserTap, UserText]


# Keyboards, scrolls and windows


def test_clicks_and_scrolls_of_a_keyboard_are_nothing() -> None:
    shown = window(0, "com.example.letters", className="android.inputmethodservice.SoftInputWindow", title=None)
    found = actions(shown, tapped("q", "com.example.letters"), scroll(0, "com.example.letters"))
    assert [(type(a), getattr(a, "role", None)) for a in found] == [(WindowShown, "keyboard")]


def test_a_scroll_knows_its_direction_and_whether_a_text_came_before() -> None:
    up = {**scroll(0, NOTES), "scrollY": 100}
    across = {**scroll(0, NOTES), "scrollX": 900, "scrollY": 100, "resourceId": "n:id/pages"}
    found = actions(activity("List"), scroll(0, NOTES), up, across, entered("a"), scroll(0, NOTES))
    scrolls = [a for a in found if isinstance(a, UserScroll)]
    assert [(s.direction, s.events, s.follows_text) for s in scrolls] == [
        ("up", 2, False),
        ("right", 1, False),
        ("left", 1, True),
    ]


def test_every_window_has_a_role() -> None:
    toast = window(0, NOTES, className="android.widget.Toast$TN", title=None)
    dialog = window(0, NOTES, className="a.AlertDialog", title="Sure?")
    flow = [HOME, activity("List"), activity("Edit"), activity("Edit"), dialog, toast, activity("List"), GESTURE]
    assert [a.role for a in actions(*flow) if isinstance(a, WindowShown)] == [
        "launcher",
        "app",
        "screen",
        "repeat",
        "dialog",
        "transient",
        "return",
        "system",
    ]


@pytest.mark.random
@given(event_lists)
def test_actions_of_any_events_keep_their_order_and_every_window(events: list[dict[str, Any]]) -> None:
    found = actions(*events)
    assert [a.at for a in found if a.confidence != "high"] == sorted(a.at for a in found if a.confidence != "high")
    windows = [i for i, event in enumerate(events) if event["type"] == "window_change"]
    assert [a.at for a in found if isinstance(a, WindowShown)] == windows
