"""The simulated phone: an Android phone in a process, driven by real adb clients or directly in tests."""
