"""Brains backed by a model service (Anthropic Messages, OpenAI Chat Completions)."""
