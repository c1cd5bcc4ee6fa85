"""``claw``: what can be done, having it done on a phone, and keeping the session."""
