"""Declared checkpoints: rules over events, the search for their file, and rejected rules."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from clawperator.recording.compare.strategies.declared import (
    find_declared_checkpoints,
    matches_pattern,
    read_declaration,
)
from tests.recording.demonstrations import NOTES, activity, entered, exported, tapped
from tests.recording.samples import back, scroll
from tests.support.running import clawperator

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
