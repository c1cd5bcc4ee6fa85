"""Deadlines: the moment by which work must be finished."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from clawperator.errors import ClawError

# When this process began: this module is imported before anything that takes time.
BEGAN = time.monotonic()

# The end of the command or execution that runs in this context, on the machine's clock.
_limit: ContextVar[float | None] = ContextVar("limit", default=None)


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """No deadline that is made in the ``with`` block, on the machine's clock, ends later than these seconds."""
    token = _limit.set(_earliest(time.monotonic() + seconds, _limit.get()))
    try:
        yield
    finally:
        _limit.reset(token)


@contextmanager
def pause_deadlines() -> Iterator[None]:
    """The time that the ``with`` block takes does not count for ``limited``, which does not apply in it."""
    limit, began = _limit.get(), time.monotonic()
    _limit.set(None)
    try:
        yield
    finally:
        _limit.set(None if limit is None else limit + time.monotonic() - began)


def _earliest(one: float | None, other: float | None) -> float | None:
    return min((end for end in (one, other) if end is not None), default=None)


class Deadline:
    """The end of a period of ``seconds`` that starts now; without a number there is no limit.

    ``clock`` returns seconds that never go back: the ``monotonic`` of a virtual clock, or None for the machine's.
    On the machine's clock ``limited`` applies.
    """

    def __init__(self, seconds: float | None, clock: Callable[[], float] | None = None) -> None:
        self._clock = clock or time.monotonic
        end = None if seconds is None else self._clock() + seconds
        self._end = end if clock else _earliest(end, _limit.get())

    @property
    def remaining(self) -> float | None:
        """Seconds until the deadline, never below 0; None without a limit."""
        return None if self._end is None else max(self._end - self._clock(), 0.0)

    @property
    def is_over(self) -> bool:
        """Whether nothing new may begin."""
        return self.remaining == 0

    def left(self) -> float:
        """Seconds until the deadline, more than 0; ``TimeoutError`` when it has passed."""
        remaining = self.remaining
        if remaining == 0:
            raise TimeoutError("the deadline has passed")
        return float("inf") if remaining is None else remaining

    def within(self, seconds: float) -> float:
        """The time a step may take: ``seconds``, or less when the deadline comes first."""
        remaining = self.remaining
        return seconds if remaining is None else min(seconds, remaining)


def command_timeout(cause: ClawError | None = None) -> ClawError:
    """The error of an execution that reached its deadline. ``cause`` is the failure that was being retried.

    The hint is that of the cause: more time seldom helps to find what is not there.
    """
    if cause is None:
        hint = "Retry with a longer timeout, or split the actions over several executions."
        return ClawError("COMMAND_TIMEOUT", "the execution reached its timeout", hint=hint)
    return ClawError(
        "COMMAND_TIMEOUT",
        f"the execution reached its timeout; last error: {cause.code}: {cause.message}",
        hint=cause.hint,
        details={"last_error": cause.code, "cause": {"code": cause.code, "message": cause.message}},
    )
