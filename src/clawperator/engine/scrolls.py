"""Scrolling: once, until something is there, or until it is there and clicked."""

from typing import NoReturn

from msgspec import Struct

from clawperator._text import whole
from clawperator.contract.actions import UI_READINESS, ScrollAndClickParams, ScrollParams, ScrollUntilParams
from clawperator.engine.clicks import click_kind, click_node
from clawperator.engine.containers import METHOD, Container, Swipe, container_name, swipe_once
from clawperator.engine.context import Scene, StepData, failure, plain
from clawperator.engine.retry import retrying
from clawperator.engine.settle import Settled, evidence
from clawperator.engine.targets import aim, given, tell, tell_matcher, tell_node
from clawperator.errors import ClawError
from clawperator.ui.node import Hierarchy, Node

_CONTAINER_TROUBLE = ("CONTAINER_NOT_FOUND", "CONTAINER_NOT_SCROLLABLE")
_LOST = (*_CONTAINER_TROUBLE, "SNAPSHOT_HIERARCHY_UNAVAILABLE")
_NOT_THERE = ("NODE_NOT_FOUND", "CONTAINER_NOT_FOUND", "SNAPSHOT_HIERARCHY_UNAVAILABLE")
_LATE_LOOKS = 3


def scroll(scene: Scene, params: ScrollParams) -> StepData:
    told = {"direction": params.direction, "settle_delay_ms": str(whole(params.settleDelayMs))}
    ratio = {"distance_ratio": str(whole(params.distanceRatio))}
    try:
        swipe = retrying(scene, params.retry, lambda: swipe_once(scene, scene.capture(), params))
    except ClawError as e:
        if e.code == "GESTURE_FAILED":
            refused = {"scroll_outcome": "gesture_failed", **told, **ratio, **plain(e.details)}
            return failure(e.code, e.message, refused)
        if e.code in _CONTAINER_TROUBLE:
            return failure(e.code, e.message, {**told, **plain(e.details)})
        raise
    outcome = {"scroll_outcome": "moved" if swipe.moved else "edge_reached"}
    return {**outcome, **told, **ratio, **_resolved(swipe.container), **_swipe_evidence(swipe)}


def _resolved(container: Container | None) -> StepData:
    name = "" if container is None else container_name(container)
    return {"resolved_container": name} if name else {}


def _swipe_evidence(swipe: Swipe) -> StepData:
    return evidence(tell_node(swipe.container.node), swipe.container.candidates, METHOD, swipe.settled)


class Scrolled(Struct):
    """How far a search has come: swipes the phone took, refused ones since, the last, and where it led to."""

    first: Hierarchy
    screen: Hierarchy
    swipes: int = 0
    refused: int = 0
    last: Swipe | None = None

    def add(self, swipe: Swipe) -> None:
        self.swipes += 1
        self.refused = 0
        self.last = swipe
        self.screen = swipe.screen

    def evidence(self, targets: list[Node]) -> StepData:
        """What all the swipes together did. The target is what was found, else what was scrolled."""
        if self.last is None:
            target = tell_node(targets[0]) if targets else tell()
            return evidence(target, len(targets), "none", Settled("unchanged", 0, self.screen))
        done = self.last.settled
        if done.effect != "unknown":
            same = self.first.says_the_same(self.last.screen)
            done = Settled("unchanged" if same else "changed", done.after_ms, done.screen)
        if not targets:
            container = self.last.container
            return evidence(tell_node(container.node), container.candidates, METHOD, done)
        return evidence(tell_node(targets[0]), len(targets), METHOD, done)


def _targets(scene: Scene, screen: Hierarchy, params: ScrollUntilParams | ScrollAndClickParams) -> list[Node]:
    matcher = given(params.matcher)
    if matcher is None:
        return []
    try:
        return aim(scene, screen, matcher, given(params.container))
    except ClawError as e:
        if e.code not in _NOT_THERE:
            raise
        return []


def _click_found(scene: Scene, params: ScrollUntilParams | ScrollAndClickParams, swipes: int) -> StepData:
    """Click what was scrolled to. What it tells of the effect is that of the click."""
    matcher = given(params.matcher)
    assert matcher is not None
    retry = params.clickRetry if isinstance(params, ScrollAndClickParams) else UI_READINESS
    done = click_node(scene, matcher, click_kind(params.clickType), retry, given(params.container))
    if swipes:
        done["dispatch_method"] = f"{METHOD}+{done['dispatch_method']}"
    return done


