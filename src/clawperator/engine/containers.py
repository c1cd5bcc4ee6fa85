"""Scrollable containers: find one, swipe it once, and detect whether its content moved."""

from itertools import islice

from msgspec import Struct

from clawperator.contract.actions import ScrollGestureParams
from clawperator.engine.context import ActionContext
from clawperator.engine.settle import ScreenBefore, Settled, settle
from clawperator.engine.targets import (
    describe_matcher,
    describe_node,
    find_containers,
    optional_matcher,
    stroke_in,
)
from clawperator.errors import ClawError
from clawperator.ui.node import Bounds, Hierarchy, Node
from clawperator.ui.visible import visible_nodes

SWIPE_MS = 250
METHOD = "gesture_swipe"
# How many nodes of a container are compared to detect movement.
_SIGNATURE_NODES = 40


class Container(Struct, frozen=True):
    """The node that scrolls, and how many nodes matched."""

    node: Node
    candidates: int


class NodePosition(Struct, frozen=True):
    """Position and label of a node in a container."""

    name: str
    edge: int
    label: str


class Swipe(Struct, frozen=True):
    """A swipe that the device accepted. ``gone`` when the container was missing afterwards."""

    container: Container
    moved: bool
    gone: bool
    settled: Settled
    screen: Hierarchy


def find_container(context: ActionContext, screen: Hierarchy, params: ScrollGestureParams) -> Container:
    """The container of the parameters, or the first scrollable node on the screen.

    ``CONTAINER_NOT_FOUND`` when there is none, ``CONTAINER_NOT_SCROLLABLE`` when the matched node does not scroll.
    """
    matcher = optional_matcher(params.container)
    if matcher is None:
        scrolling = [node for node in visible_nodes(screen, context.driver.frame()) if node.flag("scrollable")]
        if not scrolling:
            raise ClawError("CONTAINER_NOT_FOUND", "no scrollable node on the screen")
        return Container(scrolling[0], len(scrolling))
    found = find_containers(context, screen, matcher)
    node = found[0]
    if node.flag("scrollable"):
        return Container(node, len(found))
    if params.findFirstScrollableChild:
        for child in visible_nodes(node, context.driver.frame()):
            if child.flag("scrollable"):
                return Container(child, len(found))
    raise ClawError(
        "CONTAINER_NOT_SCROLLABLE",
        f"the node that matches {describe_matcher(matcher)} does not scroll",
        details={"matched_target": describe_node(node), "candidate_count": len(found)},
    )


def swipe_line(area: Bounds, direction: str, ratio: float) -> tuple[tuple[int, int], tuple[int, int]]:
    """Start and end of a swipe that reveals content in this direction."""
    if direction in ("down", "right"):
        start = 0.8 - 0.4 * ratio
        end = start - 0.4 * ratio
    else:
        start = 0.2 + 0.4 * ratio
        end = start + 0.4 * ratio
    x, y = area.centre
    if direction in ("down", "up"):
        return (x, round(area.top + area.height * start)), (x, round(area.top + area.height * end))
    return (round(area.left + area.width * start), y), (round(area.left + area.width * end), y)


def node_positions(container: Node, direction: str) -> list[NodePosition]:
    """The first nodes inside a container, named by resource id or else by path."""
    horizontal = direction in ("left", "right")
    paths = {id(container): ""}
    found = []
    for node in islice(container.walk(), 1 + _SIGNATURE_NODES):
        path = paths[id(node)]
        for i, child in enumerate(node.children):
            paths[id(child)] = f"{path}/{i}"
        edge = node.bounds.left if horizontal else node.bounds.top
        found.append(NodePosition(node.resource_id or path, edge, node.label))
    return found[1:]


def has_moved(before: list[NodePosition], after: list[NodePosition]) -> bool:
    """Whether content moved: a node is elsewhere, or most nodes have other labels in the same place.

    The second happens when rows of equal height scroll by whole rows. A single label that changes by itself, such
    as a clock, is not movement.
    """
    pairs = list(zip(before, after, strict=False))
    if any((a.name, a.edge) != (b.name, b.edge) for a, b in pairs):
        return True
    labelled = [(a.label, b.label) for a, b in pairs if a.label or b.label]
    return 2 * sum(a != b for a, b in labelled) > len(labelled)


def swipe_once(context: ActionContext, before: ScreenBefore, params: ScrollGestureParams) -> Swipe:
    """Find the container, swipe it, wait until it settles. ``GESTURE_FAILED`` when the device rejects it."""
    container = find_container(context, before.screen, params)
    area = container.node.bounds.normalised().intersection(context.driver.frame())
    line = swipe_line(area, params.direction, params.distanceRatio)
    start, end = stroke_in(before.screen, container.node, context.driver.frame(), line)
    if not context.perform(lambda driver: driver.swipe(start, end, SWIPE_MS)):
        details = {"matched_target": describe_node(container.node), "candidate_count": container.candidates}
        raise ClawError("GESTURE_FAILED", "the device rejected the swipe", details=details)
    swiped = context.clock.monotonic()
    context.pause(params.settleDelayMs)
    settled = settle(context, before, swiped)
    if settled.screen is None and context.has_slow_captures and context.execution.error is not None:
        raise context.execution.error  # another capture would take as long to fail
    after = context.capture() if settled.screen is None else settled.screen
    try:
        now = find_container(context, after, params)
    except ClawError as e:
        if not e.code.startswith("CONTAINER_"):
            raise
        return Swipe(container, moved=False, gone=True, settled=settled, screen=after)
    moved = has_moved(node_positions(container.node, params.direction), node_positions(now.node, params.direction))
    return Swipe(container, moved=moved, gone=False, settled=settled, screen=after)


def name_of_container(container: Container) -> str:
    return container.node.resource_id or container.node.class_name
