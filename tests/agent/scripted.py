"""A brain that does what a script says, and tools that do what a function says: for tests of everything between."""

from collections.abc import Callable, Generator, Mapping
from typing import Any

from clawperator.agent.ports import Answer, BrainRequest, Level, Tool, ToolCall, ToolContext, ToolResult

Script = Callable[[BrainRequest], Generator[ToolCall, ToolResult, Answer]]


class ScriptedBrain:
    """Thinks by its script, and remembers what it was asked."""

    name = "scripted"

    def __init__(self, script: Script) -> None:
        self._script = script
        self.requests: list[BrainRequest] = []

    def respond(self, request: BrainRequest) -> Generator[ToolCall, ToolResult, Answer]:
        self.requests.append(request)
        return self._script(request)


def saying(answer: Answer | str, *calls: ToolCall) -> Script:
    """Make these calls, whatever comes of them, then say that."""

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
