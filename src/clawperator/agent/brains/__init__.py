"""Brains: what turns a prompt into calls of tools and an answer."""
