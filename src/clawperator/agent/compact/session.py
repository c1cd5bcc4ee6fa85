"""A session of the compact tools, for a server that offers them: list them, and run one."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from clawperator.agent.compact.results import CompactResult, ResultRenderer
from clawperator.agent.compact.tools import CompactTool, compact_tools
from clawperator.agent.ports import ToolCall, ToolContext, ToolResult
from clawperator.agent.tool_registry import ToolRegistry
from clawperator.contract.selectors import REFERENCE
from clawperator.errors import ClawError


class FinishedTool(Struct, frozen=True):
    """A call of a compact tool: the agent's tool that ran, its result, and the result as models get it."""

    call: ToolCall
    result: ToolResult
    shown: CompactResult


class CompactSession:
    """The tools that the policy of a registry can allow. Not thread-safe: it remembers the last screen.

    A reference names the snapshot it was seen in: one without gets that of the last screen that was shown, so that
    it cannot mean an element that only another client has seen.
    """

    def __init__(self, registry: ToolRegistry, *, with_images: bool = False) -> None:
        self._registry = registry
        self._renderer = ResultRenderer(with_images=with_images, with_commands=True)
        self.tools: tuple[CompactTool, ...] = compact_tools(registry.offered())

    def find(self, name: str) -> CompactTool:
        """The tool of that name; ``TOOL_NOT_FOUND`` when there is none, or when the policy denies all of it."""
        tool = next((tool for tool in self.tools if tool.name == name), None)
        if tool is None:
            raise ClawError("TOOL_NOT_FOUND", f"unknown tool {name[:128]!r}", operation="call", target=name[:128])
        return tool

    def run(self, name: str, params: Mapping[str, Any], context: ToolContext) -> FinishedTool:
        """Run a tool by name. Every failure is a result; ``TOOL_NOT_FOUND`` and a cancellation are raised."""
        tool = self.find(name)
        call = tool.call(params, since=self._renderer.last_screen or _snapshot_of(params.get("ref")))
        try:
            if call.problem is not None:
                raise call.problem
            call = replace(call, params=self._with_snapshot(call.params))
        except ClawError as e:
            result = ToolResult(handled=False, message=e.message, error=e)
        else:
            result = self._registry.call(call, context)
        return FinishedTool(call, result, self._renderer.render(call, result))

    def _with_snapshot(self, value: Any) -> Any:
        """The parameters with the snapshot of each reference."""
        if isinstance(value, list | tuple):
            return [self._with_snapshot(below) for below in value]
        if not isinstance(value, Mapping):
            return value
        return {
            name: self._qualified(below)
            if name == "ref" and isinstance(below, str)
            else self._with_snapshot(below)
            for name, below in value.items()
        }

    def _qualified(self, ref: str) -> str:
        found = REFERENCE.fullmatch(ref)
        if found is None or found[2] is not None:
            return ref
        if not self._renderer.last_screen:
            raise ClawError(
                "TOOL_PAYLOAD_INVALID",
                f"the reference {ref} names no snapshot",
                hint=f"Call snapshot first, or write {ref}@<snapshot id>.",
                operation="call",
                target=ref,
            )
        return f"{ref}@{self._renderer.last_screen}"


def _snapshot_of(ref: Any) -> str:
    """The snapshot that a reference names. A client without a session has seen at least that one."""
    found = REFERENCE.fullmatch(ref) if isinstance(ref, str) else None
    return (found[2] or "") if found is not None else ""
