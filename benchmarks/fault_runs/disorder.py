"""`disorder`: messages that come twice, late, or after later ones, both ways."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable

from benchmarks.fault_runs.ledger import Counts, Ledger, work
from core_eval.call_status import CallStatus
from firmware_bridge.client import RigClient
from firmware_bridge.endpoint import DeviceEndpoint
from firmware_bridge.link import Link
from firmware_bridge.local.link import LocalPort


class Disorder:
    """A channel that doubles, delays and reorders messages."""

    def __init__(self, noise: random.Random) -> None:
        self._noise = noise
        self.doubled = self.delayed = 0

    def on_way(self, payload: bytes, deliver: Callable[[bytes], None]) -> None:
        """Deliver a payload once or twice, now or up to 30 ms later."""
        copies = 2 if self._noise.random() < 0.3 else 1
        self.doubled += copies - 1
        for _ in range(copies):
            if self._noise.random() < 0.3:
                self.delayed += 1
                timer = threading.Timer(self._noise.uniform(0.001, 0.03), deliver, (payload,))
                timer.daemon = True
                timer.start()
            else:
                deliver(payload)


class DisorderlyLink(Link):
    """The host's end of a local link with disorder in both directions."""

    name = "disorder"
    connected = True

    def __init__(self, device: Ledger, noise: random.Random) -> None:
        self._port = LocalPort()
        self.way = Disorder(noise)
        self.refused = 0
        self.endpoint = DeviceEndpoint(device, self._port, watchdog_ms=600_000)
        self.endpoint.start()
        self._reader: threading.Thread | None = None

    def attach(self, on_frame: Callable[[bytes, bool], None], on_state: Callable[[bool], None]) -> None:
        """Receive the device's messages, in disorder."""

        def read() -> None:
            while (payload := self._port.outbox.get()) is not None:
                self.refused += b'"code":"late"' in payload
                self.way.on_way(payload, lambda late: on_frame(late, False))

        self._reader = threading.Thread(target=read, daemon=True)
        self._reader.start()

    def ensure(self, timeout: float) -> None:
        """Do nothing: the link is always up."""

    def send(self, payload: bytes) -> None:
        """Send towards the device, in disorder."""
        self.way.on_way(payload, self._deliver)

    def _deliver(self, payload: bytes) -> None:
        handler = self._port.handler
        if handler is not None:
            handler.on_frame(payload)

    def estop(self) -> None:
        """Stop at once."""
        if self._port.handler is not None:
            self._port.handler.on_stop()

    def close(self) -> None:
        """End the device."""
        self.connected = False
        self.endpoint.close()
        if self._reader is not None:
            self._reader.join(2.0)


def disorder(calls: int, seed: int) -> Counts:
    """Send calls with retries, one in ten with a deadline shorter than its delay may be."""
    device = Ledger()
    link = DisorderlyLink(device, random.Random(seed))
    hurry = random.Random(seed + 1)
    outcomes: Counter[str] = Counter()
    with RigClient(link, retry_after=0.015) as client:
        client.open()
        for number in range(calls):
            timeout = 0.004 if hurry.random() < 0.1 else 5.0
            outcome = client.call("work", work(number), timeout=timeout)
            outcomes[outcome.status if outcome.status == CallStatus.OK else str(outcome.code)] += 1
        time.sleep(0.1)
    return {
        "calls": calls,
        "doubled": link.way.doubled,
        "delayed": link.way.delayed,
        "executed": len(device.executed),
        "answered": outcomes["ok"],
        "unanswered": outcomes["timeout"],
        "refused as late": link.refused,
        "twice": device.twice,
        "wrong": device.wrong,
    }
