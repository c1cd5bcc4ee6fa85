"""Handlers of the offline brain, by kind of instruction."""
