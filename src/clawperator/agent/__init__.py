"""The agent behind ``claw``: tools under a policy, turns of a brain, sessions, MCP and model services."""
