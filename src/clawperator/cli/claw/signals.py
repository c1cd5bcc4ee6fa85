"""Signals that arrive too late: the work is done, and only the answer is left to print."""

import signal
from collections.abc import Callable

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def ignore_signals() -> None:
    """Ignore SIGINT and SIGTERM from here on. ``run`` restores them once the answer is rendered."""
    import threading  # most commands do without it

    if threading.current_thread() is threading.main_thread():
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_IGN)


def signal_restorer() -> Callable[[], None]:
    """A function that restores the signal handlers of now."""
    before = [(number, signal.getsignal(number)) for number in _SIGNALS]

    def restore() -> None:
        for number, handler in before:
            if handler is not None and signal.getsignal(number) is not handler:
                signal.signal(number, handler)

    return restore
