"""Waits: for a time, a node, an app, a changed label or an idle screen; and the expectations after an action.

Each captures the screen at intervals of the device's clock until its condition holds or its time is over.
"""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from clawperator._base.text import distance, printable, whole
from clawperator.contract.action_params import Expectation
from clawperator.contract.actions import SleepParams, WaitForNavigationParams, WaitForNodeParams
from clawperator.contract.host_actions import (
    WaitForAnyParams,
    WaitForTextChangeParams,
    WaitUntilGoneParams,
    WaitUntilIdleParams,
)
from clawperator.contract.selectors import NodeMatcher
from clawperator.engine.context import ActionContext, StepData, failure
from clawperator.engine.retry import attempt_with_delays, or_none, poll_delays, retry_delays, with_cause
from clawperator.engine.settle import POLL_MS
from clawperator.engine.targets import SNAPSHOT_HINT, describe_matcher, describe_node, optional_matcher, resolve
from clawperator.errors import ClawError
from clawperator.ui.node import Hierarchy, Node, visible_nodes
from clawperator.ui.privacy import shown_label

T = TypeVar("T")
_IDLE_MS = 500
_MOST_LABELS = 5
_MAX_LABEL = 60
_MAX_COMPARED = 200


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
    find = partial(context.find_all, matcher=matcher, several=True)
    return bool(or_none(lambda: find(context.capture()), "SNAPSHOT_HIERARCHY_UNAVAILABLE", "REF_STALE"))


def wait_until_gone(context: ActionContext, params: WaitUntilGoneParams) -> StepData:
    start = context.clock.monotonic()
    ref = params.matcher.ref

    def find(screen: Hierarchy) -> list[Node]:
        try:
            return context.find_all(screen, params.matcher, several=True)
        except ClawError as e:
            if e.code != "REF_STALE" or not isinstance(ref, str):
                raise
        # An element that cannot be told from others is not gone.
        from clawperator.engine.selection import may_be_element

        return list(may_be_element(screen, ref, context.driver.frame(), context.references))

    def error(screen: Hierarchy) -> ClawError:
        target = next((describe_node(node) for node in find(screen)), "")
        message = f"{describe_matcher(params.matcher)} is still on the screen"
        return _timed_out(message, params.timeoutMs, matched_target=target)

    wait_for(context, params.timeoutMs, lambda screen: None if find(screen) else True, error)
    return _waited(context, start)


def wait_for_text_change(context: ActionContext, params: WaitForTextChangeParams) -> StepData:
    """Wait until the label differs from ``text``, or from the first label seen. A node that is gone has none."""
    start = context.clock.monotonic()
    before = params.text if isinstance(params.text, str) else None

    def changed(screen: Hierarchy) -> Node | None:
        nonlocal before
        node = next(iter(context.find_all(screen, params.matcher)), None)
        if node is None:
            return None
        label = shown_label(node)
        if before is None:
            before = label
        return node if label != before else None

    def error(screen: Hierarchy) -> ClawError:
        if not context.find_all(screen, params.matcher):
            return _not_found(describe_matcher(params.matcher), params.timeoutMs)
        return _timed_out("the label has not changed", params.timeoutMs, text=before or "")

    node = wait_for(context, params.timeoutMs, changed, error)
    old = {} if before is None else {"old_text": before}
    return {"resource_id": node.resource_id, "text": shown_label(node), **old, **_waited(context, start)}


def wait_until_idle(context: ActionContext, params: WaitUntilIdleParams) -> StepData:
    start = context.clock.monotonic()
    if not is_idle_within(context, params.quietMs, params.timeoutMs):
        raise _timed_out(f"the screen has not been idle for {whole(params.quietMs)} ms", params.timeoutMs)
    return {"quiet_ms": str(whole(params.quietMs)), **_waited(context, start)}


def wait_for_any(context: ActionContext, params: WaitForAnyParams) -> StepData:
    """Wait until a node matches one of the selectors; report which, by its position."""
    start = context.clock.monotonic()

    def first(screen: Hierarchy) -> tuple[int, NodeMatcher, Node] | None:
        for number, selector in enumerate(params.selectors):
            # None while it is in doubt which one is meant.
            find = partial(context.find_all, screen, selector)
            if found := or_none(find, "REF_STALE", "NODE_AMBIGUOUS"):
                return number, selector, found[0]
        return None

    def error(_: Hierarchy) -> ClawError:
        names = ", ".join(describe_matcher(selector) for selector in params.selectors)
        return _not_found(f"any of {names}", params.timeoutMs)

    number, selector, node = wait_for(context, params.timeoutMs, first, error)
    return {
        "matched_index": str(number),
        "matched_selector": describe_matcher(selector),
        "resource_id": node.resource_id,
        "label": shown_label(node),
        **_waited(context, start),
    }


def wait_for(
    context: ActionContext,
    timeout_ms: float,
    found: Callable[[Hierarchy], T | None],
    error: Callable[[Hierarchy], ClawError],
) -> T:
    """What ``found`` returns for a capture, repeated until it is not None; ``error`` after ``timeout_ms``.

    A screen that cannot be captured is not an answer, unless it stays so until the end.
    """
    delays = poll_delays(context, timeout_ms)
    cause: ClawError | None = None
    while True:
        failed: ClawError | None = None
        screen: Hierarchy | None = None
        try:
            screen = context.capture()
        except ClawError as e:
            if e.code != "SNAPSHOT_HIERARCHY_UNAVAILABLE":
                raise with_cause(e, cause) from e.__cause__
            failed = e
        if screen is not None and (answer := found(screen)) is not None:
            return answer
        delay = next(delays, None)
        cause = failed or error(screen or context.capture())
        if delay is None or (context.has_slow_captures and not context.has_time_for_capture()):
            raise cause
        context.pause(delay, cause)


