"""The policy in force: in the block, in threads that copy its context, and in child processes."""

import subprocess
import sys
import threading
from collections.abc import Mapping
from contextvars import copy_context
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.contract.execution import single_action, validate
from clawperator.contract.fields import LEVELS, Level
from clawperator.errors import ClawError
from clawperator.policy.actions import action_entry
from clawperator.policy.gate import (
    PolicyGate,
    approve,
    approve_own,
    check_actions,
    check_call,
    enforcing,
    inherited_policy,
    policy_environment,
)
from clawperator.policy.rules import Policy, PolicyEntry, decode_policy, encode_policy, read_rule, restricted
from tests.support.hanging import HANG_SECONDS
from tests.support.running import clawperator
from tests.support.sources import PACKAGE

VARIABLE = "CLAWPERATOR_POLICY"
CLICK = {"type": "click", "params": {"matcher": {"textEquals": "Delete"}}}
SCROLL = {"type": "scroll_and_click", "params": {"matcher": {"textEquals": "Delete"}}}
LOOK = {"type": "snapshot_ui"}


def policy(mode: Level = "act", *, deny: tuple[str, ...] = (), ask: tuple[str, ...] = ()) -> Policy:
    return Policy(
        mode,
        deny=tuple(read_rule(rule, "test") for rule in deny),
        ask=tuple(read_rule(rule, "test") for rule in ask),
    )


def denied(*actions: dict[str, Any]) -> str:
    """The message of the denial, or empty."""
    try:
        check_actions(actions)
    except ClawError as e:
        return e.message if e.code == "PERMISSION_DENIED" else e.code
    return ""


def test_without_a_policy_everything_is_allowed() -> None:
    assert inherited_policy() is None
    assert policy_environment() == {}
    assert denied(CLICK, LOOK) == ""
    check_call("shell", "full", "rm")


def test_a_policy_holds_in_its_block_only() -> None:
    with enforcing(PolicyGate(policy(deny=("click",)))):
        assert denied(LOOK) == ""
        assert denied(LOOK, CLICK) == "click is denied by the rule click"
        with enforcing(PolicyGate(policy(deny=("snapshot_ui",)))):
            assert denied(LOOK) != ""
        assert denied(LOOK) == ""
    assert denied(CLICK) == ""


def test_a_policy_holds_in_threads_that_copy_the_context() -> None:
    found: list[str] = []
    with enforcing(PolicyGate(policy("read-only"))):
        worker = threading.Thread(target=copy_context().run, args=(lambda: found.append(denied(CLICK)),))
    worker.start()
    worker.join()
    assert found == ["click requires the permission mode act; the mode is read-only"]


def test_a_rule_about_a_click_covers_actions_that_click() -> None:
    scroll: dict[str, Any] = {
        "type": "scroll_until",
        "params": {"matcher": {"textEquals": "Delete"}, "clickAfter": True},
    }
    with enforcing(PolicyGate(policy(deny=("click(delete)",)))):
        assert denied(SCROLL) == "scroll_and_click is denied by the rule click(delete)"
        assert denied(scroll) != ""
        assert denied({**scroll, "params": {**scroll["params"], "clickAfter": False}}) == ""
        assert denied({**SCROLL, "params": {"matcher": {"textEquals": "Keep"}}}) == ""


@pytest.mark.parametrize(
    ("kind", "params"),
    [
        ("double_tap", {"matcher": {"textEquals": "Delete"}}),
        ("double_tap", {"coordinate": {"x": 1, "y": 1}}),
        ("drag", {"matcher": {"textEquals": "Delete"}, "end": {"x": 1, "y": 1}}),
        ("swipe", {"start": {"x": 1, "y": 1}, "end": {"x": 1, "y": 1}}),
        ("press_key", {"key": "enter"}),
        ("press_key", {"key": " Center "}),
    ],
)
def test_a_rule_about_clicks_covers_gestures_and_keys_that_click(kind: str, params: dict[str, Any]) -> None:
    with enforcing(PolicyGate(policy(deny=("click",)))):
        assert denied({"type": kind, "params": params}) == f"{kind} is denied by the rule click"
    with enforcing(PolicyGate(policy(deny=("click(Keep)",)))):
        assert denied({"type": kind, "params": params}) == ""


