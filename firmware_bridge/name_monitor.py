"""Detects another device under our own rig name, by the statuses on its topic.

Devices read each other's statuses. Two with one client id disconnect each other in turn, and each finds the
other's retained status (or last will) when it reconnects. The one that found such a status when it started
gives the name up first; of two that started at once, neither of which did, the one of the lesser boot.
"""

from __future__ import annotations

import time
from typing import Literal

from firmware_bridge.messages import Status

WINDOW_S = 60.0
"""Time in which signs of another device are counted, s."""
SIGNS_OF_NEWCOMER = 2
SIGNS_OF_FIRST = 4
SIGNS_OF_GREATER = 6
"""Of two devices that started at once, the lesser sends up to 4 statuses, some of which cross."""

Finding = Literal["nothing", "answer", "conflict"]
"""Reaction to a status: none; publish ours again; give the name up."""


class NameMonitor:
    """Counts the signs of other devices under a name.

    A single sign may be outdated: of a replaced device, or of a restored broker.
    """

    def __init__(self, boot: str | None) -> None:
        self._boot = boot
        self._connections = 0
        self._found: str | None = None
        self._signs: list[float] = []
        self.other = ""
        """The boot of the other device that was seen last."""

    def connected(self) -> None:
        """Note a connection to the broker, the first or a later one."""
        self._connections += 1

    def take(self, status: Status, retained: bool) -> Finding:
        """Return the reaction to a status on the rig's topic, which may be our own."""
        boot, here = status.boot, status.state != "offline"
        if boot is None or self._boot is None or boot == self._boot:
            return "nothing"
        if retained and self._connections <= 1:
            # In any state: our connection may just have disconnected it.
            self._found = boot
            return "nothing"
        if not (here or retained):
            # The broker retains the last status of another device as ours.
            return "answer"
        self.other = boot
        now = time.monotonic()
        self._signs = [*(sign for sign in self._signs if now - sign < WINDOW_S), now]
        if not retained and boot == self._found:
            # The device that was present before us still is.
            return "conflict"
        if self._found == boot:
            most = SIGNS_OF_NEWCOMER
        else:
            most = SIGNS_OF_FIRST if self._boot < boot else SIGNS_OF_GREATER
        if len(self._signs) >= most:
            return "conflict"
        # Each live one is answered: what the other device takes for a conflict, it must hear from us.
        return "nothing" if retained else "answer"
