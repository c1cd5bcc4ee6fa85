"""A driver for actions that the host runs on a device with an Operator.

The screen is read by the Operator, because a dump of uiautomator would suspend its accessibility service. Touch,
keys and text go through the Operator where its contract has an action for them, and through adb otherwise.
"""

from collections.abc import Callable
from typing import Any

from clawperator._deadline import Deadline
from clawperator.contract import StepResult
from clawperator.device.adb.client import Device
from clawperator.device.backends import RunWatch
from clawperator.device.backends.adb import AdbDriver, WatchedClock
from clawperator.device.backends.host_actions import save_screenshot
from clawperator.engine import Engine, Key, Windows
from clawperator.errors import ClawError
from clawperator.ui import Hierarchy, parse_hierarchy

Deliver = Callable[[list[dict[str, Any]]], list[StepResult]]

_ONCE = {"maxAttempts": 1}
# The Operator's long click takes about this long; any other duration goes through adb.
_LONG_MS = range(500, 801)
_TAP_MS = 200
_OPERATOR_KEYS: frozenset[Key] = frozenset({"back", "home", "recents"})


class OperatorDriver(AdbDriver):
    """A ``Driver`` that reads the screen with the Operator. ``link_error`` is the last error of a delivery."""

    def __init__(self, device: Device, deliver: Deliver, deadline: Deadline, watch: RunWatch) -> None:
        super().__init__(device, seconds=deadline.remaining or 0.0, watch=watch)
        self._deliver = deliver
        self._windows: Windows | None = None
        self.link_error: ClawError | None = None

    def dump(self) -> Hierarchy:
        data = self._action("snapshot_ui", {"retry": _ONCE}).data
        count = data.get("window_count", "")
        foreground, overlay = data.get("foreground_package"), data.get("overlay_package")
        self._windows = Windows(foreground, overlay, int(count) if count.isdecimal() else 0)
        tree = parse_hierarchy(data["text"])
        self._rotation = tree.rotation
        return tree

    def windows(self) -> Windows:
        if self._windows is None:
            self.dump()
        assert self._windows is not None
        return self._windows

    def foreground(self) -> str | None:
        self.dump()
        return self.windows().foreground_package

    def tap(self, x: int, y: int, hold_ms: int) -> bool:
        if hold_ms > _TAP_MS and hold_ms not in _LONG_MS:
            return super().tap(x, y, hold_ms)
        kind = "click" if hold_ms <= _TAP_MS else "long_click"
        params = {"coordinate": {"x": x, "y": y}, "clickType": kind, "retry": _ONCE}
        return self._is_done("click", params, "GESTURE_FAILED")

    def key(self, key: Key) -> bool:
        if key not in _OPERATOR_KEYS:
            return super().key(key)
        return self._is_done("press_key", {"key": key}, "GLOBAL_ACTION_FAILED")

    def _is_done(self, action: str, params: dict[str, Any], refusal: str) -> bool:
        """Whether the Operator performed an action. An error other than ``refusal`` is raised."""
        try:
            self._action(action, params)
        except ClawError as e:
            if e.code != refusal:
                raise
            return False
        return True

    def _action(self, action: str, params: dict[str, Any]) -> StepResult:
        """The step of one action of the Operator; a failed step is raised as its error."""
        self._left(0)
        try:
            steps = self._deliver([{"id": "a1", "type": action, "params": params}])
        except ClawError as e:
            self.link_error = e
            raise
        step = steps[-1]
        if not step.success:
            data = step.data
            code = data.get("error", "UNKNOWN")
            raise ClawError(code, data.get("message", f"the Operator could not {action}"), hint=data.get("hint"))
        return step


def host_engine(driver: OperatorDriver, watch: RunWatch, command_id: str) -> Engine:
    def save(path: str | None, png: bytes) -> str:
        return save_screenshot(png, path, command_id)

    return Engine(driver, WatchedClock(watch), save_screenshot=save)
