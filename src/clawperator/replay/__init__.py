"""Replay a recording on a device, and prove each step by what is on the screen."""
