"""Notes for the user while a command runs: what it waits for, and with ``--verbose`` what it does.

Nothing below the entry points prints. An entry point that may write to stderr sets the listeners; without one,
notes are dropped. A note has names, codes, numbers and times; never text that is typed, read or shown on a screen.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Listener = Callable[[str], None]
_listeners: list[tuple[Listener | None, Listener | None]] = []


@contextmanager
def listening(listener: Listener | None, tracer: Listener | None = None) -> Iterator[None]:
    """Send notes to the listener and traces to the tracer while the ``with`` block runs; None drops them."""
    _listeners.append((listener, tracer))
    try:
        yield
    finally:
        _listeners.pop()


@contextmanager
def without_notes() -> Iterator[None]:
    """Drop notes while the ``with`` block runs; traces go on."""
    tracer = _listeners[-1][1] if _listeners else None
    with listening(None, tracer):
        yield


def note(text: str) -> None:
    """Send a note to the innermost listener."""
    for listener, _ in _listeners[-1:]:
        if listener is not None:
            listener(text)


def trace(text: str) -> None:
    """Send what happens to the innermost tracer."""
    for _, tracer in _listeners[-1:]:
        if tracer is not None:
            tracer(text)


def is_tracing() -> bool:
    return any(tracer is not None for _, tracer in _listeners[-1:])
