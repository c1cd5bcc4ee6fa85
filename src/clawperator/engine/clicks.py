"""Clicks on a node, by accessibility action or gesture, and on a point."""

from collections.abc import Callable
from typing import Literal, TypeVar

from msgspec import Struct

from clawperator.contract.action_params import Coordinate, Retry
from clawperator.contract.actions import ClickParams
from clawperator.contract.selectors import NodeMatcher, NodeSelector
from clawperator.engine.context import ActionContext, StepData
from clawperator.engine.driver import ChosenNode, NodeAction, NodeActions, TargetActions
from clawperator.engine.retry import RETRYABLE_CODES, with_retry
from clawperator.engine.settle import ScreenBefore, evidence, look_for, settle, try_look
from clawperator.engine.targets import (
    describe,
    describe_node,
    nearest_self_or_ancestor,
    resolve,
    target_details,
    touch_point,
    touched_in_place,
)
from clawperator.errors import ClawError
from clawperator.ui.node import Hierarchy, Node, node_at

T = TypeVar("T")
# Fields that pick a node by its place or by what is near it.
_BY_CONTEXT = ("ref", "index", "ancestor", "descendant", "sibling", "below", "above", "leftOf", "rightOf")
ClickKind = Literal["click", "long_click", "focus"]

TAP_MS = 120
HOLD_MS = 650
# The kinds of click that a ``clickType`` names.
CLICK_KINDS: dict[str, ClickKind] = {
    "default": "click",
    "click": "click",
    "long_click": "long_click",
    "longclick": "long_click",
    "focus": "focus",
}


class Choice:
    """The nodes that match on a capture, and the first of them as a target."""

    def __init__(self, context: ActionContext, matcher: NodeMatcher, container: NodeMatcher | None = None) -> None:
        self._context = context
        self._matcher = matcher
        self._container = container
        screen = context.capture()
        self._found = self._resolve(screen)
        by_itself = container is None and _is_by_itself(matcher)
        self.node = ChosenNode(screen, self._found[0], by_itself, lambda s: self._resolve(s)[0])

    def _resolve(self, screen: Hierarchy) -> list[Node]:
        return resolve(self._context, screen, self._matcher, self._container)

    def evidence(self, data: StepData) -> StepData:
        """The evidence of the device, with the node that was chosen."""
        self._context.progress.dispatched = True
        target, count = describe_node(self._found[0]), str(len(self._found))
        return {**data, "matched_target": target, "candidate_count": count}

    def perform(self, act: Callable[[], T]) -> T:
        """Let the driver act on the node. Records whether the device may have done something before an error."""
        try:
            return act()
        except ClawError as e:
            progress = self._context.progress
            progress.dispatched = progress.dispatched or e.code not in RETRYABLE_CODES
            raise


def _is_by_itself(matcher: NodeMatcher) -> bool:
    if not isinstance(matcher, NodeSelector):
        return True
    if any(isinstance(getattr(matcher, name), str | int | NodeSelector) for name in _BY_CONTEXT):
        return False
    return not isinstance(matcher.anyOf, tuple) or all(map(_is_by_itself, matcher.anyOf))


class Gesture(Struct, frozen=True):
    """An accessibility action, the attribute of nodes that have it, and the equivalent touch."""

    action: NodeAction
    attribute: str
    hold_ms: int
    name: str


_GESTURES: dict[str, Gesture] = {
    "click": Gesture("click", "clickable", TAP_MS, "gesture_tap"),
    "long_click": Gesture("long_click", "long-clickable", HOLD_MS, "gesture_long_press"),
}


def click(context: ActionContext, params: ClickParams) -> StepData:
    kind = CLICK_KINDS[params.clickType]
    hold_ms = round(params.durationMs) if isinstance(params.durationMs, float | int) else None
    held = {} if hold_ms is None else {"duration_ms": str(hold_ms)}
    if isinstance(params.coordinate, Coordinate):
        return {**_click_point(context, params.coordinate, kind, hold_ms), **held}
    assert isinstance(params.matcher, NodeMatcher)
    data = click_node(context, params.matcher, kind, params.retry, hold_ms=hold_ms)
    return {"click_types": kind, **data, **held}


