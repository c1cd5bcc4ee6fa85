"""Recordings: read, export, parse, describe, compare and repair what a user did on a phone."""
