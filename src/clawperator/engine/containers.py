"""Containers that scroll: finding them, swiping them once, and seeing whether that moved anything."""

from itertools import islice

from msgspec import Struct

from clawperator.contract.actions import ScrollAndClickParams, ScrollParams, ScrollUntilParams
from clawperator.engine.context import Scene
from clawperator.engine.settle import Settled, settle
from clawperator.engine.targets import given, inside, tell_matcher, tell_node
from clawperator.errors import ClawError
from clawperator.ui.node import Bounds, Hierarchy, Node
from clawperator.ui.visible import visible

Swiping = ScrollParams | ScrollUntilParams | ScrollAndClickParams

SWIPE_MS = 250
METHOD = "gesture_swipe"
# How many nodes of a container stand for its content when asking whether it moved.
_SIGNATURE_NODES = 40


class Container(Struct, frozen=True):
    """The node that scrolls, and how many could have been meant."""

    node: Node
    candidates: int


class Place(Struct, frozen=True):
    """Where one node of a container is, and what it says."""

    name: str
    edge: int
    label: str


class Swipe(Struct, frozen=True):
    """One swipe the phone took. ``gone`` when the container was not there any more afterwards."""

    container: Container
    moved: bool
    gone: bool
    settled: Settled
    screen: Hierarchy


def find_container(scene: Scene, screen: Hierarchy, params: Swiping) -> Container:
    """The container that is meant, or the first on the screen that scrolls.

    ``CONTAINER_NOT_FOUND`` when there is none, ``CONTAINER_NOT_SCROLLABLE`` when the one that is meant does not.
    """
    matcher = given(params.container)
    if matcher is None:
        scrolling = [node for node in visible(screen, scene.driver.frame()) if node.flag("scrollable")]
        if not scrolling:
            raise ClawError("CONTAINER_NOT_FOUND", "nothing on the screen scrolls")
        return Container(scrolling[0], len(scrolling))
    found = inside(scene, screen, matcher)
    node = found[0]
    if node.flag("scrollable"):
        return Container(node, len(found))
    if params.findFirstScrollableChild:
        for below in visible(node, scene.driver.frame()):
            if below.flag("scrollable"):
                return Container(below, len(found))
    raise ClawError(
        "CONTAINER_NOT_SCROLLABLE",
        f"the node that matches {tell_matcher(matcher)} does not scroll",
        details={"matched_target": tell_node(node), "candidate_count": len(found)},
    )


def swipe_line(area: Bounds, direction: str, ratio: float) -> tuple[tuple[int, int], tuple[int, int]]:
    """From where to where a finger goes: against the direction in which the content is to be seen."""
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


def places(container: Node, direction: str) -> list[Place]:
    """The first nodes inside a container, told by their resource id or else by their path."""
    horizontal = direction in ("left", "right")
    paths = {id(container): ""}
    found = []
    for node in islice(container.walk(), 1 + _SIGNATURE_NODES):
        path = paths[id(node)]
        for i, child in enumerate(node.children):
            paths[id(child)] = f"{path}/{i}"
        edge = node.bounds.left if horizontal else node.bounds.top
        found.append(Place(node.resource_id or path, edge, node.label))
    return found[1:]


def has_moved(before: list[Place], after: list[Place]) -> bool:
    """Whether content moved: a node stands elsewhere, or most of them say something else where they stand.

    The second happens when rows of one height are scrolled by whole rows. One label that changes by itself,
    a clock for instance, is no movement. Without content there is none either.
    """
    pairs = list(zip(before, after, strict=False))
    if any((a.name, a.edge) != (b.name, b.edge) for a, b in pairs):
        return True
    labelled = [(a.label, b.label) for a, b in pairs if a.label or b.label]
    return 2 * sum(a != b for a, b in labelled) > len(labelled)


def swipe_once(scene: Scene, screen: Hierarchy, params: Swiping) -> Swipe:
    """Find the container, swipe it, wait until it rests. ``GESTURE_FAILED`` when the phone refused."""
    container = find_container(scene, screen, params)
    area = container.node.bounds.normalised().intersection(scene.driver.frame())
    start, end = swipe_line(area, params.direction, params.distanceRatio)
    if not scene.hand().swipe(start, end, SWIPE_MS):
        details = {"matched_target": tell_node(container.node), "candidate_count": container.candidates}
        raise ClawError("GESTURE_FAILED", "the phone refused the swipe", details=details)
    swiped = scene.clock.monotonic()
    scene.pause(params.settleDelayMs)
    settled = settle(scene, screen, swiped)
    after = scene.capture() if settled.screen is None else settled.screen
    try:
        there = find_container(scene, after, params)
    except ClawError as e:
        if not e.code.startswith("CONTAINER_"):
            raise
        return Swipe(container, moved=False, gone=True, settled=settled, screen=after)
    moved = has_moved(places(container.node, params.direction), places(there.node, params.direction))
    return Swipe(container, moved=moved, gone=False, settled=settled, screen=after)


def container_name(container: Container) -> str:
    return container.node.resource_id or container.node.class_name
