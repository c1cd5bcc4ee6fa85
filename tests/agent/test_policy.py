"""The policy: rules take precedence over the mode, the strictest rule first."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.agent.ports import Tool, ToolContext, ToolResult
from clawperator.agent.settings import Permissions
from clawperator.agent.tools.builtin import builtin_tools
from clawperator.agent.turns.assembly import AgentOptions, make_policy
from clawperator.contract.fields import LEVELS, Level
from clawperator.errors import ClawError
from clawperator.policy.rules import Policy, PolicyRule, read_rule

TOOLS = {tool.name: tool for tool in builtin_tools()}


def made(name: str, level: Level = "act") -> Tool:
    def run(_: Mapping[str, Any], __: ToolContext) -> ToolResult:
        return ToolResult(handled=True, message="done")

    return Tool(name=name, responsibility="", source_hint="", level=level, schema=dict, run=run)


def rules(*texts: str) -> tuple[PolicyRule, ...]:
    return tuple(read_rule(text, "here") for text in texts)


@pytest.mark.parametrize("mode", LEVELS)
@pytest.mark.parametrize("level", LEVELS)
def test_a_mode_allows_its_own_level_and_those_below(mode: Level, level: Level) -> None:
    decision = Policy(mode).decide(made("x", level).entry, {})
    assert decision.allowed == (LEVELS.index(level) <= LEVELS.index(mode))
    assert decision.source == "mode"
    if not decision.allowed:
        assert f"requires the permission mode {level}; the mode is {mode}" in decision.reason


def test_deny_takes_precedence_over_ask_and_ask_over_allow() -> None:
    every = rules("click")
    assert Policy("full", allow=every, deny=every, ask=every).decide(TOOLS["click"].entry, {}).decision == "deny"
    asked = Policy("full", allow=every, ask=every).decide(TOOLS["click"].entry, {})
    assert (asked.decision, asked.allowed) == ("ask", False)
    allowed = Policy("read-only", allow=every).decide(TOOLS["click"].entry, {})
    assert (allowed.decision, allowed.allowed, allowed.source) == ("allow", True, "here")


@pytest.mark.parametrize(
    ("rule", "tool", "params", "fits"),
    [
        ("CLICK", "click", {}, True),
        ("tap", "click", {}, True),
        ("clic", "click", {}, False),
        ("scroll*", "scroll_until", {}, True),
        ("press*", "click", {}, True),
        ("*", "doctor", {}, True),
        ("open_app(com.example)", "open_app", {"applicationId": "com.example"}, True),
        ("open_app(com.example)", "open_app", {"package": "Com.Example "}, True),
        ("open_app(com.example)", "open_app", {"applicationId": "com.example.two"}, False),
        ("open_app(com.example:*)", "open_app", {"applicationId": "com.example.two"}, True),
        ("open_uri(https://a.b/:*)", "open_uri", {"url": "HTTPS://A.B/c"}, True),
        ("open_uri(https://a.b/:*)", "open_uri", {"url": "https://c.d/"}, False),
        ("click(Delete)", "click", {"matcher": {"text": "Delete"}}, True),
        ("click(Delete)", "click", {"selector": {"textEquals": "Keep"}}, False),
        ("press_key(home)", "press_key", {"key": " HOME"}, True),
        ('list_packages({"thirdParty":true})', "list_packages", {"thirdParty": True}, True),
        ("enter_text()", "enter_text", {"text": "x"}, True),
    ],
)
def test_deny_rules(rule: str, tool: str, params: dict[str, Any], fits: bool) -> None:  # noqa: FBT001 - a column of the table
    assert (Policy("full", deny=rules(rule)).decide(TOOLS[tool].entry, params).decision == "deny") == fits


def test_allow_rules_compare_exactly() -> None:
    policy = Policy("read-only", allow=rules("open_uri(https://a.b/:*)"))
    assert policy.decide(TOOLS["open_uri"].entry, {"uri": "https://a.b/c"}).allowed
    assert not policy.decide(TOOLS["open_uri"].entry, {"uri": "HTTPS://a.b/c"}).allowed


@pytest.mark.parametrize("text", ["", "  ", "(x)", "click(x", "click(x)y", "a b", "a*b", "x" * 2_000])
def test_invalid_rules_are_rejected(text: str) -> None:
    with pytest.raises(ValueError, match=r"rule|name|bracket"):
        read_rule(text, "here")


def test_a_mode_flag_overrides_files_and_rules_are_combined() -> None:
    written = Permissions("full", "/a/settings.json", deny=(PolicyRule("click", None, "/a/settings.json"),))
    assert make_policy(written, AgentOptions()).describe() == {
        "mode": "full",
        "mode_source": "/a/settings.json",
        "allow_rules": 0,
        "deny_rules": 1,
        "ask_rules": 0,
    }
    policy = make_policy(
        written,
        AgentOptions(
            mode="read-only",
            deny_tools=("scroll",),
            deny_prefixes=("mcp",),
            allow_tools=("click", "open_app"),
            ask_tools=("sleep",),
        ),
    )
    assert (policy.mode, policy.mode_source) == ("read-only", "flag")
    sources = {
        name: policy.decide(TOOLS[name].entry, {}).source for name in ("click", "scroll", "open_app", "sleep")
    }
    assert sources == {
        "click": "/a/settings.json",
        "scroll": "--deny-tool",
        "open_app": "--allow-tool",
        "sleep": "--ask-tool",
    }
    assert policy.decide(made("mcp__files__read", "read-only").entry, {}).source == "--deny-prefix"
    assert make_policy(Permissions(), AgentOptions()).describe()["mode_source"] == "default"


def test_an_unreadable_settings_file_makes_the_mode_read_only() -> None:
    unreadable = Permissions(default_mode="full", mode_source="f", unreadable="g")
    policy = make_policy(unreadable, AgentOptions())
    assert (policy.mode, policy.mode_source) == ("read-only", "g")
    assert not policy.decide(made("click", "act").entry, {}).allowed
    assert make_policy(unreadable, AgentOptions(mode="act")).decide(made("click", "act").entry, {}).allowed


@pytest.mark.parametrize(
    "flags",
    [
        {"deny_tools": ["a("]},
        {"deny_prefixes": [" "]},
        {"allow_tools": [""]},
        {"ask_tools": ["()"]},
    ],
)
def test_an_invalid_rule_flag_is_a_usage_error(flags: dict[str, Any]) -> None:
    with pytest.raises(ClawError) as caught:
        make_policy(Permissions(), AgentOptions(**flags))
    assert caught.value.code == "ARGUMENTS_INVALID"
    assert "--" in (caught.value.hint or "")


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.random
@given(name=st.sampled_from(sorted(TOOLS)), params=ANY)
def test_any_parameters_get_a_decision(name: str, params: Any) -> None:
    policy = Policy(deny=rules("click(x:*)", "run_skill(y)", "doctor({})"))
    decision = policy.decide(TOOLS[name].entry, params)
    assert decision.allowed == (decision.decision == "allow")


@pytest.mark.parametrize(
    ("policy", "can_ask", "expected"),
    [
        (Policy("act"), False, True),
        (Policy("read-only"), False, False),
        (Policy("full", deny=rules("click")), True, False),
        (Policy("full", deny=rules("tap")), True, False),
        (Policy("full", deny=rules("click(*)")), True, False),
        (Policy("full", deny=rules("click(Delete)")), True, True),
        (Policy("full", ask=rules("click")), True, True),
        (Policy("full", ask=rules("click")), False, False),
        (Policy("read-only", ask=rules("click")), True, True),
        (Policy("read-only", allow=rules("click(Save)")), False, True),
        (Policy("read-only", allow=rules("click"), deny=rules("*")), False, False),
    ],
)
def test_whether_any_call_of_a_tool_can_be_allowed(policy: Policy, can_ask: bool, expected: bool) -> None:  # noqa: FBT001 - columns of the table
    assert policy.may_allow(TOOLS["click"].entry, can_ask=can_ask) is expected


@pytest.mark.parametrize(
    "uri",
    [
        "https://evil.example",
        "https://user:pass@evil.example/path",
        "https:/evil.example",
        "https:\\\\evil.example",
        "https://evil.example./",
        "https://%65vil.example:443/x",
        "HTTPS://EVIL.example?q",
    ],
)
def test_a_denied_site_is_denied_however_its_address_is_written(uri: str) -> None:
    policy = Policy("full", deny=rules("open_uri(https://evil.example*)"))
    assert not policy.decide(TOOLS["open_uri"].entry, {"uri": uri}).allowed


def test_the_address_of_another_site_is_not_denied() -> None:
    policy = Policy("full", deny=rules("open_uri(https://evil.example*)"))
    assert policy.decide(TOOLS["open_uri"].entry, {"uri": "https://good.example/?u=https://evil.example"}).allowed
