"""The tool registry: lookup, policy checks, and a result for every failure."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from clawperator.agent.cancellation import TurnCancelledError, TurnDeadline
from clawperator.agent.inventory.inventory import SIMPLE_TOOLS, filter_tools
from clawperator.agent.ports import Tool, ToolCall, ToolContext, ToolResult
from clawperator.agent.settings import Permissions
from clawperator.agent.tool_registry import ToolRegistry
from clawperator.agent.tools.builtin import builtin_tools
from clawperator.agent.turns.assembly import AgentOptions, make_policy
from clawperator.contract.actions import normalise_execution
from clawperator.contract.fields import Level
from clawperator.errors import ClawError
from clawperator.policy.actions import plan_calls
from clawperator.policy.rules import Policy, PolicyEntry, read_rule, strictest

Work = Callable[[Mapping[str, Any], ToolContext], ToolResult]


def done(_: Mapping[str, Any], __: ToolContext) -> ToolResult:
    return ToolResult(handled=True, message="done")


def made(name: str, work: Work = done, *, level: Level = "act", aliases: tuple[str, ...] = ()) -> Tool:
    source = "clawperator/agent/mcp.py" if name.startswith("mcp__") else "here.py"
    return Tool(
        name=name, responsibility="", source_hint=source, level=level, schema=dict, run=work, aliases=aliases
    )


def raising(error: BaseException) -> Work:
    def work(_: Mapping[str, Any], __: ToolContext) -> ToolResult:
        raise error

    return work


def call(registry: ToolRegistry, name: str = "touch", **params: Any) -> ToolResult:
    return registry.call(ToolCall(name, params), ToolContext(TurnDeadline()))


def code(result: ToolResult) -> str:
    assert result.error is not None
    assert not result.handled
    assert result.message == result.error.message
    return result.error.code


def test_a_tool_is_found_by_any_of_its_names_in_any_case() -> None:
    first, second = made("touch", aliases=("press",)), made("press", aliases=("touch", "hold"))
    registry = ToolRegistry([first, second, made("Touch")], Policy())
    assert registry.find(" TOUCH\n") is first
    assert registry.find("Press") is second
    assert registry.find("hold") is second
    assert [tool.name for tool in registry.tools] == ["touch", "press", "Touch"]


def test_an_unknown_name_is_reported_with_the_nearest() -> None:
    registry = ToolRegistry(builtin_tools(), Policy())
    with pytest.raises(ClawError) as caught:
        registry.find("snapshot-ui")
    assert caught.value.code == "TOOL_NOT_FOUND"
    assert "'snapshot_ui'" in caught.value.message
    assert (caught.value.operation, caught.value.target) == ("find_tool", "snapshot-ui")
    assert code(call(registry, "x" * 100_000)) == "TOOL_NOT_FOUND"


def test_denied_failed_missing_and_crashing_tools_have_different_codes() -> None:
    broken = ClawError("NODE_NOT_FOUND", "it is not there")
    tools = [
        made("touch", raising(broken)),
        made("odd", raising(ZeroDivisionError("no"))),
        made("all", level="full"),
    ]
    registry = ToolRegistry(tools, Policy())
    assert code(call(registry)) == "NODE_NOT_FOUND"
    assert code(call(registry, "none")) == "TOOL_NOT_FOUND"
    assert code(call(registry, "odd")) == "UNKNOWN"
    denied = call(registry, "all")
    assert code(denied) == "PERMISSION_DENIED"
    assert denied.error is not None
    assert denied.error.target == "all"
    assert "the permission mode full" in denied.error.hint


@pytest.mark.parametrize("error", [TurnCancelledError(), KeyboardInterrupt()])
def test_cancellation_and_interrupt_are_not_caught(error: BaseException) -> None:
    with pytest.raises(type(error)):
        call(ToolRegistry([made("touch", raising(error))], Policy()))


def test_no_tool_starts_after_cancellation() -> None:
    deadline = TurnDeadline()
    deadline.cancel()
    registry = ToolRegistry([made("touch", raising(AssertionError("it ran")))], Policy())
    with pytest.raises(TurnCancelledError):
        registry.call(ToolCall("touch", {}), ToolContext(deadline))


def test_a_denied_tool_does_not_run_and_the_hint_names_the_rule() -> None:
    ran = made("touch", raising(AssertionError("it ran")))
    by_file = Policy(deny=(read_rule("touch", "/a/settings.json"),))
    by_flag = make_policy(Permissions(), AgentOptions(deny_tools=("touch",)))
    for policy, part in ((by_file, "permissions.deny in /a/settings.json"), (by_flag, "--deny-tool")):
        result = call(ToolRegistry([ran], policy))
        assert code(result) == "PERMISSION_DENIED"
        assert result.error is not None
        assert part in (result.error.hint or "")


def test_without_a_terminal_ask_means_deny() -> None:
    result = call(ToolRegistry([made("touch")], make_policy(Permissions(), AgentOptions(ask_tools=("touch",)))))
    assert code(result) == "PERMISSION_DENIED"
    assert "no terminal to ask on" in result.message


def test_the_user_decides_when_asked() -> None:
    asked: list[tuple[str, Any, str]] = []

    def ask(tool: PolicyEntry, params: Mapping[str, Any], reason: str) -> bool:
        asked.append((tool.name, params, reason))
        return bool(params["label"] == "OK")

    policy = make_policy(Permissions(), AgentOptions(ask_tools=("touch",), deny_tools=("never",)))
    registry = ToolRegistry([made("touch"), made("never")], policy, asker=ask)
    assert call(registry, label="OK").handled
    refused = call(registry, label="Buy")
    assert code(refused) == "PERMISSION_DENIED"
    assert "denied by the user" in refused.message
    assert code(call(registry, "never", label="OK")) == "PERMISSION_DENIED"
    assert [(name, params["label"]) for name, params, _ in asked] == [("touch", "OK"), ("touch", "Buy")]


@pytest.mark.parametrize(
    ("flags", "actions", "decision"),
    [
        ({}, [{"type": "click"}], "allow"),
        ({"deny_tools": ["click"]}, [{"type": "sleep"}, {"type": " TAP"}], "deny"),
        ({"deny_tools": ["open_app(com.bank)"]}, [{"type": "open_app", "params": {"app": "com.bank"}}], "deny"),
        ({"deny_tools": ["open_app(com.bank)"]}, [{"type": "open_app", "params": {"app": "com.x"}}], "allow"),
        ({"ask_tools": ["click"], "deny_tools": ["scroll"]}, [{"type": "click"}, {"type": "scroll"}], "deny"),
        ({"ask_tools": ["click"]}, [{"type": "click"}], "ask"),
        ({"mode": "read-only", "allow_tools": ["run_execution"]}, [{"type": "click"}], "deny"),
        ({"mode": "read-only", "allow_tools": ["run_execution"]}, [{"type": "snapshot"}], "allow"),
    ],
)
def test_a_plan_is_allowed_when_each_of_its_actions_is(
    flags: dict[str, Any], actions: list[Any], decision: str
) -> None:
    policy = make_policy(Permissions(), AgentOptions(**flags))
    known = normalise_execution({"actions": actions})["actions"]
    calls = plan_calls(known, "read-only", ("run_execution", ""))
    assert strictest(*(policy.decide(entry, params) for entry, params in calls)).decision == decision


def names(*tools: Tool) -> list[str]:
    return [tool.name for tool in tools]


def test_filters_apply_simple_mode_then_mcp_then_denied_names() -> None:
    tools = (*builtin_tools(), made("mcp__files__read"), made("other"))
    assert sorted(names(*filter_tools(tools, simple_mode=True))) == sorted(SIMPLE_TOOLS)
    assert names(*filter_tools(tools, simple_mode=True, deny_tools=("CLICK ",))) == ["enter_text", "snapshot_ui"]
    assert "mcp__files__read" not in names(*filter_tools(tools, include_mcp=False))
    assert len(filter_tools(tools, include_mcp=False)) == len(tools) - 1
    left = names(*filter_tools(tools, deny_prefixes=("Recording_", ""), deny_tools=("screenshot",)))
    assert not [name for name in left if name.startswith("recording_")]
    assert "take_screenshot" not in left
    assert names(*filter_tools(tools)) == names(*tools)
