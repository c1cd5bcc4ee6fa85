"""The offline brain before screens that are told it: what it calls, what it says, and where it stops."""

import pytest

from clawperator.agent.cancellation import TurnCancelledError, TurnDeadline
from clawperator.agent.offline.brain import OfflineBrain
from clawperator.agent.offline.handlers.tools import map_values
from clawperator.agent.offline.run import MOST_SCROLLS
from clawperator.agent.ports import Answer, BrainRequest, ToolResult
from clawperator.agent.tools import builtin_tools
from clawperator.errors import ClawError
from tests.agent.offline.sample_screens import (
    APP,
    CHANGED,
    code,
    failure,
    field,
    node,
    row,
    say,
    screen,
    step,
    switch,
)

# Understanding comes first


def test_nothing_is_called_when_a_part_is_not_understood() -> None:
    told = say("open Settings, then frobnicate")
    assert (told.calls, told.answer.outcome, code(told)) == (0, "not_understood", "INSTRUCTION_NOT_UNDERSTOOD")
    assert "'frobnicate'" in told.answer.text


def test_a_tool_that_is_not_there_is_not_understood() -> None:
    assert say("tap Save, then use frob {}").calls == 0


def test_help_needs_no_phone() -> None:
    told = say("help")
    assert told.calls == 0
    assert told.answer.outcome == "done"


# Finding what is meant


def test_a_row_goes_before_a_title_of_the_same_name() -> None:
    told = say("tap Display", screen(node("Display", resource_id="x:id/bar"), row("Display", 200)))
    assert told.acts[0].params == {"matcher": {"resourceId": "android:id/title", "textEquals": "Display"}}
    assert told.answer.text == "Tapped 'Display'; the screen changed."


def test_the_label_itself_goes_before_labels_that_hold_it() -> None:
    told = say("tap save", screen(row("Save all", 0), row("SAVE", 200), row("Do not save", 400)))
    assert told.acts[0].params["matcher"]["textEquals"] == "SAVE"


@pytest.mark.parametrize(
    ("said", "label"),
    [
        ("wifi", "Wi-Fi"),
        ("network", "Network & internet"),
        ("notification", "Notifications"),
        ("the Like icon", "Like"),
        ("First name", "First name"),
    ],
)
def test_a_name_may_be_said_in_other_words(said: str, label: str) -> None:
    told = say(f"tap {said}", screen(row("Other", 0), row(label, 200)))
    assert told.acts[0].params["matcher"]["textEquals"] == label


def test_several_that_fit_are_listed_and_none_is_touched() -> None:
    told = say("tap Save", screen(row("Save", 0), row("Save", 200)))
    assert (told.acts, told.answer.outcome, code(told)) == ([], "failed", "INSTRUCTION_AMBIGUOUS")
    assert "2 things: 'Save' at (500, 50), 'Save' at (500, 250)" in told.answer.text


def test_an_ordinal_says_which_and_a_point_tells_the_phone() -> None:
    told = say("tap the second Save", screen(row("Save", 0), row("Save", 200)))
    assert told.acts[0].params == {"coordinate": {"x": 500, "y": 250}}


def test_an_ordinal_beyond_those_there_are_fails() -> None:
    told = say("tap the third Save", screen(row("Save", 0), row("Save", 200)))
    assert (told.acts, code(told)) == ([], "NODE_NOT_FOUND")


def test_quotes_want_just_this_label() -> None:
    told = say('tap "Save"', screen(row("Save all", 0)))
    assert (told.acts, code(told)) == ([], "NODE_NOT_FOUND")


def test_what_is_not_there_is_named_with_what_is_most_like_it() -> None:
    told = say("tap Brihtness", screen(row("Brightness", 0), row("Colors", 200)))
    assert code(told) == "NODE_NOT_FOUND"
    assert "nearest: 'Brightness', 'Colors'" in told.answer.text


