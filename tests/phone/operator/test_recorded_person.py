"""Recordings of a user who only touches the screen."""

import json
from pathlib import Path
from typing import Any

from clawperator.recording.compare.checkpoints import REQUIRED, find_solax_checkpoints
from clawperator.recording.export import export_recording, main_package, read_export
from clawperator.recording.parse import parse_recording
from clawperator.testing import SimulatedPhone
from tests.support.demonstrations import show_solar_limit, show_video_search

SOLAR = "com.solaxcloud.starter"
VIDEO = "com.google.android.youtube"
SETTINGS = "com.android.settings"


def recorded(phone: SimulatedPhone, folder: Path) -> tuple[list[dict[str, Any]], str]:
    """The events of the recording that runs, and the file it was saved to."""
    phone.stop_recording()
    data = phone.read_recording()
    path = folder / "demo.ndjson"
    path.write_bytes(data)
    header, *events = (json.loads(line) for line in data.splitlines())
    assert header["type"] == "recording_header"
    assert [event["seq"] for event in events] == list(range(len(events)))
    return events, str(path)


def check_snapshots(events: list[dict[str, Any]]) -> None:
    for event in events:
        if event["type"] in ("click", "window_change"):
            assert event["snapshot"].startswith("<?xml")
        else:
            assert event["snapshot"] is None


def test_the_discharge_limit_is_set_by_hand_and_its_recording_holds_every_checkpoint(
    phone: SimulatedPhone, tmp_path: Path
) -> None:
    phone.start_recording("discharge")
    show_solar_limit(phone)
    events, path = recorded(phone, tmp_path)
    check_snapshots(events)
    assert phone.phone.tasks.front.process.data
    assert [e["text"] for e in events if e["type"] == "text_change"] == ["4", "", "4", "40"]
    parse_recording(path, None)
    out = str(tmp_path / "demo.export.json")
    export_recording(path, out)
    export = read_export(Path(out).read_bytes())
    baseline = find_solax_checkpoints(export)
    assert main_package(export.events) == SOLAR
    assert [checkpoint.id for checkpoint in baseline.checkpoints] == list(REQUIRED)


def test_a_video_is_searched_for_as_in_the_recorded_example(phone: SimulatedPhone, tmp_path: Path) -> None:
    phone.start_recording("video")
    show_video_search(phone)
    events, path = recorded(phone, tmp_path)
    check_snapshots(events)
    typed = [e["text"] for e in events if e["type"] == "text_change"]
    assert typed[:3] == ["l", "li", "lin"]
    assert "linking park" in typed
    assert typed[-1] == "linkin park waiting for the end emily"
    assert all(e["resourceId"] is None for e in events if e["type"] == "text_change")
    at = next(i for i, e in enumerate(events) if e["type"] == "click" and "Edit suggestion" in (e["text"] or ""))
    suggestion = events[at]
    assert suggestion["resourceId"] == f"{VIDEO}:id/edit_suggestion"
    assert suggestion["text"] == suggestion["contentDesc"] == "Edit suggestion linkin park waiting for the end"
    assert events[at + 1]["type"] == "text_change"
    assert events[at + 1]["text"] == "linkin park waiting for the end e"
    result, _ = parse_recording(path, None)
    assert result.stepCount > 0
    export_recording(path, str(tmp_path / "video.export.json"))


def test_a_walk_through_settings_three_levels_down_and_home_again(phone: SimulatedPhone, tmp_path: Path) -> None:
    phone.start_recording("walk")
    person = phone.person
    person.tap("Settings")
    person.scroll_down()
    person.scroll_up()
    person.tap("Network & internet")
    person.tap("Internet")
    levels = [e for e in phone.events if e.kind == "window_state_changed" and e.package == SETTINGS]
    assert len(levels) == 3
    for _ in range(3):
        person.back()
    assert phone.foreground() == "com.android.launcher3"
    events, path = recorded(phone, tmp_path)
    check_snapshots(events)
    assert any(e["type"] == "scroll" and e["scrollY"] > 0 for e in events)
    backs = [e for e in events if e["type"] == "click" and e["packageName"] == "com.android.systemui"]
    assert [e["contentDesc"] for e in backs] == ["Back"] * 3
    result, _ = parse_recording(path, None)
    assert result.stepCount >= 3
    export_recording(path, str(tmp_path / "walk.export.json"))


def test_a_hardware_back_key_is_recorded_and_an_injected_one_is_not(phone: SimulatedPhone, tmp_path: Path) -> None:
    phone.start_recording("keys")
    phone.open_app(SETTINGS)
    phone.phone.press_back_key()
    phone.open_app(SETTINGS)
    phone.phone.key(4)
    events, _ = recorded(phone, tmp_path)
    assert [e["key"] for e in events if e["type"] == "press_key"] == ["back"]
