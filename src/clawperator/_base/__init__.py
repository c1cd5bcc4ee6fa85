"""Shared basics: files, deadlines, text, typed JSON, the product home, configuration, error codes."""
