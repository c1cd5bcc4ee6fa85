"""Handlers of the clawperator commands."""
