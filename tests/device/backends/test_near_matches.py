"""Near matches of a failed search: as JSON, and as flags in the hint."""

import json
from pathlib import Path
from typing import Any

import pytest

from clawperator.contract.execution import Action, new_execution, validate
from clawperator.contract.results import StepResult
from clawperator.device.backends.near_matches import is_failed_search, with_near_matches
from clawperator.device.run.references import References
from clawperator.ui.node import Hierarchy
from clawperator.ui.outline import outline_of, screen_frame
from clawperator.ui.parse import parse_hierarchy

NOT_FOUND = {"error": "NODE_NOT_FOUND", "message": "no visible node matches"}


def screen(*labels: str, more: str = "") -> Hierarchy:
    nodes = "".join(
        f'<node class="android.widget.Button" package="p" clickable="true" text="{label}" '
        f'bounds="[0,{20 * at}][100,{20 * at + 20}]" />'
        for at, label in enumerate(labels)
    )
    return parse_hierarchy(
        f'<hierarchy rotation="0"><node class="a" package="p" bounds="[0,0][100,400]">{nodes}{more}</node></hierarchy>'
    )


def action(kind: str = "click", **params: Any) -> Action:
    document = [{"id": "a1", "type": kind, "params": params or {"matcher": {"textEquals": "Safe"}}}]
    plan = validate(new_execution(document, command_id="c", source="test", timeout_ms=1_000))
    return plan.execution.actions[0]


def failed(**data: str) -> StepResult:
    return StepResult("a1", "click", False, NOT_FOUND | data)


def search(tree: Hierarchy, wanted: Action | None = None, **data: str) -> dict[str, str]:
    """What is added to a failed step."""
    step = failed(**data)
    made = with_near_matches(step, wanted or action(), tree, "claw-1")
    return {name: value for name, value in made.data.items() if step.data.get(name) != value}


@pytest.mark.parametrize(
    ("data", "is_search"),
    [
        ({"error": "NODE_NOT_FOUND"}, True),
        ({"error": "TARGET_NOT_FOUND"}, True),
        ({"error": "CONTAINER_NOT_FOUND"}, True),
        ({"error": "NODE_NOT_CLICKABLE"}, False),
        ({"error": "COMMAND_TIMEOUT"}, False),
        ({"error": "COMMAND_TIMEOUT", "last_error": "NODE_NOT_FOUND"}, True),
        ({"error": "NODE_NOT_CLICKABLE", "last_error": "NODE_NOT_FOUND"}, False),
        ({}, False),
    ],
)
def test_a_search_failed_when_its_last_error_says_so(data: dict[str, str], *, is_search: bool) -> None:
    assert is_failed_search(StepResult("a1", "click", False, data)) is is_search
    assert is_failed_search(StepResult("a1", "click", True, data)) is False


def test_near_matches_are_in_the_hint_and_in_json() -> None:
    added = search(screen("Save", "Safer", "Other"))
    assert json.loads(added["nearest"]) == [
        {"value": "Safer", "selector": {"textEquals": "Safer"}},
        {"value": "Save", "selector": {"textEquals": "Save"}},
    ]
    assert added["hint"] == 'Did you mean text "Safer" or text "Save"?'


def test_the_hint_of_the_step_follows() -> None:
    assert search(screen("Save"), hint="Look.")["hint"] == 'Did you mean text "Save"? Look.'


@pytest.mark.parametrize("wanted", [action("press_key", key="back"), action("click", coordinate={"x": 1, "y": 1})])
def test_an_action_without_a_selector_has_no_near_matches(wanted: Action) -> None:
    assert search(screen("Save"), wanted) == {}


def test_a_screen_with_nothing_alike_adds_nothing() -> None:
    assert search(screen("Other")) == {}


@pytest.mark.parametrize(
    "wanted",
    [
        action("read_key_value_pair", labelMatcher={"textEquals": "Safe"}),
        action("enter_text", matcher={"textEquals": "Safe"}, text="x"),
        action("wait_for_node", matcher={"textEquals": "Safe"}),
    ],
)
def test_every_action_names_its_near_matches(wanted: Action) -> None:
    assert search(screen("Save"), wanted)["hint"] == 'Did you mean text "Save"?'


def test_an_id_is_named_as_such() -> None:
    more = '<node class="android.widget.EditText" resource-id="p:id/name" bounds="[0,100][100,120]" />'
    wanted = action("enter_text", matcher={"resourceId": "p:id/nane"}, text="x")
    assert search(screen(more=more), wanted)["hint"] == 'Did you mean id "p:id/name"?'


def test_the_container_is_what_was_not_found() -> None:
    wanted = action("read_text", matcher={"textEquals": "Safe"}, container={"textEquals": "Peple"})
    tree = screen("Save", "People")
    assert search(tree, wanted, error="CONTAINER_NOT_FOUND")["hint"] == 'Did you mean container text "People"?'
    assert search(tree, wanted)["hint"] == 'Did you mean text "Save"?'
    waited = {"error": "COMMAND_TIMEOUT", "last_error": "CONTAINER_NOT_FOUND"}
    assert "container text" in search(tree, wanted, **waited)["hint"]


@pytest.mark.parametrize(("length", "is_shown"), [(60, True), (61, False)])
def test_a_long_label_is_no_flag(length: int, *, is_shown: bool) -> None:
    label = "Save" + "x" * (length - 4)
    added = search(screen(label), action("click", matcher={"textContains": "Save!" + "x" * (length - 5)}))
    assert json.loads(added["nearest"])[0]["value"] == label
    assert ("hint" in added) is is_shown


# References


@pytest.fixture
def known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An earlier snapshot of the device had these elements."""
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path / "home"))
    tree = screen("Save", "Twin", "Twin", "People")
    References("claw-1").assign(outline_of(tree, screen_frame(tree)), "s1")


@pytest.mark.usefixtures("known")
def test_elements_of_an_earlier_snapshot_have_their_references() -> None:
    tree = screen("Save", "Twin", "Twin", "People")
    added = search(tree)
    (match,) = json.loads(added["nearest"])
    assert match == {"value": "Save", "selector": {"textEquals": "Save"}, "ref": match["ref"]}
    assert match["ref"].startswith("e")
    assert added["hint"] == f'Did you mean text "Save" ({match["ref"]})?'
    wanted = action("read_text", matcher={"textEquals": "Safe"}, container={"textEquals": "Peple"})
    container = search(tree, wanted, error="CONTAINER_NOT_FOUND")
    assert container["hint"] == 'Did you mean container text "People"?'
    assert "ref" in json.loads(container["nearest"])[0]


@pytest.mark.usefixtures("known")
def test_a_label_of_two_elements_or_a_new_one_has_no_reference() -> None:
    tree = screen("Save", "Twin", "Twin", "Twins", "People")
    found = {
        one["value"]: one for one in json.loads(search(tree, action(matcher={"textEquals": "Twim"}))["nearest"])
    }
    assert set(found) == {"Twin", "Twins"}
    assert not [one for one in found.values() if "ref" in one]


def test_without_an_earlier_snapshot_there_are_no_references(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path / "home"))
    assert "ref" not in json.loads(search(screen("Save"))["nearest"])[0]
