"""Tasks of several steps: done only when the screen shows their result. Misspelled names do nothing."""

import pytest

from clawperator.agent.ports import ToolResult
from clawperator.ui.node import Node
from tests.agent.offline.sample_screens import code, field, node, row, run_prompt, screen, step, switch

NO_SKILLS = {"list_skills": ToolResult(True, "0", {"skills": []})}


def option(label: str, top: int, *, on: bool) -> Node:
    mark = node("", **{"class": "android.widget.RadioButton", "checkable": "true", "checked": str(on).lower()})
    return row(label, top, mark)


def options(chosen: str) -> dict[str, str]:
    labels = enumerate(("Small", "Large"))
    return screen(node("Size"), *(option(label, 200 * at, on=label == chosen) for at, label in labels))


ROW = screen(row("Size", 0, node("Small")))


def test_a_value_is_set_by_its_option_and_read_back() -> None:
    ran = run_prompt("set the size to large", ROW, options("Small"), options("Large"), results=NO_SKILLS)
    assert ran.answer.text == "Set 'Size' to 'Large'."
    assert [call.name for call in ran.acts] == ["click", "click"]


def test_an_option_that_is_not_selected_after_the_tap_fails() -> None:
    ran = run_prompt("set the size to large", ROW, options("Small"), results=NO_SKILLS)
    assert (ran.answer.outcome, code(ran)) == ("failed", "INSTRUCTION_CHECK_FAILED")


def test_an_unknown_option_changes_nothing_and_lists_the_others() -> None:
    ran = run_prompt("set the size to huge", ROW, options("Small"), results=NO_SKILLS)
    assert code(ran) == "NODE_NOT_FOUND"
    assert "options: 'Small', 'Large'; it was not changed" in ran.answer.text
    assert [call.name for call in ran.acts] == ["click", "press_key"]


def test_a_value_that_is_set_already_is_not_touched() -> None:
    ran = run_prompt("set the size to small", ROW, results=NO_SKILLS)
    assert (ran.acts, ran.answer.text) == ([], "'Size' is already 'Small'.")


def test_a_button_of_a_verb_fails_when_the_app_rejects_it() -> None:
    form = screen(field("", "title"), row("Save", 200))
    rejected = {"click": step(effect="changed", screen_message="Title is required")}
    assert code(run_prompt("save the note", form, results=rejected)) == "INSTRUCTION_CHECK_FAILED"
    tapped = run_prompt("tap Save", form, results=rejected).answer
    assert (tapped.outcome, tapped.text) == (
        "done",
        "Tapped 'Save'; the screen changed and now shows 'Title is required'.",
    )


def test_a_verb_after_a_text_taps_its_button() -> None:
    ran = run_prompt("enter 35 and confirm", screen(field("", "limit"), row("Confirm", 200)))
    assert [call.name for call in ran.acts] == ["enter_text", "click"]
    assert ran.acts[0].params["text"] == "35"


@pytest.mark.parametrize("prompt", ["tap Save and continue", "tap Terms and conditions"])
def test_a_label_of_two_verbs_is_one_name(prompt: str) -> None:
    ran = run_prompt(prompt, screen(row("Save and continue", 0), row("Terms and conditions", 200)))
    assert (ran.answer.outcome, len(ran.acts)) == ("done", 1)


@pytest.mark.parametrize("prompt", ["tap Dispaly", "turn on Drak theme", "delete Dispaly", "go to Dispaly"])
def test_a_misspelled_name_does_nothing_and_suggests_the_nearest(prompt: str) -> None:
    page = screen(row("Display", 0), row("Dark theme", 200, switch(on=False)), scrollable="true")
    ran = run_prompt(prompt, page)
    assert (ran.acts, code(ran)) == ([], "NODE_NOT_FOUND")
    assert "nearest: 'D" in ran.answer.text


def test_a_misspelled_app_does_not_leave_the_current_one() -> None:
    packages = {"list_packages": ToolResult(True, "0", {"packages": []})}
    ran = run_prompt("open Setings", screen(row("Save", 0)), results=packages)
    assert ([call.name for call in ran.acts], code(ran)) == (["list_packages"], "APP_NOT_FOUND")
    assert "nearest: 'Settings'" in ran.answer.text


def test_an_entry_without_a_delete_button_is_not_touched() -> None:
    ran = run_prompt("delete Wi-Fi", screen(row("Wi-Fi", 0, switch(on=True))))
    assert (ran.acts, code(ran)) == ([], "INSTRUCTION_CHECK_FAILED")


def entry(label: str, top: int) -> Node:
    """A row with a button that deletes it."""
    bounds = f"[900,{top}][1000,{top + 100}]"
    return row(label, top, node("Delete", clickable="true", bounds=bounds, **{"class": "android.widget.Button"}))


def test_an_entry_is_deleted_by_the_button_of_its_row() -> None:
    ran = run_prompt("delete Bravo", screen(entry("Alpha", 0), entry("Bravo", 200)), screen(entry("Alpha", 0)))
    assert ran.answer.text == "Deleted 'Bravo'."
    assert ran.acts[0].params == {"coordinate": {"x": 950, "y": 250}}


@pytest.mark.parametrize("prompt", ["delete Milk", "delete the note Milk", "tap Milk and delete it"])
def test_of_several_entries_with_the_same_name_none_is_deleted(prompt: str) -> None:
    ran = run_prompt(prompt, screen(entry("Milk", 0), entry("Bread", 200), entry("Milk", 400)))
    assert (ran.acts, code(ran)) == ([], "INSTRUCTION_AMBIGUOUS")
    assert "matches 2 elements" in ran.answer.text


def test_one_of_several_entries_is_deleted_by_its_ordinal_and_counted() -> None:
    before = screen(entry("Milk", 0), entry("Milk", 200))
    ran = run_prompt("delete the second Milk", before, screen(entry("Milk", 0)))
    assert ran.answer.text.startswith("Deleted ")
    assert ran.acts[0].params == {"coordinate": {"x": 950, "y": 250}}
    ran = run_prompt("delete the second Milk", before)
    assert code(ran) == "INSTRUCTION_CHECK_FAILED"
    assert "2 of 'Milk' are on the screen, not 1" in ran.answer.text
