"""A small set of tools for models: each stands for several of the agent's tools, and returns short results."""