def test_what_comes_late_is_waited_for() -> None:
    told = say("tap Save", screen(node("Splash")), screen(node("Loading")), screen(row("Save", 0)))
    assert told.answer.outcome == "done"


def test_an_endless_list_is_not_searched_for_ever() -> None:
    endless = screen(row("Row", 0), scrollable="true")
    told = say("tap Save", endless, results={"scroll": step(scroll_outcome="moved")})
    assert code(told) == "NODE_NOT_FOUND"
    assert len(told.acts) == MOST_SCROLLS


def test_texts_from_apps_cannot_move_the_cursor() -> None:
    told = say("what is on the screen", screen(node("a\u202eb\x1b[2J")))
    assert "\u202e" not in told.answer.text
    assert "\x1b" not in told.answer.text


# What came of it


@pytest.mark.parametrize(
    ("effect", "words"),
    [("unchanged", "nothing changed on the screen"), ("unknown", "whether the screen changed is not known")],
)
def test_the_effect_is_told_as_the_phone_tells_it(effect: str, words: str) -> None:
    told = say("tap Save", screen(row("Save", 0)), results={"click": step(effect=effect)})
    assert told.answer.text == f"Tapped 'Save'; {words}."
    assert told.answer.outcome == "done"


def test_a_failure_tells_what_was_done_and_what_was_not() -> None:
    denied = {"press_key": failure("PERMISSION_DENIED", "the mode is read-only")}
    told = say("tap Save, go back, then tap Save", screen(row("Save", 0)), results=denied)
    assert code(told) == "PERMISSION_DENIED"
    assert told.answer.text == (
        "Tapped 'Save'; the screen changed. Failed: 'go back': was not allowed: the mode is read-only. Not done: 'tap Save'."
    )


def test_what_is_said_meanwhile_is_the_answer() -> None:
    told = say("tap Save and go back", screen(row("Save", 0)))
    assert "".join(told.said) == told.answer.text


@pytest.mark.parametrize("document", [None, [], {"envelope": {}}, {"envelope": {"stepResults": []}}, "text"])
def test_a_result_without_steps_fails_and_raises_nothing(document: object) -> None:
    told = say("go back", results={"press_key": ToolResult(True, "done", document)})
    assert code(told) == "RESULT_ENVELOPE_MALFORMED"


def test_a_screen_that_is_no_xml_fails_and_raises_nothing() -> None:
    assert code(say("tap Save", {"text": "no xml"})) == "HIERARCHY_INVALID"


def test_a_cancelled_turn_calls_nothing_more() -> None:
    deadline = TurnDeadline()
    thought = OfflineBrain().respond(BrainRequest("go back, then go home", builtin_tools(), deadline))
    next(thought)
    deadline.cancel()
    with pytest.raises(TurnCancelledError):
        thought.send(CHANGED)


# Switches


def test_a_switch_that_is_so_already_is_not_touched() -> None:
    told = say("turn on Dark", screen(row("Dark", 0, switch(on=True))))
    assert (told.acts, told.answer.text) == ([], "'Dark' is already on.")


def test_a_switch_is_looked_at_after_it_was_touched() -> None:
    off, on = screen(row("Dark", 0, switch(on=False))), screen(row("Dark", 0, switch(on=True)))
    assert say("turn on Dark", off, on).answer.text == "Turned 'Dark' on."
    told = say("turn on Dark", off)
    assert (told.answer.outcome, code(told)) == ("failed", "INSTRUCTION_CHECK_FAILED")


# Typing


def test_a_field_is_found_by_its_hint_its_id_or_the_label_before_it() -> None:
    form = screen(field("E-mail", "f1"), field("", "user_name"), node("Street"), field("", "f3"))
    for name, wanted in (("E-mail", "f1"), ("the user name field", "user_name"), ("Street", "f3")):
        told = say(f"type x into {name}", form)
        assert told.acts[0].params["matcher"] == {"resourceId": f"{APP}:id/{wanted}"}


