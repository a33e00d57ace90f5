"""Tells systemd that the service is ready, alive, or stopping: sd_notify(3) over its datagram socket."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Mapping


class Notifier:
    """The way to the service manager; without one nothing is sent.

    Attributes:
        period: s between two signs of life that the manager asks for; None: it asks for none.
    """

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        self._address = environment.get("NOTIFY_SOCKET", "")
        micro, mine = environment.get("WATCHDOG_USEC"), environment.get("WATCHDOG_PID")
        asked = bool(self._address) and micro is not None and mine in (None, str(os.getpid()))
        self.period = float(micro or 0) / 1e6 if asked else None
        self._beaten = -1e9

    def tell(self, **fields: str) -> None:
        """Send fields such as READY, STATUS, STOPPING. Never raises."""
        if not self._address:
            return
        # An abstract socket's name begins with a zero byte.
        address = f"\0{self._address[1:]}" if self._address.startswith("@") else self._address
        text = "\n".join(f"{key}={' '.join(value.split())}" for key, value in fields.items())
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as way:
            # A manager that reads no more must not hold up the rigs.
            way.setblocking(False)
            way.sendto(text.encode(), address)

    def beat(self) -> None:
        """Send a sign of life, at most four in a period."""
        now = time.monotonic()
        if self.period is not None and now - self._beaten >= self.period / 4:
            self._beaten = now
            self.tell(WATCHDOG="1")
