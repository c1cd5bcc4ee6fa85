"""A driver for actions that the host runs on a device with an Operator.

The screen is read by the Operator, because a dump of uiautomator would suspend its accessibility service. Touch,
keys and text go through the Operator where its contract has an action for them, and through adb otherwise.
"""

from collections.abc import Callable
from typing import Any, Literal

from clawperator._base.deadline import Deadline
from clawperator.contract.action_params import OPERATOR_KEYS
from clawperator.contract.results import StepResult
from clawperator.device.adb.client import Device
from clawperator.device.backends.adb import AdbDriver, WatchedClock
from clawperator.device.backends.backend import RunWatch
from clawperator.device.backends.host_actions import save_screenshot
from clawperator.device.backends.operator_link import known_code
from clawperator.device.backends.operator_targets import (
    check_matched,
    click_selector,
    field_selector,
    is_in_place,
    own_guard,
    point_of,
)
from clawperator.engine.driver import ChosenNode, Key, Windows
from clawperator.engine.run import Engine
from clawperator.errors import ClawError
from clawperator.ui.node import NOWHERE, Bounds, Hierarchy
from clawperator.ui.outline import screen_frame
from clawperator.ui.parse import parse_hierarchy

Deliver = Callable[[list[dict[str, Any]]], list[StepResult]]

_ONCE = {"maxAttempts": 1}
# The Operator's long click takes about this long; any other duration goes through adb.
_LONG_MS = range(500, 801)
_TAP_MS = 200


class OperatorDriver(AdbDriver):
    """A ``Driver`` that reads the screen with the Operator. ``link_error`` is the last error of a delivery."""

    slow_captures = False

    def __init__(self, device: Device, deliver: Deliver, deadline: Deadline, watch: RunWatch) -> None:
        super().__init__(device, seconds=deadline.remaining or 0.0, watch=watch)
        self._deliver = deliver
        self._windows: Windows | None = None
        self._frame = NOWHERE
        self.link_error: ClawError | None = None

    def dump(self) -> Hierarchy:
        data = self._action("snapshot_ui", {"retry": _ONCE}).data
        count = data.get("window_count", "")
        foreground, overlay = data.get("foreground_package"), data.get("overlay_package")
        self._windows = Windows(foreground, overlay, int(count) if count.isdecimal() else 0)
        tree = parse_hierarchy(data["text"])
        self._rotation = tree.rotation
        self._frame = screen_frame(tree)
        self.last_screen = tree
        return tree

    def frame(self) -> Bounds:
        """The area of the active window, from the last capture; that of the display before the first one."""
        return super().frame() if self._frame.is_empty else self._frame

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

    def click_target(self, chosen: ChosenNode, kind: Literal["click", "long_click", "focus"]) -> dict[str, str]:
        """One delivery where a contract selector matches the node; else a tap between two captures."""
        frame = self.frame()
        target = click_selector(chosen, kind, frame)
        if target is not None:
            data = self._action("click", {**target.params(), "clickType": kind}).data
            check_matched(data, target.node, chosen, by_selector=True)
            return data
        if kind == "focus":
            raise ClawError(
                "NODE_NOT_CLICKABLE", "the Operator cannot focus this node: no selector matches it alone"
            )
        again = self.dump()
        x, y, top = point_of(chosen, again, kind, frame)
        tap = {"coordinate": {"x": x, "y": y}, "clickType": kind, "retry": _ONCE}
        data = self._guarded("click", tap, own_guard(top) or own_guard(chosen.node))
        check_matched(data, top, chosen, by_selector=False)
        verified = {} if self._is_in_place(chosen) else {"target_verified": "false"}
        return {name: value for name, value in data.items() if name != "coordinate"} | verified

    def _is_in_place(self, chosen: ChosenNode) -> bool:
        """Whether a node is where it was, after a touch. False when the screen cannot be captured."""
        error = self.link_error
        try:
            after = self.dump()
        except ClawError:
            self.link_error = error
            return False
        return is_in_place(chosen, after)

    def type_into(self, chosen: ChosenNode, text: str, *, submit: bool, clear: bool) -> dict[str, str] | None:
        target = field_selector(chosen, self.frame())
        if target is None:
            return None
        params = {**target.params(), "text": text, "submit": submit, "clear": clear}
        data = self._action("enter_text", params).data
        check_matched(data, target.node, chosen, by_selector=True)
        return data

    def key(self, key: Key) -> bool:
        if key not in OPERATOR_KEYS:
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
        return self._run_actions([{"id": "a1", "type": action, "params": params}])

    def _guarded(self, action: str, params: dict[str, Any], guard: dict[str, str]) -> dict[str, str]:
        """The data of an action that runs only if a node is there: the first action that fails ends a delivery."""
        actions: list[dict[str, Any]] = [{"id": "a1", "type": action, "params": params}]
        if guard:
            wait = {"id": "g1", "type": "wait_for_node", "params": {"matcher": guard, "retry": _ONCE}}
            actions.insert(0, wait)
        return self._run_actions(actions).data

    def _run_actions(self, actions: list[dict[str, Any]]) -> StepResult:
        """The last step of a delivery; the first failed step is raised as its error."""
        self._left(0)
        try:
            steps = self._deliver(actions)
        except ClawError as e:
            self.link_error = e
            raise
        for step in steps:
            if step.success:
                continue
            data = step.data
            action = step.actionType
            code = known_code(data.get("error"))
            raise ClawError(code, data.get("message", f"the Operator could not {action}"), hint=data.get("hint"))
        return steps[-1]


def host_engine(driver: OperatorDriver, watch: RunWatch, command_id: str) -> Engine:
    def save(path: str | None, png: bytes) -> str:
        return save_screenshot(png, path, command_id)

    clock, references, check = WatchedClock(watch), watch.references, watch.check_target
    return Engine(
        driver,
        clock,
        save_screenshot=save,
        references=references,
        check_target=check,
        secrets=watch.secrets,
    )
