"""Waits: for a node, for an app to come to the front, or for time to pass."""

from clawperator._text import whole
from clawperator.contract.actions import SleepParams, WaitForNavigationParams, WaitForNodeParams
from clawperator.contract.selectors import NodeMatcher
from clawperator.engine.context import Scene, StepData, failure
from clawperator.engine.privacy import shown_label
from clawperator.engine.retry import pauses, persist, polls
from clawperator.engine.targets import aim, given
from clawperator.errors import ClawError


def sleep(scene: Scene, params: SleepParams) -> StepData:
    scene.pause(params.durationMs)
    return {"duration_ms": str(whole(params.durationMs))}


def wait_for_node(scene: Scene, params: WaitForNodeParams) -> StepData:
    """Look until the node is there: as long as ``timeoutMs`` says, else as often as ``retry`` says."""
    told: StepData = {}
    waits = pauses(params.retry, scene.random)
    if isinstance(params.timeoutMs, float | int):
        told["timeout_ms"] = str(whole(params.timeoutMs))
        waits = polls(scene, params.timeoutMs)
    try:
        node = persist(scene, waits, lambda: aim(scene, scene.capture(), params.matcher)[0])
    except ClawError as e:
        raise e.with_(details={**told, **(e.details or {})}) from e
    return {"resource_id": node.resource_id, "label": shown_label(node), **told}


def wait_for_navigation(scene: Scene, params: WaitForNavigationParams) -> StepData:
    """Wait until the app or the node is in front, whichever comes first.

    An app that comes is believed at once; one that was in front from the start when two looks agree on it.
    """
    start = scene.clock.monotonic()
    last_package: str | None = None
    waits = polls(scene, params.timeoutMs)
    looks = 0
    moved = False
    while True:
        package = scene.driver.foreground()
        looks += 1
        moved = moved or package != params.expectedPackage
        arrived = package is not None and package == params.expectedPackage and (moved or looks > 1)
        if arrived or _is_there(scene, given(params.expectedNode)):
            resolved = {} if package is None else {"resolved_package": package}
            return {**resolved, "elapsed_ms": str(round(scene.since_ms(start)))}
        last_package = package or last_package
        wait = next(waits, None)
        if wait is None:
            seen = {} if last_package is None else {"last_package": last_package}
            limit = whole(params.timeoutMs)
            return failure("NAVIGATION_TIMEOUT", f"the expected screen did not come within {limit} ms", seen)
        scene.pause(wait, ClawError("NAVIGATION_TIMEOUT", "the expected screen had not come"))


def _is_there(scene: Scene, matcher: NodeMatcher | None) -> bool:
    if matcher is None:
        return False
    try:
        return bool(scene.find_all(scene.capture(), matcher))
    except ClawError as e:
        if e.code != "SNAPSHOT_HIERARCHY_UNAVAILABLE":
            raise
        return False
