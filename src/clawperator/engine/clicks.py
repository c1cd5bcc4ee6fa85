"""Clicks: on a node, by accessibility where that is possible and by a gesture where not, or on a point."""

from typing import Literal

from msgspec import Struct

from clawperator.contract.actions import ClickParams, Coordinate, Retry
from clawperator.contract.selectors import NodeMatcher
from clawperator.engine.context import Scene, StepData
from clawperator.engine.driver import NodeAction
from clawperator.engine.retry import retrying
from clawperator.engine.settle import evidence, settle
from clawperator.engine.targets import aim, nearest, tell, tell_node, visible_part
from clawperator.errors import ClawError
from clawperator.ui.node import Hierarchy, Node
from clawperator.ui.visible import visible

ClickKind = Literal["click", "long_click", "focus"]

TAP_MS = 120
HOLD_MS = 650
_KINDS: dict[str, ClickKind] = {
    "default": "click",
    "click": "click",
    "long_click": "long_click",
    "longclick": "long_click",
    "focus": "focus",
}


class Gesture(Struct, frozen=True):
    """The action of accessibility, the attribute of a node that has it, and the finger that does the same."""

    action: NodeAction
    attribute: str
    hold_ms: int
    name: str


_GESTURES: dict[str, Gesture] = {
    "click": Gesture("click", "clickable", TAP_MS, "gesture_tap"),
    "long_click": Gesture("long_click", "long-clickable", HOLD_MS, "gesture_long_press"),
}


def click_kind(written: str) -> ClickKind:
    """The kind of click an action's ``clickType`` means."""
    return _KINDS[written]


def click(scene: Scene, params: ClickParams) -> StepData:
    kind = click_kind(params.clickType)
    if isinstance(params.coordinate, Coordinate):
        return _click_point(scene, params.coordinate, kind)
    assert isinstance(params.matcher, NodeMatcher)
    return {"click_types": kind, **click_node(scene, params.matcher, kind, params.retry)}


def click_node(
    scene: Scene, matcher: NodeMatcher, kind: ClickKind, retry: Retry, container: NodeMatcher | None = None
) -> StepData:
    """Find the node, click it and tell what came of it. ``NODE_NOT_FOUND`` or ``NODE_NOT_CLICKABLE``."""

    def attempt() -> tuple[Hierarchy, list[Node], str]:
        screen = scene.capture()
        found = aim(scene, screen, matcher, container)
        method = press(scene, found[0], kind)
        if method is None:
            raise _refused(found)
        return screen, found, method

    screen, found, method = retrying(scene, retry, attempt)
    return evidence(tell_node(found[0]), len(found), method, settle(scene, screen))


def press(scene: Scene, node: Node, kind: ClickKind) -> str | None:
    """Click a node. Says how it was done; None when the node is disabled or the phone refused."""
    if kind == "focus":
        return _focus(scene, node)
    gesture = _GESTURES[kind]
    holder = nearest(node, lambda n: n.flag(gesture.attribute))
    if (holder or node).attributes.get("enabled") == "false":
        return None
    if holder is not None:
        taken = scene.hand().act(holder, gesture.action)
        if taken is not None:
            # A node that is gone must not be tapped where it was: something else may lie there by now.
            return f"accessibility_{gesture.action}" if taken else None
    x, y = visible_part(scene, node)
    return gesture.name if scene.hand().tap(x, y, gesture.hold_ms) else None


def _focus(scene: Scene, node: Node) -> str | None:
    holder = nearest(node, lambda n: n.flag("focusable"))
    if holder is not None and scene.hand().act(holder, "focus"):
        return "accessibility_focus"
    return "accessibility_select" if scene.hand().act(node, "select") else None


def _refused(found: list[Node]) -> ClawError:
    return ClawError(
        "NODE_NOT_CLICKABLE",
        "the matched node is disabled, or the phone refused the click",
        details={"matched_target": tell_node(found[0]), "candidate_count": len(found)},
    )


def _click_point(scene: Scene, point: Coordinate, kind: ClickKind) -> StepData:
    gesture = _GESTURES[kind]
    where = f"({point.x},{point.y})"
    before = scene.glance()
    under = None if before is None else _node_at(scene, before, point)
    if not scene.hand().tap(point.x, point.y, gesture.hold_ms):
        raise ClawError(
            "GESTURE_FAILED",
            f"the phone refused to touch {where}",
            hint="Run 'clawperator snapshot': the point must lie within the bounds of its first node.",
            details={"coordinate": where},
        )
    target = tell(point=where) if under is None else tell_node(under)
    settled = settle(scene, before)
    return {"click_types": kind, "coordinate": where, **evidence(target, 1, gesture.name, settled)}


def _node_at(scene: Scene, screen: Hierarchy, point: Coordinate) -> Node | None:
    """The node drawn last of those that cover the point."""
    found = None
    for node in visible(screen, scene.driver.frame()):
        if node.bounds.normalised().contains(point.x, point.y):
            found = node
    return found
