"""The offline brain on sample screens: its calls, its answers, and where it stops."""

import pytest

from clawperator.agent.cancellation import TurnCancelledError, TurnDeadline
from clawperator.agent.offline.brain import OfflineBrain
from clawperator.agent.offline.handlers.tools import map_values
from clawperator.agent.offline.run import MAX_SCROLLS
from clawperator.agent.ports import Answer, BrainRequest, ToolResult
from clawperator.agent.tools.builtin import builtin_tools
from clawperator.errors import ClawError
from tests.agent.offline.sample_screens import (
    APP,
    CHANGED,
    code,
    failure,
    field,
    node,
    row,
    run_prompt,
    screen,
    step,
    switch,
)

# Parsing comes first


def test_nothing_is_called_when_a_part_is_not_understood() -> None:
    ran = run_prompt("open Settings, then frobnicate")
    assert (ran.calls, ran.answer.outcome, code(ran)) == (0, "not_understood", "INSTRUCTION_NOT_UNDERSTOOD")
    assert "'frobnicate'" in ran.answer.text


def test_an_unknown_tool_is_not_understood() -> None:
    assert run_prompt("tap Save, then use frob {}").calls == 0


def test_help_needs_no_phone() -> None:
    ran = run_prompt("help")
    assert ran.calls == 0
    assert ran.answer.outcome == "done"


# Finding elements


def test_a_row_is_preferred_to_a_title_of_the_same_name() -> None:
    ran = run_prompt("tap Display", screen(node("Display", resource_id="x:id/bar"), row("Display", 200)))
    assert ran.acts[0].params == {"matcher": {"resourceId": "android:id/title", "textEquals": "Display"}}
    assert ran.answer.text == "Tapped 'Display'; the screen changed."


def test_the_whole_label_is_preferred_to_labels_that_contain_it() -> None:
    ran = run_prompt("tap save", screen(row("Save all", 0), row("SAVE", 200), row("Do not save", 400)))
    assert ran.acts[0].params["matcher"]["textEquals"] == "SAVE"


@pytest.mark.parametrize(
    ("prompt", "label"),
    [
        ("wifi", "Wi-Fi"),
        ("network", "Network & internet"),
        ("notification", "Notifications"),
        ("the Like icon", "Like"),
        ("First name", "First name"),
    ],
)
def test_a_name_matches_other_spellings_of_a_label(prompt: str, label: str) -> None:
    ran = run_prompt(f"tap {prompt}", screen(row("Other", 0), row(label, 200)))
    assert ran.acts[0].params["matcher"]["textEquals"] == label


def test_several_matches_are_listed_and_none_is_tapped() -> None:
    ran = run_prompt("tap Save", screen(row("Save", 0), row("Save", 200)))
    assert (ran.acts, ran.answer.outcome, code(ran)) == ([], "failed", "INSTRUCTION_AMBIGUOUS")
    assert "2 elements: 'Save' at (500, 50), 'Save' at (500, 250)" in ran.answer.text


def test_an_ordinal_selects_one_of_several_by_coordinate() -> None:
    ran = run_prompt("tap the second Save", screen(row("Save", 0), row("Save", 200)))
    assert ran.acts[0].params == {"coordinate": {"x": 500, "y": 250}}


def test_an_ordinal_beyond_the_matches_fails() -> None:
    ran = run_prompt("tap the third Save", screen(row("Save", 0), row("Save", 200)))
    assert (ran.acts, code(ran)) == ([], "NODE_NOT_FOUND")


def test_a_quoted_name_matches_only_the_whole_label() -> None:
    ran = run_prompt('tap "Save"', screen(row("Save all", 0)))
    assert (ran.acts, code(ran)) == ([], "NODE_NOT_FOUND")


def test_a_missing_name_is_reported_with_similar_labels() -> None:
    ran = run_prompt("tap Brihtness", screen(row("Brightness", 0), row("Colors", 200)))
    assert code(ran) == "NODE_NOT_FOUND"
    assert "nearest: 'Brightness', 'Colors'" in ran.answer.text


def test_a_late_element_is_waited_for() -> None:
    ran = run_prompt("tap Save", screen(node("Splash")), screen(node("Loading")), screen(row("Save", 0)))
    assert ran.answer.outcome == "done"


def test_the_search_of_an_endless_list_is_limited() -> None:
    endless = screen(row("Row", 0), scrollable="true")
    ran = run_prompt("tap Save", endless, results={"scroll": step(scroll_outcome="moved")})
    assert code(ran) == "NODE_NOT_FOUND"
    assert len(ran.acts) == MAX_SCROLLS


def test_texts_from_apps_cannot_move_the_cursor() -> None:
    ran = run_prompt("what is on the screen", screen(node("a\u202eb\x1b[2J")))
    assert "\u202e" not in ran.answer.text
    assert "\x1b" not in ran.answer.text


# Effects and failures


