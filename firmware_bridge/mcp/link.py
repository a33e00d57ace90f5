"""The link to an MCP server: the device's endpoint runs in this process, in front of it."""

from __future__ import annotations

from collections.abc import Callable

from devices.stop_outcome import StopOutcome
from firmware_bridge.link import LinkError, LinkGoneError
from firmware_bridge.local.link import LocalLink
from firmware_bridge.mcp.address import parse_mcp_address
from firmware_bridge.mcp.device import McpDevice


class McpLink(LocalLink):
    """The link to a server. A lost server does not come back: a new one would not know of the calls so far.

    Raises:
        LinkError: the server cannot be reached.
    """

    stands_still_with_us = False
    status_source = "link"

    confirms_stop = False
    """A server has no stop that it could confirm."""

    def __init__(self, address: str) -> None:
        parsed = parse_mcp_address(address)
        self._device = McpDevice(parsed)
        super().__init__(self._device, name="mcp")
        self.name = parsed.name

    @property
    def connected(self) -> bool:
        """Whether the server can be called, as far as is known."""
        return super().connected and self._device.lost is None

    def ensure(self, timeout: float) -> None:
        """Raise LinkError if the link is closed, LinkGoneError if the server is lost."""
        super().ensure(timeout)
        if self._device.lost is not None:
            raise LinkGoneError(self._device.lost)

    def restart(self, prepare: Callable[[], None]) -> None:
        """Begin a new session, after `prepare`, during which none is open; the rig is to be stopped.

        Raises:
            LinkError: the server cannot be reached again.
        """
        self._device.restart(prepare)

    def send(self, payload: bytes) -> None:
        """Deliver a payload to the endpoint. Raises LinkGoneError if the server is lost."""
        self.ensure(0.0)
        super().send(payload)

    def estop(self) -> None:
        """Cancel the running call, and let none begin. Raises LinkError if the server is lost."""
        super().estop()
        if self.endpoint.last_stop is StopOutcome.NOT_SENT:
            raise LinkError(self._device.lost or f"{self.name} is closed")

    def stop_outcome(self, stated: StopOutcome | None) -> StopOutcome | None:
        """Return the outcome of the last stop."""
        return self.endpoint.last_stop

    def close(self) -> None:
        """Cancel what runs, and close the session."""
        self._device.closing = True
        super().close()
        self._device.close()
