"""The deadline and the cancellation that all parts of a turn share."""

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from clawperator.errors import ClawError

T = TypeVar("T")

# So long is waited for cancelled work to say that it has stopped.
GRACE_SECONDS = 1.0


class TurnCancelledError(Exception):
    """Raised inside a turn that has seen that it is cancelled. Nothing of it is committed."""


class LeftBehindError(Exception):
    """Work that did not stop when it was cancelled. Its thread is a daemon: the process ends without it."""


class LeftBehindInterrupt(KeyboardInterrupt):
    """An interrupt while work was waited for that did not stop either."""


class TurnDeadline:
    """One for all turns of a call: whoever works looks at it, whoever waits sets it.

    A turn that has begun to commit can no longer be cancelled: ``request`` then says so, and the turn counts.
    """

    def __init__(self, seconds: float | None = None) -> None:
        self._end = None if seconds is None else time.monotonic() + seconds
        self._lock = threading.RLock()  # a signal may ask while this very thread holds it
        self._requested = threading.Event()
        self._committing = False

    @property
    def remaining(self) -> float | None:
        """Seconds until the deadline, never below 0; None when there is none."""
        return None if self._end is None else max(self._end - time.monotonic(), 0.0)

    @property
    def is_cancelled(self) -> bool:
        return self._requested.is_set()

    @property
    def is_over(self) -> bool:
        """Whether nothing new should be begun."""
        return self.is_cancelled or self.remaining == 0

    def cancel(self) -> bool:
        """Cancel. False when the turn is already being committed."""
        with self._lock:
            if not self._committing:
                self._requested.set()
            return not self._committing

    def check(self) -> None:
        """Between two steps of work: raises ``TurnCancelledError`` when nobody wants the rest."""
        if self.is_over:
            raise TurnCancelledError

    def begin_commit(self) -> None:
        """From here the turn counts. Raises ``TurnCancelledError`` when the cancellation came first."""
        with self._lock:
            if self._requested.is_set():
                raise TurnCancelledError
            self._committing = True

    def end_commit(self) -> None:
        with self._lock:
            self._committing = False

    def within(self, seconds: float) -> float:
        """So long may a step take at most: its own limit, or what is left of the deadline."""
        left = self.remaining
        return seconds if left is None else min(seconds, left)

    def sleep(self, seconds: float) -> None:
        """Sleep, but not past the deadline or a cancellation."""
        self._requested.wait(self.within(seconds))
        self.check()


def out_of_time(operation: str, target: str = "") -> ClawError:
    return ClawError("TURN_TIMEOUT", "the time ran out", operation=operation, target=target)


def within_deadline(deadline: TurnDeadline, work: Callable[[], T], grace: float = GRACE_SECONDS) -> T:
    """Do the work, but wait no longer than the deadline and a short grace: then ``LeftBehindError``.

    Without a deadline it is done right here. What it raises is raised here.
    """
    if deadline.remaining is None:
        return work()
    done: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            done.append(work())
        except BaseException as e:  # noqa: BLE001 - handed to the one who waits
            failed.append(e)

    worker = threading.Thread(target=run, daemon=True, name="turn")
    worker.start()
    try:
        worker.join(deadline.remaining)
        if worker.is_alive():
            deadline.cancel()
            worker.join(grace)
    except KeyboardInterrupt:
        deadline.cancel()
        worker.join(grace)
        if worker.is_alive():
            raise LeftBehindInterrupt from None
        raise
    if failed:
        raise failed[0]
    if done:
        return done[0]
    raise LeftBehindError
