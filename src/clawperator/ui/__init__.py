"""The screen as data: the hierarchy tree, labels, roles, matching. No I/O."""
