"""Saying something to the offline brain before a phone, by the real tools."""

from clawperator.agent.offline.brain import OfflineBrain
from clawperator.agent.policy import Policy
from clawperator.agent.ports import Answer, Bench, Request, ToolCall, ToolResult
from clawperator.agent.tool_registry import Toolbox
from clawperator.agent.tools import builtin_tools


def talk(prompt: str, bench: Bench) -> tuple[list[str], Answer]:
    """The names of the tools that were called, and the answer."""
    toolbox = Toolbox(builtin_tools(), Policy())
    thought = OfflineBrain().think(Request(prompt, toolbox.tools, bench.watch))
    called: list[str] = []
    result: ToolResult | None = None
    try:
        while True:
            call: ToolCall = next(thought) if result is None else thought.send(result)
            called.append(call.name)
            result = toolbox.call(call, bench)
    except StopIteration as e:
        answer: Answer = e.value
        return called, answer
