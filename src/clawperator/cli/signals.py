"""End child work when this process is asked to end."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interrupt_on_signals(cancel: Callable[[], object] = lambda: None) -> Iterator[None]:
    """Turn SIGTERM and SIGINT into ``KeyboardInterrupt``, so that what this process started is ended too.

    ``cancel`` is called first: an exception at a bad moment may be lost, a cancelled deadline is not.
    """
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
