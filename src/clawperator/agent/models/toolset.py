"""The tools of a turn for a model: definitions to send, calls to read, and results to send back."""

from collections.abc import Iterable, Mapping
from typing import Any

from clawperator._base.text import printable
from clawperator.agent.compact.results import ResultRenderer
from clawperator.agent.compact.tools import CompactTool, compact_tools
from clawperator.agent.lenient_json import read_json
from clawperator.agent.models.history import FinishedCall
from clawperator.agent.models.replies import RequestedCall
from clawperator.agent.models.tools import ToolDefinition, define_tool, object_schema, wire_name, wire_names
from clawperator.agent.ports import BrainRequest, Tool, ToolCall, ToolResult
from clawperator.errors import ClawError

_LONGEST_TOOL_NAME = 128


def tool_definitions(tools: Iterable[Tool], *, compact: bool) -> list[ToolDefinition]:
    """The definitions of tools of ours: as compact tools, or each by itself."""
    if not compact:
        return [define_tool(tool.name, tool) for tool in tools]
    return [
        ToolDefinition(tool.name, tool.description, object_schema(tool.schema())) for tool in compact_tools(tools)
    ]


class ModelTools:
    """Offers the compact tools in place of the agent's own, and all other tools as they are.

    A model may also call a tool of ours by its own name, as plans do.
    """

    def __init__(self, request: BrainRequest, *, with_images: bool = False) -> None:
        offered = request.tools if request.offered is None else request.offered
        self._by_name: dict[str, Tool | CompactTool] = dict(wire_names(request.tools))
        compact = compact_tools(offered)
        names = {tool.name for tool in offered if tool.model_tool == ""}
        others = [(name, tool) for name, tool in wire_names(request.tools).items() if tool.name in names]
        self.definitions: list[ToolDefinition] = [
            *tool_definitions(offered, compact=True),
            *(define_tool(name, tool) for name, tool in others),
        ]
        self._by_name |= {tool.name: tool for tool in compact}
        self._renderer = ResultRenderer(with_images=with_images)

    def read(self, requested: RequestedCall) -> tuple[ToolCall, Mapping[str, Any]]:
        """The call to make, and the parameters as the model wrote them.

        A call that cannot be made has a ``problem``. No error quotes the arguments: they may hold secrets.
        """
        tool = self._by_name.get(requested.name)
        if tool is None:
            name = printable(requested.name[:_LONGEST_TOOL_NAME])
            error = ClawError(
                "TOOL_NOT_FOUND",
                f"unknown tool {name!r}",
                hint="Use a tool you were given.",
                operation="call",
                target=name,
            )
            return ToolCall(name, {}, requested.id, error), {}
        problem = "not an object"
        try:
            params = read_json(requested.arguments) if requested.arguments.strip() else {}
            if isinstance(params, dict):
                if isinstance(tool, CompactTool):
                    return tool.call(params, requested.id, self._renderer.last_screen), params
                return ToolCall(tool.name, params, requested.id), params
        except ValueError as e:
            problem = str(e)
        error = ClawError(
            "TOOL_PAYLOAD_INVALID",
            f"the arguments are not a JSON object ({problem})",
            hint="Repeat the call with one complete JSON object as arguments.",
            operation="call",
            target=tool.name,
        )
        return ToolCall(tool.name, {}, requested.id, error), {}

    def finish(
        self, requested: RequestedCall, call: ToolCall, params: Mapping[str, Any], result: ToolResult, note: str
    ) -> FinishedCall:
        """The call with its result. ``note`` comes first."""
        tool = self._by_name.get(requested.name)
        is_mcp = call.problem is None and isinstance(tool, Tool) and tool.family == "mcp"
        shown = self._renderer.render(call, result, is_mcp=is_mcp)
        lines = [note, shown.text, shown.found]
        screen = ""
        if shown.screen is not None and shown.screen.is_whole:
            screen = shown.screen.text
        elif shown.screen is not None:
            lines.append(shown.screen.text)
        content = "\n".join(line for line in lines if line)
        return FinishedCall(
            requested.id, wire_name(requested.name), params, content, shown.is_error, screen, shown.images
        )
