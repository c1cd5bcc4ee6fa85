"""Screens that a brain is told, and what comes of a prompt said before them."""

from msgspec import Struct

from clawperator.agent.cancellation import TurnDeadline
from clawperator.agent.offline.brain import OfflineBrain
from clawperator.agent.ports import Answer, BrainRequest, ToolCall, ToolResult
from clawperator.agent.tools import builtin_tools
from clawperator.errors import ClawError
from clawperator.ui.node import Hierarchy, Node
from clawperator.ui.write import write_hierarchy

APP = "com.example"


class Quick(TurnDeadline):
    """A deadline by which no time passes."""

    def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.check()


def node(text: str = "", *children: Node, **more: str) -> Node:
    attributes = {"text": text, "class": "android.widget.TextView", "bounds": "[0,0][1000,100]", "enabled": "true"}
    made = Node(
        attributes | {name.replace("_", "-"): value for name, value in more.items()}, children=list(children)
    )
    for child in children:
        child.parent = made
    return made


def row(label: str, top: int, *more: Node, **attributes: str) -> Node:
    bounds = f"[0,{top}][1000,{top + 100}]"
    words = node(label, bounds=bounds, resource_id="android:id/title")
    return node(
        "",
        words,
        *more,
        **{"class": "android.widget.LinearLayout", "clickable": "true", "bounds": bounds} | attributes,
    )


def screen(*nodes: Node, **attributes: str) -> dict[str, str]:
    """What ``snapshot_ui`` tells of these nodes."""
    root = node("", *nodes, **{"class": "android.widget.FrameLayout", "bounds": "[0,0][1000,2000]"} | attributes)
    return {
        "text": write_hierarchy(Hierarchy({"rotation": "0"}, [root], list(root.walk()))),
        "foreground_package": APP,
    }


def switch(*, on: bool) -> Node:
    return node("", **{"class": "android.widget.Switch", "checkable": "true", "checked": str(on).lower()})


class Told(Struct):
    """What came of a prompt: the calls that act, all calls counted, what was said meanwhile, and the answer."""

    acts: list[ToolCall]
    calls: int
    said: list[str]
    answer: Answer


def step(**data: str) -> ToolResult:
    steps = [{"id": "a1", "actionType": "any", "success": True, "data": data}]
    return ToolResult(
        True, "done", {"envelope": {"status": "success", "stepResults": steps}, "deviceId": "claw-1"}
    )


def failure(code: str, message: str) -> ToolResult:
    return ToolResult(False, message, error=ClawError(code, message))


CHANGED = step(effect="changed")


def say(
    prompt: str,
    *screens: dict[str, str],
    results: dict[str, ToolResult] | None = None,
    deadline: TurnDeadline | None = None,
) -> Told:
    """Say it. Each look shows the next screen, the last one again and again; other calls answer by their name."""
    told = Told([], 0, [], Answer(""))
    deadline = deadline or Quick()
    thought = OfflineBrain().respond(BrainRequest(prompt, builtin_tools(), deadline, on_text=told.said.append))
    shown = list(screens)
    result: ToolResult | None = None
    while True:
        try:
            call = next(thought) if result is None else thought.send(result)
        except StopIteration as e:
            told.answer = e.value
            return told
        told.calls += 1
        if call.name == "snapshot_ui" and shown:
            result = step(**(shown.pop(0) if len(shown) > 1 else shown[0]))
        else:
            told.acts.append(call)
            result = (results or {}).get(call.name, CHANGED)


def code(told: Told) -> str:
    assert told.answer.error is not None
    return told.answer.error.code


def field(text: str, name: str, **more: str) -> Node:
    given = {"class": "android.widget.EditText", "resource_id": f"{APP}:id/{name}", "clickable": "true"}
    return node(text, **given | more)
