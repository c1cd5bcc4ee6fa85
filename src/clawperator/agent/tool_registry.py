"""Tool registry: find tools by name, apply the policy, and run them so that every failure becomes a result."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from clawperator._text import nearest
from clawperator.agent.cancellation import TurnCancelledError
from clawperator.agent.policy import Policy, PolicyDecision
from clawperator.agent.ports import Tool, ToolCall, ToolContext, ToolResult
from clawperator.contract import ACTIONS
from clawperator.errors import ClawError

Asker = Callable[[Tool, Mapping[str, Any], str], bool]

# The tools of simple mode: read the screen, click and type.
SIMPLE_TOOLS = frozenset(name for name, row in ACTIONS.items() if row.in_simple_mode)
_PLAN = "run_execution"


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
        if tool.name == _PLAN:
            decisions += self._decide_plan(params)
        return next(d for kind in ("deny", "ask", "allow") for d in decisions if d.decision == kind)

    def call(self, call: ToolCall, context: ToolContext) -> ToolResult:
        """Run a tool if the policy allows it. Raises nothing but ``TurnCancelledError``."""
        context.deadline.check()
        try:
            tool = self.find(call.name)
            denied = self._check(tool, call.params)
            return tool.run(call.params, context) if denied is None else _failed(denied)
        except ClawError as e:
            return _failed(e)
        except TurnCancelledError:
            raise
        except Exception as e:  # noqa: BLE001 - a defective tool must not end the turn
            message = f"{call.name} failed: {type(e).__name__}: {e}"
            return _failed(ClawError("UNKNOWN", message[:500], operation="call", target=call.name))

    def check(self, call: ToolCall) -> ClawError | None:
        """Apply the policy, asking the user where it requires that. None when the call is allowed."""
        return self._check(self.find(call.name), call.params)

    def _check(self, tool: Tool, params: Mapping[str, Any]) -> ClawError | None:
        decision = self.decide(tool, params)
        if decision.allowed:
            return None
        asker = self._asker if decision.decision == "ask" else None
        if asker is not None and asker(tool, params, decision.reason):
            return None
        return _denial(tool, decision, asked=asker is not None)

    def _decide_plan(self, params: Mapping[str, Any]) -> list[PolicyDecision]:
        from clawperator.agent.tools.actions import planned_calls

        decisions = []
        for action in planned_calls(params):
            tool = self._by_name.get(action.name)
            if tool is None:
                decisions.append(PolicyDecision(False, "deny", f"{action.name} is not available", "tools"))
            else:
                decisions.append(self.policy.decide(tool, action.params))
        return decisions


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


def _denial(tool: Tool, decision: PolicyDecision, *, asked: bool) -> ClawError:
    if decision.source == "mode":
        hint = f"Add '--permission-mode {tool.level}' or '--allow-tool {tool.name}'."
    elif decision.source.startswith("--"):
        hint = f"Remove '{decision.source}' from the command line to allow it."
    elif decision.source == "tools":
        hint = "Run 'claw tool-pool --output-format json' to list the tools."
    else:
        hint = f"Remove the rule from permissions.{decision.decision} in {decision.source}."
    reason = decision.reason
    if decision.decision == "ask":
        reason += ": denied by the user" if asked else ": no terminal to ask on"
    return ClawError("PERMISSION_DENIED", reason, hint=hint, operation="check_policy", target=tool.name)
