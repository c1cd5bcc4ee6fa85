"""Snapshots, screenshots and recordings."""

from typing import Any

import pytest

from clawperator.engine.clock import VirtualClock
from clawperator.engine.driver import RecordingInfo, Windows
from clawperator.engine.scripted import FullScriptedDriver, ScriptedDriver, node
from clawperator.errors import ClawError
from clawperator.ui.parse import parse_hierarchy
from tests.engine.scripted_plans import run, step

AFTER = ("sleep", {"durationMs": 0})
WARNING = (
    "snapshot captured without a preceding sleep step; UI may not have settled - consider adding a sleep step "
    "between click and snapshot_ui"
)


def phone(**answers: Any) -> FullScriptedDriver:
    return FullScriptedDriver(VirtualClock(), node("Settings <&>", clickable="true"), **answers)


def test_a_snapshot_holds_the_hierarchy_and_the_windows() -> None:
    a = phone()
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
    data = step(phone(windows=Windows(None, "com.over", 3)), "snapshot_ui").data
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
    result = run(phone(), before, ("snapshot_ui", {}), ("snapshot_ui", {}))
    assert result.stepResults[1].data.get("warn") == (WARNING if warned else None)
    assert "warn" not in result.stepResults[2].data


def test_a_snapshot_waits_for_a_window() -> None:
    a = phone(dump=ClawError("SNAPSHOT_HIERARCHY_UNAVAILABLE", "none"))
    a.clock.call_at(1, a.answers.clear)
    assert step(a, "snapshot_ui").success


def test_a_phone_without_a_window_has_no_snapshot() -> None:
    result = run(phone(dump=ClawError("SNAPSHOT_HIERARCHY_UNAVAILABLE", "none")), ("snapshot_ui", {}), AFTER)
    assert result.errorCode == "SNAPSHOT_HIERARCHY_UNAVAILABLE"
    assert len(result.stepResults) == 1


def test_every_screenshot_is_taken_at_its_own_step() -> None:
    a = phone()
    pictures = iter([b"one", b"two"])
    a.answers["screenshot"] = lambda: next(pictures)
    saved: list[tuple[str | None, bytes]] = []

    def save(path: str | None, png: bytes) -> str:
        saved.append((path, png))
        return path or "/tmp/made-up.png"

    result = run(a, ("take_screenshot", {"path": "/tmp/a.png"}), AFTER, ("take_screenshot", {}), save=save)
    assert saved == [("/tmp/a.png", b"one"), (None, b"two")]
    assert [s.data.get("path") for s in result.stepResults] == ["/tmp/a.png", None, "/tmp/made-up.png"]


@pytest.mark.parametrize("driver", [ScriptedDriver(VirtualClock()), phone(screenshot=b"")])
def test_a_driver_without_screenshots_fails_the_step_and_the_next_one_runs(driver: ScriptedDriver) -> None:
    result = run(driver, ("take_screenshot", {}), AFTER, save=lambda _path, _png: "/x")
    assert result.stepResults[0].data["error"] == "UNSUPPORTED_RUNTIME_SCREENSHOT"
    assert result.stepResults[0].data["message"]
    assert len(result.stepResults) == 2


def test_a_phone_that_is_lost_at_a_screenshot_ends_the_execution() -> None:
    a = phone(screenshot=ClawError("DEVICE_OFFLINE", "gone"))
    result = run(a, ("take_screenshot", {}), AFTER, save=lambda _path, _png: "/x")
    assert result.errorCode == "DEVICE_OFFLINE"
    assert len(result.stepResults) == 1


def test_without_a_place_to_write_there_are_no_screenshots() -> None:
    a = phone()
    assert step(a, "take_screenshot").data["error"] == "UNSUPPORTED_RUNTIME_SCREENSHOT"
    assert a.named("screenshot") == []


def test_a_picture_that_cannot_be_written_is_a_typed_failure() -> None:
    def save(_path: str | None, _png: bytes) -> str:
        raise ClawError("USAGE", "that path leads out")

    assert run(phone(), ("take_screenshot", {}), save=save).errorCode == "USAGE"


def test_a_recording_starts_and_stops() -> None:
    a = phone()
    result = run(a, ("start_recording", {"sessionId": "s1"}), ("stop_recording", {}))
    assert [s.data for s in result.stepResults] == [
        {"sessionId": "s1", "filePath": "/r/s1.ndjson"},
        {"sessionId": "s1", "filePath": "/r/s1.ndjson", "eventCount": "7"},
    ]
    assert a.named("start_recording") == [("s1",)]
    assert a.named("stop_recording") == [(None,)]


def test_an_unknown_event_count_is_omitted() -> None:
    assert "eventCount" not in step(phone(stop_recording=RecordingInfo("s", "/r")), "stop_recording").data


def test_a_second_recording_is_refused_with_the_way_out() -> None:
    running = {"sessionId": "s0", "filePath": "/r/s0.ndjson"}
    error = ClawError("RECORDING_ALREADY_IN_PROGRESS", "a recording is running", details=running)
    result = run(phone(start_recording=error), ("start_recording", {}), AFTER)
    data = result.stepResults[0].data
    assert data["error"] == "RECORDING_ALREADY_IN_PROGRESS"
    assert (data["sessionId"], data["filePath"]) == ("s0", "/r/s0.ndjson")
    assert "recording stop --session-id s0" in data["hint"]
    assert result.hint == data["hint"]
    assert len(result.stepResults) == 2


def test_the_hint_of_the_recorder_wins() -> None:
    error = ClawError("RECORDING_ALREADY_IN_PROGRESS", "m", hint="mine", details={"sessionId": "s"})
    assert step(phone(start_recording=error), "start_recording").data["hint"] == "mine"


def test_stopping_without_a_recording_lets_the_next_action_run() -> None:
    error = ClawError("RECORDING_NOT_IN_PROGRESS", "none runs")
    result = run(phone(stop_recording=error), ("stop_recording", {}), AFTER)
    assert result.stepResults[0].data == {"error": "RECORDING_NOT_IN_PROGRESS", "message": "none runs"}
    assert len(result.stepResults) == 2


def test_a_lost_phone_ends_the_execution_in_a_recording_too() -> None:
    error = ClawError("DEVICE_OFFLINE", "gone")
    for kind in ("start_recording", "stop_recording"):
        result = run(phone(**{kind: error}), (kind, {}), AFTER)
        assert result.errorCode == "DEVICE_OFFLINE"
        assert len(result.stepResults) == 1


def test_a_driver_without_a_recorder_fails_the_step_and_the_next_one_runs() -> None:
    result = run(ScriptedDriver(VirtualClock()), ("start_recording", {}), ("stop_recording", {}), AFTER)
    start, stop, after = result.stepResults
    assert [start.data["error"], stop.data["error"]] == ["RECORDING_UNAVAILABLE"] * 2
    assert "recording start" in start.data["hint"]
    assert after.success
