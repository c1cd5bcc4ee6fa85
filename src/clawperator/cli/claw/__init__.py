"""``claw``: each command line is parsed strictly and answered with one document or text."""
