"""Test doubles: a brain that follows a script, and tools that call a function."""

from collections.abc import Callable, Generator, Mapping
from typing import Any

from clawperator.agent.ports import Answer, BrainRequest, Tool, ToolCall, ToolContext, ToolResult
from clawperator.contract.fields import Level

Script = Callable[[BrainRequest], Generator[ToolCall, ToolResult, Answer]]


class ScriptedBrain:
    """Responds by its script, and records its requests."""

    name = "scripted"

    def __init__(self, script: Script) -> None:
        self._script = script
        self.requests: list[BrainRequest] = []

    def respond(self, request: BrainRequest) -> Generator[ToolCall, ToolResult, Answer]:
        self.requests.append(request)
        return self._script(request)


def answering(answer: Answer | str, *calls: ToolCall) -> Script:
    """Make these calls, whatever their results, then give the answer."""

    def script(_: BrainRequest) -> Generator[ToolCall, ToolResult, Answer]:
        for call in calls:  # noqa: UP028 - a tuple takes no results
            yield call
        return answer if isinstance(answer, Answer) else Answer(answer)

    return script


def tool(
    name: str,
    run: Callable[[Mapping[str, Any], ToolContext], ToolResult] | None = None,
    *,
    level: Level = "act",
) -> Tool:
    def fine(params: Mapping[str, Any], _: ToolContext) -> ToolResult:
        return ToolResult(True, f"{name} is done", {"params": dict(params)})

    return Tool(
        name=name,
        responsibility=f"Does {name}.",
        source_hint=f"tests/{name}.py",
        level=level,
        schema=lambda: {"type": "object"},
        run=run or fine,
    )
