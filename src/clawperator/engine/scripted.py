"""Scripted drivers for tests of the engine and of programs that use it: no device, results from a table."""

from typing import Any

from clawperator.engine.clock import VirtualClock
from clawperator.engine.driver import Key, NodeAction, RecordingInfo, Windows
from clawperator.ui.node import Bounds, Hierarchy, Node

FRAME = Bounds(0, 0, 1080, 2400)


def node(text: str = "", *children: Node, **attributes: str) -> Node:
    """A node. ``id``, ``desc`` and ``cls`` are short names of attributes; ``_`` in a name becomes ``-``."""
    long = {"id": "resource-id", "desc": "content-desc", "cls": "class"}
    named = {long.get(name, name.replace("_", "-")): value for name, value in attributes.items()}
    made = Node({"text": text, "class": "android.view.View", "bounds": "[0,0][1080,2400]"} | named)
    made.children = list(children)
    for child in children:
        child.parent = made
    return made


def tree(*roots: Node) -> Hierarchy:
    """A hierarchy of these windows."""
    return Hierarchy({"rotation": "0"}, list(roots), [n for root in roots for n in root.walk()])


class ScriptedDriver:
    """A ``Driver`` that shows ``screen``, without any optional part. ``calls`` records what it was asked.

    ``answers`` maps a method to its result, an exception to raise, or a function to call; a function that returns
    None means the default result.
    """

    def __init__(self, clock: VirtualClock, *roots: Node, **answers: Any) -> None:
        self.clock = clock
        self.screen = tree(*roots) if roots else tree(node())
        self.answers: dict[str, Any] = answers
        self.calls: list[tuple[Any, ...]] = []

    def show(self, *roots: Node) -> None:
        """Replace the screen."""
        self.screen = tree(*roots)

    def show_at(self, seconds: float, *roots: Node) -> None:
        """Replace the screen at a time of the clock."""
        self.clock.call_at(seconds, lambda: self.show(*roots))

    def named(self, name: str) -> list[tuple[Any, ...]]:
        """The arguments of every call of a method."""
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


class FullScriptedDriver(ScriptedDriver):
    """A ``ScriptedDriver`` with every optional part, such as node actions, screenshots and recording."""

    def act(self, node: Node, action: NodeAction) -> bool:
        return bool(self._answer("act", node, action))

    def drag(self, start: tuple[int, int], end: tuple[int, int], duration_ms: int) -> bool:
        return bool(self._answer("drag", start, end, duration_ms))

    def double_tap(self, x: int, y: int) -> bool:
        return bool(self._answer("double_tap", x, y))

    def is_running(self, package: str) -> bool:
        return bool(self._answer("is_running", package))

    def force_stop(self, package: str) -> bool:
        return bool(self._answer("force_stop", package))

    def screenshot(self) -> bytes:
        answer: bytes = self._answer("screenshot", default=b"\x89PNG")
        return answer

    def start_recording(self, session_id: str | None) -> RecordingInfo:
        answer: RecordingInfo = self._answer(
            "start_recording", session_id, default=RecordingInfo("s1", "/r/s1.ndjson")
        )
        return answer

    def stop_recording(self, session_id: str | None) -> RecordingInfo:
        answer: RecordingInfo = self._answer(
            "stop_recording", session_id, default=RecordingInfo("s1", "/r/s1.ndjson", 7)
        )
        return answer
