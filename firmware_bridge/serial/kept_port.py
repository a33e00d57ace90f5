"""A serial port and the stop keeper that holds it too, over the port's losses and returns."""

from __future__ import annotations

import contextlib
import fcntl
import threading
from typing import Any

from firmware_bridge.serial.address import SerialAddress
from firmware_bridge.serial.open import GONE, open_serial
from firmware_bridge.serial.stop_keeper import LATE_STOP_SECONDS, StopKeeper


class KeptPort:
    """Opens a port, again where it was lost; a keeper lives from the first opening to `close`.

    Args:
        address: the port; one selected by its adapter is searched for at each opening.
        stop: the bytes that the keeper writes; empty: no keeper.
    """

    def __init__(self, address: SerialAddress, stop: bytes) -> None:
        self._address = address
        self._stop = stop
        # The name of a pseudo terminal never means the same one again.
        self._comes_back = not address.target.startswith("/dev/pts/")
        self._keeper: StopKeeper | None = None
        self._lock = threading.Lock()
        self._strikes = 0
        self.late_stop_seconds = 0.0

    @property
    def strikes(self) -> int:
        """How often a keeper stopped the machine because this process stood still."""
        with self._lock:
            return self._strikes + (0 if self._keeper is None else self._keeper.strikes)

    def open(self, timeout: float | None) -> Any:
        """Open the port; see `open_serial`. Raises LinkError."""
        port = open_serial(self._address, timeout)
        # Behind a network the port is a socket, and the stop's bytes need no escape in RFC 2217.
        held = getattr(port, "_socket", None) if self._address.networked else port
        if held is not None and self._stop:
            self._replace(StopKeeper(held.fileno(), self._stop, self._address if self._comes_back else None))
        return port

    def lost(self, port: Any) -> None:
        """Close a lost port, and have the keeper release it. Never raises."""
        with self._lock:
            if self._keeper is not None:
                self._keeper.port_lost()
        with contextlib.suppress(*GONE):
            # The keeper may still hold it for a moment, and with it the lock.
            fcntl.flock(port.fileno(), fcntl.LOCK_UN)
        with contextlib.suppress(*GONE):
            port.close()

    def close(self, port: Any | None, stop_owed: bool) -> None:
        """Close the port; with a stop pending the keeper stays and waits for the port. Never raises."""
        if stop_owed and self._keeper is not None and self._comes_back:
            with self._lock:
                keeper, self._keeper = self._keeper, None
            keeper.wait_for_port()
            self.late_stop_seconds = LATE_STOP_SECONDS
        self._replace(None)
        if port is not None:
            with contextlib.suppress(*GONE):
                port.close()

    def _replace(self, keeper: StopKeeper | None) -> None:
        with self._lock:
            before, self._keeper = self._keeper, keeper
            if before is not None:
                self._strikes += before.strikes
        if before is not None:
            before.end()
