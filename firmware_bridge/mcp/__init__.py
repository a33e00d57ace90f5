"""Rigs whose tools are those of a server of the Model Context Protocol (MCP)."""
