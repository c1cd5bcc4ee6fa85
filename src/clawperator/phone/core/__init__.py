"""The simulated phone's state: windows, tasks, packages, input, settings, faults."""
