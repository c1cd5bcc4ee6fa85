"""Cassettes: a recording played back as a simulated phone."""
