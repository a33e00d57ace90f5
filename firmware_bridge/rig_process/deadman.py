"""The heartbeat of a relay that cuts the machine's supply without it (examples/deadman)."""

from __future__ import annotations

import contextlib
import math

from firmware_bridge.clock import Clock
from firmware_bridge.link import LinkError, tell_terminal
from firmware_bridge.serial.address import parse_serial_url
from firmware_bridge.serial.open import GONE, open_serial

BEAT = b"H"
PERIOD = 0.5
"""Seconds between two heartbeats: the relay opens after 2 s without one."""
UNATTENDED = "a relay cuts its supply after 2 s without a heartbeat"


class Deadman:
    """Sends the heartbeat; a relay that is gone has cut the supply, so that is told once.

    Args:
        url: the relay's serial port.
        clock: of the period.

    Raises:
        LinkError: its port cannot be opened.
    """

    def __init__(self, url: str, clock: Clock) -> None:
        self._url, self._clock, self._last = url, clock, -math.inf
        try:
            self._port = open_serial(parse_serial_url(url), 0.0)
        except LinkError as error:
            raise LinkError(f"deadman: {error}") from None

    def beat(self) -> None:
        """Send a heartbeat if one is due. Never raises."""
        now = self._clock.now()
        if self._port is None or now - self._last < PERIOD:
            return
        self._last = now
        try:
            self._port.write(BEAT)
            self._port.reset_input_buffer()
        except GONE:
            with contextlib.suppress(*GONE):
                self._port.close()
            self._port = None
            tell_terminal(f"the relay at {self._url} is gone, and cuts the machine's supply")