def test_without_a_name_the_field_with_the_focus_is_meant() -> None:
    form = screen(field("", "f1"), field("", "f2", focused="true"))
    assert say("type x", form).acts[0].params["matcher"] == {"resourceId": f"{APP}:id/f2"}
    assert code(say("type x", screen(field("", "f1"), field("", "f2")))) == "INSTRUCTION_AMBIGUOUS"


def test_a_search_icon_is_tapped_before_the_text_is_typed() -> None:
    before = screen(node("", content_desc="Search", clickable="true"))
    told = say("search for cats", before, screen(field("", "query", focused="true")))
    assert [call.name for call in told.acts] == ["click", "enter_text"]
    assert told.acts[1].params["submit"] is True


def test_what_goes_into_a_password_field_is_never_told() -> None:
    form = screen(field("••••", "password", password="true"))
    done = say("type hunter22 into the password", form)
    assert done.answer.text == "Typed the text into 'password'; the screen changed."
    failed = say(
        "type hunter22 into the password, then type hunter22 into Again",
        form,
        results={"enter_text": failure("TEXT_NOT_ACCEPTED", "the field did not take the text")},
    )
    assert failed.answer.outcome == "failed"
    assert "hunter22" not in failed.answer.text


# Values and questions


def test_a_value_is_what_stands_beside_a_label_in_its_row() -> None:
    about = screen(
        node("About", resource_id="x:id/bar"),
        row("Model", 200, node("box", resource_id="android:id/summary")),
        row("Empty", 400),
    )
    assert say("read Model", about).answer.text == "Model: box."
    assert code(say("read Empty", about)) == "VALUE_NODE_NOT_FOUND"
    assert code(say("check that Model is bag", about)) == "INSTRUCTION_CHECK_FAILED"


def test_a_question_is_answered_either_way_and_a_demand_is_not() -> None:
    there = screen(row("Save", 0))
    assert say("is Load on the screen?", there).answer == Answer("No: 'Load' is not on the screen.")
    assert say("check that Load is not on the screen", there).answer.text == "Yes: 'Load' is not on the screen."
    assert say("check that Load is on the screen", there).answer.outcome == "failed"


# Apps and skills


def test_an_app_may_be_called_by_the_end_of_its_package() -> None:
    packages = ToolResult(True, "2", {"packages": ["com.example.app.camera", "org.example.clock"]})
    told = say("open Camera", screen(), results={"list_packages": packages})
    opened = [call.params for call in told.acts if call.name == "open_app"]
    assert opened == [{"applicationId": "com.example.app.camera"}]


def test_an_app_in_no_list_is_looked_for_on_the_home_screen() -> None:
    home = screen(row("Camera", 0)) | {"foreground_package": "launcher"}
    told = say(
        "open Camera", screen(), home, screen(), results={"list_packages": ToolResult(True, "0", {"packages": []})}
    )
    assert [call.name for call in told.acts] == ["list_packages", "press_key", "click"]
    assert told.answer.text == f"Opened Camera ({APP})."


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
def test_a_skill_is_found_by_words_and_a_variant_by_what_it_adds(words: str, skill: str) -> None:
    told = say(f"run the {words} skill with 4", results={"list_skills": SKILLS})
    assert told.acts[1].params["skill"] == skill


def test_words_that_fit_several_skills_run_none() -> None:
    told = say("run the battery skill", results={"list_skills": SKILLS})
    assert ([call.name for call in told.acts], code(told)) == (["list_skills"], "INSTRUCTION_AMBIGUOUS")


@pytest.mark.parametrize(
    ("said", "inputs", "mapped"),
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
def test_bare_values_go_to_the_declared_inputs(said: str, inputs: dict[str, str], mapped: dict[str, str]) -> None:
    assert map_values(said, inputs) == mapped


def test_a_value_too_many_is_refused() -> None:
    with pytest.raises(ClawError) as e:
        map_values("a, b, c", {"x": "string", "y": "string"})
    assert e.value.code == "SKILL_INPUT_INVALID"
