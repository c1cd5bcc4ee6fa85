"""Sample screens, and a run of the offline brain on them."""

from msgspec import Struct

from clawperator.agent.cancellation import TurnDeadline
from clawperator.agent.offline.brain import OfflineBrain
from clawperator.agent.ports import Answer, BrainRequest, ToolCall, ToolResult
from clawperator.agent.tools.builtin import builtin_tools
from clawperator.errors import ClawError
from clawperator.ui.node import Hierarchy, Node
from clawperator.ui.write import write_hierarchy

APP = "com.example"


class InstantDeadline(TurnDeadline):
    """A deadline whose sleeps take no time."""

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
    """The step data of a ``snapshot_ui`` of these nodes."""
    root = node("", *nodes, **{"class": "android.widget.FrameLayout", "bounds": "[0,0][1000,2000]"} | attributes)
    return {
        "text": write_hierarchy(Hierarchy({"rotation": "0"}, [root], list(root.walk()))),
        "foreground_package": APP,
    }


def switch(*, on: bool) -> Node:
    return node("", **{"class": "android.widget.Switch", "checkable": "true", "checked": str(on).lower()})


class PromptRun(Struct):
    """The result of a prompt: its action calls, the number of all calls, the streamed text and the answer."""

    acts: list[ToolCall]
    calls: int
    streamed: list[str]
    answer: Answer


def step(**data: str) -> ToolResult:
    steps = [{"id": "a1", "actionType": "any", "success": True, "data": data}]
    return ToolResult(
        True, "done", {"envelope": {"status": "success", "stepResults": steps}, "deviceId": "claw-1"}
    )


def failure(code: str, message: str) -> ToolResult:
    return ToolResult(False, message, error=ClawError(code, message))


CHANGED = step(effect="changed")


def run_prompt(
    prompt: str,
    *screens: dict[str, str],
    results: dict[str, ToolResult] | None = None,
    deadline: TurnDeadline | None = None,
) -> PromptRun:
    """Run a prompt. Each capture returns the next screen, then the last one; other calls return ``results`` by name."""
    ran = PromptRun([], 0, [], Answer(""))
    deadline = deadline or InstantDeadline()
    steps = OfflineBrain().respond(BrainRequest(prompt, builtin_tools(), deadline, on_text=ran.streamed.append))
    screen_data = list(screens)
    result: ToolResult | None = None
    while True:
        try:
            call = next(steps) if result is None else steps.send(result)
        except StopIteration as e:
            ran.answer = e.value
            return ran
        ran.calls += 1
        if call.name == "snapshot_ui" and screen_data:
            result = step(**(screen_data.pop(0) if len(screen_data) > 1 else screen_data[0]))
        else:
            ran.acts.append(call)
            result = (results or {}).get(call.name, CHANGED)


def code(ran: PromptRun) -> str:
    assert ran.answer.error is not None
    return ran.answer.error.code


def field(text: str, name: str, **more: str) -> Node:
    given = {"class": "android.widget.EditText", "resource_id": f"{APP}:id/{name}", "clickable": "true"}
    return node(text, **given | more)
