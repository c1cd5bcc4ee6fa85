"""Actions under a policy: by every name, and by what they will do."""

from typing import Any

import pytest

from clawperator.contract.actions import ACTIONS
from clawperator.policy.actions import action_entry, action_names
from clawperator.policy.rules import Policy, read_rule


def denied(rule: str, action: str, **params: Any) -> bool:
    policy = Policy(mode="full", deny=(read_rule(rule, "test"),))
    return not policy.decide(action_entry(action), params).allowed


def allowed(rule: str, action: str) -> bool:
    policy = Policy(mode="read-only", allow=(read_rule(rule, "test"),))
    return policy.decide(action_entry(action), {}).allowed


@pytest.mark.parametrize("action", ACTIONS)
def test_an_action_is_denied_by_each_of_its_names_and_by_their_prefixes(action: str) -> None:
    names = (action, *action_names(action))
    assert [name for name in names if not denied(name, action)] == []
    assert [name for name in names if not denied(f"{name[:-1]}*", action)] == []


@pytest.mark.parametrize(
    ("rule", "action"),
    [
        ("press", "press_key"),
        ("press", "click"),
        ("type", "enter_text"),
        ("screenshot", "take_screenshot"),
        ("capture_screenshot", "take_screenshot"),
        ("capture_*", "take_screenshot"),
        ("snapshot", "snapshot_ui"),
        ("open", "open_app"),
        ("open", "open_uri"),
        ("install-apk", "install_app"),
        ("recording-start", "start_recording"),
    ],
)
def test_the_name_of_a_command_is_a_name_of_its_action(rule: str, action: str) -> None:
    assert denied(rule, action)


@pytest.mark.parametrize(
    ("rule", "action"), [("open-uri", "open_app"), ("open_url", "open_app"), ("read", "read_key_value_pair")]
)
def test_a_name_of_another_action_denies_nothing(rule: str, action: str) -> None:
    assert not denied(rule, action)


def test_an_allow_rule_by_the_name_of_two_actions_allows_the_one_whose_alias_it_is() -> None:
    assert allowed("press", "click")
    assert not allowed("press", "press_key")


@pytest.mark.parametrize("rule", ["submit_text", "submit", "press_key", "press", "click"])
@pytest.mark.parametrize(
    "params", [{"text": "cats", "submit": True}, {"text": "dogs\n"}, {"text": "dogs\r"}, {"text": "", "submit": 1}]
)
def test_text_that_submits_is_denied_with_submitting(rule: str, params: dict[str, Any]) -> None:
    assert denied(rule, "enter_text", **params)
    assert not denied(rule, "enter_text", text="cats")


@pytest.mark.parametrize("rule", ["press_key", "click"])
def test_submitting_a_field_presses_enter(rule: str) -> None:
    assert denied(rule, "submit_text")
