"""Ending with this process what it started."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def ended_with_us(request: Callable[[], object] = lambda: None) -> Iterator[None]:
    """Let a request to end this process end what it started too, and be answered like the keyboard's.

    ``request`` is told of it first: an exception that comes at a bad moment may be lost, what was told is not.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(_number: int, _frame: FrameType | None) -> None:
        request()
        raise KeyboardInterrupt

    heard = [signal.SIGTERM]
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        heard.append(signal.SIGINT)
    before = [(number, signal.signal(number, end)) for number in heard]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)
