"""Which device speaks under a rig's name, by the `boot` of its statuses."""

from __future__ import annotations

from firmware_bridge.messages import Status

MOST_KEPT = 64
"""Earlier boots that are remembered."""


class Boots:
    """The boots that a host has seen of one rig.

    A device that starts anew says another boot from then on and never its old one again. An old one that
    comes back is a second device.

    Attributes:
        current: the boot of the device that spoke last; None where it has not said.
        conflict: two devices answer under the one name.
    """

    def __init__(self) -> None:
        self.current: str | None = None
        self.conflict = False
        self._live = False
        self._former: list[str] = []

    def take(self, status: Status, retained: bool) -> bool:
        """Take in a status; whether it shows that another boot has taken the last one's place.

        A broker's retained copy may be of a device that is gone, and a last will is of one that is: neither
        shows that a device is there.
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

    def is_another(self, status: Status) -> bool:
        """Whether a status is of a device other than the one that spoke last."""
        return None not in (status.boot, self.current) and status.boot != self.current
