"""Saying something to the offline brain before a phone, by the real tools."""

from clawperator.agent.offline.brain import OfflineBrain
from clawperator.agent.policy import Policy
from clawperator.agent.ports import Answer, BrainRequest, ToolCall, ToolContext, ToolResult
from clawperator.agent.tool_registry import ToolRegistry
from clawperator.agent.tools import builtin_tools


def talk(prompt: str, context: ToolContext) -> tuple[list[str], Answer]:
    """The names of the tools that were called, and the answer."""
    registry = ToolRegistry(builtin_tools(), Policy())
    thought = OfflineBrain().respond(BrainRequest(prompt, registry.tools, context.deadline))
    called: list[str] = []
    result: ToolResult | None = None
    try:
        while True:
            call: ToolCall = next(thought) if result is None else thought.send(result)
            called.append(call.name)
            result = registry.call(call, context)
    except StopIteration as e:
        answer: Answer = e.value
        return called, answer
