"""Scrolling: once, until a node appears, or until it appears and is clicked."""

from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from msgspec import Struct

from clawperator._base.text import whole
from clawperator.contract.action_params import UI_READINESS
from clawperator.contract.actions import ScrollAndClickParams, ScrollGestureParams, ScrollParams, ScrollUntilParams
from clawperator.engine.clicks import CLICK_KINDS, click_node
from clawperator.engine.context import ActionContext, StepData, failure, string_details
from clawperator.engine.retry import or_none, with_retry
from clawperator.engine.settle import ScreenBefore, Settled, evidence, look, settle
from clawperator.engine.targets import (
    describe,
    describe_matcher,
    describe_node,
    find_containers,
    optional_matcher,
    resolve,
    stroke_in,
    target_details,
)
from clawperator.errors import ClawError
from clawperator.ui.node import Bounds, Hierarchy, Node, visible_nodes

if TYPE_CHECKING:
    from clawperator.contract.results import Effect

SWIPE_MS = 250
METHOD = "gesture_swipe"
# How many nodes of a container are compared to detect movement.
_SIGNATURE_NODES = 40
Searching = ScrollUntilParams | ScrollAndClickParams

_CONTAINER_ERRORS = ("CONTAINER_NOT_FOUND", "CONTAINER_NOT_SCROLLABLE")
_LOST = (*_CONTAINER_ERRORS, "SNAPSHOT_HIERARCHY_UNAVAILABLE")
_NOT_FOUND_CODES = ("NODE_NOT_FOUND", "REF_STALE", "CONTAINER_NOT_FOUND", "SNAPSHOT_HIERARCHY_UNAVAILABLE")
_LATE_CAPTURES = 3


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
    message = f"the node that matches {describe_matcher(matcher)} does not scroll"
    raise ClawError("CONTAINER_NOT_SCROLLABLE", message, details=target_details(found))


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
    if not context.perform(lambda: context.driver.swipe(start, end, SWIPE_MS)):
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


def scroll(context: ActionContext, params: ScrollParams) -> StepData:
    data = {"direction": params.direction, "settle_delay_ms": str(whole(params.settleDelayMs))}
    ratio = {"distance_ratio": str(whole(params.distanceRatio))}

    def attempt() -> Swipe:
        return swipe_once(context, look(context, context.capture()), params)

    try:
        swipe = with_retry(context, params.retry, attempt)
    except ClawError as e:
        if e.code == "GESTURE_FAILED":
            failed = {"scroll_outcome": "gesture_failed", **data, **ratio, **string_details(e.details)}
            return failure(e.code, e.message, failed)
        if e.code in _CONTAINER_ERRORS:
            return failure(e.code, e.message, {**data, **string_details(e.details)})
        raise
    outcome = {"scroll_outcome": "moved" if swipe.moved else "edge_reached"}
    container = swipe.container
    done = evidence(describe_node(container.node), container.candidates, METHOD, swipe.settled)
    return {**outcome, **data, **ratio, **_resolved(container), **done}


def _resolved(container: Container | None) -> StepData:
    name = "" if container is None else container.node.resource_id or container.node.class_name
    return {"resolved_container": name} if name else {}


class ScrollProgress(Struct):
    """The progress of a scroll: accepted swipes, rejected swipes since, the last swipe, and the current screen.

    ``is_fresh``: the screen was captured just now, and captures are slow.
    """

    first: ScreenBefore
    screen: Hierarchy
    swipes: int = 0
    rejected: int = 0
    last: Swipe | None = None
    is_fresh: bool = False

    def add(self, swipe: Swipe) -> None:
        self.swipes += 1
        self.rejected = 0
        self.last = swipe
        self.screen = swipe.screen

    def before(self, context: ActionContext) -> ScreenBefore:
        """The screen before the next swipe. Where the last swipe settled, it was captured often enough."""
        if self.screen is self.first.screen:
            return self.first
        if self.last is not None and self.screen is self.last.screen and self.last.settled.effect != "unknown":
            return ScreenBefore(self.screen, (self.screen,))
        return look(context, self.screen)

    def evidence(self, targets: list[Node]) -> StepData:
        """The effect of all swipes together. The target is the node that was found, or else the container."""
        if self.last is None:
            target = describe_node(targets[0]) if targets else describe()
            return evidence(target, len(targets), "none", Settled("unchanged", 0, self.screen))
        done = self.last.settled
        if done.effect != "unknown":
            effect: Effect = "changed"
            if self.first.shows(self.last.screen):
                effect = "unchanged" if self.first.is_sure else "unknown"
            done = Settled(effect, done.after_ms, done.screen)
        if not targets:
            container = self.last.container
            return evidence(describe_node(container.node), container.candidates, METHOD, done)
        return evidence(describe_node(targets[0]), len(targets), METHOD, done)


def _targets(context: ActionContext, screen: Hierarchy, params: Searching) -> list[Node]:
    matcher, container = optional_matcher(params.matcher), optional_matcher(params.container)
    if matcher is None:
        return []
    return or_none(lambda: resolve(context, screen, matcher, container), *_NOT_FOUND_CODES) or []


def _click_found(context: ActionContext, params: Searching, swipes: int) -> StepData:
    """Click the node that was scrolled to. The reported effect is that of the click."""
    matcher = optional_matcher(params.matcher)
    assert matcher is not None
    retry = params.clickRetry if isinstance(params, ScrollAndClickParams) else UI_READINESS
    done = click_node(context, matcher, CLICK_KINDS[params.clickType], retry, optional_matcher(params.container))
    if swipes:
        done["dispatch_method"] = f"{METHOD}+{done['dispatch_method']}"
    return done


