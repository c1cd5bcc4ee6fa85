"""Execution backends: the Operator app on the device, or the host engine over plain adb."""
