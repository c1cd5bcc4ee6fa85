"""Short notes for the user while a command runs, such as what it waits for.

Nothing below the entry points prints. An entry point that may write to stderr sets the listener; without one,
notes are dropped.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

_listeners: list[Callable[[str], None]] = []


@contextmanager
def listening(listener: Callable[[str], None] | None) -> Iterator[None]:
    """Send notes to the listener while the ``with`` block runs; None drops them."""
    _listeners.append(listener or _drop)
    try:
        yield
    finally:
        _listeners.pop()


def note(text: str) -> None:
    """Send a note to the innermost listener."""
    if _listeners:
        _listeners[-1](text)


def _drop(_text: str) -> None:
    pass