def scroll_until(context: ActionContext, params: ScrollUntilParams) -> StepData:
    first = look(context, context.capture())
    state = ScrollProgress(first, first.screen)
    reason = _scroll_until_stop(context, params, state)
    targets = _targets(context, state.screen, params)
    matcher = optional_matcher(params.matcher)
    if matcher is not None and reason not in ("TARGET_FOUND", "CONTAINER_LOST", *_CONTAINER_ERRORS):
        container = optional_matcher(params.container)
        find = partial(
            with_retry, context, UI_READINESS, lambda: resolve(context, context.capture(), matcher, container)
        )
        if found := or_none(find, *_NOT_FOUND_CODES):
            targets, reason = found, "TARGET_FOUND"
    data = {
        "termination_reason": reason,
        "scrolls_executed": str(state.swipes),
        "direction": params.direction,
        "click_after": "true" if params.clickAfter else "false",
        "click_types": CLICK_KINDS[params.clickType],
        **_resolved(state.last.container if state.last else None),
    }
    if reason == "TARGET_FOUND" and params.clickAfter:
        return {**data, **_click_found(context, params, state.swipes)}
    data |= state.evidence(targets)
    if reason in ("CONTAINER_LOST", *_CONTAINER_ERRORS):
        return failure(reason, "no container to scroll", data)
    if matcher is not None and reason != "TARGET_FOUND":
        message = f"scrolling found no node that matches {describe_matcher(matcher)}"
        return failure("TARGET_NOT_FOUND", message, data)
    return data


def _scroll_until_stop(context: ActionContext, params: ScrollUntilParams, state: ScrollProgress) -> str:
    """Scroll until there is a reason to stop. Returns the reason."""
    start = context.clock.monotonic()
    reason = "TARGET_FOUND" if _targets(context, state.screen, params) else None
    while reason is None:
        if context.since_ms(start) >= params.maxDurationMs:
            return "MAX_DURATION_REACHED"
        if state.swipes >= params.maxScrolls:
            return "MAX_SCROLLS_REACHED"
        try:
            reason = _scroll_further(context, params, state)
        except ClawError as e:
            reason = _stop_reason(context, params, state, e)
    return reason


def _scroll_further(context: ActionContext, params: ScrollUntilParams, state: ScrollProgress) -> str | None:
    if state.rejected:
        state.screen = context.capture()
    swipe = swipe_once(context, state.before(context), params)
    state.add(swipe)
    if _appears_late(context, params, state):
        return "TARGET_FOUND"
    if swipe.gone:
        return "CONTAINER_LOST"
    return None if swipe.moved else "EDGE_REACHED"


def _stop_reason(
    context: ActionContext, params: ScrollUntilParams, state: ScrollProgress, e: ClawError
) -> str | None:
    """The reason to stop after a failed swipe, if any: a rejected swipe may be repeated."""
    if e.code in _LOST:
        return e.code if state.swipes == 0 and e.code in _CONTAINER_ERRORS else "CONTAINER_LOST"
    if e.code != "GESTURE_FAILED":
        raise e
    state.rejected += 1
    if state.rejected >= params.noPositionChangeThreshold:
        return "NO_POSITION_CHANGE"
    context.pause(params.settleDelayMs, e)
    return None


def _appears_late(context: ActionContext, params: ScrollUntilParams, state: ScrollProgress) -> bool:
    """Whether the target appears after a swipe, at once or a little later."""
    if optional_matcher(params.matcher) is None:
        return False
    # A slow capture waits for the screen to become idle by itself.
    for attempt in range(1 if context.has_slow_captures else 1 + _LATE_CAPTURES):
        if attempt:
            context.pause(min(max(params.settleDelayMs / 2, 100), 500))
            state.screen = context.capture()
        if _targets(context, state.screen, params):
            return True
    return False


def scroll_and_click(context: ActionContext, params: ScrollAndClickParams) -> StepData:
    first = look(context, context.capture())
    state = ScrollProgress(first, first.screen, is_fresh=context.has_slow_captures)
    targets = with_retry(context, params.scrollRetry, lambda: _scroll_to(context, params, state))
    data = {
        "max_swipes": str(params.maxSwipes),
        "direction": params.direction.capitalize(),
        "click_types": CLICK_KINDS[params.clickType],
        "click_after": "true" if params.clickAfter else "false",
        "scrolls_executed": str(state.swipes),
    }
    if params.clickAfter:
        return {**data, **_click_found(context, params, state.swipes)}
    return {**data, **state.evidence(targets)}


def _scroll_to(context: ActionContext, params: ScrollAndClickParams, state: ScrollProgress) -> list[Node]:
    """Scroll to the target. Two swipes in a row without movement mean the end of the content."""
    if not state.is_fresh:
        state.screen = context.capture()
    state.is_fresh = False
    still = 0
    while not (targets := _targets(context, state.screen, params)):
        if state.swipes >= params.maxSwipes or still == 2:
            message = f"scrolling {params.direction} found no node that matches {describe_matcher(params.matcher)}"
            details = {"scrolls_executed": state.swipes, "direction": params.direction.capitalize()}
            raise ClawError("TARGET_NOT_FOUND", message, details=details)
        swipe = swipe_once(context, state.before(context), params)
        state.add(swipe)
        still = 0 if swipe.moved else still + 1
    return targets
