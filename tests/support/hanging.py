"""Timeouts for tests that wait."""

HANG_SECONDS = 60.0
"""Longer than any successful wait, even on a slow and busy machine: it only ends tests that hang."""

NEVER_SECONDS = 600.0
"""Duration of something that a test expects to be cut short: ten times the longest wait of a test."""