@pytest.mark.parametrize(
    ("effect", "words"),
    [("unchanged", "nothing changed on the screen"), ("unknown", "whether the screen changed is not known")],
)
def test_the_effect_is_the_one_the_device_reported(effect: str, words: str) -> None:
    ran = run_prompt("tap Save", screen(row("Save", 0)), results={"click": step(effect=effect)})
    assert ran.answer.text == f"Tapped 'Save'; {words}."
    assert ran.answer.outcome == "done"


def test_a_failure_reports_what_was_done_and_what_was_not() -> None:
    denied = {"press_key": failure("PERMISSION_DENIED", "the mode is read-only")}
    ran = run_prompt("tap Save, go back, then tap Save", screen(row("Save", 0)), results=denied)
    assert code(ran) == "PERMISSION_DENIED"
    assert ran.answer.text == (
        "Tapped 'Save'; the screen changed. Failed: 'go back': not allowed: the mode is read-only. Not done: 'tap Save'."
    )


def test_the_streamed_text_is_the_answer() -> None:
    ran = run_prompt("tap Save and go back", screen(row("Save", 0)))
    assert "".join(ran.streamed) == ran.answer.text


@pytest.mark.parametrize("document", [None, [], {"envelope": {}}, {"envelope": {"stepResults": []}}, "text"])
def test_a_result_without_steps_fails_and_raises_nothing(document: object) -> None:
    ran = run_prompt("go back", results={"press_key": ToolResult(True, "done", document)})
    assert code(ran) == "RESULT_ENVELOPE_MALFORMED"


def test_an_invalid_hierarchy_fails_and_raises_nothing() -> None:
    assert code(run_prompt("tap Save", {"text": "no xml"})) == "HIERARCHY_INVALID"


def test_a_cancelled_turn_calls_nothing_more() -> None:
    deadline = TurnDeadline()
    steps = OfflineBrain().respond(BrainRequest("go back, then go home", builtin_tools(), deadline))
    next(steps)
    deadline.cancel()
    with pytest.raises(TurnCancelledError):
        steps.send(CHANGED)


# Switches


def test_a_switch_in_the_wanted_state_is_not_tapped() -> None:
    ran = run_prompt("turn on Dark", screen(row("Dark", 0, switch(on=True))))
    assert (ran.acts, ran.answer.text) == ([], "'Dark' is already on.")


def test_a_switch_is_verified_after_the_tap() -> None:
    off, on = screen(row("Dark", 0, switch(on=False))), screen(row("Dark", 0, switch(on=True)))
    assert run_prompt("turn on Dark", off, on).answer.text == "Turned 'Dark' on."
    ran = run_prompt("turn on Dark", off)
    assert (ran.answer.outcome, code(ran)) == ("failed", "INSTRUCTION_CHECK_FAILED")


# Typing


def test_a_field_is_found_by_its_hint_its_id_or_the_label_before_it() -> None:
    form = screen(field("E-mail", "f1"), field("", "user_name"), node("Street"), field("", "f3"))
    for name, wanted in (("E-mail", "f1"), ("the user name field", "user_name"), ("Street", "f3")):
        ran = run_prompt(f"type x into {name}", form)
        assert ran.acts[0].params["matcher"] == {"resourceId": f"{APP}:id/{wanted}"}


def test_without_a_name_the_focused_field_is_used() -> None:
    form = screen(field("", "f1"), field("", "f2", focused="true"))
    assert run_prompt("type x", form).acts[0].params["matcher"] == {"resourceId": f"{APP}:id/f2"}
    assert code(run_prompt("type x", screen(field("", "f1"), field("", "f2")))) == "INSTRUCTION_AMBIGUOUS"


def test_a_search_icon_is_tapped_before_the_text_is_typed() -> None:
    before = screen(node("", content_desc="Search", clickable="true"))
    ran = run_prompt("search for cats", before, screen(field("", "query", focused="true")))
    assert [call.name for call in ran.acts] == ["click", "enter_text"]
    assert ran.acts[1].params["submit"] is True


def test_text_for_a_password_field_is_never_reported() -> None:
    form = screen(field("••••", "password", password="true"))
    done = run_prompt("type hunter22 into the password", form)
    assert done.answer.text == "Typed the text into 'password'; the screen changed."
    failed = run_prompt(
        "type hunter22 into the password, then type hunter22 into Again",
        form,
        results={"enter_text": failure("TEXT_NOT_ACCEPTED", "the field did not take the text")},
    )
    assert failed.answer.outcome == "failed"
    assert "hunter22" not in failed.answer.text


# Values and questions


def test_a_value_is_the_next_label_in_the_row() -> None:
    about = screen(
        node("About", resource_id="x:id/bar"),
        row("Model", 200, node("box", resource_id="android:id/summary")),
        row("Empty", 400),
    )
    assert run_prompt("read Model", about).answer.text == "Model: box."
    assert code(run_prompt("read Empty", about)) == "VALUE_NODE_NOT_FOUND"
    assert code(run_prompt("check that Model is bag", about)) == "INSTRUCTION_CHECK_FAILED"


