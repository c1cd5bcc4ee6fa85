"""Waits for a node, for an app to come to the front, or for a time."""

from clawperator._base.text import whole
from clawperator.contract.actions import SleepParams, WaitForNavigationParams, WaitForNodeParams
from clawperator.contract.selectors import NodeMatcher
from clawperator.engine.context import ActionContext, StepData, failure
from clawperator.engine.privacy import shown_label
from clawperator.engine.retry import attempt_with_delays, poll_delays, retry_delays
from clawperator.engine.targets import optional_matcher, resolve
from clawperator.errors import ClawError


def sleep(context: ActionContext, params: SleepParams) -> StepData:
    context.pause(params.durationMs)
    return {"duration_ms": str(whole(params.durationMs))}


def wait_for_node(context: ActionContext, params: WaitForNodeParams) -> StepData:
    """Wait until the node is on the screen: for ``timeoutMs`` if set, else as often as ``retry`` allows."""
    data: StepData = {}
    delays = retry_delays(params.retry, context.random)
    is_timed = isinstance(params.timeoutMs, float | int)
    if isinstance(params.timeoutMs, float | int):
        data["timeout_ms"] = str(whole(params.timeoutMs))
        delays = poll_delays(context, params.timeoutMs)
    try:
        node = attempt_with_delays(
            context, delays, lambda: resolve(context, context.capture(), params.matcher)[0], is_wait=is_timed
        )
    except ClawError as e:
        raise e.with_(details={**data, **(e.details or {})}) from e
    return {"resource_id": node.resource_id, "label": shown_label(node), **data}


def wait_for_navigation(context: ActionContext, params: WaitForNavigationParams) -> StepData:
    """Wait until the app or the node is in front, whichever comes first.

    An app that comes to the front counts at once; one that was in front from the start, when two checks agree.
    """
    start = context.clock.monotonic()
    last_package: str | None = None
    delays = poll_delays(context, params.timeoutMs)
    checks = 0
    moved = False
    while True:
        package = context.driver.foreground()
        checks += 1
        moved = moved or package != params.expectedPackage
        arrived = package is not None and package == params.expectedPackage and (moved or checks > 1)
        if arrived or _is_visible(context, optional_matcher(params.expectedNode)):
            resolved = {} if package is None else {"resolved_package": package}
            return {**resolved, "elapsed_ms": str(round(context.since_ms(start)))}
        last_package = package or last_package
        delay = next(delays, None)
        if delay is None:
            seen = {} if last_package is None else {"last_package": last_package}
            limit = whole(params.timeoutMs)
            return failure("NAVIGATION_TIMEOUT", f"the expected screen did not appear within {limit} ms", seen)
        context.pause(delay, ClawError("NAVIGATION_TIMEOUT", "the expected screen has not appeared"))


def _is_visible(context: ActionContext, matcher: NodeMatcher | None) -> bool:
    if matcher is None:
        return False
    try:
        return bool(context.find_all(context.capture(), matcher, several=True))
    except ClawError as e:
        if e.code not in ("SNAPSHOT_HIERARCHY_UNAVAILABLE", "REF_STALE"):
            raise
        return False
