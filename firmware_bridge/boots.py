"""Distinguishes devices under one rig name by the `boot` of their statuses."""

from __future__ import annotations

from firmware_bridge.messages import Pong, Status

MOST_KEPT = 64
"""Number of earlier boots that are kept."""


class Boots:
    """The boots that a host has seen of one rig.

    A restarted device has another boot, and never an earlier one again. An earlier boot that returns belongs
    to a second device.

    Attributes:
        current: the boot of the last status; None if it had none.
        conflict: whether two devices answer under the name.
    """

    def __init__(self) -> None:
        self.current: str | None = None
        self.conflict = False
        self._live = False
        self._former: list[str] = []

    def take(self, status: Status, retained: bool) -> bool:
        """Add a status and return whether it shows that another boot has replaced the last one.

        Retained copies and last wills may be of a device that has ended, so neither shows one.
        """
        boot = status.boot
        if boot is None or status.state == "offline":
            return False
        if boot == self.current:
            self._live |= not retained
            return False
        if retained and self.current is not None:
            return False
        if boot in self._former:
            self.conflict = True
        changed = self._live and not retained
        if self.current is not None:
            self._former = [*self._former, self.current][-MOST_KEPT:]
        self.current, self._live = boot, not retained
        return changed

    def is_another(self, message: Status | Pong) -> bool:
        """Return whether a message is of another boot than the last status."""
        return None not in (message.boot, self.current) and message.boot != self.current
