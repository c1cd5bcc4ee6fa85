"""Screenshots: painting windows and writing PNG."""
