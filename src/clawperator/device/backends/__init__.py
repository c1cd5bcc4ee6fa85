"""Execution backends: the Operator app, or the host engine over plain adb."""
