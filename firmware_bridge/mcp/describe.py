"""Describes a server without calling its tools."""

from __future__ import annotations

from firmware_bridge.mcp.address import parse_mcp_address
from firmware_bridge.mcp.device_file import McpDeviceFile, device_file
from firmware_bridge.mcp.session import McpSession


def describe_server(url: str) -> McpDeviceFile:
    """Connect to the server of an `mcp:` URL, and return its device file.

    Raises:
        LinkError: it cannot be reached, or offers no tool that fits.
    """
    session = McpSession(parse_mcp_address(url), lambda tools: None)
    try:
        return device_file(session.open(), url)
    finally:
        session.close()
