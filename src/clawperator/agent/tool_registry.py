"""Tool registry: find tools by name, apply the policy, and run them so that every failure becomes a result."""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from clawperator._base.text import nearest
from clawperator.agent.cancellation import CallNotBegunError, TurnCancelledError
from clawperator.agent.confinement import confining
from clawperator.agent.ports import Tool, ToolCall, ToolContext, ToolResult
from clawperator.contract.actions import ACTIONS
from clawperator.errors import ClawError
from clawperator.policy.gate import PolicyGate, denial, enforcing
from clawperator.policy.rules import Asker, Policy, PolicyDecision, strictest

# The tools of simple mode: read the screen, click and type.
SIMPLE_TOOLS = frozenset(name for name, row in ACTIONS.items() if row.in_simple_mode)
_PLAN = "run_execution"
_LOOK = "snapshot_ui"


class ToolRegistry:
    """The tools of a run. ``asker`` asks the user for confirmation; without one, "ask" means deny."""

    def __init__(self, tools: Iterable[Tool], policy: Policy, *, asker: Asker | None = None) -> None:
        self.tools = tuple(tools)
        self.policy = policy
        self._asker = asker
        names = [(tool.name, tool) for tool in self.tools]
        aliases = [(alias, tool) for tool in self.tools for alias in tool.aliases]
        self._by_name: dict[str, Tool] = {}
        for name, tool in names + aliases:  # names take precedence over aliases, earlier tools over later ones
            self._by_name.setdefault(name.casefold(), tool)

    def find(self, name: str) -> Tool:
        """Find a tool by name or alias, case-insensitive; ``TOOL_NOT_FOUND`` suggests the closest name."""
        wanted = name.strip().casefold()
        found = self._by_name.get(wanted)
        if found is not None:
            return found
        near = nearest(wanted, self._by_name, max(2, len(wanted) // 3)) if len(wanted) <= 128 else None
        suggestion = f"; did you mean {self._by_name[near].name!r}?" if near else ""
        hint = f"Run 'claw show-tool {self._by_name[near].name}'." if near else None
        raise ClawError(
            "TOOL_NOT_FOUND",
            f"unknown tool {name[:128]!r}{suggestion}",
            hint=hint,
            operation="find_tool",
            target=name[:128],
        )

    def offered(self) -> tuple[Tool, ...]:
        """The tools to offer to a model: those of which the policy can allow a call."""
        can_ask = self._asker is not None
        return tuple(tool for tool in self.tools if self.policy.may_allow(tool, can_ask=can_ask))

    def decide(self, tool: Tool, params: Mapping[str, Any]) -> PolicyDecision:
        """Apply the policy to a call. A plan is allowed when each of its actions is."""
        decisions = [self.policy.decide(tool, params)]
        decisions += [decision for _, decision in self._decide_plan(tool, params)]
        return strictest(*decisions)

    def call(self, call: ToolCall, context: ToolContext) -> ToolResult:
        """Run a tool if the policy allows it. Raises nothing but ``TurnCancelledError``.

        Everything that the tool runs is checked as well: each action, also those of a replay or a nested command.
        """
        if context.deadline.is_over:
            raise CallNotBegunError
        try:
            tool = self.find(call.name)
            gate = PolicyGate(self.policy, self._asker)
            with enforcing(gate), confining(context.working_folder):
                params = self._resolved(tool, call.params, context)
                self._require(tool, params, gate)
                look = call.observe if tool.name == _LOOK or self._may_look() else None
                return tool.run(params, replace(context, observe=look))
        except ClawError as e:
            return _failed(e)
        except TurnCancelledError:
            raise
        except Exception as e:  # noqa: BLE001 - a defective tool must not end the turn
            message = f"{call.name} failed: {type(e).__name__}: {e}"
            return _failed(ClawError("UNKNOWN", message[:500], operation="call", target=call.name))

    def _resolved(self, tool: Tool, params: Mapping[str, Any], context: ToolContext) -> Mapping[str, Any]:
        """The parameters to check and to run. A tool that is denied altogether asks no device."""
        if tool.resolve is None or not self.policy.may_allow(tool, can_ask=self._asker is not None):
            return params
        return tool.resolve(params, context)

    def _may_look(self) -> bool:
        """Whether the screen may be read without a question to the user."""
        tool = self._by_name.get(_LOOK)
        return tool is not None and self.policy.decide(tool, {}).allowed

    def acts(self, call: ToolCall) -> bool:
        """Whether the call is of a known tool that is not read-only."""
        tool = self._by_name.get(call.name.strip().casefold())
        return tool is not None and tool.level != "read-only"

    def _require(self, tool: Tool, params: Mapping[str, Any], gate: PolicyGate) -> None:
        """Apply the policy. Where it requires confirmation, ask the user once about the whole call."""
        if tool.is_gated:
            return
        decision = self.decide(tool, params)
        if decision.decision == "ask":
            asked = self._asker is not None
            if self._asker is None or not self._asker(tool, params, decision.reason):
                raise denial(tool, decision, asked=asked)
            performed = tool.performs(params) if tool.performs else ()
            gate.confirm((tool.name, *performed, *(action.name for action in self._planned(tool, params))))
        elif not decision.allowed:
            denied = (action for action, own in self._decide_plan(tool, params) if own == decision)
            raise denial(next(denied, tool), decision)

    def _decide_plan(self, tool: Tool, params: Mapping[str, Any]) -> list[tuple[Tool, PolicyDecision]]:
        """The decision on each action of a plan, with the tool that the action is."""
        decisions = []
        for action in self._planned(tool, params):
            known = self._by_name.get(action.name)
            if known is None:
                unknown = PolicyDecision(False, "deny", f"{action.name} is not available", "tools")
                decisions.append((tool, unknown))
            else:
                decisions.append((known, self.policy.decide(known, action.params)))
        return decisions

    def _planned(self, tool: Tool, params: Mapping[str, Any]) -> list[ToolCall]:
        from clawperator.agent.tools.actions import planned_calls

        return planned_calls(params) if tool.name == _PLAN else []


def filter_tools(
    tools: Iterable[Tool],
    *,
    simple_mode: bool = False,
    include_mcp: bool = True,
    deny_tools: Iterable[str] = (),
    deny_prefixes: Iterable[str] = (),
) -> tuple[Tool, ...]:
    """Filter tools: simple mode first, then MCP tools, then denied names and prefixes."""
    kept = [tool for tool in tools if not simple_mode or tool.name in SIMPLE_TOOLS]
    if not include_mcp:
        kept = [tool for tool in kept if "mcp" not in f"{tool.name} {tool.source_hint}".casefold()]
    names = {name.strip().casefold() for name in deny_tools}
    prefixes = tuple(prefix.strip().casefold() for prefix in deny_prefixes if prefix.strip())
    return tuple(
        tool
        for tool in kept
        if names.isdisjoint(name.casefold() for name in (tool.name, *tool.aliases))
        and not tool.name.casefold().startswith(prefixes)
    )


def _failed(error: ClawError) -> ToolResult:
    return ToolResult(handled=False, message=error.message, error=error)
