"""The limit that ``--timeout`` sets for a whole command on the host: its milliseconds and a grace."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from clawperator._base.deadline import limited, pause_deadlines
from clawperator.contract.limits import HOST_GRACE_MS
from clawperator.errors import ClawError

# Deadlines come first: their errors report what was being done.
_LATE_SECONDS = 0.1
_REPEAT_SECONDS = 1.0
# No command may run for longer, and timers do not take any number.
_LONGEST_MS = 30 * 24 * 3_600_000


@contextmanager
def time_limit(timeout_ms: float) -> Iterator[None]:
    """Limit every deadline in the ``with`` block. Work without a deadline ends with ``COMMAND_TIMEOUT``."""
    if not 0 < timeout_ms <= _LONGEST_MS:
        yield  # the command reports an invalid timeout
        return
    seconds = (timeout_ms + HOST_GRACE_MS) / 1000
    with limited(seconds), _alarm(seconds + _LATE_SECONDS, timeout_ms):
        yield


@contextmanager
def paused_limit() -> Iterator[None]:
    """The time that the ``with`` block takes does not count for ``--timeout``."""
    in_main = threading.current_thread() is threading.main_thread()
    left, interval = signal.setitimer(signal.ITIMER_REAL, 0) if in_main else (0.0, 0.0)
    try:
        with pause_deadlines():
            yield
    finally:
        if left:
            signal.setitimer(signal.ITIMER_REAL, left, interval)


@contextmanager
def _alarm(seconds: float, timeout_ms: float) -> Iterator[None]:
    """Raise ``COMMAND_TIMEOUT`` after these seconds. Only in the main thread, and only without another alarm."""
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or signal.getsignal(signal.SIGALRM) is not signal.SIG_DFL:
        yield
        return

    def expire(_number: int, _frame: FrameType | None) -> None:
        message = f"the command did not end within {timeout_ms:g} ms and the grace of {HOST_GRACE_MS} ms"
        hint = "Run it again with a larger --timeout."
        raise ClawError("COMMAND_TIMEOUT", message, hint=hint, retryable=False)

    signal.signal(signal.SIGALRM, expire)
    # It repeats, because code that continues after any error would lose the first one.
    signal.setitimer(signal.ITIMER_REAL, seconds, _REPEAT_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
