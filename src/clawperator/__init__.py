"""Clawperator: a hand on Android phones that does what it is told and tells what happened."""

__version__ = "0.1.0"
