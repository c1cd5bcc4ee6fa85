"""Tool registry: find tools by name, apply the policy, and run them so that every failure becomes a result."""

from collections.abc import Iterable

from msgspec.structs import replace

from clawperator._base.text import nearest
from clawperator.agent.cancellation import CallNotBegunError, TurnCancelledError
from clawperator.agent.confinement import confining
from clawperator.agent.ports import Tool, ToolCall, ToolContext, ToolResult, failed_result
from clawperator.errors import ClawError
from clawperator.policy.gate import PolicyGate, check_calls, enforcing
from clawperator.policy.rules import Asker, Policy

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
        message, hint = f"unknown tool {name[:128]!r}", None
        if near:
            own = self._by_name[near].name
            message, hint = f"{message}; did you mean {own!r}?", f"Run 'claw show-tool {own}'."
        raise ClawError("TOOL_NOT_FOUND", message, hint=hint, operation="find_tool", target=name[:128])

    def offered(self) -> tuple[Tool, ...]:
        """The tools to offer to a model: those of which the policy can allow a call."""
        can_ask = self._asker is not None
        return tuple(tool for tool in self.tools if self.policy.may_allow(tool.entry, can_ask=can_ask))

    def call(self, call: ToolCall, context: ToolContext) -> ToolResult:
        """Run a tool if the policy allows it. Raises nothing but ``TurnCancelledError``.

        Everything that the tool runs is checked as well: each action, also those of a replay or a nested command.
        """
        if context.deadline.is_over:
            raise CallNotBegunError
        try:
            tool = self.find(call.name)
            with enforcing(PolicyGate(self.policy, self._asker)), confining(context.working_folder):
                if not tool.is_gated:
                    check_calls([(tool.entry, call.params)])
                look = call.observe if tool.name == _LOOK or self._may_look() else None
                return tool.run(call.params, replace(context, observe=look))
        except ClawError as e:
            return failed_result(e)
        except TurnCancelledError:
            raise
        except Exception as e:  # noqa: BLE001 - a defective tool must not end the turn
            message = f"{call.name} failed: {type(e).__name__}: {e}"
            return failed_result(ClawError("UNKNOWN", message[:500], operation="call", target=call.name))

    def _may_look(self) -> bool:
        """Whether the screen may be read without a question to the user."""
        tool = self._by_name.get(_LOOK)
        return tool is not None and self.policy.decide(tool.entry, {}).allowed

    def acts(self, call: ToolCall) -> bool:
        """Whether the call is of a known tool that is not read-only."""
        tool = self._by_name.get(call.name.strip().casefold())
        return tool is not None and tool.level != "read-only"
