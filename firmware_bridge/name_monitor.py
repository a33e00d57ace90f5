"""Another device under our own rig name, as a device notices it by the statuses on its own topic.

Devices read each other's statuses. Two with one client id throw each other off the broker in turn instead,
and each finds the other's status (or last will) kept there when it comes back. The one that found a status of
the other when it started gives the name up first.
"""

from __future__ import annotations

import time
from typing import Literal

from firmware_bridge.messages import Status

WINDOW_S = 60.0
"""Seconds in which signs of another device are counted together."""
SIGNS_OF_NEWCOMER = 2
SIGNS_OF_FIRST = 4

Finding = Literal["nothing", "answer", "conflict"]
"""What a status calls for: nothing; that ours is said again; that this device gives the name up."""


class NameMonitor:
    """What a device knows of others under its name.

    A single sign may be old news: of the device that we replace, or of a broker that was restored.
    """

    def __init__(self, boot: str | None) -> None:
        self._boot = boot
        self._connections = 0
        self._found: str | None = None
        self._answered: set[str] = set()
        self._signs: list[float] = []
        self.other = ""
        """The boot of the other device that was seen last."""

    def connected(self) -> None:
        """We are connected to the broker, for the first time or again."""
        self._connections += 1

    def take(self, status: Status, retained: bool) -> Finding:
        """Take in a status from the rig's topic; it may well be our own."""
        boot, here = status.boot, status.state != "offline"
        if boot is None or self._boot is None or boot == self._boot:
            return "nothing"
        if retained and self._connections <= 1:
            # Whatever it says: connecting with its client id has just thrown it off, if it is still there.
            self._found = boot
            return "nothing"
        if not (here or retained):
            # Another one went, and the broker keeps its word for ours.
            return "answer"
        self.other = boot
        now = time.monotonic()
        self._signs = [*(sign for sign in self._signs if now - sign < WINDOW_S), now]
        if not retained and boot == self._found:
            # The one that was there before us is still there.
            return "conflict"
        if len(self._signs) >= (SIGNS_OF_NEWCOMER if self._found == boot else SIGNS_OF_FIRST):
            return "conflict"
        if not retained and boot not in self._answered:
            self._answered.add(boot)
            return "answer"
        return "nothing"
