"""describe: the demonstration in readable steps, with a confidence for what was inferred."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given

from clawperator.recording.compare.checkpoints import derive_checkpoints
from clawperator.recording.describe import DescribedStep, Description
from clawperator.testing import simulated_phone
from tests.recording.demonstrations import (
    LAUNCHER,
    NOTES,
    NOWHERE,
    REAL,
    activity,
    demonstrations,
    dialog,
    entered,
    exported,
    real,
    tapped,
)
from tests.recording.samples import back, click, event_lists, scroll, window, write
from tests.support.running import clawperator
from tests.support.schema_checks import assert_fits_schema

HOME = window(0, LAUNCHER, className="a.Launcher", title="Home screen")


def late(event: dict[str, Any], seconds: int = 60) -> dict[str, Any]:
    """The event, so long after the others that nothing before has caused it."""
    return {**event, "ts": event["ts"] + seconds * 1_000}


def steps(*events: dict[str, Any]) -> list[DescribedStep]:
    return Description(exported(events)).narrative.steps


def sentences(*events: dict[str, Any]) -> list[str]:
    return [step.sentence for step in steps(*events)]


def test_a_text_is_one_step_per_field() -> None:
    title, body = "a:id/title", "a:id/body"
    flow = [activity("Edit"), tapped("Title", resourceId=title), entered("M", title), entered("Mi", title)]
    flow += [tapped("", resourceId=title), entered("Milk", title), entered("x", body), entered("", body)]
    found = steps(*flow)
    assert [step.sentence for step in found] == ["Open com.example.notes", 'Type "Milk" into title', "Clear body"]
    assert (found[1].seq, found[1].lastSeq, found[1].events, found[1].text) == (1, 5, 3, "Milk")


def test_autocomplete_is_recognised() -> None:
    flow = [
        activity("Search"),
        entered("mi", "a:id/q"),
        tapped("Milk and honey"),
        entered("Milk and honey", "a:id/q"),
    ]
    found = steps(*flow)
    assert [step.kind for step in found] == ["open_app", "enter_text", "choose_suggestion"]
    assert found[2].sentence == 'Choose the suggestion "Milk and honey" after typing "mi"'


def test_a_suggestion_the_field_never_took_is_likely() -> None:
    found = steps(activity("Search"), entered("honey", "a:id/q"), tapped("Milk and honey"), activity("Results"))
    assert (found[2].kind, found[2].confidence) == ("choose_suggestion", "medium")
    assert found[2].checkpoint == "clicked:milk-and-honey"


def test_a_click_that_continues_no_text_is_a_click() -> None:
    assert [step.kind for step in steps(entered("s"), tapped("Save"))] == ["enter_text", "click"]


def test_an_app_opened_by_its_icon_is_one_step() -> None:
    found = steps(tapped("Notes", LAUNCHER), activity("List"))
    assert [step.sentence for step in found] == ['Open com.example.notes by its icon "Notes"']
    assert (found[0].seq, found[0].lastSeq) == (0, 1)


def test_scrolls_of_one_list_are_one_step() -> None:
    found = steps(activity("List"), *[scroll(0, NOTES)] * 5, tapped("Save"), scroll(0, NOTES))
    assert [(step.kind, step.events) for step in found] == [
        ("open_app", 1),
        ("scroll", 5),
        ("click", 1),
        ("scroll", 1),
    ]
    assert found[1].direction == "vertical"


def test_a_recorded_back_is_certain() -> None:
    assert [(s.kind, s.confidence) for s in steps(tapped("Save"), back(0))][1] == ("back", "recorded")


@pytest.mark.parametrize(("name", "kind"), [("back", "back"), ("home", "home"), ("recent_apps", "recents")])
def test_the_navigation_bar_is_as_good_as_a_key(name: str, kind: str) -> None:
    bar = click(0, name.title(), "com.android.systemui", resourceId=f"com.android.systemui:id/{name}")
    found = steps(activity("List"), bar, HOME)
    assert [(s.kind, s.confidence) for s in found[1:]] == [(kind, "high")]


def test_back_is_inferred_when_a_screen_comes_back_by_itself() -> None:
    found = steps(activity("List"), tapped("Add"), activity("Edit"), late(activity("List")))
    assert [(s.kind, s.confidence) for s in found[3:]] == [("back", "medium")]
    assert found[3].why == "an earlier screen came back and nothing was clicked"
    deep = steps(activity("A"), tapped("x"), activity("B"), tapped("y"), activity("C"), late(activity("A")))
    assert (deep[-1].kind, deep[-1].confidence) == ("back", "low")


def test_no_back_is_inferred_when_a_click_may_have_done_it() -> None:
    found = steps(activity("List"), tapped("Add"), activity("Edit"), late(tapped("Save")), late(activity("List")))
    assert "back" not in [step.kind for step in found]


def test_home_is_inferred_when_the_launcher_comes_by_itself() -> None:
    assert [(s.kind, s.confidence) for s in steps(activity("List"), HOME)][1:] == [("home", "medium")]
    assert [(s.kind, s.confidence) for s in steps(activity("List"), tapped("Exit"), HOME)][2:] == [("home", "low")]
    assert steps(HOME) == []


def test_home_long_after_back_is_a_step_of_its_own() -> None:
    flow = [
        activity("List"),
        tapped("Add"),
        activity("Edit"),
        late(back(0), 9),
        late(activity("List"), 9),
        late(HOME),
    ]
    assert [(s.kind, s.confidence) for s in steps(*flow)][3:] == [("back", "recorded"), ("home", "medium")]
    assert [s.kind for s in steps(activity("List"), back(0), HOME)] == ["open_app", "back"]


def test_recents_are_inferred_from_their_list() -> None:
    listed = window(0, LAUNCHER, className="com.android.quickstep.RecentsActivity", title=None)
    found = steps(activity("List"), listed, activity("Main", "com.example.mail"))
    assert [(s.kind, s.confidence) for s in found[1:]] == [("recents", "medium"), ("open_app", "recorded")]


def test_a_click_without_bounds_has_low_confidence() -> None:
    found = steps(activity("List"), tapped("ON", bounds=NOWHERE))
    assert found[1].confidence == "low"
    assert "the target was gone" in found[1].sentence


def test_dialogs_and_screens_are_described() -> None:
    assert sentences(activity("List"), dialog("Sure?"), tapped(None), activity("Edit", title="Edit note")) == [
        "Open com.example.notes",
        'The dialog "Sure?" appears',
        "Click an element without a label",
        'The screen "Edit note" appears',
    ]


def test_labels_of_an_app_cannot_break_a_line() -> None:
    assert sentences(activity("List"), tapped("a\nb\x1b[2J\u202e")) == [
        "Open com.example.notes",
        'Click "a\\nb\\x1b[2J\\u202e"',
    ]


def test_a_user_on_the_phone_is_described() -> None:
    with simulated_phone() as phone:
        person = phone.person
        person.home()
        phone.start_recording("a")
        person.tap("Settings")
        phone.sleep(1)
        person.tap("Display")
        phone.sleep(1)
        person.scroll_down()
        person.back()
        phone.sleep(1)
        phone.stop_recording()
        lines = phone.read_recording().splitlines()
    found = steps(*(json.loads(line) for line in lines[1:]))
    assert [(s.kind, s.confidence) for s in found if s.kind != "scroll"] == [
        ("open_app", "recorded"),
        ("click", "recorded"),
        ("screen", "recorded"),
        ("back", "high"),
    ]
    assert found[0].sentence == 'Open com.android.settings by its icon "Settings"'


@pytest.mark.random
@given(demonstrations)
def test_every_derived_checkpoint_has_its_step(flow: list[dict[str, Any]]) -> None:
    export = exported(flow)
    named = [step.checkpoint for step in Description(export).narrative.steps if isinstance(step.checkpoint, str)]
    assert named == [c.id for c in derive_checkpoints(export)]


@pytest.mark.random
@given(event_lists)
def test_any_recording_can_be_described(events: list[dict[str, Any]]) -> None:
    narrative = Description(exported(events)).narrative
    assert narrative.eventCount == len(events)
    assert narrative.stepCount == len(narrative.steps)
    assert all(step.sentence.isprintable() for step in narrative.steps)


@pytest.mark.skipif(not REAL, reason="the real exports are not here")
@pytest.mark.parametrize("path", REAL, ids=lambda p: p.name)
def test_real_exports_are_described_by_the_command(path: Path) -> None:
    ran = clawperator("recording", "describe", "--input", str(path))
    assert ran.code == 0
    assert_fits_schema("recording-narrative", ran.json)
    assert len(ran.err.splitlines()) == ran.json["stepCount"] >= 3
    export = real(path)
    named = [step["checkpoint"] for step in ran.json["steps"] if "checkpoint" in step]
    assert named == [c.id for c in derive_checkpoints(export)]


def test_the_command_takes_a_recording_and_writes_the_document(tmp_path: Path) -> None:
    source, out = write(tmp_path / "a.ndjson", [window(0), click(1), scroll(2)]), tmp_path / "story.json"
    ran = clawperator("recording", "describe", "--input", str(source), "--out", str(out))
    assert (ran.code, ran.json["stepCount"], ran.json["outputFile"]) == (0, 3, str(out))
    assert json.loads(out.read_text()) == ran.json
    assert ran.err.splitlines()[1] == '[1] Click "Connected devices"'
    quiet = clawperator("recording", "describe", "--input", str(source), "--log-level", "error")
    assert quiet.err == ""
    exported_too = tmp_path / "a.export.json"
    exported_too.write_bytes(msgspec.json.encode(exported([window(0)])))
    assert clawperator("recording", "describe", "--input", str(exported_too)).json["stepCount"] == 1


def test_a_recording_that_began_inside_an_open_app_is_reported_with_what_to_do(tmp_path: Path) -> None:
    inside = write(tmp_path / "inside.ndjson", [click(0), window(1)])
    warning = clawperator("recording", "describe", "--input", str(inside)).json["warnings"][0]
    assert warning.startswith(f"{click(0)['packageName']} was open when the recording began")
    assert "record again, from the home screen" in warning
    opened = write(tmp_path / "opened.ndjson", [window(0), click(1)])
    assert "warnings" not in clawperator("recording", "describe", "--input", str(opened)).json


def test_the_summary_on_stderr_ends_after_two_hundred_steps(tmp_path: Path) -> None:
    source = write(tmp_path / "a.ndjson", [click(n, f"Row {n}") for n in range(300)])
    ran = clawperator("recording", "describe", "--input", str(source))
    assert ran.json["stepCount"] == 300
    assert ran.err.splitlines()[200:] == ["... and 100 more steps"]


@pytest.mark.parametrize("text", ["", "{", '{"exportVersion":1}', "nonsense"])
def test_an_input_that_is_neither_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "x").write_text(text)
    ran = clawperator("recording", "describe", "--input", str(tmp_path / "x"))
    assert (ran.code, ran.json["code"]) == (1, "RECORDING_PARSE_FAILED")
    ran = clawperator("recording", "describe", "--input", str(tmp_path / "nowhere"))
    assert (ran.code, ran.json["code"]) == (1, "RECORDING_PARSE_FAILED")
    assert clawperator("recording", "describe").json["code"] == "USAGE"
