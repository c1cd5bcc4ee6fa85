"""The deadline and the cancellation that all parts of a turn share."""

import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import TypeVar

from clawperator._base.deadline import Deadline
from clawperator.errors import ClawError, ClawperatorException

T = TypeVar("T")

# How long to wait for cancelled work to acknowledge.
GRACE_SECONDS = 1.0


class TurnCancelledError(ClawperatorException):
    """Raised inside a turn that observed its cancellation. Nothing of it is committed."""


class CallNotBegunError(TurnCancelledError):
    """Raised for a call that was cancelled before it began."""


class WorkAbandonedError(ClawperatorException):
    """Work that did not stop when it was cancelled. Its thread is a daemon: the process exits without it."""


class WorkAbandonedInterrupt(KeyboardInterrupt):
    """An interrupt after which the work did not stop either."""


class TurnDeadline(Deadline):
    """A deadline that can be cancelled, shared by all turns of a run: workers check it, the caller cancels it.

    A turn that has begun to commit can no longer be cancelled: ``cancel`` then returns False, and the turn counts.
    """

    def __init__(self, seconds: float | None = None) -> None:
        super().__init__(seconds)
        self._lock = threading.RLock()  # a signal handler may cancel while this thread holds it
        self._cancelled = threading.Event()
        self._committing = False

    @property
    def is_cancelled(self) -> bool:
        return self._cancelled.is_set()

    @property
    def is_over(self) -> bool:
        """Whether nothing new may begin."""
        return self.is_cancelled or super().is_over

    def cancel(self) -> bool:
        """Cancel. False when the turn is already being committed."""
        with self._lock:
            if not self._committing:
                self._cancelled.set()
            return not self._committing

    def check(self) -> None:
        """Raise ``TurnCancelledError`` after the deadline or a cancellation. To be called between two steps."""
        if self.is_over:
            raise TurnCancelledError

    def begin_commit(self) -> None:
        """From here the turn counts. Raises ``TurnCancelledError`` when the cancellation came first."""
        with self._lock:
            if self._cancelled.is_set():
                raise TurnCancelledError
            self._committing = True

    def end_commit(self) -> None:
        with self._lock:
            self._committing = False

    def sleep(self, seconds: float) -> None:
        """Sleep, but not past the deadline or a cancellation."""
        self._cancelled.wait(self.within(seconds))
        self.check()


def timeout_error(operation: str, target: str = "") -> ClawError:
    return ClawError("TURN_TIMEOUT", "the time limit was reached", operation=operation, target=target)


def run_within(deadline: TurnDeadline, work: Callable[[], T], grace: float = GRACE_SECONDS) -> T:
    """Run the work, waiting until the deadline and a short grace; after that ``WorkAbandonedError``.

    Without a time limit the work runs in this thread. Its exceptions are raised here.
    """
    if deadline.remaining is None:
        return work()
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as e:  # noqa: BLE001 - raised in the waiting thread
            errors.append(e)

    context = copy_context()  # with the policy in force
    worker = threading.Thread(target=lambda: context.run(run), daemon=True, name="turn")
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
            raise WorkAbandonedInterrupt from None
        raise
    if errors:
        raise errors[0]
    if results:
        return results[0]
    raise WorkAbandonedError
