"""The Python API: connect to a device, and call its actions as methods."""
