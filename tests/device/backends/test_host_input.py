"""Gestures, keys, waits and expectations: the host runs them over the Operator and over plain adb."""

import json
from collections.abc import Iterator

import pytest

from tests.device.backends.host_bench import INPUT, HostBench, host_bench

SAID = {"resourceId": f"{INPUT}:id/said"}


@pytest.fixture(params=["operator", "adb"])
def bench(request: pytest.FixtureRequest) -> Iterator[HostBench]:
    with host_bench(request.param) as made:
        yield made


def test_a_long_click_of_a_given_duration_is_held_that_long(bench: HostBench) -> None:
    data = bench.data("click", matcher={"textEquals": "Hold"}, clickType="long_click", durationMs=900)
    assert (data["duration_ms"], data["dispatch_method"]) == ("900", "gesture_long_press")
    assert bench.state() == "held"


def test_a_double_tap_is_two_taps_on_the_node(bench: HostBench) -> None:
    data = bench.data("double_tap", matcher={"textEquals": "Twice"})
    assert (data["dispatch_method"], data["effect"]) == ("gesture_double_tap", "changed")
    assert bench.state() == "twice"


def test_a_node_is_dragged_to_another(bench: HostBench) -> None:
    data = bench.data("drag", matcher={"textEquals": "Card"}, toMatcher={"textEquals": "Bin"}, durationMs=300)
    assert (data["dispatch_method"], data["effect"]) == ("gesture_drag", "changed")
    assert json.loads(data["matched_target"])["label"] == "Card"
    assert bench.state() == "dropped card"


def test_a_swipe_scrolls_and_a_click_follows_in_the_same_plan(bench: HostBench) -> None:
    bench.phone.open_app("com.android.settings")
    envelope = bench.run(
        {"type": "swipe", "params": {"direction": "up", "settle": True}},
        {"type": "swipe", "params": {"start": {"x": 500, "y": 600}, "end": {"x": 500, "y": 1500}}},
        {"type": "click", "params": {"matcher": {"textEquals": "Display"}}},
        {"type": "wait_for_node", "params": {"matcher": {"textEquals": "Dark theme"}, "timeoutMs": 5_000}},
    )
    assert [step.success for step in envelope.stepResults] == [True] * 4, envelope
    assert envelope.stepResults[0].data["effect"] == "changed"


def test_a_query_lists_the_matches_of_the_screen(bench: HostBench) -> None:
    data = bench.data("query", matcher={"textEquals": "Card"})
    (match,) = json.loads(data["matches"])
    assert (data["count"], match["label"]) == ("1", "Card")


def test_a_point_outside_of_the_screen_is_refused(bench: HostBench) -> None:
    step = bench.step("double_tap", coordinate={"x": 90_000, "y": 1}, retry={"maxAttempts": 1})
    assert (step.success, step.data["error"]) == (False, "GESTURE_FAILED")


def test_keys_by_name_edit_and_submit_a_field(bench: HostBench) -> None:
    bench.data("enter_text", matcher={"resourceId": f"{INPUT}:id/name"}, text="abc")
    data = bench.data("press_key", key="delete")
    assert (data["key"], data["dispatch_method"]) == ("delete", "key_event")
    assert bench.state("name") == "ab"
    bench.data("press_key", key="enter")
    assert bench.state() == "submitted"


def test_the_focused_field_is_submitted(bench: HostBench) -> None:
    bench.data("enter_text", matcher={"resourceId": f"{INPUT}:id/name"}, text="abc")
    assert bench.data("submit_text")["dispatch_method"] == "submit"
    assert bench.state() == "submitted"


def test_submitting_without_a_focused_field_touches_nothing(bench: HostBench) -> None:
    step = bench.step("submit_text", retry={"maxAttempts": 1})
    assert (step.data["error"], step.data.get("dispatched")) == ("NODE_NOT_FOUND", None)


def test_waits_see_what_the_app_does(bench: HostBench) -> None:
    envelope = bench.run(
        {"type": "click", "params": {"matcher": {"textEquals": "Start"}}},
        {"type": "wait_until_gone", "params": {"matcher": {"textEquals": "Said Working"}}},
        {"type": "wait_for_any", "params": {"selectors": [{"textEquals": "No"}, {"textContains": "said done"}]}},
        {"type": "wait_until_idle", "params": {"quietMs": 100}},
        {"type": "wait_for_text_change", "params": {"matcher": SAID, "text": "Said Working"}},
    )
    assert [step.success for step in envelope.stepResults] == [True] * 5, envelope
    assert envelope.stepResults[2].data["matched_index"] == "1"
    assert envelope.stepResults[2].data["label"] == "Said Done"


def test_an_expectation_is_met_and_the_plan_goes_on(bench: HostBench) -> None:
    envelope = bench.run(
        {"type": "click", "params": {"matcher": {"textEquals": "Start"}, "expect": {"text": "Said Done"}}},
        {"type": "read_text", "params": {"matcher": {"resourceId": f"{INPUT}:id/said"}}},
    )
    assert [step.success for step in envelope.stepResults] == [True, True], envelope
    assert envelope.stepResults[0].data["expectation"] == "met"
    assert envelope.stepResults[1].data["text"] == "Said Done"


def test_an_expectation_that_fails_keeps_the_effect_and_ends_the_plan(bench: HostBench) -> None:
    expect = {"text": "Secnd page", "app": INPUT, "timeoutMs": 300}
    envelope = bench.run(
        {"type": "click", "params": {"matcher": {"textEquals": "Next"}, "expect": expect}},
        {"type": "press_key", "params": {"key": "back"}},
    )
    (step,) = envelope.stepResults
    assert (envelope.status, envelope.errorCode) == ("failed", "EXPECTATION_FAILED")
    assert (step.success, step.data["dispatched"], step.data["effect"]) == (False, "true", "changed")
    assert "'Secnd page' on the screen" in step.data["message"]
    assert "'Second page'" in step.data["message"]


def test_closing_an_app_may_be_expected_to_show_another(bench: HostBench) -> None:
    expect = {"app": "com.android.launcher3", "timeoutMs": 5_000}
    launcher = bench.phone.phone.tasks.launcher.process.app.package
    data = bench.data("close_app", applicationId=INPUT, expect={**expect, "app": launcher})
    assert data["expectation"] == "met"


def test_a_text_replaces_and_extends_the_one_of_a_field(bench: HostBench) -> None:
    field = {"resourceId": f"{INPUT}:id/name"}
    long = "a text that is longer than a line of the field, so that it is wrapped"
    for text, append, whole in [
        ("my draft", False, "my draft"),
        ("!", True, "my draft!"),
        ("née", False, "née"),
        (long, False, long),
        (" née", True, long + " née"),
        ("ça va", False, "ça va"),
    ]:
        bench.data("enter_text", matcher=field, text=text, append=append)
        assert bench.state("name") == whole
