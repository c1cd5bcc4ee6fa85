"""The tools at hand: found by name, judged by the policy, and run so that whatever happens is an answer."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from clawperator._text import nearest
from clawperator.agent.cancellation import TurnCancelledError
from clawperator.agent.policy import Policy, Verdict
from clawperator.agent.ports import Tool, ToolCall, ToolContext, ToolResult
from clawperator.errors import ClawError

Asker = Callable[[Tool, Mapping[str, Any], str], bool]

# To look, to touch and to type: with these everything else can be done by hand.
SIMPLE_TOOLS = ("snapshot_ui", "click", "enter_text")
_PLAN = "run_execution"


class ToolRegistry:
    """``asker`` puts a question to somebody and tells the answer. With nobody to ask the answer is no."""

    def __init__(self, tools: Iterable[Tool], policy: Policy, *, asker: Asker | None = None) -> None:
        self.tools = tuple(tools)
        self.policy = policy
        self._asker = asker
        named = [(tool.name, tool) for tool in self.tools]
        also = [(alias, tool) for tool in self.tools for alias in tool.aliases]
        self._by_name: dict[str, Tool] = {}
        for name, tool in named + also:  # names go before aliases, and of equals the first one counts
            self._by_name.setdefault(name.casefold(), tool)

    def find(self, name: str) -> Tool:
        """The tool of that name or alias, in any case; ``TOOL_NOT_FOUND`` with the nearest one there is."""
        wanted = name.strip().casefold()
        found = self._by_name.get(wanted)
        if found is not None:
            return found
        near = nearest(wanted, self._by_name, max(2, len(wanted) // 3)) if len(wanted) <= 128 else None
        meant = f"; did you mean {self._by_name[near].name!r}?" if near else ""
        hint = f"Run 'claw show-tool {self._by_name[near].name}'." if near else None
        raise ClawError(
            "TOOL_NOT_FOUND",
            f"there is no tool {name[:128]!r}{meant}",
            hint=hint,
            operation="find_tool",
            target=name[:128],
        )

    def judge(self, tool: Tool, params: Mapping[str, Any]) -> Verdict:
        """What the policy says to a call. A plan may do what each of its actions may."""
        verdicts = [self.policy.judge(tool, params)]
        if tool.name == _PLAN:
            verdicts += self._judge_plan(params)
        for decision in ("deny", "ask"):
            for verdict in verdicts:
                if verdict.decision == decision:
                    return verdict
        return verdicts[0]

    def call(self, call: ToolCall, context: ToolContext) -> ToolResult:
        """Run a tool, if it may be run. Raises nothing but ``TurnCancelledError``."""
        context.deadline.check()
        try:
            tool = self.find(call.name)
            denied = self.refusal(call)
            return tool.run(call.params, context) if denied is None else _answer(denied)
        except ClawError as e:
            return _answer(e)
        except TurnCancelledError:
            raise
        except Exception as e:  # noqa: BLE001 - a tool with a fault must not take the turn with it
            message = f"{call.name} failed: {type(e).__name__}: {e}"
            return _answer(ClawError("UNKNOWN", message[:500], operation="call", target=call.name))

    def refusal(self, call: ToolCall) -> ClawError | None:
        """Why a call may not be made, after somebody was asked if that is wanted. None when it may."""
        tool = self.find(call.name)
        verdict = self.judge(tool, call.params)
        if verdict.allowed or self._is_granted(tool, call.params, verdict):
            return None
        return _denial(tool, verdict, asked=self._asker is not None)

    def _is_granted(self, tool: Tool, params: Mapping[str, Any], verdict: Verdict) -> bool:
        return verdict.decision == "ask" and self._asker is not None and self._asker(tool, params, verdict.reason)

    def _judge_plan(self, params: Mapping[str, Any]) -> list[Verdict]:
        from clawperator.agent.tools.actions import planned_calls

        verdicts = []
        for action in planned_calls(params):
            tool = self._by_name.get(action.name)
            if tool is None:
                verdicts.append(Verdict(False, "deny", f"{action.name} is not among the tools", "tools"))
            else:
                verdicts.append(self.policy.judge(tool, action.params))
        return verdicts


def filter_tools(
    tools: Iterable[Tool],
    *,
    simple_mode: bool = False,
    include_mcp: bool = True,
    deny_tools: Iterable[str] = (),
    deny_prefixes: Iterable[str] = (),
) -> tuple[Tool, ...]:
    """The tools that are left: of the three simple ones, without those of MCP servers, without the denied ones."""
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


def _answer(error: ClawError) -> ToolResult:
    return ToolResult(handled=False, message=error.message, error=error)


def _denial(tool: Tool, verdict: Verdict, *, asked: bool) -> ClawError:
    if verdict.source == "mode":
        hint = f"Add --permission-mode {tool.level}, or --allow-tool {tool.name}."
    elif verdict.source.startswith("--"):
        hint = f"Leave out {verdict.source} {tool.name}, if it may be used after all."
    elif verdict.source == "tools":
        hint = "Run 'claw tool-pool --output-format json' for the tools there are."
    else:
        hint = f"Take the rule out of permissions.{verdict.decision} in {verdict.source}."
    reason = verdict.reason
    if verdict.decision == "ask":
        reason += ": the answer was no" if asked else ": nobody is there to ask"
    return ClawError("PERMISSION_DENIED", reason, hint=hint, operation="judge", target=tool.name)
