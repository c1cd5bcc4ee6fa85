"""Derived checkpoints: found in any recording, stable under noise, with ids a person can read."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.recording.compare.strategies.derived import derive_checkpoints, slug
from tests.recording.demonstrations import (
    LAUNCHER,
    NOISE,
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
from tests.recording.samples import back, window


def ids(events: list[dict[str, Any]]) -> list[str]:
    return [c.id for c in derive_checkpoints(exported(events))]


def test_a_flow_becomes_its_apps_clicks_texts_and_dialogs() -> None:
    field = "com.example.notes:id/title_edit"
    flow = [
        tapped("Notes", LAUNCHER),
        activity("List"),
        tapped("Add note"),
        activity("Edit"),
        tapped("Title", resourceId=field),
        entered("M", field),
        entered("Milk", field),
        tapped("Save"),
        dialog("Saved?"),
        tapped("Yes"),
        activity("Main", "com.example.mail", "Mail"),
        tapped("Save", "com.example.mail"),
    ]
    found = derive_checkpoints(exported(flow))
    assert [(c.id, c.seq) for c in found] == [
        ("opened:com.example.notes", 1),
        ("clicked:add-note", 2),
        ("typed:title-edit", 6),
        ("clicked:save", 7),
        ("dialog:saved", 8),
        ("clicked:yes", 9),
        ("opened:com.example.mail", 10),
        ("clicked:save#2", 11),
    ]
    assert [c.event_type for c in found[:3]] == ["window_change", "click", "text_change"]
    assert found[3].summary == "click:com.example.notes:save"


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("Save", "save"),
        ("  Über  uns! ", "über-uns"),
        ("設定", "設定"),
        ("Discharge to 41% \ue660", "discharge-to"),
        ("Target 21.5°C", "target"),
        ("Alarm 07:30", "alarm"),
        ("Item 2", "item-2"),
        ("41%", "41"),
        ("+", "u2b"),
        ("", ""),
    ],
)
def test_an_id_names_the_target_and_not_the_value_it_shows(label: str, name: str) -> None:
    assert slug(label) == name


def test_a_long_label_is_cut_and_stays_different_from_its_like() -> None:
    one, two = slug("word " * 40 + "one"), slug("word " * 40 + "two")
    assert one != two
    assert len(one) < 60


def test_a_value_without_words_is_named_by_its_element() -> None:
    assert ids([activity("List"), tapped("41", resourceId="a:id/limit_row")])[1] == "clicked:limit-row"
    assert ids([activity("List"), tapped("5")])[1] == "clicked:5"


def test_a_recording_that_begins_inside_an_app_does_not_open_it() -> None:
    assert ids([tapped("Save"), activity("List")]) == ["clicked:save"]


def test_the_launcher_and_the_keys_are_ways_and_no_checkpoints() -> None:
    home = window(0, LAUNCHER, className="a.Launcher", title="Home")
    assert ids([home, tapped("Notes", LAUNCHER), activity("List"), back(0), home]) == ["opened:com.example.notes"]


def test_clicks_without_a_label_or_a_place_are_passed_over() -> None:
    assert ids([activity("List"), tapped(None), tapped("ON", bounds=NOWHERE)]) == ["opened:com.example.notes"]


def test_a_chosen_suggestion_is_named_by_its_field() -> None:
    field = "a:id/search_box"
    flow = [activity("List"), entered("mi", field), tapped("milk and honey"), entered("milk and honey", field)]
    assert ids(flow)[1:] == ["typed:search-box", "chose:search-box"]


@pytest.mark.parametrize("text", ["x", "s", "sav", "Save"])
def test_what_was_typed_changes_no_id(text: str) -> None:
    flow = [activity("List"), entered(text, "a:id/q"), tapped("Save it"), activity("Done")]
    assert ids(flow)[1:] == ["typed:q", "clicked:save-it"]


def test_a_text_that_was_taken_back_is_not_committed() -> None:
    assert ids([activity("List"), entered("a"), entered("")]) == ["opened:com.example.notes"]


@pytest.mark.random
@given(demonstrations, st.data())
def test_noise_changes_no_checkpoint(flow: list[dict[str, Any]], data: st.DataObject) -> None:
    noisy: list[dict[str, Any]] = []
    for event in flow:
        noisy += [event, *data.draw(st.lists(st.sampled_from(NOISE), max_size=2))]
        if event["type"] == "window_change":
            noisy += [event] * data.draw(st.integers(0, 2))
    plain, disturbed = derive_checkpoints(exported(flow)), derive_checkpoints(exported(noisy))
    assert [(c.id, c.summary) for c in plain] == [(c.id, c.summary) for c in disturbed]


@pytest.mark.random
@given(demonstrations)
def test_ids_are_unique_and_in_the_order_of_the_events(flow: list[dict[str, Any]]) -> None:
    found = derive_checkpoints(exported(flow))
    assert len({c.id for c in found}) == len(found)
    assert [c.seq for c in found] == sorted(c.seq for c in found)
    assert found == derive_checkpoints(exported(flow, snapshots=True))


@pytest.mark.skipif(not REAL, reason="the real exports are not here")
@pytest.mark.parametrize("path", REAL, ids=lambda p: p.name)
def test_real_exports_have_derived_checkpoints(path: Path) -> None:
    found = derive_checkpoints(real(path))
    assert len(found) >= 2
    assert found[0].id.startswith("opened:")


@pytest.mark.skipif(not REAL, reason="the real exports are not here")
def test_the_real_solar_flow_reads_as_it_was_done() -> None:
    found = derive_checkpoints(real(next(path for path in REAL if "solar" in path.name)))
    assert [(c.id, c.seq) for c in found] == [
        ("opened:com.solaxcloud.starter", 0),
        ("clicked:intelligence", 5),
        ("clicked:discharge-to", 14),
        ("typed:van-field-1-input", 20),
        ("clicked:confirm", 21),
        ("clicked:save", 22),
        ("clicked:save#2", 23),
    ]


def test_nothing_is_derived_from_nothing() -> None:
    assert ids([]) == []
    assert ids([back(0), window(0, "", className=None, title=None), tapped(None, NOTES)]) == []
