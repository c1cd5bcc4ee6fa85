"""Run a prompt with the offline brain and the real tools on a device."""

from clawperator.agent.offline.brain import OfflineBrain
from clawperator.agent.ports import Answer, BrainRequest, ToolCall, ToolContext, ToolResult
from clawperator.agent.tool_registry import ToolRegistry
from clawperator.agent.tools.builtin import builtin_tools
from clawperator.policy.rules import Policy


def run_on_phone(prompt: str, context: ToolContext) -> tuple[list[str], Answer]:
    """Run a prompt. Returns the names of the called tools and the answer."""
    registry = ToolRegistry(builtin_tools(), Policy())
    steps = OfflineBrain().respond(BrainRequest(prompt, registry.tools, context.deadline))
    called: list[str] = []
    result: ToolResult | None = None
    try:
        while True:
            call: ToolCall = next(steps) if result is None else steps.send(result)
            called.append(call.name)
            result = registry.call(call, context)
    except StopIteration as e:
        answer: Answer = e.value
        return called, answer
