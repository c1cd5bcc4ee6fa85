"""A simulated phone in a process of its own: servers, control channel, entry point."""
