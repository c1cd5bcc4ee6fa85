"""Screens of devices as they change: watching, live views and input, snapshot views, marks."""
