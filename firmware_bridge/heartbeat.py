"""A thread that keeps a device's watchdog and the rig's lease from expiring."""

from __future__ import annotations

import threading
from contextlib import suppress

from firmware_bridge.clock import MONOTONIC, Clock
from firmware_bridge.link import Link, LinkError
from firmware_bridge.peer import Peer
from firmware_bridge.probe import Probe

LEASE_BEAT = 2.0
"""Longest time between two renewals of a rig's lease, s."""


class Heartbeat:
    """Pings at a third of the device's watchdog time, or every second if it has no watchdog."""

    def __init__(self, link: Link, peer: Peer, probe: Probe, clock: Clock = MONOTONIC) -> None:
        self._link, self._peer, self._probe, self._clock = link, peer, probe, clock
        self._thread: threading.Thread | None = None
        self._closed = threading.Event()

    def start(self) -> None:
        """Start the thread, once."""
        if self._thread is None:
            name = f"heartbeat {self._link.name}"
            self._thread = threading.Thread(target=self._run, name=name, daemon=True)
            self._thread.start()

    def close(self) -> None:
        """End the thread after its current ping."""
        self._closed.set()

    @property
    def _period(self) -> float:
        status = self._peer.status
        period = 1.0
        if status is not None and status.watchdog_ms:
            period = max(0.02, status.watchdog_ms / 3000)
        return min(period, LEASE_BEAT) if self._link.brokered else period

    def _run(self) -> None:
        spent = 0.0
        while not self._clock.wait(self._closed, max(0.0, (period := self._period) - spent)):
            began = self._clock.now()
            self._link.renew()
            if self._link.connected:
                with suppress(LinkError):
                    self._probe.ping(period)
            spent = self._clock.now() - began