@pytest.mark.parametrize(
    ("rule", "params"),
    [
        ("open_app(com.bank)", {"component": "com.bank/.Main"}),
        ("open_app", {"action": "android.settings.SETTINGS"}),
        ("open_uri(https://bank.example*)", {"action": "a.VIEW", "url": "https://x@bank.example/pay"}),
        ("open_uri", {"action": "a.VIEW", "uri": "https://bank.example"}),
    ],
)
def test_a_rule_about_an_app_or_a_uri_covers_activities(rule: str, params: dict[str, Any]) -> None:
    activity = {"type": "start_activity", "params": params}
    with enforcing(PolicyGate(policy(deny=(rule,)))):
        assert denied(activity) == f"start_activity is denied by the rule {rule}"
    with enforcing(PolicyGate(policy(deny=("open_app(com.other)", "open_uri(http://*)")))):
        assert denied(activity) == ""


def test_a_rule_about_a_label_covers_the_node_to_drag_to_and_each_of_several_nodes() -> None:
    drag = {"matcher": {"textEquals": "Card"}, "toMatcher": {"text": "Bin"}}
    several = {"selectors": [{"textEquals": "Done"}, {"anyOf": [{"textEquals": "Bin"}]}]}
    with enforcing(PolicyGate(policy(deny=("*(Bin)",)))):
        assert denied({"type": "drag", "params": drag}) == "drag is denied by the rule *(Bin)"
        assert denied({"type": "wait_for_any", "params": several}) == "wait_for_any is denied by the rule *(Bin)"


def test_every_name_of_a_node_counts_for_a_deny_rule() -> None:
    matcher = {"resourceId": "app:id/delete", "contentDescContains": "Remove", "textContains": "elet"}
    with enforcing(PolicyGate(policy(deny=("click(app:id/delete)",)))):
        assert denied({"type": "click", "params": {"matcher": matcher}}) != ""
    with enforcing(PolicyGate(policy(deny=("click(remove)",)))):
        assert denied({"type": "click", "params": {"matcher": matcher}}) != ""


def test_the_user_is_asked_once_about_a_call_and_never_when_another_is_denied() -> None:
    asked: list[str] = []

    def ask(tool: PolicyEntry, params: Mapping[str, Any], reason: str) -> bool:
        asked.append(f"{tool.name} {params['matcher']['textEquals']}: {reason}")
        return True

    other = {"type": "click", "params": {"matcher": {"textEquals": "Save"}}}
    with enforcing(PolicyGate(policy(ask=("click",), deny=("press_key",)), ask)):
        assert denied(CLICK, {"type": "press_key", "params": {"key": "home"}}) != ""
        assert asked == []
        assert denied(CLICK, CLICK) == denied(CLICK) == ""
        assert asked == ["click Delete: click requires confirmation by the rule click"]
        assert denied(other) == ""
        assert len(asked) == 2
    with enforcing(PolicyGate(policy(ask=("click",)))):
        assert "no terminal to ask on" in denied(CLICK)


def test_to_confirm_an_execution_confirms_its_actions() -> None:
    asked: list[str] = []

    def ask(tool: PolicyEntry, _: Mapping[str, Any], __: str) -> bool:
        asked.append(tool.name)
        return True

    with enforcing(PolicyGate(policy(ask=("click",)), ask)):
        check_actions([CLICK, SCROLL], whole=("exec", "plan.json"))
        assert denied(CLICK) == ""
    assert asked == ["exec"]


RULES = st.lists(
    st.sampled_from(["click", "recording_*", "open_app(com.a)", "x(a, b) c)", "*", "run_skill()"]), max_size=3
)
POLICIES = st.recursive(
    st.builds(policy, st.sampled_from(LEVELS), deny=RULES.map(tuple), ask=RULES.map(tuple)),
    lambda inner: st.builds(restricted, st.builds(policy, st.sampled_from(LEVELS), deny=RULES.map(tuple)), inner),
    max_leaves=3,
)
NAMES = st.sampled_from(["click", "scroll_and_click", "open_app", "snapshot_ui"])


