"""Declared and derived checkpoints: rules over events, found in any recording, with ids a person can read."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.recording.compare.checkpoints import (
    derive_checkpoints,
    find_declared_checkpoints,
    matches_pattern,
    read_declaration,
    slug,
)
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
from tests.recording.samples import back, scroll, window
from tests.support.running import clawperator

# Declared checkpoints

FLOW = [
    activity("List"),
    tapped("Add note"),
    activity("Edit"),
    entered("M", "a:id/title"),
    entered("Milk", "a:id/title"),
    tapped("Save"),
    scroll(0, NOTES),
    back(0),
    tapped("Save", contentDesc="Save all"),
]


def declared(*rules: dict[str, Any]) -> bytes:
    return json.dumps({"checkpoints": rules}).encode()


def found(*rules: dict[str, Any]) -> list[tuple[str, float]]:
    result = find_declared_checkpoints(read_declaration(declared(*rules)), exported(FLOW))
    assert not result.problems
    return [(c.id, c.seq) for c in result.checkpoints]


@pytest.mark.parametrize(
    ("rule", "seq"),
    [
        ({"type": "window_change"}, 0),
        ({"type": "window_change", "resourceId": "*EditActivity"}, 2),
        ({"type": "window_change", "package": "com.example.*", "text": "notes", "pick": "last"}, 2),
        ({"type": "click", "text": "save"}, 5),
        ({"type": "click", "text": "SAVE", "pick": "last"}, 8),
        ({"type": "click", "text": "*all"}, 8),
        ({"type": "text_change", "pick": "last"}, 4),
        ({"type": "text_change", "resourceId": "*:id/title", "text": "m"}, 3),
        ({"type": "scroll", "package": NOTES}, 6),
        ({"type": "press_key", "text": "back"}, 7),
    ],
)
def test_a_rule_finds_its_event(rule: dict[str, Any], seq: int) -> None:
    assert found({"id": "it", **rule}) == [("it", seq)]


def test_after_looks_behind_another_checkpoint() -> None:
    rules = ({"id": "saved", "type": "click", "text": "Save"}, {"id": "again", "type": "click", "after": "saved"})
    assert found(*rules) == [("saved", 5), ("again", 8)]


def test_rules_that_do_not_fit_the_demonstration_are_named() -> None:
    rules = (
        {"id": "b", "type": "click", "text": "Save"},
        {"id": "a", "type": "click"},
        {"id": "c", "type": "click", "text": "no"},
    )
    result = find_declared_checkpoints(read_declaration(declared(*rules)), exported(FLOW))
    assert result.problems == ("a comes before b in the demonstration", "no event matches c")


@pytest.mark.parametrize(
    ("pattern", "text", "fits"),
    [
        ("save", " Save ", True),
        ("save", "saved", False),
        ("save*", "saved", True),
        ("*a*c*", "abc", True),
        ("a*a", "a", False),
        ("a*b*c", "acb", False),
        ("*", "", True),
        ("[41%]", "[41%]", True),
    ],
)
def test_a_star_matches_any_text_and_nothing_else_is_special(pattern: str, text: str, fits: bool) -> None:  # noqa: FBT001 - a case
    assert matches_pattern(pattern, text) is fits


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "truncated"),
        (b'{"checkpoints":[{"id":"\xff"}]}', "UTF-8"),
        (b"[" * 100_000, "object"),
        (b"{}", "checkpoints"),
        (declared(), "length"),
        (declared({"id": "a"}), "type"),
        (declared({"id": "", "type": "click"}), "length"),
        (declared({"id": "a", "type": "tap"}), "tap"),
        (declared({"id": "a", "type": "click", "txt": "Save"}), "txt"),
        (declared({"id": "a", "type": "click"}, {"id": "a", "type": "click"}), "already used"),
        (declared({"id": "terminal_state_verified", "type": "click"}), "already used"),
        (declared({"id": "a", "type": "click", "after": "b"}, {"id": "b", "type": "click"}), "above"),
    ],
)
def test_a_wrong_declaration_is_refused_with_its_reason(data: bytes, what: str) -> None:
    with pytest.raises(ValueError, match=what):
        read_declaration(data)


def test_a_declaration_that_cannot_be_used_names_its_file(tmp_path: Path) -> None:
    base = tmp_path / "base.export.json"
    base.write_bytes(msgspec.json.encode(exported(FLOW)))
    argv = ("recording", "compare", "--baseline", str(base), "--result", str(base))
    (tmp_path / "rules.json").write_bytes(b"{}")
    for more in (
        ("--checkpoints", str(tmp_path / "rules.json")),
        ("--checkpoints", str(tmp_path / "none")),
        ("--strategy", "declared"),
    ):
        ran = clawperator(*argv, *more)
        assert (ran.code, ran.json["code"]) == (1, "RECORDING_COMPARE_FAILED")
        assert ran.json["details"]["role"] == "checkpoints"
        assert "compare-checkpoints" in ran.json["hint"]


# Derived checkpoints


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
