"""Client for MCP servers over stdio."""
