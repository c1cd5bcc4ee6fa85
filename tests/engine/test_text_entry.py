"""Text entry, and texts that must not be reported."""

import json
from typing import Any

import pytest

from clawperator.engine.clock import VirtualClock
from clawperator.engine.scripted import FullScriptedDriver, node
from clawperator.errors import ClawError
from clawperator.ui.node import Node
from tests.engine.scripted_plans import run, step

FIELD = {"resourceId": "f"}
ONCE = {"maxAttempts": 1}


def field(text: str = "", **attributes: str) -> Node:
    return node(text, **{"id": "f", "cls": "android.widget.EditText", "clickable": "true", **attributes})


def phone(*roots: Node, **answers: Any) -> FullScriptedDriver:
    return FullScriptedDriver(VirtualClock(), *roots, **answers)


def test_a_focused_field_takes_the_text_at_once() -> None:
    a = phone(field(focused="true"))
    data = step(a, "enter_text", matcher=FIELD, text="hello").data
    assert (data["text"], data["submit"], data["dispatch_method"]) == ("hello", "false", "set_text")
    assert a.named("act") == []
    assert a.named("set_text") == [("f", "hello")]


def test_without_a_selector_and_a_focused_field_the_error_names_what_to_do() -> None:
    a = phone(field())
    data = step(a, "enter_text", text="hello", retry=ONCE).data
    assert (data["error"], data["message"]) == ("NODE_NOT_FOUND", "no field has the input focus")
    assert "the role textfield" in data["hint"]


def test_a_field_without_focus_is_focused_and_clicked_first() -> None:
    a = phone(field())
    step(a, "enter_text", matcher=FIELD, text="hello")
    assert [c for c in a.calls if c[0] in ("act", "set_text")] == [
        ("act", "f", "focus"),
        ("act", "f", "click"),
        ("set_text", "f", "hello"),
    ]


def test_the_text_goes_where_the_click_led() -> None:
    a = phone(field())
    seen: list[str] = []

    def act(_node: Node, _action: str) -> bool:
        a.show(field("real", focused="true"))
        return True

    a.answers |= {"act": act, "set_text": lambda n, _: seen.append(n.text)}
    step(a, "enter_text", matcher=FIELD, text="hello")
    assert seen == ["real"]


def test_a_selector_in_doubt_after_the_touch_is_an_error_with_an_effect() -> None:
    a = phone(field())

    def act(_node: Node, _action: str) -> bool:
        a.show(field("one"), field("two"))
        return True

    a.answers |= {"act": act}
    data = step(a, "enter_text", matcher={**FIELD, "unique": True}, text="hello", retry=ONCE).data
    assert (data["error"], data["dispatched"]) == ("NODE_AMBIGUOUS", "true")
    assert a.named("set_text") == []


def test_a_node_inside_a_field_means_the_field() -> None:
    inner = node("", node("hint", id="hint"))
    a = phone(node("", inner, id="f", cls="android.widget.AutoCompleteTextView", focused="true"))
    step(a, "enter_text", matcher={"resourceId": "hint"}, text="x")
    assert a.named("set_text") == [("f", "x")]


def test_clear_empties_the_field_first() -> None:
    a = phone(field("old", focused="true"))
    step(a, "enter_text", matcher=FIELD, text="new", clear=True)
    assert a.named("set_text") == [("f", ""), ("f", "new")]


def test_submit_does_what_the_enter_key_does() -> None:
    a = phone(field(focused="true"))
    data = step(a, "enter_text", matcher=FIELD, text="x", submit=True).data
    assert (data["submit"], data["dispatch_method"]) == ("true", "set_text+submit")
    assert a.named("submit") == [("f",)]
    assert a.named("act") == []


def test_submit_falls_back_to_a_click_on_the_field() -> None:
    a = phone(field(focused="true"), submit=False)
    data = step(a, "enter_text", matcher=FIELD, text="x", submit=True).data
    assert data["dispatch_method"] == "set_text+accessibility_click"


def test_a_field_that_cannot_be_submitted_fails_and_reports_the_entered_text() -> None:
    a = phone(field(focused="true"), submit=False, act=False, tap=False)
    result = step(a, "enter_text", matcher=FIELD, text="x", submit=True)
    assert result.data["error"] == "NODE_NOT_CLICKABLE"
    assert result.data["dispatch_method"] == "set_text"
    assert len(a.named("set_text")) == 1


