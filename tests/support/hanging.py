"""Timeouts for tests that wait."""

import time
from collections.abc import Callable

HANG_SECONDS = 60.0
"""Longer than any successful wait, even on a slow and busy machine: it only ends tests that hang."""

NEVER_SECONDS = 600.0
"""Duration of something that a test expects to be cut short: ten times the longest wait of a test."""


def wait_until(condition: Callable[[], bool]) -> None:
    """Returns when the condition holds."""
    deadline = time.monotonic() + HANG_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "the condition never held"
        time.sleep(0.01)
