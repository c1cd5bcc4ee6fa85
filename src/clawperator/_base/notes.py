"""Notes for the user while a command runs: what it waits for, how far it is, and with ``--verbose`` what it does.

Nothing below the entry points prints. An entry point that may write to stderr sets the listeners; without one,
notes are dropped. A note has names, codes, numbers and times; never text that is typed, read or shown on a screen.

A status replaces the one before it and is gone when the command ends. Only a terminal shows it, and nothing keeps
it, so it may also have the last line that a skill printed.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Listener = Callable[[str], None]
# Receives a status and its time. Returns whether it is shown.
StatusListener = Callable[[str, str], bool]
_listeners: list[tuple[Listener | None, Listener | None, StatusListener | None]] = []


@contextmanager
def listening(
    listener: Listener | None, tracer: Listener | None = None, status_listener: StatusListener | None = None
) -> Iterator[None]:
    """Send notes, traces and statuses to these listeners while the ``with`` block runs; None drops them."""
    _listeners.append((listener, tracer, status_listener))
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
    for listener, _, _ in _listeners[-1:]:
        if listener is not None:
            listener(text)


def show_status(text: str, began: float | None = None) -> bool:
    """Send what the command is doing now to the innermost listener. Returns whether a user can see it.

    ``began`` is the moment at which it began, of ``time.monotonic``: the status has the seconds since then.
    """
    elapsed = "" if began is None else f" ({time.monotonic() - began:.0f} s)"
    return any(shown is not None and shown(text, elapsed) for _, _, shown in _listeners[-1:])


def trace(text: str) -> None:
    """Send what happens to the innermost tracer."""
    for _, tracer, _ in _listeners[-1:]:
        if tracer is not None:
            tracer(text)


def is_tracing() -> bool:
    return any(tracer is not None for _, tracer, _ in _listeners[-1:])
