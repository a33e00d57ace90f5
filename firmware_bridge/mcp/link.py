"""The link to an MCP server: the device's endpoint runs in this process, in front of it."""

from __future__ import annotations

from collections.abc import Callable

from firmware_bridge.drivers.hardware_link import HardwareLink
from firmware_bridge.link import LinkGoneError
from firmware_bridge.mcp.address import parse_mcp_address
from firmware_bridge.mcp.device import McpDevice


class McpLink(HardwareLink):
    """The link to a server. A lost server does not come back: a new one would not know of the calls so far.

    A server has no stop that it could confirm.

    Raises:
        LinkError: the server cannot be reached.
    """

    def __init__(self, address: str) -> None:
        parsed = parse_mcp_address(address)
        self._server = McpDevice(parsed)
        super().__init__(self._server, "mcp", unattended="", confirms_stop=False)
        self.name = parsed.name

    @property
    def connected(self) -> bool:
        """Whether the server can be called, as far as is known."""
        return super().connected and self._server.lost is None

    @property
    def why_down(self) -> str:
        """Why it cannot be called, or was not told of a stop; one line."""
        return self._server.lost or f"{self.name} is closed"

    def ensure(self, timeout: float) -> None:
        """Raise LinkError if the link is closed, LinkGoneError if the server is lost."""
        super().ensure(timeout)
        if self._server.lost is not None:
            raise LinkGoneError(self._server.lost)

    def restart(self, prepare: Callable[[], None]) -> None:
        """Begin a new session, after `prepare`, during which none is open; the rig is to be stopped.

        Raises:
            LinkError: the server cannot be reached again.
        """
        self._server.restart(prepare)

    def send(self, payload: bytes) -> None:
        """Deliver a payload to the endpoint. Raises LinkGoneError if the server is lost."""
        self.ensure(0.0)
        super().send(payload)
