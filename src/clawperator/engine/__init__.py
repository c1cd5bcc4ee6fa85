"""Runs a validated execution against a Driver: waits, settling, scrolling, effects. No sockets, no real time."""