@pytest.mark.parametrize("cls", ["android.widget.EditText", "android.widget.TextView"])
def test_refused_text_is_a_typed_failure_that_ends_the_execution(cls: str) -> None:
    a = phone(field(cls=cls), set_text=False)
    result = run(a, ("enter_text", {"matcher": FIELD, "text": "x", "retry": ONCE}), ("sleep", {"durationMs": 0}))
    assert [s.data["error"] for s in result.stepResults] == ["TEXT_NOT_ACCEPTED"]
    assert ("hint" in result.stepResults[0].data) is (cls == "android.widget.TextView")


def test_a_field_that_refuses_to_be_emptied_gets_no_text() -> None:
    a = phone(field(focused="true"), set_text=False)
    step(a, "enter_text", matcher=FIELD, text="x", clear=True, retry=ONCE)
    assert a.named("set_text") == [("f", "")]


def test_a_field_that_comes_to_life_later_takes_the_text_then() -> None:
    a = phone(field(focused="true"))
    a.answers["set_text"] = lambda *_: a.clock.monotonic() > 1
    assert step(a, "enter_text", matcher=FIELD, text="x").success


def test_a_missing_field_is_a_typed_failure() -> None:
    assert step(phone(), "enter_text", matcher=FIELD, text="x", retry=ONCE).data["error"] == "NODE_NOT_FOUND"


@pytest.mark.parametrize(
    "trouble",
    [
        {},
        {"set_text": False},
        {"set_text": ValueError("no hunter2 here")},
        {"set_text": ClawError("DEVICE_OFFLINE", "no hunter2 here", details={"sent": "hunter2"})},
        {"submit": False, "act": False, "tap": False},
    ],
)
def test_a_password_is_in_no_part_of_the_result(trouble: dict[str, Any]) -> None:
    a = phone(field("hunter1", password="true", focused="true"), **trouble)
    actions: tuple[tuple[str, dict[str, Any]], ...] = (
        ("snapshot_ui", {}),
        ("wait_for_node", {"matcher": FIELD}),
        ("read_text", {"matcher": FIELD}),
        ("read_text", {"matcher": FIELD, "all": True}),
        ("click", {"matcher": FIELD, "retry": ONCE}) if not trouble else ("sleep", {"durationMs": 1}),
        ("enter_text", {"matcher": FIELD, "text": "hunter2", "submit": True, "retry": ONCE}),
    )
    result = run(a, *actions)
    assert len(result.stepResults) == 6
    reported = json.dumps([s.data for s in result.stepResults]) + str(result.error) + str(result.hint)
    assert "hunter" not in reported
    assert result.stepResults[2].data["text"] == "••••"
    assert result.stepResults[5].success is (not trouble)


@pytest.mark.parametrize("hint", ["Password", "New password (8 characters)", "Passwort*", "密码"])
def test_the_hint_of_an_empty_password_field_is_shown(hint: str) -> None:
    stated = {} if hint.isalpha() or hint.endswith("*") else {"hint": hint}
    a = phone(field(hint, password="true", **stated))
    assert f'text="{hint}"' in step(a, "snapshot_ui").data["text"]
    assert step(a, "read_text", matcher=FIELD).data["text"] == hint


@pytest.mark.parametrize("text", ["secret", "password1", "my password is x2", "pass", "Password!", "•••"])
def test_a_text_that_may_be_a_password_is_not_taken_for_a_hint(text: str) -> None:
    a = phone(field(text, password="true", hint="Password"))
    assert f'text="{text}"' not in step(a, "snapshot_ui").data["text"]
    assert step(a, "read_text", matcher=FIELD).data["text"] == "••••"


def test_hiding_a_password_leaves_the_rest_of_the_snapshot_alone() -> None:
    open_form = node("", node("User"), field("secret", password="true"), node("", node("Log in"), id="row"))
    hidden_form = node("", node("User"), field("••••", password="true"), node("", node("Log in"), id="row"))
    texts = [step(phone(form), "snapshot_ui").data["text"] for form in (open_form, hidden_form)]
    assert texts[0] == texts[1]
    assert "Log in" in texts[0]