def scroll_until(scene: Scene, params: ScrollUntilParams) -> StepData:
    first = scene.capture()
    state = Scrolled(first, first)
    reason = _scroll_on(scene, params, state)
    targets = _targets(scene, state.screen, params)
    matcher = given(params.matcher)
    if matcher is not None and reason not in ("TARGET_FOUND", "CONTAINER_LOST", *_CONTAINER_TROUBLE):
        try:
            targets = retrying(
                scene, UI_READINESS, lambda: aim(scene, scene.capture(), matcher, given(params.container))
            )
            reason = "TARGET_FOUND"
        except ClawError as e:
            if e.code not in _NOT_THERE:
                raise
    told = {
        "termination_reason": reason,
        "scrolls_executed": str(state.swipes),
        "direction": params.direction,
        "click_after": "true" if params.clickAfter else "false",
        "click_types": click_kind(params.clickType),
        **_resolved(state.last.container if state.last else None),
    }
    if reason == "TARGET_FOUND" and params.clickAfter:
        return {**told, **_click_found(scene, params, state.swipes)}
    told |= state.evidence(targets)
    if reason in ("CONTAINER_LOST", *_CONTAINER_TROUBLE):
        return failure(reason, "there is no container to scroll", told)
    if matcher is not None and reason != "TARGET_FOUND":
        return failure("TARGET_NOT_FOUND", f"scrolling showed no node that matches {tell_matcher(matcher)}", told)
    return told


def _scroll_on(scene: Scene, params: ScrollUntilParams, state: Scrolled) -> str:
    """Scroll until there is a reason to stop, and give that."""
    start = scene.clock.monotonic()
    reason = "TARGET_FOUND" if _targets(scene, state.screen, params) else None
    while reason is None:
        if scene.since_ms(start) >= params.maxDurationMs:
            return "MAX_DURATION_REACHED"
        if state.swipes >= params.maxScrolls:
            return "MAX_SCROLLS_REACHED"
        try:
            reason = _scroll_further(scene, params, state)
        except ClawError as e:
            reason = _stopped(scene, params, state, e)
    return reason


def _scroll_further(scene: Scene, params: ScrollUntilParams, state: Scrolled) -> str | None:
    if state.refused:
        state.screen = scene.capture()
    swipe = swipe_once(scene, state.screen, params)
    state.add(swipe)
    if _comes_late(scene, params, state):
        return "TARGET_FOUND"
    if swipe.gone:
        return "CONTAINER_LOST"
    return None if swipe.moved else "EDGE_REACHED"


def _stopped(scene: Scene, params: ScrollUntilParams, state: Scrolled, e: ClawError) -> str | None:
    """The reason a failed swipe gives, if any: a refused one may be tried again."""
    if e.code in _LOST:
        return e.code if state.swipes == 0 and e.code in _CONTAINER_TROUBLE else "CONTAINER_LOST"
    if e.code != "GESTURE_FAILED":
        raise e
    state.refused += 1
    if state.refused >= params.noPositionChangeThreshold:
        return "NO_POSITION_CHANGE"
    scene.pause(params.settleDelayMs, e)
    return None


def _comes_late(scene: Scene, params: ScrollUntilParams, state: Scrolled) -> bool:
    """Whether the target is there after a swipe, at once or a little later."""
    if given(params.matcher) is None:
        return False
    for look in range(1 + _LATE_LOOKS):
        if look:
            scene.pause(min(max(params.settleDelayMs / 2, 100), 500))
            state.screen = scene.capture()
        if _targets(scene, state.screen, params):
            return True
    return False


def scroll_and_click(scene: Scene, params: ScrollAndClickParams) -> StepData:
    first = scene.capture()
    state = Scrolled(first, first)
    targets = retrying(scene, params.scrollRetry, lambda: _scroll_to(scene, params, state))
    told = {
        "max_swipes": str(params.maxSwipes),
        "direction": params.direction.capitalize(),
        "click_types": click_kind(params.clickType),
        "click_after": "true" if params.clickAfter else "false",
        "scrolls_executed": str(state.swipes),
    }
    if params.clickAfter:
        return {**told, **_click_found(scene, params, state.swipes)}
    return {**told, **state.evidence(targets)}


def _scroll_to(scene: Scene, params: ScrollAndClickParams, state: Scrolled) -> list[Node]:
    """The nodes that are meant, scrolled to. Two swipes in a row that move nothing are the end."""
    state.screen = scene.capture()
    still = 0
    while not (targets := _targets(scene, state.screen, params)):
        if state.swipes >= params.maxSwipes or still == 2:
            _not_found(params, state)
        swipe = swipe_once(scene, state.screen, params)
        state.add(swipe)
        still = 0 if swipe.moved else still + 1
    return targets


def _not_found(params: ScrollAndClickParams, state: Scrolled) -> NoReturn:
    raise ClawError(
        "TARGET_NOT_FOUND",
        f"scrolling {params.direction} showed no node that matches {tell_matcher(params.matcher)}",
        details={"scrolls_executed": state.swipes, "direction": params.direction.capitalize()},
    )
