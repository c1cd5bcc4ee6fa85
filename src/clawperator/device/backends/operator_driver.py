"""A driver for actions that the host runs on a device with an Operator.

The screen is read by the Operator, because a dump of uiautomator would suspend its accessibility service. Touch,
keys and text go through the Operator where its contract has an action for them, and through adb otherwise.

The Operator acts on a node that the host chose by a selector of its contract, else at a point, and reports the
node that it matched. When that is not the chosen one, the step fails: ``TARGET_CHANGED``. After a touch of a point
it also fails when the node is elsewhere: it may have moved before the touch.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct

from clawperator._base.deadline import Deadline
from clawperator._base.text import printable
from clawperator._base.typed import decode
from clawperator.contract.action_params import OPERATOR_KEYS
from clawperator.contract.results import StepResult
from clawperator.contract.selectors import NodeMatcher
from clawperator.device.adb.client import Device
from clawperator.device.backends.adb import AdbDriver
from clawperator.device.backends.backend import RunWatch
from clawperator.device.backends.operator_link import known_code
from clawperator.engine.driver import ChosenNode, Key, Windows
from clawperator.engine.targets import (
    describe_node,
    nearest_self_or_ancestor,
    target_changed,
    target_moved,
    touch_point,
)
from clawperator.errors import ClawError
from clawperator.ui.hit_test import HitTest
from clawperator.ui.node import NOWHERE, Bounds, Hierarchy, Node, node_at
from clawperator.ui.outline import screen_frame
from clawperator.ui.parse import parse_hierarchy
from clawperator.ui.suggest import contract_selector

# The attribute of nodes that take each kind of click for what is inside them.
_TAKES = {"click": "clickable", "long_click": "long-clickable"}
_MAX_EQUIVALENTS = 24
_COMPARED = ("class", "resourceId", "label")
Deliver = Callable[[list[dict[str, Any]]], list[StepResult]]

_ONCE = {"maxAttempts": 1}
# The Operator's long click takes about this long; any other duration goes through adb.
_LONG_MS = range(500, 801)
_TAP_MS = 200


class OperatorTarget(Struct, frozen=True):
    """A selector for an Operator, and the node that it must match: the chosen one, or one with the same effect."""

    selector: NodeMatcher
    node: Node

    def params(self) -> dict[str, Any]:
        return {"matcher": msgspec.to_builtins(self.selector), "retry": {"maxAttempts": 1}}


def click_selector(chosen: ChosenNode, kind: str, frame: Bounds) -> OperatorTarget | None:
    """The selector for a click on the chosen node, or on one whose click goes to the same clickable node.

    None where the Operator would touch the centre of the node, and another element covers that.
    """
    node = chosen.node
    if kind in _TAKES and _taker(node, kind) is None:
        centre = node.bounds.normalised().intersection(frame).centre
        if HitTest(chosen.screen, frame).find(node).point != centre:
            return None
    return _first_selector(chosen.screen, _same_click(chosen.node, kind), frame)


def field_selector(chosen: ChosenNode, frame: Bounds) -> OperatorTarget | None:
    """The selector for typing into the chosen node."""
    return _first_selector(chosen.screen, iter([chosen.node]), frame)


def _first_selector(screen: Hierarchy, nodes: Iterator[Node], frame: Bounds) -> OperatorTarget | None:
    for node in nodes:
        selector = contract_selector(screen, node, frame)
        if selector is not None:
            return OperatorTarget(selector, node)
    return None


def _same_click(node: Node, kind: str) -> Iterator[Node]:
    """The node, then those for which the same node takes the click."""
    yield node
    if kind not in _TAKES:
        return
    taker = _taker(node, kind)
    if taker is None:
        return
    tried = 0
    for other in taker.walk():
        if other is not node and _taker(other, kind) is taker:
            yield other
            tried += 1
            if tried == _MAX_EQUIVALENTS:
                return


def _taker(node: Node, kind: str) -> Node | None:
    return nearest_self_or_ancestor(node, lambda one: one.flag(_TAKES[kind]))


def point_of(chosen: ChosenNode, again: Hierarchy, kind: str, frame: Bounds) -> tuple[int, int, Node]:
    """A point of the chosen node, and the topmost node there.

    ``NODE_NOT_FOUND`` when the node is not where it was, ``NODE_COVERED`` when others lie above all of it.
    """
    node = chosen.again(again)
    if describe_node(node) != describe_node(chosen.node):
        raise ClawError("NODE_NOT_FOUND", "the screen is changing: the node is not where it was")
    x, y = touch_point(again, node, frame, _taker(node, kind))
    return x, y, node_at(again, frame, x, y) or node


def own_guard(node: Node) -> dict[str, str]:
    """Contract fields that the node has, to check that its screen is still there."""
    own = {"resourceId": node.resource_id, "textEquals": "" if node.flag("password") else node.label}
    return {name: value for name, value in own.items() if 0 < len(value) <= 512}


def check_matched(data: Mapping[str, str], expected: Node, chosen: ChosenNode, *, by_selector: bool) -> None:
    """``TARGET_CHANGED`` when the Operator reports that it acted on another node than expected.

    A node that was chosen by its place must also be where it was. An Operator that does not report the node is
    trusted: it had a selector that only this node matched, or found it on the same screen.
    """
    written = data.get("matched_target")
    if written is None:
        return
    try:
        found = decode(written)
    except ValueError:
        found = None
    wanted = decode(describe_node(expected))
    # A password field may be reported with its hint, or masked.
    compared = _COMPARED[:2] if expected.flag("password") else _COMPARED
    is_same = isinstance(found, dict) and all(found.get(name) == wanted.get(name) for name in compared)
    if is_same and by_selector and data.get("candidate_count", "1") != "1":
        is_same = False
    if is_same and not (chosen.by_itself and by_selector):
        is_same = found.get("bounds") == wanted.get("bounds")
    if not is_same:
        acted = f"it acted on {printable(written)}, not on {describe_node(expected)}"
        raise target_changed(acted, expected, {"acted_on": written})


def is_in_place(chosen: ChosenNode, after: Hierarchy) -> bool:
    """Whether the chosen node is where it was, after a touch of its point. Elsewhere: ``TARGET_CHANGED``.

    False when it is gone: the touch may have opened another page, and nothing is known of the node then.
    """
    try:
        node = chosen.again(after)
    except ClawError:
        return False
    if node.bounds != chosen.node.bounds:
        raise target_moved(chosen.node)
    return True


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
        data = self._action("snapshot_ui", {"retry": _ONCE})
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
            data = self._action("click", {**target.params(), "clickType": kind})
            check_matched(data, target.node, chosen, by_selector=True)
            return data
        if kind == "focus":
            message = "the Operator cannot focus this node: no selector matches it alone"
            raise ClawError("NODE_NOT_CLICKABLE", message)
        again = self.dump()
        x, y, top = point_of(chosen, again, kind, frame)
        tap = {"coordinate": {"x": x, "y": y}, "clickType": kind, "retry": _ONCE}
        data = self._action("click", tap, own_guard(top) or own_guard(chosen.node))
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
        data = self._action("enter_text", params)
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

    def _action(self, action: str, params: dict[str, Any], guard: dict[str, str] | None = None) -> dict[str, str]:
        """The data of one action of the Operator; a failed step is raised as its error.

        With a ``guard`` it runs only if such a node is there: the first action that fails ends a delivery.
        """
        actions: list[dict[str, Any]] = [{"id": "a1", "type": action, "params": params}]
        if guard:
            wait = {"id": "g1", "type": "wait_for_node", "params": {"matcher": guard, "retry": _ONCE}}
            actions.insert(0, wait)
        self._left(0)
        try:
            steps = self._deliver(actions)
        except ClawError as e:
            self.link_error = e
            raise
        for step in steps:
            if step.success:
                continue
            message = step.data.get("message", f"the Operator could not {step.actionType}")
            raise ClawError(known_code(step.data.get("error")), message, hint=step.data.get("hint"))
        return steps[-1].data
