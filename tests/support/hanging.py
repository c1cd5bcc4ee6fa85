"""When a test that waits for something gives up."""

HANG_SECONDS = 60.0
"""Longer than any wait that succeeds, on the slowest and busiest machine. It only ends tests that hang."""

NEVER_SECONDS = 600.0
"""How long something lasts that a test expects to be cut short: ten times what a test waits at most."""
