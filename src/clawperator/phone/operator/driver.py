"""The engine's driver for a phone in the same process: accessibility actions, and system actions if privileged."""

from contextlib import AbstractContextManager
from typing import Protocol

from clawperator.contract.action_params import KEY_CODES
from clawperator.engine.driver import Key, NodeAction, RecordingInfo, Windows
from clawperator.errors import ClawError
from clawperator.phone.apps.system import ANDROID
from clawperator.phone.core.user_input import InputTarget
from clawperator.phone.operator.recorder import Recorder
from clawperator.phone.toolkit.context import OperatorService
from clawperator.phone.toolkit.layout import PlacedView
from clawperator.ui.node import Bounds, Hierarchy, Node


class OperatorAccess(OperatorService, Protocol):
    """The part of the Operator that the driver uses."""

    recorder: Recorder


class AccessibilitySource(InputTarget, Protocol):
    """The part of the phone that the driver uses."""

    @property
    def lock(self) -> AbstractContextManager[object]: ...
    @property
    def operator(self) -> OperatorAccess: ...
    def apply_latency(self) -> None: ...
    def foreground(self) -> str: ...
    def screenshot(self) -> bytes: ...
    def click(self, placed: PlacedView, /, *, long: bool) -> bool: ...
    def focus(self, placed: PlacedView, /) -> bool: ...
    def set_text(self, placed: PlacedView, text: str, /) -> bool: ...
    def submit(self, placed: PlacedView, /) -> bool: ...
    def tap(self, x: int, y: int, hold_ms: int, /) -> None: ...
    def swipe(self, start: tuple[int, int], end: tuple[int, int], duration_ms: int, /) -> None: ...
    def drag(self, start: tuple[int, int], end: tuple[int, int], duration_ms: int, /) -> None: ...
    def launch(self, package: str, /) -> bool: ...
    def view(self, uri: str, /) -> bool: ...


class PhoneDriver:
    """A ``Driver`` over a phone in the same process.

    Like an accessibility service it cannot stop apps or take screenshots.
    """

    def __init__(self, phone: AccessibilitySource) -> None:
        self._phone = phone

    def dump(self) -> Hierarchy:
        self._begin_request()
        with self._phone.lock:
            return self._phone.windows.capture()

    def windows(self) -> Windows:
        phone = self._phone
        with phone.lock:
            front = phone.foreground()
            windows = phone.windows.app_windows()
            others = [w.entry.package for w in windows if w.entry.package != front]
            keyboard = phone.windows.keyboard()
            overlay = ANDROID if front == ANDROID else next(iter(others), None)
            if overlay is None and keyboard is not None:
                overlay = keyboard.entry.package
            # The navigation bar is a window too.
            return Windows(front, overlay, len(windows) + 1 + (keyboard is not None))

    def foreground(self) -> str | None:
        return self._phone.foreground()

    def frame(self) -> Bounds:
        return self._phone.windows.display.bounds

    def act(self, node: Node, action: NodeAction) -> bool:
        placed = self._view_of(node)
        if placed is None or action == "select":
            return False
        if action == "focus":
            return self._phone.focus(placed)
        return self._phone.click(placed, long=action == "long_click")

    def set_text(self, node: Node, text: str) -> bool:
        placed = self._view_of(node)
        return placed is not None and self._phone.set_text(placed, text)

    def submit(self, node: Node) -> bool:
        placed = self._view_of(node)
        return placed is not None and self._phone.submit(placed)

    def tap(self, x: int, y: int, hold_ms: int) -> bool:
        self._begin_request()
        if not self._phone.windows.display.bounds.contains(x, y):
            return False
        self._phone.tap(x, y, hold_ms)
        return True

    def swipe(self, start: tuple[int, int], end: tuple[int, int], duration_ms: int) -> bool:
        self._begin_request()
        self._phone.swipe(start, end, duration_ms)
        return True

    def key(self, key: Key) -> bool:
        self._begin_request()
        phone = self._phone
        with phone.lock:
            known = {"back": phone.go_back, "home": phone.go_home, "recents": phone.show_recents}
            if key not in known:
                return False
            known[key]()
        return True

    def launch(self, package: str) -> bool:
        self._begin_request()
        return self._phone.launch(package)

    def view(self, uri: str) -> bool:
        self._begin_request()
        return self._phone.view(uri)

    def start_recording(self, session_id: str | None) -> RecordingInfo:
        with self._phone.lock:
            return self._phone.operator.recorder.start(session_id)

    def stop_recording(self, session_id: str | None) -> RecordingInfo:
        with self._phone.lock:
            return self._phone.operator.recorder.stop(session_id)

    def _view_of(self, node: Node) -> PlacedView | None:
        self._begin_request()
        return node.source if isinstance(node.source, PlacedView) else None

    def _begin_request(self) -> None:
        self._phone.apply_latency()
        if not self._phone.operator.is_bound():
            raise ClawError("SERVICE_UNAVAILABLE", "the Operator's accessibility service is off")


class PrivilegedPhoneDriver(PhoneDriver):
    """A ``PhoneDriver`` that can also press every key, stop apps and take screenshots."""

    def key(self, key: Key) -> bool:
        if super().key(key):
            return True
        self._phone.key(KEY_CODES[key])
        return True

    def drag(self, start: tuple[int, int], end: tuple[int, int], duration_ms: int) -> bool:
        self._begin_request()
        if not all(self.frame().contains(*point) for point in (start, end)):
            return False
        self._phone.drag(start, end, duration_ms)
        return True

    def double_tap(self, x: int, y: int) -> bool:
        return self.tap(x, y, 0) and self.tap(x, y, 0)

    def is_running(self, package: str) -> bool:
        return self._phone.process_of(package) is not None

    def force_stop(self, package: str) -> bool:
        self._phone.stop_app(package)
        return True

    def screenshot(self) -> bytes:
        return self._phone.screenshot()
