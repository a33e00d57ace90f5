"""Messages that every device answers in any state: hello and ping."""

from __future__ import annotations

import threading
from collections.abc import Callable

from firmware_bridge import messages as wire
from firmware_bridge.codec import encode
from firmware_bridge.link import Link, LinkError
from firmware_bridge.peer import Peer

HELLO = encode(wire.Hello())
PING = encode(wire.Ping())


class Probe:
    """Asks the far end of a link for its status and its clock. Methods may be called from any thread."""

    def __init__(self, link: Link, peer: Peer) -> None:
        self._link, self._peer = link, peer
        self._one_ping = threading.Lock()

    def hello(self, timeout: float) -> bool:
        """Send hello and return whether a status arrived within `timeout` seconds. Raises LinkError."""
        return self.hello_until(lambda status: True, self._peer.status_count, timeout)

    def hello_until(self, accept: Callable[[wire.Status], bool], seen: int, timeout: float) -> bool:
        """Send hello and return whether an accepted status arrived after the first `seen` ones.

        Raises:
            LinkError: the link is down.
        """
        peer = self._peer
        self._link.send(HELLO)
        return peer.wait(
            lambda: peer.status_count > seen and peer.status is not None and accept(peer.status), timeout
        )

    def ping(self, timeout: float) -> float:
        """Measure the device's clock and return the round trip in seconds.

        Raises:
            LinkError: no answer, or the link is down.
        """
        peer = self._peer
        with self._one_ping:
            with peer.lock:
                peer.pong = None
            sent = peer.time.now()
            self._link.send(PING)
            peer.wait(lambda: peer.pong is not None, timeout)
            trip = peer.pinged(sent)
            if peer.clock.doubtful:
                # The status of a device that was reset has another boot, and the peer takes note of it.
                peer.clock.doubtful = not self.hello(timeout)
                if peer.clock.doubtful:
                    raise LinkError(f"no status from {self._link.name} within {timeout:.2g} s")
        if trip is None:
            raise LinkError(f"no pong from {self._link.name} within {timeout:.2g} s")
        return trip

    def measure(self, timeout: float) -> bool:
        """Ping until the clock is measured, and return whether the device answered."""
        try:
            for _ in range(2 if self._peer.ping_missed else 1):
                self.ping(timeout)
        except LinkError:
            return False
        return True
