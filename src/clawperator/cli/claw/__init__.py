"""``claw``: each command is read strictly, answered once, and told in one document or in prose."""
