"""Agents of other programs: they drive an episode as clients of the Model Context Protocol (MCP)."""
