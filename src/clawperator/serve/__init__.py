"""Servers: MCP for agents, HTTP for services. Both offer the agent's tools under its policy."""