def click_node(  # noqa: PLR0913 - the facts of one click
    context: ActionContext,
    matcher: NodeMatcher,
    kind: ClickKind,
    retry: Retry,
    container: NodeMatcher | None = None,
    *,
    hold_ms: int | None = None,
) -> StepData:
    """Find the node, click it and report the effect. ``NODE_NOT_FOUND`` or ``NODE_NOT_CLICKABLE``."""
    if hold_ms is None and isinstance(context.driver, TargetActions):
        return with_retry(context, retry, lambda: _click_chosen(context, matcher, kind, container))

    def attempt() -> tuple[ScreenBefore, list[Node], str]:
        before, found = look_for(context, matcher, container)
        method = press(context, before.screen, found[0], kind, hold_ms)
        if method is None:
            message = "the matched node is disabled, or the device rejected the click"
            raise ClawError("NODE_NOT_CLICKABLE", message, details=target_details(found))
        return before, found, method

    before, found, method = with_retry(context, retry, attempt)
    settled = settle(context, before)
    # A touch of a given length goes to a point, whatever the device could do with the node itself.
    verified = {} if hold_ms is None else touched_in_place(context, found[0], matcher, settled.screen)
    return evidence(describe_node(found[0]), len(found), method, settled, before) | verified


def _click_chosen(
    context: ActionContext, matcher: NodeMatcher, kind: ClickKind, container: NodeMatcher | None
) -> StepData:
    """Choose the node, and let the driver click it as a whole action."""
    driver = context.driver_or_timeout()
    assert isinstance(driver, TargetActions)
    choice = Choice(context, matcher, container)
    return choice.evidence(choice.perform(lambda: driver.click_target(choice.node, kind)))


def press(
    context: ActionContext, screen: Hierarchy, node: Node, kind: ClickKind, hold_ms: int | None = None
) -> str | None:
    """Click a node of this screen. Returns the dispatch method; None when the node is disabled or rejects it.

    ``NODE_COVERED`` when it can only be touched at a point, and other elements lie above all of it. With
    ``hold_ms`` it is a touch of that length: an accessibility action has none.
    """
    if kind == "focus":
        return _focus(context, node)
    gesture = _GESTURES[kind]
    holder = nearest_self_or_ancestor(node, lambda n: n.flag(gesture.attribute))
    if (holder or node).attributes.get("enabled") == "false":
        return None
    if hold_ms is None and holder is not None and isinstance(context.driver, NodeActions):
        # Do not tap the old position of a vanished node: another element may be there now.
        return f"accessibility_{gesture.action}" if act(context, holder, gesture.action) else None
    x, y = touch_point(screen, node, context.driver.frame(), holder)
    held = gesture.hold_ms if hold_ms is None else hold_ms
    return gesture.name if context.perform(lambda: context.driver.tap(x, y, held)) else None


def act(context: ActionContext, node: Node, action: NodeAction) -> bool:
    """Perform an accessibility action, where the device has them. False when the node does not accept it."""
    driver = context.driver
    return context.perform(lambda: isinstance(driver, NodeActions) and driver.act(node, action))


def _focus(context: ActionContext, node: Node) -> str | None:
    holder = nearest_self_or_ancestor(node, lambda n: n.flag("focusable"))
    if holder is not None and act(context, holder, "focus"):
        return "accessibility_focus"
    return "accessibility_select" if act(context, node, "select") else None


def _click_point(context: ActionContext, point: Coordinate, kind: ClickKind, hold_ms: int | None) -> StepData:
    gesture = _GESTURES[kind]
    held = gesture.hold_ms if hold_ms is None else hold_ms
    where = f"({point.x},{point.y})"
    before = try_look(context)
    under = None if before is None else node_at(before.screen, context.driver.frame(), point.x, point.y)
    if not context.perform(lambda: context.driver.tap(point.x, point.y, held)):
        message = f"the device rejected a tap at {where}"
        hint = "Run 'clawperator snapshot': the point must be within the bounds of the first node."
        raise ClawError("GESTURE_FAILED", message, hint=hint, details={"coordinate": where})
    target = describe(point=where) if under is None else describe_node(under)
    settled = settle(context, before)
    return {"click_types": kind, "coordinate": where, **evidence(target, 1, gesture.name, settled, before)}
