"""The offset of a device's link clock, measured by ping."""

from __future__ import annotations

from math import ceil

DRIFT = 200e-6
"""Largest relative drift of two cheap quartz clocks."""
RESET_JUMP = 0.1
"""Smallest backward jump of the device's clock that is a restart, s."""


class LinkClock:
    """Bounds on `device clock - host clock`, in seconds, narrowed by every ping.

    The device read its clock between sending and receiving, so each ping bounds the offset from both sides;
    bounds are intersected, and widened by drift in between. Host times are of the host's monotonic clock.
    """

    def __init__(self) -> None:
        self._low = 0.0
        self._high = 0.0
        self._at: float | None = None
        self._sent = self._device_ms = 0.0
        self.known = False
        """Whether the offset has been measured."""
        self.restarts = 0
        """How often the device's clock restarted: the device was reset."""
        self.doubtful = False
        """Whether the clock of a device that states its boot may have restarted: its status tells."""

    def update(self, sent: float, received: float, device_ms: float, *, states_boot: bool = False) -> None:
        """Take in one ping: sent and received at these host times, answered at `device_ms`.

        A device that states its boot says itself that it was reset; a jump back alone is no restart then.
        """
        # The device may cut its clock down to whole milliseconds.
        low, high = device_ms / 1000 - received, (device_ms + 1) / 1000 - sent
        if self._at is None:
            self._low, self._high = low, high
        else:
            slack = DRIFT * (received - self._at)
            old_low, old_high = self._low - slack, self._high + slack
            self._low, self._high = max(low, old_low), min(high, old_high)
            if self._low > self._high:
                # A clock that began anew since the last ping shows less than then, or no more than the time
                # since; another only fell behind: a board that stood still, or an emulated one that was slow.
                anew = device_ms < self._device_ms or device_ms / 1000 <= received - self._sent
                if high < old_low - RESET_JUMP and anew:
                    self.doubtful |= states_boot
                    self.restarts += not states_boot
                self._low, self._high = low, high
        self._at, self._sent, self._device_ms = received, sent, device_ms
        self.known = True

    def forget(self) -> None:
        """Require a new measurement, and keep the bounds to detect a reset of the device."""
        self.known = False

    def restart(self) -> None:
        """Discard all bounds: the device reported a reset."""
        self.restarts += 1
        self._at, self.known, self.doubtful = None, False, False

    def device_ms(self, host_time: float) -> int | None:
        """Return a lower bound of the device's clock at that host time, ms; None if it is not known."""
        if not self.known:
            return None
        return int((host_time + self._low) * 1000)

    def latest_ms(self, host_time: float) -> int | None:
        """Return an upper bound of the device's clock at that host time, ms; None if it is not known."""
        if not self.known or self._at is None:
            return None
        return ceil((host_time + self._high + DRIFT * abs(host_time - self._at)) * 1000)

    @property
    def spread(self) -> float:
        """The time between both bounds, s; 0 if the offset is not known."""
        return self._high - self._low if self.known else 0.0
