"""Requests to end that come too late: the work is done, and only the answer is left to give."""

import signal
from collections.abc import Callable

_REQUESTS = (signal.SIGINT, signal.SIGTERM)


def hold_requests() -> None:
    """Pass over requests to end from here on. The door hears them again once the answer is ready."""
    import threading  # which the door does without

    if threading.current_thread() is threading.main_thread():
        for number in _REQUESTS:
            signal.signal(number, signal.SIG_IGN)


def heard_again() -> Callable[[], None]:
    """What makes this process hear requests as it does now."""
    before = [(number, signal.getsignal(number)) for number in _REQUESTS]

    def hear() -> None:
        for number, handler in before:
            if handler is not None and signal.getsignal(number) is not handler:
                signal.signal(number, handler)

    return hear
