"""Questions: answered only about what was found or read."""

import pytest

from tests.agent.offline.sample_screens import code, field, node, row, run_prompt, screen, switch

NOTES = screen(node("Notes", resource_id="x:id/bar"), node("No notes yet"), row("Add note", 400))


@pytest.mark.parametrize(
    "prompt", ["is there a note?", "is there no note?", "are there any notes?", "do you see a note?"]
)
def test_questions_about_a_kind_of_thing_are_rejected(prompt: str) -> None:
    ran = run_prompt(prompt, NOTES)
    assert (ran.calls, ran.answer.outcome) == (0, "not_understood")


def test_a_plural_or_part_of_a_label_is_not_the_element() -> None:
    ran = run_prompt("is the note on the screen?", NOTES)
    assert (ran.answer.outcome, code(ran)) == ("failed", "NODE_NOT_FOUND")
    assert "'Notes', 'No notes yet'" in ran.answer.text


def test_a_missing_element_without_a_proper_name_is_not_a_no() -> None:
    assert code(run_prompt("is the spinner visible?", NOTES)) == "NODE_NOT_FOUND"
    assert code(run_prompt("is the error gone?", NOTES)) == "NODE_NOT_FOUND"


def test_labels_about_something_are_listed() -> None:
    videos = screen(row("Cats in boxes", 0), row("The night train", 200))
    answer = "These labels on the screen mention 'cats': 'Cats in boxes'."
    assert run_prompt("is there a video about cats?", videos).answer.text == answer
    assert code(run_prompt("is there a video about dogs?", videos)) == "NODE_NOT_FOUND"
    assert run_prompt("is dogs mentioned on the screen?", videos).answer.text == (
        "No: no label on the screen mentions 'dogs'."
    )


def test_enabled_means_the_state_in_the_row_before_the_element() -> None:
    cards = screen(row("Night Charge", 0, node("OFF")), row("Peak Export", 200, node("ON")), row("Plain", 400))
    assert run_prompt("is Night Charge enabled?", cards).answer.text == "No: 'Night Charge' is off."
    assert run_prompt("is Peak Export enabled?", cards).answer.text == "Yes: 'Peak Export' is on."
    assert run_prompt("is Plain enabled?", cards).answer.outcome == "failed"


def test_a_negated_question_is_answered_by_the_state_alone() -> None:
    dark = screen(row("Dark", 0, switch(on=True)))
    assert run_prompt("isn't Dark on?", dark).answer.text == "'Dark' is on."
    assert run_prompt("is Dark not on?", dark).answer.outcome == "not_understood"


def test_numbers_are_compared_and_judgements_are_not() -> None:
    energy = screen(row("Load", 0, node("0.87 kW")), row("Battery", 200, node("76%")))
    assert run_prompt("is the load below 1 kW?", energy).answer.text == "Yes: 'Load' is '0.87 kW'."
    assert run_prompt("is the battery at least 80%?", energy).answer.text == "No: 'Battery' is '76%'."
    assert code(run_prompt("is the load below 1 MW?", energy)) == "VALUE_NODE_NOT_FOUND"
    assert run_prompt("is the battery full?", energy).answer.outcome == "not_understood"


def test_a_value_of_the_device_is_never_read_from_another_app() -> None:
    energy = screen(row("Battery", 0, node("76%")))
    assert run_prompt("what is the battery?", energy).answer.text == "Battery: 76%."
    ran = run_prompt("what is my phone's battery?", energy)
    assert [call.name for call in ran.acts][:1] == ["open_app"]
    assert "76%" not in ran.answer.text


def test_articles_in_a_list_of_values_are_ignored() -> None:
    energy = screen(row("House load", 0, node("0.87 kW")), row("Grid export", 200, node("2.31 kW")))
    answer = "House load: 0.87 kW. Grid export: 2.31 kW."
    assert run_prompt("read the house load and the grid export", energy).answer.text == answer


def test_an_empty_field_has_no_value() -> None:
    assert code(run_prompt("what does the title say?", screen(field("Title", "title")))) == "VALUE_NODE_NOT_FOUND"