@given(given_policy=POLICIES, name=NAMES, params=st.sampled_from([{}, {"applicationId": "com.a"}]))
def test_a_child_decides_like_its_parent(given_policy: Policy, name: str, params: dict[str, Any]) -> None:
    child = decode_policy(encode_policy(given_policy))
    entry = action_entry(name)
    assert child.decide(entry, params).decision == given_policy.decide(entry, params).decision


@given(own=POLICIES, outer=POLICIES, name=NAMES)
def test_an_inherited_policy_can_only_be_tightened(own: Policy, outer: Policy, name: str) -> None:
    entry, order = action_entry(name), ("allow", "ask", "deny")
    both = restricted(own, outer).decide(entry, {}).decision
    assert order.index(both) == max(order.index(each.decide(entry, {}).decision) for each in (own, outer))


def test_a_layer_is_not_repeated() -> None:
    one, two = policy(deny=("click",)), policy("full")
    nested = restricted(one, restricted(two, restricted(one, two)))
    assert encode_policy(nested).count("mode") == 2


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[]", '{"mode":"all"}', '{"mode":"act","more":1}', '{"mode":"act","deny":["("]}', "[" * 99_999],
)
def test_an_invalid_variable_denies_everything(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, text)
    assert VARIABLE in denied(LOOK)
    ran = clawperator("packages", "list")
    assert (ran.code, ran.json["code"]) == (1, "PERMISSION_DENIED")


def test_a_policy_that_is_too_long_for_a_variable_is_denied() -> None:
    long = policy(deny=tuple(f"tool{number}({'x' * 900})" for number in range(200)))
    with enforcing(PolicyGate(long)), pytest.raises(ClawError, match="cannot be passed to a child process"):
        policy_environment()


def test_commands_without_an_execution_obey_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    for given_policy, line, allowed in (
        (policy("read-only"), ("skills", "list"), True),
        (policy("read-only"), ("phone", "stop"), False),
        (policy("act"), ("phone", "reset"), False),
        (policy("act", deny=("list_skills",)), ("skills", "list"), False),
        (policy("act", deny=("skills-list",)), ("skills", "list"), False),
        (policy("act"), ("phone", "start", "--app", "x.py"), False),
        (policy("act", deny=("devices",)), ("devices",), False),
    ):
        monkeypatch.setenv(VARIABLE, encode_policy(given_policy))
        code = clawperator(*line).json.get("code")
        assert (code != "PERMISSION_DENIED") == allowed, line


def test_an_entry_without_subjects_is_matched_by_its_parameters() -> None:
    entry = PolicyEntry("x", "act")
    assert policy(deny=('x({"a":1})',)).decide(entry, {"a": 1}).decision == "deny"
    assert policy(deny=('x({"a":1})',)).decide(entry, {"a": 2}).decision == "allow"


def test_a_command_without_a_policy_loads_no_rules() -> None:
    script = (
        "import sys; from clawperator.cli import dispatch; dispatch.run(['snapshot', '--device', 'none']);"
        "print([name for name in sys.modules if name.startswith('clawperator.policy.')], file=sys.stderr)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=HANG_SECONDS
    )
    assert ran.stderr.splitlines()[-1] == "['clawperator.policy.gate']"


def test_only_the_gate_approves_plans() -> None:
    places = [path for path in PACKAGE.rglob("*.py") if "ApprovedPlan(" in path.read_text("utf-8")]
    assert [path.relative_to(PACKAGE).as_posix() for path in places] == ["policy/gate.py"]


def test_a_plan_is_approved_or_denied_with_its_actions() -> None:
    plan = validate(single_action("press_key", {"key": "home"}))
    assert approve(plan).plan is plan
    with enforcing(PolicyGate(Policy(mode="read-only"))), pytest.raises(ClawError) as info:
        approve(plan)
    assert info.value.code == "PERMISSION_DENIED"


def test_what_the_product_does_for_itself_only_looks() -> None:
    look = validate(single_action("snapshot_ui"))
    with enforcing(PolicyGate(Policy(mode="full", deny=(read_rule("*", ""),)))):
        assert approve_own(look).plan is look
    with pytest.raises(ValueError, match="more than look"):
        approve_own(validate(single_action("press_key", {"key": "home"})))
