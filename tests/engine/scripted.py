"""A phone that does what a test tells it, and remembers what it was asked."""

from collections.abc import Callable
from random import Random
from typing import Any

from clawperator.contract.execution import Execution, validate
from clawperator.contract.results import ResultEnvelope, StepResult
from clawperator.engine.clock import VirtualClock
from clawperator.engine.driver import Key, NodeAction, Recorded, Windows
from clawperator.engine.run import Engine
from clawperator.ui.node import Bounds, Hierarchy, Node

FRAME = Bounds(0, 0, 1080, 2400)


def node(text: str = "", *children: Node, **attributes: str) -> Node:
    """A node. ``id``, ``desc`` and ``cls`` are short for their long names, ``_`` in a name stands for ``-``."""
    long = {"id": "resource-id", "desc": "content-desc", "cls": "class"}
    named = {long.get(name, name.replace("_", "-")): value for name, value in attributes.items()}
    made = Node({"text": text, "class": "android.view.View", "bounds": "[0,0][1080,2400]"} | named)
    made.children = list(children)
    for child in children:
        child.parent = made
    return made


def tree(*roots: Node) -> Hierarchy:
    return Hierarchy({"rotation": "0"}, list(roots), [n for root in roots for n in root.walk()])


class ScriptedPhone:
    """Shows ``screen``. ``answers`` holds, by method, a value, an exception to raise, or a function to call.

    A function that returns nothing stands for the usual answer.
    """

    def __init__(self, clock: VirtualClock, *roots: Node, **answers: Any) -> None:
        self.clock = clock
        self.screen = tree(*roots) if roots else tree(node())
        self.answers: dict[str, Any] = answers
        self.calls: list[tuple[Any, ...]] = []

    def show(self, *roots: Node) -> None:
        self.screen = tree(*roots)

    def show_at(self, seconds: float, *roots: Node) -> None:
        self.clock.call_at(seconds, lambda: self.show(*roots))

    def named(self, name: str) -> list[tuple[Any, ...]]:
        """The arguments of every call of one method."""
        return [call[1:] for call in self.calls if call[0] == name]

    def _answer(self, name: str, *arguments: Any, default: Any = True) -> Any:
        self.calls.append((name, *(a.resource_id or a.label if isinstance(a, Node) else a for a in arguments)))
        answer = self.answers.get(name, default)
        if isinstance(answer, BaseException):
            raise answer
        if not callable(answer):
            return answer
        answered = answer(*arguments)
        return default if answered is None else answered

    def dump(self) -> Hierarchy:
        answer: Hierarchy = self._answer("dump", default=None) or self.screen
        return answer

    def windows(self) -> Windows:
        answer: Windows = self._answer("windows", default=Windows("com.example", None, 2))
        return answer

    def foreground(self) -> str | None:
        answer: str | None = self._answer("foreground", default="com.example")
        return answer

    def frame(self) -> Bounds:
        answer: Bounds = self._answer("frame", default=FRAME)
        return answer

    def act(self, node: Node, action: NodeAction) -> bool | None:
        answer = self._answer("act", node, action)
        return None if answer is None else bool(answer)

    def set_text(self, node: Node, text: str) -> bool:
        return bool(self._answer("set_text", node, text))

    def submit(self, node: Node) -> bool:
        return bool(self._answer("submit", node))

    def tap(self, x: int, y: int, hold_ms: int) -> bool:
        return bool(self._answer("tap", x, y, hold_ms))

    def swipe(self, start: tuple[int, int], end: tuple[int, int], duration_ms: int) -> bool:
        return bool(self._answer("swipe", start, end, duration_ms))

    def key(self, key: Key) -> bool:
        return bool(self._answer("key", key))

    def launch(self, package: str) -> bool:
        return bool(self._answer("launch", package))

    def view(self, uri: str) -> bool:
        return bool(self._answer("view", uri))

    def force_stop(self, package: str) -> bool:
        return bool(self._answer("force_stop", package))

    def screenshot(self) -> bytes | None:
        answer: bytes | None = self._answer("screenshot", default=b"\x89PNG")
        return answer

    def start_recording(self, session_id: str | None) -> Recorded:
        answer: Recorded = self._answer("start_recording", session_id, default=Recorded("s1", "/r/s1.ndjson"))
        return answer

    def stop_recording(self, session_id: str | None) -> Recorded:
        answer: Recorded = self._answer("stop_recording", session_id, default=Recorded("s1", "/r/s1.ndjson", 7))
        return answer


class ListPhone(ScriptedPhone):
    """Shows a list of rows of equal height, and scrolls it as far as a finger goes."""

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
    phone: ScriptedPhone,
    *actions: tuple[str, dict[str, Any]],
    timeout_ms: float = 30_000,
    save: Callable[[str | None, bytes], str] | None = None,
    schemes: tuple[str, ...] = (),
) -> ResultEnvelope:
    engine = Engine(phone, phone.clock, random=Random(1), save_screenshot=save, uri_schemes=schemes)
    return engine.run(plan(*actions, timeout_ms=timeout_ms))


def step(phone: ScriptedPhone, kind: str, timeout_ms: float = 30_000, **params: Any) -> StepResult:
    """The one step of a one-action execution."""
    return run(phone, (kind, params), timeout_ms=timeout_ms).stepResults[0]
