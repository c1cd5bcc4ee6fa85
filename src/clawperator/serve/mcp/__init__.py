"""The MCP server: the compact tools of the agent for MCP clients, over stdio and HTTP."""
