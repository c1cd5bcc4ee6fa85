"""Scrolling: once, until a node appears, or until it appears and is clicked."""

from typing import TYPE_CHECKING, NoReturn

from msgspec import Struct

from clawperator._base.text import whole
from clawperator.contract.action_params import UI_READINESS
from clawperator.contract.actions import ScrollAndClickParams, ScrollParams, ScrollUntilParams
from clawperator.engine.clicks import click_kind, click_node
from clawperator.engine.containers import METHOD, Container, Swipe, name_of_container, swipe_once
from clawperator.engine.context import ActionContext, StepData, failure, string_details
from clawperator.engine.retry import with_retry
from clawperator.engine.settle import ScreenBefore, Settled, evidence, look
from clawperator.engine.targets import describe, describe_matcher, describe_node, optional_matcher, resolve
from clawperator.errors import ClawError
from clawperator.ui.node import Hierarchy, Node

if TYPE_CHECKING:
    from clawperator.contract.results import Effect

Searching = ScrollUntilParams | ScrollAndClickParams

_CONTAINER_ERRORS = ("CONTAINER_NOT_FOUND", "CONTAINER_NOT_SCROLLABLE")
_LOST = (*_CONTAINER_ERRORS, "SNAPSHOT_HIERARCHY_UNAVAILABLE")
_NOT_FOUND_CODES = ("NODE_NOT_FOUND", "REF_STALE", "CONTAINER_NOT_FOUND", "SNAPSHOT_HIERARCHY_UNAVAILABLE")
_LATE_CAPTURES = 3


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
    return {**outcome, **data, **ratio, **_resolved(swipe.container), **_swipe_evidence(swipe)}


def _resolved(container: Container | None) -> StepData:
    name = "" if container is None else name_of_container(container)
    return {"resolved_container": name} if name else {}


def _swipe_evidence(swipe: Swipe) -> StepData:
    return evidence(describe_node(swipe.container.node), swipe.container.candidates, METHOD, swipe.settled)


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
    matcher = optional_matcher(params.matcher)
    if matcher is None:
        return []
    try:
        return resolve(context, screen, matcher, optional_matcher(params.container))
    except ClawError as e:
        if e.code not in _NOT_FOUND_CODES:
            raise
        return []


def _click_found(context: ActionContext, params: Searching, swipes: int) -> StepData:
    """Click the node that was scrolled to. The reported effect is that of the click."""
    matcher = optional_matcher(params.matcher)
    assert matcher is not None
    retry = params.clickRetry if isinstance(params, ScrollAndClickParams) else UI_READINESS
    done = click_node(context, matcher, click_kind(params.clickType), retry, optional_matcher(params.container))
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
        try:
            targets = with_retry(
                context,
                UI_READINESS,
                lambda: resolve(context, context.capture(), matcher, optional_matcher(params.container)),
            )
            reason = "TARGET_FOUND"
        except ClawError as e:
            if e.code not in _NOT_FOUND_CODES:
                raise
    data = {
        "termination_reason": reason,
        "scrolls_executed": str(state.swipes),
        "direction": params.direction,
        "click_after": "true" if params.clickAfter else "false",
        "click_types": click_kind(params.clickType),
        **_resolved(state.last.container if state.last else None),
    }
    if reason == "TARGET_FOUND" and params.clickAfter:
        return {**data, **_click_found(context, params, state.swipes)}
    data |= state.evidence(targets)
    if reason in ("CONTAINER_LOST", *_CONTAINER_ERRORS):
        return failure(reason, "no container to scroll", data)
    if matcher is not None and reason != "TARGET_FOUND":
        return failure(
            "TARGET_NOT_FOUND", f"scrolling found no node that matches {describe_matcher(matcher)}", data
        )
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
        "click_types": click_kind(params.clickType),
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
            _not_found(params, state)
        swipe = swipe_once(context, state.before(context), params)
        state.add(swipe)
        still = 0 if swipe.moved else still + 1
    return targets


def _not_found(params: ScrollAndClickParams, state: ScrollProgress) -> NoReturn:
    raise ClawError(
        "TARGET_NOT_FOUND",
        f"scrolling {params.direction} found no node that matches {describe_matcher(params.matcher)}",
        details={"scrolls_executed": state.swipes, "direction": params.direction.capitalize()},
    )
