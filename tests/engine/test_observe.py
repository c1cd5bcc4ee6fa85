"""Observation: labels and values, snapshots, screenshots and recordings."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.contract.actions import ReadTextParams
from clawperator.contract.execution import Action, Execution
from clawperator.contract.selectors import NodeSelector
from clawperator.engine.clock import VirtualClock
from clawperator.engine.driver import RecordingInfo, Windows
from clawperator.engine.run import Engine
from clawperator.engine.scripted import FullScriptedDriver, ScriptedDriver, node
from clawperator.errors import ClawError
from clawperator.testing import simulated_phone
from clawperator.ui.node import Node
from clawperator.ui.parse import parse_hierarchy
from tests.engine.scripted_plans import run, step

ONCE = {"maxAttempts": 1}
AFTER = ("sleep", {"durationMs": 0})


def phone(*roots: Node, **answers: Any) -> FullScriptedDriver:
    return FullScriptedDriver(VirtualClock(), *roots, **answers)


def read(a: FullScriptedDriver, **params: Any) -> dict[str, str]:
    return step(a, "read_text", **{"retry": ONCE, **params}).data


def test_the_label_is_the_text_or_else_the_description() -> None:
    assert read(phone(node("21 °C", id="t")), matcher={"resourceId": "t"}) == {
        "text": "21 °C",
        "validator": "none",
    }
    assert read(phone(node(" ", desc="Search", id="t")), matcher={"resourceId": "t"})["text"] == "Search"


def test_a_missing_node_ends_the_execution() -> None:
    result = run(phone(), ("read_text", {"matcher": {"resourceId": "t"}, "retry": ONCE}), AFTER)
    assert result.errorCode == "NODE_NOT_FOUND"
    assert len(result.stepResults) == 1


@pytest.mark.parametrize(
    ("validator", "text", "good"),
    [
        ("temperature", "21", True),
        ("temperature", "-3.5 °C", True),
        ("temperature", "\u22123,5°f", True),
        ("temperature", " 70 F ", True),
        ("temperature", "21℃", True),
        ("temperature", "--", False),
        ("temperature", "21 degrees", False),
        ("temperature", "21 22", False),
        ("version", "14", True),
        ("version", "1.20.3", True),
        ("version", "1.20.", False),
        ("version", "v1.2", False),
    ],
)
def test_a_validator_decides(validator: str, text: str, *, good: bool) -> None:
    data = read(phone(node(text, id="t")), matcher={"resourceId": "t"}, validator=validator)
    assert data["validator"] == validator
    if good:
        assert data["text"] == text
    else:
        assert (data["error"], data["raw_text"]) == ("VALIDATOR_MISMATCH", text)


@pytest.mark.parametrize(("text", "good"), [("ab12", True), ("xab12", False), ("ab12x", False)])
def test_a_pattern_must_match_the_whole_text(text: str, *, good: bool) -> None:
    a = phone(node(text, id="t"))
    data = read(a, matcher={"resourceId": "t"}, validator="regex", validatorPattern="[a-z]{2}(?<n>[0-9]+)")
    assert ("error" not in data) is good


def test_a_mismatch_lets_the_next_action_run() -> None:
    action = ("read_text", {"matcher": {"resourceId": "t"}, "validator": "version", "retry": ONCE})
    assert len(run(phone(node("x", id="t")), action, AFTER).stepResults) == 2


def test_a_text_that_becomes_valid_is_read() -> None:
    a = phone(node("--", id="t"))
    a.show_at(1, node("21 °C", id="t"))
    assert step(a, "read_text", matcher={"resourceId": "t"}, validator="temperature").data["text"] == "21 °C"


def test_a_pattern_that_does_not_compile_is_a_typed_failure() -> None:
    params = ReadTextParams(NodeSelector(resourceId="t"), validator="regex", validatorPattern="(")
    a = phone()
    result = Engine(a, a.clock).run(Execution("c", "t", "s", 1_000, (Action("x", "read_text", params),), None))
    assert result.errorCode == "INVALID_REGEX_PATTERN"


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*b", "(?:a*)*c"])
def test_no_pattern_can_hang(pattern: str) -> None:
    a = phone(node("a" * 1_500 + "!", id="t"))
    data = read(a, matcher={"resourceId": "t"}, validator="regex", validatorPattern=pattern)
    assert data["error"] == "VALIDATOR_MISMATCH"


def test_a_pattern_that_needs_backtracking_is_refused_on_the_host() -> None:
    a = phone(node("ab", id="t"))
    data = read(a, matcher={"resourceId": "t"}, validator="regex", validatorPattern="(?=a).*")
    assert data["error"] == "INVALID_REGEX_PATTERN"
    assert "look-around" in data["message"]
    assert "Operator" in data["hint"]


def test_a_pattern_that_needs_backtracking_runs_on_a_phone() -> None:
    with simulated_phone() as simulated:
        simulated.open_app("com.android.settings")
        assert simulated.read("Display", validator="regex", pattern="(?=D).*") == "Display"
        with pytest.raises(ClawError) as failed:
            simulated.read("Display", validator="regex", pattern="(?!D).*", timeout=1)
        assert failed.value.code == "VALIDATOR_MISMATCH"


def two_lists() -> FullScriptedDriver:
    return phone(
        node(
            "",
            node("", node("one", id="t"), id="first", bounds="[0,0][1080,100]"),
            node("", node("two", id="t"), node("three", id="t"), id="second", bounds="[0,100][1080,200]"),
        )
    )


def test_a_container_limits_the_search() -> None:
    data = read(two_lists(), matcher={"resourceId": "t"}, container={"resourceId": "second"})
    assert (data["text"], data["container"]) == ("two", '{"resourceId":"second"}')


@pytest.mark.parametrize(
    ("matcher", "container", "code"),
    [("t", "third", "CONTAINER_NOT_FOUND"), ("u", "second", "NODE_NOT_FOUND")],
)
def test_what_is_missing_with_a_container_lets_the_next_action_run(
    matcher: str, container: str, code: str
) -> None:
    params = {"matcher": {"resourceId": matcher}, "container": {"resourceId": container}, "retry": ONCE}
    result = run(two_lists(), ("read_text", params), AFTER)
    assert result.errorCode == code
    assert len(result.stepResults) == 2


def test_all_gives_every_label_as_json() -> None:
    data = read(two_lists(), matcher={"resourceId": "t"}, all=True)
    assert data == {"text": '["one","two","three"]', "all": "true", "count": "3", "validator": "none"}
    data = read(two_lists(), matcher={"resourceId": "t"}, all=True, container={"resourceId": "second"})
    assert json.loads(data["text"]) == ["two", "three"]


def test_all_of_nothing_is_an_empty_list() -> None:
    assert read(phone(), matcher={"resourceId": "t"}, all=True)["text"] == "[]"
    data = read(two_lists(), matcher={"resourceId": "u"}, all=True, container={"resourceId": "second"})
    assert (data["text"], data["count"]) == ("[]", "0")


def test_with_all_each_text_must_be_valid() -> None:
    data = read(two_lists(), matcher={"resourceId": "t"}, all=True, validator="regex", validatorPattern="one|two")
    assert (data["error"], data["raw_text"]) == ("VALIDATOR_MISMATCH", "three")


@pytest.mark.random
@given(st.lists(st.text(st.characters(), min_size=1), max_size=4))
def test_all_is_valid_json_whatever_the_texts(texts: list[str]) -> None:
    a = phone(node("root", *(node(text, id="t") for text in texts)))
    data = read(a, matcher={"resourceId": "t"}, all=True)
    values = json.loads(data["text"])
    assert len(values) == len(texts)
    json.dumps(data, ensure_ascii=False).encode()
    for got, text in zip(values, texts, strict=True):
        assert got == text or not text.strip() or not text.isprintable() or "\ufffd" in got


def pair(a: FullScriptedDriver, **params: Any) -> dict[str, str]:
    return step(a, "read_key_value_pair", labelMatcher={"textEquals": "Wi-Fi"}, **{"retry": ONCE, **params}).data


def row(*children: Node, **attributes: str) -> Node:
    return node("", *children, cls="android.widget.LinearLayout", **attributes)


def test_the_value_is_what_follows_the_label() -> None:
    a = phone(row(node("Wi-Fi"), node("Connected")))
    assert pair(a) == {"label": "Wi-Fi", "value": "Connected"}


def test_a_summary_is_preferred() -> None:
    a = phone(row(node("Wi-Fi"), row(node("3")), node("Connected", id="android:id/summary")))
    assert pair(a)["value"] == "Connected"


def test_the_value_may_be_in_the_next_column() -> None:
    a = phone(row(row(row(node("Wi-Fi"))), row(node("", desc="On"))))
    assert pair(a)["value"] == "On"


@pytest.mark.parametrize(
    "root",
    [
        row(node("Wi-Fi")),
        row(row(node("Wi-Fi")), row(node("Bluetooth")), scrollable="true"),
        node("", row(node("Wi-Fi")), row(node("Bluetooth")), cls="android.widget.ListView"),
        row(node("Wi-Fi"), node(""), id="x"),
        row(node("Wi-Fi"), node("off screen", bounds="[0,2400][10,2500]")),
    ],
)
def test_a_label_without_a_value_does_not_take_that_of_another_row(root: Node) -> None:
    assert pair(phone(root))["error"] == "VALUE_NODE_NOT_FOUND"


def test_a_row_ends_the_search() -> None:
    inner = row(row(node("Wi-Fi")))
    inner.extras = frozenset({"horizontal"})
    assert pair(phone(row(inner, node("next row"))))["error"] == "VALUE_NODE_NOT_FOUND"


def test_a_missing_label_lets_the_next_action_run() -> None:
    action = ("read_key_value_pair", {"labelMatcher": {"textEquals": "Wi-Fi"}, "retry": ONCE})
    result = run(phone(), action, AFTER)
    assert result.errorCode == "NODE_NOT_FOUND"
    assert len(result.stepResults) == 2


def test_all_pairs_are_returned_as_json() -> None:
    a = phone(
        row(row(node("Wi-Fi"), node("A")), row(node("Wi-Fi")), row(node("Wi-Fi"), node("B")), scrollable="true")
    )
    data = pair(a, all=True)
    assert (data["label"], data["value"], data["all"], data["count"]) == ("Wi-Fi", "A", "true", "2")
    assert [p["value"] for p in json.loads(data["pairs"])] == ["A", "B"]


def test_a_value_that_comes_late_is_read() -> None:
    a = phone(row(node("Wi-Fi")))
    a.show_at(1, row(node("Wi-Fi"), node("Connected")))
    assert step(a, "read_key_value_pair", labelMatcher={"textEquals": "Wi-Fi"}).data["value"] == "Connected"


WARNING = (
    "snapshot captured without a preceding sleep step; UI may not have settled - consider adding a sleep step "
    "between click and snapshot_ui"
)


def settings_phone(**answers: Any) -> FullScriptedDriver:
    return FullScriptedDriver(VirtualClock(), node("Settings <&>", clickable="true"), **answers)


def test_a_snapshot_holds_the_hierarchy_and_the_windows() -> None:
    a = settings_phone()
    data = step(a, "snapshot_ui").data
    text = data.pop("text")
    assert data == {
        "actual_format": "hierarchy_xml",
        "foreground_package": "com.example",
        "has_overlay": "false",
        "window_count": "2",
    }
    assert text.startswith("<?xml")
    assert text.endswith("</hierarchy>")
    assert parse_hierarchy(text).nodes[0].text == "Settings <&>"


def test_an_overlay_is_reported_and_an_unknown_package_is_not() -> None:
    data = step(settings_phone(windows=Windows(None, "com.over", 3)), "snapshot_ui").data
    assert (data["has_overlay"], data["overlay_package"], data["window_count"]) == ("true", "com.over", "3")
    assert "foreground_package" not in data


@pytest.mark.parametrize(
    ("before", "warned"),
    [
        (("click", {"matcher": {"textContains": "Settings"}}), True),
        (("scroll_and_click", {"matcher": {"textContains": "Settings"}}), True),
        (AFTER, False),
        (("press_key", {"key": "back"}), False),
    ],
)
def test_a_snapshot_right_after_a_click_has_the_warning(
    before: tuple[str, dict[str, Any]], *, warned: bool
) -> None:
    result = run(settings_phone(), before, ("snapshot_ui", {}), ("snapshot_ui", {}))
    assert result.stepResults[1].data.get("warn") == (WARNING if warned else None)
    assert "warn" not in result.stepResults[2].data


def test_a_snapshot_waits_for_a_window() -> None:
    a = settings_phone(dump=ClawError("SNAPSHOT_HIERARCHY_UNAVAILABLE", "none"))
    a.clock.call_at(1, a.answers.clear)
    assert step(a, "snapshot_ui").success


def test_a_phone_without_a_window_has_no_snapshot() -> None:
    result = run(
        settings_phone(dump=ClawError("SNAPSHOT_HIERARCHY_UNAVAILABLE", "none")), ("snapshot_ui", {}), AFTER
    )
    assert result.errorCode == "SNAPSHOT_HIERARCHY_UNAVAILABLE"
    assert len(result.stepResults) == 1


def test_every_screenshot_is_taken_at_its_own_step() -> None:
    a = settings_phone()
    pictures = iter([b"one", b"two"])
    a.answers["screenshot"] = lambda: next(pictures)
    saved: list[tuple[str | None, bytes]] = []

    def save(path: str | None, png: bytes) -> str:
        saved.append((path, png))
        return path or "/tmp/made-up.png"

    result = run(a, ("take_screenshot", {"path": "/tmp/a.png"}), AFTER, ("take_screenshot", {}), save=save)
    assert saved == [("/tmp/a.png", b"one"), (None, b"two")]
    assert [s.data.get("path") for s in result.stepResults] == ["/tmp/a.png", None, "/tmp/made-up.png"]


@pytest.mark.parametrize("driver", [ScriptedDriver(VirtualClock()), settings_phone(screenshot=b"")])
def test_a_driver_without_screenshots_fails_the_step_and_the_next_one_runs(driver: ScriptedDriver) -> None:
    result = run(driver, ("take_screenshot", {}), AFTER, save=lambda _path, _png: "/x")
    assert result.stepResults[0].data["error"] == "UNSUPPORTED_RUNTIME_SCREENSHOT"
    assert result.stepResults[0].data["message"]
    assert len(result.stepResults) == 2


def test_a_phone_that_is_lost_at_a_screenshot_ends_the_execution() -> None:
    a = settings_phone(screenshot=ClawError("DEVICE_OFFLINE", "gone"))
    result = run(a, ("take_screenshot", {}), AFTER, save=lambda _path, _png: "/x")
    assert result.errorCode == "DEVICE_OFFLINE"
    assert len(result.stepResults) == 1


def test_without_a_place_to_write_there_are_no_screenshots() -> None:
    a = settings_phone()
    assert step(a, "take_screenshot").data["error"] == "UNSUPPORTED_RUNTIME_SCREENSHOT"
    assert a.named("screenshot") == []


def test_a_picture_that_cannot_be_written_is_a_typed_failure() -> None:
    def save(_path: str | None, _png: bytes) -> str:
        raise ClawError("USAGE", "that path leads out")

    assert run(settings_phone(), ("take_screenshot", {}), save=save).errorCode == "USAGE"


def test_a_recording_starts_and_stops() -> None:
    a = settings_phone()
    result = run(a, ("start_recording", {"sessionId": "s1"}), ("stop_recording", {}))
    assert [s.data for s in result.stepResults] == [
        {"sessionId": "s1", "filePath": "/r/s1.ndjson"},
        {"sessionId": "s1", "filePath": "/r/s1.ndjson", "eventCount": "7"},
    ]
    assert a.named("start_recording") == [("s1",)]
    assert a.named("stop_recording") == [(None,)]


def test_an_unknown_event_count_is_omitted() -> None:
    assert "eventCount" not in step(settings_phone(stop_recording=RecordingInfo("s", "/r")), "stop_recording").data


def test_a_second_recording_is_refused_with_the_way_out() -> None:
    running = {"sessionId": "s0", "filePath": "/r/s0.ndjson"}
    error = ClawError("RECORDING_ALREADY_IN_PROGRESS", "a recording is running", details=running)
    result = run(settings_phone(start_recording=error), ("start_recording", {}), AFTER)
    data = result.stepResults[0].data
    assert data["error"] == "RECORDING_ALREADY_IN_PROGRESS"
    assert (data["sessionId"], data["filePath"]) == ("s0", "/r/s0.ndjson")
    assert "recording stop --session-id s0" in data["hint"]
    assert result.hint == data["hint"]
    assert len(result.stepResults) == 2


def test_the_hint_of_the_recorder_wins() -> None:
    error = ClawError("RECORDING_ALREADY_IN_PROGRESS", "m", hint="mine", details={"sessionId": "s"})
    assert step(settings_phone(start_recording=error), "start_recording").data["hint"] == "mine"


def test_stopping_without_a_recording_lets_the_next_action_run() -> None:
    error = ClawError("RECORDING_NOT_IN_PROGRESS", "none runs")
    result = run(settings_phone(stop_recording=error), ("stop_recording", {}), AFTER)
    assert result.stepResults[0].data == {"error": "RECORDING_NOT_IN_PROGRESS", "message": "none runs"}
    assert len(result.stepResults) == 2


def test_a_lost_phone_ends_the_execution_in_a_recording_too() -> None:
    error = ClawError("DEVICE_OFFLINE", "gone")
    for kind in ("start_recording", "stop_recording"):
        result = run(settings_phone(**{kind: error}), (kind, {}), AFTER)
        assert result.errorCode == "DEVICE_OFFLINE"
        assert len(result.stepResults) == 1


def test_a_driver_without_a_recorder_fails_the_step_and_the_next_one_runs() -> None:
    result = run(ScriptedDriver(VirtualClock()), ("start_recording", {}), ("stop_recording", {}), AFTER)
    start, stop, after = result.stepResults
    assert [start.data["error"], stop.data["error"]] == ["RECORDING_UNAVAILABLE"] * 2
    assert after.success
