"""The simulated phone's file system and the host folder behind it."""