def test_a_question_is_answered_yes_or_no_and_a_required_check_fails() -> None:
    there = screen(row("Save", 0))
    assert run_prompt("is Load on the screen?", there).answer == Answer(
        "No: no label on the screen mentions 'Load'."
    )
    assert (
        run_prompt("check that Load is not on the screen", there).answer.text
        == "Yes: 'Load' is not on the screen."
    )
    assert run_prompt("check that Load is on the screen", there).answer.outcome == "failed"


# Apps and skills


def test_an_app_is_found_by_the_end_of_its_package() -> None:
    packages = ToolResult(True, "2", {"packages": ["com.example.app.camera", "org.example.clock"]})
    ran = run_prompt("open Camera", screen(), results={"list_packages": packages})
    opened = [call.params for call in ran.acts if call.name == "open_app"]
    assert opened == [{"applicationId": "com.example.app.camera"}]


def test_an_unlisted_app_is_searched_for_on_the_home_screen() -> None:
    home = screen(row("Camera", 0)) | {"foreground_package": "launcher"}
    ran = run_prompt(
        "open Camera", screen(), home, screen(), results={"list_packages": ToolResult(True, "0", {"packages": []})}
    )
    assert [call.name for call in ran.acts] == ["list_packages", "press_key", "click"]
    assert ran.answer.text == f"Opened Camera ({APP})."


SKILLS = ToolResult(
    True,
    "3",
    {
        "skills": [
            {"id": "a.set-limit", "keywords": ["battery"], "summary": "", "inputs": {"percent": "integer[1,9]"}},
            {
                "id": "a.set-limit-again",
                "keywords": ["battery"],
                "summary": "",
                "inputs": {"percent": "integer[1,9]"},
            },
            {"id": "b.search", "keywords": ["battery"], "summary": "", "inputs": {"query": "string"}},
        ]
    },
)


@pytest.mark.parametrize(
    ("words", "skill"), [("limit", "a.set-limit"), ("limit again", "a.set-limit-again"), ("b.search", "b.search")]
)
def test_a_skill_is_found_by_words_and_a_variant_by_the_words_it_adds(words: str, skill: str) -> None:
    ran = run_prompt(f"run the {words} skill with 4", results={"list_skills": SKILLS})
    assert ran.acts[1].params["skill"] == skill


@pytest.mark.parametrize(
    ("skill_result", "answer"),
    [
        (None, "succeeded."),
        ({"terminalVerification": {"status": "not_run"}}, "succeeded."),
        ({"terminalVerification": {"status": "verified"}}, "succeeded and verified."),
        ({"result": {"kind": "text", "text": "claw"}}, "claw."),
        ({"result": {"kind": "json", "value": {"a": 1, "b": 2}}}, "a: 1; b: 2."),
        ({"result": {"kind": "json", "value": ["x", "y"]}}, "'x', 'y'."),
    ],
)
def test_a_skill_answers_with_its_result_or_its_verification(skill_result: object, answer: str) -> None:
    done = ToolResult(True, "done", {"skillResult": skill_result})
    ran = run_prompt("run b.search with cats", results={"list_skills": SKILLS, "run_skill": done})
    assert ran.answer.text == f"Ran b.search with query cats: {answer}"


def test_words_that_match_several_skills_run_none() -> None:
    ran = run_prompt("run the battery skill", results={"list_skills": SKILLS})
    assert ([call.name for call in ran.acts], code(ran)) == (["list_skills"], "INSTRUCTION_AMBIGUOUS")


@pytest.mark.parametrize(
    ("prompt", "inputs", "mapped"),
    [
        ("40", {"percent": "integer"}, {"percent": "40"}),
        ("40%", {"percent": "integer"}, {"percent": "40"}),
        ("40 percent", {"percent": "integer"}, {"percent": "40"}),
        ("percent=40", {"percent": "integer"}, {"percent": "40"}),
        ("cats and dogs", {"query": "string"}, {"query": "cats and dogs"}),
        ('query "cats"', {"query": "string"}, {"query": "cats"}),
        ("a and b", {"x": "string", "y": "string"}, {"x": "a", "y": "b"}),
        ("y b, a", {"x": "string", "y": "string"}, {"y": "b", "x": "a"}),
        ("", {"x": "string"}, {}),
    ],
)
def test_values_without_names_go_to_the_declared_inputs(
    prompt: str, inputs: dict[str, str], mapped: dict[str, str]
) -> None:
    assert map_values(prompt, inputs) == mapped


def test_too_many_values_are_rejected() -> None:
    with pytest.raises(ClawError) as e:
        map_values("a, b, c", {"x": "string", "y": "string"})
    assert e.value.code == "SKILL_INPUT_INVALID"
