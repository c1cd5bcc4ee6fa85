"""Retries: which failures are retried, how often, and with which delays."""

from collections.abc import Callable, Iterable, Iterator
from random import Random
from typing import TypeVar

from clawperator._base.deadline import command_timeout
from clawperator._base.notes import trace
from clawperator.contract.action_params import Retry
from clawperator.engine.context import ActionContext
from clawperator.errors import ClawError

T = TypeVar("T")

POLL_MS = 200
# Each of these codes means that the device did not perform the action, so a retry never performs it twice.
RETRYABLE_CODES = (
    *("NODE_NOT_FOUND", "NODE_NOT_CLICKABLE", "NODE_COVERED", "NODE_AMBIGUOUS", "REF_STALE"),
    *("CONTAINER_NOT_FOUND", "TARGET_NOT_FOUND", "VALUE_NODE_NOT_FOUND", "VALIDATOR_MISMATCH"),
    *("TEXT_NOT_ACCEPTED", "GESTURE_FAILED", "APP_NOT_FOUND", "APP_NOT_STARTED", "URI_NOT_HANDLED"),
    *("SNAPSHOT_HIERARCHY_UNAVAILABLE", "UNSUPPORTED_RUNTIME_SCREENSHOT"),
)
# Seldom true a moment later: a screen that is still changing is captured again, but not for long.
_BRIEF_CODES = frozenset({"NODE_AMBIGUOUS", "REF_STALE"})
_BRIEF_RETRIES = 2
# Not repeated where captures are slow. The device answers the first two from its list of apps, and a field that
# refuses a text, or has no focus after a tap, seldom takes it a moment later.
_CERTAIN_CODES = frozenset({"APP_NOT_FOUND", "URI_NOT_HANDLED", "TEXT_NOT_ACCEPTED"})
# The reason in the details of an error: the device waited as long as it can for the screen to become idle.
NOT_IDLE = "not_idle"


def retry_delays(retry: Retry, random: Random) -> Iterator[float]:
    """The delays in ms between attempts: one fewer than there are attempts."""
    initial = retry.initialDelayMs
    longest = retry.maxDelayMs if isinstance(retry.maxDelayMs, float | int) else initial
    delay: float = initial
    for _ in range(retry.maxAttempts - 1):
        jitter = random.uniform(-retry.jitterRatio, retry.jitterRatio) if retry.jitterRatio else 0.0
        yield min(delay, longest) * (1 + jitter)
        delay = min(delay * retry.backoffMultiplier, longest)


def poll_delays(context: ActionContext, timeout_ms: float) -> Iterator[float]:
    """Delays in ms that end when ``timeout_ms`` have passed from now."""
    return _poll_delays(context, context.clock.monotonic(), timeout_ms)


def _poll_delays(context: ActionContext, start: float, timeout_ms: float) -> Iterator[float]:
    while (left := timeout_ms - context.since_ms(start)) > 0:
        yield min(POLL_MS, left)


def attempt_with_delays(
    context: ActionContext, delays: Iterable[float], attempt: Callable[[], T], *, is_wait: bool = False
) -> T:
    """The result of ``attempt``, repeated after each delay while it fails with a retryable code.

    A stale reference, an ambiguous selector, and text for an element that is no field are retried briefly, except
    in a wait.

    Where each capture takes seconds, the time of attempts counts as part of the delays, except in a wait. There
    are at least two, if the time of the execution allows it. No further one begins later than the delays add up
    to, none that could not end in time, and none after a failure that would only be repeated.
    """
    slowly = context.has_slow_captures and not is_wait
    delays = list(delays) if slowly else delays
    most = sum(delays) if slowly else 0.0
    start = context.clock.monotonic()
    due, brief = 0.0, 0
    last: ClawError | None = None
    for number, delay in enumerate(delays):
        try:
            return attempt()
        except ClawError as e:
            is_brief = e.code in _BRIEF_CODES or (e.code == "TEXT_NOT_ACCEPTED" and not e.retryable)
            brief += is_brief and not is_wait
            is_over = slowly and number > 0 and context.since_ms(start) >= most
            if is_over or brief > _BRIEF_RETRIES or not _may_help(context, e, slowly=slowly):
                raise with_cause(e, last) from e.__cause__
            last = e
            due += delay
            left = max(0.0, due - context.since_ms(start)) if slowly else delay
            trace(f"{e.code}: next attempt in {left:.0f} ms")
            context.pause(left, e)
    try:
        return attempt()
    except ClawError as e:
        raise with_cause(e, last) from e.__cause__


def _may_help(context: ActionContext, error: ClawError, *, slowly: bool) -> bool:
    """Whether another attempt may end otherwise, and in time."""
    if error.code not in RETRYABLE_CODES or error.after_effect:
        return False
    if slowly and (error.code in _CERTAIN_CODES or (error.details or {}).get("reason") == NOT_IDLE):
        return False
    return not context.has_slow_captures or context.has_time_for_capture()


def with_cause(error: ClawError, last: ClawError | None) -> ClawError:
    """A timeout during a retry, with the failure that was being retried; any other error as it is."""
    if error.code != "COMMAND_TIMEOUT" or last is None:
        return error
    if (error.details or {}).get("last_error") not in (None, "SNAPSHOT_HIERARCHY_UNAVAILABLE"):
        return error
    return command_timeout(last)


def or_none(attempt: Callable[[], T], *codes: str) -> T | None:
    """The result of ``attempt``; None when it fails with one of these codes."""
    try:
        return attempt()
    except ClawError as e:
        if e.code not in codes:
            raise
        return None


def with_retry(context: ActionContext, retry: Retry, attempt: Callable[[], T]) -> T:
    return attempt_with_delays(context, retry_delays(retry, context.random), attempt)
