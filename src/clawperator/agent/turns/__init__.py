"""Turns: prompt in, tool calls, result recorded."""
