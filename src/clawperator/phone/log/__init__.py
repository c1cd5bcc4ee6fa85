"""The simulated phone's log and logcat."""
