"""Built-in tools: one row per tool, with its parameters, its level and its function."""
