"""Inventory of commands and tools, and routing of prompts to them."""
