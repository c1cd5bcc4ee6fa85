"""Signals: end child work when this process is asked to end, and ignore requests that come too late."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def interrupt_on_signals(cancel: Callable[[], object] = lambda: None) -> Iterator[None]:
    """Turn SIGTERM and SIGINT into ``KeyboardInterrupt``, so that what this process started is ended too.

    ``cancel`` is called first: an exception at a bad moment may be lost, a cancelled deadline is not.
    """
    import threading  # most commands do without it

    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        cancel()
        raise KeyboardInterrupt

    handled = [signal.SIGTERM]
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        handled.append(signal.SIGINT)
    before = [(number, signal.signal(number, interrupt)) for number in handled]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)


def ignore_signals() -> None:
    """Ignore SIGINT and SIGTERM: the work is done, and only the answer is left to print.

    ``run`` of ``claw`` restores them once the answer is rendered.
    """
    import threading

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
