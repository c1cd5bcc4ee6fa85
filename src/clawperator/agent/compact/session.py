"""A session of the compact tools, for a server that offers them: list them, and run one."""

from collections.abc import Mapping
from typing import Any

from clawperator.agent.compact.results import CompactResult, ResultRenderer
from clawperator.agent.compact.tools import CompactTool, compact_tools
from clawperator.agent.ports import ToolContext
from clawperator.agent.tool_registry import ToolRegistry
from clawperator.errors import ClawError


class CompactSession:
    """The tools that the policy of a registry can allow. Not thread-safe: it remembers the last screen."""

    def __init__(self, registry: ToolRegistry, context: ToolContext, *, with_images: bool = False) -> None:
        self._registry = registry
        self._context = context
        self._renderer = ResultRenderer(with_images=with_images)
        self.tools: tuple[CompactTool, ...] = compact_tools(registry.offered())

    def run(self, name: str, params: Mapping[str, Any]) -> CompactResult:
        """Run a tool by name. Every failure is a result; ``TOOL_NOT_FOUND`` and a cancellation are raised."""
        tool = next((tool for tool in self.tools if tool.name == name), None)
        if tool is None:
            raise ClawError("TOOL_NOT_FOUND", f"unknown tool {name[:128]!r}", operation="call", target=name[:128])
        call = tool.call(params, since=self._renderer.last_screen)
        if call.problem is not None:
            return CompactResult(f"Not done: {call.problem.message}", is_error=True)
        return self._renderer.render(call, self._registry.call(call, self._context))
