"""The phone as the engine sees it: what accessibility can do, and what the system can when it is asked."""

from typing import TYPE_CHECKING

from clawperator.engine.driver import Key, NodeAction, Recorded, Windows
from clawperator.errors import ClawError
from clawperator.phone.apps.system import ANDROID
from clawperator.phone.toolkit.layout import Place
from clawperator.ui.node import Bounds, Hierarchy, Node

if TYPE_CHECKING:
    from clawperator.phone.core.phone import Phone


class PhoneDriver:
    """A ``Driver`` over a phone in the same process.

    As an accessibility service it cannot stop apps or take screenshots; with ``privileged`` it can.
    """

    def __init__(self, phone: "Phone", *, privileged: bool) -> None:
        self._phone = phone
        self._privileged = privileged

    def dump(self) -> Hierarchy:
        self._phone.pause()
        self._check()
        with self._phone.lock:
            return self._phone.glass.capture()

    def windows(self) -> Windows:
        phone = self._phone
        with phone.lock:
            front = phone.foreground()
            others = [w.entry.package for w in phone.glass.windows() if w.entry.package != front]
            keyboard = phone.glass.keyboard()
            overlay = ANDROID if front == ANDROID else next(iter(others), None)
            if overlay is None and keyboard is not None:
                overlay = keyboard.entry.package
            # The bar at the bottom is a window too.
            return Windows(front, overlay, len(phone.glass.windows()) + 1 + (keyboard is not None))

    def foreground(self) -> str | None:
        return self._phone.foreground()

    def frame(self) -> Bounds:
        return self._phone.glass.display.bounds

    def act(self, node: Node, action: NodeAction) -> bool:
        place = self._place(node)
        if place is None:
            return False
        if action == "focus":
            return self._phone.focus(place)
        if action == "select":
            return False
        return self._phone.click(place, long=action == "long_click")

    def set_text(self, node: Node, text: str) -> bool:
        place = self._place(node)
        return place is not None and self._phone.set_text(place, text)

    def submit(self, node: Node) -> bool:
        place = self._place(node)
        return place is not None and self._phone.submit(place)

    def tap(self, x: int, y: int, hold_ms: int) -> bool:
        self._reach()
        if not self._phone.glass.display.bounds.contains(x, y):
            return False
        self._phone.tap(x, y, hold_ms)
        return True

    def swipe(self, start: tuple[int, int], end: tuple[int, int], duration_ms: int) -> bool:
        self._reach()
        self._phone.swipe(start, end, duration_ms)
        return True

    def key(self, key: Key) -> bool:
        self._reach()
        phone = self._phone
        with phone.lock:
            {"back": phone.go_back, "home": phone.go_home, "recents": phone.show_recents}[key]()
        return True

    def launch(self, package: str) -> bool:
        self._reach()
        return self._phone.launch(package)

    def view(self, uri: str) -> bool:
        self._reach()
        return self._phone.view(uri)

    def force_stop(self, package: str) -> bool:
        if self._privileged:
            self._phone.stop_app(package)
        return self._privileged

    def screenshot(self) -> bytes | None:
        return self._phone.screenshot() if self._privileged else None

    def start_recording(self, session_id: str | None) -> Recorded:
        with self._phone.lock:
            return self._phone.operator.recorder.start(session_id)

    def stop_recording(self, session_id: str | None) -> Recorded:
        with self._phone.lock:
            return self._phone.operator.recorder.stop(session_id)

    def _place(self, node: Node) -> Place | None:
        """What a node of a capture stands for, after the time a request takes."""
        self._reach()
        return node.source if isinstance(node.source, Place) else None

    def _reach(self) -> None:
        self._phone.pause()
        self._check()

    def _check(self) -> None:
        if not self._phone.operator.is_bound():
            raise ClawError("SERVICE_UNAVAILABLE", "the Operator's accessibility service is off")
