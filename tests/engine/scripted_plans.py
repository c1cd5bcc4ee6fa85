"""Executions on scripted drivers."""

from collections.abc import Callable
from random import Random
from typing import Any

from clawperator.contract.execution import Execution, validate
from clawperator.contract.results import ResultEnvelope, StepResult
from clawperator.engine.clock import VirtualClock
from clawperator.engine.run import Engine
from clawperator.engine.scripted import FRAME, FullScriptedDriver, ScriptedDriver, node


class ListDriver(FullScriptedDriver):
    """Shows a list of rows of equal height, and scrolls it by the length of a swipe."""

    ROW = 200

    def __init__(self, clock: VirtualClock, rows: list[str], **answers: Any) -> None:
        super().__init__(clock, **{"swipe": self.scroll, **answers})
        self.rows = rows
        self.offset = 0
        self.render()

    def scroll(self, start: tuple[int, int], end: tuple[int, int], _ms: int) -> bool:
        most = max(0, len(self.rows) * self.ROW - FRAME.height)
        self.offset = min(most, max(0, self.offset + start[1] - end[1]))
        self.render()
        return True

    def render(self) -> None:
        shown = []
        for i, text in enumerate(self.rows):
            top = i * self.ROW - self.offset
            if -self.ROW < top < FRAME.height:
                bounds = f"[0,{top}][1080,{top + self.ROW}]"
                shown.append(node(text, id="app:id/row", clickable="true", bounds=bounds))
        listed = node("", *shown, id="app:id/list", cls="android.widget.ListView", scrollable="true")
        self.show(node("", listed, id="app:id/root"))


def plan(*actions: tuple[str, dict[str, Any]], timeout_ms: float = 30_000) -> Execution:
    """An execution of these actions, with the ids a0, a1 and so on."""
    listed = [{"id": f"a{i}", "type": kind, "params": params} for i, (kind, params) in enumerate(actions)]
    document = {
        "commandId": "c",
        "taskId": "t",
        "source": "test",
        "expectedFormat": "android-ui-automator",
        "timeoutMs": timeout_ms,
        "actions": listed,
    }
    return validate(document).execution


def run(
    phone: ScriptedDriver,
    *actions: tuple[str, dict[str, Any]],
    timeout_ms: float = 30_000,
    save: Callable[[str | None, bytes], str] | None = None,
) -> ResultEnvelope:
    engine = Engine(phone, phone.clock, random=Random(1), save_screenshot=save)
    return engine.run(plan(*actions, timeout_ms=timeout_ms))


def step(phone: ScriptedDriver, kind: str, timeout_ms: float = 30_000, **params: Any) -> StepResult:
    """The one step of a one-action execution."""
    return run(phone, (kind, params), timeout_ms=timeout_ms).stepResults[0]