def is_idle_within(context: ActionContext, quiet_ms: float, timeout_ms: float) -> bool:
    """Whether the screen stays the same for ``quiet_ms``, at the latest ``timeout_ms`` from now.

    A screen that cannot be captured is not idle. Other errors of a capture are raised.
    """
    start = quiet_since = context.clock.monotonic()
    last = or_none(context.capture, "SNAPSHOT_HIERARCHY_UNAVAILABLE")
    while True:
        if last is not None and context.since_ms(quiet_since) >= quiet_ms:
            return True
        if context.since_ms(start) >= timeout_ms:
            return False
        context.pause(min(POLL_MS, quiet_ms))
        at = context.clock.monotonic()
        screen = or_none(context.capture, "SNAPSHOT_HIERARCHY_UNAVAILABLE")
        if screen is None or last is None or not screen.has_same_content(last):
            quiet_since = at
        last = screen


def _not_found(what: str, timeout_ms: float) -> ClawError:
    message = f"no visible node matches {what}"
    return ClawError("NODE_NOT_FOUND", message, hint=SNAPSHOT_HINT, details=_limit(timeout_ms))


def _timed_out(message: str, timeout_ms: float, **details: str) -> ClawError:
    hint = "Run 'clawperator snapshot' to see the screen, or wait longer."
    details = _limit(timeout_ms) | {name: value for name, value in details.items() if value}
    return ClawError("WAIT_TIMEOUT", f"{message} after {whole(timeout_ms)} ms", hint=hint, details=details)


def _limit(timeout_ms: float) -> dict[str, str]:
    return {"timeout_ms": str(whole(timeout_ms))}


def _waited(context: ActionContext, start: float) -> StepData:
    return {"elapsed_ms": str(round(context.since_ms(start)))}


def check_expectation(context: ActionContext, expect: Expectation, data: StepData) -> StepData:
    """The data of the step, with the time until the expectation held. ``EXPECTATION_FAILED`` keeps the data."""
    start = context.clock.monotonic()
    delays = poll_delays(context, expect.timeoutMs)
    while True:
        screen = context.try_dump()
        missing = _missing(context, expect, screen)
        if not missing:
            break
        delay = next(delays, None)
        if delay is None:
            raise _failed(context, expect, missing, screen, data)
        context.pause(delay, _failed(context, expect, missing, screen, data))
    if expect.idle and not is_idle_within(context, _IDLE_MS, expect.timeoutMs):
        raise _failed(context, expect, ["a screen that has stopped changing"], screen, data)
    return {**data, "expectation": "met", "expected_after_ms": str(round(context.since_ms(start)))}


def _missing(context: ActionContext, expect: Expectation, screen: Hierarchy | None) -> list[str]:
    """What is expected and does not hold."""
    missing = []
    if isinstance(expect.app, str) and context.driver.foreground() != expect.app:
        missing.append(f"{expect.app} in the foreground")
    if isinstance(expect.text, str) and not _shows(context, screen, expect.text):
        missing.append(f"'{printable(expect.text)}' on the screen")
    if isinstance(expect.gone, str) and (screen is None or _shows(context, screen, expect.gone)):
        missing.append(f"'{printable(expect.gone)}' gone")
    return missing


def _shows(context: ActionContext, screen: Hierarchy | None, label: str) -> bool:
    return screen is not None and bool(context.find_all(screen, NodeMatcher(textEquals=label)))


def _failed(
    context: ActionContext, expect: Expectation, missing: list[str], screen: Hierarchy | None, data: StepData
) -> ClawError:
    found = []
    if isinstance(expect.app, str):
        found.append(f"{context.driver.foreground() or 'no known app'} is in the foreground")
    wanted = expect.text if isinstance(expect.text, str) else ""
    if wanted and screen is not None and (labels := _nearest_labels(context, screen, wanted)):
        found.append("nearest labels: " + ", ".join(f"'{label}'" for label in labels))
    if screen is None and context.execution.error is not None:
        found.append(f"the screen cannot be read: {context.execution.error.message}")
    seen = f"; {'; '.join(found)}" if found else ""
    message = f"expected {' and '.join(missing)} within {whole(expect.timeoutMs)} ms{seen}"
    hint = "The action was performed. Run 'clawperator snapshot' to see its result."
    return ClawError("EXPECTATION_FAILED", message, hint=hint, details=dict(data), after_effect=True)


def _nearest_labels(context: ActionContext, screen: Hierarchy, wanted: str) -> list[str]:
    """The visible labels most similar to ``wanted``, the nearest first, without those that have a secret."""
    shown = {shown_label(node) for node in visible_nodes(screen, context.driver.frame())}
    secret = context.progress.secret
    labels = sorted(label for label in shown if label and not (secret and secret in label))[:_MAX_COMPARED]
    folded = wanted.casefold()[:_MAX_LABEL]

    def rank(label: str) -> tuple[bool, int]:
        other = label.casefold()[:_MAX_LABEL]
        return not (folded in other or other in folded), distance(folded, other)

    return [printable(label[:_MAX_LABEL]) for label in sorted(labels, key=rank)[:_MOST_LABELS]]
